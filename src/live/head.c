/* SPDX-License-Identifier: MIT */
/* The columns from PID to FUNC. Consecutive events often share them, so recent ones are cached. */
#include <string.h>

#include "live/print_priv.h"

/*
 * Names of user events are arbitrary bytes. A name is quoted if it is empty, or if a reader could mistake it for one of the marks
 * that this program prints or for the start of the message.
 */
static bool needs_quotes(const struct ut_text *name)
{
	return name->state != UT_TEXT_NULL && name->state != UT_TEXT_FAULT &&
	       (!name->len || strchr("(<\"", name->bytes[0]) || memchr(name->bytes, ' ', name->len) ||
		memmem(name->bytes, name->len, "…", strlen("…")) ||
		memmem(name->bytes, name->len, "<fault", strlen("<fault")));
}

/* The columns from PID to FUNC; returns their length without the spaces at the end. */
static size_t add_columns(const struct head *h, struct buf *out)
{
	size_t start = out->len, from = start, trimmed;

	buf_addu(out, h->pid);
	if (h->ns_pid > 0 && (uint32_t)h->ns_pid != h->pid)
		buf_addf(out, "(%u)", (uint32_t)h->ns_pid);
	buf_pad(out, from, WIDTH_PID);
	from = out->len;
	buf_addu(out, h->tid);
	buf_pad(out, from, WIDTH_PID);
	from = out->len;
	buf_add_escaped(out, h->comm, strnlen(h->comm, sizeof(((struct ut_rec_event *)0)->comm)));
	buf_pad(out, from, WIDTH_COMM);
	from = out->len;
	if (h->is_foreign)
		text_print(NULL, needs_quotes(&h->func), &h->func, out);
	else
		buf_add_escaped(out, h->func.bytes, h->func.len);
	trimmed = out->len - start;
	buf_pad(out, from, WIDTH_FUNC);
	return trimmed;
}

static bool head_equals(const struct line_head *l, const struct head *h)
{
	return l->len && l->tid == h->tid && l->pid == h->pid && l->ns_pid == h->ns_pid &&
	       l->is_foreign == h->is_foreign && l->func_len == h->func.len && h->func.state == UT_TEXT_WHOLE &&
	       !memcmp(l->comm, h->comm, sizeof(l->comm)) && !memcmp(l->func, h->func.bytes, h->func.len);
}

size_t head_print(struct live_printer *p, const struct head *h, struct buf *out)
{
	size_t n = h->func.len, from = out->len, len, trimmed;
	unsigned char first = n ? (unsigned char)h->func.bytes[0] : 0,
		      last = n ? (unsigned char)h->func.bytes[n - 1] : 0;
	struct line_head *l = &p->heads[(h->tid ^ first ^ (last << 1) ^ (unsigned)n) % LINE_HEADS];

	if (head_equals(l, h)) {
		buf_add(out, l->text, l->len);
		return from + l->trimmed;
	}
	trimmed = add_columns(h, out);
	len = out->len - from;
	if (out->failed || h->func.state != UT_TEXT_WHOLE || n > sizeof(l->func) || len > sizeof(l->text))
		return from + trimmed;
	l->pid = h->pid;
	l->tid = h->tid;
	l->ns_pid = h->ns_pid;
	l->is_foreign = h->is_foreign;
	memcpy(l->comm, h->comm, sizeof(l->comm));
	memcpy(l->func, h->func.bytes, n);
	l->func_len = (uint8_t)n;
	memcpy(l->text, out->data + from, len);
	l->len = (uint8_t)len;
	l->trimmed = (uint8_t)trimmed;
	return from + trimmed;
}
