# SPDX-License-Identifier: MIT
"""libusertrace as a file: what it exports, needs and runs, and how programs are built with it."""
import os
import re
import subprocess
import unittest

import installed
import live

SOURCES = os.path.join(live.SOURCE_ROOT, "src/emit")
PAGES = [os.path.join(live.SOURCE_ROOT, "man", name) for name in ("usertrace.3", "usertrace-jit.3")]

# Calls all there is, with good arguments and bad ones, and returns how often errno was touched.
PROGRAM = """
#include <errno.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
@DECLARATIONS@

static int calls(const char *name, const char *text)
{
	int touched = 0;
	errno = 77;
#define TRY(call) do { call; touched += errno != 77; } while (0)
	TRY(ut_begin(name)); TRY(ut_end(name)); TRY(ut_mark(name)); TRY(ut_count(name, -1));
	TRY(ut_begin_id(name, 1)); TRY(ut_end_id(name, 1)); TRY(ut_mark_id(name, 1)); TRY(ut_count_id(name, 1, 1));
	TRY(ut_begin_text(name, text)); TRY(ut_end_text(name, text)); TRY(ut_mark_text(name, text));
	TRY(ut_count_text(name, INT64_MIN, text)); TRY(ut_begin_value(name, 1, text)); TRY(ut_end_value(name, 1));
	TRY(ut_emit(~0u, name, 0, 0, text));
	TRY(touched += ut_enabled() != 0);
	TRY(touched += ut_jit_on()); TRY(ut_jit_code(name, 16, name)); TRY(ut_jit_code_lines(name, 16, name, 0, 0));
	TRY(ut_jit_move(name, name + 16, 16)); TRY(ut_jit_drop(name, 16)); TRY(ut_jit_forked());
	TRY(touched += ut_jit_open(4)); TRY(touched += ut_jit_error() != 0); TRY(touched += ut_jit_lost() != 0);
	TRY(ut_jit_close());
	return touched;
}

int main(void)
{
	int touched = calls("name", "text") + calls("", "") + calls((const char *)1, (const char *)1) + calls(0, 0);
	int status = 1;
	pid_t child = fork();

	if (child == 0)
		_exit(calls("child", 0));
	waitpid(child, &status, 0);
	return touched + status;
}
"""


def output(*argv, **kwargs):
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=live.PATIENCE * 2, **kwargs).stdout


def map_names():
    with open(os.path.join(SOURCES, "library.map"), encoding="utf-8") as file:
        return re.findall(r"^\s*(\w+);$", file.read(), re.MULTILINE)


def prototypes():
    """The prototypes of the public headers, each as one line, as one who has no header declares them."""
    text = ""
    for name in ("usertrace.h", "usertrace-jit.h"):
        with open(os.path.join(live.SOURCE_ROOT, "include", name), encoding="utf-8") as file:
            text += file.read()
    found = re.findall(r"^(?:UT_API_ )?((?:void|int|uint64_t|const char) \*?ut_\w+\([^;{}]*\);)$", text, re.MULTILINE)
    return [re.sub(r"\s+", " ", prototype) for prototype in found]


def declarations():
    return [re.search(r"\but_\w+(?=\()", prototype)[0] for prototype in prototypes()]


def with_declarations(program):
    return program.replace("@DECLARATIONS@", "struct ut_jit_line;\n" + "\n".join(prototypes()))


class Case(live.Case):
    @classmethod
    def setUpClass(cls):
        if installed.missing():
            raise unittest.SkipTest(installed.missing())
        cls.installed = installed.Installed()
        cls.addClassCleanup(cls.installed.remove)


class TheFile(Case):
    def readelf(self, option):
        return output("readelf", "-W", option, self.installed.library)

    def test_exports_are_those_of_the_map(self):
        table = output("nm", "-D", "--defined-only", self.installed.library)
        exported = re.findall(r"^\S+ T (\S+)$", table, re.MULTILINE)
        self.assertGreater(len(exported), 10)
        self.assertEqual(sorted(exported), sorted(f"{name}@@USERTRACE_0.1" for name in map_names()))

    def test_the_map_has_what_is_declared(self):
        self.assertEqual(sorted(map_names()), sorted(declarations()))

    def test_the_manual_has_them_all(self):
        names = map_names()
        for page in PAGES:
            with open(page, encoding="utf-8") as file:
                page = file.read()
            head, synopsis = page.split(".SH DESCRIPTION")[0].split(".SH SYNOPSIS")
            listed = re.findall(r"\but_\w+\b", head)
            self.assertGreater(len(listed), 9)
            for name in listed:
                self.assertRegex(synopsis, rf"(void|int|uint64_t|const char) \*?{name}\(")
                names.remove(name)
        self.assertEqual(names, [])

    @live.needs_program("mandoc")
    def test_the_manual_has_no_faults(self):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", *PAGES], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_everything_exported_has_version_0_1_and_nothing_else_is_visible(self):
        symbols = output("nm", "-D", self.installed.library).split("\n")
        # The environment is used where there is one.
        others = [line for line in symbols if line and not re.search(r" (T ut_\w+@@|A )USERTRACE_0\.1$| w environ$", line)]
        self.assertEqual(others, [])

    def test_it_needs_nothing_and_runs_nothing_when_loaded(self):
        dynamic = self.readelf("-d")
        self.assertIn("soname: [libusertrace.so.0]", dynamic)
        for tag in ("NEEDED", "INIT", "FINI", "TEXTREL", "RPATH", "RUNPATH"):
            self.assertNotIn(f"({tag}", dynamic)
        self.assertNotIn("_ARRAY", dynamic)

    def test_the_stack_is_not_executable(self):
        self.assertRegex(self.readelf("-l"), r"GNU_STACK .* RW +0x")

    def check_note(self, path):
        notes = output("readelf", "-n", path)
        self.assertEqual(re.findall(r"Provider: (\S+)\n\s+Name: (\S+)", notes), [("usertrace", "event")])
        site, semaphore = re.search(r"Location: (0x\w+), Base: 0x\w+, Semaphore: (0x\w+)", notes).groups()
        return int(site, 16), int(semaphore, 16), re.search(r"Arguments: (.*)", notes)[1]

    def test_one_site_with_a_semaphore(self):
        site, semaphore, arguments = self.check_note(self.installed.library)
        self.assertEqual(len(arguments.split()), 5)
        sections = {m[1]: range(int(m[2], 16), int(m[2], 16) + int(m[3], 16)) for m in
                    re.finditer(r"\] (\S+)\s+\w+\s+([0-9a-f]{16}) [0-9a-f]+ ([0-9a-f]+)", self.readelf("-S"))}
        self.assertIn(site, sections[".text"])
        self.assertIn(semaphore, sections[".probes"])

    def test_the_static_library_is_the_same(self):
        archive = self.installed.one("**/libusertrace.a")
        exported = re.findall(r"^\S+ T (\S+)$", output("nm", archive), re.MULTILINE)
        self.assertEqual(sorted(exported), sorted(map_names()))
        needed = re.findall(r"^\s+U (\S+)$", output("nm", archive), re.MULTILINE)
        self.assertLessEqual(set(needed), {"_GLOBAL_OFFSET_TABLE_"})  # which the linker makes


class WithPkgConfig(Case):
    def build(self, text, *flags, compiler="gcc", name="program.c"):
        folder = self.tempdir()
        source, program = os.path.join(folder, name), os.path.join(folder, "program")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags],
                              capture_output=True, text=True, timeout=live.PATIENCE * 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def run_it(self, *argv, **env):
        done = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, text=True, timeout=live.PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_version_is_the_programs(self):
        version = output("pkg-config", "--modversion", "usertrace", env=self.installed.environment).strip()
        self.assertIn(version, output(live.USERTRACE, "--version"))

    def test_shared(self):
        program = self.build(with_declarations(PROGRAM), *self.installed.flags("--cflags", "--libs"))
        self.assertIn("[libusertrace.so.0]", output("readelf", "-d", program))
        self.run_it(program, LD_LIBRARY_PATH=os.path.dirname(self.installed.library))

    def test_static(self):
        flags = self.installed.flags("--static", "--cflags", "--libs")
        program = self.build(with_declarations(PROGRAM), "-static", *flags)
        self.assertNotIn("NEEDED", output("readelf", "-d", program))
        self.run_it(program)

    def jit_source(self):
        """usertrace-jit.c, where `make install` puts it and pkg-config says that it is."""
        path = output("pkg-config", "--variable=jit_source", "usertrace", env=self.installed.environment).strip()
        return path if path.startswith(self.installed.root) else self.installed.root + path

    def test_without_the_library(self):
        text = PROGRAM.replace("@DECLARATIONS@", "#include <usertrace.h>\n#include <usertrace-jit.h>")
        program = self.build(text, self.jit_source(), *self.installed.flags("--cflags"))
        self.assertNotIn("usertrace", output("readelf", "-d", program))
        self.run_it(program)

    @live.needs_program("g++")
    def test_without_the_library_in_cxx(self):
        text = PROGRAM.replace("@DECLARATIONS@", "#include <usertrace.h>\n#include <usertrace-jit.h>")
        self.run_it(self.build(text, self.jit_source(), "-std=c++11", *self.installed.flags("--cflags"), compiler="g++",
                               name="program.cc"))

    def test_a_header_and_the_library(self):
        """Functions of usertrace-jit.h may come from libusertrace as well."""
        text = PROGRAM.replace("@DECLARATIONS@", "#include <usertrace.h>\n#include <usertrace-jit.h>")
        program = self.build(text, *self.installed.flags("--cflags", "--libs"))
        self.assertIn("[libusertrace.so.0]", output("readelf", "-d", program))
        self.run_it(program, LD_LIBRARY_PATH=os.path.dirname(self.installed.library))

    @live.needs_program("musl-gcc")
    def test_a_program_of_another_libc(self):
        program = self.build(with_declarations(PROGRAM), *self.installed.flags("--libs"), compiler="musl-gcc")
        self.run_it(program, LD_LIBRARY_PATH=os.path.dirname(self.installed.library))


if __name__ == "__main__":
    unittest.main()
