# SPDX-License-Identifier: MIT
"""A traced program is never changed by being traced: a leaf function that keeps data below its stack pointer."""
import os
import unittest

import live
import puppet

REDZONE = os.path.join(live.TARGETS, "redzone")


@live.needs_root()
@live.vm_safe
class RedZone(puppet.Case):
    def check(self, trace, names):
        self.assertEqual(trace.status, 0, trace.describe())
        self.assertEqual(trace.said, [("bad", "0")])
        counts = {name: sum(e[0] == name for e in trace.seen) for name in ("mid", "good")}
        self.assertEqual(counts, {name: 100 * (name in names) for name in counts}, trace.describe())

    def destroys(self):
        """Does this kernel write below the stack pointer at a 5-byte nop? Doctor tries it."""
        red = [l for l in self.usertrace("doctor").stdout if "red zone" in l]
        self.assertEqual(len(red), 1, red)
        return not red[0].startswith("ok")

    def test_one_byte_nop(self):
        self.check(self.trace_command(f"u:{REDZONE}:good", "--", REDZONE), ["good"])

    def test_both(self):
        expected = ["good"] if self.destroys() else ["good", "mid"]
        for probe in ("u:n5:*", f"u:{REDZONE}:*"):
            with self.subTest(probe=probe):
                trace = self.trace_command(probe, "--", REDZONE)
                self.check(trace, expected)
                if expected == ["good"]:
                    self.assertIn("left out", "\n".join(trace.stderr))

    def test_five_byte_nop_alone(self):
        if self.destroys():
            refused = self.usertrace("trace", f"u:{REDZONE}:mid", "-M", "1")
            self.assertEqual(refused.status, 1, refused.describe())
            self.assertIn("below its stack pointer", "\n".join(refused.stderr))
        else:
            self.check(self.trace_command(f"u:{REDZONE}:mid", "--", REDZONE), ["mid"])


if __name__ == "__main__":
    unittest.main()
