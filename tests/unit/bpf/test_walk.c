/* SPDX-License-Identifier: MIT */
/* The walker on stacks made by hand: each kind of rule, each end, and stacks that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "walk_host.h"
#include "unit.h"

enum { RBX = 3, RBP = 6, RSP = 7, R10 = 10 };
enum { STACK = 0x7000000, WORDS = 4096, CODE = 0x10000, CODE_SIZE = 0x1000 };

static uint64_t stack[WORDS];
static uint8_t code[CODE_SIZE];
static struct walk w;

/* An empty stack of zeros and one page of code that can be read, in no mapping. */
static void begin(void)
{
	memset(&host, 0, sizeof(host));
	memset(stack, 0, sizeof(stack));
	memset(code, 0x90, sizeof(code));
	memset(&w, 0, sizeof(w));
	host_add_memory(STACK, stack, sizeof(stack));
	host_add_memory(CODE, code, sizeof(code));
	w.ip = CODE + 0x100;
	w.reg[RSP] = STACK;
}

/* A mapping of 256 bytes; addresses in it: at(i) is one, to(i) is returned to. */
static void place(unsigned i, enum ut_unwind_code kind, struct ut_unwind_rule rule)
{
	host.places[host.nplaces++] = (struct host_place){
		.start = CODE + i * 0x100, .end = CODE + (i + 1) * 0x100, .code = kind, .rule = rule
	};
}

static uint64_t at(unsigned i) { return CODE + i * 0x100 + 0x80; }

static struct ut_unwind_rule cfa(uint8_t reg, int32_t off)
{
	return (struct ut_unwind_rule){ .cfa = UT_CFA_REG, .cfa_reg = reg, .cfa_off = off, .ra_off = -8 };
}

static struct ut_unwind_rule only(enum ut_unwind_cfa how) { return (struct ut_unwind_rule){ .cfa = (uint8_t)how }; }

static void expect_end(enum ut_walk_end end, uint64_t addr, uint32_t n, int line)
{
	host_walk(&w);
	if (w.end != end || w.end_addr != addr || w.n != n)
		fail_msg("line %d: end %u at 0x%llx, %u frames", line, w.end, (unsigned long long)w.end_addr, w.n);
}
#define EXPECT_END(end, addr, n) expect_end(end, addr, n, __LINE__)

/* The innermost frame calls on behalf of place 2, by this rule; place 2 is where the thread began. */
static void one_frame(struct ut_unwind_rule rule)
{
	begin();
	place(1, UT_CODE_TABLE, rule);
	place(2, UT_CODE_TABLE, only(UT_CFA_OUTERMOST));
	w.ip = at(1);
}

static void test_start(void **state)
{
	(void)state;
	one_frame(cfa(RSP, 24));
	stack[2] = at(2);
	EXPECT_END(UT_END_START, 0, 2);
	assert_true(w.ips[0] == (at(1) | UT_IP_EXACT));
	assert_true(w.ips[1] == at(2));
	assert_true(w.sp == STACK + 24);
	one_frame(cfa(RSP, 24)); /* a return address of 0 is an end too */
	EXPECT_END(UT_END_START, 0, 1);
}

/* Behind a kernel stack. */
static void test_first(void **state)
{
	(void)state;
	one_frame(cfa(RSP, 8));
	stack[0] = at(2);
	w.first = 5;
	EXPECT_END(UT_END_START, 0, 2);
	assert_true(w.ips[5] == (at(1) | UT_IP_EXACT) && w.ips[6] == at(2));
}

/* A call can be the last instruction of its function: the rule is that of the byte before. */
static void test_call_at_the_end(void **state)
{
	(void)state;
	one_frame(cfa(RSP, 8));
	place(3, UT_CODE_TABLE, cfa(RSP, 16));
	place(4, UT_CODE_TABLE, cfa(RSP, 800));
	stack[0] = CODE + 0x400; /* the end of 3, the beginning of 4 */
	stack[2] = at(2);
	EXPECT_END(UT_END_START, 0, 3);
}

static void test_ra_off(void **state)
{
	struct ut_unwind_rule r = cfa(RSP, 64);

	(void)state;
	r.ra_off = -40;
	one_frame(r);
	stack[3] = at(2);
	EXPECT_END(UT_END_START, 0, 2);
	assert_true(w.sp == STACK + 64);
}

static void test_saved_rbp(void **state)
{
	struct ut_unwind_rule r = cfa(RSP, 32);

	(void)state;
	r.rbp = UT_SAVED_CFA;
	for (int off = -32; off <= -16; off += 8) { /* below the return address, and elsewhere */
		r.rbp_off = (int16_t)off;
		one_frame(r);
		host.places[1].rule = cfa(RBP, 16);
		place(3, UT_CODE_TABLE, only(UT_CFA_OUTERMOST));
		stack[3] = at(2);
		stack[(32 + off) / 8] = STACK + 80;
		stack[11] = at(3);
		EXPECT_END(UT_END_START, 0, 3);
		assert_true(w.sp == STACK + 96);
	}
}

/* gcc's functions that align the stack: the CFA is in r10 first, then below rbp. */
static void test_realigned(void **state)
{
	struct ut_unwind_rule r = { .cfa = UT_CFA_DEREF,
				    .cfa_reg = RBP,
				    .cfa_off = -8,
				    .ra_off = -8,
				    .rbp = UT_SAVED_RBP,
				    .rbx = UT_SAVED_RBP,
				    .rbx_off = -40 };

	(void)state;
	one_frame(r);
	host.places[1].rule = cfa(RBX, 16); /* the caller needs both that were saved */
	host.places[1].rule.rbp = UT_SAVED_SAME;
	place(3, UT_CODE_TABLE, cfa(RBP, 16));
	place(4, UT_CODE_TABLE, only(UT_CFA_OUTERMOST));
	w.reg[RBP] = STACK + 80;
	stack[9] = STACK + 160; /* the CFA */
	stack[5] = STACK + 200; /* rbx */
	stack[10] = STACK + 400; /* rbp */
	stack[19] = at(2);
	stack[26] = at(3);
	stack[51] = at(4);
	EXPECT_END(UT_END_START, 0, 4);
	one_frame(cfa(R10, 0));
	w.reg[R10] = STACK + 48;
	stack[5] = at(2);
	EXPECT_END(UT_END_START, 0, 2);
}

static void test_deref_add(void **state)
{
	struct ut_unwind_rule r = { .cfa = UT_CFA_DEREF, .cfa_reg = RSP, .cfa_off = 16, .cfa_add = 8, .ra_off = -8 };

	(void)state;
	one_frame(r);
	stack[2] = STACK + 72;
	stack[9] = at(2);
	EXPECT_END(UT_END_START, 0, 2);
	assert_true(w.sp == STACK + 80);
}

static void test_lost_registers(void **state)
{
	struct ut_unwind_rule r = cfa(RSP, 8);

	(void)state;
	one_frame(r); /* r10 of a caller is nobody's */
	host.places[1].rule = cfa(R10, 0);
	stack[0] = at(2);
	EXPECT_END(UT_END_REGISTER, at(2), 2);
	one_frame(r); /* rbx is kept from the beginning on */
	host.places[1].rule = cfa(RBX, 8);
	w.reg[RBX] = STACK + 8;
	stack[0] = at(2);
	EXPECT_END(UT_END_START, 0, 2);
	r.rbx = UT_SAVED_UNDEFINED;
	one_frame(r);
	host.places[1].rule = cfa(RBX, 8);
	w.reg[RBX] = STACK + 8;
	stack[0] = at(2);
	EXPECT_END(UT_END_REGISTER, at(2), 2);
	begin(); /* who goes by frame pointers does not know it */
	place(1, UT_CODE_RUNTIME, only(UT_CFA_UNKNOWN));
	place(2, UT_CODE_TABLE, cfa(RBX, 8));
	w.ip = at(1);
	w.reg[RBP] = STACK;
	w.reg[RBX] = STACK + 16;
	stack[1] = at(2);
	EXPECT_END(UT_END_REGISTER, at(2), 2);
}

/* rbx that was saved is read when it is needed, and only then has to be there. */
static void test_rbx_in_memory(void **state)
{
	struct ut_unwind_rule r = cfa(RSP, 24);

	(void)state;
	r.rbx = UT_SAVED_CFA;
	r.rbx_off = -24;
	one_frame(r);
	host.places[1].rule = cfa(RBX, 8);
	place(3, UT_CODE_TABLE, only(UT_CFA_OUTERMOST));
	stack[0] = STACK + 120;
	stack[2] = at(2);
	stack[15] = at(3);
	EXPECT_END(UT_END_START, 0, 3);
	r.rbx_off = -4096;
	one_frame(r);
	stack[2] = at(2);
	EXPECT_END(UT_END_START, 0, 2);
}

static void test_stub_bytes(void **state)
{
	(void)state;
	for (int threshold = 5; threshold <= 11; threshold += 2) {
		for (unsigned byte = 0; byte < 16; byte++) {
			struct ut_unwind_rule r = { .cfa = UT_CFA_PLT,
						    .cfa_reg = RSP,
						    .cfa_off = 8,
						    .ra_off = -8,
						    .cfa_add = (int16_t)threshold };

			one_frame(r);
			w.ip = at(1) + byte;
			stack[0] = (int)byte >= threshold ? 0x17 : at(2); /* the number it pushed */
			stack[1] = (int)byte >= threshold ? at(2) : 0x17;
			EXPECT_END(UT_END_START, 0, 2);
			assert_true(w.sp == STACK + ((int)byte >= threshold ? 16 : 8));
		}
	}
}

static void test_unreadable(void **state)
{
	(void)state;
	one_frame(cfa(RSP, 0x10000));
	EXPECT_END(UT_END_STACK, STACK + 0x10000 - 8, 1);
	one_frame(cfa(RSP, sizeof(stack) + 8)); /* a page further */
	EXPECT_END(UT_END_STACK, STACK + sizeof(stack), 1);
	one_frame((struct ut_unwind_rule){ .cfa = UT_CFA_DEREF, .cfa_reg = RBP, .ra_off = -8 });
	w.reg[RBP] = 0x1000;
	EXPECT_END(UT_END_STACK, 0x1000, 1);
	one_frame(only(UT_CFA_SIGNAL));
	w.reg[RSP] = STACK + sizeof(stack) - 100;
	EXPECT_END(UT_END_STACK, STACK + sizeof(stack) - 60, 1);
}

/* @kind 0: no mapping is known. */
static void with_pointers(enum ut_unwind_code kind)
{
	begin();
	if (kind)
		place(1, kind, only(UT_CFA_UNKNOWN));
	place(2, UT_CODE_TABLE, only(UT_CFA_OUTERMOST));
	w.ip = at(1);
	w.reg[RBP] = STACK + 64;
	stack[8] = STACK + 640;
	stack[9] = at(2);
}

static void test_no_mapping(void **state)
{
	(void)state;
	one_frame(cfa(RSP, 8));
	stack[0] = 0xdead0000;
	EXPECT_END(UT_END_NO_MAPPING, 0xdead0000, 1);
	begin();
	w.ip = CODE + CODE_SIZE; /* nothing that could be read */
	EXPECT_END(UT_END_NO_MAPPING, CODE + CODE_SIZE, 0);
	begin(); /* code may have been made there just now, but it keeps no pointer */
	EXPECT_END(UT_END_NO_MAPPING, CODE + 0x100, 1);
	with_pointers(0);
	place(3, UT_CODE_TABLE, only(UT_CFA_OUTERMOST));
	EXPECT_END(UT_END_NO_MAPPING, at(1), 1); /* not what stands behind a call */
	with_pointers(0);
	code[0x280 - 5] = 0xe8;
	EXPECT_END(UT_END_START, 0, 2);
	with_pointers(0);
	code[0x180] = 0x55;
	stack[0] = at(2);
	EXPECT_END(UT_END_START, 0, 2);
	assert_true(w.bp == STACK + 64);
}

/* Frames that lead down, or to themselves. */
static void test_loops(void **state)
{
	(void)state;
	one_frame(cfa(RSP, 0));
	EXPECT_END(UT_END_LOOP, at(1), 1);
	one_frame(cfa(RSP, -64));
	w.reg[RSP] = STACK + 128;
	EXPECT_END(UT_END_LOOP, at(1), 1);
	one_frame(cfa(RBP, 16)); /* the second frame has the same rbp */
	w.reg[RBP] = STACK + 32;
	stack[4] = STACK + 32;
	stack[5] = at(1);
	EXPECT_END(UT_END_LOOP, at(1), 2);
	one_frame((struct ut_unwind_rule){ .cfa = UT_CFA_DEREF, .cfa_reg = RSP, .ra_off = -8 });
	stack[0] = STACK;
	EXPECT_END(UT_END_LOOP, at(1), 1);
	begin();
	place(1, UT_CODE_RUNTIME, only(UT_CFA_UNKNOWN));
	w.ip = at(1);
	w.reg[RBP] = STACK + 32;
	stack[4] = STACK + 32;
	stack[5] = at(1);
	EXPECT_END(UT_END_RUNTIME, at(1), 2);
}

static void test_depth(void **state)
{
	(void)state;
	one_frame(cfa(RSP, 8));
	for (size_t i = 0; i < WORDS; i++)
		stack[i] = at(1);
	EXPECT_END(UT_END_DEPTH, at(1), UT_WALK_FRAMES);
	assert_true(w.ips[UT_WALK_FRAMES - 1] == at(1));
	one_frame(cfa(RSP, 8)); /* as many as fit, and their end */
	for (size_t i = 0; i < UT_WALK_FRAMES - 2; i++)
		stack[i] = at(1);
	stack[UT_WALK_FRAMES - 2] = at(2);
	EXPECT_END(UT_END_START, 0, UT_WALK_FRAMES);
	one_frame(cfa(RSP, 8));
	w.first = UT_WALK_KERNEL_ROOM;
	for (size_t i = 0; i < WORDS; i++)
		stack[i] = at(1);
	EXPECT_END(UT_END_DEPTH, at(1), UT_WALK_FRAMES);
}

/* Signals that interrupt signals for ever: each frame is further up, or the memory ends. */
static void test_signal_loop(void **state)
{
	(void)state;
	one_frame(only(UT_CFA_SIGNAL));
	stack[(40 + 15 * 8) / 8] = STACK; /* rsp, the same */
	stack[(40 + 16 * 8) / 8] = at(1);
	host_walk(&w);
	assert_true(w.end == UT_END_LOOP || w.end == UT_END_DEPTH);
}

/* The kernel's frame: whatever was interrupted is exact, with all its registers. */
static void test_signal(void **state)
{
	enum { R8, R9, R10_AT, R11, R12, R13, R14, R15, RDI, RSI, RBP_AT, RBX_AT, RDX, RAX, RCX, RSP_AT, RIP };
	uint64_t *uc = stack + 1 + 5; /* behind the return address: flags, link, three words of the stack */

	(void)state;
	one_frame(cfa(RSP, 8));
	place(3, UT_CODE_TABLE, only(UT_CFA_SIGNAL));
	place(4, UT_CODE_TABLE, cfa(R10, 32));
	place(5, UT_CODE_TABLE, cfa(RBP, 16));
	stack[0] = CODE + 0x301; /* where a handler returns to: the byte before has the rule */
	uc[R10_AT] = STACK + 400;
	uc[RBP_AT] = STACK + 800;
	uc[RBX_AT] = STACK + 900;
	uc[RSP_AT] = STACK + 408;
	uc[RIP] = CODE + 0x400;
	stack[(400 + 24) / 8] = at(5);
	stack[(800 + 8) / 8] = at(2);
	EXPECT_END(UT_END_START, 0, 5);
	assert_true(w.ips[1] == CODE + 0x301);
	assert_true(w.ips[2] == ((CODE + 0x400) | UT_IP_EXACT));
	assert_true(w.ips[3] == at(5));
	assert_true(w.rbx == STACK + 900 && w.rbx_known == WALK_VALUE);
}

/* Code of files that keeps frame pointers or not: what is found must be behind a call. */
static void test_gap(void **state)
{
	(void)state;
	for (int kind = UT_CODE_TABLE; kind <= UT_CODE_FILE; kind++) {
		with_pointers((enum ut_unwind_code)kind);
		EXPECT_END(UT_END_NO_INFO, at(1), 1);
		with_pointers((enum ut_unwind_code)kind);
		code[0x280 - 5] = 0xe8;
		EXPECT_END(UT_END_START, 0, 2);
		assert_true(w.bp == STACK + 640 && w.sp == STACK + 80);
		with_pointers((enum ut_unwind_code)kind);
		memcpy(code + 0x280 - 2, "\xff\xd0", 2); /* call *%rax */
		EXPECT_END(UT_END_START, 0, 2);
		with_pointers((enum ut_unwind_code)kind);
		w.reg[RBP] = 0; /* as programs and threads begin; or a number like any other */
		EXPECT_END(UT_END_NO_INFO, at(1), 1);
		with_pointers((enum ut_unwind_code)kind);
		w.reg[RBP] = STACK - 8; /* below the stack pointer */
		EXPECT_END(UT_END_NO_INFO, at(1), 1);
		with_pointers((enum ut_unwind_code)kind);
		w.reg[RBP] = STACK + 65;
		EXPECT_END(UT_END_NO_INFO, at(1), 1);
		with_pointers((enum ut_unwind_code)kind);
		w.reg[RBP] = 0x1234567890;
		EXPECT_END(UT_END_NO_INFO, at(1), 1);
	}
}

/* The same, at instructions that tell where the return address is: on the stack, or elsewhere. */
static void at_edge(struct ut_unwind_rule rule, const char *before, const char *bytes, unsigned from_sp)
{
	with_pointers(UT_CODE_TABLE);
	place(3, UT_CODE_TABLE, only(UT_CFA_OUTERMOST));
	host.places[0].rule = rule;
	memcpy(code + 0x180 - strlen(before), before, strlen(before));
	memcpy(code + 0x180, bytes, strlen(bytes));
	code[0x380 - 5] = 0xe8;
	stack[from_sp / 8] = at(3);
}

static void test_edges(void **state)
{
	static const struct {
		const char *before, *bytes;
		unsigned from_sp;
	} edges[] = {
		{ "\x0f\x05", "", 0 }, { "", "\xf3\x0f\x1e\xfa", 0 }, { "", "\x55", 0 },
		{ "", "\xc3", 0 },     { "", "\x48\x89\xe5", 8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
		at_edge(only(UT_CFA_UNKNOWN), edges[i].before, edges[i].bytes, edges[i].from_sp);
		EXPECT_END(UT_END_START, 0, 2);
		assert_true(w.ips[1] == at(3) && w.bp == STACK + 64 && w.sp == STACK + edges[i].from_sp + 8);
		at_edge(only(UT_CFA_UNKNOWN), edges[i].before, edges[i].bytes, edges[i].from_sp);
		code[0x380 - 5] = 0x90; /* behind no call */
		EXPECT_END(UT_END_NO_INFO, at(1), 1);
	}
	at_edge(only(UT_CFA_UNSUPPORTED), "\x0f\x05", "", 0); /* vfork */
	stack[0] = 0;
	w.reg[WALK_RDI] = at(3);
	EXPECT_END(UT_END_START, 0, 2);
	assert_true(w.ips[1] == at(3) && w.sp == STACK);
	at_edge(only(UT_CFA_UNKNOWN), "\x0f\x05", "", 0);
	stack[0] = 0;
	w.reg[WALK_RDI] = at(3);
	EXPECT_END(UT_END_NO_INFO, at(1), 1);
}

/* The place of execution is behind a function of one byte, where a probe's trap stands; a context returns to where a
 * function begins. */
static void test_beside(void **state)
{
	(void)state;
	one_frame(cfa(RSP, 8));
	place(3, UT_CODE_TABLE, only(UT_CFA_UNKNOWN));
	stack[0] = at(2);
	host.places[0].end = at(1);
	host.places[2].start = at(1);
	code[0x180 - 1] = 0xcc;
	EXPECT_END(UT_END_START, 0, 2);
	assert_true(w.ips[0] == ((at(1) - 1) | UT_IP_EXACT));
	code[0x180 - 1] = 0x90;
	w.ip = at(1);
	EXPECT_END(UT_END_NO_INFO, at(1), 1);
	one_frame(cfa(RSP, 8));
	place(3, UT_CODE_TABLE, only(UT_CFA_UNKNOWN));
	host.places[2].end = at(3);
	place(3, UT_CODE_TABLE, only(UT_CFA_OUTERMOST));
	host.places[3].start = at(3);
	stack[0] = at(3);
	EXPECT_END(UT_END_START, 0, 2);
	assert_true(w.ips[1] == at(3) + 1);
}

/* What a pointer led to that was none: it is the pointer that was wrong. */
static void test_no_pointer(void **state)
{
	static const uint64_t wrong[] = { STACK + 8, 0x10, 0xdead0000 };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		with_pointers(UT_CODE_RUNTIME);
		stack[9] = wrong[i];
		EXPECT_END(UT_END_RUNTIME, at(1), 1);
	}
	one_frame(cfa(RSP, 8));
	stack[0] = STACK + 8;
	EXPECT_END(UT_END_NO_MAPPING, STACK + 8, 1);
}

static void test_unsupported(void **state)
{
	(void)state;
	with_pointers(UT_CODE_TABLE);
	host.places[0].rule = only(UT_CFA_UNSUPPORTED);
	EXPECT_END(UT_END_UNSUPPORTED, at(1), 1);
	with_pointers(UT_CODE_TABLE);
	host.places[0].rule = only(UT_CFA_UNSUPPORTED);
	code[0x280 - 5] = 0xe8;
	EXPECT_END(UT_END_START, 0, 2);
}

/* A function whose return is probed: the kernel knows where it really returns to. */
static void test_probed_return(void **state)
{
	(void)state;
	one_frame(cfa(RSP, 24));
	place(3, UT_CODE_RETURNS, only(UT_CFA_UNKNOWN));
	place(4, UT_CODE_TABLE, cfa(RSP, 8));
	stack[2] = CODE + 0x300 + 1;
	stack[3] = CODE + 0x300 + 1;
	host.returns[0] = (struct host_return){ STACK + 24, at(2) };
	host.returns[1] = (struct host_return){ STACK + 16, at(4) };
	host.nreturns = 2;
	EXPECT_END(UT_END_START, 0, 3);
	assert_true(w.ips[1] == at(4) && w.ips[2] == at(2));
	host.nreturns = 1; /* nobody knows */
	w.ip = at(1);
	EXPECT_END(UT_END_NO_MAPPING, CODE + 0x301, 1);
	host.nreturns = 2;
	host.returns[1].address = CODE + 0x301; /* the same again for ever */
	w.ip = at(1);
	EXPECT_END(UT_END_NO_MAPPING, CODE + 0x301, 1);
	w.ip = CODE + 0x300; /* the place of execution */
	EXPECT_END(UT_END_NO_MAPPING, CODE + 0x300, 0);
	host.returns[0] = (struct host_return){ STACK - 8, at(2) };
	w.ip = CODE + 0x300;
	EXPECT_END(UT_END_START, 0, 1);
	assert_true(w.ips[0] == at(2));
}

/* An rbp that nobody kept is not taken for the caller's. */
static void test_lost_rbp(void **state)
{
	struct ut_unwind_rule r = cfa(RSP, 24);

	(void)state;
	r.rbp = UT_SAVED_UNDEFINED;
	one_frame(r);
	place(3, UT_CODE_TABLE, cfa(RBP, 16));
	stack[2] = at(3);
	w.reg[RBP] = STACK + 64;
	stack[9] = at(2);
	EXPECT_END(UT_END_REGISTER, at(3), 2);
	one_frame(r);
	place(3, UT_CODE_RUNTIME, only(UT_CFA_UNKNOWN));
	stack[2] = at(3);
	w.reg[RBP] = STACK + 64;
	stack[9] = at(2);
	EXPECT_END(UT_END_RUNTIME, at(3), 2);
	r.rbp = UT_SAVED_CFA; /* known again, as it was saved further in */
	r.rbp_off = -16;
	one_frame(r);
	place(3, UT_CODE_TABLE, cfa(RBP, 16));
	stack[1] = STACK + 64;
	stack[2] = at(3);
	stack[9] = at(2);
	EXPECT_END(UT_END_START, 0, 3);
}

static void test_bare(void **state)
{
	(void)state;
	with_pointers(UT_CODE_BARE);
	EXPECT_END(UT_END_BARE, at(1), 1);
}

/* One instruction of compiled code, and where its return address is then: from the stack pointer, or in the frame. */
static void expect_frameless(const char *bytes, size_t len, int from_sp, int line)
{
	with_pointers(UT_CODE_RUNTIME);
	place(3, UT_CODE_TABLE, only(UT_CFA_OUTERMOST));
	memcpy(code + 0x180, bytes, len);
	if (from_sp >= 0)
		stack[from_sp / 8] = at(3);
	expect_end(UT_END_START, 0, 2, line);
	if (w.ips[1] != (from_sp >= 0 ? at(3) : at(2)) || w.bp != (from_sp >= 0 ? STACK + 64 : STACK + 640))
		fail_msg("line %d: caller 0x%llx, rbp 0x%llx", line, (unsigned long long)w.ips[1],
			 (unsigned long long)w.bp);
}
#define FRAMELESS(bytes, from_sp) expect_frameless(bytes, sizeof(bytes) - 1, from_sp, __LINE__)

static void expect_bare(enum ut_walk_end end, uint64_t addr, uint32_t n, int line)
{
	host_walk_bare(&w);
	if (w.end != end || w.end_addr != addr || w.n != n)
		fail_msg("line %d: end %u at 0x%llx, %u frames", line, w.end, (unsigned long long)w.end_addr, w.n);
}
#define EXPECT_BARE(end, addr, n) expect_bare(end, addr, n, __LINE__)

/* Nothing but rsp and rip is known at first, whatever reg holds: what inner frames have saved comes back. */
static void test_few_registers(void **state)
{
	struct ut_unwind_rule saves = cfa(RSP, 32);

	(void)state;
	saves.rbp = saves.rbx = UT_SAVED_CFA;
	saves.rbp_off = -16;
	saves.rbx_off = -24;
	for (int outer = RBX; outer <= RBP; outer += RBP - RBX) {
		one_frame(saves);
		host.places[1].rule = cfa((uint8_t)outer, 16);
		place(3, UT_CODE_TABLE, only(UT_CFA_OUTERMOST));
		stack[1] = stack[2] = STACK + 80;
		stack[3] = at(2);
		stack[11] = at(3);
		EXPECT_BARE(UT_END_START, 0, 3);
		assert_true(w.ips[0] == (at(1) | UT_IP_EXACT));
		host.places[0].rule = cfa(RSP, 32); /* saved by nobody */
		for (int i = 0; i < WALK_REGS; i++)
			w.reg[i] = STACK + 80;
		w.reg[RSP] = STACK;
		w.ip = at(1);
		EXPECT_BARE(UT_END_REGISTER, at(2), 2);
	}
	one_frame(cfa(R10, 16));
	w.reg[R10] = STACK;
	stack[1] = at(2);
	EXPECT_BARE(UT_END_REGISTER, at(1), 1);
	begin();
	place(1, UT_CODE_RUNTIME, (struct ut_unwind_rule){ 0 });
	w.ip = at(1);
	w.reg[RBP] = STACK + 16;
	EXPECT_BARE(UT_END_RUNTIME, at(1), 1);
}

static void test_frame_pointers(void **state)
{
	(void)state;
	FRAMELESS("\x55", 0); /* push %rbp */
	FRAMELESS("\xf3\x0f\x1e\xfa\x55", 0); /* endbr64 */
	FRAMELESS("\x89\x84\x24\x00\xc0\xfe\xff", 0); /* HotSpot's bang */
	FRAMELESS("\x48\x89\xe5", 8); /* mov %rsp,%rbp */
	FRAMELESS("\x48\x8b\xec", 8);
	FRAMELESS("\x48\x83\xec\x20", -1); /* sub $32,%rsp */
	FRAMELESS("\xe8\x00\x00\x00\x00", -1);
	FRAMELESS("\xc9\xc3", -1); /* leave */
	FRAMELESS("\xc3", 0); /* ret */
}

/* A caller is in the middle of its function, whatever stands where it is returned to. */
static void test_frame_pointers_of_callers(void **state)
{
	(void)state;
	with_pointers(UT_CODE_RUNTIME);
	place(3, UT_CODE_RUNTIME, only(UT_CFA_UNKNOWN));
	stack[8] = STACK + 160;
	stack[9] = at(3);
	code[0x380] = 0xc3;
	stack[21] = at(2);
	EXPECT_END(UT_END_START, 0, 3);
	assert_true(w.ips[2] == at(2));
}

/* A caller that frees its stack and returns at once, as CPython's pieces of code that name functions: no pointer is needed. */
static void test_code_that_only_calls(void **state)
{
	static const struct {
		const char *bytes;
		int found;
	} codes[] = {
		{ "\x48\x83\xc4\x08\xc3", 1 },
		{ "\x48\x83\xc4\x08\x5d\xc3", 0 },
		{ "\x48\x83\xc4\x88\xc3", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		struct ut_unwind_rule r = cfa(RSP, 32);

		r.rbx = UT_SAVED_CFA;
		r.rbx_off = -32;
		one_frame(r);
		place(3, UT_CODE_RUNTIME, only(UT_CFA_UNKNOWN));
		host.places[1].rule = cfa(RBX, 8);
		w.reg[RBP] = 12345;
		stack[0] = STACK + 160; /* rbx of the caller of both */
		stack[3] = at(3);
		stack[5] = at(2);
		memcpy(code + 0x380, codes[i].bytes, strlen(codes[i].bytes));
		stack[20] = 0;
		if (codes[i].found)
			EXPECT_END(UT_END_START, 0, 3);
		else
			EXPECT_END(UT_END_RUNTIME, at(3), 2);
	}
	assert_true(w.bp == 12345);
}

/* A saved frame pointer of 0 is the outermost; a register that is 0 says nothing. */
static void test_end_of_the_pointers(void **state)
{
	(void)state;
	with_pointers(UT_CODE_RUNTIME);
	place(3, UT_CODE_RUNTIME, only(UT_CFA_UNKNOWN));
	stack[8] = 0;
	stack[9] = at(3);
	EXPECT_END(UT_END_START, 0, 2);
	with_pointers(UT_CODE_RUNTIME);
	w.reg[RBP] = 0;
	EXPECT_END(UT_END_RUNTIME, at(1), 1);
}

UNIT_TESTS(walk)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_call_at_the_end),
		cmocka_unit_test(test_ra_off),
		cmocka_unit_test(test_saved_rbp),
		cmocka_unit_test(test_realigned),
		cmocka_unit_test(test_deref_add),
		cmocka_unit_test(test_lost_registers),
		cmocka_unit_test(test_rbx_in_memory),
		cmocka_unit_test(test_stub_bytes),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_no_mapping),
		cmocka_unit_test(test_loops),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_signal_loop),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_unsupported),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_no_pointer),
		cmocka_unit_test(test_bare),
		cmocka_unit_test(test_probed_return),
		cmocka_unit_test(test_lost_rbp),
		cmocka_unit_test(test_few_registers),
		cmocka_unit_test(test_frame_pointers),
		cmocka_unit_test(test_frame_pointers_of_callers),
		cmocka_unit_test(test_code_that_only_calls),
		cmocka_unit_test(test_end_of_the_pointers),
	};

	return unit_run(tests, NULL, NULL);
}
