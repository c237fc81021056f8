// SPDX-License-Identifier: MIT
/* Built-in functions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm.h"

/* ---- arguments ---- */

static struct object *want(struct mutator *m, value v, enum kind kind, const char *what)
{
	if (!is_object(v) || to_object(v)->kind != kind)
		vm_fail(m, "%s is required", what);
	return to_object(v);
}

static struct object *want_array(struct mutator *m, value v) { return want(m, v, KIND_ARRAY, "an array"); }
static struct object *want_text(struct mutator *m, value v) { return want(m, v, KIND_TEXT, "a string"); }

static int64_t want_int(struct mutator *m, value v)
{
	if (!is_int(v))
		vm_fail(m, "a number is required");
	return to_int(v);
}

static uint64_t want_index(struct mutator *m, const struct object *o, value v)
{
	int64_t i = want_int(m, v);

	if (i < 0 || (uint64_t)i >= o->length)
		vm_fail(m, "index %" PRId64 " is out of range for an array of length %" PRIu64, i, o->length);
	return (uint64_t)i;
}

static uint64_t want_length(struct mutator *m, value v)
{
	int64_t n = want_int(m, v);

	if (n < 0)
		vm_fail(m, "invalid length %" PRId64, n);
	return (uint64_t)n;
}

/* ---- numbers ---- */

static int64_t divisor(struct mutator *m, value v)
{
	int64_t n = want_int(m, v);

	if (!n)
		vm_fail(m, "division by 0");
	return n;
}

/* Only the smallest number divided by -1 overflows; it wraps. */
static value prim_divide(struct mutator *m, value *args)
{
	return from_int(want_int(m, args[0]) / divisor(m, args[1]));
}

static value prim_rest(struct mutator *m, value *args) { return from_int(want_int(m, args[0]) % divisor(m, args[1])); }

static value prim_not(struct mutator *m, value *args)
{
	(void)m;
	return from_int(!is_true(args[0]));
}

/* ---- arrays ---- */

static value prim_array(struct mutator *m, value *args)
{
	return from_object(heap_new(m, KIND_ARRAY, want_length(m, args[0])));
}

static value prim_pair(struct mutator *m, value *args)
{
	struct object *o = heap_new(m, KIND_ARRAY, 2);

	heap_store(m, o, 0, args[0]);
	heap_store(m, o, 1, args[1]);
	return from_object(o);
}

static value prim_get(struct mutator *m, value *args)
{
	const struct object *o = want_array(m, args[0]);

	return field_load(o, want_index(m, o, args[1]));
}

static value prim_put(struct mutator *m, value *args)
{
	struct object *o = want_array(m, args[0]);

	heap_store(m, o, want_index(m, o, args[1]), args[2]);
	return args[2];
}

static value prim_length(struct mutator *m, value *args)
{
	if (is_object(args[0]) && to_object(args[0])->kind == KIND_TEXT)
		return from_int((int64_t)to_object(args[0])->length);
	return from_int((int64_t)want_array(m, args[0])->length);
}

/* ---- strings ---- */

value text_new(struct mutator *m, const char *bytes, size_t len)
{
	struct object *o = heap_new(m, KIND_TEXT, len);

	memcpy(text_bytes(o), bytes, len);
	return from_object(o);
}

static value prim_text(struct mutator *m, value *args)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRId64, want_int(m, args[0]));

	return text_new(m, digits, (size_t)len);
}

static value prim_cat(struct mutator *m, value *args)
{
	uint64_t first = want_text(m, args[0])->length, second = want_text(m, args[1])->length;
	struct object *o = heap_new(m, KIND_TEXT, first + second);

	memcpy(text_bytes(o), text_bytes(to_object(args[0])), first);
	memcpy(text_bytes(o) + first, text_bytes(to_object(args[1])), second);
	return from_object(o);
}

static value prim_hash(struct mutator *m, value *args)
{
	struct object *o = want_text(m, args[0]);
	uint32_t hash = 2166136261u;

	for (uint64_t i = 0; i < o->length; i++)
		hash = (hash ^ (unsigned char)text_bytes(o)[i]) * 16777619u;
	return from_int(hash);
}

static value prim_same(struct mutator *m, value *args)
{
	struct object *a = want_text(m, args[0]), *b = want_text(m, args[1]);

	return from_int(a->length == b->length && !memcmp(text_bytes(a), text_bytes(b), a->length));
}

/* ---- threads ---- */

enum { CHANNEL_FIRST, CHANNEL_COUNT, CHANNEL_ITEMS };

static struct object *want_channel(struct mutator *m, value v) { return want(m, v, KIND_CHANNEL, "a channel"); }

static value prim_channel(struct mutator *m, value *args)
{
	uint64_t capacity = want_length(m, args[0]);
	struct object *o = heap_new(m, KIND_CHANNEL, CHANNEL_ITEMS + (capacity ? capacity : 1));

	heap_store(m, o, CHANNEL_FIRST, from_int(0));
	heap_store(m, o, CHANNEL_COUNT, from_int(0));
	return from_object(o);
}

static uint64_t capacity_of(const struct object *channel) { return channel->length - CHANNEL_ITEMS; }
static uint64_t number_at(const struct object *channel, unsigned i) { return (uint64_t)to_int(field_load(channel, i)); }

static value prim_send(struct mutator *m, value *args)
{
	struct world *w = &m->vm->world;
	struct object *o = want_channel(m, args[0]);
	uint64_t count;

	pthread_mutex_lock(&w->monitor);
	while ((count = number_at(o, CHANNEL_COUNT)) == capacity_of(o)) {
		world_wait_change(m);
		o = to_object(args[0]);
	}
	heap_store(m, o, CHANNEL_ITEMS + (number_at(o, CHANNEL_FIRST) + count) % capacity_of(o), args[1]);
	heap_store(m, o, CHANNEL_COUNT, from_int((int64_t)count + 1));
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->monitor);
	return NIL;
}

static value prim_receive(struct mutator *m, value *args)
{
	struct world *w = &m->vm->world;
	struct object *o = want_channel(m, args[0]);
	uint64_t count, first;
	value item;

	pthread_mutex_lock(&w->monitor);
	while (!(count = number_at(o, CHANNEL_COUNT))) {
		world_wait_change(m);
		o = to_object(args[0]);
	}
	first = number_at(o, CHANNEL_FIRST);
	item = field_load(o, CHANNEL_ITEMS + first);
	heap_store(m, o, CHANNEL_ITEMS + first, NIL);
	heap_store(m, o, CHANNEL_FIRST, from_int((int64_t)((first + 1) % capacity_of(o))));
	heap_store(m, o, CHANNEL_COUNT, from_int((int64_t)count - 1));
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->monitor);
	return item;
}

static value prim_join(struct mutator *m, value *args)
{
	int64_t id = want_int(m, args[0]);
	value result;

	if (id < 0 || id > UINT32_MAX || !world_join(m, (unsigned)id, &result))
		vm_fail(m, "cannot join thread %" PRId64, id);
	return result;
}

/* ---- others ---- */

static value prim_gc(struct mutator *m, value *args)
{
	(void)args;
	collect(m, "requested", true, 0);
	return NIL;
}

static value prim_print(struct mutator *m, value *args)
{
	(void)m;
	if (is_int(args[0]))
		printf("%" PRId64 "\n", to_int(args[0]));
	else if (is_object(args[0]) && to_object(args[0])->kind == KIND_TEXT)
		printf("%.*s\n", (int)to_object(args[0])->length, text_bytes(to_object(args[0])));
	else
		puts(is_object(args[0]) ? "[array]" : "nil");
	fflush(stdout);
	return args[0];
}

static value prim_abort(struct mutator *m, value *args)
{
	(void)m, (void)args;
	abort();
}

const struct primitive primitives[] = {
	{ "/", 2, prim_divide },	{ "%", 2, prim_rest },	      { "not", 1, prim_not },
	{ "array", 1, prim_array },	{ "pair", 2, prim_pair },     { "get", 2, prim_get },
	{ "put", 3, prim_put },		{ "length", 1, prim_length }, { "text", 1, prim_text },
	{ "cat", 2, prim_cat },		{ "hash", 1, prim_hash },     { "same", 2, prim_same },
	{ "channel", 1, prim_channel }, { "send", 2, prim_send },     { "receive", 1, prim_receive },
	{ "join", 1, prim_join },	{ "gc", 0, prim_gc },	      { "print", 1, prim_print },
	{ "abort", 0, prim_abort },
};

const unsigned primitive_count = sizeof(primitives) / sizeof(*primitives);
