# SPDX-License-Identifier: MIT
"""`usertrace gc` against SBCL: each collection by the program's own clock around the runtime's function, and by what
*gc-run-time* counts; with threads, the signal that stops them."""
import os
import unittest

import agree
import live
import runtimes

CHURN = os.path.join(live.TARGET_SOURCES, "churn.lisp")


@live.needs_root()
@live.needs_program("sbcl")
class GcSbcl(runtimes.Case):
    def churn(self, kinds, *args):
        """What gc says of it, and the numbers of each line of its own account."""
        program = self.gated("sbcl", "--script", CHURN, *args)
        watch = agree.gc(self, "-p", program.pid, "--kind", kinds)
        said = self.go(program)
        own = [tuple(map(int, line.split()[1:])) for line in program.stdout if line.startswith("gc ")]
        self.assertEqual(len(own), said["collections"])
        self.assertEqual(watch.interrupt(), 0, watch.describe())
        self.let_end(program)
        self.assertEqual(watch.of_type("lost"), [])
        self.version = said["version"]
        return watch, own

    def check_clock(self, what, watch, own):
        seen = watch.spans("gc")
        agree.compare(self, "SBCL", what, own=[(begin, length) for _, begin, length in own], seen=agree.lengths(seen),
                      version=self.version, note="measured with the program's own clock around collect-garbage")
        self.assertEqual([s["args"]["generation"] for s in seen], [generation for generation, _, _ in own])
        self.assertEqual([s["label"] for s in seen[-3:]], ["nursery", "generation 1", "full"])
        return seen

    def test_clock(self):
        watch, own = self.churn("gc", "clock")
        seen = self.check_clock("collections", watch, own)
        # There is nobody else. Before the thread counts as the collector, the CPU can be taken from it.
        ran = [s["duration_ns"] - s["stopped_ns"] for s in seen]
        self.assertGreaterEqual(min(ran), 0)
        self.assertLessEqual(len([ns for ns in ran if ns >= 100_000]), min(watch.disturbed, 1 + len(seen) // 20), ran)

    def test_run_time(self):
        """*gc-run-time* is processor time, with some of what comes around. The kernel's count of that begins and ends some
        50 us beside of its events whenever a thread leaves its processor, so those that were interrupted are counted alone;
        and what interrupts a thread around a collection may be counted as its own."""
        watch, own = self.churn("gc", "count")
        seen = watch.spans("gc")
        agree.count(self, "SBCL", "*gc-run-time*", own=len(own), seen=len(seen), version=self.version)
        whole = [(us * 1000, s["duration_ns"]) for (us,), s in zip(own, seen)
                 if s["duration_ns"] - s["collector_ns"] < 20_000]
        if len(whole) > 3:
            agree.compare(self, "SBCL", "*gc-run-time*, not interrupted", own=[o for o, _ in whole],
                          seen=[s for _, s in whole], version=self.version, resolution_ns=60_000, least=0.8,
                          note="CPU time of the process, including some work around the collection; compared within 60 µs")
        longer = [us * 1000 - s["duration_ns"] for (us,), s in zip(own, seen) if us * 1000 > s["duration_ns"] + 100_000]
        self.assertLessEqual(len(longer), len(own) / 5, f"processor time longer than the span, in ns: {longer}")

    def test_threads(self):
        """Each other thread is stopped by a signal, in whose handler it stands until the world goes on."""
        watch, own = self.churn("gc,safepoint,signal", "clock", "2")
        seen = self.check_clock("collections, 3 threads", watch, own)
        stops = watch.spans("safepoint")
        self.assertEqual(len(stops), len(seen))
        for stop, gc in zip(stops, seen):
            self.assertEqual(stop["tid"], gc["tid"])
            self.assertTrue(stop["begin_ns"] < gc["begin_ns"] and gc["end_ns"] < stop["end_ns"])
        self.assertGreater(len({s["tid"] for s in seen}), 1)
        handlers = watch.spans("signal", label="SIGUSR2")
        together = [g for g in seen if self.standing(handlers, g) >= 2]
        self.assertGreater(len(together), len(seen) / 4)    # on a busy machine one thread is done before the others
        # Where all stand in the handler, nobody runs.
        still = sum(g["stopped_ns"] for g in together) / sum(g["duration_ns"] for g in together)
        self.assertGreater(still, 0.9)

    @staticmethod
    def standing(handlers, gc):
        """How many threads were in the handler for all of it."""
        return sum(h["begin_ns"] < gc["begin_ns"] and gc["end_ns"] < h["end_ns"] for h in handlers)


if __name__ == "__main__":
    unittest.main()
