/* SPDX-License-Identifier: MIT */
/*
 * Everything that the machine tells a tracer, and its own log, in one place. The rest of the machine calls these where
 * something begins or ends, and knows nothing of probes. See README.md for where the calls stand and why.
 */
#ifndef MINIVM_ANNOUNCE_H
#define MINIVM_ANNOUNCE_H

#include "log.h"
#include "world.h"

/* A span of the calling thread; @text may be NULL. Whatever is announced in between is inside it. */
struct log_entry *announce_begin(struct mutator *m, const char *kind, const char *text, uint64_t before);
void announce_end(struct mutator *m, struct log_entry *e, uint64_t after);

/* The calling thread stands still for somebody's collection. */
struct log_entry *announce_still_begin(struct mutator *m);
void log_woken(struct mutator *m);
void announce_still_end(struct mutator *m, struct log_entry *e);

/* A collection, from before the world is asked to stop until just before it goes on; bytes in use. */
struct log_entry *announce_gc_begin(struct mutator *m, const char *cause, uint64_t used);
void announce_gc_end(struct mutator *m, struct log_entry *e, uint64_t used);
/* The work in it, as Clozure CL's probes tell it: bytes in use when it begins, bytes that became free when it ends. */
void announce_minor_begin(uint64_t used);
void announce_minor_end(uint64_t freed);
void announce_full_begin(uint64_t used);
void announce_full_end(uint64_t freed);

struct log_entry *announce_compile_begin(struct mutator *m, const char *function);
void announce_compile_end(struct mutator *m, struct log_entry *e, uint64_t code_bytes);

/* Machine code, for profilers: where it is and what it is called, that it moved, that it is gone. */
void announce_code_open(bool map, bool dump); /* says on standard error what is refused */
void announce_code(const void *code, size_t len, const char *function);
void announce_code_moved(const void *from, const void *to, size_t len);
void announce_code_gone(const void *code, size_t len);

/* The life of a thread, on the thread itself. */
struct log_entry *announce_thread_begin(struct mutator *m);
void announce_thread_end(struct mutator *m, struct log_entry *e);

#endif
