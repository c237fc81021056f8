/* SPDX-License-Identifier: MIT */
/*
 * The tree of a profile. Indexes find strings, frames, nodes and weights, and the entries themselves are compared, so equal
 * hashes never merge two of them.
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

static char *arena_alloc(struct profile_index *x, size_t len)
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

/* The length of an interned string, which precedes it. */
static size_t interned_len(const char *s)
{
	uint32_t len;

	memcpy(&len, s - sizeof(len), sizeof(len));
	return len;
}

static bool is_same_string(const char *s, const char *bytes, size_t len)
{
	return interned_len(s) == len && !memcmp(s, bytes, len);
}

/* The profile's copy of a string without NULs; NULL: out of memory. */
static const char *intern(struct profile *p, const char *s, size_t len)
{
	struct profile_index *x = p->index;
	uint64_t hash = hash_bytes(s, len);
	uint32_t head = (uint32_t)len, found = index_find(&x->strings, hash, i, is_same_string(x->texts.v[i], s, len));
	char *copy;

	if (found != NONE)
		return x->texts.v[found];
	if (len >= NONE)
		return NULL;
	copy = arena_alloc(x, sizeof(head) + len + 1);
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

/* The frame of a lookup; its name need not end with a NUL. */
struct wanted {
	const struct frame *f;
	const char *name;
	size_t len;
	uint64_t hash;
};

static bool is_wanted(const struct profile_frame *have, const struct wanted *w)
{
	const struct frame *f = w->f;

	return is_same_string(have->name, w->name, w->len) && have->kind == f->kind && have->line == f->line &&
	       have->unnamed == f->unnamed && !strcmp(have->module, f->module ? f->module : "") &&
	       (have->file == f->file || (have->file && f->file && !strcmp(have->file, f->file)));
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

static uint32_t get_frame(struct profile *p, const struct frame *f, const char *name, size_t len)
{
	struct wanted w = { .f = f, .name = name, .len = len, .hash = hash_bytes(name, len) };
	uint32_t found;

	if (f->module && *f->module)
		w.hash = hash_pair(w.hash, hash_bytes(f->module, strlen(f->module)));
	if (f->file)
		w.hash = hash_pair(w.hash, hash_bytes(f->file, strlen(f->file)));
	w.hash = hash_pair(w.hash, (uint64_t)f->line << 20 ^ (uint64_t)f->kind << 4 ^ f->unnamed);
	found = index_find(&p->index->frames, w.hash, i, is_wanted(&p->frames.v[i], &w));
	return found != NONE ? found : add_frame(p, &w);
}

uint32_t profile_frame(struct profile *p, const struct frame *f)
{
	return get_frame(p, f, f->name ? f->name : "", f->name ? strlen(f->name) : 0);
}

/* A C string cannot hold a NUL: each becomes the four characters \x00. */
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
	ret = get_frame(p, f, copy, (size_t)(to - copy));
	free(copy);
	return ret;
}

uint32_t profile_frame_bytes(struct profile *p, const char *name, size_t len, enum frame_kind kind, bool unnamed)
{
	struct frame f = { .module = "", .kind = kind, .unnamed = unnamed };

	if (memchr(name, 0, len))
		return frame_with_nul(p, &f, name, len);
	return get_frame(p, &f, name, len);
}

uint32_t profile_frame_named(struct profile *p, const char *name, size_t len, enum frame_kind kind)
{
	return profile_frame_bytes(p, name, len, kind, false);
}

/* Nodes. */

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
 * A new stack makes a chain of nodes with consecutive numbers. So the node after @parent is compared first, and such nodes
 * are not in the index, which holds only the beginnings of chains.
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
			r = index_add(x, hash_pair(p->nodes.v[i].parent, p->nodes.v[i].frame), i);
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

uint32_t profile_thread(struct profile *p, int pid, int tid, const char *comm, const char *process)
{
	struct profile_thread n = { .pid = pid, .tid = tid };
	const struct profile_thread *v = p->threads.v;
	uint64_t hash = hash_pair((uint32_t)pid, (uint32_t)tid);
	uint32_t found;

	n.comm = intern(p, comm ? comm : "", comm ? strlen(comm) : 0);
	n.process = intern(p, process ? process : "", process ? strlen(process) : 0);
	if (!n.comm || !n.process)
		return NONE;
	/* Equal strings are interned once, so their addresses are compared. */
	found = index_find(&p->index->threads, hash, i,
			   v[i].pid == pid && v[i].tid == tid && v[i].comm == n.comm && v[i].process == n.process);
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

static uint64_t saturating_sum(struct profile *p, uint64_t a, uint64_t b)
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
	struct profile_weight *w = p->weights.v;
	uint32_t found = index_find(&p->index->weights, hash, i,
				    w[i].node == node && w[i].thread == thread && w[i].state == state);

	if (found == NONE) {
		if (vec_reserve(&p->weights, p->weights.n + 1) ||
		    index_add(&p->index->weights, hash, (uint32_t)p->weights.n))
			return -ENOMEM;
		p->weights.v[p->weights.n++] = n;
		return 0;
	}
	w += found;
	w->count = saturating_sum(p, w->count, count);
	w->value_ns = saturating_sum(p, w->value_ns, value_ns);
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
