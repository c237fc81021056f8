/* SPDX-License-Identifier: MIT */
/* How an open span ends: its times and flags, its share in the spans around it, and its way out of the indexes. */
#include <stdlib.h>
#include <string.h>

#include "model/span_priv.h"

static void busy_out(struct spans *s, struct span_proc *proc)
{
	if (proc->busy_prev)
		proc->busy_prev->busy_next = proc->busy_next;
	else
		s->busy[proc->open] = proc->busy_next;
	if (proc->busy_next)
		proc->busy_next->busy_prev = proc->busy_prev;
}

static void busy_in(struct spans *s, struct span_proc *proc)
{
	struct span_proc **at = &s->busy[proc->open];

	proc->busy_prev = NULL;
	proc->busy_next = *at;
	if (*at)
		(*at)->busy_prev = proc;
	*at = proc;
}

void span_count_open(struct spans *s, struct span_proc *proc, bool more)
{
	if (proc->open)
		busy_out(s, proc);
	proc->open += more ? 1 : (size_t)-1;
	s->open += more ? 1 : (size_t)-1;
	if (proc->open)
		busy_in(s, proc);
	if (proc->open > s->most)
		s->most = proc->open;
	while (s->most && !s->busy[s->most])
		s->most--;
}

void span_remove(struct spans *s, struct span_item *item)
{
	link_drop(&item->of_all);
	link_drop(&item->of_key);
	link_drop(&item->of_proc);
	link_drop(&item->of_thread);
	link_drop(&item->of_plain);
	link_drop(&item->of_straight);
	span_count_open(s, item->proc, false);
	if (item->thread) {
		item->thread->n_plain -= !item->key->has_id;
		table_unuse(&s->threads, &item->thread->node);
	}
	table_unuse(&s->keys, &item->key->node);
	table_unuse(&s->procs, &item->proc->node);
	free(item);
}

/* Times from @begin to @end inside @outer; what an earlier one covered counts once. */
static void charge(struct span_item *outer, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t from = begin_ns > outer->inner_until_ns ? begin_ns : outer->inner_until_ns;

	if (end_ns <= from)
		return;
	outer->inner_ns += end_ns - from;
	outer->inner_until_ns = end_ns;
}

static struct span_item *below(const struct link *l, const struct link *head, size_t offset)
{
	return l->prev == head ? NULL : (struct span_item *)((char *)l->prev - offset);
}

/*
 * To the span without id around one without, and to the one with an id that is directly around either. The former have
 * a stack of their own, because spans with an id may be open on a thread for long without being what it does.
 */
static void charge_outer(struct span_item *item, uint64_t end_ns)
{
	struct span_item *outer;

	if (!item->thread)
		return;
	outer = below(&item->of_thread, &item->thread->all, offsetof(struct span_item, of_thread));
	if (outer && outer->key->has_id)
		charge(outer, item->begin_ns, end_ns);
	if (item->key->has_id)
		return;
	outer = below(&item->of_plain, &item->thread->plain, offsetof(struct span_item, of_plain));
	if (outer)
		charge(outer, item->begin_ns, end_ns);
}

/* What is still open directly inside has taken its time until now. */
static void charge_open_inner(struct span_item *item, uint64_t end_ns)
{
	const struct link *l;

	if (!item->thread)
		return;
	if (item->key->has_id) {
		l = item->of_thread.next;
		if (l != &item->thread->all)
			charge(item, link_of(l, struct span_item, of_thread)->begin_ns, end_ns);
	} else {
		l = item->of_plain.next;
		if (l != &item->thread->plain)
			charge(item, link_of(l, struct span_item, of_plain)->begin_ns, end_ns);
	}
}

static bool lost_after(const struct loss *loss, uint64_t ns) { return loss->any && loss->until_ns > ns; }

static void fill(const struct spans *s, const struct span_item *item, const struct span_ending *e, struct span *ret)
{
	const struct span_key *key = item->key;
	bool step = e->time_ns < item->begin_ns;
	uint64_t end_ns = step ? item->begin_ns : e->time_ns, all_ns = end_ns - item->begin_ns;
	bool lost = lost_after(&s->loss, item->begin_ns) || lost_after(&item->proc->loss, item->begin_ns);

	*ret = (struct span){
		.pid = key->pid,
		.tid = item->tid,
		.name_len = key->name_len,
		.has_id = key->has_id,
		.id = key->id,
		.value = item->value,
		.begin_ns = item->begin_ns,
		.end_ns = end_ns,
		.own_ns = all_ns > item->inner_ns ? all_ns - item->inner_ns : 0,
		.depth = item->depth,
		.end = e->how,
		.exit_known = e->exit_known,
		.exit_code = e->exit_known ? e->exit_code : 0,
		.flags = (lost ? SPAN_LOST_INSIDE : 0u) | (step ? SPAN_CLOCK_STEP : 0u) |
			 (item->crossed ? SPAN_CROSSED : 0u),
	};
	memcpy(ret->name, key->name, key->name_len);
}

/* Those without id that began later on the thread and are still open. Each is marked once: the walk costs nothing. */
static void mark_crossed(struct span_item *item)
{
	struct link *head = &item->thread->straight, *l, *prev;

	if (item->of_plain.next == &item->thread->plain)
		return;
	item->crossed = true;
	for (l = head->prev; l != head && link_of(l, struct span_item, of_straight)->seq > item->seq; l = prev) {
		prev = l->prev;
		link_of(l, struct span_item, of_straight)->crossed = true;
		link_drop(l);
	}
}

void span_finish(struct spans *s, struct span_item *item, uint64_t time_ns, uint32_t tid, struct span *ret)
{
	const struct span_ending ending = { .time_ns = time_ns, .how = SPAN_COMPLETE };

	if (item->thread && !item->key->has_id)
		mark_crossed(item);
	if (item->tid == tid)
		charge_outer(item, time_ns);
	s->counts.of[SPAN_COMPLETE]++;
	if (ret)
		fill(s, item, &ending, ret);
	span_remove(s, item);
}

void span_close(struct spans *s, struct span_item *item, const struct span_ending *ending)
{
	struct span span;

	charge_open_inner(item, ending->time_ns);
	charge_outer(item, ending->time_ns);
	s->counts.of[ending->how]++;
	fill(s, item, ending, &span);
	span_remove(s, item);
	if (s->closed)
		s->closed(s->ctx, &span);
}

void span_close_process(struct spans *s, struct span_proc *proc, const struct span_ending *ending)
{
	while (!link_is_alone(&proc->items))
		span_close(s, link_of(proc->items.next, struct span_item, of_proc), ending);
}

void span_close_thread(struct spans *s, struct span_thread *thread, const struct span_ending *ending)
{
	struct span_item *item;

	while (!link_is_alone(&thread->plain))
		span_close(s, link_of(thread->plain.next, struct span_item, of_plain), ending);
	while (!link_is_alone(&thread->all)) {
		item = link_of(thread->all.next, struct span_item, of_thread);
		link_drop(&item->of_thread);
		item->thread = NULL;
		table_unuse(&s->threads, &thread->node);
	}
}
