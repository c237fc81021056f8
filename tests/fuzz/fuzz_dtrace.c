/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of provider files: any text is refused with a sentence and its place, or gives a header of whole
 * lines and an object that our own reader of ELF files takes. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dtrace/object.h"
#include "dtrace/provider.h"
#include "elf/image.h"
#include "fuzz.h"

static void require(bool cond)
{
	if (!cond)
		abort();
}

/* Every line is a macro, the rest of one, a comment in one line, or blank. */
static void check_header(const struct dtrace_providers *p)
{
	struct buf out = { 0 };
	struct ut_err err = { 0 };
	int ret = dtrace_header(p, "fuzz.d", true, &out, &err);

	require(!ret || (ret == -EINVAL && err.msg[0]));
	for (char *line = ret ? NULL : out.data, *next; line && *line; line = next + 1) {
		size_t len;

		next = strchr(line, '\n');
		require(next);
		len = (size_t)(next - line);
		require(!len || *line == '#' || *line == '\t' ||
			(len > 4 && !memcmp(line, "/*", 2) && !memcmp(next - 2, "*/", 2) &&
			 memmem(line, len, "*/", 2) == next - 2));
	}
	buf_done(&out);
}

static void check_object(const struct dtrace_providers *p)
{
	struct buf out = { 0 };
	struct ut_err err = { 0 };
	struct elf_image *img = NULL;
	const struct elf_symbol *symbols;

	require(dtrace_object(p, ELF_MACHINE_X86_64, &out, &err) == 0);
	require(elf_image_from_memory(out.data, out.len, &img, &err) == 0);
	require(elf_image_symbols(img, &symbols) == p->nprobes);
	elf_image_free(img);
	buf_done(&out);
}

FUZZ_TARGET(dtrace)
{
	struct dtrace_providers p = { 0 };
	struct ut_err err = { 0 };
	int ret = dtrace_parse("fuzz.d", (const char *)data, size, &p, &err);

	if (ret) {
		require(ret == -EINVAL && strchr(err.msg, ':') && strchr(err.msg, '^'));
	} else {
		check_header(&p);
		check_object(&p);
	}
	dtrace_providers_done(&p);
	return 0;
}
