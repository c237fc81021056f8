/* SPDX-License-Identifier: MIT */
/* Near misses of user events. */
#include "watch/trace_heard.h"

#include <string.h>

#include "base/text.h"

#define SHOWN 5

void heard_add(struct heard *h, const char *name, size_t len)
{
	if (!len || len >= HEARD_LEN || h->n == HEARD_MAX)
		return;
	for (size_t i = 0; i < h->n; i++)
		if (!strncmp(h->names[i], name, len) && !h->names[i][len])
			return;
	memcpy(h->names[h->n], name, len);
	h->names[h->n++][len] = '\0';
}

static void add_name(const char *name, const char *before, struct buf *out)
{
	buf_adds(out, before);
	buf_add_escaped(out, name, strlen(name));
}

void heard_say(const struct heard *h, const char *wanted, struct buf *out)
{
	const char *names[HEARD_MAX];
	size_t near[SHOWN], n;

	for (size_t i = 0; i < h->n; i++)
		names[i] = h->names[i];
	n = suggest(wanted, names, h->n, near, SHOWN);
	add_name(wanted, "no event named ", out);
	for (size_t i = 0; i < n; i++)
		add_name(names[near[i]], i ? ", " : "; there was ", out);
	for (size_t i = 0; !n && i < h->n && i < SHOWN; i++)
		add_name(names[i], i ? ", " : "; there was ", out);
	if (!n && h->n > SHOWN)
		buf_adds(out, ", and more (e:* shows all)");
	buf_addc(out, '\n');
}
