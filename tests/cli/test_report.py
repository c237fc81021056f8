# SPDX-License-Identifier: MIT
"""`usertrace report hot` on folded stacks and pprof's files; what `go tool pprof` says of the same."""
import collections
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest

import live
import schema

STACKS = """\
main;run;parse;next_[i] 40
main;run;parse;parse 20
main;run;write;ksys_write_[k];vfs_write_[k] 8
start;work;parse 22
start;work;[unknown code, no map: 0x7f01] 4
start;work;App\\Foo::bar 6
"""


WAITS = """\
[idle];pool_[w] 9000000000
main;burn 3000000
main;take 2000000
main;take;pthread_cond_wait;schedule_[k];[sleeping] 3000000
main;read;vfs_read_[k];[uninterruptible wait] 1000000
"""


def self_and_total(text):
    """Of folded stacks, by hand: name → [self, total]."""
    sums = collections.defaultdict(lambda: [0, 0])
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        names = [re.sub(r"_\[[kjiw]\]$", "", name) for name in stack.split(";")]
        sums[names[-1]][0] += int(count)
        for name in set(names):
            sums[name][1] += int(count)
    return {name: tuple(values) for name, values in sums.items()}


def random_stacks(n):
    """Stacks with recursion, of functions whose names are hard to read."""
    dice = random.Random(5)
    names = [f"f{i}" for i in range(30)] + ["operator()(int, char)", "a b c", "std::at", "λ::µ", "x_[k]", "y_[j]", "z_[i]"]
    lines = {";".join(dice.choice(names) for _ in range(dice.randint(1, 30))): dice.randint(1, 1000) for _ in range(n)}
    return "".join(f"{stack} {count}\n" for stack, count in lines.items())


class Case(live.Case):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="report-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def hot(self, *args, status=0, stdin=None):
        done = subprocess.run([live.USERTRACE, "report", "hot", *args], input=stdin, capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done

    def convert(self, text, name, *args):
        """The file that these stacks are written to."""
        path = self.path(name)
        self.hot(self.path("in.folded", text), "-o", path, *args)
        return path

    def json(self, *args, **kwargs):
        return schema.check([json.loads(self.hot("--json", *args, **kwargs).stdout)], "report")[0]


class Hot(Case):
    def check_functions(self, text):
        report = self.json(self.path("in.folded", text))
        seen = {}
        for f in report["states"][0]["functions"]:      # of a name there may be several: the kernel's, and the program's
            a, b = seen.get(f["name"], (0, 0))
            seen[f["name"]] = (a + f["self"], b + f["total"])
        return report, seen

    @live.vm_safe
    def test_self_and_total(self):
        report, seen = self.check_functions(STACKS)
        wanted = self_and_total(STACKS)
        wanted["[unknown code, no map]"] = wanted.pop("[unknown code, no map: 0x7f01]")
        self.assertEqual(seen, wanted)
        self.assertEqual(report["totals"]["samples"], 100)
        self.assertEqual(report["states"][0]["kernel"], 8)
        self.assertEqual(report["reasons"], [{"reason": "[unknown code, no map]", "frames": 4}])
        text = random_stacks(500)
        self.assertEqual(self.check_functions(text)[1], self_and_total(text))

    @live.vm_safe
    def test_counts_beyond_64_bits(self):
        most = 2**64 - 1
        text = f"a;b {most}\na;c 5\nd {most - 600}\n"
        report, seen = self.check_functions(text)
        self.assertEqual(seen, {"a": (0, most), "b": (most, most), "c": (5, 5), "d": (most - 600, most - 600)})
        self.assertEqual((report["totals"]["samples"], report["states"][0]["value"]), (most, most))
        seen = self.json(self.convert(text, "x.pb.gz"))["states"][0]["functions"]       # which has a bit less
        self.assertEqual({f["name"]: f["self"] for f in seen}, {"a": 0, "b": 2**63 - 1, "c": 5, "d": 2**63 - 1})

    @live.vm_safe
    def test_text(self):
        lines = self.hot(self.path("in.folded", STACKS)).stdout.decode().splitlines()
        self.assertEqual(lines[0], "82 % of samples were in parse and its callees, 42 % self time; 8 % ran in the kernel")
        self.assertEqual(lines[1], "100 samples, 1 thread; 0 lost; all stacks complete; frames without a name: 1.1 %: "
                                   "[unknown code, no map] 4")
        rows = self.hot(self.path("in.folded", STACKS), "--rows", "1").stdout.decode().splitlines()
        self.assertIn("        42    42 %        82    82 %  -       parse", rows)
        self.assertIn(" … and 4 more", rows)

    @live.vm_safe
    def test_function(self):
        report = self.json("--function", "w*", stdin=STACKS.encode())
        self.assertEqual([f["name"] for f in report["neighbors"]], ["work", "write"])
        self.assertEqual([(c["name"], c["cpu"]) for c in report["neighbors"][0]["callees"]],
                         [("parse", 22), ("App\\Foo::bar", 6), ("[unknown code, no map]", 4)])
        self.assertEqual([(c["name"], c["cpu"]) for c in report["neighbors"][1]["callers"]], [("run", 8)])
        text = self.hot("-f", "nothing", stdin=STACKS.encode()).stdout.decode()
        self.assertIn("no function matches the pattern", text)

    @live.vm_safe
    def test_function_that_runs_and_waits(self):
        """Each of its two blocks says which it is."""
        text = self.hot("-f", "take", stdin=WAITS.encode()).stdout.decode()
        self.assertIn("\ntake, ran: 40 % of the total, 40 % self\n", text)
        self.assertIn("\ntake, waited: 75 % of the total, 75 % self\n", text)

    @live.vm_safe
    def test_recording_of_waits(self):
        """Nanoseconds are no samples, sleep is no work, and who is idle is omitted: as folded stacks, and in a picture."""
        lines = self.hot(stdin=WAITS.encode()).stdout.decode().splitlines()
        self.assertEqual(lines[0], "60 % of the CPU time was spent in burn; threads waited for 4 ms, 75 % of it in take")
        self.assertEqual(lines[1], "5 ms of CPU time, 4 ms of waits, 1 thread; 0 lost; all stacks complete; frames without a name: 0 %")
        self.assertEqual(lines[2], "idle threads waited for 9 s, which is not included below")
        self.assertIn("      3 ms    75 %      3 ms    75 %  -       take (in pthread_cond_wait)", lines)
        report = self.json(stdin=WAITS.encode())
        self.assertEqual([(s["state"], s["unit"], s["value"]) for s in report["states"]],
                         [("cpu", "nanoseconds", 5000000), ("blocked", "nanoseconds", 4000000)])
        self.assertNotIn("samples", report["totals"])
        self.assertEqual(self.hot("--to", "folded", stdin=WAITS.encode()).stdout.decode(), WAITS)
        path = self.convert(WAITS, "x.pb.gz")
        self.assertEqual(self.hot(path, "--to", "folded").stdout.decode(), WAITS)
        self.assertEqual(self.hot(path).stdout.decode().splitlines()[0], lines[0])
        self.assertIn(b"data-unit=\"ns\"", self.hot("--to", "svg", stdin=WAITS.encode()).stdout)

    @live.vm_safe
    def test_functions_of_stripped_files(self):
        """Each place is a row, none is the headline, and there is a word on what to do."""
        text = "".join(f"main;eval;[no symbols: python3.11+0x{i}0] {30 + i}\n" for i in range(1, 4)) + "main;copy 4\n"
        lines = self.hot(stdin=text.encode()).stdout.decode().splitlines()
        self.assertEqual(lines[0], "96 % of samples were in eval and its callees; the hottest function with a name is copy (4 %)")
        self.assertTrue(lines[1].endswith(": [no symbols: python3.11] 96"), lines[1])
        self.assertIn("        33    33 %        33    33 %  -       [no symbols: python3.11+0x30]", lines)
        self.assertIn("or …-dbg (docs/profile.md)", lines)

    @live.vm_safe
    def test_refused(self):
        good = self.path("in.folded", STACKS)
        for args, words in ((["cold", good], "unknown report 'cold'; did you mean: usertrace report hot cold"), ([], "the name of a report is required: hot"),
                            (["hot", good, "b"], "unexpected argument 'b'; only one file is allowed"),
                            (["hot", good, "-o", "x.png"], "unknown suffix"),
                            (["hot", good, "--to", "svgg"], "unknown format 'svgg'; did you mean 'svg'?"),
                            (["hot", good, "--to", "svg", "--json"], "--json, --function and --rows apply to the report"),
                            (["hot", self.path("empty", "")], "no stacks; expected lines such as"),
                            (["hot", self.folder], "is a directory")):
            with self.subTest(args=args):
                done = self.usertrace("report", *args)
                self.assertEqual((done.status, done.stdout), (2, []), done.describe())
                self.assertIn(words, done.stderr[-1])
        done = self.usertrace("report", "hot", self.path("gone"))
        self.assertEqual(done.status, 1)
        self.assertIn("No such file", done.stderr[0])

    def test_a_picture_is_no_profile(self):
        path = self.convert(STACKS, "x.svg")
        with open(path, "rb") as file:
            picture = file.read()
        for stdin, args in ((None, [path]), (picture, [])):
            done = self.hot(*args, status=2, stdin=stdin)
            self.assertRegex(done.stderr.decode(), r"^usertrace report: (.*x\.svg|standard input) is already a flame graph; expected folded")
            self.assertEqual(done.stdout, b"")

    @live.vm_safe
    def test_damaged_pprof(self):
        whole = open(self.convert(STACKS, "x.pb.gz"), "rb").read()
        inner = gzip.decompress(whole)
        for name, content in (("cut", whole[:-20]), ("no message", gzip.compress(b"\xff" * 50)), ("none", gzip.compress(b"")),
                              ("cut inside", gzip.compress(inner[:len(inner) // 2]))):
            with self.subTest(name):
                path = self.path("bad.pb.gz")
                with open(path, "wb") as file:
                    file.write(content)
                done = self.hot(path, status=2)
                self.assertEqual(done.stdout, b"")
                self.assertIn(b"bad.pb.gz ", done.stderr)

    def test_a_full_disk_and_a_closed_pipe(self):
        path = self.path("in.folded", random_stacks(2000))
        for to in (["--to", "folded"], ["--to", "pprof"], ["--to", "speedscope"], ["--to", "svg"], ["--json"], []):
            with self.subTest(to):
                with open("/dev/full", "wb") as full:
                    done = subprocess.run([live.USERTRACE, "report", "hot", path, *to], stdout=full, stderr=subprocess.PIPE,
                                          check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"cannot write to standard output: No space left on device", done.stderr)
                read, write = os.pipe()
                os.close(read)
                done = subprocess.run([live.USERTRACE, "report", "hot", path, *to], stdout=write, stderr=subprocess.PIPE,
                                      check=False)
                os.close(write)
                self.assertEqual((done.returncode, done.stderr), (0, b""))


def message(*fields):
    """A protobuf message of (number, value): numbers below 128, texts, or messages."""
    return b"".join(bytes([number << 3, value]) if isinstance(value, int) else
                    bytes([number << 3 | 2, len(value)]) + value for number, value in fields)


class Others(Case):
    """Profiles that others write."""
    TEXTS = [b"", b"alloc_space", b"bytes", b"space", b"f", b"nanoseconds"]

    def profile(self, period_unit, *sample):
        return message((1, message((1, 1), (2, 2))), (2, message(*sample, (2, b"\x07"))), (4, message((1, 1), (4, message((1, 1))))),
                       (5, message((1, 1), (2, 4))), *((6, text) for text in self.TEXTS),
                       (11, message((1, 3), (2, period_unit))), (12, 100))

    @live.vm_safe
    def test_numbers_before_all(self):
        """Go's own runtime begins with the time."""
        time = bytes.fromhex("48aae3b5dde9d4b3f618")
        for text in (time + self.profile(2, (1, 1)), message((14, 1)) + self.profile(2, (1, 1))):
            self.assertEqual(self.hot("--to", "folded", stdin=text).stdout, b"f 7\n")
        self.assertEqual(self.hot("--to", "folded", stdin=b"HaPa`ap;b 5\n").stdout, b"HaPa`ap;b 5\n")

    @live.vm_safe
    def test_a_period_of_bytes_is_no_frequency(self):
        lines = self.hot(stdin=self.profile(2, (1, 1))).stdout.decode().splitlines()
        self.assertEqual(lines[:2], ["100 % of alloc_space were in f",
                                     "7 alloc_space, 1 thread; 0 lost; all stacks complete; frames without a name: 0 %"])
        self.assertIn(", 10000000 Hz, ", self.hot(stdin=self.profile(5, (1, 1))).stdout.decode())

    @live.vm_safe
    def test_no_stack(self):
        lines = self.hot(stdin=self.profile(2)).stdout.decode().splitlines()
        self.assertEqual(lines[0], "no sample has a stack")


class Forms(Case):
    @live.vm_safe
    def test_folded_twice_is_the_same(self):
        once = self.hot("--to", "folded", stdin=random_stacks(800).encode()).stdout
        self.assertEqual(self.hot("--to", "folded", stdin=once).stdout, once)

    @live.vm_safe
    def test_pprof_and_back(self):
        path = self.convert(STACKS, "x.pb.gz")
        self.assertEqual(self.hot(path, "--to", "folded").stdout.decode(), STACKS)
        with open(path, "rb") as file:                  # and through a pipe
            self.assertEqual(self.hot("--to", "folded", stdin=file.read()).stdout.decode(), STACKS)
        with open(path, "rb") as file:                  # others do not gzip it
            self.assertEqual(self.hot("--to", "folded", stdin=gzip.decompress(file.read())).stdout.decode(), STACKS)

    @live.vm_safe
    def test_lines_that_look_a_little_like_pprof(self):
        self.assertEqual(self.hot("--to", "folded", stdin=b"\n\na;b 5\n").stdout, b"a;b 5\n")
        self.assertEqual(self.hot("--to", "folded", stdin=b"a 1").stdout, b"a 1\n")

    @live.vm_safe
    def test_speedscope_is_as_its_schema_says(self):
        text = random_stacks(300)
        with open(self.convert(text, "x.speedscope.json"), encoding="utf-8") as file:
            scope = json.load(file)
        self.assertEqual(scope["$schema"], "https://www.speedscope.app/file-format-schema.json")
        self.assertLessEqual(set(scope), {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"})
        self.assertEqual(set(scope["shared"]), {"frames"})
        for frame in scope["shared"]["frames"]:
            self.assertLessEqual(set(frame), {"name", "file", "line", "col"})
            self.assertIsInstance(frame["name"], str)
        names = [frame["name"] for frame in scope["shared"]["frames"]]
        sums = collections.Counter()
        for profile in scope["profiles"]:
            self.assertEqual(set(profile), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"})
            self.assertEqual((profile["type"], profile["startValue"]), ("sampled", 0))
            self.assertIn(profile["unit"], ("none", "nanoseconds"))
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertEqual(sum(profile["weights"]), profile["endValue"])
            for stack, weight in zip(profile["samples"], profile["weights"]):
                sums[";".join(names[i] for i in stack)] += weight
        wanted = collections.Counter()
        for line in text.splitlines():
            stack, count = line.rsplit(" ", 1)
            wanted[re.sub(r"_\[[kji]\](?=;|$)", "", stack)] += int(count)
        self.assertEqual(sums, wanted)


@unittest.skipUnless(shutil.which("go"), "go is not installed")
class Pprof(Case):
    def pprof(self, *args):
        env = {**os.environ, "HOME": self.folder, "GOPATH": self.folder, "GOCACHE": os.path.join(self.folder, "cache"),
               "GOFLAGS": "-mod=mod", "GOPROXY": "off", "PPROF_TMPDIR": self.folder, "PPROF_BINARY_PATH": self.folder}
        done = subprocess.run(["go", "tool", "pprof", *args], capture_output=True, text=True, env=env, check=False, timeout=60)
        if "no such tool" in done.stderr:
            self.skipTest("go has no pprof")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_top(self):
        text = random_stacks(500)
        out = self.pprof("-top", "-nodecount=1000", "-nodefraction=0", self.convert(text, "x.pb.gz"))
        self.assertIn("Type: samples", out)
        seen = {}
        for line in out.splitlines():
            row = re.match(r"\s*(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+%  (.*)$", line)
            if row:
                seen[re.sub(r" \((?:partial-)?inline\)$", "", row[3])] = int(row[1]), int(row[2])
        self.assertEqual(seen, self_and_total(text))

    def test_idle_threads(self):
        """Their names are no functions."""
        out = self.pprof("-top", "-sample_index=blocked", self.convert(WAITS, "x.pb.gz"))
        self.assertRegex(out, r"  \[idle: pool\]\n")

    def test_raw(self):
        out = self.pprof("-raw", self.convert(STACKS, "x.pb.gz"))
        self.assertRegex(out, r"samples/count")
        self.assertRegex(out, r"(?m)^ +40: 1 2 3 *$")       # next is inlined in parse: one location
        self.assertRegex(out, r"(?m)^ +1: 0x0 next :0 s=0\n +parse :0 s=0$")
        self.assertRegex(out, r"(?m)^\d+: 0x0/0x0/0x0 kernel +\[FN\]")
