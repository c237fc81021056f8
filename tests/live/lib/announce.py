# SPDX-License-Identifier: MIT
"""The program tests/targets/user.c on strings: it announces what it is told to, and a trace shows it.

    events = self.announce("h begin gc", "p end gc").events     # objects of --json
    lines = self.announce("p mark m", text=True).lines            # [["m", "mark"]]
"""
import json
import os
import re

import live
import puppet
import schema

USER = os.path.join(live.TARGETS, "user")
LANES = ("h", "p")


def split(line):
    """FUNC and what follows it; an event's or a lost line's."""
    return line.split(None, 3)[3].split(None, 1) if re.match(r"\d", line) else [line]


class Case(puppet.Case):
    def read(self, path):
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().splitlines()

    def announce(self, *commands, requests=("e:*",), options=(), program=USER, text=False, status=0, preexec=None):
        """A trace of a program that does these commands, to its end."""
        path = os.path.join(self.tempdir(), "out")
        trace = self.trace(*options, *([] if text else ["--json"]), "-o", path, *requests, "--", program, *commands,
                           attached=False, preexec=preexec)
        self.assertEqual(trace.wait(), status, trace.describe())
        trace.raw = self.read(path)
        trace.told = "\n".join(trace.stderr)
        if text:
            self.assertRegex(trace.raw[0], "^PID +TID +COMM +FUNC")
            trace.lines = [[part.strip() for part in split(l)] for l in trace.raw[1:]]
        else:
            trace.events = schema.check([json.loads(l) for l in trace.raw])
        return trace

    def user(self, program=USER, **kwargs):
        """One that waits for commands."""
        return self.puppet(program, **kwargs)


def short(event):
    """What a program said, without where and when."""
    number = int(event["id"]) if "id" in event else None
    return (live.word(event), event.get("name"), event.get("value"), number, event.get("text"))


def named(events, name):
    return [e for e in events if e.get("name") == name]
