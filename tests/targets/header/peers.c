/* SPDX-License-Identifier: MIT */
/*
 * Probes for other tools to read. Says "ready PID", waits for a line of input, fires each once and says "done". What the
 * arguments are stands in tests/live/test_header_peers.py.
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "usertrace.h"

#define NOIPA __attribute__((noinline))

NOIPA void signed_ints(int8_t a, int16_t b, int32_t c, int64_t d);
NOIPA void unsigned_ints(uint8_t a, uint16_t b, uint32_t c, uint64_t d);
NOIPA void text(const char *s, const void *pointer);
NOIPA void twelve(int n);
NOIPA void constants(void);
NOIPA void guarded(int n);
NOIPA void floats(double d, float f, int n);

NOIPA void signed_ints(int8_t a, int16_t b, int32_t c, int64_t d) { UT_PROBE(peers, signed_ints, a, b, c, d); }

NOIPA void unsigned_ints(uint8_t a, uint16_t b, uint32_t c, uint64_t d) { UT_PROBE(peers, unsigned_ints, a, b, c, d); }

NOIPA void text(const char *s, const void *pointer) { UT_PROBE(peers, text, s, pointer); }

NOIPA void twelve(int n)
{
	UT_PROBE(peers, twelve, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, n + 11);
}

NOIPA void constants(void) { UT_PROBE(peers, constants, 5, -5, (uint8_t)255, -1L); }

NOIPA void guarded(int n)
{
	if (UT_PROBE_ENABLED(peers, guarded))
		UT_PROBE(peers, guarded, n);
}

#ifdef FLOATS
NOIPA void floats(double d, float f, int n) { UT_PROBE(peers, floats, d, f, n); }
#endif

int main(void)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	signed_ints(-1, -2, -3, -4);
	unsigned_ints(255, 65534, 4294967293u, UINT64_MAX - 3);
	text("hello", (const void *)0x1234);
	twelve(100);
	constants();
	guarded(9);
#ifdef FLOATS
	floats(2.5, 1.5f, 7);
#endif
	ut_mark("done");
	printf("done\n");
	return 0;
}
