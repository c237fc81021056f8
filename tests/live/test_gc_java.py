# SPDX-License-Identifier: MIT
"""Collections of OpenJDK, each collector's, one by one against the log of the virtual machine itself.

gc__begin and gc__end lie inside the operation that the virtual machine makes at a safepoint, whose length the log tells
to the nanosecond («At safepoint»), and around what it calls the pause («Pause Young … 5.314ms»), or just inside of it
where that begins with a line in the log (ZGC, parts of G1). So each length must be no longer than the first, and not
shorter than the second but for such a line: all but those in which the CPU was taken from the virtual machine in between,
which the kernel counts, and never more than a tenth and one.
"""
import glob
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
import unittest

import agree
import live
import runtimes
from test_java import java_is_17

MIB = 1 << 20
LINE = re.compile(r"\[(\d+)ns\]\[([a-z,]+) *\] (.*)")
PAUSE = re.compile(r"GC\((\d+)\) (?:[YyOo]: )?(Pause .*?)(?: (\d+)M->(\d+)M\(\d+M\))? (\d+\.\d+)ms")
SAFEPOINT = re.compile(r'Safepoint "(\w+)".* At safepoint: +(\d+) ns.* Total: +(\d+) ns')
CYCLE = re.compile(r"GC\((\d+)\) (?:Concurrent Mark Cycle|(?:\w+ )?(?:Garbage )?Collection \(((?:[^()]|\(\))*)\))(.*)")
CYCLES = ("cycle", "minor cycle", "major cycle", "mark cycle")
WORDS = {       # how the log calls what we call; Shenandoah's pauses have the same names
    "Pause Young": "young", "Pause Full": "full", "Pause Young (Normal)": "young", "Pause Young (Mixed)": "mixed",
    "Pause Young (Concurrent Start)": "concurrent start", "Pause Young (Prepare Mixed)": "prepare mixed",
    "Pause Remark": "remark", "Pause Cleanup": "cleanup", "Pause Mark Start": "mark start", "Pause Mark End": "mark end",
    "Pause Relocate Start": "relocate start",
}
KINDS = ("Normal", "Concurrent Start", "Prepare Mixed", "Mixed", "Major", "unload classes")


class Pause:
    """One pause of the log: begin and length in ns, what it was, its cause, and MiB before and after (None: not told)."""

    def __init__(self, stamp, match):
        self.length, self.text, self.cause = round(float(match[5]) * 1e6), match[2], ""
        self.begin = stamp - self.length
        found = re.fullmatch(r"(.*) \(((?:[^()]|\(\))*)\)", match[2])
        if found and found[2] == "Major":
            self.text = found[1]
        elif found and found[2] not in KINDS:
            self.text, self.cause = found[1], found[2]
        self.label = WORDS.get(self.text, self.text.removeprefix("Pause "))
        self.before, self.after = (int(match[3]), int(match[4])) if match[3] else (None, None)
        self.operation = None

    @property
    def end(self):
        return self.begin + self.length

    def join(self, later):
        """Two that the virtual machine makes and announces as one."""
        self.length, self.after = later.end - self.begin, later.after
        if later.label == "full":
            self.label = "full"


class Log:
    """What the virtual machine wrote between two times of CLOCK_MONOTONIC: pauses, safepoints and cycles, in order."""

    def __init__(self, path, since, until, joins):
        self.pauses, self.safepoints, self.cycles = [], [], []
        self.joins, self.started, self.here = joins, {}, []
        with open(path) as file:
            for match in filter(None, map(LINE.match, file)):
                if since <= int(match[1]) <= until:
                    self.read_line(int(match[1]), match[3])

    def read_line(self, stamp, text):
        pause, safepoint, cycle = PAUSE.fullmatch(text), SAFEPOINT.match(text), CYCLE.fullmatch(text)
        if pause and self.joins and self.here:
            self.here[-1].join(Pause(stamp, pause))
        elif pause:
            self.here.append(Pause(stamp, pause))
            self.pauses.append(self.here[-1])
        if safepoint:
            total = int(safepoint[3])
            self.safepoints.append((stamp - total, total, safepoint[1]))
            for pause in self.here:
                pause.operation = (stamp - int(safepoint[2]), int(safepoint[2]))
            self.here = []
        if cycle and not cycle[3]:
            self.started[cycle[1]] = stamp
        elif cycle and cycle[1] in self.started:
            begin = self.started.pop(cycle[1])
            self.cycles.append((begin, stamp - begin, cycle[2]))


class Collectors(runtimes.Case):
    """What the classes below share."""

    java = "java"
    javac = "javac"

    @classmethod
    def setUpClass(cls):
        cls.classes = tempfile.mkdtemp(prefix="usertrace-test-")
        cls.addClassCleanup(shutil.rmtree, cls.classes, True)
        subprocess.run([cls.javac, "-d", cls.classes, *(os.path.join(live.TARGET_SOURCES, name)
                       for name in ("GcTrees.java", "JvmEvents.java"))], check=True, stdin=subprocess.DEVNULL)

    def run_with(self, collector, *options, trees=800, kinds="gc"):
        """Runs the program under a watch from before its first collection to after its last."""
        path = os.path.join(self.tempdir(), "gc.log")
        # What it writes in a pause would make the pause longer: a thread of its own does that.
        program = self.gated(self.java, "-Xmx64m", f"-XX:+Use{collector}GC", *options, "-cp", self.classes, "-Xlog:async",
                             f"-Xlog:gc,gc+start,gc+phases,safepoint:file={path}:timenanos,tags", "GcTrees", str(trees))
        since = time.monotonic_ns()
        watch = agree.gc(self, "-p", program.pid, "--kind", kinds)
        self.fulls = self.go(program)["fulls"]
        until = time.monotonic_ns()
        self.assertEqual(watch.interrupt(), 0, watch.describe())
        self.let_end(program)
        log = Log(path, since, until, joins=collector in ("Serial", "Parallel"))
        self.version = watch.process(program.pid)["version"]
        self.assertEqual(watch.of_type("lost"), [])
        return log, watch

    def compare(self, what, own, seen, cut=0, **options):
        return agree.compare(self, "HotSpot", what, own, seen, cut=cut, version=self.version, **options)

    def pair(self, log, watch, cut):
        """The pauses of the log beside those seen, when all are there."""
        own = [(p.begin, p.length, p) for p in log.pauses]
        seen = [(s["begin_ns"], s["duration_ns"], s) for s in watch.spans("gc") if s["label"] not in CYCLES]
        pairs = agree.align(own, seen, cut, resolution_ns=agree.MS)
        self.assertTrue(pairs, f"{len(own)} pauses in the log, {len(seen)} seen")
        return [(o[2], s[2]) for o, s in pairs]

    def check_said(self, pairs):
        """What it was, why, and how much was in use."""
        for pause, span in pairs:
            self.assertEqual(span["label"], pause.label, (vars(pause), span))
            if pause.cause:
                self.assertEqual(span.get("cause"), pause.cause, (vars(pause), span))
            if pause.before is not None and pause.label not in ("remark", "cleanup"):
                # G1 has not given back the regions it allocates in when it tells us, and has when it writes the log.
                for told, seen in ((pause.before, span["before_bytes"]), (pause.after, span["after_bytes"])):
                    self.assertTrue(told - 1 <= seen / MIB < told + 2, (vars(pause), span))
            self.assertLessEqual(span["stopped_ns"], span["duration_ns"])
            self.assertEqual(span.get("freed_bytes"), span["before_bytes"] - span["after_bytes"]
                             if span.get("before_bytes", -1) >= span.get("after_bytes", 0) else None)

    def compare_operations(self, what, pairs):
        """Operations with what was seen in each: it is not longer, and not shorter than the pauses in it. How much longer than
        these an operation is, is the virtual machine's doing."""
        own, seen, pauses = [], [], []
        for pause, span in pairs:
            if own and own[-1] == pause.operation:
                seen[-1], pauses[-1] = (seen[-1][0], span["end_ns"] - seen[-1][0]), pauses[-1] + pause.length
            elif pause.operation:
                own.append(pause.operation)
                seen.append((span["begin_ns"], span["duration_ns"]))
                pauses.append(pause.length)
        self.compare(what, own, seen, least=0, note="compared with “At safepoint” in the log")
        for (_, most), (_, length) in zip(own, seen):
            self.assertLessEqual(length, most + agree.NEAR_NS)
        # Between the virtual machine's clock and our probes it writes lines of its log at most, unless the CPU is taken from it.
        short = [(least, length) for least, (_, length) in zip(pauses, seen) if length < least - 5 * agree.NEAR_NS]
        self.remark(f"{what}: of {len(own)} {len(short)} are shorter than their pauses; the CPU was taken from the virtual "
                    f"machine {self.disturbed()} times")
        self.assertLessEqual(len(short), min(self.disturbed(), 1 + len(own) // 10), short)

    def check_stopped(self, pairs):
        """Nearly nobody runs in a pause."""
        pauses = sum(s["duration_ns"] for _, s in pairs)
        self.assertGreater(sum(s["stopped_ns"] for _, s in pairs), 0.95 * pauses)
        self.assertGreater(sum(s["collector_ns"] for _, s in pairs), 0)

    def check_cycles(self, cycles):
        """The program goes on meanwhile."""
        self.assertGreater(len(cycles), 2)
        self.assertLess(sum(c["stopped_ns"] for c in cycles), sum(c["duration_ns"] for c in cycles))
        self.assertGreater(sum(c["program_ns"] for c in cycles), 0)
        self.assertTrue(all(c["stopped_ns"] <= c["duration_ns"] for c in cycles))

    def check_asked_for(self, spans):
        """System.gc() is told from the others."""
        self.assertGreater(self.fulls, 0)
        self.assertEqual(len([s for s in spans if s.get("cause") == "System.gc()"]), self.fulls)

    def stopping(self, collector, *options, cut=0, **more):
        """A collector that stops the program for each collection."""
        log, watch = self.run_with(collector, *options, **more)
        pairs = self.pair(log, watch, cut)
        self.check_said(pairs)
        self.compare_operations(f"{collector}, operations with collections", pairs)
        self.check_stopped(pairs)
        self.check_asked_for([s for _, s in pairs])
        return log, watch, pairs

    def beside(self, collector, *options, cut=3, **more):
        """A collector whose cycles go on beside the program."""
        log, watch = self.run_with(collector, *options, **more)
        pairs = self.pair(log, watch, cut)
        self.check_said(pairs)
        self.check_stopped(pairs)
        cycles = [s for s in watch.spans("gc") if s["label"] in CYCLES]
        self.check_cycles(cycles)
        self.check_asked_for(cycles)
        return log, watch, pairs, cycles


@live.needs_root()
@unittest.skipUnless(java_is_17(), "java and javac of OpenJDK 17 are not installed")
class OpenJdk17(Collectors):
    def test_serial(self):
        log, watch, _ = self.stopping("Serial", kinds="gc,safepoint")
        self.compare("safepoints", [s[:2] for s in log.safepoints], agree.lengths(watch.spans("safepoint")), cut=1,
                     note="compared with “Total” in the log")

    def test_parallel(self):
        _, watch, pairs = self.stopping("Parallel")
        self.assertLess(len({s["label"] for _, s in pairs}), 3)     # young and full

    def test_g1(self):
        # Some of its concurrent cycles begin in a pause and end before the next.
        log, watch, pairs = self.stopping("G1", cut=2)
        self.assertLessEqual({"young", "concurrent start", "remark", "cleanup", "full"},
                             {s["label"] for _, s in pairs})
        cycles = watch.spans("gc", label="mark cycle")
        self.compare("G1, concurrent cycles", [c[:2] for c in log.cycles], agree.lengths(cycles), cut=2,
                     least=0.5, note="compared with the begin and end of “Concurrent Mark Cycle” in the log")
        self.check_cycles(cycles)

    def test_z(self):
        log, watch, pairs, cycles = self.beside("Z")
        self.compare("Z, pauses", [(p.begin, p.length) for p, _ in pairs], agree.lengths([s for _, s in pairs]),
                     least=0, note="compared with “Pause …” in the log, which includes the time of both probes")
        self.assertLess(max(s["duration_ns"] - p.length for p, s in pairs), agree.NEAR_NS)
        self.assertLess(statistics.median(p.length - s["duration_ns"] for p, s in pairs), 5 * agree.NEAR_NS)
        self.compare("Z, cycles", [c[:2] for c in log.cycles], agree.lengths(cycles), cut=2,
                     least=0.5, note="compared with the begin and end of “Garbage Collection” in the log")
        told = [cause for _, _, cause in log.cycles]
        self.assertIn(" ".join(c["cause"] for c in cycles[1:-1]), " ".join(told))

    def test_shenandoah(self):
        _, watch, pairs, cycles = self.beside("Shenandoah")
        self.compare_operations("Shenandoah, operations with pauses", pairs)
        agree.count(self, "HotSpot", "Shenandoah, cycles", len([p for p, _ in pairs if "Init Mark" in p.text]), len(cycles),
                    cut=1, version=self.version, note="cycles that begin with “Pause Init Mark”")

    def test_other_kinds(self):
        """What the virtual machine does besides, and what the program says it did."""
        program = self.gated(self.java, "-XX:+ExtendedDTraceProbes", "-cp", self.classes, "JvmEvents", "--gate")
        watch = agree.gc(self, "-p", program.pid, "--kind", "compile,class-load,park,thread")
        said = self.go(program)
        self.assertEqual(watch.interrupt(), 0, watch.describe())
        self.let_end(program)
        self.version = watch.process(program.pid)["version"]

        def count(what, spans, own):
            agree.count(self, "HotSpot", what, own, len(spans), version=self.version, note="counted by the program")
        workers = [s for s in watch.spans("thread") if s["label"].startswith("worker-")]
        count("threads", workers, said["threads"])
        self.assertEqual([s["label"] for s in workers], [f"worker-{i}" for i in range(said["threads"])])
        sleeps = watch.spans("park", label="sleep")
        count("sleeps", sleeps, said["sleeps"])
        for span, ms in zip(sleeps, (3, 1, 4, 1, 5)):
            self.assertGreaterEqual(span["duration_ns"], ms * agree.MS)
        for label in ("monitor", "wait"):
            locks = [s for s in watch.spans("park", label=label) if s["name"] == "JvmEvents$Lock"]
            count(f"{label} of one class", locks, said["contended" if label == "monitor" else "waits"])
        initialized = [s for s in watch.spans("class-load", label="initialize") if s["name"] == "JvmEvents$Loaded"]
        count("initialized classes of one name", initialized, said["loaders"])
        self.assertIn("JvmEvents.hot", {s["name"] for s in watch.spans("compile")})
        self.assertLessEqual({s["label"] for s in watch.spans("compile")}, {"C1", "C2"})
        self.assertIn("load", {s["label"] for s in watch.spans("class-load")})


def newer_java():
    """The home of a JDK that has ZGC with generations; None when there is none."""
    for javac in sorted(glob.glob("/usr/lib/jvm/*/bin/javac")):
        home = os.path.dirname(os.path.dirname(os.path.realpath(javac)))
        try:
            with open(os.path.join(home, "release")) as file:
                found = re.search(r'JAVA_VERSION="(\d+)', file.read())
        except OSError:
            continue
        if found and int(found[1]) >= 25:
            return home
    return None


@live.needs_root()
@unittest.skipUnless(newer_java(), "no JDK of version 25 or newer is installed")
class NewerJdk(Collectors):
    """The same with a newer one, which numbers causes anew and has two kinds of cycles in ZGC."""

    @classmethod
    def setUpClass(cls):
        cls.java, cls.javac = (os.path.join(newer_java(), "bin", name) for name in ("java", "javac"))
        super().setUpClass()

    def test_stopping(self):
        for collector in ("Serial", "Parallel", "G1"):
            with self.subTest(collector):
                self.stopping(collector, cut=2, trees=400)

    def test_beside(self):
        self.beside("Shenandoah", trees=400)

    def test_generational_z(self):
        _, _, _, cycles = self.beside("Z", trees=800)
        self.assertEqual({c["label"] for c in cycles}, {"minor cycle", "major cycle"})
