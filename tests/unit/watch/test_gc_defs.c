/* SPDX-License-Identifier: MIT */
/* From descriptions of runtimes to probes and definitions: roles, states, versions, kinds, and shared probes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/auto.h"
#include "watch/gc_defs.h"
#include "unit.h"

#define HEAD "[runtime]\nname = Toy\nlanguage = Toy\nmatch = toyvm\nprovider = toy\n"

struct made {
	struct runtimes runtimes;
	struct gc_defs defs;
};

static bool no_returns; /* of those that are made next */

static const struct gc_defs *make(struct made *m, const char *spans, const char *kinds, const char *const *versions,
				  size_t n)
{
	struct ut_err err = { 0 };
	AUTO_FREE char *text = NULL;
	gc_kinds set;

	*m = (struct made){ .defs.no_returns = no_returns };
	assert_true(asprintf(&text, HEAD "%s", spans) > 0);
	if (runtimes_parse("toy.ini", text, strlen(text), &m->runtimes, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(gc_kinds_parse(kinds, &set, &err), 0);
	if (gc_defs_add(&m->defs, &m->runtimes.all.v[0], set, versions, n, &err))
		fail_msg("%s", err.msg);
	return &m->defs;
}

static void done(struct made *m)
{
	gc_defs_done(&m->defs);
	runtimes_done(&m->runtimes);
}

static const struct gc_request *request(const struct gc_defs *d, const char *text)
{
	for (size_t i = 0; i < d->requests.n; i++)
		if (!strcmp(d->requests.v[i].text, text))
			return &d->requests.v[i];
	fail_msg("no request %s", text);
	return NULL;
}

static void assert_use(const struct gc_request *r, size_t i, unsigned def, enum collect_role role)
{
	assert_true(i < r->uses.n);
	assert_int_equal(r->uses.v[i].def, def);
	assert_int_equal(r->uses.v[i].role, role);
}

/* Who helps is the collector, whatever kinds are shown. */
static void test_spans_that_are_watched_with_others(void **state)
{
	static const char *const spans = "[span gc]\nbegin = u:toy:b\nend = u:toy:e\n"
					 "[span gc-phase]\nbegin = u:toy:pb\nend = u:toy:pe\n"
					 "[span gc-phase]\nwith = gc\nbegin = u:toy:hb\nend = u:toy:he\n"
					 "[span park]\nbegin = u:toy:kb\nend = u:toy:ke\n";
	struct made m;
	const struct gc_defs *d = make(&m, spans, "gc", NULL, 0);

	(void)state;
	assert_int_equal(d->defs.n, 2);
	assert_int_equal(request(d, "u:toy:hb \"\"")->state, STATE_STOP);
	assert_int_equal(request(d, "u:toy:he \"\"")->state, STATE_GO);
	done(&m);
	assert_int_equal(make(&m, spans, "gc-phase", NULL, 0)->defs.n, 2);
	done(&m);
	assert_int_equal(make(&m, spans, "park", NULL, 0)->defs.n, 1);
	done(&m);
}

static void test_roles_and_states(void **state)
{
	struct made m;
	const struct gc_defs *d = make(&m,
				       "[span gc]\nbegin = u:toy:b \"full=%d\", arg1\nend = u:toy:e\n"
				       "inside = u:toy:i \"cause=%s\", arg1\nword = full 1 full\n"
				       "[span gc]\ntitle = cycle\nstops = no\nby = process\nbegin = u:toy:cb\n"
				       "end = u:toy:ce\n",
				       "gc", NULL, 0);

	(void)state;
	assert_int_equal(d->defs.n, 2);
	assert_int_equal(d->requests.n, 5);
	assert_int_equal(request(d, "u:toy:b \"full=%d\", arg1")->state, STATE_STOP);
	assert_use(request(d, "u:toy:b \"full=%d\", arg1"), 0, 0, COLLECT_BEGIN);
	assert_int_equal(request(d, "u:toy:e \"\"")->state, STATE_GO);
	assert_use(request(d, "u:toy:e \"\""), 0, 0, COLLECT_END);
	assert_int_equal(request(d, "u:toy:i \"cause=%s\", arg1")->state, STATE_SEE);
	assert_use(request(d, "u:toy:i \"cause=%s\", arg1"), 0, 0, COLLECT_INSIDE);
	assert_int_equal(request(d, "u:toy:cb \"\"")->state, STATE_SEE);
	assert_int_equal(request(d, "u:toy:ce \"\"")->state, STATE_SEE);
	assert_string_equal(d->defs.v[0].runtime, "Toy");
	assert_int_equal(d->defs.v[0].nwords, 1);
	assert_string_equal(d->defs.v[0].words[0].text, "full");
	assert_true(d->defs.v[0].stops);
	assert_false(d->defs.v[1].stops);
	assert_int_equal(d->defs.v[1].by, PAIR_BY_PROCESS);
	assert_string_equal(d->defs.v[1].title, "cycle");
	assert_ptr_equal(d->origins.v[1].span, &m.runtimes.all.v[0].span.v[1]);
	done(&m);
}

/* HotSpot's memory pools begin and end spans of several managers. */
static void test_a_shared_probe_is_asked_for_once(void **state)
{
	struct made m;
	const struct gc_defs *d = make(&m,
				       "[span gc]\nbegin = u:toy:b \"manager=%s\", arg1\nend = u:toy:e\n"
				       "only = manager A*\n"
				       "[span gc]\nbegin = u:toy:b \"manager=%s\", arg1\nend = u:toy:e\n"
				       "only = manager B*\nstops = no\n",
				       "gc", NULL, 0);
	const struct gc_request *b = request(d, "u:toy:b \"manager=%s\", arg1");

	(void)state;
	assert_int_equal(d->requests.n, 2);
	assert_int_equal(b->uses.n, 2);
	assert_use(b, 0, 0, COLLECT_BEGIN);
	assert_use(b, 1, 1, COLLECT_BEGIN);
	assert_int_equal(b->state, STATE_STOP); /* one of the two stops */
	assert_int_equal(request(d, "u:toy:e \"\"")->state, STATE_GO);
	assert_string_equal(d->defs.v[1].only[0].glob, "B*");
	done(&m);
}

/* Where one stop ends and the next begins, nothing changes. */
static void test_the_end_that_is_a_begin(void **state)
{
	struct made m;
	const struct gc_defs *d = make(&m,
				       "[span gc-phase]\nbegin = u:toy:a\nend = u:toy:b\n"
				       "[span gc-phase]\nbegin = u:toy:b\nend = u:toy:c\n",
				       "gc-phase", NULL, 0);

	(void)state;
	assert_int_equal(d->requests.n, 3);
	assert_int_equal(request(d, "u:toy:a \"\"")->state, STATE_STOP);
	assert_int_equal(request(d, "u:toy:b \"\"")->state, STATE_SEE);
	assert_int_equal(request(d, "u:toy:c \"\"")->state, STATE_GO);
	assert_use(request(d, "u:toy:b \"\""), 0, 0, COLLECT_END);
	assert_use(request(d, "u:toy:b \"\""), 1, 1, COLLECT_BEGIN);
	done(&m);
}

static const char by_version[] = "[span gc]\nbegin = u:toy:old\nend = u:toy:e\nbefore = 2\n"
				 "[span gc]\nbegin = u:toy:new\nend = u:toy:e\nsince = 2\n";

static void test_versions(void **state)
{
	static const char *const two[] = { "2.1" }, *const both[] = { "1.9", "3" }, *const unknown[] = { "" };
	struct made m;
	const struct gc_defs *d = make(&m, by_version, "gc", two, 1);

	(void)state;
	assert_int_equal(d->defs.n, 1);
	assert_string_equal(d->requests.v[0].text, "u:toy:new \"\"");
	done(&m);
	assert_int_equal(make(&m, by_version, "gc", both, 2)->defs.n, 2);
	done(&m);
	assert_int_equal(make(&m, by_version, "gc", unknown, 1)->defs.n, 2);
	done(&m);
	assert_int_equal(make(&m, by_version, "gc", NULL, 0)->defs.n, 2);
	done(&m);
}

static void test_kinds(void **state)
{
	static const char spans[] = "[span gc]\nbegin = u:toy:a\nend = u:toy:b\n"
				    "[span compile]\nbegin = u:toy:c\nend = u:toy:d\n";
	struct made m;

	(void)state;
	assert_string_equal(make(&m, spans, "compile", NULL, 0)->defs.v[0].kind, "compile");
	assert_int_equal(m.defs.defs.n, 1);
	done(&m);
	assert_int_equal(make(&m, spans, "all", NULL, 0)->defs.n, 2);
	done(&m);
	assert_int_equal(make(&m, spans, "park,signal", NULL, 0)->defs.n, 0);
	done(&m);
}

static void test_kinds_parse(void **state)
{
	struct ut_err err = { 0 };
	struct buf words = { 0 };
	gc_kinds set;

	(void)state;
	assert_int_equal(gc_kinds_parse(GC_KINDS_DEFAULT, &set, &err), 0);
	gc_kinds_words(set, &words);
	assert_string_equal(words.data, "gc, signal");
	assert_true(gc_kinds_has(set, "signal"));
	assert_false(gc_kinds_has(gc_kinds_of_runtimes(set), "signal"));
	assert_false(gc_kinds_has(set, "compile"));
	assert_false(gc_kinds_has(set, "no such kind"));
	assert_int_equal(gc_kinds_parse("gc,compiel", &set, &err), -EINVAL);
	assert_string_equal(err.msg, "unknown kind 'compiel'; did you mean 'compile'?");
	assert_int_equal(gc_kinds_parse("gc,", &set, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "unknown kind ''; valid kinds: gc, gc-phase"));
	buf_done(&words);
}

/* Each kind that a description may have can be asked for. */
static void test_every_kind_of_a_description(void **state)
{
	char all[] = RUNTIME_KINDS, *save = NULL;
	struct ut_err err = { 0 };
	gc_kinds set;

	(void)state;
	for (char *kind = strtok_r(all, " ", &save); kind; kind = strtok_r(NULL, " ", &save)) {
		assert_int_equal(gc_kinds_parse(kind, &set, &err), 0);
		assert_true(gc_kinds_has(gc_kinds_of_runtimes(set), kind));
	}
}

static const char *label_of(const struct collect_def *def, int64_t number)
{
	for (size_t i = 0; i < def->nwords; i++)
		if (def->words[i].number == number)
			return def->words[i].text;
	return NULL;
}

static void test_signals(void **state)
{
	struct gc_defs d = { 0 };
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(gc_defs_add_signals(&d, &err), 0);
	assert_int_equal(d.defs.n, 1);
	assert_string_equal(d.defs.v[0].kind, GC_KIND_SIGNAL);
	assert_false(d.defs.v[0].stops);
	assert_string_equal(label_of(&d.defs.v[0], 11), "SIGSEGV");
	assert_string_equal(label_of(&d.defs.v[0], 31), "SIGSYS");
	assert_string_equal(label_of(&d.defs.v[0], 32), "SIGRTMIN");
	assert_string_equal(label_of(&d.defs.v[0], 64), "SIGRTMIN+32");
	assert_null(d.origins.v[0].runtime);
	assert_int_equal(d.requests.n, 2);
	assert_use(&d.requests.v[0], 0, 0, COLLECT_BEGIN);
	assert_use(&d.requests.v[1], 0, 0, COLLECT_END);
	assert_int_equal(d.requests.v[0].state, STATE_NONE);
	gc_defs_done(&d);
}

/* What is told beside is missed then, but not a span that could end. */
static void test_no_returns(void **state)
{
	static const char spans[] =
		"[span gc]\nbegin = u:toy:begin\nend = u:toy:end\ninside = r:toyvm:why \"cause=%d\", retval\n"
		"[span gc]\nbegin = p:toyvm:collect\nend = r:toyvm:collect\n";
	struct made m;

	(void)state;
	make(&m, spans, "gc", NULL, 0);
	assert_int_equal(m.defs.defs.n, 2);
	assert_int_equal(m.defs.requests.n, 5);
	done(&m);
	no_returns = true;
	make(&m, spans, "gc", NULL, 0);
	no_returns = false;
	assert_int_equal(m.defs.defs.n, 1);
	assert_int_equal(m.defs.requests.n, 2);
	request(&m.defs, "u:toy:begin \"\"");
	request(&m.defs, "u:toy:end \"\"");
	done(&m);
}

UNIT_TESTS(gc_defs)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roles_and_states),
		cmocka_unit_test(test_spans_that_are_watched_with_others),
		cmocka_unit_test(test_a_shared_probe_is_asked_for_once),
		cmocka_unit_test(test_the_end_that_is_a_begin),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_kinds_parse),
		cmocka_unit_test(test_every_kind_of_a_description),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_no_returns),
	};

	return unit_run(tests, NULL, NULL);
}
