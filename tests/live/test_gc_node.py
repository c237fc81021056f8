# SPDX-License-Identifier: MIT
"""Collections of Node.js as `usertrace gc` sees them, against what node --trace-gc writes of each."""
import os
import re
import unittest

import agree
import live
import runtimes

NODE = runtimes.path_of("node")
CHURN = os.path.join(live.TARGET_SOURCES, "gc_churn.js")
# [4711:0x1]  63 ms: Mark-Compact (reduce) 3.9 (4.0) -> 3.9 (5.5) MB, 8.53 / 0.00 ms  (average mu = 1.000, …) task; …
LINE = re.compile(r" (?P<at>\d+) ms: (?P<what>Scavenge|Mark-Compact|Mark-sweep)\D*? (?P<before>[\d.]+) \([\d.]+\) -> "
                  r"(?P<after>[\d.]+) \([\d.]+\) MB, (?:pooled: [\d.]+ MB, )?(?P<ms>[\d.]+) / [^;]*\) (?P<cause>[^;]+)")
LABELS = {"Scavenge": "scavenge", "Mark-Compact": "mark-compact", "Mark-sweep": "mark-compact"}


def told(lines):
    return [m.groupdict() for m in map(LINE.search, lines) if m]


@live.needs_root()
@live.needs_program("chrt")     # nothing else takes the processor between what both read
@unittest.skipUnless(NODE, "node is not installed")
class Node(runtimes.Case):
    def churn(self, seconds, *flags):
        return self.gated("chrt", "-f", "1", NODE, "--trace-gc", *flags, CHURN, seconds, "--gate")

    def check_sizes(self, own, spans):
        for line, span in zip(own, spans):
            for key in ("before", "after"):
                self.assertLessEqual(abs(span[key + "_bytes"] / 2**20 - float(line[key])), 0.051, (line, span))
            if span["before_bytes"] >= span["after_bytes"]:
                self.assertEqual(span["freed_bytes"], span["before_bytes"] - span["after_bytes"])

    def check_stopped(self, spans):
        """Threads that help are the collector meanwhile; only what they do on the way to it and back is not."""
        paused = sum(s["duration_ns"] for s in spans)
        stopped = sum(s["stopped_ns"] + s["held_ns"] for s in spans)
        self.assertTrue(all(s["stopped_ns"] <= s["duration_ns"] for s in spans))
        self.assertGreater(stopped, 0.8 * paused)
        self.remark(f"stopped {100 * stopped / paused:.1f} % of the pauses")

    def compare(self, watch, program, what):
        own, spans = told(program.stdout), watch.spans("gc")
        version = watch.of_type("attach")[0]["version"]
        agree.compare(self, "Node.js", f"{what}, --trace-gc", version=version,
                      own=[round(float(line["ms"]) * 1e6) for line in own], seen=[s["duration_ns"] for s in spans],
                      least=0.9)
        self.assertEqual([s["label"] for s in spans], [LABELS[line["what"]] for line in own])
        self.assertEqual([s["cause"] for s in spans], [line["cause"] for line in own])
        self.check_sizes(own, spans)
        self.assertEqual(watch.cut("gc"), 0)
        self.check_stopped(spans)
        return spans

    def test_from_its_beginning(self):
        program = self.churn("0.5")
        watch = agree.gc(self, "-p", program.pid)
        before = len(told(program.stdout))
        self.assertEqual(before, 0)
        self.go(program)
        self.let_end(program)
        self.assertEqual(watch.wait(), 0, watch.describe())
        self.assertGreater(len(self.compare(watch, program, "collections")), 5)
        self.assertEqual({s["kind"] for s in watch.spans()}, {"gc"})    # who helps is watched, and not shown

    def test_old_space(self):
        """With little room there are mark-compacts, which have parts; threads of V8's help, and others compile."""
        program = self.churn("0.6", "--max-old-space-size=40")
        watch = agree.gc(self, "-p", program.pid, "-k", "gc,gc-phase,compile")
        self.go(program)
        self.let_end(program)
        self.assertEqual(watch.wait(), 0, watch.describe())
        spans = self.compare(watch, program, "with a small heap")
        full = [s for s in spans if s["label"] == "mark-compact"]
        self.assertTrue(full)
        for label in ("mark", "clear", "evacuate"):
            parts = watch.spans("gc-phase", label=label)
            self.assertEqual(len(parts), len(full), label)
            for whole, part in zip(full, parts):
                self.assertLess(whole["begin_ns"], part["begin_ns"])
                self.assertLess(part["end_ns"], whole["end_ns"])
        helpers = {s["tid"] for s in watch.spans("gc-phase", label="help")}
        self.assertTrue(helpers - {program.pid})
        compiled = {s["label"]: s["tid"] for s in watch.spans("compile")}
        self.assertEqual(compiled["bytecode"], program.pid)
        self.assertNotEqual(compiled["TurboFan"], program.pid)


if __name__ == "__main__":
    unittest.main()
