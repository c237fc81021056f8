# SPDX-License-Identifier: MIT
"""The full-screen table, in a terminal: rows, keys, sizes, and every way out."""
import os
import re
import signal
import subprocess
import time
import unittest

import live
import screen

PYTHON = "/usr/bin/python3.11"
# Collects some twenty times a second, or on its signal alone; ends with its standard input.
COLLECTS = """
import gc, os, select, sys
gc.disable()
junk = [[] for _ in range(int(sys.argv[2]))]
print("ready", os.getpid(), flush=True)
while not select.select([sys.stdin], [], [], float(sys.argv[1]))[0]:
    gc.collect()
"""


@live.needs_root()
@unittest.skipUnless(os.path.exists(PYTHON), f"{PYTHON} is not installed")
class Top(live.Case):
    def collects(self, pause=0.05, objects=1000):
        return self.start_target(PYTHON, "-c", COLLECTS, str(pause), str(objects), stdin=subprocess.PIPE)

    def top(self, *args, **kwargs):
        top = screen.Terminal(self, [live.USERTRACE, "top", *args], **kwargs)
        return top

    def end(self, top, keys="q", status=0):
        top.type(keys)
        self.assertEqual(top.wait(), status)
        top.assert_left_as_it_was(self)

    def test_shows_what_a_program_does(self):
        program = self.collects()
        top = self.top("-p", program.pid)
        row = top.wait_line(rf"^ *{program.pid} python3\.11 +CPython 3\.11 +([1-9][0-9.]*) +([0-9.]+) % "
                            "+([0-9.]+ [mµ]s) +- +[▁-█·]")
        self.assertLess(float(row[1]), 40)
        self.assertTrue(top.grid.other and not top.grid.cursor)
        self.assertNotEqual(top.settings(), top.before)
        lines = top.text()
        self.assertEqual(len(lines), 24)
        self.assertRegex(lines[0], r"^usertrace top \d\d:\d\d:\d\d, 1 process$")
        self.assertEqual(" ".join(lines[1].split()), "PID COMMAND RUNTIME GC/S STOPPED↓ LONGEST ALLOC/S MINUTE")
        self.assertRegex(lines[23], "^q quit .* h help$")
        self.end(top)
        self.assertEqual([l for l in top.text() if l.strip()], [])    # nothing is left on the screen

    def test_it_refreshes(self):
        program = self.collects()
        top = self.top("-p", program.pid, "-i", "0.1")
        top.wait_line(rf"{program.pid} python3\.11")
        top.type("\r")
        first = self.collections(top.wait_line(r"^collections +[1-9].*")[0])
        top.wait_until(lambda lines: any(map(lambda l: self.collections(l) > first, lines)), "more collections")
        self.end(top, "\x03")

    def collections(self, line):
        match = re.match(r"collections +([0-9,]+), ", line)
        return int(match[1].replace(",", "")) if match else 0

    def test_keys(self):
        program = self.collects()
        other = self.collects(0.02)
        top = self.top("-p", f"{program.pid},{other.pid}")
        top.wait_line(rf"{other.pid} python3\.11 +CPython 3\.11 +[1-9]")
        top.type("s" * 5)    # longest, allocation, PID, command ...
        top.wait_line("RUNTIME↓")
        top.type("ssssr")
        top.wait_line("ALLOC/S↑")
        top.type(f"/{other.pid}")
        top.wait_line(rf"^filter: {other.pid}_")
        top.wait_no_line(rf"^ *{program.pid} ")
        top.type("\r\r")
        top.wait_line(rf"^{other.pid} python3\.11, CPython 3\.11.*, watched for")
        top.wait_line(r"^longest stop +[0-9.]+ [µm]s, ")
        top.wait_line(r"^ +[0-9.]+ full ")
        top.type("\x1b")
        top.wait_line("^ *PID COMMAND")
        top.type("\x1b")    # drops the filter
        top.wait_line(rf"^ *{program.pid} ")
        top.type("?")
        top.wait_line("^Press any key to go back")
        top.type("\x1b[B")
        top.wait_line("^ *PID COMMAND")
        top.type("p")
        top.wait_line(r"paused \(p: continue\)")
        top.type("p\x0c")
        top.wait_no_line("paused")
        self.end(top, "\x1b")

    def test_other_sizes(self):
        program = self.collects()
        top = self.top("-p", program.pid, columns=46, lines=8)
        top.wait_line(rf"^ *{program.pid} python3\.11 ")
        self.assertEqual(top.text()[1].split(), ["PID", "COMMAND", "GC/S", "STOPPED↓"])
        top.resize(120, 40)
        top.wait_line("ALLOC/S MINUTE")
        top.wait_line(rf"^ *{program.pid} python3\.11 +CPython 3\.11\.?\d* ")
        top.wait_until(lambda lines: lines[39].startswith("q quit"), "keys in the last line")
        top.resize(10, 3)
        top.wait_line("%$")
        top.type("\r")
        top.wait_line(rf"^{program.pid} ")
        top.resize(80, 24)
        top.wait_line("^last minute")
        self.end(top, "qq")

    def test_ends_by_signals(self):
        program = self.collects(5)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(signal=number.name):
                top = self.top("-p", program.pid)
                top.wait_line(rf"^ *{program.pid} ")
                top.popen.send_signal(number)
                self.assertEqual(top.wait(), 0)
                top.assert_left_as_it_was(self)

    def test_the_terminal_is_gone(self):
        program = self.collects(5)
        top = self.top("-p", program.pid)
        top.wait_line(rf"^ *{program.pid} ")
        top.hang_up()
        self.assertEqual(top.popen.wait(live.PATIENCE), 0)

    def test_a_crash_of_its_own(self):
        program = self.collects(5)
        top = self.top("-p", program.pid)
        top.wait_line(rf"^ *{program.pid} ")
        top.popen.send_signal(signal.SIGSEGV)
        self.assertEqual(top.wait(), -signal.SIGSEGV)
        top.assert_left_as_it_was(self)

    def test_the_program_dies(self):
        program = self.collects()
        top = self.top("-p", program.pid)
        top.wait_line(rf"^ *{program.pid} ")
        program.signal(signal.SIGKILL)
        program.wait()
        self.assertEqual(top.wait(), 0)
        top.assert_left_as_it_was(self)
        top.wait_line(f"usertrace: process {program.pid} exited")

    def test_stop_and_go_on(self):
        """Ctrl-Z gives the shell its terminal back, and fg the table."""
        program = self.collects()
        script = (f"stty -g; {live.USERTRACE} top -p {program.pid}; echo stopped $?; stty -g; read line; fg; "
                  "echo over $?; stty -g; read line")
        top = screen.Terminal(self, ["/bin/dash", "-m", "-c", script])
        top.wait_line(rf"^ *{program.pid} ")
        self.assertTrue(top.grid.other)
        top.type("\x1a")
        top.wait_line("^stopped 148$")
        self.assertFalse(top.grid.other)
        top.type("\r")
        top.wait_line(rf"^ *{program.pid} ")
        self.assertTrue(top.grid.other and not top.grid.cursor)
        top.type("q")
        top.wait_line("^over 0$")
        top.wait_until(lambda _: len(re.findall(r"(?m)^[0-9a-f:]{40,}\r$", top.raw)) == 3, "settings of the terminal")
        self.assertEqual(len(set(re.findall(r"(?m)^[0-9a-f:]{40,}\r$", top.raw))), 1)
        self.end(top, "\r")

    def test_all_processes_come_and_go(self):
        top = self.top("-i", "0.2")
        top.wait_line("^ *PID COMMAND")
        program = self.collects()
        top.type("/")
        top.type(f"{program.pid}\r")
        top.wait_line(rf"^ *{program.pid} python3\.11 +CPython 3\.11 +[0-9.]+ +≤?[0-9.]+ %")
        program.popen.stdin.close()
        program.wait()
        top.wait_line(rf"^ *{program.pid} python3\.11 .* ended ")
        self.end(top, "\x1bq")

    def test_ascii(self):
        program = self.collects()
        top = self.top("-p", program.pid, env={"LC_ALL": "C"})
        top.wait_line(rf"^ *{program.pid} python3\.11 .* [0-9.]+ [mu]s +- +[.:=+*%#@-]+")
        self.assertTrue(top.raw.isascii())
        self.end(top)

    def test_batch(self):
        program = self.collects()
        done = self.usertrace("top", "--batch", "-p", program.pid, "-i", "0.25", "-d", "1.1", env={"LC_ALL": "C.UTF-8"})
        self.assertEqual((done.status, done.stderr), (0, []))
        self.assertGreaterEqual(done.stdout.count(done.stdout[1]), 3)    # titles
        self.assertEqual(done.stdout[1].split()[:4], ["PID", "COMMAND", "RUNTIME", "GC/S"])
        rows = [l for l in done.stdout if re.match(rf" *{program.pid} python3\.11 ", l)]
        self.assertEqual(len(rows), done.stdout.count(done.stdout[1]))
        self.assertNotIn("\x1b", "\n".join(done.stdout))

    def test_batch_has_no_table_twice(self):
        """The last one was just printed when the time is up."""
        program = self.collects()
        done = self.usertrace("top", "-b", "-p", program.pid, "-i", "1", "-d", "1.2")
        self.assertEqual(sum(l.startswith("usertrace top ") for l in done.stdout), 1, done.stdout)

    def test_of_other_kinds_every_span_counts(self):
        """Parts of collections without the collections: what the name of a kind has in it is not what is asked for."""
        program, path = self.collects(), os.path.join(self.tempdir(), "parts.ini")
        with open(path, "w") as file:
            file.write("[runtime]\nname = CPython\nmatch = python?.??\n[span gc-phase]\n"
                       "begin = u:python:gc__start\nend = u:python:gc__done\n")
        done = self.usertrace("top", "-b", "-k", "gc-phase", "--runtime", path, "-p", program.pid, "-d", "1.1")
        self.assertEqual(done.status, 0, done.describe())
        row = next(l for l in reversed(done.stdout) if re.match(rf" *{program.pid} python3\.11 ", l))
        self.assertGreater(float(row.split()[3]), 1, row)

    def test_batch_into_a_pipe_that_closes(self):
        program = self.collects()
        reader, writer = os.pipe()
        top = self.start(live.USERTRACE, "top", "-b", "-i", "0.1", "-p", program.pid, stdout=writer)
        os.close(writer)
        self.assertIn(b"usertrace top", os.read(reader, 100))
        os.close(reader)
        self.assertEqual(top.wait(), 0)
        self.assertEqual(top.stderr, [])

    def test_idle_programs_cost_little(self):
        """Sixteen that do nothing, and nobody at the keys: nearly nothing is done. It looks at its rings 25 times a second, and
        whenever anybody on the machine maps a file as code; for each time beyond these a fifth of a millisecond is allowed."""
        programs = [self.collects(1000) for _ in range(16)]
        top = self.top("-p", ",".join(str(p.pid) for p in programs))
        top.wait_line(rf"^ *{programs[0].pid} ")
        top.wait_line(rf"^ *{programs[15].pid} ")
        start, woken, used, sent = time.monotonic(), self.wakeups(top.pid), self.cpu_ns(top.pid), len(top.raw)
        self.eventually(lambda: time.monotonic() - start > 2, "two seconds")
        woken, used = self.wakeups(top.pid) - woken, self.cpu_ns(top.pid) - used
        seconds = time.monotonic() - start
        self.assertLess(used, 0.05e9 * seconds + 0.2e6 * max(woken - 40 * seconds, 0), f"woken {woken} times")
        self.assertLess(len(top.raw) - sent, 250 * seconds)    # the time of day
        self.end(top)

    def cpu_ns(self, pid):
        with open(f"/proc/{pid}/schedstat") as file:
            return int(file.read().split()[0])

    def wakeups(self, pid):
        with open(f"/proc/{pid}/status") as file:
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)[1])


class Refused(live.Case):
    """What it does not do, in words; none of it needs privileges."""

    def assert_refused(self, words, *args, status=2):
        done = self.usertrace("top", *args)
        self.assertEqual(done.status, status, done.describe())
        self.assertEqual(done.stdout, [])
        self.assertIn(words, "\n".join(done.stderr))

    def test_no_terminal(self):
        self.assert_refused("not a terminal; use --batch to print the table as plain text")

    def test_options(self):
        self.assert_refused("did you mean -p 12?", "12")
        self.assert_refused("unexpected argument 'x'", "x")
        self.assert_refused("mutually exclusive", "-p", "1", "-a")
        self.assert_refused("--interval must be from 0.1 s", "-i", "0.01")
        self.assert_refused("--duration must be greater than 0", "-b", "-d", "0")

    def test_dumb_terminals(self):
        for term in ("dumb", ""):
            top = screen.Terminal(self, [live.USERTRACE, "top"], columns=130, env={"TERM": term})
            self.assertEqual(top.wait(), 2)
            top.wait_line(rf"\(TERM={term}\) does not support full-screen output; use --batch to print plain text")
            top.assert_left_as_it_was(self)

    @live.needs_root()
    def test_no_runtime(self):
        target = self.start_target("puppet", stdin=subprocess.PIPE)
        self.assert_refused("has no known runtime", "-b", "-p", target.pid)
