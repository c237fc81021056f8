/* SPDX-License-Identifier: MIT */
/* Values and objects: an integer has its lowest bit set, nil is 0, all else is the address of an object of the heap. */
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

/* Odd numbers, so that a stray pointer into something else is found by the heap check. */
enum kind {
	KIND_ARRAY = 0xa1,
	KIND_CHANNEL = 0xc3, /* an array: place of the oldest item, number of items, then the items */
	KIND_TEXT = 0x75,
	KIND_FREE = 0xf7, /* a hole in the old space */
	KIND_MOVED = 0x3b, /* left in the nursery by an object that was copied */
};

/* Objects lie at multiples of 16, and their sizes are such. */
struct object {
	uint32_t size; /* in bytes, this head included */
	uint8_t kind;
	uint8_t marked;
	uint8_t remembered; /* an old object that some thread has in its remembered set */
	uint8_t unused;
	union {
		uint64_t length; /* fields, or bytes of a text */
		struct object *next; /* of a hole: the next one */
		struct object *moved; /* where it is now */
	};
	value fields[];
};

#define OBJECT_ALIGN 16

static inline struct object *to_object(value v) { return (struct object *)v; }
static inline value from_object(const struct object *o) { return (value)o; }
static inline char *text_bytes(struct object *o) { return (char *)o->fields; }
static inline bool has_fields(const struct object *o) { return o->kind == KIND_ARRAY || o->kind == KIND_CHANNEL; }

/* Threads share objects without a lock: what one has stored must be whole when another finds it. */
static inline value field_load(const struct object *o, uint64_t i)
{
	return __atomic_load_n(&o->fields[i], __ATOMIC_ACQUIRE);
}

#endif
