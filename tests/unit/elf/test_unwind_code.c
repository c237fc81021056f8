/* SPDX-License-Identifier: MIT */
/* Unwind tables of code that no entry tells of: stubs of each linker, returns from signals, the start of programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unwind_builder.h"
#include "unit.h"

#define PLT 0x20000

/* What the linkers write; the distances do not matter. */
static const uint8_t first_stub[16] = { 0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 1, 2, 3, 4, 0x0f, 0x1f, 0x40, 0 };
static const uint8_t bnd_first_stub[16] = { 0xff, 0x35, 1, 2, 3, 4, 0xf2, 0xff, 0x25, 1, 2, 3, 4, 0x0f, 0x1f, 0 };
static const uint8_t lazy[16] = { 0xff, 0x25, 1, 2, 3, 4, 0x68, 0, 0, 0, 0, 0xe9, 1, 2, 3, 4 };
static const uint8_t ibt[16] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0, 0, 0, 0, 0xe9, 1, 2, 3, 4, 0x66, 0x90 };
static const uint8_t ibt_bnd[16] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0, 0, 0, 0, 0xf2, 0xe9, 1, 2, 3, 4, 0x90 };
static const uint8_t bnd[16] = { 0x68, 0, 0, 0, 0, 0xf2, 0xe9, 1, 2, 3, 4, 0x0f, 0x1f, 0x44, 0, 0 };
static const uint8_t jump[8] = { 0xff, 0x25, 1, 2, 3, 4, 0x66, 0x90 };
static const uint8_t ibt_jump[16] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1, 2, 3, 4, 0x66, 0x0f, 0x1f, 0x44, 0, 0 };
static const uint8_t retpoline[16] = { 0xe8, 0x11, 0,	 0,    0,    0xf3, 0x90, 0x0f,
				       0xae, 0xe8, 0xeb, 0xf9, 0xcc, 0xcc, 0xcc, 0xcc };

static void expect_cfa(const struct unwind_table *t, uint64_t vaddr, enum ut_unwind_cfa how, int off, int line)
{
	const struct ut_unwind_rule *r = unwind_table_find(t, vaddr);
	int got = r->cfa == UT_CFA_PLT ? r->cfa_add : r->cfa_off;

	if (r->cfa != how || (how == UT_CFA_REG && (r->cfa_reg != 7 || r->ra_off != -8)) || got != off)
		fail_msg("line %d: at 0x%llx: CFA %u, register %u, %d", line, (unsigned long long)vaddr, r->cfa,
			 r->cfa_reg, got);
}
#define EXPECT(vaddr, how, off) expect_cfa(&t, vaddr, how, off, __LINE__)
#define PUT(vaddr, code) memcpy(file_code(&f, vaddr), code, sizeof(code))

static void done(struct unwind_file *f, struct unwind_table *t)
{
	unwind_table_done(t);
	file_free(f);
}

static void test_lazy_stubs(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	PUT(PLT, first_stub);
	PUT(PLT + 16, lazy);
	PUT(PLT + 32, ibt);
	PUT(PLT + 48, ibt_bnd);
	PUT(PLT + 64, bnd);
	PUT(PLT + 80, retpoline);
	PUT(PLT + 96, lazy);
	PUT(PLT + 112, bnd_first_stub);
	file_add_section(&f, ".plt", PLT, CODE_OFFSET + PLT - CODE, 128);
	file_build(&f, &t);
	EXPECT(PLT - 1, UT_CFA_UNKNOWN, 0);
	EXPECT(PLT, UT_CFA_REG, 16);
	EXPECT(PLT + 5, UT_CFA_REG, 16);
	EXPECT(PLT + 6, UT_CFA_REG, 24);
	EXPECT(PLT + 15, UT_CFA_REG, 24);
	EXPECT(PLT + 16, UT_CFA_PLT, 11);
	EXPECT(PLT + 31, UT_CFA_PLT, 11);
	EXPECT(PLT + 32, UT_CFA_PLT, 9);
	EXPECT(PLT + 63, UT_CFA_PLT, 9);
	EXPECT(PLT + 64, UT_CFA_PLT, 5);
	EXPECT(PLT + 80, UT_CFA_UNKNOWN, 0);
	EXPECT(PLT + 96, UT_CFA_PLT, 11);
	EXPECT(PLT + 112, UT_CFA_REG, 16);
	EXPECT(PLT + 118, UT_CFA_REG, 24);
	EXPECT(PLT + 128, UT_CFA_UNKNOWN, 0);
	done(&f, &t);
}

static void test_jumps(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	PUT(PLT + 8, jump); /* a static program's: of 8 bytes, and not on a multiple of 16 */
	PUT(PLT + 16, jump);
	PUT(PLT + 24, ibt_jump);
	file_add_section(&f, ".plt", PLT + 8, CODE_OFFSET + PLT + 8 - CODE, 32);
	file_add_section(&f, ".plt.sec", PLT + 0x100, CODE_OFFSET + PLT + 0x100 - CODE, 32);
	file_add_section(&f, ".plt.got", PLT + 0x200, CODE_OFFSET + PLT + 0x200 - CODE, 8);
	file_build(&f, &t);
	EXPECT(PLT + 7, UT_CFA_UNKNOWN, 0);
	EXPECT(PLT + 8, UT_CFA_REG, 8);
	EXPECT(PLT + 23, UT_CFA_REG, 8);
	EXPECT(PLT + 24, UT_CFA_REG, 8);
	EXPECT(PLT + 0x11f, UT_CFA_REG, 8);
	EXPECT(PLT + 0x120, UT_CFA_UNKNOWN, 0);
	EXPECT(PLT + 0x207, UT_CFA_REG, 8);
	done(&f, &t);
}

/* Entries know better; a section that lies outside of the code is not looked at. */
static void test_entries_first(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	PUT(PLT, lazy);
	PUT(PLT + 16, lazy);
	file_add_section(&f, ".plt", PLT, CODE_OFFSET + PLT - CODE, 32);
	file_add_section(&f, ".plt.sec", FRAMES, FRAMES_OFFSET, 32);
	file_add_section(&f, ".plt.got", CODE + CODE_SIZE - 8, 0x1000, UINT64_MAX - 4);
	cfi_cie(&f.eh);
	FDE(&f.eh, PLT, 32, 0x0e, 48);
	file_build(&f, &t);
	EXPECT(PLT, UT_CFA_REG, 48);
	EXPECT(PLT + 31, UT_CFA_REG, 48);
	EXPECT(FRAMES, UT_CFA_UNKNOWN, 0);
	done(&f, &t);
}

static const uint8_t return_rax[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
static const uint8_t return_eax[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };

static void test_signal_returns(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	memset(file_code(&f, CODE), 0xc3, CODE_SIZE);
	PUT(0x10100, return_rax);
	*file_code(&f, 0x101ff) = 0x90;
	PUT(0x10200, return_rax);
	PUT(0x10300, return_eax);
	memcpy(file_code(&f, 0x10402), return_eax + 1, sizeof(return_eax) - 1); /* the end of something else */
	PUT(0x1fffc, return_rax); /* where pieces that are read meet */
	PUT(0x2fff6, return_rax);
	PUT(CODE, return_rax);
	PUT(CODE + CODE_SIZE - sizeof(return_eax), return_eax);
	PUT(0x10500, return_rax);
	cfi_cie(&f.eh);
	FDE(&f.eh, 0x10500, 0x10, 0); /* somebody tells otherwise */
	FDE(&f.eh, 0x10300 - 1, 1, 0); /* up to it */
	FDE(&f.eh, 0x10300 + sizeof(return_eax), 1, 0);
	file_build(&f, &t);
	EXPECT(0x100ff, UT_CFA_UNKNOWN, 0);
	EXPECT(0x10100, UT_CFA_SIGNAL, 0);
	EXPECT(0x10108, UT_CFA_SIGNAL, 0);
	EXPECT(0x10109, UT_CFA_UNKNOWN, 0);
	EXPECT(0x101fe, UT_CFA_UNKNOWN, 0);
	EXPECT(0x101ff, UT_CFA_SIGNAL, 0); /* the nop in front: a return address less one */
	EXPECT(0x10200, UT_CFA_SIGNAL, 0);
	EXPECT(0x10300, UT_CFA_SIGNAL, 0);
	EXPECT(0x10306, UT_CFA_SIGNAL, 0);
	EXPECT(0x10402, UT_CFA_UNKNOWN, 0);
	EXPECT(0x10500, UT_CFA_REG, 8);
	EXPECT(0x1fffc, UT_CFA_SIGNAL, 0);
	EXPECT(0x20004, UT_CFA_SIGNAL, 0);
	EXPECT(0x2fff6, UT_CFA_SIGNAL, 0);
	EXPECT(CODE, UT_CFA_SIGNAL, 0);
	EXPECT(CODE + CODE_SIZE - 1, UT_CFA_SIGNAL, 0);
	done(&f, &t);
}

/* Wherever it lies in a text that is read in pieces. */
static void test_signal_return_anywhere(void **state)
{
	(void)state;
	for (uint64_t at = 0x1ffe0; at < 0x20020; at++) {
		struct unwind_file f = file_new();
		struct unwind_table t;

		PUT(at, return_rax);
		file_build(&f, &t);
		EXPECT(at, UT_CFA_SIGNAL, 0);
		EXPECT(at + sizeof(return_rax), UT_CFA_UNKNOWN, 0);
		done(&f, &t);
	}
}

/* Go's .debug_frame says that sigreturn was called. */
static void test_before_debug_frame(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	PUT(0x10100, return_rax);
	cfi_cie(&f.debug);
	FDE(&f.debug, 0x10080, 0x70, 0);
	FDE(&f.debug, 0x10100, 0x20, 0);
	file_build(&f, &t);
	EXPECT(0x10100, UT_CFA_SIGNAL, 0);
	EXPECT(0x10109, UT_CFA_REG, 8);
	EXPECT(0x10080, UT_CFA_REG, 8);
	done(&f, &t);
}

/* xor %rbp,%rbp; mov %rsp,%rdi; lea _DYNAMIC(%rip),%rsi; and $-16,%rsp; call _start_c */
static const uint8_t musl_start[] = { 0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35, 0xe8, 0xff,
				      0xff, 0x7f, 0x48, 0x83, 0xe4, 0xf0, 0xe8, 0,    0,    0,	  0 };
/* mov %rsp,%rdi; call _dl_start; mov %rax,%r12; …; call _dl_init; …; jmp *%r12 */
static const uint8_t loader_start[] = { 0x48, 0x89, 0xe7, 0xe8, 0, 0,	 0,    0,    0x49, 0x89, 0xc4,
					0xe8, 0,    0,	  0,	0, 0x4c, 0x89, 0xec, 0x41, 0xff, 0xe4 };

static void test_starts(void **state)
{
	struct unwind_file f = file_new();
	struct unwind_table t;

	(void)state;
	file_ehdr(&f)->e_entry = 0x10100;
	PUT(0x10100, musl_start);
	file_build(&f, &t);
	EXPECT(0x10100, UT_CFA_OUTERMOST, 0);
	EXPECT(0x10100 + sizeof(musl_start) - 1, UT_CFA_OUTERMOST, 0);
	EXPECT(0x10100 + sizeof(musl_start), UT_CFA_UNKNOWN, 0);
	done(&f, &t);
	f = file_new();
	file_ehdr(&f)->e_entry = 0x10100;
	PUT(0x10100, loader_start);
	file_build(&f, &t);
	EXPECT(0x10100 + sizeof(loader_start) - 1, UT_CFA_OUTERMOST, 0);
	EXPECT(0x10100 + sizeof(loader_start), UT_CFA_UNKNOWN, 0);
	done(&f, &t);
}

/* An entry that does not say that nobody called: a program's start nonetheless, but not what a library names as its. */
static void test_start_with_entry(void **state)
{
	struct unwind_file f;
	struct unwind_table t;

	(void)state;
	for (int is_program = 0; is_program < 2; is_program++) {
		f = file_new();
		file_ehdr(&f)->e_entry = 0x10100;
		if (is_program)
			file_add_phdr(&f, PT_INTERP, PF_R, HEADER, HEADER_OFFSET, 0x10);
		cfi_cie(&f.eh);
		FDE(&f.eh, 0x10100, 0x20, 0x41, 0x0e, 16);
		FDE(&f.eh, 0x10120, 0x20, 0x41, 0x0e, 16);
		file_build(&f, &t);
		EXPECT(0x10100, is_program ? UT_CFA_OUTERMOST : UT_CFA_REG, is_program ? 0 : 8);
		EXPECT(0x1011f, is_program ? UT_CFA_OUTERMOST : UT_CFA_REG, is_program ? 0 : 16);
		EXPECT(0x10120, UT_CFA_REG, 8);
		done(&f, &t);
	}
}

UNIT_TESTS(unwind_code)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lazy_stubs),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_entries_first),
		cmocka_unit_test(test_signal_returns),
		cmocka_unit_test(test_signal_return_anywhere),
		cmocka_unit_test(test_before_debug_frame),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_start_with_entry),
	};

	return unit_run(tests, NULL, NULL);
}
