/* SPDX-License-Identifier: MIT */
/*
 * Threads of the machine, and stopping the world.
 *
 * A thread is running or away. A thread that waits, has not started or has exited is away, and accesses no objects.
 * Running threads check at calls, loops and collections whether the world is to be stopped. The stopping thread waits
 * until no thread is running; threads that return meanwhile wait until the world resumes.
 */
#ifndef MINIVM_WORLD_H
#define MINIVM_WORLD_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "heap.h"

struct function;
struct log_thread;

#define THREADS_MAX 64
#define STACK_VALUES 65536
#define DEPTH_MAX 4000 /* nested calls; each also uses C stack */

struct mutator {
	struct vm *vm;
	struct mutator *next;
	unsigned id; /* 1 for the first thread; never reused */
	unsigned tid; /* the kernel's */
	/* Values below sp are what the collector sees of this thread. */
	value *stack, *sp, *stack_end;
	unsigned depth;
	const struct function *function; /* currently running */
	uintptr_t *native_frame; /* innermost frame of compiled code, linked to its callers' */
	char *free, *limit; /* own area of the heap */
	struct object *large; /* room for one large object */
	struct object_list remembered;
	value result;
	bool joining; /* another thread waits for it */
	pthread_t pthread;
	void (*body)(struct mutator *m, void *arg);
	void *arg;
	struct log_thread *log;
	_Atomic clockid_t cpu; /* its CPU-time clock; 0 before it starts */
	uint64_t recorded_ns, recorded_cpu_ns; /* that clock at the begin of the collection, for the log */
};

struct world {
	_Atomic uint32_t stop; /* a thread collects, or is about to */
	_Atomic uint32_t running;
	_Atomic uint32_t alive; /* threads other than the first one */
	struct mutator *first; /* list of the threads that were not joined yet */
	pthread_mutex_t lock; /* protects the list */
	pthread_mutex_t monitor; /* protects all channels */
	pthread_cond_t changed;
	unsigned threads, last_id;
};

void world_init(struct world *w);
void world_done(struct world *w);

/* Makes the calling thread one of the machine, runs @body and waits for all other threads. False: out of memory. */
bool world_run(struct vm *vm, void (*body)(struct mutator *m, void *arg), void *arg);
/* Runs @body on a new thread, with the values on its stack. NULL: too many threads, or out of memory. */
struct mutator *world_start(struct vm *vm, void (*body)(struct mutator *m, void *arg), void *arg, const value *values,
			    unsigned count);
/* Waits for thread @id to exit, and returns its result. False: it does not exist, or another thread waits for it. */
bool world_join(struct mutator *by, unsigned id, value *ret);

/* Mark the thread as away, and as running again. */
void world_leave(struct mutator *m);
void world_enter(struct mutator *m);
/* Waits, away, for a change of a channel; the caller holds the monitor. Objects may have moved afterwards. */
void world_wait_change(struct mutator *m);

/* Claims the right to stop the world. False: another thread had it; the world was stopped and has resumed. */
bool world_claim(struct mutator *m);
void world_stop(struct mutator *m);
void world_resume(struct mutator *m);

/* Waits while the world is stopped. */
void world_park(struct mutator *m);

#endif
