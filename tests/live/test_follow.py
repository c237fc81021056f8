# SPDX-License-Identifier: MIT
"""Commands and their children: what starts later, what is loaded later, and what is left behind."""
import os
import re
import signal
import subprocess
import unittest

import live
import puppet

FORKER = os.path.join(live.TARGETS, "forker")
PLUGGED = os.path.join(live.TARGETS, "plugged")
IN_VM = bool(os.environ.get("UT_VM"))
# Each of four children fires twice, the parent once.
NINE = sorted([("parent", "1"), *(("child", str(i + late)) for i in range(4) for late in (0, 100))])


def stopped_processes():
    """Processes that are in state T."""
    return {int(p) for p in os.listdir("/proc") if p.isdigit() and puppet.state(p) == "T"}


@live.needs_root()
class Follow(puppet.Case):
    def setUp(self):
        self.stopped_before = stopped_processes()

    def tearDown(self):
        new = stopped_processes() - self.stopped_before    # other tests have some for a moment
        self.eventually(lambda: not new & stopped_processes(), f"one of {new} is left stopped")


class Children(Follow):
    @live.vm_safe
    def test_of_a_command(self):
        trace = self.trace_command("u:fk:*", "--", FORKER)
        self.assertEqual((trace.status, sorted(trace.seen)), (0, NINE))

    def test_of_a_command_by_path(self):
        trace = self.trace_command(f"u:{FORKER}:*", "--", FORKER)
        self.assertEqual((trace.status, sorted(trace.seen)), (0, NINE))

    def test_not_of_a_command(self):
        for probe in ("u:fk:*", f"u:{FORKER}:*"):
            with self.subTest(probe=probe):
                trace = self.trace_command("--no-follow", probe, "--", FORKER)
                self.assertEqual((trace.status, trace.seen), (0, [("parent", "1")]))

    @live.vm_safe
    def test_of_a_process(self):
        for options, expected in ((["-f"], NINE), ([], [("parent", "1")])):
            with self.subTest(options=options):
                target = self.start_target(FORKER, "wait", stdin=subprocess.PIPE)
                trace = self.trace(*options, "-p", target.pid, "u:fk:*")
                target.say("\n")
                self.assertEqual(target.wait(), 0)
                trace.wait()
                self.assertEqual(sorted(puppet.seen_events(trace)), expected)

    def test_grandchildren(self):
        trace = self.trace_command("u:puppet:child", "--", puppet.PUPPET, "generations 5")
        self.assertEqual(trace.seen, [("child", str(i)) for i in range(5)])
        self.assertEqual(len({e[0] for e in trace.events()}), 5)

    def test_grandchildren_of_a_process(self):
        one = self.puppet()
        trace = self.trace("-f", "-p", one.pid, "u:puppet:child")
        one.do("generations 4")
        self.assertEqual(puppet.finish(trace), [("child", str(i)) for i in range(4)])

    @live.vm_safe
    def test_tracepoints_follow_too(self):
        trace = self.trace_command('t:task:task_rename (newcomm == "ut-inner") "%s", newcomm', "--", puppet.PUPPET,
                                   f"sh exec {puppet.PUPPET} 'name ut-inner'")
        self.assertEqual(trace.seen, [("task_rename", "ut-inner")])

    @live.vm_safe
    def test_many_children(self):
        count = 20 if IN_VM else 200
        trace = self.trace_command("u:puppet:*", "--", puppet.PUPPET, f"forks {count}", timeout=60)
        self.assertEqual((trace.status, sorted(trace.seen)), (0, sorted(("child", str(i)) for i in range(count))))

    def test_many_programs(self):
        count = 4 if IN_VM else 25
        script = f"for i in $(seq {count}); do {puppet.PUPPET} 'tick 2' & done; wait"
        trace = self.trace_command("u:puppet:*", "--", "sh", "-c", script, timeout=60)
        self.assertEqual((trace.status, sorted(trace.seen)), (0, sorted([("tick", "0"), ("tick", "1")] * count)))


class Programs(Follow):
    @live.vm_safe
    def test_another_program_that_has_the_probe(self):
        """A shell that becomes the program, one that starts it, and the program that becomes itself again."""
        for command in (["sh", "-c", f"exec {puppet.PUPPET} 'tick 2'"], ["sh", "-c", f"{puppet.PUPPET} 'tick 2'; true"],
                        [puppet.PUPPET, f"sh exec {puppet.PUPPET} 'tick 2'"]):
            with self.subTest(command=command):
                trace = self.trace_command("u:puppet:tick", "--", *command)
                self.assertEqual((trace.status, trace.seen), (0, [("tick", "0"), ("tick", "1")]))

    def test_by_path_before_it_runs(self):
        trace = self.trace_command(f"u:{puppet.PUPPET}:tick", "--", "sh", "-c", f"{puppet.PUPPET} 'tick 2'; true")
        self.assertEqual(trace.seen, [("tick", "0"), ("tick", "1")])

    @live.vm_safe
    def test_semaphores_are_up_before_the_program_begins(self):
        trace = self.trace_command("u:puppet:guarded", "--", puppet.PUPPET, "guarded 1")
        self.assertEqual(trace.said, [("guarded", "1"), ("guarded", "2")])
        self.assertEqual(trace.seen, trace.said)

    @live.vm_safe
    def test_constructor_of_a_linked_library(self):
        trace = self.trace_command("u:plug:*", "--", PLUGGED)
        self.assertEqual(trace.seen, [("loaded", "1"), ("work", "7")])

    @live.vm_safe
    def test_constructor_of_a_library_loaded_later(self):
        trace = self.trace_command("u:plug:*", "--", puppet.PUPPET, f"load {puppet.PLUG}", "work 3")
        self.assertEqual(trace.seen, [("loaded", "1"), ("work", "3")])

    def test_functions_of_a_library_loaded_later(self):
        trace = self.trace_command('p:plug:plug_work "%d", arg1', "--", puppet.PUPPET, f"load {puppet.PLUG}", "work 3")
        self.assertEqual(trace.seen, [("plug_work", "3")])

    def test_static_program(self):
        static = os.path.join(live.TARGETS, "zoo-static")
        trace = self.trace_command("u:zoo:konst", "--", static, "1")
        self.assertEqual(trace.seen, [("konst", "5 -5")])

    def test_without_following(self):
        trace = self.trace_command("--no-follow", f"u:{puppet.PUPPET}:tick", "--", puppet.PUPPET, "tick 2")
        self.assertEqual(trace.seen, [("tick", "0"), ("tick", "1")])


class Ends(Follow):
    def test_command_that_is_not_there(self):
        for command, why in (("/no/such/program", "No such file"), ("/etc/passwd", "Permission denied"),
                             ("", "No such file")):
            with self.subTest(command=command):
                trace = self.trace_command(f"u:{puppet.PUPPET}:tick", "--", command)
                self.assertEqual(len(trace.stderr), 1, trace.stderr)
                self.assertRegex(trace.stderr[0], f"^usertrace trace: cannot run '{command}': {why}")
                self.assertNotEqual(trace.status, 0)

    def test_status_of_the_command(self):
        for commands, status in ((["quit 0"], 0), (["quit 7"], 7), (["die 9"], 137), (["die 15"], 143)):
            with self.subTest(commands=commands):
                trace = self.trace_command("u:puppet:tick", "--", puppet.PUPPET, "tick 1", *commands)
                self.assertEqual((trace.status, trace.seen), (status, [("tick", "0")]))

    def test_probes_that_never_appear(self):
        trace = self.trace_command("u:nosuch:probe", "--", puppet.PUPPET, "tick 1")
        self.assertEqual((trace.status, trace.seen), (1, []))
        self.assertRegex("\n".join(trace.stderr), r"no probe nosuch:probe")
        trace = self.trace_command("u:nosuch:probe", "--", puppet.PUPPET, "quit 5")
        self.assertEqual(trace.status, 1)   # tracing did not go well, whatever the command says

    def test_interrupt_of_the_tracer_alone(self):
        """A terminal's Ctrl-C reaches the command too; this one does not: it goes on untraced and is waited for."""
        trace = self.trace("u:puppet:tick", "--", puppet.PUPPET, "forever")
        trace.wait_for(" tick ")
        pid = self.child_of(trace)
        self.addCleanup(lambda: puppet.state(pid) and os.kill(pid, signal.SIGKILL))
        trace.signal(signal.SIGINT)
        trace.wait_for(r"^usertrace: .* events in ", "stderr")
        self.assertIn(puppet.state(pid), ("R", "S"))
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(trace.wait(), 143)

    def test_format_that_does_not_fit(self):
        """The note is told once, however often the processes of the command are looked at."""
        command = ["sh", "-c", f"{puppet.PUPPET} 'tick 2'; true"]
        done = self.usertrace("trace", 'u:puppet:tick "%f", arg1', "--", *command)
        notes = [line for line in done.stderr if line.startswith("usertrace: note: %f needs a float, but arg1 is ")]
        self.assertEqual((done.status, len(notes)), (1, 1), done.stderr)

    def test_format_wrong_by_itself(self):
        """No command runs for it."""
        done = self.usertrace("trace", 'u:puppet:tick "%q", arg1', "--", puppet.PUPPET, "tick 2")
        self.assertEqual((done.status, done.stdout), (2, []))
        self.assertRegex(done.stderr[0], "^usertrace trace: unknown conversion")

    def test_output_that_cannot_be_written(self):
        """Even the heading does not fit. The command is not left stopped, and runs to its end."""
        done = self.usertrace("trace", "-o", "/dev/full", "u:plug:*", "--", puppet.PUPPET, f"load {puppet.PLUG}",
                              "work 1")
        self.assertEqual(done.status, 1)
        self.assertRegex(done.stderr[-1], "^usertrace trace: cannot write to '/dev/full': No space left")
        self.assertIn("done work 1", done.stdout)

    def test_reader_that_has_seen_enough(self):
        """The command goes on all the same, and its status is ours."""
        read, write = os.pipe()
        os.close(read)
        trace = self.trace("u:puppet:tick", "--", "sh", "-c", f"{puppet.PUPPET} 'tick 1' >/dev/null; exit 6",
                           stdout=write, attached=False)
        os.close(write)
        self.assertEqual(trace.wait(), 6)

    def test_first_thread_that_ended(self):
        """The process shows as a zombie while its other thread loads a library: it is not left stopped."""
        done = self.usertrace("trace", "u:plug:*", "--", puppet.PUPPET, f"alone {puppet.PLUG}")
        self.assertIn(f"done alone {puppet.PLUG}", done.stdout)

    def test_limit_of_events(self):
        trace = self.trace("-M", "3", "u:puppet:tick", "--", puppet.PUPPET, "tick 10", "forks 3", "quit 4",
                           attached=False)
        self.assertEqual(trace.wait(), 4)
        ticks = [e for e in trace.stdout if re.match(r"\d+ +\d+ ", e)]
        self.assertEqual(len(ticks), 3)

    def test_child_that_outlives_the_command(self):
        """It is neither waited for nor stopped."""
        script = f"sleep 60 >/dev/null 2>&1 & echo event sleeper $!; exec {puppet.PUPPET} 'tick 1'"
        trace = self.trace_command("u:puppet:tick", "--", "sh", "-c", script)
        (_, pid), _ = trace.said
        self.addCleanup(os.kill, int(pid), signal.SIGKILL)
        self.assertEqual((trace.status, trace.seen), (0, [("tick", "0")]))
        self.assertIn(puppet.state(int(pid)), ("S", "R", "D"))


if __name__ == "__main__":
    unittest.main()
