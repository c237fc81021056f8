/* SPDX-License-Identifier: MIT */
/* From values on the stack to a record in the CPU's ring: reserve, then read the clock, then fill, then submit. That
 * order is what the merge relies on (record/merge.h). */
#include <linux/bpf.h>
#include <stddef.h>

#include "gen/gen_priv.h"
#include "wire/record.h"

/* R9 = this CPU's ring, R8 = its lost counter. @out: there is none. */
void gen_ring(struct asm_buf *a, uint32_t ncpus, unsigned out)
{
	asm_call(a, BPF_FUNC_get_smp_processor_id);
	asm_mov32(a, R8, R0);
	asm_jcci(a, BPF_JGE, R8, (int32_t)ncpus, out);
	asm_store(a, 4, FP, SP_KEY, R8);
	asm_mov(a, R2, FP);
	asm_alui(a, BPF_ADD, R2, SP_KEY);
	asm_map(a, R1, GEN_MAP_RINGS);
	asm_call(a, BPF_FUNC_map_lookup_elem);
	asm_jcci(a, BPF_JEQ, R0, 0, out);
	asm_mov(a, R9, R0);
	asm_alui(a, BPF_LSH, R8, 6);
	asm_map_value(a, R1, GEN_MAP_LOST);
	asm_alu(a, BPF_ADD, R1, R8);
	asm_mov(a, R8, R1);
}

#define AT(member) ((int)offsetof(struct ut_rec_event, member))

static void gen_caller(struct gen *g, const struct layout *layout)
{
	if (!layout->caller)
		return;
	asm_storei(g->a, 8, R7, (int)layout->caller, 0);
	asm_mov(g->a, R1, R7);
	asm_alui(g->a, BPF_ADD, R1, (int32_t)layout->caller);
	asm_movi(g->a, R2, 8);
	asm_load(g->a, 8, R3, R6, gen_pt_regs(X86_RSP));
	asm_call(g->a, BPF_FUNC_probe_read_user);
}

/*
 * Zero, which the verifier must not know: from a zero it would tell apart every combination of texts that did or did
 * not ask for another try, and walk the program for each. R0 holds any number.
 */
static void clear_retry(struct gen *g)
{
	asm_mov(g->a, R1, R0);
	asm_alu(g->a, BPF_XOR, R1, R0);
	asm_store(g->a, 8, FP, SP_RETRY, R1);
}

static void gen_head(struct gen *g, uint32_t room, enum gen_try try_no)
{
	asm_call(g->a, BPF_FUNC_ktime_get_ns);
	asm_store(g->a, 8, R7, AT(time_ns), R0);
	asm_mov(g->a, R1, R6);
	asm_call(g->a, BPF_FUNC_get_attach_cookie);
	asm_store(g->a, 4, R7, AT(site), R0);
	asm_load(g->a, 4, R1, R8, 0);
	asm_store(g->a, 4, R7, AT(lost), R1);
	asm_call(g->a, BPF_FUNC_get_current_pid_tgid);
	if (try_no != TRY_LAST)
		clear_retry(g);
	asm_store(g->a, 4, R7, AT(tid), R0);
	asm_alui(g->a, BPF_RSH, R0, 32);
	asm_store(g->a, 4, R7, AT(pid), R0);
	asm_mov(g->a, R1, R7);
	asm_alui(g->a, BPF_ADD, R1, AT(comm));
	asm_movi(g->a, R2, sizeof(((struct ut_rec_event *)0)->comm));
	asm_call(g->a, BPF_FUNC_get_current_comm);
	asm_load(g->a, 8, R1, FP, SP_FAULTS);
	asm_store(g->a, 4, R7, AT(faults), R1);
	asm_storei(g->a, 4, R7, AT(text_room), (int32_t)room);
}

static void gen_values(struct gen *g, const struct layout *layout)
{
	for (unsigned i = 0; i < g->checked->noutputs; i++) {
		if (!layout->slot[i].value)
			continue;
		asm_load(g->a, 8, R1, FP, SP_VALUES + 8 * (int)i);
		asm_store(g->a, 8, R7, (int)layout->slot[i].value, R1);
	}
}

/* R2 = flags of the submission: wake the reader once, when this record makes the ring cross the mark. */
static void gen_wake(struct gen *g, uint32_t record_bytes)
{
	unsigned quiet = asm_label(g->a);

	if (g->options->wake_bytes) {
		asm_mov(g->a, R1, R9);
		asm_movi(g->a, R2, BPF_RB_AVAIL_DATA);
		asm_call(g->a, BPF_FUNC_ringbuf_query);
		asm_movi(g->a, R2, BPF_RB_NO_WAKEUP);
		asm_jcci(g->a, BPF_JLT, R0, (int32_t)g->options->wake_bytes, quiet);
		asm_jcci(g->a, BPF_JGE, R0, (int32_t)(g->options->wake_bytes + record_bytes + BPF_RINGBUF_HDR_SZ),
			 quiet);
		asm_movi(g->a, R2, BPF_RB_FORCE_WAKEUP);
		asm_place(g->a, quiet);
	} else {
		asm_movi(g->a, R2, BPF_RB_NO_WAKEUP);
	}
}

static void gen_fill(struct gen *g, const struct layout *layout, uint32_t room, enum gen_try try_no)
{
	gen_head(g, room, try_no);
	gen_values(g, layout);
	gen_caller(g, layout);
	gen_state_copy(g, layout);
	for (unsigned i = 0; i < g->checked->noutputs; i++)
		gen_text(g, i, layout, room, try_no);
}

/* One try; falls through when it was not good enough (never for TRY_LAST). */
static void gen_try(struct gen *g, uint32_t room, enum gen_try try_no, unsigned lost, unsigned out)
{
	unsigned again = asm_label(g->a);
	struct layout layout;

	layout_of(g->checked, room, &layout);
	asm_mov(g->a, R1, R9);
	asm_movi(g->a, R2, (int32_t)layout.size);
	asm_movi(g->a, R3, 0);
	asm_call(g->a, BPF_FUNC_ringbuf_reserve);
	asm_jcci(g->a, BPF_JEQ, R0, 0, lost);
	asm_mov(g->a, R7, R0);
	gen_fill(g, &layout, room, try_no);
	if (try_no != TRY_LAST) {
		asm_load(g->a, 8, R1, FP, SP_RETRY);
		asm_jcci(g->a, BPF_JNE, R1, 0, again);
	}
	gen_wake(g, layout.size);
	asm_mov(g->a, R1, R7);
	asm_call(g->a, BPF_FUNC_ringbuf_submit);
	asm_jump(g->a, out);
	if (try_no != TRY_LAST) {
		asm_place(g->a, again);
		asm_mov(g->a, R1, R7);
		asm_movi(g->a, R2, BPF_RB_NO_WAKEUP);
		asm_call(g->a, BPF_FUNC_ringbuf_discard);
	}
}

static bool has_text(const struct gen *g)
{
	for (unsigned i = 0; i < g->checked->noutputs; i++)
		if (output_has_text(g->checked->outputs[i].kind) && !output_is_stack(g->checked->outputs[i].kind))
			return true;
	return false;
}

void gen_record(struct gen *g)
{
	unsigned lost = asm_label(g->a), out = asm_label(g->a);
	uint32_t full = (g->options->text_limit + 2 + 7) & ~7u;
	uint32_t first = full < GEN_TEXT_FIRST ? full : GEN_TEXT_FIRST;

	if (has_text(g)) {
		gen_try(g, first, TRY_FIRST, lost, out);
		if (g->options->may_sleep && gen_has_user_text(g)) {
			gen_touch(g, false);
			gen_try(g, full, TRY_RESIDENT, lost, out);
			gen_touch(g, true);
		}
	}
	gen_try(g, full, TRY_LAST, lost, out);
	asm_place(g->a, lost);
	asm_movi(g->a, R1, 1);
	asm_xadd(g->a, R8, 0, R1);
	asm_place(g->a, out);
}
