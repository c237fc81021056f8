# SPDX-License-Identifier: MIT
"""UT_SPAN, ut_span and the events with a value, as the tracer sees them: spans end whichever way control leaves."""
import json
import os
import shutil
import subprocess
import unittest

import live

C = """#include "usertrace.h"
#include <setjmp.h>
static int leave(int how)
{
	UT_SPAN("leave");
	for (int i = 0; i < 3; i++) {
		UT_SPAN_VALUE("turn", i, i ? "again" : (const char *)0);
		if (how == 1 && i == 1)
			return i;
		if (how == 2 && i == 1)
			goto out;
		if (i == 1)
			break;
	}
out:
	return 0;
}
static jmp_buf back;
static void jump(void)
{
	UT_SPAN("jumped over");
	longjmp(back, 1);
}
int main(void)
{
	for (int how = 0; how < 3; how++)
		leave(how);
	ut_begin_value("gc", 100, "full");
	ut_end_value("gc", -40);
	if (!setjmp(back))
		jump();
	return 0;
}
"""
CXX = """#include "usertrace.h"
struct request {
	ut_span span;
	explicit request(const char *name) : span(name, 7, "of an object") {}
};
static void thrower()
{
	UT_SPAN("thrower");
	throw 1;
}
int main()
{
	request *r = new request("request");
	try {
		UT_SPAN("try");
		thrower();
	} catch (int) {
		ut_mark("caught");
	}
	delete r;
}
"""
# As C of the same program would be called by C++, whose exceptions pass through it.
PASSED = """#include "usertrace.h"
void thrower(void);
void passed(void);
void passed(void)
{
	UT_SPAN("passed");
	thrower();
}
"""
PASSES = """#include "usertrace.h"
extern "C" void passed(void);
extern "C" void thrower(void) { throw 1; }
int main()
{
	try {
		passed();
	} catch (int) {
		ut_mark("caught");
	}
}
"""


@live.needs_root()
class Spans(live.Case):
    def setUp(self):
        self.folder = self.tempdir()

    def build(self, compiler, name, text, *flags):
        if not shutil.which(compiler):
            raise unittest.SkipTest(f"{compiler} is not installed")
        source, path = os.path.join(self.folder, name), os.path.join(self.folder, name + ".out")
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        subprocess.run([compiler, f"-I{live.SOURCE_ROOT}/include", *flags, source, "-o", path], check=True, timeout=60)
        return path

    def traced(self, program):
        """Kind and name of each event, with value and text where it has them."""
        done = self.usertrace("trace", "--json", "e:*", "--", program)
        self.assertEqual(done.status, 0, done.describe())
        return [tuple(e[key] for key in ("type", "name", "value", "text") if e.get(key)) for e in map(json.loads, done.stdout)
                if e["type"] in ("begin", "end", "mark", "count")]

    def test_c(self):
        turns = [("begin", "turn"), ("end", "turn"), ("begin", "turn", 1, "again"), ("end", "turn")]
        for compiler in ("gcc", "clang"):
            for flags in (["-O0"], ["-O2"]):
                with self.subTest(compiler=compiler, flags=flags):
                    found = self.traced(self.build(compiler, "c.c", C, *flags))
                    expected = [("begin", "leave"), *turns, ("end", "leave")] * 3
                    expected += [("begin", "gc", 100, "full"), ("end", "gc", -40), ("begin", "jumped over")]
                    self.assertEqual(found[:len(expected)], expected)

    def test_cxx(self):
        for compiler in ("g++", "clang++"):
            for flags in (["-O0"], ["-O2"]):
                with self.subTest(compiler=compiler, flags=flags):
                    found = self.traced(self.build(compiler, "cxx.cc", CXX, *flags))
                    self.assertEqual(found, [("begin", "request", 7, "of an object"), ("begin", "try"), ("begin", "thrower"),
                                             ("end", "thrower"), ("end", "try"), ("mark", "caught"), ("end", "request")])

    def test_exceptions_through_c(self):
        middle = self.build("gcc", "passed.c", PASSED, "-O2", "-fexceptions", "-c")
        found = self.traced(self.build("g++", "passes.cc", PASSES, middle, "-x", "c++"))
        self.assertEqual(found, [("begin", "passed"), ("end", "passed"), ("mark", "caught")])


if __name__ == "__main__":
    unittest.main()
