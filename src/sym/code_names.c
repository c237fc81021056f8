/* SPDX-License-Identifier: MIT */
/* The names of resolved lookups: each is read from its file once, however many lookups share it. */
#include <stdlib.h>
#include <string.h>

#include "sym/code_priv.h"

struct found {
	VEC(struct code_question *) v;
};

static bool is_dump(const struct code_question *q) { return q->found >= CODE_LOAD; }

static int compare_by_source(const void *a, const void *b)
{
	const struct code_question *x = *(struct code_question *const *)a, *y = *(struct code_question *const *)b;

	if (is_dump(x) != is_dump(y))
		return is_dump(x) - is_dump(y);
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* A copy that lives as long as @c; NULL for an empty text. */
static const char *store_string(struct code_maps *c, const char *text, size_t len)
{
	char *copy = len ? strndup(text, len) : NULL;

	if (copy && vec_push(&c->texts, copy)) {
		free(copy);
		return NULL;
	}
	return copy;
}

/* File names are few and repeat. */
static const char *store_file(struct code_maps *c, const char *text, size_t len)
{
	const char *copy = store_string(c, text, len);
	uint32_t number = copy ? strings_number(&c->files, copy) : UINT32_MAX;

	if (number == UINT32_MAX || c->files.v.v[number] == copy)
		return copy;
	free(c->texts.v[--c->texts.n]);
	return c->files.v.v[number];
}

static struct code_name *store_name(struct code_maps *c, struct code_name n, const struct buf *text)
{
	struct code_name *copy = malloc(sizeof(*copy));

	if (!copy || vec_push(&c->names, copy)) {
		free(copy);
		return NULL;
	}
	n.name = text->data ? store_string(c, text->data, text->len) : NULL;
	*copy = n;
	return copy;
}

/* The name that a line or a LOAD has; NULL when the file does not have it any more. */
static struct code_name *read_name(struct code_maps *c, const struct code_question *q)
{
	AUTO(buf_done) struct buf text = { 0 };
	struct code_name n = { 0 };
	bool is_there = is_dump(q) ? code_dump_name(c->dumps.v[q->source], q->at, &n, &text)
				   : code_map_name(c->maps.v[q->source], q->at, &n, &text);

	return is_there && !text.failed ? store_name(c, n, &text) : NULL;
}

const struct code_name *code_line_name(struct code_maps *c, const struct code_map *m, const struct code_dump *d,
				       struct code_line *line)
{
	AUTO(buf_done) struct buf text = { 0 };
	struct code_name n = { 0 };

	if (line->name)
		return line->name;
	if ((d ? code_dump_line_name(d, line, &n, &text) : code_map_name(m, line->at, &n, &text)) && !text.failed)
		line->name = store_name(c, n, &text);
	return line->name;
}

/* The last record of source lines is kept, since lookups in one function follow each other. */
struct lines {
	void *bytes;
	struct jitdump_lines lines;
	uint64_t at;
	const struct code_dump *dump;
};

static void lines_done(struct lines *l)
{
	jitdump_lines_done(&l->lines);
	free(l->bytes);
}

static void read_debug_lines(struct lines *l, const struct code_dump *d, uint64_t at)
{
	size_t len;

	lines_done(l);
	*l = (struct lines){ .at = at, .dump = d };
	l->bytes = code_dump_lines(d, at, &len);
	if (l->bytes && jitdump_lines_read(&d->head, l->bytes, len, &l->lines))
		jitdump_lines_done(&l->lines);
}

static void find_line(struct code_maps *c, struct lines *l, struct code_question *q, uint64_t addr)
{
	const struct code_dump *d = c->dumps.v[q->source];
	const struct jitdump_line *line;

	if (!q->debug)
		return;
	if (l->dump != d || l->at != q->debug)
		read_debug_lines(l, d, q->debug);
	line = jitdump_line_at(&l->lines, addr);
	if (!line)
		return;
	q->file = store_file(c, line->file, line->file_len < CODE_NAME_MAX ? line->file_len : CODE_NAME_MAX);
	q->line = line->line;
}

/* One function: all lookups from @first on with the same line or record. */
static size_t name_group(struct code_maps *c, struct found *f, size_t first, struct lines *l)
{
	const struct code_name *name = read_name(c, f->v.v[first]);
	size_t i = first;

	for (; i < f->v.n && !compare_by_source(&f->v.v[first], &f->v.v[i]); i++) {
		struct code_question *q = f->v.v[i];

		q->named = true;
		q->name = name && q->addr - name->start < name->size ? name : NULL;
		if (q->name && is_dump(q))
			find_line(c, l, q, q->addr);
	}
	return i;
}

/* Moved code: the name of its LOAD, and the address range of its MOVE. */
static void name_moved(struct code_maps *c, const struct code_moved *m, struct lines *l)
{
	AUTO(buf_done) struct buf text = { 0 };
	struct code_question *q = m->q;
	struct code_name n;
	uint64_t loaded;

	if (!q->at || !code_dump_name(c->dumps.v[q->source], q->at, &n, &text) || text.failed)
		return;
	loaded = n.start;
	n.start = m->start;
	n.size = m->size;
	q->name = store_name(c, n, &text);
	find_line(c, l, q, loaded + (q->addr - m->start));
}

static void name_all_moved(struct code_maps *c, uint16_t dump, struct found *f, struct lines *l)
{
	struct code_moved *moved = calloc(f->v.n ? f->v.n : 1, sizeof(*moved));
	size_t n = 0;

	for (size_t i = 0; moved && i < f->v.n; i++) {
		struct code_question *q = f->v.v[i];

		if (q->source != dump)
			continue;
		q->named = true;
		q->name = NULL;
		n += code_dump_move(c->dumps.v[dump], q, &moved[n]);
	}
	if (n)
		code_dump_moves(c->dumps.v[dump], moved, n);
	for (size_t i = 0; i < n; i++)
		name_moved(c, &moved[i], l);
	free(moved);
}

/* Lookups resolved since the last call; those of moved code separately. */
static void collect_unnamed(struct code_maps *c, struct found *plain, struct found *moved)
{
	for (size_t i = 0; i < c->settled.q.n; i++) {
		struct code_question *q = &c->settled.q.v[i];

		if (q->named || q->found == CODE_NOBODY)
			continue;
		if (q->found == CODE_GONE) {
			q->name = NULL;
			q->named = true;
		} else {
			vec_push(q->found == CODE_MOVE ? &moved->v : &plain->v, q);
		}
	}
}

void code_names_fill(struct code_maps *c)
{
	struct found plain = { 0 }, moved = { 0 };
	struct lines l = { 0 };

	collect_unnamed(c, &plain, &moved);
	if (plain.v.n)
		qsort(plain.v.v, plain.v.n, sizeof(*plain.v.v), compare_by_source);
	for (size_t i = 0; i < plain.v.n;)
		i = name_group(c, &plain, i, &l);
	for (size_t i = 0; moved.v.n && i < c->dumps.n; i++)
		name_all_moved(c, (uint16_t)i, &moved, &l);
	lines_done(&l);
	vec_done(&plain.v);
	vec_done(&moved.v);
}
