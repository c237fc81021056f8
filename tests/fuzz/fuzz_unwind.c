/* SPDX-License-Identifier: MIT */
/* Fuzz target: the unwind table of an ELF file, what all tables promise, and rules found in it. */
#include <stdint.h>
#include <stdlib.h>

#include "elf/unwind.h"
#include "fuzz.h"

static void expect(int holds)
{
	if (!holds)
		abort();
}

static void check_page(const struct unwind_table *t, uint32_t page)
{
	uint32_t first = t->directory[page], end = t->directory[page + 1];

	expect(first < end && end <= t->nrows && UT_UNWIND_ROW_LOW(t->rows[first]) == 0);
	for (uint32_t i = first; i < end; i++) {
		expect(UT_UNWIND_ROW_RULE(t->rows[i]) < t->nrules);
		expect(i == first || UT_UNWIND_ROW_LOW(t->rows[i]) > UT_UNWIND_ROW_LOW(t->rows[i - 1]));
		expect(i == first || UT_UNWIND_ROW_RULE(t->rows[i]) != UT_UNWIND_ROW_RULE(t->rows[i - 1]));
	}
}

static void check_rules(const struct unwind_table *t)
{
	expect(t->nrules && t->nrules <= UT_UNWIND_RULES_MAX && t->rules[0].cfa == UT_CFA_UNKNOWN);
	for (uint32_t i = 1; i < t->nrules; i++) {
		const struct ut_unwind_rule *r = &t->rules[i];

		expect(r->cfa > UT_CFA_UNKNOWN && r->cfa <= UT_CFA_UNSUPPORTED && r->cfa_reg < 16);
		expect(r->rbp <= UT_SAVED_UNDEFINED && r->rbx <= UT_SAVED_UNDEFINED);
	}
}

/* Memory is bounded by the file, and by the pages of 64 KiB between its first code and its last. */
static void check_size(const struct unwind_table *t, size_t size)
{
	expect(t->pages <= 65536 && t->nrows <= 2 * size + t->pages);
	expect(t->directory[0] == 0 && t->directory[t->pages] == t->nrows);
}

static void find_rules(const struct unwind_table *t)
{
	uint64_t begin = (uint64_t)t->first_page << UT_UNWIND_PAGE_SHIFT;

	for (uint64_t i = 0; i < 64; i++)
		expect(unwind_table_find(t, begin + i * 0x1234567) != NULL);
	expect(unwind_table_find(t, begin - 1)->cfa == UT_CFA_UNKNOWN);
	expect(unwind_table_find(t, begin + ((uint64_t)t->pages << UT_UNWIND_PAGE_SHIFT))->cfa == UT_CFA_UNKNOWN);
	expect(unwind_table_find(t, UINT64_MAX)->cfa == UT_CFA_UNKNOWN);
}

FUZZ_TARGET(unwind)
{
	struct elf_image *img = NULL;
	struct unwind_table t;

	if (elf_image_from_memory(data, size, &img, NULL))
		return 0;
	if (unwind_table_build(img, &t, NULL) == 0) {
		expect(!t.pages == (t.why != NULL));
		if (t.pages) {
			check_size(&t, size);
			check_rules(&t);
			for (uint32_t page = 0; page < t.pages; page++)
				check_page(&t, page);
		}
		find_rules(&t);
		unwind_table_done(&t);
	}
	elf_image_free(img);
	return 0;
}
