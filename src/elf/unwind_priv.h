/* SPDX-License-Identifier: MIT */
/* What the files of the unwind tables' compiler share: the state of a frame while its instructions are followed, rows
 * before they are divided into pages, and the table that is being built. */
#ifndef UT_ELF_UNWIND_PRIV_H
#define UT_ELF_UNWIND_PRIV_H

#include "base/index.h"
#include "elf/cursor.h"
#include "elf/image_priv.h"
#include "elf/unwind.h"

/* Unwind information beyond this is no program's. */
#define UNWIND_BYTES_MAX (256ull << 20)

/* How the CFA is defined at an address. */
enum cfa_how { CFA_NONE, CFA_REGISTER, CFA_READ, CFA_STUB, CFA_OTHER };
struct cfa_rule {
	uint8_t how; /* enum cfa_how */
	uint8_t reg;
	int64_t off; /* CFA_REGISTER, CFA_READ */
	int64_t add; /* CFA_READ: added to what was read; CFA_STUB: the byte */
};

/* Where the caller's value of a register is saved. */
enum saved_how { SAVED_SAME, SAVED_AT_CFA, SAVED_AT_REGISTER, SAVED_UNDEFINED, SAVED_OTHER };
struct saved_rule {
	uint8_t how; /* enum saved_how */
	uint8_t reg;
	int64_t off;
};

enum kept_register { KEPT_RA, KEPT_RBP, KEPT_RBX, KEPT };
struct frame_state {
	struct cfa_rule cfa;
	struct cfa_rule plain; /* as last defined by a register: the base that half of a definition changes */
	struct saved_rule saved[KEPT];
};

/* A common entry: what several functions' entries begin with. */
struct cie {
	uint64_t offset; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of pointers in entries */
	bool sized; /* entries have augmentation data, led by its size */
	bool bad;
	struct frame_state initial;
};

/* Rows of a stretch of code; addresses count from the build's base. A stretch that nothing is known of is rule 0. */
struct unwind_row {
	uint32_t at, rule;
};
struct unwind_rows {
	struct unwind_row *v;
	size_t n, cap;
};

/* One entry: its rows begin at its start and lie inside of it. */
struct unwind_span {
	uint32_t start, end, first, n;
};

struct unwind_layer { /* what one source knows */
	struct unwind_rows rows; /* of all spans, in the order of the file */
	struct {
		struct unwind_span *v;
		size_t n, cap;
	} spans;
	bool unsorted;
};

struct code_range {
	uint64_t start, end;
};

struct unwind_build {
	struct elf_image *img;
	struct unwind_table *table;
	uint64_t base; /* begin of a page; addresses are in the 4 GiB behind it */
	VEC(struct code_range) code; /* executable bytes of the file, sorted, apart from each other */
	uint64_t data_base; /* what ENC_DATAREL means */
	uint64_t entry; /* where the kernel or the dynamic linker begins; 0: nowhere, or not certain */

	struct index rule_index;
	size_t rules_cap;
	struct ut_unwind_rule last; /* the rule that was asked for last, and its number */
	uint32_t last_number;
};

/* Expressions that define the CFA; CFA_OTHER for an unsupported one. */
struct cfa_rule cfa_from_expression(struct cursor expr);
/* An expression that is a register and a distance: SAVED_AT_REGISTER; SAVED_OTHER for any other. */
struct saved_rule saved_from_expression(struct cursor expr);

/* Follows the instructions of a common entry. */
void cie_run(struct cie *cie, struct cursor program);
/* Follows those of an entry for [start, end), adds its span. 0, -EBADMSG or -ENOMEM. @here: address of program.at. */
int fde_run(struct unwind_build *b, struct unwind_layer *layer, const struct cie *cie, uint64_t start, uint64_t end,
	    struct cursor program, uint64_t here);

/* Reads .eh_frame or .debug_frame into @layer. 0 or -ENOMEM; sets table->why when there is none. */
int unwind_read_eh_frame(struct unwind_build *b, struct unwind_layer *layer);
int unwind_read_debug_frame(struct unwind_build *b, struct unwind_layer *layer);
/* Rules derived from instructions, for addresses without a rule in @known: stubs of the PLT, returns from signals,
 * starts. */
int unwind_read_stubs(struct unwind_build *b, const struct unwind_rows *known, struct unwind_layer *layer);

/* True when all of [start, end) is code in the file, near enough to the base. */
bool unwind_is_code(const struct unwind_build *b, uint64_t start, uint64_t end);
/* The hash of a rule in rule_index. */
uint64_t unwind_rule_hash(const struct ut_unwind_rule *rule);
/* The number of a rule. When there are too many: that of UT_CFA_UNSUPPORTED. 0 or -ENOMEM. */
int unwind_rule_number(struct unwind_build *b, const struct ut_unwind_rule *rule, uint32_t *ret);
/* What is known at an address that counts from the base. */
uint32_t unwind_rows_at(const struct unwind_rows *rows, uint32_t at);
/* Adds a span that is one row. */
int unwind_add_span(struct unwind_build *b, struct unwind_layer *layer, uint64_t start, uint64_t end,
		    const struct ut_unwind_rule *rule);
/* Closes the span whose rows are those from @first on. */
int unwind_close_span(struct unwind_build *b, struct unwind_layer *layer, size_t first, uint64_t start, uint64_t end);
/* Makes sorted rows of all spans; of two that overlap the later begun wins. 0 or -ENOMEM. */
int unwind_flatten(struct unwind_layer *layer, struct unwind_rows *ret);
/* *@rows, and where they know nothing @weak. 0 or -ENOMEM. */
int unwind_overlay(struct unwind_rows *rows, const struct unwind_rows *weak);
/* Cuts rows into the table's pages. 0 or -ENOMEM. */
int unwind_paginate(struct unwind_build *b, const struct unwind_rows *rows);
void unwind_layer_done(struct unwind_layer *layer);

#endif
