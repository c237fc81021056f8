/* SPDX-License-Identifier: MIT */
/*
 * Hashes of numbers and bytes for tables in memory. Every bit of the input reaches every bit of the hash. A secret
 * of this process goes into each, so that a program that chooses names or numbers cannot choose many with the same
 * hash; hashes therefore differ from run to run and must not reach any output.
 */
#ifndef UT_BASE_HASH_H
#define UT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Set before main from the random bytes that the kernel gives each process. */
extern uint64_t hash_secret[2];

/*
 * The order counts. With the hash of what came before as @a it hashes sequences of any length. Two products, as in
 * wyhash: after one alone, numbers at equal distances may still stand at equal distances.
 */
static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ hash_secret[0]) * (b ^ hash_secret[1]);

	product =
		(unsigned __int128)((uint64_t)product ^ hash_secret[0]) * ((uint64_t)(product >> 64) ^ hash_secret[1]);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_number(uint64_t v) { return hash_pair(v, 0); }

uint64_t hash_bytes(const void *bytes, size_t len);

#endif
