# SPDX-License-Identifier: MIT
"""What one traced event costs the traced program: processor time of its thread, the tracer on another processor."""
import programs
import report as text
import tracers as all_tracers

SITES = [("nop1", "USDT probe, 1-byte nop (what sys/sdt.h makes)"), ("nop5", "USDT probe, 5-byte nop at a function's start")]


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


def row(name, sample, empty, ours):
    above = [a - b for a, b in zip(sample.ns, empty.ns)] if empty else []
    shares = text.ratios(ours.ns, sample.ns) if ours else []
    recorded = text.percent(sample.recorded, sample.fired)
    if sample.said_lost:
        recorded += f", {sample.said_lost:,} said lost"
    return [name, text.number(text.median(sample.ns)), text.spread(sample.ns), text.number(text.median(above)),
            text.number(text.median(shares)), recorded]


def set_goals(report, by_name):
    ours = by_name.get("usertrace, to a file")
    for other, limit, words in [("empty BPF program", 1.15, "at most 1.15 × an empty BPF program on the same site"),
                                ("perf record", 0.5, "at most half of `perf record`"),
                                ("bpftrace, printf", 0.1, "at most a tenth of bpftrace's printing")]:
        values = text.ratios(ours.ns, by_name[other].ns) if ours and other in by_name else []
        report.goal_at_most("cost of one traced event: " + words, values, limit, " ×")


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
                       "Nanoseconds of the traced thread's processor time an event, at full speed, tracer on the other processor.",
                       ["tracer", "median ns", "min..max", "above the empty program", "usertrace ÷ this", "recorded"],
                       [row("nothing attached", nothing, None, None)] +
                       [row(name, sample, empty, ours) for name, sample in by_name.items()])
