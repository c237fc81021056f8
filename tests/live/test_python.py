# SPDX-License-Identifier: MIT
"""Debian's CPython, traced live, against what the interpreter says itself."""
import os
import unittest

import live
import runtimes

PYTHON = "/usr/bin/python3.11"
CHURN = os.path.join(live.TARGET_SOURCES, "gc_churn.py")


@live.needs_root()
@unittest.skipUnless(os.path.exists(PYTHON), f"{PYTHON} is not installed")
class Python(runtimes.Case):
    def churn(self, *probes, seconds="0.5"):
        program = self.gated(PYTHON, CHURN, seconds, "--gate")
        trace = self.trace("-p", program.pid, "--json", *probes)
        said = self.go(program)
        self.stop(trace)
        self.let_end(program)
        return said, self.by_probe(trace)

    def test_collections(self):
        said, events = self.churn("u:python:gc__start", "u:python:gc__done")
        by_generation = [int(n) for n in said["collections"].split(",")]
        seen = [e["args"]["arg1"] for e in events["gc__start"]]
        self.assertEqual([seen.count(generation) for generation in range(3)], by_generation)
        self.assertTrue(all(by_generation), said)
        self.assertEqual(sum(e["args"]["arg1"] for e in events["gc__done"]), said["collected"])
        self.assertEqual(len(events["gc__done"]), len(seen))
        self.assertEqual(events["gc__start"][-1]["message"], "generation=2")

    def test_predicate(self):
        said, events = self.churn("u:python:gc__start (arg1 == 1)", "u:python:gc__done (arg1 > 0 && arg1 < 0)")
        self.assertEqual(len(events["gc__start"]), int(said["collections"].split(",")[1]))
        self.assertNotIn("gc__done", events)

    def test_imports(self):
        _, events = self.churn("u:python:import__find__load__*")
        self.assertEqual([e["args"] for e in events["import__find__load__start"]], [{"arg1": "colorsys"}])
        self.assertEqual([e["args"] for e in events["import__find__load__done"]], [{"arg1": "colorsys", "arg2": 1}])

    def test_audit(self):
        _, events = self.churn('u:python:audit (arg1 == "usertrace.test") "%s", arg1',
                               'u:python:audit (arg1 == "import") "<%s>", arg1')
        self.assertEqual([e["message"] for e in events["audit"]], ["<import>", "usertrace.test"])

    def test_from_the_first_instruction(self):
        """A command's imports from its very first."""
        code = "import sys, colorsys; sys.audit('at.the.end')"
        found = self.events_of_command("u:python:import__find__load__start", 'u:python:audit (arg1 == "at.the.end")',
                                       command=[PYTHON, "-S", "-E", "-c", code])
        names = [e["args"]["arg1"] for e in found]
        self.assertIn("encodings", names)
        self.assertEqual(names[-2:], ["colorsys", "at.the.end"])

    def test_lines(self):
        _, events = self.churn('u:python:line (arg2 == "main")', seconds="0.01")
        self.assertEqual({e["args"]["arg1"] for e in events["line"]}, {CHURN})
        numbers = [e["args"]["arg3"] for e in events["line"]]
        with open(CHURN) as file:
            source = file.read().split("\n")
        self.assertIn("sys.audit(", "".join(source[number - 1] for number in numbers))
        self.assertEqual(numbers, sorted(numbers), "it goes from its top to its bottom")

    def test_semaphores(self):
        """Raised while somebody watches (the kernel counts sites, not watchers), and down again after the last."""
        program = self.gated(PYTHON, CHURN, "0.05", "--gate")
        probes = self.probes_of(PYTHON, "gc__start")
        self.assertEqual(self.semaphores(program.pid, PYTHON, probes), [0])
        first = self.trace("-p", program.pid, "u:python:gc__start")
        self.assertEqual(self.semaphores(program.pid, PYTHON, probes), [1])
        second = self.trace("-p", program.pid, "u:python:gc__*")
        self.assertEqual(self.semaphores(program.pid, PYTHON, probes), [1])
        self.assertEqual(set(self.site_bytes(program.pid, PYTHON, probes)), {0xcc})
        self.stop(first)
        self.assertEqual(self.semaphores(program.pid, PYTHON, probes), [1])
        said = self.go(program)
        self.stop(second)
        self.assertEqual(self.semaphores(program.pid, PYTHON, self.probes_of(PYTHON, "*")), [0] * 8)
        self.assertEqual(set(self.site_bytes(program.pid, PYTHON, probes)), {0x90})
        seen = [row[3] for row in second.events()]
        self.assertEqual(seen.count("gc__start"), sum(map(int, said["collections"].split(","))))
        self.let_end(program)

    def test_every_process(self):
        """By its path alone: two at once, each told apart by its pid."""
        programs = [self.gated(PYTHON, CHURN, "0.2", "--gate") for _ in range(2)]
        trace = self.trace("--json", f"u:{PYTHON}:gc__start")
        said = {p.pid: sum(map(int, self.go(p)["collections"].split(","))) for p in programs}
        self.stop(trace)
        seen = [e["pid"] for e in trace.objects()]
        self.assertEqual({pid: seen.count(pid) for pid in said}, said)
        for program in programs:
            self.let_end(program)


if __name__ == "__main__":
    unittest.main()
