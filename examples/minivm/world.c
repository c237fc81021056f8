// SPDX-License-Identifier: MIT
/* Threads and stopping the world; world.h explains the rules. */
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "events.h"
#include "vm.h"

static void futex_wait(_Atomic uint32_t *word, uint32_t expected)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void world_init(struct world *w)
{
	*w = (struct world){ 0 };
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->monitor, NULL);
	pthread_cond_init(&w->changed, NULL);
}

void world_done(struct world *w)
{
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->monitor);
	pthread_cond_destroy(&w->changed);
}

void world_leave(struct mutator *m)
{
	struct world *w = &m->vm->world;

	if (atomic_fetch_sub(&w->running, 1) == 1)
		futex_wake_all(&w->running);
}

/*
 * Waits until the world resumes. If the world is stopped again before this thread has noticed, it keeps waiting in the
 * same span.
 */
static void wait_stopped(struct mutator *m)
{
	struct world *w = &m->vm->world;
	struct log_entry *e = emit_safepoint_begin(m);

	while (w->stop) {
		futex_wait(&w->stop, 1);
		if (w->stop)
			log_woken(m);
	}
	emit_safepoint_end(m, e);
}

void world_enter(struct mutator *m)
{
	struct world *w = &m->vm->world;

	/* Increments before it checks; world_stop does the opposite, so at least one of the two sees the other. */
	for (;;) {
		atomic_fetch_add(&w->running, 1);
		if (!w->stop)
			return;
		world_leave(m);
		wait_stopped(m);
	}
}

void world_park(struct mutator *m)
{
	world_leave(m);
	wait_stopped(m);
	world_enter(m);
}

bool world_claim(struct mutator *m)
{
	uint32_t expected = 0;

	if (atomic_compare_exchange_strong(&m->vm->world.stop, &expected, 1))
		return true;
	world_park(m);
	return false;
}

void world_stop(struct mutator *m)
{
	struct world *w = &m->vm->world;
	struct log_entry *e = emit_begin(m, "gc-stop", NULL, 0);
	uint32_t running = atomic_fetch_sub(&w->running, 1) - 1;

	while (running) {
		futex_wait(&w->running, running);
		running = w->running;
	}
	emit_end(m, e, 0);
}

void world_resume(struct mutator *m)
{
	struct world *w = &m->vm->world;

	atomic_fetch_add(&w->running, 1);
	w->stop = 0;
	futex_wake_all(&w->stop);
}

void world_wait_change(struct mutator *m)
{
	struct world *w = &m->vm->world;

	world_leave(m);
	pthread_cond_wait(&w->changed, &w->monitor);
	/* A stopped thread must not hold the monitor: others need it to become away. */
	pthread_mutex_unlock(&w->monitor);
	world_enter(m);
	pthread_mutex_lock(&w->monitor);
}

static struct mutator *mutator_free(struct mutator *m)
{
	if (m)
		free(m->stack);
	free(m);
	return NULL;
}

static struct mutator *mutator_new(struct vm *vm, const value *values, unsigned count)
{
	struct mutator *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->vm = vm;
	m->stack = calloc(STACK_VALUES, sizeof(value));
	m->log = log_thread(&vm->log);
	if (!m->stack || !m->log)
		return mutator_free(m);
	m->sp = m->stack;
	m->stack_end = m->stack + STACK_VALUES;
	while (count--)
		*m->sp++ = *values++;
	return m;
}

/* Adds a thread to the list, unless it is full. */
static bool add(struct world *w, struct mutator *m)
{
	bool fits;

	pthread_mutex_lock(&w->lock);
	fits = w->threads < THREADS_MAX;
	if (fits) {
		w->threads++;
		m->id = ++w->last_id;
		m->next = w->first;
		w->first = m;
	}
	pthread_mutex_unlock(&w->lock);
	return fits;
}

static void set_joining(struct world *w, struct mutator *m, bool joining)
{
	pthread_mutex_lock(&w->lock);
	m->joining = joining;
	pthread_mutex_unlock(&w->lock);
}

static void drop(struct world *w, const struct mutator *m)
{
	struct mutator **at = &w->first;

	pthread_mutex_lock(&w->lock);
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	w->threads--;
	pthread_mutex_unlock(&w->lock);
}

/* Everything that a thread does as one of the machine. */
static void run_thread(struct mutator *m)
{
	struct log_entry *e;
	clockid_t cpu;

	m->tid = (unsigned)syscall(SYS_gettid);
	if (!pthread_getcpuclockid(pthread_self(), &cpu))
		m->cpu = cpu;
	world_enter(m);
	e = emit_thread_begin(m);
	m->body(m, m->arg);
	m->sp = m->stack;
	heap_retire(m);
	emit_thread_end(m, e);
}

static void *thread_main(void *arg)
{
	struct mutator *m = arg;

	struct world *w = &m->vm->world;

	run_thread(m);
	world_leave(m);
	if (atomic_fetch_sub(&w->alive, 1) == 1)
		futex_wake_all(&w->alive);
	return NULL;
}

struct mutator *world_start(struct vm *vm, void (*body)(struct mutator *m, void *arg), void *arg, const value *values,
			    unsigned count)
{
	struct mutator *m = mutator_new(vm, values, count);

	if (!m)
		return NULL;
	m->body = body;
	m->arg = arg;
	m->joining = true;
	if (!add(&vm->world, m))
		return mutator_free(m);
	vm->world.alive++;
	if (pthread_create(&m->pthread, NULL, thread_main, m)) {
		vm->world.alive--;
		drop(&vm->world, m);
		return mutator_free(m);
	}
	set_joining(&vm->world, m, false);
	return m;
}

/* Returns the thread with that id, or any thread, to the first caller that wants to join it; NULL to others. */
static struct mutator *claim_join(struct world *w, bool any, unsigned id)
{
	struct mutator *m;

	pthread_mutex_lock(&w->lock);
	m = w->first;
	while (m && (m->joining || (!any && m->id != id)))
		m = m->next;
	if (m)
		m->joining = true;
	pthread_mutex_unlock(&w->lock);
	return m;
}

static value join(struct mutator *by, struct mutator *m)
{
	value result;

	world_leave(by);
	pthread_join(m->pthread, NULL);
	world_enter(by);
	result = m->result;
	for (size_t i = 0; i < m->remembered.count; i++)
		list_add(&by->remembered, m->remembered.items[i]);
	list_done(&m->remembered);
	drop(&by->vm->world, m);
	mutator_free(m);
	return result;
}

bool world_join(struct mutator *by, unsigned id, value *ret)
{
	struct mutator *m = by->id == id ? NULL : claim_join(&by->vm->world, false, id);

	if (m)
		*ret = join(by, m);
	return m;
}

bool world_run(struct vm *vm, void (*body)(struct mutator *m, void *arg), void *arg)
{
	struct mutator *m = mutator_new(vm, NULL, 0), *other;
	uint32_t alive;

	if (!m)
		return false;
	m->body = body;
	m->arg = arg;
	m->joining = true;
	add(&vm->world, m);
	run_thread(m);
	world_leave(m);
	while ((alive = vm->world.alive))
		futex_wait(&vm->world.alive, alive);
	world_enter(m);
	/* Join the remaining threads. */
	while ((other = claim_join(&vm->world, true, 0)))
		join(m, other);
	world_leave(m);
	list_done(&m->remembered);
	drop(&vm->world, m);
	mutator_free(m);
	return true;
}
