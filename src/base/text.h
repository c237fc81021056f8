/* SPDX-License-Identifier: MIT */
/* Small questions about text: globs, near misses, numbers that people type, numbers for people. */
#ifndef UT_BASE_TEXT_H
#define UT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True when @name fits @pattern, where '*' is any run and '?' any one byte. Linear in practice, no recursion. */
bool glob_match(const char *pattern, const char *name);
bool glob_is_pattern(const char *s);

/*
 * Edit distance (insertions, deletions, replacements, neighbours exchanged; runs of '_' and '-' count as one and alike, case costs
 * nothing).
 */
size_t edit_distance(const char *a, const char *b);

/*
 * Near misses of @wanted among @names: at most @max indices, best first, into @ret; returns how many.
 * Only names that a person would take for a slip are offered: a distance up to a third of the length, or one that
 * holds the other.
 */
size_t suggest(const char *wanted, const char *const *names, size_t n, size_t *ret, size_t max);

/* A whole number in decimal or 0x hexadecimal, nothing else around it. 0 or -EINVAL / -ERANGE. */
int parse_u64(const char *s, uint64_t *ret);
/* A size such as 4096, 64K, 8M. 0, -EINVAL or -ERANGE. */
int parse_size(const char *s, uint64_t *ret);
/* Seconds such as 3, 0.5, 250ms, 2m. Nanoseconds into @ret. */
int parse_duration(const char *s, uint64_t *ret_ns);

/* 1234567 as "1,234,567" into @ret of at least 32 bytes; returns @ret. */
const char *human_count(uint64_t v, char *ret);
/* Nanoseconds as "812 ns", "3.21 ms", "1.5 s" into @ret of at least 32 bytes; returns @ret. */
const char *human_ns(uint64_t ns, char *ret);
/* Bytes as "812B", "12.3M", "1023K" (of 1024) into @ret of at least 32 bytes; returns @ret. At most five bytes below 1000T. */
const char *human_bytes(uint64_t v, char *ret);
/* "probe" or "probes". */
#define plural(n, word) ((n) == 1 ? word : word "s")

#endif
