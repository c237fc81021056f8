/* SPDX-License-Identifier: MIT */
/*
 * Where the running kernel keeps a member of a structure, from its type information (/sys/kernel/btf/vmlinux, format of
 * Documentation/bpf/btf.rst). libbpf indexes all of it first, which takes longer than everything else at start
 * together; a few members are found in one walk.
 */
#ifndef UT_KERNEL_KERNEL_STRUCT_H
#define UT_KERNEL_KERNEL_STRUCT_H

#include <stddef.h>

#include "wire/kernel.h"

struct kernel_member {
	const char *type, *member;
	int offset; /* in bytes; -1: not there */
};

/* What the programs of src/bpf read, found at the first call; lives as long as the process. Not for several threads. */
const struct ut_kernel_offsets *kernel_offsets(void);
/* Fills in the offsets; all -1 when the kernel does not tell. */
void kernel_members_find(struct kernel_member *v, size_t n);
/* The same in the @size bytes at @data, which may be anything. */
void kernel_members_parse(const void *data, size_t size, struct kernel_member *v, size_t n);

#endif
