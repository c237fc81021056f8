# SPDX-License-Identifier: MIT
"""Two programs firing together, written as text: every event is a line or is counted as lost. And the memory of it."""
import programs
import report as text

FULL_SPEED = 0


class Load:
    """One run: what was asked, what the programs fired, what the tracer printed and what it said."""

    def __init__(self, asked):
        self.asked, self.rate, self.fired, self.lines, self.twice, self.lost, self.peak_kib = asked, 0, 0, 0, 0, 0, 0

    @property
    def unaccounted(self):
        return self.fired - self.lines - self.lost


def check_lines(load, events):
    """Counts the events of each process once: what is printed twice hides what is missing."""
    seen = {}
    for number, pid in events:
        if pid not in seen:
            seen[pid] = bytearray(load.fired + 1)
        numbers = seen[pid]
        if number > load.fired or numbers[number]:
            load.twice += 1
        else:
            numbers[number] = 1
            load.lines += 1


def fire_both(targets, site, rate, ms):
    for target in targets:
        target.say(f"fire {site} {rate} {ms}")
    answers = [target.answer() for target in targets]
    return sum(a[0] for a in answers), max(a[2] for a in answers)


def run(bench, tracer, site, asked):
    load = Load(asked)
    with programs.Target(bench.build) as one, programs.Target(bench.build) as other:
        with tracer.start(one, [one.pid, other.pid], site) as running:
            running.wait_traced(one, site)
            running.wait_traced(other, site)
            load.fired, ns = fire_both([one, other], site, asked // 2, bench.load_ms)
            load.rate = load.fired / ns * 1e9
            load.peak_kib = running.peak_kib()
            running.stop()
            check_lines(load, tracer.events(running))
            load.lost = tracer.lost_events(running)
    return load


def row(tracer, site, load):
    return [f"{tracer.name}, {site}", f"{load.asked:,}" if load.asked else "full speed", text.number(int(load.rate)),
            f"{load.fired:,}", text.percent(load.lines, load.fired), f"{load.lost:,}", f"{load.unaccounted:,}",
            f"{load.twice:,}", text.number(load.peak_kib / 1024)]


def state(load, good):
    """Where a trap is slow, the programs cannot fire as often as they are asked to."""
    return text.TOO_SLOW if good and load.rate < 0.95 * load.asked else good


def set_goals(report, site, load):
    seconds = f"{load.fired:,} fired ({load.rate / 1e6:.2f} M/s), {load.lost:,} lost, {load.unaccounted:,} unaccounted"
    if load.asked:
        report.goal(f"two programs firing {load.asked:,} events a second together ({site}), to a file as text: none lost", seconds,
                    state(load, load.lost == 0 and load.unaccounted == 0 and load.twice == 0))
        report.goal(f"resident memory under 24 MiB while doing so ({site})", f"{load.peak_kib / 1024:.1f} MiB",
                    state(load, load.peak_kib < 24 * 1024))
    else:
        report.goal(f"the same at full speed ({site}): none unaccounted for", seconds, load.unaccounted == 0 and load.twice == 0)


def measure(bench, report):
    rows = []
    for site in ("nop1", "nop5"):
        for tracer in bench.usable:
            if not tracer.counts:
                continue
            for asked in (bench.load_rate, FULL_SPEED):
                bench.say(f"load, {site}: {tracer.name}, {asked or 'full speed'}")
                load = run(bench, tracer, site, asked)
                rows.append(row(tracer, site, load))
                if tracer.name == "usertrace, to a file":
                    set_goals(report, site, load)
                    bench.note("load", site=site, load=load)
    report.section("Two programs at once", f"Two processes fire for {bench.load_ms / 1000:g} s; the tracer writes text (perf: its "
                   "data file, printed afterwards). «Unaccounted»: fired, neither printed nor said to be lost. One run each.",
                   ["tracer, site", "asked a second", "reached a second", "fired", "printed", "said lost", "unaccounted",
                    "printed twice", "peak MiB"], rows)
