/* SPDX-License-Identifier: MIT */
/* The unwind table of a file: what its sources know, laid over each other, and how the walker finds a rule in it. */
#include "elf/unwind.h"

#include "base/auto.h"
#include "base/search.h"
#include "elf/unwind_priv.h"

#define USER_END (1ull << 47)
#define REACH_MAX 0xffff0000ull /* of addresses above the base: they are stored in 32 bits */
#define PAGE_MASK ((1ull << UT_UNWIND_PAGE_SHIFT) - 1)

static int compare_ranges(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void join_ranges(struct unwind_build *b)
{
	size_t n = 0;

	qsort(b->code.v, b->code.n, sizeof(*b->code.v), compare_ranges);
	b->base = b->code.v[0].start & ~PAGE_MASK;
	for (size_t i = 0; i < b->code.n; i++) {
		struct code_range r = b->code.v[i];

		if (r.end - b->base > REACH_MAX)
			r.end = b->base + REACH_MAX;
		if (r.start >= r.end)
			continue;
		if (n && r.start <= b->code.v[n - 1].end) {
			if (r.end > b->code.v[n - 1].end)
				b->code.v[n - 1].end = r.end;
		} else {
			b->code.v[n++] = r;
		}
	}
	b->code.n = n;
}

/* The executable bytes that are in the file. */
static int find_code(struct unwind_build *b)
{
	for (size_t i = 0; i < b->img->segments.n; i++) {
		const struct elf_segment *s = &b->img->segments.v[i];
		struct code_range r = { s->vaddr, s->vaddr + s->filesz };

		if (!s->exec || !s->filesz || s->vaddr >= USER_END || s->filesz > USER_END - s->vaddr ||
		    s->offset >= b->img->size)
			continue;
		if (s->filesz > b->img->size - s->offset)
			r.end = s->vaddr + (b->img->size - s->offset);
		if (vec_push(&b->code, r))
			return -ENOMEM;
	}
	if (b->code.n)
		join_ranges(b);
	return 0;
}

/* The first value of a tag of the dynamic section; 0 when there is none. */
static uint64_t dynamic_value(const struct elf_image *img, int64_t tag)
{
	enum { ENTRIES_MAX = 4096 };
	Elf64_Dyn d;

	for (size_t i = 0; i < img->phdrs.n; i++) {
		const Elf64_Phdr *p = &img->phdrs.v[i];

		if (p->p_type != PT_DYNAMIC)
			continue;
		for (uint64_t k = 0; k < ENTRIES_MAX && (k + 1) * sizeof(d) <= p->p_filesz; k++) {
			if (!image_read(img, p->p_offset + k * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
				break;
			if (d.d_tag == tag)
				return d.d_un.d_val;
		}
		break;
	}
	return 0;
}

static bool is_program(const struct elf_image *img)
{
	for (size_t i = 0; i < img->phdrs.n; i++)
		if (img->phdrs.v[i].p_type == PT_INTERP)
			return true;
	return img->type == ET_EXEC || (dynamic_value(img, DT_FLAGS_1) & DF_1_PIE);
}

/* Programs begin like this: the frame pointer is cleared, or the stack pointer is the first argument. */
static bool begins_program(struct elf_image *img, uint64_t entry)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[8];
	const uint8_t *p = code;

	if (!elf_read_at(img, entry, code, sizeof(code)))
		return false;
	if (memcmp(p, endbr64, sizeof(endbr64)) == 0)
		p += sizeof(endbr64);
	return (p[0] == 0x31 && p[1] == 0xed) || (p[0] == 0x48 && p[1] == 0x31 && p[2] == 0xed) ||
	       (p[0] == 0x48 && p[1] == 0x89 && p[2] == 0xe7);
}

/* Old linkers give a library any entry, so that only what looks like a program's start is believed there. */
static void find_entry(struct unwind_build *b)
{
	Elf64_Ehdr h;

	if (!image_read(b->img, 0, &h, sizeof(h)) || !h.e_entry || !unwind_is_code(b, h.e_entry, h.e_entry + 1))
		return;
	if (is_program(b->img) || begins_program(b->img, h.e_entry))
		b->entry = h.e_entry;
}

/* A program's first function has no caller, whatever its FDE says. */
static int end_at_entry(struct unwind_build *b, struct unwind_layer *layer)
{
	static const struct ut_unwind_rule outermost = { .cfa = UT_CFA_OUTERMOST };
	uint32_t number;
	int r;

	for (size_t i = 0; b->entry && i < layer->spans.n; i++) {
		struct unwind_span *s = &layer->spans.v[i];

		if (s->start + b->base != b->entry)
			continue;
		r = unwind_rule_number(b, &outermost, &number);
		if (r)
			return r;
		layer->rows.v[s->first].rule = number;
		s->n = 1;
	}
	return 0;
}

static int finish_layer(struct unwind_build *b, struct unwind_layer *layer, struct unwind_rows *rows)
{
	struct unwind_rows flat = { 0 };
	int r = end_at_entry(b, layer);

	if (!r)
		r = unwind_flatten(layer, &flat);
	unwind_layer_done(layer);
	if (!r && !rows->n) {
		free(rows->v);
		*rows = flat;
		return 0;
	}
	if (!r)
		r = unwind_overlay(rows, &flat);
	free(flat.v);
	return r;
}

/* Go's FDEs are wrong where a signal returns, so instructions take precedence over .debug_frame. */
static int read_layers(struct unwind_build *b, struct unwind_rows *rows)
{
	struct unwind_layer layer = { 0 };
	int r = unwind_read_eh_frame(b, &layer);

	if (!r)
		r = finish_layer(b, &layer, rows);
	if (!r)
		r = unwind_read_stubs(b, rows, &layer);
	if (!r)
		r = finish_layer(b, &layer, rows);
	if (!r)
		r = unwind_read_debug_frame(b, &layer);
	if (!r)
		r = finish_layer(b, &layer, rows);
	unwind_layer_done(&layer);
	return r;
}

static int build(struct unwind_build *b)
{
	struct unwind_rows rows = { 0 };
	int r;

	b->table->rules = calloc(1, sizeof(*b->table->rules));
	if (!b->table->rules || index_add(&b->rule_index, unwind_rule_hash(b->table->rules), 0))
		return -ENOMEM;
	b->table->nrules = 1; /* what is not known */
	b->rules_cap = 1;
	b->data_base = dynamic_value(b->img, DT_PLTGOT);
	find_entry(b);
	r = read_layers(b, &rows);
	if (!r)
		r = unwind_paginate(b, &rows);
	free(rows.v);
	return r;
}

int unwind_table_build(struct elf_image *img, struct unwind_table *ret, struct ut_err *err)
{
	struct unwind_build b = { .img = img, .table = ret };
	int r;

	*ret = (struct unwind_table){ 0 };
	if (!elf_image_is_x86_64(img)) {
		ret->why = "it is not for x86-64";
		return 0;
	}
	r = find_code(&b);
	if (!r && !b.code.n) {
		ret->why = "it contains no code";
		return 0;
	}
	if (!r)
		r = build(&b);
	if (!r && !ret->pages)
		ret->why = "it has no unwind information (.eh_frame)";
	vec_done(&b.code);
	index_done(&b.rule_index);
	if (r) {
		unwind_table_done(ret);
		return ut_err_nomem(err);
	}
	return 0;
}

void unwind_table_done(struct unwind_table *t)
{
	free(t->directory);
	free(t->rows);
	free(t->rules);
	*t = (struct unwind_table){ 0 };
}

const struct ut_unwind_rule *unwind_table_find(const struct unwind_table *t, uint64_t vaddr)
{
	static const struct ut_unwind_rule unknown;
	uint64_t page = vaddr >> UT_UNWIND_PAGE_SHIFT;
	size_t row;

	if (page < t->first_page || page - t->first_page >= t->pages)
		return &unknown;
	page -= t->first_page;
	/* The first row of a page begins at or before it. */
	row = search_first_not(i, t->directory[page] + 1, t->directory[page + 1],
			       UT_UNWIND_ROW_LOW(t->rows[i]) <= (vaddr & PAGE_MASK)) -
	      1;
	return &t->rules[UT_UNWIND_ROW_RULE(t->rows[row])];
}
