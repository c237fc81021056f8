# SPDX-License-Identifier: MIT
"""The sites that usertrace.h makes, attached: in stripped programs, in libraries, in functions with many sites."""
import os
import re
import shutil
import subprocess
import unittest

import elfnotes
import live

SOURCES = os.path.join(live.TARGET_SOURCES, "header")


@live.needs_root()
class Sites(live.Case):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("gcc"):
            raise unittest.SkipTest("gcc is not installed")

    def setUp(self):
        self.folder = self.tempdir()

    def build(self, name, *args, compiler="gcc"):
        path = os.path.join(self.folder, name)
        subprocess.run([compiler, "-O2", f"-I{live.SOURCE_ROOT}/include", *args, "-o", path], check=True, timeout=60)
        return path

    def source(self, name):
        return os.path.join(SOURCES, name)

    def fired(self, *args):
        """How often each probe fired, and what was said about the attaching."""
        done = self.usertrace("trace", *args)
        self.assertEqual(done.status, 0, done.describe())
        self.assertNotIn("is skipped", "\n".join(done.stderr))
        names = [line.split()[3] for line in done.stdout if re.match(r"\d+ +\d+ ", line)]
        return {name: names.count(name) for name in names}

    # 13 calls for each of three pointers, then a begin, an end and two marks.
    EVENTS = 3 * 13 + 4

    def test_a_stripped_program(self):
        """The site begins a function, so a kernel that writes below the stack pointer there does no harm."""
        variants = [("plain", ()), ("stripped", ("-s",)), ("static", ("-static", "-s")), ("lto", ("-flto", "-s")),
                    ("unoptimised", ("-O0", "-s")), ("nopie", ("-no-pie", "-fno-pie", "-s", "-fcf-protection"))]
        for name, flags in variants:
            with self.subTest(variant=name):
                program = self.build(name, *flags, self.source("unit_a.c"), self.source("unit_b.c"))
                if "-s" in flags:
                    self.assertEqual(elfnotes.Elf(program).symbols("usertrace_event"), [])
                self.assertEqual(self.fired(f"u:{program}:event", "--", program), {"event": self.EVENTS})

    @live.needs_program("clang")
    def test_a_program_of_clang(self):
        program = self.build("clang", "-s", self.source("unit_a.c"), self.source("unit_b.c"), compiler="clang")
        self.assertEqual(self.fired(f"u:{program}:event", "--", program), {"event": self.EVENTS})

    def test_a_library_and_its_program(self):
        """Each is listened to by itself: one semaphore is not the other's."""
        library = self.build("libpart.so", "-fPIC", "-shared", self.source("part.c"))
        program = self.build("program", "-DWITH_PART", self.source("unit_a.c"), self.source("unit_b.c"), library)
        guarded = [f"u:{program}:guarded", f"u:{library}:guarded"]
        self.assertEqual(self.fired(guarded[0], "--", program), {"guarded": 2})
        self.assertEqual(self.fired(guarded[1], "--", program), {"guarded": 1})
        self.assertEqual(self.fired(*guarded, "--", program), {"guarded": 3})
        # With "shared" listened to, the function returns before its mark.
        self.assertEqual(self.fired(f"u:{library}:event", "--", program), {"event": 2})
        self.assertEqual(self.fired(f"u:{library}:event", f"u:{library}:shared", "--", program), {"event": 1, "shared": 1})

    def test_all_sites_of_a_probe(self):
        if not shutil.which("g++"):
            self.skipTest("g++ is not installed")
        program = self.build("types", "-std=c++17", self.source("types.cc"), compiler="g++")
        self.assertEqual(self.fired(f"u:{program}:pass", "--", program), {"pass": 6})
        values = self.usertrace("trace", f"u:{program}:pass", "--", program)
        said = [line.split()[4:] for line in values.stdout if " pass " in line]
        # int, short, double, an enum of a signed char, a pointer, bool: a float among integers is not shown as one.
        self.assertEqual([said[i] for i in (0, 1, 2, 3, 5)],
                         [["1", "0x4"], ["1", "0x2"], ["<unreadable>", "0x8"], ["-3", "0x1"], ["0", "0x1"]])

    @live.needs_program("gdb")
    def test_the_stack_at_the_site(self):
        """The unwind table, part of which is written by hand, leads from the site to main."""
        source = os.path.join(self.folder, "stack.c")
        with open(source, "w", encoding="ascii") as file:
            file.write('#include "usertrace.h"\n#define NOINLINE __attribute__((noinline))\n'
                       'NOINLINE int inner(int n) { ut_mark("x"); return n * 3; }\n'
                       "NOINLINE int outer(int n) { return inner(n) + 1; }\n"
                       "int main(int argc, char **argv) { (void)argv; return outer(argc) == 0; }\n")
        for compiler in ("gcc", "clang"):
            for flags in ("-O2", "-O2 -fno-omit-frame-pointer", "-O0", "-O2 -fno-asynchronous-unwind-tables -g"):
                if not shutil.which(compiler):
                    continue
                with self.subTest(compiler=compiler, flags=flags):
                    program = self.build("stack", *flags.split(), source, compiler=compiler)
                    script = ["break main", "run", "set {short}&usertrace_event_semaphore = 1", "break *usertrace_event",
                              "break *usertrace_event+5", "continue", "bt", "continue", "bt"]
                    said = subprocess.run(["gdb", "-nx", "-batch", *[a for c in script for a in ("-ex", c)], program],
                                          capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
                    names = re.findall(r"^#\d+ .*?(\w+)(?:\[cold\])?(?:\.\w+)* \(", said.stdout, re.MULTILINE)
                    stack = ["usertrace_event", "inner", "outer", "main"]
                    self.assertEqual([n for n in names if not n.startswith("ut_")], stack * 2, said.stdout + said.stderr)


if __name__ == "__main__":
    unittest.main()
