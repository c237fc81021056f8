# SPDX-License-Identifier: MIT
"""`usertrace gc` against the log of examples/minivm: each collection, its length, and how long the program stood still.

Lengths agree within 2 us or 1 % where the announcements were not held up, as in test_minivm.py. How long it was stopped,
within 1 % or 10 us: in each collection of one thread; of eight threads on two processors in most, and all added up. What
follows from a log cannot be exact: a thread knows how much it ran, not when it was interrupted in it.
"""
import os
import statistics

import agree
import live
import minivmlog

MINIVM = os.path.join(live.BUILD_ROOT, "examples/minivm/minivm")
HELD_UP_NS = 1000


def within(own, seen, least_ns):
    return abs(own - seen) <= max(least_ns, own / 100)


@live.needs_root()
class GcMinivm(live.Case):
    def setUp(self):
        if not os.path.exists(MINIVM):
            self.skipTest("minivm is not built")

    def run_minivm(self, *args, kinds="gc"):
        """What gc says, and the log."""
        log = os.path.join(self.tempdir(), "log")
        watch = agree.gc(self, "--kind", kinds, "--", MINIVM, "--quiet", "--log", log, *map(str, args), attached=False)
        self.assertEqual(watch.wait(), 0, watch.describe())
        self.assertEqual(watch.of_type("lost"), [])
        return watch, minivmlog.read(log)

    def compare(self, what, *args):
        """The spans with minivm's own account of each."""
        watch, log = self.run_minivm(*args)
        own, seen = minivmlog.collections_of(log), watch.spans("gc")
        self.assertEqual([(s["tid"], s["cause"], s["before"], s["after"], s["number"]) for s in seen],
                         [(c.span.tid, c.span.text, c.span.before, c.span.after, i + 1) for i, c in enumerate(own)])
        for c, s in zip(own, seen):
            self.assertTrue(c.span.begin <= s["begin_ns"] <= c.span.begun, (c.span, s))
            self.assertTrue(c.span.end <= s["end_ns"] <= c.span.ended, (c.span, s))
        self.check_lengths(what, own, seen)
        return watch, list(zip(own, seen))

    def check_lengths(self, what, own, seen):
        """Those that were held up are only known to lie between two of the log's lengths."""
        took = sorted(ns for c in own for ns in (c.span.begun - c.span.begin, c.span.ended - c.span.end))
        usual = took[len(took) // 4]
        held_up = [max(c.span.begun - c.span.begin, c.span.ended - c.span.end) > usual + HELD_UP_NS for c in own]
        good = [within(c.length, s["duration_ns"], 2000) for c, s in zip(own, seen)]
        settled = [g for g, h in zip(good, held_up) if not h]
        print(f"# {what}: {sum(good)} of {len(own)} within 2 us or 1 %; {len(settled)} were not held up, {sum(settled)} of "
              f"them within; {usual} ns to announce", flush=True)
        self.assertTrue(all(settled))
        lengths = [(c.span.begun, sorted((c.span.end - c.span.begun, s["duration_ns"], c.span.ended - c.span.begin))[1]
                    if h else c.length) for c, s, h in zip(own, seen, held_up)]
        agree.compare(self, "minivm", what, own=lengths, seen=agree.lengths(seen),
                      note=f"{sum(held_up)} were held up in announcing: between its two readings")

    def check_stopped(self, what, pairs, least):
        """How long it was stopped by the log and by us, added up."""
        known = [(s["duration_ns"] - c.ran(s["begin_ns"], s["end_ns"]), s["stopped_ns"]) for c, s in pairs if c.is_known]
        self.assertGreater(len(known), len(pairs) / 4)
        good = [within(own, seen, 10_000) for own, seen in known]
        own, seen = (sum(column) for column in zip(*known))
        away = statistics.median(abs(a - b) for a, b in known)
        print(f"# {what}: of {len(pairs)} collections {len(known)} are known; stopped within 1 % or 10 us in {sum(good)}, "
              f"median difference {away / 1e3:.1f} us; together {own / 1e6:.3f} ms by its own account, {seen / 1e6:.3f} ms "
              "seen", flush=True)
        agree.count(self, "minivm", what + ": stopped within 1 % or 10 us", own=len(good), seen=sum(good),
                    cut=int((1 - least) * len(good)))
        return own, seen

    def test_one_thread(self):
        for gc, heap in (("mark-sweep", "6M"), ("generational", "8M")):
            watch, pairs = self.compare(gc, "--gc", gc, "--heap", heap, "--rounds", 40, "trees")
            # Nobody else is there: all of it.
            self.assertFalse(any(c.rans for c, _ in pairs))
            self.check_stopped(gc, pairs, least=0.9)
            # From when our probe takes its time until the collector counts as such are some hundred ns.
            self.assertLess(statistics.median(s["duration_ns"] - s["stopped_ns"] for _, s in pairs), 2000)
            for _, s in pairs:
                self.assertLessEqual(s["stopped_ns"], s["duration_ns"])
                self.assertLessEqual(s["collector_ns"], s["duration_ns"])
            self.assertEqual(watch.summary()["runtime"], "minivm")

    def test_eight_threads(self):
        _, pairs = self.compare("mark-sweep, 8 threads", "--gc", "mark-sweep", "--threads", 8, "--heap", "24M",
                                "--rounds", 16, "trees")
        self.assertTrue(all(c.rans for c, _ in pairs[:-1]))
        own, seen = self.check_stopped("mark-sweep, 8 threads", pairs, least=0.8)
        self.assertTrue(within(own, seen, 10_000), (own, seen))

    def test_threads_that_are_slow_to_stop(self):
        """Who clears a large array looks up only then: the pause is long, and for a part of it the program runs."""
        source = os.path.join(self.tempdir(), "program")
        with open(source, "w") as file:
            file.write("(def (main n) (let ((a nil)) (while (< 0 n) (set a (array 1000000)) (set n (- n 1))) (length a)))")
        _, pairs = self.compare("mark-sweep, slow to stop", "--gc", "mark-sweep", "--threads", 4, "--heap", "100M",
                                "--rounds", 1, source, 60)
        self.check_stopped("mark-sweep, slow to stop", pairs, least=0.6)
        known = [(c, s) for c, s in pairs if c.is_known]
        ran = sum(c.ran(s["begin_ns"], s["end_ns"]) for c, s in known)
        seen = sum(s["duration_ns"] - s["stopped_ns"] for _, s in known)
        print(f"# of {sum(s['duration_ns'] for _, s in known) / 1e6:.3f} ms the program ran {ran / 1e6:.3f} ms by its own "
              f"account, {seen / 1e6:.3f} ms seen", flush=True)
        self.assertGreater(ran, 1_000_000)
        self.assertLess(abs(ran - seen), ran / 3)

    def test_compilations_and_threads(self):
        watch, log = self.run_minivm("--threads", 4, "--heap", "8M", "--rounds", 2, "trees", kinds="compile,thread")
        compiled = sorted((s.begun, s.text, s.after) for s in log if s.kind == "compile")
        seen = watch.spans("compile")
        self.assertEqual([(s["name"], s["values"]["size"]) for s in seen], [(name, size) for _, name, size in compiled])
        self.assertEqual(watch.spans("gc"), [])
        self.assertEqual(sorted(s["values"]["id"] for s in watch.spans("thread")), [1, 2, 3, 4])


if __name__ == "__main__":
    import unittest
    unittest.main()
