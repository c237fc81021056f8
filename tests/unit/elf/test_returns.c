/* SPDX-License-Identifier: MIT */
/* How functions end, read from this program's own file: functions in assembly, each with one shape. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "elf/image.h"
#include "elf/returns.h"
#include "unit.h"

#define FUNCTION(name, code) \
	".globl " name "\n.hidden " name "\n.type " name ", @function\n.p2align 4\n" name ":\n" code ".size " name \
	", . - " name "\n"

__asm__(".text\n" FUNCTION("ends_plain", "	test %edi, %edi\n	je 1f\n	ret\n1:	rep ret\n") FUNCTION(
	"ends_call",
	"	push %rbx\n	call ends_plain\n	pop %rbx\n	ret $8\n") FUNCTION("ends_itself",
											    "	push %rbx\n	call "
											    "ends_itself\n	pop "
											    "%rbx\n	ret\n")
		FUNCTION("ends_pointer", "	push %rbx\n	call *%rdi\n	pop %rbx\n	ret\n") FUNCTION(
			"ends_tail", "	test %edi, %edi\n	jg ends_plain\n	jmp ends_call\n")
			FUNCTION("ends_again", "	dec %edi\n	jne ends_again\n	ret\n") FUNCTION(
				"ends_parted", "	test %edi, %edi\n	je ends_parted.cold+1\n	ret\n")
				FUNCTION("ends_parted.cold",
					 "	nop\n	call ends_plain\n	xor %eax, "
					 "%eax\n	ret\n") FUNCTION("ends_switch",
									 "	lea 2f(%rip), %rdx\n	movslq "
									 "(%rdx,%rdi,4), %rax\n	add %rdx, "
									 "%rax\n"
									 "	jmp *%rax\n1:	ret\n"
									 "	.pushsection .rodata\n2:	.long "
									 "1b - 2b\n	.popsection\n")
					FUNCTION("ends_notrack", "	notrack jmp *%rax\n	ret\n") FUNCTION(
						"ends_virtual", "	mov (%rdi), %rax\n	jmp *24(%rax)\n")
						FUNCTION("ends_import", "	jmp *ends_variable(%rip)\n")
							FUNCTION("ends_middle", "	jmp ends_call+1\n") FUNCTION(
								"ends_step", "	jmp 1f+1\n1:	mov $1, %eax\n	ret\n")
								FUNCTION("ends_garbage", "	.byte 0x06\n	ret\n")
									FUNCTION("ends_go",
										 "	lea -64(%rsp), %r12\n	cmp "
										 "16(%r14), %r12\n	jbe "
										 "1f\n2:	nop\n	ret\n"
										 "1:	call ends_plain\n	jmp "
										 "ends_go\n") ".data\nends_variable: "
											      ".quad 0\n.text\n");

struct shape {
	const char *name;
	bool is_go;
	unsigned returns, jumps, parts;
	bool calls, itself, pointer;
	const char *problem;
};

static const struct shape shapes[] = {
	{ .name = "ends_plain", .returns = 2, .parts = 1 },
	{ .name = "ends_call", .returns = 1, .parts = 1, .calls = true },
	{ .name = "ends_itself", .returns = 1, .parts = 1, .calls = true, .itself = true },
	{ .name = "ends_pointer", .returns = 1, .parts = 1, .calls = true, .pointer = true },
	{ .name = "ends_tail", .jumps = 2, .parts = 1 },
	{ .name = "ends_again", .returns = 1, .jumps = 1, .parts = 1 },
	{ .name = "ends_parted", .returns = 2, .parts = 2, .calls = true },
	{ .name = "ends_switch", .returns = 1, .parts = 1 },
	{ .name = "ends_notrack", .returns = 1, .parts = 1 },
	{ .name = "ends_virtual", .parts = 1, .problem = "indirect jump" },
	{ .name = "ends_import", .jumps = 1, .parts = 1, .problem = "begins with a jump" },
	{ .name = "ends_middle", .parts = 1, .problem = "middle of another function" },
	{ .name = "ends_step", .parts = 1, .returns = 1, .problem = "middle of an instruction" },
	{ .name = "ends_garbage", .parts = 1, .problem = "cannot be decoded" },
	{ .name = "ends_go", .is_go = true, .returns = 1, .parts = 1, .calls = true },
};

static struct elf_image *open_self(void)
{
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image *img = NULL;

	assert_int_equal(elf_image_open(fd, &img, NULL), 0);
	return img;
}

static uint64_t start_of(struct elf_image *img, const char *name, uint64_t *ret_size)
{
	struct elf_symbol s;

	if (elf_symbol_find(img, name, &s) != 1)
		fail_msg("%s is not in this program", name);
	*ret_size = s.size;
	return s.vaddr;
}

static unsigned count(const struct elf_returns *r, enum elf_end_kind kind)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->ends.n; i++)
		n += r->ends.v[i].kind == kind;
	return n;
}

static void expect_shape(struct elf_image *img, const struct shape *s)
{
	struct elf_returns r;
	uint64_t size, start = start_of(img, s->name, &size);

	elf_function_returns(img, start, size, s->is_go, &r);
	if (!s->problem != !r.problem || (s->problem && !strstr(r.problem, s->problem)))
		fail_msg("%s %s", s->name, r.problem ? r.problem : "has no problem");
	if (count(&r, ELF_END_RETURN) != s->returns || count(&r, ELF_END_TAIL_JUMP) != s->jumps || r.parts != s->parts)
		fail_msg("%s: %u returns, %u jumps, %u parts", s->name, count(&r, ELF_END_RETURN),
			 count(&r, ELF_END_TAIL_JUMP), r.parts);
	if (r.calls != s->calls || r.calls_itself != s->itself || r.calls_pointer != s->pointer)
		fail_msg("%s: calls %d, itself %d, through a pointer %d", s->name, r.calls, r.calls_itself,
			 r.calls_pointer);
	elf_returns_done(&r);
}

static void test_shapes(void **state)
{
	struct elf_image *img = open_self();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		expect_shape(img, &shapes[i]);
	elf_image_free(img);
}

static void test_condition(void **state)
{
	struct elf_image *img = open_self();
	struct elf_returns r;
	uint64_t size, start = start_of(img, "ends_tail", &size);

	(void)state;
	elf_function_returns(img, start, size, false, &r);
	assert_int_equal(r.ends.n, 2);
	assert_int_equal(r.ends.v[0].condition, 0xf); /* greater */
	assert_int_equal(r.ends.v[0].vaddr, start + 2);
	assert_int_equal(r.ends.v[1].condition, ELF_END_ALWAYS);
	elf_returns_done(&r);
	elf_image_free(img);
}

/* Behind the check of the stack, which runs the function's start a second time. */
static void test_entry_of_go(void **state)
{
	static const uint8_t nop = 0x90;
	struct elf_image *img = open_self();
	struct elf_returns r;
	uint64_t size, start = start_of(img, "ends_go", &size);
	uint8_t byte;

	(void)state;
	elf_function_returns(img, start, size, true, &r);
	assert_true(r.entry > start && elf_read_at(img, r.entry, &byte, 1));
	assert_int_equal(byte, nop);
	elf_returns_done(&r);
	elf_function_returns(img, start, size, false, &r);
	assert_true(r.entry == start);
	elf_returns_done(&r);
	elf_image_free(img);
}

UNIT_TESTS(returns)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_condition),
		cmocka_unit_test(test_entry_of_go),
	};

	return unit_run(tests, NULL, NULL);
}
