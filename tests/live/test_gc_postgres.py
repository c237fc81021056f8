# SPDX-License-Identifier: MIT
"""`usertrace gc --kind request` against PostgreSQL's own accounts: the log of statements and of checkpoints,
pg_stat_statements, and EXPLAIN ANALYZE. The server is the test's own: in a temporary folder, on a socket there."""
import glob
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import unittest

import agree
import live

BIN = (sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [None])[-1]
RUNTIME = "PostgreSQL"
FIVE = 5
SETTINGS = {
    "listen_addresses": "", "fsync": "off", "jit": "off", "autovacuum": "off", "log_checkpoints": "on", "log_line_prefix": "[%p] ",
    "shared_preload_libraries": "pg_stat_statements", "max_parallel_workers_per_gather": "0", "work_mem": "1MB",
    "checkpoint_timeout": "1h", "pg_stat_statements.track_utility": "off", "lc_messages": "C", "shared_buffers": "16MB",
}


def as_postgres(*argv, **kwargs):
    """Runs a program of the server as its user."""
    user = pwd.getpwnam("postgres")
    return {"argv": argv, "preexec": lambda: (os.setgroups([]), os.setgid(user.pw_gid), os.setuid(user.pw_uid)), **kwargs}


def value(span, name):
    return span.get("args", {}).get(name)


class Session:
    """A psql that is told one statement after the other."""

    def __init__(self, case, folder):
        self.psql = case.start("psql", "-h", folder, "-U", "postgres", "-X", "-q", "-A", "-t", stdin=subprocess.PIPE)
        self.count = 0
        self.pid = int(self.ask("SELECT pg_backend_pid()")[0])

    def ask(self, sql):
        """The lines of the answer."""
        before, self.count = len(self.psql.stdout), self.count + 1
        self.psql.say(f"{sql};\n\\echo end {self.count}\n")
        self.psql.wait_for(f"^end {self.count}$")
        return self.psql.stdout[before:-1]


@live.needs_root()
@unittest.skipUnless(BIN and shutil.which("psql"), "PostgreSQL is not installed")
class GcPostgres(live.Case):
    @classmethod
    def setUpClass(cls):
        user = pwd.getpwnam("postgres")
        cls.folder = tempfile.mkdtemp(prefix="usertrace-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        os.chown(cls.folder, user.pw_uid, user.pw_gid)
        data = os.path.join(cls.folder, "data")
        initdb = live.Process(**as_postgres(os.path.join(BIN, "initdb"), "-N", "-A", "trust", "-U", "postgres", "-D", data,
                                            cwd="/"))
        assert initdb.wait(60) == 0, initdb.describe()
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        cls.log = os.path.join(cls.folder, "log")
        # Its log is a file: who writes into it is not kept waiting by who reads it.
        cls.server = live.Process(**as_postgres("sh", "-c", 'exec "$@" 2>"$0"', cls.log, os.path.join(BIN, "postgres"), "-D",
                                                data, "-k", cls.folder, *settings, cwd="/"))
        cls.addClassCleanup(cls.server.end)

    @classmethod
    def tearDownClass(cls):
        cls.server.interrupt()      # fast shutdown; what is left of its processes would outlive it

    def setUp(self):
        self.eventually(lambda: "ready to accept connections" in self.lines(), "a server that is ready")
        self.session = Session(self, self.folder)
        self.version = self.session.ask("SHOW server_version")[0].split()[0]

    def watch(self, *pids):
        return agree.gc(self, "--kind", "request", *[a for pid in pids or [self.session.pid] for a in ("-p", pid)])

    def done(self, watch):
        self.assertEqual(watch.interrupt(), 0, watch.describe())
        self.assertEqual(watch.of_type("lost"), [])

    def lines(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log) as file:
            return file.read()

    def logged(self, pid, pattern):
        """What the log of the server says of a process so far."""
        lines = self.lines().splitlines()
        return [m for m in (re.search(pattern, l) for l in lines if l.startswith(f"[{pid}] ")) if m]

    def test_statements(self):
        """The log tells of each from when the server has read it until the line is about to be written."""
        self.session.ask("SET log_min_duration_statement = 0")
        before = len(self.logged(self.session.pid, "duration: "))
        watch = self.watch()
        said = [f"SELECT {i}, sum(sqrt(n)) FROM generate_series(1, {20000 * (1 + i % 5)}) n" for i in range(30)]
        for sql in said:
            self.session.ask(sql)
        self.done(watch)
        pattern = r"duration: ([\d.]+) ms  statement: (.*);$"
        self.eventually(lambda: len(self.logged(self.session.pid, pattern)) >= before + len(said), "the last line")
        own = self.logged(self.session.pid, pattern)[before:]
        seen = [s for s in watch.spans("request") if s.get("name", "").startswith("SELECT")]
        self.assertEqual([m[2] for m in own], said)
        self.assertEqual([s["name"].rstrip(";") for s in seen], said)
        agree.compare(self, RUNTIME, "statements, log_min_duration_statement", version=self.version, least=0.8,
                      own=[round(float(m[1]) * 1e6) for m in own], seen=[s["duration_ns"] for s in seen],
                      resolution_ns=100_000, note="measured from the client's message to the log line, which the query itself writes; compared within 100 µs")
        for title in ("parse", "rewrite", "plan", "execute"):
            parts = watch.spans("request", label=title)
            self.assertEqual(len(parts), len(said), title)
            for part, whole in zip(parts, seen):
                self.assertTrue(whole["begin_ns"] <= part["begin_ns"] and part["end_ns"] <= whole["end_ns"], title)

    def test_executions(self):
        """pg_stat_statements counts the executor's part, which lies inside of ours: ours is never shorter. The shortest of five
        is as long, whoever else runs: one of them was not interrupted between the server's clock and our probe."""
        self.session.ask("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        self.session.ask("SELECT pg_stat_statements_reset()")
        watch = self.watch()
        for table in ("a", "b", "c"):
            self.session.ask(f"CREATE TABLE {table} AS SELECT n FROM generate_series(1, 30000) n")
            for i in range(FIVE):
                self.session.ask(f"SELECT count(*) FROM {table} WHERE n % 7 = {i}")
            self.session.ask(f"DROP TABLE {table}")
        self.done(watch)
        counted = [line.split("|") for line in self.session.ask(
            "SELECT substring(query from 'FROM (.) WHERE'), calls, min_exec_time, total_exec_time FROM pg_stat_statements "
            "WHERE query LIKE 'SELECT count%' ORDER BY 1")]
        queries = [s for s in watch.spans("request") if s.get("name", "").startswith("SELECT count")]
        runs = watch.spans("request", label="execute")
        seen = {}
        for query in queries:
            table = re.search("FROM (.)", query["name"])[1]
            inside = [r["duration_ns"] for r in runs if query["begin_ns"] < r["begin_ns"] < query["end_ns"]]
            seen.setdefault(table, []).extend(inside)
        self.assertEqual([(table, int(calls)) for table, calls, *_ in counted], [(t, len(n)) for t, n in sorted(seen.items())])
        self.assertEqual({table: len(n) for table, n in seen.items()}, {"a": FIVE, "b": FIVE, "c": FIVE})
        for (*_, ms), (table, lengths) in zip(counted, sorted(seen.items())):
            self.assertGreater(sum(lengths), float(ms) * 1e6 - FIVE * 1000, table)     # its clock has microseconds
        agree.compare(self, RUNTIME, "executions, pg_stat_statements", version=self.version, resolution_ns=100_000,
                      own=[round(float(ms) * 1e6) for _, _, ms, _ in counted], seen=[min(n) for _, n in sorted(seen.items())],
                      note="the shortest of five; only the executor's part of execute")

    def test_sorts(self):
        watch = self.watch()
        own = []
        for rows in (100, 3000, 60000, 100, 100000):
            plan = self.session.ask(f"EXPLAIN (ANALYZE, TIMING OFF) SELECT n FROM generate_series(1, {rows}) n ORDER BY n % 17, n")
            kind, size = re.search(r"Sort Method: .*  (Memory|Disk): (\d+)kB", "\n".join(plan)).groups()
            # What is on disk is told in blocks.
            own.append(("sort on disk", int(size) // 8) if kind == "Disk" else ("sort in memory", int(size)))
        self.done(watch)
        seen = [(s["label"], s["args"]["space"]) for s in watch.spans("request") if value(s, "sort") is not None]
        self.assertEqual(seen, own)
        self.assertEqual({label for label, _ in own}, {"sort on disk", "sort in memory"})
        agree.count(self, RUNTIME, "sorts, EXPLAIN ANALYZE, with locations and sizes", own=len(own), seen=len(seen),
                    version=self.version)

    def test_checkpoints(self):
        pid = int(self.session.ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")[0])
        self.session.ask("CREATE TABLE filled (n int)")
        pattern = r"checkpoint complete: wrote (\d+) buffers .* (\d+) WAL file\(s\) added, (\d+) removed, (\d+) recycled; .* total=([\d.]+) s"
        before = len(self.logged(pid, pattern))
        watch = self.watch(pid)
        for rows in (10, 50000, 1000, 20000, 10):
            self.session.ask(f"INSERT INTO filled SELECT generate_series(1, {rows})")
            self.session.ask("CHECKPOINT")
        self.eventually(lambda: len(self.logged(pid, pattern)) == before + 5, "the log of the checkpoints")
        self.done(watch)
        own = self.logged(pid, pattern)[before:]
        seen = watch.spans("request", label="checkpoint")
        agree.compare(self, RUNTIME, "checkpoints, log_checkpoints", own=[round(float(m[5]) * 1e9) for m in own],
                      seen=[s["duration_ns"] for s in seen], version=self.version, resolution_ns=1_100_000,
                      least=0.6, note="the log has a resolution of 1 ms, and its time ends before the line is written")
        self.assertEqual([tuple(s["args"][n] for n in ("written", "added", "removed", "recycled")) for s in seen],
                         [tuple(map(int, m.groups()[:4])) for m in own])
        self.session.ask("DROP TABLE filled")

    def test_transactions_and_failures(self):
        watch = self.watch()
        self.session.ask("BEGIN; SELECT 1")
        self.session.ask("COMMIT")
        self.session.ask("BEGIN; SELECT 2")
        self.session.ask("ROLLBACK")
        self.session.ask("SELECT 1/0")
        self.session.ask("SELECT nothing FROM nowhere")
        self.session.ask("this is no SQL")
        self.session.ask("SELECT 3")
        self.done(watch)
        self.assertEqual(watch.cut("request"), 0, watch.describe())
        spans = [s for s in watch.spans("request") if value(s, "committed") is not None]
        self.assertEqual([s["label"] for s in spans], ["transaction"] + ["transaction rolled back"] * 4 + ["transaction"])
        queries = [s for s in watch.spans("request") if s.get("name")]
        self.assertEqual([s["name"] for s in queries if value(s, "failed")],
                         ["SELECT 1/0;", "SELECT nothing FROM nowhere;", "this is no SQL;"])
        self.assertEqual([s["name"] for s in queries if not value(s, "failed")],
                         ["BEGIN;", "SELECT 1;", "COMMIT;", "BEGIN;", "SELECT 2;", "ROLLBACK;", "SELECT 3;"])


if __name__ == "__main__":
    unittest.main()
