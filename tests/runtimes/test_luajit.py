# SPDX-License-Identifier: MIT
"""The collections of LuaJIT, a step at a time: a program with it built in. The distribution's own shows none."""
import glob
import unittest

import agree
import churns
import live
import runtimes

LUAJIT = runtimes.path_of("luajit")
ARCHIVE = next(iter(glob.glob("/usr/lib/*/libluajit-5.1.a")), None)


@live.needs_root()
@unittest.skipUnless(ARCHIVE, "libluajit-5.1-dev is not installed")
class BuiltIn(churns.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.build("cc", "-O2", "-I/usr/include/luajit-2.1", "-o", "steps", churns.source("steps.c"), ARCHIVE, "-lm",
                  "-ldl")

    def test_steps(self):
        self.compare()

    def compare(self):
        program, said, watch = self.watched(self.built("steps"), "200", kind="gc,gc-phase")
        version = churns.version_of("libluajit-5.1-dev")
        self.assertGreater(said["cycles"], 1)
        own = [tuple(entry) for entry in churns.noted(program)]
        agree.compare(self, "LuaJIT", "steps, the program's own clock", own, agree.lengths(watch.spans("gc")),
                      version=version)
        # The last one may be in its middle.
        agree.count(self, "LuaJIT", "cycles", said["cycles"], len(watch.spans("gc-phase")), cut=1, version=version)


@live.needs_root()
@unittest.skipUnless(LUAJIT, "luajit is not installed")
class Distribution(churns.Case):
    def test_says_that_it_shows_none(self):
        self.assertFalse({"lj_gc_step", "lj_gc_fullgc"} & (churns.symbols(LUAJIT) | churns.symbols(LUAJIT, "-D")))
        said = self.refused(LUAJIT, churns.source("churn.lua"), "1")
        self.assertRegex(said, r"is LuaJIT .*no function .lj_gc_step")


if __name__ == "__main__":
    unittest.main()
