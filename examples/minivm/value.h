/* SPDX-License-Identifier: MIT */
/* Values and objects: an integer has its lowest bit set, nil is 0, and other values are addresses of heap objects. */
#ifndef MINIVM_VALUE_H
#define MINIVM_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t value;

#define NIL ((value)0)
#define INT_MOST (INT64_MAX >> 1)

static inline bool is_int(value v) { return v & 1; }
static inline value from_int(int64_t n) { return (uint64_t)n << 1 | 1; }
static inline int64_t to_int(value v) { return (int64_t)v >> 1; }
static inline bool is_object(value v) { return v && !(v & 1); }
/* nil and 0 are false. */
static inline bool is_true(value v) { return v > 1; }

/* Odd numbers, so that the heap check detects pointers to anything but objects. */
enum kind {
	KIND_ARRAY = 0xa1,
	KIND_CHANNEL = 0xc3, /* an array: index of the oldest item, number of items, then the items */
	KIND_TEXT = 0x75,
	KIND_FREE = 0xf7, /* a hole in the old space */
	KIND_MOVED = 0x3b, /* a forwarding pointer in the nursery */
};

/* Addresses and sizes of objects are multiples of 16. */
struct object {
	uint32_t size; /* in bytes, including this header */
	uint8_t kind;
	uint8_t marked;
	uint8_t remembered; /* an old object in the remembered set of a thread */
	uint8_t unused;
	union {
		uint64_t length; /* fields, or bytes of a string */
		struct object *next; /* of a hole: the next one */
		struct object *moved; /* new address */
	};
	value fields[];
};

#define OBJECT_ALIGN 16

static inline struct object *to_object(value v) { return (struct object *)v; }
static inline value from_object(const struct object *o) { return (value)o; }
static inline char *text_bytes(struct object *o) { return (char *)o->fields; }
static inline bool has_fields(const struct object *o) { return o->kind == KIND_ARRAY || o->kind == KIND_CHANNEL; }

/* Threads share objects without a lock, so an object must be initialized before another thread can see it. */
static inline value field_load(const struct object *o, uint64_t i)
{
	return __atomic_load_n(&o->fields[i], __ATOMIC_ACQUIRE);
}

#endif
