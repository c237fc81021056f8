/* SPDX-License-Identifier: MIT */
/* Operands: every row of the case table through the parser and a small machine, real programs, and what must be refused. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "elf/usdt.h"
#include "probe/operand.h"
#include "unit.h"

/* The machine that the case table states. */
static const uint64_t registers[16] = {
	[X86_RAX] = 0x11223344aabbccdd,
	[X86_RBX] = 0xffffffffffffff80,
	[X86_RCX] = 3,
	[X86_RDI] = 0x5000,
	[X86_RSI] = 2,
	[X86_RBP] = 0x7000,
	[X86_RSP] = 0x6000,
	[X86_R8] = 0xfffffffffffffff9,
	[X86_RDX] = 0x4004000000000000,
};
static const struct {
	uint64_t address;
	int64_t value;
	unsigned size;
} memory[] = {
	{ 0x6ff8, 77, 8 },  { 0x6ffc, -9, 4 }, { 0x6000, 5, 8 },  { 0x6008, 6, 8 },
	{ 0x5008, -40, 4 }, { 0x4010, -7, 4 }, { 0x401c, 12, 4 },
};
#define G_I32 0x4010

static uint64_t load(uint64_t address, unsigned size)
{
	for (size_t i = 0; i < ARRAY_SIZE(memory); i++)
		if (memory[i].address == address && memory[i].size == size)
			return (uint64_t)memory[i].value;
	fail_msg("reads %u bytes at 0x%llx, where nothing is", size, (unsigned long long)address);
	return 0;
}

static uint64_t extend(uint64_t v, const struct operand *op)
{
	unsigned unused = 64 - 8u * op->size;

	return op->is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v << unused >> unused;
}

static uint64_t address_of(const struct operand *op)
{
	uint64_t address = (uint64_t)op->disp;

	if (op->has_symbol) {
		assert_string_equal(op->symbol, "g_i32");
		address += G_I32;
	}
	if (op->base != X86_NONE)
		address += registers[op->base];
	if (op->index != X86_NONE)
		address += registers[op->index] * op->scale;
	return address;
}

static uint64_t evaluate(const struct operand *op)
{
	switch (op->kind) {
	case OPERAND_CONST: return op->value;
	case OPERAND_REG: return extend(registers[op->base] >> op->shift, op);
	case OPERAND_MEM: return extend(load(address_of(op), op->size), op);
	case OPERAND_ADDR: return address_of(op);
	default: fail_msg("'%s' %s", op->text, op->reason);
	}
	return 0;
}

static void expect_row(const struct operand *op, const char *kind, const char *want)
{
	char got[32];

	if (strstr(want, "ERR")) {
		assert_int_equal(op->kind, OPERAND_UNREADABLE);
		assert_true(strlen(op->reason) > 5);
		return;
	}
	if (strncmp(want, "bits of ", 8) == 0) {
		assert_true(op->is_float && op->kind == OPERAND_REG);
		assert_int_equal(op->base, strstr(want, "eax") ? X86_RAX : X86_RDX);
		return;
	}
	if (strcmp(kind, "imm") == 0)
		assert_int_equal(op->kind, OPERAND_CONST);
	if (strcmp(kind, "mem") == 0)
		assert_int_equal(op->kind, OPERAND_MEM);
	if (op->is_signed)
		snprintf(got, sizeof(got), "%lld", (long long)evaluate(op));
	else
		snprintf(got, sizeof(got), "%llu", (unsigned long long)evaluate(op));
	assert_string_equal(got, want);
}

static void test_case_table(void **state)
{
	const char *root = getenv("UT_SOURCE_ROOT");
	char path[4096], line[1024];
	unsigned rows = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/cases/usdt/arg_specs.tsv", root ? root : ".");
	AUTO_FCLOSE FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *rest = line, *spec, *kind, *want;
		struct operands ops;

		if (line[0] == '#')
			continue;
		spec = strsep(&rest, "\t\n");
		kind = strsep(&rest, "\t\n");
		want = strsep(&rest, "\t\n");
		assert_non_null(want);
		assert_int_equal(operands_parse(spec, &ops), 0);
		rows++;
		if (strcmp(kind, "none") == 0) {
			assert_int_equal(ops.n, 0);
			continue;
		}
		assert_int_equal(ops.n, 1);
		expect_row(&ops.v[0], kind, want);
	}
	assert_true(rows >= 32);
}

static struct operand parse(const char *text)
{
	struct operand op;

	operand_parse(text, strlen(text), &op);
	return op;
}

static void test_forms(void **state)
{
	struct operand op;

	(void)state;
	op = parse("1@%ah");
	assert_int_equal(op.shift, 8);
	op = parse("-8@tbl(,%rdi,8)");
	assert_true(op.kind == OPERAND_MEM && op.has_symbol && op.base == X86_NONE && op.index == X86_RDI &&
		    op.scale == 8);
	assert_string_equal(op.symbol, "tbl");
	for (int i = 0; i < 3; i++) {
		static const char *const same[] = { "-4@12+itbl(%rip)", "-4@itbl+12(%rip)", "-4@ itbl + 0xc ( %rip )" };

		op = parse(same[i]);
		assert_true(op.kind == OPERAND_MEM && op.has_symbol && op.disp == 12 && op.base == X86_NONE);
		assert_string_equal(op.symbol, "itbl");
	}
	op = parse("-4@itbl-4(%rip)");
	assert_int_equal(op.disp, -4);
	op = parse("8@$g_i32");
	assert_true(op.kind == OPERAND_ADDR && op.has_symbol && op.disp == 0);
	op = parse("8@$g_i32+8");
	assert_true(op.kind == OPERAND_ADDR && op.disp == 8);
	op = parse("8@sym(%rax)");
	assert_true(op.kind == OPERAND_MEM && op.has_symbol && op.base == X86_RAX);
	op = parse("-4@( %rdi , %rsi , 4 )");
	assert_true(op.kind == OPERAND_MEM && op.base == X86_RDI && op.index == X86_RSI && op.scale == 4);
	op = parse("8@(%r13,%r12)");
	assert_true(op.kind == OPERAND_MEM && op.index == X86_R12 && op.scale == 1);
	op = parse("4@4096");
	assert_true(op.kind == OPERAND_MEM && op.base == X86_NONE && op.disp == 4096);
}

static void test_constants(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} cases[] = {
		{ "4@$-1", 0xffffffff },
		{ "-4@$0xffffffff", UINT64_MAX },
		{ "8@$-1", UINT64_MAX },
		{ "1@$-3", 253 },
		{ "-1@$-3", (uint64_t)-3 },
		{ "8@$1099511627776", 1ull << 40 },
		{ "8@$0x8000000000000000", 1ull << 63 },
		{ "-8@$-9223372036854775808", 1ull << 63 },
		{ "4@$010", 8 },
		{ "4@$3+4", 7 },
		{ "4@$0", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct operand op = parse(cases[i].text);

		assert_int_equal(op.kind, OPERAND_CONST);
		assert_true(op.value == cases[i].value);
	}
}

static void test_all_registers(void **state)
{
	static const char *const names[16][4] = {
		{ "rax", "eax", "ax", "al" },  { "rcx", "ecx", "cx", "cl" },  { "rdx", "edx", "dx", "dl" },
		{ "rbx", "ebx", "bx", "bl" },  { "rsp", "esp", "sp", "spl" }, { "rbp", "ebp", "bp", "bpl" },
		{ "rsi", "esi", "si", "sil" }, { "rdi", "edi", "di", "dil" },
	};

	(void)state;
	for (int r = 0; r < 16; r++) {
		for (int form = 0; form < 4; form++) {
			static const char *const suffix[] = { "", "d", "w", "b" };
			char text[32];
			struct operand op;

			if (r < 8)
				snprintf(text, sizeof(text), "%d@%%%s", 8 >> form, names[r][form]);
			else
				snprintf(text, sizeof(text), "%d@%%r%d%s", 8 >> form, r, suffix[form]);
			op = parse(text);
			assert_int_equal(op.kind, OPERAND_REG);
			assert_int_equal(op.base, r);
			assert_int_equal(op.size, 8 >> form);
			assert_int_equal(op.shift, 0);
		}
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{ "8f@%xmm0", "is in %xmm0" },
		{ "4f@%xmm15", "is in %xmm15" },
		{ "8f@%st(1)", "is in %st" },
		{ "-4@%fs:tls_v@tpoff", "is thread-local" },
		{ "-4@%gs:0x10", "is thread-local" },
		{ "-4@tls_v@tpoff(%rax)", "is thread-local" },
		{ "8@x@gottpoff(%rip)", "is thread-local" },
		{ "8@puts@GOTPCREL(%rip)", "global offset table" },
		{ "8@$puts@PLT", "needs a relocation" },
		{ "16@%rdi", "16 bytes" },
		{ "-16@%rax", "16 bytes" },
		{ "16f@8(%rsp)", "16 bytes" },
		{ "3@%eax", "3 bytes" },
		{ "0@%eax", "0 bytes" },
		{ "99999999999999999999@%eax", "size" },
		{ "2f@%ax", "floating-point number of 2" },
		{ "4@%foo", "%foo" },
		{ "4@%", "no register name" },
		{ "8@%rip", "instruction pointer" },
		{ "8@%riz", "%riz" },
		{ "8@%eax", "has 4" },
		{ "2@%ah", "has 1" },
		{ "4@(%eax)", "not a 64-bit register" },
		{ "4@(%rax,%rsp,2)", "index" },
		{ "4@a(%rip,%rax)", "index" },
		{ "4@16(%rip)", "relative to an instruction" },
		{ "4@(%rax,%rbx,3)", "scale 3" },
		{ "4@(%rax,%rbx,)", "scale" },
		{ "4@(%rax", "incomplete" },
		{ "4@(", "incomplete" },
		{ "4@()", "register" },
		{ "4@(,)", "register" },
		{ "4@8(%rax)x", "not understood" },
		{ "4@", "has no location" },
		{ "4", "size" },
		{ "", "size" },
		{ "@%eax", "size" },
		{ "-@%eax", "size" },
		{ "%eax", "size" },
		{ "4@$", "incomplete" },
		{ "4@$99999999999999999999", "exceeds 64 bits" },
		{ "4@$0x", "number" },
		{ "4@1f(%rip)", "number" },
		{ "4@a+b(%rip)", "two symbols" },
		{ "4@4-a(%rip)", "subtracts" },
		{ "4@a*2", "not understood" },
		{ "4@\"q\"(%rip)", "not understood" },
		{ "4@%eax %ebx", "not understood" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct operand op = parse(cases[i].text);

		assert_int_equal(op.kind, OPERAND_UNREADABLE);
		if (!strstr(op.reason, cases[i].reason))
			fail_msg("'%s' %s: should say '%s'", cases[i].text, op.reason, cases[i].reason);
		assert_string_equal(op.text, cases[i].text);
		assert_false(op.has_symbol);
	}
}

static void test_neighbours(void **state)
{
	struct operands ops;
	char many[400] = "";

	(void)state;
	assert_int_equal(
		operands_parse("  8@%rax\t-4@( %rdi , %rsi , 4 )  8f@.LC1(%rip) 4@%foo -4@-4(%rbp 1@$7 ", &ops), 0);
	assert_int_equal(ops.n, 6);
	assert_int_equal(ops.v[0].kind, OPERAND_REG);
	assert_true(ops.v[1].kind == OPERAND_MEM && ops.v[1].scale == 4);
	assert_string_equal(ops.v[2].symbol, ".LC1");
	assert_int_equal(ops.v[3].kind, OPERAND_UNREADABLE);
	assert_true(ops.v[3].size == 4 && !ops.v[3].is_signed);
	assert_int_equal(ops.v[4].kind, OPERAND_UNREADABLE);
	assert_string_equal(ops.v[4].text, "-4@-4(%rbp");
	assert_true(ops.v[5].kind == OPERAND_CONST && ops.v[5].value == 7);
	assert_int_equal(operands_parse("", &ops), 0);
	assert_int_equal(ops.n, 0);
	assert_int_equal(operands_parse("  \t ", &ops), 0);
	assert_int_equal(ops.n, 0);
	for (int i = 0; i < 12; i++)
		strcat(many, "8@%rax ");
	assert_int_equal(operands_parse(many, &ops), 0);
	assert_int_equal(ops.n, 12);
	strcat(many, "8@%rbx");
	assert_int_equal(operands_parse(many, &ops), -E2BIG);
	assert_int_equal(ops.n, 12);
}

static void test_long_texts(void **state)
{
	char text[1000] = "8@", name[129];
	struct operand op;

	(void)state;
	memset(text + 2, 'a', sizeof(text) - 3);
	op = parse(text);
	assert_int_equal(op.kind, OPERAND_UNREADABLE);
	assert_non_null(strstr(op.reason, "too long"));
	assert_int_equal(strlen(op.text), sizeof(op.text) - 1);
	memset(name, 'b', 127);
	name[127] = '\0';
	snprintf(text, sizeof(text), "8@%s(%%rip)", name);
	op = parse(text);
	assert_int_equal(op.kind, OPERAND_MEM);
	assert_string_equal(op.symbol, name);
}

static void test_type_names(void **state)
{
	static const struct {
		const char *text, *name;
	} types[] = {
		{ "-1@$0", "int8" },	  { "1@$0", "uint8" },	   { "-2@$0", "int16" },     { "2@$0", "uint16" },
		{ "-4@$0", "int32" },	  { "4@$0", "uint32" },	   { "-8@$0", "int64" },     { "8@$0", "uint64" },
		{ "4f@%eax", "float" },	  { "8f@%rax", "double" }, { "8f@%xmm0", "double" }, { "16@%rax", "unknown" },
		{ "-8f@%rax", "double" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct operand op = parse(types[i].text);

		assert_string_equal(operand_type_name(&op), types[i].name);
	}
}

/* The operands of one probe of a program that the build made; NULL and skipped when it made none. */
static struct elf_image *open_target(const char *name)
{
	const char *root = getenv("UT_BUILD_ROOT");
	struct elf_image *img = NULL;
	struct ut_err err = { 0 };
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/targets/%s", root ? root : ".", name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		skip();
	assert_int_equal(elf_image_open(fd, &img, &err), 0);
	return img;
}

static struct operands probe_operands(struct elf_image *img, const char *name)
{
	struct usdt_notes notes = { 0 };
	struct operands ops = { 0 };
	struct ut_err err = { 0 };
	bool found = false;

	assert_int_equal(usdt_notes_read(img, &notes, &err), 0);
	for (size_t i = 0; i < notes.notes.n; i++) {
		if (strcmp(notes.notes.v[i].name, name) != 0)
			continue;
		found = true;
		assert_int_equal(operands_parse(notes.notes.v[i].args, &ops), 0);
	}
	assert_true(found);
	for (unsigned i = 0; i < ops.n; i++)
		operand_resolve(&ops.v[i], img);
	usdt_notes_done(&notes);
	return ops;
}

/* Reads the initial value of a resolved global from the file. */
static uint64_t initial_value(struct elf_image *img, const struct operand *op)
{
	uint64_t v = 0;

	assert_int_equal(op->kind, OPERAND_MEM);
	assert_true(op->has_symbol && op->sym_vaddr);
	assert_true(elf_read_at(img, op->sym_vaddr + (uint64_t)op->disp, &v, op->size));
	return extend(v, op);
}

static void check_zoo(const char *target)
{
	struct elf_image *img = open_target(target);
	struct operands ops = probe_operands(img, "glob");

	assert_int_equal(ops.n, 2);
	if (!strstr(ops.v[0].text, "g_i32")) { /* clang loads it first */
		assert_int_equal(ops.v[0].size, 4);
	} else if (strcmp(target, "zoo-stripped") == 0) { /* nothing exports g_i32: a reason, never a guess */
		assert_int_equal(ops.v[0].kind, OPERAND_UNREADABLE);
		assert_non_null(strstr(ops.v[0].reason, "g_i32"));
	} else {
		assert_true(initial_value(img, &ops.v[0]) == (uint64_t)-7);
		assert_true(initial_value(img, &ops.v[1]) == 0xfedcba9876543210ull);
	}
	ops = probe_operands(img, "konst");
	assert_true(ops.n == 2 && ops.v[0].value == 5 && ops.v[1].value == (uint64_t)-5);
	ops = probe_operands(img, "dbl");
	assert_true(ops.n == 1 && ops.v[0].kind == OPERAND_UNREADABLE && ops.v[0].is_float);
	elf_image_free(img);
}

static void test_zoo_pie(void **state)
{
	(void)state;
	check_zoo("zoo-pie");
}
static void test_zoo_nopie(void **state)
{
	(void)state;
	check_zoo("zoo-nopie");
}
static void test_zoo_static(void **state)
{
	(void)state;
	check_zoo("zoo-static");
}
static void test_zoo_stripped(void **state)
{
	(void)state;
	check_zoo("zoo-stripped");
}

static void check_shapes(const char *target)
{
	struct elf_image *img = open_target(target);
	struct operands ops = probe_operands(img, "global_var");

	assert_true(ops.n == 1);
	if (ops.v[0].has_symbol)
		assert_true(initial_value(img, &ops.v[0]) == 5);
	ops = probe_operands(img, "static_arr");
	if (ops.v[0].has_symbol) {
		assert_string_equal(ops.v[0].symbol, "itbl");
		assert_int_equal(ops.v[0].disp, 12);
	}
	ops = probe_operands(img, "consts");
	assert_true(ops.n == 3 && ops.v[0].value == (uint64_t)-5 && ops.v[1].value == 1ull << 40 &&
		    ops.v[2].value == (uint64_t)-3);
	ops = probe_operands(img, "tls");
	if (strstr(ops.v[0].text, "%fs:"))
		assert_non_null(strstr(ops.v[0].reason, "thread-local"));
	ops = probe_operands(img, "double_global");
	if (strstr(ops.v[0].text, ".LC"))
		assert_non_null(strstr(ops.v[0].reason, "compiler-generated label"));
	ops = probe_operands(img, "twelve");
	assert_int_equal(ops.n, 12);
	for (unsigned i = 0; i < 12; i++)
		assert_true(ops.v[i].kind != OPERAND_UNREADABLE);
	elf_image_free(img);
}

static void test_shapes_pie(void **state)
{
	(void)state;
	check_shapes("shapes-pie");
}
static void test_shapes_nopie(void **state)
{
	(void)state;
	check_shapes("shapes-nopie");
}
static void test_shapes_norx(void **state)
{
	(void)state;
	check_shapes("shapes-norx");
}

static void test_thread_local_symbol(void **state)
{
	struct elf_image *img = open_target("shapes-pie");
	struct operand op = parse("4@tls_v(%rip)");

	(void)state;
	operand_resolve(&op, img);
	assert_int_equal(op.kind, OPERAND_UNREADABLE);
	assert_non_null(strstr(op.reason, "thread-local"));
	elf_image_free(img);
}

UNIT_TESTS(operand)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_case_table),  cmocka_unit_test(test_forms),
		cmocka_unit_test(test_constants),   cmocka_unit_test(test_all_registers),
		cmocka_unit_test(test_refusals),    cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_long_texts),  cmocka_unit_test(test_type_names),
		cmocka_unit_test(test_zoo_pie),	    cmocka_unit_test(test_zoo_nopie),
		cmocka_unit_test(test_zoo_static),  cmocka_unit_test(test_zoo_stripped),
		cmocka_unit_test(test_shapes_pie),  cmocka_unit_test(test_shapes_nopie),
		cmocka_unit_test(test_shapes_norx), cmocka_unit_test(test_thread_local_symbol),
	};

	return unit_run(tests, NULL, NULL);
}
