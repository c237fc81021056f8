# SPDX-License-Identifier: MIT
"""Traced spans against the log that examples/minivm writes with its own clock, read before and after each announcement."""
import collections
import json
import os
import subprocess

import report as text

RUNS = [("mark-sweep", 1), ("mark-sweep", 8), ("generational", 1), ("generational", 8)]


class Found:
    """What became of the spans of one run."""

    def __init__(self):
        self.spans = self.there = self.between = self.close = self.held_up = 0


def read_log(path):
    """(kind, tid, begin, begun, end, ended) in ns: the clock before and after the two announcements of each span."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                kind, _, tid, *times = line.split(" ", 9)
                if kind not in ("ran", "woken"):    # not announced
                    yield kind, int(tid), *map(int, times[:4])


def read_trace(path):
    """{(tid, name, kind): [times]}"""
    times = collections.defaultdict(collections.deque)
    with open(path, encoding="utf-8") as file:
        for event in map(json.loads, file):
            times[event["tid"], event["name"], event["type"]].append(event["time_ns"])
    return times


def compare(log, traced):
    found = Found()
    for kind, tid, begin, begun, end, ended in sorted(log, key=lambda s: s[2]):
        found.spans += 1
        begins, ends = traced[tid, kind, "begin"], traced[tid, kind, "end"]
        if not begins or not ends:
            continue
        first, last = begins.popleft(), ends.popleft()
        limit = max(2000, (ended - begun) / 100)
        found.there += 1
        found.between += begin <= first <= begun and end <= last <= ended
        found.close += abs((last - first) - (ended - begun)) <= limit
        found.held_up += max(begun - begin, ended - end) > limit
    return found


def run(bench, gc, threads, options):
    out, log = os.path.join(bench.folder, "spans.json"), os.path.join(bench.folder, "minivm.log")
    minivm = os.path.join(bench.build, "examples/minivm/minivm")
    subprocess.run([bench.usertrace, "trace", "--json", "-o", out, *options, "e:*", "--", minivm, "--log", log, "--quiet",
                    "--gc", gc, "--threads", str(threads), "--heap", "4M", "--rounds", "20" if bench.beside_others else "5", "trees"],
                   check=True, stderr=subprocess.DEVNULL)
    return compare(list(read_log(log)), read_trace(out))


def row(gc, threads, options, f):
    return [f"{gc}, {threads} thread{'s' * (threads > 1)}{', --no-forks' * bool(options)}", f"{f.spans:,}",
            text.percent(f.there, f.spans), text.percent(f.between, f.spans), text.percent(f.close, f.spans),
            text.percent(f.held_up, f.spans)]


def measure(bench, report):
    bench.say("spans")
    results = [(gc, threads, options, run(bench, gc, threads, options)) for options in ([], ["--no-forks"])
               for gc, threads in RUNS]
    bench.note("spans", found=[f for *_, f in results])
    total = {name: sum(getattr(f, name) for *_, f in results) for name in ("spans", "there", "between", "close")}
    report.goal("spans against minivm's own log: every one there", text.percent(total["there"], total["spans"]),
                total["there"] == total["spans"])
    report.goal("each duration within 2 µs or 1 %", f"{text.percent(total['close'], total['spans'])} of them; all traced times lie "
                f"between minivm's own readings before and after: {text.percent(total['between'], total['spans'])}",
                total["close"] == total["spans"])
    report.section("Spans against a program's own log",
                   "minivm reads the clock before and after each announcement. «between»: both traced times lie between the "
                   "readings. «close»: the duration differs from that of the readings after by at most 2 µs or 1 %. «held up»: an "
                   "announcement itself took longer than that, so that readings before and after it differ by more.",
                   ["run", "spans", "there", "between", "close", "held up"], [row(*r) for r in results])
