/* SPDX-License-Identifier: MIT */
/* What the programs of the scheduler's events and those of spans share: words, and where they keep things. Not for
 * others. */
#ifndef UT_GEN_GEN_STATE_PRIV_H
#define UT_GEN_GEN_STATE_PRIV_H

#include <stddef.h>

#include "gen/gen_state.h"

/* Where a body has temporaries of expressions and literals, which are needed no more by then. */
enum state_stack {
	ST_NAME = -376, /* struct gen_name */
	ST_VALUE = -440, /* what is put into a map */
	ST_NOW = -448, /* unit time, shifted to where words have it */
	ST_PROCESS = -456, /* address of the struct gen_process, or 0 */
	ST_THREAD = -464, /* of the struct gen_thread, or 0 */
	ST_SLOT = -472,
	ST_KEY = -480,
	ST_TGID = -488,
	ST_TID = -496,
};

#define PROCESS(member) ((int)offsetof(struct gen_process, member))
#define THREAD(member) ((int)offsetof(struct gen_thread, member))
#define SLOT(member) ((int)offsetof(struct gen_slot, member))

#define WORD_COUNT_MASK ((1 << UT_WORD_COUNT_BITS) - 1)

/* ST_NOW. Clobbers R0…R5. */
void state_now(struct asm_buf *a, uint64_t base_ns);
/* One more, one fewer of a word that adds up the time of all. ST_NOW is set. Clobber R1, R2. */
void state_enter(struct asm_buf *a, enum bpf_reg process, int word);
void state_leave(struct asm_buf *a, enum bpf_reg process, int word);
/* The same of a word that adds up the time of nobody. */
void state_enter_any(struct asm_buf *a, enum bpf_reg process, int word);
void state_leave_any(struct asm_buf *a, enum bpf_reg process, int word);
/* A thread of the role in R1 begins or ceases to run. Clobbers R1, R2. */
void state_count_role(struct asm_buf *a, enum bpf_reg process, bool enter);
/* R0 = what @map holds for the 32 bits at FP + @key. */
void state_find(struct asm_buf *a, enum gen_map map, int key);
/* R0 = this processor's slot; 0 never is one, but the verifier wants it asked. */
void state_slot(struct asm_buf *a);
/* A new value, all zero but @process and, where R1 has it, the role, for the thread at ST_TID. R0 = it, or 0. */
void state_new_thread(struct asm_buf *a);
/* The process leaves open = 0, or comes back to it: nobody waits, and what threads remember is of another round. Clobbers
 * R1, R2, R3. */
void state_next_round(struct asm_buf *a, enum bpf_reg process);
/* Takes R1 from the stops that are open; never more than there are. Clobbers R1, R2, R3. */
void state_take_stops(struct asm_buf *a, enum bpf_reg process);

#endif
