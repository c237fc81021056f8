/* SPDX-License-Identifier: MIT */
/* What the generator's files share: the registers they keep, the stack they use. Not for others. */
#ifndef UT_GEN_GEN_PRIV_H
#define UT_GEN_GEN_PRIV_H

#include "gen/gen.h"
#include "probe/layout.h"

/*
 * Registers of a snippet: R6 the context, R7 the record while one is reserved, R8 the address of the CPU's lost
 * counter, R9 its ring: the program has set R6, R8 and R9 (gen_ring). R0…R5 are scratch. The stack, 512 bytes down
 * from FP:
 */
enum gen_stack {
	SP_KEY = -8, /* map keys, small reads */
	SP_FAULT_ADDR = -16, /* address of the read that failed */
	SP_FAULTS = -24, /* ut_rec_event.faults */
	SP_DURATION = -32,
	SP_RETRY = -40, /* bit i: text i needs another try */
	SP_KEY2 = -56, /* 16 bytes, for what needs no more than a moment */
	SP_VALUES = -184, /* OUTPUTS_MAX values, 8 bytes each, upward */
	SP_LENGTHS = -312, /* OUTPUTS_MAX lengths of %.*s */
	SP_TEMPS = -440, /* 16 temporaries of expressions */
	SP_LITERAL = -512, /* 72 bytes: text that is compared with a literal */
};
#define SP_TEMPS_MAX 16
#define GEN_LITERAL_ROOM 64 /* with its NUL; the checker refuses longer ones */

struct gen {
	struct asm_buf *a;
	const struct probe_checked *checked;
	const struct gen_site *site;
	const struct gen_options *options;
	struct ut_err *err;
	int error; /* first refusal */
	bool sleeps;
	int temps, literal; /* SP_TEMPS and SP_LITERAL, or where a span has them: gen_state_stack */
	unsigned ntemps;
	unsigned on_fault; /* label: where a failed read of user memory goes, its address in SP_FAULT_ADDR */
};

/* Value of @e into R0; temporaries from number @temp on may be used. gen_expr.c */
void gen_expr(struct gen *g, const struct expr *e, unsigned temp);
/* R0 = 1 when R0 is not 0. Clobbers R2. gen_value.c */
void gen_truth(struct gen *g);
/* The variables' own: gen_var.c */
void gen_var(struct gen *g, const struct expr *e, unsigned temp);
/* The string lies in user memory, and its value is the address: neither the thread's name nor a field of a
 * tracepoint. */
bool gen_is_user_text(const struct expr *text);
/* Compares a string with a literal: R0 becomes 1 when they are equal. A user string's address is in R0.
 * gen_compare.c */
void gen_compare_text(struct gen *g, const struct expr *text, const struct expr *literal);
/* Reads @size bytes of user memory at R3 to FP+@to; on failure goes to on_fault. Clobbers R0…R5. gen_var.c */
void gen_read_user(struct gen *g, int to, unsigned size);
/* R3 = where the text of a tracepoint's field is; returns how much of @size may be read there. Clobbers R4.
 * gen_var.c */
unsigned gen_field_text(struct gen *g, const struct tracepoint_field *f, unsigned size);
/* R0 holds a value of @size bytes: extends it to 64 bits. */
void gen_extend(struct gen *g, unsigned size, bool is_signed);
/* Offset of a register in the kernel's struct pt_regs. */
int gen_pt_regs(enum reg r);
#define GEN_PT_REGS_FLAGS 144 /* and of the processor's flags */
/*
 * The entry or the end of a call of a traced function: SP_DURATION is set; goes to @out for one that is not known. Before
 * values are on the stack. Clobbers R7. gen_call.c
 */
void gen_call_begin(struct gen *g, unsigned out);
void gen_call_end(struct gen *g, unsigned out);
/* Sets R8 and R9. gen_record.c */
void gen_ring(struct asm_buf *a, uint32_t ncpus, unsigned out);
/* Where temporaries and literals lie on the stack. gen_state.c */
void gen_state_stack(struct gen *g);
/* A span's begin or end: changes the process's state, keeps its address for gen_state_copy. */
void gen_state(struct gen *g);
/* That state, into the reserved record at R7. */
void gen_state_copy(struct gen *g, const struct layout *layout);
/* From the reservation to the submission. gen_record.c and gen_text.c */
void gen_record(struct gen *g);
/* Fills text of output @i into the reserved record at R7. */
enum gen_try { TRY_FIRST, TRY_RESIDENT, TRY_LAST };
void gen_text(struct gen *g, unsigned i, const struct layout *layout, uint32_t room, enum gen_try try_no);
/* Faults in the pages of strings before the next try: first their first pages, then the second ones. No record is
 * reserved. */
void gen_touch(struct gen *g, bool second);
bool gen_has_user_text(const struct gen *g);

int gen_refuse(struct gen *g, const struct expr *e, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
