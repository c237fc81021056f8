# SPDX-License-Identifier: MIT
"""A traced program is never changed by being traced: leaf functions that keep data below their stack pointer, children
that it forks."""
import os
import unittest

import live
import puppet

REDZONE = os.path.join(live.TARGETS, "redzone")
FORKS5 = os.path.join(live.TARGETS, "forks5")


@live.needs_root()
@live.vm_safe
class RedZone(puppet.Case):
    def check(self, trace, names):
        self.assertEqual(trace.status, 0, trace.describe())
        self.assertEqual(trace.said, [("bad", "0")])
        counts = {name: sum(e[0] == name for e in trace.seen) for name in ("mid", "good")}
        self.assertEqual(counts, {name: 100 * (name in names) for name in counts}, trace.describe())

    def warns(self, name):
        """What doctor tried: does this kernel do harm at a 5-byte nop?"""
        lines = [l for l in self.usertrace("doctor").stdout if l.split(":")[0].endswith(name)]
        self.assertEqual(len(lines), 1, lines)
        return not lines[0].startswith("ok")

    def destroys(self):
        return self.warns("red zone")

    def test_one_byte_nop(self):
        self.check(self.trace_command(f"u:{REDZONE}:good", "--", REDZONE), ["good"])

    def test_both(self):
        expected = ["good"] if self.destroys() else ["good", "mid"]
        for probe in ("u:n5:*", f"u:{REDZONE}:*"):
            with self.subTest(probe=probe):
                trace = self.trace_command(probe, "--", REDZONE)
                self.check(trace, expected)
                if expected == ["good"]:
                    self.assertIn("is skipped", "\n".join(trace.stderr))

    def test_five_byte_nop_alone(self):
        if self.destroys():
            refused = self.usertrace("trace", f"u:{REDZONE}:mid", "-M", "1")
            self.assertEqual(refused.status, 1, refused.describe())
            self.assertIn("red zone", "\n".join(refused.stderr))
        else:
            self.check(self.trace_command(f"u:{REDZONE}:mid", "--", REDZONE), ["mid"])

    def test_forked_children(self):
        """Where a probe would end them it is refused, unless the user says that there are none."""
        probe = f"u:{FORKS5}:start"
        if self.warns("forked children"):
            refused = self.usertrace("trace", probe, "-M", "1")
            self.assertEqual(refused.status, 1, refused.describe())
            self.assertIn("--no-forks", "\n".join(refused.stderr))
            allowed = self.trace_command("--no-forks", probe, "--", FORKS5)
            self.assertEqual(sum(e[0] == "start" for e in allowed.seen), 10, allowed.describe())
        else:
            trace = self.trace_command(probe, "--", FORKS5)
            self.assertEqual(sum(e[0] == "start" for e in trace.seen), 11, trace.describe())
            self.assertEqual(trace.said, [("child", "0")])


if __name__ == "__main__":
    unittest.main()
