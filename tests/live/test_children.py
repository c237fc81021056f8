# SPDX-License-Identifier: MIT
"""Children that exist when tracing begins: included with -f, counted by runtime without."""
import os
import re
import signal
import subprocess
import unittest

import agree
import live
import profiles
import puppet

PYTHON = "/usr/bin/python3.11"
# A master that forks workers; one of them has a child of its own. Each collects at SIGUSR1 and prints that it has.
MASTER = """
import gc, os, signal, sys
gc.disable()
def collect(*_):
    gc.collect()
    os.write(1, b"collected %d\\n" % os.getpid())
def work(children):
    signal.signal(signal.SIGUSR1, collect)
    for _ in range(children):
        if not os.fork():
            work(0)
    os.write(1, b"worker %d\\n" % os.getpid())
    while True:
        signal.pause()
for i in range(2):
    if not os.fork():
        work(i)
os.write(1, b"ready %d\\n" % os.getpid())
sys.stdin.read()
os.killpg(0, signal.SIGKILL)
"""
BURNS = """
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/prctl.h>
volatile unsigned long n;
__attribute__((noinline)) void child_work(void) { for (;;) n++; }
int main(void)
{
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			child_work();
		}
	printf("ready %d\\n", getpid());
	fflush(stdout);
	pause();
	return 0;
}
"""


@live.needs_root()
class Programs(puppet.Case):
    @live.vm_safe
    def test_of_a_shell(self):
        """The shell has no probe, its child has, and the child's own children are followed from then on."""
        shell = self.start("/bin/sh", "-c", f"exec 3<&0; '{puppet.PUPPET}' <&3 & echo started $!; wait", stdin=subprocess.PIPE)
        shell.wait_for("^ready")
        trace = self.trace("-f", "-p", shell.pid, "u:puppet:*")
        shell.say("tick 2\ngenerations 2\n")
        shell.wait_for("^done generations")
        self.assertEqual(puppet.finish(trace), [("tick", "0"), ("tick", "1"), ("child", "0"), ("child", "1")])

    def test_user_events_and_tracepoints(self):
        shell = self.start("/bin/sh", "-c", f"exec 3<&0; '{puppet.PUPPET}' <&3 & wait", stdin=subprocess.PIPE)
        shell.wait_for("^ready")
        rename = 't:task:task_rename (newcomm == "ut-inner") "%s", newcomm'
        for options, seen in ((["-f"], [("task_rename", "ut-inner")]), ([], [])):
            trace = self.trace(*options, "-p", shell.pid, rename)
            before = shell.stdout.count("done name ut-inner")
            shell.say("name ut-inner\n")
            shell.wait_until(lambda: shell.stdout.count("done name ut-inner") > before, "the name")
            self.assertEqual(puppet.finish(trace), seen)

    def test_the_tracer_is_no_child_of_its_shell(self):
        """usertrace -f -p $$: what it does itself is no event."""
        script = f"'{live.USERTRACE}' trace -f -p $$ -d 0.3 't:raw_syscalls:sys_enter' 2>&1; exit 0"
        shell = self.start("/bin/sh", "-c", script)
        self.assertEqual(shell.wait(), 0)
        self.assertEqual([l for l in shell.stdout if " usertrace " in l and "sys_enter" in l], [])


@live.needs_root()
@unittest.skipUnless(os.path.exists(PYTHON), f"{PYTHON} is not installed")
class Workers(live.Case):
    def setUp(self):
        self.master = self.start_target(PYTHON, "-c", MASTER, stdin=subprocess.PIPE, preexec=os.setsid)
        self.addCleanup(self.end_group)
        self.master.wait_until(lambda: len(self.workers()) == 3, "three workers")

    def end_group(self):
        try:
            os.killpg(self.master.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def workers(self):
        return sorted(int(l.split()[1]) for l in self.master.stdout if l.startswith("worker"))

    def collect(self):
        for pid in self.workers():
            done = self.master.stdout.count(f"collected {pid}")
            os.kill(pid, signal.SIGUSR1)
            self.master.wait_until(lambda: self.master.stdout.count(f"collected {pid}") > done, f"a collection of {pid}")

    def note(self, process):
        return [l for l in process.stderr if "child process" in l]

    def wanted_note(self):
        return [f"usertrace: note: process {self.master.pid} (python3.11) has 3 child processes that run CPython; use -f to "
                "include them"]

    def test_trace(self):
        for options in (["-f"], []):
            with self.subTest(options=options):
                trace = self.trace(*options, "-p", self.master.pid, "u:python:gc__start")
                self.collect()
                self.assertEqual(trace.interrupt(), 0)
                self.assertEqual(sorted(int(e[0]) for e in trace.events()), self.workers() if options else [])
                self.assertEqual(self.note(trace), [] if options else self.wanted_note())

    def test_trace_of_a_parent_without_the_probe(self):
        shell = self.start("/bin/sh", "-c", f"'{PYTHON}' -c 'import signal; print(\"up\", flush=True); signal.pause()' & wait",
                           stdin=subprocess.PIPE)
        shell.wait_for("^up")
        self.addCleanup(os.kill, self.child_of(shell), signal.SIGKILL)
        done = self.usertrace("trace", "-p", shell.pid, "u:python:gc__start")
        self.assertEqual(done.status, 2)
        self.assertIn("there is 1 child process that runs CPython; use -f to include it", "\n".join(done.stderr))

    def test_gc(self):
        watch = agree.gc(self, "-f", "-p", self.master.pid)
        self.collect()
        self.assertEqual(watch.interrupt(), 0)
        spans = [s for s in watch.objects() if s["type"] == "span"]
        self.assertEqual(sorted(s["pid"] for s in spans), self.workers())
        self.assertEqual({s["end"] for s in spans}, {"complete"})
        attached = {p["pid"] for p in watch.objects() if p["type"] == "attach"}
        self.assertEqual(attached, {self.master.pid, *self.workers()})
        done = self.usertrace("gc", "-p", self.master.pid, "-d", "0.1")
        self.assertEqual(self.note(done), self.wanted_note())

    def test_top(self):
        done = self.usertrace("top", "-b", "-f", "-p", self.master.pid, "-d", "0.1")
        rows = {int(m[1]) for m in map(re.compile(r" *(\d+) python3\.11 +CPython").match, done.stdout) if m}
        self.assertEqual(rows, {self.master.pid, *self.workers()})
        done = self.usertrace("top", "-b", "-p", self.master.pid, "-d", "0.1")
        self.assertEqual(self.note(done), self.wanted_note())

    def test_note_of_profile(self):
        done = self.usertrace("profile", "-p", self.master.pid, "-d", "0.1")
        self.assertEqual(self.note(done), self.wanted_note())


@live.needs_root()
class Samples(profiles.Case):
    def test_profile(self):
        program = self.start_target(self.build(BURNS, "-O1"))
        profile = self.profile("-f", "-p", program.pid, "-d", "0.5")
        self.assertGreater(profile.weight("child_work"), 0)
        self.assertGreater(profile.share("child_work"), 0.9)
        self.assertEqual(self.profile("-p", program.pid, "-d", "0.2").weight("child_work"), 0)


if __name__ == "__main__":
    unittest.main()
