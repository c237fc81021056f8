# SPDX-License-Identifier: MIT
"""The collections of Lua, a step at a time: built into a program, and of the distribution with its symbols."""
import glob
import os
import unittest

import agree
import churns
import live
import runtimes

LUA = runtimes.path_of("lua5.4")
ARCHIVE = next(iter(glob.glob("/usr/lib/*/liblua5.4.a")), None)


def has_symbols():
    """The distribution keeps the symbols in a package of their own."""
    build_id = churns.build_id(LUA)
    return os.path.exists(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")


@live.needs_root()
@unittest.skipUnless(ARCHIVE, "liblua5.4-dev is not installed")
class BuiltIn(churns.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.build("cc", "-O2", "-DWRAPPED", "-Wl,--wrap=luaC_step", "-I/usr/include/lua5.4", "-o", "steps",
                  churns.source("steps.c"), ARCHIVE, "-lm", "-ldl", "-Wl,-E")
        cls.build("strip", "-s", "-o", "stripped", "steps")

    def test_steps(self):
        self.compare()

    def compare(self):
        program, said, watch = self.watched(self.built("steps"), "100")
        own, seen = [tuple(entry) for entry in churns.noted(program)], watch.spans("gc")
        self.assertEqual((len(own), {s["label"] for s in seen}), (said["steps"], {"step"}))
        agree.compare(self, "Lua", "steps, the program's own clock", own, agree.lengths(seen),
                      version=churns.version_of("liblua5.4-dev"))

    def test_stripped(self):
        """What it exports tells that it is Lua; what would show its steps is gone, and `gc` says so."""
        self.assertIn("lua_callk", churns.symbols(self.built("stripped"), "-D"))
        self.assertNotIn("luaC_step", churns.symbols(self.built("stripped"), "-D"))
        said = self.refused(self.built("stripped"), "10")
        self.assertRegex(said, r"is Lua .*no function .luaC_step")


@live.needs_root()
@unittest.skipUnless(LUA, "lua5.4 is not installed")
class Distribution(churns.Case):
    @unittest.skipUnless(LUA and has_symbols(), "liblua5.4-0-dbg is not installed")
    def test_cycles(self):
        """The last cycle may have begun before its finalizers were run."""
        _, said, watch = self.watched(LUA, churns.source("churn.lua"), "20", kind="gc,gc-phase")
        seen = len(watch.spans("gc-phase"))
        self.assertGreaterEqual(len(watch.spans("gc")), seen)
        agree.count(self, "Lua", "cycles, finalizers", said["cycles"], seen, cut=1, version=churns.version_of("lua5.4"))

    def test_symbols(self):
        """Without that package there are none, as lua.ini says."""
        self.assertNotIn("luaC_step", churns.symbols(LUA) | churns.symbols(LUA, "-D"))


if __name__ == "__main__":
    unittest.main()
