/* SPDX-License-Identifier: MIT */
/* The programs that tell what becomes of threads and processes: forks, execs and exits. */
#include <string.h>

#include "gen/gen_user_priv.h"

#define LIFE(member) ((int)offsetof(struct ut_rec_life, member))

/* R7 = a record of what happened. */
static void life_begin(struct asm_buf *a, enum ut_life what, unsigned out)
{
	user_reserve(a, sizeof(struct ut_rec_life), LIFE_COUNTER, out);
	user_head(a);
	asm_storei(a, 4, R7, LIFE(what), what);
	asm_storei(a, 4, R7, LIFE(other), 0);
	asm_storei(a, 4, R7, LIFE(code), 0);
	user_uid(a, LIFE(uid));
}

static int life_end(struct asm_buf *a, unsigned out, struct gen_body *ret, struct ut_err *err)
{
	asm_mov(a, R1, R7);
	asm_movi(a, R2, BPF_RB_NO_WAKEUP);
	asm_call(a, BPF_FUNC_ringbuf_submit);
	ret->record_size = sizeof(struct ut_rec_life);
	return user_finish(a, out, err);
}

#define CLONE_THREAD_FLAG 0x10000 /* CLONE_THREAD of linux/sched.h */

int gen_fork_body(const struct gen_fork *fork, struct gen_body *ret, struct ut_err *err)
{
	struct asm_buf *a = &ret->code;
	unsigned out;

	memset(ret, 0, sizeof(*ret));
	out = asm_label(a);
	asm_load(a, 4, R1, R6, (int)fork->clone_flags);
	asm_alui(a, BPF_AND, R1, CLONE_THREAD_FLAG);
	asm_jcci(a, BPF_JNE, R1, 0, out);
	life_begin(a, UT_LIFE_FORK, out);
	asm_load(a, 4, R1, R6, (int)fork->pid);
	asm_store(a, 4, R7, LIFE(other), R1);
	return life_end(a, out, ret, err);
}

int gen_exec_body(struct gen_body *ret, struct ut_err *err)
{
	unsigned out;

	memset(ret, 0, sizeof(*ret));
	out = asm_label(&ret->code);
	life_begin(&ret->code, UT_LIFE_EXEC, out);
	return life_end(&ret->code, out, ret, err);
}

/* *(FP + @to) = @size bytes at R3 + @offset. */
static void read_kernel(struct asm_buf *a, int to, int32_t size, int offset)
{
	asm_alui(a, BPF_ADD, R3, offset);
	asm_mov(a, R1, FP);
	asm_alui(a, BPF_ADD, R1, to);
	asm_movi(a, R2, size);
	asm_call(a, BPF_FUNC_probe_read_kernel);
}

#define SIGNAL_GROUP_EXIT_FLAG 4 /* SIGNAL_GROUP_EXIT of linux/sched/signal.h */

/* SU_VALUE = @size bytes of the thread's signal_struct, at @offset. */
static void read_signals(struct asm_buf *a, const struct gen_exit *e, int32_t size, int offset)
{
	asm_storei(a, 8, FP, SU_VALUE, 0);
	asm_call(a, BPF_FUNC_get_current_task);
	asm_mov(a, R3, R0);
	read_kernel(a, SU_VALUE, 8, e->task_signal);
	asm_load(a, 8, R3, FP, SU_VALUE);
	asm_storei(a, 8, FP, SU_VALUE, 0);
	read_kernel(a, SU_VALUE, size, offset);
}

/* Adds @flag to SU_ID. */
static void add_flag(struct asm_buf *a, int32_t flag)
{
	asm_load(a, 8, R1, FP, SU_ID);
	asm_alui(a, BPF_OR, R1, flag);
	asm_store(a, 8, FP, SU_ID, R1);
}

static void gen_is_last(struct asm_buf *a, const struct gen_exit *e)
{
	unsigned no = asm_label(a);

	if (e->group_dead >= 0) {
		asm_load(a, 1, R1, R6, e->group_dead);
		asm_jcci(a, BPF_JEQ, R1, 0, no);
	} else if (e->task_signal >= 0 && e->signal_live >= 0) {
		read_signals(a, e, 4, e->signal_live);
		asm_load(a, 4, R1, FP, SU_VALUE);
		asm_jcci(a, BPF_JNE, R1, 0, no);
	} else { /* the first thread usually is */
		asm_call(a, BPF_FUNC_get_current_pid_tgid);
		asm_mov32(a, R1, R0);
		asm_alui(a, BPF_RSH, R0, 32);
		asm_jcc(a, BPF_JNE, R0, R1, no);
	}
	add_flag(a, UT_EXIT_LAST);
	asm_place(a, no);
}

static void gen_is_group(struct asm_buf *a, const struct gen_exit *e)
{
	unsigned no = asm_label(a);

	if (e->task_signal < 0 || e->signal_flags < 0)
		return;
	read_signals(a, e, 4, e->signal_flags);
	asm_load(a, 4, R1, FP, SU_VALUE);
	asm_alui(a, BPF_AND, R1, SIGNAL_GROUP_EXIT_FLAG);
	asm_jcci(a, BPF_JEQ, R1, 0, no);
	add_flag(a, UT_EXIT_GROUP);
	asm_place(a, no);
}

int gen_exit_body(const struct gen_exit *e, struct gen_body *ret, struct ut_err *err)
{
	struct asm_buf *a = &ret->code;
	unsigned out;

	memset(ret, 0, sizeof(*ret));
	out = asm_label(a);
	asm_storei(a, 8, FP, SU_ID, 0);
	asm_storei(a, 8, FP, SU_WHAT, 0);
	gen_is_last(a, e);
	gen_is_group(a, e);
	if (e->task_exit_code >= 0) {
		asm_call(a, BPF_FUNC_get_current_task);
		asm_mov(a, R3, R0);
		read_kernel(a, SU_WHAT, 4, e->task_exit_code);
		add_flag(a, UT_EXIT_CODE_KNOWN);
	}
	life_begin(a, UT_LIFE_EXIT, out);
	user_copy_word(a, 4, LIFE(other), SU_ID);
	user_copy_word(a, 4, LIFE(code), SU_WHAT);
	return life_end(a, out, ret, err);
}
