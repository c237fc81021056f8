# SPDX-License-Identifier: MIT
"""The demonstration of the README, on the runtime that is always there: what it says is what it saw, and nothing of it
is left behind."""
import os
import re
import signal
import unittest

import live

DEMO = os.path.join(live.SOURCE_ROOT, "tools/demo")


@live.needs_root()
@unittest.skipUnless(os.path.exists("/usr/bin/python3.11"), "/usr/bin/python3.11 is not installed")
class Demo(live.Case):
    def demo(self, seconds):
        self.folder = self.tempdir()
        return self.start(DEMO, live.BUILD_ROOT, "--runtime", "python", "--seconds", seconds,
                          env={"TMPDIR": self.folder})

    def check_cleaned_up(self, demo):
        self.assertEqual(os.listdir(self.folder), [])
        pid = next(m[1] for m in (re.search(r"is running, pid (\d+)", line) for line in demo.stdout) if m)
        self.assertFalse(os.path.exists(f"/proc/{pid}"), "the program has ended")
        self.assertFalse([line for line in demo.stdout + demo.stderr if "Traceback" in line], demo.describe())

    def check_table(self, demo):
        """The table counts the lines above it."""
        seen = {}
        for match in (re.search(r"\bgc__start +(generation \d)$", line) for line in demo.stdout):
            if match:
                seen[match[1]] = seen.get(match[1], 0) + 1
        rows = (re.match(r"  (generation \d) +(\d+) +[\d.]+ ms +[\d.]+ ms +[\d.]+ ms$", line) for line in demo.stdout)
        self.assertEqual({m[1]: int(m[2]) for m in rows if m}, seen)
        self.assertTrue(seen)

    def test_to_its_end(self):
        demo = self.demo("2")
        self.assertEqual(demo.wait(), 0, demo.describe())
        self.assertEqual(demo.stderr, [])
        self.check_table(demo)
        self.check_cleaned_up(demo)

    def test_interrupted_while_it_watches(self):
        """It says what it has seen by then."""
        demo = self.demo("60")
        demo.wait_for(r"gc__done +freed")
        demo.signal(signal.SIGINT)
        self.assertEqual(demo.wait(), 0, demo.describe())
        self.check_table(demo)
        self.check_cleaned_up(demo)

    def test_terminated(self):
        demo = self.demo("60")
        demo.wait_for(r"is running, pid")
        demo.signal(signal.SIGTERM)
        self.assertIn(demo.wait(), (0, 1, 128 + signal.SIGTERM), demo.describe())
        self.check_cleaned_up(demo)


if __name__ == "__main__":
    unittest.main()
