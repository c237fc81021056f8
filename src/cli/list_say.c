/* SPDX-License-Identifier: MIT */
/* What `usertrace list` prints on its way, and says beside it. */
#include <stdarg.h>
#include <stdio.h>

#include "cli/list.h"

void list_report(struct list *list, int status, const char *fmt, ...)
{
	struct buf raw = { 0 }, safe = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&raw, fmt, ap);
	va_end(ap);
	if (raw.data)
		buf_add_escaped(&safe, raw.data, raw.len);
	fprintf(stderr, "usertrace list: %s\n", safe.data ? safe.data : "out of memory");
	buf_done(&raw);
	buf_done(&safe);
	if (status > list->status)
		list->status = status;
}

void list_flush(struct list *list)
{
	if (list->out.len)
		fwrite(list->out.data, 1, list->out.len, stdout);
	fflush(stdout);
	list->out.len = 0;
}
