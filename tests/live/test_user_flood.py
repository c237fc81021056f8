# SPDX-License-Identifier: MIT
"""Programs that announce more than can be written down: others lose nothing, losses are counted against their
cause, and the tracer's memory has a bound."""
import json
import os
import re
import signal
import subprocess
import time
import unittest

import announce
import live
import schema

FLOOD = os.path.join(live.TARGETS, "user_flood")
IN_VM = bool(os.environ.get("UT_VM"))


def peak_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])


class Accounts:
    """What became of the events of each process."""

    def __init__(self, lines, said):
        self.delivered, self.refused, self.lost = {}, {}, 0
        for event in schema.check([json.loads(line) for line in lines]):
            if event["type"] == "lost":
                self.lost += event["count"]
            elif event["type"] == "throttled":
                self.refused[event["pid"]] = self.refused.get(event["pid"], 0) + event["count"]
            else:
                self.delivered.setdefault(event["pid"], []).append(event["value"])
        self.emitted = {int(pid): int(n) for pid, n in re.findall(r"^(?:flood|polite) (\d+) (\d+)$", said, re.M)}
        self.floods = [int(pid) for pid in re.findall(r"^flood (\d+)", said, re.M)]
        self.polite = int(re.search(r"^polite (\d+)", said, re.M)[1])


@live.needs_root()
class Flood(announce.Case):
    def test_others_lose_nothing(self):
        """The tracer stands still until the buffers are full to where processes are held back, then all go at once."""
        path = os.path.join(self.tempdir(), "out")
        trace = self.trace("--buffer", "256K", "--strict", "--json", "-o", path, "e:*", "--", FLOOD, 500, 200, 3000,
                           stdin=subprocess.PIPE)
        trace.wait_for("^ready")
        stopped = time.monotonic()
        trace.signal(signal.SIGSTOP)
        self.eventually(lambda: announce.puppet.state(trace.pid) == "T", "the tracer is stopped")
        trace.say("\n")
        trace.wait_for("^first")
        trace.signal(signal.SIGCONT)
        stopped = time.monotonic() - stopped
        self.eventually(lambda: any('"throttled"' in l for l in self.read(path)), "refusals are told")
        trace.say("\n")
        self.assertEqual(trace.wait(), 3, trace.describe())
        a = Accounts(self.read(path), "\n".join(trace.stdout))
        if not IN_VM or not a.lost:    # an emulated tracer may get no processor until the buffer is quite full
            self.assertEqual(a.delivered[a.polite], list(range(500)))
        self.assertTrue(a.refused and set(a.refused) <= set(a.floods), a.refused)
        for pid, emitted in a.emitted.items():
            if not a.lost:
                self.assertEqual(len(a.delivered[pid]) + a.refused.get(pid, 0), emitted)
            self.assertEqual(a.delivered[pid], sorted(set(a.delivered[pid])))
        self.check_totals(trace, a)
        if stopped < 0.05:    # else what they may still write adds up to the whole ring
            self.assertEqual(a.lost, 0)

    def check_totals(self, trace, a):
        delivered, refused = sum(map(len, a.delivered.values())), sum(a.refused.values())
        self.assertEqual(delivered + refused + a.lost, sum(a.emitted.values()))
        self.assertRegex("\n".join(trace.stderr),
                         rf"(?m)^usertrace: {delivered:,} events in .*, {refused + a.lost:,} lost "
                         rf"\({refused:,} of programs that filled the buffer alone\)")

    def test_nobody_reads(self):
        """The output is a pipe that is read only when all is over: the ring fills to its end; all is accounted for."""
        said = os.path.join(self.tempdir(), "said")
        open(said, "w", encoding="ascii").close()
        reader, writer = os.pipe()
        trace = self.trace("--buffer", "64K", "--strict", "--json", "e:*", "--", "/bin/sh", "-c",
                           f"exec {FLOOD} 20 400 3000 > {said}",
                           stdin=subprocess.PIPE, stdout=writer)
        os.close(writer)
        trace.say("\n\n")
        self.eventually(lambda: len(self.read(said)) == 5, "the programs have ended")
        with open(reader, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(trace.wait(), 3, trace.describe())
        a = Accounts(lines, "\n".join(self.read(said)))
        self.check_totals(trace, a)
        self.assertGreater(sum(a.refused.values()), 0)

    def test_begins_without_ends(self):
        """Memory has a bound; a span of another process stays whole; what was forgotten is counted.

        The tracer's memory grows to what the longest queue of events needs that it had to read at once, which is as long as it
        was kept from its processor. That ends: here, when half a million more begins have not taken half a byte each."""
        leak, other = self.user(), self.user()
        each, kept, steady, most = 50000, 16384, 10, 60
        trace = self.trace("-p", f"{leak.pid},{other.pid}", "--buffer", "16M", "--json", "e:sync", "e:whole")
        other.do("h begin whole")
        peaks = []
        for i in range(2 if IN_VM else most):
            leak.do(f"many {'hp'[i % 2]} 1 leak {each}")
            other.do("p mark sync")
            trace.wait_for_lines(i + 2)
            peaks.append(peak_kb(trace.pid))
            if i > steady and (peaks[-1] - peaks[-1 - steady]) * 1024 < steady * each // 2:
                break
        other.do("p end whole")
        self.assertEqual(trace.interrupt(), 0)
        whole = [e for e in trace.objects() if e["name"] == "whole"]
        self.assertEqual([(live.word(e), "duration_ns" in e, "lost_inside" in e) for e in whole],
                         [("begin", False, False), ("end", True, False)])
        self.assertRegex("\n".join(trace.stderr), rf"(?m)^usertrace: spans, printed or not: 1 complete, "
                         rf"{kept:,} still open, {len(peaks) * each - kept:,} evicted because too many were open$")
        self.assertTrue(IN_VM or len(peaks) < most, peaks)
        self.assertLess((peaks[-1] - peaks[0]) * 1024, 2 * each * 128, peaks)   # nothing but queues of one round, on two CPUs


if __name__ == "__main__":
    unittest.main()
