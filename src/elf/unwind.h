/* SPDX-License-Identifier: MIT */
/* Unwind information of an ELF file (.eh_frame) compiled into the rows of wire/unwind.h. elfutils cuts the entries, and
 * their instructions are followed here: one pass, where asking address by address is quadratic. Foreign bytes:
 * everything is checked, work is bounded by the size of the file. */
#ifndef UT_ELF_UNWIND_H
#define UT_ELF_UNWIND_H

#include "elf/image.h"
#include "wire/unwind.h"

struct unwind_table {
	uint32_t first_page, pages; /* of 64 KiB of vaddr, from the first address that is known to the last */
	uint32_t *directory; /* pages + 1 entries: number of a row in rows */
	uint32_t *rows;
	uint32_t nrows;
	struct ut_unwind_rule *rules; /* numbers in rows mean these; rules[0] is UT_CFA_UNKNOWN */
	uint32_t nrules;
	/* What could not be compiled, for doctor and tests: */
	uint32_t bad_entries; /* of .eh_frame that contradict the file or themselves */
	uint32_t unsupported; /* rows that became UT_CFA_UNSUPPORTED */
	const char *why; /* static: why there is no row at all; NULL when there are some */
};

/*
 * The table of @img; no rows (pages 0) and `why` when it has no unwind information. 0 or -ENOMEM with a sentence.
 * Overlapping entries: the one that begins later wins in its range. PLT stubs, signal trampolines (known by their
 * instructions too where nothing describes them) and the vDSO are known.
 */
int unwind_table_build(struct elf_image *img, struct unwind_table *ret, struct ut_err *err);
void unwind_table_done(struct unwind_table *t);
/* The rule for @vaddr, as the walker finds it. Never NULL. */
const struct ut_unwind_rule *unwind_table_find(const struct unwind_table *t, uint64_t vaddr);

#endif
