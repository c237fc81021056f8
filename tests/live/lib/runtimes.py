# SPDX-License-Identifier: MIT
"""What the tests of real runtimes share: programs that wait at a gate, so that a tracer attaches before they begin and
lets go after they are done, and a look into their memory for what a tracer may leave behind."""
import json
import os
import re
import shutil
import struct
import subprocess
import time

import live
import schema


def path_of(program):
    """The program's own file, whatever links lead to it; None when it is not installed."""
    found = shutil.which(program)
    return os.path.realpath(found) if found else None


def pairs(line):
    """The key=value words of a line, numbers as numbers."""
    found = dict(word.split("=", 1) for word in line.split() if "=" in word)
    return {key: int(value) if re.fullmatch(r"-?\d+", value) else value for key, value in found.items()}


def mapping_of(pid, path, offset):
    """The address at which a process has mapped a byte of a file."""
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            fields = line.split(None, 5)
            low, high = (int(n, 16) for n in fields[0].split("-"))
            start = int(fields[2], 16)
            if len(fields) > 5 and fields[5].rstrip("\n") == path and start <= offset < start + high - low:
                yield low + offset - start, fields[1]


def offset_of(path, address):
    """File offset of an address in the file's own numbering, by its own loadable segment (64-bit files)."""
    with open(path, "rb") as file:
        head = file.read(64)
        start, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        for i in range(count):
            file.seek(start + i * size)
            kind, _, offset, vaddr, _, filesz, _, _ = struct.unpack("<IIQQQQQQ", file.read(56))
            if kind == 1 and vaddr <= address < vaddr + filesz:
                return offset + address - vaddr
    raise AssertionError(f"{path} loads nothing at {address:#x}")


def read_memory(pid, address, size):
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        memory.seek(address)
        return memory.read(size)


class Case(live.Case):
    def gated(self, *argv, **kwargs):
        """Starts a program that says "ready PID" and waits for a line."""
        program = self.start(*argv, stdin=subprocess.PIPE, **kwargs)
        program.wait_for(r"^ready \d+")
        return program

    def go(self, program):
        """Lets it begin; what it says when it is done, as a dictionary. It waits once more before it ends."""
        program.say("\n")
        return pairs(program.wait_for(r"^done .*")[0])

    before_end = staticmethod(lambda: None)     # of a watch that counts until then

    def let_end(self, program):
        self.before_end()
        program.say("\n")
        self.assertEqual(program.wait(), 0, program.describe())

    def probes_of(self, path, pattern):
        listed = self.usertrace("list", "--json", path, pattern)
        self.assertEqual(listed.status, 0, listed.describe())
        return listed.objects()

    def site_bytes(self, pid, path, probes):
        """The byte at each site, as the process sees it: 0x90, or 0xcc while somebody traces it."""
        offsets = [site["offset"] for probe in probes for site in probe["sites"]]
        return [read_memory(pid, next(a for a, mode in mapping_of(pid, path, o) if "x" in mode), 1)[0] for o in offsets]

    def semaphores(self, pid, path, probes):
        """The value of each probe's semaphore."""
        addresses = sorted({int(site["semaphore"], 16) for probe in probes for site in probe["sites"] if site.get("semaphore")})
        self.assertTrue(addresses, f"no semaphores in {path}")
        values = []
        for address in addresses:
            # The later mapping of a page is the one that can be written to.
            at = [a for a, mode in mapping_of(pid, path, offset_of(path, address)) if "w" in mode][-1]
            values.append(struct.unpack("<H", read_memory(pid, at, 2))[0])
        return values

    def stop(self, trace):
        """Ends the trace; seconds that took. Nothing may have been lost."""
        start = time.monotonic()
        self.assertEqual(trace.interrupt(), 0, trace.describe())
        took = time.monotonic() - start
        self.assertTrue(any(re.search(r"\b0 lost", line) for line in trace.stderr), trace.describe())
        return took

    def events_of_command(self, *probes, command):
        """Traces a command from its start to its end; the events in order. Its own output is not among them."""
        path = os.path.join(self.tempdir(), "events")
        trace = self.trace("--json", "-o", path, *probes, "--", *command, attached=False)
        self.assertEqual(trace.wait(), 0, trace.describe())
        self.assertTrue(any(re.search(r"\b0 lost", line) for line in trace.stderr), trace.describe())
        with open(path) as file:
            return schema.check([json.loads(line) for line in file])

    def by_probe(self, trace):
        """The events of a trace with --json, by the name of their probe."""
        events = {}
        for event in trace.objects():
            events.setdefault(event["probe"].split(":", 1)[1], []).append(event)
        return events

    @staticmethod
    def remark(text):
        """A line of the test's output that nothing depends on, such as a time."""
        print("# " + text, flush=True)
