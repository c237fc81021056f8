# SPDX-License-Identifier: MIT
"""Semaphores with every linker. With lld and mold, RELRO and .data share a page of the file, which is mapped twice."""
import os
import re
import shutil
import subprocess
import unittest

import elfnotes
import live

PAGE = 4096

# begin and end three times, and a guarded probe three times.
WORK = r"""
#include "usertrace.h"
void work(void)
{
	for (int i = 0; i < 3; i++) {
		ut_begin("step");
		ut_end("step");
		if (UT_PROBE_ENABLED(linked, guarded))
			UT_PROBE(linked, guarded, i);
	}
}
"""
MAIN = "void work(void);\nint main(void) { work(); return 0; }\n"

# The same by a header and an object of `usertrace dtrace`.
PROVIDER = "provider linked { probe guarded(int i); };\n"
WORK_DTRACE = r"""
#include "linked.h"
void work(void)
{
	for (int i = 0; i < 3; i++)
		if (LINKED_GUARDED_ENABLED())
			LINKED_GUARDED(i);
}
"""

# With a header whose semaphores are aligned to two bytes.
WORK_SDT = r"""
#define _SDT_HAS_SEMAPHORES 1
#include <stdio.h>
#include <sys/sdt.h>
__extension__ unsigned short linked_guarded_semaphore __attribute__((section(".probes")));
int main(void)
{
	for (int c; (c = getchar()) != EOF;) {
		if (*(volatile unsigned short *)&linked_guarded_semaphore)
			STAP_PROBE1(linked, guarded, c);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
"""

KINDS = {
    "PIE": ["-fPIE", "-pie"],
    "all sections are collected": ["-fPIE", "-pie", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-Wl,-z,now"],
    "not PIE": ["-fno-pie", "-no-pie"],
    "static": ["-static"],
    "static PIE": ["-fPIE", "-static-pie"],
}

SDT = [f for f in ("/usr/include/sys/sdt.h", "/usr/include/x86_64-linux-gnu/sys/sdt.h") if os.path.exists(f)]


class Linked:
    """The cases of one linker."""
    linker = None

    @classmethod
    def setUpClass(cls):
        for program in ("gcc", "mold" if cls.linker == "mold" else f"ld.{cls.linker}"):
            if not shutil.which(program):
                raise unittest.SkipTest(f"{program} is not installed")

    def setUp(self):
        self.folder = self.tempdir()
        self.write("work.c", WORK)
        self.write("main.c", MAIN)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def link(self, *args):
        subprocess.run(["gcc", "-O2", f"-I{live.SOURCE_ROOT}/include", "-I.", f"-fuse-ld={self.linker}", *args],
                       cwd=self.folder, check=True, timeout=60)

    def fired(self, probe, program="program"):
        done = self.usertrace("trace", probe, "--", os.path.join(self.folder, program))
        self.assertEqual(done.status, 0, done.describe())
        return len([line for line in done.stdout if re.match(r"\d+ +\d+ ", line)])

    def assert_page(self, name):
        """The semaphores begin at a page of the file, so that nothing before them shares it."""
        elf = elfnotes.Elf(os.path.join(self.folder, name))
        probes = elf.section(".probes")
        self.assertEqual((probes.vaddr % PAGE, probes.offset % PAGE), (0, 0))
        self.assertEqual({elf.section_of(n.semaphore) for n in elf.notes("linked", "guarded")}, {".probes"})

    def test_programs(self):
        for kind, flags in KINDS.items():
            if (self.linker, kind) == ("gold", "static PIE"):    # which gold cannot make
                continue
            with self.subTest(kind=kind):
                self.link(*flags, "work.c", "main.c", "-o", "program")
                self.assert_page("program")
                self.assertEqual((self.fired("e:step"), self.fired("u:linked:guarded")), (6, 3))

    def test_a_library(self):
        self.link("-fPIC", "-shared", "work.c", "-o", "libwork.so")
        self.link("main.c", os.path.join(self.folder, "libwork.so"), "-o", "program")
        self.assert_page("libwork.so")
        self.assertEqual((self.fired("e:step"), self.fired("u:linked:guarded")), (6, 3))

    def test_an_object_of_dtrace(self):
        self.write("linked.d", PROVIDER)
        self.write("work.c", WORK_DTRACE)
        for flag, out in (("-h", "linked.h"), ("-G", "linked.o")):
            subprocess.run([live.USERTRACE, "dtrace", flag, "-s", "linked.d", "-o", out], cwd=self.folder, check=True, timeout=60)
        self.link("work.c", "main.c", "linked.o", "-o", "program")
        self.assert_page("program")
        self.assertEqual(self.fired("u:linked:guarded"), 3)

    def test_semaphores_share_a_page(self):
        """A program has one such page, however many objects and semaphores it has."""
        parts = range(4)
        for n in parts:
            self.write(f"part{n}.c", WORK.replace("work", f"work{n}").replace("guarded", f"guarded{n}"))
        self.link("-fPIC", "-shared", *(f"part{n}.c" for n in parts), "-o", "libparts.so")
        elf = elfnotes.Elf(os.path.join(self.folder, "libparts.so"))
        semaphores = {note.semaphore for n in parts for note in elf.notes("linked", f"guarded{n}")}
        self.assertEqual((len(semaphores), len({s // PAGE for s in semaphores})), (4, 1))


    def doctor(self, pid):
        checks = self.usertrace("doctor", "--json", "-p", str(pid)).objects()
        return [(c["state"], c["message"]) for c in checks if c["name"] == "semaphores"]

    def program_of(self, trace):
        """The process that runs "program" among the tracer's children."""
        found = []

        def look():
            with open(f"/proc/{trace.pid}/task/{trace.pid}/children") as file:
                for pid in file.read().split():
                    with open(f"/proc/{pid}/comm") as comm:
                        found.extend([int(pid)] if comm.read() == "program\n" else [])
            return found
        self.eventually(look, "the program")
        return found[0]

    @unittest.skipUnless(SDT, "systemtap-sdt-dev is not installed")
    def test_a_header_without_a_page(self):
        """Its probes are attached after relocation, in the mapping that the program reads, and detached without a rest."""
        self.write("sdt.c", WORK_SDT)
        self.link("sdt.c", "-o", "program")
        program = os.path.join(self.folder, "program")
        twice = self.linker in ("lld", "mold")
        for how in ((), ("--no-follow",)):
            with self.subTest(how=how):
                trace = self.start(live.USERTRACE, "trace", *how, f"u:{program}:guarded", "--", program, stdin=subprocess.PIPE)
                trace.wait_for("mapped twice.*may be missed" if twice else "attached 1 probe", stream="stderr")
                pid = self.program_of(trace)
                self.assertEqual(self.doctor(pid), [("ok", "1 of 1 are raised; traced now: linked:guarded")])
                trace.say("abc")
                trace.wait_for_lines(4)
                trace.popen.stdin.close()
                self.assertEqual(trace.wait(), 0, trace.describe())
                self.assertEqual(len([line for line in trace.stdout if " guarded " in line]), 3)
        target = self.start(program, stdin=subprocess.PIPE)
        self.eventually(lambda: self.doctor(target.pid), "exec")
        for _ in range(2):
            trace = self.trace("-p", str(target.pid), "u:linked:guarded")
            self.assertEqual(self.doctor(target.pid), [("ok", "1 of 1 are raised; traced now: linked:guarded")])
            trace.interrupt()
            trace.wait()
            self.assertEqual(self.doctor(target.pid), [("ok", "none of 1 is raised: these probes are not traced now")])


@live.needs_root()
class Bfd(Linked, live.Case):
    linker = "bfd"


@live.needs_root()
class Gold(Linked, live.Case):
    linker = "gold"


@live.needs_root()
class Lld(Linked, live.Case):
    linker = "lld"


@live.needs_root()
class Mold(Linked, live.Case):
    linker = "mold"


if __name__ == "__main__":
    unittest.main()
