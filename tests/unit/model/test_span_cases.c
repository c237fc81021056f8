/* SPDX-License-Identifier: MIT */
/* Drives the pairing of spans with the streams of tests/cases/pairs, and compares what it tells with the answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "model/span.h"
#include "unit.h"

#define COLUMNS_MAX 16
#define IDS_MAX 64

struct row {
	char *column[COLUMNS_MAX];
	size_t n;
};

struct run {
	struct spans *spans;
	struct buf told;
	const char *name; /* of the case */
	uint64_t now_us;
	char ids[IDS_MAX][16]; /* an id that is no number is its index here, far from the numbers */
	size_t n_ids;
};

static FILE *open_case(const char *file)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/cases/pairs/%s", getenv("UT_SOURCE_ROOT"), file);
	f = fopen(path, "re");
	if (!f)
		fail_msg("cannot open %s", path);
	return f;
}

static bool read_row(FILE *f, char **line, size_t *cap, struct row *ret)
{
	char *rest, *column;

	do {
		if (getline(line, cap, f) < 0)
			return false;
	} while ((*line)[0] == '#' || (*line)[0] == '\n');
	(*line)[strcspn(*line, "\n")] = '\0';
	ret->n = 0;
	for (rest = *line; (column = strsep(&rest, "\t")) && ret->n < COLUMNS_MAX;)
		ret->column[ret->n++] = column;
	return true;
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (*end || end == text)
		fail_msg("'%s' is no number", text);
	return n;
}

static uint64_t id_of(struct run *r, const char *text)
{
	size_t i = 0;

	if (text[strspn(text, "0123456789")] == '\0')
		return number(text);
	while (i < r->n_ids && strcmp(r->ids[i], text))
		i++;
	assert_true(i < IDS_MAX);
	if (i == r->n_ids)
		snprintf(r->ids[r->n_ids++], sizeof(r->ids[0]), "%s", text);
	return UINT64_MAX - i;
}

static const char *id_text(const struct run *r, bool has_id, uint64_t id, char ret[32])
{
	if (!has_id)
		return "-";
	if (UINT64_MAX - id < r->n_ids)
		return r->ids[UINT64_MAX - id];
	snprintf(ret, 32, "%llu", (unsigned long long)id);
	return ret;
}

static void tell_close(struct run *r, const struct span *s)
{
	buf_addf(&r->told, "\t%s", span_end_name(s->end));
	if (s->exit_known && WIFSIGNALED(s->exit_code))
		buf_addf(&r->told, ", signal %d", WTERMSIG(s->exit_code));
	else if (s->exit_known)
		buf_addf(&r->told, ", exit %d", WEXITSTATUS(s->exit_code));
}

static void tell_flags(struct run *r, unsigned flags)
{
	static const char *const words[] = { "lost inside", "clock step", "crossed" };
	const char *before = "\t";

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (flags & 1u << i) {
			buf_addf(&r->told, "%s%s", before, words[i]);
			before = ", ";
		}
	buf_adds(&r->told, flags ? "\n" : "\t-\n");
}

static void tell_span(void *ctx, const struct span *s)
{
	struct run *r = ctx;
	char id[32];

	buf_addf(&r->told, "%s\tspan\t%u\t%u\t%.*s\t%s\t%g\t%g\t%g\t%u", r->name, s->pid, s->tid, (int)s->name_len,
		 s->name, id_text(r, s->has_id, s->id, id), (double)s->begin_ns / 1e3, (double)s->end_ns / 1e3,
		 (double)s->own_ns / 1e3, s->depth);
	tell_close(r, s);
	tell_flags(r, s->flags);
}

static void tell_end(struct run *r, const struct span_event *e, enum span_end what)
{
	char id[32];

	buf_addf(&r->told, "%s\tend\t%u\t%u\t%.*s\t%s\t%g\t%s\n", r->name, e->pid, e->tid, (int)e->name_len, e->name,
		 id_text(r, e->has_id, e->id, id), (double)e->time_ns / 1e3, span_end_name(what));
}

static void feed_end(struct run *r, const struct span_event *e)
{
	struct span span;
	enum span_end what = spans_end(r->spans, e, &span);

	if (what == SPAN_COMPLETE)
		tell_span(r, &span);
	else
		tell_end(r, e, what);
}

static void feed_exit(struct run *r, uint64_t time_ns, uint32_t pid, const char *how)
{
	if (!strncmp(how, "signal ", 7))
		spans_process_exit(r->spans, time_ns, pid, true, (int)number(how + 7));
	else if (!strncmp(how, "exit ", 5))
		spans_process_exit(r->spans, time_ns, pid, true, (int)number(how + 5) << 8);
	else
		spans_process_exit(r->spans, time_ns, pid, false, 0);
}

static void feed(struct run *r, char *const *column)
{
	const char *what = column[4], *name = column[5], *id = column[6];
	uint32_t pid = strcmp(column[2], "-") ? (uint32_t)number(column[2]) : 0;
	uint32_t tid = strcmp(column[3], "-") ? (uint32_t)number(column[3]) : 0;
	uint64_t ns = number(column[1]) * 1000;
	struct span_event e = { .time_ns = ns, .pid = pid, .tid = tid, .name = name, .name_len = strlen(name) };

	r->now_us = number(column[1]);
	if (!strcmp(what, "B") || !strcmp(what, "E")) {
		e.has_id = strcmp(id, "-");
		e.id = e.has_id ? id_of(r, id) : 0;
	}
	if (!strcmp(what, "B"))
		assert_int_equal(spans_begin(r->spans, &e), 0);
	else if (!strcmp(what, "E"))
		feed_end(r, &e);
	else if (!strcmp(what, "FORK"))
		spans_fork(r->spans, ns, pid, (uint32_t)number(name));
	else if (!strcmp(what, "EXEC"))
		spans_exec(r->spans, ns, pid);
	else if (!strcmp(what, "THREAD_START"))
		spans_thread_start(r->spans, ns, pid, tid);
	else if (!strcmp(what, "THREAD_EXIT"))
		spans_thread_exit(r->spans, ns, pid, tid);
	else if (!strcmp(what, "PROC_EXIT"))
		feed_exit(r, ns, pid, name);
	else if (!strcmp(what, "LOST"))
		spans_lost(r->spans, pid, strcmp(id, "-") ? number(id) * 1000 : ns, ns);
	else if (!strcmp(what, "STOP"))
		spans_stop(r->spans, ns);
	else
		fail_msg("no event is called '%s'", what);
}

static void stop(struct run *r)
{
	const struct span_counts *c;
	uint64_t closed = 0, without = 0;

	if (!r->spans)
		return;
	spans_stop(r->spans, r->now_us * 1000);
	c = spans_counts(r->spans);
	for (size_t i = 0; i < SPAN_LOST; i++)
		closed += c->of[i];
	for (size_t i = SPAN_LOST; i < SPAN_ENDS; i++)
		without += c->of[i];
	assert_int_equal(c->begins, closed);
	assert_int_equal(c->ends, c->of[SPAN_COMPLETE] + without);
	r->spans = spans_free(r->spans);
}

/* All that is told of the cases of a file. */
static void run_file(struct run *r, const char *file, size_t min_cases)
{
	AUTO_FCLOSE FILE *f = open_case(file);
	AUTO_FREE char *line = NULL;
	char name[64] = "";
	struct row row;
	size_t cap = 0, cases = 0;

	while (read_row(f, &line, &cap, &row)) {
		assert_int_equal(row.n, 7);
		if (strcmp(row.column[0], name)) {
			stop(r);
			snprintf(name, sizeof(name), "%s", row.column[0]);
			r->name = name;
			r->spans = spans_new(tell_span, r);
			assert_non_null(r->spans);
			cases++;
		}
		feed(r, row.column);
	}
	stop(r);
	assert_true(cases >= min_cases);
}

/* Line by line, so that the case that is wrong is named. */
static void compare(const struct buf *told, const char *file)
{
	AUTO_FCLOSE FILE *f = open_case(file);
	AUTO_FREE char *line = NULL;
	const char *at = told->data, *end = told->data + told->len;
	size_t cap = 0;
	ssize_t len;

	while ((len = getline(&line, &cap, f)) > 0) {
		const char *nl;

		if (line[0] == '#')
			continue;
		nl = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
		if (!nl || nl + 1 - at != len || memcmp(at, line, (size_t)len))
			fail_msg("wrong answer\n  wanted %s  told   %.*s", line, nl ? (int)(nl + 1 - at) : 8,
				 nl ? at : "nothing\n");
		at = nl + 1;
	}
	if (at != end)
		fail_msg("more is told than there are answers: %.*s", (int)(end - at), at);
}

static void check(const char *events, const char *answers, size_t min_cases)
{
	struct run r = { 0 };

	run_file(&r, events, min_cases);
	compare(&r.told, answers);
	buf_done(&r.told);
}

static void test_pairs(void **state)
{
	(void)state;
	check("events.tsv", "answers.tsv", 17);
}

static void test_more_pairs(void **state)
{
	(void)state;
	check("more_events.tsv", "more_answers.tsv", 40);
}

UNIT_TESTS(span_cases)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_pairs), cmocka_unit_test(test_more_pairs) };

	return unit_run(tests, NULL, NULL);
}
