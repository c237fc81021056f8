/* SPDX-License-Identifier: MIT */
/*
 * All event output in one place: user events, probes, names of JIT-compiled code, and minivm's own log. The rest of the
 * machine calls these functions where an activity begins or ends. README.md explains where the calls are, and why.
 */
#ifndef MINIVM_EVENTS_H
#define MINIVM_EVENTS_H

#include "log.h"
#include "world.h"

/* A span of the calling thread, which contains all events in between; @text may be NULL. */
struct log_entry *emit_begin(struct mutator *m, const char *kind, const char *text, uint64_t before);
void emit_end(struct mutator *m, struct log_entry *e, uint64_t after);

/* The calling thread is stopped for another thread's collection. */
struct log_entry *emit_safepoint_begin(struct mutator *m);
void log_woken(struct mutator *m);
void emit_safepoint_end(struct mutator *m, struct log_entry *e);

/* A collection, from before the world is stopped until just before it resumes; @used: bytes in use. */
struct log_entry *emit_gc_begin(struct mutator *m, const char *cause, uint64_t used);
void emit_gc_end(struct mutator *m, struct log_entry *e, uint64_t used);
/* The collection's work as Clozure CL's probes report it: bytes in use at its begin, bytes freed at its end. */
void emit_minor_begin(uint64_t used);
void emit_minor_end(uint64_t freed);
void emit_full_begin(uint64_t used);
void emit_full_end(uint64_t freed);

struct log_entry *emit_compile_begin(struct mutator *m, const char *function);
void emit_compile_end(struct mutator *m, struct log_entry *e, uint64_t code_bytes);

/* Reports the address and name of JIT-compiled code to profilers, and when it moves or is freed. */
void emit_code_open(bool map, bool dump); /* reports errors on standard error */
void emit_code(const void *code, size_t len, const char *function);
void emit_code_moved(const void *from, const void *to, size_t len);
void emit_code_freed(const void *code, size_t len);

/* The lifetime of a thread, reported on that thread. */
struct log_entry *emit_thread_begin(struct mutator *m);
void emit_thread_end(struct mutator *m, struct log_entry *e);

#endif
