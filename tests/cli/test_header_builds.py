# SPDX-License-Identifier: MIT
"""include/usertrace.h in programs of several files and libraries, under the options of real builds."""
import os
import unittest

import elfnotes
from header import SITE_ARGS, SITE_CODE, SITE_NOTE_AT, WARNINGS, Case, for_compilers, source


class Units(Case):
    """A program of two files, under the options of real builds."""

    # What each compiler does in its own way, and each linker once.
    OPTIONS = {
        "gcc": ["-O0 -g", "-O2", "-O3 -fno-pie -no-pie", "-Os -fPIC", "-O2 -static", "-O2 -flto", "-O2 -fcf-protection",
                "-O1 -fsanitize=address,undefined", "-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections",
                "-O2 -fno-asynchronous-unwind-tables -fno-omit-frame-pointer -fstack-protector-all",
                "-O2 -pg -fuse-ld=gold"],
        "clang": ["-O0 -g", "-O2 -fno-pie -no-pie", "-Os -fsanitize=address", "-O3 -static", "-O2 -flto -fuse-ld=lld",
                  "-O2 -ffunction-sections -fcf-protection -fuse-ld=lld -Wl,--gc-sections"],
    }

    def check_program(self, path):
        elf = elfnotes.Elf(path)
        notes = elf.notes("units")
        # A linker that drops a function may keep its note, which then points nowhere.
        live_notes = [n for n in notes if elf.section_of(n.vaddr)]
        self.assertLessEqual({"a", "plain", "shared", "guarded"}, {n.name for n in live_notes})
        self.check_sites(elf, live_notes)
        self.check_operands(notes)
        semaphores = {}
        for n in notes:
            semaphores.setdefault(n.name, set()).add(n.semaphore)
        for name, used in semaphores.items():
            with self.subTest(probe=name):
                if name in ("guarded", "shared"):
                    self.assertEqual(len(used), 1)
                    self.assertEqual((elf.section_of(min(used)), min(used) % 2), (".probes", 0))
                else:
                    self.assertEqual(used, {0})
        self.check_event(elf)
        return elf

    def check_event(self, elf):
        """One site and one semaphore in each program or library, not visible from outside."""
        self.assertEqual([n.args for n in elf.notes("usertrace", "event")], [SITE_ARGS])
        note, = elf.notes("usertrace", "event")
        start = note.vaddr - SITE_NOTE_AT
        self.assertEqual(elf.read(start, len(SITE_CODE)), SITE_CODE)
        self.assertEqual(start % 16, 0)
        self.assertEqual(elf.section_of(note.semaphore), ".probes")
        for name, size in (("usertrace_event", len(SITE_CODE)), ("usertrace_event_semaphore", 2)):
            found = elf.symbols(name)
            self.assertEqual([s.size for s in found], [size], name)
            self.assertEqual(elf.symbols(name, elfnotes.SHT_DYNSYM), [])

    def can(self, compiler, flags):
        """Whether this machine has what the options ask for; if not, that is not the header's doing."""
        path = self.write("can.c", "int main(void) { return 0; }\n")
        return self.run_compiler(compiler, *flags, path, "-o", os.path.join(self.folder, "can")).returncode == 0

    def check_options(self, name, language, options):
        compiler = self.compiler(name, language)
        kind = ["-x", language] if language == "c++" else []
        for flags in options:
            with self.subTest(flags=flags):
                try:
                    path = self.build(compiler, *flags.split(), *WARNINGS, *kind, source("unit_a.c"), source("unit_b.c"))
                except AssertionError:
                    if self.can(compiler, flags.split()):
                        raise
                    continue
                elf = self.check_program(path)
                self.run_made(path)
                if language == "c++":
                    self.assertGreaterEqual(len(elf.notes("units", "folded")), 1)

    @for_compilers
    def test_options(self, name):
        self.check_options(name, "c", self.OPTIONS[name])

    @for_compilers
    def test_options_cxx(self, name):
        self.check_options(name, "c++", ["-O0", "-O2 -flto"])

    @for_compilers
    def test_user_events_in_the_other_notation(self, name):
        """-masm=intel is for the whole file, also for what a header has in assembler."""
        path = self.write("intel.c", """#include "usertrace.h"
            int main(void) { ut_begin("a"); ut_end_id("a", 1); ut_mark_text("b", "c"); ut_count("d", 4);
                return ut_enabled() || UT_PROBE_ENABLED(intel, asked); }\n""")
        for flags in ("-O0", "-O2", "-O2 -fPIE -pie", "-O2 -fno-pie -no-pie"):
            with self.subTest(flags=flags):
                made = self.build(self.compiler(name), *flags.split(), "-masm=intel", *WARNINGS, path)
                self.check_event(elfnotes.Elf(made))
                self.run_made(made)

    @for_compilers
    def test_a_folded_function_has_one_note(self, name):
        """At -O0 both files have the template's function; the linker keeps one and its note, and drops the other two."""
        path = self.build(self.compiler(name, "c++"), "-O0", "-x", "c++", source("unit_a.c"), source("unit_b.c"))
        elf = elfnotes.Elf(path)
        notes = elf.notes("units", "folded")
        self.assertEqual(len(notes), 1)
        self.assertTrue(elf.section_of(notes[0].vaddr))

    @for_compilers
    def test_each_library_has_its_own_semaphores(self, name):
        compiler = self.compiler(name)
        library = self.build(compiler, "-O2", "-fPIC", "-shared", "-Wl,-z,defs", *WARNINGS, source("part.c"))
        program = self.build(compiler, "-O2", "-DWITH_PART", source("unit_a.c"), source("unit_b.c"), library)
        for path in (library, program):
            elf = elfnotes.Elf(path)
            self.check_event(elf)
            guarded = {n.semaphore for n in elf.notes("units", "guarded")}
            self.assertEqual(len(guarded), 1)
            self.assertEqual([s.value for s in elf.symbols("units_guarded_semaphore")], list(guarded))
            self.assertEqual(elf.symbols("units_guarded_semaphore", elfnotes.SHT_DYNSYM), [])
            self.assertNotIn(".rela.probes", [s.name for s in elf.sections])
        self.run_made(program)

    @for_compilers
    def test_a_semaphore_of_another_object_wins(self, name):
        """As `dtrace -G` and programs that use <sys/sdt.h> define it."""
        compiler = self.compiler(name)
        other = self.write("other.c", 'unsigned short units_guarded_semaphore __attribute__((section(".probes"))) = 0;\n'
                                      'unsigned short units_plain_semaphore __attribute__((section(".probes"))) = 0;\n')
        for order in ([source("unit_a.c"), source("unit_b.c"), other], [other, source("unit_a.c"), source("unit_b.c")]):
            elf = elfnotes.Elf(self.build(compiler, "-O2", *order))
            for probe in ("guarded", "plain"):
                symbol, = elf.symbols(f"units_{probe}_semaphore")
                self.assertEqual({n.semaphore for n in elf.notes("units", probe)}, {symbol.value})


if __name__ == "__main__":
    unittest.main()
