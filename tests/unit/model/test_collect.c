/* SPDX-License-Identifier: MIT */
/* Spans of runtimes from their events: pairing, what values say, and what is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "model/collect.h"
#include "model/pair.h"
#include "unit.h"
#include "wire/record.h"

#define START UINT64_C(1000000)
#define SEEN_MAX 8192

static const struct collect_word gc_words[] = { { "full", 1, "full" },
						{ "full", 0, "young" },
						{ "pool", 4, "mixed" },
						{ "cause", 0, "System.gc()" },
						{ "cause", 7, "Timer" } };
static const struct collect_only cycles[] = { { "manager", "*Cycles" } };
static const struct collect_only second[] = { { "generation", "2" } };

enum { GC, SWEEP, QUERY, CYCLE, BY_ID, OLD, NDEFS };

static const struct collect_def defs[] = {
	[GC] = { .runtime = "R",
		 .kind = "gc",
		 .title = "pause",
		 .by = PAIR_BY_PROCESS,
		 .stops = true,
		 .words = gc_words,
		 .nwords = 5 },
	[SWEEP] = { .runtime = "R", .kind = "gc-phase", .title = "sweep", .by = PAIR_BY_THREAD, .part_of = "gc" },
	[QUERY] = { .runtime = "P", .kind = "request", .by = PAIR_BY_THREAD },
	[CYCLE] = { .runtime = "R", .kind = "gc", .title = "cycle", .by = PAIR_BY_PROCESS, .only = cycles, .nonly = 1 },
	[BY_ID] = { .runtime = "R", .kind = "thread", .by = PAIR_BY_ID },
	[OLD] = { .runtime = "R", .kind = "gc", .by = PAIR_BY_THREAD, .only = second, .nonly = 1 },
};

static struct seen {
	struct collect_span span;
	char label[COLLECT_TEXT_MAX], values[400];
} seen[SEEN_MAX];
static size_t nseen;
static int answer;

static int see(void *ctx, const struct collect_span *span)
{
	struct seen *s = &seen[nseen++];
	size_t len = 0;

	assert_ptr_equal(ctx, seen);
	assert_true(nseen < SEEN_MAX);
	assert_non_null(span->label);
	s->span = *span;
	strcpy(s->label, span->label);
	s->values[0] = '\0';
	for (size_t i = 0; i < span->nvalues && len < 300; i++)
		len += (size_t)(span->values[i].is_text ? sprintf(s->values + len, "%s=%.*s ", span->values[i].name,
								  (int)span->values[i].len, span->values[i].text)
							: sprintf(s->values + len, "%s=%ld ", span->values[i].name,
								  (long)span->values[i].number));
	return answer;
}

static struct collect *fresh(void)
{
	nseen = 0;
	answer = 0;
	return collect_new(defs, NDEFS, START, START - 500, see, seen);
}

static struct collect_value number(const char *name, int64_t v)
{
	return (struct collect_value){ .name = name, .key = collect_name_key(name), .number = v };
}

static struct collect_value text(const char *name, const char *v)
{
	return (struct collect_value){
		.name = name, .key = collect_name_key(name), .is_text = true, .text = v, .len = strlen(v)
	};
}

struct at {
	uint64_t ns;
	uint32_t pid, tid;
};

static int feed_values(struct collect *c, struct at at, unsigned def, enum collect_role role,
		       const struct collect_value *v, size_t n)
{
	struct collect_event e = { .time_ns = START + at.ns,
				   .pid = at.pid,
				   .tid = at.tid,
				   .comm = "thread",
				   .def = def,
				   .role = role,
				   .nvalues = n };
	struct collect_value *copy = calloc(n + 1, sizeof(*v));
	char *texts[8] = { 0 };
	int r;

	assert_true(n < 8);
	for (size_t i = 0; i < n; i++) { /* nothing of it lives longer than the call */
		copy[i] = v[i];
		if (v[i].is_text) {
			texts[i] = malloc(v[i].len + 1);
			memcpy(texts[i], v[i].text, v[i].len);
			copy[i].text = texts[i];
		}
	}
	e.values = copy;
	r = collect_event(c, &e);
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	free(copy);
	return r;
}

#define VALUES(...) (const struct collect_value[]){ __VA_ARGS__ }, ARRAY_SIZE(((struct collect_value[]){ __VA_ARGS__ }))
#define AT(ns, pid, tid) \
	(struct at) { ns, pid, tid }

static void feed(struct collect *c, struct at at, unsigned def, enum collect_role role)
{
	assert_int_equal(feed_values(c, at, def, role, NULL, 0), 0);
}

#define begin(c, at, def) feed(c, at, def, COLLECT_BEGIN)
#define end(c, at, def) feed(c, at, def, COLLECT_END)

static void is_span(size_t i, enum span_end close, uint64_t begin_ns, uint64_t end_ns)
{
	assert_true(i < nseen);
	assert_int_equal(seen[i].span.end, close);
	assert_int_equal(seen[i].span.begin_ns, START + begin_ns);
	assert_int_equal(seen[i].span.end_ns, START + end_ns);
}

static size_t seen_as(enum span_end how)
{
	size_t n = 0;

	for (size_t i = 0; i < nseen; i++)
		n += seen[i].span.end == how;
	return n;
}

static void pairs(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	begin(c, AT(10, 1, 11), GC);
	begin(c, AT(11, 2, 21), GC);
	end(c, AT(20, 1, 12), GC); /* by process: another thread may end it */
	end(c, AT(30, 2, 21), GC);
	begin(c, AT(40, 1, 11), QUERY);
	begin(c, AT(41, 1, 12), QUERY);
	end(c, AT(50, 1, 11), QUERY);
	end(c, AT(60, 1, 12), QUERY);
	assert_int_equal(nseen, 4);
	is_span(0, SPAN_COMPLETE, 10, 20);
	is_span(1, SPAN_COMPLETE, 11, 30);
	is_span(2, SPAN_COMPLETE, 40, 50);
	is_span(3, SPAN_COMPLETE, 41, 60);
	assert_int_equal(seen[0].span.tid, 11);
	assert_string_equal(seen[0].span.comm, "thread");
	assert_int_equal(seen[0].span.number, 1);
	assert_int_equal(seen[3].span.number, 2);
	assert_false(seen[0].span.nested);
	assert_string_equal(seen[0].label, "pause");
	assert_string_equal(seen[2].label, "request");
	assert_int_equal(seen_as(SPAN_COMPLETE), 4);
	collect_free(c);
}

static void nesting(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	begin(c, AT(10, 1, 11), QUERY);
	begin(c, AT(20, 1, 11), QUERY);
	begin(c, AT(25, 1, 11), SWEEP);
	end(c, AT(30, 1, 11), QUERY);
	end(c, AT(35, 1, 11), SWEEP);
	end(c, AT(40, 1, 11), QUERY);
	is_span(0, SPAN_COMPLETE, 20, 30);
	is_span(1, SPAN_COMPLETE, 25, 35);
	is_span(2, SPAN_COMPLETE, 10, 40);
	assert_true(seen[0].span.nested);
	assert_false(seen[1].span.nested); /* of another kind */
	assert_false(seen[2].span.nested);
	assert_int_equal(seen[0].span.number, 2);
	assert_int_equal(seen[2].span.number, 1);
	collect_free(c);
}

static void by_id(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	feed_values(c, AT(1, 1, 11), BY_ID, COLLECT_BEGIN, VALUES(number("id", 7)));
	feed_values(c, AT(2, 1, 11), BY_ID, COLLECT_BEGIN, VALUES(number("id", 8)));
	feed_values(c, AT(3, 1, 11), BY_ID, COLLECT_BEGIN, VALUES(text("id", "seven")));
	feed_values(c, AT(4, 1, 11), BY_ID, COLLECT_INSIDE, VALUES(number("id", 7), text("name", "of seven")));
	feed_values(c, AT(5, 1, 99), BY_ID, COLLECT_END, VALUES(number("id", 7)));
	feed_values(c, AT(6, 1, 99), BY_ID, COLLECT_END, VALUES(text("id", "seven")));
	feed_values(c, AT(7, 1, 99), BY_ID, COLLECT_END, VALUES(number("id", 8)));
	is_span(0, SPAN_COMPLETE, 1, 5);
	is_span(1, SPAN_COMPLETE, 3, 6);
	is_span(2, SPAN_COMPLETE, 2, 7);
	assert_string_equal(seen[0].label, "of seven");
	assert_string_equal(seen[1].label, "thread");
	collect_free(c);
}

static void what_values_say(void **ctx)
{
	struct collect *c = fresh();
	const struct collect_span *s = &seen[0].span;

	(void)ctx;
	feed_values(c, AT(1, 1, 11), GC, COLLECT_BEGIN,
		    VALUES(number("full", 1), number("used", 900), number("heap", 5000)));
	feed_values(c, AT(2, 1, 11), GC, COLLECT_INSIDE, VALUES(text("cause", "System.gc()")));
	feed_values(c, AT(3, 1, 11), GC, COLLECT_INSIDE, VALUES(text("cause", "not this"), text("name", "G1 Full")));
	feed_values(c, AT(9, 1, 11), GC, COLLECT_END,
		    VALUES(number("used", 300), number("heap", 4000), number("objects", 12), text("note", "x")));
	assert_string_equal(seen[0].label, "full");
	assert_string_equal(s->name, "G1 Full");
	assert_string_equal(s->cause, "System.gc()");
	assert_true(s->has_before && s->has_after && s->has_freed && s->has_heap && s->has_objects);
	assert_int_equal(s->before, 900);
	assert_int_equal(s->after, 300);
	assert_int_equal(s->freed, 600);
	assert_int_equal(s->heap, 4000);
	assert_int_equal(s->objects, 12);
	assert_string_equal(seen[0].values, "full=1 used=900 heap=5000 used=300 heap=4000 objects=12 note=x ");
	collect_free(c);
}

static void parts_are_added_up(void **ctx)
{
	struct collect *c = fresh();
	const struct collect_span *s = &seen[0].span;

	(void)ctx;
	begin(c, AT(1, 1, 11), GC);
	for (int i = 1; i <= 3; i++)
		feed_values(c, AT(1, 1, 11), GC, COLLECT_INSIDE, VALUES(number("before", 100 * i)));
	for (int i = 1; i <= 3; i++)
		feed_values(c, AT(2, 1, 11), GC, COLLECT_INSIDE, VALUES(number("after", 10 * i), number("freed", i)));
	feed_values(c, AT(3, 1, 11), GC, COLLECT_END, VALUES(number("heap", -1))); /* no size */
	assert_int_equal(s->before, 600);
	assert_int_equal(s->after, 60);
	assert_int_equal(s->freed, 6); /* as told, not as worked out */
	assert_false(s->has_heap);
	/* more afterwards than before: nothing is said about what was freed */
	feed_values(c, AT(4, 1, 11), GC, COLLECT_BEGIN, VALUES(number("used", 5)));
	feed_values(c, AT(5, 1, 11), GC, COLLECT_END, VALUES(number("used", 6)));
	assert_false(seen[1].span.has_freed);
	assert_true(seen[1].span.has_before && seen[1].span.has_after);
	collect_free(c);
}

static void inside_of_a_pause(void **ctx)
{
	struct collect *c = fresh();
	const struct collect_span *s = &seen[0].span;

	(void)ctx;
	/* The heap is told before and after each of two collections in one pause. */
	begin(c, AT(1, 1, 11), GC);
	feed_values(c, AT(2, 1, 11), GC, COLLECT_INSIDE,
		    VALUES(number("used", 900), number("cause", 7), number("pool", 4)));
	feed_values(c, AT(3, 1, 11), GC, COLLECT_INSIDE,
		    VALUES(number("used", 500), number("cause", 0), number("full", 0)));
	feed_values(c, AT(4, 1, 11), GC, COLLECT_INSIDE, VALUES(number("used", -1), number("full", 1)));
	feed_values(c, AT(5, 1, 11), GC, COLLECT_INSIDE, VALUES(number("used", 200), number("pool", 4)));
	end(c, AT(6, 1, 11), GC);
	assert_true(s->has_before && s->has_after);
	assert_int_equal(s->before, 900);
	assert_int_equal(s->after, 200);
	assert_int_equal(s->freed, 700);
	assert_string_equal(s->cause, "Timer"); /* of the first */
	assert_string_equal(seen[0].label, "full"); /* the first word of the list, not the first that came */
	feed_values(c, AT(7, 1, 11), GC, COLLECT_BEGIN, VALUES(number("cause", 99), number("used", 5)));
	feed_values(c, AT(8, 1, 11), GC, COLLECT_INSIDE, VALUES(number("used", 4)));
	end(c, AT(9, 1, 11), GC);
	assert_string_equal(seen[1].span.cause, ""); /* a number without a word */
	assert_string_equal(seen[1].label, "pause");
	assert_int_equal(seen[1].span.after, 4);
	collect_free(c);
}

static void labels(void **ctx)
{
	struct collect *c = fresh();
	char longer[400];

	(void)ctx;
	feed_values(c, AT(1, 1, 11), GC, COLLECT_BEGIN, VALUES(number("full", 5)));
	feed_values(c, AT(2, 1, 11), GC, COLLECT_END, VALUES(number("full", 0)));
	assert_string_equal(seen[0].label, "young"); /* the end's word, where the begin has none */
	memset(longer, 'x', sizeof(longer));
	memcpy(longer + COLLECT_TEXT_MAX - 2, "é", 2); /* is not cut in two */
	longer[399] = '\0';
	feed_values(c, AT(3, 1, 11), QUERY, COLLECT_BEGIN, VALUES(text("name", ""), text("name", longer)));
	end(c, AT(4, 1, 11), QUERY);
	assert_int_equal(strlen(seen[1].label), COLLECT_TEXT_MAX - 2);
	assert_memory_equal(seen[1].label, longer, COLLECT_TEXT_MAX - 2);
	feed_values(c, AT(5, 1, 11), QUERY, COLLECT_BEGIN, VALUES(text("name", "boom"), text("class", "GcChurn")));
	end(c, AT(6, 1, 11), QUERY);
	assert_string_equal(seen[2].label, "GcChurn.boom");
	feed_values(c, AT(7, 1, 11), QUERY, COLLECT_BEGIN, VALUES(text("class", longer), text("name", longer)));
	end(c, AT(8, 1, 11), QUERY);
	assert_int_equal(strlen(seen[3].label), COLLECT_TEXT_MAX - 2);
	feed_values(c, AT(9, 1, 11), QUERY, COLLECT_BEGIN, VALUES(text("class", ""), text("name", "alone")));
	end(c, AT(10, 1, 11), QUERY);
	assert_string_equal(seen[4].label, "alone");
	collect_free(c);
}

static void only(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	/* Its ends tell the value. */
	feed_values(c, AT(1, 1, 11), CYCLE, COLLECT_BEGIN, VALUES(text("manager", "ZGC Cycles")));
	feed_values(c, AT(2, 1, 11), CYCLE, COLLECT_BEGIN, VALUES(text("manager", "ZGC Pauses")));
	feed_values(c, AT(3, 1, 11), CYCLE, COLLECT_INSIDE, VALUES(text("manager", "ZGC Pauses"), text("cause", "no")));
	feed_values(c, AT(3, 1, 11), CYCLE, COLLECT_INSIDE,
		    VALUES(text("manager", "ZGC Cycles"), text("cause", "yes")));
	feed_values(c, AT(4, 1, 11), CYCLE, COLLECT_END, VALUES(text("manager", "ZGC Pauses")));
	feed_values(c, AT(5, 1, 11), CYCLE, COLLECT_END, VALUES(text("manager", "ZGC Pauses")));
	feed_values(c, AT(6, 1, 11), CYCLE, COLLECT_END, VALUES(text("manager", "ZGC Cycles")));
	assert_int_equal(nseen, 1);
	is_span(0, SPAN_COMPLETE, 1, 6);
	assert_string_equal(seen[0].span.cause, "yes");
	assert_string_equal(seen[0].label, "cycle");
	/* They do not, and are paired all the same. */
	feed_values(c, AT(10, 1, 11), OLD, COLLECT_BEGIN, VALUES(number("generation", 2)));
	feed_values(c, AT(11, 1, 11), OLD, COLLECT_BEGIN, VALUES(number("generation", 0)));
	end(c, AT(12, 1, 11), OLD);
	end(c, AT(13, 1, 11), OLD);
	begin(c, AT(14, 1, 11), OLD); /* could not be read */
	end(c, AT(15, 1, 11), OLD);
	end(c, AT(16, 1, 11), OLD); /* nobody knows of what */
	assert_int_equal(nseen, 2);
	is_span(1, SPAN_COMPLETE, 10, 13);
	assert_int_equal(seen[1].span.number, 1);
	collect_free(c);
}

/* What a begin does not tell, something inside or the end may. */
static void only_told_later(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	feed_values(c, AT(1, 1, 11), OLD, COLLECT_BEGIN, VALUES(number("used", 50)));
	begin(c, AT(2, 1, 12), OLD);
	feed_values(c, AT(3, 1, 11), OLD, COLLECT_INSIDE, VALUES(number("generation", 2)));
	end(c, AT(4, 1, 12), OLD); /* nothing told it */
	end(c, AT(5, 1, 11), OLD);
	assert_int_equal(nseen, 1);
	is_span(0, SPAN_COMPLETE, 1, 5);
	assert_true(seen[0].span.has_before && seen[0].span.before == 50);
	begin(c, AT(6, 1, 11), OLD);
	feed_values(c, AT(7, 1, 11), OLD, COLLECT_INSIDE, VALUES(number("generation", 1)));
	feed_values(c, AT(8, 1, 11), OLD, COLLECT_END, VALUES(number("generation", 1)));
	assert_int_equal(nseen, 1);
	begin(c, AT(9, 1, 11), OLD);
	feed_values(c, AT(10, 1, 11), OLD, COLLECT_END, VALUES(number("generation", 2)));
	assert_int_equal(nseen, 2);
	is_span(1, SPAN_COMPLETE, 9, 10);
	assert_int_equal(seen[1].span.number, 2);
	assert_false(seen[1].span.nested);
	/* Told of nobody, or not in time. */
	begin(c, AT(11, 1, 11), OLD);
	assert_int_equal(pairs_stop(collect_pairs(c), START + 12), 0);
	assert_int_equal(nseen, 2);
	collect_free(c);
}

/* An end that comes when something went wrong, and otherwise too. */
static void ends_of_what_failed(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	feed_values(c, AT(1, 1, 11), QUERY, COLLECT_END, VALUES(number("failed", 1))); /* nothing is open */
	begin(c, AT(2, 1, 11), QUERY);
	begin(c, AT(3, 1, 12), QUERY);
	begin(c, AT(4, 1, 11), QUERY);
	feed_values(c, AT(5, 1, 11), QUERY, COLLECT_END, VALUES(number("failed", 1)));
	assert_int_equal(nseen, 2);
	is_span(0, SPAN_COMPLETE, 4, 5);
	is_span(1, SPAN_COMPLETE, 2, 5);
	assert_string_equal(seen[1].values, "failed=1 ");
	feed_values(c, AT(6, 1, 11), QUERY, COLLECT_END, VALUES(number("failed", 1)));
	feed_values(c, AT(7, 1, 12), QUERY, COLLECT_END, VALUES(number("failed", 0)));
	assert_int_equal(nseen, 3);
	is_span(2, SPAN_COMPLETE, 3, 7);
	collect_free(c);
}

static void insides_of_threads(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	begin(c, AT(1, 1, 11), QUERY);
	begin(c, AT(2, 1, 12), QUERY);
	feed_values(c, AT(3, 1, 11), QUERY, COLLECT_INSIDE, VALUES(text("name", "one")));
	feed_values(c, AT(4, 1, 19), QUERY, COLLECT_INSIDE, VALUES(text("name", "two"))); /* the newest */
	feed_values(c, AT(4, 3, 19), QUERY, COLLECT_INSIDE, VALUES(text("name", "of nobody")));
	end(c, AT(5, 1, 11), QUERY);
	end(c, AT(6, 1, 12), QUERY);
	assert_string_equal(seen[0].label, "one");
	assert_string_equal(seen[1].label, "two");
	collect_free(c);
}

static void cut_at_both_ends(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	feed_values(c, AT(5, 1, 11), GC, COLLECT_END, VALUES(number("full", 1)));
	begin(c, AT(6, 1, 11), GC);
	begin(c, AT(7, 1, 11), SWEEP);
	begin(c, AT(8, 2, 21), GC);
	assert_int_equal(pairs_stop(collect_pairs(c), START + 50), 0);
	is_span(0, SPAN_BEFORE_ATTACH, 0, 5);
	assert_string_equal(seen[0].label, "full");
	assert_string_equal(seen[0].values, "full=1 ");
	assert_false(seen[0].span.stall.known);
	is_span(1, SPAN_OPEN, 8, 50);
	is_span(2, SPAN_OPEN, 7, 50);
	is_span(3, SPAN_OPEN, 6, 50);
	assert_int_equal(nseen, 4);
	assert_int_equal(pairs_stop(collect_pairs(c), START + 60), 0);
	assert_int_equal(nseen, 4);
	collect_free(c);
}

static void ends_of_processes_and_threads(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	begin(c, AT(1, 1, 11), GC);
	begin(c, AT(2, 1, 11), SWEEP);
	begin(c, AT(3, 1, 12), SWEEP);
	assert_int_equal(pairs_thread_exit(collect_pairs(c), START + 4, 1, 11), 0);
	assert_int_equal(nseen, 1);
	is_span(0, SPAN_THREAD_EXITED, 2, 4); /* another thread may end the collection */
	assert_int_equal(pairs_exec(collect_pairs(c), START + 5, 1), 0);
	is_span(1, SPAN_EXEC, 3, 5);
	is_span(2, SPAN_EXEC, 1, 5);
	end(c, AT(7, 1, 11), GC); /* of the new program, before its probes were there */
	is_span(3, SPAN_BEFORE_ATTACH, 5, 7);
	assert_int_equal(seen[3].span.number, 1);
	begin(c, AT(8, 1, 11), GC);
	assert_int_equal(pairs_process_exit(collect_pairs(c), START + 9, 1, false, 0), 0);
	is_span(4, SPAN_PROCESS_EXITED, 8, 9);
	assert_int_equal(pairs_process_exit(collect_pairs(c), START + 9, 1, false, 0), 0);
	assert_int_equal(pairs_process_exit(collect_pairs(c), START + 9, 4, false, 0), 0);
	end(c, AT(12, 1, 11), GC); /* a process of that number whose start was not seen */
	is_span(5, SPAN_BEFORE_ATTACH, 9, 12);
	collect_free(c);
}

static void forks(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	begin(c, AT(1, 1, 1), GC);
	begin(c, AT(2, 1, 1), QUERY);
	assert_int_equal(pairs_fork(collect_pairs(c), START + 3, 1, 5), 0);
	assert_int_equal(pairs_fork(collect_pairs(c), START + 4, 5, 6), 0);
	begin(c, AT(5, 5, 5), GC);
	end(c, AT(6, 5, 5), GC); /* its own */
	end(c, AT(7, 5, 5), GC); /* its parent's */
	end(c, AT(8, 6, 66), QUERY); /* of a thread that was not there at the fork */
	end(c, AT(9, 6, 6), QUERY);
	end(c, AT(10, 5, 5), GC);
	end(c, AT(11, 1, 1), QUERY);
	end(c, AT(12, 1, 1), GC);
	assert_int_equal(nseen, 7);
	is_span(0, SPAN_COMPLETE, 5, 6);
	is_span(1, SPAN_INHERITED, 3, 7);
	is_span(2, SPAN_BEFORE_ATTACH, 4, 8);
	is_span(3, SPAN_INHERITED, 4, 9);
	is_span(4, SPAN_ORPHAN, 10, 10); /* one of its own was seen to begin */
	is_span(5, SPAN_COMPLETE, 2, 11);
	is_span(6, SPAN_COMPLETE, 1, 12);
	assert_int_equal(seen_as(SPAN_INHERITED), 2);
	/* The same number again, and the end of the first was not seen. */
	begin(c, AT(20, 5, 5), GC);
	assert_int_equal(pairs_fork(collect_pairs(c), START + 21, 1, 5), 0);
	is_span(7, SPAN_PROCESS_EXITED, 20, 21);
	/* Another program inherits nothing. */
	begin(c, AT(30, 1, 1), GC);
	assert_int_equal(pairs_fork(collect_pairs(c), START + 31, 1, 7), 0);
	assert_int_equal(pairs_exec(collect_pairs(c), START + 32, 7), 0);
	end(c, AT(33, 7, 7), GC);
	is_span(8, SPAN_BEFORE_ATTACH, 32, 33);
	collect_free(c);
}

static void losses(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	begin(c, AT(1, 1, 11), GC);
	begin(c, AT(2, 1, 11), SWEEP);
	pairs_lost(collect_pairs(c), 0, START + 3, START + 9);
	begin(c, AT(10, 1, 11), GC); /* the first one's end was lost */
	is_span(0, SPAN_LOST, 1, 9);
	assert_true(seen[0].span.lost_inside);
	end(c, AT(11, 1, 11), GC);
	is_span(1, SPAN_COMPLETE, 10, 11);
	assert_false(seen[1].span.lost_inside);
	end(c, AT(12, 1, 11), SWEEP);
	is_span(2, SPAN_COMPLETE, 2, 12);
	assert_true(seen[2].span.lost_inside);
	/* A begin that was lost. */
	pairs_lost(collect_pairs(c), 0, START + 20, START + 25);
	end(c, AT(26, 1, 11), GC);
	is_span(3, SPAN_LOST, 20, 26);
	assert_true(seen[3].span.lost_inside);
	collect_free(c);
}

/* What has been seen to nest may go on nesting over a loss. */
static void losses_and_nesting(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	begin(c, AT(1, 1, 11), QUERY);
	begin(c, AT(2, 1, 11), QUERY);
	end(c, AT(3, 1, 11), QUERY);
	pairs_lost(collect_pairs(c), 0, START + 4, START + 5);
	begin(c, AT(6, 1, 11), QUERY);
	end(c, AT(7, 1, 11), QUERY);
	end(c, AT(8, 1, 11), QUERY);
	assert_int_equal(nseen, 3);
	is_span(1, SPAN_COMPLETE, 6, 7);
	is_span(2, SPAN_COMPLETE, 1, 8);
	assert_true(seen[2].span.lost_inside);
	collect_free(c);
}

static void limits(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	for (unsigned i = 0; i < COLLECT_OPEN_MAX + 2; i++)
		begin(c, AT(i, 1, 11), QUERY);
	assert_int_equal(nseen, 2);
	is_span(0, SPAN_EVICTED, 0, COLLECT_OPEN_MAX);
	is_span(1, SPAN_EVICTED, 1, COLLECT_OPEN_MAX + 1);
	assert_int_equal(pairs_stop(collect_pairs(c), START + COLLECT_OPEN_MAX + 9), 0);
	assert_int_equal(nseen, COLLECT_OPEN_MAX + 2);
	collect_free(c);
}

static void measured(void **ctx)
{
	const uint64_t unit = UINT64_C(1) << UT_WORD_COUNT_BITS;
	struct ut_rec_state from = { .known = 1 }, to = { .known = 1, .program = 1000 * unit };
	struct collect_event e = { .time_ns = START + 16000, .pid = 1, .tid = 1, .def = GC, .state = &from };
	struct collect *c = fresh();

	(void)ctx;
	assert_int_equal(collect_event(c, &e), 0);
	memset(&from, 0xee, sizeof(from));
	e = (struct collect_event){ .time_ns = START + 64000, .pid = 1, .tid = 1, .role = COLLECT_END, .state = &to };
	assert_int_equal(collect_event(c, &e), 0);
	assert_true(seen[0].span.stall.known);
	assert_int_equal(seen[0].span.stall.program_ns, 16000);
	assert_int_equal(seen[0].span.stall.stopped_ns, 48000);
	begin(c, AT(70000, 1, 1), GC);
	e.time_ns = START + 80000;
	assert_int_equal(collect_event(c, &e), 0);
	assert_false(seen[1].span.stall.known);
	collect_free(c);
}

/* What the receiver answers is what the caller gets, and nothing stays behind. */
static void answers(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	begin(c, AT(1, 1, 11), QUERY);
	begin(c, AT(2, 1, 11), QUERY);
	begin(c, AT(3, 1, 11), GC);
	answer = -32;
	assert_int_equal(feed_values(c, AT(4, 1, 11), GC, COLLECT_END, NULL, 0), -32);
	assert_int_equal(pairs_process_exit(collect_pairs(c), START + 5, 1, false, 0), -32);
	assert_int_equal(nseen, 2);
	assert_int_equal(pairs_stop(collect_pairs(c), START + 6), 0);
	assert_int_equal(feed_values(c, AT(7, 1, 11), NDEFS, COLLECT_END, NULL, 0), 0); /* no such definition */
	collect_free(c);
	assert_null(collect_free(NULL));
}

static void clock_steps(void **ctx)
{
	struct collect *c = fresh();

	(void)ctx;
	begin(c, AT(9, 1, 11), GC);
	end(c, AT(5, 1, 11), GC);
	is_span(0, SPAN_COMPLETE, 9, 9);
	collect_free(c);
}

/* Collections that stop the process, and nothing else, not those that are left out or another's. */
static void stopped_since(void **state)
{
	struct collect *c = fresh();

	(void)state;
	assert_int_equal(collect_stopped_since(c, 1), 0);
	feed(c, AT(10, 1, 1), SWEEP, COLLECT_BEGIN);
	feed(c, AT(20, 1, 1), QUERY, COLLECT_BEGIN);
	feed(c, AT(25, 1, 2), OLD, COLLECT_BEGIN);
	assert_int_equal(collect_stopped_since(c, 1), 0);
	feed(c, AT(30, 1, 2), GC, COLLECT_BEGIN);
	feed(c, AT(40, 1, 2), GC, COLLECT_BEGIN);
	assert_int_equal(collect_stopped_since(c, 1), START + 30);
	assert_int_equal(collect_stopped_since(c, 2), 0);
	feed(c, AT(50, 1, 2), GC, COLLECT_END);
	assert_int_equal(collect_stopped_since(c, 1), START + 30);
	feed(c, AT(60, 1, 3), GC, COLLECT_END);
	assert_int_equal(collect_stopped_since(c, 1), 0);
	collect_free(c);
}

UNIT_TESTS(collect)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs),
		cmocka_unit_test(nesting),
		cmocka_unit_test(by_id),
		cmocka_unit_test(what_values_say),
		cmocka_unit_test(parts_are_added_up),
		cmocka_unit_test(labels),
		cmocka_unit_test(inside_of_a_pause),
		cmocka_unit_test(only),
		cmocka_unit_test(only_told_later),
		cmocka_unit_test(insides_of_threads),
		cmocka_unit_test(ends_of_what_failed),
		cmocka_unit_test(cut_at_both_ends),
		cmocka_unit_test(ends_of_processes_and_threads),
		cmocka_unit_test(forks),
		cmocka_unit_test(losses),
		cmocka_unit_test(losses_and_nesting),
		cmocka_unit_test(limits),
		cmocka_unit_test(measured),
		cmocka_unit_test(answers),
		cmocka_unit_test(clock_steps),
		cmocka_unit_test(stopped_since),
	};

	return unit_run(tests, NULL, NULL);
}
