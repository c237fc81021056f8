/* SPDX-License-Identifier: MIT */
/*
 * A hash index: finds the things of an array by their hash. The things lie in the owner's array, usually a VEC; the
 * index holds their numbers, at most two thirds of its slots, by open addressing.
 *
 *	uint64_t hash = hash_number(pid);
 *	uint32_t i = index_find(&x, hash, n, v.v[n].pid == pid);
 *
 *	if (i == INDEX_NONE && (vec_push(&v, process) || index_add(&x, hash, (uint32_t)v.n - 1)))
 *		return -ENOMEM;
 *
 * The hashes come from base/hash.h.
 */
#ifndef UT_BASE_INDEX_H
#define UT_BASE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define INDEX_NONE UINT32_MAX

struct index_slot {
	uint32_t hash; /* its lower half */
	uint32_t number; /* + 1; 0: free */
};

/* Zero-initialize to use. */
struct index {
	struct index_slot *slots; /* NULL: none yet */
	size_t mask; /* slots - 1, of a power of two */
	size_t n; /* numbers in it */
};

/*
 * The first number under @hash for which @condition holds, INDEX_NONE without one. @i is the name that @condition uses
 * for the number.
 */
#define index_find(index_, hash_, i, condition) \
	({ \
		const struct index *find_index_ = (index_); \
		uint32_t find_hash_ = (uint32_t)(hash_), i = INDEX_NONE; \
		size_t find_at_ = find_hash_ & find_index_->mask; \
\
		for (; find_index_->slots && find_index_->slots[find_at_].number; \
		     find_at_ = (find_at_ + 1) & find_index_->mask) { \
			if (find_index_->slots[find_at_].hash != find_hash_) \
				continue; \
			i = find_index_->slots[find_at_].number - 1; \
			if (condition) \
				break; \
			i = INDEX_NONE; \
		} \
		i; \
	})

/* Adds a number that is not there yet under @hash. 0, or -ENOMEM and the index is as it was. */
int index_add(struct index *x, uint64_t hash, uint32_t number);
/* Makes room for @n numbers in all: until then index_add does not fail. 0, or -ENOMEM and the index is as it was. */
int index_reserve(struct index *x, size_t n);
/* Removes a number from under its hash; nothing happens where it is not. */
void index_remove(struct index *x, uint64_t hash, uint32_t number);
/* The element with this hash has moved in its array: under @hash, @from becomes @to. */
void index_renumber(struct index *x, uint64_t hash, uint32_t from, uint32_t to);
/* Empties the index and keeps its slots. */
void index_clear(struct index *x);
void index_done(struct index *x);

/* Brings the slot nearer that index_find looks at first. */
static inline void index_prefetch(const struct index *x, uint64_t hash)
{
	if (x->slots)
		__builtin_prefetch(&x->slots[(uint32_t)hash & x->mask]);
}

/* Zeroed memory for a table of a power of two bytes, for free(); in huge pages where it is large. NULL: no memory. */
void *index_alloc(size_t bytes);

#endif
