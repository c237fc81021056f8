# SPDX-License-Identifier: MIT
"""Collections of CRuby as `usertrace gc` sees them, against GC.total_time, GC.count and GC::Profiler."""
import os
import unittest

import agree
import live
import runtimes

RUBY = runtimes.path_of("ruby")
OWN = os.path.join(live.TARGET_SOURCES, "gc_own.rb")


@live.needs_root()
@live.needs_program("chrt")     # nothing else takes the processor between what both read
@unittest.skipUnless(RUBY, "ruby is not installed")
class Ruby(runtimes.Case):
    def watched(self, kinds, seconds="0.4"):
        program = self.gated("chrt", "-f", "1", RUBY, "--disable=gems", OWN, seconds)
        watch = agree.gc(self, "-p", program.pid, "-k", kinds)
        said = self.go(program)
        self.let_end(program)
        self.assertEqual(watch.wait(), 0, watch.describe())
        said["own"] = [tuple(map(int, line.split()[1:])) for line in program.stdout if line.startswith("gc ")]
        return watch, said

    def version(self, watch):
        version = watch.of_type("attach")[0]["version"]
        self.assertRegex(version, r"^\d+\.\d+")
        return version

    def test_collections(self):
        watch, said = self.watched("gc")
        spans, version = watch.spans("gc"), self.version(watch)
        asked = spans[:len(said["own"])]
        agree.compare(self, "CRuby", "GC.start with immediate sweep, GC.total_time", version=version, own=said["own"],
                      seen=agree.lengths(asked), least=0.8)
        agree.count(self, "CRuby", "collections, GC.count", version=version, own=said["all"], seen=len(spans))
        by_themselves = len(spans) - len(asked)
        self.assertGreater(by_themselves, 0)
        self.assertEqual(by_themselves, said["count"])
        agree.count(self, "CRuby", "automatic collections, GC::Profiler", version=version, own=said["profiled"],
                    seen=by_themselves)
        self.assertEqual(watch.cut("gc"), 0)
        agree.stands_still(self, spans)

    def test_what_a_library_has_is_not_missing_of_its_program(self):
        """It is looked at before it has loaded libruby, where all of the probes are."""
        watch = agree.gc(self, "-s", "--", RUBY, "--disable=gems", "-e", "GC.start; sleep 0.1", attached=False)
        self.assertEqual(watch.wait(), 0, watch.describe())
        self.assertGreater(watch.summary()["rows"][0]["count"], 0)
        hints = watch.summary()["hints"]
        self.assertEqual(len(hints), 1, hints)     # and that one says what Ruby does not show
        self.assertIn("not visible in mark: marking in small steps", hints[0])

    def test_sweeps(self):
        watch, said = self.watched("gc,gc-phase,class-load,compile")
        marks, sweeps = watch.spans("gc"), watch.spans("gc-phase")
        self.assertGreaterEqual(len(sweeps), len(marks))
        row = next(r for r in watch.summary()["rows"] if r["kind"] == "gc-phase" and "label" not in r)
        self.assertEqual((row["part_of"], row["part_of_count"]), ("gc", len(marks)), row)
        # What is marked in small steps between allocations has no probes, and is a small part.
        begin = marks[len(said["own"])]["begin_ns"]
        covered = self.covered([s for s in marks + sweeps if s["begin_ns"] >= begin])
        self.remark(f"marks and sweeps are {100 * covered / said['time']:.0f} % of GC.total_time")
        self.assertGreater(covered, 0.5 * said["time"])
        # Its clock is of CPU time, ours is not: what the program had to wait for its CPU is in ours at most.
        self.assertLess(covered, 1.05 * said["time"] + watch.waited_ns)
        self.assertIn("shellwords", [s["name"] for s in watch.spans("class-load", label="shellwords")])
        self.assertTrue(any(s["name"].endswith("shellwords.rb") for s in watch.spans("compile")))

    @staticmethod
    def covered(spans):
        """Time that spans cover, each moment once."""
        total, until = 0, 0
        for span in sorted(spans, key=lambda s: s["begin_ns"]):
            total += max(0, span["end_ns"] - max(until, span["begin_ns"]))
            until = max(until, span["end_ns"])
        return total


if __name__ == "__main__":
    unittest.main()
