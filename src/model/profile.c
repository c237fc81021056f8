/* SPDX-License-Identifier: MIT */
/*
 * The tree of a profile. Strings, frames, nodes and weights are found by indexes; what is compared are the
 * things themselves, so that equal hashes never make two things one.
 */
#include "model/profile.h"

#include <string.h>

#include "base/hash.h"
#include "model/profile_priv.h"

#define NONE UINT32_MAX
#define ARENA_CHUNK (64 << 10)

struct arena_chunk {
	struct arena_chunk *next;
	char bytes[];
};

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
static size_t text_len(const char *s)
{
	uint32_t len;

	memcpy(&len, s - sizeof(len), sizeof(len));
	return len;
}

static bool same_text(const char *s, const char *bytes, size_t len)
{
	return text_len(s) == len && !memcmp(s, bytes, len);
}

/* The profile's copy of a string without NULs; NULL: out of memory. */
static const char *intern(struct profile *p, const char *s, size_t len)
{
	struct profile_index *x = p->index;
	uint64_t hash = hash_bytes(s, len);
	uint32_t head = (uint32_t)len, found = index_find(&x->strings, hash, i, same_text(x->texts.v[i], s, len));
	char *copy;

	if (found != NONE)
		return x->texts.v[found];
	if (len >= NONE)
		return NULL;
	copy = arena_take(x, sizeof(head) + len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, &head, sizeof(head));
	copy += sizeof(head);
	memcpy(copy, s, len);
	copy[len] = 0;
	if (vec_reserve(&x->texts, x->texts.n + 1) || index_add(&x->strings, hash, (uint32_t)x->texts.n))
		return NULL;
	return x->texts.v[x->texts.n++] = copy;
}

/* Frames. */

/* A frame that is looked for: its name need not end with a NUL, its other strings are never NULL but for the file. */
struct wanted {
	const struct frame *f;
	const char *name;
	size_t len;
	uint64_t hash;
};

static uint64_t wanted_hash(const char *name, size_t len, const struct frame *f)
{
	uint64_t h = hash_bytes(name, len);

	if (f->module && *f->module)
		h = hash_pair(h, hash_bytes(f->module, strlen(f->module)));
	if (f->file)
		h = hash_pair(h, hash_bytes(f->file, strlen(f->file)));
	return hash_pair(h, (uint64_t)f->line << 20 ^ (uint64_t)f->kind << 4 ^ f->unnamed);
}

static bool same_or_null(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static bool is_wanted(const struct profile_frame *have, const struct wanted *w)
{
	const struct frame *f = w->f;

	return same_text(have->name, w->name, w->len) && have->kind == f->kind && have->line == f->line &&
	       have->unnamed == f->unnamed && !strcmp(have->module, f->module ? f->module : "") &&
	       same_or_null(have->file, f->file);
}

static uint32_t add_frame(struct profile *p, const struct wanted *w)
{
	const char *module = w->f->module ? w->f->module : "";
	struct profile_frame f = { .line = w->f->line, .kind = w->f->kind, .unnamed = w->f->unnamed };

	f.name = intern(p, w->name, w->len);
	f.module = intern(p, module, strlen(module));
	f.file = w->f->file ? intern(p, w->f->file, strlen(w->f->file)) : NULL;
	if (!f.name || !f.module || (w->f->file && !f.file))
		return NONE;
	if (vec_reserve(&p->frames, p->frames.n + 1) || index_add(&p->index->frames, w->hash, (uint32_t)p->frames.n))
		return NONE;
	p->frames.v[p->frames.n] = f;
	return (uint32_t)p->frames.n++;
}

static uint32_t find_frame(struct profile *p, const struct frame *f, const char *name, size_t len)
{
	struct wanted w = { .f = f, .name = name, .len = len, .hash = wanted_hash(name, len, f) };
	uint32_t found = index_find(&p->index->frames, w.hash, i, is_wanted(&p->frames.v[i], &w));

	return found != NONE ? found : add_frame(p, &w);
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

static uint64_t node_hash(const struct profile_node *n) { return hash_pair(n->parent, n->frame); }

static bool is_node(const struct profile_node *n, uint32_t parent, uint32_t frame)
{
	return n->parent == parent && n->frame == frame;
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
	uint64_t hash = hash_pair(parent, frame);
	struct index *x = &p->index->nodes;
	uint32_t ret;

	if ((size_t)parent + 1 == p->nodes.n)
		return push_node(p, parent, frame);
	if (is_node(&p->nodes.v[parent + 1], parent, frame))
		return parent + 1;
	ret = index_find(x, hash, i, is_node(&p->nodes.v[i], parent, frame));
	if (ret != NONE)
		return ret;
	ret = push_node(p, parent, frame);
	if (ret == NONE || !index_add(x, hash, ret))
		return ret;
	p->nodes.n--;
	return NONE;
}

void profile_node_soon(const struct profile *p, uint32_t parent, uint32_t frame)
{
	__builtin_prefetch(&p->nodes.v[parent + 1]);
	index_prefetch(&p->index->nodes, hash_pair(parent, frame));
}

int profile_index_nodes(struct profile *p)
{
	struct index *x = &p->index->nodes;
	int r = 0;

	index_clear(x);
	for (uint32_t i = 1; !r && i < p->nodes.n; i++)
		if (p->nodes.v[i].parent + 1 != i)
			r = index_add(x, node_hash(&p->nodes.v[i]), i);
	return r;
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

static bool is_thread(const struct profile_thread *a, const struct profile_thread *b)
{
	/* Interned: equal texts are one. */
	return a->pid == b->pid && a->tid == b->tid && a->comm == b->comm && a->process == b->process;
}

uint32_t profile_thread(struct profile *p, int pid, int tid, const char *comm, const char *process)
{
	struct profile_thread n = { .pid = pid, .tid = tid };
	uint64_t hash = hash_pair((uint32_t)pid, (uint32_t)tid);
	uint32_t found;

	n.comm = intern(p, comm ? comm : "", comm ? strlen(comm) : 0);
	n.process = intern(p, process ? process : "", process ? strlen(process) : 0);
	if (!n.comm || !n.process)
		return NONE;
	found = index_find(&p->index->threads, hash, i, is_thread(&p->threads.v[i], &n));
	if (found != NONE)
		return found;
	if (vec_reserve(&p->threads, p->threads.n + 1) || index_add(&p->index->threads, hash, (uint32_t)p->threads.n))
		return NONE;
	p->threads.v[p->threads.n] = n;
	return (uint32_t)p->threads.n++;
}

/* Weights. */

static uint64_t weight_hash(uint32_t node, uint32_t thread, unsigned state)
{
	return hash_pair(node, (uint64_t)thread << 8 | state);
}

static bool is_weight(const struct profile_weight *a, const struct profile_weight *b)
{
	return a->node == b->node && a->thread == b->thread && a->state == b->state;
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
	index_prefetch(&p->index->weights, weight_hash(node, thread, state));
}

int profile_add(struct profile *p, uint32_t node, uint32_t thread, enum profile_state state, uint64_t count,
		uint64_t value_ns)
{
	struct profile_weight n = {
		.node = node, .thread = thread, .state = (uint8_t)state, .count = count, .value_ns = value_ns
	};
	uint64_t hash = weight_hash(node, thread, state);
	uint32_t found = index_find(&p->index->weights, hash, i, is_weight(&p->weights.v[i], &n));
	struct profile_weight *w;

	if (found == NONE) {
		if (vec_reserve(&p->weights, p->weights.n + 1) ||
		    index_add(&p->index->weights, hash, (uint32_t)p->weights.n))
			return -ENOMEM;
		p->weights.v[p->weights.n++] = n;
		return 0;
	}
	w = &p->weights.v[found];
	w->count = add_up(p, w->count, count);
	w->value_ns = add_up(p, w->value_ns, value_ns);
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
	index_done(&x->strings);
	index_done(&x->frames);
	index_done(&x->nodes);
	index_done(&x->threads);
	index_done(&x->weights);
	vec_done(&x->texts);
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
