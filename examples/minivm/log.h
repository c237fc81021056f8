/* SPDX-License-Identifier: MIT */
/*
 * What the machine itself says happened, by its own clock: --log. Kept in memory, one list for each thread, and written
 * at the end, also when the program fails, aborts or is ended by a signal that can be caught.
 *
 * A line: KIND THREAD TID BEGIN BEGUN END ENDED BEFORE AFTER TEXT. Times are ns of CLOCK_MONOTONIC; BEGIN and END are
 * read immediately before the event is announced, BEGUN and ENDED immediately after. An END of 0 did not come. BEFORE
 * and AFTER are bytes of the heap in use, AFTER also the size of what was compiled. "-" is no text.
 *
 * thread       the life of a thread
 * gc           a collection, from the wish until just before the others go on; the text is the cause
 * gc-stop      in it: waiting for the others to stand still; gc-mark, gc-sweep, gc-scavenge: the work
 * safepoint    a thread stands still for somebody's collection; for the one that collects, the gc line says so. BEFORE
 *              and AFTER are its processor time, ns, at BEGUN and at END
 * compile      of a function; the text is its name
 * woken        a thread that stands still was woken, and the world was stopped again: a moment, BEFORE and AFTER as above
 * ran          what another thread, THREAD, still ran during a collection: BEFORE and AFTER are its processor time, ns,
 *              read when the collection begins (BEGIN) and when it ends (END). AFTER 0: the thread has ended meanwhile
 */
#ifndef MINIVM_LOG_H
#define MINIVM_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct log_entry {
	const char *kind, *text; /* both live as long as the log */
	unsigned thread, tid;
	uint64_t begin_ns, begun_ns, end_ns, ended_ns;
	uint64_t before, after;
};

struct log_thread;

struct log {
	int fd; /* -1: nothing is kept */
	pthread_mutex_t lock;
	struct log_thread *first;
};

/* Creates the file (NULL: none). 0 or a negative errno. */
int log_open(struct log *l, const char *path);
/* Writes all that there is, and frees it. 0 or a negative errno. */
int log_close(struct log *l);
/* Writes what there is: for the end of a process that goes wrong. The file is complete then, nothing is freed. */
void log_write_now(void);

/* A thread's own list; the log owns it. NULL: no memory. */
struct log_thread *log_thread(struct log *l);
/*
 * A new entry of a thread, all zero. Entries nest: the last one is done first. It may be read until the thread's next
 * one. The log keeps it; without a log, or memory for it, nobody does.
 */
struct log_entry *log_entry(struct log_thread *t);
bool log_is_kept(const struct log_thread *t);
void log_done(struct log_thread *t, const struct log_entry *e);

#endif
