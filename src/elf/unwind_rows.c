/* SPDX-License-Identifier: MIT */
/* Rows of single functions merged: rules are numbered, overlaps decided, sources laid over each other, and all of
 * it is divided into pages. */
#include "base/auto.h"
#include "base/hash.h"
#include "base/search.h"
#include "elf/unwind_priv.h"

uint64_t unwind_rule_hash(const struct ut_unwind_rule *rule)
{
	uint64_t half[2];

	memcpy(half, rule, sizeof(half));
	return hash_pair(half[0], half[1]);
}

int unwind_rule_number(struct unwind_build *b, const struct ut_unwind_rule *rule, uint32_t *ret)
{
	static const struct ut_unwind_rule unsupported = { .cfa = UT_CFA_UNSUPPORTED };
	struct unwind_table *t = b->table;
	uint64_t hash = unwind_rule_hash(rule);
	uint32_t found;

	if (memcmp(rule, &b->last, sizeof(*rule)) == 0) {
		*ret = b->last_number;
		return 0;
	}
	found = index_find(&b->rule_index, hash, i, memcmp(&t->rules[i], rule, sizeof(*rule)) == 0);
	if (found == INDEX_NONE && t->nrules >= UT_UNWIND_RULES_MAX - 1 && rule->cfa != UT_CFA_UNSUPPORTED)
		return unwind_rule_number(b, &unsupported, ret); /* the last number is reserved for it */
	if (found == INDEX_NONE) {
		if (vec_grow_((void **)&t->rules, &b->rules_cap, t->nrules + 1, sizeof(*t->rules)) ||
		    index_add(&b->rule_index, hash, t->nrules))
			return -ENOMEM;
		found = t->nrules;
		t->rules[t->nrules++] = *rule;
	}
	*ret = found;
	b->last = *rule;
	b->last_number = *ret;
	return 0;
}

uint32_t unwind_rows_at(const struct unwind_rows *rows, uint32_t at)
{
	size_t low = search_first_not(i, 0, rows->n, rows->v[i].at <= at);

	return low ? rows->v[low - 1].rule : 0;
}

bool unwind_is_code(const struct unwind_build *b, uint64_t start, uint64_t end)
{
	size_t low = search_first_not(i, 0, b->code.n, b->code.v[i].start <= start);

	return low && end <= b->code.v[low - 1].end && start < end;
}

/* By start; of those that begin together the longer first, so that the shorter lies on top; then as in the file. */
static int compare_spans(const void *a, const void *b)
{
	const struct unwind_span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

int unwind_close_span(struct unwind_build *b, struct unwind_layer *layer, size_t first, uint64_t start, uint64_t end)
{
	struct unwind_span s = { .start = (uint32_t)(start - b->base),
				 .end = (uint32_t)(end - b->base),
				 .first = (uint32_t)first,
				 .n = (uint32_t)(layer->rows.n - first) };

	if (!s.n)
		return 0;
	if (layer->spans.n && compare_spans(&layer->spans.v[layer->spans.n - 1], &s) > 0)
		layer->unsorted = true;
	return vec_push(&layer->spans, s);
}

int unwind_add_span(struct unwind_build *b, struct unwind_layer *layer, uint64_t start, uint64_t end,
		    const struct ut_unwind_rule *rule)
{
	struct unwind_row row = { .at = (uint32_t)(start - b->base) };
	size_t first = layer->rows.n;
	int r = unwind_rule_number(b, rule, &row.rule);

	if (!r)
		r = vec_push(&layer->rows, row);
	return r ? r : unwind_close_span(b, layer, first, start, end);
}

/* Appends a row. It replaces a row with the same address, and a row with the rule of the one before is left out. */
static int append_row(struct unwind_rows *rows, uint32_t at, uint32_t rule)
{
	if (rows->n && rows->v[rows->n - 1].at == at)
		rows->n--;
	if (rows->n ? rows->v[rows->n - 1].rule == rule : !rule)
		return 0;
	return vec_push(rows, ((struct unwind_row){ at, rule }));
}

struct open_span {
	uint32_t end, next, last;
}; /* rows [next, last) are still to come */

struct sweep {
	const struct unwind_layer *layer;
	struct unwind_rows *out;
	VEC(struct open_span) open; /* the later begun on top */
};

/* The rows of the top span that begin before @upto. */
static int append_rows_before(struct sweep *s, uint32_t upto)
{
	struct open_span *top = &s->open.v[s->open.n - 1];
	const struct unwind_row *rows = s->layer->rows.v;

	for (; top->next < top->last && rows[top->next].at < upto; top->next++)
		if (append_row(s->out, rows[top->next].at, rows[top->next].rule))
			return -ENOMEM;
	return 0;
}

/* A span continues after one that covered it. Its first row is further back. */
static int resume(struct sweep *s, uint32_t at)
{
	struct open_span *top = &s->open.v[s->open.n - 1];
	const struct unwind_row *rows = s->layer->rows.v;

	while (top->next < top->last && rows[top->next].at <= at)
		top->next++;
	return append_row(s->out, at, rows[top->next - 1].rule);
}

/* Ends the spans that end at or before @upto. */
static int close_spans(struct sweep *s, uint32_t upto)
{
	while (s->open.n && s->open.v[s->open.n - 1].end <= upto) {
		uint32_t end = s->open.v[s->open.n - 1].end;

		if (append_rows_before(s, end))
			return -ENOMEM;
		while (s->open.n && s->open.v[s->open.n - 1].end <= end)
			s->open.n--;
		if (s->open.n ? resume(s, end) : append_row(s->out, end, 0))
			return -ENOMEM;
	}
	return 0;
}

int unwind_flatten(struct unwind_layer *layer, struct unwind_rows *ret)
{
	struct sweep s = { .layer = layer, .out = ret };
	int r = vec_reserve(ret, layer->rows.n + 1);

	if (layer->unsorted)
		qsort(layer->spans.v, layer->spans.n, sizeof(*layer->spans.v), compare_spans);
	for (size_t i = 0; !r && i < layer->spans.n; i++) {
		const struct unwind_span *span = &layer->spans.v[i];

		r = close_spans(&s, span->start);
		if (!r && s.open.n)
			r = append_rows_before(&s, span->start);
		if (!r)
			r = vec_push(&s.open, ((struct open_span){ span->end, span->first, span->first + span->n }));
		if (!r)
			r = append_rows_before(&s, span->start + 1);
	}
	if (!r)
		r = close_spans(&s, UINT32_MAX);
	vec_done(&s.open);
	return r;
}

int unwind_overlay(struct unwind_rows *rows, const struct unwind_rows *weak)
{
	struct unwind_rows out = { 0 };
	uint32_t rule = 0, weak_rule = 0, at;
	size_t i = 0, k = 0;
	int r;

	if (!weak->n)
		return 0;
	r = vec_reserve(&out, rows->n + weak->n);
	while (!r && (i < rows->n || k < weak->n)) {
		at = i == rows->n || (k < weak->n && weak->v[k].at < rows->v[i].at) ? weak->v[k].at : rows->v[i].at;
		if (i < rows->n && rows->v[i].at == at)
			rule = rows->v[i++].rule;
		if (k < weak->n && weak->v[k].at == at)
			weak_rule = weak->v[k++].rule;
		r = append_row(&out, at, rule ? rule : weak_rule);
	}
	free(rows->v);
	*rows = out;
	return r;
}

static void append_page(struct unwind_table *t, const struct unwind_rows *rows, size_t *i, uint32_t page,
			uint32_t *rule)
{
	if (*i == rows->n || rows->v[*i].at != page << UT_UNWIND_PAGE_SHIFT)
		t->rows[t->nrows++] = UT_UNWIND_ROW(0, *rule);
	for (; *i < rows->n && rows->v[*i].at >> UT_UNWIND_PAGE_SHIFT == page; (*i)++) {
		*rule = rows->v[*i].rule;
		t->rows[t->nrows++] = UT_UNWIND_ROW(UT_UNWIND_ROW_LOW(rows->v[*i].at), *rule);
	}
}

int unwind_paginate(struct unwind_build *b, const struct unwind_rows *rows)
{
	struct unwind_table *t = b->table;
	uint32_t first, last, rule = 0;
	size_t i = 0;

	if (!rows->n)
		return 0;
	first = rows->v[0].at >> UT_UNWIND_PAGE_SHIFT;
	last = (rows->v[rows->n - 1].at - 1) >> UT_UNWIND_PAGE_SHIFT; /* the last row is where knowledge ends */
	t->pages = last - first + 1;
	t->first_page = (uint32_t)(b->base >> UT_UNWIND_PAGE_SHIFT) + first;
	t->directory = malloc((t->pages + 1) * sizeof(*t->directory));
	t->rows = malloc((rows->n + t->pages) * sizeof(*t->rows));
	if (!t->directory || !t->rows)
		return -ENOMEM;
	for (uint32_t page = first; page <= last; page++) {
		t->directory[page - first] = t->nrows;
		append_page(t, rows, &i, page, &rule);
	}
	t->directory[t->pages] = t->nrows;
	return 0;
}

void unwind_layer_done(struct unwind_layer *layer)
{
	vec_done(&layer->rows);
	vec_done(&layer->spans);
	layer->unsorted = false;
}
