/* SPDX-License-Identifier: MIT */
/* Asks virtual machines for the maps of their code, in a thread of its own. */
#include "cli/profile_maps.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/map_hint.h"
#include "proc/hotspot.h"

#define FIRST_NS 2000000000u		/* from one map to the next; then twice as long each time */
#define LONGEST_NS 32000000000u
#define TIMEOUT_MS 1000u
#define FINISH_MS 3000u			/* for all of them together */
#define FAILURES_MAX 5

struct asked {
	pid_t pid;
	bool hinted, news;		/* news: it has compiled since the last map */
	uint64_t due_ns, interval_ns;
};

struct profile_maps {
	struct names *names;
	const struct runtimes *runtimes;
	VEC(struct asked) all;

	pthread_t thread;
	bool started;
	/* Between the two threads. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	VEC(pid_t) queue;
	bool busy, over;
	VEC(char *) failures;
};

struct profile_maps *profile_maps_new(struct names *names, const struct runtimes *runtimes)
{
	struct profile_maps *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->names = names;
	m->runtimes = runtimes;
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	return m;
}

static void note_failure(struct profile_maps *m, const struct ut_err *err)
{
	char *text;

	if (!err->msg[0] || m->failures.n >= FAILURES_MAX)
		return;
	for (size_t i = 0; i < m->failures.n; i++)
		if (!strcmp(m->failures.v[i], err->msg))
			return;
	text = strdup(err->msg);
	if (text && vec_push(&m->failures, text))
		free(text);
}

/* The other thread: one process after the other. */
static void *ask_all(void *arg)
{
	struct profile_maps *m = arg;

	pthread_mutex_lock(&m->lock);
	for (;;) {
		struct ut_err err = { 0 };
		pid_t pid;

		while (!m->queue.n && !m->over)
			pthread_cond_wait(&m->changed, &m->lock);
		if (m->over)
			break;
		pid = m->queue.v[--m->queue.n];
		m->busy = true;
		pthread_mutex_unlock(&m->lock);
		if (hotspot_is(pid) && hotspot_write_map(pid, TIMEOUT_MS, &err) == -ESRCH)
			err.msg[0] = '\0';	/* it has ended */
		pthread_mutex_lock(&m->lock);
		m->busy = false;
		note_failure(m, &err);
		pthread_cond_broadcast(&m->changed);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static void stop(struct profile_maps *m)
{
	if (!m->started)
		return;
	pthread_mutex_lock(&m->lock);
	m->over = true;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->thread, NULL);
	m->started = false;
}

struct profile_maps *profile_maps_free(struct profile_maps *m)
{
	if (!m)
		return NULL;
	stop(m);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	for (size_t i = 0; i < m->failures.n; i++)
		free(m->failures.v[i]);
	vec_done(&m->failures);
	vec_done(&m->queue);
	vec_done(&m->all);
	free(m);
	return NULL;
}

static void ask(struct profile_maps *m, pid_t pid)
{
	if (!m->started)
		m->started = !pthread_create(&m->thread, NULL, ask_all, m);
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->queue.n; i++) {
		if (m->queue.v[i] != pid)
			continue;
		pthread_mutex_unlock(&m->lock);
		return;
	}
	(void)vec_push(&m->queue, pid);	/* no memory: it is asked the next time */
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

static struct asked *find(struct profile_maps *m, pid_t pid)
{
	for (size_t i = 0; i < m->all.n; i++)
		if (m->all.v[i].pid == pid)
			return &m->all.v[i];
	return NULL;
}

void profile_maps_note(struct profile_maps *m, pid_t pid)
{
	struct asked *a = find(m, pid);

	if (a)
		a->news = true;
	else
		(void)vec_push(&m->all, ((struct asked){ .pid = pid, .news = true, .interval_ns = FIRST_NS }));
}

void profile_maps_gone(struct profile_maps *m, pid_t pid)
{
	struct asked *a = find(m, pid);

	if (a)
		*a = m->all.v[--m->all.n];
}

/* What would give names to its code, where they are missing. */
static void hint(struct profile_maps *m, pid_t pid)
{
	const struct runtime *runtime = runtime_of_process(m->runtimes, pid);
	const char *flag = runtime ? map_hint(m->runtimes, pid, runtime) : NULL;

	if (flag)
		names_hint(m->names, pid, flag);
	if (hotspot_is(pid) && hotspot_keeps_frame_pointers(pid) == 0)
		names_hint(m->names, pid, "java -XX:+PreserveFramePointer");
}

void profile_maps_flush(struct profile_maps *m, uint64_t time_ns)
{
	for (size_t i = 0; i < m->all.n; i++) {
		struct asked *a = &m->all.v[i];

		if (!a->news || a->due_ns > time_ns)
			continue;
		if (!a->hinted)
			hint(m, a->pid);
		a->hinted = true;
		a->news = false;
		a->due_ns = time_ns + a->interval_ns;
		a->interval_ns = a->interval_ns * 2 < LONGEST_NS ? a->interval_ns * 2 : LONGEST_NS;
		ask(m, a->pid);
	}
}

void profile_maps_finish(struct profile_maps *m)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FINISH_MS / 1000;
	for (size_t i = 0; i < m->all.n; i++)
		ask(m, m->all.v[i].pid);
	if (!m->started)
		return;
	pthread_mutex_lock(&m->lock);
	while (m->queue.n || m->busy)
		if (pthread_cond_timedwait(&m->changed, &m->lock, &until))
			break;
	pthread_mutex_unlock(&m->lock);
	stop(m);
}

size_t profile_maps_failures(const struct profile_maps *m, const char *const **ret)
{
	*ret = (const char *const *)m->failures.v;
	return m->failures.n;
}
