/* SPDX-License-Identifier: MIT */
/* Inserts samples: each process, thread and stack once, and equal samples in one row. */
#include "model/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "model/samples_priv.h"

#define MOMENT_NS 1000000u

struct samples *samples_new(struct names *names)
{
	struct samples *s = calloc(1, sizeof(*s));

	if (s)
		s->names = names;
	return s;
}

struct samples *samples_free(struct samples *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->texts.n; i++)
		free(s->texts.v[i]);
	vec_done(&s->texts);
	vec_done(&s->cuts);
	vec_done(&s->unnamed);
	for (size_t i = 0; i < s->processes.n; i++)
		vec_done(&s->processes.v[i].ages);
	vec_done(&s->processes);
	vec_done(&s->threads);
	vec_done(&s->stacks);
	vec_done(&s->rows);
	vec_done(&s->arena);
	index_done(&s->process_index);
	index_done(&s->thread_index);
	index_done(&s->stack_index);
	index_done(&s->row_index);
	free(s);
	return NULL;
}

void samples_start(struct samples *s, uint64_t time_ns) { s->start_ns = time_ns; }
uint64_t samples_count(const struct samples *s) { return s->count; }

static uint32_t find_samples_process(const struct samples *s, uint32_t pid)
{
	return index_find(&s->process_index, hash_number(pid), i,
			  !s->processes.v[i].over && s->processes.v[i].pid == pid);
}

/* SAMPLES_NONE: out of memory. */
static uint32_t get_process(struct samples *s, uint32_t pid)
{
	uint32_t i = find_samples_process(s, pid);

	if (i != SAMPLES_NONE)
		return i;
	i = (uint32_t)s->processes.n;
	if (vec_reserve(&s->processes, s->processes.n + 1) || index_add(&s->process_index, hash_number(pid), i))
		return SAMPLES_NONE;
	s->processes.v[s->processes.n++] = (struct samples_process){ .pid = pid, .age = ++s->ages };
	return i;
}

static uint64_t hash_thread(const struct samples_thread *t) { return hash_pair(t->process, t->tid); }

static uint32_t find_thread(const struct samples *s, const struct samples_thread *wanted)
{
	const struct samples_thread *v = s->threads.v;

	return index_find(&s->thread_index, hash_thread(wanted), i,
			  !v[i].over && v[i].process == wanted->process && v[i].tid == wanted->tid);
}

/* The thread of a record that saw it from @from_ns until its own time. SAMPLES_NONE: out of memory. */
static uint32_t get_thread(struct samples *s, const struct ut_rec_event *e, uint64_t from_ns)
{
	struct samples_thread new = { .process = get_process(s, e->pid), .tid = e->tid, .first_ns = from_ns };
	struct samples_thread *t;
	uint32_t i;

	if (new.process == SAMPLES_NONE)
		return SAMPLES_NONE;
	i = find_thread(s, &new);
	if (i == SAMPLES_NONE) {
		i = (uint32_t)s->threads.n;
		if (vec_reserve(&s->threads, s->threads.n + 1) || index_add(&s->thread_index, hash_thread(&new), i))
			return SAMPLES_NONE;
		s->threads.v[s->threads.n++] = new;
	}
	t = &s->threads.v[i];
	t->first_ns = least_u64(from_ns, t->first_ns);
	t->last_ns = most_u64(e->time_ns, t->last_ns);
	if (e->comm[0]) { /* else it had exited before its name could be read */
		memcpy(t->comm, e->comm, sizeof(t->comm));
		t->comm[sizeof(t->comm) - 1] = '\0';
	}
	if (e->pid == e->tid && t->comm[0])
		memcpy(s->processes.v[t->process].comm, t->comm, sizeof(t->comm));
	return i;
}

/* The stack may not be known yet. SAMPLES_NONE: out of memory. */
static uint32_t get_stack(struct samples *s, uint64_t id, uint32_t pid)
{
	uint64_t hash = hash_number(id);
	uint32_t i = index_find(&s->stack_index, hash, k, s->stacks.v[k].id == id);

	if (i != SAMPLES_NONE)
		return i;
	i = (uint32_t)s->stacks.n;
	if (vec_reserve(&s->stacks, s->stacks.n + 1) || index_add(&s->stack_index, hash, i))
		return SAMPLES_NONE;
	s->stacks.v[s->stacks.n++] = (struct samples_stack){ .id = id, .pid = pid };
	return i;
}

static bool has_runtime_code(const struct samples *s, const struct samples_stack *stack, uint64_t time_ns)
{
	uint64_t ips[SAMPLES_FRAMES];

	samples_unpack(s, stack, ips);
	for (size_t i = stack->kernel; i < (size_t)stack->kernel + stack->user; i++)
		if (names_is_jit(s->names, (pid_t)stack->pid, ips[i] & ~UT_IP_EXACT, time_ns))
			return true;
	return false;
}

static uint32_t age_at(const struct samples_process *p, uint64_t time_ns)
{
	size_t n = p->ages.n;

	while (n && p->ages.v[n - 1].time_ns > time_ns) /* few: records come in time order */
		n--;
	return n ? p->ages.v[n - 1].age : p->age;
}

/* Updates whether the stack has JIT code, by what its process had mapped at that time. */
static void update_runtime(struct samples *s, struct samples_stack *stack, struct samples_process *p, uint64_t time_ns)
{
	uint32_t age = age_at(p, time_ns);
	bool before = stack->runtime;

	if (!stack->known || stack->age == age)
		return;
	stack->age = age;
	stack->runtime = has_runtime_code(s, stack, time_ns);
	p->runtime += stack->runtime && !before;
}

int samples_stack(struct samples *s, const struct ut_rec_stack *rec, const uint64_t *ips)
{
	uint32_t process = get_process(s, rec->head.pid), i = get_stack(s, rec->id, rec->head.pid);
	struct samples_stack *stack;

	if (process == SAMPLES_NONE || i == SAMPLES_NONE)
		return -ENOMEM;
	stack = &s->stacks.v[i];
	if (stack->known)
		return 0;
	stack->kernel = rec->kernel < UT_WALK_FRAMES ? rec->kernel : UT_WALK_FRAMES;
	ips += rec->kernel - stack->kernel;
	stack->user = rec->user < UT_WALK_FRAMES ? rec->user : UT_WALK_FRAMES;
	stack->end = (uint8_t)rec->end;
	stack->end_addr = rec->end_addr;
	if (samples_pack(s, stack, ips))
		return -ENOMEM;
	stack->known = true;
	update_runtime(s, stack, &s->processes.v[process], rec->head.time_ns);
	return 0;
}

static bool is_same_row(const struct samples_row *a, const struct samples_row *b)
{
	return a->stack == b->stack && a->thread == b->thread && a->moment == b->moment && a->age == b->age &&
	       a->state == b->state && a->waits == b->waits && a->in_gc == b->in_gc;
}

/* Adds the row to an equal one, or appends it. */
static int count_row(struct samples *s, struct samples_row *row)
{
	struct samples_process *p = &s->processes.v[s->threads.v[row->thread].process];
	struct samples_stack *stack = row->stack == SAMPLES_NONE ? NULL : &s->stacks.v[row->stack];
	uint64_t hash;
	uint32_t i;

	if (stack)
		update_runtime(s, stack, p, row->time_ns);
	row->age = age_at(p, row->time_ns);
	row->moment = stack && (stack->runtime || !stack->known) ? row->time_ns / MOMENT_NS : SAMPLES_AGE | row->age;
	s->count++;
	hash = hash_pair(hash_pair((uint64_t)row->stack << 32 | row->thread, row->moment),
			 (uint64_t)row->state | (uint64_t)row->waits << 8 | (uint64_t)row->in_gc << 16);
	i = index_find(&s->row_index, hash, k, is_same_row(&s->rows.v[k], row));
	if (i != SAMPLES_NONE) {
		s->rows.v[i].count += row->count;
		s->rows.v[i].value_ns += row->value_ns;
		return 0;
	}
	if (vec_reserve(&s->rows, s->rows.n + 1) || index_add(&s->row_index, hash, (uint32_t)s->rows.n))
		return -ENOMEM;
	s->rows.v[s->rows.n++] = *row;
	return 0;
}

int samples_sample(struct samples *s, const struct ut_rec_sample *rec, bool in_gc)
{
	struct samples_row row = { .time_ns = rec->head.time_ns,
				   .count = 1,
				   .in_gc = in_gc,
				   .state = rec->kind == UT_SAMPLE_PROBE ? PROFILE_EVENT : PROFILE_CPU };

	if (rec->head.time_ns < s->start_ns)
		return 0;
	if (rec->kind != UT_SAMPLE_PROBE)
		row.value_ns = least_u64(rec->weight_ns, rec->head.time_ns - s->start_ns);
	row.thread = get_thread(s, &rec->head, rec->head.time_ns);
	row.stack = get_stack(s, rec->stack, rec->head.pid);
	return row.thread == SAMPLES_NONE || row.stack == SAMPLES_NONE ? -ENOMEM : count_row(s, &row);
}

/* The kernel's include/linux/sched.h: TASK_INTERRUPTIBLE 1, TASK_UNINTERRUPTIBLE 2, __TASK_STOPPED 4, __TASK_TRACED 8,
 * TASK_NOLOAD 0x400: with 2 it is TASK_IDLE, a sleep of the kernel's own threads. */
#define STATE_ENDED 0xb0u /* EXIT_DEAD 0x10, EXIT_ZOMBIE 0x20, TASK_DEAD 0x80: it never runs again */

static enum samples_waits waits_of(uint32_t state)
{
	if (!state)
		return WAIT_NONE;
	if (state & 0xc)
		return WAIT_STOPPED;
	if (state & 1 || (state & 0x402) == 0x402)
		return WAIT_SLEEPS;
	return state & 2 ? WAIT_UNINTERRUPTIBLE : WAIT_OTHER;
}

int samples_wait(struct samples *s, const struct ut_rec_wait *rec)
{
	uint64_t to = rec->head.time_ns, from = most_u64(rec->from_ns, s->start_ns), woken;
	struct samples_row row = { .time_ns = rec->from_ns ? rec->from_ns : to, .count = 1, .stack = SAMPLES_NONE };
	bool is_new = rec->state & UT_STATE_NEW;
	int r = 0;

	if (to <= from || rec->state & STATE_ENDED)
		return 0;
	woken = !rec->state || is_new ? from : !rec->runnable_ns || rec->runnable_ns > to ? to : rec->runnable_ns;
	woken = most_u64(woken, from);
	row.thread = get_thread(s, &rec->head, from);
	if (row.thread == SAMPLES_NONE)
		return -ENOMEM;
	if (rec->stack || (rec->from_ns && !is_new)) {
		row.stack = get_stack(s, rec->stack, rec->head.pid);
		if (row.stack == SAMPLES_NONE)
			return -ENOMEM;
	}
	if (woken > from) {
		row.state = PROFILE_BLOCKED;
		row.waits = waits_of(rec->state);
		row.value_ns = woken - from;
		r = count_row(s, &row);
	}
	if (r || to == woken)
		return r;
	row.state = PROFILE_RUNNABLE;
	row.waits = is_new ? WAIT_NEW : WAIT_NONE;
	row.value_ns = to - woken;
	return count_row(s, &row);
}

void samples_process(struct samples *s, uint32_t pid, const char comm[16])
{
	uint32_t i = get_process(s, pid);

	if (i == SAMPLES_NONE)
		return;
	memcpy(s->processes.v[i].comm, comm, 16);
	s->processes.v[i].comm[15] = '\0';
}

int samples_mapped(struct samples *s, uint32_t pid, uint64_t time_ns)
{
	uint32_t i = get_process(s, pid);
	struct samples_process *p;
	size_t n;

	if (i == SAMPLES_NONE)
		return -ENOMEM;
	p = &s->processes.v[i];
	if (vec_push(&p->ages, ((struct samples_age){ time_ns, ++s->ages })))
		return -ENOMEM;
	for (n = p->ages.n - 1; n && p->ages.v[n - 1].time_ns > time_ns; n--) { /* events of another CPU came first */
		struct samples_age later = p->ages.v[n - 1];

		p->ages.v[n - 1] = p->ages.v[n];
		p->ages.v[n] = later;
	}
	return 0;
}

/* The next events with this pid are of another program, with other threads. */
void samples_exec(struct samples *s, uint32_t pid)
{
	uint32_t i = find_samples_process(s, pid);

	if (i != SAMPLES_NONE)
		s->processes.v[i].over = true;
}

void samples_exit(struct samples *s, uint32_t pid, uint32_t tid, bool last)
{
	struct samples_thread wanted = { .process = find_samples_process(s, pid), .tid = tid };
	uint32_t i;

	if (wanted.process == SAMPLES_NONE)
		return;
	i = find_thread(s, &wanted);
	if (i != SAMPLES_NONE)
		s->threads.v[i].over = true;
	if (last)
		s->processes.v[wanted.process].over = true;
}

uint64_t samples_new_runtime(struct samples *s, uint32_t pid)
{
	uint32_t i = find_samples_process(s, pid);
	uint64_t n = i == SAMPLES_NONE ? 0 : s->processes.v[i].runtime;

	if (n)
		s->processes.v[i].runtime = 0;
	return n;
}
