# SPDX-License-Identifier: MIT
"""Profiles of minivm, which names its code by usertrace-jit.h and moves it at each collection; by our own readers, and by
perf's."""
import os
import re
import subprocess
import unittest

import live

MINIVM = os.path.join(live.BUILD_ROOT, "examples/minivm/minivm")
TREES = (MINIVM, "--quiet", "--heap", "2M", "trees")


@live.needs_root()
@unittest.skipUnless(os.uname().machine == "x86_64", "minivm has no compiler for this machine")
class Jit(live.Case):
    def setUp(self):
        self.folder = self.tempdir()

    def remove_map(self, pid):
        with open(pid, encoding="ascii") as file:
            name = f"/tmp/perf-{int(file.read())}.map"
        if os.path.exists(name):
            os.unlink(name)

    def shares(self, *options, **env):
        """By the name of the leaf, its share of the samples; the frames that have no name are "?"."""
        path = os.path.join(self.folder, "out.folded")
        pid = os.path.join(self.folder, "pid")
        minivm = ("sh", "-c", f'echo $$ > {pid}; exec "$@"', "sh", "env", f"UT_JIT_DIR={self.folder}",
                  *(f"{n}={v}" for n, v in env.items()), *TREES, "--seconds", "1.5")
        done = self.usertrace("profile", "-o", path, "--", *minivm, *options)
        self.assertEqual(done.status, 0, done.describe())
        self.remove_map(pid)
        with open(path, encoding="utf-8") as file:
            stacks = [line.rsplit(" ", 1) for line in file.read().splitlines() if line]
        total = sum(int(n) for _, n in stacks)
        self.assertGreater(total, 0)
        shares = {}
        for stack, n in stacks:
            leaf = stack.split(";")[-1]
            name = re.sub(r"_\[\w+\]$|^.*`", "", leaf)
            name = "?" if name.startswith("[unknown code") else name
            shares[name] = shares.get(name, 0) + int(n) / total
        return shares

    def test_a_map(self):
        shares = self.shares(UT_JIT="map")
        self.assertGreater(shares.get("tree", 0) + shares.get("count", 0), 0.1, shares)
        self.assertLess(shares.get("?", 0), 0.02, shares)

    def test_a_dump_of_code_that_moves(self):
        shares = self.shares("--move-code", UT_JIT="dump")
        self.assertGreater(shares.get("tree", 0) + shares.get("count", 0), 0.1, shares)
        self.assertLess(shares.get("?", 0), 0.05, shares)

    def test_nothing(self):
        shares = self.shares()
        self.assertEqual(shares.get("tree", 0) + shares.get("count", 0), 0)
        self.assertGreater(shares.get("?", 0), 0.1, shares)

    def perf(self, *argv):
        done = subprocess.run(["perf", *argv], cwd=self.folder, capture_output=True, text=True, check=False,
                              timeout=live.PATIENCE * 2, env={**os.environ, "HOME": self.folder, "UT_JIT_DIR": self.folder})
        if done.returncode:
            self.skipTest(f"perf {argv[0]} does not work here: {done.stderr[-200:]}")
        return done.stdout

    @live.needs_program("perf")
    def test_perf_reads_the_dump(self):
        self.perf("record", "-q", "-e", "cpu-clock", "-k", "mono", "-o", "data", "--", *TREES, "--seconds", "1", "--move-code",
                  "--jit-dump")
        self.perf("inject", "--jit", "-i", "data", "-o", "with-names")
        out = self.perf("report", "--stdio", "--no-children", "-i", "with-names")
        self.assertRegex(out, r"jitted-\d+-\d+\.so +\[\.\] tree\b")
        self.assertRegex(out, r"jitted-\d+-\d+\.so +\[\.\] count\b")


if __name__ == "__main__":
    unittest.main()
