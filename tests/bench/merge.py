# SPDX-License-Identifier: MIT
"""What a record costs on its way through the merge, for simulated rings of few and of many CPUs."""
import report as text
import tracers

RINGS = (1, 2, 8, 32, 128)


def measure(bench, report):
    bench.say("merge")
    times = {rings: [] for rings in RINGS}
    for _ in range(bench.rounds):
        for rings in RINGS:
            times[rings].append(float(tracers.run(bench.helper, "merge", str(rings), str(bench.print_lines)).stdout))
    bench.note("merge", times=times)
    most, few = text.median(times[128]), text.median(times[2])
    report.goal("merge: a record of 128 rings in under 150 ns", f"{text.number(most)} ns; of 2 rings {text.number(few)} ns", most < 150)
    report.section("Merge", "Records of simulated rings, put in order: processor time of the reader for each. A record in 32 comes too late in its ring.",
                   ["rings", "median ns", "min..max"], [[f"{rings}", text.number(text.median(ns)), text.spread(ns)] for rings, ns in times.items()])
