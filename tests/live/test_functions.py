# SPDX-License-Identifier: MIT
"""Function probes that need more than a symbol: patterns of which a part cannot be probed, execs of
second threads, indirect functions, and files
that may not be opened. Runtimes under another file name."""
import os
import shutil
import subprocess
import unittest

import live
import profiles
import puppet

PYTHON = "/usr/bin/python3.11"
# f_lock begins with an instruction that the kernel does not probe, f_data is no code.
PATTERN = """
#include <stdio.h>
#include <unistd.h>
__asm__(".text\\n.globl f_lock\\n.type f_lock,@function\\nf_lock: lock incl (%rdi)\\n ret\\n.size f_lock, .-f_lock\\n");
__asm__(".data\\n.globl f_data\\n.type f_data,@function\\nf_data: .byte 0xc3\\n.size f_data, 1\\n.text\\n");
void f_lock(int *p);
__attribute__((noinline)) int f_one(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) int f_two(int x) { __asm__ volatile(""); return x + 2; }
int main(void)
{
	int n = 0;
	char c;

	printf("ready %d\\n", getpid());
	fflush(stdout);
	if (read(0, &c, 1) < 0)
		return 1;
	for (int i = 0; i < 5; i++) {
		n = f_two(f_one(n));
		f_lock(&n);
	}
	return 0;
}
"""


@live.needs_root()
class Patterns(profiles.Case, puppet.Case):
    def setUp(self):
        self.program = self.build(PATTERN, "-O1")

    def test_what_cannot_be_probed_is_skipped(self):
        for kind, status, reason in (("p", 0, None), ("r", 0, None), ("p", 0, "--one-by-one")):
            with self.subTest(kind=kind, reason=reason):
                trace = self.trace_command(*([reason] if reason else []), f"{kind}:{self.program}:f_*", "--", self.program)
                self.assertEqual(sorted(name for name, _ in trace.seen), ["f_one"] * 5 + ["f_two"] * 5)
                notes = [l for l in trace.stderr if "skipped" in l]
                self.assertEqual(len(notes), 1, trace.stderr)
                self.assertRegex(notes[0], r"^usertrace: note: f_lock and 1 more function of '.*' are skipped: the kernel cannot "
                                           r"probe the instruction of f_lock at 0x[0-9a-f]+ in ")

    def test_where_nothing_is_left(self):
        for name in ("f_lock", "f_loc*", "f_data"):
            with self.subTest(name=name):
                done = self.usertrace("trace", f"p:{self.program}:{name}", "--", self.program)
                self.assertEqual(done.status, 2, done.describe())
                self.assertRegex(done.stderr[0], "the kernel cannot probe the instruction of f_lock|is not in the code of")


EXEC = """
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char self[4096];
__attribute__((noinline)) int life(int x) { __asm__ volatile(""); return x; }
static void *thread(void *arg)
{
	execl(self, "second", "2", NULL);
	return arg;
}
int main(int n, char **v)
{
	pthread_t t;
	char c;

	(void)v;
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	printf("ready %d\\n", n);
	fflush(stdout);
	while (read(0, &c, 1) == 1 && c != 'x') {
		life(n);
		printf("lived\\n");
		fflush(stdout);
	}
	if (c != 'x')
		return 0;
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	return 1;
}
"""


@live.needs_root()
class SecondThread(profiles.Case):
    def test_exec(self):
        """The kernel filters by the task that was the first thread, which has ended."""
        program = self.build(EXEC, "-O1")
        for options in ([], ["--one-by-one"]):
            with self.subTest(options=options):
                target = self.start_target(program, stdin=subprocess.PIPE)
                trace = self.trace(*options, "-p", target.pid, f'p:{program}:life "%d", arg1')
                for lives in (1, 2):
                    target.say("1")
                    target.wait_until(lambda: target.stdout.count("lived") == 2 * lives - 1, "its life")
                    target.say("x")
                    target.wait_until(lambda: len([l for l in target.stdout if l.startswith("ready")]) == lives + 1, "exec")
                    trace.wait_until(lambda: len([l for l in trace.stderr if "attached again" in l]) == lives, "a note")
                    target.say("1")
                    target.wait_until(lambda: target.stdout.count("lived") == 2 * lives, "its next life")
                self.assertEqual(trace.interrupt(), 0)
                self.assertEqual([(int(e[0]), e[4]) for e in trace.events()], [(target.pid, n) for n in "1222"])


INDIRECT = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static long n;
static int slow(int x) { n++; return x + 1; }
static int fast(int x) { n++; return x + 2; }
static int (*resolve(void))(int) { __builtin_cpu_init(); return __builtin_cpu_supports("sse2") ? fast : slow; }
int chosen(int x) __attribute__((ifunc("resolve")));
int main(int c, char **v)
{
	char a[64] = "", b[64] = "", line[8];
	unsigned long s = 0;
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;
	void *(*volatile find)(const void *, int, size_t) = memchr;

	printf("ready %d\\n", getpid());
	fflush(stdout);
	if (read(0, line, sizeof(line)) < 0)
		return 1;
	for (int i = 0; i < atoi(v[c - 1]); i++) {
		s += chosen(i);
		copy(a, b, 61);
		s += find(a, 1, 53) != NULL;
	}
	printf("%ld %lu\\n", n, s);
	return 0;
}
"""


@live.needs_root()
class Indirect(profiles.Case, puppet.Case):
    """Functions whose implementation each process chooses when it starts (IFUNC)."""

    def names(self, trace):
        return [name for name, _ in trace.seen]

    def test_of_a_command(self):
        for flags in ((), ("-no-pie",)):
            program = self.build(INDIRECT, "-O0", "-fno-builtin", *flags)
            trace = self.trace_command(f"p:{program}:chosen", "p:libc.so.6:memcpy (arg3 == 61)",
                                       "p:libc.so.6:memchr (arg3 == 53)", "--", program, "500")
            self.assertEqual([self.names(trace).count(n) for n in ("chosen", "memcpy", "memchr")], [500] * 3, trace.describe())
            notes = [l for l in trace.stderr if "is an indirect function" in l]
            self.assertEqual(len(notes), 3, trace.stderr)

    def test_of_a_process(self):
        for flags in ((), ("-no-pie",), ("-static",)):
            with self.subTest(flags=flags):
                program = self.build(INDIRECT, "-O0", "-fno-builtin", *flags)
                libc = program if flags == ("-static",) else "libc.so.6"
                target = self.start_target(program, "500", stdin=subprocess.PIPE)
                trace = self.trace("-p", target.pid, f"p:{program}:chosen", f"p:{libc}:memcpy (arg3 == 61)",
                                   f'r:{program}:chosen "%d", (int)retval')
                target.say("\n")
                self.assertEqual(target.wait(), 0)
                trace.wait()
                seen = puppet.seen_events(trace)
                self.assertEqual(len([s for s in seen if s[0] == "memcpy"]), 500, trace.describe())
                self.assertEqual(len([s for s in seen if s[0] == "chosen"]), 1000)
                self.assertIn(("chosen", "501"), seen)    # fast(499)

    def test_of_a_pattern(self):
        program = self.build(INDIRECT, "-O0", "-fno-builtin")
        trace = self.trace_command("p:libc.so.6:memc* (arg3 == 53)", "--", program, "50")
        self.assertEqual(self.names(trace).count("memchr"), 50)


@live.needs_root()
@live.needs_program("setpriv")
class Rights(puppet.Case):
    def test_files_that_may_not_be_opened(self):
        """Another user's program without CAP_SYS_PTRACE: the probe may be there, so it does not say that there is none."""
        def other_user():
            os.setgroups([])
            os.setuid(65534)
        target = self.start_target("puppet", stdin=subprocess.PIPE, preexec=other_user)
        without = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", live.USERTRACE, "trace", "-p", target.pid]
        for probe in ("u:puppet:tick", "p:puppet:main"):
            done = self.start(*without, probe)
            self.assertEqual(done.wait(), 2, done.describe())
            self.assertRegex(done.stderr[0], "could not be opened: permission denied; run as root, or with CAP_SYS_PTRACE")


@live.needs_root()
@unittest.skipUnless(os.path.exists(PYTHON), f"{PYTHON} is not installed")
class OtherName(live.Case):
    def test_a_runtime_is_recognized_by_its_probes(self):
        path = os.path.join(self.tempdir(), "interpreter")
        shutil.copy(PYTHON, path)
        target = self.start_target(path, "-c", "import gc; print('ready', flush=True); input(); gc.collect(); input()",
                                   stdin=subprocess.PIPE, env={"PYTHONHOME": "/usr"})
        watch = live.Trace([live.USERTRACE, "gc", "-p", target.pid])
        self.addCleanup(watch.end)
        watch.wait_attached()
        target.say("\n")
        watch.wait_for("full")
        self.assertEqual(watch.interrupt(), 0)
        self.assertIn("CPython", "\n".join(watch.stdout))


if __name__ == "__main__":
    unittest.main()
