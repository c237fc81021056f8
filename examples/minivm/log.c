// SPDX-License-Identifier: MIT
/* The log: entries in blocks that never move, so that they can be written from a signal handler. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define BLOCK_ENTRIES 256
#define NESTING_MAX 8

struct block {
	_Atomic(struct block *) next;
	_Atomic unsigned count;
	struct log_entry entries[BLOCK_ENTRIES];
};

struct log_thread {
	struct log_thread *next;
	bool kept;
	struct block *first, *last;
	/* Entries in progress that will be discarded. */
	struct log_entry discarded[NESTING_MAX];
	unsigned open;
};

static struct log *_Atomic current;
static const int fatal_signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTERM, SIGINT, SIGHUP };

static int write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* One write per line: slow, but of the C library it needs only snprintf of numbers and strings. */
static int write_entry(int fd, const struct log_entry *e)
{
	char line[512];
	int len = snprintf(line, sizeof(line), "%s %u %u %llu %llu %llu %llu %llu %llu %.200s\n", e->kind, e->thread,
			   e->tid, (unsigned long long)e->begin_ns, (unsigned long long)e->begun_ns,
			   (unsigned long long)e->end_ns, (unsigned long long)e->ended_ns,
			   (unsigned long long)e->before, (unsigned long long)e->after, e->text ? e->text : "-");

	return write_all(fd, line, (size_t)len);
}

static int write_log(const struct log *l)
{
	static const char head[] = "# kind thread tid begin begun end ended before after text\n";
	int err = write_all(l->fd, head, sizeof(head) - 1);

	for (const struct log_thread *t = l->first; t; t = t->next) {
		for (struct block *b = t->first; b; b = b->next) {
			for (unsigned i = 0; i < b->count && !err; i++) {
				if (b->entries[i].kind)
					err = write_entry(l->fd, &b->entries[i]);
			}
		}
	}
	return err;
}

void log_write_now(void)
{
	struct log *l = atomic_exchange(&current, NULL);

	if (l)
		write_log(l);
}

static void on_fatal_signal(int number)
{
	log_write_now();
	/* SA_RESETHAND: the second signal terminates the process. */
	raise(number);
}

int log_open(struct log *l, const char *path)
{
	struct sigaction act = { .sa_handler = on_fatal_signal, .sa_flags = (int)SA_RESETHAND };

	*l = (struct log){ .fd = -1 };
	pthread_mutex_init(&l->lock, NULL);
	if (!path)
		return 0;
	l->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (l->fd < 0)
		return -errno;
	current = l;
	for (size_t i = 0; i < sizeof(fatal_signals) / sizeof(*fatal_signals); i++)
		sigaction(fatal_signals[i], &act, NULL);
	return 0;
}

static void thread_free(struct log_thread *t)
{
	struct block *next;

	for (struct block *b = t->first; b; b = next) {
		next = b->next;
		free(b);
	}
	free(t);
}

int log_close(struct log *l)
{
	int err = 0;

	if (l->fd >= 0 && atomic_exchange(&current, NULL))
		err = write_log(l);
	if (l->fd >= 0 && close(l->fd) && !err)
		err = -errno;
	while (l->first) {
		struct log_thread *t = l->first;

		l->first = t->next;
		thread_free(t);
	}
	pthread_mutex_destroy(&l->lock);
	return err;
}

struct log_thread *log_thread(struct log *l)
{
	struct log_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->kept = l->fd >= 0;
	pthread_mutex_lock(&l->lock);
	t->next = l->first;
	l->first = t;
	pthread_mutex_unlock(&l->lock);
	return t;
}

static bool add_block(struct log_thread *t)
{
	struct block *b = calloc(1, sizeof(*b));

	if (!b)
		return false;
	if (t->last)
		t->last->next = b;
	else
		t->first = b;
	t->last = b;
	return true;
}

struct log_entry *log_entry(struct log_thread *t)
{
	struct log_entry *e;

	if (t->kept && ((t->last && t->last->count < BLOCK_ENTRIES) || add_block(t)))
		return &t->last->entries[t->last->count++];
	e = &t->discarded[t->open++ % NESTING_MAX];
	memset(e, 0, sizeof(*e));
	return e;
}

bool log_is_kept(const struct log_thread *t) { return t->kept; }

void log_done(struct log_thread *t, const struct log_entry *e)
{
	if (e >= t->discarded && e < t->discarded + NESTING_MAX)
		t->open--;
}
