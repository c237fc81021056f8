/* SPDX-License-Identifier: MIT */
/* The processes that have spans, and those of their spans that are open. */
#include <stdlib.h>
#include <string.h>

#include "model/collect_priv.h"

static uint64_t mix(uint64_t h)
{
	h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static size_t proc_bucket(uint32_t pid) { return mix(pid) % COLLECT_PROC_BUCKETS; }

static size_t item_bucket(uint32_t pid, unsigned def, uint64_t key)
{
	return mix(mix((uint64_t)pid << 32 | def) ^ key) % COLLECT_BUCKETS;
}

struct collect_proc *collect_proc_find(const struct collect *c, uint32_t pid)
{
	struct collect_proc *p;

	LIST_FOREACH(p, &c->proc_bucket[proc_bucket(pid)], of_bucket)
	if (p->pid == pid)
		return p;
	return NULL;
}

struct collect_proc *collect_proc_get(struct collect *c, uint32_t pid)
{
	struct collect_proc *p = collect_proc_find(c, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p) + c->ndefs * sizeof(*p->defs) + c->nkinds * sizeof(*p->kinds));
	if (!p)
		return NULL;
	p->pid = pid;
	p->kinds = (struct collect_items *)&p->defs[c->ndefs];
	TAILQ_INIT(&p->items);
	for (size_t i = 0; i < c->ndefs; i++)
		TAILQ_INIT(&p->defs[i].items);
	for (size_t i = 0; i < c->nkinds; i++)
		TAILQ_INIT(&p->kinds[i]);
	LIST_INSERT_HEAD(&c->proc_bucket[proc_bucket(pid)], p, of_bucket);
	TAILQ_INSERT_TAIL(&c->procs, p, of_all);
	return p;
}

void collect_proc_drop(struct collect *c, struct collect_proc *proc)
{
	while (!TAILQ_EMPTY(&proc->items))
		collect_item_drop(c, TAILQ_FIRST(&proc->items));
	LIST_REMOVE(proc, of_bucket);
	TAILQ_REMOVE(&c->procs, proc, of_all);
	free(proc);
}

static uint64_t id_key(const struct collect_value *id)
{
	uint64_t h = id ? id->len : 0;

	if (!id || !id->is_text)
		return id ? (uint64_t)id->number : 0;
	for (size_t i = 0; i < id->len; i++)
		h = mix(h ^ (unsigned char)id->text[i]);
	return h;
}

uint64_t collect_key(const struct collect *c, const struct collect_event *e)
{
	switch (c->defs[e->def].by) {
	case COLLECT_BY_PROCESS: return 0;
	case COLLECT_BY_ID: return id_key(collect_value_of(e, "id"));
	case COLLECT_BY_THREAD: break;
	}
	return e->tid;
}

static size_t text_room(const struct collect_value *v)
{
	return !v->is_text ? 0 : v->len < COLLECT_VALUE_TEXT ? v->len : COLLECT_VALUE_TEXT;
}

static size_t room_of(const struct collect_event *e, size_t n)
{
	size_t room = n * sizeof(*e->values);

	for (size_t i = 0; i < n; i++)
		room += strlen(e->values[i].name) + 1 + text_room(&e->values[i]);
	return room;
}

static void copy_values(struct collect_item *item, const struct collect_event *e)
{
	char *at;

	item->values = (struct collect_value *)(item + 1);
	at = (char *)(item->values + item->nvalues);
	for (size_t i = 0; i < item->nvalues; i++) {
		struct collect_value *v = &item->values[i];

		*v = e->values[i];
		v->name = strcpy(at, e->values[i].name);
		at += strlen(at) + 1;
		if (!v->is_text)
			continue;
		v->len = text_room(v);
		v->text = at;
		if (v->len)
			memcpy(at, e->values[i].text, v->len);
		at += v->len;
	}
}

static void item_enter(struct collect *c, struct collect_item *item)
{
	struct collect_proc *p = item->proc;

	LIST_INSERT_HEAD(&c->bucket[item_bucket(p->pid, item->def, item->key)], item, of_bucket);
	TAILQ_INSERT_TAIL(&p->items, item, of_proc);
	p->nitems++;
}

void collect_item_decide(struct collect *c, struct collect_item *item)
{
	struct collect_proc_def *def = &item->proc->defs[item->def];

	item->left_out = item->undecided = false;
	item->span.number = ++def->numbered;
	def->seen = true;
	TAILQ_INSERT_TAIL(&def->items, item, of_def);
	TAILQ_INSERT_TAIL(&item->proc->kinds[c->kind_of[item->def]], item, of_kind);
}

struct collect_item *collect_item_new(struct collect *c, struct collect_proc *proc, const struct collect_event *e,
				      enum collect_fit fit)
{
	size_t n = fit == COLLECT_FITS_NOT ? 0 : e->nvalues < COLLECT_VALUES_MAX ? e->nvalues : COLLECT_VALUES_MAX;
	struct collect_item *item = calloc(1, sizeof(*item) + room_of(e, n));

	if (!item)
		return NULL;
	item->proc = proc;
	item->def = e->def;
	item->left_out = fit != COLLECT_FITS;
	item->undecided = fit == COLLECT_FIT_UNKNOWN;
	item->key = collect_key(c, e);
	item->has_state = e->state != NULL;
	if (e->state)
		item->state = *e->state;
	item->nvalues = n;
	copy_values(item, e);
	item->span =
		(struct collect_span){ .def = &c->defs[e->def], .pid = e->pid, .tid = e->tid, .begin_ns = e->time_ns };
	memcpy(item->span.comm, e->comm, sizeof(item->span.comm));
	item_enter(c, item);
	if (fit == COLLECT_FITS)
		collect_item_decide(c, item);
	return item;
}

void collect_item_drop(struct collect *c, struct collect_item *item)
{
	struct collect_proc *p = item->proc;

	LIST_REMOVE(item, of_bucket);
	TAILQ_REMOVE(&p->items, item, of_proc);
	p->nitems--;
	if (!item->left_out) {
		TAILQ_REMOVE(&p->defs[item->def].items, item, of_def);
		TAILQ_REMOVE(&p->kinds[c->kind_of[item->def]], item, of_kind);
	}
	free(item);
}

static bool may_close(const struct collect_item *item, enum collect_fit fit)
{
	return fit == COLLECT_FIT_UNKNOWN || item->undecided || item->left_out == (fit == COLLECT_FITS_NOT);
}

struct collect_item *collect_item_find(const struct collect *c, const struct collect_proc *proc, unsigned def,
				       uint64_t key, enum collect_fit fit)
{
	struct collect_item *item;

	LIST_FOREACH(item, &c->bucket[item_bucket(proc->pid, def, key)], of_bucket)
	if (item->proc == proc && item->def == def && item->key == key && may_close(item, fit))
		return item;
	return NULL;
}
