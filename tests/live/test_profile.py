# SPDX-License-Identifier: MIT
"""`usertrace profile` tells the truth: shares of time, calls, waits; stacks reach their thread's start whatever the
program was built like; who has ended, become another program, or been forked still has names."""
import json
import os
import subprocess
import unittest

import live
import profiles
from profiles import BURN

# Each function measures what it burned, and the program tells it at its end: a share is of what really ran.
SHARES = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t nothing;
static _Atomic uint64_t spent[3];

static uint64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline __attribute__((always_inline)) void spin(unsigned n) { for (unsigned i = 0; i < n; i++) nothing = i; }
__attribute__((noinline)) void much(void) { spin(1200000); nothing = 0; }
__attribute__((noinline)) void some(void) { spin(600000); nothing = 1; }
__attribute__((noinline)) void little(void) { spin(200000); nothing = 2; }

static void measured(int i, void (*work)(void))
{
	uint64_t from = now(CLOCK_THREAD_CPUTIME_ID);
	work();
	spent[i] += now(CLOCK_THREAD_CPUTIME_ID) - from;
}

static void *run(void *arg)
{
	uint64_t end = now(CLOCK_MONOTONIC) + atoi(arg) * 1000000ull;
	while (now(CLOCK_MONOTONIC) < end) {
		measured(0, much);
		measured(1, some);
		measured(2, little);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;
	pthread_create(&other, NULL, run, argv[1]);
	run(argv[1]);
	pthread_join(other, NULL);
	printf("%llu %llu %llu\n", (unsigned long long)spent[0], (unsigned long long)spent[1], (unsigned long long)spent[2]);
	return argc - 2;
}
"""

# Two functions take turns, the first 30 % of each period. What each of them took of the processor is told at the end.
LOCKSTEP = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile unsigned long nothing;
static inline int64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}
static inline __attribute__((always_inline)) void spin_until(int64_t end)
{
	do
		for (int i = 0; i < 300; i++)
			nothing += i;
	while (now(CLOCK_MONOTONIC) < end);
}
__attribute__((noinline)) void first(int64_t end) { spin_until(end); nothing = 1; }
__attribute__((noinline)) void second(int64_t end) { spin_until(end); nothing = 2; }
int main(int argc, char **argv)
{
	int64_t period = atoll(argv[1]), at = now(CLOCK_MONOTONIC), end = at + atoll(argv[2]) * 1000000, spent[2] = { 0 };
	while (at < end) {
		int64_t a = now(CLOCK_THREAD_CPUTIME_ID), b;
		first(at + period * 3 / 10);
		b = now(CLOCK_THREAD_CPUTIME_ID);
		second(at + period);
		spent[0] += b - a;
		spent[1] += now(CLOCK_THREAD_CPUTIME_ID) - b;
		for (at += period; at < now(CLOCK_MONOTONIC) - period; at += period)
			;
	}
	printf("%lld %lld\n", (long long)spent[0], (long long)spent[1]);
	return argc - 3;
}
"""

DEEP = BURN + r"""
#include <stdlib.h>
static volatile uint64_t nothing;
__attribute__((noinline)) uint64_t work(unsigned ms) { burn(ms); return nothing; }
__attribute__((noinline)) uint64_t down(int depth)
{
	uint64_t below = depth ? down(depth - 1) : work(300);
	return below + nothing + 1;	/* no call from the end */
}
int main(int argc, char **argv)
{
	uint64_t sum = 0;
	for (int i = argc > 2 ? atoi(argv[2]) : 1; i; i--)
		sum += down(atoi(argv[1]));
	return sum == 1;
}
"""

EXEC = BURN + r"""
#include <unistd.h>
static volatile uint64_t nothing;
__attribute__((noinline)) void NAME(void) { burn(300); }
int main(int argc, char **argv)
{
	NAME();
	nothing = 1;
	if (argc > 1)
		execv(argv[1], argv + 1);
	return 0;
}
"""

FORK = BURN + r"""
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile uint64_t nothing;
__attribute__((noinline)) void in_child(void) { burn(300); nothing = 1; }
__attribute__((noinline)) void in_thread(void) { burn(300); nothing = 2; }
static void *thread(void *arg) { prctl(PR_SET_NAME, "named;thread"); in_thread(); return arg; }
int main(void)
{
	pthread_t other;
	pid_t child = fork();
	if (!child) {
		in_child();
		_exit(0);
	}
	pthread_create(&other, NULL, thread, NULL);
	pthread_join(other, NULL);
	waitpid(child, NULL, 0);
	return 0;
}
"""

CALLS = r"""
#include <stdint.h>
static volatile uint64_t nothing;
__attribute__((noinline)) void leaf(void) { nothing++; }
__attribute__((noinline)) void often(void) { for (int i = 0; i < 30; i++) leaf(); nothing++; }
__attribute__((noinline)) void seldom(void) { for (int i = 0; i < 10; i++) leaf(); nothing++; }
int main(void) { for (int i = 0; i < 20; i++) { often(); seldom(); } return 0; }
"""

# Code made at run time that keeps no frame pointer and only calls, as CPython's for each function (-X perf).
STUB = BURN + r"""
#include <string.h>
#include <sys/mman.h>
static volatile uint64_t nothing;
__attribute__((noinline)) void work(void) { burn(1); nothing = 1; }
int main(void)
{
	void (*stub)(void (*)(void)) = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(stub, "\x48\x83\xec\x08\xff\xd7\x48\x83\xc4\x08\xc3", 11);	/* sub $8,%rsp; call *%rdi; add $8,%rsp; ret */
	for (int i = 0; i < 300; i++) {
		stub(work);
		nothing = 2;
	}
	return 0;
}
"""

# One library after the other comes to the same address. Each function measures itself.
LIBRARY = BURN + r"""
static volatile unsigned nothing;
void work(void) { burn(6); nothing = 0; }
void NAME(void) { work(); nothing = 1; }
"""

TURNS = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
static double spent[3], all;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
int main(int argc, char **argv)
{
	static void *first;
	for (int turn = 0; all < 0.6; turn++) {
		int k = turn % 6 < 3 ? 0 : turn % 6 < 5 ? 1 : 2;
		char name[] = "life_A";
		void *library = dlopen(argv[1 + k], RTLD_NOW), (*function)(void);
		name[5] += k;
		function = library ? (void (*)(void))dlsym(library, name) : NULL;
		if (!function || (first && first != (void *)function))
			return 1;
		first = (void *)function;
		double from = now();
		function();
		spent[k] += now() - from;
		all += now() - from;
		dlclose(library);
	}
	printf("%f %f %f\n", spent[0] / all, spent[1] / all, spent[2] / all);
	return 0;
}
"""

# Ways to leave a processor, and a stack, that have no unwind information of their own in glibc.
VFORKS = BURN + r"""
#include <spawn.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
static ucontext_t here, there;
static volatile unsigned nothing;
static char stack[65536], *args[] = { "true", NULL };
__attribute__((noinline)) void in_context(void) { burn(200); nothing = 0; }
static void begin(void) { in_context(); swapcontext(&there, &here); }
__attribute__((noinline)) void vforks(void)
{
	pid_t pid = vfork();
	if (!pid) {
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	nothing = 1;
}
__attribute__((noinline)) void spawns(void)
{
	pid_t pid;
	if (!posix_spawn(&pid, "/bin/true", NULL, NULL, args, args + 1))
		waitpid(pid, NULL, 0);
	nothing = 2;
}
int main(void)
{
	getcontext(&there);
	there.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = sizeof(stack) };
	makecontext(&there, begin, 0);
	swapcontext(&here, &there);
	for (int i = 0; i < 5; i++) {
		vforks();
		spawns();
	}
	return nothing == 3;
}
"""

# One thread waits for bytes that come each 10 ms; two share a processor. At the end come what the waits took by the program's
# own clock, and what the kernel's accounts say of the threads (schedstat): how long they could not run for want of a processor.
WAITS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
static volatile uint64_t nothing;
static int ends[2];
static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static uint64_t slept, end;
static struct account { uint64_t all, ran, kept_waiting; } of_reader, of_crowd[2];
static struct account account(void)
{
	struct account a = { .all = now() };
	char text[100] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		exit(3);
	close(fd);
	sscanf(text, "%lu %lu", &a.ran, &a.kept_waiting);
	return a;
}
static struct account since(struct account from)
{
	struct account to = account();
	return (struct account){ to.all - from.all, to.ran - from.ran, to.kept_waiting - from.kept_waiting };
}
__attribute__((noinline)) void get_bytes(void)
{
	struct account from = account();
	char c;
	while (read(ends[0], &c, 1) == 1)
		nothing++;
	of_reader = since(from);
}
__attribute__((noinline)) void crowd(int i)
{
	struct account from = account();
	while (now() < end)
		nothing++;
	of_crowd[i] = since(from);
}
static void *reader(void *arg)
{
	prctl(PR_SET_NAME, "reader");
	get_bytes();
	nothing++;
	return arg;
}
static void *worker(void *arg)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	prctl(PR_SET_NAME, "worker");
	crowd(arg != NULL);
	nothing++;
	return arg;
}
static void tell(struct account a) { printf(" %lu %lu %lu", a.all, a.ran, a.kept_waiting); }
int main(void)
{
	pthread_t t[3];
	if (pipe(ends))
		return 1;
	end = now() + 700000000;
	pthread_create(&t[0], NULL, reader, NULL);
	pthread_create(&t[1], NULL, worker, NULL);
	pthread_create(&t[2], NULL, worker, &end);
	for (int i = 0; i < 70; i++) {
		uint64_t from = now();
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		slept += now() - from;
		if (write(ends[1], "x", 1) != 1)
			return 1;
	}
	close(ends[1]);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%lu", slept);
	tell(of_reader);
	tell(of_crowd[0]);
	tell(of_crowd[1]);
	puts("");
	return 0;
}
"""

# Two threads, each with the lock that the other one wants; main waits for both.
DEADLOCK = r"""
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile int got;
__attribute__((noinline)) void lock(pthread_mutex_t *m) { pthread_mutex_lock(m); got++; }
__attribute__((noinline)) void first(void) { lock(&a); pthread_barrier_wait(&both); lock(&b); got++; }
__attribute__((noinline)) void second(void) { lock(&b); pthread_barrier_wait(&both); lock(&a); got++; }
static void *run(void *arg) { if (arg) first(); else second(); got++; return arg; }
int main(void)
{
	pthread_t t[2];
	pthread_barrier_init(&both, NULL, 3);
	pthread_create(&t[0], NULL, run, &both);
	pthread_create(&t[1], NULL, run, NULL);
	pthread_barrier_wait(&both);
	puts("ready");
	fflush(stdout);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	return 0;
}
"""


@live.needs_root()
class Truth(profiles.Case):
    def shares(self, *flags):
        program = self.build(SHARES, *flags)
        profile = self.profile("-F", "4999", "--", program, "1200")
        spent = [int(n) for n in profile.done.stdout[-1].split()]
        self.assertGreater(profile.total, 300, profile.told)
        for name, ns in zip(("much", "some", "little"), spent):
            profile.near(self, name, ns / sum(spent))
        self.assertRegex(profile.told, r"sampling")
        return profile

    def test_shares_without_optimization(self):
        self.shares("-O0")

    def test_shares_with_optimization(self):
        profile = self.shares("-O2", "-fomit-frame-pointer")
        self.assertGreater(profile.share("main") + profile.share("start_thread"), 0.98)

    def test_no_program_runs_in_lockstep_with_the_clock(self):
        """At 999 Hz these are the periods a constant clock would see from one side for seconds: what is left is the error
        of random samples, of which 4.5 standard errors are exceeded in one of 150,000."""
        program = self.build(LOCKSTEP, "-O2")
        for period_us in (500, 1000, 1001, 2002):
            profile = self.profile("-F", "999", "--", program, period_us * 1000, "1200")
            first, second = [int(n) for n in profile.done.stdout[-1].split()]
            share, n = first / (first + second), profile.weight("first") + profile.weight("second")
            self.assertGreater(n, 50, profile.told)
            self.assertAlmostEqual(profile.weight("first") / n, share, delta=4.5 * (share * (1 - share) / n) ** 0.5,
                                   msg=f"{period_us} us, {n} samples")

    def test_samples_weigh_their_time(self):
        """The period varies: the times of samples add up to the program's own, and on average there are as many as was
        asked for. Bounds are 4.5 standard errors: of random samples, and of rates of which each holds for 20 ms."""
        program = self.build(LOCKSTEP, "-O2")
        done = self.usertrace("profile", "-F", "1999", "--json", "--", program, "1000000", "1000")
        spent = sum(int(n) for n in done.stdout[0].split())
        table = json.loads("\n".join(done.stdout[1:]))
        cpu, period = table["states"][0], table["totals"]["period_ns"]
        seen = sum(f["total"] for f in cpu["functions"] if f["name"] in ("first", "second"))
        share = seen / cpu["value"]
        self.assertEqual((cpu["state"], period), ("cpu", 500250))
        self.assertGreater(share, 0.8, table)           # besides: the loader, the exec
        self.assertAlmostEqual(seen, spent, delta=4.5 * cpu["count"] ** 0.5 * period)
        error = (1 / cpu["count"] + 0.23 ** 2 * 20e6 / spent) ** 0.5
        self.assertAlmostEqual(cpu["count"] * share * period / spent, 1, delta=4.5 * error)

    def test_calls_of_a_function_are_counted(self):
        program = self.build(CALLS, "-O2")
        profile = self.profile("--on", f"p:{program}:leaf", "--", program)
        self.assertEqual(profile.total, 800)
        self.assertEqual(profile.weight("main", "often", "leaf"), 600)
        self.assertEqual(profile.weight("main", "seldom", "leaf"), 200)

    def test_waits(self):
        program = self.build(WAITS, "-O2")
        profile = self.profile("--off-cpu", "--idle", "-F", "999", "--", program)
        slept, *accounts = [int(n) for n in profile.done.stdout[-1].split()]
        reader = accounts[:3]
        crowd = [a + b for a, b in zip(accounts[3:6], accounts[6:])]
        for name, (whole, ran, kept_waiting) in (("get_bytes", reader), ("crowd", crowd)):
            with self.subTest(name):
                waited = profile.weight(name, leaf="[waiting for a CPU]")
                asleep = profile.weight(name, leaf="[sleeping]")
                told = f"of {whole} ns it ran {ran} and was kept waiting {kept_waiting}; {waited} and {asleep} asleep seen"
                self.assertAlmostEqual(waited, kept_waiting, delta=0.02 * whole, msg=told)
                self.assertAlmostEqual(asleep, whole - ran - kept_waiting, delta=0.02 * whole, msg=told)
                self.assertAlmostEqual(profile.weight(name), whole, delta=0.05 * whole, msg=told)   # with samples
        self.assertGreater(profile.weight("crowd", leaf="[waiting for a CPU]"), 0.4 * crowd[0])
        # Between the program's clock and the call the processor can be taken away: that is in main, and not in the wait.
        self.assertLess(profile.weight("main", "__nanosleep"), 1.02 * slept)
        self.assertGreater(profile.weight("main"), 0.98 * slept)
        self.assertGreater(profile.weight("main", "__nanosleep", leaf="[sleeping]"), 690e6)     # 70 times 10 ms at least
        # Our own program takes the stacks of waits and is not in them; a sample by the clock can hit it.
        waits = [s for s, _ in profile.stacks if s[-1] in ("[sleeping]", "[waiting for a CPU]")]
        self.assertTrue(waits)
        self.assertFalse([s for s in waits if any("bpf_trace_run" in f for f in s)])

    def test_idle_waits_are_folded(self):
        program = self.build(WAITS, "-O2")
        profile = self.profile("--off-cpu", "-F", "0", "--", program)
        self.assertEqual(profile.weight("main", "__nanosleep", leaf="[sleeping]"), 0)
        self.assertGreater(profile.weight("[idle]", "program"), 300e6)

    def deadlocked(self, *flags):
        target = self.start(self.build(DEADLOCK, *flags, name="deadlock"))
        target.wait_for("ready")

        def standing():
            for tid in os.listdir(f"/proc/{target.pid}/task"):
                with open(f"/proc/{target.pid}/task/{tid}/syscall", encoding="ascii") as file:
                    if not file.read().startswith("202 "):  # futex
                        return False
            return True

        self.eventually(standing, "the threads are not blocked")
        return target

    def test_a_deadlock(self):
        """Who was blocked before the recording, and stays so, has its stack."""
        target = self.deadlocked("-O2")
        profile = self.profile("--off-cpu", "-p", target.pid, "-d", "0.2")
        for name in ("first", "second"):
            self.assertGreater(profile.weight(name, "lock", leaf="[sleeping]"), 190e6, profile.stacks)
        self.assertEqual(profile.weight("[waiting since before the recording]"), 0, profile.stacks)
        self.assertGreater(profile.weight("[idle]", "deadlock"), 190e6, profile.stacks)
        table = "\n".join(self.usertrace("profile", "--off-cpu", "-p", target.pid, "-d", "0.1").stdout)
        self.assertRegex(table, r"\bfirst\b")
        self.assertRegex(table, r"\bsecond\b")


@live.needs_root()
class Stacks(profiles.Case):
    def complete(self, profile, *frames):
        """Nearly all samples of the last of these frames have the others too, and reach the start. Besides there is the loader
        alone, which takes longer when little of it is in caches."""
        of_work = profile.weight(frames[-1])
        self.assertGreater(of_work, 50, profile.told)
        self.assertGreater(profile.weight("_start", *frames) / of_work, 0.97, profile.stacks[:3])
        self.assertGreater(profile.share(frames[-1]), 0.8, profile.told)

    def test_deep_recursion(self):
        profile = self.profile("-F", "999", "--", self.build(DEEP, "-O2"), "300")
        self.complete(profile, "main", "down", "work")
        self.assertEqual(max(s.count("down") for s, _ in profile.stacks), 301)

    def test_a_static_program(self):
        profile = self.profile("-F", "999", "--", self.build(DEEP, "-O2", "-static"), "30")
        self.complete(profile, "main", "down", "work")

    def test_a_stripped_program(self):
        program = self.build(DEEP, "-O2", "-s")
        profile = self.profile("-F", "999", "--", program, "30")
        of_program = [(s, w) for s, w in profile.stacks if any(f.startswith("[no symbols: program") for f in s)]
        complete = sum(w for s, w in of_program if "__libc_start_call_main" in s)
        self.assertGreater(sum(w for _, w in of_program), 0.8 * profile.total)
        self.assertGreater(complete / sum(w for _, w in of_program), 0.97, profile.stacks[:3])
        self.assertRegex(profile.told, r"frames have no name: [\d,]+ \[no symbols: program\]")

    def test_run_time_code_without_frame_pointers_that_only_calls(self):
        self.complete(self.profile("-F", "999", "--", self.build(STUB, "-O2", "-fomit-frame-pointer")), "main", "work")

    def test_exec_in_the_middle(self):
        second = self.build(EXEC.replace("NAME", "second_life"), "-O2", "-no-pie", "-fno-pie", name="second")
        first = self.build(EXEC.replace("NAME", "first_life"), "-O2", "-no-pie", "-fno-pie", name="first")
        profile = self.profile("-F", "999", "--", first, second)
        self.assertGreater(profile.share("_start", "main"), 0.85, profile.told)    # besides: the loader, twice
        for life in ("first_life", "second_life"):
            self.assertGreater(profile.share("main", life), 0.3, profile.stacks)
        self.assertEqual(profile.weight("first_life", "second_life"), 0)

    def test_libraries_in_each_others_places(self):
        libraries = [self.build(LIBRARY.replace("NAME", f"life_{k}"), "-O2", "-shared", "-fPIC", name=f"lib{k}.so")
                     for k in "ABC"]
        program = self.build(TURNS, "-O2")
        profile = self.profile("-F", "4999", "--", program, *libraries)
        of_libraries = sum(profile.weight(f"life_{k}") for k in "ABC")
        self.assertGreater(of_libraries, 200, profile.told)
        for k, share in zip("ABC", profile.done.stdout[-1].split()):
            bound = 3 * (0.25 / of_libraries) ** 0.5 + 0.01
            self.assertAlmostEqual(profile.weight(f"life_{k}") / of_libraries, float(share), delta=bound, msg=k)
        self.assertNotIn("[no symbols: kernel]", profile.told)     # programs of our own have names, too

    def test_calls_without_unwind_information(self):
        profile = self.profile("--off-cpu", "--idle", "--", self.build(VFORKS, "-O2"))
        self.assertGreater(profile.weight("_start", "main", "vforks"), 90e6, profile.told)
        self.assertGreater(profile.weight("_start", "main", "spawns"), 0)
        in_context = profile.weight("in_context", leaf="in_context")    # without its calls of the clock
        self.assertGreater(in_context, 100e6, profile.told)
        self.assertGreater(profile.weight("__start_context", "begin", "in_context", leaf="in_context"), 0.97 * in_context)
        for reason in ("[no unwind info: libc.so.6]", "[unwind info not understood: libc.so.6]"):
            self.assertEqual(profile.weight(reason), 0, profile.told)

    def test_nothing_of_ourselves(self):
        profile = self.profile("--off-cpu", "--per-thread", "--", "true")
        self.assertEqual([s for s, _ in profile.stacks if s[0].startswith("usertrace")], [])
        self.assertEqual(profile.weight(leaf="[stopped]"), 0)   # for its probes to be put in place

    def test_fork_and_names_of_threads(self):
        program = self.build(FORK, "-O2")
        profile = self.profile("-F", "999", "--per-thread", "--", program)
        self.assertGreater(profile.share("in_child"), 0.3)
        self.assertGreater(profile.share("in_thread"), 0.3)
        thread = {s[0] for s, _ in profile.stacks if "in_thread" in s}
        self.assertEqual(len(thread), 1, thread)
        self.assertRegex(thread.pop(), "^named.thread")
        alone = self.profile("-F", "999", "--no-follow", "--", program)
        self.assertEqual(alone.weight("in_child"), 0)
        self.assertGreater(alone.share("in_thread"), 0.9)

    def test_what_a_collection_ran(self):
        python = "/usr/bin/python3"
        probes = self.usertrace("list", python, "python:gc__start")
        if not any("gc__start" in line for line in probes.stdout):
            self.skipTest("this Python has no probes")
        script = ("import gc, os, sys; from time import process_time as now\n"
                  "gc.disable(); x = [[i] for i in range(300000)]; spent = 0\n"
                  "while now() < float(sys.argv[1]):\n"
                  "    t = now(); gc.collect(); spent += now() - t\n"
                  "    sum(i * i for i in range(300000))\n"
                  "print(spent / now(), flush=True)\n"
                  "os._exit(0)")
        profile = self.profile("-F", "1999", "--", python, "-c", script, "1")
        profile.near(self, "[GC]", float(profile.done.stdout[-1]))
        without = self.profile("-F", "999", "--no-gc", "--", python, "-c", script, "0.3")
        self.assertEqual(without.weight("[GC]"), 0)


@live.needs_root()
class Command(profiles.Case):
    def test_a_running_process(self):
        target = self.start(self.build(DEEP, "-O2", name="deep"), "3", "1000")
        done = self.usertrace("profile", "-p", target.pid, "-d", "0.2")
        self.assertEqual(done.status, 0, done.describe())
        self.assertRegex("\n".join(done.stdout), r"\bwork\b")
        self.assertRegex("\n".join(done.stderr), r"[\d,]+ samples in \d+ ms, 0 lost")
        table = json.loads("\n".join(self.usertrace("profile", "-p", target.pid, "-d", "0.1", "--json").stdout))
        self.assertIsInstance(table, dict)

    def test_formats(self):
        program = self.build(DEEP, "-O2")
        folder = self.tempdir()
        for suffix, start in ((".pb.gz", b"\x1f\x8b"), (".speedscope.json", b"{")):
            path = os.path.join(folder, "out" + suffix)
            done = self.usertrace("profile", "-o", path, "--", program, "3")
            self.assertEqual(done.status, 0, done.describe())
            with open(path, "rb") as file:
                self.assertTrue(file.read().startswith(start))
        self.assertEqual(len(os.listdir(folder)), 2)    # nothing else is left behind

    def test_the_status_of_the_command(self):
        done = self.usertrace("profile", "--to", "folded", "--", "sh", "-c", "exit 7")
        self.assertEqual(done.status, 7, done.describe())

    def test_probes_without_a_stack(self):
        for probe in ("e:request", "s:SIGUSR1"):
            done = self.usertrace("profile", "--on", probe, "--", "true")
            self.assertEqual(done.status, 2, done.describe())
            self.assertIn("no stack", done.stderr[0])

    def test_a_process_that_is_gone(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        done = self.usertrace("profile", "-p", gone.pid)
        self.assertEqual(done.status, 1, done.describe())
        self.assertIn(f"no process {gone.pid}", done.stderr[0])

    def test_probes_that_do_not_exist(self):
        done = self.usertrace("profile", "--on", "p:libc.so.6:no_such_function", "-d", "1", "-p", os.getpid())
        self.assertEqual(done.status, 2, done.describe())
        self.assertIn("no_such_function", done.stderr[0])


if __name__ == "__main__":
    unittest.main()
