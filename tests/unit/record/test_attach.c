/* SPDX-License-Identifier: MIT */
/* From plans to attachments, on this program itself: calls and their durations, many snippets, both ways to attach. */
#include "base/clock.h"
#include "traced.h"
#include "unit.h"
#include "wire/call.h"

#define SLED 130

/* sled: a function of many nops, one after the other; it leaves its argument alone. */
__asm__(".text\n.globl sled\n.hidden sled\n.type sled, @function\n.p2align 4\n"
	"sled:\n.rept 130\n	nop\n.endr\n	ret\n.size sled, . - sled\n");
void sled(uint64_t value);

/* The first value of a record: every probe of this file that asks prints its duration first. */
static uint64_t duration_of(const struct ut_rec_event *rec)
{
	uint64_t ret;

	memcpy(&ret, rec + 1, sizeof(ret));
	return ret;
}

static void spin(uint64_t ns)
{
	for (uint64_t end = monotonic_ns() + ns; monotonic_ns() < end;)
		;
}

#define SPIN_NS 200000u
/* Called where the source says, and returning where it says. */
#ifdef __clang__
#define TRACED __attribute__((noinline, used, disable_tail_calls))
#else
#define TRACED __attribute__((noinline, noclone, used, optimize("no-optimize-sibling-calls")))
#endif

TRACED int call_down(int depth);
TRACED int call_inner(int x);
TRACED int call_outer(int x);
TRACED int call_leaver(jmp_buf *out, int depth);

int call_down(int depth)
{
	spin(SPIN_NS);
	return depth ? call_down(depth - 1) + 1 : 0;
}

int call_inner(int x)
{
	spin(SPIN_NS);
	return x + 1;
}

int call_outer(int x)
{
	int a = call_inner(x);

	spin(SPIN_NS);
	return a + call_inner(x);
}

int call_leaver(jmp_buf *out, int depth)
{
	if (depth)
		return call_leaver(out, depth - 1) + 1;
	if (out)
		longjmp(*out, 1);
	spin(SPIN_NS);
	return 0;
}

/* call_tail goes on in call_inner instead of calling it: both have the same stack pointer when they begin. */
__asm__(".text\n.globl call_tail\n.hidden call_tail\n.type call_tail, @function\n.p2align 4\ncall_tail:\n"
	"	nop\n	movl $41, %edi\n	jmp call_inner\n.size call_tail, . - call_tail\n");
int call_tail(void);

/* call_jumper(n) is call_inner(n) for n > 0, else 40. */
__asm__(".text\n.globl call_jumper\n.hidden call_jumper\n.type call_jumper, @function\n.p2align 4\ncall_jumper:\n"
	"	test %edi, %edi\n	jg call_inner\n	mov $40, %eax\n	ret\n"
	".size call_jumper, . - call_jumper\n");
int call_jumper(int n);

/* Attaches within the call. */
TRACED int call_attacher(struct traced *t, const char *text, bool no_multi);

int call_attacher(struct traced *t, const char *text, bool no_multi)
{
	if (t)
		traced_open(t, &text, 1, no_multi);
	return 7;
}

static const char *const ways[] = { "many at once", "one by one" };

/* Runs @test in both ways to attach, or in the only one. */
static void both_ways(void (*test)(bool no_multi))
{
	need_root();
	for (int i = !kernel_has_uprobe_multi(); i < 2; i++) {
		print_message("%s\n", ways[i]);
		test(i);
	}
}

static void recursion(bool no_multi)
{
	const char *texts[] = { "r:call_down \"%u %d\", duration, retval" };
	uint64_t last = 0, begin, whole;
	struct traced t;

	traced_open(&t, texts, 1, no_multi);
	for (int round = 0; round < 3; round++) {
		begin = monotonic_ns();
		assert_int_equal(call_down(9), 9);
		whole = monotonic_ns() - begin;
		for (int i = 0; i <= 9; i++) { /* the innermost returns first */
			const struct ut_rec_event *rec = recorder_event(&t.r);

			assert_int_equal(record_value(rec, traced_probe(&t, rec)->checked, 1), i);
			assert_true(duration_of(rec) >= (uint64_t)(i + 1) * SPIN_NS && duration_of(rec) <= whole);
			assert_true(i == 0 || duration_of(rec) > last);
			last = duration_of(rec);
		}
		assert_null(recorder_next(&t.r));
	}
	traced_close(&t);
}

static void nesting(bool no_multi)
{
	static const char *const order[] = { "call_inner", "call_inner", "call_outer" };
	const char *texts[] = { "r:call_* \"%u\", duration" };
	struct traced t;

	traced_open(&t, texts, 1, no_multi);
	call_outer(1);
	for (int i = 0; i < 3; i++) {
		const struct ut_rec_event *rec = recorder_event(&t.r);

		assert_string_equal(traced_probe(&t, rec)->func, order[i]);
		assert_true(duration_of(rec) >= (i == 2 ? 3 : 1) * SPIN_NS);
	}
	assert_null(recorder_next(&t.r));
	traced_close(&t);
}

/* A function that ends by jumping to another returns when that one does. */
static void tail_calls(bool no_multi)
{
	const char *texts[] = { "r:call_* \"%u %d\", duration, retval" };
	struct traced t;
	unsigned inner = 0, tail = 0;
	const struct merge_item *item;

	traced_open(&t, texts, 1, no_multi);
	assert_int_equal(call_tail(), 42);
	while ((item = recorder_next(&t.r))) {
		const struct ut_rec_event *rec = item->rec;
		const char *func = traced_probe(&t, rec)->func;

		inner += !strcmp(func, "call_inner");
		tail += !strcmp(func, "call_tail");
		assert_true(duration_of(rec) >= SPIN_NS && duration_of(rec) < 1000 * (uint64_t)SPIN_NS);
		assert_int_equal(record_value(rec, traced_probe(&t, rec)->checked, 1), 42);
	}
	assert_int_equal(inner, 1);
	assert_int_equal(tail, kernel_has_uprobe_multi()); /* older kernels do not say which function it is */
	traced_close(&t);
}

/* Calls that are left by longjmp never return; later calls at the same depth are not taken for them. */
static void calls_that_never_return(bool no_multi)
{
	const char *texts[] = { "r:call_leaver \"%u\", duration" };
	struct traced t;
	jmp_buf out;
	uint64_t begin, whole;

	traced_open(&t, texts, 1, no_multi);
	if (!setjmp(out))
		call_leaver(&out, 3);
	spin(20 * SPIN_NS);
	begin = monotonic_ns();
	assert_int_equal(call_leaver(NULL, 3), 3);
	whole = monotonic_ns() - begin;
	for (int i = 0; i < 4; i++)
		assert_true(duration_of(recorder_event(&t.r)) <= whole);
	assert_null(recorder_next(&t.r));
	traced_close(&t);
}

/* --- without the trampoline: chosen for these functions because the user stack is asked for ---------------------- */

static struct ut_call_counts call_counts(const struct traced *t)
{
	struct ut_call_counts ret;
	uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(t->r.fds[GEN_MAP_CALLS], &zero, &ret), 0);
	return ret;
}

/* More nested calls than the kernel's trampoline takes. */
static void deep_recursion(bool no_multi)
{
	const char *texts[] = { "r:call_down \"%u %d%U\", duration, retval" };
	struct traced t;

	traced_open(&t, texts, 1, no_multi);
	assert_int_equal(call_down(99), 99);
	for (int i = 0; i <= 99; i++) {
		const struct ut_rec_event *rec = recorder_event(&t.r);

		assert_int_equal(record_value(rec, traced_probe(&t, rec)->checked, 1), i);
		assert_true(duration_of(rec) >= (uint64_t)(i + 1) * SPIN_NS);
	}
	assert_null(recorder_next(&t.r));
	assert_int_equal(call_counts(&t).left, 0);
	assert_int_equal(call_counts(&t).unknown, 0);
	traced_close(&t);
}

static void calls_that_leave_are_counted(bool no_multi)
{
	const char *texts[] = { "r:call_leaver \"%u%U\", duration" };
	struct traced t;
	jmp_buf out;

	traced_open(&t, texts, 1, no_multi);
	for (int round = 0; round < 3; round++)
		if (!setjmp(out))
			call_leaver(&out, 3);
	assert_null(recorder_next(&t.r));
	assert_int_equal(call_counts(&t).left, 8); /* the last four are found by the next call */
	assert_int_equal(call_leaver(NULL, 3), 3);
	for (int i = 0; i < 4; i++)
		assert_true(duration_of(recorder_event(&t.r)) >= SPIN_NS);
	assert_null(recorder_next(&t.r));
	assert_int_equal(call_counts(&t).left, 12);
	assert_int_equal(call_counts(&t).unknown, 0);
	traced_close(&t);
}

/* A call that has begun before the attachment: its return is no event. */
static void a_call_in_progress(bool no_multi)
{
	const char *texts[] = { "r:call_attacher \"%d%U\", retval" };
	struct traced t;

	assert_int_equal(call_attacher(&t, texts[0], no_multi), 7);
	assert_null(recorder_next(&t.r));
	assert_int_equal(call_counts(&t).unknown, 1);
	assert_int_equal(call_attacher(NULL, NULL, false), 7);
	assert_int_equal(record_value(recorder_event(&t.r), t.plan->probes.v[0].checked, 0), 7);
	traced_close(&t);
}

/* The end by a jump is an event without a result; a jump that is not taken is none. */
static void tail_jumps(bool no_multi)
{
	const char *texts[] = { "r:call_jumper \"%d%U\", retval" };
	struct traced t;
	unsigned jumps = 0, returns = 0;
	const struct merge_item *item;

	traced_open(&t, texts, 1, no_multi);
	for (int i = -3; i <= 5; i++)
		assert_int_equal(call_jumper(i), i > 0 ? i + 1 : 40);
	while ((item = recorder_next(&t.r))) {
		const struct ut_rec_event *rec = item->rec;
		bool jumped = t.plan->sites.v[rec->site].unreadable[0] != NULL;

		jumps += jumped;
		returns += !jumped;
		if (!jumped)
			assert_int_equal(record_value(rec, traced_probe(&t, rec)->checked, 0), 40);
	}
	assert_int_equal(jumps, 5);
	assert_int_equal(returns, 4);
	assert_int_equal(call_counts(&t).left, 0);
	assert_int_equal(call_counts(&t).unknown, 0);
	traced_close(&t);
}

static void a_predicate_on_the_duration(bool no_multi)
{
	const char *texts[] = { "r:call_down (duration > 1000000) \"%u\", duration" };
	const struct merge_item *item;
	unsigned n = 0;
	struct traced t;

	traced_open(&t, texts, 1, no_multi);
	call_down(9);
	while ((item = recorder_next(&t.r))) {
		assert_true(duration_of(item->rec) > 1000000);
		n++;
	}
	assert_true(n >= 6 && n <= 10);
	traced_close(&t);
}

static void test_recursion(void **state)
{
	(void)state;
	both_ways(recursion);
}
static void test_nesting(void **state)
{
	(void)state;
	both_ways(nesting);
}
static void test_tail_calls(void **state)
{
	(void)state;
	both_ways(tail_calls);
}
static void test_never_return(void **state)
{
	(void)state;
	both_ways(calls_that_never_return);
}
static void test_deep_recursion(void **state)
{
	(void)state;
	both_ways(deep_recursion);
}
static void test_left(void **state)
{
	(void)state;
	both_ways(calls_that_leave_are_counted);
}
static void test_call_in_progress(void **state)
{
	(void)state;
	both_ways(a_call_in_progress);
}
static void test_tail_jumps(void **state)
{
	(void)state;
	both_ways(tail_jumps);
}
static void test_duration_predicate(void **state)
{
	(void)state;
	both_ways(a_predicate_on_the_duration);
}

/* One program of @n snippets, each of which adds a number of its own. */
static void dispatch(size_t n, uint32_t first, uint32_t step)
{
	struct gen_options options = recorder_options(64);
	AUTO_FREE struct operands *ops = NULL;
	struct probe_checked *checked[128];
	const struct gen_snippet *pointers[128];
	const void *places[128];
	struct gen_snippet snippets[128];
	uint32_t numbers[128];
	uint64_t cookies[128];
	struct elf_image *self = fire_image();
	struct ut_err err = { 0 };
	struct recorder r;

	ops = fire_operands(self, "8@%rdi");
	recorder_open(&r, 1 << 16);
	for (size_t i = 0; i < n; i++) {
		struct gen_site gs = { .operands = ops, .site_vaddr = fire_vaddr(self, (const char *)sled + i) };
		char text[64];

		snprintf(text, sizeof(text), "u:test:fire arg1 + %zu", i);
		checked[i] = fire_check(text, ops);
		assert_int_equal(gen_snippet(checked[i], &gs, &options, &snippets[i], &err), 0);
		pointers[i] = &snippets[i];
		numbers[i] = first + (uint32_t)i * step;
		places[i] = (const char *)sled + i;
		cookies[i] = (uint64_t)numbers[i] << 32 | (i + 1000);
	}
	recorder_link(&r, recorder_load(&r, pointers, numbers, n, &options), places, cookies, n, false);
	sled(5000);
	for (size_t i = 0; i < n; i++) {
		const struct ut_rec_event *rec = recorder_event(&r);

		assert_int_equal(rec->site, i + 1000);
		assert_int_equal(record_value(rec, checked[i], 0), 5000 + i);
	}
	assert_null(recorder_next(&r));
	recorder_close(&r);
	for (size_t i = 0; i < n; i++) {
		gen_snippet_done(&snippets[i]);
		probe_checked_free(checked[i]);
	}
	elf_image_free(self);
}

static void many_bodies(void **state)
{
	static const size_t counts[] = { 1, 2, 3, 4, 7, 100 };

	(void)state;
	need_root();
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		dispatch(counts[i], 0, 1);
		dispatch(counts[i], 17, 3);
	}
	if (kernel_has_uprobe_multi())
		dispatch(128, 1000000, 1000);
}

/* More snippets than a program may hold, by way of a plan; the same snippet at several sites is kept once. */
static void more_bodies_than_a_program_holds(bool no_multi)
{
	char texts[SLED][64];
	const char *pointers[SLED];
	struct traced t;
	double begin;

	for (int i = 0; i < SLED; i++) {
		snprintf(texts[i], sizeof(texts[i]), "p:sled+%d \"%%d\", arg1 + %d", i, i / 2);
		pointers[i] = texts[i];
	}
	begin = fire_ms();
	traced_open(&t, pointers, SLED, no_multi);
	print_message("%d probes planned and attached in %.1f ms\n", SLED, fire_ms() - begin);
	assert_int_equal(t.plan->sites.n, SLED);
	assert_int_equal(t.plan->snippets.n, SLED / 2);
	for (int round = 0; round < 3; round++) {
		sled(7000);
		for (uint32_t i = 0; i < SLED; i++) {
			const struct ut_rec_event *rec = recorder_event(&t.r);

			assert_int_equal(rec->site, i);
			assert_int_equal(record_value(rec, traced_probe(&t, rec)->checked, 0), 7000 + i / 2);
		}
	}
	assert_null(recorder_next(&t.r));
	assert_int_equal(attach_missed(t.attach), 0);
	begin = fire_ms();
	attach_release(t.attach);
	print_message("detached in %.1f ms\n", fire_ms() - begin);
	sled(7000);
	assert_null(recorder_next(&t.r));
	traced_close(&t);
}

static void test_more_bodies(void **state)
{
	(void)state;
	both_ways(more_bodies_than_a_program_holds);
}

static void a_body_for_each_site(void **state)
{
	char texts[SLED][64];
	const char *pointers[SLED];
	struct traced t;

	(void)state;
	need_root();
	for (int i = 0; i < SLED; i++) {
		snprintf(texts[i], sizeof(texts[i]), "p:sled+0x%x arg1 * %d", i, i + 2);
		pointers[i] = texts[i];
	}
	traced_open(&t, pointers, SLED, false);
	assert_int_equal(t.plan->snippets.n, SLED);
	sled(3);
	for (uint32_t i = 0; i < SLED; i++)
		assert_int_equal(record_value(recorder_event(&t.r), t.plan->probes.v[i].checked, 0), 3 * (i + 2));
	traced_close(&t);
}

TRACED int wild_one(int x);
TRACED int wild_three(int x);
TRACED int wild_two(int x);

int wild_one(int x) { return x + 1; }
int wild_two(int x) { return x + 2; }
int wild_three(int x) { return x + 3; }

__asm__(".text\n.globl locked\n.hidden locked\nlocked: lock incl (%rdi)\n	ret\n");
extern const char locked[];

/* How often each function of wild_* fires when all are called. */
static void assert_wild(struct traced *t, unsigned one, unsigned two, unsigned three)
{
	unsigned n[3] = { 0 };
	const struct merge_item *item;

	assert_int_equal(wild_one(wild_two(wild_three(1))), 7);
	while ((item = recorder_next(&t->r))) {
		const char *func = traced_probe(t, item->rec)->func;

		n[!strcmp(func, "wild_two") + 2 * !strcmp(func, "wild_three")]++;
	}
	assert_int_equal(n[0], one);
	assert_int_equal(n[1], two);
	assert_int_equal(n[2], three);
}

/* One function of a pattern whose instruction the kernel does not probe: the others are attached, also the second time. */
static void one_of_many_is_refused(bool no_multi)
{
	const char *const text = "p:wild_*";
	struct elf_image *self = fire_image();
	struct ut_err err = { 0 };
	const uint32_t *refused;
	uint64_t now;
	struct traced t = { 0 };

	recorder_open(&t.r, 1 << 18);
	assert_int_equal(own_plan(&text, 1, &t.plan, &err), 0);
	assert_int_equal(t.plan->sites.n, 3);
	for (size_t i = 0; i < t.plan->sites.n; i++)
		if (!strcmp(t.plan->probes.v[t.plan->sites.v[i].probe].func, "wild_two"))
			assert_true(elf_vaddr_to_offset(self, fire_vaddr(self, locked), &t.plan->sites.v[i].offset));
	if (traced_attach(&t, getpid(), no_multi, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(attach_refused(t.attach, &refused), 1);
	assert_string_equal(t.plan->probes.v[t.plan->sites.v[refused[0]].probe].func, "wild_two");
	assert_wild(&t, 1, 0, 1);
	if (attach_process_again(t.attach, t.plan, getpid(), &now, &err))
		fail_msg("%s", err.msg);
	assert_wild(&t, 1, 0, 1);
	attach_release(t.attach);
	assert_wild(&t, 0, 0, 0);
	elf_image_free(self);
	traced_close(&t);
}

static void test_refused(void **state)
{
	(void)state;
	both_ways(one_of_many_is_refused);
}

UNIT_TESTS(attach)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_tail_calls),
		cmocka_unit_test(test_never_return),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_call_in_progress),
		cmocka_unit_test(test_tail_jumps),
		cmocka_unit_test(test_duration_predicate),
		cmocka_unit_test(many_bodies),
		cmocka_unit_test(test_more_bodies),
		cmocka_unit_test(a_body_for_each_site),
		cmocka_unit_test(test_refused),
	};

	return unit_run(tests, NULL, NULL);
}
