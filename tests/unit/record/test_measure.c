/* SPDX-License-Identifier: MIT */
/* How long a program stands still, measured in the kernel, against what the program itself says. */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/auto.h"
#include "model/stall.h"
#include "record/session.h"
#include "unit.h"
#include "wire/record.h"

#define need_root() \
	do { \
		if (geteuid() != 0) { \
			print_message("attaching needs root\n"); \
			skip(); \
		} \
	} while (0)

#define MS 1000000u

static void spin(uint64_t ns)
{
	for (uint64_t end = monotonic_ns() + ns; monotonic_ns() < end;)
		;
}

static void rest(uint64_t ns)
{
	struct timespec ts = { 0, (long)ns };

	nanosleep(&ts, NULL);
}

/*
 * The program that is measured: a forked child. What it says of itself comes through shared memory.
 */
void measured_begin(int what);
void measured_end(int what);
__attribute__((noinline, used)) void measured_begin(int what) { __asm__ volatile("" ::"r"(what)); }
__attribute__((noinline, used)) void measured_end(int what) { __asm__ volatile("" ::"r"(what)); }

#define SPANS_SAID 64

/* What the child says of each span: the time on processors of all of its threads, and how long its program stood. */
static struct said {
	unsigned n;
	uint64_t cpu_ns[SPANS_SAID], stood_ns[SPANS_SAID];
} * said;

static void span_begin(void)
{
	measured_begin(1);
	said->cpu_ns[said->n] = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void span_end(void)
{
	said->cpu_ns[said->n] = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - said->cpu_ns[said->n];
	said->n++;
	measured_end(1);
}

static struct {
	int ask, done;
} world; /* eventfds: the collector asks the program to stand, and to go on */

static void signal_fd(int fd)
{
	uint64_t one = 1;

	assert_int_equal(write(fd, &one, 8), 8);
}

static void wait_fd(int fd)
{
	uint64_t n;

	assert_int_equal(read(fd, &n, 8), 8);
}

static volatile int stop_asked, standing, over;
static volatile uint64_t stood_since_ns;

static void *mutate(void *arg)
{
	while (!over) {
		spin(20000);
		if (stop_asked) {
			stood_since_ns = monotonic_ns();
			standing = 1;
			wait_fd(world.ask);
			standing = 0;
		}
	}
	return arg;
}

/* One stop as a collector thread of its own makes it: the program is asked, stands, is let go. */
static void collect_once(uint64_t ns)
{
	while (standing) /* it has not had a processor since the last time */
		sched_yield();
	span_begin();
	stop_asked = 1;
	while (!standing)
		;
	rest(ns / 2);
	spin(ns / 2);
	stop_asked = 0;
	said->stood_ns[said->n] = monotonic_ns() - stood_since_ns;
	signal_fd(world.ask);
	span_end();
}

static void child_collector(void)
{
	pthread_t thread;

	world.ask = eventfd(0, 0);
	pthread_create(&thread, NULL, mutate, NULL);
	prctl(PR_SET_NAME, "collector 1");
	for (int i = 0; i < 20; i++) {
		rest(2 * MS);
		collect_once(6 * MS);
	}
	over = 1;
	pthread_join(thread, NULL);
}

/* The thread that runs out of memory collects: it is the program, but not meanwhile. */
static void child_alone(void)
{
	for (int i = 0; i < 20; i++) {
		spin(2 * MS);
		span_begin();
		spin(3 * MS);
		rest(3 * MS);
		span_end();
	}
}

/* A collection that is left by a jump: what comes after it is no part of it. */
static jmp_buf left;

static void leave_once(void)
{
	volatile char deep[4096]; /* deeper in the stack than what is called next, as a collector is */

	deep[0] = 1;
	measured_begin(deep[0]);
	longjmp(left, 1);
}

static void child_left(void)
{
	for (int i = 0; i < 10; i++) {
		if (!setjmp(left))
			leave_once();
		spin(2 * MS);
		span_begin();
		spin(2 * MS);
		span_end();
		spin(1 * MS);
	}
}

/* Something that stops nobody: the program runs on. */
static void child_beside(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, mutate, NULL);
	prctl(PR_SET_NAME, "collector 1");
	for (int i = 0; i < 20; i++) {
		span_begin();
		rest(6 * MS);
		span_end();
		rest(1 * MS);
	}
	over = 1;
	pthread_join(thread, NULL);
}

/* Threads that wait and run as often as they can, in many short spans. */
static void *play(void *arg)
{
	int *fds = arg;
	char ball;

	while (read(fds[0], &ball, 1) == 1 && write(fds[1], &ball, 1) == 1)
		;
	return arg;
}

/* An emulated machine takes long for everything. */
static int busy_spans(void) { return getenv("UT_PATIENCE") ? 2000 : 20000; }

static void child_busy(void)
{
	static int there[4][2], back[4][2], fds[8][2];
	pthread_t thread;

	for (int i = 0; i < 4; i++) {
		assert_int_equal(pipe(there[i]), 0);
		assert_int_equal(pipe(back[i]), 0);
		memcpy(fds[2 * i], (int[]){ there[i][0], back[i][1] }, sizeof(fds[0]));
		memcpy(fds[2 * i + 1], (int[]){ back[i][0], there[i][1] }, sizeof(fds[0]));
		pthread_create(&thread, NULL, play, fds[2 * i]);
		pthread_create(&thread, NULL, play, fds[2 * i + 1]);
		assert_int_equal(write(there[i][1], "o", 1), 1);
	}
	for (int i = 0; i < busy_spans(); i++) {
		measured_begin(1);
		spin(i % 3 * 10000);
		measured_end(1);
	}
}

/* A debugger, or somebody's SIGSTOP, in the middle. */
static void child_held(void)
{
	spin(2 * MS);
	span_begin();
	raise(SIGSTOP);
	spin(3 * MS);
	span_end();
}

/* The same with a thread that may run again when it is let go, but has no processor to do so. */
static void *doze_here(void *arg)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(getpid(), sizeof(one), &one); /* both, where this thread is */
	sched_setaffinity(0, sizeof(one), &one);
	standing = 1;
	wait_fd(world.ask);
	return arg;
}

static void child_held_longer(void)
{
	struct sched_param urgent = { 10 };
	pthread_t thread;

	world.ask = eventfd(0, 0);
	pthread_create(&thread, NULL, doze_here, NULL);
	while (!standing)
		rest(MS);
	sched_setscheduler(0, SCHED_FIFO, &urgent);
	span_begin();
	raise(SIGSTOP);
	spin(200 * MS);
	span_end();
	signal_fd(world.ask);
	pthread_join(thread, NULL);
}

/* A thread that ends in the middle of its stop; what comes later has others open, and nobody who blocked before. */
static void *begin_and_end(void *arg)
{
	measured_begin(1);
	return arg;
}

static void *doze(void *arg)
{
	wait_fd(world.ask);
	return arg;
}

static void child_thread_ends(void)
{
	pthread_t dozing, ending;

	world.ask = eventfd(0, 0);
	pthread_create(&dozing, NULL, doze, NULL);
	pthread_create(&ending, NULL, begin_and_end, NULL);
	pthread_join(ending, NULL);
	for (int i = 0; i < 10; i++) {
		rest(1 * MS);
		span_begin();
		spin(2 * MS);
		span_end();
	}
	signal_fd(world.ask);
	pthread_join(dozing, NULL);
}

/* Threads that are gone wait for nothing. */
static void *nothing(void *arg) { return arg; }

static void child_short_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 10; i++) {
		span_begin();
		for (int k = 0; k < 100; k++) {
			pthread_create(&thread, NULL, nothing, NULL);
			pthread_join(thread, NULL);
		}
		span_end();
	}
}

/* The same process with a program of its own after it: none of the stops is open, and the program runs. */
static void *collect_beside(void *arg)
{
	prctl(PR_SET_NAME, "collector 1");
	measured_begin(1);
	rest(6 * MS);
	measured_end(1);
	return arg;
}

static void after_exec(void)
{
	pthread_t thread;

	raise(SIGSTOP);
	for (int i = 0; i < 10; i++) {
		pthread_create(&thread, NULL, collect_beside, NULL);
		spin(10 * MS);
		pthread_join(thread, NULL);
	}
}

static void *exec_inside(void *arg)
{
	measured_begin(1);
	execl("/proc/self/exe", "runner-record", "measure", "after exec", NULL);
	return arg;
}

static void child_exec(void) { exec_inside(NULL); }

static void child_thread_execs(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, exec_inside, NULL);
	pthread_join(thread, NULL);
}

struct seen {
	uint64_t base_ns;
	const struct session *session;
	struct ut_rec_state begin;
	uint64_t begin_ns;
	struct stall stalls[64];
	uint64_t lengths[64];
	unsigned open[64]; /* stops at the end */
	unsigned n, unknown;
	unsigned all, odd; /* of all: threads waited longer than nine threads can, or nothing is known */
};

static void note_all(struct seen *s, const struct session_event *e)
{
	uint64_t length = e->rec->time_ns - s->begin_ns;
	struct stall t =
		stall_between(&s->begin, s->begin_ns, e->state, e->rec->time_ns, session_state_base_ns(s->session));

	if (!s->begin_ns)
		return;
	s->all++;
	s->odd += !t.known || t.waited_ns > 9 * (length + 50000);
}

static int seen_event(void *ctx, const struct session_event *e)
{
	struct seen *s = ctx;

	assert_non_null(e->state);
	if (!strcmp(e->probe->func, "measured_begin")) {
		s->begin = *e->state;
		s->begin_ns = e->rec->time_ns;
		return 0;
	}
	note_all(s, e);
	if (s->begin_ns && s->n < ARRAY_SIZE(s->stalls)) {
		s->open[s->n] = e->state->open;
		s->lengths[s->n] = e->rec->time_ns - s->begin_ns;
		s->stalls[s->n] = stall_between(&s->begin, s->begin_ns, e->state, e->rec->time_ns,
						session_state_base_ns(s->session));
		s->unknown += !s->stalls[s->n].known;
		s->n++;
	}
	return 0;
}

static const char runtime_text[] =
	"[runtime]\nname = measured\nmatch = runner-record\nlanguage = C\ncollector = collector*\n"
	"[span gc]\nbegin = p:runner-record:measured_begin\nend = r:runner-record:measured_end\n";

static void start_child(void (*run)(void), int gate)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(gate, &c, 1) == 1)
		run();
	_exit(0);
}

static void trace(void (*run)(void), enum probe_state begin, struct seen *ret, void (*meanwhile)(pid_t pid))
{
	const enum probe_state states[] = { begin, begin == STATE_STOP ? STATE_GO : STATE_SEE };
	struct session_options o = { .nprobes = 2,
				     .targets.npids = 1,
				     .text_limit = 64,
				     .targets.stop_fd = -1,
				     .states = states,
				     .lifecycle = true,
				     .targets.follow = run == child_thread_execs };
	struct session_sink sink = { .ctx = ret, .event = seen_event };
	char path[PATH_MAX], begin_text[PATH_MAX + 64], end_text[PATH_MAX + 64];
	const char *texts[] = { begin_text, end_text };
	struct runtimes runtimes = { 0 };
	struct session_totals totals;
	enum session_end end;
	struct ut_err err = { 0 };
	int gate[2], status;
	pid_t pid;

	memset(ret, 0, sizeof(*ret));
	path[readlink("/proc/self/exe", path, sizeof(path) - 1)] = '\0';
	snprintf(begin_text, sizeof(begin_text), "p:%s:measured_begin", path);
	snprintf(end_text, sizeof(end_text), "p:%s:measured_end", path);
	said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(said != MAP_FAILED);
	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (!pid)
		start_child(run, gate[0]);
	o.probes = texts;
	o.targets.pids = &pid;
	if (runtimes_parse("test.ini", runtime_text, sizeof(runtime_text) - 1, &runtimes, &err) ||
	    session_open(&o, &runtimes, (struct session **)&ret->session, &err) ||
	    session_start((struct session *)ret->session, &sink, NULL, &err))
		fail_msg("%s", err.msg);
	assert_true(session_measures(ret->session));
	assert_int_equal(write(gate[1], "g", 1), 1);
	if (meanwhile)
		meanwhile(pid);
	assert_int_equal(session_run((struct session *)ret->session, &sink, &end, &err), 0);
	assert_int_equal(session_stop((struct session *)ret->session, &sink, &totals, &err), 0);
	assert_int_equal(totals.lost, 0);
	session_close((struct session *)ret->session);
	runtimes_done(&runtimes);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(gate[0]);
	close(gate[1]);
}

/*
 * How many spans are as they should be. Not all need be: a thread can be taken from its processor between a reading of its
 * own and what is traced, and some machines hide switches of their own keepers.
 */
static unsigned count_good(const struct seen *s, bool (*good)(const struct seen *s, unsigned i))
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++) {
		const struct stall *t = &s->stalls[i];

		n += good(s, i);
		print_message("%s length %llu cpu %llu stood %llu: stopped %llu program %llu collector %llu waited "
			      "%llu held %llu\n",
			      good(s, i) ? "ok " : "bad", (unsigned long long)s->lengths[i],
			      (unsigned long long)said->cpu_ns[i], (unsigned long long)said->stood_ns[i],
			      (unsigned long long)t->stopped_ns, (unsigned long long)t->program_ns,
			      (unsigned long long)t->collector_ns, (unsigned long long)t->waited_ns,
			      (unsigned long long)t->held_ns);
	}
	return n;
}

static bool near(uint64_t a, uint64_t b, uint64_t by)
{
	if (getenv("UT_PATIENCE")) /* an emulated machine takes longer for everything */
		by *= 5;
	return a > b ? a - b <= by : b - a <= by;
}

static void check_spans(const struct seen *s, unsigned n, bool (*good)(const struct seen *s, unsigned i))
{
	unsigned ok = count_good(s, good);

	assert_int_equal(s->n, n);
	assert_int_equal(s->unknown, 0);
	assert_true(ok * 4 >= n * 3);
}

/* The announcing thread is no program meanwhile, and nothing else is there. */
static bool good_alone(const struct seen *s, unsigned i)
{
	const struct stall *t = &s->stalls[i];

	return near(t->stopped_ns, s->lengths[i], 20000) && near(t->collector_ns, said->cpu_ns[i], 200000) &&
	       near(t->program_ns, 0, 20000) && !t->waited_ns && !t->held_ns;
}

static bool good_collector_thread(const struct seen *s, unsigned i)
{
	const struct stall *t = &s->stalls[i];

	/* a processor may be taken from the program before it stands */
	return near(t->stopped_ns + t->program_ns, s->lengths[i], 20000) &&
	       t->stopped_ns + 100000 > said->stood_ns[i] && t->waited_ns + 100000 > said->stood_ns[i] &&
	       t->waited_ns <= s->lengths[i] && t->collector_ns > 500000;
}

/* One thread: what it did not run is what was stopped, though nobody stopped it. */
static bool good_beside(const struct seen *s, unsigned i)
{
	const struct stall *t = &s->stalls[i];

	return near(t->stopped_ns + t->program_ns, s->lengths[i], 20000) && !t->waited_ns;
}

static bool good_held(const struct seen *s, unsigned i)
{
	const struct stall *t = &s->stalls[i];

	return t->held_ns >= 50 * MS && t->stopped_ns >= 3 * MS &&
	       near(t->held_ns + t->stopped_ns + t->program_ns, s->lengths[i], 2 * MS);
}

static void test_collector_thread(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_collector, STATE_STOP, &s, NULL);
	check_spans(&s, 20, good_collector_thread);
}

static void test_alone(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_alone, STATE_STOP, &s, NULL);
	check_spans(&s, 20, good_alone);
}

/* The program is no collector any more between the collection that it left and the next, and after that. */
static bool good_left(const struct seen *s, unsigned i)
{
	return s->open[i] == 0 && near(s->stalls[i].stopped_ns, s->lengths[i], 20000);
}

static void test_left(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_left, STATE_STOP, &s, NULL);
	check_spans(&s, 10, good_left);
}

static void test_beside(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_beside, STATE_SEE, &s, NULL);
	check_spans(&s, 20, good_beside);
}

static void let_go(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	rest(50 * MS);
	kill(pid, SIGCONT);
}

static void test_busy(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_busy, STATE_STOP, &s, NULL);
	print_message("%u of %u spans are odd\n", s.odd, s.all);
	assert_int_equal(s.all, busy_spans());
	/* a processor may be looked at between two of its steps, which an emulated machine takes long for */
	assert_true(s.odd <= (getenv("UT_PATIENCE") ? 40 : 4));
}

static bool good_held_longer(const struct seen *s, unsigned i)
{
	const struct stall *t = &s->stalls[i];

	return t->held_ns >= 50 * MS && t->held_ns + 190 * MS < s->lengths[i];
}

static void test_held_longer(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_held_longer, STATE_STOP, &s, let_go);
	check_spans(&s, 1, good_held_longer);
}

static void test_held(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_held, STATE_STOP, &s, let_go);
	check_spans(&s, 1, good_held);
}

/* Who dozes blocked before the span. */
static bool good_after_end(const struct seen *s, unsigned i)
{
	return s->open[i] == 0 && !s->stalls[i].waited_ns && near(s->stalls[i].stopped_ns, s->lengths[i], 20000);
}

static void test_thread_ends(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_thread_ends, STATE_STOP, &s, NULL);
	check_spans(&s, 10, good_after_end);
}

/* At most one thread at a time does not run and is not gone. */
static bool good_short_threads(const struct seen *s, unsigned i)
{
	const struct stall *t = &s->stalls[i];

	/* who ends may still be about that while the next one runs */
	return t->waited_ns <= s->lengths[i] && t->stopped_ns + t->program_ns + MS >= s->lengths[i] &&
	       t->program_ns + t->collector_ns <= s->lengths[i] * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) + MS;
}

static void test_short_threads(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_short_threads, STATE_STOP, &s, NULL);
	check_spans(&s, 10, good_short_threads);
}

static bool good_after_exec(const struct seen *s, unsigned i)
{
	const struct stall *t = &s->stalls[i];

	return s->open[i] == 0 && !t->held_ns && t->program_ns > t->collector_ns &&
	       near(t->stopped_ns + t->program_ns, s->lengths[i], 20000);
}

static void test_exec(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_exec, STATE_STOP, &s, let_go);
	assert_true(count_good(&s, good_after_exec) >= 2); /* others may want the processors */
}

static void test_thread_execs(void **state)
{
	struct seen s;

	(void)state;
	need_root();
	trace(child_thread_execs, STATE_STOP, &s, let_go);
	assert_true(count_good(&s, good_after_exec) >= 2);
}

UNIT_TESTS(measure)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),	      cmocka_unit_test(test_collector_thread),
		cmocka_unit_test(test_beside),	      cmocka_unit_test(test_busy),
		cmocka_unit_test(test_held),	      cmocka_unit_test(test_held_longer),
		cmocka_unit_test(test_left),	      cmocka_unit_test(test_thread_ends),
		cmocka_unit_test(test_short_threads), cmocka_unit_test(test_exec),
		cmocka_unit_test(test_thread_execs),
	};

	if (argc > 1 && !strcmp(argv[1], "after exec")) {
		after_exec();
		return 0;
	}
	return unit_run(tests, NULL, NULL);
}
