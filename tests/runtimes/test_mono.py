# SPDX-License-Identifier: MIT
"""The collections of Mono's SGen, against its log and GC.CollectionCount."""
import json
import os
import re
import shutil
import subprocess
import unittest

import agree
import churns
import live
import runtimes

MONO = runtimes.path_of("mono-sgen")
SYMBOLS = "/usr/lib/debug/usr/bin/mono-sgen"
STOPPED = re.compile(r"GC_(MINOR|MAJOR): .*\bstw (\d+)\.(\d\d)ms")


@live.needs_root()
@unittest.skipUnless(MONO and runtimes.path_of("mcs"), "mono is not installed")
@unittest.skipUnless(os.path.exists(SYMBOLS), "mono-runtime-dbg is not installed")
class Mono(churns.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.build("mcs", "-out:Churn.exe", churns.source("Churn.cs"))

    def churn(self, **env):
        return self.watched(MONO, self.built("Churn.exe"), "60", kind="gc,gc-phase", env=env)

    def test_count(self):
        _, said, watch = self.churn()
        version = churns.version_of("mono-runtime-sgen")
        phases = [s["label"] for s in watch.spans("gc-phase")]
        self.assertGreater(said["gen0"], 10)
        for what, own, phase in (("nursery, GC.CollectionCount(0)", said["gen0"], "nursery"),
                                 ("major, GC.CollectionCount(1)", said["gen1"], "major finish")):
            agree.count(self, "Mono", what, own, phases.count(phase), version=version)
        self.assertEqual(watch.spans("gc")[-1]["cause"], "user request")

    def test_lengths(self):
        self.compare_lengths()

    def compare_lengths(self):
        program, _, watch = self.churn(MONO_LOG_LEVEL="debug", MONO_LOG_MASK="gc", MONO_GC_PARAMS="major=marksweep")
        ready, done = (next(i for i, line in enumerate(program.stdout) if line.startswith(word))
                       for word in ("ready", "done"))
        found = [m for m in map(STOPPED.search, program.stdout[ready:done]) if m]
        own = [int(m[2]) * 1_000_000 + int(m[3]) * 10_000 for m in found]
        seen = watch.spans("gc")
        agree.compare(self, "Mono", "stops for a collection, MONO_LOG_MASK=gc", own, [s["duration_ns"] for s in seen],
                      version=churns.version_of("mono-runtime-sgen"), resolution_ns=10_000,
                      note="the log has a resolution of 10 µs")
        self.assertEqual([s["label"] for s in seen], [{"MINOR": "nursery", "MAJOR": "major"}[m[1]] for m in found])

    def test_its_end(self):
        """It stops the world once more when it ends, for no collection."""
        watch = agree.gc(self, "--", MONO, self.built("Churn.exe"), "3", attached=False, stdin=subprocess.PIPE)
        watch.say("\n\n")
        self.assertEqual(watch.wait(), 0, watch.describe())
        said = [json.loads(line) for line in watch.stdout if line.startswith("{")]
        closed = [o["end"] for o in said if o["type"] == "span" and o["kind"] == "gc"]
        self.assertGreater(len(closed), 3)
        self.assertEqual(set(closed), {"complete"})

    def test_stripped(self):
        """Where the symbols are not found, as for a copy of it, it says what to install."""
        shutil.copy(MONO, self.built("mono-sgen"))
        self.assertFalse([name for name in churns.symbols(MONO, "-D") if name.startswith("sgen_perform")])
        said = self.refused(self.built("mono-sgen"), self.built("Churn.exe"), "1")
        self.assertRegex(said, r"(?s)is Mono 6.*no function 'sgen_perform_collection_inner'.*mono-runtime-dbg")


if __name__ == "__main__":
    unittest.main()
