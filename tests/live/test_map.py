# SPDX-License-Identifier: MIT
"""`usertrace map` on live programs: the virtual machine's own map, maps that lie, what ended processes leave behind."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import live

JAVA17 = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"


def map_of(pid):
    return f"/tmp/perf-{pid}.map"


def remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


class Words(live.Case):
    def refused(self, *words):
        done = self.usertrace("map", *words)
        self.assertEqual((done.status, done.stdout, len(done.stderr)), (2, [], 1), done.describe())
        return done.stderr[0].removeprefix("usertrace map: ")

    def test_what_is_needed(self):
        self.assertEqual(self.refused(), "-p PID or --clean is required")
        self.assertEqual(self.refused("-p1", "--clean"), "--clean and -p are mutually exclusive")
        self.assertEqual(self.refused("-p1", "--dry-run"), "--dry-run requires --clean; use --check to check a map without writing one")
        self.assertEqual(self.refused("-p1", "x"), "unexpected argument 'x'; use -p to select a process")

    def test_no_such_process(self):
        done = self.usertrace("map", "-p", str(2**22 - 1))
        self.assertEqual((done.status, done.stderr), (1, [f"usertrace map: no process {2**22 - 1}"]))


class Check(live.Case):
    """A program that has run-time code, and whatever map stands there under its number."""

    def setUp(self):
        self.sleeper = self.start("sleep", "1000")
        self.path = map_of(self.sleeper.pid)
        self.addCleanup(remove, self.path)

    def write(self, text, mode="w"):
        with open(self.path, mode, encoding="latin-1") as file:
            file.write(text)

    def check(self, *more):
        return self.usertrace("map", "--check", "-p", str(self.sleeper.pid), *more)

    def json(self, status):
        done = self.check("--json")
        self.assertEqual((done.status, done.stderr), (status, []), done.describe())
        return done.objects()[0]

    def test_counts(self):
        self.write("1000 40 a\n1020 40 b\n1100 10 c\nno line\n2000 10 \n\n")
        report = self.json(0)
        self.assertEqual(report["files"], [{"path": self.path, "format": "perf-map", "size_bytes": 48, "entries": 4, "bad_entries": 1,
                                           "first_bad_line": 4, "duplicate_entries": 1, "in_jit_code": 0, "in_files": 0,
                                           "in_data": 0, "unmapped": 4}])
        self.assertEqual((report["written"], report["jit_code_bytes"], report["notes"]), (False, 0, []))
        text = self.check()
        self.assertIn(f"{self.path}: 4 entries, 48B", text.stdout)
        self.assertIn("  1 malformed line, the first at line 4", text.stdout)

    def test_a_heap_that_was_saved(self):
        """Code in a file that is no program, as SBCL maps its core, is the runtime's and not a file's."""
        with tempfile.NamedTemporaryFile() as heap:
            heap.write(b"\0" * 8192)
            heap.flush()
            holder = self.start("/usr/bin/python3", "-c", "import mmap, sys; f = open(sys.argv[1]); m = mmap.mmap("
                                "f.fileno(), 8192, mmap.MAP_PRIVATE, 7); m[0] = 195; print('mapped', flush=True); import time; time.sleep(1000)", heap.name)
            holder.wait_for("mapped")
            with open(f"/proc/{holder.pid}/maps", encoding="utf-8") as maps:
                start = next(line.split("-")[0] for line in maps if heap.name in line)
            self.addCleanup(remove, map_of(holder.pid))
            with open(map_of(holder.pid), "w", encoding="utf-8") as file:
                file.write(f"{start} 1000 function\n")
            report = json.loads(self.usertrace("map", "--check", "--json", "-p", str(holder.pid)).stdout[0])
        self.assertEqual((report["files"][0]["in_jit_code"], report["files"][0]["in_files"]), (1, 0))
        self.assertEqual(report["named_bytes"], 4096)

    def test_none(self):
        self.assertEqual(self.json(1)["files"], [])
        done = self.check()
        self.assertEqual((done.status, done.stdout[1:]), (1, ["no usable code map", "JIT code: none"]))

    def test_what_is_no_file(self):
        for make, word in [(lambda: os.mkfifo(self.path), "a FIFO"), (lambda: os.symlink("/etc/passwd", self.path), "a link")]:
            with self.subTest(word=word):
                make()
                notes = self.json(1)["notes"]
                self.assertEqual(notes, [f"'{self.path}' is {word}, not a regular file: its names are not used"])
                os.unlink(self.path)

    @live.needs_root()
    def test_another_users_map(self):
        self.write("1000 40 evil\n")
        os.chown(self.path, 65534, 65534)
        notes = self.json(1)["notes"]
        self.assertEqual(notes, [f"'{self.path}' belongs to user 65534, but process {self.sleeper.pid} to user 0: its names "
                                 "are not used"])

    def test_an_earlier_processs_map(self):
        self.write("1000 40 stale\n")
        os.utime(self.path, (1e9, 1e9))
        self.assertRegex(self.json(1)["notes"][0], "was written before process .* started")

    @live.needs_root()
    @live.needs_program("unshare")
    def test_a_namespace_of_its_own(self):
        """Its number is 1 there, and its /tmp its own: what stands in ours is another's."""
        inner = self.start("unshare", "-p", "-m", "-f", "--kill-child", "sh", "-c",
                           "mount -t tmpfs none /tmp && echo '1000 40 inner' > /tmp/perf-1.map && echo ready && exec sleep 1000")
        inner.wait_for("ready")
        pid = self.child_of(inner)
        self.addCleanup(remove, map_of(pid))
        with open(map_of(pid), "w", encoding="ascii") as file:
            file.write("1000 40 outer\n2000 40 outer\n")
        done = self.usertrace("map", "--check", "--json", "-p", str(pid))
        report = json.loads(done.stdout[0])
        self.assertEqual([(m["path"], m["entries"]) for m in report["files"]], [(f"/proc/{pid}/root/tmp/perf-1.map", 1)])


class Clean(live.Case):
    def setUp(self):
        self.folder = self.tempdir()
        ended = subprocess.Popen(["true"])
        ended.wait()
        self.ended = ended.pid

    def put(self, name):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write("1000 40 a\n")

    @live.needs_root()
    def test_only_what_ended_processes_left(self):
        stays = [f"perf-{os.getpid()}.map", f"perf-{self.ended}.map.old", f"xperf-{self.ended}.map", f"perf-0{self.ended}.map",
                 "perf-.map", f"perf-{self.ended}.dump", "perf-99999999999999999999.map", f"jit-{self.ended}-1.dump"]
        goes = [f"perf-{self.ended}.map", f"jit-{self.ended}.dump"]
        for name in stays + goes:
            self.put(name)
        os.symlink("/etc/passwd", os.path.join(self.folder, "perf-4194301.map"))
        os.mkdir(os.path.join(self.folder, "perf-4194302.map"))
        stays += ["perf-4194301.map", "perf-4194302.map"]
        done = self.usertrace("map", "--clean", "--dry-run", self.folder)
        self.assertEqual(done.status, 0, done.describe())
        self.assertEqual(sorted(done.stdout), sorted([f"would remove {self.folder}/{name}, 10B" for name in goes] +
                                                     ["2 files of processes that have ended, 20B"]))
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(stays + goes))
        done = self.usertrace("map", "--clean", self.folder)
        self.assertEqual(done.status, 0, done.describe())
        self.assertIn(f"removed {self.folder}/{goes[0]}, 10B", done.stdout)
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(stays))

    @live.needs_root()
    @live.needs_program("unshare")
    def test_a_container_that_shares_the_folder(self):
        inner = self.start("unshare", "-p", "-f", "--kill-child", "sh", "-c", "sleep 1000 & echo $! ready; wait")
        number = int(inner.wait_for(r"(\d+) ready")[1])
        self.put(f"perf-{number}.map")
        done = self.usertrace("map", "--clean", self.folder)
        self.assertEqual(done.stdout, ["0 files of processes that have ended, 0B"])

    @live.needs_root()
    def test_others_files_are_roots_to_remove(self):
        program = os.path.join(self.folder, "usertrace")
        shutil.copy(live.USERTRACE, program)
        os.chmod(self.folder, 0o777)
        self.put(f"perf-{self.ended}.map")
        done = self.start(program, "map", "--clean", self.folder, preexec=lambda: os.setresuid(65534, 65534, 65534))
        self.assertEqual((done.wait(), done.stdout), (0, ["0 files of processes that have ended, 0B"]))

    def test_no_such_folder(self):
        done = self.usertrace("map", "--clean", "/nonexistent")
        self.assertEqual(done.status, 1)
        self.assertEqual(done.stderr, ["usertrace map: cannot read the directory '/nonexistent': No such file or directory"])


class Java(live.Case):
    """The virtual machine is asked by its own protocol."""

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(JAVA17) or not shutil.which("javac"):
            raise unittest.SkipTest("OpenJDK 17 is not installed")
        cls.classes = tempfile.mkdtemp(prefix="usertrace-test-", dir="/var/tmp")   # another /tmp has it as well
        cls.addClassCleanup(shutil.rmtree, cls.classes, True)
        subprocess.run(["javac", "-d", cls.classes, os.path.join(live.TARGET_SOURCES, "GcChurn.java")], check=True,
                       timeout=live.PATIENCE)

    def java(self, *options, wrap=()):
        return self.start(*wrap, JAVA17, "-Xmx64m", "-XX:+UseSerialGC", *options, "-cp", self.classes, "GcChurn", "1000")

    def ask(self, pid, status=0):
        """Asks again while the machine is still starting."""
        last = []

        def answered():
            last[:] = [self.usertrace("map", "-p", str(pid), "--json")]
            text = " ".join(last[0].stderr)
            return "still starting" not in text and "no libjvm.so" not in text and last[0].stdout and \
                json.loads(last[0].stdout[0]).get("runtime") == "HotSpot"
        self.eventually(answered, "an answer of the virtual machine")
        self.assertEqual(last[0].status, status, last[0].describe())
        return last[0]

    def test_it_writes_its_map(self):
        machine = self.java()
        self.addCleanup(remove, map_of(machine.pid))
        report = json.loads(self.ask(machine.pid).stdout[0])
        self.assertTrue(report["written"])
        self.assertGreater(report["files"][0]["entries"], 100)
        self.assertEqual((report["files"][0]["bad_entries"], report["notes"]), (0, []))
        self.assertGreater(report["files"][0]["in_jit_code"], 100)
        self.assertGreater(report["named_bytes"], 100000)
        self.assertFalse(os.path.exists(f"/tmp/.attach_pid{machine.pid}"))

        def is_compiled():
            self.ask(machine.pid)
            with open(map_of(machine.pid), encoding="utf-8") as file:
                return "GcChurn.boom(int)" in file.read()
        self.eventually(is_compiled, "a compiled method in the map that is written anew")

    def test_it_is_never_signalled_when_it_must_not_be(self):
        machine = self.java("-XX:+DisableAttachMechanism")
        done = self.ask(machine.pid, 1)
        self.assertIn("runs with -XX:+DisableAttachMechanism", done.stderr[0])
        self.assertEqual(json.loads(done.stdout[0])["hint"], "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit")
        self.assertNotIn("Full thread dump", " ".join(machine.stdout))     # what SIGQUIT would do

    def test_a_socket_that_was_removed(self):
        """Cleaners of /tmp do that; and a machine that is just starting."""
        machine = self.java()
        self.addCleanup(remove, map_of(machine.pid))
        self.ask(machine.pid)
        os.unlink(f"/tmp/.java_pid{machine.pid}")
        self.ask(machine.pid)
        self.assertNotIn("Full thread dump", " ".join(machine.stdout))

    def test_a_stopped_one(self):
        machine = self.java()
        self.addCleanup(remove, map_of(machine.pid))
        self.ask(machine.pid)
        os.kill(machine.pid, signal.SIGSTOP)
        done = self.usertrace("map", "-p", str(machine.pid))
        os.kill(machine.pid, signal.SIGCONT)
        self.assertEqual(done.status, 1)
        self.assertIn("is stopped and cannot answer", done.stderr[0])

    def test_a_link_in_the_place_of_the_map(self):
        machine = self.java()
        victim = os.path.join(self.tempdir(), "victim")
        with open(victim, "w", encoding="ascii") as file:
            file.write("precious")
        os.symlink(victim, map_of(machine.pid))
        self.addCleanup(remove, map_of(machine.pid))
        done = self.ask(machine.pid, 1)
        self.assertIn("is not a regular file of its user: remove it first", done.stderr[0])
        with open(victim, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    @live.needs_root()
    @live.needs_program("unshare")
    def test_in_a_namespace_of_its_own(self):
        outer = self.java(wrap=("unshare", "-p", "-m", "-f", "--kill-child", "--mount-proc", "sh", "-c",
                                'mount -t tmpfs none /tmp; "$0" "$@" & wait'))
        init = self.child_of(outer)
        children = f"/proc/{init}/task/{init}/children"

        def java_pid():
            with open(children, encoding="ascii") as file:
                for pid in file.read().split():
                    with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                        if comm.read() == "java\n":
                            return int(pid)
            return None
        self.eventually(java_pid, "java in the namespace")
        pid = java_pid()
        report = json.loads(self.ask(pid).stdout[0])
        self.assertTrue(report["written"])
        self.assertRegex(report["files"][0]["path"], rf"^/proc/{pid}/root/tmp/perf-\d+\.map$")
        self.assertFalse(os.path.exists(map_of(pid)))


HOSTILE = r"""
import ctypes, mmap, os, signal, socket, subprocess, sys, time
manner, victim, own = sys.argv[1:4]
signal.signal(signal.SIGQUIT, lambda *_: None)
pid = os.getpid()
with open(own + "/libjvm.so", "wb") as file:
    file.write(bytes(4096))
with open(own + "/libjvm.so", "rb") as file:
    code = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
libc = ctypes.CDLL(None, use_errno=True)
def bind(what, where):
    if libc.mount(what.encode(), where.encode(), None, 4096, None):
        raise OSError(ctypes.get_errno(), "mount")
attach, java, map = ("/tmp/" + name for name in (f".attach_pid{pid}", f".java_pid{pid}", f"perf-{pid}.map"))
os.mkdir(own + "/tmp")
if manner == "tmp":
    bind(victim, "/tmp")
else:
    bind(own + "/tmp", "/tmp")
os.chdir(victim if manner.startswith("cwd") else own)
if manner == "cwd":
    os.mkdir(attach)
elif manner == "cwd closed":
    os.chmod(own + "/tmp", 0o555)
elif manner == "attach link":
    os.symlink(victim + "/new", attach)
elif manner == "map link":
    os.symlink(victim + "/secret", map)
elif manner == "map link to nothing":
    os.symlink(victim + "/new", map)
elif manner == "map fifo":
    os.mkfifo(map)
elif manner == "map secret":
    open(map, "w").close()
    bind(victim + "/secret", map)
elif manner == "socket link":
    os.symlink(victim + "/socket", java)
elif manner == "other's socket":
    open(java, "w").close()
    bind(victim + "/socket", java)
elif manner == "endless":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(java)
    listener.listen()
    print("ready", flush=True)
    while True:
        peer = listener.accept()[0]
        try:
            while True:
                peer.sendall(b"x" * 65536)
        except OSError:
            pass
print("ready", flush=True)
while True:
    time.sleep(1000)
"""
NOBODY = 65534


class Hostile(live.Case):
    """A process of another user, in namespaces of its own, that poses as a virtual machine: root's rights are not used for it."""

    def setUp(self):
        self.victim = self.directory()
        os.chmod(self.victim, 0o755)
        with open(os.path.join(self.victim, "secret"), "w", encoding="ascii") as file:
            file.write("1000 40 precious\n")
        os.chmod(file.name, 0o600)
        self.socket = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.socket.close)
        self.socket.bind(os.path.join(self.victim, "socket"))
        os.chmod(os.path.join(self.victim, "socket"), 0o600)
        self.socket.listen()
        self.socket.setblocking(False)

    def directory(self):
        path = tempfile.mkdtemp(prefix="usertrace-test-", dir="/var/tmp")   # stays visible below another /tmp
        self.addCleanup(shutil.rmtree, path, True)
        return path

    def pose(self, manner):
        own = self.directory()
        os.chown(own, NOBODY, NOBODY)
        script = os.path.join(own, "hostile.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(HOSTILE)

        def become():
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        process = self.start("unshare", "-U", "-r", "-m", "/usr/bin/python3", script, manner, self.victim, own, preexec=become)
        process.wait_for("ready")
        return process

    @live.needs_root()
    @live.needs_program("unshare")
    @live.needs_program("/usr/bin/python3")
    def test_manners(self):
        before = sorted(os.listdir(self.victim))
        config = self.tempdir()                                            # where no Python is known
        os.makedirs(os.path.join(config, "usertrace", "runtimes"))
        with open(os.path.join(config, "usertrace", "runtimes", "cpython.ini"), "w", encoding="ascii") as file:
            file.write("[runtime]\nname = CPython\nlanguage = Python\nmatch = no-such-program\n")
        for manner in ("tmp", "cwd", "cwd closed", "attach link", "map link", "map link to nothing", "map fifo", "map secret",
                       "socket link", "other's socket", "endless", "plain"):
            with self.subTest(manner):
                process = self.pose(manner)
                done = self.usertrace("map", "-p", str(process.pid), "--json", env=os.environ | {"XDG_CONFIG_HOME": config})
                self.assertEqual((done.status, json.loads(done.stdout[0])["runtime"]), (1, "HotSpot"), done.describe())
                self.assertEqual(sorted(os.listdir(self.victim)), before)
                self.assertNotIn("precious", " ".join(done.stdout + done.stderr))
                report = json.loads(done.stdout[0])
                self.assertEqual([f["entries"] for f in report["files"] if f["entries"]], [], done.describe())
                with open(os.path.join(self.victim, "secret"), encoding="ascii") as file:
                    self.assertEqual(file.read(), "1000 40 precious\n")
                with self.assertRaises(BlockingIOError):
                    self.socket.accept()
                process.end()


class Node(live.Case):
    @live.needs_program("node")
    def test_the_flag_is_named(self):
        node = self.start("node", "-e", "console.log('ready'); setInterval(() => {}, 1000)")
        node.wait_for("ready")
        done = self.usertrace("map", "-p", str(node.pid))
        self.assertEqual(done.status, 1)
        self.assertIn("to get one, start the program as: node --perf-basic-prof --interpreted-frames-native-stack", done.stdout)

    @live.needs_program("node")
    def test_its_map(self):
        node = self.start("node", "--perf-basic-prof", "-e", "console.log('ready'); setInterval(() => {}, 1000)",
                          cwd=self.tempdir())   # where it leaves a log
        self.addCleanup(remove, map_of(node.pid))
        node.wait_for("ready")
        done = self.usertrace("map", "-p", str(node.pid), "--json")
        report = json.loads(done.stdout[0])
        self.assertEqual((done.status, report["runtime"], report["written"]), (0, "Node.js", False))
        self.assertGreater(report["files"][0]["in_files"], 100)      # what is built into the program

    @live.needs_program("node")
    def test_its_dump(self):
        folder = self.tempdir()
        node = self.start("node", "--perf-prof", "-e", "console.log('ready'); setInterval(() => {}, 1000)", cwd=folder)
        node.wait_for("ready")
        report = json.loads(self.usertrace("map", "-p", str(node.pid), "--json").stdout[0])
        self.assertEqual([m["format"] for m in report["files"]], ["jitdump"])
        self.assertEqual(report["notes"], [])


if __name__ == "__main__":
    unittest.main()
