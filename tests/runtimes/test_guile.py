# SPDX-License-Identifier: MIT
"""The collections of Guile's Boehm collector, against Guile's count and what the collector tells itself."""
import unittest

import agree
import churns
import live
import runtimes

GUILE = runtimes.path_of("guile-3.0") or runtimes.path_of("guile")


@live.needs_root()
@unittest.skipUnless(GUILE, "guile is not installed")
class Guile(churns.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.build("cc", "-O2", "-shared", "-fPIC", "-o", "events.so", churns.source("boehm_events.c"))

    def churn(self, **env):
        return self.watched(GUILE, "--no-auto-compile", churns.source("churn.scm"), "25", env=env)

    def test_count(self):
        _, said, watch = self.churn()
        agree.count(self, "Guile", "collections, (gc-stats)", said["times"], len(watch.spans("gc")),
                    version=churns.version_of("guile-3.0"))
        self.assertEqual(watch.cut("gc"), 0)

    def test_lengths(self):
        self.compare_lengths()

    def compare_lengths(self):
        path = self.built("events")
        program, _, watch = self.churn(LD_PRELOAD=self.built("events.so"), BOEHM_EVENTS=path)
        with open(path, encoding="utf-8") as file:
            own = [tuple(int(n) for n in line.split()[1:]) for line in file]
        own = [entry for entry in own if program.began <= entry[0] <= program.ended]
        agree.compare(self, "Guile", "collections, GC_set_on_collection_event", own, agree.lengths(watch.spans("gc")),
                      version=churns.version_of("guile-3.0"))


if __name__ == "__main__":
    unittest.main()
