/* SPDX-License-Identifier: MIT */
/* libusertrace: the functions of <usertrace.h> and <usertrace-jit.h>, once each as a symbol. */

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
#define ut_jit_open inline_jit_open
#define ut_jit_code inline_jit_code
#define ut_jit_code_lines inline_jit_code_lines
#define ut_jit_move inline_jit_move
#define ut_jit_drop inline_jit_drop
#define ut_jit_forked inline_jit_forked
#define ut_jit_close inline_jit_close
#define ut_jit_on inline_jit_on
#define ut_jit_error inline_jit_error
#define ut_jit_lost inline_jit_lost
#include "usertrace.h"
#include "usertrace-jit.h"
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
#undef ut_jit_open
#undef ut_jit_code
#undef ut_jit_code_lines
#undef ut_jit_move
#undef ut_jit_drop
#undef ut_jit_forked
#undef ut_jit_close
#undef ut_jit_on
#undef ut_jit_error
#undef ut_jit_lost

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

int ut_jit_open(unsigned flags) { return inline_jit_open(flags); }
int ut_jit_on(void) { return inline_jit_on(); }
void ut_jit_code(const void *addr, size_t size, const char *name) { inline_jit_code(addr, size, name); }
void ut_jit_move(const void *old_addr, const void *new_addr, size_t size) { inline_jit_move(old_addr, new_addr, size); }
void ut_jit_drop(const void *addr, size_t size) { inline_jit_drop(addr, size); }
void ut_jit_forked(void) { inline_jit_forked(); }
void ut_jit_close(void) { inline_jit_close(); }
const char *ut_jit_error(void) { return inline_jit_error(); }
uint64_t ut_jit_lost(void) { return inline_jit_lost(); }

void ut_jit_code_lines(const void *addr, size_t size, const char *name, const struct ut_jit_line *lines, size_t count)
{
	inline_jit_code_lines(addr, size, name, lines, count);
}
