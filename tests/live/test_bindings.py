# SPDX-License-Identifier: MIT
"""Each file of examples/bindings is run as its first lines say, and tells the same story to the tracer."""
import json
import os
import re
import shutil
import subprocess
import unittest

import installed
import live

FOLDER = os.path.join(live.SOURCE_ROOT, "examples/bindings")
STORY = [
    {"type": "begin", "name": "request"},
    {"type": "begin", "name": "parse"},
    {"type": "end", "name": "parse"},
    {"type": "mark", "name": "cache miss", "text": "/index.html"},
    {"type": "count", "name": "température", "value": -4},
    {"type": "begin", "name": "download", "id": "7"},
    {"type": "end", "name": "download", "id": "7"},
    {"type": "mark", "name": "готово ✓"},
    {"type": "end", "name": "request"},
]


def commands(path):
    """The commands that the first lines of an example say to type."""
    with open(path, encoding="utf-8") as file:
        head = [next(file, "") for _ in range(20)]
    return re.findall(r"^\W*\$ (.*)$", "".join(head), re.MULTILINE)


def told(event):
    """What of an event does not differ from run to run; a value of 0 is that of an event without one."""
    kept = {key: event[key] for key in ("type", "name", "id", "text") if event.get(key) is not None}
    if live.word(event) == "count" or event.get("value"):
        kept["value"] = event["value"]
    return kept


class Case(live.Case):
    @classmethod
    def setUpClass(cls):
        if installed.missing():
            raise unittest.SkipTest(installed.missing())
        cls.installed = installed.Installed()
        cls.addClassCleanup(cls.installed.remove)

    def environment(self):
        javac = shutil.which("javac")
        return {**self.installed.environment,
                # The distribution's own interpreters, and our command, before what a person may have.
                "PATH": f"{os.path.dirname(live.USERTRACE)}:/usr/bin:/bin:{os.environ['PATH']}",
                "JAVA_HOME": os.path.dirname(os.path.dirname(os.path.realpath(javac))) if javac else "",
                "USERTRACE_LIBRARY": self.installed.library, "PYTHONDONTWRITEBYTECODE": "1"}

    def workshop(self):
        """A copy of the examples, to build in."""
        folder = os.path.join(self.tempdir(), "bindings")
        shutil.copytree(FOLDER, folder)
        return folder

    def sh(self, command, folder, good=True):
        done = subprocess.run(["sh", "-c", command], cwd=folder, env=self.environment(), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=live.PATIENCE * 3)
        if good:
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done

    def traced(self, command, folder, good=True):
        """The events of a command line `usertrace trace … -- …`."""
        path = os.path.join(folder, "events")
        self.assertTrue(command.startswith("usertrace trace "), command)
        done = self.sh(command.replace("trace trace ", f"trace trace --json -o {path} ", 1), folder, good)
        self.assertRegex(done.stderr, r"\b0 lost")
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def trace_of(self, *argv, folder, good=True):
        words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in argv)
        return self.traced(f"usertrace trace 'e:*' -- {words}", folder, good)


@live.needs_root()
class Stories(Case):
    def story(self, file):
        typed = commands(os.path.join(FOLDER, file))
        self.assertTrue(typed, f"{file} does not say how to run it")
        folder = self.workshop()
        for command in typed[:-1]:
            self.sh(command, folder)
        events = self.traced(typed[-1], folder)
        self.assertEqual([told(e) for e in events], STORY)
        self.assertEqual([e["time_ns"] for e in events], sorted(e["time_ns"] for e in events))
        self.assertEqual(len({e["pid"] for e in events}), 1)
        self.assertEqual(["duration_ns" in e for e in events], [live.word(e) == "end" for e in events])
        parse, download, request = (e["duration_ns"] for e in events if live.word(e) == "end")
        self.assertGreater(min(parse, download), 0)
        self.assertGreater(request, parse + download)

    @live.needs_program("python3")
    def test_python(self):
        self.story("usertrace.py")

    @live.needs_program("ruby")
    def test_ruby(self):
        self.story("usertrace.rb")

    @live.needs_program("luajit")
    def test_luajit(self):
        self.story("usertrace.lua")

    @live.needs_program("sbcl")
    def test_lisp(self):
        self.story("usertrace.lisp")

    @live.needs_program("sbcl")
    def test_lisp_without_a_library(self):
        self.story("usertrace-prctl.lisp")

    @live.needs_program("javac")
    def test_java(self):
        self.story("UserTrace.java")

    @live.needs_program("node")
    def test_node(self):
        self.story("usertrace.js")

    @live.needs_program("perl")
    def test_perl(self):
        self.story("usertrace.pl")

    def test_shell(self):
        self.story("story.sh")

    def test_c(self):
        self.story("story.c")

    @live.needs_program("g++")
    def test_cxx(self):
        self.story("story.cc")


class FindingTheLibrary(Case):
    """By its name where the system looks, and what is said where it is not; no tracer is needed."""

    def check(self, file):
        folder, command = self.workshop(), commands(os.path.join(FOLDER, file))[-1].split(" -- ", 1)[1]
        where = os.path.dirname(self.installed.library)
        self.sh(f"unset USERTRACE_LIBRARY; export LD_LIBRARY_PATH='{where}'; {command}", folder)
        missing = self.sh(f"export USERTRACE_LIBRARY=/nowhere/libusertrace.so.0; {command}", folder, good=False)
        self.assertNotEqual(missing.returncode, 0)
        self.assertIn("/nowhere/libusertrace.so.0", missing.stdout + missing.stderr)

    @live.needs_program("python3")
    def test_python(self):
        self.check("usertrace.py")

    @live.needs_program("ruby")
    def test_ruby(self):
        self.check("usertrace.rb")

    @live.needs_program("luajit")
    def test_luajit(self):
        self.check("usertrace.lua")

    @live.needs_program("sbcl")
    def test_lisp(self):
        self.check("usertrace.lisp")


@live.needs_root()
class Failures(Case):
    """A span ends also when an error leaves it, and the error goes on."""

    def check(self, *argv, error):
        folder = self.workshop()
        events = self.trace_of(*argv, folder=folder, good=False)
        self.assertEqual([told(e) for e in events], [{"type": "begin", "name": "a"}, {"type": "end", "name": "a"}])
        plain = self.sh(" ".join("'" + word + "'" for word in argv), folder, good=False)
        self.assertNotEqual(plain.returncode, 0)
        self.assertIn(error, plain.stderr)

    @live.needs_program("python3")
    def test_python(self):
        self.check("python3", "-c", 'import usertrace\nwith usertrace.span("a"): raise OSError("so it is")',
                   error="so it is")

    @live.needs_program("ruby")
    def test_ruby(self):
        self.check("ruby", "-r./usertrace.rb", "-e", 'UserTrace.span("a") { raise "so it is" }', error="so it is")

    @live.needs_program("luajit")
    def test_luajit(self):
        self.check("luajit", "-e", 'require("usertrace").span("a", function() error("so it is") end)', error="so it is")

    @live.needs_program("sbcl")
    def test_lisp(self):
        for file in ("usertrace.lisp", "usertrace-prctl.lisp"):
            with self.subTest(file=file):
                self.check("sbcl", "--non-interactive", "--load", file, "--eval",
                           '(usertrace:with-span ("a") (error "so it is"))', error="so it is")

    @live.needs_program("node")
    def test_node(self):
        folder = self.workshop()
        self.sh(commands(os.path.join(FOLDER, "usertrace.js"))[0], folder)
        events = self.trace_of("node", "-e", 'require("./usertrace.js").span("a", () => { throw Error("so it is"); })',
                               folder=folder, good=False)
        self.assertEqual([told(e) for e in events], [{"type": "begin", "name": "a"}, {"type": "end", "name": "a"}])

    @live.needs_program("perl")
    def test_perl(self):
        self.check("perl", "-e", 'require "./usertrace.pl"; UserTrace::span(a => sub { die "so it is" })',
                   error="so it is")


@live.needs_root()
class TheLibrary(Case):
    EXTREMES = """
import usertrace
usertrace.count("lowest", -2**63)
usertrace.count("highest", 2**63 - 1)
usertrace.mark("id", id=2**64 - 1)
usertrace.mark("no id", id=0)
usertrace.emit(usertrace.COUNT, "all", -1, 1, "text")
usertrace.mark("")
"""

    @live.needs_program("python3")
    def test_numbers_keep_their_64_bits(self):
        events = self.trace_of("python3", "-c", self.EXTREMES, folder=self.workshop())
        self.assertEqual([told(e) for e in events], [
            {"type": "count", "name": "lowest", "value": -2**63},
            {"type": "count", "name": "highest", "value": 2**63 - 1},
            {"type": "mark", "name": "id", "id": str(2**64 - 1)},
            {"type": "mark", "name": "no id", "id": "0"},
            {"type": "count", "name": "all", "value": -1, "id": "1", "text": "text"},
            {"type": "mark", "name": ""},
        ])

    @live.needs_program("python3")
    def test_enabled_tells_whether_somebody_listens(self):
        program = 'import usertrace\nusertrace.mark("yes" if usertrace.enabled() else "no")\n'
        events = self.trace_of("python3", "-c", program, folder=self.workshop())
        self.assertEqual([e["name"] for e in events], ["yes"])
        folder = self.workshop()

        def quiet():    # others may listen to everybody for a while
            return self.sh("python3 -c 'import usertrace; print(usertrace.enabled())'", folder).stdout == "0\n"
        self.eventually(quiet, "nobody listens")

    @live.needs_program("node")
    def test_spans_of_promises_overlap(self):
        folder = self.workshop()
        self.sh(commands(os.path.join(FOLDER, "usertrace.js"))[0], folder)
        program = ('const { spanAsync } = require("./usertrace.js");'
                   'const turn = () => new Promise(setImmediate);'
                   'spanAsync("a", async () => { await turn(); await turn(); await turn(); });'
                   'spanAsync("a", turn);')
        events = self.trace_of("node", "-e", program, folder=folder)
        self.assertEqual([(live.word(e), e["id"]) for e in events],
                         [("begin", "1"), ("begin", "2"), ("end", "2"), ("end", "1")])
        self.assertTrue(all(e.get("duration_ns") for e in events[2:]), events)

    @live.needs_program("python3")
    def test_threads(self):
        program = """
import threading, usertrace
def work():
    with usertrace.span("thread"):
        pass
with usertrace.span("process"):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""
        events = self.trace_of("python3", "-c", program, folder=self.workshop())
        self.assertEqual([(live.word(e), e["name"]) for e in events], [
            ("begin", "process"), ("begin", "thread"), ("end", "thread"), ("end", "process")])
        main, thread = events[:2]
        self.assertEqual((main["tid"], thread["pid"]), (main["pid"], main["pid"]))
        self.assertNotEqual(thread["tid"], main["tid"])

    @live.needs_program("python3")
    def test_a_child_goes_on(self):
        program = """
import os, usertrace
usertrace.mark("parent")
if os.fork() == 0:
    usertrace.mark("child")
    os._exit(0)
status = os.waitstatus_to_exitcode(os.wait()[1])
assert status == 0, f"the child ended with {status}"
usertrace.mark("parent")
"""
        events = self.trace_of("python3", "-c", program, folder=self.workshop())
        self.assertEqual([e["name"] for e in events], ["parent", "child", "parent"])
        self.assertNotEqual(events[1]["pid"], events[0]["pid"])

    def test_one_program_with_header_and_library(self):
        folder = self.tempdir()
        with open(os.path.join(folder, "a.c"), "w", encoding="utf-8") as file:
            file.write('#include <usertrace.h>\nvoid other(void);\n'
                       'int main(void) { ut_begin("header"); other(); ut_end("header"); return 0; }\n')
        with open(os.path.join(folder, "b.c"), "w", encoding="utf-8") as file:
            file.write('void ut_mark(const char *);\nvoid other(void);\nvoid other(void) { ut_mark("library"); }\n')
        for link in ("", "-static"):
            with self.subTest(link=link or "shared"):
                flags = "--static" if link else ""
                self.sh(f"gcc {link} a.c b.c -o program $(pkg-config {flags} --cflags --libs usertrace) -Wl,-rpath,"
                        + os.path.dirname(self.installed.library), folder)
                events = self.trace_of("./program", folder=folder)
                self.assertEqual([(live.word(e), e["name"]) for e in events],
                                 [("begin", "header"), ("mark", "library"), ("end", "header")])


if __name__ == "__main__":
    unittest.main()
