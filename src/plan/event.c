/* SPDX-License-Identifier: MIT */
/* From the name of a tracepoint to the kernel's description. */
#include "plan/event.h"

#include <string.h>

#include "base/auto.h"
#include "proc/tracefs.h"

int event_read(int tracefs, const char *category, const char *event, struct tracepoint *ret, struct ut_err *err)
{
	AUTO_FREE char *text = NULL;
	size_t len;
	int r = tracefs_format(tracefs, category, event, &text, &len, err);

	return r ? r : tracepoint_parse(category, text, len, ret, err);
}

const struct tracepoint_field *event_field(const struct tracepoint *tp, const char *name)
{
	for (size_t i = 0; i < tp->fields.n; i++)
		if (!strcmp(tp->fields.v[i].name, name))
			return &tp->fields.v[i];
	return NULL;
}
