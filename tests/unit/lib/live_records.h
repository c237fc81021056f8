/* SPDX-License-Identifier: MIT */
/* Records made by hand for tests of the live printer: a checked probe, its record, and the line it prints. */
#ifndef UT_TESTS_LIVE_RECORDS_H
#define UT_TESTS_LIVE_RECORDS_H

#include <stdlib.h>

#include "live/print.h"
#include "probe/layout.h"
#include "probe_scopes.h"

#define PREFIX_LEN 49 /* PID, TID, COMM and FUNC of the event below */

struct test_event {
	struct probe_checked *checked;
	struct live_probe *probe;
	struct layout layout;
	union {
		struct ut_rec_event rec;
		uint64_t align;
		char bytes[16384];
	} u;
	const char *unreadable[OUTPUTS_MAX];
	struct live_event event;
};

/* An event of pid 1234, thread 1235, "java"; all values 0, all texts whole and empty. */
static inline struct test_event *event_new(const char *text, uint32_t text_room)
{
	struct test_event *t = calloc(1, sizeof(*t));
	struct ut_err err;

	t->checked = check_text(text, &err);
	if (!t->checked)
		fail_msg("%s", err.msg);
	t->probe = live_probe_new(t->checked);
	assert_non_null(t->probe);
	layout_of(t->checked, text_room, &t->layout);
	assert_true(t->layout.size <= sizeof(t->u));
	t->u.rec = (struct ut_rec_event){
		.time_ns = 5000000000u, .pid = 1234, .tid = 1235, .comm = "java", .text_room = text_room
	};
	t->event = (struct live_event){ .rec = &t->u.rec,
					.size = t->layout.size,
					.cpu = 1,
					.probe = t->probe,
					.func = "gc__begin",
					.provider_or_file = "hotspot",
					.unreadable = t->unreadable };
	return t;
}

static inline void event_free(struct test_event *t)
{
	live_probe_free(t->probe);
	probe_checked_free(t->checked);
	free(t);
}

static inline void event_set(struct test_event *t, unsigned output, uint64_t value)
{
	assert_int_not_equal(t->layout.slot[output].value, 0);
	memcpy(t->u.bytes + t->layout.slot[output].value, &value, sizeof(value));
}

static inline void event_set_text(struct test_event *t, unsigned output, const void *bytes, size_t len,
				  enum ut_text_state state)
{
	struct ut_rec_text *text = (void *)(t->u.bytes + t->layout.slot[output].text);

	assert_int_not_equal(t->layout.slot[output].text, 0);
	assert_true(len <= t->layout.slot[output].room);
	text->len = (uint32_t)len;
	text->state = state;
	if (len)
		memcpy(text + 1, bytes, len);
}

static inline void print_event(const struct test_event *t, const struct live_options *opts, struct buf *out)
{
	struct live_printer *p = live_printer_new(opts);

	buf_reset(out);
	assert_int_equal(live_print(p, &t->event, out), 0);
	live_printer_free(p);
}

/* What the event prints in the last column (and on lines below), without the final line feed. */
static inline const char *event_message(const struct test_event *t, struct buf *out)
{
	static const struct live_options opts;

	print_event(t, &opts, out);
	assert_int_equal(out->data[out->len - 1], '\n');
	out->data[--out->len] = '\0';
	for (size_t i = 0; i < PREFIX_LEN; i++) /* a line without a message ends after FUNC */
		if (out->data[i] == '\n' || !out->data[i])
			return out->data + i;
	return out->data + PREFIX_LEN;
}

#endif
