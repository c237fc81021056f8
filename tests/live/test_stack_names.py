# SPDX-License-Identifier: MIT
"""Names in the stacks of `trace %U`: those of the program that ran at the time, also after an exec and when a pid is used
again; JIT code by perf maps and jitdumps; and for what has no name the reason, as `profile` has it."""
import json
import os
import re
import shutil
import subprocess
import unittest

import live

PROGRAM = """#include <stdlib.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
NOINLINE long NAME(long n) { return n + getpid(); }
int main(int argc, char **argv)
{
	long sum = 0;

	PADDING
	for (int i = 0; i < 3; i++)
		sum += NAME(i);
	if (argc > 1)
		execv(argv[1], argv + 1);
	return sum == 1;
}
"""
PROBE = 'p:libc.so.6:getpid "%U"'
MINIVM = os.path.join(live.SOURCE_ROOT, "examples/minivm")


@live.needs_root()
class Case(live.Case):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("gcc"):
            raise unittest.SkipTest("gcc is not installed")

    def setUp(self):
        self.folder = self.tempdir()

    def build(self, name, *args):
        path = os.path.join(self.folder, name)
        subprocess.run(["gcc", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-inline", *args, "-o", path],
                       check=True, timeout=120)
        return path

    def program(self, name, padding=""):
        """Programs whose functions have the same addresses, but for the padding."""
        source = os.path.join(self.folder, name + ".c")
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        return self.build(name, "-O1", "-no-pie", "-fno-pie", f"-DNAME=function_of_{name}", f"-DPADDING={padding}", source)

    def stacks(self, *args, **kwargs):
        """Pid, comm and frames of each event."""
        done = self.usertrace("trace", "--json", *args, cwd=self.folder, **kwargs)
        self.assertEqual(done.status, 0, done.describe())
        self.traced = done
        ret = []
        for event in map(json.loads, (line for line in done.stdout if line.startswith("{"))):
            frames = [v for v in [*event.get("args", {}).values(), *event.values()] if isinstance(v, list)]
            if frames:
                ret.append((event["pid"], event["comm"], frames[0]))
        return ret


class Programs(Case):
    def check(self, found, expected):
        """@expected: the functions that called, in order."""
        self.assertEqual([re.search(r"function_of_(\w+)\+", " ".join(frames))[1] if "function_of" in " ".join(frames) else frames
                          for _, _, frames in found], expected)
        for _, comm, frames in found:
            self.assertIn(f"({comm})", frames[1], frames)

    def test_an_exec_of_another_program_at_the_same_addresses(self):
        one, two = self.program("one"), self.program("two", "if (argc == 77) abort();")
        self.check(self.stacks("-f", PROBE, "--", one, two, one, two), ["one"] * 3 + ["two"] * 3 + ["one"] * 3 + ["two"] * 3)

    def test_a_pid_that_is_used_again(self):
        one, two = self.program("one"), self.program("two", "if (argc == 77) abort();")
        reuse = self.build("reuse", os.path.join(live.TARGET_SOURCES, "reuse.c"))
        for _ in range(20):
            found = self.stacks("-f", PROBE, "--", reuse, one, two)
            if not any(line == "taken" for line in self.traced.stdout):
                break
        else:
            self.skipTest("other processes took the number 20 times")
        self.check(found, ["one"] * 3 + ["two"] * 3)
        self.assertEqual(len({pid for pid, _, _ in found}), 1)

    def test_children_that_are_gone_have_the_names_of_their_parent(self):
        source = os.path.join(self.folder, "forks.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("""#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) long function_of_forks(void) { return getpid(); }
int main(void)
{
	function_of_forks();
	for (int i = 0; i < 20; i++) {
		if (fork() == 0) {
			function_of_forks();
			_exit(0);
		}
		wait(NULL);
	}
	return 0;
}
""")
        self.check(self.stacks("-f", PROBE, "--", self.build("forks", "-O1", source)), ["forks"] * 21)

    def test_what_has_no_name_says_why(self):
        program = self.program("stripped")
        subprocess.run(["strip", program], check=True, timeout=60)
        for _, _, frames in self.stacks(PROBE, "--", program):
            self.assertRegex(frames[1], r"^0x4[0-9a-f]+ \[no symbols: stripped(\+0x[0-9a-f]+)?\]$")


class JitCode(Case):
    """minivm with frame pointers: compiled functions lie between frames of invoke."""

    def setUp(self):
        super().setUp()
        include = os.path.join(live.SOURCE_ROOT, "include")
        sources = [os.path.join(MINIVM, name) for name in os.listdir(MINIVM) if name.endswith(".c")]
        self.minivm = self.build("minivm", "-O2", "-pthread", f"-I{include}", *sources, os.path.join(include, "usertrace-jit.c"))
        self.addCleanup(self.remove_maps)
        self.pids = set()

    def remove_maps(self):
        for pid in self.pids:
            for path in (f"/tmp/perf-{pid}.map", f"/tmp/jit-{pid}.dump"):
                if os.path.lexists(path):
                    os.unlink(path)

    def compiled(self, *options):
        """What is between frames of invoke and of what interpret calls, counted."""
        found = self.stacks(f'p:{self.minivm}:collect "%U"', "--", self.minivm, *options, "--heap", "1M", "--rounds", "10", "trees")
        self.pids |= {pid for pid, _, _ in found}
        ret = {}
        for _, _, frames in found:
            self.assertTrue(frames[0].startswith("collect+0x0"), frames)
            for frame in frames:
                if not frame.endswith(("(minivm)", ")")) or frame.endswith("(JIT code)"):
                    name = re.sub(r"0x[0-9a-f]+", "", frame)
                    ret[name] = ret.get(name, 0) + 1
        self.assertGreater(len(found), 50)
        return ret

    def test_by_a_map(self):
        found = self.compiled("--jit-map")
        self.assertGreater(found.pop("tree+ (JIT code)"), 100)
        self.assertEqual({name for name in found if "no map" in name}, set())

    def test_by_a_dump_while_code_moves(self):
        """Each collection moves all code: only by its time has an address a name."""
        found = self.compiled("--jit-dump", "--move-code")
        self.assertGreater(found.pop("tree+ (JIT code)"), 100)
        self.assertEqual({name for name in found if "no map" in name}, set())

    def test_without_a_map(self):
        found = self.compiled()
        self.assertEqual([name for name in found if "JIT code" in name], [])
        self.assertGreater(sum(n for name, n in found.items() if "[unknown code, no map: " in name), 100)

    @live.needs_program("node")
    def test_node_with_its_map_and_without(self):
        script = os.path.join(self.folder, "script.js")
        with open(script, "w", encoding="ascii") as file:
            file.write('const fs = require("fs");\nfunction asks(n) { return n ? asks(n - 1) : fs.accessSync("/"); }\n'
                       "const end = Date.now() + 1000;\nwhile (Date.now() < end) asks(3);\n")
        flags = ["--perf-basic-prof", "--interpreted-frames-native-stack"]
        for given in (flags, []):
            found = self.stacks("-M", "3000", 't:syscalls:sys_enter_access "%U"', "--", "node", *given, script)
            self.pids |= {pid for pid, _, _ in found}
            last = [" ".join(frames) for _, _, frames in found[-100:]]
            with self.subTest(flags=given):
                if given:
                    self.assertTrue(all(re.search(r"asks .*\+0x[0-9a-f]+ \((JIT code|interpreted)\)", text) for text in last), last[0])
                else:
                    self.assertTrue(all(f"[no map: node {' '.join(flags)}]" in text for text in last), last[0])


del Case

if __name__ == "__main__":
    unittest.main()
