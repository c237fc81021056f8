# SPDX-License-Identifier: MIT
"""What `usertrace gc` costs: a program that collects all the time, one that does so a few times a second, and its own
processor time beside many runtimes that do nothing."""
import os
import shutil
import subprocess
import tempfile
import time

import programs
import report as text

HERE = os.path.dirname(os.path.realpath(__file__))
COLLECTORS = ["Serial", "Parallel", "G1", "Z", "Shenandoah"]
IDLE = 64
PYTHON = "/usr/bin/python3.11"


def slice_ms(bench):
    """Long enough for many collections, and for what a new breakpoint costs at first to be little."""
    return max(400 if bench.beside_others else 100, bench.load_ms // 10)


class Java:
    """A JVM that does what it is told and says how much that was."""

    def __init__(self, classes, mode, collector):
        self.process = subprocess.Popen(["java", "-Xmx64m", f"-XX:+Use{collector}GC", "-cp", classes, "Churn", mode],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
        self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.wait(programs.PATIENCE)
        self.process.stdout.close()

    def work(self, ms):
        """(operations, processor time in ns, collections)"""
        self.process.stdin.write(f"{ms}\n")
        return tuple(map(int, self.process.stdout.readline().split()))


class Watch:
    """`usertrace gc` from attached to Ctrl-C."""

    def __init__(self, bench, *args):
        self.process = subprocess.Popen([bench.usertrace, "gc", *args, "-o", "/dev/null"], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "attached" in line:
                return
        raise programs.Unusable("gc did not attach")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.send_signal(2)
        self.process.stderr.read()
        self.process.stderr.close()
        self.process.wait(programs.PATIENCE)

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Cost:
    """One program and collector, an entry a round: what is lost of throughput, and what an operation costs more."""

    def __init__(self):
        self.lost, self.cpu, self.collections, self.best = [], [], [], {False: 0, True: 0}

    @property
    def lost_of_best(self):
        """The best slices are those that the rest of the machine disturbed least."""
        return 100 * (1 - self.best[True] / self.best[False])


def one_round(bench, java, traced_first, ms, cost):
    """Two slices side by side, one of them traced."""
    figures = {}
    for traced in (traced_first, not traced_first):
        if traced:
            with Watch(bench, "-p", str(java.process.pid)):
                figures[traced] = java.work(ms)
        else:
            figures[traced] = java.work(ms)
    (plain, plain_ns, _), (seen, seen_ns, collections) = figures[False], figures[True]
    if not plain or not seen or not plain_ns:
        return      # not a single operation: the machine did something else
    cost.best = {traced: max(cost.best[traced], figures[traced][0]) for traced in figures}
    cost.lost.append(100 * (1 - seen / plain))
    cost.cpu.append(100 * (seen_ns / seen / (plain_ns / plain) - 1))
    cost.collections.append(collections * 1000 / ms)


def measure_program(bench, classes, mode, collector):
    cost, ms = Cost(), slice_ms(bench)
    with Java(classes, mode, collector) as java:
        java.work(2 * ms)       # the compilers come first
        java.work(ms)
        for number in range(4 * bench.rounds):
            bench.say(f"gc, {mode}, {collector}: round {number + 1}")
            one_round(bench, java, number % 2 == 0, ms, cost)
    return cost


def row(mode, collector, cost):
    return [f"{mode}, {collector}", text.number(text.median(cost.collections)), text.number(text.median(cost.lost)),
            text.spread(cost.lost), text.number(cost.lost_of_best), text.number(text.median(cost.cpu)), text.spread(cost.cpu)]


def measure_java(bench, report):
    if not shutil.which("java") or not shutil.which("javac"):
        report.skip("gc of a Java program", "no JDK")
        return
    rows, runs = [], [("heavy", name) for name in (COLLECTORS if bench.beside_others else ["Serial"])] + [("calm", "Serial")]
    with tempfile.TemporaryDirectory(prefix="bench-classes-") as classes:
        subprocess.run(["javac", "-d", classes, os.path.join(HERE, "Churn.java")], check=True)
        costs = {run: measure_program(bench, classes, *run) for run in runs}
    for (mode, collector), cost in costs.items():
        rows.append(row(mode, collector, cost))
        bench.note("gc", mode=mode, collector=collector, cost=cost)
    all_heavy = [lost for (mode, _), cost in costs.items() if mode == "heavy" for lost in cost.lost]
    report.goal_at_most("gc of a Java program that collects all the time: throughput lost under 1 %, all collectors", all_heavy, 1, " %")
    report.goal_at_most("the same of one that collects a few times a second: nothing measurable", costs["calm", "Serial"].lost, 0.5, " %")
    report.section("What gc costs a Java program", f"-Xmx64m; slices of {slice_ms(bench)} ms, one with `usertrace gc -p` and "
                   "one without in each round, in turns first. «lost»: operations a second, the median of the rounds, and of the best "
                   "slices of all rounds; «processor»: time of the process an operation.",
                   ["program", "collections a second", "lost, %", "min..max", "of the best", "more processor, %", "min..max"], rows)


def measure_idle(bench, report):
    if not os.path.exists(PYTHON):
        report.skip("gc -a beside idle runtimes", f"no {PYTHON}")
        return
    bench.say(f"gc -a beside {IDLE} idle runtimes")
    idle = [subprocess.Popen([PYTHON, "-c", "import sys; print(flush=True); sys.stdin.read()"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE) for _ in range(IDLE)]
    try:
        for process in idle:
            process.stdout.readline()
        with Watch(bench, "-a") as watch:
            time.sleep(1)       # it looks at new processes a few times
            before, start = watch.cpu_seconds(), time.monotonic()
            time.sleep(bench.load_ms / 500)
            share = 100 * (watch.cpu_seconds() - before) / (time.monotonic() - start)
    finally:
        for process in idle:
            process.stdin.close()
            process.wait()
            process.stdout.close()
    report.goal_at_most(f"gc -a beside {IDLE} idle runtimes: under 5 % of a processor", [share], 5, " %")
    bench.note("idle", share=share)


def measure(bench, report):
    measure_java(bench, report)
    measure_idle(bench, report)
