/* SPDX-License-Identifier: MIT */
/* Percentiles of many lengths: from all of them, or from buckets that are narrow beside what they hold. */
#include <errno.h>
#include <stdlib.h>

#include "base/sum.h"
#include "model/gcstat_priv.h"

#define PARTS_BITS 7 /* 128 buckets for each power of two */
#define PARTS (1u << PARTS_BITS)
#define BUCKETS ((64 - PARTS_BITS + 1) * PARTS)

static unsigned length_bucket(uint64_t ns)
{
	unsigned power;

	if (ns < PARTS)
		return (unsigned)ns;
	power = 63u - (unsigned)__builtin_clzll(ns);
	return (power - PARTS_BITS + 1) * PARTS + (unsigned)(ns >> (power - PARTS_BITS)) % PARTS;
}

static uint64_t bucket_middle(unsigned bucket)
{
	unsigned shift = bucket / PARTS ? bucket / PARTS - 1 : 0;
	uint64_t low = bucket < PARTS ? bucket : (uint64_t)(PARTS + bucket % PARTS) << shift;

	return low + ((UINT64_C(1) << shift) - 1) / 2;
}

static int move_to_buckets(struct lengths *l)
{
	l->bucket = calloc(BUCKETS, sizeof(*l->bucket));
	if (!l->bucket)
		return -ENOMEM;
	for (size_t i = 0; i < l->exact.n; i++)
		l->bucket[length_bucket(l->exact.v[i])]++;
	vec_done(&l->exact);
	return 0;
}

int lengths_add(struct lengths *l, uint64_t ns)
{
	if (!l->bucket && l->exact.n >= l->max && move_to_buckets(l))
		return -ENOMEM;
	if (l->bucket)
		l->bucket[length_bucket(ns)]++;
	else if (vec_push(&l->exact, ns) < 0)
		return -ENOMEM;
	l->sorted = false;
	l->longest = most_u64(ns, l->longest);
	l->shortest = !l->n || ns < l->shortest ? ns : l->shortest;
	l->n++;
	return 0;
}

static uint64_t bucket_percentile(const struct lengths *l, uint64_t rank)
{
	uint64_t below = 0, ns;
	unsigned b = 0;

	for (; b < BUCKETS - 1; b++) {
		below += l->bucket[b];
		if (below >= rank)
			break;
	}
	ns = bucket_middle(b);
	return ns > l->longest ? l->longest : ns < l->shortest ? l->shortest : ns;
}

uint64_t lengths_percentile(struct lengths *l, unsigned permille)
{
	uint64_t rank = l->n / 1000 * permille + (l->n % 1000 * permille + 999) / 1000;

	if (!l->n)
		return 0;
	rank = rank ? rank : 1;
	if (l->bucket)
		return bucket_percentile(l, rank);
	if (!l->sorted)
		qsort(l->exact.v, l->exact.n, sizeof(*l->exact.v), compare_u64);
	l->sorted = true;
	return l->exact.v[rank - 1];
}

void lengths_done(struct lengths *l)
{
	vec_done(&l->exact);
	free(l->bucket);
	l->bucket = NULL;
}
