/* SPDX-License-Identifier: MIT */
/* Requests code maps from virtual machines, in a thread of its own. */
#include "watch/profile_maps.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "record/sink.h"
#include "sym/map_hint.h"
#include "proc/hotspot.h"
#include "wire/record.h"

#define FIRST_NS 100000000u /* from one map to the next; then twice as long each time */
#define LONGEST_NS 32000000000u
#define PILE 256 /* new stacks after which PILE_NS replaces the interval */
#define PILE_NS 1000000000u
#define BUSY_PARTS 10 /* a virtual machine spends at most one of these parts of its time on maps */
#define TIMEOUT_MS 1000u
#define FINISH_MS 3000u /* for all of them together */
#define FAILURES_MAX 5

struct map_process {
	pid_t pid;
	bool hinted, waits, answered; /* waits: for the answer to the last request */
	uint64_t news; /* stacks since the last request */
	uint64_t asked_ns, interval_ns;
	uint64_t rest_ns; /* the least time until the next request */
};

struct answer {
	pid_t pid;
	int r; /* 0, or a negative errno */
	uint64_t took_ns;
};

struct failure {
	pid_t pid;
	char *text;
};

struct profile_maps {
	struct names *names;
	const struct runtimes *runtimes;
	VEC(struct map_process) all;

	pthread_t thread;
	bool started;
	/* Between the two threads. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	VEC(pid_t) queue;
	VEC(struct answer) answers;
	bool busy, over;
	VEC(struct failure) failures;
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

/* The last failure of a process counts, and none after a later answer. */
static void forget_failure(struct profile_maps *m, pid_t pid)
{
	for (size_t i = 0; i < m->failures.n; i++) {
		if (m->failures.v[i].pid != pid)
			continue;
		free(m->failures.v[i].text);
		m->failures.v[i] = m->failures.v[--m->failures.n];
		return;
	}
}

static void note_failure(struct profile_maps *m, pid_t pid, const struct ut_err *err)
{
	struct failure f = { .pid = pid };

	if (m->failures.n >= FAILURES_MAX)
		return;
	f.text = strdup(err->msg);
	if (f.text && vec_push(&m->failures, f))
		free(f.text);
}

/* 0 also for a process that is no HotSpot. */
static int request_map(pid_t pid, struct ut_err *err)
{
	int r;

	if (!hotspot_is_loaded(pid))
		return 0;
	if (!hotspot_is_ready(pid))
		return -EAGAIN; /* it has just begun */
	r = hotspot_write_map(pid, TIMEOUT_MS, err);
	if (r == -ESRCH)
		err->msg[0] = '\0'; /* it has ended */
	return r;
}

static void note_answer(struct profile_maps *m, pid_t pid, int r, uint64_t took_ns, const struct ut_err *err)
{
	(void)vec_push(&m->answers, ((struct answer){ .pid = pid, .r = r, .took_ns = took_ns }));
	if (!r || err->msg[0])
		forget_failure(m, pid);
	if (r && err->msg[0])
		note_failure(m, pid, err);
}

/* The thread: one process after another. */
static void *request_maps(void *arg)
{
	struct profile_maps *m = arg;

	pthread_mutex_lock(&m->lock);
	for (;;) {
		struct ut_err err = { 0 };
		uint64_t from_ns;
		pid_t pid;
		int r;

		while (!m->queue.n && !m->over)
			pthread_cond_wait(&m->changed, &m->lock);
		if (m->over)
			break;
		pid = m->queue.v[--m->queue.n];
		m->busy = true;
		pthread_mutex_unlock(&m->lock);
		from_ns = monotonic_ns();
		r = request_map(pid, &err);
		pthread_mutex_lock(&m->lock);
		m->busy = false;
		note_answer(m, pid, r, monotonic_ns() - from_ns, &err);
		pthread_cond_broadcast(&m->changed);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

void profile_maps_stop(struct profile_maps *m)
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
	profile_maps_stop(m);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	for (size_t i = 0; i < m->failures.n; i++)
		free(m->failures.v[i].text);
	vec_done(&m->failures);
	vec_done(&m->answers);
	vec_done(&m->queue);
	vec_done(&m->all);
	free(m);
	return NULL;
}

static void queue_request(struct profile_maps *m, pid_t pid)
{
	if (!m->started)
		m->started = !pthread_create(&m->thread, NULL, request_maps, m);
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->queue.n; i++) {
		if (m->queue.v[i] != pid)
			continue;
		pthread_mutex_unlock(&m->lock);
		return;
	}
	(void)vec_push(&m->queue, pid); /* out of memory: the next time */
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

static struct map_process *find_map_process(struct profile_maps *m, pid_t pid)
{
	for (size_t i = 0; i < m->all.n; i++)
		if (m->all.v[i].pid == pid)
			return &m->all.v[i];
	return NULL;
}

void profile_maps_note(struct profile_maps *m, pid_t pid, uint64_t stacks)
{
	struct map_process *a = find_map_process(m, pid);

	if (a)
		a->news += stacks;
	else
		(void)vec_push(&m->all, ((struct map_process){ .pid = pid, .news = stacks, .interval_ns = FIRST_NS }));
}

void profile_maps_life(struct profile_maps *m, const struct session_lifecycle *life)
{
	pid_t pid = (pid_t)life->pid, over = pid;
	struct map_process *p;

	switch ((enum ut_life)life->what) {
	case UT_LIFE_FORK:
		names_fork(m->names, pid, (pid_t)life->child, life->time_ns);
		over = (pid_t)life->child; /* the pid may have been another process's */
		break;
	case UT_LIFE_EXEC: names_exec(m->names, pid, life->time_ns); break;
	case UT_LIFE_EXIT:
		if (!life->last)
			return;
		names_exit(m->names, pid, life->time_ns);
		break;
	}
	p = find_map_process(m, over);
	if (p)
		*p = m->all.v[--m->all.n];
}

/* The flags with which the runtime would write a map. */
static void add_map_hint(struct profile_maps *m, pid_t pid)
{
	const struct runtime *runtime = runtime_of_process(m->runtimes, pid);
	const char *flag = runtime ? map_hint(m->runtimes, pid, runtime) : NULL;

	if (flag)
		names_hint(m->names, pid, flag);
	if (hotspot_is_loaded(pid) && hotspot_keeps_frame_pointers(pid) == 0)
		names_hint(m->names, pid, "java -XX:+PreserveFramePointer");
}

/* Reads the answers. A process that did not answer gets another request even without new stacks. */
static void read_answers(struct profile_maps *m)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->answers.n; i++) {
		const struct answer *answer = &m->answers.v[i];
		struct map_process *a = find_map_process(m, answer->pid);

		if (!a)
			continue;
		a->waits = false;
		a->news += answer->r != 0;
		/* The first answer includes the start of the thread that answers, which takes time but no work. */
		a->rest_ns = a->answered ? answer->took_ns * BUSY_PARTS : 0;
		a->answered = !answer->r;
	}
	m->answers.n = 0;
	pthread_mutex_unlock(&m->lock);
}

static bool is_due(const struct map_process *a, uint64_t time_ns)
{
	uint64_t since = time_ns - a->asked_ns;

	if (!a->news || a->waits)
		return false;
	if (!a->asked_ns)
		return true;
	return since >= a->rest_ns && (since >= a->interval_ns || (a->news >= PILE && since >= PILE_NS));
}

void profile_maps_flush(struct profile_maps *m, uint64_t time_ns)
{
	names_poll(m->names, time_ns);
	read_answers(m);
	for (size_t i = 0; i < m->all.n; i++) {
		struct map_process *a = &m->all.v[i];

		if (!is_due(a, time_ns))
			continue;
		if (!a->hinted)
			add_map_hint(m, a->pid);
		a->hinted = true;
		a->waits = true;
		a->news = 0;
		if (a->asked_ns && a->interval_ns < LONGEST_NS)
			a->interval_ns *= 2;
		a->asked_ns = time_ns;
		queue_request(m, a->pid);
	}
}

void profile_maps_finish(struct profile_maps *m)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FINISH_MS / 1000;
	for (size_t i = 0; i < m->all.n; i++)
		queue_request(m, m->all.v[i].pid);
	if (!m->started)
		return;
	pthread_mutex_lock(&m->lock);
	while (m->queue.n || m->busy)
		if (pthread_cond_timedwait(&m->changed, &m->lock, &until))
			break;
	pthread_mutex_unlock(&m->lock);
	profile_maps_stop(m);
}

void profile_maps_notes(struct profile_maps *m, void (*note)(void *ctx, const char *text), void *ctx)
{
	const char *const *notes;
	size_t n = names_notes(m->names, &notes);

	for (size_t i = 0; i < n; i++)
		note(ctx, notes[i]);
	for (size_t i = 0; i < m->failures.n; i++) {
		bool known = false;

		for (size_t k = 0; k < i && !known; k++)
			known = !strcmp(m->failures.v[k].text, m->failures.v[i].text);
		if (!known)
			note(ctx, m->failures.v[i].text);
	}
}
