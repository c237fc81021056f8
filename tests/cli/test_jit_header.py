# SPDX-License-Identifier: MIT
"""include/usertrace-jit.h and .c in C and C++: they compile without a warning, and all of a program is one writer."""
import os
import re
import shutil
import subprocess
import unittest

from header import CXX_ONLY, C_ONLY, INCLUDE, WARNINGS, Case, for_compilers, project_version, version_of

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


SOURCE = os.path.join(INCLUDE, "usertrace-jit.c")


class Jit(Case):
    def write_both(self, ending):
        second = SECOND.replace("int second", 'extern "C" int second') if ending == "cc" else SECOND
        program = PROGRAM.replace("int second", 'extern "C" int second') if ending == "cc" else PROGRAM
        return [self.write(f"program.{ending}", program), self.write(f"second.{ending}", second)]

    def compile_source(self, compiler, *flags):
        """usertrace-jit.c as an object whose files are in the test's directory."""
        self.made += 1
        path = os.path.join(self.folder, f"jit{self.made}.o")
        here = [f'-DUT_JIT_MAP_DIR="{self.folder}"', f'-DUT_JIT_DUMP_DIR="{self.folder}"']
        done = self.run_compiler(compiler, *flags, *WARNINGS, *here, "-c", SOURCE, "-o", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""), flags)
        return path

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

    C_FLAGS = ("-std=c99 -O0", "-std=c11 -O2 -fPIE -pie", "-std=gnu17 -Os -static")
    CXX_FLAGS = ("-std=c++11 -O0", "-std=c++17 -O2", "-std=c++20 -Os")

    @for_compilers
    def test_c(self, name):
        compiler = self.compiler(name)
        for flags in self.C_FLAGS:
            with self.subTest(flags=flags):
                made = self.compile_source(compiler, *flags.replace("-pie", "").replace("-static", "").split(), *C_ONLY)
                self.check(compiler, *flags.split(), *WARNINGS, *C_ONLY, *self.write_both("c"), made)

    @for_compilers
    def test_cxx(self, name):
        compiler = self.compiler(name, "c++")
        for flags in self.CXX_FLAGS:
            with self.subTest(flags=flags):
                made = self.compile_source(compiler, "-x", "c++", *flags.split())
                self.check(compiler, *flags.split(), *WARNINGS, *CXX_ONLY, *self.write_both("cc"), made)

    @for_compilers
    def test_a_cxx_program_with_the_c_source(self, name):
        made = self.compile_source(self.compiler(name), "-std=c99", "-O2", *C_ONLY)
        self.check(self.compiler(name, "c++"), "-std=c++11", *WARNINGS, *CXX_ONLY, *self.write_both("cc"), made)

    @for_compilers
    def test_off(self, name):
        for language in ("c", "c++"):
            compiler = self.compiler(name, language)
            kind = ["-x", "c++", "-std=c++11"] if language == "c++" else ["-std=c99", *C_ONLY]
            made = self.compile_source(compiler, "-DUT_OFF", *kind)
            ending = "cc" if language == "c++" else "c"
            self.check(compiler, "-DUT_OFF", *WARNINGS, *self.write_both(ending), made, expected=0)

    @for_compilers
    def test_where_nothing_can_be_named(self, name):
        for flags in (["-m32", "-ffreestanding"], ["-U__ELF__"]):
            with self.subTest(flags=flags):
                done = self.run_compiler(self.compiler(name), *flags, *WARNINGS, "-std=c99", "-c", SOURCE, "-o",
                                         os.path.join(self.folder, "none.o"))
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    @for_compilers
    def test_each_library_has_its_own(self, name):
        """The functions are hidden, so a program and its library write into one map by two copies of the source."""
        compiler = self.compiler(name)
        program, second = self.write_both("c")
        made = self.compile_source(compiler, "-O2", "-fPIC")
        library = os.path.join(self.folder, "libsecond.so")
        done = self.run_compiler(compiler, "-fPIC", "-shared", second, made, "-o", library)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        self.assertEqual(re.findall(r" T (\S+)", symbols), ["second"])
        path = os.path.join(self.folder, "made")
        done = self.run_compiler(compiler, "-DEXPECTED=3", program, made, library, f"-Wl,-rpath,{self.folder}", "-o", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with subprocess.Popen([path]) as process:
            # The library's ut_jit_open(0) begins nothing, so the second file's code is in no map.
            self.assertEqual(process.wait(60), 1)
        with open(os.path.join(self.folder, f"perf-{process.pid}.map"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"\A[0-9a-f]+ 8 first\n\Z")

    @for_compilers
    def test_two_copies_in_one_program_are_an_error(self, name):
        compiler = self.compiler(name)
        made = [self.compile_source(compiler, "-O2") for _ in range(2)]
        done = self.run_compiler(compiler, "-DEXPECTED=3", *self.write_both("c"), *made, "-o", os.path.join(self.folder, "twice"))
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "multiple definition of .ut_jit_open")

    @for_compilers
    def test_a_header_of_another_version(self, name):
        with open(os.path.join(INCLUDE, "usertrace-jit.h"), encoding="utf-8") as file:
            text = re.sub(r"(#define UT_JIT_VERSION) \d+", r"\1 99", file.read())
        self.write("usertrace-jit.h", text)
        with open(SOURCE, encoding="utf-8") as file:
            path = self.write("usertrace-jit.c", file.read())
        done = self.run_compiler(self.compiler(name), "-c", path, "-o", path + ".o")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("of different versions", done.stderr)

    def test_the_version_is_the_projects(self):
        with open(os.path.join(INCLUDE, "usertrace-jit.h"), encoding="utf-8") as file:
            self.assertEqual(version_of(file.read(), "UT_JIT_VERSION"), project_version())

    @for_compilers
    def test_both_headers(self, name):
        path = self.write("both.c", '#include "usertrace.h"\n#include "usertrace-jit.h"\nint main(void) { return 0; }\n')
        done = self.run_compiler(self.compiler(name), "-std=c99", *WARNINGS, *C_ONLY, path, "-o", path + ".out")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @for_compilers
    def test_no_library_is_called(self, name):
        for flags in ("-O0", "-O3"):
            with self.subTest(flags=flags):
                made = self.compile_source(self.compiler(name), flags, "-fno-stack-protector")
                symbols = subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout
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
        for path in (self.write("arm.c", SECOND), SOURCE):
            done = subprocess.run(["aarch64-linux-gnu-gcc", "-std=c99", "-O2", *WARNINGS, *C_ONLY, f"-I{INCLUDE}", "-c", path,
                                   "-o", os.path.join(self.folder, "arm.o")], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
