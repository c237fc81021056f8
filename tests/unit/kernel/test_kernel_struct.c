/* SPDX-License-Identifier: MIT */
/* The reader of the kernel's type information: a made-up kernel, this one, and bytes that are neither. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/btf.h>

#include "base/auto.h"
#include "kernel/kernel_struct.h"
#include "unit.h"

#define INFO(kind, kflag, vlen) ((uint32_t)(kind) << 24 | (uint32_t)(kflag) << 31 | (vlen))

static const char strings[] = "\0task\0signal\0code\0flags\0other\0tail";
enum { TASK = 1, SIGNAL = 6, CODE = 13, FLAGS = 18, OTHER = 24, TAIL = 30 };

/* All kinds of types, so that each is stepped over, with the structures among them. */
static const uint32_t types[] = {
	CODE,
	INFO(BTF_KIND_INT, 0, 0),
	4,
	32,
	0,
	INFO(BTF_KIND_PTR, 0, 0),
	1,
	0,
	INFO(BTF_KIND_ARRAY, 0, 0),
	0,
	1,
	1,
	4,
	OTHER,
	INFO(BTF_KIND_ENUM, 0, 2),
	4,
	CODE,
	1,
	FLAGS,
	2,
	TASK,
	INFO(BTF_KIND_FWD, 0, 0),
	0,
	TASK,
	INFO(BTF_KIND_TYPEDEF, 0, 0),
	1,
	0,
	INFO(BTF_KIND_VOLATILE, 0, 0),
	1,
	0,
	INFO(BTF_KIND_CONST, 0, 0),
	1,
	0,
	INFO(BTF_KIND_RESTRICT, 0, 0),
	1,
	TASK,
	INFO(BTF_KIND_FUNC, 0, 1),
	1,
	0,
	INFO(BTF_KIND_FUNC_PROTO, 0, 2),
	1,
	CODE,
	1,
	FLAGS,
	1,
	CODE,
	INFO(BTF_KIND_VAR, 0, 0),
	1,
	0,
	OTHER,
	INFO(BTF_KIND_DATASEC, 0, 1),
	4,
	1,
	0,
	4,
	OTHER,
	INFO(16 /* float */, 0, 0),
	8,
	OTHER,
	INFO(17 /* decl tag */, 0, 0),
	1,
	0,
	OTHER,
	INFO(18 /* type tag */, 0, 0),
	1,
	OTHER,
	INFO(19 /* enum64 */, 0, 1),
	8,
	CODE,
	1,
	0,
	TASK,
	INFO(BTF_KIND_UNION, 0, 1),
	8,
	SIGNAL,
	1,
	8 * 99,
	TASK,
	INFO(BTF_KIND_STRUCT, 0, 2),
	64,
	SIGNAL,
	2,
	8 * 16,
	CODE,
	1,
	8 * 40,
	SIGNAL,
	INFO(BTF_KIND_STRUCT, 1, 3),
	64,
	CODE,
	1,
	4u << 24 | 20,
	FLAGS,
	1,
	3u << 24 | 12,
	TAIL,
	1,
	8 * 32,
	OTHER,
	INFO(BTF_KIND_STRUCT, 0, 1),
	1 << 24,
	TAIL,
	1,
	8u << 16,
};

#define WITH_TASK (sizeof(types) - 4 * (3 + 9 + 3 + 3)) /* what follows it cut off */

struct made {
	struct btf_header head;
	uint32_t types[sizeof(types) / 4];
	char strings[sizeof(strings)];
};

#define MADE_SIZE (offsetof(struct made, strings) + sizeof(strings))

static struct made make(void)
{
	struct made m = { .head = { .magic = BTF_MAGIC,
				    .version = 1,
				    .hdr_len = sizeof(struct btf_header),
				    .type_len = sizeof(types),
				    .str_off = sizeof(types),
				    .str_len = sizeof(strings) } };

	memcpy(m.types, types, sizeof(types));
	memcpy(m.strings, strings, sizeof(strings));
	return m;
}

static int offset_in(const void *data, size_t size, const char *type, const char *member)
{
	struct kernel_member v[] = { { "nothing", "nothing", 7 }, { type, member, 7 } };

	kernel_members_parse(data, size, v, 2);
	assert_int_equal(v[0].offset, -1);
	return v[1].offset;
}

static void a_made_up_kernel(void **state)
{
	struct made m = make();

	(void)state;
	assert_int_equal(offset_in(&m, MADE_SIZE, "task", "signal"), 16);
	assert_int_equal(offset_in(&m, MADE_SIZE, "task", "code"), 40);
	assert_int_equal(offset_in(&m, MADE_SIZE, "task", "flags"), -1);
	assert_int_equal(offset_in(&m, MADE_SIZE, "signal", "tail"), 32);
	assert_int_equal(offset_in(&m, MADE_SIZE, "signal", "code"), -1); /* bits 20 to 23 */
	assert_int_equal(offset_in(&m, MADE_SIZE, "signal", "flags"), -1);
	assert_int_equal(offset_in(&m, MADE_SIZE, "other", "tail"), -1); /* no instruction reaches so far */
	assert_int_equal(offset_in(&m, MADE_SIZE, "tas", "signal"), -1);
	assert_int_equal(offset_in(&m, MADE_SIZE, "", "signal"), -1);
}

static void heads_that_lie(void **state)
{
	const struct {
		size_t at;
		uint32_t value;
	} lies[] = {
		{ offsetof(struct btf_header, magic), 0x9feb /* the other byte order */ },
		{ offsetof(struct btf_header, hdr_len), 20 },
		{ offsetof(struct btf_header, hdr_len), UINT32_MAX },
		{ offsetof(struct btf_header, hdr_len), 26 },
		{ offsetof(struct btf_header, type_off), UINT32_MAX },
		{ offsetof(struct btf_header, type_off), 2 },
		{ offsetof(struct btf_header, type_len), UINT32_MAX },
		{ offsetof(struct btf_header, str_off), UINT32_MAX - 3 },
		{ offsetof(struct btf_header, str_len), UINT32_MAX },
		{ offsetof(struct btf_header, str_len), sizeof(strings) + 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct made m = make();

		memcpy((char *)&m + lies[i].at, &lies[i].value, lies[i].at ? 4 : 2);
		assert_int_equal(offset_in(&m, MADE_SIZE, "task", "signal"), -1);
	}
}

static uint32_t random_word(void)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (uint32_t)(seed >> 20);
}

/* In memory of just the size, so that a sanitizer sees a read behind it. */
static int offset_in_copy(const void *data, size_t size)
{
	AUTO_FREE void *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	return offset_in(copy, size, "task", "code");
}

static void cut_anywhere(void **state)
{
	struct made m = make();

	(void)state;
	for (size_t size = 0; size < MADE_SIZE; size++)
		assert_int_equal(offset_in_copy(&m, size), -1);
	assert_int_equal(offset_in_copy(&m, MADE_SIZE), 40);
	/* the types end somewhere; the strings are all there */
	for (uint32_t size = sizeof(types); size--;) {
		m.head.type_len = size;
		assert_int_equal(offset_in_copy(&m, MADE_SIZE), size >= WITH_TASK ? 40 : -1);
	}
}

static void random_bytes(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct made m = make();
		uint32_t n = random_word() % 8;

		for (uint32_t i = 0; i < n; i++)
			((unsigned char *)&m)[random_word() % MADE_SIZE] = (unsigned char)random_word();
		offset_in_copy(&m, random_word() % 4 ? MADE_SIZE : random_word() % MADE_SIZE);
	}
}

/* What libbpf, which indexes all of it, says of this kernel. */
static int by_libbpf(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (unsigned i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member) &&
		    btf_member_bit_offset(t, i) % 8 == 0)
			return (int)(btf_member_bit_offset(t, i) / 8);
	return -1;
}

static void this_kernel(void **state)
{
	struct kernel_member v[] = {
		{ "task_struct", "exit_code", 0 },    { "task_struct", "signal", 0 },
		{ "signal_struct", "live", 0 },	      { "task_struct", "comm", 0 },
		{ "mm_struct", "no_such_member", 0 }, { "no_such_struct", "x", 0 },
		{ "task_struct", "__state", 0 },      { "file", "f_mode", 0 },
		{ "list_head", "prev", 0 },
	};
	struct btf *btf;

	(void)state;
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		print_message("this kernel does not tell its types\n");
		skip();
	}
	btf = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	assert_non_null(btf);
	kernel_members_find(v, sizeof(v) / sizeof(v[0]));
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		assert_int_equal(v[i].offset, by_libbpf(btf, v[i].type, v[i].member));
	assert_true(v[0].offset > 0 && v[1].offset > 0 && v[2].offset > 0);
	assert_int_equal(v[8].offset, 8);
	btf__free(btf);
}

UNIT_TESTS(kernel_struct)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_made_up_kernel), cmocka_unit_test(heads_that_lie), cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(random_bytes),	    cmocka_unit_test(this_kernel),
	};

	return unit_run(tests, NULL, NULL);
}
