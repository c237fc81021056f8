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

static char folder[] = "/tmp/usertrace-lines-XXXXXX";

/* Line numbers matter. The byte pattern marks the innermost place. */
static const char source[] =
	"static inline __attribute__((always_inline)) int inner(int x)\n"
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

	snprintf(path, sizeof path, "%s/%s", folder, name);
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
	for (int i = 0; i < 2; i++) {	/* the second time from memory */
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
	static const char *const flags[] = { "-g", "-gdwarf-4", "-gdwarf-5", "-g -no-pie -ffunction-sections",
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
	    "strip -g -o part whole && objcopy --add-gnu-debuglink=whole.debug part && cp part lost", folder);
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
	snprintf(path, sizeof path, "%s/whole", folder);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_gcc),
		cmocka_unit_test(of_clang),
		cmocka_unit_test(in_a_separate_file),
		cmocka_unit_test(bytes_that_were_changed),
	};

	return cmocka_run_group_tests_name("lines", tests, set_up, tear_down);
}
