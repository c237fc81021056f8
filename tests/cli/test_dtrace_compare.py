# SPDX-License-Identifier: MIT
"""`usertrace dtrace` beside SystemTap's dtrace: the same macros, the same semaphores, the same notes in programs."""
import functools
import os
import shutil
import tempfile
import unittest

import live
import provider

CASES = [("ccl.d", [], "CCL_"), ("postgresql.d", ["-C"], "POSTGRESQL_"), ("python.d", [], "PYTHON_")]


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Build:
    """The header and the object of a case by one of the two makers, and programs with them."""

    def __init__(self, name, flags, maker):
        self.folder = tempfile.mkdtemp(prefix="usertrace-test-")
        unittest.addModuleCleanup(shutil.rmtree, self.folder, True)
        run = provider.usertrace if maker == "usertrace" else lambda *a, **k: provider.run([provider.SYSTEMTAP, *a], **k)
        run("-h", *flags, "-s", provider.case(name), "-o", "probes.h", cwd=self.folder)
        run("-G", *flags, "-s", provider.case(name), "-o", "probes.o", cwd=self.folder)
        self.header, self.object = (os.path.join(self.folder, n) for n in ("probes.h", "probes.o"))

    def program(self, source, compiler=("gcc",), flags=(), objects=None):
        path = os.path.join(self.folder, "program")
        provider.run([*compiler, *flags, "-I", self.folder, source, *(objects or [self.object]), "-o", path])
        return path


@functools.lru_cache(None)
def build(name, maker):
    """Made once: nobody changes what is in it."""
    return Build(name, next(flags for case, flags, _ in CASES if case == name), maker)


class Case(live.Case):
    def each_case(self):
        for name, flags, prefix in CASES:
            folder = self.tempdir()
            probes = provider.declared(provider.case(name))
            self.assertGreaterEqual(len(probes), 5)
            source = write(folder, "program.c", provider.program(probes, "probes.h"))
            yield folder, name, flags, prefix, probes, source

    def wanted(self, probes):
        """The notes that the declared types call for."""
        sizes = {"int": -4, "unsigned int": 4, "unsigned": 4, "long": -8, "unsigned long": 8, "unsigned char": 1,
                 "ssize_t": -8, "size_t": 8}
        return {(p.provider, p.name): ([8 if "*" in t else sizes[t] for t in p.types], True) for p in probes}


class Alone(Case):
    def test_programs_announce_what_is_declared(self):
        for _, name, _, _, probes, source in self.each_case():
            others = [["gcc", "-O0"], ["gcc", "-flto"], ["gcc", "-static"], ["gcc", "-fno-pie", "-no-pie"]]
            for compiler in [["gcc"], ["clang"]] + (others if name == "ccl.d" else []):
                if not shutil.which(compiler[0]):
                    continue
                with self.subTest(case=name, compiler=compiler):
                    path = build(name, "usertrace").program(source, compiler[:1], [*provider.CFLAGS, *compiler[1:]])
                    self.assertEqual(provider.notes(path), self.wanted(probes))
                    self.assertEqual(provider.run([path]), "0\n")

    @unittest.skipUnless(shutil.which("g++"), "g++ is not installed")
    def test_cxx(self):
        for folder, name, flags, _, probes, source in self.each_case():
            with open(source, encoding="utf-8") as file:
                text = file.read()
            source = write(folder, "program.cc", text.replace('#include "probes.h"', 'extern "C" {\n#include "probes.h"\n}'))
            path = build(name, "usertrace").program(source, ["g++"], ["-std=c++11", "-O2", "-Wall", "-Wextra", "-Werror"])
            self.assertEqual(provider.notes(path), self.wanted(probes))
            self.assertEqual(provider.run([path]), "0\n")

    def test_without_the_object(self):
        """A semaphore that the program reads is there all the same."""
        for folder, name, flags, _, probes, source in self.each_case():
            path = build(name, "usertrace").program(source, objects=["-lc"])
            self.assertEqual(provider.notes(path), self.wanted(probes))

    def test_list_sees_them(self):
        for folder, name, flags, _, probes, source in self.each_case():
            path = build(name, "usertrace").program(source)
            done = self.usertrace("list", path)
            self.assertEqual(done.status, 0, done.describe())
            text = "\n".join(done.stdout)
            for probe in probes:
                self.assertRegex(text, rf"\b{probe.name}\b")

    @unittest.skipUnless(shutil.which("aarch64-linux-gnu-gcc"), "aarch64-linux-gnu-gcc is not installed")
    def test_for_arm64(self):
        """Compiled and linked; this machine cannot run it."""
        for folder, name, flags, _, probes, source in self.each_case():
            objects = [os.path.join(folder, "probes.o")]
            provider.usertrace("-G", *flags, "-s", provider.case(name), "-o", objects[0],
                               env={"CC": "aarch64-linux-gnu-gcc", "CPP": "cpp"})
            path = build(name, "usertrace").program(source, ["aarch64-linux-gnu-gcc"], provider.CFLAGS, objects)
            self.assertEqual(provider.notes(path), self.wanted(probes))


@unittest.skipUnless(provider.is_systemtap(), "SystemTap's dtrace (systemtap-sdt-dev) is not installed")
class Beside(Case):
    def builds(self):
        for _, name, _, prefix, probes, source in self.each_case():
            yield build(name, "usertrace"), build(name, "systemtap"), prefix, probes, source

    def test_the_same_macros(self):
        for ours, theirs, prefix, probes, _ in self.builds():
            self.assertEqual(provider.macros(ours.header, prefix), provider.macros(theirs.header, prefix))
            self.assertEqual(len(provider.macros(ours.header, prefix)), 2 * len(probes))

    def test_the_same_semaphores(self):
        for ours, theirs, _, probes, _ in self.builds():
            symbols = provider.symbols(ours.object)
            self.assertEqual(symbols, provider.symbols(theirs.object))
            self.assertEqual(set(symbols), {f"{p.provider}_{p.name}_semaphore" for p in probes})
            self.assertEqual(set(symbols.values()), {(2, "OBJECT", "GLOBAL", "HIDDEN", ".probes")})

    def test_the_same_notes(self):
        """Of programs with either header and either object."""
        for ours, theirs, _, probes, source in self.builds():
            found = [provider.notes(a.program(source, objects=[b.object])) for a in (ours, theirs) for b in (ours, theirs)]
            self.assertEqual(len(found[0]), len(probes))
            self.assertEqual(found, found[:1] * 4)


class Together(Case):
    """Headers that share a file with each other and with sys/sdt.h."""

    def headers(self, folder):
        for name, flags, _ in CASES:
            provider.usertrace("-h", *flags, "-s", provider.case(name), "-o", os.path.join(folder, name[:-1] + "h"))
        return [name[:-1] + "h" for name, _, _ in CASES]

    def check(self, before, after, wanted, *flags):
        folder = self.tempdir()
        names = self.headers(folder)
        includes = before + [f'#include "{n}"' for n in names + names] + after
        body = 'CCL_GC_START(4); POSTGRESQL_WAL_SWITCH(); PYTHON_GC_DONE(7);'
        extra = "DTRACE_PROBE1(theirs, one, 1);" if "#include <sys/sdt.h>" in includes else ""
        source = write(folder, "t.c", "\n".join(includes) + "\nint main(void) { " + body + extra + " return 0; }\n")
        path = os.path.join(folder, "t")
        provider.run(["gcc", *flags, "-I", folder, "-I", os.path.join(live.SOURCE_ROOT, "include"), source, "-o", path])
        self.assertEqual(set(provider.notes(path)), wanted)

    OURS = {("ccl", "gc__start"), ("postgresql", "wal__switch"), ("python", "gc__done")}

    def test_several(self):
        self.check([], [], self.OURS, *provider.CFLAGS)

    def test_with_usertrace_h(self):
        self.check(["#include <usertrace.h>"], ["#include <usertrace.h>"], self.OURS, *provider.CFLAGS)

    @unittest.skipUnless(os.path.exists(provider.SYSTEMTAP), "systemtap-sdt-dev is not installed")
    def test_with_sdt_h(self):
        wanted = self.OURS | {("theirs", "one")}
        self.check(["#include <sys/sdt.h>"], [], wanted)
        self.check([], ["#include <sys/sdt.h>"], wanted)

    def test_changed_by_sed(self):
        """As PostgreSQL, Python, PHP and Ruby do with the header."""
        for name, flags, script, old, new in [
                ("postgresql.d", ["-C"], "s/POSTGRESQL_/TRACE_POSTGRESQL_/g", "POSTGRESQL_", "TRACE_POSTGRESQL_"),
                ("python.d", [], "s/PYTHON_/PyDTrace_/", "PYTHON_", "PyDTrace_"),
                ("ccl.d", [], "s,CCL_,DTRACE_,g", "CCL_", "DTRACE_"),
                ("python.d", [], r"s/(char \*/(const char */g;s/, char \*/, const char */g", "", "")]:
            with self.subTest(script=script):
                folder = self.tempdir()
                provider.usertrace("-h", *flags, "-s", provider.case(name), "-o", "made.h", cwd=folder)
                write(folder, "probes.h", provider.run(["sed", script, "made.h"], cwd=folder))
                probes = provider.declared(provider.case(name))
                text = provider.program(probes, "probes.h", lambda p, o=old, n=new: provider.macro(p).replace(o, n, 1))
                path = os.path.join(folder, "t")
                provider.run(["gcc", *provider.CFLAGS, write(folder, "t.c", text), "-o", path])
                self.assertEqual(provider.notes(path), self.wanted(probes))


if __name__ == "__main__":
    unittest.main()
