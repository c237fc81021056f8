/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of pprof's messages: refused with a sentence, or a profile that every writer can write. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "out/out.h"
#include "report/hot.h"
#include "fuzz.h"

FUZZ_TARGET(pprof)
{
	struct profile *p = profile_new();
	struct ut_err err = { 0 };
	struct buf text = { 0 };
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (!p || fd < 0)
		abort();
	if (out_read_pprof_message(p, data, size, &err)) {
		if (!err.msg[0])
			abort();
	} else {
		for (size_t i = 0; out_formats[i]; i++)
			if (out_formats[i]->write(p, &(struct out_options){ .per_thread = true }, fd, &err))
				abort();
		if (hot_text(p, &(struct hot_options){ .width = 80, .threads = true }, &text))
			abort();
	}
	buf_done(&text);
	close(fd);
	profile_free(p);
	return 0;
}
