# SPDX-License-Identifier: MIT
"""Programs built with the headers and objects of `usertrace dtrace`, traced."""
import json
import os
import shutil
import subprocess
import unittest

import live
import provider

FIRE = """
#include "ccl.h"
#include "values.h"
#include <stdio.h>

static int evaluated;
static int once(int v) { evaluated++; return v; }

int main(void)
{
	volatile long big = -3000000000L, minus = -1;
	double half = 0.5;

	CCL_GC_START(1000);
	CCL_GC_FINISH((unsigned long)big);
	CCL_EGC_START(4096, once(2));
	CCL_EGC_FINISH(-1, minus);
	CCL_CREATE_THREAD(&big);
	VALUES_NARROW(300 + minus, 300 + minus, 70000 + minus, 70000 + minus, big, big);
	VALUES_TRUTH(7 + minus, minus + 1);
	VALUES_TEXT("a text", (char *)0);
	VALUES_FLOATS(half, half * 3);
	VALUES_TWELVE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	printf("evaluated %d\\n", evaluated);
	return 0;
}
"""
VALUES = """
provider values {
	probe narrow(signed char, unsigned char, short, unsigned short, int, unsigned);
	probe truth(bool, bool);
	probe text(const char *, string);
	probe floats(float, double);
	probe twelve(int, int, int, int, int, int, int, int, int, int, int, int);
};
"""
ASK = """
#include "ccl.h"
#include <stdio.h>

int main(void)
{
	char line[16];

	printf("ready\\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("start %d finish %d\\n", CCL_GC_START_ENABLED(), CCL_GC_FINISH_ENABLED());
		if (CCL_GC_START_ENABLED())
			CCL_GC_START(7);
		fflush(stdout);
	}
	return 0;
}
"""


@live.needs_root()
@unittest.skipUnless(shutil.which("gcc"), "gcc is not installed")
class Dtrace(live.Case):
    def build(self, text, *cases, compiler=("gcc", "-O2"), name="program.c"):
        """A program from this source and the provider files."""
        folder = self.tempdir()
        for path, content in [(name, text), *cases]:
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(content)
        sources = [provider.case("ccl.d")] + [os.path.join(folder, path) for path, _ in cases]
        objects = []
        for source in sources:
            objects.append(os.path.basename(source)[:-1] + "o")
            provider.usertrace("-h", "-s", source, cwd=folder)
            provider.usertrace("-G", "-s", source, cwd=folder)
        provider.run([*compiler, name, *objects, "-o", "program"], cwd=folder)
        return os.path.join(folder, "program")

    def fired(self, program, *probes):
        """{probe: arguments} of one run of FIRE."""
        trace = self.start(live.USERTRACE, "trace", "--json", *probes, "--", program)
        self.assertEqual(trace.wait(), 0, trace.describe())
        self.assertIn("evaluated 1", trace.stdout)    # an argument is evaluated once
        events = [json.loads(line) for line in trace.stdout if line.startswith("{")]
        found = {e["probe"]: list(e["args"].values()) for e in events}
        self.assertEqual(len(found), len(events), "each fires once")
        return found

    def test_values(self):
        """Each argument has the declared type's size and sign, whatever was passed."""
        for compiler in (["gcc", "-O2"], ["gcc", "-O0"], ["clang", "-O2"], ["g++", "-O2", "-xc++", "-fpermissive", "-w"]):
            if not shutil.which(compiler[0]):
                continue
            with self.subTest(compiler=compiler):
                compile = [c for c in compiler if c != "-xc++"]
                program = self.build(FIRE, ("values.d", VALUES), compiler=compile,
                                     name="program.cc" if "-xc++" in compiler else "program.c")
                found = self.fired(program, "u:ccl:*", "u:values:*")
                (address,), (text, null) = found.pop("ccl:create__thread"), found.pop("values:text")
                self.assertTrue(address > 4096 and text > 4096 and null == 0)
                self.assertEqual(found, {
                    "ccl:gc__start": [1000], "ccl:gc__finish": [2**64 - 3000000000], "ccl:egc__start": [4096, 2],
                    "ccl:egc__finish": [2**64 - 1, 2**32 - 1], "values:narrow": [43, 43, 4463, 4463, 1294967296, 1294967296],
                    "values:truth": [1, 0], "values:floats": [0.5, 1.5], "values:twelve": list(range(1, 13))})

    def test_texts(self):
        program = self.build(FIRE, ("values.d", VALUES))
        done = self.usertrace("trace", 'u:values:text "<%s> <%s>", arg1, arg2', "--", program)
        found = [line for line in done.stdout if line.endswith(" <a text> <(null)>")]
        self.assertEqual((done.status, len(found)), (0, 1), done.describe())

    def test_enabled_while_traced(self):
        """Only the probe that is traced says that it is, and only as long as it is."""
        for objects in (True, False):
            with self.subTest(objects=objects):
                program = self.build(ASK)
                if not objects:
                    folder = os.path.dirname(program)
                    provider.run(["gcc", "-O2", "program.c", "-o", "program"], cwd=folder)
                target = self.start_target(program, stdin=subprocess.PIPE)
                self.ask(target, "start 0 finish 0")
                trace = self.trace("-p", target.pid, "u:ccl:gc__start")
                self.ask(target, "start 1 finish 0")
                trace.wait_for(r"\bgc__start +used 7$")
                self.assertEqual(trace.interrupt(), 0)
                self.ask(target, "start 0 finish 0")
                target.popen.stdin.close()
                self.assertEqual(target.wait(), 0)
                self.assertEqual(len([e for e in trace.stdout if "gc__start" in e]), 1)

    def ask(self, target, answer):
        before = len(target.stdout)
        target.say("?\n")
        self.assertEqual(target.wait_for_lines(before + 1)[before], answer)


if __name__ == "__main__":
    unittest.main()
