# SPDX-License-Identifier: MIT
"""include/usertrace-jit.h in C and C++: it compiles without a warning, and all of a program is one writer."""
import os
import re
import shutil
import subprocess
import unittest

from header import CXX_ONLY, C_ONLY, INCLUDE, WARNINGS, Case, for_compilers

PROGRAM = """
#include "usertrace-jit.h"
#include <stdio.h>

int second(void);
int main(void)
{
	int on = ut_jit_open(UT_JIT_MAP | UT_JIT_DUMP | UT_JIT_NO_ENV);

	ut_jit_code("some code", 8, "first");
	return second() != on || on != EXPECTED || ut_jit_lost() || !ut_jit_error() != !!EXPECTED;
}
"""
SECOND = """
#include "usertrace-jit.h"
int second(void);
int second(void)
{
	struct ut_jit_line line = { "", "file", 1, 0 };
	int ret = ut_jit_open(0);

	ut_jit_code_lines("other code", 8, "second", &line, 1);
	ut_jit_move("other code", "others yet", 8);
	ut_jit_drop("some code", 8);
	ut_jit_forked();
	ut_jit_close();
	return ut_jit_on() ? -1 : ret;
}
"""


class Jit(Case):
    def write_both(self, ending):
        here = [f'-DUT_JIT_MAP_DIR="{self.folder}"', f'-DUT_JIT_DUMP_DIR="{self.folder}"']
        second = SECOND.replace("int second", 'extern "C" int second') if ending == "cc" else SECOND
        program = PROGRAM.replace("int second", 'extern "C" int second') if ending == "cc" else PROGRAM
        return here + [self.write(f"program.{ending}", program), self.write(f"second.{ending}", second)]

    def check(self, *argv, expected=3):
        path = os.path.join(self.folder, "made")
        done = self.run_compiler(*argv, f"-DEXPECTED={expected}", "-o", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with subprocess.Popen([path]) as process:
            self.assertEqual(process.wait(60), 0)
        if not expected:
            return
        with open(os.path.join(self.folder, f"perf-{process.pid}.map"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"\A[0-9a-f]+ 8 first\n[0-9a-f]+ 8 second\n[0-9a-f]+ 8 second\n\Z")
        with open(os.path.join(self.folder, f"jit-{process.pid}.dump"), "rb") as file:
            self.assertRegex(file.read(), re.compile(rb"\ADTiJ\x01\0.*first\0some cod.*file\0.*second\0other co", re.DOTALL))

    @for_compilers
    def test_c(self, name):
        for flags in ("-std=c99 -O0", "-std=c11 -O2 -fPIE -pie", "-std=gnu17 -Os -static"):
            with self.subTest(flags=flags):
                self.check(self.compiler(name), *flags.split(), *WARNINGS, *C_ONLY, *self.write_both("c"))

    @for_compilers
    def test_cxx(self, name):
        for flags in ("-std=c++11 -O0", "-std=c++17 -O2", "-std=c++20 -Os"):
            with self.subTest(flags=flags):
                self.check(self.compiler(name, "c++"), *flags.split(), *WARNINGS, *CXX_ONLY, *self.write_both("cc"))

    @for_compilers
    def test_off(self, name):
        self.check(self.compiler(name), "-DUT_OFF", *WARNINGS, *C_ONLY, *self.write_both("c"), expected=0)

    @for_compilers
    def test_both_headers(self, name):
        path = self.write("both.c", '#include "usertrace.h"\n#include "usertrace-jit.h"\nint main(void) { return 0; }\n')
        done = self.run_compiler(self.compiler(name), "-std=c99", *WARNINGS, *C_ONLY, path, "-o", path + ".out")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @for_compilers
    def test_no_library_is_called(self, name):
        path = self.write("alone.c", SECOND)
        for flags in ("-O0", "-O3"):
            with self.subTest(flags=flags):
                done = self.run_compiler(self.compiler(name), flags, "-fno-stack-protector", "-c", path, "-o", path + ".o")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                symbols = subprocess.run(["nm", path + ".o"], capture_output=True, text=True, check=True).stdout
                self.assertLessEqual(set(re.findall(r" [Uw] (\S+)", symbols)), {"environ", "_GLOBAL_OFFSET_TABLE_"})

    @for_compilers
    def test_older_languages(self, name):
        for language, standard in (("c", "gnu90"), ("c++", "c++98")):
            with self.subTest(standard=standard):
                path = self.write("older." + ("cc" if language == "c++" else "c"), '#include "usertrace-jit.h"\n')
                done = self.run_compiler(self.compiler(name, language), "-fsyntax-only", f"-std={standard}", path)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, r"usertrace-jit.h needs (C99|C\+\+11) or later")

    @unittest.skipUnless(shutil.which("aarch64-linux-gnu-gcc"), "aarch64-linux-gnu-gcc is not installed")
    def test_arm64_compiles(self):
        path = self.write("arm.c", SECOND)
        done = subprocess.run(["aarch64-linux-gnu-gcc", "-std=c99", "-O2", *WARNINGS, *C_ONLY, f"-I{INCLUDE}", "-c", path, "-o",
                               path + ".o"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
