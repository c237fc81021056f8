# SPDX-License-Identifier: MIT
"""The tracers that are compared, each with its command, the shape of its lines and what it says of lost events."""
import glob
import os
import re
import shutil
import subprocess

from programs import Running, Unusable

NUMBERS = re.compile(rb"(\d+) (\d+)\n")


def run(*argv, **kwargs):
    return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, **kwargs)


class Tracer:
    """One tracer. Its command traces one site of the target, by process where it can, else by file."""

    name = command = program = ""
    event = NUMBERS         # two groups: number, process
    lost = []               # patterns of what it says of lost events
    prints = True           # false: it records, and prints afterwards
    swallows_interrupts = False
    counts = True           # its output can be held against what was fired

    def __init__(self, bench):
        self.bench = bench

    def missing(self):
        """None, or why it cannot be used here."""
        return None if shutil.which(self.program) else f"{self.program} is not installed"

    def argv(self, target, pids, site):
        raise NotImplementedError

    def env(self):
        return {}

    def start(self, target, pids, site, cpu=None):
        running = Running(self.argv(target, pids, site), cpu, self.env())
        running.tracer = self
        return running

    def wait_ready(self, running, target, site):
        """Until an event has come out."""
        def came_out():
            target.ask(f"poke {site} 20")
            with open(running.out.name, "rb") as file:
                return self.event.search(file.read())
        running.wait_until(came_out, "printed nothing")

    def events(self, running):
        """(number, process) of every event that it printed, in its order; pokes left out."""
        with open(running.out.name, "rb") as file:
            yield from self.parse(file)

    def parse(self, file):
        pattern = self.event
        for line in file:
            match = pattern.search(line)
            if match and match[1] != b"0":
                yield int(match[1]), int(match[2])

    def lost_events(self, running):
        """How many it says it lost."""
        with open(running.out.name, encoding="utf-8", errors="replace") as file:
            text = running.stderr() + "".join(line for line in file if "ost" in line)
        return sum(int(number.replace(",", "")) for pattern in self.lost for number in re.findall(pattern, text))


class Usertrace(Tracer):
    name = "usertrace, to a file"
    command = "usertrace trace -p PID 'u:bench:SITE \"%u %u\", arg1, arg2' > FILE"
    # The last line counts everything; the lines between the events say where.
    lost = [r"events? in .*?, ([\d,]+) lost", r"([\d,]+) not seen because"]

    def missing(self):
        return None if os.path.exists(self.bench.usertrace) else f"{self.bench.usertrace} is not built"

    def argv(self, target, pids, site):
        argv = [self.bench.usertrace, "trace", f'u:bench:{site} "%u %u", arg1, arg2']
        return argv + (["--no-forks"] if site == "nop5" else []) + [f"-p{pid}" for pid in pids]

    def wait_ready(self, running, target, site):
        running.wait_until(lambda: "attached" in running.stderr(), "said nothing")

    def lost_events(self, running):
        return sum(int(n.replace(",", "")) for pattern in self.lost for n in re.findall(pattern, running.stderr()))


class UsertraceNull(Usertrace):
    name = "usertrace, to /dev/null"
    command = "usertrace trace -p PID 'u:bench:SITE \"%u %u\", arg1, arg2' -o /dev/null"

    counts = prints = False

    def argv(self, target, pids, site):
        return super().argv(target, pids, site) + ["-o", "/dev/null"]


class UsertraceReturn(UsertraceNull):
    """The return of the function that has the site."""

    def __init__(self, bench, name, rest):
        super().__init__(bench)
        self.name, self.rest = name, rest
        self.command = f"usertrace trace -p PID 'r:PROGRAM:fire_nop1{rest}' -o /dev/null"

    def argv(self, target, pids, site):
        return [self.bench.usertrace, "trace", f"r:{target.path}:fire_{site}{self.rest}", "-o", "/dev/null",
                *(f"-p{pid}" for pid in pids)]


class Empty(Tracer):
    name = "empty BPF program"
    command = "a program of one instruction, «return 0», on the same site"
    counts = prints = False

    def missing(self):
        return None if os.path.exists(self.bench.helper) else f"{self.bench.helper} is not built"

    def wait_ready(self, running, target, site):
        running.wait_until(lambda: os.path.getsize(running.out.name), "said nothing")

    def argv(self, target, pids, site):
        return [self.bench.helper, "empty", str(pids[0]), f"u:bench:{site}"]


class Bpftrace(Tracer):
    name = "bpftrace, printf"
    program = "bpftrace"
    command = "bpftrace -p PID -e 'usdt:FILE:bench:SITE { printf(\"%lld %lld\\n\", arg0, arg1) }'"
    lost = [r"Lost (\d+) events"]

    def argv(self, target, pids, site):
        probe = 'usdt:%s:bench:%s { printf("%%lld %%lld\\n", arg0, arg1); }' % (target.path, site)
        return ["bpftrace"] + (["-p", str(pids[0])] if len(pids) == 1 else []) + ["-e", probe]


class Bcc(Tracer):
    name = "BCC trace"
    program = "trace-bpfcc"
    command = "trace-bpfcc -p PID 'u:FILE:SITE \"%lld %lld\", arg1, arg2'"
    swallows_interrupts = True     # one that comes while it prints
    lost = [r"ossibly lost (\d+) samples"]

    def missing(self):
        return super().missing() or self.bench.kernel_headers_missing()

    def env(self):
        return {"PYTHONUNBUFFERED": "1", **self.bench.bcc_environment()}

    def argv(self, target, pids, site):
        probe = 'u:%s:%s "%%lld %%lld", arg1, arg2' % (target.path, site)
        return ["trace-bpfcc"] + (["-p", str(pids[0])] if len(pids) == 1 else []) + [probe]


class PerfRecord(Tracer):
    name = "perf record"
    program = "perf"
    command = "perf record -e sdt_bench:SITE -p PID (its probe made before: perf buildid-cache --add FILE, perf probe sdt_bench:SITE)"
    event = re.compile(rb"arg1=(\d+) arg2=(\d+)")
    lost = [r"PERF_RECORD_LOST lost (\d+)"]
    prints = False

    def missing(self):
        return super().missing() or self.bench.perf_probe_missing()

    def perf(self, *words):
        return ["perf", "--buildid-dir", self.bench.perf_folder, *words]

    def data(self):
        return os.path.join(self.bench.folder, "perf.data")

    def fifo(self, name):
        path = os.path.join(self.bench.folder, name)
        if not os.path.exists(path):
            os.mkfifo(path)
        return path

    def argv(self, target, pids, site):
        control = f"fifo:{self.fifo('perf-control')},{self.fifo('perf-answer')}"
        return self.perf("record", "-N", "-q", "-D", "-1", "--control", control, "-e", f"sdt_bench:{site}",
                         "-p", ",".join(map(str, pids)), "-o", self.data())

    def wait_ready(self, running, target, site):
        """It attaches first and switches on later; this way it says when."""
        with open(self.fifo("perf-control"), "w", encoding="ascii") as control, open(self.fifo("perf-answer"), "rb") as answer:
            control.write("enable\n")
            control.flush()
            answer.read(4)

    def script(self, *words):
        return subprocess.Popen(self.perf("script", "-i", self.data(), *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)

    def events(self, running):
        with self.script("-F", "trace") as script:
            yield from self.parse(script.stdout)

    def lost_events(self, running):
        with self.script("-F", "comm", "--show-lost-events") as script:
            return sum(int(line.split()[-1]) for line in script.stdout if b"PERF_RECORD_LOST" in line)


class PerfTrace(PerfRecord):
    name = "perf trace"
    command = "perf trace -e sdt_bench:SITE -p PID (its probe made before)"
    event = re.compile(rb"arg1[:=] ?(\d+),? arg2[:=] ?(\d+)")
    prints = True
    counts = True           # its output can be held against what was fired

    def argv(self, target, pids, site):
        return self.perf("trace", "-e", f"sdt_bench:{site}", "-p", ",".join(map(str, pids)))


def debian_headers(folder):
    """A folder with the headers of Debian's own kernel, downloaded and unpacked, never installed; a reason if not."""
    merged = os.path.join(folder, "kernel-headers")
    if os.path.isdir(merged):
        return merged, None
    names = re.findall(r"Depends: (linux-headers-(\S+)-cloud-\S+)", run("apt-cache", "depends", "linux-headers-cloud-amd64").stdout)
    if not names:
        return None, "no kernel headers, and the distribution's lists have none"
    unpacked = os.path.join(folder, "unpacked")
    os.makedirs(unpacked, exist_ok=True)
    common = f"linux-headers-{names[0][1]}-common"
    done = run("apt-get", "-q", "download", names[0][0], common, cwd=folder)
    packages = glob.glob(os.path.join(folder, "linux-headers-*.deb"))
    if done.returncode or len(packages) != 2:
        return None, "no kernel headers, and they cannot be downloaded"
    for package in packages:
        run("dpkg-deb", "-x", package, unpacked)
        os.unlink(package)
    source = os.path.join(unpacked, "usr/src")
    run("cp", "-a", os.path.join(source, common), merged + ".new")
    run("cp", "-a", "--remove-destination", os.path.join(source, names[0][0]) + "/.", merged + ".new")
    shutil.rmtree(unpacked)
    os.rename(merged + ".new", merged)
    return merged, None


def usable(tracers, target, report):
    """Those that are there and attach; the report gets the reasons of the others."""
    found = []
    for tracer in tracers:
        reason = tracer.missing()
        try:
            if not reason:
                with tracer.start(target, [target.pid], "nop1") as running:
                    running.wait_traced(target, "nop1")
                    running.stop()
        except Unusable as error:
            reason = str(error)
        if reason:
            report.skip(tracer.name, reason)
        else:
            found.append(tracer)
    return found
