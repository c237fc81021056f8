/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of the kernel's type information: an offset that instructions can have, or none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel_struct.h"
#include "fuzz.h"

FUZZ_TARGET(btf)
{
	struct kernel_member v[] = { { "task", "signal", 0 }, { "task", "code", 0 }, { "signal", "tail", 0 } };
	void *copy = malloc(size ? size : 1); /* aligned, as a mapped file is */

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	kernel_members_parse(copy, size, v, sizeof(v) / sizeof(v[0]));
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		if (v[i].offset < -1 || v[i].offset > INT16_MAX)
			abort();
	free(copy);
	return 0;
}
