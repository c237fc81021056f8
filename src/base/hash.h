/* SPDX-License-Identifier: MIT */
/*
 * Hashes of numbers and bytes for tables in memory. Every bit of the input reaches every bit of the hash. A secret of this process
 * goes into each, so that who chooses names or numbers cannot choose many with one hash; hashes therefore differ from run to
 * run and must not reach any output.
 */
#ifndef UT_BASE_HASH_H
#define UT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Set before main from the random bytes that the kernel gives each process. */
extern uint64_t hash_secret[2];

/* Folding of a 128-bit product, as in wyhash. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_number(uint64_t v) { return hash_fold(v ^ hash_secret[0], hash_secret[1]); }

/* The order counts. With the hash of what came before as @a it hashes sequences of any length. */
static inline uint64_t hash_pair(uint64_t a, uint64_t b) { return hash_fold(a ^ hash_secret[0], b ^ hash_secret[1]); }

uint64_t hash_bytes(const void *bytes, size_t len);

#endif
