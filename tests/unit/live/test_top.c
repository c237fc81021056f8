/* SPDX-License-Identifier: MIT */
/* The table of runtimes: keys from bytes, what they do, how it looks in any size, and what a terminal is sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/width.h"
#include "live/top_priv.h"
#include "unit.h"

#define START UINT64_C(5000000000)
#define MS UINT64_C(1000000)
#define S (1000 * MS)

static const struct collect_def gc_def = { .runtime = "HotSpot", .kind = "gc", .stops = true };
static const struct collect_def compile_def = { .runtime = "HotSpot", .kind = "compile" };

static struct top *top_plain(void)
{
	struct top *t = top_new(&(struct top_options){ .kind = "gc", .start_ns = START });

	assert_non_null(t);
	return t;
}

static void process(struct top *t, uint32_t pid, const char *comm, const char *runtime, const char *version)
{
	struct top_who who = { .pid = pid, .runtime = runtime, .version = version, .seen_ns = START };

	memcpy(who.comm, comm, strnlen(comm, sizeof(who.comm)));
	assert_int_equal(top_process(t, &who), 0);
}

static struct collect_span span(uint32_t pid, uint64_t from_ms, uint64_t ms)
{
	return (struct collect_span){ .def = &gc_def,
				      .pid = pid,
				      .label = "young",
				      .begin_ns = START + from_ms * MS,
				      .end_ns = START + (from_ms + ms) * MS,
				      .stall = { .known = true, .stopped_ns = ms * MS } };
}

static void add(struct top *t, struct collect_span s) { assert_int_equal(top_span(t, &s), 0); }

/* Three processes, after two seconds: pid 20 stopped most, pid 10 collects most often, pid 30 did nothing. */
static struct top *top_with_three(void)
{
	struct top *t = top_plain();

	process(t, 10, "ruby", "CRuby", "3.1.2");
	process(t, 20, "java", "HotSpot", "17.0.15");
	process(t, 30, "python3", "CPython", "");
	for (uint64_t i = 0; i < 20; i++)
		add(t, span(10, i * 100, 1));
	for (uint64_t i = 0; i < 2; i++) {
		struct collect_span s = span(20, i * 1000, 150);

		s.has_before = s.has_after = s.has_freed = true;
		s.before = 96 << 20;
		s.after = 32 << 20;
		s.freed = 64 << 20;
		strcpy(s.cause, "Allocation Failure");
		add(t, s);
	}
	return t;
}

static char *line(const struct top_screen *s, unsigned y) { return s->line[y].data ? s->line[y].data : (char *)""; }

static void render(struct top *t, uint64_t ms, unsigned width, unsigned height, struct top_screen *s)
{
	assert_int_equal(top_screen_size(s, width, height), 0);
	assert_int_equal(top_render(t, START + ms * MS, s), 0);
}

static void assert_line(struct top *t, unsigned width, unsigned height, unsigned y, const char *expected)
{
	struct top_screen s = { 0 };
	size_t n;

	render(t, 2000, width, height, &s);
	n = s.line[y].len;
	while (n && s.line[y].data[n - 1] == ' ')
		s.line[y].data[--n] = '\0';
	assert_string_equal(line(&s, y), expected);
	top_screen_done(&s);
}

static enum top_act press(struct top *t, const char *keys)
{
	enum top_act act = TOP_NOTHING;
	size_t len = strlen(keys), n;
	uint32_t key;

	for (; (n = top_key_parse(keys, len, true, &key)); keys += n, len -= n)
		act = top_key(t, key);
	return act;
}

static void test_keys_from_bytes(void **state)
{
	static const struct {
		const char *bytes;
		bool last;
		size_t n;
		uint32_t key;
	} cases[] = {
		{ "q", false, 1, 'q' },
		{ "\r", false, 1, '\r' },
		{ "\n", false, 1, '\r' },
		{ "\x7f", false, 1, '\b' },
		{ "\f", false, 1, '\f' },
		{ "\033", false, 0, 0 },
		{ "\033", true, 1, KEY_ESC },
		{ "\033[", false, 0, 0 },
		{ "\033[", true, 2, KEY_NONE },
		{ "\033[A", false, 3, KEY_UP },
		{ "\033OB", false, 3, KEY_DOWN },
		{ "\033[Cq", false, 3, KEY_RIGHT },
		{ "\033[D", false, 3, KEY_LEFT },
		{ "\033[5~", false, 4, KEY_PAGE_UP },
		{ "\033[6~", false, 4, KEY_PAGE_DOWN },
		{ "\033[H", false, 3, KEY_HOME },
		{ "\033[4~", false, 4, KEY_END },
		{ "\033[1;5A", false, 6, KEY_UP },
		{ "\033[15~", false, 5, KEY_NONE },
		{ "\033[5", false, 0, 0 },
		{ "\033[200~", false, 6, KEY_NONE },
		{ "\033[<0;3;4M", false, 9, KEY_NONE },
		{ "\033OM", false, 3, '\r' },
		{ "\033q", false, 1, KEY_ESC },
		{ "\033\033[A", false, 1, KEY_ESC },
		{ "\033[\033[A", false, 2, KEY_NONE },
		{ "\033[3;2~", false, 6, KEY_DELETE },
		{ "ä", false, 2, 0xe4 },
		{ "\xc3", false, 0, 0 },
		{ "\xc3", true, 1, KEY_NONE },
		{ "\xc3q", false, 1, KEY_NONE },
		{ "漢", false, 3, 0x6f22 },
		{ "\xff", false, 1, KEY_NONE },
		{ "🙂", false, 4, 0x1f642 },
		{ "\xc2\x9b", false, 2, KEY_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t key = 0;

		assert_int_equal(top_key_parse(cases[i].bytes, strlen(cases[i].bytes), cases[i].last, &key),
				 cases[i].n);
		if (cases[i].n)
			assert_int_equal(key, cases[i].key);
	}
	assert_int_equal(top_key_parse("", 0, true, &(uint32_t){ 0 }), 0);
}

static void test_layout_fits_any_width(void **state)
{
	(void)state;
	for (unsigned width = 1; width < 400; width++) {
		unsigned w[COLUMNS], sum = 0, n = 0;

		top_layout(width, w);
		for (unsigned i = 0; i < COLUMNS; i++) {
			sum += w[i];
			n += w[i] > 0;
		}
		assert_true(sum + n - 1 <= width || (n == 1 && w[COLUMN_SHARE]));
		assert_true(w[COLUMN_SHARE] > 0);
		if (w[COLUMN_MINUTE])
			assert_int_equal(RATE_SLOTS % w[COLUMN_MINUTE], 0);
		if (width >= 80)
			assert_int_equal(n, COLUMNS);
	}
}

static void test_table(void **state)
{
	struct top *t = top_with_three();

	(void)state;
	assert_line(t, 80, 24, 0, "usertrace top 2 s, 3 processes");
	assert_line(t, 80, 24, 1, "    PID COMMAND         RUNTIME       GC/S STOPPED↓  LONGEST  ALLOC/S MINUTE");
	assert_line(t, 80, 24, 2, "     20 java            HotSpot 17.0   1.0   15.0 %   150 ms      64M          ▆");
	assert_line(t, 80, 24, 3, "     10 ruby            CRuby 3.1.2   10.0    1.0 %     1 ms        -          ▃");
	assert_line(t, 80, 24, 4, "     30 python3         CPython          0      0 %        -        -          ·");
	assert_line(t, 80, 24, 5, "");
	assert_line(t, 80, 24, 23, "q quit  arrows select  Enter open  s sort  r reverse  / filter  p pause  h help");
	assert_line(t, 160, 24, 2,
		    "     20 java            HotSpot 17.0.15          1.0   15.0 %   150 ms      64M "
		    "                                                         ▆▆·");
	assert_line(t, 50, 24, 1, "    PID COMMAND          GC/S STOPPED↓  LONGEST");
	assert_line(t, 20, 24, 2, "java       15.0 %");
	assert_line(t, 4, 24, 2, "  15");
	assert_line(t, 80, 3, 0, "    PID COMMAND         RUNTIME       GC/S STOPPED↓  LONGEST  ALLOC/S MINUTE");
	assert_line(t, 80, 1, 0, "     20 java            HotSpot 17.0   1.0   15.0 %   150 ms      64M          ▆");
	top_free(t);
}

static void test_ascii(void **state)
{
	struct top *t = top_with_three();

	(void)state;
	t->o.ascii = true;
	process(t, 40, "漢é", "X", NULL);
	assert_line(t, 80, 24, 1, "    PID COMMAND         RUNTIME       GC/S STOPPEDv  LONGEST  ALLOC/S MINUTE");
	assert_line(t, 80, 24, 2, "     20 java            HotSpot 17.0   1.0   15.0 %   150 ms      64M          %");
	assert_line(t, 80, 24, 5, "     40 ???             X                0      0 %        -        -          .");
	top_free(t);
}

static void test_nothing_to_show(void **state)
{
	struct top *t = top_plain();

	(void)state;
	assert_line(t, 80, 24, 2, "no process with a known runtime yet; new ones appear here");
	assert_int_equal(press(t, "\r"), TOP_NOTHING);
	assert_int_equal(press(t, "jkG"), TOP_DRAW);
	process(t, 1, "x", "X", "");
	assert_int_equal(press(t, "/zz\r"), TOP_DRAW);
	assert_line(t, 80, 24, 2, "no row matches; Esc shows all");
	assert_line(t, 80, 24, 0, "usertrace top 2 s, 1 process, 0 with 'zz'");
	top_free(t);
	assert_null(top_free(NULL));
}

static void assert_order(struct top *t, const char *keys, uint32_t a, uint32_t b, uint32_t c)
{
	struct top_screen s = { 0 };

	press(t, keys);
	render(t, 2000, 80, 24, &s);
	assert_int_equal(strtoul(line(&s, 2), NULL, 10), a);
	assert_int_equal(strtoul(line(&s, 3), NULL, 10), b);
	assert_int_equal(strtoul(line(&s, 4), NULL, 10), c);
	top_screen_done(&s);
}

static void test_sorting(void **state)
{
	struct top *t = top_with_three();

	(void)state;
	assert_order(t, "", 20, 10, 30);
	assert_order(t, "c", 10, 20, 30);
	assert_order(t, "t", 20, 10, 30);
	assert_order(t, "r", 30, 10, 20);
	assert_order(t, "rl", 20, 10, 30);
	assert_order(t, "a", 20, 10, 30);
	assert_order(t, "s", 10, 20, 30); /* PID */
	assert_order(t, "s", 20, 30, 10); /* command */
	assert_order(t, "s", 30, 10, 20); /* runtime */
	assert_line(t, 80, 24, 1, "    PID COMMAND         RUNTIME↓      GC/S  STOPPED  LONGEST  ALLOC/S MINUTE");
	assert_order(t, "ssss", 20, 10, 30); /* round again, to allocation */
	top_free(t);
}

static void test_filter(void **state)
{
	struct top *t = top_with_three();

	(void)state;
	assert_int_equal(press(t, "/"), TOP_DRAW);
	assert_line(t, 80, 24, 23, "filter: _  (Enter: keep, Esc: remove)");
	press(t, "PYx\b"); /* case does not matter, and letters are no keys */
	assert_line(t, 80, 24, 23, "filter: PY_  (Enter: keep, Esc: remove)");
	assert_line(t, 80, 24, 2, "     30 python3         CPython          0      0 %        -        -          ·");
	assert_line(t, 80, 24, 3, "");
	press(t, "\r");
	assert_line(t, 80, 24, 0, "usertrace top 2 s, 3 processes, 1 with 'PY'");
	press(t, "\033");
	assert_order(t, "", 20, 10, 30);
	press(t, "/20\033");
	assert_order(t, "", 20, 10, 30);
	press(t, "/ä漢\b");
	assert_string_equal(t->filter, "ä");
	for (unsigned i = 0; i < 100; i++)
		press(t, "漢");
	assert_true(t->filter_len < sizeof(t->filter));
	press(t, "\x15");
	assert_int_equal(t->filter_len, 0);
	assert_int_equal(press(t, "\033"), TOP_DRAW);
	assert_int_equal(press(t, "\033"), TOP_QUIT); /* nothing else to go back from */
	top_free(t);
}

static void test_selection_stays_with_its_process(void **state)
{
	struct top *t = top_with_three();

	(void)state;
	top_refresh(t, START + 2 * S, 10);
	assert_int_equal(top_selected(t), 0);
	press(t, "j");
	assert_int_equal(t->shown.v[top_selected(t)]->pid, 10);
	press(t, "r");
	assert_int_equal(t->shown.v[top_selected(t)]->pid, 10);
	press(t, "\033[B\033[B\033[B");
	assert_int_equal(t->shown.v[top_selected(t)]->pid, 20);
	press(t, "g");
	assert_int_equal(top_selected(t), 0);
	top_free(t);
}

static void test_scrolling(void **state)
{
	struct top *t = top_plain();
	struct top_screen s = { 0 };

	(void)state;
	for (uint32_t pid = 1; pid <= 100; pid++)
		process(t, pid, "x", "X", "");
	render(t, 0, 80, 24, &s);
	assert_int_equal(strtoul(line(&s, 2), NULL, 10), 1);
	assert_int_equal(strtoul(line(&s, 22), NULL, 10), 21);
	press(t, "G");
	render(t, 0, 80, 24, &s);
	assert_int_equal(strtoul(line(&s, 2), NULL, 10), 80);
	assert_int_equal(strtoul(line(&s, 22), NULL, 10), 100);
	press(t, "\033[5~");
	render(t, 0, 80, 24, &s);
	assert_int_equal(t->shown.v[top_selected(t)]->pid, 80);
	render(t, 0, 80, 200, &s); /* a larger screen shows all again */
	assert_int_equal(strtoul(line(&s, 2), NULL, 10), 1);
	top_screen_done(&s);
	top_free(t);
}

static void test_ended_processes_fade(void **state)
{
	struct top *t = top_with_three();
	struct top_screen s = { 0 };

	(void)state;
	top_gone(t, 20, START + 2 * S);
	top_gone(t, 99, START + 2 * S);
	add(t, span(20, 2000, 10)); /* of nobody */
	assert_line(t, 80, 24, 0, "usertrace top 2 s, 2 processes, 1 ended");
	assert_line(t, 80, 24, 2, "     20 java            HotSpot 17.0   1.0    ended   150 ms      64M          ▆");
	render(t, 11999, 80, 24, &s);
	assert_int_equal(t->rows.n, 3);
	render(t, 12000, 80, 24, &s);
	assert_int_equal(t->rows.n, 2);
	process(t, 10, "java", "HotSpot", ""); /* the ruby has become a java */
	assert_int_equal(t->rows.n, 3);
	assert_int_equal(t->rows.v[0]->gone_ns, START);
	add(t, span(10, 12000, 10));
	assert_int_equal(t->rows.v[2]->rate.count, 1);
	top_screen_done(&s);
	top_free(t);
}

/* A pid has one row: of the program that it is now. */
static void test_a_pid_that_came_again(void **state)
{
	struct top *t = top_with_three();

	(void)state;
	process(t, 10, "java", "HotSpot", "");
	top_gone(t, 20, START + 2 * S);
	process(t, 20, "node", "Node.js", "");
	assert_line(t, 80, 24, 0, "usertrace top 2 s, 3 processes");
	assert_int_equal(t->shown.n, 3);
	for (size_t i = 0; i < t->shown.n; i++)
		assert_false(t->shown.v[i]->gone_ns);
	top_free(t);
}

static void test_an_open_process_stays(void **state)
{
	struct top *t = top_with_three();
	struct top_screen s = { 0 };

	(void)state;
	render(t, 2000, 80, 24, &s);
	press(t, "\r");
	top_gone(t, 20, START + 2 * S);
	render(t, 60000, 80, 24, &s);
	assert_string_equal(line(&s, 0), "20 java, HotSpot 17.0.15, watched for 60 s, ended");
	press(t, "q");
	render(t, 60000, 80, 24, &s);
	assert_int_equal(t->rows.n, 2);
	top_screen_done(&s);
	top_free(t);
}

static void test_process_page(void **state)
{
	struct top *t = top_with_three();
	struct collect_span compiled = span(20, 1900, 3);

	(void)state;
	compiled.def = &compile_def;
	compiled.stall.known = false;
	add(t, compiled);
	top_refresh(t, START + 2 * S, 10);
	press(t, "\r");
	assert_line(t, 100, 24, 0, "20 java, HotSpot 17.0.15, watched for 2 s");
	assert_line(t, 100, 24, 1, "collections   2, 1.0 per second");
	assert_line(t, 100, 24, 2, "stopped       15.0 % of the last 10 s, 15.0 % since the start, 300 ms in total");
	assert_line(t, 100, 24, 3,
		    "longest stop  150 ms, young, Allocation Failure, 2 s ago; in the last minute 150 ms");
	assert_line(t, 100, 24, 4, "stops         median 150 ms, 90 % below 150 ms, 99 % below 150 ms");
	assert_line(t, 100, 24, 5, "allocates     64M per second");
	assert_line(t, 100, 24, 6, "compile       1, 3 ms in total, longest 3 ms");
	assert_line(t, 100, 24, 7, "last minute                                                            ▆▆·");
	assert_line(t, 100, 24, 9,
		    "     SECONDS WHAT                      PAUSE  STOPPED   GC CPU       FREED"
		    "        HEAP CAUSE");
	assert_line(t, 100, 24, 10,
		    "    1.900000 compile young              3 ms        -        -           -           -");
	assert_line(t, 100, 24, 11,
		    "    1.000000 young                    150 ms   150 ms     0 ns         64M"
		    "     96M→32M Allocation Fa");
	assert_line(t, 80, 24, 9, "     SECONDS WHAT                      PAUSE  STOPPED   GC CPU       FREED");
	assert_line(t, 80, 24, 11, /* the half of a number would be another one */
		    "    1.000000 young                    150 ms   150 ms     0 ns         64M");
	top_free(t);
}

static void test_what_to_know_of_a_process(void **state)
{
	static const char *const hints[] = {
		"this build has no probe for the end of a sweep, so that\033 sweeps are not counted",
		"averyveryverylongwordthatisnotonaline"
	};
	struct top *t = top_plain();
	struct top_who who = { .pid = 1, .comm = "x", .runtime = "X", .seen_ns = START, .hints = hints, .nhints = 2 };

	(void)state;
	assert_int_equal(top_process(t, &who), 0);
	top_refresh(t, START, 10);
	press(t, "\r");
	assert_line(t, 44, 24, 5, "to know       this build has no probe for");
	assert_line(t, 44, 24, 6, "              the end of a sweep, so");
	assert_line(t, 44, 24, 7, "              that\\x1b sweeps are not");
	assert_line(t, 44, 24, 8, "              counted");
	assert_line(t, 44, 24, 9, "to know       averyveryverylongwordthatisnot");
	assert_line(t, 44, 24, 10, "              onaline");
	assert_line(t, 44, 20, 10, ""); /* not more than a quarter of the screen */
	assert_line(t, 1, 24, 5, "t");
	top_free(t);
}

static void test_lines_of_a_process(void **state)
{
	struct top *t = top_plain();
	struct top_screen s = { 0 };

	(void)state;
	process(t, 1, "x", "X", "");
	top_refresh(t, START, 10);
	press(t, "\r");
	render(t, 0, 80, 10, &s);
	assert_string_equal(line(&s, 3), "no events yet");
	for (uint64_t i = 0; i < 3 * TOP_LINES; i++)
		add(t, span(1, i, 1));
	render(t, 1000, 80, 10, &s);
	assert_memory_equal(line(&s, 3), "    0.599000 young", 18);
	press(t, "jj");
	render(t, 1000, 80, 10, &s);
	assert_memory_equal(line(&s, 3), "    0.597000 young", 18);
	press(t, "G");
	render(t, 1000, 80, 10, &s);
	assert_memory_equal(line(&s, 8), "    0.400000 young", 18);
	assert_string_equal(line(&s, 9), "q back  arrows scroll  p pause  h help");
	for (unsigned height = 1; height < 30; height++)
		render(t, 1000, 30, height, &s);
	press(t, "q");
	assert_int_equal(press(t, "q"), TOP_QUIT);
	top_screen_done(&s);
	top_free(t);
}

static void test_pause(void **state)
{
	struct top *t = top_with_three();
	struct top_screen a = { 0 }, b = { 0 };

	(void)state;
	render(t, 2000, 80, 24, &a);
	press(t, "p");
	render(t, 2000, 80, 24, &a);
	assert_string_equal(line(&a, 0), "usertrace top 2 s, 3 processes, paused (p: continue)");
	process(t, 40, "node", "Node.js", "");
	add(t, span(30, 2100, 5000));
	render(t, 8000, 80, 24, &b);
	for (unsigned y = 1; y < 24; y++)
		assert_string_equal(line(&a, y), line(&b, y));
	press(t, "c"); /* sorting goes on */
	render(t, 8000, 80, 24, &b);
	assert_int_equal(strtoul(line(&b, 2), NULL, 10), 10);
	process(t, 41, "short", "Node.js", "");
	top_gone(t, 41, START + 8 * S);
	top_gone(t, 10, START + 8 * S);
	render(t, 60000, 80, 24, &b);
	assert_int_equal(t->rows.n, 4); /* one that nobody has seen is not kept for the end of the pause */
	press(t, "pt");
	render(t, 8000, 80, 24, &b);
	assert_int_equal(strtoul(line(&b, 2), NULL, 10), 30);
	assert_int_equal(t->shown.n, 4);
	top_screen_done(&a);
	top_screen_done(&b);
	top_free(t);
}

static void test_help_and_notes(void **state)
{
	struct top *t = top_with_three();

	(void)state;
	press(t, "?");
	assert_line(t, 80, 24, 0, "arrows, j k     select; PgUp PgDn g G: page, first, last");
	assert_line(t, 10, 3, 2, "q, Esc");
	press(t, "q"); /* any key */
	assert_line(t, 80, 24, 0, "usertrace top 2 s, 3 processes");
	top_note(t, "bad\033[2J name", START + 2 * S);
	assert_line(t, 80, 24, 23, "bad\\x1b[2J name");
	t->note_until_ns = START;
	assert_line(t, 80, 24, 23, "q quit  arrows select  Enter open  s sort  r reverse  / filter  p pause  h help");
	top_lost(t, 1234);
	assert_line(t, 80, 24, 0, "usertrace top 2 s, 3 processes, 1,234 events lost");
	assert_int_equal(press(t, "\f"), TOP_REDRAW);
	assert_int_equal(press(t, "x"), TOP_NOTHING);
	top_free(t);
}

static void test_foreign_names(void **state)
{
	struct top *t = top_plain();

	(void)state;
	process(t, 1, "\033[31mred\n", "X\a", "\x9b");
	assert_line(t, 80, 24, 2,
		    "      1 \\x1b[31mred\\n   X\\x07 \\x9b       0      0 %        -        -          ·");
	process(t, 2, "漢字漢字漢字漢字", "X", "");
	assert_line(t, 80, 24, 3, "      2 漢字漢字漢\\xe5  X                0      0 %        -        -          ·");
	top_free(t);
}

static void test_unmeasured_shares_are_bounds(void **state)
{
	struct top *t = top_plain();
	struct collect_span s = span(1, 0, 100);

	(void)state;
	s.stall.known = false;
	process(t, 1, "x", "X", "");
	add(t, s);
	assert_line(t, 80, 24, 2, "      1 x               X              0.5   ≤5.0 %   100 ms        -          ▅");
	top_free(t);
}

static void test_batch(void **state)
{
	struct top *t = top_with_three();
	struct buf out = { 0 };

	(void)state;
	assert_int_equal(top_batch(t, START + 2 * S, 80, &out), 0);
	assert_string_equal(out.data,
			    "usertrace top 2 s, 3 processes\n"
			    "    PID COMMAND         RUNTIME       GC/S STOPPED↓  LONGEST  ALLOC/S MINUTE\n"
			    "     20 java            HotSpot 17.0   1.0   15.0 %   150 ms      64M          ▆\n"
			    "     10 ruby            CRuby 3.1.2   10.0    1.0 %     1 ms        -          ▃\n"
			    "     30 python3         CPython          0      0 %        -        -          ·\n\n");
	buf_done(&out);
	top_free(t);
}

/* A terminal of a few sequences: where text goes, what is erased, reverse or not. */
struct grid {
	char cell[30][100][8];
	unsigned x, y;
};

static void grid_clear(struct grid *g, unsigned y, unsigned from)
{
	for (unsigned x = from; x < 100; x++)
		memcpy(g->cell[y][x], " \0\0\0\0\0\0", 8);
}

static const char *grid_sequence(struct grid *g, const char *p)
{
	unsigned a = 0, b = 0;

	for (p += 2; *p >= '0' && *p <= '9'; p++)
		a = a * 10 + (unsigned)(*p - '0');
	for (p += *p == ';'; *p >= '0' && *p <= '9'; p++)
		b = b * 10 + (unsigned)(*p - '0');
	if (*p == 'H') {
		g->y = a ? a - 1 : 0;
		g->x = b ? b - 1 : 0;
	} else if (*p == 'J') {
		assert_int_equal(a, 2);
		for (unsigned y = 0; y < 30; y++)
			grid_clear(g, y, 0);
	} else if (*p == 'K') {
		grid_clear(g, g->y, g->x);
	} else {
		assert_int_equal(*p, 'm');
	}
	return p + 1;
}

static void grid_put(struct grid *g, const struct buf *text)
{
	const char *p = text->data;

	while (p && *p) {
		size_t n = 1;

		if (*p == '\033') {
			p = grid_sequence(g, p);
			continue;
		}
		while ((p[n] & 0xc0) == 0x80)
			n++;
		assert_true(g->y < 30 && g->x < 100 && n < 8);
		memset(g->cell[g->y][g->x], 0, 8);
		memcpy(g->cell[g->y][g->x++], p, n);
		p += n;
	}
}

/* The terminal shows what a fresh one would. */
static void assert_grids(const struct grid *a, const struct top_screen *s)
{
	struct grid b = { 0 };
	struct buf all = { 0 };

	top_screen_diff(NULL, s, &all);
	grid_put(&b, &all);
	assert_memory_equal(a->cell, b.cell, sizeof(b.cell));
	buf_done(&all);
}

static void test_what_a_terminal_is_sent(void **state)
{
	static const char *const keys[] = { "j",   "r",	 "\r",	 "j", "q", "c", "?", "x",
					    "/20", "\r", "\033", "p", "p", "G", "t" };
	struct top *t = top_with_three();
	struct top_screen old = { 0 }, new = { 0 }, swap;
	struct grid g = { 0 };
	struct buf out = { 0 };

	(void)state;
	t->o.styled = t->o.color = true;
	render(t, 2000, 80, 24, &old);
	top_screen_diff(NULL, &old, &out);
	grid_put(&g, &out);
	render(t, 2000, 80, 24, &new);
	buf_reset(&out);
	top_screen_diff(&old, &new, &out);
	assert_int_equal(out.len, 0); /* nothing new, nothing sent */
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		press(t, keys[i]);
		render(t, 2100 + i * 700, 80, 24, &new);
		buf_reset(&out);
		top_screen_diff(&old, &new, &out);
		grid_put(&g, &out);
		assert_grids(&g, &new);
		swap = old;
		old = new;
		new = swap;
	}
	top_screen_done(&old);
	top_screen_done(&new);
	buf_done(&out);
	top_free(t);
}

static void test_styles(void **state)
{
	struct top *t = top_with_three();

	(void)state;
	t->o.styled = t->o.color = true;
	assert_line(t, 80, 24, 2,
		    "\033[7m     20 java            HotSpot 17.0   1.0   15.0 %   150 ms      64M          ▆"
		    "\033[0m");
	press(t, "j");
	assert_line(t, 80, 24, 2,
		    "     20 java            HotSpot 17.0   1.0 \033[31m  15.0 %\033[0m \033[31m  150 ms"
		    "\033[0m      64M          ▆");
	t->o.color = false;
	assert_line(t, 80, 24, 2,
		    "     20 java            HotSpot 17.0   1.0   15.0 %\033[0m   150 ms\033[0m      64M          ▆");
	top_free(t);
}

/* Lines are never wider than the screen, whatever the page, the size and the names. */
static void test_any_size(void **state)
{
	static const char *const pages[] = { "", "\r", "?", "x", "q", "/abc" };
	struct top *t = top_with_three();
	struct top_screen s = { 0 };

	(void)state;
	process(t, 4000000, "漢字漢字漢", "漢字漢字漢字漢字漢字", "漢字");
	add(t, span(4000000, 0, 1900));
	for (size_t p = 0; p < ARRAY_SIZE(pages); p++) {
		press(t, pages[p]);
		for (unsigned width = 0; width < 130; width++)
			for (unsigned height = 0; height < 30; height += 1 + height / 9) {
				render(t, 2000, width, height, &s);
				for (unsigned y = 0; y < height; y++) {
					struct buf text = { 0 };

					assert_true(top_cut(line(&s, y), s.line[y].len, 1000, &text) <= width);
					buf_done(&text);
				}
			}
	}
	top_screen_done(&s);
	top_free(t);
}

UNIT_TESTS(top)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_from_bytes),
		cmocka_unit_test(test_layout_fits_any_width),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_nothing_to_show),
		cmocka_unit_test(test_sorting),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_selection_stays_with_its_process),
		cmocka_unit_test(test_scrolling),
		cmocka_unit_test(test_ended_processes_fade),
		cmocka_unit_test(test_a_pid_that_came_again),
		cmocka_unit_test(test_an_open_process_stays),
		cmocka_unit_test(test_process_page),
		cmocka_unit_test(test_what_to_know_of_a_process),
		cmocka_unit_test(test_lines_of_a_process),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_help_and_notes),
		cmocka_unit_test(test_foreign_names),
		cmocka_unit_test(test_unmeasured_shares_are_bounds),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_what_a_terminal_is_sent),
		cmocka_unit_test(test_styles),
		cmocka_unit_test(test_any_size),
	};

	return unit_run(tests, NULL, NULL);
}
