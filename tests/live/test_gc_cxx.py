# SPDX-License-Identifier: MIT
"""`usertrace gc --kind exception` against a C++ program's own count and clock: what was thrown, and how long it took until
it was caught."""
import collections
import os
import shutil
import subprocess
import tempfile
import unittest

import agree
import live
import runtimes

Thrown = collections.namedtuple("Thrown", "tid type again begin length")


@live.needs_root()
@live.needs_program("g++")
class GcCxx(runtimes.Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="usertrace-test-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.program = cls.build(folder)

    @staticmethod
    def build(folder, *options):
        program = os.path.join(folder, "exceptions")
        source = os.path.join(live.TARGET_SOURCES, "exceptions.cc")
        subprocess.run(["g++", "-O1", "-pthread", *options, "-o", program, source], check=True)
        return program

    def throw(self, program, count, threads, *options):
        """What gc says, and what the program says of each, in order of their begin."""
        target = self.gated(program, str(count), str(threads))
        watch = agree.gc(self, "--kind", "exception", *options, "-p", target.pid)
        said = self.go(target)
        lines = [line.split()[1:] for line in target.stdout if line.startswith("thrown ")]
        own = [Thrown(int(tid), kind, *map(int, rest)) for tid, kind, *rest in lines]
        self.assertEqual(len(own), said["thrown"])
        self.assertEqual(watch.interrupt(), 0, watch.describe())
        self.let_end(target)
        self.assertEqual(watch.of_type("lost"), [])
        self.assertEqual(watch.cut("exception"), 0)
        return watch, sorted(own, key=lambda t: t.begin)

    def check(self, what, watch, own):
        """Each thread for itself: what is nested there ends before what it is in."""
        seen = watch.spans("exception")
        pairs = []
        for tid in sorted({t.tid for t in own}):
            mine, its_own = [s for s in seen if s["tid"] == tid], [t for t in own if t.tid == tid]
            self.assertEqual([(s["name"], s["args"].get("again", 0)) for s in mine], [(t.type, t.again) for t in its_own])
            pairs += zip(its_own, mine)
        self.assertEqual(len(seen), len(own))
        for t, s in pairs:
            self.assertTrue(t.begin <= s["begin_ns"] and s["end_ns"] <= t.begin + t.length, (t, s))
        agree.compare(self, "C++", what, own=[(t.begin, t.length) for t, _ in pairs],
                      seen=agree.lengths(s for _, s in pairs), note="measured with the program's own clock around throw and catch")
        return pairs

    def test_types_and_nesting(self):
        watch, own = self.throw(self.program, 100, 1)
        pairs = self.check("exceptions", watch, own)
        self.assertEqual(collections.Counter(s["label"] for _, s in pairs),
                         {"7Problem": 100, "i": 100, "St13runtime_error": 200})
        # The one that a destructor throws and catches lies in the other.
        for (_, outer), (_, inner) in zip(pairs[::4], pairs[1::4]):
            self.assertEqual((outer["label"], inner["label"]), ("7Problem", "i"))
            self.assertTrue(outer["begin_ns"] < inner["begin_ns"] and inner["end_ns"] < outer["end_ns"])

    def test_threads(self):
        watch, own = self.throw(self.program, 50, 4)
        self.assertEqual(len({t.tid for t in own}), 4)
        self.check("exceptions in 4 threads", watch, own)

    def test_linked_in(self):
        """A program that holds the library itself is told from others by a file of the user's."""
        program = self.build(self.tempdir(), "-static-libstdc++", "-static-libgcc")
        target = self.gated(program, "5", "1")
        refused = self.usertrace("gc", "--kind", "exception", "-p", str(target.pid))
        self.assertNotEqual(refused.status, 0)
        self.assertIn("has no known runtime", refused.stderr[-1])
        self.let_end_of(target)
        with open(os.path.join(live.SOURCE_ROOT, "runtimes/libstdcxx.ini")) as file:
            mine = file.read().replace("match = ", "match = exceptions\nmatch = ").replace("kind = library\n", "")
        path = os.path.join(self.tempdir(), "mine.ini")
        with open(path, "w") as file:
            file.write(mine)
        watch, own = self.throw(program, 20, 1, "--runtime", path)
        self.check("exceptions, runtime linked statically", watch, own)

    def let_end_of(self, target):
        """Through both of its gates."""
        self.go(target)
        self.let_end(target)


if __name__ == "__main__":
    unittest.main()
