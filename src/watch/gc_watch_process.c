/* SPDX-License-Identifier: MIT */
/* The processes of a watch: their runtimes with versions, their start and their end. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "watch/gc_watch_priv.h"

#define YOUNG_MAX 4096
#define YOUNG_FIRST_NS 100000000u /* exec and most short-lived commands are over by then */
#define YOUNG_TRIES 3 /* each a few times later than the one before: runtimes may be loaded late */

struct watched *watch_find(const struct gc_watch *w, uint32_t pid)
{
	uint32_t found = index_find(&w->index, hash_number(pid), i, w->all.v[i]->p.pid == pid);

	return found != INDEX_NONE ? w->all.v[found] : NULL;
}

void watched_free(struct watched *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->hints.n; i++)
		free(p->hints.v[i]);
	vec_done(&p->hints);
	vec_done(&p->runtimes);
	free(p->holds);
	free(p->seen);
	free(p);
}

/* The version in a file, which is searched once for all processes that map it. */
static void file_version(struct gc_watch *w, const struct runtime *r, uint32_t pid, const struct mapping *m,
			 char ret[32])
{
	struct known_version v = { .id = m->file, .runtime = r };
	AUTO_CLOSE int fd = -1;

	for (size_t i = 0; i < w->versions.n; i++) {
		const struct known_version *k = &w->versions.v[i];

		if (k->runtime == r && file_id_equal(&k->id, &m->file)) {
			memcpy(ret, k->version, sizeof(k->version));
			return;
		}
	}
	fd = mapping_open((pid_t)pid, m, NULL);
	if (fd < 0 || !runtime_version(r, m->path, fd, v.version))
		v.version[0] = '\0';
	memcpy(ret, v.version, sizeof(v.version));
	(void)vec_push(&w->versions, v); /* out of memory: it is searched again */
}

static int add_process_runtime(struct gc_watch *w, struct watched *p, const struct runtime *r, const struct mapping *m)
{
	struct watch_runtime found = { .runtime = r };

	file_version(w, r, p->p.pid, m, found.version);
	for (size_t i = 0; i < p->runtimes.n; i++) {
		struct watch_runtime *known = &p->runtimes.v[i];

		if (known->runtime != r)
			continue;
		if (!known->version[0])
			*known = found;
		return 0;
	}
	return vec_push(&p->runtimes, found);
}

static const struct watch_runtime *runtime_in(const struct watched *p, const struct runtime *r)
{
	for (size_t i = 0; i < p->runtimes.n; i++)
		if (p->runtimes.v[i].runtime == r)
			return &p->runtimes.v[i];
	return NULL;
}

static void set_runtime(struct watched *p, const struct watch_runtime *r)
{
	p->p.runtime = r->runtime;
	memcpy(p->p.version, r->version, sizeof(r->version));
}

int watch_identify(struct gc_watch *w, struct watched *p)
{
	AUTO(mapped_files_done) struct mapped_files files = { 0 };
	int r = 0;

	p->identified_ns = w->last_ns;
	p->vanished = mapped_files_read((pid_t)p->p.pid, &files, NULL) || !files.files.n;
	if (p->vanished)
		return 0;
	process_comm((pid_t)p->p.pid, p->p.comm);
	for (size_t i = 0; !r && i < files.files.n; i++) {
		const struct mapping *m = &files.files.v[i].first;
		const struct runtime *rt = runtime_of_mapping(w->runtimes, (int)p->p.pid, m);

		r = rt ? add_process_runtime(w, p, rt, m) : 0;
	}
	if (!r && p->runtimes.n) {
		const struct runtime *main = p->runtimes.n > 1 ? runtime_of_process(w->runtimes, (int)p->p.pid) : NULL;
		const struct watch_runtime *chosen = main ? runtime_in(p, main) : NULL;

		set_runtime(p, chosen ? chosen : &p->runtimes.v[0]);
	}
	return r;
}

/* The process is named after its own runtime, or else after the first one in it with wanted spans. */
static void choose_runtime(const struct gc_watch *w, struct watched *p)
{
	const struct runtime *first = NULL;

	for (size_t i = 0; i < w->defs.defs.n; i++) {
		const struct runtime *r = w->defs.origins.v[i].runtime;

		if (!p->holds[i] || !r)
			continue;
		if (r == p->p.runtime)
			return;
		first = first ? first : r;
	}
	if (first)
		set_runtime(p, runtime_in(p, first));
}

int watch_select_defs(struct gc_watch *w, struct watched *p)
{
	if (!w->session)
		return 0; /* there are no definitions yet */
	if (!p->holds)
		p->holds = calloc(w->defs.defs.n + 1, sizeof(*p->holds));
	if (!p->seen)
		p->seen = calloc(w->defs.defs.n + 1, sizeof(*p->seen));
	if (!p->holds || !p->seen)
		return -ENOMEM;
	p->wanted = w->signals_alone;
	for (size_t i = 0; i < w->defs.defs.n; i++) {
		const struct gc_origin *o = &w->defs.origins.v[i];
		const struct watch_runtime *r = o->runtime ? runtime_in(p, o->runtime) : NULL;

		p->holds[i] = r && runtime_span_holds(o->span, r->version);
		p->wanted |= p->holds[i];
	}
	for (size_t i = 0; i < w->defs.defs.n; i++)
		p->holds[i] |= p->wanted && !w->defs.origins.v[i].runtime;
	choose_runtime(w, p);
	return 0;
}

int watch_assume_runtime(struct gc_watch *w, struct watched *p, const struct runtime *r, const struct plan_file *file)
{
	struct watch_runtime found = { .runtime = r };

	if (runtime_in(p, r))
		return 0;
	if (!runtime_version(r, file->path, file->fd, found.version))
		found.version[0] = '\0';
	if (vec_push(&p->runtimes, found))
		return -ENOMEM;
	set_runtime(p, &p->runtimes.v[0]);
	return watch_select_defs(w, p);
}

struct watched *watch_process(struct gc_watch *w, uint32_t pid, uint64_t since_ns)
{
	struct watched *p = watch_find(w, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p || vec_reserve(&w->all, w->all.n + 1) || index_add(&w->index, hash_number(pid), (uint32_t)w->all.n)) {
		free(p);
		return NULL;
	}
	w->all.v[w->all.n++] = p;
	p->p.pid = pid;
	p->p.seen_ns = since_ns;
	for (size_t i = 0; i < w->young.n; i++)
		if (w->young.v[i].pid == pid)
			p->p.seen_ns = w->young.v[i].since_ns;
	return watch_identify(w, p) || watch_select_defs(w, p) ? NULL : p;
}

void watch_end(struct gc_watch *w, struct watched *p) { watch_add_needs(w, p); }

int watch_report(struct gc_watch *w, struct watched *p)
{
	if (p->reported || !p->wanted)
		return 0;
	p->reported = true;
	watch_add_hints(w, p);
	return w->sink.process ? w->sink.process(w->sink.ctx, &p->p) : 0;
}

static void remove_watched(struct gc_watch *w, struct watched *p)
{
	struct watched *last = w->all.v[w->all.n - 1];
	uint32_t at = index_find(&w->index, hash_number(p->p.pid), i, w->all.v[i] == p);

	index_remove(&w->index, hash_number(p->p.pid), at);
	w->all.n--;
	if (last != p) {
		index_renumber(&w->index, hash_number(last->p.pid), (uint32_t)w->all.n, at);
		w->all.v[at] = last;
	}
	watched_free(p);
}

int watch_remove(struct gc_watch *w, uint32_t pid, uint64_t time_ns)
{
	struct watched *p = watch_find(w, pid);
	int r = 0;

	if (!p)
		return 0;
	if (p->reported)
		watch_end(w, p);
	if (p->reported && w->sink.gone)
		r = w->sink.gone(w->sink.ctx, &p->p, time_ns);
	remove_watched(w, p);
	return r < 0 ? r : 0;
}

void watch_schedule(struct gc_watch *w, uint32_t pid, uint64_t since_ns)
{
	struct young y = { .pid = pid, .since_ns = since_ns, .due_ns = since_ns + YOUNG_FIRST_NS };

	for (size_t i = 0; i < w->young.n; i++) {
		if (w->young.v[i].pid != pid)
			continue;
		w->young.v[i] = y;
		return;
	}
	if (w->young.n < YOUNG_MAX)
		(void)vec_push(&w->young, y); /* out of memory: it is found at its first event */
}

void watch_schedule_now(struct gc_watch *w, uint32_t pid, uint64_t now_ns)
{
	size_t i = 0;

	while (i < w->young.n && w->young.v[i].pid != pid)
		i++;
	if (i == w->young.n)
		watch_schedule(w, pid, now_ns);
	if (i < w->young.n)
		w->young.v[i].due_ns = now_ns;
}

/* True: it need not be examined again. */
static bool examine_young(struct gc_watch *w, struct young *y, int *ret)
{
	struct watched *p;

	if (process_has_ended(
		    (pid_t)y->pid)) /* its exit may have been reported already, and nothing would remove it again */
		return true;
	p = watch_process(w, y->pid, y->since_ns);
	if (!p || (y->tries && !p->wanted && (watch_identify(w, p) || watch_select_defs(w, p)))) {
		*ret = -ENOMEM;
		return true;
	}
	if (p->reported) /* its libraries are loaded now, and may contain missing probes */
		watch_add_hints(w, p);
	*ret = watch_report(w, p);
	y->due_ns += YOUNG_FIRST_NS << (2 * ++y->tries);
	return p->reported || y->tries == YOUNG_TRIES;
}

int watch_examine_young(struct gc_watch *w, uint64_t now_ns)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < w->young.n;) {
		if (w->young.v[i].due_ns <= now_ns && examine_young(w, &w->young.v[i], &r))
			w->young.v[i] = w->young.v[--w->young.n];
		else
			i++;
	}
	return r < 0 ? r : 0;
}

int watch_descendants(struct gc_watch *w, struct ut_err *err)
{
	size_t n;
	const struct process_id *ids = session_descendants(w->session, &n);
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct watched *p = watch_process(w, (uint32_t)ids[i].pid, w->start_ns);

		r = p ? watch_report(w, p) : ut_err_nomem(err);
	}
	return r < 0 ? r : 0;
}

int watch_existing(struct gc_watch *w, struct ut_err *err)
{
	AUTO_FREE struct process_id *ids = NULL;
	size_t n = 0;
	int r = process_list(&ids, &n, err);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct watched *p;

		if (ids[i].pid == getpid())
			continue;
		p = watch_process(w, (uint32_t)ids[i].pid, w->start_ns);
		r = p ? watch_report(w, p) : ut_err_nomem(err);
	}
	return r < 0 ? r : 0;
}
