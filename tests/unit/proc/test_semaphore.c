/* SPDX-License-Identifier: MIT */
/* Semaphores of processes: which mapping the program reads, and a count that went astray. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/auto.h"
#include "proc/semaphore.h"
#include "unit.h"

static const struct file_id file = { .dev = 0x802, .ino = 5 };

static bool find(const char *text, uint64_t offset, struct semaphore_place *ret)
{
	struct mappings maps = { 0 };
	struct file_id id = file;
	bool found;

	assert_int_equal(mappings_parse(text, strlen(text), &maps), 0);
	id.dev = maps.maps.n ? maps.maps.v[0].file.dev : id.dev;
	found = semaphore_find(&maps, &id, offset, ret);
	mappings_done(&maps);
	return found;
}

/* As lld links: text, RELRO and .data share the first page of the file's next part. */
static void reads_the_data_segment(void **state)
{
	static const char *const texts[] = {
		/* before relocation is over, both are writable */
		"1000-2000 r-xp 00000000 08:02 5 /x\n3000-4000 rw-p 00000000 08:02 5 /x\n5000-6000 rw-p 00000000 08:02 "
		"5 /x\n",
		"1000-2000 r-xp 00000000 08:02 5 /x\n3000-4000 r--p 00000000 08:02 5 /x\n5000-6000 rw-p 00000000 08:02 "
		"5 /x\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct semaphore_place place;

		assert_true(find(texts[i], 0xa7a, &place));
		assert_int_equal(place.address, 0x5a7a);
		assert_int_equal(place.ntwins, 2);
		assert_int_equal(place.twins[0], 0x3a7a);
		assert_int_equal(place.twins[1], 0x1a7a);
		assert_int_equal(place.relocating, i == 0);
	}
}

static void a_page_that_is_mapped_once_has_no_twin(void **state)
{
	struct semaphore_place place;

	(void)state;
	assert_true(find("1000-3000 r-xp 00000000 08:02 5 /x\n3000-5000 rw-p 00002000 08:02 5 /x\n", 0x3010, &place));
	assert_int_equal(place.address, 0x4010);
	assert_int_equal(place.ntwins, 0);
}

static void only_a_writable_mapping_of_the_file_has_it(void **state)
{
	struct semaphore_place place;

	(void)state;
	assert_false(find("1000-3000 r-xp 00000000 08:02 5 /x\n", 0x10, &place));
	assert_false(find("1000-3000 rw-p 00000000 08:02 6 /y\n", 0x10, &place));
	assert_false(find("1000-3000 rw-p 00001000 08:02 5 /x\n", 0x10, &place));
	assert_false(find("1000-3000 rw-p 00001000 08:02 5 /x\n", 0x3000, &place));
	assert_false(find("", 0x10, &place));
}

static void a_count_is_astray_where_only_a_twin_was_raised(void **state)
{
	static const struct {
		uint16_t count, twin;
		bool astray;
	} cases[] = { { 0, 0, false }, { 1, 0, false }, { 0, 1, true }, { 7, 7, false }, { 1, 2, true } };
	int mem = memfd_create("mem", MFD_CLOEXEC);
	const struct semaphore_place place = { .address = 0x10, .twins = { 0x20 }, .ntwins = 1 };
	const struct semaphore_place outside = { .address = 0x1000 };
	struct semaphore_count found;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(pwrite(mem, &cases[i].count, 2, 0x10), 2);
		assert_int_equal(pwrite(mem, &cases[i].twin, 2, 0x20), 2);
		assert_int_equal(semaphore_read(mem, &place, &found), 0);
		assert_int_equal(found.count, cases[i].count);
		assert_int_equal(found.astray, cases[i].astray);
	}
	assert_int_equal(semaphore_read(mem, &outside, &found), -EIO);
	close(mem);
}

UNIT_TESTS(semaphore)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_data_segment),
		cmocka_unit_test(a_page_that_is_mapped_once_has_no_twin),
		cmocka_unit_test(only_a_writable_mapping_of_the_file_has_it),
		cmocka_unit_test(a_count_is_astray_where_only_a_twin_was_raised),
	};

	return unit_run(tests, NULL, NULL);
}
