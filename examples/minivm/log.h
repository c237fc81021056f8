/* SPDX-License-Identifier: MIT */
/*
 * The log (--log): events with times of the machine's own clock. Kept in memory, one list per thread, and written at
 * the end, also if the program fails, aborts or is killed by a signal that can be caught.
 *
 * A line: KIND THREAD TID BEGIN BEGUN END ENDED BEFORE AFTER TEXT. Times are CLOCK_MONOTONIC in ns; BEGIN and END are
 * read immediately before the event is emitted, BEGUN and ENDED immediately after. END is 0 if there was no end. BEFORE
 * and AFTER are the bytes of the heap in use; for compile, AFTER is the size of the code. TEXT is "-" if there is none.
 *
 * thread       the lifetime of a thread
 * gc           a collection, from the request until just before the other threads resume; TEXT is the cause
 * gc-stop      in it: the time until all threads have stopped; gc-mark, gc-sweep, gc-scavenge: the phases
 * safepoint    a thread is stopped for another thread's collection; the collecting thread has only the gc line. BEFORE
 *              and AFTER are its CPU time in ns, at BEGUN and at END
 * compile      the compilation of a function; TEXT is its name
 * woken        a stopped thread was woken, and the world was already stopped again; BEFORE and AFTER as above
 * ran          the CPU time of another thread, THREAD, during a collection: BEFORE and AFTER are its CPU time in ns
 *              at the begin (BEGIN) and at the end (END) of the collection. AFTER is 0 if it exited meanwhile
 */
#ifndef MINIVM_LOG_H
#define MINIVM_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct log_entry {
	const char *kind, *text; /* valid as long as the log */
	unsigned thread, tid;
	uint64_t begin_ns, begun_ns, end_ns, ended_ns;
	uint64_t before, after;
};

struct log_thread;

struct log {
	int fd; /* -1: no log */
	pthread_mutex_t lock;
	struct log_thread *first;
};

/* Creates the file (NULL: no log). Returns 0 or a negative errno. */
int log_open(struct log *l, const char *path);
/* Writes all entries and frees them. Returns 0 or a negative errno. */
int log_close(struct log *l);
/* Writes all entries without freeing them, for a process that terminates abnormally. */
void log_write_now(void);

/* Creates the list of a thread, which the log owns. NULL: out of memory. */
struct log_thread *log_thread(struct log *l);
/*
 * Returns a new entry of a thread, zeroed. Entries nest: the last one is done first. It is valid until the thread's
 * next one. Without a log, or if out of memory, it is discarded.
 */
struct log_entry *log_entry(struct log_thread *t);
bool log_is_kept(const struct log_thread *t);
void log_done(struct log_thread *t, const struct log_entry *e);

#endif
