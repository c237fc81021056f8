/* SPDX-License-Identifier: MIT */
/* Samples of a child whose calls and waits are known, and the places the kernel's tables are kept in. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/auto.h"
#include "proc/process.h"
#include "sample/ranges.h"
#include "record/session.h"
#include "sample/blocked.h"
#include "unit.h"
#include "sample/sampler.h"
#include "wire/sample.h"
#include "wire/record.h"

#define DEPTH 300
/* Otherwise functions find their frames by rbp, which nobody tells of a thread that stands still. */
#ifdef __OPTIMIZE__
#define IS_OPTIMIZED 1
#else
#define IS_OPTIMIZED 0
#endif
#define MS 1000000u

static void need_root(void)
{
	if (geteuid() != 0) {
		print_message("sampling needs root\n");
		skip();
	}
}

/* What the child says of itself. */
static struct said {
	uint64_t rested_ns, rests, called;
} * said;
static volatile uint64_t sum;

void sampled_called(int n); /* traced by name */
__attribute__((noinline, noipa)) void sampled_called(int n) { sum += (uint64_t)n; }

__attribute__((noinline, noipa)) static int deep(int n, void (*leaf)(void))
{
	if (n)
		n = deep(n - 1, leaf);
	else
		leaf();
	sum++; /* behind the call: not a loop to the compiler */
	return n;
}

__attribute__((noinline, noipa)) static void leaf_burn(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sum += i;
}

static void leaf_rest(void)
{
	struct timespec ts = { 0, 5 * MS };
	uint64_t begin = monotonic_ns();

	nanosleep(&ts, NULL);
	said->rested_ns += monotonic_ns() - begin;
	said->rests++;
}

static void leaf_call(void)
{
	for (int i = 0; i < 100; i++)
		sampled_called(i);
	said->called += 100;
}

static volatile sig_atomic_t in_handler;

static void handler(int sig)
{
	(void)sig;
	deep(3, leaf_burn);
	in_handler = 0;
}

static void leaf_signal(void)
{
	in_handler = 1;
	raise(SIGUSR1);
}

/* A child that does one thing all the time, until it is killed. */
static pid_t start(void (*leaf)(void))
{
	pid_t pid;

	if (!said)
		said = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(said, MAP_FAILED);
	memset(said, 0, sizeof(*said));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGUSR1, handler);
		for (;;)
			deep(DEPTH, leaf);
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* At so many samples or waits a session is told to stop; 0: never. @enough_of: those of this process alone; 0: of all. */
static size_t enough;
static pid_t enough_of;
#define PATIENCE_NS (20000 * (uint64_t)MS)

/* What came of a session. */
struct heard {
	int stop_fd;
	size_t counted, samples, probes, waits, waits_before, standing, of_new, of_ended, of_stopped;
	uint64_t blocked_ns, runnable_ns;
	uint64_t first_ns, last_ns; /* of waits that began while recording */
	struct {
		uint64_t id;
		uint32_t end, user, kernel, exact;
	} stacks[4096];
	size_t nstacks;
	uint64_t of_sample[65536]; /* stack ids */
	size_t nof;
};

static int on_stack(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips)
{
	struct heard *h = ctx;
	uint32_t exact = 0;

	for (unsigned i = 0; i < rec->user; i++)
		exact += (ips[rec->kernel + i] & UT_IP_EXACT) != 0;
	if (h->nstacks < ARRAY_SIZE(h->stacks)) {
		h->stacks[h->nstacks].id = rec->id;
		h->stacks[h->nstacks].end = rec->end;
		h->stacks[h->nstacks].user = rec->user;
		h->stacks[h->nstacks].exact = exact;
		h->stacks[h->nstacks++].kernel = rec->kernel;
	}
	return 0;
}

/* A busy machine takes longer: what is waited for is a number. */
static void count_one(struct heard *h, const struct ut_rec_event *head)
{
	const uint64_t one = 1;

	h->counted += !enough_of || (pid_t)head->pid == enough_of;
	if (enough && h->counted >= enough)
		assert_int_equal(write(h->stop_fd, &one, sizeof(one)), sizeof(one));
}

static int on_sample(void *ctx, const struct ut_rec_sample *rec, const struct plan_probe *probe)
{
	struct heard *h = ctx;

	assert_int_equal(probe != NULL, rec->kind == UT_SAMPLE_PROBE);
	h->samples += !probe;
	h->probes += probe != NULL;
	if (h->nof < ARRAY_SIZE(h->of_sample))
		h->of_sample[h->nof++] = rec->stack;
	count_one(h, &rec->head);
	return 0;
}

static int on_wait(void *ctx, const struct ut_rec_wait *rec)
{
	struct heard *h = ctx;

	h->waits++;
	count_one(h, &rec->head);
	h->of_new += rec->state == UT_STATE_NEW;
	h->of_ended += (rec->state & 0x80) != 0;
	h->of_stopped += rec->state == 4;
	if (!rec->from_ns) {
		h->waits_before++;
		for (size_t k = 0; k < h->nstacks; k++)
			h->standing += h->stacks[k].id == rec->stack;
		return 0;
	}
	if (!h->first_ns || rec->from_ns < h->first_ns)
		h->first_ns = rec->from_ns;
	if (rec->head.time_ns > h->last_ns)
		h->last_ns = rec->head.time_ns;
	if (rec->runnable_ns && rec->runnable_ns >= rec->from_ns) {
		h->blocked_ns += rec->runnable_ns - rec->from_ns;
		h->runnable_ns += rec->head.time_ns - rec->runnable_ns;
	} else {
		h->blocked_ns += rec->head.time_ns - rec->from_ns;
	}
	return 0;
}

/* What is asked of a session need not live longer than the call. */
static int open_session(const struct session_options *from, int stop_fd, struct session **ret, struct ut_err *err)
{
	struct session_sampling sampling = *from->sampling;
	struct session_options o = *from;
	int r;

	o.sampling = &sampling;
	o.targets.stop_fd = stop_fd;
	o.text_limit = 100;
	o.targets.verbose = true;
	r = session_open(&o, NULL, ret, err);
	explicit_bzero(&sampling, sizeof(sampling)); /* memset would be left out */
	return r;
}

static struct heard *hear(const struct session_options *from, struct session_totals *ret)
{
	struct heard *h = calloc(1, sizeof(*h));
	struct session_sink sink = { .ctx = h, .stack = on_stack, .sample = on_sample, .wait = on_wait };
	struct session *s = NULL;
	enum session_end why;
	struct ut_err err = { 0 };

	assert_non_null(h);
	h->stop_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(h->stop_fd >= 0);
	if (open_session(from, h->stop_fd, &s, &err) || session_start(s, &sink, NULL, &err) ||
	    session_run(s, &sink, &why, &err) || session_stop(s, &sink, ret, &err))
		fail_msg("%s", err.msg);
	session_close(s);
	close(h->stop_fd);
	return h;
}

/*
 * All but few in a thousand reach the start; on the way down and up again they are not as deep. @odd: samples that may
 * have hit the kernel between two programs, or between a handler and what it interrupted.
 */
static void expect_stacks(const struct heard *h, uint32_t user, uint32_t exact, size_t odd)
{
	size_t complete = 0, good = 0, all = 0;

	for (size_t i = 0; i < h->nof; i++) {
		for (size_t k = 0; k < h->nstacks; k++) {
			if (h->stacks[k].id != h->of_sample[i])
				continue;
			all++;
			complete += h->stacks[k].end == UT_END_START;
			good += h->stacks[k].user >= user && h->stacks[k].exact >= exact;
			break;
		}
	}
	assert_true(all > 20);
	assert_int_equal(all, h->nof); /* each sample's stack was told */
	if (complete + odd < all || (good + odd) * 10 < all * 9)
		fail_msg("of %zu stacks %zu reach the start, %zu have %u frames", all, complete, good, user);
}

static struct heard *hear_child(void (*leaf)(void), const struct session_sampling *sampling, const char *const *probes,
				struct session_totals *ret)
{
	pid_t pid = start(leaf);
	struct session_options o = { .targets.pids = &pid,
				     .targets.npids = 1,
				     .targets.duration_ns = PATIENCE_NS,
				     .sampling = sampling,
				     .probes = probes,
				     .nprobes = sampling->probes };
	struct heard *h = hear(&o, ret);

	end(pid);
	return h;
}

static void test_clock(void **state)
{
	const struct session_sampling sampling = { .frequency_hz = 997 };
	struct session_totals totals;
	AUTO_FREE struct heard *h = NULL;

	(void)state;
	need_root();
	h = hear_child(leaf_burn, &sampling, NULL, &totals);
	expect_stacks(h, DEPTH, 1, 1);
	assert_true(totals.events >= h->samples && totals.lost == 0);
}

/* Behind a signal's frame the stack goes on, at the place that was interrupted. */
static void test_signal(void **state)
{
	const struct session_sampling sampling = { .frequency_hz = 997 };
	struct session_totals totals;
	AUTO_FREE struct heard *h = NULL;
	size_t behind = 0, in_kernel = 0, between = 0;

	(void)state;
	need_root();
	h = hear_child(leaf_signal, &sampling, NULL, &totals);
	/*
	 * While the kernel delivers the signal or returns from it, the registers are those of neither the handler nor the
	 * interrupted code. In an emulator that takes long, so only samples in the kernel may be incomplete, and most of
	 * those, too, are not.
	 */
	for (size_t k = 0; k < h->nstacks; k++) {
		in_kernel += h->stacks[k].kernel > 0;
		between += h->stacks[k].kernel > 0 && h->stacks[k].end != UT_END_START;
		behind += h->stacks[k].exact == 2;
	}
	expect_stacks(h, DEPTH, 1, 1 + between);
	assert_true(between * 2 <= in_kernel + 2);
	assert_true(behind > 0);
}

static int set_enough(void **state)
{
	(void)state;
	enough = 50;
	return 0;
}

static void test_waits(void **state)
{
	const struct session_sampling sampling = { .waits = true };
	struct session_totals totals;
	AUTO_FREE struct heard *h = NULL;
	size_t deep_ones = 0, without_kernel = 0, cut = 0;

	(void)state;
	need_root();
	enough = 40;
	h = hear_child(leaf_rest, &sampling, NULL, &totals);
	assert_true(h->waits > 10 && h->samples == 0 && h->waits_before <= 1);
	/* all but what lies before and behind the recording: nothing else is longer than two rests */
	assert_true(h->blocked_ns + h->runnable_ns <= h->last_ns - h->first_ns);
	assert_true(h->blocked_ns + h->runnable_ns >= (h->last_ns - h->first_ns) / 2);
	for (size_t k = 0; k < h->nstacks; k++) {
		cut += (h->stacks[k].kernel || IS_OPTIMIZED) && h->stacks[k].end != UT_END_START;
		deep_ones += h->stacks[k].user >= DEPTH; /* not where it lost its processor on the way down */
		without_kernel += !h->stacks[k].kernel; /* what was walked in its wait */
	}
	assert_true(deep_ones && without_kernel <= 1);
	assert_true(cut <= 1); /* a page of a stack that fork has shared can be away for a moment */
}

__attribute__((noinline, noipa)) static void leaf_pause(void) { pause(); }

/* A child that waits all the time has its stack. */
static void test_standing(void **state)
{
	const struct session_sampling sampling = { .waits = true };
	struct session_options o = { .targets.npids = 1,
				     .targets.duration_ns = 20 * (uint64_t)MS,
				     .sampling = &sampling };
	struct session_totals totals;
	AUTO_FREE struct heard *h = NULL;
	pid_t pid;

	(void)state;
	need_root();
	enough = 0;
	pid = start(leaf_pause);
	while (process_state(pid) != 'S')
		;
	o.targets.pids = &pid;
	h = hear(&o, &totals);
	end(pid);
	assert_true(h->waits == 1 && h->waits_before == 1 && h->standing == 1 && h->nstacks == 1);
	assert_true(h->stacks[0].exact == 1);
	assert_true(h->stacks[0].end == (IS_OPTIMIZED ? UT_END_START : UT_END_REGISTER));
	assert_true(h->stacks[0].user >= (IS_OPTIMIZED ? DEPTH : 1));
}

static void test_where_it_stands(void **state)
{
	static const char *const none[] = { "",		  "running\n", "0x7ffe 0x1234\n", "-1 0x0 0x0\n", "202 0x1 x\n",
					    "-1 0x7f00\n" };
	uint64_t sp = 0, ip = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_false(blocked_parse(none[i], &sp, &ip));
	assert_true(blocked_parse("202 0x5581 0x80 0x2 0x0 0x0 0x0 0x7ffe10 0x7f0042\n", &sp, &ip));
	assert_true(sp == 0x7ffe10 && ip == 0x7f0042);
	assert_true(blocked_parse("-1 0x7ffe18 0xffffffffff600000\n", &sp, &ip));
	assert_true(sp == 0x7ffe18 && ip == 0xffffffffff600000);
}

static void *nothing(void *arg) { return arg; }

static void leaf_thread(void)
{
	pthread_t other;

	if (!pthread_create(&other, NULL, nothing, NULL))
		pthread_join(other, NULL);
}

/* Threads come and go: nothing is left of those that have ended. */
static void test_threads_end(void **state)
{
	const struct session_sampling sampling = { .waits = true };
	struct session_totals totals;
	AUTO_FREE struct heard *h = NULL;

	(void)state;
	need_root();
	if (getenv("UT_VM")) { /* it runs on from what it had translated, and never gets past the place */
		print_message(
			"the emulator can hang when the kernel changes code that runs, as tracepoints of exits are\n");
		skip();
	}
	h = hear_child(leaf_thread, &sampling, NULL, &totals);
	assert_true(h->of_new > 10);
	assert_int_equal(h->of_ended, 0);
}

/* One that is stopped all the time does not sleep. */
static void test_stopped(void **state)
{
	const struct session_sampling sampling = { .waits = true };
	struct session_options o = { .targets.npids = 1,
				     .targets.duration_ns = 20 * (uint64_t)MS,
				     .sampling = &sampling };
	struct session_totals totals;
	AUTO_FREE struct heard *h = NULL;
	pid_t pid;
	int status;

	(void)state;
	need_root();
	enough = 0;
	pid = start(leaf_burn);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	o.targets.pids = &pid;
	h = hear(&o, &totals);
	end(pid);
	assert_true(h->waits == 1 && h->waits_before == 1 && h->of_stopped == 1);
}

static void own_path(char ret[512])
{
	ssize_t n = readlink("/proc/self/exe", ret, 511);

	assert_true(n > 0);
	ret[n] = '\0';
}

/* A probe of this program, as typed; the caller frees. */
static char *own_probe(char kind, const char *what)
{
	char path[512], *ret = NULL;

	own_path(path);
	assert_true(asprintf(&ret, "%c:%s:%s", kind, path, what) > 0);
	return ret;
}

static void check_probe(bool no_multi)
{
	struct session_sampling sampling = { .probes = 1 };
	struct session_totals totals;
	struct session_options o = {
		.nprobes = 1, .targets.duration_ns = PATIENCE_NS, .sampling = &sampling, .no_multi = no_multi
	};
	AUTO_FREE char *probe = own_probe('p', "sampled_called (arg1 == 7)");
	const char *probes[1] = { probe };
	AUTO_FREE struct heard *h = NULL;
	pid_t pid = start(leaf_call);

	o.probes = probes;
	o.targets.pids = &pid;
	o.targets.npids = 1;
	h = hear(&o, &totals);
	end(pid);
	assert_true(h->probes > 3 && h->samples == 0);
	assert_true(h->probes <= said->called / 100 + 1);
	expect_stacks(h, DEPTH, 1, 1);
}

static void test_probe(void **state)
{
	(void)state;
	need_root();
	check_probe(false);
}

static void test_probe_older_way(void **state)
{
	(void)state;
	need_root();
	check_probe(true);
}

/* The kernel puts an address of its own in the place of each return that is probed; the walk finds the true one. */
static void test_probed_returns(void **state)
{
	const struct session_sampling sampling = { .frequency_hz = 997 };
	struct session_totals totals;
	struct session_options o = { .nprobes = 1, .targets.duration_ns = PATIENCE_NS, .sampling = &sampling };
	AUTO_FREE char *probe = NULL;
	const char *probes[1];
	AUTO_FREE struct heard *h = NULL;
	pid_t pid;

	(void)state;
	need_root();
	probe = own_probe('r', "leaf_burn");
	probes[0] = probe;
	pid = start(leaf_burn);
	o.probes = probes;
	o.targets.pids = &pid;
	o.targets.npids = 1;
	h = hear(&o, &totals);
	end(pid);
	expect_stacks(h, DEPTH, 1,
		      1 + h->nof / (getenv("UT_VM") ? 2 : 5)); /* the probed instruction is run elsewhere */
}

static void test_tracepoint(void **state)
{
	const struct session_sampling sampling = { .probes = 1 };
	const char *probes[] = { "t:sched:sched_switch" };
	struct session_totals totals;
	AUTO_FREE struct heard *h = NULL;

	(void)state;
	need_root();
	h = hear_child(leaf_rest, &sampling, probes, &totals);
	assert_true(h->probes > 10);
	expect_stacks(h, DEPTH, 1, 1);
}

/* How stacks ended, by count of samples. */
static void fail_ends(const struct heard *h, size_t known)
{
	size_t ends[UT_END_BUSY + 1] = { 0 };
	char text[256];
	int n = 0;

	for (size_t i = 0; i < h->nof; i++)
		for (size_t k = 0; k < h->nstacks; k++)
			if (h->stacks[k].id == h->of_sample[i] && h->stacks[k].end <= UT_END_BUSY)
				ends[h->stacks[k].end]++;
	for (unsigned i = 0; i <= UT_END_BUSY; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %zu", ends[i]);
	fail_msg("of %zu samples %zu reach the start; by end:%s; %zu stacks", h->nof, known, text, h->nstacks);
}

static void test_command(void **state)
{
	const struct session_sampling sampling = { .frequency_hz = 1999 };
	char path[512], *command[] = { path, (char *)"sampler", (char *)"burn", NULL }; /* this file, see its end */
	struct session_options o = { .targets.command = command, .targets.follow = true, .sampling = &sampling };
	struct session_totals totals;
	AUTO_FREE struct heard *h = NULL;
	size_t known = 0;

	(void)state;
	need_root();
	enough = 0;
	own_path(path);
	h = hear(&o, &totals);
	for (size_t i = 0; i < h->nof; i++)
		for (size_t k = 0; k < h->nstacks; k++)
			known += h->stacks[k].id == h->of_sample[i] && h->stacks[k].end == UT_END_START;
	assert_true(h->samples > 5 && h->nstacks > 2);
	if (known * 10 < h->nof * 7) /* the rest is the kernel's work on the exec itself */
		fail_ends(h, known);
}

static void test_everybody(void **state)
{
	const struct session_sampling sampling = { .frequency_hz = 997, .waits = true };
	struct session_options o = { .targets.all = true, .targets.duration_ns = PATIENCE_NS, .sampling = &sampling };
	struct session_totals totals;
	AUTO_FREE struct heard *h = NULL;
	pid_t pid = start(leaf_burn);
	size_t deep_ones = 0;

	(void)state;
	if (geteuid())
		end(pid);
	need_root();
	enough = 200; /* of the child: others may leave the processor that often before it has been sampled once */
	enough_of = pid;
	h = hear(&o, &totals);
	enough_of = 0;
	end(pid);
	assert_true(h->counted < h->samples + h->waits); /* somebody else was there: the kernel's threads at least */
	for (size_t k = 0; k < h->nstacks; k++)
		deep_ones += h->stacks[k].user >= DEPTH && h->stacks[k].end == UT_END_START;
	assert_true(deep_ones > 0);
}

static void test_ranges(void **state)
{
	struct ranges r;

	(void)state;
	assert_int_equal(ranges_open(&r, 100), 0);
	assert_int_equal(ranges_alloc(&r, 10), 0);
	assert_int_equal(ranges_alloc(&r, 20), 10);
	assert_int_equal(ranges_alloc(&r, 70), 30);
	assert_int_equal(ranges_alloc(&r, 1), UINT32_MAX);
	ranges_free(&r, 10, 20);
	ranges_free(&r, 0, 10); /* joins the one behind it */
	assert_int_equal(ranges_alloc(&r, 31), UINT32_MAX);
	assert_int_equal(ranges_alloc(&r, 30), 0);
	ranges_free(&r, 30, 70);
	ranges_free(&r, 0, 30); /* and so does this */
	assert_int_equal(ranges_alloc(&r, 100), 0);
	ranges_free(&r, 40, 10);
	ranges_free(&r, 20, 10);
	ranges_free(&r, 30, 10); /* one between two */
	assert_int_equal(ranges_alloc(&r, 30), 20);
	ranges_done(&r);
}

/* `runner-record sampler burn`: the program of test_command. */
UNIT_TESTS(sampler)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ranges, set_enough),
		cmocka_unit_test_setup(test_clock, set_enough),
		cmocka_unit_test_setup(test_signal, set_enough),
		cmocka_unit_test_setup(test_waits, set_enough),
		cmocka_unit_test(test_standing),
		cmocka_unit_test(test_where_it_stands),
		cmocka_unit_test_setup(test_threads_end, set_enough),
		cmocka_unit_test_setup(test_stopped, set_enough),
		cmocka_unit_test_setup(test_probe, set_enough),
		cmocka_unit_test_setup(test_probe_older_way, set_enough),
		cmocka_unit_test_setup(test_probed_returns, set_enough),
		cmocka_unit_test_setup(test_tracepoint, set_enough),
		cmocka_unit_test_setup(test_command, set_enough),
		cmocka_unit_test_setup(test_everybody, set_enough),
	};

	if (argc > 1 && !strcmp(argv[1], "burn")) {
		for (uint64_t until = monotonic_ns() + 200 * (uint64_t)MS; monotonic_ns() < until;)
			deep(DEPTH, leaf_burn);
		return 0;
	}
	return unit_run(tests, NULL, NULL);
}
