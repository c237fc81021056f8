/* SPDX-License-Identifier: MIT */
/* What the parts of elf/lines.h share: units of debugging information and their functions. */
#ifndef UT_ELF_LINES_PRIV_H
#define UT_ELF_LINES_PRIV_H

#include <elfutils/libdw.h>

#include "base/vec.h"
#include "elf/lines.h"

struct code_range {
	uint64_t start, end;
	uint64_t reach; /* the highest end of this and all before it */
	uint32_t what; /* number of a unit or a node */
};
struct code_ranges {
	struct code_range *v;
	size_t n, cap;
};

/* lines_ranges.c. Sorts, and makes ready to be searched. */
void code_ranges_index(struct code_ranges *r);
/* The last one to begin of those that hold @vaddr; NULL when none does. */
const struct code_range *code_ranges_find(const struct code_ranges *r, uint64_t vaddr);

/* A function with code, or a call inlined into one. All calls inlined below it follow it in the array. */
struct node {
	uint64_t die; /* its offset */
	uint32_t end; /* number of the first node behind its own */
	uint32_t first, n; /* its ranges, in the unit's spans */
	bool inlined;
};

struct span {
	uint64_t start, end;
};

struct unit {
	Dwarf_Die die;
	uint64_t bytes; /* of the unit */
	enum { LINES_NOT_KNOWN, LINES_FIT, LINES_TOO_MANY } lines;
	bool loaded;
	VEC(struct node) nodes; /* parents before children */
	VEC(struct span) spans;
	struct code_ranges functions; /* what: number of a node */
};

struct elf_lines {
	Elf *elf;
	Dwarf *dwarf;
	VEC(struct unit) units;
	struct code_ranges ranges; /* what: number of a unit */
	uint64_t nodes; /* of all units */
	uint64_t rows; /* of lines, at most, of all units that were asked for them */
	Elf_Data *line_data, *info_data; /* sections as elfutils has them; NULL: there is none */
};

/* lines_unit.c. Offsets of what @vaddr is in, the function first, then the calls inlined there. Returns how many. */
size_t unit_chain(struct elf_lines *l, struct unit *u, uint64_t vaddr, uint64_t ret[ELF_PLACES_MAX]);
void unit_done(struct unit *u);

/* lines_bound.c. May elfutils read what is there? */
bool lines_may_be_read(struct elf_lines *l);
/* May elfutils read the lines of this unit? Not those of a small file that would take all memory. */
bool unit_lines_fit(struct elf_lines *l, struct unit *u);

#endif
