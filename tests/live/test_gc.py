# SPDX-License-Identifier: MIT
"""`usertrace gc` on a program that collects when it is told (tests/targets/collector.c): what it prints, what it
refuses, and that nothing is ever longer than it was."""
import json
import os
import pty
import re
import signal
import subprocess
import unittest

import agree
import live

COLLECTOR = os.path.join(live.TARGETS, "collector")
MS = 1_000_000
HEAD = """
[runtime]
name = Collector
language = none
match = collector
version = text "collector version "
"""
SPANS = """
[span gc]
begin = p:collector:gc_begin "full=%d cause=%s", arg1, arg2
end = p:collector:gc_end "freed=%d", arg1
word = full 0 young
word = full 1 full
[span compile]
begin = p:collector:compile_begin "name=%s", arg1
end = p:collector:compile_end
"""


class Case(live.Case):
    def ini(self, text=HEAD + SPANS):
        path = os.path.join(self.tempdir(), "collector.ini")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def collector(self, path=COLLECTOR, **kwargs):
        return self.start_target(path, stdin=subprocess.PIPE, **kwargs)

    def tell(self, target, *commands):
        """Has it obey, and waits until it has."""
        for command in commands:
            name = command.split()[0]
            done = target.stdout.count(f"done {name}")
            target.say(command + "\n")
            target.wait_until(lambda: target.stdout.count(f"done {name}") > done, f"end of '{command}'")

    def gc(self, *args, ini=None, **kwargs):
        """usertrace gc in text, attached."""
        return self.trace_command("--runtime", ini or self.ini(), *args, **kwargs)

    def trace_command(self, *args, **kwargs):
        watch = live.Trace([live.USERTRACE, "gc", *args], **kwargs)
        self.addCleanup(watch.end)
        watch.wait_attached()
        return watch

    def json(self, *args, **kwargs):
        return agree.gc(self, "--runtime", self.ini(), *args, **kwargs)

    def refused(self, *args, ini=None):
        """The sentence with which it refuses; it has attached nothing."""
        done = self.usertrace("gc", "--runtime", ini or self.ini(), *args)
        self.assertEqual((done.status, done.stdout), (2, []), done.describe())
        return "\n".join(done.stderr)

    def end(self, watch, status=0):
        self.assertEqual(watch.interrupt(), status, watch.describe())

    def finish(self, watch, pid=None, status=0):
        """Ends it; the spans, none of which is longer than the run."""
        self.end(watch, status)
        return self.spans_of(watch, pid)

    def spans_of(self, watch, pid=None):
        spans = watch.spans(closed=None)
        for span in spans:
            self.assertLessEqual(span.get("stopped_ns", 0), span["duration_ns"], span)
            self.assertEqual(span["duration_ns"], span["end_ns"] - span["begin_ns"], span)
        return [s for s in spans if pid in (None, s["pid"])]

    def lines(self, watch):
        """The lines of spans, without the titles and the summary."""
        return [l for l in watch.stdout if re.match(r" *\d+\.\d{6} ", l)]


@live.needs_root()
class Spans(Case):
    @live.vm_safe
    def test_a_collection(self):
        target = self.collector()
        watch = self.json("-p", target.pid)
        self.tell(target, "collect 2000", "compile f")
        spans = self.finish(watch)
        self.assertEqual(len(spans), 1)     # compilations are not asked for
        span, said = spans[0], re.match(r"collected (\d+) (\d+)", target.stdout[1])
        wanted = {"kind": "gc", "runtime": "Collector", "label": "full", "cause": "told to", "freed_bytes": 4096,
                  "end": "complete", "pid": target.pid, "comm": "collector", "number": 1}
        self.assertEqual({k: span[k] for k in wanted}, wanted)
        self.assertGreaterEqual(span["begin_ns"], int(said[1]))
        self.assertLessEqual(span["duration_ns"], int(said[2]))
        self.assertGreater(span["duration_ns"], 2 * MS - 1)
        self.assertEqual(watch.process(target.pid)["version"], "2.5.1")

    def test_lines_for_people(self):
        target = self.collector()
        watch = self.gc("-p", target.pid, "--kind", "gc,compile")
        self.tell(target, "collect 1500", "compile sum")
        watch.wait_for("compile sum")
        self.end(watch)
        self.assertRegex(watch.stdout[0], r"^ +SECONDS WHAT +PAUSE +STOPPED +GC CPU +FREED +HEAP CAUSE$")
        self.assertRegex(watch.stdout[1], r"^ +\d\.\d{6} full +[\d.]+ ms +[\d.]+ ms +[\d.]+ .s +4K +- told to$")
        self.assertIn(f"usertrace: watching process {target.pid} (collector): Collector 2.5.1", watch.stderr)

    def test_the_short_ones_are_in_the_summary(self):
        target = self.collector()
        watch = self.json("-p", target.pid, "--min", "100ms")
        self.tell(target, "collect 200", "collect 120000", "collect 100")
        spans = self.finish(watch)
        self.assertEqual([s["number"] for s in spans], [2])
        row = next(r for r in watch.summary()["rows"] if r["kind"] == "gc")
        self.assertEqual(row["count"], 3)

    def test_count_ends_it(self):
        target = self.collector()
        watch = self.json("-p", target.pid, "-n", "2")
        self.tell(target, "collect 10", "collect 10", "collect 10")
        self.assertEqual(watch.wait(), 0, watch.describe())
        self.assertEqual([s["number"] for s in watch.spans()], [1, 2])

    def test_two_processes(self):
        a, b = self.collector(), self.collector()
        watch = self.gc("-p", f"{a.pid},{b.pid}")
        self.tell(a, "collect 10")
        self.tell(b, "collect 10")
        self.end(watch)
        self.assertRegex(watch.stdout[0], r"SECONDS +PID COMM")
        self.assertEqual([int(l.split()[1]) for l in self.lines(watch)], [a.pid, b.pid])

    def test_all_and_new_ones(self):
        before = self.collector()
        watch = self.json("-a")
        after = self.collector()
        self.tell(before, "collect 10")
        self.tell(after, "collect 10")
        watch.wait_for(f'"span".*"pid":{after.pid}')
        spans = self.finish(watch)
        self.assertLessEqual({before.pid, after.pid}, {s["pid"] for s in spans})
        self.assertIn("2.5.1", [p["version"] for p in watch.of_type("attach") if p["pid"] == after.pid])

    def test_a_command_and_its_status(self):
        path = os.path.join(self.tempdir(), "out")
        watch = self.json("-o", path, "--", COLLECTOR, "collect 10", "compile x", attached=False)
        self.assertEqual(watch.wait(), 7, watch.describe())
        self.assertIn("done collect", watch.stdout)
        with open(path, encoding="utf-8") as file:
            watch.stdout[:] = file.read().splitlines()
        spans = self.spans_of(watch)
        self.assertEqual([s["label"] for s in spans], ["full"])
        self.assertEqual(watch.summary(spans[0]["pid"])["runtime"], "Collector")

    def test_children_of_what_is_no_runtime(self):
        shell = self.start("sh", "-c", "read line; $line; exit", stdin=subprocess.PIPE)
        watch = self.json("-p", shell.pid, "-f")
        shell.say(COLLECTOR + "\n")
        watch.wait_for("attached .* more", "stderr")
        self.tell(shell, "collect 10")
        spans = self.finish(watch)
        self.assertEqual([s["label"] for s in spans], ["full"])
        self.assertNotEqual(spans[0]["pid"], shell.pid)

    def test_a_command_that_is_no_runtime(self):
        done = self.usertrace("gc", "--", "true")
        self.assertEqual(done.status, 0)
        self.assertIn("usertrace: 'true' started no known runtime that reports these kinds",
                      done.stderr)

    def test_without_measuring(self):
        target = self.collector()
        watch = self.json("-p", target.pid, "--no-measure")
        self.tell(target, "collect 10")
        spans = self.finish(watch)
        self.assertEqual((len(spans), "stopped_ns" in spans[0]), (1, False))

    def test_measured(self):
        target = self.collector()
        watch = self.json("-p", target.pid)
        self.tell(target, "collect 20000")
        span = self.finish(watch)[0]
        self.assertGreater(span["stopped_ns"], span["duration_ns"] * 0.95)
        self.assertLess(span["program_ns"], span["duration_ns"] * 0.05)


@live.needs_root()
class Broken(Case):
    """Begins without ends, ends without begins, and programs that go away inside."""

    def test_cut_at_attach_and_detach(self):
        target = self.collector()
        self.tell(target, "begin 1")
        watch = self.json("-p", target.pid)
        self.tell(target, "end 5", "begin 0")
        spans = self.finish(watch)
        self.assertEqual([(s["end"], s["label"]) for s in spans], [("before-attach", "gc"), ("open", "young")])
        summary = watch.summary()
        self.assertLessEqual(sum(s["duration_ns"] for s in spans), summary["end_ns"] - summary["begin_ns"])

    def test_it_dies_inside(self):
        target = self.collector()
        watch = self.json("-p", target.pid)
        self.tell(target, "begin 1")
        target.say("die 9\n")
        self.assertEqual(watch.wait(), 0, watch.describe())
        spans = self.spans_of(watch)
        self.assertEqual([s["end"] for s in spans], ["process-exited"])
        self.assertTrue(watch.summary()["detached"])
        self.assertIn(f"usertrace: process {target.pid} exited", watch.stderr)

    def test_another_program_inside(self):
        target = self.collector()
        watch = self.json("-p", target.pid)
        self.tell(target, "begin 1")
        target.say("exec /bin/true\n")
        self.assertEqual(watch.wait(), 0, watch.describe())
        self.assertEqual([s["end"] for s in self.spans_of(watch)], ["exec"])

    def test_a_thread_ends_inside(self):
        target = self.collector()
        watch = self.json("-p", target.pid)
        self.tell(target, "thread", "collect 10")
        spans = self.finish(watch)
        self.assertEqual([s["end"] for s in spans], ["thread-exited", "complete"])
        self.assertNotEqual(spans[0]["tid"], target.pid)

    @live.vm_safe
    def test_a_fork_inside(self):
        target = self.collector()
        watch = self.json("-p", target.pid, "-f")
        self.tell(target, "fork")
        spans = self.finish(watch)
        child = int(re.search(r"child (\d+)", "\n".join(target.stdout))[1])
        self.assertEqual([(s["end"], s.get("freed_bytes")) for s in spans if s["pid"] == target.pid], [("complete", 3)])
        self.assertEqual([(s["end"], s.get("freed_bytes"), s["label"]) for s in spans if s["pid"] == child],
                         [("inherited", 1, "gc"), ("complete", 2, "full")])
        inherited = next(s for s in spans if s["end"] == "inherited")
        parent = next(s for s in spans if s["pid"] == target.pid)
        self.assertLessEqual(inherited["end_ns"] - parent["begin_ns"], parent["duration_ns"])

    def held(self, hold):
        """A collection that something holds; its span."""
        target = self.collector()
        watch = self.json("-p", target.pid)
        self.tell(target, "begin 1")
        hold(target)
        self.tell(target, "end 1")
        return self.finish(watch)[0]

    @live.vm_safe
    def test_stopped_by_a_signal(self):
        def hold(target):
            target.signal(signal.SIGSTOP)
            self.eventually(lambda: self.state(target.pid) == "T", "a stopped process")
            self.pause(0.05)
            target.signal(signal.SIGCONT)
        span = self.held(hold)
        self.assertGreater(span["held_ns"], 45 * MS)
        self.assertLess(span["stopped_ns"], span["duration_ns"] - span["held_ns"] + MS)

    @live.needs_program("gdb")
    def test_stopped_by_a_debugger(self):
        def hold(target):
            wait = "python import time; time.sleep(0.05)"    # that long it holds the program
            done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(target.pid), "-ex", wait, "-ex", "detach"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        span = self.held(hold)
        self.assertGreater(span["held_ns"], 45 * MS)
        self.assertLess(span["stopped_ns"], span["duration_ns"] - span["held_ns"] + MS)

    def state(self, pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0]

    def pause(self, seconds):
        """Time that must pass for there to be something to measure."""
        end = live.time.monotonic() + seconds
        self.eventually(lambda: live.time.monotonic() > end, "time passing")


@live.needs_root()
class Signals(Case):
    def test_handlers(self):
        target = self.collector()
        watch = self.json("-p", target.pid, "--kind", "signal")
        self.tell(target, "signals 3", "ignored")
        spans = self.finish(watch)
        self.assertEqual([(s["label"], s["end"]) for s in spans], [("SIGUSR1", "complete")] * 3)
        for span in spans:
            self.assertGreater(span["duration_ns"], 200_000)    # that long the handler runs

    def test_in_the_summary_alone(self):
        target = self.collector()
        watch = self.json("-p", target.pid)
        self.tell(target, "signals 2")
        self.assertEqual(self.finish(watch), [])
        row = next(r for r in watch.summary()["rows"] if r["kind"] == "signal")
        self.assertEqual(row["count"], 2)

    def test_handlers_that_jump(self):
        target = self.collector()
        watch = self.gc("-p", target.pid)
        self.tell(target, "jumps 5", "signals 1")
        self.end(watch)
        self.assertIn("5 signal handlers did not return: they left by a jump, or still ran at the end",
                      "\n".join(watch.stdout))

    def test_more_jumps_than_are_kept(self):
        target = self.collector()
        watch = self.json("-p", target.pid, "--kind", "signal", "--min", "1000")
        self.tell(target, "jumps 5000", "signals 1")
        self.finish(watch)
        summary = watch.summary()
        self.assertEqual(summary["ends"]["evicted"], 5001 - 4096)
        self.assertIn("5,000 signal handlers did not return", "\n".join(summary["hints"]))
        self.assertEqual(next(r for r in summary["rows"] if r["kind"] == "signal")["count"], 1)

    def test_of_any_process(self):
        target = self.start("sh", "-c", "trap 'echo caught' USR1; echo ready; while read line; do :; done",
                            stdin=subprocess.PIPE)
        target.wait_for("ready")
        watch = self.json("-p", target.pid, "--kind", "signal")
        target.signal(signal.SIGUSR1)
        watch.wait_for("SIGUSR1")
        spans = self.finish(watch)
        self.assertEqual([s["label"] for s in spans], ["SIGUSR1"])
        self.assertNotIn("runtime", watch.process(target.pid))


@live.needs_root()
class Refused(Case):
    def test_no_runtime(self):
        target = self.start("sleep", "60")
        self.assertEqual(self.refused("-p", target.pid),
                         f"usertrace gc: process {target.pid} (sleep) has no known runtime: 'usertrace list -p "
                         f"{target.pid}' shows what can be traced, --runtime FILE adds a runtime definition, and --kind "
                         "signal needs none")

    def test_one_of_two_is_no_runtime(self):
        runtime, other = self.collector(), self.start("sleep", "60")
        shell = self.start("/bin/sh", "-c", f"exec 3<&0; '{COLLECTOR}' <&3 & echo started $!; wait", stdin=subprocess.PIPE)
        child = int(shell.wait_for(r"started (\d+)").group(1))
        shell.wait_for("ready")
        self.assertIn(f"process {shell.pid} (sh) has no known runtime, but its child process {child} (collector, ",
                      self.refused("-p", shell.pid))
        self.assertIn(f"process {other.pid} (sleep) has no known runtime", self.refused("-p", f"{runtime.pid},{other.pid}"))

    def test_no_process(self):
        done = self.usertrace("gc", "-p", "4194304")
        self.assertEqual((done.status, done.stderr), (1, ["usertrace gc: no process 4194304"]))

    def test_a_kernel_thread(self):
        if not os.path.exists("/proc/2/comm") or open("/proc/2/comm", encoding="ascii").read() != "kthreadd\n":
            self.skipTest("the kernel's threads are not seen from here")
        self.assertIn("is a kernel thread, not a runtime", self.refused("-p", "2"))

    @live.needs_program("strip")
    def test_stripped_of_symbols(self):
        path = os.path.join(self.tempdir(), "collector")
        subprocess.run(["strip", "-s", "-o", path, COLLECTOR], check=True)
        target = self.collector(path)
        said = self.refused("-p", target.pid)
        self.assertIn(f"process {target.pid} (collector) is Collector 2.5.1, but lacks the probes for its gc: ",
                      said)
        self.assertIn("has no function 'gc_begin'; it is stripped", said)

    def test_a_symbol_that_is_not_there(self):
        target = self.collector()
        ini = self.ini(HEAD + SPANS.replace("gc_begin", "gc_bigen"))
        said = self.refused("-p", target.pid, ini=ini)
        self.assertIn("but lacks the probes for its gc: ", said)
        self.assertIn("has no function 'gc_bigen'; there is gc_begin", said)

    def test_a_probe_that_is_not_there(self):
        target = self.collector()
        ini = self.ini(HEAD + "provider = collector\n" + SPANS.replace("p:collector:gc_end", "u:collector:gc__end"))
        said = self.refused("-p", target.pid, ini=ini)
        self.assertRegex(said, "lacks the probes for its gc: .*(there is no u:collector:gc__end|has no USDT probes)")

    def test_a_wrong_version(self):
        target = self.collector()
        ini = self.ini(HEAD + SPANS.replace("word = full 0 young", "since = 3\nword = full 0 young"))
        self.assertEqual(self.refused("-p", target.pid, ini=ini),
                         f"usertrace gc: process {target.pid} (collector) is Collector 2.5.1, but {ini} supports "
                         "only other versions: gc of 3 and later; use --runtime with a definition for this version")

    def test_nothing_that_is_known(self):
        target = self.collector()
        ini = self.ini(HEAD + "none = nothing in it begins a collection\n")
        self.assertIn("is Collector, which does not report its collections: nothing in it begins a collection",
                      self.refused("-p", target.pid, ini=ini))

    def test_a_kind_that_it_has_not(self):
        target = self.collector()
        self.assertIn("is Collector, which has no spans of kind park; available: --kind gc, compile",
                      self.refused("-p", target.pid, "--kind", "park"))

    def test_a_kind_that_is_missing_is_a_hint(self):
        target = self.collector()
        ini = self.ini(HEAD + SPANS.replace("compile_end", "compile_and"))
        watch = self.gc("-p", target.pid, "--kind", "all", ini=ini)
        self.tell(target, "collect 10")
        self.end(watch)
        self.assertRegex("\n".join(watch.stdout), "compile cannot be traced: .* has no function 'compile_and'")

    def test_what_needs_a_flag_is_a_hint(self):
        ini = self.ini(HEAD + SPANS + "needs = --trace-compiler\n")
        target = self.collector()
        watch = self.gc("-p", target.pid, "--kind", "all", ini=ini)
        self.end(watch)
        self.assertIn("compile is reported only by programs started with --trace-compiler",
                      "\n".join(watch.stdout))
        watch = self.gc("-p", target.pid, "--kind", "all", ini=ini)
        self.tell(target, "compile x")
        self.end(watch)
        self.assertNotIn("--trace-compiler", "\n".join(watch.stdout))

    def test_a_description_with_a_mistake(self):
        ini = self.ini(HEAD + SPANS.replace('arg1, arg2', 'arg1, arg9'))
        target = self.collector()
        said = self.refused("-p", target.pid, ini=ini)
        self.assertIn("arg9", said)

    def test_options(self):
        for args, said in (([], "no target: give -p PID"), (["-a", "-p", "1"], "mutually exclusive"),
                           (["-a", "--", "true"], "-a and a command after '--'"), (["12"], "did you mean -p 12?"),
                           (["-a", "--kind", "compiel"], "unknown kind 'compiel'; did you mean 'compile'?"),
                           (["-a", "-n", "0"], "greater than 0"), (["-a", "-s", "--no-summary"], "mutually exclusive"),
                           (["-a", "-s", "-n", "1"], "mutually exclusive"), (["-a", "--min", "long"], "'long' is not a time"),
                           (["-a", "--buffer", "5000"], "power of two"), (["-a", "-f"], "requires a process"),
                           (["-a", "--runtime", "/none.ini"], "cannot read '/none.ini'")):
            with self.subTest(args=args):
                done = self.usertrace("gc", *args)
                self.assertIn(done.status, (1, 2))
                self.assertIn(said, "\n".join(done.stderr))
                self.assertEqual(done.stdout, [])


@live.needs_root()
class Output(Case):
    def test_a_closed_pipe(self):
        target = self.collector()
        read, write = os.pipe()
        watch = live.Process([live.USERTRACE, "gc", "--runtime", self.ini(), "-p", target.pid], stdout=write)
        self.addCleanup(watch.end)
        os.close(write)
        watch.wait_for("attached", "stderr")
        os.close(read)
        self.tell(target, "collect 10")
        self.assertEqual(watch.wait(), 0, watch.describe())
        self.assertNotIn("cannot write", "\n".join(watch.stderr))

    def test_a_full_file(self):
        target = self.collector()
        done = self.usertrace("gc", "--runtime", self.ini(), "-p", target.pid, "-o", "/dev/full", "-d", "5")
        self.assertEqual(done.status, 1)
        self.assertIn("usertrace gc: cannot write to '/dev/full': No space left on device", done.stderr)

    def test_into_a_file(self):
        target = self.collector()
        path = os.path.join(self.tempdir(), "out")
        watch = self.gc("-p", target.pid, "-o", path, "--no-summary")
        self.tell(target, "collect 10")
        self.end(watch)
        self.assertEqual(watch.stdout, [])
        with open(path, encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 2)

    def test_the_summary_alone(self):
        target = self.collector()
        watch = self.gc("-p", target.pid, "-s")
        self.tell(target, "collect 2000")
        self.end(watch)
        text = "\n".join(watch.stdout)
        self.assertEqual(self.lines(watch), [])
        self.assertNotIn("SECONDS", text)
        self.assertIn("Collector 2.5.1", text)
        self.assertIn("stopped", text)

    def test_every_line_is_json(self):
        target = self.collector()
        watch = self.json("-p", target.pid, "--kind", "all")
        self.tell(target, "collect 10", "compile \"q\\u", "signals 1")
        self.finish(watch)
        kinds = [json.loads(line)["type"] for line in watch.stdout]
        self.assertEqual((kinds[0], kinds.count("span"), kinds[-1]), ("attach", 3, "summary"))

    def terminal(self, env, *args):
        """What it writes to a terminal."""
        target = self.collector()
        master, slave = pty.openpty()
        watch = live.Process([live.USERTRACE, "gc", "--runtime", self.ini(), "-p", target.pid, *args], stdout=slave,
                             env=env)
        self.addCleanup(watch.end)
        os.close(slave)
        watch.wait_for("attached", "stderr")
        self.tell(target, "collect 12000")
        watch.signal(signal.SIGINT)
        text = b""
        try:
            while chunk := os.read(master, 65536):
                text += chunk
        except OSError:
            pass
        os.close(master)
        self.assertEqual(watch.wait(), 0, watch.describe())
        return text

    def test_colour_on_a_terminal_alone(self):
        self.assertIn(b"\x1b[", self.terminal({"TERM": "xterm", "NO_COLOR": ""}))
        self.assertNotIn(b"\x1b[", self.terminal({"TERM": "xterm", "NO_COLOR": "1"}))
        self.assertNotIn(b"\x1b[", self.terminal({"TERM": "dumb", "NO_COLOR": ""}))

    def test_duration(self):
        target = self.collector()
        done = self.usertrace("gc", "--runtime", self.ini(), "-p", target.pid, "-d", "100ms", "--json")
        self.assertEqual(done.status, 0)
        summary = json.loads(done.stdout[-1])
        self.assertGreaterEqual(summary["end_ns"] - summary["begin_ns"], 100 * MS)


if __name__ == "__main__":
    unittest.main()
