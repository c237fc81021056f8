/* SPDX-License-Identifier: MIT */
/* Hot functions: what is counted as a function's own and as its total, and how it reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/width.h"
#include "golden.h"
#include "profile_cases.h"
#include "report/hot_priv.h"
#include "unit.h"

static struct profile *program(void)
{
	struct profile *p = profile_new();
	uint32_t a = profile_thread(p, 10, 10, "main", "app"), b = profile_thread(p, 10, 11, "worker", "app");

	case_add(p, a, "main@app|run@app|parse@libfoo.so|^next@libfoo.so", PROFILE_CPU, 40, 40 * MS);
	case_add(p, a, "main@app|run@app|parse@libfoo.so|parse@libfoo.so", PROFILE_CPU, 20, 20 * MS);
	case_add(p, a, "main@app|run@app|write@libc.so|!ksys_write|!vfs_write", PROFILE_CPU, 8, 8 * MS);
	case_add(p, b, "start@libc.so|work@app|parse@libfoo.so", PROFILE_CPU, 22, 22 * MS);
	case_add(p, b, "start@libc.so|work@app|?[unknown code, no map: 0x7f01]", PROFILE_CPU, 4, 4 * MS);
	case_add(p, b, "start@libc.so|work@app|?[unknown code, no map: 0x7f02]", PROFILE_CPU, 6, 6 * MS);
	p->totals.duration_ns = 100 * MS;
	p->totals.period_ns = 1 * MS;
	p->totals.lost = 2;
	p->totals.cut = 1;
	return p;
}

static const struct hot_function *find_function(const struct hot *h, const char *name)
{
	for (size_t i = 0; i < h->functions.n; i++)
		if (!strcmp(h->functions.v[i].name, name))
			return &h->functions.v[i];
	fail_msg("no function %s", name);
	return NULL;
}

static void is(const struct hot *h, const char *name, uint64_t self, uint64_t total)
{
	assert_int_equal(find_function(h, name)->self[PROFILE_CPU], self * MS);
	assert_int_equal(find_function(h, name)->total[PROFILE_CPU], total * MS);
}

static void test_self_and_total(void **state)
{
	const struct hot_options o = { 0 };
	struct profile *p = program();
	struct hot h;

	(void)state;
	assert_int_equal(hot_make(&h, p, &o), 0);
	is(&h, "main", 0, 68);
	is(&h, "parse", 42, 82); /* once a stack, though it is in one twice */
	is(&h, "next", 40, 40);
	is(&h, "vfs_write", 8, 8);
	is(&h, "[unknown code, no map]", 10, 10);
	assert_int_equal(h.states[PROFILE_CPU].value, 100 * MS);
	assert_int_equal(h.states[PROFILE_CPU].kernel, 8 * MS);
	assert_int_equal(h.unnamed, 10);
	assert_int_equal(h.frames, 40 * 4 + 20 * 4 + 8 * 5 + 32 * 3);
	assert_int_equal(h.threads.n, 2);
	assert_string_equal(h.functions.v[h.threads.v[0].hottest[PROFILE_CPU]].name, "next");
	assert_string_equal(h.functions.v[h.threads.v[1].hottest[PROFILE_CPU]].name, "parse");
	hot_count_thread(&h, h.threads.v[1].number);
	is(&h, "parse", 22, 22);
	is(&h, "main", 0, 0);
	hot_done(&h);
	profile_free(p);
}

static uint64_t edge(const struct hot *h, const char *chosen, const char *other, bool caller)
{
	for (size_t i = 0; i < h->edges.n; i++) {
		const struct hot_edge *e = &h->edges.v[i];

		if (e->caller == caller && !strcmp(h->functions.v[e->chosen].name, chosen) &&
		    !strcmp(e->other == HOT_NONE ? "" : h->functions.v[e->other].name, other))
			return e->value[PROFILE_CPU] / MS;
	}
	return 0;
}

static void test_neighbours(void **state)
{
	const struct hot_options o = { .function = "*a*" };
	struct profile *p = program();
	struct hot h;

	(void)state;
	/* a → b → a → b → a: each pair once */
	case_add(p, 0, "main@app|a|b|a|b|a", PROFILE_CPU, 5, 5 * MS);
	assert_int_equal(hot_make(&h, p, &o), 0);
	assert_int_equal(h.matches, 5); /* main, start, parse, a, [unknown code, no map] */
	assert_int_equal(edge(&h, "a", "b", true), 5);
	assert_int_equal(edge(&h, "a", "main", true), 5);
	assert_int_equal(edge(&h, "a", "b", false), 5);
	assert_int_equal(edge(&h, "main", "", true), 73);
	assert_int_equal(edge(&h, "main", "a", false), 5);
	assert_int_equal(edge(&h, "parse", "run", true), 60);
	assert_int_equal(edge(&h, "parse", "work", true), 22);
	assert_int_equal(edge(&h, "parse", "next", false), 40);
	assert_int_equal(edge(&h, "parse", "parse", true), 0);
	assert_int_equal(edge(&h, "parse", "parse", false), 0);
	hot_done(&h);
	profile_free(p);
}

static char *text_of(const struct profile *p, const struct hot_options *o)
{
	struct buf out = { 0 };

	assert_int_equal(hot_text(p, o, &out), 0);
	return buf_take(&out);
}

static void text_is(const struct profile *p, const struct hot_options *o, const char *name)
{
	AUTO_FREE char *text = text_of(p, o);

	golden_is(name, text, strlen(text));
}

static void test_text(void **state)
{
	struct profile *p = program();

	(void)state;
	text_is(p, &(struct hot_options){ .rows = 3 }, "hot.txt");
	profile_free(p);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

/* Words for a reason are one row, whatever address stands in them; functions of stripped files are themselves. */
static void test_reasons(void **state)
{
	const struct hot_options o = { 0 };
	struct profile *p = profile_new();
	uint32_t t = profile_thread(p, 1, 1, "x", "x");
	struct hot h;

	(void)state;
	case_add(p, t, "=[unknown code, no map: 0x7f01]|?[no symbols: bash+0x12]", PROFILE_CPU, 3, 3 * MS);
	case_add(p, t, "=[unknown code, no map: 0x7f02]|?[no symbols: bash+0x34]", PROFILE_CPU, 4, 4 * MS);
	case_add(p, t, "operator+0x1|?0x1234", PROFILE_CPU, 1, 1 * MS);
	assert_int_equal(hot_make(&h, p, &o), 0);
	assert_int_equal(h.functions.n, 5);
	is(&h, "[unknown code, no map]", 0, 7);
	is(&h, "[no symbols: bash+0x12]", 3, 3);
	is(&h, "[no symbols: bash+0x34]", 4, 4);
	is(&h, "operator+0x1", 0, 1);
	is(&h, "[address without a name]", 1, 1);
	assert_int_equal(h.unnamed, 8);
	hot_done(&h);
	AUTO_FREE char *text = text_of(p, &o);

	has(text, "[no symbols: bash] 7, [address without a name] 1\n");
	has(text, "\n[no symbols: FILE+0x…] is a function of a stripped file: install its debug symbols, on Debian "
		  "the package ");
	profile_free(p);
}

/* One text may stand for why a stack is cut and for why a frame has no name: the frames without a name are counted. */
static void test_reason_of_both(void **state)
{
	static const char *const stacks[] = { "=[unknown code, no map: 0x7f01]|a@x",
					      "a@x|?[unknown code, no map: 0x7f02]" };
	const struct hot_options o = { 0 };

	(void)state;
	for (unsigned first = 0; first < 2; first++) {
		struct profile *p = profile_new();
		uint32_t t = profile_thread(p, 1, 1, "x", "x");
		struct buf out = { 0 };
		struct hot h;

		case_add(p, t, stacks[first], PROFILE_CPU, 3, 3 * MS);
		case_add(p, t, stacks[!first], PROFILE_CPU, 3, 3 * MS);
		assert_int_equal(hot_make(&h, p, &o), 0);
		assert_int_equal(h.unnamed, 3);
		hot_done(&h);
		assert_int_equal(hot_text(p, &o, &out), 0);
		has(out.data, "[unknown code, no map] 3\n");
		buf_done(&out);
		assert_int_equal(hot_json(p, &o, &out), 0);
		has(out.data, "\"reasons\":[{\"reason\":\"[unknown code, no map]\",\"frames\":3}]");
		buf_done(&out);
		profile_free(p);
	}
}

static struct profile *waiting_program(void)
{
	struct profile *p = program();
	uint32_t c = profile_thread(p, 10, 12, "pool", "app");

	case_add(p, 0, "main@app|Queue::take@app|lock@libc.so|!futex_wait|!schedule|~[sleeping]", PROFILE_BLOCKED, 3,
		 300 * MS);
	case_add(p, 0, "main@app|run@app|~[waiting for a CPU]", PROFILE_RUNNABLE, 7, 12 * MS);
	case_add(p, c, "=[idle]|~pool", PROFILE_BLOCKED, 9, 5000 * MS);
	return p;
}

static void test_waits(void **state)
{
	struct profile *p = waiting_program();
	const struct hot_options o = { 0 };
	struct hot h;

	(void)state;
	assert_int_equal(hot_make(&h, p, &o), 0);
	assert_int_equal(find_function(&h, "Queue::take")->self[PROFILE_BLOCKED],
			 300 * MS); /* what is below it is how one waits */
	assert_string_equal(find_function(&h, "Queue::take")->wait_callee, "lock");
	assert_int_equal(find_function(&h, "lock")->self[PROFILE_BLOCKED], 0);
	assert_int_equal(find_function(&h, "schedule")->self[PROFILE_BLOCKED], 0);
	assert_int_equal(find_function(&h, "schedule")->total[PROFILE_BLOCKED], 300 * MS);
	assert_int_equal(find_function(&h, "run")->self[PROFILE_RUNNABLE], 12 * MS);
	assert_int_equal(find_function(&h, "[idle]")->total[PROFILE_BLOCKED], 0);
	assert_int_equal(h.states[PROFILE_BLOCKED].idle, 5000 * MS);
	assert_int_equal(h.states[PROFILE_BLOCKED].value, 300 * MS);
	hot_done(&h);
	text_is(p, &(struct hot_options){ .rows = 1, .threads = true }, "hot_waits.txt");
	profile_free(p);
}

/* Whatever the names are, lines fit, and what is no number keeps its begin and its end. */
static void test_widths(void **state)
{
	struct profile *p = program();

	(void)state;
	case_add(p, 0,
		 "main@app|std::vector<std::pair<int, long>, std::allocator<std::pair<int, "
		 "long>>>::emplace_back(int&&, long&&)@libverylongname.so.1.2.3",
		 PROFILE_CPU, 50, 50 * MS);
	case_add(p, 0,
		 "main@app|"
		 "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
		 "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2",
		 PROFILE_CPU, 9, 9 * MS);
	for (unsigned width = 70; width < 130; width += 3) {
		AUTO_FREE char *text = text_of(p, &(struct hot_options){ .width = width, .threads = true });
		char *tables = strstr(text, "\n\n"), *save = NULL;

		for (char *line = strtok_r(tables, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			if (line[0] == ' ' && text_width(line, strlen(line)) > width)
				fail_msg("%u columns: %s", width, line);
	}
	AUTO_FREE char *narrow = text_of(p, &(struct hot_options){ .width = 80 });

	assert_non_null(strstr(narrow, "libverylong…  std::vector<s…int&&, long&&)\n"));
	profile_free(p);
}

static void test_colors(void **state)
{
	struct profile *p = program();
	AUTO_FREE char *plain = text_of(p, &(struct hot_options){ .width = 100 });
	AUTO_FREE char *colored = text_of(p, &(struct hot_options){ .width = 100, .color = true });
	char *to = colored;

	(void)state;
	assert_null(strchr(plain, '\033'));
	assert_non_null(strstr(colored, "\033[31m     42 ms    42 %\033[0m"));
	for (const char *from = colored; *from; from++) {
		if (*from == '\033')
			from = strchr(from, 'm');
		else
			*to++ = *from;
	}
	*to = '\0';
	assert_string_equal(colored, plain);
	profile_free(p);
}

static void sentence_is(struct profile *p, const char *wanted)
{
	const struct hot_options o = { 0 };
	struct buf out = { 0 };
	struct hot h;

	assert_int_equal(hot_make(&h, p, &o), 0);
	hot_sentence(&h, &out);
	assert_string_equal(out.data, wanted);
	buf_done(&out);
	hot_done(&h);
	profile_free(p);
}

static void test_sentences(void **state)
{
	struct profile *p = profile_new();
	uint32_t t = profile_thread(p, 1, 1, "x", "x");

	(void)state;
	sentence_is(p, "no samples");
	p = profile_new();
	t = profile_thread(p, 1, 1, "x", "x");
	case_add(p, t, "=[idle]|~x", PROFILE_BLOCKED, 1, 1 * MS);
	sentence_is(p, "nothing ran, and all waits were idle");
	p = profile_new();
	t = profile_thread(p, 1, 1, "x", "x");
	case_add(p, t, "main@x|burn@x", PROFILE_CPU, 99, 99 * MS);
	case_add(p, t, "=[GC]|main@x|mark@x", PROFILE_CPU, 1, 1 * MS);
	sentence_is(p, "99 % of the CPU time was spent in burn of x; 1 % was garbage collection");
	p = profile_new();
	t = profile_thread(p, 1, 1, "x", "x");
	case_add(p, t, "a", PROFILE_CPU, 4, 0);
	case_add(p, t, "b", PROFILE_CPU, 3, 0);
	case_add(p, t, "c", PROFILE_CPU, 3, 0);
	sentence_is(p, "the hottest function is a with 40 % of samples");
	p = profile_new();
	t = profile_thread(p, 1, 1, "x", "x");
	for (char name[] = "a"; *name <= 'f'; (*name)++)
		case_add(p, t, name, PROFILE_CPU, *name == 'c' ? 5 : 4, 0);
	sentence_is(p, "no function stands out: the hottest function is c with 20 % of samples");
	p = profile_new();
	t = profile_thread(p, 1, 1, "x", "x");
	p->totals.unit = "object__alloc";
	case_add(p, t, "$A::run|$A::make", PROFILE_EVENT, 10, 0);
	sentence_is(p, "100 % of object__alloc were in A::make");
	p = profile_new();
	t = profile_thread(p, 1, 1, "x", "x");
	case_add(p, t, "main@x|!sys_write|!copy", PROFILE_CPU, 10, 10 * MS);
	sentence_is(p, "100 % of the CPU time was spent in copy of the kernel; 100 % ran in the kernel");
	p = profile_new(); /* functions without a name are many, and so none that has half under it */
	t = profile_thread(p, 1, 1, "x", "x");
	case_add(p, t, "main@x|eval@x|?[no symbols: x+0x10]@x", PROFILE_CPU, 9, 9 * MS);
	case_add(p, t, "main@x|eval@x|?[no symbols: x+0x20]@x|copy@x", PROFILE_CPU, 1, 1 * MS);
	sentence_is(p,
		    "100 % of the CPU time was spent in eval of x and its callees; the hottest function with a name is "
		    "copy of x (10 %)");
	p = profile_new();
	t = profile_thread(p, 1, 1, "x", "x");
	case_add(p, t, "?[no symbols: x+0x20]@x", PROFILE_CPU, 1, 1 * MS);
	sentence_is(p, "no sampled function has a name");
	p = profile_new(); /* all that waits does so in the kernel's scheduler */
	t = profile_thread(p, 1, 1, "x", "x");
	case_add(p, t, "main@x|take@x|!futex|!schedule|~[sleeping]", PROFILE_BLOCKED, 9, 9 * MS);
	case_add(p, t, "main@x|read@x|!vfs_read|!schedule|~[sleeping]", PROFILE_BLOCKED, 1, 1 * MS);
	sentence_is(p, "90 % of the waiting time was spent in take of x");
}

/* The first function that waits and is not how one does that, whoever wraps it. */
static void test_plumbing(void **state)
{
	static const struct {
		const char *stack, *wanted;
	} cases[] = {
		{ "main@java|ObjectMonitor::enter@libjvm.so|os::PlatformEvent::park()@libjvm.so|pthread_cond_wait@libc."
		  "so.6",
		  "ObjectMonitor::enter" },
		{ "main@node|worker@node|uv_cond_wait@node|__futex_abstimed_wait_common@libc.so.6|!schedule",
		  "worker" },
		{ "main@node|Wait@node|v8::base::ConditionVariable::WaitFor@node|pthread_cond_timedwait@libc.so.6",
		  "Wait" },
		{ "f@x|std::this_thread::sleep@libstdc++.so.6|clock_nanosleep@libc.so.6", "f" },
		{ "=[truncated]|poll@libc.so.6|!do_poll", "poll" },
		{ "$App.run|?[no symbols: libx.so+0x1230]@libx.so|read@libc.so.6", "[no symbols: libx.so+0x1230]" },
		{ "=[waiting since before the recording]", "[waiting since before the recording]" },
		{ "!kthread|!schedule", "schedule" },
	};
	const struct hot_options o = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p = profile_new();
		uint32_t t = profile_thread(p, 1, 1, "x", "x");
		AUTO_FREE char *stack = NULL;
		struct hot h;

		assert_true(asprintf(&stack, "%s|~[sleeping]", cases[i].stack) > 0);
		case_add(p, t, stack, PROFILE_BLOCKED, 1, 5 * MS);
		assert_int_equal(hot_make(&h, p, &o), 0);
		assert_int_equal(find_function(&h, cases[i].wanted)->self[PROFILE_BLOCKED], 5 * MS);
		hot_done(&h);
		profile_free(p);
	}
}

static struct profile *read_back(const struct profile *p, const struct out_format *f)
{
	size_t len;
	AUTO_FREE char *written = case_written(f, p, NULL, &len);
	AUTO_CLOSE int fd = memfd_create("profile", MFD_CLOEXEC);
	struct profile *ret = profile_new();
	struct profile_bad bad;
	struct ut_err err = { 0 };

	assert_int_equal(write(fd, written, len), len);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(f == &out_pprof ? out_read_pprof(ret, fd, &err) : profile_read_folded(ret, fd, &bad, &err), 0);
	return ret;
}

/* What was written as pprof's file reads as it did before; folded stacks have times alone, and still tell waits. */
static void test_read_back(void **state)
{
	const struct hot_options o = { .threads = true };
	struct profile *p = waiting_program(), *pprof = read_back(p, &out_pprof), *folded = read_back(p, &out_folded);
	AUTO_FREE char *before = text_of(p, &o), *after = text_of(pprof, &o), *times = text_of(folded, &o);

	(void)state;
	assert_string_equal(after, before);
	has(times, "82 % of the CPU time was spent in parse and its callees, 42 % self time; 8 % ran in the kernel;\n");
	has(times, "threads waited for 300 ms, all of it in lock"); /* whose file is not told */
	has(times,
	    "\n100 ms of CPU time, 12 ms of waits for a CPU, 300 ms of waits, 1 thread; 0 lost; all stacks complete; ");
	has(times, "\nidle threads waited for 5 s, which is not included below\n");
	profile_free(p);
	profile_free(pprof);
	profile_free(folded);
}

/* The sentence is lines of no more than about 120 columns, and long names are cut in the middle. */
static void test_long_sentence(void **state)
{
	struct profile *p = waiting_program();
	AUTO_FREE char *text = NULL;
	char *save = NULL, *line;

	(void)state;
	case_add(p, 0,
		 "main@app|std::vector<std::pair<int, long>, std::allocator<std::pair<int, "
		 "long>>>::emplace_back(int&&, long&&)@libx.so",
		 PROFILE_CPU, 500, 500 * MS);
	text = text_of(p, &(struct hot_options){ 0 });
	has(text, "std::vector<std::pair<int, …:emplace_back(int&&, long&&) of libx.so");
	for (line = strtok_r(text, "\n", &save); line && !strstr(line, " lost; "); line = strtok_r(NULL, "\n", &save))
		assert_true(text_width(line, strlen(line)) <= 125);
	profile_free(p);
}

static void test_json(void **state)
{
	struct profile *p = waiting_program();
	struct buf out = { 0 };

	(void)state;
	assert_int_equal(hot_json(p, &(struct hot_options){ .threads = true }, &out), 0);
	has(out.data, "{\"type\":\"hot\",\"message\":\"82 % of");
	has(out.data, "\"totals\":{\"samples\":119,\"lost\":2,\"truncated\":1,");
	has(out.data, "\"reasons\":[{\"reason\":\"[unknown code, no map]\",\"frames\":10}]");
	has(out.data,
	    "{\"state\":\"cpu\",\"unit\":\"nanoseconds\",\"count\":100,\"value\":100000000,\"kernel\":8000000,");
	has(out.data,
	    "{\"name\":\"parse\",\"module\":\"libfoo.so\",\"code\":\"native\",\"self\":42000000,\"total\":82000000}");
	has(out.data, "{\"state\":\"blocked\",\"unit\":\"nanoseconds\",\"count\":3,\"value\":300000000,\"kernel\":0,"
		      "\"idle\":5000000000,");
	has(out.data, "\"callers\":[{\"name\":\"run\",\"module\":\"app\",\"code\":\"native\",\"cpu\":60000000},");
	has(out.data,
	    "{\"pid\":10,\"tid\":11,\"comm\":\"worker\",\"process\":\"app\",\"cpu\":32000000,\"states\":[{\"state\":"
	    "\"cpu\","
	    "\"value\":32000000,\"functions\":[{\"name\":\"parse\",\"module\":\"libfoo.so\",\"code\":\"native\","
	    "\"self\":22000000,\"total\":22000000}");
	has(out.data, "\"idle\":5000000000,\"states\":[]}]}\n");
	assert_null(strstr(out.data, ",}"));
	assert_null(strstr(out.data, ",]"));
	buf_done(&out);
	profile_free(p);
}

UNIT_TESTS(hot)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self_and_total), cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_text),	       cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_reason_of_both), cmocka_unit_test(test_waits),
		cmocka_unit_test(test_widths),	       cmocka_unit_test(test_colors),
		cmocka_unit_test(test_sentences),      cmocka_unit_test(test_plumbing),
		cmocka_unit_test(test_read_back),      cmocka_unit_test(test_long_sentence),
		cmocka_unit_test(test_json),
	};

	return unit_run(tests, NULL, NULL);
}
