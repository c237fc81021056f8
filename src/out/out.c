/* SPDX-License-Identifier: MIT */
/* The table of formats, and what their writers share. */
#include "out/out_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"

const struct out_format *const out_formats[] = {
	&out_svg, &out_folded, &out_pprof, &out_speedscope, NULL,
};

const struct out_format *out_format_named(const char *name)
{
	for (size_t i = 0; out_formats[i]; i++)
		if (!strcmp(out_formats[i]->name, name))
			return out_formats[i];
	return NULL;
}

/* Does @name end with one of @suffixes, after at least one other byte? */
static bool has_suffix(const char *name, const char *suffixes)
{
	size_t len = strlen(name);

	for (const char *s = suffixes; *s; s += strspn(s, " ")) {
		size_t n = strcspn(s, " ");

		if (n < len && !memcmp(name + len - n, s, n))
			return true;
		s += n;
	}
	return false;
}

const struct out_format *out_format_of(const char *path)
{
	const char *name = path_base(path);

	for (size_t i = 0; out_formats[i]; i++)
		if (has_suffix(name, out_formats[i]->suffixes))
			return out_formats[i];
	return NULL;
}

unsigned out_states(const struct profile *p, const struct out_options *o)
{
	unsigned states = 0;

	for (size_t i = 0; i < p->weights.n; i++)
		if (out_wants(o, p->weights.v[i].state))
			states |= 1u << p->weights.v[i].state;
	return states;
}

bool out_has_times(const struct profile *p, const struct out_options *o)
{
	for (size_t i = 0; i < p->weights.n; i++)
		if (p->weights.v[i].value_ns && out_wants(o, p->weights.v[i].state))
			return true;
	return false;
}

const char *out_unit(const struct profile *p) { return p->totals.unit && *p->totals.unit ? p->totals.unit : "samples"; }

/* One pass of a counting sort of the numbers in @from by @key of each weight, into @to. */
static bool sort_pass(const struct profile *p, size_t n, const uint32_t *from, uint32_t *to, bool by_thread)
{
	size_t nkeys = by_thread ? p->threads.n : p->nodes.n, sum = 0;
	uint32_t *at = calloc(nkeys + 1, sizeof(*at));

	if (!at)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct profile_weight *w = &p->weights.v[from[i]];

		at[by_thread ? w->thread : w->node]++;
	}
	for (size_t k = 0; k < nkeys; k++) {
		size_t here = at[k];

		at[k] = (uint32_t)sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++) {
		const struct profile_weight *w = &p->weights.v[from[i]];

		to[at[by_thread ? w->thread : w->node]++] = from[i];
	}
	free(at);
	return true;
}

uint32_t *out_order(const struct profile *p, const struct out_options *o, bool by_thread, size_t *ret_n)
{
	uint32_t *order = malloc((p->weights.n + 1) * sizeof(*order));
	uint32_t *other = malloc((p->weights.n + 1) * sizeof(*other));
	size_t n = 0;
	bool ok = order && other;

	for (size_t i = 0; ok && i < p->weights.n; i++)
		if (out_wants(o, p->weights.v[i].state))
			order[n++] = (uint32_t)i;
	ok = ok && sort_pass(p, n, order, other, false) && (!by_thread || sort_pass(p, n, other, order, true));
	free(ok && !by_thread ? order : other);
	*ret_n = n;
	if (ok)
		return by_thread ? order : other;
	free(order);
	return NULL;
}

int out_map(const struct profile *p, const struct out_options *o, const struct out_tree *tree, void *ctx)
{
	bool grouped = o && (o->per_thread || o->by_process);
	uint32_t thread = UINT32_MAX, root = 0, group = 0;
	AUTO_FREE uint32_t *node_of = calloc(p->nodes.n + 1, sizeof(*node_of));
	AUTO_FREE uint32_t *group_of = calloc(p->nodes.n + 1, sizeof(*group_of)); /* that node_of is of, + 1 */
	VEC(uint32_t) path = { 0 };
	size_t n;
	AUTO_FREE uint32_t *order = out_order(p, o, grouped, &n);
	int r = order && node_of && group_of ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++) {
		const struct profile_weight *w = &p->weights.v[order[i]];
		uint32_t node = w->node, to;

		if (grouped && w->thread != thread) {
			group = thread = w->thread;
			root = tree->group_root(ctx, &p->threads.v[thread]);
		}
		for (path.n = 0; node && group_of[node] != group + 1 && !r; node = p->nodes.v[node].parent)
			r = vec_push(&path, node);
		to = node ? node_of[node] : root;
		while (path.n && to != UINT32_MAX && !r) {
			node = path.v[--path.n];
			to = node_of[node] = tree->child(ctx, to, p->nodes.v[node].frame);
			group_of[node] = group + 1;
		}
		if (!r)
			r = to == UINT32_MAX ? -ENOMEM : tree->add(ctx, to, w);
	}
	vec_done(&path);
	return r;
}

static void add_numbered(struct buf *b, const char *name, int number)
{
	bool named = name && *name;

	if (named)
		buf_adds(b, name);
	if (number <= 0)
		return;
	buf_adds(b, named ? " (" : "");
	buf_addi(b, number);
	buf_adds(b, named ? ")" : "");
}

void out_add_process(struct buf *b, const struct profile_thread *t)
{
	add_numbered(b, t->process && *t->process ? t->process : t->comm, t->pid);
}

void out_add_thread(struct buf *b, const struct profile_thread *t) { add_numbered(b, t->comm, t->tid); }
