# SPDX-License-Identifier: MIT
"""Order of user events: processes hand a turn round, announcing it by turns through the header and by prctl."""
import os
import re
import subprocess

import order
import programs
import report as text
import user

PROCESSES = (2, 8)
LINE = re.compile(rb"(\d+)\n")


class Turns(user.UserEvents):
    """Lines of one number to a file."""
    name = "usertrace, to a file"

    def argv(self, target, pids, site):
        return [self.bench.usertrace, "trace", 'e:turn "%d", value'] + [f"-p{pid}" for pid in pids]

    def numbers(self, running):
        with open(running.out.name, "rb") as file:
            for line in file:
                match = LINE.search(line)
                if match:
                    yield int(match[1])


def play(bench, processes, turns):
    """(lines, late, farthest, said lost, turns a second)"""
    argv = [os.path.join(bench.build, "tests/targets/turns"), str(processes), str(turns)]
    tracer = Turns(bench)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as target:
        pids = target.stdout.readline().split()[1:]
        with tracer.start(target, pids, "turn") as running:
            tracer.wait_ready(running, target, "turn")
            target.stdin.write("\n")
            words = target.stdout.readline().split()
            running.stop()
            if words[:2] != ["turned", str(turns)]:
                raise programs.Unusable("the processes did not take all turns")
            lost = tracer.lost_events(running)
            return (*order.disorder(tracer.numbers(running)), lost, turns / int(words[2]) * 1e9)


def measure(bench, report):
    rows = []
    for processes in PROCESSES:
        bench.say(f"order of user events: {processes} processes")
        turns = bench.user_turns
        lines, late, farthest, lost, rate = play(bench, processes, turns)
        bench.note("turns", processes=processes, lines=lines, late=late, turns=turns, lost=lost)
        report.goal(f"order: {processes} processes handing a turn round, mixed lanes, {turns:,} turns: not one inversion in what is printed",
                    f"{late:,} out of order, {lines:,} lines, {lost:,} lost", late == 0 and lines == turns and lost == 0)
        rows.append([f"{processes} processes", text.percent(lines, turns), f"{late:,}", f"{farthest:,}", f"{lost:,}", text.number(int(rate))])
    report.section("Order of user events", f"Processes hand a turn round in shared memory, {bench.user_turns:,} turns, one event a turn: "
                   "even turns by the header, odd ones by prctl. One run each.",
                   ["", "printed", "lines after a later one", "largest displacement", "lost", "turns a second"], rows)
