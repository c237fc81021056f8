/* SPDX-License-Identifier: MIT */
/* Drives both users of the pairing engine with the streams of tests/cases/pairs, and compares what they tell with the answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "model/collect.h"
#include "model/pair.h"
#include "model/span.h"
#include "unit.h"

#define COLUMNS_MAX 16
#define IDS_MAX 64

struct row {
	char *column[COLUMNS_MAX];
	size_t n;
};

struct run;
struct event;

/* One of the two users of the pairing engine, fed with a case. */
struct user {
	const char *name;
	void (*start)(struct run *r);
	void (*feed)(struct run *r, const struct event *e);
	void (*stop)(struct run *r, uint64_t ns);
};

struct event {
	const char *what, *name; /* as in the table */
	uint64_t ns, since_ns;
	uint32_t pid, tid;
	bool has_id;
	uint64_t id;
};

struct run {
	const struct user *user;
	struct spans *spans;
	struct collect *collect;
	struct buf told;
	const char *name; /* of the case */
	uint64_t now_us;
	bool is_end; /* an end is being fed */
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

/* --- user spans --- */

static void tell_how(struct run *r, const struct span *s)
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

	buf_addf(&r->told, "%s\tspan\t%u\t%u\t%.*s\t%s\t%g\t%g\t%g\t%u", r->name, s->pid, s->tid, (int)s->name.len,
		 s->name.bytes, id_text(r, s->has_id, s->id, id), (double)s->begin_ns / 1e3, (double)s->end_ns / 1e3,
		 (double)s->own_ns / 1e3, s->depth);
	tell_how(r, s);
	tell_flags(r, s->flags);
}

static void spans_start(struct run *r)
{
	r->spans = spans_new(tell_span, r);
	assert_non_null(r->spans);
}

static struct span_event span_event_of(const struct event *e)
{
	return (struct span_event){ .time_ns = e->ns,
				    .pid = e->pid,
				    .tid = e->tid,
				    .name = { .bytes = e->name, .len = strlen(e->name) },
				    .has_id = e->has_id,
				    .id = e->id };
}

static void spans_feed_end(struct run *r, const struct event *e)
{
	struct span_event event = span_event_of(e);
	struct span span;
	enum span_end what = spans_end(r->spans, &event, &span);
	char id[32];

	if (what == SPAN_COMPLETE)
		tell_span(r, &span);
	else
		buf_addf(&r->told, "%s\tend\t%u\t%u\t%s\t%s\t%g\t%s\n", r->name, e->pid, e->tid, e->name,
			 id_text(r, e->has_id, e->id, id), (double)e->ns / 1e3, span_end_name(what));
}

static void spans_feed_exit(struct run *r, const struct event *e)
{
	if (!strncmp(e->name, "signal ", 7))
		pairs_process_exit(spans_pairs(r->spans), e->ns, e->pid, true, (int)number(e->name + 7));
	else if (!strncmp(e->name, "exit ", 5))
		pairs_process_exit(spans_pairs(r->spans), e->ns, e->pid, true, (int)number(e->name + 5) << 8);
	else
		pairs_process_exit(spans_pairs(r->spans), e->ns, e->pid, false, 0);
}

static void spans_feed(struct run *r, const struct event *e)
{
	struct span_event event = span_event_of(e);

	if (!strcmp(e->what, "B"))
		assert_int_equal(spans_begin(r->spans, &event), 0);
	else if (!strcmp(e->what, "E"))
		spans_feed_end(r, e);
	else if (!strcmp(e->what, "FORK"))
		pairs_fork(spans_pairs(r->spans), e->ns, e->pid, (uint32_t)number(e->name));
	else if (!strcmp(e->what, "EXEC"))
		pairs_exec(spans_pairs(r->spans), e->ns, e->pid);
	else if (!strncmp(e->what, "THREAD_", 7)) /* of a start that is seen, the exit before it was not */
		pairs_thread_exit(spans_pairs(r->spans), e->ns, e->pid, e->tid);
	else if (!strcmp(e->what, "PROC_EXIT"))
		spans_feed_exit(r, e);
	else if (!strcmp(e->what, "LOST"))
		pairs_lost(spans_pairs(r->spans), e->pid, e->since_ns, e->ns);
	else if (!strcmp(e->what, "STOP"))
		pairs_stop(spans_pairs(r->spans), e->ns);
	else
		fail_msg("no event is called '%s'", e->what);
}

static void spans_finish(struct run *r, uint64_t ns)
{
	const struct span_counts *c = spans_counts(r->spans);
	uint64_t closed = 0, without = 0;

	pairs_stop(spans_pairs(r->spans), ns);
	for (size_t i = 0; i < SPAN_LOST; i++)
		closed += c->of[i];
	for (size_t i = SPAN_LOST; i < SPAN_ENDS; i++)
		without += c->of[i];
	assert_int_equal(c->begins, closed);
	assert_int_equal(c->ends, c->of[SPAN_COMPLETE] + without);
	r->spans = spans_free(r->spans);
}

static const struct user user_spans = { "user spans", spans_start, spans_feed, spans_finish };

/* --- spans of runtimes --- */

#define NAMES_MAX 32

/* A definition of each name without an id, by thread, and behind them one of each with an id. */
static struct collect_def defs[2 * NAMES_MAX];
static char names[NAMES_MAX][32];

static unsigned def_of(const char *name, bool has_id)
{
	size_t i = 0;

	while (names[i][0] != '\1' || strcmp(names[i] + 1, name)) {
		if (!names[i][0])
			snprintf(names[i], sizeof(names[i]), "\1%s", name);
		else
			i++;
		assert_true(i < NAMES_MAX);
	}
	return (unsigned)(i + (has_id ? NAMES_MAX : 0));
}

/* Own time, depth and crossing are of user spans alone. */
static int tell_collected(void *ctx, const struct collect_span *s)
{
	struct run *r = ctx;
	size_t def = (size_t)(s->def - defs);
	const char *name = names[def % NAMES_MAX] + 1;
	char text[32];
	const char *id = id_text(r, def >= NAMES_MAX, s->nvalues ? (uint64_t)s->values[0].number : 0, text);

	if (s->end > SPAN_LOST || (s->end == SPAN_LOST && r->is_end))
		buf_addf(&r->told, "%s\tend\t%u\t%u\t%s\t%s\t%g\t%s\n", r->name, s->pid, s->tid, name, id,
			 (double)s->end_ns / 1e3, span_end_name(s->end));
	else
		buf_addf(&r->told, "%s\tspan\t%u\t%u\t%s\t%s\t%g\t%g\t%s\t%s\n", r->name, s->pid, s->tid, name, id,
			 (double)s->begin_ns / 1e3, (double)s->end_ns / 1e3, span_end_name(s->end),
			 s->lost_inside ? "lost inside" : "-");
	return 0;
}

static void collect_start(struct run *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(defs); i++)
		defs[i] = (struct collect_def){ .runtime = "R",
						.kind = "request",
						.by = i < NAMES_MAX ? PAIR_BY_THREAD : PAIR_BY_ID };
	r->collect = collect_new(defs, ARRAY_SIZE(defs), 0, 0, tell_collected, r);
	assert_non_null(r->collect);
}

static void collect_feed_event(struct run *r, const struct event *e)
{
	const struct collect_value id = { .name = "id", .key = collect_name_key("id"), .number = (int64_t)e->id };
	struct collect_event event = { .time_ns = e->ns,
				       .pid = e->pid,
				       .tid = e->tid,
				       .def = def_of(e->name, e->has_id),
				       .role = *e->what == 'B' ? COLLECT_BEGIN : COLLECT_END,
				       .values = &id,
				       .nvalues = e->has_id };

	r->is_end = *e->what == 'E';
	assert_int_equal(collect_event(r->collect, &event), 0);
	r->is_end = false;
}

static void collect_feed(struct run *r, const struct event *e)
{
	if (!strcmp(e->what, "B") || !strcmp(e->what, "E"))
		collect_feed_event(r, e);
	else if (!strcmp(e->what, "FORK"))
		pairs_fork(collect_pairs(r->collect), e->ns, e->pid, (uint32_t)number(e->name));
	else if (!strcmp(e->what, "EXEC"))
		pairs_exec(collect_pairs(r->collect), e->ns, e->pid);
	else if (!strncmp(e->what, "THREAD_", 7))
		pairs_thread_exit(collect_pairs(r->collect), e->ns, e->pid, e->tid);
	else if (!strcmp(e->what, "PROC_EXIT"))
		pairs_process_exit(collect_pairs(r->collect), e->ns, e->pid, false, 0);
	else if (!strcmp(e->what, "LOST"))
		pairs_lost(collect_pairs(r->collect), e->pid, e->since_ns, e->ns);
	else if (!strcmp(e->what, "STOP"))
		pairs_stop(collect_pairs(r->collect), e->ns);
	else
		fail_msg("no event is called '%s'", e->what);
}

static void collect_finish(struct run *r, uint64_t ns)
{
	assert_int_equal(pairs_stop(collect_pairs(r->collect), ns), 0);
	r->collect = collect_free(r->collect);
}

static const struct user runtimes = { "spans of runtimes", collect_start, collect_feed, collect_finish };

/* --- both --- */

static void feed(struct run *r, char *const *column)
{
	const char *id = column[6];
	struct event e = { .what = column[4], .name = column[5], .ns = number(column[1]) * 1000 };

	r->now_us = number(column[1]);
	e.pid = strcmp(column[2], "-") ? (uint32_t)number(column[2]) : 0;
	e.tid = strcmp(column[3], "-") ? (uint32_t)number(column[3]) : 0;
	e.since_ns = e.ns;
	if (!strcmp(e.what, "LOST") && strcmp(id, "-"))
		e.since_ns = number(id) * 1000;
	if (!strcmp(e.what, "B") || !strcmp(e.what, "E")) {
		e.has_id = strcmp(id, "-");
		e.id = e.has_id ? id_of(r, id) : 0;
	}
	r->user->feed(r, &e);
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
			if (cases++)
				r->user->stop(r, r->now_us * 1000);
			snprintf(name, sizeof(name), "%s", row.column[0]);
			r->name = name;
			r->user->start(r);
		}
		feed(r, row.column);
	}
	r->user->stop(r, r->now_us * 1000);
	assert_true(cases >= min_cases);
}

/* What a runtime's user tells of this answer: no own time, depth, exit status, crossing or step of the clock. */
static void add_reduced(struct buf *out, const struct row *row)
{
	const char *const *c = (const char *const *)row->column;
	size_t n = row->n == 12 ? 8 : row->n;

	for (size_t i = 0; i < n; i++)
		buf_addf(out, "%s%s", i ? "\t" : "", c[i]);
	if (row->n == 12)
		buf_addf(out, "\t%.*s\t%s", (int)strcspn(c[10], ","), c[10],
			 strstr(c[11], "lost inside") ? "lost inside" : "-");
	buf_addc(out, '\n');
}

static bool is_in(const char *file, const char *line)
{
	AUTO_FCLOSE FILE *f = open_case(file);
	AUTO_FREE char *other = NULL;
	size_t cap = 0;

	while (getline(&other, &cap, f) > 0)
		if (!strcmp(other, line))
			return true;
	return false;
}

/* An orphan, unless runtime_answers.tsv has it as something else. */
static void add_orphan(struct buf *out, struct row *row)
{
	struct buf line = { 0 };
	char *what = row->column[row->n - 1];

	row->column[row->n - 1] = (char *)"before-attach";
	add_reduced(&line, row);
	if (!is_in("runtime_answers.tsv", line.data)) {
		buf_reset(&line);
		row->column[row->n - 1] = what;
		add_reduced(&line, row);
	}
	buf_add(out, line.data, line.len);
	buf_done(&line);
}

static void read_answers(struct buf *out, const char *file, const struct user *user)
{
	AUTO_FCLOSE FILE *f = open_case(file);
	AUTO_FREE char *line = NULL;
	struct row row;
	size_t cap = 0;

	while (read_row(f, &line, &cap, &row)) {
		if (user == &runtimes && !strcmp(row.column[row.n - 1], "orphan"))
			add_orphan(out, &row);
		else if (user == &runtimes)
			add_reduced(out, &row);
		for (size_t i = 0; user != &runtimes && i < row.n; i++)
			buf_addf(out, "%s%c", row.column[i], i + 1 < row.n ? '\t' : '\n');
	}
}

/* Line by line, so that the case that is wrong is named. */
static void compare(const struct buf *told, const struct buf *answers, const char *who)
{
	const char *at = told->data, *end = told->data + told->len, *want = answers->data;

	for (size_t len; *want; want += len, at += len) {
		len = strcspn(want, "\n") + 1;
		if (at + len > end || memcmp(at, want, len))
			fail_msg("wrong answer of %s\n  wanted %.*s  told   %.*s", who, (int)len, want,
				 at < end ? (int)strcspn(at, "\n") : 7, at < end ? at : "nothing");
	}
	if (at != end)
		fail_msg("%s tell more than there are answers: %.*s", who, (int)(end - at), at);
}

static void check(const struct user *user, const char *events, const char *answers, size_t min_cases)
{
	struct run r = { .user = user };
	struct buf wanted = { 0 };

	run_file(&r, events, min_cases);
	read_answers(&wanted, answers, user);
	compare(&r.told, &wanted, user->name);
	buf_done(&r.told);
	buf_done(&wanted);
}

static void test_user_spans(void **state)
{
	(void)state;
	check(&user_spans, "events.tsv", "answers.tsv", 17);
	check(&user_spans, "more_events.tsv", "more_answers.tsv", 40);
}

static void test_spans_of_runtimes(void **state)
{
	(void)state;
	check(&runtimes, "events.tsv", "answers.tsv", 17);
	check(&runtimes, "more_events.tsv", "more_answers.tsv", 40);
}

UNIT_TESTS(pair_cases)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_user_spans),
					    cmocka_unit_test(test_spans_of_runtimes) };

	return unit_run(tests, NULL, NULL);
}
