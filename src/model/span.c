/* SPDX-License-Identifier: MIT */
/* Pairs begins and ends: finds what an end closes, and what an end without a begin is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "model/span_priv.h"

static const struct span_limits usual = {
	.per_process = SPANS_PER_PROCESS,
	.all = SPANS_MAX,
	.idle = 16384,
	.heritage = 1024,
	.all_heritage = SPANS_MAX,
};

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t hash_bytes(const struct spans *s, const char *bytes, size_t len)
{
	uint64_t h = s->seed[0] ^ len, word;

	for (; len >= sizeof(word); bytes += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		h = fold(h ^ word, s->seed[1]);
	}
	word = 0;
	if (len)
		memcpy(&word, bytes, len);
	return fold(h ^ word, s->seed[1]);
}

static uint64_t hash_pair(const struct spans *s, uint32_t a, uint32_t b)
{
	return fold(s->seed[0] ^ ((uint64_t)a << 32 | b), s->seed[1]);
}

/* What is looked for, with its hashes; nothing is copied. */
struct wanted {
	const char *name;
	size_t len;
	uint64_t inner, hash;
	uint32_t pid, tid;
	bool has_id;
	uint64_t id;
};

static struct wanted wanted_of(const struct spans *s, const struct span_event *e)
{
	struct wanted w = { .name = e->name, .pid = e->pid, .tid = e->has_id ? 0 : e->tid, .has_id = e->has_id };

	w.len = !e->name ? 0 : e->name_len < SPAN_NAME_MAX ? e->name_len : SPAN_NAME_MAX;
	w.id = e->has_id ? e->id : 0;
	w.inner = fold(hash_bytes(s, w.name, w.len) ^ w.id, s->seed[1] + e->has_id * 2u);
	w.hash = fold(w.inner ^ ((uint64_t)w.pid << 32 | w.tid), s->seed[1]);
	return w;
}

static struct span_key *key_find(const struct spans *s, const struct wanted *w)
{
	for (struct node *n = table_bucket(&s->keys, w->hash); n; n = n->next) {
		struct span_key *k = (struct span_key *)n;

		if (n->hash == w->hash && k->pid == w->pid && k->tid == w->tid && k->has_id == w->has_id &&
		    k->id == w->id && k->name_len == w->len && (!w->len || !memcmp(k->name, w->name, w->len)))
			return k;
	}
	return NULL;
}

static struct span_key *key_get(struct spans *s, const struct wanted *w)
{
	struct span_key *k = key_find(s, w);

	if (k)
		return k;
	k = malloc(sizeof(*k) + w->len);
	if (!k)
		return NULL;
	*k = (struct span_key){ .inner = w->inner, .pid = w->pid, .tid = w->tid, .has_id = w->has_id, .id = w->id };
	k->name_len = w->len;
	if (w->len)
		memcpy(k->name, w->name, w->len);
	link_init(&k->items);
	table_add(&s->keys, &k->node, w->hash);
	return k;
}

static struct span_proc *proc_find(const struct spans *s, uint32_t pid)
{
	uint64_t hash = hash_pair(s, pid, 0);

	for (struct node *n = table_bucket(&s->procs, hash); n; n = n->next)
		if (((struct span_proc *)n)->pid == pid)
			return (struct span_proc *)n;
	return NULL;
}

static struct span_proc *proc_get(struct spans *s, uint32_t pid)
{
	struct span_proc *p = proc_find(s, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	link_init(&p->items);
	link_init(&p->heir);
	table_add(&s->procs, &p->node, hash_pair(s, pid, 0));
	return p;
}

static struct span_thread *thread_find(const struct spans *s, uint32_t pid, uint32_t tid)
{
	uint64_t hash = hash_pair(s, pid, tid);

	for (struct node *n = table_bucket(&s->threads, hash); n; n = n->next) {
		struct span_thread *t = (struct span_thread *)n;

		if (t->pid == pid && t->tid == tid)
			return t;
	}
	return NULL;
}

static struct span_thread *thread_get(struct spans *s, uint32_t pid, uint32_t tid)
{
	struct span_thread *t = thread_find(s, pid, tid);

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
	table_add(&s->threads, &t->node, hash_pair(s, pid, tid));
	return t;
}

static void proc_drop(void *ctx, struct node *n)
{
	heritage_free(ctx, (struct span_proc *)n);
	free(n);
}

static void plain_drop(void *ctx, struct node *n)
{
	(void)ctx;
	free(n);
}

/* Unknown to who chooses the names, so that nobody can choose many of one hash. */
static void seed(struct spans *s)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	if (random)
		memcpy(s->seed, random, sizeof(s->seed));
	s->seed[0] ^= 0x9e3779b97f4a7c15;
	s->seed[1] |= 0x1000000000000001;
}

struct spans *spans_new_limited(void (*closed)(void *ctx, const struct span *span), void *ctx,
				const struct span_limits *limits)
{
	struct spans *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->closed = closed;
	s->ctx = ctx;
	s->limits = *limits;
	seed(s);
	table_init(&s->procs, limits->idle, proc_drop, s);
	table_init(&s->threads, limits->idle, plain_drop, s);
	table_init(&s->keys, limits->idle, plain_drop, s);
	link_init(&s->items);
	link_init(&s->heirs);
	s->busy = calloc(limits->per_process + 2, sizeof(struct span_proc *));
	return s->busy ? s : spans_free(s);
}

struct spans *spans_new(void (*closed)(void *ctx, const struct span *span), void *ctx)
{
	return spans_new_limited(closed, ctx, &usual);
}

struct spans *spans_free(struct spans *s)
{
	if (!s)
		return NULL;
	while (!link_is_alone(&s->items))
		span_remove(s, link_of(s->items.next, struct span_item, of_all));
	table_clear(&s->procs);
	table_clear(&s->threads);
	table_clear(&s->keys);
	free(s->busy);
	free(s);
	return NULL;
}

/* What it is indexed by is there; the new item uses it. */
static void item_enter(struct spans *s, struct span_item *item)
{
	struct span_thread *thread = item->thread;

	table_use(&s->procs, &item->proc->node);
	table_use(&s->threads, &thread->node);
	table_use(&s->keys, &item->key->node);
	link_push(&s->items, &item->of_all);
	link_push(&item->key->items, &item->of_key);
	link_push(&item->proc->items, &item->of_proc);
	link_push(&thread->all, &item->of_thread);
	link_init(&item->of_plain);
	link_init(&item->of_straight);
	item->depth = 1 + (unsigned)(item->key->has_id ? thread->node.users - 1 : thread->n_plain);
	if (!item->key->has_id) {
		link_push(&thread->plain, &item->of_plain);
		link_push(&thread->straight, &item->of_straight);
		thread->n_plain++;
	}
	span_count_open(s, item->proc, true);
}

/* NULL without memory; then nothing has changed. */
static struct span_item *item_new(struct spans *s, const struct span_event *e)
{
	struct wanted w = wanted_of(s, e);
	struct span_item *item = malloc(sizeof(*item));

	if (!item)
		return NULL;
	*item = (struct span_item){
		.seq = s->seq++, .tid = e->tid, .value = e->value, .begin_ns = e->time_ns, .inner_until_ns = e->time_ns
	};
	item->proc = proc_get(s, e->pid);
	item->thread = item->proc ? thread_get(s, e->pid, e->tid) : NULL;
	item->key = item->thread ? key_get(s, &w) : NULL;
	if (!item->key) {
		free(item);
		return NULL;
	}
	item->key->begun_ns = e->time_ns;
	item_enter(s, item);
	return item;
}

/* The limits hold with the new span: what is forgotten is of the process that has most, which is often its own. */
static void trim(struct spans *s, struct span_proc *proc, uint64_t time_ns)
{
	const struct span_ending ending = { .time_ns = time_ns, .how = SPAN_EVICTED };

	if (proc->open <= s->limits.per_process && s->open <= s->limits.all)
		return;
	proc = proc->open > s->limits.per_process ? proc : s->busy[s->most];
	span_close(s, link_of(proc->items.next, struct span_item, of_proc), &ending);
}

int spans_begin(struct spans *s, const struct span_event *e)
{
	struct span_item *item = item_new(s, e);

	s->counts.begins++;
	if (!item) {
		s->counts.of[SPAN_EVICTED]++;
		return -ENOMEM;
	}
	trim(s, item->proc, e->time_ns);
	return 0;
}

/* The latest time from which on a begin would have been seen, but for losses. */
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

static enum span_end why_unmatched(struct spans *s, const struct span_event *e, const struct wanted *w,
				   const struct span_key *key)
{
	struct span_proc *proc = proc_find(s, e->pid);
	const struct span_thread *thread = e->has_id ? NULL : thread_find(s, e->pid, e->tid);
	struct since since = { 0 };

	/* Of the threads of a process only the first comes from its parent. */
	if (proc && (e->has_id || e->tid == e->pid) && heritage_take(proc, w->inner))
		return SPAN_INHERITED;
	if (key)
		since_at_least(&since, true, key->begun_ns);
	if (proc)
		since_at_least(&since, proc->started, proc->started_ns);
	if (thread)
		since_at_least(&since, thread->started, thread->started_ns);
	if (lost_since(&s->loss, &since) || (proc && lost_since(&proc->loss, &since)))
		return SPAN_LOST;
	return since.known ? SPAN_ORPHAN : SPAN_BEFORE_ATTACH;
}

enum span_end spans_end(struct spans *s, const struct span_event *e, struct span *ret)
{
	struct wanted w = wanted_of(s, e);
	struct span_key *key = key_find(s, &w);
	enum span_end what = SPAN_COMPLETE;

	if (key && !link_is_alone(&key->items))
		span_finish(s, link_of(key->items.prev, struct span_item, of_key), e->time_ns, e->tid, ret);
	else
		what = why_unmatched(s, e, &w, key);
	s->counts.ends++;
	if (what != SPAN_COMPLETE)
		s->counts.of[what]++;
	return what;
}

/* A program's first moment, or the one after its last: what was before is not its own. NULL: out of memory. */
static struct span_proc *proc_restart(struct spans *s, uint32_t pid, const struct span_ending *ending)
{
	struct span_proc *proc = proc_get(s, pid);

	if (!proc)
		return NULL;
	span_close_process(s, proc, ending);
	heritage_free(s, proc);
	proc->loss = (struct loss){ 0 };
	proc->started = true;
	proc->started_ns = ending->time_ns;
	return proc;
}

void spans_fork(struct spans *s, uint64_t time_ns, uint32_t pid, uint32_t child)
{
	/* Another process of that number has ended unseen. */
	const struct span_ending unseen = { .time_ns = time_ns, .how = SPAN_PROCESS_EXITED };
	struct span_proc *proc = pid != child ? proc_restart(s, child, &unseen) : NULL;
	const struct span_proc *parent = proc_find(s, pid);

	if (proc && parent)
		heritage_give(s, parent, proc);
}

void spans_exec(struct spans *s, uint64_t time_ns, uint32_t pid)
{
	const struct span_ending ending = { .time_ns = time_ns, .how = SPAN_EXEC };

	proc_restart(s, pid, &ending);
}

void spans_process_exit(struct spans *s, uint64_t time_ns, uint32_t pid, bool code_known, int code)
{
	const struct span_ending ending = { time_ns, SPAN_PROCESS_EXITED, code_known, code };

	proc_restart(s, pid, &ending);
}

void spans_thread_exit(struct spans *s, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	const struct span_ending ending = { .time_ns = time_ns, .how = SPAN_THREAD_EXITED };
	struct span_thread *thread = thread_get(s, pid, tid);

	if (!thread)
		return;
	span_close_thread(s, thread, &ending);
	thread->started = true; /* the next one of that number will have been */
	thread->started_ns = time_ns;
}

void spans_thread_start(struct spans *s, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	/* All the same: if the number has a thread, its exit was missed. */
	spans_thread_exit(s, time_ns, pid, tid);
}

static void loss_until(struct loss *loss, uint64_t ns)
{
	if (!loss->any || ns > loss->until_ns)
		*loss = (struct loss){ true, ns };
}

void spans_lost(struct spans *s, uint32_t pid, uint64_t since_ns, uint64_t until_ns)
{
	struct span_proc *proc = pid ? proc_get(s, pid) : NULL;

	/* Without memory for whose it is, it is nobody knows whose. */
	loss_until(proc ? &proc->loss : &s->loss, since_ns > until_ns ? since_ns : until_ns);
}

void spans_stop(struct spans *s, uint64_t time_ns)
{
	const struct span_ending ending = { .time_ns = time_ns, .how = SPAN_OPEN };

	while (!link_is_alone(&s->items))
		span_close(s, link_of(s->items.next, struct span_item, of_all), &ending);
	table_clear(&s->procs);
	table_clear(&s->threads);
	table_clear(&s->keys);
	s->loss = (struct loss){ 0 };
}

const struct span_counts *spans_counts(const struct spans *s) { return &s->counts; }
size_t spans_open(const struct spans *s) { return s->open; }
