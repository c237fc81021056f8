/* SPDX-License-Identifier: MIT */
/* The secret behind all hashes, and hashes of bytes. */
#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>

uint64_t hash_secret[2] = { 0xa0761d6478bd642f, 0xe7037ed1a0b428db };

__attribute__((constructor)) static void choose_secret(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t bytes[2] = { 0 };

	if (random)
		memcpy(bytes, random, sizeof(bytes));
	hash_secret[0] ^= bytes[0];
	/* A factor: odd, and large whatever the random bytes are. */
	hash_secret[1] = (hash_secret[1] ^ bytes[1]) | 0x1000000000000001;
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

uint64_t hash_bytes(const void *bytes, size_t len)
{
	const char *s = bytes;
	uint64_t h = len, a = 0, b = 0;
	size_t left = len;

	for (; left > 16; left -= 16, s += 16)
		h = hash_pair(load8(s) ^ h, load8(s + 8));
	if (left >= 8) {
		a = load8(s);
		b = load8(s + left - 8);
	} else if (left >= 4) {
		a = load4(s);
		b = load4(s + left - 4);
	} else if (left) {
		a = (uint64_t)(unsigned char)s[0] << 16 | (uint64_t)(unsigned char)s[left / 2] << 8 |
		    (unsigned char)s[left - 1];
	}
	return hash_pair(a ^ h, b);
}
