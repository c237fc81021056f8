/* SPDX-License-Identifier: MIT */
/* Pairs of functions that differ by what announces: *_with and *_without. */
#include "usertrace.h"

#if defined(SDT)
#include <sys/sdt.h>
#endif

#define NOIPA __attribute__((noinline))

long hash_without(const unsigned char *text, long n);
long hash_with(const unsigned char *text, long n);
long hash_sdt(const unsigned char *text, long n);
long leaf_without(long a, long b);
long leaf_with(long a, long b);
long mark_without(long a, long b);
long mark_with(long a, long b);
long span_by_hand(long a, long b);
long span_by_scope(long a, long b);

NOIPA long hash_without(const unsigned char *text, long n)
{
	long hash = 5381;

	for (; n; n--, text++)
		hash = (hash ^ *text) * 31;
	return hash;
}

NOIPA long hash_with(const unsigned char *text, long n)
{
	long hash = 5381;

	for (; n; n--, text++) {
		hash = (hash ^ *text) * 31;
		UT_PROBE(quiet, step, hash, text, n);
	}
	return hash;
}

#if defined(SDT)
NOIPA long hash_sdt(const unsigned char *text, long n)
{
	long hash = 5381;

	for (; n; n--, text++) {
		hash = (hash ^ *text) * 31;
		DTRACE_PROBE3(quiet, sdt, hash, text, n);
	}
	return hash;
}
#endif

NOIPA long leaf_without(long a, long b) { return a * b; }

NOIPA long leaf_with(long a, long b)
{
	UT_PROBE(quiet, leaf, a, b, 5, -1);
	return a * b;
}

NOIPA long mark_without(long a, long b) { return a * b; }

NOIPA long mark_with(long a, long b)
{
	ut_mark("quiet");
	return a * b;
}

NOIPA long span_by_hand(long a, long b)
{
	ut_begin("quiet");
	a *= b;
	ut_end("quiet");
	return a;
}

NOIPA long span_by_scope(long a, long b)
{
	UT_SPAN("quiet");
	return a * b;
}
