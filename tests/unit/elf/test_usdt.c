/* SPDX-License-Identifier: MIT */
/* USDT notes: made by hand, broken in every way, and of real programs. */
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

struct fixture {
	struct elf_builder *b;
	struct elf_image *img;
	struct usdt_notes notes;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->b = builder_new();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	usdt_notes_done(&f->notes);
	elf_image_free(f->img);
	free(f->b);
	free(f);
	return 0;
}

static int try_read(struct fixture *f, struct ut_err *err)
{
	int r = elf_image_from_memory(f->b->bytes, sizeof(f->b->bytes), &f->img, err);

	return r ? r : usdt_notes_read(f->img, &f->notes, err);
}

static const struct usdt_note *read_notes(struct fixture *f, size_t want)
{
	struct ut_err err = { 0 };
	int r = try_read(f, &err);

	if (r)
		fail_msg("%s", err.msg);
	assert_int_equal(f->notes.notes.n, want);
	return f->notes.notes.v;
}

static void test_plain(void **state)
{
	struct fixture *f = *state;
	const struct usdt_note *n;

	NOTE(f->b, 0x400100, BASE_VADDR, 0, "prov\0first\0-4@%edi 8@$3");
	builder_raw_note(f->b, "GNU", 3, 4, 4, "abcd", 4);
	builder_raw_note(f->b, "stapsdt", 2, 8, 4, "abcd", 4);
	NOTE(f->b, 0x400200, BASE_VADDR, DATA_VADDR + 0x10, "prov\0second\0");
	n = read_notes(f, 2);
	assert_true(usdt_has_notes(f->img));
	assert_string_equal(n[0].provider, "prov");
	assert_string_equal(n[0].name, "first");
	assert_string_equal(n[0].args, "-4@%edi 8@$3");
	assert_true(n[0].vaddr == 0x400100 && n[0].offset == 0x100 && !n[0].sem_vaddr && !n[0].sem_offset);
	assert_null(n[0].defect);
	assert_string_equal(n[1].args, "");
	assert_true(n[1].sem_vaddr == DATA_VADDR + 0x10 && n[1].sem_offset == DATA_OFFSET + 0x10);
	assert_null(n[1].defect);
	assert_int_equal(f->notes.broken, 0);
}

static void test_page_of_two_segments(void **state)
{
	static const struct {
		uint64_t offset, filesz;
		uint32_t flags;
		bool twice;
	} cases[] = {
		{ DATA_OFFSET - 0x200, 0x200, PF_R | PF_W, false }, /* ends where the page begins */
		{ DATA_OFFSET - 0x200, 0x201, PF_R | PF_W, true }, /* RELRO before .data, as lld and mold place it */
		{ DATA_OFFSET - 0x200, 0x400, PF_R, false },	    { DATA_OFFSET + 0x800, 0x10, PF_R | PF_W, true },
		{ DATA_OFFSET + 0x1000, 0x10, PF_R | PF_W, false }, { DATA_OFFSET, 0, PF_R | PF_W, false },
	};
	struct fixture *f = *state;

	NOTE(f->b, 0x400100, BASE_VADDR, DATA_VADDR + 0x10, "prov\0guarded\0");
	builder_ehdr(f->b)->e_phnum = 3;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		*builder_phdr(f->b, 2) = (Elf64_Phdr){ .p_type = PT_LOAD,
						       .p_flags = cases[i].flags,
						       .p_offset = cases[i].offset,
						       .p_vaddr = 0x800000 + cases[i].offset,
						       .p_filesz = cases[i].filesz,
						       .p_memsz = cases[i].filesz };
		assert_int_equal(read_notes(f, 1)->sem_twice, cases[i].twice);
		usdt_notes_done(&f->notes);
		f->img = elf_image_free(f->img);
	}
}

static void test_base_adjustment(void **state)
{
	struct fixture *f = *state;
	const struct usdt_note *n;

	NOTE(f->b, 0x300100, BASE_VADDR - 0x100000, DATA_VADDR - 0x100000 + 0x20, "p\0moved\0");
	NOTE(f->b, 0x400100, 0, 0, "p\0no_base\0");
	NOTE(f->b, 0x400100, BASE_VADDR - 0x100000, DATA_VADDR, "p\0would_leave_text\0");
	n = read_notes(f, 3);
	assert_true(n[0].vaddr == 0x400100 && n[0].offset == 0x100 && n[0].sem_offset == DATA_OFFSET + 0x20);
	assert_null(n[0].defect);
	assert_true(n[1].vaddr == 0x400100 && !n[1].defect);
	assert_true(n[2].vaddr == 0x400100 && n[2].sem_vaddr == DATA_VADDR && !n[2].defect);
}

static void test_no_base_section(void **state)
{
	struct fixture *f = *state;

	builder_shdr(f->b, SECTION_BASE)->sh_addr = 0;
	NOTE(f->b, 0x400100, 0x1234, 0, "p\0n\0");
	assert_true(read_notes(f, 1)->vaddr == 0x400100);
}

static void test_defects(void **state)
{
	struct fixture *f = *state;
	const struct usdt_note *n;

	NOTE(f->b, 0x900000, BASE_VADDR, 0, "p\0nowhere\0");
	NOTE(f->b, DATA_VADDR, BASE_VADDR, 0, "p\0in_data\0");
	NOTE(f->b, 0x400100, BASE_VADDR, 0x400200, "p\0sem_in_text\0");
	NOTE(f->b, 0x400100, BASE_VADDR, DATA_VADDR + 0x800, "p\0sem_behind_file\0");
	NOTE(f->b, 0x400100, BASE_VADDR, DATA_VADDR + 0x7ff, "p\0sem_across_end\0");
	NOTE(f->b, 0x400100, BASE_VADDR, DATA_VADDR + 0x11, "p\0sem_odd\0");
	NOTE(f->b, UINT64_MAX, UINT64_MAX, UINT64_MAX, "p\0all_ones\0");
	NOTE(f->b, 0, BASE_VADDR, 0, "p\0zero\0");
	n = read_notes(f, 8);
	for (size_t i = 0; i < 8; i++)
		assert_non_null(n[i].defect);
	assert_non_null(strstr(n[1].defect, "executable segment"));
	assert_non_null(strstr(n[2].defect, "writable segment"));
	assert_non_null(strstr(n[5].defect, "odd address"));
}

static void test_unreadable_notes_are_counted(void **state)
{
	struct fixture *f = *state;

	builder_raw_note(f->b, "stapsdt", 3, 8, 23, "01234567890123456789012", 23);
	builder_note(f->b, 0x400100, 0, 0, "p\0n\0-4@%eax", 11); /* args do not end */
	builder_note(f->b, 0x400100, 0, 0, "p\0name", 6);
	builder_note(f->b, 0x400100, 0, 0, "provider", 8);
	NOTE(f->b, 0x400100, 0, 0, "\0n\0");
	NOTE(f->b, 0x400100, 0, 0, "p\0\0");
	NOTE(f->b, 0x400100, 0, 0, "p\0good\0");
	read_notes(f, 1);
	assert_string_equal(f->notes.notes.v[0].name, "good");
	assert_int_equal(f->notes.broken, 6);
}

static void test_lying_sizes(void **state)
{
	static const uint32_t lies[] = { 0x1000, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(lies); i++) {
		struct fixture *f = *state;
		uint32_t lie = lies[i / 2];

		NOTE(f->b, 0x400100, 0, 0, "p\0good\0");
		builder_raw_note(f->b, "stapsdt", 3, i % 2 ? 8 : lie, i % 2 ? lie : 24, "", 0);
		read_notes(f, 1);
		assert_int_equal(f->notes.broken, 1);
		teardown(state);
		setup(state);
	}
}

/* A wrong size of one description, from too small to beyond the end: the notes behind it are read. */
static void test_a_broken_note_hides_no_other(void **state)
{
	/* Addresses, and strings of which the last ends with the description. */
	static const char desc[] = "\0\1\x40\0\0\0\0\0"
				   "\0\0\0\0\0\0\0\0"
				   "\0\0\0\0\0\0\0\0"
				   "p\0wrong\0-4@%eax 8@%rdx";
	static const struct {
		uint32_t size;
		size_t want; /* the note itself can be read if its strings can */
	} sizes[] = {
		{ sizeof(desc) + 8, 3 },
		{ sizeof(desc) + 70, 3 },
		{ 0x1000, 2 },
		{ 0xfffffff0, 2 },
		{ sizeof(desc) - 10, 2 },
		{ 28, 2 },
		{ 8, 2 },
		{ 0, 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct fixture *f = *state;

		NOTE(f->b, 0x400100, 0, 0, "p\0before\0");
		builder_raw_note(f->b, "stapsdt", 3, 8, sizes[i].size, desc, sizeof(desc));
		NOTE(f->b, 0x400200, 0, 0, "p\0behind\0a longer list of arguments");
		read_notes(f, sizes[i].want);
		assert_string_equal(f->notes.notes.v[0].name, "before");
		assert_string_equal(f->notes.notes.v[sizes[i].want - 1].name, "behind");
		assert_true(f->notes.broken >= 1);
		teardown(state);
		setup(state);
	}
}

static void test_last_note_without_padding(void **state)
{
	struct fixture *f = *state;

	NOTE(f->b, 0x400100, 0, 0, "p\0n\0a\0");
	builder_shdr(f->b, SECTION_NOTES)->sh_size = 12 + 8 + 24 + 7;
	read_notes(f, 1);
	assert_int_equal(f->notes.broken, 0);
}

static void test_section_outside_the_file(void **state)
{
	struct fixture *f = *state;
	struct ut_err err = { 0 };

	NOTE(f->b, 0x400100, 0, 0, "p\0n\0");
	builder_shdr(f->b, SECTION_NOTES)->sh_offset = UINT64_MAX - 4;
	assert_int_equal(try_read(f, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "outside the file"));
	assert_int_equal(f->notes.notes.n, 0);
}

static void test_none(void **state)
{
	struct fixture *f = *state;

	read_notes(f, 0);
	assert_false(usdt_has_notes(f->img));
}

static void test_without_section_headers(void **state)
{
	struct fixture *f = *state;

	NOTE(f->b, 0x400100, BASE_VADDR, 0, "p\0loaded\0");
	*builder_phdr(f->b, 2) =
		(Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = NOTES_OFFSET, .p_filesz = f->b->notes, .p_align = 4 };
	builder_ehdr(f->b)->e_phnum = 3;
	builder_ehdr(f->b)->e_shoff = 0;
	builder_ehdr(f->b)->e_shnum = 0;
	assert_string_equal(read_notes(f, 1)->name, "loaded");
}

static void test_thirty_two_bits(void **state)
{
	struct fixture *f = *state;
	struct ut_err err = { 0 };
	Elf32_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			 .e_type = ET_EXEC,
			 .e_machine = EM_386,
			 .e_shoff = SHDRS_OFFSET,
			 .e_shentsize = sizeof(Elf32_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 2 };
	Elf32_Shdr s[3] = {
		{ 0 },
		{ .sh_name = 15, .sh_type = SHT_NOTE, .sh_offset = NOTES_OFFSET, .sh_size = 64 },
		{ .sh_name = 29, .sh_type = SHT_STRTAB, .sh_offset = STRINGS_OFFSET, .sh_size = 40 },
	};

	memcpy(f->b->bytes, &h, sizeof(h));
	memcpy(f->b->bytes + SHDRS_OFFSET, s, sizeof(s));
	assert_int_equal(try_read(f, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "32-bit x86"));
	assert_false(elf_image_is_x86_64(f->img));
	assert_true(usdt_has_notes(f->img));
}

/* Every byte of the headers and notes takes a few values: no crash, no read outside, no endless loop. */
static void test_every_byte_wrong(void **state)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	struct fixture *f = *state;

	NOTE(f->b, 0x400100, BASE_VADDR, DATA_VADDR, "p\0n\0-4@%edi");
	for (size_t i = 0; i < sizeof(f->b->bytes); i++) {
		if (i >= 0x100 && i < NOTES_OFFSET)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			uint8_t old = f->b->bytes[i];
			struct ut_err err = { 0 };

			f->b->bytes[i] = values[k];
			if (try_read(f, &err))
				assert_true(err.msg[0] != '\0');
			usdt_notes_done(&f->notes);
			f->img = elf_image_free(f->img);
			f->b->bytes[i] = old;
		}
	}
}

static struct elf_image *open_path(const char *path)
{
	struct elf_image *img = NULL;
	struct ut_err err = { 0 };
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (elf_image_open(fd, &img, &err))
		fail_msg("%s: %s", path, err.msg);
	return img;
}

static const char *target_path(const char *name)
{
	const char *root = getenv("UT_BUILD_ROOT");
	static char path[4096];

	snprintf(path, sizeof(path), "%s/tests/targets/%s", root ? root : ".", name);
	return path;
}

/* All sites are 1-byte nops where the file offset says, in whichever way the program was linked. */
static void check_sites(struct elf_image *img, const char *path, size_t sites)
{
	struct usdt_notes notes = { 0 };
	struct ut_err err = { 0 };
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(usdt_has_notes(img));
	assert_int_equal(usdt_notes_read(img, &notes, &err), 0);
	assert_int_equal(notes.notes.n, sites);
	assert_int_equal(notes.broken, 0);
	for (size_t i = 0; i < notes.notes.n; i++) {
		const struct usdt_note *n = &notes.notes.v[i];
		uint8_t code = 0;

		assert_null(n->defect);
		assert_int_equal(pread(fd, &code, 1, (off_t)n->offset), 1);
		assert_int_equal(code, 0x90);
		assert_true(elf_read_at(img, n->vaddr, &code, 1) && code == 0x90);
	}
	usdt_notes_done(&notes);
}

static void test_targets(void **state)
{
	static const struct {
		const char *name;
		size_t sites;
		bool pie;
	} targets[] = {
		{ "zoo-pie", 14, true },      { "zoo-nopie", 14, false }, { "zoo-static", 14, false },
		{ "zoo-stripped", 14, true }, { "shapes-pie", 14, true }, { "shapes-nopie", 14, false },
		{ "shapes-norx", 14, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		const char *path = target_path(targets[i].name);
		struct elf_image *img = open_path(path);
		size_t sites = targets[i].sites;

		if (!img)
			skip();
		/* Copies of probes in a static libc or libgcc count as well. */
		if (strcmp(targets[i].name, "zoo-static") == 0) {
			struct usdt_notes notes = { 0 };

			assert_int_equal(usdt_notes_read(img, &notes, NULL), 0);
			assert_true(notes.notes.n >= sites);
			sites = notes.notes.n;
			usdt_notes_done(&notes);
		}
		check_sites(img, path, sites);
		assert_int_equal(elf_image_is_pie(img), targets[i].pie);
		elf_image_free(img);
	}
}

/* The file offset of each semaphore leads to the value the source gives it. */
static void test_semaphores_in_the_file(void **state)
{
	const char *path = target_path("semaphores");
	struct elf_image *img = open_path(path);
	struct usdt_notes notes = { 0 };

	(void)state;
	if (!img)
		skip();
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(usdt_notes_read(img, &notes, NULL), 0);
	assert_int_equal(notes.notes.n, 2);
	for (size_t i = 0; i < 2; i++) {
		uint16_t value = 0;

		assert_null(notes.notes.v[i].defect);
		assert_int_equal(pread(fd, &value, sizeof(value), (off_t)notes.notes.v[i].sem_offset), sizeof(value));
		assert_int_equal(value, strcmp(notes.notes.v[i].name, "one") == 0 ? 0x1111 : 0x2222);
	}
	usdt_notes_done(&notes);
	elf_image_free(img);
}

/* As prelink leaves it: code, data and .stapsdt.base moved, the notes not. */
static void test_prelinked_program(void **state)
{
	enum { MOVE = 0x10000 };
	const char *path = target_path("semaphores");
	struct elf_image *img = open_path(path);
	struct usdt_notes before = { 0 }, after = { 0 };
	uint64_t vaddr, size;
	struct stat st;

	(void)state;
	if (!img)
		skip();
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	AUTO_FREE uint8_t *bytes = malloc((size_t)st.st_size);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	assert_int_equal(usdt_notes_read(img, &before, NULL), 0);
	assert_true(elf_image_section(img, ".note.stapsdt", &vaddr, &size));
	img = elf_image_free(img);
	for (size_t i = 0; i + 32 < (size_t)st.st_size; i++) { /* notes are where their owner's name is */
		uint64_t address[3];

		if (memcmp(bytes + i, "\3\0\0\0stapsdt", 12) != 0)
			continue;
		memcpy(address, bytes + i + 12, sizeof(address));
		for (int k = 0; k < 3; k++)
			address[k] -= MOVE;
		memcpy(bytes + i + 12, address, sizeof(address));
	}
	assert_int_equal(elf_image_from_memory(bytes, (size_t)st.st_size, &img, NULL), 0);
	assert_int_equal(usdt_notes_read(img, &after, NULL), 0);
	assert_int_equal(after.notes.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(after.notes.v[i].vaddr == before.notes.v[i].vaddr);
		assert_true(after.notes.v[i].sem_offset == before.notes.v[i].sem_offset);
	}
	usdt_notes_done(&before);
	usdt_notes_done(&after);
	elf_image_free(img);
}

static void test_thirty_two_bit_program(void **state)
{
	struct elf_image *img = open_path(target_path("semaphores-32"));
	struct usdt_notes notes = { 0 };

	(void)state;
	if (!img)
		skip();
	assert_int_equal(usdt_notes_read(img, &notes, NULL), -ENOTSUP);
	elf_image_free(img);
}

/* Debian 12's runtimes, where they are installed. */
static void test_installed_runtimes(void **state)
{
	static const struct {
		const char *path;
		size_t sites;
	} files[] = {
		{ "/usr/bin/python3.11", 8 },
		{ "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2", 40 },
		{ "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", 531 },
		{ "/usr/bin/php8.2", 14 },
		{ "/usr/lib/postgresql/15/bin/postgres", 71 },
		{ "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", 3 },
	};
	unsigned seen = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct elf_image *img = open_path(files[i].path);

		if (!img)
			continue;
		check_sites(img, files[i].path, files[i].sites);
		elf_image_free(img);
		seen++;
	}
	if (!seen)
		skip();
}

#define BUILT(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT_TESTS(usdt)
{
	const struct CMUnitTest tests[] = {
		BUILT(test_plain),
		BUILT(test_page_of_two_segments),
		BUILT(test_base_adjustment),
		BUILT(test_no_base_section),
		BUILT(test_defects),
		BUILT(test_unreadable_notes_are_counted),
		BUILT(test_lying_sizes),
		BUILT(test_a_broken_note_hides_no_other),
		BUILT(test_last_note_without_padding),
		BUILT(test_section_outside_the_file),
		BUILT(test_none),
		BUILT(test_without_section_headers),
		BUILT(test_thirty_two_bits),
		BUILT(test_every_byte_wrong),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_semaphores_in_the_file),
		cmocka_unit_test(test_prelinked_program),
		cmocka_unit_test(test_thirty_two_bit_program),
		cmocka_unit_test(test_installed_runtimes),
	};

	return unit_run(tests, NULL, NULL);
}
