/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of runtimes' .ini files: any text is refused with a sentence or gives a runtime that can be used. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct runtimes *r)
{
	for (size_t i = 0; i < r->all.n; i++) {
		const struct runtime *t = &r->all.v[i];

		for (size_t k = 0; k < t->match.n; k++)
			runtime_of_file(r, t->match.v[k]);
		for (size_t k = 0; k < t->format.n; k++)
			if (!runtime_format(r, t->format.v[k].provider, t->format.v[k].probe))
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct runtimes r = {0};
	struct ut_err err = {0};

	if (runtimes_parse("fuzz.ini", (const char *)data, size, &r, &err) == 0) {
		use(&r);
		if (runtimes_parse("again.ini", (const char *)data, size, &r, &err) || r.all.n != 1)
			abort();	/* it replaces itself */
	} else if (!err.msg[0] || r.all.n) {
		abort();
	}
	runtimes_done(&r);
	return 0;
}
