/* SPDX-License-Identifier: MIT */
/* Begins and ends of user spans, for tests of their pairing. */
#ifndef UT_TESTS_SPAN_EVENTS_H
#define UT_TESTS_SPAN_EVENTS_H

#include <string.h>

#include "model/span.h"
#include "unit.h"

static inline struct span_event event(uint64_t ns, uint32_t pid, uint32_t tid, const char *name)
{
	return (struct span_event){
		.time_ns = ns, .pid = pid, .tid = tid, .name = { .bytes = name, .len = strlen(name) }
	};
}

static inline struct span_event with_id(struct span_event e, uint64_t id)
{
	e.has_id = true;
	e.id = id;
	return e;
}

static inline void begin(struct spans *s, struct span_event e) { assert_int_equal(spans_begin(s, &e), 0); }

static inline enum span_end end(struct spans *s, struct span_event e) { return spans_end(s, &e, NULL); }

#endif
