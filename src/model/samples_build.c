/* SPDX-License-Identifier: MIT */
/* From the log of samples to a profile: addresses become frames, rows become weights of nodes. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "model/samples_priv.h"

/* The frames of an address, which are the same for as long as the mappings of its process are. */
struct address {
	uint64_t ip;
	uint32_t age; /* 0: the kernel */
	uint32_t first, n; /* in `place_frames` */
};

#define OURS_MAX 6 /* kernel frames that may be of our own program */

typedef VEC(uint32_t) numbers;
typedef VEC(uint64_t) counters;

struct build {
	struct samples *s;
	const struct samples_options *o;
	struct profile *p;
	VEC(struct address) places;
	struct index place_index;
	numbers place_frames;
	struct frames named; /* of one address */
	/* The current stack, by frame numbers, innermost first, and how many of them are the kernel's. */
	numbers stack;
	size_t kernel;
	const struct samples_row *stack_of;
	uint32_t node[2]; /* of that stack, by in_gc; SAMPLES_NONE: not made yet */
	counters cuts, unnamed; /* by frame */
	uint32_t *threads; /* of the profile, by ours; SAMPLES_NONE: none yet */
	uint32_t *idle_stacks, *same; /* see samples_priv.h */
	bool *have_run;
};

static bool is_runtime_row(const struct samples_row *r) { return !(r->moment & SAMPLES_AGE); }

static uint32_t word(struct build *b, const char *text, enum frame_kind kind)
{
	return profile_frame_named(b->p, text, strlen(text), kind);
}

/* Appends the numbers of the frames in `named`. */
static int add_named(struct build *b, numbers *to)
{
	int r = 0;

	for (size_t i = 0; !r && i < b->named.v.n; i++) {
		uint32_t frame = profile_frame(b->p, &b->named.v.v[i]);

		r = frame == UINT32_MAX ? -ENOMEM : vec_push(to, frame);
	}
	return r;
}

/* Appends the frames of an address to the stack; its names are looked up once. 0 or -ENOMEM. */
static int push_address(struct build *b, uint64_t ip, uint32_t age, pid_t pid, uint64_t time_ns)
{
	struct address p = { .ip = ip, .age = age };
	uint64_t hash = hash_pair(ip, age);
	uint32_t i = index_find(&b->place_index, hash, k, b->places.v[k].ip == ip && b->places.v[k].age == age);
	int r = 0;

	if (i != SAMPLES_NONE) {
		p = b->places.v[i];
	} else {
		b->named.v.n = 0;
		if (age)
			names_user(b->s->names, pid, ip & ~UT_IP_EXACT, ip & UT_IP_EXACT, time_ns, &b->named);
		else
			names_kernel(b->s->names, ip, &b->named);
		p.first = (uint32_t)b->place_frames.n;
		if (add_named(b, &b->place_frames))
			return -ENOMEM;
		p.n = (uint32_t)b->place_frames.n - p.first;
		if (vec_push(&b->places, p) || index_add(&b->place_index, hash, (uint32_t)b->places.n - 1))
			return -ENOMEM;
	}
	for (uint32_t j = 0; !r && j < p.n; j++)
		r = vec_push(&b->stack, b->place_frames.v[p.first + j]);
	return r;
}

static int push_user(struct build *b, const struct samples_row *row, pid_t pid, uint64_t ip)
{
	uint64_t addr = ip & ~UT_IP_EXACT;

	if (!is_runtime_row(row) || !names_is_jit(b->s->names, pid, addr, row->time_ns))
		return push_address(b, ip, row->age, pid, row->time_ns);
	b->named.v.n = 0;
	names_user(b->s->names, pid, addr, ip & UT_IP_EXACT, row->time_ns, &b->named);
	return add_named(b, &b->stack);
}

/* Removes our own BPF program, which takes the stack of a thread that leaves the CPU, from the top of the stack. */
static void drop_own_program(struct build *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->kernel && i < OURS_MAX; i++) {
		const char *name = b->p->frames.v[b->stack.v[i]].name;

		if (!strncmp(name, "bpf_trace_run", 13) || !strncmp(name, "bpf_prog_", 9) ||
		    !strncmp(name, "__bpf_trace_", 12) || !strncmp(name, "__traceiter_", 12))
			n = i + 1;
	}
	if (!n)
		return;
	b->stack.n -= n;
	b->kernel -= n;
	memmove(b->stack.v, b->stack.v + n, b->stack.n * sizeof(*b->stack.v));
}

/* Makes the row's stack the current one. */
static int resolve_row_stack(struct build *b, const struct samples_row *row)
{
	const struct samples_stack *stack = &b->s->stacks.v[row->stack];
	const struct samples_row *last = b->stack_of;
	uint64_t ips[SAMPLES_FRAMES];
	int r = 0;

	if (last && last->stack == row->stack && last->moment == row->moment && last->age == row->age)
		return 0;
	b->stack_of = row;
	b->stack.n = 0;
	b->node[0] = b->node[1] = SAMPLES_NONE;
	samples_unpack(b->s, stack, ips);
	for (size_t i = 0; !r && i < stack->kernel; i++)
		r = push_address(b, ips[i], 0, 0, row->time_ns);
	b->kernel = b->stack.n;
	for (size_t i = stack->kernel; !r && i < (size_t)stack->kernel + stack->user; i++)
		r = push_user(b, row, (pid_t)stack->pid, ips[i]);
	if (row->state == PROFILE_BLOCKED || row->state == PROFILE_RUNNABLE)
		drop_own_program(b);
	return r;
}

/* The placeholder frame that says why the row's stack is truncated; SAMPLES_NONE: it is complete. */
static uint32_t cut_frame(struct build *b, const struct samples_row *row)
{
	const struct samples_stack *stack = &b->s->stacks.v[row->stack];
	const char *why;

	if (!stack->known)
		return word(b, "[stack not known]", FRAME_REASON);
	if (stack->end == UT_END_START || stack->end == UT_END_NONE)
		return SAMPLES_NONE;
	why = names_end(b->s->names, (pid_t)stack->pid, stack->end, stack->end_addr, row->time_ns);
	return word(b, why ? why : "[truncated]", FRAME_REASON);
}

static int count_in(counters *counts, uint32_t frame, uint64_t n)
{
	while (counts->n <= frame)
		if (vec_push(counts, 0))
			return -ENOMEM;
	counts->v[frame] += n;
	return 0;
}

/* Adds the current stack to the totals. */
static int count_stack(struct build *b, const struct samples_row *row, uint32_t cut)
{
	struct profile_totals *t = &b->p->totals;
	int r = 0;

	t->frames += b->stack.n * row->count;
	for (size_t i = 0; !r && i < b->stack.n; i++) {
		if (!b->p->frames.v[b->stack.v[i]].unnamed)
			continue;
		t->unnamed += row->count;
		r = count_in(&b->unnamed, b->stack.v[i], row->count);
	}
	if (r || cut == SAMPLES_NONE)
		return r;
	t->cut += row->count;
	return count_in(&b->cuts, cut, row->count);
}

/* Passes UINT32_MAX, out of memory, on. */
static uint32_t below(struct build *b, uint32_t node, uint32_t frame)
{
	return node == UINT32_MAX || frame == UINT32_MAX ? UINT32_MAX : profile_node(b->p, node, frame);
}

static uint32_t stack_node(struct build *b, const struct samples_row *row, uint32_t cut)
{
	uint32_t node = 0;

	if (b->node[row->in_gc] != SAMPLES_NONE)
		return b->node[row->in_gc];
	if (row->in_gc)
		node = below(b, node, word(b, "[GC]", FRAME_REASON));
	if (cut != SAMPLES_NONE)
		node = below(b, node, cut);
	for (size_t i = b->stack.n; i-- > b->kernel;)
		node = below(b, node, b->stack.v[i]);
	for (size_t i = b->kernel; i--;)
		node = below(b, node, b->stack.v[i]);
	return b->node[row->in_gc] = node;
}

static bool is_idle(const struct build *b, const struct samples_row *row)
{
	const struct samples_stack *stack = row->stack == SAMPLES_NONE ? NULL : &b->s->stacks.v[row->stack];

	if (b->o->idle || row->state != PROFILE_BLOCKED || row->waits != WAIT_SLEEPS)
		return false;
	if (!stack)
		return !b->have_run[row->thread];
	if (!stack->known)
		return false;
	if ((stack->end == UT_END_NONE && !stack->user) ||
	    samples_is_event_wait(b->p, b->stack.v, b->stack.n, b->kernel))
		return true;
	return b->idle_stacks[row->thread] == b->same[row->stack] &&
	       !samples_is_lock_wait(b->p, b->stack.v, b->stack.n, b->kernel);
}

/* The node of a row; UINT32_MAX: out of memory. */
static uint32_t row_node(struct build *b, const struct samples_row *row)
{
	const char *comm = b->s->threads.v[row->thread].comm;
	uint32_t cut = SAMPLES_NONE, node;

	if (row->stack != SAMPLES_NONE) {
		if (resolve_row_stack(b, row))
			return UINT32_MAX;
		cut = cut_frame(b, row);
		if (count_stack(b, row, cut))
			return UINT32_MAX;
	}
	if (is_idle(b, row)) {
		node = below(b, 0, word(b, WAITS_IDLE, FRAME_REASON));
		return below(b, node, word(b, *comm ? comm : "?", FRAME_WAITING));
	}
	if (row->stack != SAMPLES_NONE)
		node = stack_node(b, row, cut);
	else
		node = below(b, 0,
			     word(b,
				  row->waits == WAIT_NEW ? "[not started yet]" : "[waiting since before the recording]",
				  FRAME_REASON));
	if (row->state != PROFILE_BLOCKED && row->state != PROFILE_RUNNABLE)
		return node;
	return below(b, node, word(b, waits_word((enum samples_waits)row->waits), FRAME_WAITING));
}

static uint32_t profile_thread_of(struct build *b, uint32_t i)
{
	const struct samples_thread *t = &b->s->threads.v[i];
	const struct samples_process *p = &b->s->processes.v[t->process];

	if (b->threads[i] == SAMPLES_NONE)
		b->threads[i] = profile_thread(b->p, (int)p->pid, (int)t->tid, t->comm, p->comm[0] ? p->comm : t->comm);
	return b->threads[i];
}

static int add_row_weights(struct build *b)
{
	int r = 0;

	for (size_t i = 0; !r && i < b->s->rows.n; i++) {
		const struct samples_row *row = &b->s->rows.v[i];
		uint32_t node = row_node(b, row), thread = profile_thread_of(b, row->thread);

		if (node == UINT32_MAX || thread == UINT32_MAX)
			return -ENOMEM;
		b->p->totals.samples += row->count;
		r = profile_add(b->p, node, thread, row->state, row->count, row->value_ns);
	}
	return r;
}

/* Rows with the same stack and time come together, so its names are looked up once. */
static int compare_rows_by_stack(const void *x, const void *y)
{
	const struct samples_row *a = x, *b = y;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->moment != b->moment)
		return a->moment < b->moment ? -1 : 1;
	if (a->age != b->age)
		return a->age < b->age ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Tells sym/names.h which addresses of JIT code will be looked up. */
static void request_jit_names(struct samples *s, const struct samples_row *row)
{
	const struct samples_stack *stack = &s->stacks.v[row->stack];
	uint64_t ips[SAMPLES_FRAMES];

	samples_unpack(s, stack, ips);
	for (size_t i = stack->kernel; i < (size_t)stack->kernel + stack->user; i++) {
		uint64_t addr = ips[i] & ~UT_IP_EXACT;

		if (names_is_jit(s->names, (pid_t)stack->pid, addr, row->time_ns))
			names_request(s->names, (pid_t)stack->pid, addr, ips[i] & UT_IP_EXACT, row->time_ns);
	}
}

static void request_all_jit_names(struct samples *s, uint64_t time_ns)
{
	const struct samples_row *last = NULL;

	for (size_t i = 0; i < s->rows.n; i++) {
		const struct samples_row *row = &s->rows.v[i];

		if (row->stack == SAMPLES_NONE || !is_runtime_row(row) || !s->stacks.v[row->stack].known)
			continue;
		if (!last || last->stack != row->stack || last->moment != row->moment || last->age != row->age)
			request_jit_names(s, row);
		last = row;
	}
	names_resolve(s->names, time_ns);
}

/* The text of a placeholder frame without its address, which differs each time: "[unknown code, no map: 0x7f12]". */
static char *without_address(const char *text)
{
	struct buf out = { 0 };

	while (*text) {
		size_t hex = !strncmp(text, "0x", 2) ? strspn(text + 2, "0123456789abcdef") : 0;

		if (!hex || !out.len || !strchr(" :+,", out.data[out.len - 1])) {
			buf_addc(&out, *text++);
			continue;
		}
		text += 2 + hex;
		while (out.len && strchr(" :+,", out.data[out.len - 1]))
			out.len--;
		if (out.len > 3 && !memcmp(out.data + out.len - 3, " at", 3))
			out.len -= 3;
	}
	return buf_take(&out);
}

static int compare_reasons(const void *x, const void *y)
{
	const struct samples_reason *a = x, *b = y;

	return a->count != b->count ? a->count < b->count ? 1 : -1 : strcmp(a->text, b->text);
}

static int add_reason(struct samples *s, samples_reasons *to, const char *frame, uint64_t count)
{
	char *text = without_address(frame);

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < to->n; i++) {
		if (strcmp(to->v[i].text, text))
			continue;
		to->v[i].count += count;
		free(text);
		return 0;
	}
	if (vec_push(&s->texts, text)) {
		free(text);
		return -ENOMEM;
	}
	return vec_push(to, ((struct samples_reason){ text, count }));
}

static int add_reasons(struct build *b, const counters *counts, samples_reasons *to)
{
	int r = 0;

	for (size_t i = 0; !r && i < counts->n; i++)
		r = counts->v[i] ? add_reason(b->s, to, b->p->frames.v[i].name, counts->v[i]) : 0;
	if (to->n)
		qsort(to->v, to->n, sizeof(*to->v), compare_reasons);
	return r;
}

static int prepare_build(struct build *b)
{
	struct samples *s = b->s;

	b->p = profile_new();
	b->threads = malloc((s->threads.n + 1) * sizeof(*b->threads));
	b->same = samples_same_program(s);
	b->idle_stacks = b->same ? samples_idle_stacks(s, b->same) : NULL;
	b->have_run = samples_have_run(s);
	if (!b->p || !b->threads || !b->idle_stacks || !b->have_run)
		return -ENOMEM;
	memset(b->threads, 0xff, (s->threads.n + 1) * sizeof(*b->threads));
	b->p->totals.duration_ns = b->o->stop_ns > s->start_ns ? b->o->stop_ns - s->start_ns : 0;
	b->p->totals.period_ns = b->o->period_ns;
	b->p->totals.unit = b->o->unit;
	index_done(&s->row_index); /* the rows change places now */
	if (s->rows.n)
		qsort(s->rows.v, s->rows.n, sizeof(*s->rows.v), compare_rows_by_stack);
	request_all_jit_names(s, b->o->stop_ns);
	return 0;
}

int samples_build(struct samples *s, const struct samples_options *o, struct profile **ret)
{
	struct build b = { .s = s, .o = o };
	int r = prepare_build(&b);

	if (!r)
		r = add_row_weights(&b);
	if (!r)
		r = add_reasons(&b, &b.cuts, &s->cuts);
	if (!r)
		r = add_reasons(&b, &b.unnamed, &s->unnamed);
	vec_done(&b.places);
	vec_done(&b.place_frames);
	index_done(&b.place_index);
	vec_done(&b.named.v);
	vec_done(&b.stack);
	vec_done(&b.cuts);
	vec_done(&b.unnamed);
	free(b.threads);
	free(b.idle_stacks);
	free(b.same);
	free(b.have_run);
	if (r)
		profile_free(b.p);
	else
		*ret = b.p;
	return r;
}

size_t samples_cuts(const struct samples *s, const struct samples_reason **ret)
{
	*ret = s->cuts.v;
	return s->cuts.n;
}

size_t samples_unnamed(const struct samples *s, const struct samples_reason **ret)
{
	*ret = s->unnamed.v;
	return s->unnamed.n;
}
