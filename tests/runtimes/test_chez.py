# SPDX-License-Identifier: MIT
"""Chez Scheme's collections, against its own count and its own clock."""
import json
import subprocess
import unittest

import agree
import churns
import live
import runtimes

CHEZ = runtimes.path_of("chezscheme")


@live.needs_root()
@unittest.skipUnless(CHEZ, "chezscheme is not installed")
class Chez(churns.Case):
    def test_collections(self):
        self.compare()

    def compare(self):
        program, said, watch = self.watched(CHEZ, "--script", churns.source("churn.ss"), "25")
        own, seen = churns.noted(program), watch.spans("gc")
        self.assertGreater(len(own), 20)
        self.assertEqual(said["collections"], len(own))
        version = churns.version_of("chezscheme")
        agree.compare(self, "Chez Scheme", "collections, (sstats-gc-real (statistics))", [ns for ns, _ in own],
                      [s["duration_ns"] for s in seen], version=version)
        self.assertEqual([s["args"]["generation"] for s in seen], [generation for _, generation in own])
        self.assertEqual(seen[0]["runtime"], "Chez Scheme")

    def test_by_another_name(self):
        """A command is looked at before it runs, by the name that was given, which may be a link's."""
        watch = agree.gc(self, "--", "scheme", "--script", churns.source("churn.ss"), "5", attached=False,
                         stdin=subprocess.PIPE)
        watch.say("\n\n")
        self.assertEqual(watch.wait(), 0, watch.describe())
        spans = [json.loads(line) for line in watch.stdout if line.startswith('{"type":"span"')]
        self.assertGreaterEqual([s["runtime"] for s in spans if s["kind"] == "gc"].count("Chez Scheme"), 5)


if __name__ == "__main__":
    unittest.main()
