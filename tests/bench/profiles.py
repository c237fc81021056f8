# SPDX-License-Identifier: MIT
"""`usertrace profile` and `usertrace flame` beside perf's and FlameGraph's scripts: names, complete stacks, truth, cost, sizes."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import profiled
import programs
import report as text

PROFILERS = ["usertrace profile", "perf record -g", "perf record --call-graph dwarf"]
UNKNOWN_MAX, COMPLETE_MIN = 0.1, 99.9


def seconds_of(bench):
    return max(0.3, bench.load_ms / 1000)


def stacks_of(bench, profiler, pid, folder):
    seconds = seconds_of(bench)
    if profiler == PROFILERS[0]:
        return profiled.usertrace_profile(bench, pid, seconds, folder)
    how = ["-g"] if profiler == PROFILERS[1] else ["--call-graph", "dwarf,16384"]
    # A dump of the stack with each sample: a second of it is as much as anybody wants to read again.
    return profiled.perf_profile(how, pid, seconds if how == ["-g"] else min(seconds, 1), folder)


def stack_row(program, profiler, found):
    return [f"{program}: {profiler}", f"{found.samples:,}", text.number(found.frames / found.samples),
            f"{100 * found.unknown / found.frames:.3f}", f"{100 * found.nameless / found.frames:.3f}",
            f"{100 * found.complete / found.samples:.2f}"]


def measure_stacks(bench, report, folder):
    profilers = PROFILERS if bench.beside_others and shutil.which("perf") else PROFILERS[:1]
    rows, unknown, complete = [], [], []
    for program in profiled.all_programs(folder) if bench.beside_others else profiled.small_programs(folder):
        if program.why_not:
            report.skip(f"profile of {program.name}", program.why_not)
            continue
        try:
            with program:
                for profiler in profilers:
                    bench.say(f"profile of {program.name}: {profiler}")
                    found = stacks_of(bench, profiler, program.pid, folder)
                    if not found.samples:
                        raise programs.Unusable(f"{profiler}: no samples")
                    rows.append(stack_row(program.name, profiler, found))
                    bench.note("profile", program=program.name, profiler=profiler, found=found)
                    if profiler == PROFILERS[0]:
                        unknown.append((100 * found.unknown / found.frames, program.name))
                        complete.append((100 * found.complete / found.samples, program.name))
        except (programs.Unusable, subprocess.CalledProcessError) as reason:
            report.skip(f"profile of {program.name}", str(reason)[:160])
    if unknown:
        (worst, name), (least, least_name) = max(unknown), min(complete)
        report.goal(f"unknown frames under {UNKNOWN_MAX} %, on each of {len(unknown)} programs", f"{worst:.3f} % at most ({name})", worst < UNKNOWN_MAX)
        report.goal(f"stacks that reach their thread's start over {COMPLETE_MIN} %, on each of them", f"{least:.2f} % at least ({least_name})",
                    least > COMPLETE_MIN)
    report.section("Profiles: names and complete stacks", f"{seconds_of(bench):g} s of each program at 999 Hz, as root; `perf`'s dwarf 1 s, with 16 KiB "
                   "of stack and `perf script --max-stack 1100`. «unknown»: an address without any owner; «no name»: these, and functions of "
                   "files without symbols, which usertrace tells by their place and perf by nothing. «complete»: the outermost frame is "
                   "where a thread begins.",
                   ["program and profiler", "samples", "frames a sample", "unknown, %", "no name, %", "complete, %"], rows)


def shares_in(path, names):
    """Of all samples, those that have a frame of each name."""
    count, whole = dict.fromkeys(names, 0), 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            stack, _, n = line.rstrip("\n").rpartition(" ")
            whole += int(n)
            for name in {re.sub(r"_\[[a-z]\]$", "", frame) for frame in stack.split(";")} & set(names):
                count[name] += int(n)
    return {name: count[name] / whole for name in names} if whole else {}, whole


def truth(bench, folder, argv, *options):
    """Largest difference of a share, in percentage points, and the samples it is of."""
    out, said = os.path.join(folder, "truth.folded"), os.path.join(folder, "said")
    with open(said, "w", encoding="ascii") as file:
        done = subprocess.run([bench.usertrace, "profile", "--no-kernel", *options, "-o", out, "--", *argv], stdin=subprocess.DEVNULL, stdout=file,
                              stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise programs.Unusable(done.stderr.strip()[-200:])
    with open(said, encoding="ascii") as file:
        real = {line.split()[0]: float(line.split()[1]) for line in file}
    seen, samples = shares_in(out, real)
    # What a program does besides is nobody's share: shares are compared among themselves.
    whole = sum(seen.values()) or 1
    return max(100 * abs(seen[name] / whole - real[name]) for name in real), samples


def measure_truth(bench, report, folder):
    seconds = "10.3" if bench.beside_others and bench.load_ms >= 5000 else "0.4"
    include = os.path.join(os.path.dirname(profiled.HERE), "../include")
    runs = [("-O0", profiled.compiled(folder, "shares.c", "shares0", "-O0", "-g"), []),
            ("-O2", profiled.compiled(folder, "shares.c", "shares2", "-O2", "-g"), []),
            ("-O2, with inlining", profiled.compiled(folder, "shares.c", "shares2i", "-O2", "-g"), ["--lines"]),
            ("16 places of run-time code that change owners", profiled.compiled(folder, "slots.c", "slots", "-O2", "-I", include, os.path.join(include, "usertrace-jit.c")), [])]
    if not bench.beside_others:
        runs = runs[1::2]
    rows, worst, fewest = [], 0, None
    for name, program, options in runs:
        bench.say(f"truth of a profile: {name}")
        if name in ("-O0", "-O2"):
            options = ["--lines"]
        wrong, samples = truth(bench, folder, [program, seconds], *options)
        worst, fewest = max(worst, wrong), min(samples, fewest or samples)
        rows.append([name, f"{samples:,}", text.number(wrong)])
        bench.note("truth", run=name, wrong=wrong, samples=samples)
    report.goal("truth: shares of time within 1 percentage point of what the program measures itself, over 10,000 samples",
                f"{text.number(worst)} at most, over {fewest:,} samples or more", worst < 1)
    report.section("Truth of a profile", "Programs whose functions, or owners of run-time code, measure the processor time that each of them takes.",
                   ["program", "samples", "largest difference of a share, percentage points"], rows)


class Rounds:
    """deep.c, asked how many rounds it makes in so many milliseconds."""

    def __init__(self, path, depth):
        self.process = subprocess.Popen([path, str(depth), "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.wait(programs.PATIENCE)
        self.process.stdout.close()

    def ask(self, ms):
        self.process.stdin.write(f"{ms}\n")
        return int(self.process.stdout.readline())


def profiler_argv(bench, profiler, pid, folder):
    if profiler == PROFILERS[0]:
        return [bench.usertrace, "profile", "-p", str(pid), "-o", os.path.join(folder, "cost.pb.gz")]
    return ["perf", "record", "-F", "999", "-e", "cpu-clock", "-g", "-p", str(pid), "-o", os.path.join(folder, "cost.data")]


def under(bench, profiler, program, ms, folder):
    """Rounds made while @profiler is at work, None for none."""
    if not profiler:
        return program.ask(ms)
    with programs.Running(profiler_argv(bench, profiler, program.process.pid, folder)) as running:
        program.ask(ms // 2 + 100)      # it attaches meanwhile
        rounds = program.ask(ms)
        running.process.send_signal(2)
        running.process.wait(programs.PATIENCE)
    return rounds


def measure_cost(bench, report, folder):
    path, ms = profiled.compiled(folder, "deep.c", "cost", "-O2"), max(100, bench.load_ms // 4)
    profilers = [None, PROFILERS[0]] + [PROFILERS[1]] * bool(bench.beside_others and shutil.which("perf"))
    rows, ours, difference = [], [], []
    for depth in (30, 300) if bench.beside_others else (30,):
        lost = {profiler: [] for profiler in profilers[1:]}
        with Rounds(path, depth) as program:
            program.ask(ms)
            for number in range(2 * bench.rounds):
                bench.say(f"cost of a profile, {depth} deep: round {number + 1}")
                made = {profiler: under(bench, profiler, program, ms, folder) for profiler in bench.rotate(profilers, number)}
                for profiler in profilers[1:]:
                    lost[profiler].append(100 * (1 - made[profiler] / made[None]))
        rows += [[f"{depth} deep, {profiler}", text.number(text.median(values)), text.spread(values)] for profiler, values in lost.items()]
        ours += lost[PROFILERS[0]]
        if PROFILERS[1] in lost:
            difference += [a - b for a, b in zip(lost[PROFILERS[0]], lost[PROFILERS[1]])]
        bench.note("profile cost", depth=depth, lost=lost)
    report.goal_at_most("cost of a profile at 999 Hz: under 1 % of the program's throughput", ours, 1, " %")
    if difference:
        report.goal_at_most("and no more than `perf record -g`: the difference", difference, 0, " percentage points")
    report.section("Cost of a profile at 999 Hz", f"Rounds that a program without frame pointers makes in {ms} ms, beside those it makes unobserved in the "
                   "same round of measurements. perf sees a frame or two of it.", ["program, profiler", "throughput lost, %", "min..max"], rows)


def measure_size(bench, report, folder):
    """Of one program at the same length. perf's file of a program that keeps frame pointers: the smallest that has stacks."""
    if not bench.beside_others or not shutil.which("perf") or not shutil.which("javac"):
        report.skip("size of a profile on disk", "perf or a JDK is missing")
        return
    seconds = 20 if bench.load_ms >= 5000 else 2
    out, data = os.path.join(folder, "size.pb.gz"), os.path.join(folder, "size.data")
    java = next(program for program in profiled.all_programs(folder) if "OpenJDK" in program.name)
    with java:
        bench.say(f"size of a profile of {seconds} s")
        perf = subprocess.Popen(["perf", "record", "-q", "-F", "999", "-e", "cpu-clock", "-g", "-p", str(java.pid), "-o", data, "--", "sleep", str(seconds)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run([bench.usertrace, "profile", "-p", str(java.pid), "-d", str(seconds), "-o", out], check=True, capture_output=True,
                       stdin=subprocess.DEVNULL)
        perf.wait(seconds + programs.PATIENCE)
    ours, theirs = os.path.getsize(out), os.path.getsize(data)
    report.goal(f"a profile of {seconds} s on disk (pprof) is smaller than perf's file with frame pointers",
                f"{ours / 1024:,.0f} KiB against {theirs / 1024:,.0f}", ours < theirs)


def timed(argv, stdin, stdout):
    """Seconds and MiB of one command."""
    start = time.monotonic()
    process = subprocess.Popen(argv, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise programs.Unusable(f"{argv[0]} ends with {process.returncode}")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def draw(bench, name, argv, folded, svg, report_rows, what):
    """[(seconds, MiB)], one a round; one in all for who takes long."""
    found = []
    for _ in range(bench.rounds if name.startswith("usertrace") else 1):
        with open(folded, "rb") as source, open(svg, "wb") as target:
            found.append(timed(argv, source, target))
    report_rows.append([f"{what}: {name}", text.number(text.median([s for s, _ in found])), text.number(max(mib for _, mib in found)),
                        f"{os.path.getsize(svg) / 1024:,.0f}"])
    return found


def measure_flame(bench, report, folder):
    lines = 1000000 if bench.beside_others else 20000
    folded, svg = os.path.join(folder, "many.folded"), os.path.join(folder, "many.svg")
    commands = {"usertrace flame": [bench.usertrace, "flame", "-"]}
    if shutil.which("flamegraph.pl"):
        commands["flamegraph.pl"] = ["flamegraph.pl"]
    rows = []
    for least, most in ((10, 20), (25, 40)):
        bench.say(f"a flame graph of {lines:,} stacks of {least} to {most} frames")
        subprocess.run([sys.executable, os.path.join(profiled.HERE, "flame.py"), str(lines), str(least), str(most), folded], check=True)
        what = f"{least} to {most} frames, {os.path.getsize(folded) / 2**20:,.0f} MiB"
        for name, argv in commands.items():
            found = draw(bench, name, argv, folded, svg, rows, what)
            if name != "usertrace flame":
                continue
            seconds, memory = text.median([s for s, _ in found]), max(mib for _, mib in found)
            bench.note("flame", seconds=seconds, memory=memory)
            report.goal(f"from {lines:,} distinct stacks of {least} to {most} frames to the SVG in under 1 s and 200 MiB",
                        f"{text.number(seconds)} s, {text.number(memory)} MiB", seconds < 1 and memory < 200)
        os.unlink(folded)
    report.section("Flame graphs", f"{lines:,} folded stacks, no two the same, from standard input.", ["stacks, command", "s", "MiB", "KiB of SVG"], rows)


def measure_tables(bench, report, folder):
    wanted = 300 if bench.beside_others else 10
    bench.say(f"profile -a beside {wanted} processes")
    idle = [subprocess.Popen([profiled.PYTHON if i % 3 else "/usr/bin/perl", *(["-c", "import json, ssl, sys; print(flush=True); sys.stdin.read()"] if i % 3 else
                                                                              ["-e", "$| = 1; print qq(\\n); <STDIN>"])],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE) for i in range(wanted)]
    try:
        for process in idle:
            process.stdout.readline()
        with programs.Running([bench.usertrace, "profile", "-a", "--to", "folded", "-o", "/dev/null"]) as running:
            running.wait_until(lambda: "sampling" in running.stderr(), "does not sample")
            time.sleep(1 if bench.beside_others else 0.1)       # what it reads at first is not what it costs
            before, start = profiled.cpu_seconds(running.process.pid), time.monotonic()
            time.sleep(max(0.3, bench.load_ms / 500))
            share = 100 * (profiled.cpu_seconds(running.process.pid) - before) / (time.monotonic() - start)
            running.process.send_signal(2)
            running.process.wait(programs.PATIENCE)
            said = re.search(r"unwind tables of ([\d,]+) files?, ([\d.]+)([KMG]?)", running.stderr())
    finally:
        for process in idle:
            process.stdin.close()
            process.wait()
            process.stdout.close()
    mib = float(said[2]) * {"": 2**-20, "K": 2**-10, "M": 1, "G": 1024}[said[3]] if said else None
    report.goal(f"tables for `-a` beside {wanted} processes: under 100 MiB", f"{text.number(mib)} MiB, {said[1] if said else '-'} files", mib is not None and mib < 100)
    report.goal_at_most("and, once loaded, under 2 % of a processor", [share], 2, " %")
    bench.note("tables", mib=mib, share=share)


def measure(bench, report):
    with tempfile.TemporaryDirectory(prefix="bench-profile-") as folder:
        measure_stacks(bench, report, folder)
        measure_truth(bench, report, folder)
        measure_cost(bench, report, folder)
        measure_size(bench, report, folder)
        measure_flame(bench, report, folder)
        measure_tables(bench, report, folder)
