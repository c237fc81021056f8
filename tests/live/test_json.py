# SPDX-License-Identifier: MIT
"""JSON of the commands that need privileges: each line is as `usertrace --json-schema` says, whatever a program is called and
says. The other live tests check each object that they read, too."""
import json
import unittest

import announce
import live
import schema


@live.needs_root()
class Lines(announce.Case):
    def valid(self, command, lines):
        found = [json.loads(line) for line in lines]
        for line in found:
            self.assertIsNone(schema.fault(line, command))
        return found

    def test_trace(self):
        done = self.announce("h begin a id=18446744073709551615 text=x", "p mark %hex:22005c0aff1b", "h count c value=-9223372036854775808",
                             "h end a id=18446744073709551615", "p end nobody", "h mark %null text=%bad", "string %len:400",
                             "rename a\"b\\", "probe 1", "thread h begin t", "fork p begin f;die 11", "p begin open", "exit 3",
                             requests=("e:*", 'e:a "%s %d", name, value', "u:user:tick \"%d%U%K\", arg1",
                                       't:task:task_rename "%s", newcomm', "s:*"), status=3)
        found = self.valid("trace", done.raw)
        self.assertEqual({line["type"] for line in found}, {"event", "begin", "end", "mark", "count"})
        self.assertLessEqual({"complete", "orphan", "thread-exited", "process-exited"},
                             {line["end"] for line in found if line["type"] == "end"})
        self.assertIn('a"b\\', {line["comm"] for line in found})

    def test_profile(self):
        target = self.puppet()
        target.begin("spins 100000000")
        done = self.usertrace("profile", "-p", target.pid, "-d", "200ms", "--off-cpu", "--json")
        found, = self.valid("profile", done.stdout)
        self.assertGreater(found["totals"]["samples"], 0, done.describe())

    def test_all_commands_of_the_whole_machine(self):
        for command, *more in (("list", "-a"), ("doctor",), ("gc", "-a", "-d", "300ms")):
            done = self.usertrace(command, *more, "--json")
            self.assertTrue(self.valid(command, done.stdout) or command == "gc", done.describe())


if __name__ == "__main__":
    unittest.main()
