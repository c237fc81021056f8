/* SPDX-License-Identifier: MIT */
/* Unwind tables of installed programs and libraries beside what elfutils says of the same addresses. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glob.h>
#include <libelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "elf/unwind.h"
#include "unit.h"

enum { RBX = 3, RBP = 6, RSP = 7, RIP = 16, ADDRESSES = 4000 };

struct counts {
	unsigned same, unknown, expressions, unsupported;
};

struct subject {
	const char *name;
	struct elf_image *img;
	struct unwind_table table;
	Elf *elf;
	Dwarf_CFI *cfi;
	uint64_t entry;
	struct counts counts;
};

static void fail_at(const struct subject *s, uint64_t vaddr, const char *what)
{
	const struct ut_unwind_rule *r = unwind_table_find(&s->table, vaddr);

	fail_msg("%s at 0x%llx: %s; the table has CFA %u: %u%+d%+d ra %d rbp %u%+d rbx %u%+d", s->name,
		 (unsigned long long)vaddr, what, r->cfa, r->cfa_reg, r->cfa_off, r->cfa_add, r->ra_off, r->rbp,
		 r->rbp_off, r->rbx, r->rbx_off);
}

/* The number of a breg operation; -1 for others. */
static int breg(const Dwarf_Op *op, int64_t *ret)
{
	if (op->atom == DW_OP_bregx) {
		*ret = (int64_t)op->number2;
		return (int)op->number;
	}
	if (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31)
		return -1;
	*ret = (int64_t)op->number;
	return op->atom - DW_OP_breg0;
}

/* The forms that have a rule of their own, evaluated in another way than by the reader: operation by operation. */
static void compare_cfa_expression(struct subject *s, uint64_t vaddr, const Dwarf_Op *ops, size_t n)
{
	const struct ut_unwind_rule *r = unwind_table_find(&s->table, vaddr);
	int64_t off = 0;
	int reg = breg(&ops[0], &off);

	s->counts.expressions++;
	if (r->cfa == UT_CFA_UNSUPPORTED) {
		s->counts.unsupported++;
		if (n == 2 && reg >= 0 && ops[1].atom == DW_OP_deref)
			fail_at(s, vaddr, "a simple expression was not understood");
	} else if (r->cfa == UT_CFA_SIGNAL) {
		if (n != 2 || reg != RSP || off != 160 || ops[1].atom != DW_OP_deref)
			fail_at(s, vaddr, "no signal frame");
	} else if (r->cfa == UT_CFA_PLT) {
		if (n != 9 || reg != RSP || off != 8 || ops[4].atom != (unsigned)(DW_OP_lit0 + r->cfa_add))
			fail_at(s, vaddr, "no stub");
	} else if (r->cfa == UT_CFA_DEREF) {
		int64_t add = n == 3 && ops[2].atom == DW_OP_plus_uconst ? (int64_t)ops[2].number : 0;

		if (n == 4 && ops[3].atom == DW_OP_plus) /* SBCL's */
			add = ops[2].atom - DW_OP_lit0;
		if (n < 2 || n > 4 || reg != r->cfa_reg || off != r->cfa_off || ops[1].atom != DW_OP_deref ||
		    add != r->cfa_add)
			fail_at(s, vaddr, "another expression");
	} else {
		fail_at(s, vaddr, "elfutils has an expression for the CFA");
	}
}

static void compare_cfa(struct subject *s, uint64_t vaddr, Dwarf_Frame *frame)
{
	const struct ut_unwind_rule *r = unwind_table_find(&s->table, vaddr);
	Dwarf_Op *ops;
	int64_t off = 0;
	size_t n;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &n), 0);
	if (n != 1) {
		compare_cfa_expression(s, vaddr, ops, n);
		return;
	}
	if (r->cfa == UT_CFA_UNSUPPORTED)
		return; /* for its return address: see below */
	if (r->cfa != UT_CFA_REG || breg(ops, &off) != r->cfa_reg || off != r->cfa_off)
		fail_at(s, vaddr, "another CFA");
}

/* Where elfutils says that a register is: in words of the table. */
static bool compare_saved(uint64_t reg, Dwarf_Frame *frame, uint8_t how, int16_t off)
{
	Dwarf_Op mem[3], *ops;
	int64_t distance = 0;
	size_t n;

	if (dwarf_frame_register(frame, (int)reg, mem, &ops, &n))
		return false;
	if (!n && reg == RBX) /* elfutils 0.188 takes register 0 for the one that functions preserve */
		return how == UT_SAVED_SAME;
	if (!n)
		return how == (ops ? UT_SAVED_UNDEFINED : UT_SAVED_SAME);
	if (ops[0].atom != DW_OP_call_frame_cfa) /* a register */
		return how == UT_SAVED_UNDEFINED;
	if (n == 1)
		return how == UT_SAVED_CFA && off == 0;
	if (n == 2 && ops[1].atom == DW_OP_plus_uconst)
		return how == UT_SAVED_CFA && (int64_t)ops[1].number == off;
	if (breg(&ops[n - 1], &distance) == RBP) /* an expression */
		return how == UT_SAVED_RBP && distance == off;
	return how == UT_SAVED_UNDEFINED;
}

static bool is_undefined(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	return dwarf_frame_register(frame, reg, mem, &ops, &n) == 0 && !n && ops;
}

static bool is_plain(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	return dwarf_frame_register(frame, reg, mem, &ops, &n) == 0 && n && ops[0].atom == DW_OP_call_frame_cfa;
}

static void compare_registers(struct subject *s, uint64_t vaddr, Dwarf_Frame *frame)
{
	const struct ut_unwind_rule *r = unwind_table_find(&s->table, vaddr);
	Dwarf_Op *ops;
	size_t n;

	if (r->cfa == UT_CFA_SIGNAL)
		return;
	if (r->cfa == UT_CFA_UNSUPPORTED) {
		if (dwarf_frame_cfa(frame, &ops, &n) == 0 && n == 1 && is_plain(frame, RIP))
			fail_at(s, vaddr, "nothing about it is odd");
		return;
	}
	if (!compare_saved(RIP, frame, UT_SAVED_CFA, r->ra_off))
		fail_at(s, vaddr, "another return address");
	if (!compare_saved(RBP, frame, r->rbp, r->rbp_off))
		fail_at(s, vaddr, "another rbp");
	if (!compare_saved(RBX, frame, r->rbx, r->rbx_off))
		fail_at(s, vaddr, "another rbx");
	s->counts.same++;
}

static void compare(struct subject *s, uint64_t vaddr)
{
	const struct ut_unwind_rule *r = unwind_table_find(&s->table, vaddr);
	Dwarf_Frame *frame = NULL;

	if (dwarf_cfi_addrframe(s->cfi, vaddr, &frame)) {
		s->counts.unknown++;
		if (r->cfa != UT_CFA_UNKNOWN && r->cfa != UT_CFA_OUTERMOST)
			fail_at(s, vaddr, "elfutils knows nothing of it");
		return;
	}
	if (is_undefined(frame, RIP)) {
		s->counts.same++;
		if (r->cfa != UT_CFA_OUTERMOST)
			fail_at(s, vaddr, "the outermost frame");
	} else if (r->cfa != UT_CFA_OUTERMOST || vaddr < s->entry || vaddr - s->entry > 256) { /* a program's start */
		compare_cfa(s, vaddr, frame);
		compare_registers(s, vaddr, frame);
	}
	free(frame);
}

/* At the places where rows begin, and a byte before: where a mistake by one would show. */
static void compare_rows(struct subject *s)
{
	const struct unwind_table *t = &s->table;
	uint32_t step = t->nrows / ADDRESSES + 1;

	for (uint32_t page = 0; page < t->pages; page++) {
		for (uint32_t i = t->directory[page]; i < t->directory[page + 1]; i++) {
			uint64_t vaddr = ((uint64_t)(t->first_page + page) << UT_UNWIND_PAGE_SHIFT) +
					 UT_UNWIND_ROW_LOW(t->rows[i]);

			if (i % step && t->rules[UT_UNWIND_ROW_RULE(t->rows[i])].cfa <= UT_CFA_REG)
				continue;
			compare(s, vaddr);
			compare(s, vaddr - 1);
		}
	}
}

static void compare_random(struct subject *s)
{
	const struct elf_segment *segments;
	size_t n = elf_image_segments(s->img, &segments);
	uint64_t seed = 88172645463325252ull;

	for (size_t i = 0; i < n; i++) {
		if (!segments[i].exec || !segments[i].filesz)
			continue;
		for (unsigned k = 0; k < ADDRESSES; k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			compare(s, segments[i].vaddr + seed % segments[i].filesz);
		}
	}
}

static void compare_all(struct subject *s)
{
	assert_non_null(s->elf);
	s->cfi = dwarf_getcfi_elf(s->elf);
	assert_non_null(s->cfi);
	s->entry = elf64_getehdr(s->elf)->e_entry;
	assert_int_equal(unwind_table_build(s->img, &s->table, NULL), 0);
	assert_int_equal(s->table.bad_entries, 0);
	assert_null(s->table.why);
	compare_random(s);
	compare_rows(s);
	assert_true(s->counts.same > 20);
	print_message("%s: %u the same, %u expressions, %u not followed, %u unknown to both\n", s->name, s->counts.same,
		      s->counts.expressions, s->counts.unsupported, s->counts.unknown);
	unwind_table_done(&s->table);
	dwarf_cfi_end(s->cfi);
	elf_end(s->elf);
	elf_image_free(s->img);
}

static bool compare_file(const char *path)
{
	struct subject s = { .name = path };
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	assert_int_equal(elf_image_open(fd, &s.img, NULL), 0);
	s.elf = elf_begin(fd, ELF_C_READ, NULL);
	compare_all(&s);
	return true;
}

static void test_files(void **state)
{
	static const char *const patterns[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libm.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/usr/bin/python3.11",
		"/usr/bin/node",
		"/usr/bin/sbcl",
		"/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
		"/usr/lib/jvm/java-17-openjdk-amd64/lib/libjava.so",
		"/usr/lib/jvm/temurin-*/lib/server/libjvm.so",
		"/usr/lib/postgresql/*/bin/postgres",
		"/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1",
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
		"/proc/self/exe",
	};
	unsigned compared = 0;
	glob_t found;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (glob(patterns[i], 0, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			compared += compare_file(found.gl_pathv[k]);
		globfree(&found);
	}
	assert_true(compared >= 3); /* libc, the dynamic linker, this program */
}

/* It has no file: it ends behind its section headers. */
static void test_vdso(void **state)
{
	const char *bytes = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct subject s = { .name = "vdso" };
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)bytes;
	size_t size;

	(void)state;
	if (!bytes)
		skip();
	size = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
	assert_int_equal(elf_image_from_memory(bytes, size, &s.img, NULL), 0);
	s.elf = elf_memory((char *)(uintptr_t)bytes, size);
	compare_all(&s);
}

UNIT_TESTS(unwind_oracle)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_vdso),
	};

	elf_version(EV_CURRENT);
	return unit_run(tests, NULL, NULL);
}
