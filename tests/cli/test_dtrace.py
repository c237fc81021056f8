# SPDX-License-Identifier: MIT
"""`usertrace dtrace` as a command: its options, its files, the names it is called by, and what it says."""
import os
import shutil
import stat
import subprocess
import unittest

import live
import provider

CCL = provider.case("ccl.d")
HELP = os.path.join(live.SOURCE_ROOT, "tests/golden/dtrace-help.txt")


class Case(live.Case):
    def setUp(self):
        self.folder = self.tempdir()
        self.environment = {k: os.environ.pop(k) for k in ("CC", "CPP") if k in os.environ}
        self.addCleanup(os.environ.update, self.environment)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def dtrace(self, *words, env=None, stdin="", command=(live.USERTRACE, "dtrace")):
        return subprocess.run([*command, *words], cwd=self.folder, capture_output=True, text=True, timeout=60, input=stdin,
                              env={**os.environ, **(env or {})})

    def made(self, *words, **kwargs):
        """Runs what must succeed, silently; its standard output."""
        done = self.dtrace(*words, **kwargs)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def refused(self, sentence, *words, status=2, **kwargs):
        done = self.dtrace(*words, **kwargs)
        self.assertEqual((done.stdout, done.stderr), ("", f"usertrace dtrace: {sentence}\n"))
        self.assertEqual(done.returncode, status)


class Options(Case):
    def test_help(self):
        text = self.made("--help")
        if os.environ.get("UT_GOLDEN_UPDATE"):
            with open(HELP, "w", encoding="utf-8") as file:
                file.write(text)
        with open(HELP, encoding="utf-8") as file:
            self.assertEqual(text, file.read())

    def test_version(self):
        self.assertEqual(self.made("-V"), self.made("--version"))
        self.assertRegex(self.made("-V"), r"^usertrace dtrace \d+\.\d+")

    def test_default_names(self):
        os.mkdir(self.path("sub"))
        for name in ("sub/probes.d", "sub/two.dots.d", "plain"):
            shutil.copy(CCL, self.path(name))
            self.made("-h", "-s", name)
            self.made("-G", "-s", name)
        self.made("-h", "sub/probes.d")
        self.assertEqual(sorted(os.listdir(self.folder)), ["plain", "plain.h", "plain.o", "probes.h", "probes.o", "sub",
                                                           "two.dots.h", "two.dots.o"])

    def test_ways_to_say_it(self):
        wanted = self.made("-h", "-s", CCL, "-o", "-")
        self.assertIn("#define CCL_GC_START(arg1)", wanted)
        for words in (["-s", CCL, "-o", "-", "-h"], ["-hs", CCL, "-o-"], ["-h", "-s" + CCL, "-o", "-"], ["-h", CCL, "-o-"],
                      ["-h", "-64", "-xnolibs", "-x", "nolibs", "-k", "-fPIC", "-DPIC", "-I.", "-I", ".", "-q", "-Z", "-Xs",
                       "--types", "--no-pyparsing", "-L", "lib", "-32", "-s", CCL, "-o", "-"]):
            with self.subTest(words=words):
                self.assertEqual(self.made(*words), wanted)
        with open(CCL, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(self.made("-h", "-s", "-", "-o", "-", stdin=text), wanted.replace("ccl.d", "standard input"))

    def test_verbose(self):
        done = self.dtrace("-v", "-G", "-s", CCL)
        self.assertEqual(done.stderr, "usertrace dtrace: 5 probes in 1 provider, written to 'ccl.o'\n")

    def test_no_copy(self):
        text = self.made("-h", "--no-copy", "-s", CCL, "-o", "-")
        self.assertIn("#include <usertrace.h>\n", text)
        self.assertNotIn("USERTRACE_H", text)
        self.assertLess(len(text.splitlines()), 30)

    def test_objects_of_the_program_are_left_alone(self):
        """As Solaris and Python call it: -G sees object files, some of which may not exist yet."""
        self.write("program.o", "untouched")
        self.made("-G", "-s", CCL, "-o", "probes.o", "program.o", "missing.lo", "*.o")
        self.assertEqual(self.read("program.o"), b"untouched")
        self.assertEqual(len(provider.symbols(self.path("probes.o"))), 5)

    def test_a_script_without_providers(self):
        """Python's configure makes an object of this to see whether dtrace can."""
        self.write("conftest.d", "BEGIN{}\n")
        done = self.dtrace("-G", "-s", "conftest.d", "-o", "conftest.o")
        self.assertEqual((done.returncode, done.stderr),
                         (0, "usertrace dtrace: 'conftest.d' declares no probes, so the output has none\n"))
        self.write("conftest.c", "int main(void) { return 0; }\n")
        provider.run(["gcc", "conftest.c", "conftest.o", "-o", "conftest"], cwd=self.folder)

    def test_several_sources(self):
        self.made("-h", "-s", CCL, "-s", provider.case("python.d"), "-o", "all.h")
        self.made("-G", "-s", CCL, "-s", provider.case("python.d"), "-o", "all.o")
        self.assertEqual(len(provider.symbols(self.path("all.o"))), 17)
        self.assertIn(b"from ccl.d, python.d;", self.read("all.h"))

    def test_refusals(self):
        self.refused("-h (write a header) or -G (write an object file) is required; see 'usertrace help dtrace'")
        self.refused("-h (write a header) or -G (write an object file) is required; see 'usertrace help dtrace'", "-s", CCL)
        self.refused("-h and -G are mutually exclusive; run the command once for each", "-hG", "-s", CCL)
        self.refused("a provider file is required: -s FILE.d", "-G", "a.o")
        self.refused("a provider file is required: -s FILE.d", "-h")
        self.refused("option -s requires a value", "-h", "-s")
        self.refused("option -o requires a value", "-h", "-s", CCL, "-o")
        self.refused("option -include requires a value", "-h", "-s", CCL, "-include")
        self.refused("option --machine requires a value", "-G", "--machine=", "-s", CCL)
        self.refused("'b.d' is a provider file without -s; with several files each one needs -s", "-h", "-s", CCL, "b.d")
        self.refused("'extra': -h takes only provider files (-s FILE.d)", "-h", "-s", CCL, "extra")
        self.refused("the name of the output cannot be derived from standard input; use -o FILE", "-h", "-s", "-")
        self.refused("-32: only 64-bit object files are supported", "-G", "-32", "-s", CCL)
        self.refused("-m: unknown machine 'sparc'; object files are supported for x86_64 and aarch64", "-G", "-m", "sparc", "-s", CCL)
        self.refused("unknown option --verbos; did you mean --verbose?", "--verbos")
        self.refused("unknown option --zzz; 'usertrace help dtrace' lists the options", "--zzz")
        self.refused("unknown option -j (in '-hj'); 'usertrace help dtrace' lists the options", "-hj")
        for letter in "aAbBcEfFilnpPS":
            does = "'usertrace list' lists probes" if letter == "l" else "'usertrace trace' traces"
            self.refused(f"-{letter} is for tracing, but only the options of dtrace(1) for building, -h and -G, are supported; {does}",
                         "-" + letter, "x")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_fault_in_the_source(self):
        self.write("bad.d", "provider x {\n\tprobe a(int)\n\tprobe b(struct s s);\n};\n")
        self.write("bad.h", "old")
        self.refused("bad.d:3: a structure cannot be an argument by value; pass its address\n  \tprobe b(struct s s);\n"
                     "  \t        ^~~~~~", "-h", "-s", "bad.d")
        self.assertEqual(self.read("bad.h"), b"old")
        self.assertEqual(sorted(os.listdir(self.folder)), ["bad.d", "bad.h"])


class Names(Case):
    """The same command under the names that builds call."""

    def test_links(self):
        for name in ("dtrace", "usertrace-dtrace"):
            os.symlink(live.USERTRACE, self.path(name))
            self.assertEqual(self.made("-h", "-s", CCL, "-o", "-", command=[self.path(name)]),
                             self.made("-h", "-s", CCL, "-o", "-"))
        done = self.dtrace(command=[self.path("dtrace")])
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, "^usertrace dtrace: -h .write a header. or -G ")

    @unittest.skipUnless(shutil.which("make"), "make is not installed")
    def test_make(self):
        shutil.copy(CCL, self.path("ccl.d"))
        self.write("main.c", provider.program(provider.declared(CCL), "ccl.h"))
        self.write("Makefile", "DTRACE = dtrace\nprogram: main.c ccl.h ccl.o\n\t$(CC) -o $@ main.c ccl.o\n"
                   "ccl.h: ccl.d\n\t$(DTRACE) $(DTRACEFLAGS) -C -h -s $< -o $@\n"
                   "ccl.o: ccl.d\n\t$(DTRACE) $(DTRACEFLAGS) -C -G -s $< -o $@\n")
        os.mkdir(self.path("bin"))
        os.symlink(live.USERTRACE, self.path("bin/dtrace"))
        path = {"PATH": self.path("bin") + ":" + os.environ["PATH"]}
        for words, env in (([f"DTRACE={live.USERTRACE} dtrace", "DTRACEFLAGS=-64"], {}), ([], path)):
            provider.run(["make", "-B", *words], cwd=self.folder, env=env)
            self.assertEqual(len(provider.notes(self.path("program"))), 5)


class Files(Case):
    def test_the_same_bytes_everywhere(self):
        found = set()
        for folder in ("a", "b/c"):
            os.makedirs(self.path(folder))
            shutil.copy(CCL, self.path(folder))
            os.utime(self.path(folder + "/ccl.d"), (len(found), len(found)))
            self.made("-h", "-s", folder + "/ccl.d")
            self.made("-G", "-s", folder + "/ccl.d")
            found.add((self.read("ccl.h"), self.read("ccl.o")))
        self.assertEqual(len(found), 1)

    def test_rights_and_links(self):
        """A new file has the usual permissions; a link stays one."""
        os.symlink("real.h", self.path("link.h"))
        self.write("real.h", "old")
        self.made("-h", "-s", CCL, "-o", "link.h")
        self.assertTrue(os.path.islink(self.path("link.h")))
        self.assertIn(b"CCL_GC_START", self.read("real.h"))
        umask = os.umask(0o027)
        self.addCleanup(os.umask, umask)
        self.made("-h", "-s", CCL, "-o", "new.h")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("new.h")).st_mode), 0o640)
        self.assertEqual(sorted(os.listdir(self.folder)), ["link.h", "new.h", "real.h"])

    def test_links_that_lead_nowhere(self):
        os.symlink("to-come.h", self.path("link.h"))
        os.symlink("b.h", self.path("a.h"))
        os.symlink("a.h", self.path("b.h"))
        self.made("-h", "-s", CCL, "-o", "link.h")
        self.assertTrue(os.path.islink(self.path("link.h")))
        self.assertIn(b"CCL_GC_START", self.read("to-come.h"))
        self.refused("cannot write 'a.h': Too many levels of symbolic links", "-h", "-s", CCL, "-o", "a.h", status=1)
        self.assertTrue(os.path.islink(self.path("a.h")))

    def test_the_source_is_not_overwritten(self):
        shutil.copy(CCL, self.path("x.d"))
        os.link(self.path("x.d"), self.path("hard.h"))
        os.symlink("x.d", self.path("soft.h"))
        before = self.read("x.d")
        for name in ("x.d", "./x.d", "hard.h", "soft.h"):
            for kind in ("-h", "-G"):
                self.refused(f"refusing to overwrite the provider file '{name}'; use a different file with -o", kind, "-s", "x.d",
                             "-o", name)
        self.assertEqual(self.read("x.d"), before)

    def test_devices_stay(self):
        before = os.stat("/dev/null")
        self.made("-G", "-s", CCL, "-o", "/dev/null")
        self.made("-h", "-s", CCL, "-o", "/dev/null")
        after = os.stat("/dev/null")
        self.assertEqual((before.st_ino, before.st_rdev, before.st_mode), (after.st_ino, after.st_rdev, after.st_mode))
        self.assertTrue(stat.S_ISCHR(after.st_mode))
        self.refused("cannot write '/dev/full': No space left on device", "-h", "-s", CCL, "-o", "/dev/full", status=1)

    def test_no_half_header(self):
        """A reader sees the old file or all of the new."""
        self.made("-h", "-s", CCL, "-o", "probes.h")
        whole = self.read("probes.h")
        writers = [self.start(live.USERTRACE, "dtrace", "-h", "-s", CCL, "-o", self.path("probes.h")) for _ in range(20)]
        while any(w.status is None for w in writers):
            self.assertEqual(self.read("probes.h"), whole)
        self.assertEqual({w.wait() for w in writers}, {0})
        self.assertEqual(os.listdir(self.folder), ["probes.h"])

    def test_a_full_disk_keeps_the_old_file(self):
        """The limit on the size of a file stands for the full disk."""
        self.write("probes.h", "old")
        done = self.dtrace("-h", "-s", CCL, "-o", "probes.h", command=["sh", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"',
                                                                       "sh", live.USERTRACE, "dtrace"])
        self.assertEqual((done.returncode, done.stderr), (1, "usertrace dtrace: cannot write 'probes.h': File too large\n"))
        self.assertEqual((self.read("probes.h"), os.listdir(self.folder)), (b"old", ["probes.h"]))

    def test_what_cannot_be_opened(self):
        self.refused("cannot open 'none.d': No such file or directory", "-h", "-s", "none.d", status=1)
        os.mkdir(self.path("folder.d"))
        self.refused("cannot read 'folder.d': Is a directory", "-h", "-s", "folder.d", status=1)
        self.refused("cannot write 'none/x.h': cannot create a temporary file in its directory: No such file or directory", "-h", "-s", CCL, "-o",
                     "none/x.h", status=1)
        self.refused("cannot write 'folder.d': Is a directory", "-h", "-s", CCL, "-o", "folder.d", status=1)
        self.refused("'/dev/zero' is larger than 64 MiB, too large for a provider file", "-h", "-s", "/dev/zero", "-o", "x.h",
                     status=1)


class Preprocessor(Case):
    SOURCE = '#include "types.h"\n#ifdef WITH_IT\nprovider x { probe a(NUMBER); };\n#else\n#error without\n#endif\n'

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("inc"))
        self.write("inc/types.h", "#ifndef NUMBER\n#define NUMBER long\n#endif\nextern int f(int);\n")
        self.write("x.d", self.SOURCE)

    def number(self, *words, **kwargs):
        text = self.made("-h", "-C", "--no-copy", *words, "-s", "x.d", "-o", "-", **kwargs)
        return text.split("/* X_A(")[1].split(")")[0]

    def test_its_options(self):
        self.assertEqual(self.number("-Iinc", "-DWITH_IT"), "long")
        self.assertEqual(self.number("-I", "inc", "-D", "WITH_IT=1", "-DNUMBER=short"), "short")
        self.assertEqual(self.number("-I", "inc", "-D", "WITH_IT", "-DNUMBER=short", "-UNUMBER"), "long")
        self.write("first.h", "#define WITH_IT\n#define NUMBER char\n")
        self.assertEqual(self.number("-Iinc", "-include", "first.h"), "char")

    def test_which_one(self):
        for env in ({"CPP": "cpp"}, {"CPP": "gcc -E"}, {"CC": "gcc"}, {"CC": "gcc -O2 '-DNUMBER=unsigned char'"}):
            with self.subTest(env=env):
                wanted = "unsigned char" if "NUMBER" in str(env) else "long"
                self.assertEqual(self.number("-Iinc", "-DWITH_IT", env=env), wanted)
        if shutil.which("clang"):
            self.assertEqual(self.number("-Iinc", "-DWITH_IT", env={"CC": "clang"}), "long")
        self.assertEqual(self.number("-Iinc", "-DWITH_IT", env={"CC": "false", "CPP": "cpp"}), "long")

    def test_standard_input(self):
        text = self.made("-h", "-C", "-D", "A=int", "-s", "-", "-o", "-", stdin="provider y { probe b(A); };\n")
        self.assertIn("/* Y_B(int) */", text)

    def test_places_are_those_of_the_source(self):
        self.write("y.d", '#include "inc/types.h"\n\n\nprovider x { probe a(NUMBER x y); };\n')
        self.refused("y.d:4: ',' or ')' is missing before this\n  provider x { probe a(long x y); };\n" + " " * 30 + "^",
                     "-h", "-C", "-s", "y.d", env={"CPP": "cpp"})

    def test_failures(self):
        done = self.dtrace("-h", "-C", "-Iinc", "-s", "x.d")
        self.assertEqual(done.returncode, 1)
        self.assertIn("#error without", done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1],
                         "usertrace dtrace: x.d: the preprocessor (-C; from $CPP, $CC or cpp): 'cpp' failed with status 1")
        self.refused("x.d: the preprocessor (-C; from $CPP, $CC or cpp): cannot run 'no-such-cpp': No such file or directory",
                     "-h", "-C", "-s", "x.d", env={"CPP": "no-such-cpp"}, status=1)
        self.refused("x.d: the preprocessor (-C; from $CPP, $CC or cpp): 'sh' was killed by signal 9", "-h", "-C", "-s", "x.d",
                     env={"CPP": "sh -c 'kill -9 $$'"}, status=1)
        self.assertFalse(os.path.exists(self.path("x.h")))

    def test_a_quote_that_is_not_closed(self):
        """Its rest would be a word of its own: for cpp the source, and what we name then the output."""
        before = self.read("x.d")
        for rest in ("'open", '"open', "-DA='b c", "'", "a 'b' \"c"):
            for variable in ("CPP", "CC"):
                with self.subTest(rest=rest, variable=variable):
                    command = f"cpp {rest}"
                    done = self.dtrace("-h", "-C", "-s", "x.d", env={variable: command})
                    self.assertEqual(done.stderr, "usertrace dtrace: a quote is not closed in "
                                                  f"'{command}' (from $CPP or $CC)\n")
                    self.assertNotEqual(done.returncode, 0)
                    self.assertEqual(self.read("x.d"), before)


class Machines(Case):
    def machine(self, *words, **kwargs):
        self.made("-G", *words, "-s", CCL, "-o", "probes.o", **kwargs)
        head = provider.run(["readelf", "-h", self.path("probes.o")])
        return head.split("Machine:")[1].splitlines()[0].strip()

    def test_named(self):
        for name in ("x86_64", "x86-64", "amd64"):
            self.assertEqual(self.machine("-m", name), "Advanced Micro Devices X86-64")
        for name in ("aarch64", "arm64"):
            self.assertEqual(self.machine("--machine", name), "AArch64")

    def compiler(self, triplet):
        """A compiler that builds for something else."""
        path = self.write("cc-" + triplet, f"#!/bin/sh\necho {triplet}\n")
        os.chmod(path, 0o755)
        return path

    def test_the_compilers(self):
        self.assertEqual(self.machine(env={"CC": self.compiler("aarch64-unknown-linux-gnu")}), "AArch64")
        self.assertEqual(self.machine(env={"CC": "env X=1 " + self.compiler("x86_64-linux-gnu")}),
                         "Advanced Micro Devices X86-64")
        self.assertEqual(self.machine("-m", "aarch64", env={"CC": "gcc"}), "AArch64")
        self.assertEqual(self.machine(env={"CC": " "}), self.machine(env={"CC": "gcc"}))

    def test_others_are_refused(self):
        other = self.compiler("riscv64-linux-gnu")
        self.refused(f"$CC ('{other}') builds for 'riscv64', but object files are supported only for x86_64 and aarch64; select one with -m",
                     "-G", "-s", CCL, env={"CC": other})
        self.refused("$CC ('gcc -m32') builds 32-bit code, but only 64-bit object files are supported", "-G", "-s", CCL,
                     env={"CC": "gcc -m32"})
        self.refused("cannot determine the target of $CC ('no-such-cc'); use -m: cannot run 'no-such-cc': No such file or "
                     "directory", "-G", "-s", CCL, env={"CC": "no-such-cc"}, status=1)

    def test_protection_stays(self):
        """The object has nothing against what the others ask the processor for."""
        self.write("main.c", "int main(void) { return 0; }\n")
        self.made("-G", "-s", CCL, "-o", "probes.o")
        text = provider.run(["readelf", "-n", self.path("probes.o")])
        self.assertIn("IBT, SHSTK", text)
        provider.run(["gcc", "-fcf-protection=full", "-c", "main.c"], cwd=self.folder)
        provider.run(["ld", "-r", "main.o", "probes.o", "-o", "both.o"], cwd=self.folder)
        self.assertIn("IBT, SHSTK", provider.run(["readelf", "-n", self.path("both.o")]))


if __name__ == "__main__":
    unittest.main()
