# SPDX-License-Identifier: MIT
"""The last event before a crash: programs that announce a few events and at once abort, raise SIGSEGV or are killed."""
import json
import os
import subprocess

import programs
import report as text
import user

STEPS = 5
WORDS = {"abort": "abort", "segv": "SIGSEGV", "kill": "SIGKILL"}


class Steps(user.UserEvents):
    """Every step of every program."""
    name = "usertrace, to a file"

    def argv(self, target, pids, site):
        return [self.bench.usertrace, "trace", "-a", "--json", "e:step"]

    def values(self, running, pids):
        """{pid: [values]}"""
        seen = {pid: [] for pid in pids}
        with open(running.out.name, encoding="utf-8") as file:
            for event in map(json.loads, file):
                if event.get("name") == "step" and event.get("pid") in seen:
                    seen[event["pid"]].append(event["value"])
        return seen


def crash(bench, count):
    """{(lane, end): [programs, last event there, all there]}"""
    tracer, found = Steps(bench), {}
    argv = [os.path.join(bench.build, "tests/targets/crasher"), str(count)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as target:
        target.stdout.readline()
        with tracer.start(target, [], "step") as running:
            tracer.wait_ready(running, target, "step")
            target.stdin.write("\n")
            lines = target.stdout.read().split("\n")
            running.stop()
            gone = {int(words[1]): tuple(words[2:]) for words in map(str.split, lines) if words[:1] == ["gone"]}
            if len(gone) != count:
                raise programs.Unusable(f"{len(gone)} of {count} programs ended as they should, or had a number of their own")
            seen = tracer.values(running, gone)
    for pid, how in gone.items():
        counts = found.setdefault(how, [0, 0, 0])
        counts[0] += 1
        counts[1] += STEPS in seen[pid]
        counts[2] += seen[pid] == list(range(1, STEPS + 1))
    return found


def measure(bench, report):
    bench.say("crashes")
    count = bench.user_crashes
    found = crash(bench, count)
    last, whole = sum(c[1] for c in found.values()), sum(c[2] for c in found.values())
    bench.note("crashes", count=count, last=last, whole=whole)
    report.goal(f"crash: {count:,} programs that emit and at once abort, raise SIGSEGV or are killed: the last event is there {count:,} times",
                f"{last:,} times; all {STEPS} events {whole:,} times", last == count)
    report.section("The last event before a crash", f"{count:,} programs, one after another, each announces {STEPS} events and is gone.",
                   ["lane, end", "programs", "last event there", f"all {STEPS} there, in order"],
                   [[f"{lane}, {WORDS[end]}", c[0], text.percent(c[1], c[0]), text.percent(c[2], c[0])]
                    for (lane, end), c in sorted(found.items())])
