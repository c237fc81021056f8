# SPDX-License-Identifier: MIT
"""A program in a terminal of its own: what is on the screen, what was typed, whether all is as it was afterwards.

    top = screen.Terminal(case, [live.USERTRACE, "top"], columns=80, lines=24)
    top.wait_line(r"python3")           # a line of the screen that has the pattern
    top.type("q")
    top.wait()                          # its exit status

The emulated terminal knows what the table uses: absolute places, erasing, styles (dropped), the other screen, the
cursor.
"""
import codecs
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time

import live

SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Grid:
    """The screen, and the modes that a program must put back."""

    def __init__(self, columns, lines):
        self.other, self.cursor, self.wraps = False, True, True
        self.unknown = []
        self.resize(columns, lines)

    def resize(self, columns, lines):
        self.columns, self.lines = columns, lines
        self.cells = [[" "] * columns for _ in range(lines)]
        self.x = self.y = 0
        self.kept = ([[" "] * columns for _ in range(lines)], 0, 0)
        self.rest = ""

    def text(self):
        return ["".join(line).rstrip() for line in self.cells]

    def put(self, text):
        text, self.rest = self.rest + text, ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                match = SEQUENCE.match(text, at)
                if not match:
                    self.rest = text[at:]    # its end has not come
                    if len(self.rest) > 32:
                        self.unknown.append(self.rest)
                        self.rest = ""
                    return
                self.sequence(*match.groups())
                at = match.end()
                continue
            self.char(text[at])
            at += 1

    def char(self, char):
        if char == "\r":
            self.x = 0
        elif char == "\n":
            self.newline()
        elif char >= " ":
            if self.x >= self.columns and self.wraps:
                self.x = 0
                self.newline()
            self.cells[self.y][min(self.x, self.columns - 1)] = char
            self.x += 1
        else:
            self.unknown.append(char)

    def newline(self):
        if self.y < self.lines - 1:
            self.y += 1
        else:
            self.cells = self.cells[1:] + [[" "] * self.columns]

    def sequence(self, private, parameters, letter):
        numbers = [int(n or 0) for n in parameters.split(";")]
        if private and letter in "hl" and numbers[0] in (7, 25, 1049):
            name, on = {7: "wraps", 25: "cursor", 1049: "other"}[numbers[0]], letter == "h"
            if name == "other" and on != self.other:
                now = (self.cells, self.x, self.y)
                empty = ([[" "] * self.columns for _ in range(self.lines)], 0, 0)
                self.cells, self.x, self.y = empty if on else self.kept
                self.kept = now
            setattr(self, name, on)
        elif letter == "H":
            y, x = (numbers + [1])[:2]
            self.y, self.x = min(max(y, 1), self.lines) - 1, min(max(x, 1), self.columns) - 1
        elif letter == "J" and numbers == [2]:
            self.cells = [[" "] * self.columns for _ in range(self.lines)]
        elif letter == "K":
            self.cells[self.y][self.x:] = [" "] * (self.columns - self.x)
        elif letter != "m":
            self.unknown.append(private + parameters + letter)


class Terminal:
    """A command as the leader of the session of a new terminal."""

    def __init__(self, case, argv, columns=80, lines=24, env=None):
        self.grid = Grid(columns, lines)
        self.raw = ""
        self._changed = threading.Condition()
        self.master, slave = pty.openpty()
        self.slave = slave
        self._set_size(columns, lines)
        self.before = termios.tcgetattr(slave)

        def before_exec():
            live._die_with_parent()
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        self.popen = subprocess.Popen([str(a) for a in argv], stdin=slave, stdout=slave, stderr=slave,
                                      preexec_fn=before_exec,
                                      env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})})
        case.addCleanup(self.end)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _set_size(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def _read(self):
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            text = decoder.decode(data)
            with self._changed:
                self.raw += text
                self.grid.put(text)
                self._changed.notify_all()

    @property
    def pid(self):
        return self.popen.pid

    def resize(self, columns, lines):
        """The kernel tells the programs in the foreground."""
        with self._changed:
            self.grid.resize(columns, lines)
        self._set_size(columns, lines)

    def type(self, text):
        os.write(self.master, text.encode())

    def text(self):
        with self._changed:
            return self.grid.text()

    def wait_until(self, condition, what):
        deadline = time.monotonic() + live.PATIENCE
        with self._changed:
            while not condition(self.grid.text()):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"no {what} within {live.PATIENCE:g} s:\n" + "\n".join(self.grid.text()))
                self._changed.wait(min(left, 0.2))

    def wait_line(self, pattern):
        """The match in the first line of the screen that has the pattern, once there is one."""
        regex, found = re.compile(pattern), []

        def look(lines):
            found[:] = [m for m in map(regex.search, lines) if m]
            return found
        self.wait_until(look, f"line with '{pattern}'")
        return found[0]

    def wait_no_line(self, pattern):
        regex = re.compile(pattern)
        self.wait_until(lambda lines: not any(map(regex.search, lines)), f"screen without '{pattern}'")

    def wait(self):
        try:
            status = self.popen.wait(live.PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError("does not end:\n" + "\n".join(self.text())) from None
        # All that it wrote has been read when nothing more is there to read.
        self.wait_until(lambda _: not self._pending(), "end of its output")
        return status

    def _pending(self):
        return struct.unpack("i", fcntl.ioctl(self.master, termios.FIONREAD, b"\0\0\0\0"))[0]

    def settings(self):
        return termios.tcgetattr(self.slave)

    def assert_left_as_it_was(self, case):
        case.assertEqual(self.settings(), self.before)
        self.wait_until(lambda _: not self.grid.other, "return from the other screen")
        case.assertTrue(self.grid.cursor and self.grid.wraps)
        case.assertEqual(self.grid.unknown, [])

    def hang_up(self):
        """The connection is gone: what a closed window or a lost ssh does."""
        os.close(self.slave)
        os.close(self.master)
        self.slave = self.master = -1

    def end(self):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL)
            self.popen.wait()
        if self.slave >= 0:
            os.close(self.slave)
        self._reader.join(2)
        if self.master >= 0:
            os.close(self.master)
