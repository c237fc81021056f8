/* SPDX-License-Identifier: MIT */
/* Source lines and inlined calls of programs that are compiled here, by whatever compilers there are. */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "elf/lines.h"
#include "scratch.h"
#include "unit.h"

static char folder[] = "/tmp/usertrace-lines-XXXXXX";

/* Line numbers matter. The byte pattern marks the innermost place. */
static const char source[] = "static inline __attribute__((always_inline)) int inner(int x)\n"
			     "{\n"
			     "	__asm__ volatile(\".globl marked\\nmarked: nop\" : \"+r\"(x));\n"
			     "	return x;\n"
			     "}\n"
			     "static inline __attribute__((always_inline)) int middle(int x)\n"
			     "{\n"
			     "	x += 3;\n"
			     "	return inner(x) * 2;\n"
			     "}\n"
			     "__attribute__((noinline)) int outer(int x)\n"
			     "{\n"
			     "	if (x > 1000)\n"
			     "		return 7;\n"
			     "	return middle(x) + 1;\n"
			     "}\n"
			     "int main(int argc, char **argv) { (void)argv; return outer(argc); }\n";

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	write_file(folder, "deep.c", source);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	run("rm -rf %s", folder);
	return 0;
}

static struct elf_image *open_image(const char *name)
{
	char path[PATH_MAX];
	struct elf_image *img = NULL;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_image_open(fd, &img, NULL), 0);
	return img;
}

static bool is_deep_c(const char *file)
{
	size_t len = file ? strlen(file) : 0;

	return len >= 6 && strcmp(file + len - 6, "deep.c") == 0;
}

static void assert_place(const struct elf_place *p, const char *name, uint32_t line)
{
	assert_non_null(p->name);
	assert_string_equal(p->name, name);
	assert_true(is_deep_c(p->file));
	assert_int_equal(p->line, line);
}

static uint64_t marked_at(const char *program)
{
	struct elf_image *img = open_image(program);
	struct elf_symbol s;

	assert_int_equal(elf_symbol_find(img, "marked", &s), 1);
	elf_image_free(img);
	return s.vaddr;
}

static void assert_chain(const char *program, uint64_t marked)
{
	struct elf_image *img = open_image(program);
	struct elf_lines *l = elf_lines_open(img);
	struct elf_place p[ELF_PLACES_MAX];

	assert_non_null(l);
	for (int i = 0; i < 2; i++) { /* the second time from memory */
		assert_int_equal(elf_lines_at(l, marked, p), 3);
		assert_place(&p[0], "inner", 3);
		assert_place(&p[1], "middle", 9);
		assert_place(&p[2], "outer", 15);
	}
	assert_int_equal(elf_lines_at(l, 0, p), 0);
	assert_int_equal(elf_lines_at(l, UINT64_MAX, p), 0);
	elf_lines_free(l);
	elf_image_free(img);
}

static void compile_and_check(const char *compiler, const char *flags)
{
	run("cd %s && %s -O2 %s -o program deep.c", folder, compiler, flags);
	assert_chain("program", marked_at("program"));
}

static void of_gcc(void **state)
{
	static const char *const flags[] = { "-g",     "-gdwarf-4", "-gdwarf-5", "-g -no-pie -ffunction-sections",
					     "-g -gz", "-g -flto" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		compile_and_check("gcc", flags[i]);
}

static void of_clang(void **state)
{
	(void)state;
	if (system("command -v clang >/dev/null")) {
		print_message("there is no clang here\n");
		skip();
	}
	compile_and_check("clang", "-g");
	compile_and_check("clang", "-gdwarf-4");
}

static void in_a_separate_file(void **state)
{
	struct elf_image *img;
	uint64_t marked;

	(void)state;
	run("cd %s && gcc -O2 -g -o whole deep.c && objcopy --only-keep-debug whole whole.debug && "
	    "strip -g -o part whole && objcopy --add-gnu-debuglink=whole.debug part && cp part lost",
	    folder);
	marked = marked_at("whole");
	assert_chain("part", marked);
	run("rm %s/whole.debug", folder);
	img = open_image("part");
	assert_null(elf_lines_open(img));
	elf_image_free(img);
	assert_null(elf_lines_free(NULL));
}

/* Broken information names nothing or something, but ends. */
static void bytes_that_were_changed(void **state)
{
	AUTO_FREE uint8_t *bytes = NULL;
	struct elf_place p[ELF_PLACES_MAX];
	uint64_t marked, seed = 88172645463325252u;
	char path[PATH_MAX];
	struct stat st;

	(void)state;
	run("cd %s && gcc -O2 -g -no-pie -o whole deep.c", folder);
	marked = marked_at("whole");
	snprintf(path, sizeof(path), "%s/whole", folder);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	for (int round = 0; round < 300; round++) {
		struct elf_image *img = NULL;
		struct elf_lines *l;

		assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
		for (int k = 0; k < 1 + round / 4; k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			bytes[4096 + seed % ((uint64_t)st.st_size - 4096)] = (uint8_t)(seed >> 40);
		}
		if (elf_image_from_memory(bytes, (size_t)st.st_size, &img, NULL))
			continue;
		l = elf_lines_open(img);
		if (l)
			for (uint64_t at = marked - 64; at < marked + 64; at++)
				assert_true(elf_lines_at(l, at, p) <= ELF_PLACES_MAX);
		elf_lines_free(l);
		elf_image_free(img);
	}
}

/* elfutils takes for granted that texts end within their section. */
static void a_text_without_an_end(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *section = i ? ".debug_str" : ".debug_line_str";
		struct elf_image *img;

		run("cd %s && gcc -O2 -gdwarf-5 -o program deep.c && printf 'deep.c' > text && "
		    "objcopy --update-section %s=text program",
		    folder, section);
		img = open_image("program");
		assert_null(elf_lines_open(img));
		elf_image_free(img);
	}
}

/* A function with the bytes for it that a test wants: abbreviations, entries below the unit's, a program of lines. */
static const char crafted[] =
	"	.text\n	.globl marked\nmarked: nop\n	ret\n"
	"	.section .debug_abbrev,\"\",@progbits\n"
	"	.byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 3, 8, 0x10, 0x17, 0, 0\n" /* unit: low, high, name, lines */
	"	.byte 2, 0x2e, 1, 0x11, 1, 0x12, 7, 3, 8, 0, 0\n" /* function: low, high, name */
	"	.byte 3, 0x1d, 1, 0x11, 1, 0x12, 7, 3, 8, 0x59, 11, 0, 0, 0\n" /* inlined: low, high, name, line */
	"	.section .debug_info,\"\",@progbits\n"
	"	.long 2f-1f\n1:	.value 4\n	.long 0\n	.byte 8\n"
	"	.byte 1\n	.quad marked, 2\n	.asciz \"unit.c\"\n	.long 0\n"
	"	.byte 2\n	.quad marked, 2\n	.asciz \"outer\"\n"
	"	.rept INLINED\n	.byte 3\n	.quad marked, 2\n	.asciz \"inner\"\n	.byte 7\n	.endr\n"
	"	.rept INLINED\n	.byte 0\n	.endr\n"
	"	.byte 0\n"
	"	.byte 2\n	.quad marked + 1, 1\n	.asciz \"behind\"\n	.byte 0\n"
	"	.byte 0\n2:\n"
	"	.section .debug_line,\"\",@progbits\n"
	"	.long 2f-1f\n1:	.value 4\n	.long 4f-3f\n3:	.byte 1, 1, 1, -5, 14, 13\n"
	"	.byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0\n"
	"	.asciz \"deep.c\"\n	.byte 0, 0, 0, 0\n4:\n"
	"	.byte 0, 9, 2\n	.quad marked\n"
	"	.rept ROWS\n	.byte 18\n	.endr\n"
	"	.byte 2, 2, 0, 1, 1\n2:\n";

static size_t places_of_crafted(unsigned inlined, unsigned rows, uint64_t offset, struct elf_place p[ELF_PLACES_MAX],
				struct elf_image **img, struct elf_lines **l)
{
	write_file(folder, "crafted.s", crafted);
	run("cd %s && sed -i 's/INLINED/%u/; s/ROWS/%u/' crafted.s && gcc -shared -nostdlib -o crafted crafted.s",
	    folder, inlined, rows);
	*img = open_image("crafted");
	*l = elf_lines_open(*img);
	assert_non_null(*l);
	return elf_lines_at(*l, marked_at("crafted") + offset, p);
}

/* A byte of a program of lines may make a row of a hundred bytes: 30 MB were 3 GB, and 20 seconds. */
static void a_program_of_too_many_lines(void **state)
{
	struct elf_place p[ELF_PLACES_MAX];
	struct elf_image *img;
	struct elf_lines *l;

	(void)state;
	assert_int_equal(places_of_crafted(0, 3, 0, p, &img, &l), 1);
	assert_string_equal(p[0].name, "outer");
	assert_true(is_deep_c(p[0].file) && p[0].line > 0);
	elf_lines_free(l);
	elf_image_free(img);
	assert_int_equal(places_of_crafted(0, 3000000, 0, p, &img, &l), 1);
	assert_string_equal(p[0].name, "outer"); /* that is known all the same */
	assert_null(p[0].file);
	elf_lines_free(l);
	elf_image_free(img);
}

/* Entries are walked over once, whatever the depth, and what stands behind them is found. */
static void inlined_a_thousand_deep(void **state)
{
	struct elf_place p[ELF_PLACES_MAX];
	struct elf_image *img;
	struct elf_lines *l;

	(void)state;
	assert_int_equal(places_of_crafted(1000, 1, 0, p, &img, &l), ELF_PLACES_MAX);
	assert_string_equal(p[0].name, "inner");
	assert_string_equal(p[ELF_PLACES_MAX - 1].name, "outer");
	assert_int_equal(p[ELF_PLACES_MAX - 1].line, 7);
	elf_lines_free(l);
	elf_image_free(img);
	assert_int_equal(places_of_crafted(100, 1, 1, p, &img, &l), 1);
	assert_string_equal(p[0].name, "behind");
	elf_lines_free(l);
	elf_image_free(img);
	assert_int_equal(places_of_crafted(200000, 1, 1, p, &img, &l),
			 1); /* took minutes when they were walked over again */
	assert_string_equal(p[0].name, "behind");
	elf_lines_free(l);
	elf_image_free(img);
}

UNIT_TESTS(lines)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_gcc),
		cmocka_unit_test(of_clang),
		cmocka_unit_test(in_a_separate_file),
		cmocka_unit_test(bytes_that_were_changed),
		cmocka_unit_test(a_text_without_an_end),
		cmocka_unit_test(a_program_of_too_many_lines),
		cmocka_unit_test(inlined_a_thousand_deep),
	};

	return unit_run(tests, set_up, tear_down);
}
