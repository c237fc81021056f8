/* SPDX-License-Identifier: MIT */
/*
 * The tree of a profile. Strings, frames, nodes and weights are found through open-addressing tables of numbers; what
 * is compared are the things themselves, so that equal hashes never make two things one.
 */
#include "model/profile.h"

#include <string.h>
#include <sys/mman.h>

#include "model/profile_priv.h"

#define NONE UINT32_MAX
#define ARENA_CHUNK (64 << 10)
#define LARGE_PAGE (2u << 20)

struct arena_chunk {
	struct arena_chunk *next;
	char bytes[];
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t load8(const char *s)
{
	uint64_t v;

	memcpy(&v, s, sizeof(v));
	return v;
}

static uint32_t load4(const char *s)
{
	uint32_t v;

	memcpy(&v, s, sizeof(v));
	return v;
}

static uint64_t hash_bytes(const char *s, size_t len)
{
	uint64_t h = len, a = 0, b = 0;
	size_t i = len;

	for (; i > 16; i -= 16, s += 16)
		h = mix(load8(s) ^ h, load8(s + 8));
	if (i >= 8) {
		a = load8(s);
		b = load8(s + i - 8);
	} else if (i >= 4) {
		a = load4(s);
		b = load4(s + i - 4);
	} else if (i) {
		a = (uint64_t)(unsigned char)s[0] << 16 | (uint64_t)(unsigned char)s[i / 2] << 8 |
		    (unsigned char)s[i - 1];
	}
	return mix(a ^ h, b);
}

/* What is looked up is anywhere in a table: with small pages each look costs a walk through the page tables too. */
void *profile_table_alloc(size_t bytes)
{
	void *ret = aligned_alloc(bytes < LARGE_PAGE ? 64 : LARGE_PAGE, bytes);

	if (ret && bytes >= LARGE_PAGE)
		madvise(ret, bytes, MADV_HUGEPAGE);
	return ret ? memset(ret, 0, bytes) : NULL;
}

static void move_slots(struct profile_table *t, uint32_t *slots, size_t n, const struct profile *p,
		       uint64_t (*hash_of)(const struct profile *, uint32_t))
{
	for (size_t i = 0; t->mask && i <= t->mask; i++) {
		size_t at;

		if (!t->slots[i])
			continue;
		at = hash_of(p, t->slots[i] - 1) & (n - 1);
		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->mask = n - 1;
}

/* Room for one more at two thirds full at most: @hash_of gives the hashes of those that move. */
static int table_room(struct profile_table *t, const struct profile *p,
		      uint64_t (*hash_of)(const struct profile *, uint32_t))
{
	size_t n = t->mask ? (t->mask + 1) * 2 : 64;
	uint32_t *slots;

	if (t->mask && (t->used + 1) * 3 <= (t->mask + 1) * 2)
		return 0;
	slots = profile_table_alloc(n * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	move_slots(t, slots, n, p, hash_of);
	return 0;
}

int profile_table_reset(struct profile_table *t, size_t n)
{
	size_t size = 64;

	while (size * 2 < n * 3 + 3)
		size *= 2;
	free(t->slots);
	*t = (struct profile_table){ .slots = profile_table_alloc(size * sizeof(*t->slots)) };
	if (!t->slots)
		return -ENOMEM;
	t->mask = size - 1;
	return 0;
}

static void table_put(struct profile_table *t, size_t at, uint32_t number)
{
	t->slots[at] = number + 1;
	t->used++;
}

/* Strings. */

static char *arena_take(struct profile_index *x, size_t len)
{
	char *ret;

	if (len > x->left) {
		size_t size = len > ARENA_CHUNK / 8 ? len : ARENA_CHUNK;
		struct arena_chunk *c = malloc(sizeof(*c) + size);

		if (!c)
			return NULL;
		c->next = x->chunks;
		x->chunks = c;
		if (size != ARENA_CHUNK)
			return c->bytes;
		x->free = c->bytes;
		x->left = size;
	}
	ret = x->free;
	x->free += len;
	x->left -= len;
	return ret;
}

/* Of a string of ours: its length stands before it. */
static size_t text_len(const char *s) { return load4(s - sizeof(uint32_t)); }

static uint64_t string_hash(const struct profile *p, uint32_t i)
{
	return hash_bytes(p->index->texts.v[i], text_len(p->index->texts.v[i]));
}

static bool same_text(const char *s, const char *bytes, size_t len)
{
	return text_len(s) == len && !memcmp(s, bytes, len);
}

/* The profile's copy of a string without NULs; NULL: out of memory. */
static const char *intern(struct profile *p, const char *s, size_t len)
{
	struct profile_index *x = p->index;
	uint32_t head = (uint32_t)len;
	char *copy;
	size_t at;

	if (len >= NONE || x->texts.n >= NONE - 1 || table_room(&x->strings, p, string_hash))
		return NULL;
	for (at = hash_bytes(s, len) & x->strings.mask; x->strings.slots[at]; at = (at + 1) & x->strings.mask)
		if (same_text(x->texts.v[x->strings.slots[at] - 1], s, len))
			return x->texts.v[x->strings.slots[at] - 1];
	copy = arena_take(x, sizeof(head) + len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, &head, sizeof(head));
	copy += sizeof(head);
	memcpy(copy, s, len);
	copy[len] = 0;
	if (vec_push(&x->texts, copy))
		return NULL;
	table_put(&x->strings, at, (uint32_t)x->texts.n - 1);
	return copy;
}

/* Frames. */

/* A frame that is looked for: its name need not end with a NUL, its other strings are never NULL but for the file. */
struct wanted {
	const struct frame *f;
	const char *name;
	size_t len;
	uint32_t hash;
};

static uint32_t wanted_hash(const char *name, size_t len, const struct frame *f)
{
	uint64_t h = hash_bytes(name, len);

	if (f->module && *f->module)
		h = mix(h, hash_bytes(f->module, strlen(f->module)));
	if (f->file)
		h = mix(h, hash_bytes(f->file, strlen(f->file)));
	h ^= (uint64_t)f->line << 20 ^ (uint64_t)f->kind << 4 ^ f->unnamed;
	return (uint32_t)(h ^ h >> 32);
}

static bool same_or_null(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static bool is_wanted(const struct profile_frame *have, const struct wanted *w)
{
	const struct frame *f = w->f;

	return same_text(have->name, w->name, w->len) && have->kind == f->kind && have->line == f->line &&
	       have->unnamed == f->unnamed && !strcmp(have->module, f->module ? f->module : "") &&
	       same_or_null(have->file, f->file);
}

static uint64_t frame_hash(const struct profile *p, uint32_t i) { return p->index->frame_hashes.v[i]; }

static uint32_t add_frame(struct profile *p, const struct wanted *w, size_t at)
{
	const char *module = w->f->module ? w->f->module : "";
	struct profile_frame f = { .line = w->f->line, .kind = w->f->kind, .unnamed = w->f->unnamed };

	f.name = intern(p, w->name, w->len);
	f.module = intern(p, module, strlen(module));
	f.file = w->f->file ? intern(p, w->f->file, strlen(w->f->file)) : NULL;
	if (!f.name || !f.module || (w->f->file && !f.file) || p->frames.n >= NONE - 1)
		return NONE;
	if (vec_reserve(&p->index->frame_hashes, p->frames.n + 1) || vec_push(&p->frames, f))
		return NONE;
	p->index->frame_hashes.v[p->frames.n - 1] = w->hash;
	p->index->frame_hashes.n = p->frames.n;
	table_put(&p->index->frames, at, (uint32_t)p->frames.n - 1);
	return (uint32_t)p->frames.n - 1;
}

static uint32_t find_frame(struct profile *p, const struct frame *f, const char *name, size_t len)
{
	struct wanted w = { .f = f, .name = name, .len = len, .hash = wanted_hash(name, len, f) };
	struct profile_table *t = &p->index->frames;
	size_t at;

	if (table_room(t, p, frame_hash))
		return NONE;
	for (at = w.hash & t->mask; t->slots[at]; at = (at + 1) & t->mask) {
		uint32_t have = t->slots[at] - 1;

		if (p->index->frame_hashes.v[have] == w.hash && is_wanted(&p->frames.v[have], &w))
			return have;
	}
	return add_frame(p, &w, at);
}

uint32_t profile_frame(struct profile *p, const struct frame *f)
{
	return find_frame(p, f, f->name ? f->name : "", f->name ? strlen(f->name) : 0);
}

/* A C string cannot hold a NUL: each becomes \x00, four letters. */
static uint32_t frame_with_nul(struct profile *p, const struct frame *f, const char *name, size_t len)
{
	char *copy = malloc(len * 4), *to = copy;
	uint32_t ret = NONE;

	if (!copy)
		return NONE;
	for (size_t i = 0; i < len; i++) {
		if (name[i]) {
			*to++ = name[i];
			continue;
		}
		memcpy(to, "\\x00", 4);
		to += 4;
	}
	ret = find_frame(p, f, copy, (size_t)(to - copy));
	free(copy);
	return ret;
}

uint32_t profile_frame_bytes(struct profile *p, const char *name, size_t len, enum frame_kind kind, bool unnamed)
{
	struct frame f = { .module = "", .kind = kind, .unnamed = unnamed };

	/* What is found is as long as @name only without a NUL in it: the strings that are kept have none. */
	if (memchr(name, 0, len))
		return frame_with_nul(p, &f, name, len);
	return find_frame(p, &f, name, len);
}

uint32_t profile_frame_named(struct profile *p, const char *name, size_t len, enum frame_kind kind)
{
	return profile_frame_bytes(p, name, len, kind, false);
}

/* Nodes. */

static uint64_t pair_hash(uint64_t a, uint64_t b) { return mix(a << 32 | b, 0x8ebc6af09c88c6e3u); }

static uint64_t node_hash(const struct profile *p, uint32_t i)
{
	return pair_hash(p->nodes.v[i].parent, p->nodes.v[i].frame);
}

static uint32_t push_node(struct profile *p, uint32_t parent, uint32_t frame)
{
	struct profile_node n = { .parent = parent, .frame = frame };

	if (p->nodes.n >= NONE - 1 || vec_push(&p->nodes, n))
		return NONE;
	return (uint32_t)p->nodes.n - 1;
}

/*
 * A stack that is met for the first time makes a chain of nodes with consecutive numbers. So the node behind @parent is
 * looked at first, and those that stand there are not in the table: it holds only where chains begin.
 */
uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t frame)
{
	const struct profile_node *next = p->nodes.v + parent + 1;
	struct profile_table *t = &p->index->nodes;
	uint32_t ret;
	size_t at;

	if ((size_t)parent + 1 == p->nodes.n)
		return push_node(p, parent, frame);
	if (next->parent == parent && next->frame == frame)
		return parent + 1;
	if (table_room(t, p, node_hash))
		return NONE;
	for (at = pair_hash(parent, frame) & t->mask; t->slots[at]; at = (at + 1) & t->mask) {
		const struct profile_node *n = &p->nodes.v[t->slots[at] - 1];

		if (n->parent == parent && n->frame == frame)
			return t->slots[at] - 1;
	}
	ret = push_node(p, parent, frame);
	if (ret != NONE)
		table_put(t, at, ret);
	return ret;
}

void profile_node_soon(const struct profile *p, uint32_t parent, uint32_t frame)
{
	const struct profile_table *t = &p->index->nodes;

	__builtin_prefetch(&p->nodes.v[parent + 1]);
	if (t->mask)
		__builtin_prefetch(&t->slots[pair_hash(parent, frame) & t->mask]);
}

int profile_index_nodes(struct profile *p)
{
	struct profile_table *t = &p->index->nodes;
	size_t n = 0;

	for (uint32_t i = 1; i < p->nodes.n; i++)
		n += p->nodes.v[i].parent + 1 != i;
	if (profile_table_reset(t, n > t->used ? n : t->used)) /* it fills as much again */
		return -ENOMEM;
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		size_t at = node_hash(p, i) & t->mask;

		if (p->nodes.v[i].parent + 1 == i)
			continue;
		while (t->slots[at])
			at = (at + 1) & t->mask;
		table_put(t, at, i);
	}
	return 0;
}

int profile_nodes(struct profile *p, uint32_t parent, const uint32_t *frames, size_t n, uint32_t *ret)
{
	size_t i = 0;

	/* Nothing is below the newest node: all that follows is new. */
	for (; i < n && (size_t)parent + 1 < p->nodes.n; i++) {
		parent = ret[i] = profile_node(p, parent, frames[i]);
		if (parent == NONE)
			return -ENOMEM;
	}
	if (p->nodes.n + (n - i) >= NONE || vec_reserve(&p->nodes, p->nodes.n + (n - i)))
		return -ENOMEM;
	for (; i < n; i++) {
		p->nodes.v[p->nodes.n] = (struct profile_node){ .parent = parent, .frame = frames[i] };
		parent = ret[i] = (uint32_t)p->nodes.n++;
	}
	return 0;
}

/* Threads. */

static uint64_t thread_hash(const struct profile *p, uint32_t i)
{
	return pair_hash((uint32_t)p->threads.v[i].pid, (uint32_t)p->threads.v[i].tid);
}

uint32_t profile_thread(struct profile *p, int pid, int tid, const char *comm, const char *process)
{
	struct profile_thread n = { .pid = pid, .tid = tid };
	struct profile_table *t = &p->index->threads;
	size_t at;

	n.comm = intern(p, comm ? comm : "", comm ? strlen(comm) : 0);
	n.process = intern(p, process ? process : "", process ? strlen(process) : 0);
	if (!n.comm || !n.process || table_room(t, p, thread_hash))
		return NONE;
	for (at = pair_hash((uint32_t)pid, (uint32_t)tid) & t->mask; t->slots[at]; at = (at + 1) & t->mask) {
		const struct profile_thread *have = &p->threads.v[t->slots[at] - 1];

		/* Interned: equal texts are one. */
		if (have->pid == pid && have->tid == tid && have->comm == n.comm && have->process == n.process)
			return t->slots[at] - 1;
	}
	if (p->threads.n >= NONE - 1 || vec_push(&p->threads, n))
		return NONE;
	table_put(t, at, (uint32_t)p->threads.n - 1);
	return (uint32_t)p->threads.n - 1;
}

/* Weights. */

static uint64_t weight_key(uint32_t node, uint32_t thread, unsigned state)
{
	return pair_hash(node, thread) + state * 0x9e3779b9u;
}

static uint64_t weight_hash(const struct profile *p, uint32_t i)
{
	const struct profile_weight *w = &p->weights.v[i];

	return weight_key(w->node, w->thread, w->state);
}

static uint64_t add_up(struct profile *p, uint64_t a, uint64_t b)
{
	uint64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	p->totals.saturated = true;
	return UINT64_MAX;
}

void profile_add_soon(const struct profile *p, uint32_t node, uint32_t thread, enum profile_state state)
{
	const struct profile_table *t = &p->index->weights;

	if (t->mask)
		__builtin_prefetch(&t->slots[weight_key(node, thread, state) & t->mask]);
}

int profile_add(struct profile *p, uint32_t node, uint32_t thread, enum profile_state state, uint64_t count,
		uint64_t value_ns)
{
	struct profile_weight n = {
		.node = node, .thread = thread, .state = (uint8_t)state, .count = count, .value_ns = value_ns
	};
	struct profile_table *t = &p->index->weights;
	struct profile_weight *w;
	size_t at;

	if (p->weights.n >= NONE - 1 || table_room(t, p, weight_hash))
		return -ENOMEM;
	for (at = weight_key(node, thread, state) & t->mask; t->slots[at]; at = (at + 1) & t->mask) {
		w = &p->weights.v[t->slots[at] - 1];
		if (w->node != node || w->thread != thread || w->state != state)
			continue;
		w->count = add_up(p, w->count, count);
		w->value_ns = add_up(p, w->value_ns, value_ns);
		return 0;
	}
	if (vec_push(&p->weights, n))
		return -ENOMEM;
	table_put(t, at, (uint32_t)p->weights.n - 1);
	return 0;
}

/* The whole. */

struct profile *profile_new(void)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pruned = NONE;
	p->index = calloc(1, sizeof(*p->index));
	if (!p->index || push_node(p, NONE, NONE) == NONE)
		return profile_free(p);
	return p;
}

static void index_free(struct profile_index *x)
{
	struct arena_chunk *next;

	if (!x)
		return;
	for (struct arena_chunk *c = x->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(x->strings.slots);
	free(x->frames.slots);
	free(x->nodes.slots);
	free(x->threads.slots);
	free(x->weights.slots);
	vec_done(&x->texts);
	vec_done(&x->frame_hashes);
	vec_done(&x->generations);
	free(x);
}

struct profile *profile_free(struct profile *p)
{
	if (!p)
		return NULL;
	index_free(p->index);
	vec_done(&p->frames);
	vec_done(&p->nodes);
	vec_done(&p->threads);
	vec_done(&p->weights);
	free(p);
	return NULL;
}
