# SPDX-License-Identifier: MIT
"""The benchmark itself: at tiny sizes every measurement of ours runs, and what it counts adds up."""
import os
import unittest

import live


class Bench(live.Case):
    @live.needs_root()
    def test_self_test(self):
        if not os.path.exists(os.path.join(live.BUILD_ROOT, "tests/bench/bench-helper")):
            self.skipTest("the benchmark's programs are not built")
        done = self.start(os.path.join(live.SOURCE_ROOT, "tools/bench"), "--self-test", live.BUILD_ROOT)
        self.assertEqual(done.wait(100), 0, done.describe())
        checks = [line for line in done.stdout if line.startswith("ok: ")]
        self.assertGreaterEqual(len(checks), 13)

    def test_options_that_are_wrong(self):
        done = self.start(os.path.join(live.SOURCE_ROOT, "tools/bench"), "--only", "nonsense")
        self.assertEqual(done.wait(), 2)
        self.assertIn("--only: parts are cost", done.stderr[-1])


if __name__ == "__main__":
    unittest.main()
