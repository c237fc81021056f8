/* SPDX-License-Identifier: MIT */
/* One walk over the kernel's types. */
#include "kernel/kernel_struct.h"

#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

struct types {
	const char *types, *strings;
	size_t types_len, strings_len;
};

static bool name_is(const struct types *t, uint32_t off, const char *name)
{
	size_t len = strlen(name) + 1;

	return off < t->strings_len && t->strings_len - off >= len && !memcmp(t->strings + off, name, len);
}

/* Bytes behind the head of a type; -1: a kind that we do not know, so that nothing behind it can be found. */
static long rest_of(const struct btf_type *type)
{
	long n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case 17: /* BTF_KIND_DECL_TAG */ return 4;
	case BTF_KIND_ARRAY: return 12;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case 19: /* BTF_KIND_ENUM64 */ return 12 * n;
	case BTF_KIND_DATASEC: return 12 * n;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO: return 8 * n;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case 16: /* BTF_KIND_FLOAT */
	case 18: /* BTF_KIND_TYPE_TAG */ return 0;
	default: return -1;
	}
}

static int find_member(const struct types *t, const struct btf_type *type, const char *name)
{
	const struct btf_member *m = (const void *)(type + 1);

	for (unsigned i = 0; i < BTF_INFO_VLEN(type->info); i++) {
		uint32_t bits = BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset;

		if (name_is(t, m[i].name_off, name))
			return bits % 8 || bits / 8 > INT16_MAX ? -1 : (int)(bits / 8);
	}
	return -1;
}

/* Stops when all are found: the wanted types are among the first of a hundred thousand. */
static void walk(const struct types *t, struct kernel_member *v, size_t n)
{
	size_t at = 0, missing = n;

	while (missing && t->types_len - at >= sizeof(struct btf_type)) {
		const struct btf_type *type = (const void *)(t->types + at);
		long rest = rest_of(type);

		if (rest < 0 || (size_t)rest > t->types_len - at - sizeof(*type))
			return;
		for (size_t i = 0; BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT && i < n; i++) {
			if (v[i].offset >= 0 || !name_is(t, type->name_off, v[i].type))
				continue;
			v[i].offset = find_member(t, type, v[i].member);
			missing -= v[i].offset >= 0;
		}
		at += sizeof(*type) + (size_t)rest;
	}
}

void kernel_members_parse(const void *data, size_t size, struct kernel_member *v, size_t n)
{
	const struct btf_header *h = data;
	struct types t;

	for (size_t i = 0; i < n; i++)
		v[i].offset = -1;
	if (size < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len < sizeof(*h) || h->hdr_len > size)
		return;
	size -= h->hdr_len;
	if (h->type_off > size || h->type_len > size - h->type_off || h->type_off % 4 || h->hdr_len % 4 ||
	    h->str_off > size || h->str_len > size - h->str_off)
		return;
	t.types = (const char *)data + h->hdr_len + h->type_off;
	t.types_len = h->type_len;
	t.strings = (const char *)data + h->hdr_len + h->str_off;
	t.strings_len = h->str_len;
	walk(&t, v, n);
}

/* Before 6.16 the file cannot be mapped, and gives a page at a time. */
static void read_slowly(int fd, size_t size, struct kernel_member *v, size_t n)
{
	AUTO_FREE char *data = malloc(size);
	size_t got = 0;
	ssize_t k;

	while (data && got < size && (k = read(fd, data + got, size - got)) > 0)
		got += (size_t)k;
	if (data)
		kernel_members_parse(data, got, v, n);
}

void kernel_members_find(struct kernel_member *v, size_t n)
{
	AUTO_CLOSE int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *data;

	kernel_members_parse("", 0, v, n);
	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0)
		return;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		read_slowly(fd, (size_t)st.st_size, v, n);
		return;
	}
	kernel_members_parse(data, (size_t)st.st_size, v, n);
	munmap(data, (size_t)st.st_size);
}

const struct ut_kernel_offsets *kernel_offsets(void)
{
	static struct ut_kernel_offsets found;
	static bool known;
	const struct {
		const char *type, *member;
		int32_t *ret;
	} wanted[] = {
		{ "task_struct", "tgid", &found.task_tgid },
		{ "task_struct", "pid", &found.task_pid },
		{ "task_struct", "comm", &found.task_comm },
		{ "task_struct", "flags", &found.task_flags },
		{ "task_struct", "exit_code", &found.task_exit_code },
		{ "task_struct", "signal", &found.task_signal },
		{ "task_struct", "utask", &found.task_utask },
		{ "signal_struct", "live", &found.signal_live },
		{ "signal_struct", "flags", &found.signal_flags },
		{ "uprobe_task", "return_instances", &found.utask_returns },
		{ "return_instance", "stack", &found.return_stack },
		{ "return_instance", "orig_ret_vaddr", &found.return_address },
		{ "return_instance", "chained", &found.return_chained },
		{ "return_instance", "next", &found.return_next },
	};
	struct kernel_member members[ARRAY_SIZE(wanted)];

	if (known)
		return &found;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		members[i] = (struct kernel_member){ .type = wanted[i].type, .member = wanted[i].member };
	kernel_members_find(members, ARRAY_SIZE(members));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		*wanted[i].ret = members[i].offset;
	known = true;
	return &found;
}
