# SPDX-License-Identifier: MIT
"""Collections of CPython as `usertrace gc` sees them, against gc.callbacks and gc.get_stats()."""
import os
import unittest

import agree
import live
import runtimes

PYTHON = "/usr/bin/python3.11"
OWN = os.path.join(live.TARGET_SOURCES, "gc_own.py")
NOTE = "its intervals include the time of two Python calls and two probes"
WORDS = {0: "generation 0", 1: "generation 1", 2: "full"}


def has_probes():
    return os.path.exists(PYTHON) and b"gc__start" in open(PYTHON, "rb").read()


@live.needs_root()
@live.needs_program("chrt")     # nothing else takes the processor between what both read
@unittest.skipUnless(has_probes(), "there is no Python with probes")
class Python(runtimes.Case):
    def started(self, seconds):
        return self.gated("chrt", "-f", "1", PYTHON, OWN, seconds)

    def own(self, program):
        """What gc.callbacks told: generation, begin, length, objects."""
        return [tuple(map(int, line.split()[1:])) for line in program.stdout if line.startswith("gc ")]

    def test_from_its_beginning(self):
        program = self.started("0.5")
        watch = agree.gc(self, "-p", program.pid, "-k", "gc,class-load")
        said = self.go(program)
        self.let_end(program)
        self.assertEqual(watch.wait(), 0, watch.describe())
        own, spans = self.own(program), watch.spans("gc")
        agree.compare(self, "CPython", "collections, gc.callbacks", version="3.11", own=[o[1:3] for o in own],
                      seen=agree.lengths(spans), least=0.8, note=NOTE)
        self.assertEqual([s["label"] for s in spans], [WORDS[o[0]] for o in own])
        self.assertEqual([s["freed_objects"] for s in spans], [o[3] for o in own])
        counted = list(map(int, said["collections"].split(",")))
        for generation, word in WORDS.items():
            agree.count(self, "CPython", f"{word}, gc.get_stats()", version="3.11", own=counted[generation],
                        seen=sum(s["label"] == word for s in spans))
        self.assertEqual(watch.cut("gc"), 0)
        agree.stands_still(self, spans)
        self.check_imports(watch, said["imported"].split(","))

    def check_imports(self, watch, modules):
        imported = [s["name"] for s in watch.spans("class-load")]
        self.assertEqual([m for m in modules if m not in imported and "." not in m], [])
        nested = {s["name"]: s for s in watch.spans("class-load")}
        inner, outer = nested["re"], nested["textwrap"]
        self.assertLess(outer["begin_ns"], inner["begin_ns"])
        self.assertGreater(outer["end_ns"], inner["end_ns"])

    def test_in_the_middle(self):
        program = self.started("-")
        program.say("\n")
        watch = agree.gc(self, "-p", program.pid)
        watch.wait_for_lines(30)
        self.assertEqual(watch.interrupt(), 0, watch.describe())
        self.go(program)
        self.let_end(program)
        spans = watch.spans("gc")
        first, last = spans[0]["begin_ns"], spans[-1]["end_ns"]
        own = [o[1:3] for o in self.own(program) if first - 100_000 < o[1] < last]
        agree.compare(self, "CPython", "collections, attached in the middle", version="3.11", own=own,
                      seen=agree.lengths(spans), cut=2, least=0.8, note=NOTE)
        agree.stands_still(self, spans)

    def test_a_command(self):
        script = "import gc\nfor i in 0, 1, 2: gc.collect(i)"
        program = self.start(live.USERTRACE, "gc", "--json", "--", PYTHON, "-c", script)
        self.assertEqual(program.wait(), 0, program.describe())
        labels = [w for w in WORDS.values() if any(f'"{w}"' in line for line in program.stdout)]
        self.assertEqual(labels, list(WORDS.values()), program.describe())


if __name__ == "__main__":
    unittest.main()
