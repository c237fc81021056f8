/* SPDX-License-Identifier: MIT */
/*
 * Writes folded stacks: one per line, frames from the outermost with ';' between them, a space, and a number. The number is a
 * count. If waits are included, it is nanoseconds, because counts of samples and of waits cannot be added.
 *
 * In names ':' replaces ';', and \n, \x1b, \x23 and \x20 replace control bytes, a leading '#' and a trailing space. Nothing else
 * changes, so a file that is read and written again stays the same. Suffixes mark the kinds of frames as stackcollapse
 * scripts do: _[k] kernel, _[j] JIT-compiled, _[i] inlined; and _[w] waiting. Stacks with equal lines become one line.
 */
#include <errno.h>
#include <string.h>

#include "base/intern.h"
#include "base/sum.h"
#include "out/out_priv.h"

struct folded {
	const struct profile *p;
	const struct out_options *o;
	bool times;
	VEC(char *) owned; /* the strings */
	struct strings strings;
	uint32_t *string_of_frame;
	struct pairs nodes; /* (parent, string) → node - 1 */
	VEC(uint64_t) values; /* of each of those */
	VEC(uint32_t) path; /* nodes of the current line */
	VEC(size_t) ends; /* of each frame in the line */
};

/* Placeholder frames in brackets have no suffix. */
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

static void add_escaped_name(struct buf *b, const char *name)
{
	size_t len = strlen(name);

	if (*name == '#') { /* would make the line a comment */
		buf_adds(b, "\\x23");
		name++;
		len--;
	}
	buf_add_name(b, name, len);
	if (len && name[len - 1] == ' ') { /* would look like the space before the number */
		b->len--;
		buf_adds(b, "\\x20");
	}
	for (size_t i = 0; i < b->len; i++)
		if (b->data[i] == ';')
			b->data[i] = ':';
}

/* The number of the string for @name in a line. */
static uint32_t name_number(struct folded *f, const char *name, const char *suffix)
{
	struct buf b = { 0 };
	size_t before = f->strings.v.n;
	uint32_t number;
	char *text;

	add_escaped_name(&b, *name ? name : "[no name]");
	buf_adds(&b, suffix);
	text = buf_take(&b);
	number = text ? strings_number(&f->strings, text) : UINT32_MAX;
	if (f->strings.v.n == before || vec_push(&f->owned, text))
		free(text);
	return f->owned.n == f->strings.v.n ? number : UINT32_MAX;
}

static int name_frames(struct folded *f)
{
	const struct profile *p = f->p;

	f->string_of_frame = calloc(p->frames.n + 1, sizeof(*f->string_of_frame));
	if (!f->string_of_frame)
		return -ENOMEM;
	for (size_t i = 0; i < p->frames.n; i++) {
		const struct profile_frame *frame = &p->frames.v[i];

		f->string_of_frame[i] = name_number(f, frame->name, kind_suffix(frame));
		if (f->string_of_frame[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* The node below @parent; UINT32_MAX: out of memory. 0 is the root. */
static uint32_t child_node(struct folded *f, uint32_t parent, uint32_t text)
{
	uint32_t number =
		parent == UINT32_MAX || text == UINT32_MAX ? UINT32_MAX : pairs_number(&f->nodes, parent, text);

	if (number == UINT32_MAX || (number == f->values.n && vec_push(&f->values, 0)))
		return UINT32_MAX;
	return number + 1;
}

static uint32_t folded_child(void *ctx, uint32_t parent, uint32_t frame)
{
	struct folded *f = ctx;

	return child_node(f, parent, f->string_of_frame[frame]);
}

/* The frames before those of the stack: the process, the thread. */
static uint32_t folded_group_root(void *ctx, const struct profile_thread *t)
{
	struct folded *f = ctx;
	uint32_t node = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct buf b = { 0 };

		if (!(i ? f->o->per_thread : f->o->by_process))
			continue;
		(i ? out_add_thread : out_add_process)(&b, t);
		node = b.failed ? UINT32_MAX : child_node(f, node, name_number(f, b.data ? b.data : "", ""));
		buf_done(&b);
	}
	return node;
}

static int folded_add(void *ctx, uint32_t node, const struct profile_weight *w)
{
	struct folded *f = ctx;

	if (!w->node)
		node = child_node(f, node, name_number(f, "[no frames]", ""));
	if (node == UINT32_MAX)
		return -ENOMEM;
	add_u64(&f->values.v[node - 1], f->times ? w->value_ns : w->count);
	return 0;
}

static const struct out_tree folded_tree = { folded_group_root, folded_child, folded_add };

/* Where all strings of frames differ and there are no groups, the nodes are those of the profile. */
static int copy_nodes(struct folded *f)
{
	const struct profile *p = f->p;

	if (vec_reserve(&f->nodes.v, p->nodes.n) || vec_reserve(&f->values, p->nodes.n))
		return -ENOMEM;
	for (size_t i = 1; i < p->nodes.n; i++) {
		f->nodes.v.v[i - 1] = (struct pair){ p->nodes.v[i].parent, f->string_of_frame[p->nodes.v[i].frame] };
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

static bool is_plain(const struct folded *f)
{
	if (f->strings.v.n != f->p->frames.n || (f->o && (f->o->per_thread || f->o->by_process)))
		return false;
	for (size_t i = 0; i < f->p->weights.n; i++)
		if (!f->p->weights.v[i].node)
			return false;
	return true;
}

/* Makes @line the path to @node, and keeps the part that it shares with the path before. */
static int set_path(struct folded *f, struct buf *line, uint32_t node)
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
		buf_adds(line, f->strings.v.v[f->nodes.v.v[f->path.v[i] - 1].b]);
		f->ends.v[i] = line->len;
	}
	f->path.n = f->ends.n = depth;
	return line->failed ? -ENOMEM : 0;
}

static int write_lines(struct folded *f, int fd)
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
	struct folded f = { .p = p, .o = o, .times = out_states(p, o) & waiting };
	int r = name_frames(&f);

	if (!r)
		r = is_plain(&f) ? copy_nodes(&f) : out_map(p, o, &folded_tree, &f);
	if (r)
		ut_err_nomem(err);
	else
		r = write_lines(&f, fd);
	for (size_t i = 0; i < f.owned.n; i++)
		free(f.owned.v[i]);
	vec_done(&f.owned);
	strings_done(&f.strings);
	pairs_done(&f.nodes);
	vec_done(&f.values);
	vec_done(&f.path);
	vec_done(&f.ends);
	free(f.string_of_frame);
	return r;
}

const struct out_format out_folded = {
	.name = "folded",
	.suffixes = ".folded .collapsed",
	.summary = "folded stacks, one per line, for flamegraph.pl",
	.write = write_folded,
};
