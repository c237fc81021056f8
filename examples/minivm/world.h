/* SPDX-License-Identifier: MIT */
/*
 * Threads of the machine, and how all of them are brought to stand still.
 *
 * A thread is running or away. Away is who waits for something, has not begun or has ended: it touches no object.
 * Running threads ask at calls, loops and collections whether the world is to stop. Who stops it waits until nobody
 * runs; who comes back meanwhile stands still until it goes on.
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
#define DEPTH_MAX 4000 /* calls inside calls; each takes C stack as well */

struct mutator {
	struct vm *vm;
	struct mutator *next;
	unsigned id; /* 1 for the first; never used again */
	unsigned tid; /* the kernel's */
	/* Values below sp are what the collector sees of this thread. */
	value *stack, *sp, *stack_end;
	unsigned depth;
	const struct function *function; /* that runs now */
	uintptr_t *native_frame; /* the newest of compiled code, linked to those before */
	char *free, *limit; /* own area of the heap */
	struct object *large; /* room for one large object */
	struct object_list remembered;
	value result;
	bool joining; /* nobody else may wait for it */
	pthread_t pthread;
	void (*body)(struct mutator *m, void *arg);
	void *arg;
	struct log_thread *log;
	_Atomic clockid_t cpu; /* the clock of its processor time; 0 before it lives */
	uint64_t noted_ns, noted_cpu_ns; /* that clock, read when the collection began; for the log */
};

struct world {
	_Atomic uint32_t stop; /* somebody collects, or is about to */
	_Atomic uint32_t running;
	_Atomic uint32_t alive; /* threads other than the first one */
	struct mutator *first; /* until it is joined a thread is in this list */
	pthread_mutex_t lock; /* over the list */
	pthread_mutex_t monitor; /* over all channels */
	pthread_cond_t changed;
	unsigned threads, last_id;
};

void world_init(struct world *w);
void world_done(struct world *w);

/* The calling thread becomes one of the machine, runs @body and waits for the end of all others. False: no memory. */
bool world_run(struct vm *vm, void (*body)(struct mutator *m, void *arg), void *arg);
/* A new thread runs @body; the values are put on its stack. NULL: there are too many threads, or no memory. */
struct mutator *world_start(struct vm *vm, void (*body)(struct mutator *m, void *arg), void *arg, const value *values,
			    unsigned count);
/* Waits for the end of thread @id and takes its result. False: there is none, or somebody else waits for it. */
bool world_join(struct mutator *by, unsigned id, value *ret);

/* Becomes away, and running again. */
void world_leave(struct mutator *m);
void world_enter(struct mutator *m);
/* With the monitor held: waits, away, for a change of some channel. The objects may have moved. */
void world_wait_change(struct mutator *m);

/* The only one who may stop the world from now on. False: somebody else was; it has done so, and the world goes on. */
bool world_claim(struct mutator *m);
void world_stop(struct mutator *m);
void world_go_on(struct mutator *m);

/* Stands still while the world is stopped. See world_poll. */
void world_park(struct mutator *m);

#endif
