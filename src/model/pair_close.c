/* SPDX-License-Identifier: MIT */
/* How an open pair ends: its times and flags, its time inside outer pairs, and its removal. */
#include <stdlib.h>

#include "model/pair_priv.h"

static void busy_out(struct pairs *p, struct pair_proc *proc)
{
	if (proc->busy_prev)
		proc->busy_prev->busy_next = proc->busy_next;
	else
		p->busy[proc->open] = proc->busy_next;
	if (proc->busy_next)
		proc->busy_next->busy_prev = proc->busy_prev;
}

static void busy_in(struct pairs *p, struct pair_proc *proc)
{
	struct pair_proc **at = &p->busy[proc->open];

	proc->busy_prev = NULL;
	proc->busy_next = *at;
	if (*at)
		(*at)->busy_prev = proc;
	*at = proc;
}

void pair_count(struct pairs *p, struct pair_proc *proc, bool more)
{
	if (proc->open)
		busy_out(p, proc);
	proc->open += more ? 1 : (size_t)-1;
	p->open += more ? 1 : (size_t)-1;
	if (proc->open)
		busy_in(p, proc);
	if (proc->open > p->most)
		p->most = proc->open;
	while (p->most && !p->busy[p->most])
		p->most--;
}

void pair_remove(struct pairs *p, struct pair *pair)
{
	link_drop(&pair->of_all);
	link_drop(&pair->of_key);
	link_drop(&pair->of_proc);
	link_drop(&pair->of_thread);
	link_drop(&pair->of_plain);
	link_drop(&pair->of_straight);
	pair_count(p, pair->proc, false);
	if (pair->thread) {
		pair->thread->n_plain -= pair->by_thread;
		table_unuse(&p->threads, &pair->thread->node);
	}
	table_unuse(&p->keys, &pair->key->node);
	table_unuse(&p->procs, &pair->proc->node);
	free(pair);
}

/* Adds the time to that of pairs inside @outer; time that earlier ones covered counts once. */
static void charge(struct pair *outer, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t from = begin_ns > outer->inner_until_ns ? begin_ns : outer->inner_until_ns;

	if (end_ns <= from)
		return;
	outer->inner_ns += end_ns - from;
	outer->inner_until_ns = end_ns;
}

/*
 * To the pair by thread around one by thread, and to the one by id directly around either. Pairs by thread have a stack of
 * their own, because a span with an id may be open for long while its thread does something else.
 */
static void charge_outer(struct pair *pair, uint64_t end_ns)
{
	struct pair *outer;

	if (!pair->thread)
		return;
	if (pair->of_thread.prev != &pair->thread->all) {
		outer = link_of(pair->of_thread.prev, struct pair, of_thread);
		if (!outer->by_thread)
			charge(outer, pair->begin_ns, end_ns);
	}
	if (pair->by_thread && pair->of_plain.prev != &pair->thread->plain)
		charge(link_of(pair->of_plain.prev, struct pair, of_plain), pair->begin_ns, end_ns);
}

/* Adds the time of the pair that is still open directly inside. */
static void charge_open_inner(struct pair *pair, uint64_t end_ns)
{
	if (!pair->thread)
		return;
	if (pair->by_thread) {
		if (pair->of_plain.next != &pair->thread->plain)
			charge(pair, link_of(pair->of_plain.next, struct pair, of_plain)->begin_ns, end_ns);
	} else if (pair->of_thread.next != &pair->thread->all) {
		charge(pair, link_of(pair->of_thread.next, struct pair, of_thread)->begin_ns, end_ns);
	}
}

/* Marks those by thread that began later on the thread and are still open. Each is marked once, so the walks are short. */
static void mark_crossed(struct pair *pair)
{
	struct link *head = &pair->thread->straight, *l, *prev;

	if (pair->of_plain.next == &pair->thread->plain)
		return;
	pair->crossed = true;
	for (l = head->prev; l != head && link_of(l, struct pair, of_straight)->seq > pair->seq; l = prev) {
		prev = l->prev;
		link_of(l, struct pair, of_straight)->crossed = true;
		link_drop(l);
	}
}

/* The span is built in place, since copying it would wait for the stores before. */
static void report(struct pairs *p, struct pair *pair, const struct pair_ending *e)
{
	bool step = e->time_ns < pair->begin_ns;
	uint64_t end_ns = step ? pair->begin_ns : e->time_ns, all_ns = end_ns - pair->begin_ns;
	struct span span = {
		.pid = pair->key->pid,
		.tid = pair->tid,
		.begin_ns = pair->begin_ns,
		.end_ns = end_ns,
		.own_ns = all_ns > pair->inner_ns ? all_ns - pair->inner_ns : 0,
		.depth = pair->depth,
		.end = e->how,
		.exit_known = e->exit_known,
		.exit_code = e->exit_known ? e->exit_code : 0,
		.flags = (pairs_lost_after(p, pair, pair->begin_ns, NULL) ? SPAN_LOST_INSIDE : 0u) |
			 (step ? SPAN_CLOCK_STEP : 0u) | (pair->crossed ? SPAN_CROSSED : 0u),
	};
	int r = p->options.ended(p->options.ctx, pair, p->r ? NULL : &span);

	p->r = p->r ? p->r : r;
}

void pair_finish(struct pairs *p, struct pair *pair, const struct pair_ending *ending)
{
	bool own = ending->how == SPAN_COMPLETE;

	if (!own)
		charge_open_inner(pair, ending->time_ns);
	else if (pair->thread && pair->by_thread)
		mark_crossed(pair);
	if (!own || pair->tid == ending->tid)
		charge_outer(pair, ending->time_ns);
	report(p, pair, ending);
	pair_remove(p, pair);
}

void pair_finish_process(struct pairs *p, struct pair_proc *proc, const struct pair_ending *ending)
{
	while (!link_is_alone(&proc->pairs))
		pair_finish(p, link_of(proc->pairs.prev, struct pair, of_proc), ending);
}

void pair_finish_thread(struct pairs *p, struct pair_thread *thread, const struct pair_ending *ending)
{
	struct pair *pair;

	while (!link_is_alone(&thread->plain))
		pair_finish(p, link_of(thread->plain.prev, struct pair, of_plain), ending);
	while (!link_is_alone(&thread->all)) {
		pair = link_of(thread->all.next, struct pair, of_thread);
		link_drop(&pair->of_thread);
		pair->thread = NULL;
		table_unuse(&p->threads, &thread->node);
	}
}
