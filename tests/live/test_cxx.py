# SPDX-License-Identifier: MIT
"""What C++ programs throw, through the probes of libstdc++."""
import collections
import os
import subprocess
import unittest

import live
import runtimes


@live.needs_root()
@live.needs_program("g++")
class Cxx(runtimes.Case):
    def build(self, *options):
        program = os.path.join(self.tempdir(), "throw")
        source = os.path.join(live.TARGET_SOURCES, "throw.cc")
        subprocess.run(["g++", "-O1", *options, "-o", program, source], check=True)
        return program

    def throw(self, program, *probes):
        target = self.gated(program, "200")
        trace = self.trace("-p", target.pid, "--json", *probes)
        said = self.go(target)
        self.stop(trace)
        self.let_end(target)
        self.assertEqual((said["thrown"], said["rethrown"], said["caught"]), (200, 100, 300))
        return self.by_probe(trace)

    def test_counts(self):
        events = self.throw(self.build(), "u:libstdcxx:*")
        self.assertEqual({name: len(found) for name, found in events.items()},
                         {"throw": 200, "rethrow": 100, "catch": 300})

    def test_type(self):
        """The runtime's file knows where the name of the type is; so may the user."""
        program = self.build()
        events = self.throw(program, "u:libstdcxx:throw", "u:libstdcxx:catch", "u:libstdcxx:rethrow")
        for found in events.values():
            self.assertEqual({e["message"] for e in found}, {"St13runtime_error"})
        events = self.throw(program, 'u:libstdcxx:throw "%s at %p", *(u64 *)(arg2 + 8), arg1')
        self.assertEqual({e["message"].split(" at ")[0] for e in events["throw"]}, {"St13runtime_error"})

    def test_linked_in(self):
        """A program that holds the library itself has the probes itself."""
        events = self.throw(self.build("-static-libstdc++", "-static-libgcc"), "u:libstdcxx:*")
        self.assertEqual(len(events["throw"]), 200)
        self.assertEqual(len(events["catch"]), 300)

    def test_functions_of_the_library(self):
        """By the name that programs are linked with, which is a link to the file that is mapped."""
        probe = 'r:libstdc++.so.6:__cxa_allocate_exception "%d", duration'
        target = self.gated(self.build(), "20")
        trace = self.trace("-p", target.pid, "--json", probe)
        self.assertEqual((trace.probes, trace.sites), (1, 1))
        self.go(target)
        self.stop(trace)
        self.assertEqual(len(trace.objects()), 20)
        command = self.trace("--json", "-M", "20", probe, "--", target.argv[0], "20", attached=False)
        self.assertEqual(command.wait(), 0, command.describe())
        self.assertIn("usertrace: attached 1 more probe at 1 site", command.stderr)

    def test_order(self):
        program = self.build()
        target = self.gated(program, "2")
        trace = self.trace("-p", target.pid, "u:libstdcxx:*")
        self.go(target)
        self.stop(trace)
        self.assertEqual([row[3] for row in trace.events()],
                         ["throw", "catch", "throw", "catch", "rethrow", "catch"])
        self.assertEqual(collections.Counter(row[2] for row in trace.events()), {"throw": 6})


if __name__ == "__main__":
    unittest.main()
