/* SPDX-License-Identifier: MIT */
/* Fuzzing of the probe language: any text must parse, check and be laid out, or end in a sentence. What follows a NUL
 * in the input is the record of an event, and must print as one line or be refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "live/print.h"
#include "live/user.h"
#include "probe/eval.h"
#include "probe/layout.h"
#include "wire/record.h"
#include "fuzz.h"

#define T_INT(bytes, sign) \
	{ \
		.kind = TYPE_INT, .size = (bytes), .is_signed = (sign) \
	}

static const struct probe_field args[] = {
	{ .type = T_INT(8, false) },
	{ .type = T_INT(4, true) },
	{ .type = T_INT(1, false) },
	{ .type = T_INT(8, true) },
	{ .type = { .kind = TYPE_FLOAT, .size = 8 } },
	{ .type = { .kind = TYPE_FLOAT, .size = 4 } },
	{ .type = { .kind = TYPE_INT }, .unreadable = "is in %xmm0" },
};
static const struct probe_field fields[] = {
	{ .name = "comm", .type = { .kind = TYPE_CHARS, .size = 16 } },
	{ .name = "name", .type = { .kind = TYPE_CHARS } },
	{ .name = "pid", .type = T_INT(4, true) },
	{ .name = "filename", .type = { .kind = TYPE_INT, .size = 8, .is_pointer = true } },
	{ .name = "sets", .type = { .kind = TYPE_INT }, .unreadable = "is an array" },
};

static struct probe_scope scope_for(enum probe_kind kind)
{
	struct probe_scope ret = { .kind = kind, .display = "zoo:all" };

	if (kind == PROBE_USER)
		return *eval_user_scope();
	if (kind == PROBE_USDT || kind == PROBE_ENTRY) {
		ret.args = args;
		ret.nargs = sizeof(args) / sizeof(args[0]);
	}
	if (kind == PROBE_TRACEPOINT) {
		ret.fields = fields;
		ret.nfields = sizeof(fields) / sizeof(fields[0]);
	}
	return ret;
}

static void require(bool cond)
{
	if (!cond)
		abort();
}

static void check_layout(const struct probe_checked *checked)
{
	struct layout l;

	layout_of(checked, 4096, &l);
	require(l.size % 8 == 0 && l.size >= sizeof(struct ut_rec_event));
	require(l.nvalues <= OUTPUTS_MAX && l.ntexts <= OUTPUTS_MAX);
	for (size_t i = 0; i < checked->format.n; i++)
		require(checked->format.v[i].literal || checked->format.v[i].output < checked->noutputs);
}

/* False when the record was refused. */
static bool print_record(const struct live_event *e, bool json)
{
	struct live_options opts = { .json = json, .wall_time = true, .since_start = true, .wall_ns = 1 };
	struct live_printer *p = live_printer_new(&opts);
	struct buf out = { 0 };
	bool ok = !live_print(p, e, &out);

	if (ok) {
		require(out.len && out.data[out.len - 1] == '\n');
		require(!json || strchr(out.data, '\n') == out.data + out.len - 1);
	}
	buf_done(&out);
	live_printer_free(p);
	return ok;
}

/* The record is @bytes over zeros, at the size that the probe wants. */
static void print_bytes(const struct probe_checked *checked, const uint8_t *bytes, size_t size)
{
	static const char *const unreadable[OUTPUTS_MAX] = { [2] = "is in %xmm0" };
	struct live_probe *probe = live_probe_new(checked);
	struct ut_rec_event *rec;
	struct layout l;

	layout_of(checked, 64, &l);
	rec = calloc(1, l.size);
	memcpy(rec, bytes, size < l.size ? size : l.size);
	if (size && bytes[0] & 1)
		rec->text_room = 64;
	struct live_event e = { .rec = rec,
				.size = l.size,
				.probe = probe,
				.func = "all",
				.provider_or_file = "zoo",
				.unreadable = unreadable,
				.caller = rec->faults };
	print_record(&e, false);
	print_record(&e, true);
	live_probe_free(probe);
	free(rec);
}

/* Takes a text off the bytes: its length, then as many of them as there are. Some are missing. */
static struct ut_text take_text(const uint8_t **bytes, size_t *size)
{
	struct ut_text ret = { .bytes = (const char *)*bytes };
	uint8_t kind = *size ? **bytes : 0;

	if (!*size || kind == 255)
		return (struct ut_text){ .state = kind ? UT_TEXT_FAULT : UT_TEXT_NULL };
	ret.state = kind % 3 == 2 ? UT_TEXT_CUT_LIMIT : UT_TEXT_WHOLE;
	ret.len = kind < *size - 1 ? kind : *size - 1;
	ret.bytes++;
	*bytes += ret.len + 1;
	*size -= ret.len + 1;
	return ret;
}

static uint64_t take_number(const uint8_t **bytes, size_t *size)
{
	size_t n = *size < sizeof(uint64_t) ? *size : sizeof(uint64_t);
	uint64_t ret = 0;

	memcpy(&ret, *bytes, n);
	*bytes += n;
	*size -= n;
	return ret;
}

/* An event made of @bytes goes through the predicate and is printed. */
static void evaluate(const struct probe_checked *checked, const uint8_t *bytes, size_t size)
{
	struct eval_scope scope = { .pid = 4711, .tid = 4712, .time_ns = take_number(&bytes, &size) };
	struct live_probe *probe = live_probe_new(checked);
	struct ut_rec_event head = { .pid = 4711, .tid = 4712, .time_ns = scope.time_ns };
	struct live_event e = { .rec = &head, .size = sizeof(head), .scope = &scope, .probe = probe, .func = "all" };

	scope.values[USER_VALUE] = take_number(&bytes, &size);
	scope.values[USER_ID] = take_number(&bytes, &size);
	scope.values[USER_DURATION] = take_number(&bytes, &size);
	scope.texts[USER_KIND] = (struct ut_text){ .bytes = "end", .len = 3 };
	scope.texts[USER_NAME] = take_text(&bytes, &size);
	scope.texts[USER_TEXT] = take_text(&bytes, &size);
	memcpy(scope.comm, &scope.values[USER_ID], sizeof(uint64_t));
	if (checked->spec->predicate)
		eval_expr(checked->spec->predicate, &scope);
	require(print_record(&e, false));
	require(print_record(&e, true));
	live_probe_free(probe);
}

static void print_user(const struct live_user *u, bool json)
{
	struct live_options opts = { .json = json, .wall_time = true, .since_start = true, .cpu = true, .wall_ns = 1 };
	struct live_printer *p = live_printer_new(&opts);
	struct buf out = { 0 };
	size_t one;

	live_print_user(p, u, &out);
	one = out.len;
	live_print_user(p, u, &out); /* the columns that were kept */
	require(out.len == 2 * one && !memcmp(out.data, out.data + one, one));
	require(memchr(out.data, '\n', out.len) == out.data + one - 1 && !memchr(out.data, '\x1b', out.len));
	buf_done(&out);
	live_printer_free(p);
}

/* Any bytes as name and text of an event without a format: one line. */
static void print_event(const uint8_t *bytes, size_t size)
{
	uint64_t how = take_number(&bytes, &size);
	struct ut_text name = take_text(&bytes, &size), text = take_text(&bytes, &size);
	struct span span = { .begin_ns = how,
			     .end_ns = take_number(&bytes, &size),
			     .end = how >> 8 & 3,
			     .flags = how >> 16 & 7,
			     .exit_known = how >> 24 & 1,
			     .exit_code = (int)(how >> 32) };
	struct live_user u = {
		.kind = how % (LIVE_USER_CLOSED + 1),
		.time_ns = how,
		.has_text = how & 8,
		.has_id = how & 16,
		.has_cpu = how & 32,
		.end = SPAN_LOST + (how >> 48 & 3),
		.value = (int64_t)how,
		.span = how & 64 || how % (LIVE_USER_CLOSED + 1) == LIVE_USER_CLOSED ? &span : NULL,
		.name = { .bytes = name.bytes, .len = name.len, .state = name.state, .address = how },
		.text = { .bytes = text.bytes, .len = text.len, .state = text.state },
	};

	print_user(&u, false);
	print_user(&u, true);
}

FUZZ_TARGET(probe)
{
	char *text = strndup((const char *)data, size);
	struct probe_checked *checked = NULL;
	struct probe_spec *spec = NULL;
	struct probe_scope scope;
	struct ut_err err = { 0 };

	if (!text)
		return 0;
	if (probe_parse(text, &spec, &err)) {
		require(err.code < 0 && strlen(err.msg) > 10 && (strchr(err.msg, '^') || strlen(text) > 1000));
	} else {
		scope = scope_for(spec->kind);
		if (probe_check(spec, &scope, &checked, &err)) {
			require(err.code < 0 && strchr(err.msg, '^'));
			probe_spec_free(spec);
		} else {
			size_t used = strlen(text) < size ? strlen(text) + 1 : size;

			check_layout(checked);
			print_bytes(checked, data + used, size - used);
			print_event(data + used, size - used);
			if (scope.kind == PROBE_USER)
				evaluate(checked, data + used, size - used);
			probe_checked_free(checked);
		}
	}
	free(text);
	return 0;
}
