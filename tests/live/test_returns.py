# SPDX-License-Identifier: MIT
"""Return probes on programs whose stacks are unwound or moved: the program runs on, and every call is accounted for."""
import collections
import os
import re
import subprocess
import unittest

import live
import runtimes


@live.needs_root()
class Returns(runtimes.Case):
    def build(self, *command):
        program = os.path.join(self.tempdir(), "program")
        subprocess.run([*command, "-o", program], check=True, cwd=live.TARGET_SOURCES)
        return program

    def run_traced(self, program, arguments, *probes):
        """(what the program printed, events by function, calls that were left)"""
        trace = self.trace("--json", *probes, "--", program, *arguments, attached=False)
        self.assertEqual(trace.wait(), 0, trace.describe())
        events = collections.defaultdict(list)
        for event in trace.objects():
            if event["type"] == "event":
                events[event["probe"].split(":")[-1].split(".")[-1]].append(event)
        left = re.search(r"([\d,]+) calls? (was|were) left without a return", "\n".join(trace.stderr))
        self.assertNotIn("that began before tracing", "\n".join(trace.stderr))
        return trace, events, int(left.group(1).replace(",", "")) if left else 0

    def explain(self, program, function):
        return "\n".join(self.usertrace("trace", "--explain", f"r:{program}:{function}").stdout)

    @live.needs_program("g++")
    def test_exceptions(self):
        program = self.build("g++", "-O2", "-fno-optimize-sibling-calls", "-freorder-blocks-and-partition", "cold.cc")
        _, events, left = self.run_traced(program, ["300"], f'r:{program}:risky "%d", (int)retval')
        self.assertEqual(len(events["risky"]), 201)  # 200, and 1 in the thread
        self.assertEqual(left, 102)  # 100, 1 below nested and 1 below jumps
        self.assertIn("RET instructions, because an exception or panic can pass", self.explain(program, "risky"))

    @live.needs_program("g++")
    def test_many_calls_are_left_at_once(self):
        program = self.build("g++", "-O2", "-fno-optimize-sibling-calls", "cold.cc")
        _, events, left = self.run_traced(program, ["3"], f"r:{program}:nested", f"r:{program}:ends_thread")
        self.assertEqual((len(events["nested"]), len(events["ends_thread"]), left), (0, 0, 101))

    @live.needs_program("g++")
    def test_exception_behind_a_tail_jump(self):
        """The return address is still that of the function that has jumped."""
        program = self.build("g++", "-O2", "cold.cc")
        _, events, left = self.run_traced(program, ["3"], f"r:{program}:jumps")
        self.assertEqual(len(events["jumps"]) + left, 1)

    @live.needs_program("go")
    def test_go(self):
        program = os.path.join(self.tempdir(), "program")
        subprocess.run(["go", "build", "-o", program, "panics.go"], check=True, cwd=live.TARGET_SOURCES,
                       env={**os.environ, "GOCACHE": self.tempdir(), "GO111MODULE": "off"})
        _, events, left = self.run_traced(program, [], *(f'r:{program}:main.{name} "%d", retval'
                                                         for name in ("leaf", "bad", "safe", "deep")))
        self.assertEqual({name: len(found) for name, found in events.items()},
                         {"leaf": 80, "bad": 80, "safe": 120, "deep": 4 * 301})
        self.assertEqual(left, 40)
        self.assertIn("because Go moves its stacks", self.explain(program, "main.deep"))

    @live.needs_program("rustc")
    def test_rust(self):
        program = self.build("rustc", "-O", "panics.rs")
        _, events, left = self.run_traced(program, ["300"], f"r:{program}:risky")
        self.assertEqual((len(events["risky"]), left), (200, 100))

    @live.needs_program("g++")
    def test_exceptions_through_c(self):
        """qsort is a function of C, through which its comparison throws."""
        target = self.gated(self.build("g++", "-O2", "callback.cc"))
        trace = self.trace("-p", target.pid, "r:libc.so.6:qsort*")
        said = self.go(target)
        self.assertEqual(said["thrown"], 10)
        self.let_end(target)
        self.stop(trace)
        self.assertIn("left without a return", "\n".join(trace.stderr))


if __name__ == "__main__":
    unittest.main()
