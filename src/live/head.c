/* SPDX-License-Identifier: MIT */
/* The columns that say who fired what: the same for one event after another, so they are kept ready. */
#include <string.h>

#include "live/print_priv.h"

static void add_process(const struct head *h, struct buf *out)
{
	size_t from = out->len;

	buf_addu(out, h->pid);
	if (h->ns_pid > 0 && (uint32_t)h->ns_pid != h->pid) {
		buf_addc(out, '(');
		buf_addu(out, (uint32_t)h->ns_pid);
		buf_addc(out, ')');
	}
	buf_pad(out, from, WIDTH_PID);
	from = out->len;
	buf_addu(out, h->tid);
	buf_pad(out, from, WIDTH_PID);
	from = out->len;
	buf_add_escaped(out, h->comm, strnlen(h->comm, sizeof(((struct ut_rec_event *)0)->comm)));
	buf_pad(out, from, WIDTH_COMM);
}

/*
 * Names of user events are any bytes: those that would pass for what this tool itself says of a name or of the event behind
 * it, or for no name at all, are quoted.
 */
static bool needs_quotes(const struct ut_text *name)
{
	return name->state != UT_TEXT_NULL && name->state != UT_TEXT_FAULT &&
	       (!name->len || strchr("(<\"", name->bytes[0]) || memchr(name->bytes, ' ', name->len) ||
		memmem(name->bytes, name->len, "…", strlen("…")) ||
		memmem(name->bytes, name->len, "<fault", strlen("<fault")));
}

static void add_func(const struct head *h, struct buf *out)
{
	static const struct step plain = { .kind = STEP_TEXT, .number = { .width = -1, .precision = -1 } };
	static const struct step quoted = { .kind = STEP_TEXT,
					    .quoted = true,
					    .number = { .width = -1, .precision = -1 } };

	if (h->is_foreign)
		text_print(needs_quotes(&h->func) ? &quoted : &plain, &h->func, out);
	else
		buf_add_escaped(out, h->func.bytes, h->func.len);
}

/* The columns from PID to FUNC; returns their length without the blanks at the end. */
static size_t add_all(const struct head *h, struct buf *out)
{
	size_t start = out->len, from, trimmed;

	add_process(h, out);
	from = out->len;
	add_func(h, out);
	trimmed = out->len - start;
	buf_pad(out, from, WIDTH_FUNC);
	return trimmed;
}

static bool fits(const struct line_head *l, const struct head *h)
{
	return l->len && l->tid == h->tid && l->pid == h->pid && l->ns_pid == h->ns_pid &&
	       l->is_foreign == h->is_foreign && l->func_len == h->func.len && h->func.state == UT_TEXT_WHOLE &&
	       !memcmp(l->comm, h->comm, sizeof(l->comm)) && !memcmp(l->func, h->func.bytes, h->func.len);
}

/* Keeps the @len bytes at @text for events like @h; nothing when they are too long. */
static void keep(struct line_head *l, const struct head *h, const char *text, size_t len, size_t trimmed)
{
	if (h->func.state != UT_TEXT_WHOLE || h->func.len > sizeof(l->func) || len > sizeof(l->text))
		return;
	l->pid = h->pid;
	l->tid = h->tid;
	l->ns_pid = h->ns_pid;
	l->is_foreign = h->is_foreign;
	memcpy(l->comm, h->comm, sizeof(l->comm));
	memcpy(l->func, h->func.bytes, h->func.len);
	l->func_len = (uint8_t)h->func.len;
	memcpy(l->text, text, len);
	l->len = (uint8_t)len;
	l->trimmed = (uint8_t)trimmed;
}

static struct line_head *place_of(struct live_printer *p, const struct head *h)
{
	size_t n = h->func.len;
	unsigned char first = n ? (unsigned char)h->func.bytes[0] : 0,
		      last = n ? (unsigned char)h->func.bytes[n - 1] : 0;

	return &p->heads[(h->tid ^ first ^ (last << 1) ^ (unsigned)n) % LINE_HEADS];
}

size_t head_print(struct live_printer *p, const struct head *h, struct buf *out)
{
	struct line_head *l = place_of(p, h);
	size_t from = out->len, trimmed;

	if (fits(l, h)) {
		buf_add(out, l->text, l->len);
		return from + l->trimmed;
	}
	trimmed = add_all(h, out);
	if (!out->failed)
		keep(l, h, out->data + from, out->len - from, trimmed);
	return from + trimmed;
}
