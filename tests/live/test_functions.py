# SPDX-License-Identifier: MIT
"""Function probes that need more than a symbol: patterns of which a part cannot be probed, and execs of
second threads."""
import subprocess
import unittest

import live
import profiles
import puppet

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


if __name__ == "__main__":
    unittest.main()
