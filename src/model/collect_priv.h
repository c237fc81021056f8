/* SPDX-License-Identifier: MIT */
/* Private to the files that implement collect.h: the meaning of values. */
#ifndef UT_MODEL_COLLECT_PRIV_H
#define UT_MODEL_COLLECT_PRIV_H

#include "model/collect.h"
#include "model/pair.h"

#define COLLECT_VALUES_MAX 32 /* of a begin, kept until its end */
#define COLLECT_VALUE_TEXT 1024 /* bytes of one of them */

enum collect_fit { COLLECT_FITS, COLLECT_FITS_NOT, COLLECT_FIT_UNKNOWN }; /* unknown: a value is missing */

/* Names with a meaning in every definition; others have keys above these. */
enum collect_known {
	COLLECT_AFTER = 1,
	COLLECT_BEFORE,
	COLLECT_CAUSE,
	COLLECT_CLASS,
	COLLECT_FAILED,
	COLLECT_FREED,
	COLLECT_HEAP,
	COLLECT_ID,
	COLLECT_NAME,
	COLLECT_OBJECTS,
	COLLECT_USED,
	COLLECT_KNOWN,
};

/* The keys of a definition's words and conditions, in their order. */
struct collect_def_keys {
	uint32_t *words, *only;
};
/* Of all definitions; NULL: no memory. One free() is enough. */
struct collect_def_keys *collect_def_keys_new(const struct collect_def *defs, size_t n);

const struct collect_value *collect_value_of(const struct collect_event *e, enum collect_known key);
/* @def, keys: of the event. */
enum collect_fit collect_only_fits(const struct collect_def *def, const struct collect_def_keys *keys,
				   const struct collect_event *e);
/* Adds the values of an event to the span, by the event's role. */
void collect_add_values(struct collect_span *span, const struct collect_def_keys *keys, const struct collect_event *e);
/* After the last event: derived values and the label. */
void collect_conclude(struct collect_span *span);

/* The first COLLECT_VALUES_MAX values of a begin with their names and strings: bytes, and the copy in that many bytes. */
size_t collect_values_room(const struct collect_event *e);
size_t collect_values_copy(const struct collect_event *e, struct collect_value *to);

/* For tests: with other limits. */
struct collect *collect_new_limited(const struct collect_def *defs, size_t n, uint64_t start_ns, uint64_t base_ns,
				    int (*fn)(void *ctx, const struct collect_span *span), void *ctx,
				    const struct pair_limits *limits);

#endif
