# SPDX-License-Identifier: MIT
"""What was measured as text: tables, goals with «met» or «not met», and what was left out and why. Pure."""
import statistics

MET = {True: "met", False: "**not met**", None: "not measured"}
TOO_SLOW = "met, at the rate this machine reaches"


def number(value):
    """Three digits that matter, thousands apart."""
    if value is None:
        return "-"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread(values):
    return f"{number(min(values))}..{number(max(values))}" if values else "-"


def median(values):
    return statistics.median(values) if values else None


def ratios(ours, theirs):
    """Of each round: what disturbs the machine for longer than a round disturbs both."""
    return [a / b for a, b in zip(ours, theirs) if b]


def percent(part, whole):
    """Never rounded up to 100 %."""
    if not whole:
        return "-"
    return f"{100 * part / whole:.4g} %" if part == whole or part / whole < 0.99995 else "99.99 %"


class Report:
    def __init__(self):
        self.skipped = {}
        self.goals = []         # (what, measured, met)
        self.sections = []      # (title, prose, header, rows)

    def skip(self, name, reason):
        self.skipped.setdefault(name, reason)

    def goal(self, what, measured, met):
        self.goals.append((what, measured, met))

    def goal_at_most(self, what, values, limit, unit="", more=""):
        value = median(values)
        measured = "-" if value is None else f"{number(value)}{unit} ({spread(values)}){more}"
        self.goal(what, measured, None if value is None else value <= limit)

    def section(self, title, prose, header, rows):
        self.sections.append((title, prose, header, rows))


def table(header, rows):
    """Markdown; every column but the first is a number."""
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def goals_text(report):
    return table(["goal", "measured: median (min..max)", "state"],
                 [(what, measured, MET.get(met, met)) for what, measured, met in report.goals])


def render(report, facts, command):
    """The whole page."""
    parts = ["# Benchmarks", f"Written by `{command}`; nothing here is typed by hand. How it measures is in `tests/bench`.",
             "\n".join(f"- {name}: {value}" for name, value in facts),
             "Each round runs every tracer once, one after another, freshly attached, in an order that changes from round to "
             "round. A ratio is the median of the ratios of the rounds. Every event carries two 64-bit arguments.",
             "## What it must reach", goals_text(report)]
    for title, prose, header, rows in report.sections:
        parts += ["## " + title, prose, table(header, rows)]
    if report.skipped:
        parts += ["## Left out", "\n".join(f"- {name}: {reason}" for name, reason in report.skipped.items())]
    return "\n\n".join(parts) + "\n"
