/* SPDX-License-Identifier: MIT */
/* The columns that say who fired what: the same for one event after another, so they are kept ready. */
#include <string.h>

#include "live/internal.h"

static void add_process(const struct live_event *e, struct buf *out)
{
	size_t from = out->len;

	buf_addu(out, e->rec->pid);
	if (e->ns_pid > 0 && (uint32_t)e->ns_pid != e->rec->pid) {
		buf_addc(out, '(');
		buf_addu(out, (uint32_t)e->ns_pid);
		buf_addc(out, ')');
	}
	buf_pad(out, from, WIDTH_PID);
	from = out->len;
	buf_addu(out, e->rec->tid);
	buf_pad(out, from, WIDTH_PID);
	from = out->len;
	buf_add_escaped(out, e->rec->comm, strnlen(e->rec->comm, sizeof(e->rec->comm)));
	buf_pad(out, from, WIDTH_COMM);
}

/* The columns from PID to FUNC; returns their length without the blanks at the end. */
static size_t add_all(const struct live_event *e, struct buf *out)
{
	size_t start = out->len, from, trimmed;

	add_process(e, out);
	from = out->len;
	buf_add_escaped(out, e->func, strlen(e->func));
	trimmed = out->len - start;
	buf_pad(out, from, WIDTH_FUNC);
	return trimmed;
}

static bool fits(const struct line_head *h, const struct live_event *e)
{
	return h->len && h->pid == e->rec->pid && h->tid == e->rec->tid && h->ns_pid == e->ns_pid &&
	       !memcmp(h->comm, e->rec->comm, sizeof(h->comm)) && !strcmp(h->func, e->func);
}

/* Keeps the @len bytes at @text for events like @e; nothing when they are too long. */
static void keep(struct line_head *h, const struct live_event *e, const char *text, size_t len, size_t trimmed)
{
	size_t func_len = strlen(e->func);

	if (func_len >= sizeof(h->func) || len > sizeof(h->text))
		return;
	h->pid = e->rec->pid;
	h->tid = e->rec->tid;
	h->ns_pid = e->ns_pid;
	memcpy(h->comm, e->rec->comm, sizeof(h->comm));
	memcpy(h->func, e->func, func_len + 1);
	memcpy(h->text, text, len);
	h->len = (uint8_t)len;
	h->trimmed = (uint8_t)trimmed;
}

size_t head_print(struct live_printer *p, const struct live_event *e, struct buf *out)
{
	struct line_head *h = &p->heads[(e->rec->tid ^ (unsigned char)e->func[0]) % LINE_HEADS];
	size_t from = out->len, trimmed;

	if (fits(h, e)) {
		buf_add(out, h->text, h->len);
		return from + h->trimmed;
	}
	trimmed = add_all(e, out);
	if (!out->failed)
		keep(h, e, out->data + from, out->len - from, trimmed);
	return from + trimmed;
}
