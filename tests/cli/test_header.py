# SPDX-License-Identifier: MIT
"""include/usertrace.h in C and C++: it compiles without a warning, its notes are right, and it costs what it says."""
import os
import re
import shutil
import subprocess
import unittest

import elfnotes
from header import (CXX_ONLY, C_ONLY, INCLUDE, SITE_ARGS, SITE_CODE, WARNINGS, Case, expected_marks, for_compilers,
                    probes_in_source, project_version, source, version_of)

RULE = "an argument of UT_PROBE must be an integer, enum, bool, pointer, float or double"


class Types(Case):
    """Probes whose names say how their arguments must be described."""

    def check(self, path, name):
        elf = elfnotes.Elf(path)
        notes = elf.notes("types")
        self.assertEqual({n.name for n in notes}, set(probes_in_source(name, "types")))
        for n in notes:
            with self.subTest(probe=n.name):
                self.assertEqual(elfnotes.marks(n), expected_marks(n.name), n.args)
        self.check_operands(notes)
        self.check_sites(elf, notes)
        self.run_made(path)

    @for_compilers
    def test_c(self, name):
        for flags in ("-std=c99 -O0", "-std=c11 -O2", "-std=gnu17 -O3 -fPIC"):
            with self.subTest(flags=flags):
                self.check(self.build(self.compiler(name), *flags.split(), *WARNINGS, *C_ONLY, source("types.c")),
                           "types.c")

    @for_compilers
    def test_cxx(self, name):
        for flags in ("-std=c++11 -O0", "-std=c++17 -O2", "-std=c++20 -Os"):
            with self.subTest(flags=flags):
                path = self.build(self.compiler(name, "c++"), *flags.split(), *WARNINGS, *CXX_ONLY, source("types.cc"))
                self.check(path, "types.cc")
                sites = elfnotes.Elf(path).notes("sites", "pass")
                found = {tuple(elfnotes.marks(n)) for n in sites}
                self.assertEqual(found, {(size, "8") for size in ("-4", "-2", "8f", "-1", "8", "1")})

    @for_compilers
    def test_refused(self, name):
        head = '#include "usertrace.h"\nstruct pair { int a, b, c; };\nstruct bits { int x : 3; };\n'
        body = "int main(void) {{ struct pair p = {{1, 2, 3}}; struct bits b = {{1}}; (void)p; (void)b; UT_PROBE(p, n, {}); }}\n"
        both = [("p", RULE), ("1.0L", RULE), ("(__int128)1", RULE), ("1.0i", RULE),
                (", ".join("1" * 13), "UT_PROBE takes at most 12 arguments")]
        for language, refused in (("c", both + [("b.x", "bit-field")]), ("c++", both + [("&pair::a", RULE)])):
            for argument, message in refused:
                with self.subTest(language=language, argument=argument):
                    path = self.write("refused." + ("cc" if language == "c++" else "c"), head + body.format(argument))
                    done = self.run_compiler(self.compiler(name, language), "-fsyntax-only", path)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(message, done.stderr)

    @for_compilers
    def test_older_languages(self, name):
        """What is too old is told by its name, in one error that stands first; GNU C of that age will do."""
        for language, standard, wanted in (("c", "c90", "C99"), ("c", "iso9899:199409", "C99"), ("c", "gnu90", None),
                                           ("c", "c99", None), ("c++", "c++98", r"C\+\+11"),
                                           ("c++", "gnu++98", r"C\+\+11"), ("c++", "c++11", None)):
            with self.subTest(standard=standard):
                path = self.write("older." + ("cc" if language == "c++" else "c"), '#include "usertrace.h"\n')
                done = self.run_compiler(self.compiler(name, language), "-fsyntax-only", f"-std={standard}", path)
                self.assertEqual(done.returncode == 0, not wanted, done.stderr)
                first = next((line for line in done.stderr.splitlines() if "error:" in line), "")
                self.assertRegex(first, f"usertrace.h needs {wanted} or later" if wanted else "^$")


class Neighbours(Case):
    """Other headers and ways to include."""

    @for_compilers
    def test_sys_sdt(self, name):
        compiler = self.compiler(name)
        lines = ['#include "usertrace.h"', "#include <sys/sdt.h>"]
        if self.run_compiler(compiler, "-fsyntax-only", self.write("has.c", lines[1] + "\n")).returncode:
            self.skipTest("sys/sdt.h is missing")
        body = ("int main(int argc, char **argv)\n{\n\tDTRACE_PROBE1(both, one, argc);\n\tUT_PROBE(both, one, argc);\n"
                "\tif (UT_PROBE_ENABLED(both, one))\n\t\tut_mark(argv[0]);\n\treturn 0;\n}\n")
        semaphores = "#define _SDT_HAS_SEMAPHORES 1\nextern unsigned short both_one_semaphore;\n"
        for head in ("\n".join(lines), "\n".join(reversed(lines)), semaphores + "\n".join(lines)):
            with self.subTest(head=head):
                elf = elfnotes.Elf(self.build(compiler, "-O2", self.write("both.c", head + "\n" + body)))
                notes = elf.notes("both", "one")
                self.assertEqual([elfnotes.marks(n) for n in notes], [["-4"], ["-4"]])
                self.assertEqual(len({n.base for n in notes}), 1)
                self.assertEqual(len({n.semaphore for n in notes} - {0}), 1)

    @for_compilers
    def test_embedded_twice(self, name):
        """A generated header holds the whole text; a file may include two of them, and other macros as arguments."""
        with open(os.path.join(INCLUDE, "usertrace.h"), encoding="utf-8") as file:
            text = file.read()
        for n in (1, 2):
            self.write(f"gen{n}.h", text + f"#define GC_START{n}(a) UT_PROBE(ccl, gc__start, a)\n"
                       f"#define GC_START{n}_ENABLED() UT_PROBE_ENABLED(ccl, gc__start)\n")
        path = self.write("twice.c", '#include "gen1.h"\n#include "gen2.h"\n#define SIZE(x) ((unsigned long)(x) << 3)\n'
                          "#define PROVIDER ccl\n#define PAIR(x) x, SIZE(x)\n"
                          "int main(int argc, char **argv)\n{\n\t(void)argv;\n\tif (GC_START1_ENABLED() && GC_START2_ENABLED())\n"
                          "\t\tGC_START1(SIZE(argc));\n\telse\n\t\tGC_START2(SIZE(argc + 1));\n"
                          "\tUT_PROBE(PROVIDER, pair, PAIR(argc));\n\treturn 0;\n}\n")
        elf = elfnotes.Elf(self.build(self.compiler(name), "-std=c99", *WARNINGS, path))
        self.assertEqual([elfnotes.marks(n) for n in elf.notes("ccl", "gc__start")], [["8"], ["8"]])
        self.assertEqual([elfnotes.marks(n) for n in elf.notes("ccl", "pair")], [["-4", "8"]])

    @for_compilers
    def test_where_nothing_can_be_announced(self, name):
        for flags in (["-DUT_OFF"], ["-m32"], ["-U__ELF__"]):
            with self.subTest(flags=flags):
                out = os.path.join(self.folder, "off.s")
                done = self.run_compiler(self.compiler(name), "-S", "-O2", "-ffreestanding", *flags, *WARNINGS,
                                         self.write("off.c", OFF), "-o", out)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                with open(out, encoding="utf-8") as file:
                    self.assertNotRegex(file.read(), r"stapsdt|usertrace_event|\.probes")


OFF = """#include "usertrace.h"
int off(int n);
int off(int n)
{
	int unused = n;

	UT_PROBE(off, none);
	UT_PROBE(off, twelve, unused, n, 1, 2, 3, 4, 5, 6, 7, 8, 9, n++);
	if (UT_PROBE_ENABLED(off, twelve) || ut_enabled())
		n = 0;
	ut_begin("off");
	ut_count_text("off", n, "text");
	ut_begin_value("off", n, "text");
	ut_end_value("off", n++);
	return n;
}
"""


class Versions(Case):
    """Copies of different ages, as two libraries in source bring them, in one program."""

    def test_the_version_is_the_projects(self):
        with open(os.path.join(INCLUDE, "usertrace.h"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(version_of(text, "UT_VERSION"), project_version())
        self.assertIn(f" *\t{re.search(r'UT_VERSION (.*)', text)[1]} ({'.'.join(map(str, project_version()))})\t", text)
        # Whoever raises the version raises the name of the namespace, whose templates are not frozen.
        self.assertIn(f"namespace usertrace_{re.search(r'UT_VERSION (.*)', text)[1]}_ ", text)

    @for_compilers
    def test_two_ages_in_one_program(self, name):
        """A later copy has other private things; the site and the semaphore are one."""
        with open(os.path.join(INCLUDE, "usertrace.h"), encoding="utf-8") as file:
            later = file.read().replace("UT_VERSION 100", "UT_VERSION 101").replace("usertrace_100_", "usertrace_101_")
        self.assertIn("UT_VERSION 101", later)
        for language, flags in (("c", "-O0"), ("c", "-O2"), ("c++", "-O0"), ("c++", "-O2 -flto")):
            with self.subTest(language=language, flags=flags):
                compiler = [self.compiler(name, language), *(["-x", "c++"] if language == "c++" else []), *flags.split()]
                folder = os.path.join(self.folder, "later")
                os.makedirs(folder, exist_ok=True)
                self.write("later/usertrace.h", later)
                objects = [os.path.join(self.folder, f"{unit}.o") for unit in ("unit_a", "unit_b")]
                for unit, path, first in (("unit_a", objects[0], [f"-I{folder}"]), ("unit_b", objects[1], [])):
                    done = self.run_compiler(*compiler, *first, *WARNINGS, "-c", source(f"{unit}.c"), "-o", path)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                path = self.build(self.compiler(name, language), *flags.split(), *objects)
                elf = elfnotes.Elf(path)
                self.assertEqual([n.args for n in elf.notes("usertrace", "event")], [SITE_ARGS])
                for symbol, size in (("usertrace_event", len(SITE_CODE)), ("usertrace_event_semaphore", 2)):
                    self.assertEqual([s.size for s in elf.symbols(symbol)], [size])
                self.run_made(path)


class Spans(Case):
    """UT_SPAN in all languages and where nothing is traced: it compiles without a warning, and leaves the program alone."""

    @for_compilers
    def test_compiles(self, name):
        for language, standards, more in (("c", ("c99", "c11", "gnu17"), C_ONLY), ("c++", ("c++11", "c++20"), CXX_ONLY)):
            path = self.write("spans." + ("cc" if language == "c++" else "c"), SPANS)
            for standard in standards:
                for flags in (["-O0"], ["-O2"], ["-O2", "-DUT_OFF"], ["-O2", "-U__ELF__"]):
                    with self.subTest(standard=standard, flags=flags):
                        made = self.build(self.compiler(name, language), f"-std={standard}", *flags, *WARNINGS, *more, path)
                        self.run_made(made)


SPANS = """#include "usertrace.h"
static int inside;
static int spans(int n)
{
	UT_SPAN("outer");
	UT_SPAN_VALUE("with value", n, "text");
	for (int i = 0; i < n; i++) {
		UT_SPAN("inner"); UT_SPAN("on the same line");
		if (i == 2)
			continue;
		if (i == 4)
			return ++inside;
	}
	return 0;
}
int main(int argc, char **argv)
{
	(void)argv;
	return spans(argc + 4) - 1;
}
"""


class Instructions(Case):
    """What a program executes when nobody listens."""

    FLAGS = {"gcc": ["-O2"], "clang": ["-O2", "-fno-unroll-loops", "-fno-vectorize"]}

    def functions(self, path):
        """The instructions of each function up to its last return, as pairs of address and text."""
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True,
                              timeout=30).stdout
        ret = {}
        for name, body in re.findall(r"^[0-9a-f]+ <(\w+)>:\n((?:.+\n)*)", text, re.MULTILINE):
            lines = [(int(a, 16), i) for a, i in re.findall(r"^\s*([0-9a-f]+):\s+(.+?)\s*$", body, re.MULTILINE)]
            end = max([n for n, (_, i) in enumerate(lines) if i.startswith("ret")], default=len(lines))
            ret[name] = lines[:end + 1]
        return ret

    @staticmethod
    def loop(lines):
        """The instructions of the only loop."""
        for at, text in lines:
            target = re.match(r"j\w+\s+([0-9a-f]+)", text)
            if target and int(target[1], 16) < at:
                return [l for l in lines if int(target[1], 16) <= l[0] <= at]
        raise AssertionError(f"no loop in {lines}")

    @staticmethod
    def split(lines):
        """The operations that do something, and how many do nothing."""
        work = [text.split()[0] for _, text in lines if not re.match(r"(data16 |cs )*nop|xchg\s+%ax,%ax", text)]
        return work, len(lines) - len(work)

    @for_compilers
    def test_a_probe_is_two_nops(self, name):
        functions = self.functions(self.build(self.compiler(name), *self.FLAGS[name], "-c", source("quiet.c")))
        for function, part in (("leaf", list), ("hash", self.loop)):
            with self.subTest(function=function):
                bare, bare_nops = self.split(part(functions[function + "_without"]))
                probed, nops = self.split(part(functions[function + "_with"]))
                self.assertEqual((len(probed), nops), (len(bare), bare_nops + 2), f"{bare} {probed}")

    @for_compilers
    def test_no_more_than_sys_sdt(self, name):
        flags = [*self.FLAGS[name], "-DSDT", "-c", source("quiet.c")]
        if self.run_compiler(self.compiler(name), "-fsyntax-only", *flags).returncode:
            self.skipTest("sys/sdt.h is missing")
        functions = self.functions(self.build(self.compiler(name), *flags))
        ours, theirs = (self.split(self.loop(functions[f])) for f in ("hash_with", "hash_sdt"))
        self.assertLessEqual(len(ours[0]), len(theirs[0]), f"{ours} {theirs}")
        self.assertEqual(ours[1], theirs[1] + 1)

    @for_compilers
    def test_an_event_is_a_load_and_a_branch(self, name):
        functions = self.functions(self.build(self.compiler(name), "-O2", "-c", source("quiet.c")))
        bare = self.split(functions["mark_without"])[0]
        way = [text for _, text in functions["mark_with"]]
        way = way[:next(i for i, text in enumerate(way) if text.startswith("ret")) + 1]
        operations = [text.split()[0] for text in way]
        self.assertEqual(sorted(o for o in operations if o not in ("mov", *bare)), ["jne", "movzwl", "test"], way)
        self.assertLessEqual(len(way), len(bare) + 4, way)

    @for_compilers
    def test_a_span_is_two_events(self, name):
        """What UT_SPAN keeps for the end of the block is no instruction."""
        for language in ("c", "c++"):
            with self.subTest(language=language):
                flags = ["-O2", "-x", "c++", "-fno-exceptions", "-fpermissive"] if language == "c++" else ["-O2"]
                path = self.build(self.compiler(name, language), *flags, "-c", source("quiet.c"))
                functions = self.functions(path)
                ways = []
                for function in ("span_by_hand", "span_by_scope"):
                    way = next(lines for symbol, lines in functions.items() if symbol in (function, f"_Z{len(function)}{function}ll"))
                    way = [text.split()[0] for _, text in way]
                    ways.append(sorted(way[:next(i for i, text in enumerate(way) if text.startswith("ret")) + 1]))
                self.assertEqual(*ways)
                self.assertEqual([text for text in ways[1] if text in ("jne", "movzwl", "test")],
                                 ["jne", "jne", "movzwl", "movzwl", "test", "test"])

    def test_what_is_not_used_is_not_there(self):
        path = self.write("unused.c", '#include "usertrace.h"\nint main(int argc, char **argv)\n'
                                      "{\n\t(void)argv;\n\tUT_PROBE(unused, one, argc);\n\treturn 0;\n}\n")
        for flags in ("-O0", "-O2"):
            elf = elfnotes.Elf(self.build(self.compiler("gcc"), flags, path))
            self.assertEqual([n.name for n in elf.notes()], ["one"])
            self.assertEqual([s.name for s in elf.symbols() if re.match("ut_|usertrace_", s.name)], [])
            self.assertIsNone(elf.section(".probes"))


class Arm64(Case):
    """Compiled and looked at; not run."""

    COMMANDS = {"gcc": ["aarch64-linux-gnu-gcc", "-shared", "-fPIC", "-nostdlib"],
                "clang": ["clang", "--target=aarch64-linux-gnu", "-shared", "-fPIC", "-nostdlib", "-fuse-ld=lld",
                          "-ffreestanding"]}

    def build_arm(self, name, *flags):
        command = self.COMMANDS[name]
        if not shutil.which(command[0]) or (name == "clang" and not shutil.which("ld.lld")):
            self.skipTest(f"{command[0]} or its linker is not installed")
        return elfnotes.Elf(self.build(command[0], *command[1:], *flags, *WARNINGS, source("types.c"), source("part.c")))

    @for_compilers
    def test_notes(self, name):
        for flags in ("-O0", "-O2"):
            with self.subTest(flags=flags):
                elf = self.build_arm(name, flags)
                self.assertEqual(elf.machine, 183)
                notes = elf.notes("types")
                self.assertEqual({n.name for n in notes}, set(probes_in_source("types.c", "types")))
                for n in notes:
                    with self.subTest(probe=n.name):
                        self.assertEqual(elfnotes.marks(n), expected_marks(n.name), n.args)
                        self.assertEqual(elf.read(n.vaddr, 4), bytes.fromhex("1f2003d5"))
                        for arg in elfnotes.split_args(n.args):
                            self.assertRegex(arg, r"@(x\d+|-?\d+)$")

    @for_compilers
    def test_event(self, name):
        elf = self.build_arm(name, "-O2")
        note, = elf.notes("usertrace", "event")
        self.assertEqual(note.args, "4@x0 8@x1 -8@x2 8@x3 8@x4")
        self.assertEqual(elf.read(note.vaddr, 8), bytes.fromhex("1f2003d5c0035fd6"))
        self.assertEqual(elf.section_of(note.semaphore), ".probes")


if __name__ == "__main__":
    unittest.main()
