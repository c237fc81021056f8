# SPDX-License-Identifier: MIT
"""The program starts, names itself and its commands, and refuses what it does not know."""
import os
import unittest

import live


class Command(live.Case):
    def test_version(self):
        done = self.usertrace("--version")
        self.assertEqual(done.status, 0)
        self.assertRegex(done.stdout[0], r"^usertrace \d+\.\d+")

    def test_no_command(self):
        done = self.usertrace()
        self.assertEqual((done.status, done.stdout), (2, []))
        self.assertTrue(done.stderr[0].startswith("usage: usertrace COMMAND"))

    def test_unknown_command(self):
        done = self.usertrace("docter")
        self.assertEqual((done.status, done.stderr), (2, ["usertrace: unknown command 'docter'; did you mean 'doctor'?"]))

    def test_help_of_each_command(self):
        for command in {line.split("\t")[0] for line in self.usertrace("help", "--listing").stdout}:
            with self.subTest(command=command):
                asked, told = self.usertrace("help", command), self.usertrace(command, "--help")
                self.assertEqual((asked.status, told.status), (0, 0))
                self.assertEqual(asked.stdout, told.stdout)
                self.assertTrue(all(len(line) <= 100 for line in asked.stdout))

    def test_output_that_is_full(self):
        puppet = os.path.join(live.TARGETS, "puppet")
        for command in (["doctor"], ["doctor", "--json"], ["list", puppet], ["list", "--json", puppet]):
            with self.subTest(command=command), open("/dev/full", "w", encoding="ascii") as full:
                done = self.start(live.USERTRACE, *command, stdout=full)
                self.assertEqual(done.wait(), 1, done.describe())
                self.assertRegex("\n".join(done.stderr), "cannot write the (report|list): No space left on device")


if __name__ == "__main__":
    unittest.main()
