/* SPDX-License-Identifier: MIT */
/* ELF images: what opens and what is refused, segments, symbols, function starts, build ids, sections. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/auto.h"
#include "elf/usdt.h"
#include "elf_builder.h"
#include "unit.h"

static void expect_refused(const void *bytes, size_t len, int code, const char *words)
{
	struct elf_image *img = NULL;
	struct ut_err err = { 0 };

	assert_int_equal(elf_image_from_memory(bytes, len, &img, &err), code);
	assert_null(img);
	assert_int_equal(err.code, code);
	if (!strstr(err.msg, words))
		fail_msg("'%s' should say '%s'", err.msg, words);
}

static void test_refused(void **state)
{
	AUTO_FREE struct elf_builder *b = builder_new();

	(void)state;
	expect_refused("", 0, -ENOEXEC, "not an ELF");
	expect_refused("\x7f"
		       "EL",
		       3, -ENOEXEC, "not an ELF");
	expect_refused("#!/bin/sh\n", 10, -ENOEXEC, "not an ELF");
	expect_refused("\x7f"
		       "ELF",
		       4, -EBADMSG, "truncated");
	expect_refused(b->bytes, 63, -EBADMSG, "truncated");
	expect_refused(b->bytes, SHDRS_OFFSET + 10, -EBADMSG, "section headers are outside");
	builder_ehdr(b)->e_phentsize = 8;
	expect_refused(b->bytes, sizeof(b->bytes), -EBADMSG, "program header table");
	builder_ehdr(b)->e_phentsize = 56;
	builder_ehdr(b)->e_phoff = UINT64_MAX - 8;
	expect_refused(b->bytes, sizeof(b->bytes), -EBADMSG, "program headers");
	builder_ehdr(b)->e_phoff = 64;
	builder_phdr(b, 0)->p_memsz = UINT64_MAX;
	expect_refused(b->bytes, sizeof(b->bytes), -EBADMSG, "address space");
	builder_phdr(b, 0)->p_memsz = SEGMENT_SIZE;
	builder_phdr(b, 1)->p_offset = UINT64_MAX - 1;
	expect_refused(b->bytes, sizeof(b->bytes), -EBADMSG, "address space");
	b->bytes[EI_CLASS] = 9;
	expect_refused(b->bytes, sizeof(b->bytes), -EBADMSG, "unknown class");
}

static void test_special_files(void **state)
{
	static const char *const paths[] = { "/", "/dev/null" };
	struct elf_image *img = NULL;
	struct ut_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		AUTO_CLOSE int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		assert_int_equal(elf_image_open(fd, &img, &err), -ENOEXEC);
	}
	assert_int_equal(elf_image_open(-1, &img, &err), -EBADF);
	assert_null(elf_image_free(NULL));
}

static void test_segments(void **state)
{
	AUTO_FREE struct elf_builder *b = builder_new();
	const struct elf_segment *s;
	struct elf_image *img;
	uint64_t v;
	char c[2];

	(void)state;
	b->bytes[DATA_OFFSET + 0x7ff] = 'x';
	assert_int_equal(elf_image_from_memory(b->bytes, sizeof(b->bytes), &img, NULL), 0);
	assert_int_equal(elf_image_segments(img, &s), 2);
	assert_true(s[0].exec && !s[0].write && !s[1].exec && s[1].write);
	assert_true(elf_vaddr_to_offset(img, TEXT_VADDR + 0x123, &v) && v == 0x123);
	assert_true(elf_vaddr_to_offset(img, DATA_VADDR + 0x123, &v) && v == DATA_OFFSET + 0x123);
	assert_false(elf_vaddr_to_offset(img, DATA_VADDR + 0x800, &v));
	assert_false(elf_vaddr_to_offset(img, TEXT_VADDR - 1, &v));
	assert_true(elf_offset_to_vaddr(img, DATA_OFFSET + 4, &v) && v == DATA_VADDR + 4);
	assert_false(elf_offset_to_vaddr(img, NOTES_OFFSET, &v));
	assert_true(elf_vaddr_is_text(img, TEXT_VADDR));
	assert_false(elf_vaddr_is_text(img, TEXT_VADDR + SEGMENT_SIZE));
	assert_false(elf_vaddr_is_text(img, DATA_VADDR));
	assert_true(elf_read_at(img, DATA_VADDR + 0x7ff, c, 1) && c[0] == 'x');
	assert_false(elf_read_at(img, DATA_VADDR + 0x7ff, c, 2));
	assert_true(elf_image_is_x86_64(img) && !elf_image_is_pie(img));
	assert_string_equal(elf_image_machine(img), "64-bit x86-64");
	assert_int_equal(elf_image_build_id(img)->size, 0);
	assert_false(elf_image_is_go(img));
	elf_image_free(img);
}

static void expect_machine(uint8_t class, uint8_t data, uint16_t machine, const char *want)
{
	uint8_t bytes[64] = { 0x7f, 'E', 'L', 'F', class, data, 1 };
	struct elf_image *img;

	bytes[18 + (data == ELFDATA2MSB)] = (uint8_t)machine;
	assert_int_equal(elf_image_from_memory(bytes, sizeof(bytes), &img, NULL), 0);
	assert_string_equal(elf_image_machine(img), want);
	assert_false(elf_image_is_x86_64(img));
	elf_image_free(img);
}

static void test_other_machines(void **state)
{
	(void)state;
	expect_machine(ELFCLASS32, ELFDATA2LSB, EM_386, "32-bit x86");
	expect_machine(ELFCLASS32, ELFDATA2LSB, EM_X86_64, "32-bit x86-64");
	expect_machine(ELFCLASS64, ELFDATA2LSB, EM_AARCH64, "64-bit AArch64");
	expect_machine(ELFCLASS64, ELFDATA2MSB, EM_S390, "64-bit big-endian S/390");
	expect_machine(ELFCLASS64, ELFDATA2LSB, 99, "64-bit machine 99");
}

static void test_build_id_and_go(void **state)
{
	AUTO_FREE struct elf_builder *b = builder_new();
	struct elf_image *img;
	char long_id[60];

	(void)state;
	memset(long_id, 7, sizeof(long_id));
	builder_raw_note(b, "Go", 4, 4, 4, "goid", 4);
	builder_raw_note(b, "GNU", NT_GNU_BUILD_ID, 4, sizeof(long_id), long_id, sizeof(long_id));
	*builder_phdr(b, 2) =
		(Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = NOTES_OFFSET, .p_filesz = b->notes, .p_align = 4 };
	builder_ehdr(b)->e_phnum = 3;
	assert_int_equal(elf_image_from_memory(b->bytes, sizeof(b->bytes), &img, NULL), 0);
	assert_int_equal(elf_image_build_id(img)->size, 40);
	assert_int_equal(elf_image_build_id(img)->bytes[39], 7);
	assert_true(elf_image_is_go(img));
	elf_image_free(img);
}

static const char *target_path(const char *name)
{
	const char *root = getenv("UT_BUILD_ROOT");
	static char path[4096];

	snprintf(path, sizeof(path), "%s/tests/targets/%s", root ? root : ".", name);
	return path;
}

static struct elf_image *open_target(const char *name)
{
	struct elf_image *img = NULL;
	AUTO_CLOSE int fd = open(target_path(name), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		skip();
	assert_int_equal(elf_image_open(fd, &img, NULL), 0);
	return img;
}

static void check_symbols(const char *name)
{
	struct elf_image *img = open_target(name);
	const struct elf_symbol *all, *at;
	struct elf_symbol s;
	size_t n = elf_image_symbols(img, &all), seen = 0;

	assert_true(n > 20);
	for (size_t i = 1; i < n; i++) {
		assert_true(all[i - 1].vaddr <= all[i].vaddr);
		assert_true(all[i - 1].vaddr != all[i].vaddr || all[i - 1].is_tls != all[i].is_tls ||
			    strcmp(all[i - 1].name, all[i].name) != 0);
		assert_true(strlen(all[i].name) && !strchr(all[i].name + 1, '@'));
		seen += strcmp(all[i].name, "p_const") == 0;
	}
	assert_int_equal(seen, 1);
	assert_int_equal(elf_symbol_find(img, "p_const", &s), 1);
	assert_true(s.is_func && !s.is_local && s.size > 0);
	assert_string_equal(s.name, "p_const");
	at = elf_function_at(img, s.vaddr + s.size - 1);
	assert_non_null(at);
	assert_string_equal(at->name, "p_const");
	assert_true(elf_is_function_start(img, s.vaddr));
	assert_false(elf_is_function_start(img, s.vaddr + 1));
	assert_int_equal(elf_symbol_find(img, "g_i32", &s), 1);
	assert_true(s.is_object && s.size == 4);
	assert_false(elf_is_function_start(img, s.vaddr));
	assert_null(elf_function_at(img, s.vaddr));
	assert_int_equal(elf_symbol_find(img, "p_cons", &s), 0);
	assert_int_equal(elf_symbol_find(img, "const", &s), 0);
	assert_int_equal(elf_symbol_find(img, "", &s), 0);
	assert_null(elf_function_at(img, UINT64_MAX));
	elf_image_free(img);
}

static void test_symbols_pie(void **state)
{
	(void)state;
	check_symbols("zoo-pie");
}
static void test_symbols_nopie(void **state)
{
	(void)state;
	check_symbols("zoo-nopie");
}
static void test_symbols_static(void **state)
{
	(void)state;
	check_symbols("zoo-static");
}

/* The same addresses are function starts without any symbol; asked of the same source built the same way. */
static void test_stripped_function_starts(void **state)
{
	struct elf_image *with = open_target("zoo-pie"), *without = open_target("zoo-stripped");
	static const char *const names[] = { "p_const", "p_sib", "p_str", "site_a", "site_b" };
	struct elf_symbol s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(elf_symbol_find(with, names[i], &s), 1);
		assert_int_equal(elf_symbol_find(without, names[i], &s), 0);
		assert_true(elf_is_function_start(without, s.vaddr));
		assert_false(elf_is_function_start(without, s.vaddr + 1));
		assert_false(elf_is_function_start(without, s.vaddr - 1));
	}
	elf_image_free(with);
	elf_image_free(without);
}

/* A static program has no table over its unwind entries: the entries themselves are read. */
static void test_static_function_starts(void **state)
{
	struct elf_image *img = open_target("zoo-static");
	const struct elf_symbol *all;
	size_t n = elf_image_symbols(img, &all), starts = 0;

	(void)state;
	for (size_t i = 0; i < n; i++)
		starts += all[i].is_func && !strstr(all[i].name, ".cold") && elf_is_function_start(img, all[i].vaddr);
	assert_true(starts > 500);
	elf_image_free(img);
}

static void test_libc(void **state)
{
	AUTO_CLOSE int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	struct elf_image *img = NULL;
	struct elf_symbol s;
	const void *data;
	size_t size;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(elf_image_open(fd, &img, NULL), 0);
	assert_int_equal(elf_symbol_find(img, "malloc", &s), 1);
	assert_true(s.is_func && elf_is_function_start(img, s.vaddr));
	/* Two versions at two addresses: the one that programs link to today. */
	assert_int_equal(elf_symbol_find(img, "pthread_cond_signal", &s), 1);
	assert_true(elf_image_build_id(img)->size >= 16);
	assert_true(elf_image_section_data(img, ".dynstr", &data, &size) && size > 1000);
	assert_false(elf_image_section_data(img, ".bss", &data, &size));
	assert_false(elf_image_section_data(img, ".no_such", &data, &size));
	elf_image_free(img);
}

static void test_compressed_section(void **state)
{
	struct elf_image *img = open_target("zoo-gz");
	uint64_t vaddr, packed;
	const void *data;
	size_t size;

	(void)state;
	assert_true(elf_image_section(img, ".debug_str", &vaddr, &packed));
	assert_true(elf_image_section_data(img, ".debug_str", &data, &size));
	assert_true(size > packed);
	assert_non_null(memmem(data, size, "at_end_of_page", strlen("at_end_of_page") + 1));
	elf_image_free(img);
}

/* Asks everything there is to ask. */
static void ask_all(struct elf_image *img)
{
	struct usdt_notes notes = { 0 };
	const struct elf_symbol *symbols;
	struct elf_symbol s;
	const void *data;
	uint64_t v;
	size_t n;

	usdt_has_notes(img);
	if (!usdt_notes_read(img, &notes, NULL))
		usdt_notes_done(&notes);
	n = elf_image_symbols(img, &symbols);
	elf_symbol_find(img, n ? symbols[n / 2].name : "main", &s);
	for (size_t i = 0; i < n; i += 1 + n / 8) {
		elf_function_at(img, symbols[i].vaddr + 1);
		elf_is_function_start(img, symbols[i].vaddr);
	}
	elf_image_build_id(img);
	elf_image_is_go(img);
	elf_vaddr_to_offset(img, 0x1000, &v);
	elf_image_section_data(img, ".eh_frame", &data, &n);
}

static uint8_t *read_target(const char *name, size_t *ret)
{
	AUTO_CLOSE int fd = open(target_path(name), O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;

	if (fd < 0)
		skip();
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	*ret = (size_t)st.st_size;
	return bytes;
}

/* Cut at every length of the first KiB, and at many after it. Each copy ends where its memory ends. */
static void test_truncated(void **state)
{
	size_t size;
	AUTO_FREE uint8_t *bytes = read_target("zoo-pie", &size);

	(void)state;
	for (size_t len = 0; len < size; len += len < 1024 ? 1 : 61) {
		AUTO_FREE uint8_t *cut = malloc(len ? len : 1);
		struct elf_image *img = NULL;
		struct ut_err err = { 0 };
		int r;

		memcpy(cut, bytes, len);
		r = elf_image_from_memory(cut, len, &img, &err);
		assert_true(r == (len < 4 ? -ENOEXEC : -EBADMSG));
		assert_true(err.msg[0] != '\0');
	}
}

/* The same without its section headers, so that it opens and the rest is there to go wrong. */
static void test_truncated_without_sections(void **state)
{
	size_t size;
	AUTO_FREE uint8_t *bytes = read_target("zoo-pie", &size);
	Elf64_Ehdr *h = (Elf64_Ehdr *)bytes;

	(void)state;
	h->e_shoff = 0;
	h->e_shnum = 0;
	for (size_t len = 1024; len < size; len += 97) {
		AUTO_FREE uint8_t *cut = malloc(len);
		struct elf_image *img = NULL;

		memcpy(cut, bytes, len);
		assert_int_equal(elf_image_from_memory(cut, len, &img, NULL), 0);
		ask_all(img);
		elf_image_free(img);
	}
}

/* Wrong bytes in all headers of a real program. */
static void test_wrong_headers(void **state)
{
	static const uint8_t values[] = { 0x00, 0x7f, 0xff };
	size_t size;
	AUTO_FREE uint8_t *bytes = read_target("zoo-pie", &size);
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)bytes;
	size_t shoff = h->e_shoff;

	(void)state;
	for (size_t i = 4; i < size; i = i == 1023 ? shoff : i + 1) {
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			struct elf_image *img = NULL;
			uint8_t old = bytes[i];

			bytes[i] = values[k];
			if (!elf_image_from_memory(bytes, size, &img, NULL))
				ask_all(img);
			elf_image_free(img);
			bytes[i] = old;
		}
	}
}

UNIT_TESTS(elf)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_special_files),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_other_machines),
		cmocka_unit_test(test_build_id_and_go),
		cmocka_unit_test(test_symbols_pie),
		cmocka_unit_test(test_symbols_nopie),
		cmocka_unit_test(test_symbols_static),
		cmocka_unit_test(test_stripped_function_starts),
		cmocka_unit_test(test_static_function_starts),
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_compressed_section),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_truncated_without_sections),
		cmocka_unit_test(test_wrong_headers),
	};

	return unit_run(tests, NULL, NULL);
}
