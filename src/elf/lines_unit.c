/* SPDX-License-Identifier: MIT */
/* The functions of one unit and what was inlined into them: read in one pass over its entries, since asking elfutils
 * address by address walks the unit each time. */
#include <dwarf.h>
#include <string.h>

#include "elf/lines_priv.h"

#define DEPTH_MAX 256
#define NODES_MAX (16u << 20) /* of a file: half a gigabyte of memory */

static bool may_hold_code(int tag)
{
	switch (tag) {
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt: return true;
	default: return false;
	}
}

/* A node for @die when it has code. 0, or -ENOMEM. */
static int add_node(struct elf_lines *l, struct unit *u, Dwarf_Die *die, bool inlined)
{
	struct node node = { .die = dwarf_dieoffset(die), .first = (uint32_t)u->spans.n, .inlined = inlined };
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;

	while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
		struct code_range r = { .start = start, .end = end, .what = (uint32_t)u->nodes.n };

		if (!start || start >= end)
			continue;
		if (u->spans.n >= NODES_MAX || vec_push(&u->spans, ((struct span){ start, end })) ||
		    (!inlined && vec_push(&u->functions, r)))
			return -ENOMEM;
	}
	node.n = (uint32_t)u->spans.n - node.first;
	if (!node.n)
		return 0;
	return ++l->nodes > NODES_MAX || vec_push(&u->nodes, node) ? -ENOMEM : 0;
}

/* One level of the walk: an entry whose children are being visited, and the node made for it, if any. */
struct level {
	Dwarf_Die die;
	size_t node; /* number + 1; 0: none */
};

static void close_level(struct unit *u, const struct level *at)
{
	if (at->node)
		u->nodes.v[at->node - 1].end = (uint32_t)u->nodes.n;
}

/* Notes the entry. 1: its children are to be walked. */
static int enter(struct elf_lines *l, struct unit *u, struct level *at)
{
	int tag = dwarf_tag(&at->die);
	size_t before = u->nodes.n;

	at->node = 0;
	if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) &&
	    add_node(l, u, &at->die, tag == DW_TAG_inlined_subroutine))
		return -ENOMEM;
	if (u->nodes.n > before)
		at->node = u->nodes.n;
	return may_hold_code(tag);
}

/*
 * The entry beside @die. When there is none, elfutils has gone to the zero that ends the row of entries, below all that
 * @die holds: *@ret_end, NULL when it did not say.
 */
static bool find_beside(Dwarf_Die *die, Dwarf_Die *ret, const char **ret_end)
{
	*ret = (Dwarf_Die){ 0 };
	if (dwarf_siblingof(die, ret) == 0)
		return true;
	*ret_end = (const char *)ret->addr > (const char *)die->addr && !*(const char *)ret->addr ? ret->addr : NULL;
	return false;
}

/* The entry behind the zero at *@end, without walking over all that is before it again. At another zero: *@end. */
static bool find_behind(struct elf_lines *l, struct unit *u, Dwarf_Die *ret, const char **end)
{
	const char *info = l->info_data ? l->info_data->d_buf : NULL, *at = *end + 1;
	uint64_t unit_end = dwarf_dieoffset(&u->die) - dwarf_cuoffset(&u->die) + u->bytes;

	*end = NULL;
	if (!info || at <= info || (size_t)(at - info) >= l->info_data->d_size || (size_t)(at - info) >= unit_end)
		return false;
	if (*at)
		return dwarf_offdie(l->dwarf, dwarf_dieoffset(&u->die) + (uint64_t)(at - (const char *)u->die.addr),
				    ret);
	*end = at;
	return false;
}

/* The next entry beside the last one, or beside what holds it. False at the end. */
static bool next_level(struct elf_lines *l, struct unit *u, struct level *levels, size_t *depth)
{
	const char *end = NULL;

	while (*depth) {
		struct level *at = &levels[*depth];
		Dwarf_Die next;

		close_level(u, at);
		if (end ? find_behind(l, u, &next, &end) : find_beside(&at->die, &next, &end)) {
			at->die = next;
			return true;
		}
		(*depth)--;
	}
	return false;
}

/* Entries take a byte at least: after as many steps as the unit has bytes, something refers backwards. */
static void walk(struct elf_lines *l, struct unit *u)
{
	uint64_t budget = u->bytes;
	struct level levels[DEPTH_MAX];
	size_t depth = 0;
	bool more = true;

	levels[0].die = u->die;
	while (more && budget--) {
		int r = enter(l, u, &levels[depth]);

		if (r < 0)
			break;
		if (r && depth + 1 < DEPTH_MAX && dwarf_child(&levels[depth].die, &levels[depth + 1].die) == 0)
			depth++;
		else
			more = next_level(l, u, levels, &depth);
	}
	for (; depth; depth--)
		close_level(u, &levels[depth]);
}

static bool covers(const struct unit *u, const struct node *node, uint64_t vaddr)
{
	for (uint32_t i = node->first; i < node->first + node->n; i++)
		if (vaddr >= u->spans.v[i].start && vaddr < u->spans.v[i].end)
			return true;
	return false;
}

size_t unit_chain(struct elf_lines *l, struct unit *u, uint64_t vaddr, uint64_t ret[ELF_PLACES_MAX])
{
	const struct code_range *f;
	size_t n = 0, i, end;

	if (!u->loaded) {
		u->loaded = true;
		walk(l, u);
		code_ranges_index(&u->functions);
	}
	f = code_ranges_find(&u->functions, vaddr);
	if (!f)
		return 0;
	ret[n++] = u->nodes.v[f->what].die;
	end = u->nodes.v[f->what].end;
	for (i = f->what + 1; i < end && n < ELF_PLACES_MAX;) {
		const struct node *node = &u->nodes.v[i];

		if (node->inlined && covers(u, node, vaddr)) {
			ret[n++] = node->die;
			end = node->end;
			i++;
		} else {
			i = node->end > i ? node->end : i + 1;
		}
	}
	return n;
}

void unit_done(struct unit *u)
{
	vec_done(&u->nodes);
	vec_done(&u->spans);
	vec_done(&u->functions);
}
