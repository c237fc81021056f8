# SPDX-License-Identifier: MIT
"""The size of the command, and what a line of the printer takes."""
import os
import subprocess

import report as text
import tracers


def measure_size(bench, report):
    stripped = os.path.join(bench.folder, "stripped")
    subprocess.run(["strip", "-o", stripped, bench.usertrace], check=True)
    sizes = {"as installed": os.path.getsize(bench.usertrace), "stripped": os.path.getsize(stripped)}
    os.unlink(stripped)
    for name, size in sizes.items():
        report.goal(f"command under 3 MiB, {name}", f"{size / 2**20:.2f} MiB", size < 3 * 2**20)
    bench.note("size", **{name.replace(" ", "_"): size for name, size in sizes.items()})


def print_times(bench):
    """{case: [nanoseconds a line, one a round]}"""
    times = {}
    for _ in range(bench.rounds):
        for line in tracers.run(bench.helper, "print", str(bench.print_lines)).stdout.splitlines():
            name, ns = line.split("\t")
            times.setdefault(name, []).append(float(ns))
    return times


def measure(bench, report):
    measure_size(bench, report)
    bench.say("printing")
    times = print_times(bench)
    bench.note("print", times=times)
    report.section("Printing", "The live printer alone: from a record to a line in memory.",
                   ["line", "median ns", "min..max", "lines a second"],
                   [[name, text.number(text.median(ns)), text.spread(ns), text.number(int(1e9 / text.median(ns)))]
                    for name, ns in times.items()])
