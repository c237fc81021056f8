# SPDX-License-Identifier: MIT
"""Order of lines: two processes hand a turn to and fro, one event a turn; the lines must come as the turns went."""
import programs
import report as text


def disorder(numbers):
    """(lines, lines that stand after a later one, largest displacement)"""
    lines = late = farthest = highest = 0
    for number in numbers:
        lines += 1
        if number < highest:
            late += 1
            farthest = max(farthest, highest - number)
        highest = max(highest, number)
    return lines, late, farthest


def play(bench, tracer, turns):
    with programs.Target(bench.build) as target:
        with tracer.start(target, [target.pid, target.partner], "nop1") as running:
            running.wait_traced(target, "nop1")
            _, ns = target.ask(f"turns nop1 {turns}")
            running.stop()
            return (*disorder(number for number, _ in tracer.events(running)), turns / ns * 1e9)


def measure(bench, report):
    turns, rows = bench.turns, []
    for tracer in bench.usable:
        if not tracer.counts:
            continue
        bench.say(f"order: {tracer.name}")
        lines, late, farthest, rate = play(bench, tracer, turns)
        rows.append([tracer.name, text.percent(lines, turns), f"{late:,}", f"{farthest:,}", text.number(int(rate))])
        if tracer.name == "usertrace, to a file":
            report.goal(f"order: two programs hand a turn to and fro, {turns:,} turns: no line out of order",
                        f"{late:,} out of order, {lines:,} lines", late == 0 and lines == turns)
            bench.note("order", lines=lines, late=late, turns=turns)
    report.section("Order", f"Two processes hand a turn to and fro through a futex, {turns:,} turns, one event a turn. One run each.",
                   ["tracer", "recorded", "lines after a later one", "largest displacement", "turns a second"], rows)
