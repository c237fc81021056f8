# SPDX-License-Identifier: MIT
"""OpenJDK, traced live, against what the virtual machine and the program say themselves."""
import collections
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import live
import runtimes

HOTSPOT_17 = r"""openjdk version "17\."""


def java_is_17():
    if not shutil.which("java") or not shutil.which("javac"):
        return False
    told = subprocess.run(["java", "-version"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    return re.search(HOTSPOT_17, told) is not None


def counts(names):
    return dict(collections.Counter(names))


@live.needs_root()
@unittest.skipUnless(java_is_17(), "java and javac of OpenJDK 17 are not installed")
class Java(runtimes.Case):
    @classmethod
    def setUpClass(cls):
        cls.classes = tempfile.mkdtemp(prefix="usertrace-test-")
        cls.addClassCleanup(shutil.rmtree, cls.classes, True)
        sources = [os.path.join(live.TARGET_SOURCES, name) for name in ("GcChurn.java", "JvmEvents.java")]
        subprocess.run(["javac", "-d", cls.classes] + sources, check=True, stdin=subprocess.DEVNULL)

    def java(self, name, *args, options=()):
        return ["java", "-Xshare:auto", *options, "-cp", self.classes, name, *args]

    def libjvm_of(self, pid):
        with open(f"/proc/{pid}/maps") as maps:
            return next(line.split(None, 5)[5].rstrip("\n") for line in maps if line.endswith("/libjvm.so\n"))

    def pauses(self, log):
        """The pauses of the virtual machine's own log."""
        with open(log) as file:
            return [line for line in file if re.search(r"\bPause .*ms$", line.rstrip())]


class Collections(Java):
    """Every collection is seen, once, with its kind and its pools."""

    def churn(self, collector):
        log = os.path.join(self.tempdir(), "gc.log")
        # Parallel would collect the young ones once more inside of each full collection.
        options = ("-Xmx64m", f"-XX:+Use{collector}GC", "-XX:-ScavengeBeforeFullGC",
                   f"-Xlog:gc:file={log}", "-XX:+DisableAttachMechanism")
        program = self.gated(*self.java("GcChurn", "1", "--gate", options=options))
        before = len(self.pauses(log))
        trace = self.trace("-p", program.pid, "--json", "u:hotspot:gc__begin", "u:hotspot:gc__end",
                           "u:hotspot:mem__pool__gc__begin", "u:hotspot:mem__pool__gc__end")
        said = self.go(program)
        self.let_end(program)
        self.assertEqual(trace.wait(), 0, trace.describe())     # with the program it ends by itself
        events = self.by_probe(trace)
        pauses = self.pauses(log)[before:]
        self.assertEqual(len(events["gc__begin"]), len(pauses))
        self.assertEqual(len(events["gc__end"]), len(pauses))
        self.assertGreater(len(pauses), said["fulls"])
        asked_for = [line for line in pauses if "(System.gc())" in line]
        self.assertEqual(len(asked_for), said["fulls"])
        self.assertEqual(counts(e["args"]["arg1"] for e in events["gc__begin"]),
                         {1: said["fulls"], 0: len(pauses) - said["fulls"]})
        self.check_order(trace)
        self.check_pools(pools_of(program), events, said, pauses)
        return said, events

    def check_order(self, trace):
        """Begin and end take turns, and time only goes on."""
        times = [e["time_ns"] for e in trace.objects()]
        self.assertEqual(times, sorted(times))
        turns = [e["probe"] for e in trace.objects() if e["probe"] in ("hotspot:gc__begin", "hotspot:gc__end")]
        self.assertEqual(turns, ["hotspot:gc__begin", "hotspot:gc__end"] * (len(turns) // 2))

    def check_told(self, told, seen):
        """The program reads its counts a moment before it ends: one more collection may fit in between."""
        self.assertIn(seen - told, (0, 1))

    def check_pools(self, pools, events, said, pauses):
        """Every pool of every collection in the machine's own log, by the manager that the beans have for its kind."""
        logged = counts("Full" if "Pause Full" in line else "Young" for line in pauses
                        if re.search("Pause (Full|Young)", line))
        for probe in ("mem__pool__gc__begin", "mem__pool__gc__end"):
            pattern = re.compile(r"manager=(.*?) pool=(.*?) init=(\d+) used=(\d+) committed=(\d+) max=(\d+)")
            messages = [pattern.fullmatch(e["message"]) for e in events[probe]]
            self.assertTrue(all(messages))
            self.assertEqual({m[2] for m in messages}, pools)
            managers = counts(m[1] for m in messages)
            told = {name.replace("_", " "): n for name, n in said.items() if name not in ("allocs", "fulls")}
            self.assertEqual(sorted(managers.values()), sorted(n * len(pools) for n in logged.values()))
            self.assertEqual(set(managers), {name for name, n in told.items() if n})
            for name, n in managers.items():
                self.check_told(told[name], n // len(pools))
            for m in messages:
                self.assertLessEqual(int(m[4]), int(m[5]), m[0])
                self.assertLessEqual(int(m[5]), int(m[6]), m[0])

    def test_serial(self):
        said, events = self.churn("Serial")
        self.check_told(said["Copy"] + said["MarkSweepCompact"], len(events["gc__begin"]))

    def test_parallel(self):
        said, events = self.churn("Parallel")
        self.check_told(said["PS_Scavenge"] + said["PS_MarkSweep"], len(events["gc__begin"]))

    def test_g1(self):
        # The pauses of its concurrent cycles are no collections to the beans; the log has them.
        said, events = self.churn("G1")
        self.assertLessEqual(said["G1_Young_Generation"] + said["G1_Old_Generation"], len(events["gc__begin"]))


def pools_of(program):
    return set(program.wait_for(r"^pools (.*)")[1].split(","))


class Events(Java):
    """Threads, classes, compilations and monitors, from the first event of a command or attached to a process."""

    def attached(self, *probes, options=()):
        program = self.gated(*self.java("JvmEvents", "--gate", options=options))
        trace = self.trace("-p", program.pid, "--json", *probes)
        said = self.go(program)
        self.stop(trace)
        self.let_end(program)
        return said, self.by_probe(trace)

    def test_threads(self):
        said, events = self.attached("u:hotspot:thread__start", "u:hotspot:thread__stop")
        started = [e for e in events["thread__start"] if e["args"]["arg1"].startswith("worker-")]
        self.assertEqual([e["args"]["arg1"] for e in started], [f"worker-{i}" for i in range(said["threads"])])
        for i, event in enumerate(started):
            self.assertEqual(event["args"]["arg4"], event["tid"])
            self.assertEqual(event["args"]["arg5"], i % 2)
            self.assertIn(f"tid={event['tid']} daemon={i % 2}", event["message"])
        stopped = {(e["args"]["arg1"], e["tid"]) for e in events["thread__stop"]}
        self.assertLessEqual({(e["args"]["arg1"], e["tid"]) for e in started}, stopped)

    def test_classes(self):
        said, events = self.attached("u:hotspot:class__loaded", "u:hotspot:class__unloaded")
        self.assertEqual(len(events["class__loaded"]), said["loaded"])
        self.assertEqual(len(events["class__unloaded"]), said["unloaded"])
        own = [e for e in events["class__loaded"] if e["args"]["arg1"] == "JvmEvents$Loaded"]
        self.assertEqual(len(own), said["loaders"])
        self.assertEqual(len({e["args"]["arg3"] for e in own}), said["loaders"], "each has a loader of its own")
        self.assertEqual({e["args"]["arg4"] for e in own}, {0}, "they come from no archive")
        gone = [e for e in events["class__unloaded"] if e["args"]["arg1"] == "JvmEvents$Loaded"]
        self.assertLessEqual({e["args"]["arg3"] for e in gone}, {e["args"]["arg3"] for e in own})

    def test_compilations(self):
        """From the start of a command: libjvm is mapped some time after exec, and nothing of it is missed."""
        log = os.path.join(self.tempdir(), "jit.log")
        found = self.events_of_command("u:hotspot:method__compile__begin", "u:hotspot:method__compile__end", command=
                                       self.java("JvmEvents", options=(f"-Xlog:jit+compilation=debug:file={log}",)))
        events = {which: [e["message"] for e in found if e["probe"] == f"hotspot:method__compile__{which}"]
                  for which in ("begin", "end")}
        seen = collections.Counter(e.split("(")[0].replace("/", ".") for e in events["begin"])
        told = collections.Counter()
        for line in open(log):
            match = re.search(r"\]\s+\d+ [ %][ s][ !][ b] \s*([1-4])\s+(\S+)::(\S+)", line)
            if match and "made not entrant" not in line and "made zombie" not in line:
                told[f"{'C2' if match[1] == '4' else 'C1'} {match[2]}.{match[3]}"] += 1
        self.assertGreater(sum(seen.values()), 20)
        self.assertEqual(seen - told, collections.Counter())
        # What was at work when the machine went down may have been told a moment before the probe.
        self.assertLessEqual(sum((told - seen).values()), 2, told - seen)
        self.assertTrue(any(re.fullmatch(r"C[12] JvmEvents\.hot\(I\)J", e) for e in events["begin"]), events["begin"])
        ended = collections.Counter(e.rsplit(" ok=", 1)[0] for e in events["end"])
        self.assertEqual(ended - collections.Counter(events["begin"]), collections.Counter())
        self.assertTrue(all(e.rsplit(" ok=", 1)[1] in "01" for e in events["end"]))

    def test_first_event(self):
        found = self.events_of_command("u:hotspot:vm__init__begin", "u:hotspot:vm__init__end", "u:hotspot:vm__shutdown",
                                       "u:hotspot:class__loaded (arg2 == 16)", command=self.java("JvmEvents"))
        order = [e["probe"] for e in found if e["probe"] != "hotspot:class__loaded"]
        self.assertEqual(order, ["hotspot:vm__init__begin", "hotspot:vm__init__end", "hotspot:vm__shutdown"])
        names = [e["args"]["arg1"] for e in found if e["probe"] == "hotspot:class__loaded"]
        self.assertEqual(names[0], "java/lang/Object")
        self.assertEqual({len(name) for name in names}, {16}, "the predicate is on the length")

    def test_monitors(self):
        """They fire only when the virtual machine was started with the option."""
        said, events = self.attached("u:hotspot:monitor__*", "u:hotspot:thread__sleep__*",
                                     options=("-XX:+ExtendedDTraceProbes",))
        own = {name: [e for e in found if "JvmEvents$Lock " in e["message"]] for name, found in events.items()}
        self.assertEqual(len(own["monitor__contended__enter"]), said["contended"])
        self.assertEqual(len(own["monitor__contended__entered"]), said["contended"])
        self.assertEqual(len(own["monitor__wait"]), said["waits"])
        self.assertEqual(len(own["monitor__waited"]), said["waits"])
        self.assertEqual({e["args"]["arg5"] for e in own["monitor__wait"]}, {1})
        self.assertEqual({e["comm"] for e in own["monitor__contended__enter"]}, {"contender"})
        self.assertEqual([e["args"]["arg1"] for e in events["thread__sleep__begin"]], [3, 1, 4, 1, 5])
        self.assertEqual([e["args"]["arg1"] for e in events["thread__sleep__end"]], [0] * said["sleeps"])

    def test_monitors_without_the_option(self):
        _, events = self.attached("u:hotspot:monitor__*")
        self.assertEqual(events, {})


class Everything(Java):
    def test_all_sites(self):
        """All probes at once, quiet by a predicate, come and go while the program works; no site stays changed."""
        program = self.gated(*self.java("GcChurn", "1", "--gate", options=("-Xmx64m", "-XX:+UseSerialGC")))
        libjvm = self.libjvm_of(program.pid)
        probes = self.probes_of(libjvm, "*")
        sites = sum(len(probe["sites"]) for probe in probes)
        before = self.site_bytes(program.pid, libjvm, probes)
        start = time.monotonic()
        trace = self.trace("-p", program.pid, f"u:{libjvm}:* (pid == 0)")
        attach = time.monotonic() - start
        self.assertEqual((trace.probes, trace.sites), (len(probes), sites))
        self.assertEqual(set(self.site_bytes(program.pid, libjvm, probes)), {0xcc})
        said = self.go(program)
        self.assertGreater(said["Copy"], 0)
        detach = self.stop(trace)
        self.assertEqual(trace.events(), [])
        self.assertEqual(self.site_bytes(program.pid, libjvm, probes), before)
        self.let_end(program)
        self.remark(f"{sites} sites: {attach * 1000:.0f} ms until attached, {detach * 1000:.0f} ms to let go")
        self.assertGreaterEqual(sites, 531)

    def test_list_of_a_process(self):
        program = self.gated(*self.java("GcChurn", "1", "--gate"))
        listed = self.usertrace("list", "-p", str(program.pid), "gc__*")
        self.assertEqual(listed.status, 0, listed.describe())
        for name in ("gc__begin", "gc__end"):
            self.assertTrue(any(name in line for line in listed.stdout), listed.describe())


if __name__ == "__main__":
    unittest.main()
