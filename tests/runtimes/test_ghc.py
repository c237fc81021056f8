# SPDX-License-Identifier: MIT
"""The collections of programs of GHC, against GHC.Stats."""
import statistics
import unittest

import agree
import churns
import live
import runtimes

GHC = runtimes.path_of("ghc")


@live.needs_root()
@unittest.skipUnless(GHC, "ghc is not installed")
class Haskell(churns.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = churns.source("Churn.hs")
        cls.build("ghc", "-v0", "-O", "-with-rtsopts=-T -A8m", source, "-outputdir", "plain", "-o", "churn")
        cls.build("ghc", "-v0", "-O", "-threaded", "-with-rtsopts=-T -A8m -N2", source, "-outputdir", "plain", "-o",
                  "churn-threaded")

    def agrees(self, name, what):
        program, said, watch = self.watched(self.built(name), "25")
        version, seen, own = churns.version_of("ghc"), watch.spans("gc"), churns.noted(program)
        agree.count(self, "GHC", f"{what}, GHC.Stats", said["gcs"], len(seen), version=version)
        self.assertGreater(len(own), 0.9 * said["gcs"])
        ours = [seen[number - 1] for number, _, _ in own]
        self.assertEqual([s["args"]["generation"] for s in ours], [generation for _, _, generation in own])
        long = [s for s in seen if s["duration_ns"] > 500_000] or seen
        self.assertGreater(statistics.median(s["stopped_ns"] / s["duration_ns"] for s in long), 0.9)
        agree.compare(self, "GHC", f"{what}, gcdetails_elapsed_ns", [ns for _, ns, _ in own],
                      [s["duration_ns"] for s in ours], version=version)

    def test_one_thread(self):
        self.agrees("churn", "collections")

    def test_threaded(self):
        self.agrees("churn-threaded", "collections with -threaded")

    def test_listed(self):
        """A program is known by its functions, also while it does not run."""
        self.assertRegex("\n".join(self.usertrace("list", self.built("churn")).stderr), r"it is GHC \(Haskell\)")

    def test_dynamic(self):
        """The distribution's library has no symbols, as ghc.ini says."""
        self.build("ghc", "-v0", "-dynamic", "-with-rtsopts=-T", churns.source("Churn.hs"), "-outputdir", "dynamic",
                   "-o", "churn-dynamic")
        self.assertRegex(self.refused(self.built("churn-dynamic"), "1"), r"is GHC 9.*GarbageCollect")


if __name__ == "__main__":
    unittest.main()
