# SPDX-License-Identifier: MIT
"""What `usertrace profile` refuses before it records anything, and how it says so. Needs no privileges."""
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
        self.assertIn("--follow requires", self.refused("-f", "-a"))

    def test_frequencies(self):
        self.assertEqual(self.refused("-a", "-F", "0"),
                         "-F 0 takes no samples; it requires --off-cpu or --on")
        self.assertRegex(self.refused("-a", "-F", "10000000"),
                         r"^-F 10000000 exceeds the kernel's limit of \d+ \(sysctl kernel.perf_event_max_sample_rate\)$")
        self.assertIn("an integer", self.refused("-a", "-F", "many"))

    def test_other_numbers(self):
        self.assertEqual(self.refused("-a", "-d", "0"), "--duration must be greater than 0")
        self.assertIn("power of two", self.refused("-a", "--buffer", "5000"))
        self.assertEqual(self.refused("-a", "--idle"), "--idle requires --off-cpu")

    def test_formats(self):
        self.assertRegex(self.refused("-a", "-o", "x.doc"),
                         r"^unknown suffix of 'x\.doc'; valid formats: .*\.folded.*; --to FORMAT works with any suffix$")
        self.assertRegex(self.refused("-a", "--to", "doc"), r"^unknown format 'doc'; valid formats: .*folded")
        self.assertIn("--json and -o or --to are mutually exclusive", self.refused("-a", "--json", "--to", "folded"))
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
