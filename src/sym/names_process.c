/* SPDX-License-Identifier: MIT */
/* Processes as names know them: which program had a number when, and what it had mapped. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/search.h"
#include "sym/names_priv.h"

static struct known_process *find_process(const struct names *n, pid_t pid)
{
	uint32_t found = index_find(&n->process_index, hash_number((uint64_t)pid), i, n->processes.v[i].pid == pid);

	return found != INDEX_NONE ? &n->processes.v[found] : NULL;
}

static struct known_process *find_or_add_process(struct names *n, pid_t pid)
{
	struct known_process *p = find_process(n, pid);

	if (p)
		return p;
	if (vec_reserve(&n->processes, n->processes.n + 1) ||
	    index_add(&n->process_index, hash_number((uint64_t)pid), (uint32_t)n->processes.n))
		return NULL;
	p = &n->processes.v[n->processes.n++];
	*p = (struct known_process){ .pid = pid };
	return p;
}

struct incarnation *names_latest(struct names *n, pid_t pid)
{
	const struct known_process *p = find_process(n, pid);

	return p && p->all.n ? p->all.v[p->all.n - 1] : NULL;
}

struct incarnation *names_incarnation(struct names *n, pid_t pid, uint64_t time_ns)
{
	const struct known_process *p = find_process(n, pid);
	size_t low = search_first_not(i, 0, p ? p->all.n : 0, p->all.v[i]->begin <= time_ns);

	return low && time_ns < p->all.v[low - 1]->end ? p->all.v[low - 1] : NULL;
}

static struct incarnation *add_incarnation(struct names *n, pid_t pid, uint64_t begin)
{
	struct known_process *p = find_or_add_process(n, pid);
	struct incarnation *in = p ? calloc(1, sizeof(*in)) : NULL;

	if (!in)
		return NULL;
	in->pid = pid;
	in->begin = in->read_ns = begin;
	in->end = UINT64_MAX;
	if (vec_push(&p->all, in)) {
		free(in);
		return NULL;
	}
	return in;
}

/* The one that lives. One that nobody told of has been there since the last one ended. */
static struct incarnation *current_incarnation(struct names *n, pid_t pid)
{
	struct incarnation *in = names_latest(n, pid);

	if (in && in->end == UINT64_MAX)
		return in;
	return add_incarnation(n, pid, in ? in->end : 0);
}

bool names_has_process(struct names *n, pid_t pid)
{
	const struct incarnation *in = names_latest(n, pid);

	return in && in->end == UINT64_MAX && in->was_read;
}

bool names_has_jit(struct names *n, pid_t pid)
{
	const struct incarnation *in = names_latest(n, pid);

	return in && in->end == UINT64_MAX && in->code;
}

static void incarnation_free(struct incarnation *in)
{
	code_maps_free(in->code);
	history_done(&in->history);
	free(in);
}

void names_processes_done(struct names *n)
{
	for (size_t i = 0; i < n->processes.n; i++) {
		for (size_t k = 0; k < n->processes.v[i].all.n; k++)
			incarnation_free(n->processes.v[i].all.v[k]);
		vec_done(&n->processes.v[i].all);
	}
	vec_done(&n->processes);
	index_done(&n->process_index);
	vec_done(&n->with_code);
}

/* It has code of its own, whose maps are to be watched from now on. */
static void watch_code(struct names *n, struct incarnation *in, uint64_t time_ns)
{
	if (in->code)
		return;
	in->code = code_maps_new(in->pid, time_ns);
	if (!in->code)
		return;
	if (vec_push(&n->with_code, in)) {
		in->code = code_maps_free(in->code);
		return;
	}
	if (n->watch_fd >= 0)
		code_maps_watch(in->code, n->watch_fd);
}

/* The file of @m: that of the place that is there when it is the same, which may be one that could not be opened. */
static struct sym_file *file_of(struct names *n, const struct incarnation *in, const struct mapping *m)
{
	const struct place *p = history_now(&in->history, m->start);
	struct ut_err err = {};
	struct sym_file *file;

	if (!m->file.ino)
		return NULL;
	if (p && p->file && p->file->id.dev == m->file.dev && p->file->id.ino == m->file.ino &&
	    strcmp(p->file->path, m->path) == 0)
		return p->file;
	file = sym_files_get(&n->files, in->pid, m, &err);
	if (file && file->state != SYM_FILE_OPEN && place_kind_of(m, file) == PLACE_FILE)
		names_note(n, err.msg);
	return file;
}

static int make_place(struct names *n, struct incarnation *in, const struct mapping *m, uint64_t from,
		      struct place *ret)
{
	struct sym_file *file = file_of(n, in, m);

	if (m->file.ino && !file)
		return -ENOMEM;
	*ret = (struct place){ .start = m->start,
			       .end = m->end,
			       .offset = m->offset,
			       .from = from,
			       .to = UINT64_MAX,
			       .file = file,
			       .kind = place_kind_of(m, file) };
	return 0;
}

static void watch_place(struct names *n, struct incarnation *in, const struct mapping *m, const struct place *p,
			uint64_t time_ns)
{
	if (p->kind != PLACE_MEMORY && p->kind != PLACE_DATA && p->kind != PLACE_DUMP)
		return;
	watch_code(n, in, time_ns);
	if (p->kind == PLACE_DUMP && in->code)
		code_maps_dump(in->code, m);
}

/* What is there now, but not among @places (by address), has gone. */
static void remove_unmapped(struct incarnation *in, const struct place *places, size_t n, uint64_t time_ns)
{
	struct history *h = &in->history;
	size_t at = 0;

	for (size_t i = 0; i < h->now.n;) {
		struct place p = h->now.v[i];
		size_t before = h->now.n;

		while (at < n && places[at].end <= p.start)
			at++;
		if (at < n && places[at].start == p.start && places[at].end == p.end && places[at].offset == p.offset &&
		    places[at].file == p.file && places[at].kind == p.kind) {
			i++;
			continue;
		}
		if (p.from >= time_ns || history_remove(h, p.start, p.end, time_ns) || h->now.n >= before)
			i++; /* came later than what was read */
	}
}

static int apply_mappings(struct names *n, struct incarnation *in, const struct mappings *maps, uint64_t time_ns)
{
	VEC(struct place) places = { 0 };
	int r = 0;

	for (size_t i = 0; i < maps->maps.n && !r; i++) {
		const struct mapping *m = &maps->maps.v[i];
		struct place p;

		if (!m->exec)
			continue;
		r = make_place(n, in, m, in->read_ns, &p);
		if (r)
			break;
		/* It may have come right after the last look; what it replaces it may have replaced just now. */
		if (history_contradicts(&in->history, &p))
			p.from = time_ns;
		watch_place(n, in, m, &p, time_ns);
		r = vec_push(&places, p);
	}
	if (!r)
		remove_unmapped(in, places.v, places.n, time_ns);
	for (size_t i = 0; i < places.n; i++)
		history_add(&in->history, &places.v[i]);
	vec_done(&places);
	return r;
}

void names_process(struct names *n, pid_t pid, uint64_t time_ns)
{
	AUTO(mappings_done) struct mappings maps = { 0 };
	struct incarnation *in;
	struct ut_err err = {};

	if (mappings_read(pid, &maps, &err)) {
		if (err.code == -EPERM)
			names_note(n, err.msg);
		return;
	}
	if (!maps.maps.n || process_has_ended(pid))
		return; /* it has no memory any more: what is known stays */
	in = current_incarnation(n, pid);
	if (!in || (in->was_read && in->read_ns > time_ns))
		return;
	if (!apply_mappings(n, in, &maps, time_ns)) {
		in->read_ns = time_ns;
		in->was_read = true;
	}
}

void names_mapped(struct names *n, pid_t pid, const struct mapping *m, uint64_t time_ns)
{
	struct incarnation *in = names_incarnation(n, pid, time_ns);
	struct place p;

	in = in ? in : current_incarnation(n, pid);
	if (!in)
		return;
	if (!m->exec) {
		history_remove(&in->history, m->start, m->end, time_ns);
		return;
	}
	if (make_place(n, in, m, time_ns, &p))
		return;
	watch_place(n, in, m, &p, time_ns);
	history_add(&in->history, &p);
}

static void end_incarnation(struct incarnation *in, uint64_t time_ns)
{
	if (in->end != UINT64_MAX)
		return;
	if (in->code)
		code_maps_poll(in->code, time_ns); /* its files may go with it */
	in->end = time_ns > in->begin ? time_ns : in->begin;
}

#define AGAIN_FIRST_NS 1000000u
#define AGAIN_LONGEST_NS 100000000u

bool names_reread(struct names *n, pid_t pid)
{
	struct incarnation *in = names_latest(n, pid);
	uint64_t now_ns = monotonic_ns();

	if (!in || in->end != UINT64_MAX || now_ns < in->read_ns + in->again_ns)
		return false;
	in->again_ns = in->again_ns ? in->again_ns * 2 : AGAIN_FIRST_NS;
	if (in->again_ns > AGAIN_LONGEST_NS)
		in->again_ns = AGAIN_LONGEST_NS;
	names_process(n, pid, now_ns);
	return true;
}

/* Frees what has ended, with `live`, unless the code of a child that lives lies there. */
static void free_ended(struct names *n, struct incarnation *in)
{
	while (n->options.live && in && in->end != UINT64_MAX && !in->children) {
		struct known_process *p = find_process(n, in->pid);
		struct incarnation *parent = in->parent;

		for (size_t i = 0; i < p->all.n; i++)
			if (p->all.v[i] == in) {
				memmove(&p->all.v[i], &p->all.v[i + 1], (p->all.n - i - 1) * sizeof(p->all.v[0]));
				p->all.n--;
			}
		for (size_t i = 0; i < n->with_code.n; i++)
			if (n->with_code.v[i] == in)
				n->with_code.v[i] = n->with_code.v[--n->with_code.n];
		incarnation_free(in);
		if (parent)
			parent->children--;
		in = parent;
	}
}

void names_fork(struct names *n, pid_t parent, pid_t child, uint64_t time_ns)
{
	struct incarnation *from = names_incarnation(n, parent, time_ns), *in = names_latest(n, child);

	if (in && in->end == UINT64_MAX) {
		if (in->was_read && in->read_ns > time_ns)
			return; /* the news are late: it is known from itself */
		end_incarnation(in, time_ns);
		free_ended(n, in);
	}
	if (!from && n->options.live)
		return; /* nobody asks for it, or it is known soon by itself */
	in = add_incarnation(n, child, time_ns);
	if (!in || !from)
		return;
	history_copy(&in->history, &from->history, time_ns);
	in->hint = from->hint;
	in->frame_hint = from->frame_hint;
	if (from->code || from->parent) {
		in->parent = from;
		from->children++;
		in->forked_ns = time_ns;
		watch_code(n, in, time_ns);
	}
}

void names_exec(struct names *n, pid_t pid, uint64_t time_ns)
{
	struct incarnation *old = names_latest(n, pid), *in;

	if (old && old->begin >= time_ns)
		return; /* known as a later one already */
	if (old)
		end_incarnation(old, time_ns);
	in = add_incarnation(n, pid, time_ns);
	if (!in || !old || !old->was_read || old->read_ns <= time_ns) {
		free_ended(n, old);
		return;
	}
	/* The news are late: what was read after the exec is the new program's. */
	history_copy(&in->history, &old->history, old->read_ns);
	for (size_t i = 0; i < in->history.now.n; i++)
		in->history.now.v[i].from = time_ns;
	in->read_ns = old->read_ns;
	in->was_read = true;
	if (old->code)
		watch_code(n, in, time_ns);
	free_ended(n, old);
}

void names_exit(struct names *n, pid_t pid, uint64_t time_ns)
{
	struct incarnation *in = names_latest(n, pid);

	if (!in)
		return;
	end_incarnation(in, time_ns);
	free_ended(n, in);
}

/* What is not announced, as in a directory that cannot be watched, is looked for so often. */
#define LOOK_NS 250000000u

/* A map or dump grew, or a file appeared that may be one. */
static bool is_news(const struct inotify_event *e)
{
	return !e->len || strncmp(e->name, "perf-", 5) == 0 || strncmp(e->name, "jit-", 4) == 0;
}

static bool read_news(int fd)
{
	char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool news = false;
	ssize_t got;

	while (fd >= 0 && (got = read(fd, bytes, sizeof(bytes))) > 0) {
		const struct inotify_event *e;

		for (char *at = bytes; at < bytes + got; at += sizeof(*e) + e->len) {
			e = (const struct inotify_event *)(void *)at;
			news |= is_news(e);
		}
	}
	return news;
}

void names_poll(struct names *n, uint64_t time_ns)
{
	if (read_news(n->watch_fd) || time_ns - n->looked_ns >= LOOK_NS)
		names_poll_all(n, time_ns);
}

void names_poll_all(struct names *n, uint64_t time_ns)
{
	n->looked_ns = time_ns;
	for (size_t i = 0; i < n->with_code.n; i++)
		if (n->with_code.v[i]->end == UINT64_MAX)
			code_maps_poll(n->with_code.v[i]->code, time_ns);
}
