/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: a line each, frames from the outermost on with ';' between, a blank, a number. The number is a count,
 * as everywhere; with waiting in it, it is nanoseconds, for counts of samples and of waits do not add up.
 *
 * In names ';' is ':', control bytes, a '#' in front and a blank at the end are \n, \x1b, \x23, \x20; nothing else
 * changes, so that what is read back and written again is the same. Kinds of frames are said as stackcollapse scripts
 * do: _[k] kernel, _[j] compiled at run time, _[i] inlined; and _[w] waiting. Stacks whose lines would read the same are
 * one line.
 */
#include <errno.h>
#include <string.h>

#include "base/intern.h"
#include "base/sum.h"
#include "out/out_priv.h"

struct folder {
	const struct profile *p;
	const struct out_options *o;
	bool times;
	VEC(char *) owned; /* texts, freed at the end */
	struct strings texts;
	uint32_t *text_of_frame;
	struct pairs nodes; /* (parent, text) → node - 1 */
	VEC(uint64_t) values; /* of each of those */
	uint32_t *merged, *group_of; /* what a node of the profile became, and in which group + 1 */
	VEC(uint32_t) path;
	VEC(size_t) ends; /* where each frame of the line ends */
};

/* Brackets say by themselves that it is no function. */
static const char *kind_suffix(const struct profile_frame *frame)
{
	switch (frame->kind) {
	case FRAME_KERNEL: return "_[k]";
	case FRAME_COMPILED: return "_[j]";
	case FRAME_INLINED: return "_[i]";
	case FRAME_WAITING: return *frame->name && *frame->name != '[' ? "_[w]" : "";
	default: return "";
	}
}

static void add_text(struct buf *b, const char *name)
{
	size_t len = strlen(name);

	if (*name == '#') { /* a line that begins so is a comment */
		buf_adds(b, "\\x23");
		name++;
		len--;
	}
	buf_add_name(b, name, len);
	if (len && name[len - 1] == ' ') { /* would be taken for one of those before the number */
		b->len--;
		buf_adds(b, "\\x20");
	}
	for (size_t i = 0; i < b->len; i++)
		if (b->data[i] == ';')
			b->data[i] = ':';
}

/* The number of a text that stands for @name in a line. */
static uint32_t text_number(struct folder *f, const char *name, const char *suffix)
{
	struct buf b = { 0 };
	size_t before = f->texts.v.n;
	uint32_t number;
	char *text;

	add_text(&b, *name ? name : "[no name]");
	buf_adds(&b, suffix);
	text = buf_take(&b);
	number = text ? strings_number(&f->texts, text) : UINT32_MAX;
	if (f->texts.v.n == before || vec_push(&f->owned, text))
		free(text);
	return f->owned.n == f->texts.v.n ? number : UINT32_MAX;
}

static int name_frames(struct folder *f)
{
	const struct profile *p = f->p;

	f->text_of_frame = calloc(p->frames.n + 1, sizeof(*f->text_of_frame));
	if (!f->text_of_frame)
		return -ENOMEM;
	for (size_t i = 0; i < p->frames.n; i++) {
		const struct profile_frame *frame = &p->frames.v[i];

		f->text_of_frame[i] = text_number(f, frame->name, kind_suffix(frame));
		if (f->text_of_frame[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* The node below @parent; UINT32_MAX: out of memory. 0 is the root. */
static uint32_t child(struct folder *f, uint32_t parent, uint32_t text)
{
	uint32_t number =
		parent == UINT32_MAX || text == UINT32_MAX ? UINT32_MAX : pairs_number(&f->nodes, parent, text);

	if (number == UINT32_MAX || (number == f->values.n && vec_push(&f->values, 0)))
		return UINT32_MAX;
	return number + 1;
}

/* What stands before the frames: the process, the thread. */
static uint32_t group_root(struct folder *f, const struct profile_thread *t)
{
	uint32_t node = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct buf b = { 0 };

		if (!f->o || !(i ? f->o->per_thread : f->o->by_process))
			continue;
		(i ? out_add_thread : out_add_process)(&b, t);
		node = b.failed ? UINT32_MAX : child(f, node, text_number(f, b.data ? b.data : "", ""));
		buf_done(&b);
	}
	return node;
}

static int merge(struct folder *f, const struct profile_weight *w, uint32_t group, uint32_t root)
{
	uint32_t node = w->node, m;

	f->path.n = 0;
	for (; node && f->group_of[node] != group + 1; node = f->p->nodes.v[node].parent)
		if (vec_push(&f->path, node))
			return -ENOMEM;
	m = node ? f->merged[node] : root;
	while (f->path.n && m != UINT32_MAX) {
		node = f->path.v[--f->path.n];
		m = child(f, m, f->text_of_frame[f->p->nodes.v[node].frame]);
		f->merged[node] = m;
		f->group_of[node] = group + 1;
	}
	if (!w->node)
		m = child(f, m, text_number(f, "[no frames]", ""));
	if (m == UINT32_MAX)
		return -ENOMEM;
	add_u64(&f->values.v[m - 1], f->times ? w->value_ns : w->count);
	return 0;
}

/* Where no two frames read the same and nothing stands before them, the nodes are those of the profile. */
static int take_all(struct folder *f)
{
	const struct profile *p = f->p;

	if (vec_reserve(&f->nodes.v, p->nodes.n) || vec_reserve(&f->values, p->nodes.n))
		return -ENOMEM;
	for (size_t i = 1; i < p->nodes.n; i++) {
		f->nodes.v.v[i - 1] = (struct pair){ p->nodes.v[i].parent, f->text_of_frame[p->nodes.v[i].frame] };
		f->values.v[i - 1] = 0;
	}
	f->nodes.v.n = f->values.n = p->nodes.n - 1;
	for (size_t i = 0; i < p->weights.n; i++) {
		const struct profile_weight *w = &p->weights.v[i];

		if (out_wants(f->o, w->state))
			add_u64(&f->values.v[w->node - 1], f->times ? w->value_ns : w->count);
	}
	return 0;
}

static bool is_plain(const struct folder *f)
{
	if (f->texts.v.n != f->p->frames.n || (f->o && (f->o->per_thread || f->o->by_process)))
		return false;
	for (size_t i = 0; i < f->p->weights.n; i++)
		if (!f->p->weights.v[i].node)
			return false;
	return true;
}

static int merge_all(struct folder *f)
{
	uint32_t thread = UINT32_MAX, root = 0, group = 0;
	bool grouped = f->o && (f->o->per_thread || f->o->by_process);
	size_t n;
	uint32_t *order = (grouped ? out_order : out_order_by_node)(f->p, f->o, &n);
	int r = order ? 0 : -ENOMEM;

	f->merged = calloc(f->p->nodes.n + 1, sizeof(*f->merged));
	f->group_of = calloc(f->p->nodes.n + 1, sizeof(*f->group_of));
	if (!f->merged || !f->group_of)
		r = -ENOMEM;
	for (size_t i = 0; i < n && !r; i++) {
		const struct profile_weight *w = &f->p->weights.v[order[i]];

		if (grouped && w->thread != thread) {
			thread = w->thread;
			group = thread;
			root = group_root(f, &f->p->threads.v[thread]);
		}
		r = merge(f, w, group, root);
	}
	free(order);
	return r;
}

/* The path to @node: what it has in common with the line before is there already. */
static int set_path(struct folder *f, struct buf *line, uint32_t node)
{
	size_t depth = 0, common;
	uint32_t at;

	for (at = node; at; at = f->nodes.v.v[at - 1].a)
		depth++;
	if (vec_reserve(&f->path, depth) || vec_reserve(&f->ends, depth))
		return -ENOMEM;
	common = f->path.n < depth ? f->path.n : depth;
	at = node;
	for (size_t i = depth; i-- > 0; at = f->nodes.v.v[at - 1].a) {
		if (i < common && f->path.v[i] == at)
			break; /* and so are all above */
		f->path.v[i] = at;
		common = i < common ? i : common;
	}
	line->len = common ? f->ends.v[common - 1] : 0;
	for (size_t i = common; i < depth; i++) {
		if (i)
			buf_addc(line, ';');
		buf_adds(line, f->texts.v.v[f->nodes.v.v[f->path.v[i] - 1].b]);
		f->ends.v[i] = line->len;
	}
	f->path.n = f->ends.n = depth;
	return line->failed ? -ENOMEM : 0;
}

static int write_lines(struct folder *f, int fd)
{
	struct writer w = { .fd = fd };
	struct buf line = { 0 };
	int r = 0, end;

	f->path.n = 0;
	for (size_t i = 0; i < f->values.n && !r; i++) {
		if (!f->values.v[i])
			continue;
		r = set_path(f, &line, (uint32_t)i + 1);
		buf_add(&w.b, line.data, line.len);
		buf_addc(&w.b, ' ');
		buf_addu(&w.b, f->values.v[i]);
		buf_addc(&w.b, '\n');
		if (!r)
			r = writer_more(&w);
	}
	end = writer_end(&w);
	buf_done(&line);
	return r ? r : end;
}

static int write_folded(const struct profile *p, const struct out_options *o, int fd, struct ut_err *err)
{
	const unsigned waiting = 1u << PROFILE_RUNNABLE | 1u << PROFILE_BLOCKED;
	struct folder f = { .p = p, .o = o, .times = out_states(p, o) & waiting };
	int r = name_frames(&f);

	if (!r)
		r = is_plain(&f) ? take_all(&f) : merge_all(&f);
	if (r)
		ut_err_nomem(err);
	else
		r = write_lines(&f, fd);
	for (size_t i = 0; i < f.owned.n; i++)
		free(f.owned.v[i]);
	vec_done(&f.owned);
	strings_done(&f.texts);
	pairs_done(&f.nodes);
	vec_done(&f.values);
	vec_done(&f.path);
	vec_done(&f.ends);
	free(f.text_of_frame);
	free(f.merged);
	free(f.group_of);
	return r;
}

const struct out_format out_folded = {
	.name = "folded",
	.suffixes = ".folded .collapsed",
	.summary = "folded stacks, one per line, for flamegraph.pl",
	.write = write_folded,
};
