# SPDX-License-Identifier: MIT
"""An event that waits for memory of its program keeps its own arguments, whoever hits the probe meanwhile.

Not for the other kernel: there the second process waits behind the first one's handler, and both for ever.
"""
import os
import unittest

import live

SLOW_PAGE = os.path.join(live.TARGETS, "slow_page")


@live.needs_root()
class SlowPage(live.Case):
    def test_arguments_stay_those_of_their_process(self):
        for text in ("%s", "%.4s"):
            for option in ((), ("--one-by-one",)):
                with self.subTest(text=text, option=option):
                    probe = f'u:slow_page:hit "%d {text} %d %d %d", arg1, arg2, arg3, arg4, arg5'
                    trace = self.usertrace("trace", *option, probe, "--", SLOW_PAGE)
                    if trace.status == 77:
                        self.skipTest("userfaultfd is not allowed here")
                    self.assertEqual(trace.status, 0, trace.describe())
                    seen = sorted(" ".join(line.split()[4:]) for line in trace.stdout[1:])
                    other = "other"[:4 if "4" in text else None]
                    expected = ["1111 late 77 1111 77"] + [f"2222 {other} {n} 2222 {n}" for n in (20, 21, 22)]
                    self.assertEqual(seen, expected, trace.describe())


if __name__ == "__main__":
    unittest.main()
