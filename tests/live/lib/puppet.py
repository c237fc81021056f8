# SPDX-License-Identifier: MIT
"""The program tests/targets/puppet.c on strings: commands go in, what a tracer should have seen of it comes out.

    target = self.puppet()
    trace = self.trace("-p", target.pid, "u:puppet:tick")
    expected = target.do("tick 3")             # [("tick", "0"), ("tick", "1"), ("tick", "2")]
    self.assertEqual(puppet.finish(trace), expected)
"""
import os
import re
import subprocess

import live

PUPPET = os.path.join(live.TARGETS, "puppet")
PLUG = os.path.join(live.TARGETS, "plug.so")


def said_events(lines):
    """What lines "event NAME VALUE" announce, as pairs."""
    return [tuple((l.split(" ", 2) + [""])[1:3]) for l in lines if l.startswith("event ")]


def seen_events(trace):
    """The events that a trace has printed, as pairs of name and message."""
    return [(e[3], e[4] if len(e) > 4 else "") for e in trace.events() if len(e) > 3]


def finish(trace):
    """Ctrl-C, and all that was printed until then."""
    status = trace.interrupt()
    if status != 0:
        raise AssertionError(f"status {status}: {trace.describe()}")
    return seen_events(trace)


def state(pid):
    """The letter of a process in /proc/PID/stat, or None."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


class Puppet(live.Process):
    def __init__(self, program=PUPPET, **kwargs):
        super().__init__([program] if isinstance(program, str) else program, stdin=subprocess.PIPE, **kwargs)
        self.read = 0

    def begin(self, command):
        """Gives a command, does not wait."""
        self.say(command + "\n")

    def lines_of(self, command, timeout=None):
        """Waits for the end of the command; the lines that it printed."""
        first = self.read
        self.wait_until(lambda: f"done {command}" in self.stdout[first:], f"end of '{command}'", timeout)
        self.read = self.stdout.index(f"done {command}", first) + 1
        return self.stdout[first:self.read - 1]

    def ask(self, command, timeout=None):
        self.begin(command)
        return self.lines_of(command, timeout)

    def do(self, command, timeout=None):
        """Gives a command and waits for its end; the events that it announces."""
        return said_events(self.ask(command, timeout))

    def number(self, command):
        """The numbers of the line that a command prints."""
        return [int(n) for n in re.findall(r"\d+", self.ask(command)[-1])]

    def code(self):
        return self.ask("code")[-1]


class Case(live.Case):
    def puppet(self, program=PUPPET, **kwargs):
        """A puppet that waits for commands; it is ended with the case."""
        if not os.path.exists(PUPPET):
            self.skipTest("puppet is not built")
        puppet = Puppet(program, **kwargs)
        self.addCleanup(puppet.end)
        puppet.wait_for("^ready")
        puppet.read = len(puppet.stdout)
        return puppet

    def trace_command(self, *args, timeout=None):
        """A trace of a command to its end: .said is what the command announced, .seen what was printed."""
        path = os.path.join(self.tempdir(), "events")
        trace = self.trace("-o", path, *args, attached=False)
        trace.wait(timeout)
        trace.said = said_events(trace.stdout)
        trace.stdout = []
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                trace.stdout = file.read().splitlines()
        trace.seen = None if "--json" in args else seen_events(trace)
        return trace
