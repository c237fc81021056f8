# SPDX-License-Identifier: MIT
"""User events: what one costs when nobody listens and when somebody does, in both lanes, beside sys/sdt.h and LTTng-UST."""
import os
import subprocess

import lttng
import programs
import report as text
import tracers as all_tracers

CLOSE_NS = 0.1      # nobody's loop is the same to less than that twice
DISTURBED = "loops of one instruction are sensitive to where they lie: below 0.1 ns nothing is told apart"


class Loops:
    """The program of user.c."""

    def __init__(self, path, cpu=None, env=None):
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.process = subprocess.Popen(pin + [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        env={**os.environ, **(env or {})})
        words = self.process.stdout.readline().split()
        self.pid, self.kinds = int(words[1]), words[2:]
        for kind in self.kinds:
            self.ns(kind, 1000)     # the first call pays for its page

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.wait(programs.PATIENCE)
        self.process.stdout.close()

    def ns(self, kind, count):
        """Nanoseconds of processor time a turn of the loop."""
        self.process.stdin.write(f"loop {kind} {count}\n")
        line = self.process.stdout.readline().split()
        if len(line) != 3:
            raise RuntimeError("the measured program has ended")
        return int(line[2]) / int(line[1])

    def is_traced(self, kind):
        return all(self.ns(kind, programs.POKES) > programs.ATTACHED_NS for _ in range(5))


class UserEvents(all_tracers.Usertrace):
    """e:* of one process, to nowhere. With --no-forks at the header's faster place also where that would end children."""
    name = "usertrace trace e:*, to /dev/null"
    counts = prints = False

    def __init__(self, bench, options=()):
        super().__init__(bench)
        self.options = list(options)

    def argv(self, target, pids, site):
        return [self.bench.usertrace, "trace", "e:*", "-o", "/dev/null", *self.options] + [f"-p{pid}" for pid in pids]


class EmptyOnEvents(all_tracers.Empty):
    """A program of one instruction at the place where usertrace attaches."""

    def __init__(self, bench, options=()):
        super().__init__(bench)
        self.options = list(options)

    def argv(self, target, pids, site):
        return [self.bench.helper, "empty", str(pids[0]), "e:*", *self.options]


WAYS = {"": [], "--no-forks": ["--no-forks"]}


def untraced_round(bench, number, ours, theirs, samples):
    """ours: empty, probe, sdt, mark; theirs: the same program with LTTng's tracepoint in it."""
    kinds = [(ours, kind) for kind in ("empty", "probe", "sdt", "mark", "count") if kind in ours.kinds]
    if theirs:
        kinds += [(theirs, "empty"), (theirs, "lttng")]
    for program, kind in bench.rotate(kinds, number):
        name = kind if program is ours else f"{kind} (LTTng)"
        samples.setdefault(name, []).append(program.ns(kind, bench.user_loops))


def differences(samples, one, other):
    return [a - b for a, b in zip(samples.get(one, []), samples.get(other, []))]


def set_untraced_goals(report, samples):
    close = differences(samples, "probe", "sdt")
    measured = None
    if close:
        measured = abs(text.median(close)) <= CLOSE_NS or min(close) <= 0 <= max(close)
    report.goal("not traced: no measurable difference between a loop with `UT_PROBE` and the same loop with `sys/sdt.h`'s probe",
                f"{text.number(text.median(close))} ns ({text.spread(close)})" if close else "-", measured)
    mark = differences(samples, "mark", "empty")
    report.goal("not traced: under 1 ns for a user event that nobody listens to",
                f"{text.number(text.median(mark))} ns ({text.spread(mark)})", text.median(mark) < 1)


def measure_untraced(bench, report, lttng_program):
    samples = {}
    with Loops(bench.user, cpu=bench.target_cpu) as ours:
        theirs = Loops(lttng_program, cpu=bench.target_cpu) if lttng_program else None
        try:
            for number in range(bench.rounds):
                bench.say(f"user events, not traced, round {number + 1}")
                untraced_round(bench, number, ours, theirs, samples)
        finally:
            if theirs:
                theirs.__exit__()
    bench.note("untraced", samples=samples)
    set_untraced_goals(report, samples)
    words = {"probe": ("UT_PROBE", "empty"), "sdt": ("sys/sdt.h, DTRACE_PROBE2", "empty"), "mark": ("ut_mark", "empty"),
             "count": ("ut_count", "empty"), "lttng (LTTng)": ("LTTng-UST, tracepoint not enabled", "empty (LTTng)")}
    rows = [["nothing in the loop", text.number(text.median(samples["empty"])), text.spread(samples["empty"]), "-"]]
    for key, (name, base) in words.items():
        if key in samples:
            rows.append([name, text.number(text.median(samples[key])), text.spread(samples[key]),
                         text.number(text.median(differences(samples, key, base)))])
    report.section("A user event that nobody listens to", f"Nanoseconds a turn of a loop of {bench.user_loops:,} turns; "
                   f"{DISTURBED}.", ["in the loop", "median ns", "min..max", "above the empty loop"], rows)


def traced(bench, tracer, loops, kinds, pid):
    """Nanoseconds a turn of each kind while the tracer is at work on a process, this one or another."""
    with tracer.start(loops, [pid], kinds[0], cpu=bench.tracer_cpu) as running:
        if pid == loops.pid and kinds[0] == "count":
            running.wait_traced(loops, "count")
        else:
            tracer.wait_ready(running, loops, kinds[0])
        ns = {kind: loops.ns(kind, bench.user_events) for kind in kinds}
        running.stop()
        return ns


def measure_header(bench, report, lttng_program):
    """The lane of the header: an event against an empty program on the same site, and against LTTng's."""
    samples = {(name, way): [] for way in WAYS for name in ("empty", "usertrace")}
    session = lttng.Session(bench, lttng_program)
    reason = session.missing()
    with Loops(bench.user, cpu=bench.target_cpu) as loops:
        for number in range(bench.rounds):
            bench.say(f"user events, traced, round {number + 1}")
            tracers = [("empty", EmptyOnEvents), ("usertrace", UserEvents)]
            for name, kind, way in bench.rotate([(name, kind, way) for way in WAYS for name, kind in tracers], number):
                samples[name, way].append(traced(bench, kind(bench, WAYS[way]), loops, ["count"], loops.pid)["count"])
            if not reason:
                try:
                    samples.setdefault(("lttng", ""), []).append(session.measure(Loops))
                except lttng.Failed as error:
                    reason = str(error)
    if reason:
        report.skip("LTTng-UST, traced", reason)
    bench.note("traced", samples=samples)
    for way in WAYS:
        ours, empty = samples["usertrace", way], samples["empty", way]
        report.goal_at_most("traced: a user event from the header at most 1.2 × an empty BPF program on the same site" +
                            (f", with `{way}`" if way else ""), text.ratios(ours, empty), 1.2, " ×",
                            f"; {text.number(text.median(ours))} ns against {text.number(text.median(empty))}")
    return samples, session.discarded


def measure_prctl(bench, report, loops):
    """The lane of prctl: traced against a bare failing call, and what others pay meanwhile."""
    samples = {name: [] for name in ("silent", "prctl", "other", "other while traced", "silent while traced")}
    with Loops(bench.user) as somebody_else:
        for number in range(bench.rounds):
            bench.say(f"user events, prctl, round {number + 1}")
            samples["silent"].append(loops.ns("silent", bench.user_events))
            samples["other"].append(loops.ns("other", bench.user_events))
            samples["prctl"].append(traced(bench, UserEvents(bench), loops, ["prctl"], loops.pid)["prctl"])
            others = traced(bench, UserEvents(bench), loops, ["other", "silent"], somebody_else.pid)
            samples["other while traced"].append(others["other"])
            samples["silent while traced"].append(others["silent"])
    bench.note("prctl", samples=samples)
    report.goal_at_most("traced: an event by prctl at most 2.5 × a bare failing prctl", text.ratios(samples["prctl"], samples["silent"]),
                        2.5, " ×", f"; {text.number(text.median(samples['prctl']))} ns against "
                        f"{text.number(text.median(samples['silent']))}")
    return samples


def row(name, values, base):
    return [name, text.number(text.median(values)), text.spread(values), text.number(text.median(text.ratios(values, base)))]


def measure(bench, report):
    lttng_program = lttng.build_program(bench) if bench.beside_others else None
    measure_untraced(bench, report, lttng_program)
    header, discarded = measure_header(bench, report, lttng_program)
    with Loops(bench.user, cpu=bench.target_cpu) as loops:
        prctl = measure_prctl(bench, report, loops)
    rows = []
    for way in WAYS:
        words = f", {way}" if way else ""
        rows += [row(f"empty BPF program on the header's site{words}", header["empty", way], header["empty", way]),
                 row(f"usertrace, event from the header (ut_count){words}", header["usertrace", way], header["empty", way])]
    if header.get(("lttng", "")):
        rows.append(row("LTTng-UST, session started" + (f", {discarded:,} discarded" if discarded else ""), header["lttng", ""],
                        header["empty", ""]))
    report.section("A user event that is traced", f"Nanoseconds of the program's processor time an event, {bench.user_events:,} at full "
                   "speed, tracer on the other processor, to /dev/null (LTTng: to files). Some kernels end forked children of programs "
                   "that are traced at the site's faster place; there it is used with --no-forks alone.",
                   ["tracer", "median ns", "min..max", "÷ the empty program"], rows)
    report.section("The prctl lane", "Nanoseconds of processor time a call. The lower rows are a program that is not traced, while "
                   "usertrace traces the user events of another.", ["call", "median ns", "min..max", "÷ the same untraced"],
                   [row("a failing prctl, nobody traces", prctl["silent"], prctl["silent"]),
                    row("an event by prctl, traced", prctl["prctl"], prctl["silent"]),
                    row("getppid, nobody traces", prctl["other"], prctl["other"]),
                    row("getppid of a program that is not traced", prctl["other while traced"], prctl["other"]),
                    row("a failing prctl of a program that is not traced", prctl["silent while traced"], prctl["silent"])])
    more = differences(prctl, "other while traced", "other")
    report.section("What others pay", "While user events are traced, every system call of the machine takes another way through the "
                   "kernel.", ["", "median ns", "min..max"],
                   [["getppid of a program that is not traced: more than before", text.number(text.median(more)), text.spread(more)]])
