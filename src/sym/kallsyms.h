/* SPDX-License-Identifier: MIT */
/* The kernel's own list of functions. For this layer only. */
#ifndef UT_SYM_KALLSYMS_H
#define UT_SYM_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_function {
	uint64_t addr;
	uint32_t name; /* offset into the strings */
	uint32_t module; /* the same, 0: of the kernel itself */
};

struct kallsyms {
	struct kernel_function *functions; /* by address */
	size_t n;
	char *strings; /* one allocation for all; begins with "" */
};

/*
 * Reads text in the form of /proc/kallsyms from @fd; only functions are kept. Addresses that the kernel hides (all
 * zero, kptr_restrict) give an empty list. Lines that cannot be read are left out. 0, -ENOMEM or -errno.
 */
int kallsyms_read(int fd, struct kallsyms *ret);
void kallsyms_done(struct kallsyms *k);
/* The function that @addr lies in, as far as can be told without sizes; NULL when it is too far from any. */
const struct kernel_function *kallsyms_find(const struct kallsyms *k, uint64_t addr);

#endif
