/* SPDX-License-Identifier: MIT */
/* Tracing changes nothing in the traced program: leaf functions with data below the stack pointer, and semaphores. */
#include <signal.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "record/nop5_harm.h"
#include "traced.h"
#include "unit.h"

/* A note as a probe header writes it, for the place "1:" of provider @leaf. */
#define NOTE(name, semaphore, operand) \
	".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 2f-1f, 4f-3f, 3\n" \
	"1: .asciz \"stapsdt\"\n2: .balign 4\n3: .8byte " name "_site\n.8byte 0\n.8byte " semaphore "\n" \
	".asciz \"leaf\"\n.asciz \"" name "\"\n.asciz \"" operand "\"\n4: .balign 4\n.popsection\n"
#define NOP1 "	nop\n"
#define NOP5 "	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
/* A leaf function that keeps its arguments below the stack pointer, all around the probe, and gives back their sum. */
#define LEAF(name, first, middle) \
	".globl " name "\n.hidden " name "\n.type " name ", @function\n.p2align 5\n" name ":\n" first \
	"	movq %rdi, -8(%rsp)\n	movq %rsi, -16(%rsp)\n" \
	"	movq %rdi, -24(%rsp)\n	movq %rsi, -128(%rsp)\n" middle \
	"	movq -8(%rsp), %rax\n	addq -16(%rsp), %rax\n	addq -24(%rsp), %rax\n	addq -128(%rsp), %rax\n	ret\n" \
	".size " name ", . - " name "\n"

__asm__(".text\n" LEAF("leaf_middle5", "", "leaf_middle5_site:\n" NOP5) NOTE("leaf_middle5", "0", "8@%rdi")
		LEAF("leaf_middle1", "", "leaf_middle1_site:\n" NOP1) NOTE("leaf_middle1", "0",
									   "8@%rdi 8@-8(%rsp) 8@-128(%rsp)")
			LEAF("leaf_start5", "leaf_start5_site:\n" NOP5, "") NOTE("leaf_start5", "0", "8@%rdi 8@%rsi")
				LEAF("leaf_endbr5", "	endbr64\nleaf_endbr5_site:\n" NOP5, "")
					NOTE("leaf_endbr5", "0", "8@%rdi 8@%rsi") LEAF("leaf_guarded", "",
										       "leaf_guarded_site:\n" NOP1)
						NOTE("leaf_guarded", "leaf_semaphore",
						     "8@%rdi") ".pushsection .probes, \"aw\"\n.balign 2\n.hidden "
							       "leaf_semaphore\n.globl leaf_semaphore\n"
							       "leaf_semaphore: .2byte 0\n.popsection\n");
uint64_t leaf_middle5(uint64_t a, uint64_t b);
uint64_t leaf_middle1(uint64_t a, uint64_t b);
uint64_t leaf_start5(uint64_t a, uint64_t b);
uint64_t leaf_endbr5(uint64_t a, uint64_t b);
uint64_t leaf_guarded(uint64_t a, uint64_t b);
extern volatile uint16_t leaf_semaphore;

#define CALLS 5000

typedef uint64_t leaf_fn(uint64_t a, uint64_t b);

static uint64_t harmed(leaf_fn *leaf, uint64_t calls)
{
	uint64_t ret = 0;

	for (uint64_t i = 1; i <= calls; i++)
		ret += leaf(i, i * 1000) != 2 * i + 2000 * i;
	return ret;
}

/* Attaches to "u:this:NAME", calls it often, and finds everything unharmed and reported. */
static void check_unharmed(const char *name, leaf_fn *leaf, unsigned nargs, bool no_multi)
{
	const char *text = name;
	struct traced t;
	uint64_t n = 0;

	traced_open(&t, &text, 1, no_multi);
	for (int round = 0; round < 10; round++) {
		const struct merge_item *item;

		assert_int_equal(harmed(leaf, CALLS / 10), 0);
		while ((item = recorder_next(&t.r))) {
			const struct ut_rec_event *rec = item->rec;

			assert_non_null(rec);
			for (unsigned i = 0; i < nargs; i++)
				assert_int_equal(record_value(rec, traced_probe(&t, rec)->checked, i) %
							 (n % (CALLS / 10) + 1),
						 0);
			n++;
		}
	}
	assert_int_equal(n, CALLS);
	traced_close(&t);
	assert_int_equal(harmed(leaf, 10), 0);
}

static void both_ways(const char *name, leaf_fn *leaf, unsigned nargs)
{
	need_root();
	for (int i = !kernel_has_uprobe_multi(); i < 2; i++)
		check_unharmed(name, leaf, nargs, i);
}

static void short_nop_in_a_leaf(void **state)
{
	(void)state;
	both_ways("u:leaf_middle1", leaf_middle1, 3);
}
static void long_nop_at_a_start(void **state)
{
	(void)state;
	both_ways("u:leaf_start5", leaf_start5, 2);
}
static void long_nop_behind_endbr64(void **state)
{
	(void)state;
	both_ways("u:leaf_endbr5", leaf_endbr5, 2);
}

/* Attached nowhere where the kernel would destroy what the function keeps; on other kernels it must work. */
static void long_nop_in_a_leaf(void **state)
{
	const char *text = "u:leaf_middle5";
	unsigned kernel;
	struct ut_err err = { 0 };
	struct traced t = { 0 };

	(void)state;
	need_root();
	kernel = nop5_harm_of_kernel();
	assert_false(kernel & NOP5_UNTRIED);
	assert_int_equal(own_plan(&text, 1, &t.plan, &err), 0);
	assert_int_equal(t.plan->sites.n, 1);
	assert_int_equal(t.plan->sites.v[0].nop5, NOP5_INSIDE);
	if (!(kernel & NOP5_RED_ZONE)) {
		print_message("this kernel leaves the red zone alone\n");
		plan_free(t.plan);
		check_unharmed(text, leaf_middle5, 1, false);
		return;
	}
	print_message("this kernel writes into the red zone\n");
	recorder_open(&t.r, 1 << 18);
	assert_int_equal(traced_attach(&t, getpid(), false, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "leaf:leaf_middle5"));
	assert_non_null(strstr(err.msg, "1-byte nop"));
	assert_int_equal(harmed(leaf_middle5, CALLS), 0);
	traced_close(&t);
}

/* When one of several sites is refused, none stays attached. */
static void all_or_nothing(void **state)
{
	const char *text = "u:leaf_*";
	struct ut_err err = { 0 };
	struct traced t = { 0 };

	(void)state;
	need_root();
	if (!(nop5_harm_of_kernel() & NOP5_RED_ZONE)) {
		print_message("this kernel refuses none of these\n");
		skip();
	}
	assert_int_equal(own_plan(&text, 1, &t.plan, &err), 0);
	assert_int_equal(t.plan->sites.n, 5);
	recorder_open(&t.r, 1 << 18);
	assert_true(traced_attach(&t, getpid(), false, &err) < 0);
	assert_int_equal(harmed(leaf_middle1, 10) + harmed(leaf_start5, 10), 0);
	assert_null(recorder_next(&t.r));
	assert_int_equal(leaf_semaphore, 0);
	traced_close(&t);
}

static void where_long_nops_are(void **state)
{
	static const struct {
		const char *name;
		enum nop5_location place;
	} rows[] = {
		{ "u:leaf_middle5", NOP5_INSIDE },
		{ "u:leaf_middle1", NOP5_NONE },
		{ "u:leaf_start5", NOP5_FIRST },
		{ "u:leaf_endbr5", NOP5_FIRST },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ut_err err = { 0 };
		struct plan *plan;

		assert_int_equal(own_plan(&rows[i].name, 1, &plan, &err), 0);
		assert_int_equal(plan->sites.n, 1);
		assert_int_equal(plan->sites.v[0].nop5, rows[i].place);
		plan_free(plan);
	}
}

/* A semaphore is up as long as anybody is attached; the kernel counts places, not attachments. */
static void semaphores(bool no_multi)
{
	const char *texts[] = { "u:leaf_guarded arg1", "u:leaf_guarded arg1 + 1" };
	struct traced one, two;

	assert_int_equal(leaf_semaphore, 0);
	traced_open(&one, texts, 1, no_multi);
	assert_int_equal(leaf_semaphore, 1);
	traced_open(&two, texts, 2, no_multi);
	assert_true(leaf_semaphore > 0);
	assert_int_equal(leaf_guarded(5, 0), 10);
	assert_int_equal(record_value(recorder_event(&one.r), one.plan->probes.v[0].checked, 0), 5);
	traced_close(&one);
	assert_true(leaf_semaphore > 0);
	traced_close(&two);
	assert_int_equal(leaf_semaphore, 0);
}

static void semaphores_are_counted(void **state)
{
	(void)state;
	need_root();
	for (int i = !kernel_has_uprobe_multi(); i < 2; i++)
		semaphores(i);
}

/* Shared by the test, its traced child and its tracing child. */
struct shared {
	_Atomic uint16_t semaphore;
	_Atomic uint64_t beats, wrong;
};

/* Calls the function and tells what its semaphore says, until it is killed. */
static pid_t start_target(struct shared *s)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint64_t i = 1;; i++) {
		s->wrong += leaf_guarded(i, i) != 4 * i;
		s->semaphore = leaf_semaphore;
		s->beats++;
		sched_yield();
	}
}

static pid_t start_tracer(pid_t target, bool no_multi)
{
	const char *text = "u:leaf_guarded";
	struct ut_err err = { 0 };
	struct traced t = { 0 };
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	recorder_open(&t.r, 1 << 16);
	if (own_plan(&text, 1, &t.plan, &err) || traced_attach(&t, target, no_multi, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		_exit(1);
	}
	for (;;)
		pause();
}

/* True when the target reports @value within some seconds. */
static bool becomes(const struct shared *s, uint16_t value, pid_t tracer)
{
	double end = fire_ms() + 20000;

	while (fire_ms() < end) {
		if (s->semaphore == value)
			return true;
		if (tracer && waitpid(tracer, NULL, WNOHANG) == tracer)
			return false;
		sched_yield();
	}
	return false;
}

static void killed_tracer(bool no_multi)
{
	struct shared *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t target, tracer;
	uint64_t beats;

	assert_ptr_not_equal(s, MAP_FAILED);
	target = start_target(s);
	tracer = start_tracer(target, no_multi);
	assert_true(becomes(s, 1, tracer));
	kill(tracer, SIGKILL);
	assert_int_equal(waitpid(tracer, NULL, 0), tracer);
	assert_true(becomes(s, 0, 0));
	beats = s->beats;
	while (s->beats < beats + 100)
		sched_yield();
	assert_int_equal(s->wrong, 0);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	munmap(s, 4096);
}

static void a_killed_tracer_leaves_nothing(void **state)
{
	(void)state;
	need_root();
	for (int i = !kernel_has_uprobe_multi(); i < 2; i++)
		killed_tracer(i);
}

/* Attaching to what is no process any more says so. */
static void a_target_that_ended(void **state)
{
	const char *text = "u:leaf_guarded";
	struct ut_err err = { 0 };
	struct traced t = { 0 };
	pid_t pid;

	(void)state;
	need_root();
	pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = !kernel_has_uprobe_multi(); i < 2; i++) {
		recorder_open(&t.r, 1 << 16);
		assert_int_equal(own_plan(&text, 1, &t.plan, &err), 0);
		assert_int_equal(traced_attach(&t, pid, i, &err), -ESRCH);
		assert_non_null(strstr(err.msg, "exited"));
		traced_close(&t);
	}
}

UNIT_TESTS(attach_redzone)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_long_nops_are),	  cmocka_unit_test(short_nop_in_a_leaf),
		cmocka_unit_test(long_nop_at_a_start),	  cmocka_unit_test(long_nop_behind_endbr64),
		cmocka_unit_test(long_nop_in_a_leaf),	  cmocka_unit_test(all_or_nothing),
		cmocka_unit_test(semaphores_are_counted), cmocka_unit_test(a_killed_tracer_leaves_nothing),
		cmocka_unit_test(a_target_that_ended),
	};

	return unit_run(tests, NULL, NULL);
}
