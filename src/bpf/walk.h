/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The walker: from the registers of a thread to the addresses of its calls, by the tables of wire/unwind.h. Compiled
 * for the kernel by sample.bpf.c and for the host by src/sample/blocked.c and tests; who includes it says how memory is
 * read and rules are found:
 *
 *   WALK_READ(w, to, size, address)	0 when @size bytes of the program were copied, without waiting for a page
 *   WALK_FIND(w, pc, rule)		enum ut_unwind_code of what lies at pc, its rule in *rule (UT_CODE_TABLE);
 *					0: no mapping is known there
 *   WALK_RETURN(w, place, ret)		0: the kernel has put another address in the place of *ret, at address place of
 *					the stack, as it probes the function's return (may be left out)
 *
 * The walk is walk_begin() or walk_begin_bare(), then walk_step() until it returns 1; the addresses go to w->ips.
 */
#ifndef UT_BPF_WALK_H
#define UT_BPF_WALK_H

#include "wire/sample.h"

#ifndef WALK_INLINE
#define WALK_INLINE static inline __attribute__((always_inline))
#endif

#ifndef WALK_RETURN
#define WALK_RETURN(w, place, ret) 1
#endif

/* DWARF's numbers of registers. */
enum walk_reg { WALK_RBX = 3, WALK_RDI = 5, WALK_RBP = 6, WALK_RSP = 7, WALK_REGS = 16 };

/* What ip is: where a call returns to; the place of execution, and reg holds; the same, but of reg nothing is known. */
enum walk_place { WALK_RETURNS, WALK_EXECUTES, WALK_STANDS };

enum walk_known { WALK_VALUE, WALK_MEMORY, WALK_LOST }; /* is there; lies at that address; nobody knows */

union walk_code { /* instructions */
	uint8_t byte[8];
	uint64_t all;
};

struct walk {
	uint64_t ip, sp, bp, rbx;
	uint64_t reg[WALK_REGS]; /* of a frame that is exact, by DWARF's numbers */
	uint64_t ucontext[17]; /* scratch: registers as a signal frame has them */
	uint64_t returns_at; /* where ip was read, when it is not exact */
	uint64_t end_addr;
	uint64_t doubted_at; /* where it ends when ip turns out to be no code */
	uint64_t hash;
	uint32_t exact; /* enum walk_place */
	uint32_t rbx_known; /* enum walk_known: of rbx */
	uint32_t bp_known; /* the same of bp, WALK_VALUE or WALK_LOST */
	uint32_t first; /* addresses in ips before the walk: a kernel stack's */
	uint32_t n; /* addresses the walk has added */
	uint32_t end; /* enum ut_walk_end */
	uint32_t doubt; /* enum ut_walk_end: ip was found by a pointer that need not be one; 0: by a table */
	uint32_t process; /* for WALK_FIND */
	struct ut_rec_stack rec; /* what is sent: in front of its addresses */
	uint64_t ips[UT_WALK_KERNEL_ROOM + UT_WALK_FRAMES];
};

WALK_INLINE uint64_t walk_mix(uint64_t hash, uint64_t v)
{
	hash = (hash ^ v) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 32;
}

/* What a walk's hash begins with: its process. */
WALK_INLINE uint64_t walk_hash(uint32_t process) { return walk_mix(0x5851f42d4c957f2dull, process); }

/* The registers are in w->reg and w->ip. */
WALK_INLINE void walk_begin(struct walk *w)
{
	w->sp = w->reg[WALK_RSP];
	w->bp = w->reg[WALK_RBP];
	w->rbx = w->reg[WALK_RBX];
	w->rbx_known = WALK_VALUE;
	w->bp_known = WALK_VALUE;
	w->exact = WALK_EXECUTES;
	w->doubt = 0;
	w->doubted_at = 0;
	w->n = 0;
	w->end = UT_END_NONE;
	w->end_addr = 0;
}

/* Of the registers only rsp, in w->reg, and w->ip are known. What inner frames have saved comes back on the way. */
WALK_INLINE void walk_begin_bare(struct walk *w)
{
	for (int i = 0; i < WALK_REGS; i++)
		w->reg[i] = i == WALK_RSP ? w->reg[i] : 0;
	walk_begin(w);
	w->rbx_known = w->bp_known = WALK_LOST;
	w->exact = WALK_STANDS;
}

WALK_INLINE int walk_stop(struct walk *w, enum ut_walk_end end, uint64_t addr)
{
	w->end = end;
	w->end_addr = addr;
	return 1;
}

WALK_INLINE int walk_add(struct walk *w)
{
	uint64_t ip = w->exact ? w->ip | UT_IP_EXACT : w->ip;
	uint32_t at = w->first + w->n;

	if (w->n >= UT_WALK_FRAMES || at >= UT_WALK_KERNEL_ROOM + UT_WALK_FRAMES)
		return 0;
	w->ips[at] = ip;
	w->n++;
	w->hash = walk_mix(w->hash, ip);
	return 1;
}

/* The caller's frame is known: its address was at @at, and sp is behind it. */
WALK_INLINE int walk_go(struct walk *w, uint64_t ip, uint64_t at, uint64_t sp)
{
	w->ip = ip;
	w->returns_at = at;
	w->sp = sp;
	w->exact = WALK_RETURNS;
	return ip ? 0 : walk_stop(w, UT_END_START, 0); /* what calls a thread's first function leaves a 0 there */
}

/* Does an instruction that calls end at @ip? Tells a return address from other numbers. */
WALK_INLINE int walk_is_behind_call(struct walk *w, uint64_t ip)
{
	union walk_code code = { .all = 0 };

	if (WALK_READ(w, &code, 8, ip - 8))
		return 0;
	if (code.byte[3] == 0xe8) /* call rel32 */
		return 1;
	return (code.byte[6] == 0xff && (code.byte[7] & 0x38) == 0x10) || /* call *reg, *(reg) */
	       (code.byte[5] == 0xff && (code.byte[6] & 0x38) == 0x10) || /* *disp8(reg) */
	       (code.byte[4] == 0xff && (code.byte[5] & 0x38) == 0x10) || /* *disp8(reg,reg,scale) */
	       (code.byte[2] == 0xff && (code.byte[3] & 0x38) == 0x10) || /* *disp32(reg), *sym(%rip) */
	       (code.byte[1] == 0xff && (code.byte[2] & 0x38) == 0x10); /* *disp32(reg,reg,scale) */
}

/*
 * At its first and last instructions a function that keeps frame pointers has none of its own: rbp is still, or again,
 * its caller's. How far the return address is from the stack pointer then; -1 elsewhere.
 */
WALK_INLINE int walk_frameless(struct walk *w)
{
	union walk_code code = { .all = 0 };

	if (WALK_READ(w, &code, 8, w->ip))
		return -1;
	if ((uint32_t)code.all == 0xfa1e0ff3u) /* endbr64 */
		code.all >>= 32;
	if (code.byte[0] == 0x55 || code.byte[0] == 0xc3) /* push %rbp; ret */
		return 0;
	if ((uint32_t)(code.all & 0xffffff) == 0x248489u) /* mov %eax,disp32(%rsp): HotSpot's look for room */
		return 0;
	if ((uint32_t)(code.all & 0xffffff) == 0xe58948u || (uint32_t)(code.all & 0xffffff) == 0xec8b48u)
		return 8; /* mov %rsp,%rbp */
	return -1;
}

/*
 * Code that frees so much of the stack and returns as soon as it is returned to: it has no other frame. CPython calls each
 * function through such a piece of code, to give it a name (-X perf). How far the return address is from the stack
 * pointer; -1 elsewhere.
 */
WALK_INLINE int walk_pops(struct walk *w)
{
	union walk_code code = { .all = 0 };

	if (WALK_READ(w, &code, 8, w->ip))
		return -1;
	if ((uint32_t)(code.all & 0xffffff) == 0xc48348u && code.byte[3] < 0x80 && code.byte[4] == 0xc3)
		return code.byte[3]; /* add $n,%rsp; ret */
	return -1;
}

/*
 * Code of a file without tables, where it tells itself where it returns to: behind a system call, which wrappers make
 * with nothing on the stack; at a function's first instructions; at its return. 1: it does not tell. Glibc's clone3 is
 * such, and its vfork, which keeps the address in rdi because its child runs on the same stack.
 */
WALK_INLINE int walk_at_edge(struct walk *w, enum ut_walk_end failed, uint64_t *ret, uint64_t *ret_at)
{
	union walk_code code = { .all = 0 };
	int frameless = 0;

	if (WALK_READ(w, &code, 8, w->ip - 8))
		return 1;
	if (code.byte[6] == 0x0f && code.byte[7] == 0x05) { /* syscall */
		*ret_at = w->sp - 8;
		*ret = w->reg[WALK_RDI];
		if (failed == UT_END_UNSUPPORTED && walk_is_behind_call(w, *ret))
			return 0;
	} else {
		if (WALK_READ(w, &code, 8, w->ip))
			return 1;
		frameless = (uint32_t)code.all == 0xfa1e0ff3u ? 0 : walk_frameless(w); /* endbr64 */
	}
	*ret_at = w->sp + (uint32_t)frameless;
	return frameless < 0 || WALK_READ(w, ret, 8, *ret_at) || !walk_is_behind_call(w, *ret);
}

/* How far code is believed to keep frame pointers. */
enum walk_pointers {
	WALK_KEEPS, /* made at run time */
	WALK_MAY_KEEP, /* of a file: what is found must be behind a call */
	WALK_MAY_BE, /* in no mapping that is known yet: the same, and it must be there */
};

/* By frame pointer. */
WALK_INLINE int walk_by_pointer(struct walk *w, enum walk_pointers how, enum ut_walk_end failed)
{
	uint64_t pair[2] = { 0, 0 }, at = w->bp;
	int frameless = -1;

	if (how != WALK_MAY_KEEP)
		frameless = w->exact ? walk_frameless(w) : walk_pops(w);
	if (w->exact && how == WALK_MAY_KEEP && !walk_at_edge(w, failed, &pair[1], &at))
		return walk_go(w, pair[1], at, at + 8);
	at = w->bp;
	if (w->exact || frameless < 0)
		w->rbx_known = WALK_LOST;
	if (frameless >= 0) {
		if (WALK_READ(w, &pair[1], 8, w->sp + (uint32_t)frameless))
			return walk_stop(w, UT_END_STACK, w->sp);
		at = w->sp + (uint32_t)frameless;
		return walk_go(w, pair[1], at, at + 8);
	}
	if (!at && w->doubt && how == WALK_KEEPS)
		return walk_stop(w, UT_END_START, 0); /* the chain of pointers ends, as the ABI says */
	if (w->bp_known != WALK_VALUE || at < w->sp || (at & 7))
		return walk_stop(w, failed, w->ip);
	if (WALK_READ(w, pair, 16, at))
		return walk_stop(w, at - w->sp < 1u << 20 ? UT_END_STACK : failed, at - w->sp < 1u << 20 ? at : w->ip);
	if (how != WALK_KEEPS && pair[1] && !walk_is_behind_call(w, pair[1]))
		return walk_stop(w, failed, w->ip);
	w->bp = pair[0];
	w->doubt = failed;
	w->doubted_at = w->ip;
	return walk_go(w, pair[1], at + 8, at + 16);
}

WALK_INLINE int walk_register(struct walk *w, uint32_t number, uint64_t *ret)
{
	if (number == WALK_RSP) {
		*ret = w->sp;
	} else if (number == WALK_RBP && w->bp_known == WALK_VALUE) {
		*ret = w->bp;
	} else if (number == WALK_RBX && w->rbx_known == WALK_VALUE) {
		*ret = w->rbx;
	} else if (number == WALK_RBX && w->rbx_known == WALK_MEMORY) {
		return WALK_READ(w, ret, 8, w->rbx);
	} else if (w->exact == WALK_EXECUTES && number < WALK_REGS) {
		*ret = w->reg[number & (WALK_REGS - 1)];
	} else {
		return 1;
	}
	return 0;
}

/* The stack as a signal handler returns to it: all registers lie where the kernel put them (asm/sigcontext.h). */
WALK_INLINE int walk_signal(struct walk *w)
{
	enum { R8, R9, R10, R11, R12, R13, R14, R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP };
	uint64_t at = w->sp + 40; /* uc_mcontext in a ucontext */
	uint64_t *uc = w->ucontext;

	if (WALK_READ(w, uc, sizeof(w->ucontext), at))
		return walk_stop(w, UT_END_STACK, at);
	w->reg[0] = uc[RAX];
	w->reg[1] = uc[RDX];
	w->reg[2] = uc[RCX];
	w->reg[3] = uc[RBX];
	w->reg[4] = uc[RSI];
	w->reg[5] = uc[RDI];
	w->reg[6] = uc[RBP];
	w->reg[7] = uc[RSP];
	for (int i = 0; i < 8; i++)
		w->reg[8 + i] = uc[R8 + i];
	w->ip = uc[RIP];
	w->sp = uc[RSP];
	w->bp = uc[RBP];
	w->rbx = uc[RBX];
	w->rbx_known = w->bp_known = WALK_VALUE;
	w->exact = WALK_EXECUTES;
	w->doubt = 0;
	return 0;
}

WALK_INLINE int walk_cfa(struct walk *w, const struct ut_unwind_rule *rule, uint64_t *ret)
{
	uint64_t base = 0;

	if (rule->cfa == UT_CFA_PLT) {
		*ret = w->sp + 8 + ((w->ip & 15) >= (uint64_t)rule->cfa_add ? 8 : 0);
		return 0;
	}
	if (walk_register(w, rule->cfa_reg, &base))
		return walk_stop(w, UT_END_REGISTER, w->ip);
	base += (uint64_t)(int64_t)rule->cfa_off;
	if (rule->cfa == UT_CFA_DEREF) {
		uint64_t value = 0;

		if (WALK_READ(w, &value, 8, base))
			return walk_stop(w, UT_END_STACK, base);
		base = value + (uint64_t)(int64_t)rule->cfa_add;
	}
	*ret = base;
	return 0;
}

/* By a rule whose CFA is known. The saved rbp nearly always lies below the return address: one read then. */
WALK_INLINE int walk_by_rule(struct walk *w, const struct ut_unwind_rule *rule, uint64_t cfa)
{
	uint64_t pair[2] = { 0, 0 }, at = cfa + (uint64_t)(int64_t)rule->ra_off, bp = w->bp;

	if (cfa <= w->sp)
		return walk_stop(w, UT_END_LOOP, w->ip);
	if (rule->rbp == UT_SAVED_CFA && rule->rbp_off == rule->ra_off - 8) {
		if (WALK_READ(w, pair, 16, at - 8))
			return walk_stop(w, UT_END_STACK, at);
		bp = pair[0];
	} else {
		if (WALK_READ(w, &pair[1], 8, at))
			return walk_stop(w, UT_END_STACK, at);
		if (rule->rbp == UT_SAVED_CFA || rule->rbp == UT_SAVED_RBP) {
			uint64_t from = rule->rbp == UT_SAVED_CFA ? cfa : w->bp;

			if (rule->rbp == UT_SAVED_RBP && w->bp_known != WALK_VALUE)
				return walk_stop(w, UT_END_REGISTER, w->ip);
			if (WALK_READ(w, &bp, 8, from + (uint64_t)(int64_t)rule->rbp_off))
				return walk_stop(w, UT_END_STACK, from);
		}
	}
	if (rule->rbx == UT_SAVED_CFA || rule->rbx == UT_SAVED_RBP) {
		w->rbx = (rule->rbx == UT_SAVED_CFA ? cfa : w->bp) + (uint64_t)(int64_t)rule->rbx_off;
		w->rbx_known = WALK_MEMORY;
	} else if (rule->rbx == UT_SAVED_UNDEFINED) {
		w->rbx_known = WALK_LOST;
	}
	if (rule->rbp != UT_SAVED_SAME)
		w->bp_known = rule->rbp == UT_SAVED_UNDEFINED ? WALK_LOST : WALK_VALUE;
	w->bp = bp;
	w->doubt = 0;
	return walk_go(w, pair[1], at, cfa);
}

/* The function has another address to return to than its caller's: it is not a frame of its own. */
WALK_INLINE int walk_return(struct walk *w)
{
	uint64_t ip = 0, at = w->exact ? w->sp - 8 : w->returns_at; /* exact: it has just returned there */

	if (WALK_RETURN(w, at, &ip) || ip == w->ip)
		return walk_stop(w, UT_END_NO_MAPPING, w->ip);
	return walk_go(w, ip, at, w->sp);
}

/* Memory that became code a moment ago, as compilers do it; or no code at all, which is no frame. */
WALK_INLINE int walk_unmapped(struct walk *w)
{
	uint64_t code = 0;

	if (WALK_READ(w, &code, 8, w->ip) || (!w->exact && !walk_is_behind_call(w, w->ip)))
		return w->doubt ? walk_stop(w, w->doubt, w->doubted_at) : walk_stop(w, UT_END_NO_MAPPING, w->ip);
	if (!walk_add(w))
		return walk_stop(w, UT_END_DEPTH, w->ip);
	return walk_by_pointer(w, WALK_MAY_BE, UT_END_NO_MAPPING);
}

/*
 * Nothing is known of the code at pc, but it may not be what counts: a probe's trap has led the place of execution one
 * byte on, behind a function of one byte; or a context was made to return to the start of a function, which follows that
 * byte. Moves ip to where something is known.
 */
WALK_INLINE void walk_beside(struct walk *w, struct ut_unwind_rule *rule)
{
	uint64_t pc = w->exact ? w->ip - 1 : w->ip;
	uint8_t trap = 0;

	if (w->exact && (WALK_READ(w, &trap, 1, pc) || trap != 0xcc))
		return;
	if (WALK_FIND(w, pc, rule) != UT_CODE_TABLE)
		rule->cfa = UT_CFA_UNKNOWN;
	if (rule->cfa != UT_CFA_UNKNOWN)
		w->ip = w->exact ? pc : pc + 1;
}

/* One frame: adds it, finds its caller. 1: the walk is over, w->end says why. */
WALK_INLINE int walk_step(struct walk *w)
{
	struct ut_unwind_rule rule = { 0 };
	uint64_t pc = w->exact ? w->ip : w->ip - 1, cfa = 0; /* a call can be a function's last instruction */
	int r = WALK_FIND(w, pc, &rule);

	if (r == UT_CODE_TABLE && rule.cfa == UT_CFA_UNKNOWN)
		walk_beside(w, &rule);
	if (!r)
		return walk_unmapped(w);
	if (r == UT_CODE_RETURNS)
		return walk_return(w);
	if (!walk_add(w))
		return walk_stop(w, UT_END_DEPTH, w->ip);
	if (r == UT_CODE_RUNTIME)
		return walk_by_pointer(w, WALK_KEEPS, UT_END_RUNTIME);
	if (r == UT_CODE_BARE)
		return walk_stop(w, UT_END_BARE, w->ip);
	if (r == UT_CODE_FILE || rule.cfa == UT_CFA_UNKNOWN)
		return walk_by_pointer(w, WALK_MAY_KEEP, UT_END_NO_INFO);
	if (rule.cfa == UT_CFA_UNSUPPORTED)
		return walk_by_pointer(w, WALK_MAY_KEEP, UT_END_UNSUPPORTED);
	if (rule.cfa == UT_CFA_OUTERMOST)
		return walk_stop(w, UT_END_START, 0);
	if (rule.cfa == UT_CFA_SIGNAL)
		return walk_signal(w);
	if (walk_cfa(w, &rule, &cfa))
		return 1;
	return walk_by_rule(w, &rule, cfa);
}

#endif
