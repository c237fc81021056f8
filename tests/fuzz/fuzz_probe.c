/* SPDX-License-Identifier: MIT */
/* Fuzzing of the probe language: any text must parse, check and be laid out, or end in a sentence. What follows a NUL
 * in the input is the record of an event, and must print as one line or be refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "live/print.h"
#include "probe/layout.h"
#include "wire/record.h"

#define T_INT(bytes, sign) { .kind = TYPE_INT, .size = (bytes), .is_signed = (sign) }

static const struct probe_field args[] = {
	{.type = T_INT(8, false)},
	{.type = T_INT(4, true)},
	{.type = T_INT(1, false)},
	{.type = T_INT(8, true)},
	{.type = {.kind = TYPE_FLOAT, .size = 8}},
	{.type = {.kind = TYPE_FLOAT, .size = 4}},
	{.type = {.kind = TYPE_INT}, .unreadable = "is in %xmm0"},
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

static void print_record(const struct live_event *e, bool json)
{
	struct live_options opts = { .json = json, .wall_time = true, .since_start = true, .wall_ns = 1 };
	struct live_printer *p = live_printer_new(&opts);
	struct buf out = { 0 };

	if (!live_print(p, e, &out)) {
		require(out.len && out.data[out.len - 1] == '\n');
		require(!json || strchr(out.data, '\n') == out.data + out.len - 1);
	}
	buf_done(&out);
	live_printer_free(p);
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
	struct live_event e = { .rec = rec, .size = l.size, .probe = probe, .func = "all", .provider_or_file = "zoo",
				.unreadable = unreadable, .caller = rec->faults };
	print_record(&e, false);
	print_record(&e, true);
	live_probe_free(probe);
	free(rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
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
			probe_checked_free(checked);
		}
	}
	free(text);
	return 0;
}
