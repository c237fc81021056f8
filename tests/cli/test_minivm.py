# SPDX-License-Identifier: MIT
"""examples/minivm computes what it must, whatever collects and compiles; its checks find what is wrong with it; its log
holds together."""
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

ROOT = os.environ["UT_SOURCE_ROOT"]
BUILD = os.environ["UT_BUILD_ROOT"]
MINIVM = os.path.join(BUILD, "examples/minivm/minivm")
SOURCES = os.path.join(ROOT, "examples/minivm")
USERTRACE = os.path.join(BUILD, "src/cli/usertrace")
KINDS = {"thread", "gc", "gc-stop", "gc-mark", "gc-sweep", "gc-scavenge", "safepoint", "compile", "woken", "ran"}


def run(*args, program=MINIVM, timeout=60):
    return subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=timeout)


def words(text):
    return text[:-1].split("\n") if text else []


class Span:
    """A line of the log."""

    def __init__(self, line):
        kind, *numbers, text = line.split(" ", 9)
        self.kind, self.text = kind, text
        self.thread, self.tid, self.begin, self.begun, self.end, self.ended, self.before, self.after = map(int, numbers)

    def holds(self, other):
        return self.tid == other.tid and self.begun <= other.begin and other.ended <= self.end


def read_log(path):
    with open(path) as file:
        return [Span(line) for line in words(file.read()) if not line.startswith("#")]


@unittest.skipUnless(os.access(MINIVM, os.X_OK), "minivm is not built")
class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="usertrace-test-")
        self.addCleanup(shutil.rmtree, self.dir)

    def path(self, name, content=None):
        path = os.path.join(self.dir, name)
        if content is not None:
            with open(path, "w") as file:
                file.write(content)
        return path

    def good(self, *args, **kwargs):
        done = run(*args, **kwargs)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def bad(self, status, *args):
        """What it says on standard error."""
        done = run(*args)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertTrue(done.stderr.startswith("minivm: "), done.stderr)
        return done.stderr


class Results(Case):
    def test_itself(self):
        self.assertRegex(self.good("--self-check", "--quiet"), r"^[6-9]\d checks, 0 failed\n$")

    def result(self, source, n, *options):
        said = self.good(*options, "--rounds", 1, self.path("program", source), n)
        return int(said.split(" = ")[1].split(":")[0])

    def test_the_language(self):
        cases = [
            ("(def (main n) (+ n (* 3 4) (- 0 7)))", 5, 10),
            ("(def (main n) (if (< n 3) 1 2))", 3, 2),
            ("(def (main n) (if nil 1 (if 0 2 3)))", 0, 3),
            ("(def (main n) (let ((a 1) (b (+ a 1))) (set a 10) (let ((a 5)) (set b (+ b a))) (+ a b)))", 0, 17),
            ("(def (main n) (let ((s 0)) (while (< 0 n) (set s (+ s n)) (set n (- n 1))) s))", 100, 5050),
            ("(def (main n) (+ (if (and 1 2) 10 0) (if (and 1 nil) 100 0) (or nil 7) (or 3 (/ 1 0))))", 0, 20),
            ("(def (main n) (+ (/ 17 5) (% 17 5) (not 0) (not 4)))", 0, 6),
            ("(def (main n) (+ (length (cat \"ab;c\" (text 1234))) (same (text 12) \"12\") (same \"a\" \"b\")))", 0, 9),
            ("(def (main n) (other n)) ; used before it is defined\n(def (other n) (+ n 1))", 41, 42),
            ("(def (main n) (let ((a (array 3))) (put a 2 (pair 4 5)) (+ (get (get a 2) 1) (length a) (not a))))",
             0, 8),
            ("(def (sq n) (* n n)) (def (main n) (let ((t (spawn sq n)) (u (spawn sq 2))) (+ (join u) (join t))))",
             9, 85),
            ("(def (main n) (do (spawn main2 n) 3)) (def (main2 n) (array 10))", 1, 3),
        ]
        for source, n, expected in cases:
            for options in (["--no-jit"], ["--jit-threshold", 0]):
                with self.subTest(source=source, options=options):
                    self.assertEqual(self.result(source, n, "--check-heap", *options), expected)

    def test_a_number_at_the_edge(self):
        double = ("(def (main n) (let ((x 1))"
                  " (while (< 0 n) (set x (* x 2)) (set n (- n 1))) (% (+ x (- x 1)) 1000003)))")
        for options in (["--no-jit"], ["--jit-threshold", 0]):
            self.assertEqual(self.result(double, 61, *options), (2 ** 62 - 1) % 1000003)
            self.assertIn("the result of '*' is too large", self.bad(1, *options, self.path("program", double), 62))

    def test_all_options_at_once(self):
        said = self.good("--gc", "generational", "--heap", "512K", "--nursery", "16K", "--threads", 8, "--rounds", 2,
                         "--jit-threshold", 5, "--check-heap", "words", 1000)
        total = sum(len(f"word {i * 7 % 1009}") for i in range(1000))
        self.assertRegex(said, rf"^words 1000 = {total}: 16 rounds, 8 threads, \d+ collections, [1-9] compilations\n$")

    def test_seconds(self):
        self.assertRegex(self.good("--seconds", "0.05", "fib", 5), r"^fib 5 = 5: \d+ rounds, ")

    def test_quiet(self):
        self.assertEqual(self.good("--quiet", "--rounds", 1, "fib"), "")


@unittest.skipUnless(os.uname().machine == "x86_64", "there is no compiler for this machine")
class Compiler(Case):
    def test_memory_is_never_writable_and_executable(self):
        program = subprocess.Popen([MINIVM, "--seconds", "60", "--jit-threshold", "0", "fib", "10"], stdout=subprocess.PIPE)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        compiled, deadline = False, time.monotonic() + 30
        while not compiled and time.monotonic() < deadline:
            with open(f"/proc/{program.pid}/maps") as file:
                mappings = [line.split() for line in file]
            self.assertFalse([m for m in mappings if "w" in m[1] and "x" in m[1]])
            compiled = any(m[1] == "r-xp" and len(m) == 5 for m in mappings)
        self.assertTrue(compiled, "no anonymous memory that is executable")

    # A function that runs, does not run for some collections, and runs again.
    TWICE = """
(def (inc n) (+ n 1))
(def (count n) (let ((i 0)) (while (< i n) (set i (inc i))) i))
(def (main n)
  (let ((sum 0) (i 0))
    (set sum (count n))
    (while (< i 4) (do (gc) (set i (+ i 1))))
    (+ sum (count n))))
"""

    def test_code_that_does_not_run_is_dropped(self):
        program = self.path("twice.vm", self.TWICE)
        for options, times in ([], 1), (["--move-code"], 2):
            with self.subTest(options=options):
                log = self.path("log")
                out = self.good(*options, "--log", log, "--rounds", 1, program, 1000)
                self.assertRegex(out, "= 2000: ")
                compiled = [s.text for s in read_log(log) if s.kind == "compile"]
                self.assertEqual(compiled.count("inc"), times)

    def named(self, *args, **env):
        """Runs it to its end; the lines of its map, and its dump."""
        folder = self.path("dumps")
        os.makedirs(folder, exist_ok=True)
        with subprocess.Popen([MINIVM, "--quiet", *map(str, args)], env={**os.environ, "UT_JIT_DIR": folder, **env},
                              stderr=subprocess.PIPE, text=True) as program:
            said = program.communicate(timeout=60)[1]
        self.assertEqual((program.returncode, said), (0, ""))
        lines, dump = [], b""
        if os.path.exists(name := f"/tmp/perf-{program.pid}.map"):
            with open(name) as file:
                lines = [line.split(" ", 2) for line in words(file.read())]
            os.unlink(name)
        if os.path.exists(name := os.path.join(folder, f"jit-{program.pid}.dump")):
            with open(name, "rb") as file:
                dump = file.read()
        return [(int(a, 16), int(size, 16), name) for a, size, name in lines], dump

    def test_code_has_names(self):
        lines, dump = self.named("--rounds", 3, "fib", UT_JIT="map")
        self.assertEqual(([name for _, _, name in lines], dump), (["fib"], b""))
        self.assertEqual(self.named("--rounds", 3, "fib"), ([], b""))
        self.assertEqual(self.named("--jit-map", "--jit-dump", "--rounds", 3, "fib", UT_JIT="off"), ([], b""))

    def test_moved_code_has_names(self):
        lines, dump = self.named("--jit-map", "--jit-dump", "--move-code", "--heap", "2M", "--rounds", 2, "trees")
        self.assertEqual({name for _, _, name in lines}, {"count", "tree"})
        places = {}
        for address, size, name in lines:
            places.setdefault(name, []).append(address)
        for name, addresses in places.items():
            self.assertGreater(len(addresses), 5)
            self.assertTrue(all(a != b for a, b in zip(addresses, addresses[1:])), name)
        self.assertEqual(self.moves_in(dump), places)

    def moves_in(self, dump):
        """Where each function was, one place after the other."""
        magic, version, at, machine, _, pid, _, flags = struct.unpack_from("<6I2Q", dump)
        self.assertEqual((magic, version, at, machine, flags), (0x4a695444, 1, 40, 62, 0))
        names, places = {}, {}
        while at < len(dump):
            kind, size, _ = struct.unpack_from("<IIQ", dump, at)
            self.assertIn(kind, (0, 1))
            of, _, _, *rest = struct.unpack_from("<II5Q", dump, at + 16)
            self.assertEqual(of, pid)
            if kind == 0:
                address, length, index = rest[:3]
                name = dump[at + 56:dump.index(b"\0", at + 56)].decode()
                self.assertEqual(size, 57 + len(name) + length)
                self.assertEqual(dump[at + size - length:][:4], b"\x55\x48\x89\xe5")   # push %rbp; mov %rsp,%rbp
                names[index] = name
                places.setdefault(name, []).append(address)
            else:
                old, new, length, index = rest[0], rest[1], rest[2], struct.unpack_from("<Q", dump, at + 56)[0]
                self.assertEqual(places[names[index]][-1], old)
                places[names[index]].append(new)
            at += size
        return places

    def test_code_runs_where_it_was_moved_to(self):
        program = subprocess.Popen([MINIVM, "--jit-map", "--move-code", "--heap", "2M", "--seconds", "60", "trees"],
                                   stdout=subprocess.PIPE)
        name = f"/tmp/perf-{program.pid}.map"
        self.addCleanup(lambda: os.path.exists(name) and os.unlink(name))
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        seen, deadline = set(), time.monotonic() + 30
        while len(seen) < 2 and time.monotonic() < deadline:
            seen |= self.where_it_runs(program.pid, name)
        self.assertEqual(len(seen), 2, "it does not run in both halves")

    def where_it_runs(self, pid, name):
        """The half that may be executed, if all code that the map has last is in it; nothing during a collection."""
        os.kill(pid, signal.SIGSTOP)
        try:
            with open(f"/proc/{pid}/maps") as file:
                mappings = [line.split() for line in file]
            with open(name) as file:
                last = {function: int(address, 16) for address, _, function in map(str.split, words(file.read()))}
        except FileNotFoundError:
            return set()
        finally:
            os.kill(pid, signal.SIGCONT)
        ranges = [[int(n, 16) for n in m[0].split("-")] for m in mappings if m[1] == "r-xp" and len(m) == 5]
        if len(last) < 2 or len(ranges) != 1 or not all(ranges[0][0] <= a < ranges[0][1] for a in last.values()):
            return set()
        return {ranges[0][0]}


class Mistakes(Case):
    def test_wrong_options(self):
        for args, said in [
            (["--heap", "3x"], "--heap: '3x' is not a size"),
            (["--heap", "1K"], "--heap: 1K must be between 64K and 2G"),
            (["--heap", "-1"], "is not a size"),
            (["--heap", "99999999999999999999"], "is not a size"),
            (["--heap", "3G"], "between 64K and 2G"),
            (["--heap", "64K", "--nursery", "64K"], "--nursery: must be at most half of the heap"),
            (["--gc", "none"], "--gc: 'none' must be mark-sweep or generational"),
            (["--threads", "0"], "--threads: '0' is not a number from 1 to 32"),
            (["--rounds", "many"], "--rounds: 'many' is not a number"),
            (["--seconds", "nan"], "--seconds: 'nan' is not a number of seconds"),
            (["trees", "25"], "N: 25 exceeds the maximum of 24 for 'trees'"),
            (["trees", "x"], "N: 'x' is not a number"),
            (["trees", "1", "2"], "unexpected argument '2'"),
        ]:
            with self.subTest(args=args):
                self.assertIn(said, self.bad(2, *args))
        self.assertEqual(run("--nonsense").returncode, 2)

    def test_help(self):
        said = self.good("--help")
        for word in ("--heap", "--nursery", "--gc", "--threads", "--seconds", "--rounds", "--no-jit", "--jit-threshold",
                     "--log", "--check-heap", "--quiet", "--self-check", "trees", "words", "fib", "pipe"):
            self.assertIn(word, said)

    def test_files(self):
        self.assertIn("cannot read the program '/no/such': No such file", self.bad(1, "/no/such"))
        self.assertIn("cannot read the program '/': Is a directory", self.bad(1, "/"))
        self.assertIn("contains a NUL byte", self.bad(1, self.path("nul", "(def (main n) 1)\0")))
        self.assertIn("cannot write the log '/no/such/log': No such file", self.bad(1, "--log", "/no/such/log"))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_log_that_cannot_be_written(self):
        self.assertIn("cannot write the log '/dev/full': No space left", self.bad(1, "--log", "/dev/full", "fib", 3))

    def test_wrong_programs(self):
        for source, said in [
            ("", "no function 'main' with one parameter"),
            ("(def (main) 1)", "no function 'main' with one parameter"),
            ("(def (main n)", "1: unexpected end of file in 'main'"),
            ("\n(def (main n) (f 1))", "2: 'f' is not a function"),
            ("(def (main n) m)", "'m' is not a variable here"),
            ("(def (main n) (main))", "'main' requires 1 arguments, not 0"),
            ("(def (main n) (get n))", "'get' requires 2 arguments, not 1"),
            ("(def (main n) (- 1 2 3))", "'-' requires two arguments, not 3"),
            ("(def (main n) 99999999999)", "number 99999999999 is too large"),
            ("(def (main n) \"abc", "in 'main'"),
            ("(def (main n) 1) (def (main n) 2)", "'main' is defined twice"),
            ("(define (main n) 1)", "unexpected 'define', 'def' expected"),
            ("x", "unexpected 'x', '(' expected"),
            ("(def (" + "m" * 50 + " n) 1)", "is too long"),
            ("(def (main n) " + "(+ 1 " * 300 + "1" + ")" * 301, "more than 200 nested expressions"),
            ("(def (main n) (let (" + "".join(f"(v{i} 1)" for i in range(70)) + ") 1))", "more than 64 variables"),
        ]:
            with self.subTest(source=source[:60]):
                self.assertIn(said, self.bad(1, self.path("program", source)))

    def test_programs_that_fail(self):
        for source, said in [
            ("(def (main n) (f nil)) (def (f x) (+ x 1))", "in 'f' of thread 1: '+' requires numbers"),
            ("(def (main n) (get (array 3) 3))", "index 3 is out of range for an array of length 3"),
            ("(def (main n) (get 5 0))", "an array is required"),
            ("(def (main n) (/ 1 n))", "division by 0"),
            ("(def (main n) (main n))", "stack overflow: "),
            ("(def (main n) (array (- 0 1)))", "invalid length -1"),
            ("(def (main n) (array 8000000))", "does not fit into"),
            ("(def (main n) (join 1))", "cannot join thread 1"),
            ("(def (main n) (while 1 (spawn wait (channel 1)))) (def (wait c) (receive c))", "cannot start a thread"),
            ("(def (main n) nil)", "'main' must return a number"),
            ("(def (main n) (let ((l nil)) (while 1 (set l (pair l (text 1))))))", "out of memory: "),
        ]:
            for options in (["--no-jit"], ["--jit-threshold", 0, "--gc", "mark-sweep"]):
                with self.subTest(source=source, options=options):
                    self.assertIn(said, self.bad(1, "--heap", "1M", *options, self.path("program", source)))


class Log(Case):
    def check_spans(self, spans):
        for s in spans:
            self.assertIn(s.kind, KINDS)
            self.assertTrue(0 < s.begin <= s.begun <= s.end <= s.ended, vars(s))
        collections = [s for s in spans if s.kind == "gc"]
        for s in spans:
            if s.kind.startswith("gc-"):
                self.assertEqual(sum(c.holds(s) for c in collections), 1, vars(s))
        for a, b in zip(*[iter(sorted(collections, key=lambda c: c.begin))] * 2):
            self.assertLessEqual(a.ended, b.begin, "two collections at once")
        for s in spans:
            if s.kind in ("safepoint", "woken"):
                self.assertLessEqual(s.before, s.after, vars(s))
            if s.kind == "ran" and s.after:
                self.assertEqual(sum(c.tid != s.tid and c.begun <= s.begin and s.ended <= c.end for c in collections), 1)
                self.assertLessEqual(s.before, s.after, vars(s))
        return collections

    def test_it_holds_together(self):
        for gc, phases in (("mark-sweep", ["gc-mark", "gc-sweep"]), ("generational", ["gc-scavenge"])):
            for threads in (1, 4):
                with self.subTest(gc=gc, threads=threads):
                    log = self.path("log")
                    self.good("--gc", gc, "--threads", threads, "--heap", f"{640 * threads}K", "--log", log,
                              "--rounds", 5, "trees", 10)
                    spans = read_log(log)
                    collections = self.check_spans(spans)
                    self.assertGreater(len(collections), 2)
                    for c in collections:
                        inside = [s.kind for s in spans if s.kind.startswith("gc-") and c.holds(s)]
                        self.assertEqual(inside[0], "gc-stop")
                        self.assertTrue(set(phases) <= set(inside), inside)
                        self.assertLess(c.after, c.before + 5000)
                    cause = "heap full" if gc == "mark-sweep" else "nursery full"
                    self.assertEqual({c.text for c in collections}, {cause})
                    self.assertEqual(sorted(s.thread for s in spans if s.kind == "thread"), list(range(1, threads + 1)))
                    compiled = [s for s in spans if s.kind == "compile"]
                    self.assertEqual(sorted({s.text for s in compiled} - {"main"}), ["count", "tree"])
                    self.assertTrue(all(0 < s.after < 4096 for s in compiled))
                    still = [s for s in spans if s.kind == "safepoint"]
                    self.assertEqual(bool(still), threads > 1)
                    self.assertEqual(any(s.kind == "ran" for s in spans), threads > 1)
                    # Nobody stands still without somebody else's collection. It may have just ended, with the world not
                    # yet going on.
                    for s in still:
                        before = [c for c in collections if c.begin < s.end]
                        self.assertNotEqual(max(before, key=lambda c: c.begin).tid, s.tid)

    def test_collections_that_are_asked_for(self):
        log = self.path("log")
        self.good("--log", log, "--rounds", 1, self.path("program", "(def (main n) (do (gc) (gc) 1))"))
        self.assertEqual([s.text for s in read_log(log) if s.kind == "gc"], ["requested", "requested"])

    def test_large_objects(self):
        source = "(def (main n) (let ((a nil)) (while (< 0 n) (set a (array 1000)) (set n (- n 1))) (length a)))"
        log = self.path("log")
        self.good("--heap", "256K", "--check-heap", "--log", log, self.path("program", source), 500)
        self.assertEqual({s.text for s in read_log(log) if s.kind == "gc"}, {"old space full"})

    def test_a_program_that_aborts(self):
        log = self.path("log")
        source = "(def (main n) (do (gc) (if (= n 1) (abort)) n))"
        done = run("--log", log, "--rounds", 3, self.path("program", source), 1)
        self.assertEqual(done.returncode, -signal.SIGABRT)
        self.assertEqual([(s.kind, s.end > 0) for s in read_log(log) if s.kind in ("gc", "thread")],
                         [("thread", False), ("gc", True)])

    def test_a_program_that_fails(self):
        log = self.path("log")
        self.bad(1, "--log", log, "--heap", "1M", self.path("program", "(def (main n) (main (array 100)))"))
        self.assertEqual([s.kind for s in read_log(log) if not s.end], ["thread"])

    def test_a_program_that_is_ended(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGSEGV):
            log = self.path("log")
            source = self.path("program", "(def (main n) (do (gc) (print 1) (while 1 n)))")
            program = subprocess.Popen([MINIVM, "--log", log, source], stdout=subprocess.PIPE)
            program.stdout.readline()
            program.send_signal(number)
            self.assertEqual(program.wait(60), -number)
            program.stdout.close()
            self.assertEqual([s.kind for s in read_log(log) if s.kind == "gc"], ["gc"])


class Builds(Case):
    """minivm as somebody builds it who copies the folder."""

    def copy(self, *changes):
        for name in os.listdir(SOURCES):
            if name.endswith((".c", ".h", ".d")):
                shutil.copy(os.path.join(SOURCES, name), self.dir)
        for name in ("usertrace.h", "usertrace-jit.h", "usertrace-jit.c"):
            shutil.copy(os.path.join(ROOT, "include", name), self.dir)
        for name, old, new in changes:
            with open(self.path(name)) as file:
                text = file.read()
            self.assertEqual(text.count(old), 1, f"'{old}' in {name}")
            self.path(name, text.replace(old, new))

    def compile(self, *options, compiler="cc"):
        sources = [self.path(n) for n in os.listdir(self.dir) if n.endswith(".c")]
        done = subprocess.run([compiler, "-Wall", "-Wextra", *options, "-pthread", "-o", self.path("minivm"), *sources],
                              capture_output=True, text=True, timeout=120, cwd=self.dir)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.path("minivm")

    def test_alone(self):
        for compiler in ("gcc", "clang"):
            if shutil.which(compiler):
                self.copy()
                program = self.compile("-O0", "-Werror", compiler=compiler)
                self.good("--rounds", 1, "words", 100, program=program)

    def test_the_heap_check_finds_faults(self):
        self.copy(
            ("heap.c", "list_add(&m->remembered, o);",
             'getenv("FORGET") ? o->remembered = 0 : (list_add(&m->remembered, o), 0);'),
            ("collect.c", "promote(c, v);", 'if (!getenv("MISS") || v + 1 < m->sp) promote(c, v);'),
            ("collect.c", "if (!o->marked)", 'if (!o->marked || (getenv("FREE") && used > 100000))'),
            ("collect.c", "#include <string.h>", "#include <stdlib.h>\n#include <string.h>"),
        )
        program = self.compile("-O0", "-w")
        for fault, args, said in [
            ("FORGET", ["words"], "heap check: an old object points to a young one and is in no remembered set"),
            ("MISS", ["trees"], "heap check: a (stack|field) contains 0x[0-9a-f]+, which is not an object"),
            ("FREE", ["--gc", "mark-sweep", "--heap", "2M", "trees"], "heap check: "),
            ("NONE", ["--heap", "2M", "words"], None),
        ]:
            with self.subTest(fault=fault):
                done = subprocess.run([program, "--check-heap", *args], capture_output=True, text=True, timeout=60,
                                      env={**os.environ, fault: "1"})
                self.assertEqual(done.returncode, -signal.SIGABRT if said else 0, done.stderr)
                self.assertRegex(done.stderr, said or "^$")

    @unittest.skipUnless(os.access(USERTRACE, os.X_OK), "usertrace is not built")
    def test_with_the_probes_of_clozure_cl(self):
        self.copy()
        for option, output in (("-h", "ccl.h"), ("-G", "ccl.o")):
            made = subprocess.run([USERTRACE, "dtrace", option, "-s", self.path("ccl.d"), "-o", self.path(output)],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(made.returncode, 0, made.stderr)
        program = self.compile("-O0", "-Werror", '-DMINIVM_PROVIDER_H="ccl.h"', self.path("ccl.o"))
        self.good("--rounds", 1, "trees", program=program)
        listed = subprocess.run([USERTRACE, "list", program, "ccl:*"], capture_output=True, text=True, timeout=60)
        for probe in ("gc__start", "gc__finish", "egc__start", "egc__finish", "create__thread"):
            self.assertIn(f"ccl:{probe} ", listed.stdout)
