/* SPDX-License-Identifier: MIT */
/*
 * A user event from a program to its ring. The name is read to the stack before anything is reserved, so that its
 * length chooses the record and nothing that can fault runs inside a reservation; only a text, which few events
 * have, is read into the record.
 */
#include "gen/gen_user.h"

#include <stddef.h>
#include <string.h>

#include "gen/gen_priv.h"
#include "usertrace.h"

#define NAME_READ (UT_NAME_ROOM + 1)
#define TEXT_READ (UT_USER_TEXT_ROOM + 1)
#define PAGE 4096 /* no program has anything below */
#define NO_OPERATION 0xf /* a kind that does not exist */

#define HEAD(member) ((int)offsetof(struct ut_rec_event, member))
#define USER(member) ((int)offsetof(struct ut_rec_user, member))
#define THROTTLED(member) ((int)offsetof(struct ut_throttled, member))
#define REFUSED_COUNTER 8 /* behind the count of lost events of this CPU */
#define MEMBER_SIZE(type, member) sizeof(((type *)0)->member)

/* The stack of these programs, 512 bytes down from FP. gen_program uses SP_KEY alone, before they begin. */
enum user_stack {
	SU_KEY = -8,
	SU_WHAT = -16,
	SU_NAME_ADDR = -24,
	SU_VALUE = -32,
	SU_ID = -40,
	SU_TEXT_ADDR = -48,
	SU_NAME_LEN = -56,
	SU_TEXT_LEN = -64,
	SU_AVAILABLE = -72, /* bytes in the ring before this event */
	SU_THROTTLED = -96, /* struct ut_throttled, for a process that has none */
	SU_NAME = -240, /* UT_NAME_ROOM and a word more, to tell the longest from a longer one */
};

struct user {
	struct asm_buf *a;
	const struct gen_options *options;
	const struct gen_prctl *prctl;
	unsigned out;
};

static void move(struct user *u, int to, unsigned from)
{
	asm_load(u->a, 8, R1, R6, (int)from);
	asm_store(u->a, 8, FP, to, R1);
}

/* R1 is the program's argument. 0 is no operation; in a record it means the string form. */
static void store_what(struct user *u)
{
	unsigned given = asm_label(u->a);

	asm_jcci(u->a, BPF_JNE, R1, 0, given);
	asm_movi(u->a, R1, NO_OPERATION);
	asm_place(u->a, given);
	asm_store(u->a, 8, FP, SU_WHAT, R1);
}

static void read_registers(struct user *u)
{
	asm_load(u->a, 4, R1, R6, gen_pt_regs(X86_RDI));
	store_what(u);
	move(u, SU_NAME_ADDR, (unsigned)gen_pt_regs(X86_RSI));
	move(u, SU_VALUE, (unsigned)gen_pt_regs(X86_RDX));
	move(u, SU_ID, (unsigned)gen_pt_regs(X86_RCX));
	move(u, SU_TEXT_ADDR, (unsigned)gen_pt_regs(X86_R8));
}

/* The last argument is an id or a text, as the flags say. */
static void read_last_argument(struct user *u)
{
	unsigned no_id = asm_label(u->a), no_text = asm_label(u->a);

	asm_load(u->a, 8, R1, FP, SU_WHAT);
	asm_load(u->a, 8, R2, R6, (int)u->prctl->arg[3]);
	asm_mov(u->a, R3, R1);
	asm_alui(u->a, BPF_AND, R3, UT_ID);
	asm_jcci(u->a, BPF_JEQ, R3, 0, no_id);
	asm_store(u->a, 8, FP, SU_ID, R2);
	asm_jump(u->a, no_text);
	asm_place(u->a, no_id);
	asm_alui(u->a, BPF_AND, R1, UT_TEXT);
	asm_jcci(u->a, BPF_JEQ, R1, 0, no_text);
	asm_store(u->a, 8, FP, SU_TEXT_ADDR, R2);
	asm_place(u->a, no_text);
}

/* prctl(PR_USER_TRACE, what, name, value, id or text), or the string form: prctl(PR_USER_TRACE, string). */
static void read_prctl(struct user *u)
{
	unsigned string = asm_label(u->a), read = asm_label(u->a);

	asm_load(u->a, 4, R1, R6, (int)u->prctl->option);
	asm_jcci(u->a, BPF_JNE, R1, PR_USER_TRACE, u->out);
	asm_storei(u->a, 8, FP, SU_ID, 0);
	asm_storei(u->a, 8, FP, SU_TEXT_ADDR, 0);
	asm_load(u->a, 8, R1, R6, (int)u->prctl->arg[0]);
	asm_jcci(u->a, BPF_JGE, R1, PAGE, string);
	store_what(u);
	move(u, SU_NAME_ADDR, u->prctl->arg[1]);
	move(u, SU_VALUE, u->prctl->arg[2]);
	read_last_argument(u);
	asm_jump(u->a, read);
	asm_place(u->a, string);
	asm_store(u->a, 8, FP, SU_NAME_ADDR, R1);
	asm_storei(u->a, 8, FP, SU_WHAT, 0);
	asm_storei(u->a, 8, FP, SU_VALUE, 0);
	asm_place(u->a, read);
}

/*
 * Nobody sleeps here for a page: a program may let its own memory wait as long as it likes (userfaultfd, FUSE), and no
 * tracer can detach meanwhile. What is not there is read late.
 */
static void read_name(struct user *u)
{
	asm_mov(u->a, R1, FP);
	asm_alui(u->a, BPF_ADD, R1, SU_NAME);
	asm_movi(u->a, R2, NAME_READ);
	asm_load(u->a, 8, R3, FP, SU_NAME_ADDR);
	asm_call(u->a, BPF_FUNC_probe_read_user_str);
	asm_store(u->a, 8, FP, SU_NAME_LEN, R0);
}

/* R0 = the process's account, created when it has none; jumps to @none when the map is full. */
static void find_account(struct user *u, unsigned none)
{
	unsigned found = asm_label(u->a);

	asm_call(u->a, BPF_FUNC_get_current_pid_tgid);
	asm_alui(u->a, BPF_RSH, R0, 32);
	asm_store(u->a, 4, FP, SU_KEY, R0);
	for (int i = 0; i < 2; i++) {
		asm_map(u->a, R1, GEN_MAP_THROTTLED);
		asm_mov(u->a, R2, FP);
		asm_alui(u->a, BPF_ADD, R2, SU_KEY);
		asm_call(u->a, BPF_FUNC_map_lookup_elem);
		asm_jcci(u->a, BPF_JNE, R0, 0, found);
		if (i == 1)
			break;
		for (int at = 0; at < (int)sizeof(struct ut_throttled); at += 8)
			asm_storei(u->a, 8, FP, SU_THROTTLED + at, 0);
		asm_map(u->a, R1, GEN_MAP_THROTTLED);
		asm_mov(u->a, R2, FP);
		asm_alui(u->a, BPF_ADD, R2, SU_KEY);
		asm_mov(u->a, R3, FP);
		asm_alui(u->a, BPF_ADD, R3, SU_THROTTLED);
		asm_movi(u->a, R4, BPF_NOEXIST);
		asm_call(u->a, BPF_FUNC_map_update_elem);
	}
	asm_jump(u->a, none);
	asm_place(u->a, found);
}

/* A ring that is nearly full is reserved for processes that write little: a flooding process is throttled and
 * counted. */
static void gen_fairness(struct user *u, uint32_t bytes)
{
	unsigned room = asm_label(u->a), same = asm_label(u->a);

	asm_mov(u->a, R1, R9);
	asm_movi(u->a, R2, BPF_RB_AVAIL_DATA);
	asm_call(u->a, BPF_FUNC_ringbuf_query);
	asm_store(u->a, 8, FP, SU_AVAILABLE, R0);
	if (!u->options->fair_bytes)
		return;
	asm_jcci(u->a, BPF_JLT, R0, (int32_t)u->options->fair_bytes, room);
	find_account(u, room);
	asm_mov(u->a, R7, R0);
	asm_call(u->a, BPF_FUNC_ktime_get_ns);
	asm_alui(u->a, BPF_RSH, R0, UT_FAIR_WINDOW_SHIFT);
	asm_load(u->a, 8, R1, R7, THROTTLED(window));
	asm_jcc(u->a, BPF_JEQ, R0, R1, same);
	asm_store(u->a, 8, R7, THROTTLED(window), R0);
	asm_storei(u->a, 8, R7, THROTTLED(bytes), 0);
	asm_place(u->a, same);
	asm_load(u->a, 8, R1, R7, THROTTLED(bytes));
	asm_alui(u->a, BPF_ADD, R1, (int32_t)bytes);
	asm_store(u->a, 8, R7, THROTTLED(bytes), R1);
	asm_jcci(u->a, BPF_JLE, R1, (int32_t)GEN_FAIR_BYTES(u->options->fair_bytes), room);
	asm_movi(u->a, R1, 1);
	asm_xadd(u->a, R7, THROTTLED(throttled), R1);
	asm_movi(u->a, R1, 1);
	asm_xadd(u->a, R8, REFUSED_COUNTER, R1);
	asm_jump(u->a, u->out);
	asm_place(u->a, room);
}

/* R7 = a new record; what does not fit is counted as lost. */
static void user_reserve(struct asm_buf *a, uint32_t size, unsigned out)
{
	unsigned got = asm_label(a);

	asm_mov(a, R1, R9);
	asm_movi(a, R2, (int32_t)size);
	asm_movi(a, R3, 0);
	asm_call(a, BPF_FUNC_ringbuf_reserve);
	asm_jcci(a, BPF_JNE, R0, 0, got);
	asm_movi(a, R1, 1);
	asm_xadd(a, R8, 0, R1);
	asm_jump(a, out);
	asm_place(a, got);
	asm_mov(a, R7, R0);
}

static void user_head(struct asm_buf *a)
{
	asm_call(a, BPF_FUNC_ktime_get_ns);
	asm_store(a, 8, R7, HEAD(time_ns), R0);
	asm_mov(a, R1, R6);
	asm_call(a, BPF_FUNC_get_attach_cookie);
	asm_store(a, 4, R7, HEAD(site), R0);
	asm_load(a, 4, R1, R8, 0);
	asm_store(a, 4, R7, HEAD(lost), R1);
	asm_call(a, BPF_FUNC_get_current_pid_tgid);
	asm_store(a, 4, R7, HEAD(tid), R0);
	asm_alui(a, BPF_RSH, R0, 32);
	asm_store(a, 4, R7, HEAD(pid), R0);
	asm_mov(a, R1, R7);
	asm_alui(a, BPF_ADD, R1, HEAD(comm));
	asm_movi(a, R2, MEMBER_SIZE(struct ut_rec_event, comm));
	asm_call(a, BPF_FUNC_get_current_comm);
	asm_storei(a, 8, R7, HEAD(faults), 0); /* and text_room */
}

/* *(R7 + @to) = *(FP + @from) */
static void user_copy_word(struct asm_buf *a, unsigned size, int to, int from)
{
	asm_load(a, size, R1, FP, from);
	asm_store(a, size, R7, to, R1);
}

/* Whose user the thread is. */
static void user_uid(struct asm_buf *a, int to)
{
	asm_call(a, BPF_FUNC_get_current_uid_gid);
	asm_store(a, 4, R7, to, R0);
}

static void gen_fields(struct user *u, unsigned name_room)
{
	user_copy_word(u->a, 8, USER(id), SU_ID);
	user_copy_word(u->a, 8, USER(value), SU_VALUE);
	user_copy_word(u->a, 8, USER(name_addr), SU_NAME_ADDR);
	user_copy_word(u->a, 8, USER(text_addr), SU_TEXT_ADDR);
	user_copy_word(u->a, 4, USER(what), SU_WHAT);
	user_copy_word(u->a, 4, USER(name_len), SU_NAME_LEN);
	asm_storei(u->a, 4, R7, USER(text_len), 0);
	user_uid(u->a, USER(uid));
	for (unsigned at = 0; at < name_room; at += 8)
		user_copy_word(u->a, 8, USER(name) + (int)at, SU_NAME + (int)at);
}

static void gen_user_text(struct user *u)
{
	unsigned none = asm_label(u->a);

	asm_load(u->a, 8, R3, FP, SU_TEXT_ADDR);
	asm_jcci(u->a, BPF_JEQ, R3, 0, none);
	asm_mov(u->a, R1, R7);
	asm_alui(u->a, BPF_ADD, R1, offsetof(struct ut_rec_user_long, text));
	asm_movi(u->a, R2, TEXT_READ);
	asm_call(u->a, BPF_FUNC_probe_read_user_str);
	asm_store(u->a, 4, R7, USER(text_len), R0);
	asm_place(u->a, none);
}

/*
 * Wakes the reader when this record makes the ring cross the mark, and at once when a name could not be read here: the
 * process may not be there much longer.
 */
static void gen_submit(struct user *u, uint32_t size)
{
	unsigned quiet = asm_label(u->a), wake = asm_label(u->a), usual = asm_label(u->a);

	asm_load(u->a, 8, R1, FP, SU_NAME_ADDR);
	asm_jcci(u->a, BPF_JEQ, R1, 0, usual); /* NULL stays NULL */
	asm_load(u->a, 8, R1, FP, SU_NAME_LEN);
	asm_movi(u->a, R2, BPF_RB_FORCE_WAKEUP);
	asm_jcci(u->a, BPF_JSLT, R1, 0, wake);
	asm_place(u->a, usual);
	asm_movi(u->a, R2, BPF_RB_NO_WAKEUP);
	if (u->options->wake_bytes) {
		asm_load(u->a, 8, R0, FP, SU_AVAILABLE);
		asm_jcci(u->a, BPF_JGE, R0, (int32_t)u->options->wake_bytes, quiet);
		asm_alui(u->a, BPF_ADD, R0, (int32_t)size + BPF_RINGBUF_HDR_SZ);
		asm_jcci(u->a, BPF_JLT, R0, (int32_t)u->options->wake_bytes, quiet);
		asm_movi(u->a, R2, BPF_RB_FORCE_WAKEUP);
		asm_place(u->a, quiet);
	}
	asm_place(u->a, wake);
	asm_mov(u->a, R1, R7);
	asm_call(u->a, BPF_FUNC_ringbuf_submit);
}

/* A complete event with a short name, from values on the stack. */
static void user_short(struct user *u)
{
	gen_fairness(u, sizeof(struct ut_rec_user));
	user_reserve(u->a, sizeof(struct ut_rec_user), u->out);
	user_head(u->a);
	gen_fields(u, UT_NAME_SHORT);
	gen_submit(u, sizeof(struct ut_rec_user));
}

static void gen_long(struct user *u)
{
	gen_fairness(u, sizeof(struct ut_rec_user_long));
	user_reserve(u->a, sizeof(struct ut_rec_user_long), u->out);
	user_head(u->a);
	gen_fields(u, UT_NAME_ROOM);
	gen_user_text(u);
	gen_submit(u, sizeof(struct ut_rec_user_long));
}

/* Exits, at @out too. */
static int user_finish(struct asm_buf *a, unsigned out, struct ut_err *err)
{
	int r;

	asm_place(a, out);
	asm_movi(a, R0, 0);
	asm_exit(a);
	r = asm_finish(a);
	return r == -ENOMEM ? ut_err_nomem(err)
	       : r	    ? ut_err_set(err, r, "the generator left a jump without a target")
			    : 0;
}

int gen_user_snippet(const struct gen_prctl *prctl, const struct gen_options *options, struct gen_snippet *ret,
		     struct ut_err *err)
{
	struct user u = { .a = &ret->code, .options = options, .prctl = prctl };
	unsigned longer;

	memset(ret, 0, sizeof(*ret));
	u.out = asm_label(u.a);
	longer = asm_label(u.a);
	if (prctl)
		read_prctl(&u);
	else
		read_registers(&u);
	read_name(&u);
	asm_load(u.a, 8, R1, FP, SU_TEXT_ADDR);
	asm_jcci(u.a, BPF_JNE, R1, 0, longer);
	asm_jcci(u.a, BPF_JSGT, R0, UT_NAME_SHORT, longer);
	user_short(&u);
	asm_jump(u.a, u.out);
	asm_place(u.a, longer);
	gen_long(&u);
	ret->record_size = sizeof(struct ut_rec_user_long);
	return user_finish(u.a, u.out, err);
}
