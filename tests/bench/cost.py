# SPDX-License-Identifier: MIT
"""What one traced event costs the traced program: processor time of its thread, the tracer on another processor."""
import programs
import report as text
import tracers as all_tracers

SITES = [("nop1", "USDT probe, 1-byte nop (what sys/sdt.h makes)"), ("nop5", "USDT probe, 5-byte nop at a function's start (`--no-forks`)")]


RETURNS = [("trampoline", ""), ("trampoline, with the duration", " duration"), ("RET instruction, with %U", ' "%U"')]


class Sample:
    """One tracer on one site, one entry a round."""

    def __init__(self):
        self.ns, self.recorded, self.fired, self.said_lost = [], 0, 0, 0


def fire(target, site, ms):
    """(nanoseconds an event, events)"""
    fired, cpu_ns, _ = target.ask(f"fire {site} 0 {ms}")
    return cpu_ns / fired, fired


def one_round(bench, tracer, target, site, sample):
    with tracer.start(target, [target.pid], site, cpu=bench.tracer_cpu) as running:
        running.wait_traced(target, site)
        ns, fired = fire(target, site, bench.fire_ms)
        running.stop()
        sample.ns.append(ns)
        if tracer.counts:
            sample.fired += fired
            sample.recorded += sum(1 for _ in tracer.events(running))
            sample.said_lost += tracer.lost_events(running)


def measure_site(bench, found, target, site):
    samples = {tracer: Sample() for tracer in found}
    nothing = Sample()
    for number in range(bench.rounds):
        nothing.ns.append(fire(target, site, bench.fire_ms)[0])
        for tracer in bench.rotate(found, number):
            bench.say(f"cost, {site}, round {number + 1}: {tracer.name}")
            one_round(bench, tracer, target, site, samples[tracer])
    return nothing, samples


def above(sample, empty):
    """What the tracer itself adds to the trap, a round at a time."""
    return [a - b for a, b in zip(sample.ns, empty.ns)] if empty else []


def row(name, sample, empty, ours):
    shares = text.ratios(ours.ns, sample.ns) if ours else []
    recorded = text.percent(sample.recorded, sample.fired)
    if sample.said_lost:
        recorded += f", {sample.said_lost:,} said lost"
    return [name, text.number(text.median(sample.ns)), text.spread(sample.ns), text.number(text.median(above(sample, empty))),
            text.number(text.median(shares)), recorded]


def set_goals(report, by_name):
    """The ratios; and beside them what the tracers add to the trap, which on some machines hides everything else."""
    ours, empty = by_name.get(all_tracers.Usertrace.name), by_name.get(all_tracers.Empty.name)
    for other, limit, words in [(all_tracers.Empty.name, 1.15, "at most 1.15 × an empty BPF program on the same site"),
                                (all_tracers.PerfRecord.name, 0.5, "at most half of `perf record`"),
                                (all_tracers.Bpftrace.name, 0.1, "at most a tenth of bpftrace's printing")]:
        values = text.ratios(ours.ns, by_name[other].ns) if ours and other in by_name else []
        more = ""
        if values and empty:
            pair = [text.number(text.median(above(by_name[name], empty))) for name in (all_tracers.Usertrace.name, other)]
            more = f"; above the empty program {pair[0]} ns" + ("" if other == all_tracers.Empty.name else f" against {pair[1]}")
        report.goal_at_most("cost of one traced event: " + words, values, limit, " ×", more)


def prose(empty):
    trap = f" The empty program's {text.number(text.median(empty.ns))} ns are the trap and the kernel's way to a program." if empty else ""
    return "Nanoseconds of the traced thread's processor time an event, at full speed, tracer on the other processor." + trap


def measure(bench, report):
    found = bench.usable
    for site, title in SITES:
        with programs.Target(bench.build, cpu=bench.target_cpu) as target:
            nothing, samples = measure_site(bench, found, target, site)
        by_name = {tracer.name: sample for tracer, sample in samples.items()}
        empty, ours = by_name.get(all_tracers.Empty.name), by_name.get(all_tracers.Usertrace.name)
        if site == "nop1":
            set_goals(report, by_name)
        bench.note_samples(site, by_name)
        report.section(f"Cost of one traced event: {title}",
                       prose(empty),
                       ["tracer", "median ns", "min..max", "above the empty program", "usertrace ÷ this", "recorded"],
                       [row("nothing attached", nothing, None, None)] +
                       [row(name, sample, empty, ours) for name, sample in by_name.items()])
    measure_returns(bench, report)


def measure_returns(bench, report):
    """What a return costs in each way in which it is traced: a function of C, with and without the kernel's trampoline."""
    found = [all_tracers.UsertraceReturn(bench, *way) for way in RETURNS]
    if found[0].missing():
        return
    with programs.Target(bench.build, cpu=bench.target_cpu) as target:
        nothing, samples = measure_site(bench, found, target, "nop1")
    report.section("Cost of one traced return", "Nanoseconds of the traced thread's processor time a call; without a trampoline the "
                   "kernel executes RET in single steps.", ["way", "median ns", "min..max"],
                   [[name, text.number(text.median(sample.ns)), text.spread(sample.ns)]
                    for name, sample in [("nothing attached", nothing)] + [(tracer.name, samples[tracer]) for tracer in found]])
