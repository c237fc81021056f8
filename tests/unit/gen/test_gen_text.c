/* SPDX-License-Identifier: MIT */
/* Texts as the generated programs copy them: long and short, cut and broken, and from pages that are not resident. */
#include <sys/mman.h>
#include <sys/prctl.h>

#include "probe_fire.h"
#include "unit.h"

#define PAGE 4096
#define AREA_PAGES 3
#define AREAS 4

static struct elf_image *self;
static _Alignas(64) char stack[65536];
static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A page of memory, before the event: in memory, in its file only (the program would fault it in), or not there. */
enum page_state { RESIDENT, ABSENT, NOTHING };

/* Three pages in a row. Each belongs to a file of its own, so that the kernel does not bring in two at a time. */
struct area {
	char *at;
	int fds[AREA_PAGES];
	enum page_state states[AREA_PAGES];
};

static struct area areas[AREAS];

static void area_open(struct area *a)
{
	a->at = mmap(NULL, (AREA_PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(a->at, MAP_FAILED);
	a->at += PAGE; /* nothing before it and nothing behind it */
	for (int i = 0; i < AREA_PAGES; i++) {
		a->fds[i] = memfd_create("page", MFD_CLOEXEC);
		assert_true(a->fds[i] >= 0);
		assert_int_equal(ftruncate(a->fds[i], PAGE), 0);
	}
}

static void area_close(struct area *a)
{
	munmap(a->at - PAGE, (AREA_PAGES + 2) * PAGE);
	for (int i = 0; i < AREA_PAGES; i++)
		close(a->fds[i]);
}

static char pattern(size_t at) { return (char)('a' + at % 23); }

/* Fills the area with letters, and puts a NUL at @nul (beyond its end: none). */
static void area_fill(struct area *a, const enum page_state *states, size_t nul)
{
	char page[PAGE];

	for (size_t i = 0; i < AREA_PAGES; i++) {
		for (size_t k = 0; k < PAGE; k++)
			page[k] = i * PAGE + k == nul ? '\0' : pattern(i * PAGE + k);
		assert_int_equal(pwrite(a->fds[i], page, PAGE, 0), PAGE);
		a->states[i] = states[i];
		assert_ptr_equal(mmap(a->at + i * PAGE, PAGE, states[i] == NOTHING ? PROT_NONE : PROT_READ,
				      MAP_SHARED | MAP_FIXED, a->fds[i], 0),
				 a->at + i * PAGE);
		if (states[i] == RESIDENT)
			assert_int_equal(*(volatile char *)(a->at + i * PAGE), page[0]);
	}
}

/* Bytes that can be read from @start on. */
static size_t readable(const struct area *a, size_t start)
{
	size_t end = start;

	while (end < AREA_PAGES * PAGE && a->states[end / PAGE] != NOTHING)
		end = (end / PAGE + 1) * PAGE;
	return end - start;
}

struct text_case {
	const struct area *area;
	size_t start, nul;
	int64_t len; /* asked for, of %.*s */
};

struct expected {
	uint32_t len;
	enum ut_text_state state;
};

static struct expected whole(size_t len) { return (struct expected){ (uint32_t)len, UT_TEXT_WHOLE }; }

static struct expected cut(size_t len)
{
	return (struct expected){ (uint32_t)len, len ? UT_TEXT_CUT_FAULT : UT_TEXT_FAULT };
}

static struct expected string_expected(const struct text_case *c, uint32_t limit)
{
	size_t there = readable(c->area, c->start), len = c->nul >= c->start ? c->nul - c->start : SIZE_MAX;

	if (len < there && len <= limit)
		return whole(len);
	return there > limit ? (struct expected){ limit, UT_TEXT_CUT_LIMIT } : cut(there);
}

static struct expected bytes_expected(const struct text_case *c, uint32_t limit)
{
	size_t there = readable(c->area, c->start), want = c->len < 0 || c->len > limit ? limit : (size_t)c->len;

	if (there < want)
		return cut(there);
	return c->len < 0 || c->len > limit ? (struct expected){ limit, UT_TEXT_CUT_LIMIT } : whole(want);
}

static const char *const state_words[] = { "whole", "null", "fault", "cut at the limit", "cut by a fault" };
static const char *const page_words[] = { "resident", "absent", "nothing" };

static void check_text(const struct ut_rec_text *t, const struct text_case *c, const struct expected *e, uint32_t limit,
		       const char *kind)
{
	const char *bytes = (const char *)(t + 1);
	size_t i = 0;

	while (i < t->len && i < e->len && bytes[i] == (c->start + i == c->nul ? '\0' : pattern(c->start + i)))
		i++;
	if (t->len == e->len && i == e->len && t->state == e->state)
		return;
	fail_msg("%s at %zu (pages %s, %s, %s), NUL at %zu, length %lld, limit %u: %u bytes (%zu right), %s; expected "
		 "%u, %s",
		 kind, c->start, page_words[c->area->states[0]], page_words[c->area->states[1]],
		 page_words[c->area->states[2]], c->nul, (long long)c->len, limit, t->len, i,
		 t->state < 5 ? state_words[t->state] : "no state", e->len, state_words[e->state]);
}

/* A probe at fire_nop1's site. */
struct one {
	struct recorder r;
	struct gen_options options;
	struct operands *ops;
	struct probe_checked *checked;
	struct gen_snippet body;
	double load_ms;
};

static void one_open(struct one *o, const char *text, const char *args, uint32_t limit)
{
	struct gen_site gs = { .site_vaddr = fire_vaddr(self, fire_nop1_site) };
	struct ut_err err = { 0 };
	double begin;

	fire_before[X86_RSP] = (uintptr_t)(stack + sizeof(stack) - 4096);
	o->options = recorder_options(limit);
	recorder_open(&o->r, 1 << 18);
	o->ops = fire_operands(self, args);
	o->checked = fire_check(text, o->ops);
	gs.operands = o->ops;
	if (gen_snippet(o->checked, &gs, &o->options, &o->body, &err))
		fail_msg("%s", err.msg);
	begin = fire_ms();
	recorder_attach(&o->r, &o->body, fire_nop1_site, 1, &o->options);
	o->load_ms = fire_ms() - begin;
}

static void one_close(struct one *o)
{
	recorder_close(&o->r);
	gen_snippet_done(&o->body);
	probe_checked_free(o->checked);
	free(o->ops);
}

static const enum reg text_regs[AREAS] = { X86_RAX, X86_RCX, X86_RDX, X86_RBX };
static const enum reg len_regs[AREAS] = { X86_RSI, X86_RDI, X86_R8, X86_R9 };
static const char four[] = "u:test:fire \"%s %.*s %s %.*s\", arg1, arg6, arg2, arg3, arg8, arg4";
static const char four_args[] = "8@%rax 8@%rcx 8@%rdx 8@%rbx -4@%esi -4@%edi 8@%r8 -8@%r9";

static void fire_and_check(struct one *o, const struct text_case *cases, uint32_t limit)
{
	const struct ut_rec_event *rec;

	for (int i = 0; i < AREAS; i++) {
		fire_before[text_regs[i]] = (uintptr_t)cases[i].area->at + cases[i].start;
		fire_before[len_regs[i]] = (uint64_t)cases[i].len;
	}
	fire_nop1();
	rec = recorder_event(&o->r);
	for (unsigned i = 0; i < AREAS; i++) {
		struct expected e = i % 2 ? bytes_expected(&cases[i], limit) : string_expected(&cases[i], limit);

		assert_false(record_faulted(rec, o->checked, i));
		check_text(record_text(rec, o->checked, i), &cases[i], &e, limit, i % 2 ? "%.*s" : "%s");
	}
}

/* Distances at which something begins or ends. */
static size_t near_something(uint32_t limit)
{
	const size_t spots[] = { 0, 1, 8, 126, 128, limit, limit, PAGE, PAGE + 128, 2 * PAGE };
	size_t at = spots[rnd() % ARRAY_SIZE(spots)] + rnd() % 5;

	return rnd() % 6 ? (at > 2 ? at - 2 : at) : rnd() % (2 * PAGE);
}

static void random_case(struct area *a, struct text_case *c, uint32_t limit)
{
	enum page_state states[AREA_PAGES];

	for (int i = 0; i < AREA_PAGES; i++)
		states[i] = (enum page_state)(rnd() % 8 ? rnd() % 2 : NOTHING);
	*c = (struct text_case){ .area = a };
	c->start = rnd() % 3 ? PAGE - rnd() % 140 : near_something(limit);
	c->start = c->start < AREA_PAGES * PAGE ? c->start : PAGE - 1;
	c->nul = rnd() % 10 ? c->start + near_something(limit) : SIZE_MAX;
	c->len = rnd() % 6 ? (int64_t)near_something(limit) : -(int64_t)(1 + rnd() % 5000);
	area_fill(a, states, c->nul);
}

static void texts_at_limit(uint32_t limit, int rounds)
{
	struct text_case cases[AREAS];
	struct one o;

	one_open(&o, four, four_args, limit);
	for (int n = 0; n < rounds; n++) {
		for (int i = 0; i < AREAS; i++)
			random_case(&areas[i], &cases[i], limit);
		fire_and_check(&o, cases, limit);
	}
	print_message("limit %u: loaded and attached in %.1f ms, %zu instructions\n", limit, o.load_ms,
		      o.body.code.insns.n);
	one_close(&o);
}

static void random_texts(void **state)
{
	static const uint32_t limits[] = { 1, 8, 126, 127, 128, 200, 1000, 4095, 4096 };

	(void)state;
	need_root();
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		texts_at_limit(limits[i], getenv("UT_VM") ? 30 : 150);
}

/* Each trouble by itself, by name. */
static void texts_one_by_one(void **state)
{
	static const struct {
		enum page_state states[AREA_PAGES];
		size_t start, nul;
		int64_t len;
	} rows[] = {
		{ { RESIDENT, RESIDENT, RESIDENT }, 100, 105, 3 }, /* ordinary */
		{ { RESIDENT, RESIDENT, RESIDENT }, 100, 100, 0 }, /* empty */
		{ { RESIDENT, RESIDENT, RESIDENT }, 0, 199, 199 },
		{ { RESIDENT, RESIDENT, RESIDENT }, 0, 200, 200 },
		{ { RESIDENT, RESIDENT, RESIDENT }, 0, 201, 201 },
		{ { RESIDENT, RESIDENT, RESIDENT }, 0, SIZE_MAX, 9999 },
		{ { RESIDENT, NOTHING, NOTHING }, 4000, 4095, 95 }, /* the NUL is the last byte of a page */
		{ { RESIDENT, NOTHING, NOTHING }, 4000, SIZE_MAX, 96 }, /* into nothing */
		{ { RESIDENT, NOTHING, NOTHING }, 4000, SIZE_MAX, 97 },
		{ { NOTHING, RESIDENT, RESIDENT }, 4000, SIZE_MAX, 10 },
		{ { ABSENT, RESIDENT, RESIDENT }, 100, 150, 50 },
		{ { RESIDENT, ABSENT, RESIDENT }, 4050, 4150, 100 },
		{ { ABSENT, ABSENT, RESIDENT }, 4050, 4150, 100 },
		{ { ABSENT, NOTHING, RESIDENT }, 4050, SIZE_MAX, 100 },
		{ { ABSENT, ABSENT, ABSENT }, 4095, SIZE_MAX, -1 },
		{ { RESIDENT, ABSENT, ABSENT }, 4095, SIZE_MAX, -1 },
	};
	struct text_case cases[AREAS];
	struct one o;

	(void)state;
	need_root();
	one_open(&o, four, four_args, 200);
	for (size_t n = 0; n < ARRAY_SIZE(rows); n++) {
		for (int i = 0; i < AREAS; i++) {
			cases[i] = (struct text_case){ &areas[i], rows[n].start, rows[n].nul, rows[n].len };
			area_fill(&areas[i], rows[n].states, rows[n].nul);
		}
		fire_and_check(&o, cases, 200);
	}
	one_close(&o);
}

static void bad_addresses(void **state)
{
	static const struct {
		uint64_t addr;
		enum ut_text_state state;
	} rows[] = {
		{ 0, UT_TEXT_NULL },
		{ 0x10, UT_TEXT_FAULT },
		{ 0xffff888000000000, UT_TEXT_FAULT },
		{ 1ull << 63, UT_TEXT_FAULT },
		{ UINT64_MAX, UT_TEXT_FAULT },
		{ 0x7ffffffff000, UT_TEXT_FAULT },
		{ 0x0000800000000000, UT_TEXT_FAULT },
	};
	const enum page_state there[AREA_PAGES] = { RESIDENT, RESIDENT, RESIDENT };
	struct one o;

	(void)state;
	need_root();
	one_open(&o, "u:test:fire \"%s %.*s %s\", arg1, arg6, arg1, arg2", four_args, 200);
	area_fill(&areas[1], there, 3);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct ut_rec_event *rec;

		fire_before[X86_RAX] = rows[i].addr;
		fire_before[X86_RCX] = (uintptr_t)areas[1].at;
		fire_before[X86_RDI] = 10;
		fire_nop1();
		rec = recorder_event(&o.r);
		for (unsigned k = 0; k < 2; k++) {
			assert_int_equal(record_text(rec, o.checked, k)->state, rows[i].state);
			assert_int_equal(record_text(rec, o.checked, k)->len, 0);
			assert_int_equal(record_value(rec, o.checked, k), rows[i].addr);
		}
		assert_int_equal(record_text(rec, o.checked, 2)->state, UT_TEXT_WHOLE);
		assert_memory_equal(record_text(rec, o.checked, 2) + 1, "abc", 3);
	}
	one_close(&o);
}

/* As many texts as a probe may print, at the largest limit. */
static void many_texts(unsigned n, bool bytes, uint32_t limit)
{
	const enum page_state absent[AREA_PAGES] = { ABSENT, ABSENT, ABSENT };
	struct buf text = { 0 };
	struct one o;
	const struct ut_rec_event *rec;

	buf_adds(&text, "u:test:fire \"");
	for (unsigned i = 0; i < n; i++)
		buf_adds(&text, bytes ? "%.*s" : "%s");
	buf_addc(&text, '"');
	for (unsigned i = 0; i < n; i++)
		buf_addf(&text, bytes ? ", arg8, arg%u + %u" : ", arg%u + %u", i % 4 + 1, i / 4);
	one_open(&o, text.data, four_args, limit);
	print_message(
		"%u texts of %u bytes (%s): record of %u bytes, %zu instructions, loaded and attached in %.1f ms\n", n,
		limit, bytes ? "%.*s" : "%s", o.body.record_size, o.body.code.insns.n, o.load_ms);
	for (int i = 0; i < AREAS; i++) {
		area_fill(&areas[i], absent, SIZE_MAX);
		fire_before[text_regs[i]] = (uintptr_t)areas[i].at + 50;
	}
	fire_before[X86_R9] = limit;
	fire_nop1();
	rec = recorder_event(&o.r);
	for (unsigned i = 0; i < n; i++) {
		struct text_case c = { &areas[i % 4], 50 + i / 4, SIZE_MAX, limit };
		struct expected e = bytes ? bytes_expected(&c, limit) : string_expected(&c, limit);

		check_text(record_text(rec, o.checked, i), &c, &e, limit, "one of many");
	}
	one_close(&o);
	buf_done(&text);
}

static void four_texts(void **state)
{
	(void)state;
	need_root();
	many_texts(4, false, 200);
	many_texts(4, true, 200);
}

static void eight_texts(void **state)
{
	(void)state;
	need_root();
	many_texts(8, false, 200);
	many_texts(8, true, 200);
}

static void sixteen_texts(void **state)
{
	(void)state;
	need_root();
	many_texts(16, false, 200);
	many_texts(16, true, 200);
}

static void sixteen_long_texts(void **state)
{
	(void)state;
	need_root();
	many_texts(16, false, GEN_TEXT_LIMIT_MAX);
	many_texts(16, true, GEN_TEXT_LIMIT_MAX);
}

static bool is_inside(uint64_t addr, const void *function, size_t size)
{
	return addr >= (uintptr_t)function && addr < (uintptr_t)function + size;
}

static void stacks(void **state)
{
	const struct ut_rec_text *user, *kernel;
	const struct ut_rec_event *rec;
	uint64_t frame;
	struct one o;

	(void)state;
	need_root();
	one_open(&o, "u:test:fire \"%U %K %d\", arg1", four_args, 64);
	fire_before[X86_RAX] = 4711;
	for (int round = 0; round < 3; round++) {
		fire_nop1();
		rec = recorder_event(&o.r);
		user = record_text(rec, o.checked, 0);
		kernel = record_text(rec, o.checked, 1);
		assert_int_equal(record_value(rec, o.checked, 2), 4711);
		assert_int_equal(user->state, UT_TEXT_WHOLE);
		assert_true(user->len >= 8 && user->len % 8 == 0 && user->len <= STACK_ROOM);
		memcpy(&frame, user + 1, sizeof(frame));
		assert_true(is_inside(frame, fire_nop1, 512));
		assert_int_equal(kernel->len % 8, 0);
		if (kernel->len) {
			memcpy(&frame, kernel + 1, sizeof(frame));
			assert_true((int64_t)frame < 0);
		}
	}
	one_close(&o);
}

static int count_verdicts(struct one *o)
{
	int n = 0;

	fire_nop1();
	while (recorder_next(&o->r))
		n++;
	return n;
}

/* Strings in predicates, also from pages that are not resident. */
static void comparisons(void **state)
{
	static const struct {
		const char *predicate;
		int verdict;
	} rows[] = {
		{ "arg1 == \"abcdefghij\"", 1 },
		{ "arg1 == \"abcdefghi\"", 0 },
		{ "arg1 == \"abcdefghijk\"", 0 },
		{ "arg1 == \"\"", 0 },
		{ "arg1 != \"abc\"", 1 },
		{ "\"abcdefghij\" == arg1", 1 },
		{ "arg1 != \"abcdefghij\"", 0 },
		{ "arg1 == \"abcdefghij\" && arg3 == 7", 1 },
		{ "arg2 == \"x\"", 0 },
		{ "arg2 != \"x\"", 0 },
		{ "comm == \"fire-test\"", 1 },
		{ "comm != \"fire-test\"", 0 },
		{ "comm == \"fire-tes\"", 0 },
		{ "comm == \"fire-test2\"", 0 },
		{ "comm == \"\"", 0 },
		{ "arg1 + 10 == \"\"", 1 },
	};
	static const size_t starts[] = { 23 * 10, 23 * 178,
					 23 * 178 }; /* pattern begins with 'a'; the last ones cross a page */
	static const enum page_state states[][AREA_PAGES] = {
		{ RESIDENT, RESIDENT, RESIDENT }, { RESIDENT, RESIDENT, RESIDENT }, { ABSENT, RESIDENT, RESIDENT },
		{ RESIDENT, ABSENT, RESIDENT },	  { ABSENT, ABSENT, RESIDENT },
	};
	char comm[17] = "";

	(void)state;
	need_root();
	prctl(PR_GET_NAME, comm);
	prctl(PR_SET_NAME, "fire-test");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct one o;
		char text[200];

		snprintf(text, sizeof(text), "u:test:fire (%s) arg3", rows[i].predicate);
		one_open(&o, text, "8@%rax 8@$0x10 8@$7", 200);
		for (size_t k = 0; k < ARRAY_SIZE(states); k++) {
			size_t start = k ? starts[1] : starts[0];

			area_fill(&areas[0], states[k], start + 10);
			fire_before[X86_RAX] = (uintptr_t)areas[0].at + start;
			if (count_verdicts(&o) != rows[i].verdict)
				fail_msg("%s with pages %s, %s: should be %d", rows[i].predicate,
					 page_words[states[k][0]], page_words[states[k][1]], rows[i].verdict);
		}
		one_close(&o);
	}
	prctl(PR_SET_NAME, comm);
}

static int open_all(void **state)
{
	(void)state;
	self = fire_image();
	for (int i = 0; i < AREAS; i++)
		area_open(&areas[i]);
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	for (int i = 0; i < AREAS; i++)
		area_close(&areas[i]);
	self = elf_image_free(self);
	return 0;
}

UNIT_TESTS(gen_text)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_one_by_one),   cmocka_unit_test(bad_addresses), cmocka_unit_test(random_texts),
		cmocka_unit_test(four_texts),	      cmocka_unit_test(eight_texts),   cmocka_unit_test(sixteen_texts),
		cmocka_unit_test(sixteen_long_texts), cmocka_unit_test(stacks),	       cmocka_unit_test(comparisons),
	};

	return unit_run(tests, open_all, close_all);
}
