# SPDX-License-Identifier: MIT
"""`usertrace doctor --runtimes`: descriptions of runtimes, good ones and broken ones, against programs that are here."""
import json
import os
import shutil
import unittest

import live

HEAD = "[runtime]\nname = Zoo\nlanguage = C\nmatch = zoo-*\nprovider = zoo\n"


class Descriptions(live.Case):
    """The programs of the tests are a runtime here, found in PATH; the folder of the user is an empty one at first."""

    def setUp(self):
        if not os.path.exists(os.path.join(live.TARGETS, "zoo-pie")):
            self.skipTest("zoo-pie is not built")
        self.config = self.tempdir()
        self.folder = os.path.join(self.config, "usertrace/runtimes")
        self.bin = self.tempdir()
        os.makedirs(self.folder)
        self.install("zoo-pie")

    def install(self, name, called=None):
        os.symlink(os.path.join(live.TARGETS, name), os.path.join(self.bin, called or name))

    def write(self, text, name="zoo.ini", folder=None):
        path = os.path.join(folder or self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def doctor(self, *args):
        return self.usertrace("doctor", "--runtimes", *args, env={"XDG_CONFIG_HOME": self.config, "PATH": self.bin})

    def lines_about(self, thing, *args, status=0):
        """(state, meaning) of the lines about it."""
        done = self.doctor("--json", *args)
        self.assertEqual((done.status, done.stderr), (status, []), done.describe())
        checks = done.objects()
        return [(c["state"], c["message"]) for c in checks if c["name"] == thing]

    def zoo(self, text, thing="Zoo", status=0):
        self.path = self.write(HEAD + text)
        return self.lines_about(thing, status=status)

    def test_the_built_in_ones_have_no_mistake(self):
        done = self.usertrace("doctor", "--runtimes", env={"XDG_CONFIG_HOME": self.config})
        self.assertEqual([line for line in done.stdout if line.startswith("no ")], [])
        self.assertEqual((done.status, done.stderr), (0, []))
        self.assertGreater(len(done.stdout), 20)

    def test_all_is_there(self):
        (state, meaning), = self.zoo('[span gc]\nbegin = u:zoo:multi "multi=%d", arg1\nend = u:zoo:none\n'
                                     '[span compile]\nbegin = p:zoo-pie:p_stack\nend = r:zoo-pie:p_stack\n')
        self.assertEqual(state, "ok")
        self.assertEqual(meaning, f"{os.path.realpath(live.TARGETS)}/zoo-pie: 2 of 2 spans: gc, compile, as {self.path} says")

    def test_nothing_is_described(self):
        self.assertIn("zoo-pie: no spans: none is defined", self.zoo("")[0][1])
        self.assertIn("zoo-pie: no spans: it frees nothing", self.zoo("none = it frees nothing\n")[0][1])

    def test_a_runtime_that_is_not_here(self):
        self.write("[runtime]\nname = Gone\nmatch = no-such-program\n[span gc]\nbegin = u:a:b\nend = u:a:c\n")
        (state, meaning), = self.lines_about("Gone")
        self.assertEqual((state, meaning), ("ok", f"not found here; 1 span defined in {self.folder}/zoo.ini"))

    def test_a_span_whose_probes_are_missing(self):
        lines = self.zoo("[span gc]\nbegin = u:zoo:mutli\nend = u:zoo:none\n")
        self.assertEqual([state for state, _ in lines], ["warn"])
        self.assertIn("0 of 1 span", lines[0][1])
        (state, meaning), = self.lines_about("Zoo gc")
        self.assertEqual(state, "warn")
        self.assertEqual(meaning, f"{self.path}:7: no probe zoo:mutli in {os.path.realpath(live.TARGETS)}/zoo-pie; "
                                  "there is zoo:multi")

    def test_any_of_several_begins_is_enough(self):
        (state, meaning), = self.zoo("[span gc]\nbegin = u:zoo:gone\nbegin = u:zoo:multi\nend = p:other:f\nend = u:zoo:none\n")
        self.assertEqual(state, "ok")
        self.assertIn("1 of 1 span: gc", meaning)
        self.assertEqual(self.lines_about("Zoo gc"), [])

    def test_what_comes_inside_and_is_missing(self):
        (state, _), = self.zoo("[span gc]\nbegin = u:zoo:multi\nend = u:zoo:none\ninside = u:zoo:gone\n")
        self.assertEqual(state, "ok")
        (state, meaning), = self.lines_about("Zoo gc")
        self.assertEqual(state, "warn")
        self.assertIn(f"{self.path}:9: no probe zoo:gone", meaning)

    def test_versions(self):
        self.install("zoo-pie", "zoo-9.1")    # the same file by another name: the name that a process has mapped counts
        shutil.copy(os.path.join(live.TARGETS, "zoo-pie"), os.path.join(self.bin, "zoo-3.2"))
        self.path = self.write(HEAD + "version = name\n[span gc]\nsince = 3.12\nbegin = u:zoo:gone\nend = u:zoo:none\n"
                                      "[span gc]\nbefore = 3.12\nbegin = u:zoo:multi\nend = u:zoo:none\n")
        lines = {meaning.split(":")[0].split("/")[-1]: (state, meaning) for state, meaning in self.lines_about("Zoo")}
        self.assertEqual(set(lines), {"zoo-pie", "zoo-3.2, version 3.2"})
        state, meaning = lines["zoo-3.2, version 3.2"]
        self.assertEqual(state, "ok")
        self.assertIn("1 of 1 span: gc; 1 more is for other versions", meaning)
        state, meaning = lines["zoo-pie"]    # its version is unknown: all spans hold
        self.assertEqual(state, "warn")
        self.assertIn("1 of 2 spans: gc, as", meaning)

    def test_what_a_program_must_be_started_with(self):
        self.zoo("[span gc]\nneeds = --loud\nbegin = u:zoo:multi\nend = u:zoo:none\n")
        self.assertEqual(self.lines_about("Zoo gc"),
                         [("ok", f"{self.path}:6: reported only by programs started with --loud")])

    def test_an_argument_that_does_not_exist(self):
        lines = self.zoo('[span gc]\nbegin = u:zoo:multi "multi=%d", arg2\nend = u:zoo:none\n', status=1)
        self.assertEqual([state for state, _ in lines], ["no", "warn"])
        message = lines[0][1].split("\n")
        self.assertEqual(message[0], f"{self.path}:7: in {os.path.realpath(live.TARGETS)}/zoo-pie: zoo:multi has no arg2; "
                                     "it has 1 argument: arg1")
        self.assertEqual(message[2].index("^"), message[1].index("arg2"))
        self.assertEqual(self.lines_about("Zoo gc", status=1), [])    # the reason is not told twice

    def test_one_reason_for_each_span(self):
        self.zoo("[span gc]\nbegin = p:zoo-pie:gone\nend = r:zoo-pie:gone\ninside = u:zoo:gone\n")
        (state, meaning), = self.lines_about("Zoo gc")
        self.assertEqual(state, "warn")
        self.assertIn(f"{self.path}:7: {os.path.realpath(live.TARGETS)}/zoo-pie has no function 'gone'", meaning)

    def test_the_marked_place_in_text(self):
        self.zoo('[span gc]\nbegin = u:zoo:multi "multi=%d", arg2\nend = u:zoo:none\n', status=1)
        done = self.doctor()
        at = next(i for i, line in enumerate(done.stdout) if line.startswith("no    Zoo: "))
        self.assertTrue(done.stdout[at].endswith("it has 1 argument: arg1 — correct the file"), done.stdout[at])
        self.assertEqual(done.stdout[at + 1], '        u:zoo:multi "multi=%d", arg2')
        self.assertEqual(done.stdout[at + 2].rstrip("~").rstrip("^"), " " * done.stdout[at + 1].index("arg2"))

    def test_what_is_no_probe_language(self):
        for probe, reason in (('u:zoo:multi "multi=%d" arg1', "a ',' after the format is missing"),
                              ("u:zoo:multi (arg1 = 2)", "'='"),
                              ('u:zoo:multi "multi=%d %d", arg1, arg1', "the value at '%d' has no name"),
                              ('u:zoo:multi "%d", arg1', "the value at '%d' has no name"),
                              ('u:zoo:multi "a=%p", arg1', "is neither a number nor a string"),
                              ("u:zoo:multi arg1", "its values have no names")):
            with self.subTest(probe=probe):
                state, meaning = self.zoo(f"[span gc]\nbegin = {probe}\nend = u:zoo:none\n", status=1)[0]
                self.assertEqual(state, "no")
                self.assertTrue(meaning.startswith(f"{self.path}:7: "), meaning)
                self.assertIn(reason, meaning)

    def test_one_bad_probe_leaves_the_others(self):
        lines = self.zoo('[span gc]\nbegin = u:zoo:multi "a=%d", arg3\nend = u:zoo:none\n'
                         '[span gc]\nbegin = u:zoo:multi "a=%d", arg1\nend = u:zoo:none\n', status=1)
        self.assertEqual([state for state, _ in lines], ["no", "warn"])
        self.assertIn("1 of 2 spans: gc,", lines[1][1])

    def test_broken_files_are_told_and_the_others_read(self):
        self.write(HEAD + "[span gc]\nbegin = u:zoo:multi\nend = u:zoo:none\n", "a.ini")
        self.write("[runtime]\nname = Bad\nfoo = 1\n", "b.ini")
        self.write("[runtime]\nname = Worse\nmatch = worse\n[span gc]\nbegin = u:a:b\n", "c.ini")
        os.mkfifo(os.path.join(self.folder, "d.ini"))
        os.symlink("/dev/zero", os.path.join(self.folder, "e.ini"))
        with open(os.path.join(self.folder, "f.ini"), "wb") as file:
            file.truncate(2 << 20)
        first, *rest = self.lines_about("runtime file", status=1)
        self.assertEqual(first[0], "no")
        self.assertRegex(first[1], rf"^{self.folder}/b.ini:3: unknown key 'foo' in \[runtime\]; valid keys: name, .*, hint, map$")
        self.assertEqual(rest, [
            ("no", f"{self.folder}/c.ini:4: [span gc] has no end"),
            ("no", f"'{self.folder}/d.ini' is not a regular file"),
            ("no", f"'{self.folder}/e.ini' is not a regular file"),
            ("no", f"cannot read '{self.folder}/f.ini': File too large")])
        (state, meaning), = self.lines_about("Zoo", status=1)
        self.assertEqual(state, "ok")
        self.assertIn("1 of 1 span: gc", meaning)

    def test_one_file_more(self):
        mine = self.write(HEAD + "[span gc]\nbegin = u:zoo:multi\nend = u:zoo:none\n", folder=self.config)
        (state, meaning), = self.lines_about("Zoo", "--runtime", mine)
        self.assertEqual(state, "ok")
        self.assertIn(f"as {mine} says", meaning)
        self.zoo("")    # that of the folder is replaced
        self.assertIn(f"1 of 1 span: gc, as {mine} says", self.lines_about("Zoo", "--runtime", mine)[0][1])
        done = self.usertrace("doctor", "--runtime", mine, env={"XDG_CONFIG_HOME": self.config, "PATH": self.bin})
        self.assertIn(f"as {mine} says", "\n".join(done.stdout))    # it implies --runtimes

    def test_one_program_alone(self):
        self.write(HEAD + "[span gc]\nbegin = u:zoo:multi\nend = u:zoo:none\n")
        shutil.copy(os.path.join(live.TARGETS, "zoo-pie"), os.path.join(self.config, "zoo-new"))
        path = os.path.join(self.config, "zoo-new")
        done = self.doctor(path)
        self.assertEqual((done.status, done.stdout), (0, [f"ok    Zoo: {path}: 1 of 1 span: gc, as {self.folder}/zoo.ini says"]))
        for path, why in (("/no/such", "cannot open '/no/such': No such file or directory"),
                          (live.USERTRACE, f"no runtime definition matches '{os.path.realpath(live.USERTRACE)}'"),
                          (self.write("#!/bin/sh\n", "zoo-sh", self.config), f"'{self.config}/zoo-sh' is neither a program nor a library")):
            done = self.doctor(path)
            self.assertEqual((done.status, done.stdout), (1, [f"no    runtimes: {why}"]))
        done = self.usertrace("doctor", path)
        self.assertEqual((done.status, done.stdout), (2, []))
        self.assertIn("files are accepted only with --runtimes", done.stderr[0])

    def test_one_file_more_that_is_broken(self):
        for name, text in (("none.ini", None), ("bad.ini", "[runtime]\nname\n")):
            path = os.path.join(self.config, name)
            if text:
                self.write(text, name, self.config)
            (state, meaning), = self.lines_about("runtime file", "--runtime", path, status=1)
            self.assertEqual(state, "no")
            self.assertIn(path, meaning)

    def test_a_built_in_one_is_replaced(self):
        self.write("[runtime]\nname = CPython\nmatch = zoo-*\n[span gc]\nbegin = u:zoo:multi\nend = u:zoo:none\n")
        (state, meaning), = self.lines_about("CPython")
        self.assertEqual(state, "ok")
        self.assertIn("zoo-pie: 1 of 1 span: gc", meaning)

    def test_a_running_one_in_no_usual_folder(self):
        folder = self.tempdir()
        shutil.copy(os.path.join(live.TARGETS, "zoo-pie"), os.path.join(folder, "menagerie"))
        target = self.start_target(os.path.join(folder, "menagerie"))
        self.write("[runtime]\nname = Zoo\nmatch = menagerie\n[span gc]\nbegin = u:zoo:multi\nend = u:zoo:none\n")
        (state, meaning), = self.lines_about("Zoo")
        self.assertEqual(state, "ok")
        self.assertIn(f"{folder}/menagerie of process {target.pid}: 1 of 1 span: gc", meaning)

    @live.needs_root()
    @live.needs_program("unshare")
    def test_the_folder_for_everybody(self):
        """It is read before the user's own, which replaces what it says. Seen by this command alone."""
        shared = self.tempdir()
        os.mkdir(os.path.join(shared, "runtimes"))
        self.write(HEAD + "[span gc]\nbegin = u:zoo:multi\nend = u:zoo:none\n", "zoo.ini", os.path.join(shared, "runtimes"))
        script = ('mkdir -p "$0/etc" "$0/work" && mount -t tmpfs none "$0/work" && mkdir "$0/work/up" "$0/work/work" && '
                  'mount -t overlay none -o lowerdir=/etc,upperdir="$0/work/up",workdir="$0/work/work" /etc && '
                  'mkdir -p /etc/usertrace && mount --bind "$1" /etc/usertrace && PATH="$3" exec "$2" doctor --runtimes')

        def zoo():
            done = self.start("unshare", "--mount", "sh", "-c", script, self.tempdir(), shared, live.USERTRACE, self.bin,
                              env={"XDG_CONFIG_HOME": self.config})
            self.assertEqual(done.wait(), 0, done.describe())
            line, = (line for line in done.stdout if line.startswith("ok    Zoo: "))
            return line
        self.assertIn("1 of 1 span: gc, as /etc/usertrace/runtimes/zoo.ini says", zoo())
        self.zoo("")
        self.assertIn(f"no spans: none is defined, as {self.path} says", zoo())


if __name__ == "__main__":
    unittest.main()
