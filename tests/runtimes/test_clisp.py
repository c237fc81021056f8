# SPDX-License-Identifier: MIT
"""CLISP's collections, against its own count and its own time of each."""
import unittest

import agree
import churns
import live
import runtimes

CLISP = runtimes.path_of("clisp")


@live.needs_root()
@unittest.skipUnless(CLISP, "clisp is not installed")
class Clisp(churns.Case):
    def test_collections(self):
        program, said, watch = self.watched(CLISP, "-q", "-norc", churns.source("churn-clisp.lisp"))
        own = [int(line.split()[1]) * 1000 for line in program.stdout if line.startswith("gc ")]
        seen = watch.spans("gc")
        version = watch.process(program.pid)["version"]
        self.assertEqual(len(own), said["collections"])
        # What it prints and reads around may be collected in as well.
        agree.count(self, "CLISP", "collections, sys::%%time", own=len(own), seen=len(seen), version=version)
        agree.compare(self, "CLISP", "time of collections, sys::%%time", own=own, seen=[s["collector_ns"] for s in seen],
                      version=version, resolution_ns=1_000_000, least=0.7,
                      note="CPU time, which the kernel reports in steps; compared with the collector's CPU time")
        self.assertEqual({s["runtime"] for s in seen}, {"CLISP"})


if __name__ == "__main__":
    unittest.main()
