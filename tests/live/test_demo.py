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
        """The table of the summary counts the lines above it, and the sentence is there."""
        seen, rows = {}, {}
        for line in demo.stdout:
            match = re.match(r" +\d+\.\d+ (generation \d|full) +[\d.]+ [nµm]?s ", line)
            if match:
                seen[match[1]] = seen.get(match[1], 0) + 1
            match = re.match(r"  (generation \d|full) +(\d+) +[\d.]+ [nµm]?s +[\d.]+ % ", line)
            if match:
                rows[match[1]] = int(match[2])
        total = [re.match(r"gc( \S+)? +(\d+) ", line) for line in demo.stdout]
        self.assertEqual([int(m[2]) for m in total if m], [sum(seen.values())])
        self.assertEqual(rows, seen if len(seen) > 1 else {})     # of one kind alone the first row tells all
        self.assertTrue([l for l in demo.stdout if re.match(r"python3 \d+ \(CPython [\d.]+\): stopped ", l)])

    def test_to_its_end(self):
        demo = self.demo("2")
        self.assertEqual(demo.wait(), 0, demo.describe())
        self.assertEqual(demo.stderr, [])
        self.check_table(demo)
        self.check_cleaned_up(demo)

    def test_interrupted_while_it_watches(self):
        """It says what it has seen by then."""
        demo = self.demo("60")
        demo.wait_for(r" \d+ obj ")
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
