# SPDX-License-Identifier: MIT
"""Node.js has no probes: it is named, and what is offered instead works and agrees with node --trace-gc."""
import os
import re
import unittest

import live
import runtimes

NODE = runtimes.path_of("node")
CHURN = os.path.join(live.TARGET_SOURCES, "gc_churn.js")


def told(lines):
    """The collections that node's own trace tells."""
    return [line for line in lines if re.search(r"\d+ ms: (Scavenge|Mark-(sweep|Compact))", line)]


@live.needs_root()
@live.needs_program("stdbuf")
@unittest.skipUnless(NODE, "node is not installed")
class Node(runtimes.Case):
    def node(self, seconds):
        return self.gated("stdbuf", "-oL", NODE, "--trace-gc", CHURN, seconds, "--gate")

    def offered(self, lines, prefix):
        """The probe in the line that offers one, as it is typed."""
        pattern = re.compile(prefix + r"(?:'(r:.*)'|(r:.*?)  \()")
        return next(m[1] or m[2] for m in map(pattern.search, lines) if m)

    def check_offer(self, program, probe):
        before = len(told(program.stdout))
        trace = self.trace("-p", program.pid, "--json", probe)
        self.go(program)
        self.let_end(program)
        self.assertEqual(trace.wait(), 0, trace.describe())
        events = trace.objects()
        self.assertGreater(len(events), 0)
        self.assertEqual(len(events), len(told(program.stdout)) - before, program.describe())
        self.assertTrue(all(e["probe"].endswith(":v8::internal::Heap::PerformGarbageCollection") for e in events))
        self.assertTrue(all(re.fullmatch(r"\d+ ns", e["message"]) for e in events))
        self.assertTrue(all(1000 < e["args"]["duration"] < 30e9 for e in events))

    def test_list(self):
        program = self.node("0.7")
        listed = self.usertrace("list", "-p", str(program.pid))
        self.assertRegex("\n".join(listed.stdout + listed.stderr), r"Node\.js")
        self.check_offer(program, self.offered(listed.stderr, f"usertrace trace -p {program.pid} "))

    def test_trace(self):
        program = self.node("0.7")
        refused = self.usertrace("trace", "-p", str(program.pid), "u:node:gc")
        self.assertEqual(refused.status, 2, refused.describe())
        self.assertIn("Node.js", "\n".join(refused.stderr))
        self.check_offer(program, self.offered(refused.stderr, "can be traced: "))

    def test_command(self):
        refused = self.usertrace("trace", "u:node:gc", "--", NODE, "-e", "1")
        self.assertEqual(refused.status, 1, refused.describe())
        self.assertIn("Node.js", "\n".join(refused.stderr))
        self.assertTrue(self.offered(refused.stderr, "can be traced: "))


if __name__ == "__main__":
    unittest.main()
