/* SPDX-License-Identifier: MIT */
/* Unwind tables: each instruction of the entries, expressions, encodings, overlaps, pages, and files that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/auto.h"
#include "unwind_builder.h"
#include "unit.h"

enum { RBX = 3, RBP = 6, RSP = 7 };

static struct ut_unwind_rule cfa(uint8_t reg, int32_t off)
{
	return (struct ut_unwind_rule){ .cfa = UT_CFA_REG, .cfa_reg = reg, .cfa_off = off, .ra_off = -8 };
}

static struct ut_unwind_rule with_rbp(struct ut_unwind_rule r, enum ut_unwind_saved how, int16_t off)
{
	r.rbp = (uint8_t)how;
	r.rbp_off = off;
	return r;
}

static struct ut_unwind_rule with_rbx(struct ut_unwind_rule r, enum ut_unwind_saved how, int16_t off)
{
	r.rbx = (uint8_t)how;
	r.rbx_off = off;
	return r;
}

static struct ut_unwind_rule only(enum ut_unwind_cfa how) { return (struct ut_unwind_rule){ .cfa = (uint8_t)how }; }

static struct ut_unwind_rule deref(uint8_t reg, int32_t off, int16_t add)
{
	return (struct ut_unwind_rule){
		.cfa = UT_CFA_DEREF, .cfa_reg = reg, .cfa_off = off, .cfa_add = add, .ra_off = -8
	};
}

static void expect_at(const struct unwind_table *t, uint64_t vaddr, struct ut_unwind_rule want, int line)
{
	const struct ut_unwind_rule *r = unwind_table_find(t, vaddr);

	if (memcmp(r, &want, sizeof(want)) != 0)
		fail_msg("line %d: at 0x%llx: CFA %u %u%+d%+d ra %d rbp %u%+d rbx %u%+d", line,
			 (unsigned long long)vaddr, r->cfa, r->cfa_reg, r->cfa_off, r->cfa_add, r->ra_off, r->rbp,
			 r->rbp_off, r->rbx, r->rbx_off);
}
#define EXPECT(t, vaddr, want) expect_at(t, vaddr, want, __LINE__)

/* What all tables promise: pages that begin with a row of 0, sorted, none twice the same. */
static void check_form(const struct unwind_table *t)
{
	for (uint32_t p = 0; p < t->pages; p++) {
		assert_true(t->directory[p] < t->directory[p + 1]);
		assert_int_equal(UT_UNWIND_ROW_LOW(t->rows[t->directory[p]]), 0);
		for (uint32_t i = t->directory[p] + 1; i < t->directory[p + 1]; i++) {
			assert_true(UT_UNWIND_ROW_LOW(t->rows[i]) > UT_UNWIND_ROW_LOW(t->rows[i - 1]));
			assert_true(UT_UNWIND_ROW_RULE(t->rows[i]) != UT_UNWIND_ROW_RULE(t->rows[i - 1]));
		}
	}
	assert_true(!t->pages || t->directory[t->pages] == t->nrows);
	for (uint32_t i = 0; i < t->nrows; i++)
		assert_true(UT_UNWIND_ROW_RULE(t->rows[i]) < t->nrules);
	assert_true(!t->why == !!t->pages);
}

static void build(struct unwind_file *f, struct unwind_table *t)
{
	file_build(f, t);
	check_form(t);
}

static void done(struct unwind_file *f, struct unwind_table *t)
{
	unwind_table_done(t);
	file_free(f);
}

#define F 0x10100 /* the function of most tests, 0x40 long */

/* A table of one function with this program. */
static void build_one(struct unwind_file *f, struct unwind_table *t, const uint8_t *program, size_t len)
{
	*f = file_new();
	cfi_cie(&f->eh);
	cfi_fde(&f->eh, F, 0x40, program, len);
	build(f, t);
}
#define ONE(...) build_one(&f, &t, PROGRAM(__VA_ARGS__))
/* The rule that holds where the program has ended, when nothing was wrong. */
#define EXPECT_ONE(want, ...) \
	do { \
		ONE(__VA_ARGS__); \
		EXPECT(&t, F, want); \
		assert_int_equal(t.bad_entries, 0); \
		done(&f, &t); \
	} while (0)
#define EXPECT_BAD(...) \
	do { \
		ONE(__VA_ARGS__); \
		EXPECT(&t, F, only(UT_CFA_UNSUPPORTED)); \
		EXPECT(&t, F + 0x3f, only(UT_CFA_UNSUPPORTED)); \
		assert_int_equal(t.bad_entries, 1); \
		assert_int_equal(t.unsupported, 1); \
		done(&f, &t); \
	} while (0)

static void test_function(void **state)
{
	struct ut_unwind_rule pushed = with_rbp(cfa(RSP, 16), UT_SAVED_CFA, -16);
	struct unwind_file f;
	struct unwind_table t;

	(void)state;
	ONE(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x60, 0x0c, 7, 8); /* push, mov, …, leave */
	EXPECT(&t, F - 1, only(UT_CFA_UNKNOWN));
	EXPECT(&t, F, cfa(RSP, 8));
	EXPECT(&t, F + 1, pushed);
	EXPECT(&t, F + 3, pushed);
	EXPECT(&t, F + 4, with_rbp(cfa(RBP, 16), UT_SAVED_CFA, -16));
	EXPECT(&t, F + 35, with_rbp(cfa(RBP, 16), UT_SAVED_CFA, -16));
	EXPECT(&t, F + 36, with_rbp(cfa(RSP, 8), UT_SAVED_CFA, -16));
	EXPECT(&t, F + 0x3f, with_rbp(cfa(RSP, 8), UT_SAVED_CFA, -16));
	EXPECT(&t, F + 0x40, only(UT_CFA_UNKNOWN));
	EXPECT(&t, 0, only(UT_CFA_UNKNOWN));
	EXPECT(&t, UINT64_MAX, only(UT_CFA_UNKNOWN));
	assert_int_equal(t.pages, 1);
	assert_int_equal(t.first_page, 1);
	assert_int_equal(t.nrows, 6);
	assert_int_equal(t.bad_entries + t.unsupported, 0);
	done(&f, &t);
}

static void test_saved_registers(void **state)
{
	struct ut_unwind_rule none = cfa(RSP, 8);
	struct unwind_file f;
	struct unwind_table t;

	(void)state;
	EXPECT_ONE(with_rbx(none, UT_SAVED_CFA, -24), 0x83, 3);
	EXPECT_ONE(with_rbx(none, UT_SAVED_CFA, -24), 0x05, 3, 3);
	EXPECT_ONE(with_rbp(none, UT_SAVED_CFA, 16), 0x11, 6, 0x7e);
	EXPECT_ONE(with_rbp(none, UT_SAVED_CFA, 16), 0x2f, 6, 2);
	EXPECT_ONE(none, 0x86, 2, 0xc6);
	EXPECT_ONE(none, 0x86, 2, 0x06, 6);
	EXPECT_ONE(none, 0x86, 2, 0x08, 6);
	EXPECT_ONE(with_rbp(none, UT_SAVED_UNDEFINED, 0), 0x07, 6);
	EXPECT_ONE(with_rbp(none, UT_SAVED_UNDEFINED, 0), 0x09, 6, 0); /* in a register */
	EXPECT_ONE(with_rbp(none, UT_SAVED_UNDEFINED, 0), 0x14, 6, 2); /* a value, not a place */
	EXPECT_ONE(with_rbp(none, UT_SAVED_UNDEFINED, 0), 0x15, 6, 0x7e);
	EXPECT_ONE(with_rbp(none, UT_SAVED_UNDEFINED, 0), 0x16, 6, 2, 0x77, 8);
	EXPECT_ONE(with_rbp(none, UT_SAVED_UNDEFINED, 0), 0x86, 0x80, 0x80, 0x04); /* too far */
	EXPECT_ONE(with_rbx(none, UT_SAVED_RBP, -40), 0x10, 3, 2, 0x76, 0x58);
	EXPECT_ONE(with_rbp(none, UT_SAVED_CFA, -16), 0x10, 6, 2, 0x77, 0x78); /* by the CFA's register */
	EXPECT_ONE(with_rbp(none, UT_SAVED_UNDEFINED, 0), 0x10, 6, 3, 0x76, 0, 0x06);
	/* Others make no difference, whatever is said of them. */
	EXPECT_ONE(none, 0x8c, 4, 0x8f, 5, 0xcc, 0x07, 13, 0x09, 14, 1, 0x10, 15, 2, 0x77, 8, 0x05, 0x90, 1, 1, 0x2e,
		   16);
}

static void test_return_address(void **state)
{
	struct ut_unwind_rule far = cfa(RSP, 8);
	struct unwind_file f;
	struct unwind_table t;

	(void)state;
	far.ra_off = -24;
	EXPECT_ONE(far, 0x90, 3);
	EXPECT_ONE(only(UT_CFA_OUTERMOST), 0x07, 16);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x09, 16, 2);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x08, 16);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x10, 16, 2, 0x76, 8);
	ONE(0x09, 16, 2, 0x41, 0x90, 1); /* and back: vfork */
	EXPECT(&t, F + 1, cfa(RSP, 8));
	assert_int_equal(t.unsupported, 1);
	done(&f, &t);
}

static void test_cfa_forms(void **state)
{
	struct unwind_file f;
	struct unwind_table t;
	struct ut_unwind_rule stub = { .cfa = UT_CFA_PLT, .cfa_reg = RSP, .cfa_off = 8, .cfa_add = 11, .ra_off = -8 };

	(void)state;
	EXPECT_ONE(cfa(10, 0), 0x0c, 10, 0);
	EXPECT_ONE(cfa(RSP, 300), 0x0e, 0xac, 2);
	EXPECT_ONE(cfa(RBX, 16), 0x12, 3, 0x7e);
	EXPECT_ONE(cfa(RSP, -16), 0x13, 2);
	EXPECT_ONE(cfa(0, 8), 0x0d, 0);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x0c, 17, 8);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x0e, 0x80, 0x80, 0x80, 0x80, 0x08); /* 2 GiB */
	EXPECT_ONE(cfa(RBP, 24), 0x0f, 2, 0x76, 24);
	EXPECT_ONE(cfa(RSP, 16), 0x0f, 3, 0x76, 8, 0x06, 0x0e, 16); /* half of what was there before */
	EXPECT_ONE(cfa(RBX, 8), 0x0f, 3, 0x76, 8, 0x06, 0x0d, 3);
	EXPECT_ONE(deref(RBP, -8, 0), 0x0f, 3, 0x76, 0x78, 0x06);
	EXPECT_ONE(deref(RSP, 88, 8), 0x0f, 6, 0x77, 0xd8, 0, 0x06, 0x23, 8);
	EXPECT_ONE(deref(RSP, 8, 16), 0x0f, 5, 0x77, 8, 0x06, 0x40, 0x22);
	EXPECT_ONE(deref(RSP, 8, -16), 0x0f, 5, 0x77, 8, 0x06, 0x40, 0x1c);
	EXPECT_ONE(deref(RSP, 8, -2), 0x0f, 6, 0x77, 8, 0x06, 0x09, 0xfe, 0x22);
	EXPECT_ONE(deref(RSP, 8, 200), 0x0f, 6, 0x77, 8, 0x06, 0x08, 200, 0x22);
	EXPECT_ONE(deref(RSP, 8, -3), 0x0f, 6, 0x77, 8, 0x06, 0x11, 0x7d, 0x22);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x0f, 8, 0x77, 8, 0x06, 0x23, 0x80, 0x80, 0x04, 0x96);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x0f, 4, 0x77, 8, 0x06, 0x06);
	/* OpenSSL's, with 8 * r9. */
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x0f, 9, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x96);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x0f, 0);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x0f, 1, 0x77);
	EXPECT_ONE(stub, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	stub.cfa_add = 9;
	EXPECT_ONE(stub, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x0f, 11, 0x77, 8, 0x80, 0, 0x3e, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), 0x0f, 11, 0x77, 16, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
}

static void test_signal_frame(void **state)
{
	struct unwind_file f;
	struct unwind_table t;

	(void)state; /* as glibc tells it */
#define RETURN 0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 16, 3, 0x77, 0xa8, 1
	EXPECT_ONE(only(UT_CFA_SIGNAL), RETURN, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 3, 3, 0x77, 0x80, 1, 0x10, 8, 2, 0x77,
		   40);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), RETURN, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 3, 3, 0x77, 0x88, 1);
	EXPECT_ONE(only(UT_CFA_UNSUPPORTED), RETURN);
}

static void test_moves(void **state)
{
	struct unwind_file f;
	struct unwind_table t;

	(void)state;
	ONE(0x02, 1, 0x0e, 16, 0x03, 2, 0, 0x0e, 24, 0x04, 4, 0, 0, 0, 0x0e, 32, 0x1d, 8, 0, 0, 0, 0, 0, 0, 0, 0x0e, 40,
	    0x40, 0x0e, 48);
	EXPECT(&t, F, cfa(RSP, 8));
	EXPECT(&t, F + 1, cfa(RSP, 16));
	EXPECT(&t, F + 2, cfa(RSP, 16));
	EXPECT(&t, F + 3, cfa(RSP, 24));
	EXPECT(&t, F + 7, cfa(RSP, 32));
	EXPECT(&t, F + 14, cfa(RSP, 32));
	EXPECT(&t, F + 15, cfa(RSP, 48)); /* 40 was for no byte */
	done(&f, &t);
	ONE(0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16); /* out of the function: nothing that follows is for it */
	EXPECT(&t, F + 0x3f, cfa(RSP, 8));
	assert_int_equal(t.bad_entries, 0);
	done(&f, &t);
	ONE(0x7f, 0x0e, 16, 0x41, 0x0e, 99);
	EXPECT(&t, F + 0x3f, cfa(RSP, 16));
	EXPECT(&t, F + 0x40, only(UT_CFA_UNKNOWN));
	done(&f, &t);
	EXPECT_BAD(0x41, 0x01, 0, 0, 0xf8, 0xff); /* set_loc, back */
	f = file_new();
	cfi_cie(&f.eh);
	{ /* set_loc to F + 0x20: the pointer is relative to its own place */
		uint32_t distance = (uint32_t)(F + 0x20 - (FRAMES + f.eh.n + 18));
		uint8_t p[] = { 0x01, 0, 0, 0, 0, 0x0e, 16 };

		memcpy(p + 1, &distance, 4);
		cfi_fde(&f.eh, F, 0x40, p, sizeof(p));
	}
	build(&f, &t);
	EXPECT(&t, F + 0x1f, cfa(RSP, 8));
	EXPECT(&t, F + 0x20, cfa(RSP, 16));
	done(&f, &t);
}

static void test_remembered(void **state)
{
	struct unwind_file f;
	struct unwind_table t;
	uint8_t deep[33 + 33 + 2] = { 0 };

	(void)state;
	ONE(0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0c, 7, 8, 0xc6, 0x41, 0x0b);
	EXPECT(&t, F + 1, with_rbp(cfa(RSP, 16), UT_SAVED_CFA, -16));
	EXPECT(&t, F + 2, cfa(RSP, 8));
	EXPECT(&t, F + 3, with_rbp(cfa(RSP, 16), UT_SAVED_CFA, -16));
	done(&f, &t);
	memset(deep, 0x0a, 32);
	memset(deep + 32, 0x0b, 32);
	build_one(&f, &t, deep, 64);
	EXPECT(&t, F, cfa(RSP, 8));
	done(&f, &t);
	memset(deep, 0x0a, 33);
	build_one(&f, &t, deep, 66);
	EXPECT(&t, F, only(UT_CFA_UNSUPPORTED));
	assert_int_equal(t.bad_entries, 1);
	done(&f, &t);
	EXPECT_BAD(0x0b);
	EXPECT_BAD(0x41, 0x0a, 0x0b, 0x0b);
}

static void test_broken_programs(void **state)
{
	struct unwind_file f;
	struct unwind_table t;

	(void)state;
	EXPECT_BAD(0x17);
	EXPECT_BAD(0x2d);
	EXPECT_BAD(0x3f);
	EXPECT_BAD(0x41, 0x0e, 16, 0x41, 0x3f);
	EXPECT_BAD(0x0f, 100, 0x77, 8);
	EXPECT_BAD(0x10, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
	EXPECT_BAD(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x04);
}

static void test_encodings(void **state)
{
	static const struct {
		uint8_t encoding;
		int good;
	} cases[] = {
		{ 0x00, 1 }, { 0x03, 1 }, { 0x04, 1 }, { 0x0b, 1 }, { 0x0c, 1 }, { 0x10, 1 }, { 0x14, 1 },
		{ 0x1b, 1 }, { 0x1c, 1 }, { 0x23, 1 }, { 0x33, 1 }, { 0x13, 0 }, { 0x40, 0 }, { 0x50, 0 },
		{ 0x9b, 0 }, { 0x80, 0 }, { 0x01, 0 }, { 0x09, 0 }, { 0x05, 0 }, { 0xff, 0 },
	};
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1 };
	struct unwind_file f;
	struct unwind_table t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		f = file_new();
		cfi_cie_of(&f.eh, "zR", cases[i].encoding, 16, program, sizeof(program));
		FDE(&f.eh, F, 0x40, 0x41, 0x0e, 16);
		build(&f, &t);
		EXPECT(&t, F + 0x3f, cases[i].good ? cfa(RSP, 16) : only(UT_CFA_UNKNOWN));
		EXPECT(&t, F + 0x40, only(UT_CFA_UNKNOWN));
		assert_int_equal(!t.bad_entries, cases[i].good);
		done(&f, &t);
	}
}

static void test_data_relative(void **state)
{
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1 };
	Elf64_Dyn dynamic[2] = { { .d_tag = DT_PLTGOT, .d_un.d_val = 0x1000 } };
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	memcpy(f.bytes + DYNAMIC_OFFSET, dynamic, sizeof(dynamic));
	file_add_phdr(&f, PT_DYNAMIC, PF_R, HEADER + 0x100, DYNAMIC_OFFSET, sizeof(dynamic));
	cfi_cie_of(&f.eh, "zR", 0x3b, 16, program, sizeof(program));
	FDE(&f.eh, F - 0x1000, 0x40, 0);
	build(&f, &t);
	EXPECT(&t, F, cfa(RSP, 8));
	EXPECT(&t, F - 1, only(UT_CFA_UNKNOWN));
	done(&f, &t);
}

static void test_common_entries(void **state)
{
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1, 0x86, 2 };
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	cfi_cie(&f.eh);
	FDE(&f.eh, F, 0x10, 0);
	cfi_cie_of(&f.eh, "zR", PCREL_S4, 16, program, sizeof(program));
	FDE(&f.eh, F + 0x10, 0x10, 0x41, 0x88, 2, 0x08, 6, 0x41, 0xc6); /* restored to what it is at the beginning */
	cfi_cie_of(&f.eh, "zRZ", PCREL_S4, 16, program, 5); /* what is unknown has a size */
	FDE(&f.eh, F + 0x20, 0x10, 0);
	cfi_cie_of(&f.eh, "zR", PCREL_S4, 15, program, 5); /* another column */
	FDE(&f.eh, F + 0x30, 0x10, 0);
	cfi_cie_of(&f.eh, "zR", PCREL_S4, 16, PROGRAM(0x0c, 7, 8, 0x41)); /* a place in what has none */
	FDE(&f.eh, F + 0x40, 0x10, 0);
	cfi_cie_of(&f.eh, "zR", PCREL_S4, 16, PROGRAM(0x0c, 7, 8, 0x90, 1, 0x86, 2, 0x83, 3, 0xc6));
	FDE(&f.eh, F + 0x70, 0x10, 0);
	cfi_cie_of(&f.eh, "", 0, 16, program, 5);
	FDE(&f.eh, F + 0x50, 0x10, 0);
	cfi_cie_of(&f.eh, "eh", 0, 16, program, 5);
	FDE(&f.eh, F + 0x60, 0x10, 0);
	build(&f, &t);
	EXPECT(&t, F, cfa(RSP, 8));
	EXPECT(&t, F + 0x10, with_rbp(cfa(RSP, 8), UT_SAVED_CFA, -16));
	EXPECT(&t, F + 0x11, cfa(RSP, 8));
	EXPECT(&t, F + 0x12, with_rbp(cfa(RSP, 8), UT_SAVED_CFA, -16));
	EXPECT(&t, F + 0x20, cfa(RSP, 8));
	EXPECT(&t, F + 0x30, only(UT_CFA_UNKNOWN));
	EXPECT(&t, F + 0x40, only(UT_CFA_UNKNOWN));
	EXPECT(&t, F + 0x50, cfa(RSP, 8));
	EXPECT(&t, F + 0x60, only(UT_CFA_UNKNOWN));
	EXPECT(&t, F + 0x70, with_rbx(cfa(RSP, 8), UT_SAVED_CFA, -24));
	done(&f, &t);
}

static void test_pointers_to_common_entries(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;
	size_t first, second;

	(void)state;
	cfi_cie(&f.eh);
	first = f.eh.n;
	FDE(&f.eh, F, 0x10, 0);
	second = f.eh.n;
	FDE(&f.eh, F + 0x10, 0x10, 0);
	FDE(&f.eh, F + 0x20, 0x10, 0);
	f.eh.bytes[first + 4] = 4; /* itself */
	f.eh.bytes[second + 4] = (uint8_t)(second + 4 - first); /* another function's */
	build(&f, &t);
	EXPECT(&t, F, only(UT_CFA_UNKNOWN));
	EXPECT(&t, F + 0x10, only(UT_CFA_UNKNOWN));
	EXPECT(&t, F + 0x20, cfa(RSP, 8));
	assert_int_equal(t.bad_entries, 2);
	done(&f, &t);
}

static void test_lengths(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;
	size_t last;

	(void)state;
	cfi_cie(&f.eh);
	FDE(&f.eh, F, 0x10, 0);
	cfi_u32(&f.eh, 0); /* a mark of the end that is none */
	FDE(&f.eh, F + 0x10, 0x10, 0);
	last = f.eh.n;
	FDE(&f.eh, F + 0x20, 0x10, 0);
	memcpy(f.eh.bytes + last, "\xf0\xff\xff\x7f", 4);
	build(&f, &t);
	EXPECT(&t, F, cfa(RSP, 8));
	EXPECT(&t, F + 0x10, cfa(RSP, 8));
	EXPECT(&t, F + 0x20, only(UT_CFA_UNKNOWN));
	assert_int_equal(t.bad_entries, 1);
	done(&f, &t);
}

static void test_ranges(void **state)
{
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1 };
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	cfi_cie_of(&f.eh, "zR", 0x04, 16, program, sizeof(program)); /* 64 bits */
	FDE(&f.eh, F, 0, 0); /* no code */
	FDE(&f.eh, 0, 0x10, 0); /* thrown away */
	assert_int_equal(f.eh.n % 8, 0);
	FDE(&f.eh, FRAMES, 0x10, 0); /* not code */
	FDE(&f.eh, CODE - 1, 0x10, 0);
	FDE(&f.eh, CODE + CODE_SIZE - 1, 2, 0); /* the end lies outside */
	FDE(&f.eh, F, 1ull << 47, 0);
	FDE(&f.eh, F, UINT64_MAX - F + 1, 0);
	FDE(&f.eh, F, UINT64_MAX, 0);
	FDE(&f.eh, UINT64_MAX, 2, 0);
	FDE(&f.eh, CODE + CODE_SIZE - 1, 1, 0);
	build(&f, &t);
	EXPECT(&t, F, only(UT_CFA_UNKNOWN));
	EXPECT(&t, CODE + CODE_SIZE - 1, cfa(RSP, 8));
	EXPECT(&t, CODE + CODE_SIZE, only(UT_CFA_UNKNOWN));
	assert_int_equal(t.bad_entries, 7);
	assert_int_equal(t.pages, 1);
	done(&f, &t);
}

/* In an order that no linker writes: the one that begins later wins in its range. */
static void test_overlaps(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	cfi_cie(&f.eh);
	FDE(&f.eh, F + 0x30, 0x10, 0x0e, 48);
	FDE(&f.eh, F + 0x10, 0x28, 0x0e, 32);
	FDE(&f.eh, F, 0x100, 0x0e, 16, 0x60, 0x0e, 24, 0x02, 0x60, 0x0e, 40); /* 0x20, 0x80 */
	FDE(&f.eh, F + 0x90, 0x20, 0x0e, 64);
	FDE(&f.eh, F + 0x90, 0x10, 0x0e, 72); /* the shorter on top */
	FDE(&f.eh, F + 0xf0, 0x20, 0x0e, 80);
	build(&f, &t);
	EXPECT(&t, F, cfa(RSP, 16));
	EXPECT(&t, F + 0x10, cfa(RSP, 32));
	EXPECT(&t, F + 0x2f, cfa(RSP, 32));
	EXPECT(&t, F + 0x30, cfa(RSP, 48));
	EXPECT(&t, F + 0x3f, cfa(RSP, 48));
	EXPECT(&t, F + 0x40, cfa(RSP, 24)); /* the long one goes on, where it is by then */
	EXPECT(&t, F + 0x7f, cfa(RSP, 24));
	EXPECT(&t, F + 0x80, cfa(RSP, 40));
	EXPECT(&t, F + 0x90, cfa(RSP, 72));
	EXPECT(&t, F + 0xa0, cfa(RSP, 64));
	EXPECT(&t, F + 0xb0, cfa(RSP, 40));
	EXPECT(&t, F + 0xf0, cfa(RSP, 80));
	EXPECT(&t, F + 0x10f, cfa(RSP, 80));
	EXPECT(&t, F + 0x110, only(UT_CFA_UNKNOWN));
	done(&f, &t);
}

static void test_merged(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	cfi_cie(&f.eh);
	for (unsigned i = 0; i < 16; i++) /* neighbours that say the same, and other registers */
		FDE(&f.eh, F + i * 0x10, 0x10, 0x41, 0x8c, 3, 0x41, 0x0e, 8, 0x41, 0xcc);
	build(&f, &t);
	assert_int_equal(t.nrows, 3);
	assert_int_equal(t.nrules, 2);
	done(&f, &t);
}

static void test_pages(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	cfi_cie(&f.eh);
	FDE(&f.eh, 0x1fff0, 0x20, 0x50, 0x0e, 16); /* changes where a page begins */
	FDE(&f.eh, 0x2ff00, 0x10800, 0x0e, 32, 0x41, 0x0e, 40); /* over a whole page */
	build(&f, &t);
	assert_int_equal(t.first_page, 1);
	assert_int_equal(t.pages, 4);
	EXPECT(&t, 0x1ffef, only(UT_CFA_UNKNOWN));
	EXPECT(&t, 0x1ffff, cfa(RSP, 8));
	EXPECT(&t, 0x20000, cfa(RSP, 16));
	EXPECT(&t, 0x20010, only(UT_CFA_UNKNOWN));
	EXPECT(&t, 0x30000, cfa(RSP, 40));
	EXPECT(&t, 0x3ffff, cfa(RSP, 40));
	EXPECT(&t, 0x40000, cfa(RSP, 40));
	EXPECT(&t, 0x406ff, cfa(RSP, 40));
	EXPECT(&t, 0x40700, only(UT_CFA_UNKNOWN));
	assert_int_equal(t.directory[3] - t.directory[2], 1);
	done(&f, &t);
	f = file_new();
	cfi_cie(&f.eh);
	FDE(&f.eh, 0x10000, 0x10000, 0); /* ends with its page */
	build(&f, &t);
	assert_int_equal(t.pages, 1);
	assert_int_equal(t.nrows, 1);
	EXPECT(&t, 0x1ffff, cfa(RSP, 8));
	EXPECT(&t, 0x20000, only(UT_CFA_UNKNOWN));
	done(&f, &t);
}

/* More rules than have numbers: the last number says so. */
static void test_many_rules(void **state)
{
	enum { ROWS = 66000, SIZE = CODE_OFFSET + CODE_SIZE + ROWS * 5 + 4096 };
	struct unwind_file f = file_new();
	struct cfi c = { .bytes = calloc(1, SIZE), .vaddr = 0x100000, .encoding = 0x1b };
	uint8_t *program = malloc(ROWS * 5), *p = program;
	struct elf_image *img = NULL;
	struct unwind_table t;

	(void)state;
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t v = i + 16;
		const uint8_t op[] = { 0x0e, (uint8_t)(v | 0x80), (uint8_t)(v >> 7 | 0x80), (uint8_t)(v >> 14), 0x41 };

		memcpy(p, op, sizeof(op));
		p += sizeof(op);
	}
	memcpy(c.bytes, f.bytes, CODE_OFFSET);
	c.bytes += CODE_OFFSET + CODE_SIZE;
	cfi_cie(&c);
	cfi_fde(&c, CODE, ROWS, program, ROWS * 5);
	memcpy(f.bytes + NAMES_OFFSET + f.names, ".eh_frame", 10);
	c.bytes -= CODE_OFFSET + CODE_SIZE;
	memcpy(c.bytes + SIZE - 1024, f.bytes + NAMES_OFFSET, 0x100);
	memcpy(c.bytes + SIZE - 512, f.bytes + SECTIONS_OFFSET, 3 * 64);
	((Elf64_Ehdr *)c.bytes)->e_shoff = SIZE - 512;
	((Elf64_Ehdr *)c.bytes)->e_shnum = 3;
	((Elf64_Shdr *)(c.bytes + SIZE - 512))[1].sh_offset = SIZE - 1024;
	((Elf64_Shdr *)(c.bytes + SIZE - 512))[2] = (Elf64_Shdr){ .sh_name = (uint32_t)f.names,
								  .sh_type = SHT_PROGBITS,
								  .sh_addr = c.vaddr,
								  .sh_offset = CODE_OFFSET + CODE_SIZE,
								  .sh_size = c.n };
	assert_int_equal(elf_image_from_memory(c.bytes, SIZE, &img, NULL), 0);
	assert_int_equal(unwind_table_build(img, &t, NULL), 0);
	check_form(&t);
	assert_int_equal(t.nrules, UT_UNWIND_RULES_MAX);
	EXPECT(&t, CODE + 60000, cfa(RSP, 60016));
	EXPECT(&t, CODE + ROWS - 1, only(UT_CFA_UNSUPPORTED));
	elf_image_free(img);
	unwind_table_done(&t);
	file_free(&f);
	free(c.bytes);
	free(program);
}

/* The header's pointer, and its number of entries; what follows the last entry is not an entry. */
static void add_header(struct unwind_file *f, uint32_t entries, int with_end)
{
	uint8_t header[12] = { 1, 0x1b, 0x03, 0x3b };
	int32_t distance = FRAMES - (HEADER + 4);

	memcpy(header + 4, &distance, 4);
	memcpy(header + 8, &entries, 4);
	if (!entries)
		header[2] = header[3] = 0xff;
	memcpy(f->bytes + HEADER_OFFSET, header, sizeof(header));
	file_add_phdr(f, PT_GNU_EH_FRAME, PF_R, HEADER, HEADER_OFFSET, sizeof(header));
	if (with_end)
		cfi_u32(&f->eh, 0);
	FDE(&f->eh, F + 0x80, 0x10, 0);
	file_ehdr(f)->e_shoff = 0;
	file_ehdr(f)->e_shnum = file_ehdr(f)->e_shstrndx = 0;
	f->eh.n = 0;
}

static void test_by_header(void **state)
{
	struct unwind_file f;
	struct unwind_table t;

	(void)state;
	for (int i = 0; i < 2; i++) { /* the end by its mark, or by the number of entries */
		f = file_new();
		cfi_cie(&f.eh);
		FDE(&f.eh, F, 0x10, 0);
		FDE(&f.eh, F + 0x10, 0x10, 0x0e, 16);
		add_header(&f, i ? 2 : 0, !i);
		build(&f, &t);
		EXPECT(&t, F, cfa(RSP, 8));
		EXPECT(&t, F + 0x10, cfa(RSP, 16));
		EXPECT(&t, F + 0x80, only(UT_CFA_UNKNOWN));
		assert_int_equal(t.bad_entries, 0);
		done(&f, &t);
	}
}

static void test_debug_frame(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	cfi_cie(&f.debug);
	FDE(&f.debug, F, 0x40, 0x0e, 16);
	cfi_cie(&f.eh);
	FDE(&f.eh, F + 0x10, 0x10, 0x0e, 24);
	build(&f, &t);
	EXPECT(&t, F, cfa(RSP, 16));
	EXPECT(&t, F + 0x10, cfa(RSP, 24));
	EXPECT(&t, F + 0x20, cfa(RSP, 16));
	EXPECT(&t, F + 0x40, only(UT_CFA_UNKNOWN));
	done(&f, &t);
}

static void test_nothing(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	build(&f, &t);
	assert_string_equal(t.why, "it has no unwind information (.eh_frame)");
	EXPECT(&t, F, only(UT_CFA_UNKNOWN));
	unwind_table_done(&t);
	file_phdr(&f, 0)->p_flags = PF_R;
	build(&f, &t);
	assert_string_equal(t.why, "it contains no code");
	unwind_table_done(&t);
	file_ehdr(&f)->e_machine = EM_AARCH64;
	build(&f, &t);
	assert_string_equal(t.why, "it is not for x86-64");
	done(&f, &t);
}

UNIT_TESTS(unwind)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_function),       cmocka_unit_test(test_saved_registers),
		cmocka_unit_test(test_return_address), cmocka_unit_test(test_cfa_forms),
		cmocka_unit_test(test_signal_frame),   cmocka_unit_test(test_moves),
		cmocka_unit_test(test_remembered),     cmocka_unit_test(test_broken_programs),
		cmocka_unit_test(test_encodings),      cmocka_unit_test(test_data_relative),
		cmocka_unit_test(test_common_entries), cmocka_unit_test(test_pointers_to_common_entries),
		cmocka_unit_test(test_lengths),	       cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_overlaps),       cmocka_unit_test(test_merged),
		cmocka_unit_test(test_pages),	       cmocka_unit_test(test_many_rules),
		cmocka_unit_test(test_by_header),      cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_nothing),
	};

	return unit_run(tests, NULL, NULL);
}
