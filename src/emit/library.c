/* SPDX-License-Identifier: MIT */
/* libusertrace: the inline functions of <usertrace.h>, once each as a symbol. */

/* The header's functions go by other names here, so that ours can have theirs. */
#define ut_begin inline_begin
#define ut_end inline_end
#define ut_mark inline_mark
#define ut_count inline_count
#define ut_begin_id inline_begin_id
#define ut_end_id inline_end_id
#define ut_mark_id inline_mark_id
#define ut_count_id inline_count_id
#define ut_begin_text inline_begin_text
#define ut_end_text inline_end_text
#define ut_mark_text inline_mark_text
#define ut_count_text inline_count_text
#define ut_emit inline_emit
#define ut_enabled inline_enabled
#include "usertrace.h"
#undef ut_begin
#undef ut_end
#undef ut_mark
#undef ut_count
#undef ut_begin_id
#undef ut_end_id
#undef ut_mark_id
#undef ut_count_id
#undef ut_begin_text
#undef ut_end_text
#undef ut_mark_text
#undef ut_count_text
#undef ut_emit
#undef ut_enabled

#pragma GCC visibility push(default)
#include "emit/library.h"
#pragma GCC visibility pop

void ut_begin(const char *name) { inline_begin(name); }
void ut_end(const char *name) { inline_end(name); }
void ut_mark(const char *name) { inline_mark(name); }
void ut_count(const char *name, int64_t value) { inline_count(name, value); }

void ut_begin_id(const char *name, uint64_t id) { inline_begin_id(name, id); }
void ut_end_id(const char *name, uint64_t id) { inline_end_id(name, id); }
void ut_mark_id(const char *name, uint64_t id) { inline_mark_id(name, id); }
void ut_count_id(const char *name, int64_t value, uint64_t id) { inline_count_id(name, value, id); }

void ut_begin_text(const char *name, const char *text) { inline_begin_text(name, text); }
void ut_end_text(const char *name, const char *text) { inline_end_text(name, text); }
void ut_mark_text(const char *name, const char *text) { inline_mark_text(name, text); }
void ut_count_text(const char *name, int64_t value, const char *text) { inline_count_text(name, value, text); }

void ut_emit(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text)
{
	inline_emit(what, name, value, id, text);
}

int ut_enabled(void) { return inline_enabled() ? 1 : 0; }
