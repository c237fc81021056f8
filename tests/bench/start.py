# SPDX-License-Identifier: MIT
"""From the start of the command to the first event: of one probe, and of all probes of HotSpot."""
import os
import re
import select
import shutil
import signal
import subprocess
import time

import programs
import report as text
import tracers as all_tracers

PERIOD_US = 150
HERE = os.path.dirname(os.path.realpath(__file__))


class Start:
    """Milliseconds, one entry a round."""

    def __init__(self):
        self.recorded_ms, self.printed_ms = [], []


def first_event(process, tracer, patience=programs.PATIENCE):
    """(clock in the first event, clock when its line was read); both in nanoseconds."""
    deadline, text_so_far = time.monotonic() + patience, b""
    while time.monotonic() < deadline:
        if not select.select([process.stdout], [], [], 0.1)[0]:
            continue
        chunk = os.read(process.stdout.fileno(), 65536)
        now = time.monotonic_ns()
        if not chunk:
            break
        text_so_far += chunk
        match = tracer.event.search(text_so_far)
        if match:
            return int(match[1]), now
    raise programs.Unusable("no event within the time: " + text_so_far[-160:].decode(errors="replace"))


def launch(bench, target, argv, env, stderr):
    """Starts a command that writes down the clock as its last act before it becomes the tracer."""
    return subprocess.Popen([target.path, "launch", bench.clock_file] + argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=stderr, env={**os.environ, **env})


def launched_ns(bench):
    with open(bench.clock_file, encoding="ascii") as file:
        return int(file.read())


def end(process, tracer):
    """Reads on until it has ended, so that it is not held up by a full pipe."""
    process.send_signal(signal.SIGINT)
    again = time.monotonic() + 2
    while True:
        if select.select([process.stdout], [], [], 0.1)[0] and not os.read(process.stdout.fileno(), 65536):
            break
        if tracer.swallows_interrupts and time.monotonic() > again:
            process.send_signal(signal.SIGINT)
            again += 2
    process.stdout.close()
    process.wait(120)


def one_round(bench, tracer, target, start):
    target.say(f"ticks nop1 {PERIOD_US}")
    process = launch(bench, target, tracer.argv(target, [target.pid], "nop1"), tracer.env(), subprocess.STDOUT)
    try:
        fired_ns, read_ns = first_event(process, tracer)
        begin = launched_ns(bench)
        start.recorded_ms.append((fired_ns - begin) / 1e6)
        start.printed_ms.append((read_ns - begin) / 1e6)
    finally:
        end(process, tracer)
        target.ask("poke nop1 1")   # any line ends the ticks; this is their answer
        target.answer()


def measure_one_probe(bench, report):
    found = [tracer for tracer in bench.usable if tracer.prints]
    if "perf record" in [tracer.name for tracer in bench.usable]:
        found.append(all_tracers.PerfTrace(bench))
    starts = {tracer: Start() for tracer in found}
    with programs.Target(bench.build) as target:
        for number in range(bench.rounds):
            for tracer in bench.rotate(found, number):
                bench.say(f"start, round {number + 1}: {tracer.name}")
                try:
                    one_round(bench, tracer, target, starts[tracer])
                except programs.Unusable as error:
                    report.skip(tracer.name + ", start", str(error))
    rows = []
    for tracer, start in starts.items():
        rows.append([tracer.name, text.number(text.median(start.recorded_ms)), text.spread(start.recorded_ms),
                     text.number(text.median(start.printed_ms)), text.spread(start.printed_ms)])
        if tracer.name == "usertrace, to a file":
            report.goal_at_most("from start to the first event seen: under 20 ms for one probe of a running program",
                                start.recorded_ms, 20, " ms")
            report.goal_at_most("from start to the first line printed: the same", start.printed_ms, 20, " ms")
            bench.note("start", recorded_ms=start.recorded_ms, printed_ms=start.printed_ms)
    report.section("From start to the first event", f"One probe of a running program that fires every {PERIOD_US} µs; "
                   "milliseconds from the execution of the command, output into a pipe.",
                   ["tracer", "first recorded, ms", "min..max", "first printed, ms", "min..max"], rows)


def start_java():
    """A JVM that waits for its end; None when there is none."""
    if not shutil.which("java"):
        return None
    process = subprocess.Popen(["java", "-XX:+UseSerialGC", "-Xmx64m", "-XX:TieredStopAtLevel=1", os.path.join(HERE, "Idle.java")],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if process.stdout.readline():
        return process
    process.wait()
    return None


def whole_command(bench, pid, results):
    """The command with all probes: start to «attached», and Ctrl-C to its end."""
    argv = [bench.target_path, "launch", bench.clock_file, bench.usertrace, "trace", f"-p{pid}", "u:libjvm.so:*", "-o", "/dev/null"]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    line = process.stderr.readline().decode()
    now = time.monotonic_ns()
    match = re.search(r"attached (\d+) probes? at (\d+) sites?", line)
    results["command"].append((now - launched_ns(bench)) / 1e6)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.stderr.read()
    process.wait(120)
    results["end"].append((time.monotonic() - begin) * 1e3)
    if not match:
        raise programs.Unusable(line.strip())
    return f"{match[1]} probes, {match[2]} sites"


def parts(bench, pid, results):
    done = all_tracers.run(bench.helper, "attach", str(pid), "u:libjvm.so:*")
    for name, value in re.findall(r"(plan|attach|detach)_ns (\d+)", done.stdout):
        results[name].append(int(value) / 1e6)


def measure_hotspot(bench, report):
    java = start_java()
    if not java:
        report.skip("all probes of HotSpot", "no Java to run")
        return
    results = {name: [] for name in ("command", "end", "plan", "attach", "detach")}
    try:
        for number in range(bench.rounds):
            bench.say(f"all probes of HotSpot, round {number + 1}")
            count = whole_command(bench, java.pid, results)
            parts(bench, java.pid, results)
    except programs.Unusable as error:
        report.skip("all probes of HotSpot", str(error))
        return
    finally:
        java.kill()
        java.wait()
        java.stdin.close()
        java.stdout.close()
    report.goal_at_most(f"all probes of libjvm ({count}) attached in under 100 ms", results["attach"], 100, " ms")
    report.goal_at_most("the same, from the start of the command to «attached»", results["command"], 100, " ms")
    report.goal_at_most("detached in under 200 ms", results["detach"], 200, " ms")
    words = {"command": "start of the command to «attached»", "end": "Ctrl-C to the end of the command", "plan": "of it: planning",
             "attach": "of it: rings, programs and attaching", "detach": "of it: detaching"}
    report.section("All probes of HotSpot", f"{count}, of a running JVM; milliseconds.", ["step", "median", "min..max"],
                   [[words[name], text.number(text.median(values)), text.spread(values)] for name, values in results.items()])


def measure(bench, report):
    measure_one_probe(bench, report)
    measure_hotspot(bench, report)
