# SPDX-License-Identifier: MIT
"""s: the runs of signals' handlers, against what a program says of its own."""
import collections
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
import live

NAMES = {signal.SIGUSR1: "SIGUSR1", signal.SIGUSR2: "SIGUSR2", signal.SIGSEGV: "SIGSEGV", signal.SIGALRM: "SIGALRM",
         signal.SIGRTMIN + 1: f"SIGRTMIN+{signal.SIGRTMIN + 1 - 32}"}


@live.needs_root()
class Signals(live.Case):
    def run_handlers(self, *probes, options=()):
        target = self.start_target("handlers", stdin=subprocess.PIPE)
        trace = self.trace(*options, "-p", target.pid, *probes)
        target.popen.stdin.write(b"go\n")
        target.popen.stdin.flush()
        self.assertEqual(target.wait(), 0)
        self.assertEqual(trace.wait(), 0)
        own = [line.split() for line in target.stdout if line.startswith(("run", "left"))]
        return trace, own

    @live.vm_safe
    def test_every_run_is_there_with_its_time_and_thread(self):
        trace, own = self.run_handlers("s:*", options=["--json"])
        events = [json.loads(line) for line in trace.stdout]
        begun = collections.Counter((e["name"], e["tid"]) for e in events if live.word(e) == "begin")
        said = collections.Counter((NAMES[int(o[1])], int(o[2])) for o in own)
        self.assertEqual(begun, said)
        self.assertEqual(said.total(), 10 * 5 + 4 * 50)
        ended = [e for e in events if live.word(e) == "end"]
        moments = collections.defaultdict(list)     # of each thread, by its own clock: when its handlers began and ended
        for _, _, tid, *times in own:
            moments[tid].extend(map(int, times))
        spans, runs = set(), 0
        for kind, number, tid, *times in own:
            if kind == "left":
                continue
            begin, end = map(int, times)
            inside = [e for e in ended if e["tid"] == int(tid) and e["name"] == NAMES[int(number)]
                      and e["time_ns"] - e["duration_ns"] <= begin and end <= e["time_ns"]]
            self.assertTrue(inside, f"no span of {NAMES[int(number)]} holds {begin}..{end}")
            closest = min(inside, key=lambda e: e["duration_ns"])
            spans.add((closest["tid"], closest["time_ns"]))
            runs += 1
            self.assertEqual(closest["kind"], "signal")
            # It holds its own run and nothing of what the thread did before and after it, however long that took.
            before = max((t for t in moments[tid] if t < begin), default=0)
            after = min((t for t in moments[tid] if t > end), default=closest["time_ns"])
            self.assertLessEqual(before, closest["time_ns"] - closest["duration_ns"])
            self.assertLessEqual(closest["time_ns"], after)
        self.assertEqual(len(spans), runs, "one span is of two runs")

    def test_handlers_that_are_left_by_a_jump_do_not_return(self):
        trace, own = self.run_handlers("s:ALRM")
        left = sum(o[0] == "left" for o in own)
        self.assertEqual(sum("begin" in line for line in trace.stdout), left)
        self.assertFalse([line for line in trace.stdout if " end " in line])
        self.assertTrue(any("ended by the exit of their thread or process" in line or "still open" in line
                            for line in trace.stderr), trace.stderr)

    def test_a_handler_inside_a_handler(self):
        trace, own = self.run_handlers('s:SIGUSR?(kind == "end")', options=["--json"])
        events = [json.loads(line) for line in trace.stdout]
        outer = [e for e in events if e["name"] == "SIGUSR2"]
        self.assertEqual(len(outer), 10)
        for o in outer:
            inner = [e for e in events if e["name"] == "SIGUSR1" and e["tid"] == o["tid"]
                     and o["time_ns"] - o["duration_ns"] < e["time_ns"] < o["time_ns"]]
            self.assertEqual([e["depth"] for e in inner], [o["depth"] + 1])
        for e in outer:
            self.assertLess(e["own_ns"], e["duration_ns"] - 100000)	# the inner one takes as long

    def test_only_long_ones(self):
        trace, _ = self.run_handlers('s:SIGUSR2 (kind == "end" && duration > 150us) "%d", duration')
        self.assertEqual(len(trace.stdout) - 1, 10)	# and the line with the columns

    def test_events_of_a_program_are_not_signals(self):
        trace, _ = self.run_handlers("e:*", "s:SIGWINCH")
        self.assertEqual([line for line in trace.stdout[1:]], [])


class Words(live.Case):
    def test_what_is_no_signal(self):
        for probe, words in [("s:SIGUSR", "did you mean 'SIGUSR1'"), ("s:", "signal is missing"),
                             ("s:SIGFOOBAR", "unknown signal"), ("s:65", "unknown signal"),
                             ("signal:SEGV", "did you mean 's'")]:
            done = self.usertrace("trace", probe)
            self.assertEqual(done.status, 2)
            self.assertIn(words, "\n".join(done.stderr))

    def test_by_number_and_short_name(self):
        for probe in ["s:11", "s:SEGV", "s:sigsegv", "s:SIGSEGV"]:
            done = self.usertrace("trace", "--explain", probe)
            self.assertEqual(done.status, 0, done.stderr)
            self.assertIn("s:SIGSEGV, 2 sites", done.stdout[0])
