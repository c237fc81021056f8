/* SPDX-License-Identifier: MIT */
/* Flame graphs of what folded stacks cannot say: times, waits, threads, lines. The picture itself: tests/cli/test_flame.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/auto.h"
#include "out/out.h"
#include "unit.h"

#define MS UINT64_C(1000000)

static char text[1 << 17];

static const char *draw(const struct profile *p, const struct out_options *o)
{
	AUTO_CLOSE int fd = memfd_create("svg", MFD_CLOEXEC);
	struct ut_err err = { 0 };
	ssize_t n;

	assert_int_equal(out_svg.write(p, o, fd, &err), 0);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n > 0 && n < (ssize_t)sizeof(text) - 1);
	text[n] = 0;
	return text;
}

static uint32_t named(struct profile *p, const char *name, unsigned line, enum frame_kind kind)
{
	struct frame f = { .name = name, .module = "lib.so", .file = line ? "f.c" : NULL, .line = line, .kind = kind };

	return profile_frame(p, &f);
}

/* Two threads of a program: main runs work for 30 ms, in two lines, and waits for 60; helper runs for 10. */
static struct profile *make(unsigned line)
{
	struct profile *p = profile_new();
	uint32_t one = profile_thread(p, 10, 10, "main", "prog"), two = profile_thread(p, 10, 11, "helper", "prog");
	uint32_t start = profile_node(p, 0, named(p, "start", 0, FRAME_NATIVE));
	uint32_t a = profile_node(p, start, named(p, "work", line, FRAME_NATIVE));
	uint32_t b = profile_node(p, start, named(p, "work", line ? line + 1 : 0, FRAME_NATIVE));
	uint32_t wait = profile_node(p, profile_node(p, a, named(p, "futex", 0, FRAME_KERNEL)),
				     named(p, "[sleeping]", 0, FRAME_WAITING));

	profile_add(p, a, one, PROFILE_CPU, 10, 10 * MS);
	profile_add(p, b, one, PROFILE_CPU, 20, 20 * MS);
	profile_add(p, wait, one, PROFILE_BLOCKED, 3, 60 * MS);
	profile_add(p, a, two, PROFILE_CPU, 10, 10 * MS);
	p->totals.samples = 43;
	return p;
}

static void assert_has(const char *s, const char *wanted)
{
	if (!strstr(s, wanted))
		fail_msg("no '%s' in:\n%s", wanted, s);
}

static void assert_has_not(const char *s, const char *unwanted)
{
	if (strstr(s, unwanted))
		fail_msg("there is '%s' in:\n%s", unwanted, s);
}

static void test_times(void **state)
{
	struct profile *p = make(0);
	struct out_options cpu = { .states = 1u << PROFILE_CPU };
	const char *s = draw(p, &(struct out_options){ 0 });

	(void)state;
	assert_has(s, ">Running and waiting</text>");
	assert_has(s, ">100 ms, 60.0 % of it waiting · 43 samples</text>");
	assert_has(s, "<title>work [lib.so]\n100 ms, 100.00 %, waiting 60 ms</title>");
	assert_has(s, "<title>[sleeping] [lib.so]\n60 ms, 60.00 %, waiting 60 ms</title>");
	assert_has(s, "data-other=\"waiting\"");
	assert_has(s, "\n0 0 100000000 0 60000000\n");
	s = draw(p, &cpu);
	assert_has(s, ">CPU time</text>");
	assert_has(s, "<title>work [lib.so]\n40 ms, 100.00 %</title>");
	assert_has_not(s, "sleeping");
	assert_has_not(s, "data-other=\"");
	profile_free(p);
}

/* What was only waited in has the colour of waiting, whatever it is. */
static void test_color_of_waits(void **state)
{
	struct profile *p = make(0);
	struct out_options blocked = { .states = 1u << PROFILE_BLOCKED };
	const char *at;

	(void)state;
	at = strstr(draw(p, &(struct out_options){ 0 }), "<title>futex");
	assert_memory_equal(strstr(at, "class=\"") + 7, "w", 1);
	assert_has(draw(p, &(struct out_options){ 0 }), ">only waits</text>");
	at = strstr(draw(p, &blocked), "<title>futex");
	assert_memory_equal(strstr(at, "class=\"") + 7, "k", 1);
	profile_free(p);
}

static void test_threads(void **state)
{
	struct profile *p = make(0);
	struct out_options thread = { .per_thread = true }, both = { .per_thread = true, .by_process = true };
	const char *s = draw(p, &thread);

	(void)state;
	assert_has(s, "<title>main (10)\n90 ms, 90.00 %, waiting 60 ms</title>");
	assert_has(s, "<title>helper (11)\n10 ms, 10.00 %</title>");
	s = draw(p, &both);
	assert_has(s, "<title>prog (10)\n100 ms, 100.00 %, waiting 60 ms</title>");
	both.reverse = true;
	s = draw(p, &both);
	assert_has(s, "<title>prog (10) / main (10)\n90 ms");
	assert_has(s, "<title>prog (10) / helper (11)\n10 ms");
	assert_has(s, "\n1 ");
	profile_free(p);
}

/* A function is one box, whichever of its lines ran. */
static void test_lines(void **state)
{
	struct profile *p = make(7);

	(void)state;
	assert_has(draw(p, &(struct out_options){ 0 }),
		   "<title>work [lib.so]\n100 ms, 100.00 %, waiting 60 ms</title>");
	profile_free(p);
}

static void test_diff_of_times(void **state)
{
	struct profile *p = make(7), *base = make(3);
	struct out_options o = { .base = base, .states = 1u << PROFILE_CPU };

	(void)state;
	profile_add(base, 0, 0, PROFILE_CPU, 1, 40 * MS);
	assert_has(draw(p, &o), "<title>work [lib.so]\n40 ms, 100.00 %; in the base 50.00 %: +50.00 points</title>");
	profile_free(p);
	profile_free(base);
}

static void test_nothing(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	assert_has(draw(p, NULL), "<title>all\n0 samples, 0.00 %</title>");
	assert_has(draw(p, &(struct out_options){ .reverse = true, .per_thread = true }), "<title>all\n0 samples");
	profile_free(p);
}

/* Events have a word of their own, and no times. */
static void test_events(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	p->totals.unit = "u:<x>:\"alloc\"";
	profile_add(p, profile_node(p, 0, named(p, "f", 0, FRAME_COMPILED)), profile_thread(p, 1, 1, "a", "a"),
		    PROFILE_EVENT, 5, 0);
	assert_has(draw(p, NULL), ">Events</text>");
	assert_has(text, "data-word=\"u:&lt;x&gt;:&quot;alloc&quot;\"");
	assert_has_not(text, "<x>");
	profile_free(p);
}

UNIT_TESTS(flame)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),  cmocka_unit_test(test_color_of_waits), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_lines),  cmocka_unit_test(test_diff_of_times),  cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_events),
	};

	return unit_run(tests, NULL, NULL);
}
