/* SPDX-License-Identifier: MIT */
/* The symbols of a stripped file come from the file with its debugging symbols, and from no other one's. */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "elf/image.h"
#include "elf/image_priv.h"
#include "scratch.h"
#include "unit.h"

static char folder[] = "/tmp/usertrace-debug-XXXXXX";

__attribute__((noinline, used)) static int only_in_the_symbols(int n) { return n * 3; }

static struct elf_image *open_image(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_image *img = NULL;
	struct ut_err err = {};

	assert_true(fd >= 0);
	assert_int_equal(elf_image_open(fd, &img, &err), 0);
	return img;
}

/* "ab/cdef0123" of the file's build id */
static void build_id_path(const char *path, char ret[128])
{
	struct elf_image *img = open_image(path);
	const struct elf_build_id *id = elf_image_build_id(img);
	size_t n = 0;

	assert_true(id->size > 1);
	for (unsigned i = 0; i < id->size; i++)
		n += (size_t)snprintf(ret + n, 128 - n, i == 1 ? "/%02x" : "%02x", id->bytes[i]);
	elf_image_free(img);
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	run("cp /proc/%d/exe %s/whole && cd %s && objcopy --only-keep-debug whole debug && strip -s -o bare whole && "
	    "objcopy --add-gnu-debuglink=debug bare linked",
	    (int)getpid(), folder, folder);
	image_debug_root = folder;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	run("rm -rf %s", folder);
	return 0;
}

/* The offset of the function, 0 when it is not found. */
static uint64_t find(const char *name)
{
	char path[PATH_MAX];
	struct elf_image *img;
	struct elf_symbol s;
	uint64_t offset = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	img = open_image(path);
	if (elf_symbol_find(img, "only_in_the_symbols", &s) == 1) {
		const struct elf_symbol *all, *at = elf_function_at(img, s.vaddr);

		assert_true(elf_vaddr_to_offset(img, s.vaddr, &offset));
		assert_true(elf_image_symbols(img, &all) > 0);
		assert_non_null(at);
		assert_string_equal(at->name, "only_in_the_symbols");
	}
	elf_image_free(img);
	return offset;
}

static void test_by_build_id(void **state)
{
	char id[128], path[PATH_MAX];

	(void)state;
	assert_int_equal(only_in_the_symbols(2), 6);
	snprintf(path, sizeof(path), "%s/bare", folder);
	build_id_path(path, id);
	assert_int_equal(find("bare"), 0);
	run("cd %s && mkdir -p .build-id/%.2s && cp debug .build-id/%s.debug", folder, id, id);
	assert_int_not_equal(find("bare"), 0);
	assert_int_equal(find("bare"), find("whole"));
	run("cd %s && rm -r .build-id", folder);
}

static void test_by_name(void **state)
{
	(void)state;
	assert_int_equal(find("linked"), find("whole")); /* beside the file */
	run("cd %s && mv debug away", folder);
	assert_int_equal(find("linked"), 0);
	run("mkdir -p %s%s && cp %s/away %s%s/debug", folder, folder, folder, folder, folder);
	assert_int_equal(find("linked"), find("whole"));
	assert_int_equal(find("bare"), 0);
	run("cd %s && rm -r tmp && mv away debug", folder);
}

/* The link has the file's own name, as in Debian's package of Mono: the file itself is not meant. */
static void test_by_its_own_name(void **state)
{
	(void)state;
	run("cd %s && mkdir own && cp debug own/same && objcopy --add-gnu-debuglink=own/same bare own/made && "
	    "mkdir -p %s%s/own && mv own/same %s%s/own/same && mv own/made own/same",
	    folder, folder, folder, folder, folder);
	assert_int_equal(find("own/same"), find("whole"));
	run("cd %s && rm -r own tmp", folder);
}

/* Without a build id the checksum in the link decides; beside the file, and in .debug. */
static void test_by_checksum(void **state)
{
	(void)state;
	run("cd %s && mkdir -p sum/.debug && objcopy --remove-section .note.gnu.build-id whole sum/plain && cd sum && "
	    "objcopy --only-keep-debug plain plain.debug 2>/dev/null && strip -s -o stripped plain && "
	    "objcopy --add-gnu-debuglink=plain.debug stripped",
	    folder);
	assert_int_equal(find("sum/stripped"), find("whole"));
	run("cd %s/sum && mv plain.debug .debug/", folder);
	assert_int_equal(find("sum/stripped"), find("whole"));
	run("cd %s/sum && printf x >>.debug/plain.debug", folder);
	assert_int_equal(find("sum/stripped"), 0);
	run("rm -r %s/sum", folder);
}

/* A process's own root: what lies there is found, also where links would lead out of it. */
static void test_below_another_root(void **state)
{
	AUTO_CLOSE int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[PATH_MAX];
	struct elf_image *img;
	struct elf_symbol s;

	(void)state;
	run("cd %s && mkdir -p bin real && ln -s /real bin/.debug && cp debug real/ && cp linked bin/x", folder);
	snprintf(path, sizeof(path), "%s/bin/x", folder);
	img = open_image(path);
	elf_image_find_debug(img, root, "/bin/x");
	assert_int_equal(elf_symbol_find(img, "only_in_the_symbols", &s), 1);
	elf_image_free(img);
	run("rm -r %s/bin %s/real", folder, folder);
}

/* As Fedora's find-debuginfo makes it. */
static void test_packed_in_the_file(void **state)
{
	(void)state;
	run("cd %s && objcopy -S --remove-section .gnu_debuglink whole mini && "
	    "nm whole --format=posix --defined-only | awk '$2 ~ /[TtD]/ {print $1}' | sort >keep && "
	    "objcopy -S --remove-section .comment --keep-symbols=keep debug small && xz -k small && "
	    "objcopy --add-section .gnu_debugdata=small.xz mini",
	    folder);
	assert_int_equal(find("mini"), find("whole"));
	run("cd %s && head -c -20 small.xz >cut && objcopy --remove-section .gnu_debugdata mini && "
	    "objcopy --add-section .gnu_debugdata=cut mini",
	    folder);
	assert_int_equal(find("mini"), 0);
	run("cd %s && rm mini keep small small.xz cut", folder);
}

/* Functions without a symbol begin where the unwind tables say so, and the stubs of a program are named. */
static void test_of_stripped_files(void **state)
{
	uint64_t f = find("whole"), vaddr, start, end, plt, size, stubs = 0, puts_at = 0;
	char path[PATH_MAX];
	struct elf_image *img;

	(void)state;
	snprintf(path, sizeof(path), "%s/bare", folder);
	img = open_image(path);
	assert_true(elf_offset_to_vaddr(img, f, &vaddr));
	assert_true(elf_unwind_entry_at(img, vaddr + 3, &start, &end));
	assert_int_equal(start, vaddr);
	assert_true(end > start + 3 && end < start + 64);
	assert_false(elf_unwind_entry_at(img, 0, &start, &end));
	assert_false(elf_unwind_entry_at(img, UINT64_MAX, &start, &end));
	if (!elf_image_section(img, ".plt.sec", &plt, &size))
		assert_true(elf_image_section(img, ".plt", &plt, &size));
	for (uint64_t at = plt; at < plt + size; at += 16) {
		const char *name = elf_stub_at(img, at + 4);

		stubs += name != NULL;
		if (name && strcmp(name, "snprintf") == 0)
			puts_at = at;
	}
	assert_true(stubs >= size / 16 - 1 && stubs);
	assert_int_not_equal(puts_at, 0);
	assert_null(elf_stub_at(img, vaddr));
	elf_image_free(img);
}

/* A file of another build under the right name would put probes into the middle of functions. */
static void test_of_another_build(void **state)
{
	char id[128], path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/bare", folder);
	build_id_path(path, id);
	run("cd %s && mkdir -p .build-id/%.2s && "
	    "objcopy --remove-section .note.gnu.build-id --only-keep-debug whole .build-id/%s.debug",
	    folder, id, id);
	assert_int_equal(find("bare"), 0);
	run("cd %s && rm -r .build-id", folder);
}

UNIT_TESTS(debug_file)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_build_id),	   cmocka_unit_test(test_by_name),
		cmocka_unit_test(test_by_its_own_name),	   cmocka_unit_test(test_by_checksum),
		cmocka_unit_test(test_below_another_root), cmocka_unit_test(test_packed_in_the_file),
		cmocka_unit_test(test_of_stripped_files),  cmocka_unit_test(test_of_another_build),
	};

	return unit_run(tests, set_up, tear_down);
}
