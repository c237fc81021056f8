/* SPDX-License-Identifier: MIT */
/*
 * What libusertrace exports: the calls of <usertrace.h> and <usertrace-jit.h> as symbols, for languages that can call a
 * C function and cannot read a C header. The headers tell what each does. Programs in C and C++ use them alone, where a
 * call that nobody listens to is a load and a branch; here it is a function call more.
 *
 * Every function may be called on any thread, in a signal handler and after fork; none ends the program or touches
 * errno. Those of events neither allocate nor wait; those of code take a lock, and memory from the kernel. The library
 * needs nothing, not even libc, and does nothing when it is loaded.
 */
#ifndef UT_EMIT_LIBRARY_H
#define UT_EMIT_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/* Each name here is one of library.map, and the other way round. */
void ut_begin(const char *name);
void ut_end(const char *name);
void ut_mark(const char *name);
void ut_count(const char *name, int64_t value);

void ut_begin_id(const char *name, uint64_t id);
void ut_end_id(const char *name, uint64_t id);
void ut_mark_id(const char *name, uint64_t id);
void ut_count_id(const char *name, int64_t value, uint64_t id);

void ut_begin_text(const char *name, const char *text);
void ut_end_text(const char *name, const char *text);
void ut_mark_text(const char *name, const char *text);
void ut_count_text(const char *name, int64_t value, const char *text);

/* All of the above are this; @what is UT_BEGIN, UT_END, UT_MARK or UT_COUNT with UT_ID, UT_TEXT or both. */
void ut_emit(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text);
/* 1 while somebody listens to this library's events, else 0: for what is costly to work out for an event. */
int ut_enabled(void);

/* Code that the program makes. @flags: 1 a perf map, 2 a jitdump, 4 the environment is not asked. */
struct ut_jit_line;
int ut_jit_open(unsigned flags);
int ut_jit_on(void);
void ut_jit_code(const void *addr, size_t size, const char *name);
void ut_jit_code_lines(const void *addr, size_t size, const char *name, const struct ut_jit_line *lines, size_t count);
void ut_jit_move(const void *old_addr, const void *new_addr, size_t size);
void ut_jit_drop(const void *addr, size_t size);
void ut_jit_forked(void);
void ut_jit_close(void);
const char *ut_jit_error(void);
uint64_t ut_jit_lost(void);

#endif
