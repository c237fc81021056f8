/* SPDX-License-Identifier: MIT */
/* Asks virtual machines for the maps of their code, in a thread of its own. */
#include "watch/profile_maps.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "sym/map_hint.h"
#include "proc/hotspot.h"

#define FIRST_NS 100000000u /* from one map to the next; then twice as long each time */
#define LONGEST_NS 32000000000u
#define PILE 256 /* new stacks that do not wait for so long */
#define PILE_NS 1000000000u
#define BUSY_PARTS 10 /* a machine spends no more of its time on maps than one of these */
#define TIMEOUT_MS 1000u
#define FINISH_MS 3000u /* for all of them together */
#define FAILURES_MAX 5

struct asked {
	pid_t pid;
	bool hinted, waits, answered; /* waits: for the answer to the last question */
	uint64_t news; /* stacks since the last question */
	uint64_t asked_ns, interval_ns;
	uint64_t rest_ns; /* at least so long until the next question */
};

struct answer {
	pid_t pid;
	int code;
	uint64_t took_ns;
};

struct failure {
	pid_t pid;
	char *text;
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
	VEC(struct answer) answers;
	bool busy, over;
	VEC(struct failure) failures;

	VEC(const char *) told; /* of profile_maps_failures */
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

/* The last one of a process counts, and none when it has answered after all. */
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

/* 0 also when it is none that can be asked. */
static int ask_one(pid_t pid, struct ut_err *err)
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
	(void)vec_push(&m->answers, ((struct answer){ .pid = pid, .code = r, .took_ns = took_ns }));
	if (!r || err->msg[0])
		forget_failure(m, pid);
	if (r && err->msg[0])
		note_failure(m, pid, err);
}

/* The other thread: one process after the other. */
static void *ask_all(void *arg)
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
		r = ask_one(pid, &err);
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
	vec_done(&m->told);
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
	(void)vec_push(&m->queue, pid); /* no memory: it is asked the next time */
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

void profile_maps_note(struct profile_maps *m, pid_t pid, uint64_t stacks)
{
	struct asked *a = find(m, pid);

	if (a)
		a->news += stacks;
	else
		(void)vec_push(&m->all, ((struct asked){ .pid = pid, .news = stacks, .interval_ns = FIRST_NS }));
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
	if (hotspot_is_loaded(pid) && hotspot_keeps_frame_pointers(pid) == 0)
		names_hint(m->names, pid, "java -XX:+PreserveFramePointer");
}

/* What the other thread has learned. One that did not answer is asked again, whether or not more stacks come. */
static void hear(struct profile_maps *m)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->answers.n; i++) {
		const struct answer *answer = &m->answers.v[i];
		struct asked *a = find(m, answer->pid);

		if (!a)
			continue;
		a->waits = false;
		a->news += answer->code != 0;
		/* At first it has to start the thread that answers, which takes time but no work. */
		a->rest_ns = a->answered ? answer->took_ns * BUSY_PARTS : 0;
		a->answered = !answer->code;
	}
	m->answers.n = 0;
	pthread_mutex_unlock(&m->lock);
}

static bool is_due(const struct asked *a, uint64_t time_ns)
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
	hear(m);
	for (size_t i = 0; i < m->all.n; i++) {
		struct asked *a = &m->all.v[i];

		if (!is_due(a, time_ns))
			continue;
		if (!a->hinted)
			hint(m, a->pid);
		a->hinted = true;
		a->waits = true;
		a->news = 0;
		if (a->asked_ns && a->interval_ns < LONGEST_NS)
			a->interval_ns *= 2;
		a->asked_ns = time_ns;
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
	profile_maps_stop(m);
}

size_t profile_maps_failures(struct profile_maps *m, const char *const **ret)
{
	m->told.n = 0;
	for (size_t i = 0; i < m->failures.n; i++) {
		bool known = false;

		for (size_t k = 0; k < m->told.n && !known; k++)
			known = !strcmp(m->told.v[k], m->failures.v[i].text);
		if (!known)
			(void)vec_push(&m->told, m->failures.v[i].text);
	}
	*ret = m->told.v;
	return m->told.n;
}
