/* SPDX-License-Identifier: MIT */
/* Pairs begins and ends: finds what an end closes, and what an end without a begin is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/pair_priv.h"

/* The key of a lookup, with its hashes; nothing is copied. */
struct wanted {
	const struct pair_event *e;
	size_t name_len;
	uint32_t tid;
	uint64_t inner, hash;
};

static struct wanted wanted_of(const struct pair_event *e)
{
	struct wanted w = { .e = e,
			    .name_len = e->name ? e->name_len : 0,
			    .tid = e->by == PAIR_BY_THREAD ? e->tid : 0 };

	w.inner = hash_pair(hash_bytes(e->name, w.name_len) ^ (e->what << 2 | e->by), e->id);
	w.hash = hash_pair(w.inner, (uint64_t)e->pid << 32 | w.tid);
	return w;
}

static bool key_matches(const struct pair_key *k, const struct wanted *w)
{
	return k->node.hash == w->hash && k->pid == w->e->pid && k->tid == w->tid && k->by == w->e->by &&
	       k->id == w->e->id && k->what == w->e->what && k->name_len == w->name_len &&
	       (!w->name_len || !memcmp(k->name, w->e->name, w->name_len));
}

static struct pair_key *key_find(const struct pairs *p, const struct wanted *w)
{
	return table_find(&p->keys, w->hash, struct pair_key, k, key_matches(k, w));
}

static struct pair_key *key_get(struct pairs *p, const struct wanted *w)
{
	struct pair_key *k = key_find(p, w);

	if (k)
		return k;
	k = malloc(sizeof(*k) + w->name_len);
	if (!k)
		return NULL;
	*k = (struct pair_key){ .inner = w->inner,
				.pid = w->e->pid,
				.tid = w->tid,
				.by = w->e->by,
				.id = w->e->id,
				.what = w->e->what,
				.name_len = w->name_len };
	if (w->name_len)
		memcpy(k->name, w->e->name, w->name_len);
	link_init(&k->pairs);
	if (!table_add(&p->keys, &k->node, w->hash))
		return k;
	free(k);
	return NULL;
}

static struct pair_proc *proc_find(const struct pairs *p, uint32_t pid)
{
	return table_find(&p->procs, hash_number(pid), struct pair_proc, proc, proc->pid == pid);
}

static struct pair_proc *proc_get(struct pairs *p, uint32_t pid)
{
	struct pair_proc *proc = proc_find(p, pid);

	if (proc)
		return proc;
	proc = calloc(1, sizeof(*proc));
	if (!proc)
		return NULL;
	proc->pid = pid;
	link_init(&proc->pairs);
	link_init(&proc->heir);
	if (!table_add(&p->procs, &proc->node, hash_number(pid)))
		return proc;
	free(proc);
	return NULL;
}

static uint64_t thread_hash(uint32_t pid, uint32_t tid) { return hash_number((uint64_t)pid << 32 | tid); }

static struct pair_thread *thread_find(const struct pairs *p, uint32_t pid, uint32_t tid)
{
	return table_find(&p->threads, thread_hash(pid, tid), struct pair_thread, t, t->pid == pid && t->tid == tid);
}

static struct pair_thread *thread_get(struct pairs *p, uint32_t pid, uint32_t tid)
{
	struct pair_thread *t = thread_find(p, pid, tid);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->pid = pid;
	t->tid = tid;
	link_init(&t->all);
	link_init(&t->plain);
	link_init(&t->straight);
	if (!table_add(&p->threads, &t->node, thread_hash(pid, tid)))
		return t;
	free(t);
	return NULL;
}

static void proc_drop(void *ctx, struct node *n)
{
	struct pair_proc *proc = (struct pair_proc *)n;

	heritage_free(ctx, proc);
	free(proc->data);
	free(proc);
}

static void plain_drop(void *ctx, struct node *n)
{
	(void)ctx;
	free(n);
}

struct pairs *pairs_new(const struct pairs_options *options)
{
	struct pairs *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->options = *options;
	table_init(&p->procs, options->limits.idle, proc_drop, p);
	table_init(&p->threads, options->limits.idle, plain_drop, p);
	table_init(&p->keys, options->limits.idle, plain_drop, p);
	link_init(&p->pairs);
	link_init(&p->heirs);
	p->busy = calloc(options->limits.per_process + 2, sizeof(struct pair_proc *));
	return p->busy ? p : pairs_free(p);
}

static void clear_tables(struct pairs *p)
{
	table_clear(&p->procs);
	table_clear(&p->threads);
	table_clear(&p->keys);
}

struct pairs *pairs_free(struct pairs *p)
{
	if (!p)
		return NULL;
	while (!link_is_alone(&p->pairs))
		pair_remove(p, link_of(p->pairs.next, struct pair, of_all));
	clear_tables(p);
	free(p->busy);
	free(p);
	return NULL;
}

/* Adds a new pair, whose process, thread and key exist, to all lists. */
static void link_pair(struct pairs *p, struct pair *pair)
{
	struct pair_thread *thread = pair->thread;

	table_use(&p->procs, &pair->proc->node);
	table_use(&p->threads, &thread->node);
	table_use(&p->keys, &pair->key->node);
	link_push(&p->pairs, &pair->of_all);
	link_push(&pair->key->pairs, &pair->of_key);
	link_push(&pair->proc->pairs, &pair->of_proc);
	link_push(&thread->all, &pair->of_thread);
	link_init(&pair->of_plain);
	link_init(&pair->of_straight);
	pair->depth = 1 + (unsigned)(pair->by_thread ? thread->n_plain : thread->node.users - 1);
	if (pair->by_thread) {
		link_push(&thread->plain, &pair->of_plain);
		link_push(&thread->straight, &pair->of_straight);
		thread->n_plain++;
	}
	pair_count(p, pair->proc, true);
}

struct pair *pairs_begin(struct pairs *p, const struct pair_event *e, size_t room)
{
	struct wanted w = wanted_of(e);
	struct pair *pair = malloc(sizeof(*pair) + room);

	if (!pair)
		return NULL;
	index_prefetch(&p->keys.index, w.hash);
	pair->proc = proc_get(p, e->pid);
	pair->thread = pair->proc ? thread_get(p, e->pid, e->tid) : NULL;
	pair->key = pair->thread ? key_get(p, &w) : NULL;
	if (!pair->key) {
		free(pair);
		return NULL;
	}
	pair->seq = p->seq++;
	pair->tid = e->tid;
	pair->by_thread = e->by == PAIR_BY_THREAD;
	pair->crossed = false;
	pair->begin_ns = pair->inner_until_ns = pair->key->begun_ns = e->time_ns;
	pair->inner_ns = 0;
	memset(pair->data, 0, room);
	link_pair(p, pair);
	return pair;
}

/* The pair is evicted from the process with the most open pairs, which is often that of the new one. */
int pairs_trim(struct pairs *p, struct pair *pair)
{
	const struct pair_limits *limits = &p->options.limits;
	struct pair_proc *proc = pair->proc;

	if (proc->open <= limits->per_process && p->open <= limits->all)
		return 0;
	proc = proc->open > limits->per_process ? proc : p->busy[p->most];
	return pairs_close(p, link_of(proc->pairs.next, struct pair, of_proc), pair->begin_ns, SPAN_EVICTED);
}

struct pair *pairs_newest(const struct pairs *p, const struct pair_event *e)
{
	struct wanted w = wanted_of(e);
	struct pair_key *key = key_find(p, &w);

	return key && !link_is_alone(&key->pairs) ? link_of(key->pairs.prev, struct pair, of_key) : NULL;
}

struct pair *pair_older(const struct pair *pair)
{
	struct link *l = pair->of_key.prev;

	return l == &pair->key->pairs ? NULL : link_of(l, struct pair, of_key);
}

int pairs_end(struct pairs *p, struct pair *pair, uint64_t time_ns, uint32_t tid)
{
	p->r = 0;
	pair_finish(p, pair, &(struct pair_ending){ .time_ns = time_ns, .how = SPAN_COMPLETE, .tid = tid });
	return p->r;
}

int pairs_close(struct pairs *p, struct pair *pair, uint64_t time_ns, enum span_end how)
{
	p->r = 0;
	pair_finish(p, pair, &(struct pair_ending){ .time_ns = time_ns, .how = how });
	return p->r;
}

bool pair_is_newer(const struct pair *a, const struct pair *b) { return a->seq > b->seq; }
void *pair_data(struct pair *pair) { return pair->data; }
void *pair_process(const struct pair *pair) { return pair->proc->data; }

struct pair_event pair_begun(const struct pair *pair)
{
	const struct pair_key *k = pair->key;

	return (struct pair_event){ .time_ns = pair->begin_ns,
				    .pid = k->pid,
				    .tid = pair->tid,
				    .by = k->by,
				    .id = k->id,
				    .what = k->what,
				    .name = k->name,
				    .name_len = k->name_len };
}

void *pairs_process(struct pairs *p, uint32_t pid, bool create)
{
	struct pair_proc *proc = create ? proc_get(p, pid) : proc_find(p, pid);

	if (proc && !proc->data && create)
		proc->data = calloc(1, p->options.process_room);
	return proc ? proc->data : NULL;
}

/* The latest time from which on a begin would have been seen, except for losses. */
struct since {
	bool known;
	uint64_t ns;
};

static void since_at_least(struct since *since, bool known, uint64_t ns)
{
	if (known && (!since->known || ns > since->ns))
		*since = (struct since){ true, ns };
}

static bool lost_since(const struct loss *loss, const struct since *since)
{
	return loss->any && (!since->known || loss->until_ns > since->ns);
}

bool pairs_lost_after(const struct pairs *p, const struct pair *pair, uint64_t ns, uint64_t *ret_until_ns)
{
	const struct loss *losses[] = { &p->loss, &pair->proc->loss };
	const struct since since = { true, ns };
	uint64_t until_ns = ns;

	for (size_t i = 0; i < 2; i++)
		if (lost_since(losses[i], &since) && losses[i]->until_ns > until_ns)
			until_ns = losses[i]->until_ns;
	if (ret_until_ns)
		*ret_until_ns = until_ns;
	return until_ns > ns;
}

enum span_end pairs_without(struct pairs *p, const struct pair_event *e, uint64_t *ret_since_ns)
{
	struct wanted w = wanted_of(e);
	const struct pair_key *key = key_find(p, &w);
	struct pair_proc *proc = proc_find(p, e->pid);
	const struct pair_thread *thread = e->by == PAIR_BY_THREAD ? thread_find(p, e->pid, e->tid) : NULL;
	const struct loss *losses[] = { &p->loss, proc ? &proc->loss : &p->loss };
	struct since begun = { 0 }, since = { 0 };

	since_at_least(&since, proc && proc->started, proc ? proc->started_ns : 0);
	*ret_since_ns = since.ns;
	/* Only the first thread of a process is a copy of one of its parent. */
	if (proc && (e->by != PAIR_BY_THREAD || e->tid == e->pid) && heritage_consume(proc, w.inner))
		return SPAN_INHERITED;
	since_at_least(&begun, key, key ? key->begun_ns : 0);
	since_at_least(&begun, thread && thread->started, thread ? thread->started_ns : 0);
	if (begun.known && since.known && begun.ns < since.ns)
		begun.known = false; /* by an earlier program */
	since_at_least(&since, begun.known, begun.ns);
	for (size_t i = 0; i < 2; i++) {
		if (!lost_since(losses[i], &since))
			continue;
		if (losses[i]->since_ns > *ret_since_ns)
			*ret_since_ns = losses[i]->since_ns;
		return SPAN_LOST;
	}
	return (p->options.sees_starts ? since.known : begun.known) ? SPAN_ORPHAN : SPAN_BEFORE_ATTACH;
}

/* At the start of a program, or after its end: earlier events are not its own. NULL: out of memory. */
static struct pair_proc *proc_restart(struct pairs *p, uint32_t pid, const struct pair_ending *ending)
{
	struct pair_proc *proc = proc_get(p, pid);

	p->r = 0;
	if (!proc)
		return NULL;
	pair_finish_process(p, proc, ending);
	heritage_free(p, proc);
	free(proc->data);
	proc->data = NULL;
	proc->loss = (struct loss){ 0 };
	proc->started = true;
	proc->started_ns = ending->time_ns;
	return proc;
}

int pairs_fork(struct pairs *p, uint64_t time_ns, uint32_t pid, uint32_t child)
{
	/* The exit of an earlier process with that pid was not seen. */
	const struct pair_ending unseen = { .time_ns = time_ns, .how = SPAN_PROCESS_EXITED };
	const struct pair_proc *parent;
	struct pair_proc *proc;

	if (pid == child)
		return 0;
	proc = proc_restart(p, child, &unseen);
	parent = proc_find(p, pid);
	if (proc && parent)
		heritage_create(p, parent, proc);
	return p->r;
}

int pairs_exec(struct pairs *p, uint64_t time_ns, uint32_t pid)
{
	proc_restart(p, pid, &(struct pair_ending){ .time_ns = time_ns, .how = SPAN_EXEC });
	return p->r;
}

int pairs_process_exit(struct pairs *p, uint64_t time_ns, uint32_t pid, bool code_known, int code)
{
	const struct pair_ending ending = {
		.time_ns = time_ns, .how = SPAN_PROCESS_EXITED, .exit_known = code_known, .exit_code = code
	};

	proc_restart(p, pid, &ending);
	return p->r;
}

int pairs_thread_exit(struct pairs *p, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	struct pair_thread *thread = thread_get(p, pid, tid);

	p->r = 0;
	if (!thread)
		return 0;
	pair_finish_thread(p, thread, &(struct pair_ending){ .time_ns = time_ns, .how = SPAN_THREAD_EXITED });
	thread->started = true; /* the next thread with that tid will have been */
	thread->started_ns = time_ns;
	return p->r;
}

void pairs_lost(struct pairs *p, uint32_t pid, uint64_t since_ns, uint64_t until_ns)
{
	struct pair_proc *proc = pid ? proc_get(p, pid) : NULL;
	struct loss *loss = proc ? &proc->loss : &p->loss; /* out of memory: the loss counts for all processes */

	until_ns = since_ns > until_ns ? since_ns : until_ns;
	if (!loss->any || until_ns > loss->until_ns)
		*loss = (struct loss){ true, since_ns, until_ns };
}

int pairs_stop(struct pairs *p, uint64_t time_ns)
{
	const struct pair_ending ending = { .time_ns = time_ns, .how = SPAN_OPEN };

	p->r = 0;
	while (!link_is_alone(&p->pairs))
		pair_finish(p, link_of(p->pairs.prev, struct pair, of_all), &ending);
	clear_tables(p);
	p->loss = (struct loss){ 0 };
	return p->r;
}
