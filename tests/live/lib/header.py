# SPDX-License-Identifier: MIT
"""What the tests of include/usertrace.h share: compilers, and what their output must be like."""
import os
import re
import shutil
import subprocess
import sys

import elfnotes
import live

INCLUDE = os.path.join(live.SOURCE_ROOT, "include")
SOURCES = os.path.join(live.TARGET_SOURCES, "header")
WARNINGS = ("-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wsign-conversion -Wundef -Wcast-qual -Wredundant-decls "
            "-Werror").split()
C_ONLY = ("-Wdouble-promotion -Wdeclaration-after-statement -Wmissing-prototypes -Wstrict-prototypes "
          "-Wnested-externs").split()
CXX_ONLY = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"]
# A probe is a nop, and a nop of ten bytes.
PROBE_CODE = bytes.fromhex("90 662e0f1f840000000000")
# A function: a nop of five bytes, one of one byte, where the note points, and the return.
SITE_CODE = bytes.fromhex("0f1f440000 90 c3")
SITE_NOTE_AT = 5
SITE_ARGS = "4@%edi 8@%rsi -8@%rdx 8@%rcx 8@%r8"

COMPILERS = {"gcc": "gcc", "clang": "clang"}
CXX = {"gcc": "g++", "clang": "clang++"}


def source(name):
    return os.path.join(SOURCES, name)


def probes_in_source(name, provider):
    with open(source(name), encoding="utf-8") as file:
        return re.findall(rf"UT_PROBE\({provider}, (\w+)", file.read())


def expected_marks(probe_name):
    """A probe "m4_u8_f4" has arguments "-4@", "8@" and "4f@"."""
    if probe_name == "none":
        return []
    return [{"m": "-{}", "u": "{}", "f": "{}f"}[p[0]].format(p[1:]) for p in probe_name.split("_")]


def project_version():
    """Major, minor and patch of the release."""
    with open(os.path.join(live.SOURCE_ROOT, "meson.build"), encoding="utf-8") as file:
        return tuple(int(n) for n in re.search(r"version: '(\d+)\.(\d+)\.(\d+)'", file.read()).groups())


def version_of(text, macro):
    """The same as a header states it."""
    number = int(re.search(rf"#define {macro} (\d+)\n", text)[1])
    return number // 10000, number // 100 % 100, number % 100


class Case(live.Case):
    def setUp(self):
        self.folder = self.tempdir()
        self.made = 0

    def compiler(self, name, language="c"):
        program = (CXX if language == "c++" else COMPILERS)[name]
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed")
        return program

    def run_compiler(self, *argv):
        return subprocess.run([*argv, f"-I{INCLUDE}", f"-I{SOURCES}"], capture_output=True, text=True, timeout=60,
                              check=False, env={**os.environ, "LC_ALL": "C"})

    def build(self, compiler, *args):
        """The file that a compiler makes, without having said a word."""
        self.made += 1
        path = os.path.join(self.folder, f"out{self.made}")
        done = self.run_compiler(compiler, *args, "-o", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""), " ".join(args))
        return path

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_made(self, path, *args):
        self.assertEqual(subprocess.run([path, *args], timeout=20, check=False).returncode, 0, path)

    def check_operands(self, notes):
        """All tools can read them: registers that are saved, constants, the stack."""
        for n in notes:
            for arg in elfnotes.split_args(n.args):
                with self.subTest(probe=n.name, arg=arg):
                    self.assertRegex(arg, r"^-?[1248]f?@(%[a-ds]i?[lhix]|%[er]?(ax|bx|cx|dx|si|di|bp|sp)|%[sd]il|%r\d+[bwd]?|"
                                          r"\$-?\d+|-?\d*\(%r[sb]p\))$")

    def check_sites(self, elf, notes):
        for n in notes:
            with self.subTest(probe=n.name):
                self.assertEqual(elf.read(n.vaddr, len(PROBE_CODE)), PROBE_CODE)
                self.assertEqual(n.base, elf.section(".stapsdt.base").vaddr)


def for_compilers(test):
    """The test for each compiler, as a case of its own: a missing one is skipped."""
    body = sys._getframe(1).f_locals

    def add(name):
        def run(self):
            test(self, name)
        body[f"{test.__name__}_{name}"] = run
    for name in COMPILERS:
        add(name)
