# SPDX-License-Identifier: MIT
"""Every C source is laid out as .clang-format says."""
import os
import shutil
import subprocess
import unittest

ROOT = os.environ["UT_SOURCE_ROOT"]
BELOW = ("src", "include", "tests", "examples")
VERSION = "version 14."     # Debian 12's; others lay out some lines in another way


def formatter():
    for name in ("clang-format-14", "clang-format"):
        if shutil.which(name) and VERSION in subprocess.run([name, "--version"], capture_output=True, text=True).stdout:
            return name
    return None


def sources():
    for below in BELOW:
        for folder, folders, names in os.walk(os.path.join(ROOT, below)):
            folders[:] = [f for f in folders if not f.startswith(".")]
            for name in names:
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


class Format(unittest.TestCase):
    @unittest.skipUnless(formatter(), "clang-format 14 is not installed")
    def test_layout(self):
        files = sorted(sources())
        self.assertGreater(len(files), 300)
        done = subprocess.run([formatter(), "--dry-run", "-Werror", "--ferror-limit=1", *files], cwd=ROOT, capture_output=True,
                              text=True, timeout=100)
        wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "clang-format-violations" in line})
        self.assertEqual(wrong, [], "run clang-format -i on these")
        self.assertEqual(done.returncode, 0, done.stderr)
