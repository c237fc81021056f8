# SPDX-License-Identifier: MIT
"""What `usertrace profile` refuses before it records anything, and how it says so. Needs no rights."""
import os
import unittest

import live


class Options(live.Case):
    def refused(self, *args, status=2):
        done = self.usertrace("profile", *args)
        self.assertEqual((done.status, done.stdout, len(done.stderr)), (status, [], 1), done.describe())
        self.assertTrue(done.stderr[0].startswith("usertrace profile: "), done.stderr)
        return done.stderr[0].removeprefix("usertrace profile: ")

    def test_targets(self):
        self.assertEqual(self.refused(), "no target: give -p PID, -a for all processes, or a command after '--'")
        self.assertEqual(self.refused("1"), "unexpected argument '1'; did you mean -p 1?")
        self.assertEqual(self.refused("u:a:b"), "unexpected argument 'u:a:b'; did you mean --on 'u:a:b'?")
        self.assertEqual(self.refused("true"), "unexpected argument 'true'; a command goes after '--'")
        self.assertEqual(self.refused("-p1", "-a"), "-p and -a are mutually exclusive")
        self.assertEqual(self.refused("-a", "--", "true"), "-a and a command after '--' are mutually exclusive")
        self.assertIn("mutually exclusive", self.refused("-f", "--no-follow", "--", "true"))
        self.assertIn("--follow needs", self.refused("-f", "-a"))

    def test_frequencies(self):
        self.assertEqual(self.refused("-a", "-F", "0"),
                         "-F 0 takes no samples; with --off-cpu it leaves the waits, with --on the probe's events")
        self.assertRegex(self.refused("-a", "-F", "10000000"),
                         r"^-F 10000000 is more than this kernel allows, \d+: see sysctl kernel.perf_event_max_sample_rate$")
        self.assertIn("whole number", self.refused("-a", "-F", "many"))

    def test_other_numbers(self):
        self.assertEqual(self.refused("-a", "-d", "0"), "--duration must be greater than 0")
        self.assertIn("power of two", self.refused("-a", "--buffer", "5000"))
        self.assertEqual(self.refused("-a", "--idle"), "--idle is about waits: it needs --off-cpu")

    def test_formats(self):
        self.assertRegex(self.refused("-a", "-o", "x.doc"),
                         r"^the suffix of 'x\.doc' names no format: there are .*\.folded.*; --to FORMAT needs no suffix$")
        self.assertRegex(self.refused("-a", "--to", "doc"), r"^no format 'doc'; there are .*folded")
        self.assertIn("--json is of the table", self.refused("-a", "--json", "--to", "folded"))
        self.assertFalse(os.path.exists("x.doc"))

    def test_outputs_that_cannot_be_written(self):
        folder = self.tempdir()
        self.assertEqual(self.refused("-a", "-o", folder + "/none/x.folded", status=1),
                         f"cannot write to '{folder}/none/x.folded': No such file or directory")
        self.assertEqual(self.refused("-a", "-o", folder, "--to", "folded", status=1),
                         f"cannot write to '{folder}': Is a directory")
        self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
