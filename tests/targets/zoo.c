/* SPDX-License-Identifier: MIT */
/* A program whose probes carry many shapes of arguments and strings. Prints its pid; the argument is how many rounds. */
#include <sys/sdt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline)) void

int32_t g_i32 = -7;
uint64_t g_u64 = 0xfedcba9876543210ull;

NOINLINE p_const(void) { DTRACE_PROBE2(zoo, konst, 5, -5); }
NOINLINE p_bytes(signed char c, unsigned char u) { DTRACE_PROBE2(zoo, bytes, c, u); }
NOINLINE p_i32(int v, unsigned u) { DTRACE_PROBE2(zoo, i32, v, u); }
NOINLINE p_sib(int *a, long i)
{
	DTRACE_PROBE1(zoo, sib, a[i]);
	__asm__ volatile("" ::"r"(a), "r"(i));
}
NOINLINE p_glob(void) { DTRACE_PROBE2(zoo, glob, g_i32, g_u64); }
NOINLINE p_str(const char *s) { DTRACE_PROBE1(zoo, str, s); }
NOINLINE p_len(const char *s, long n) { DTRACE_PROBE2(zoo, ptrlen, s, n); }
NOINLINE p_none(void) { DTRACE_PROBE(zoo, none); }
NOINLINE p_stack(int x)
{
	volatile int loc = x * 2;
	DTRACE_PROBE1(zoo, stack, loc);
}

static inline __attribute__((always_inline)) void multi(int k) { DTRACE_PROBE1(zoo, multi, k); }
NOINLINE site_a(int k) { multi(k); }
NOINLINE site_b(void) { multi(99); }

/* A note written by hand: its operand is one that sys/sdt.h does not let the compiler choose. */
#define NOTE(name, operand) \
	"990: nop\n" \
	".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n" \
	"991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte 0\n" \
	".asciz \"zoo\"\n.asciz \"" name "\"\n.asciz \"" operand "\"\n994: .balign 4\n.popsection\n"

NOINLINE p_dbl(double d) { __asm__ volatile(NOTE("dbl", "8f@%%xmm0")::"x"(d)); }
NOINLINE p_dbl_old(double d) { __asm__ volatile(NOTE("dblold", "8@%%xmm0")::"x"(d)); }
NOINLINE p_dblnat(double d, float f) { DTRACE_PROBE2(zoo, dblnat, d, f); }

static void strings(const char *big, const char *at_end_of_page)
{
	p_str("hello");
	p_str("");
	p_str(NULL);
	p_str((char *)0x10);
	p_str("tab\there\x1b[31mred\x1b[0m\nline2");
	p_str("\xff\xfe bad utf8");
	p_str("\xc3\xa9t\xc3\xa9 \xe6\x97\xa5");
	p_str("%s%n%d");
	p_str(big);
	p_str(at_end_of_page);
	p_len("no-terminator-here", 2);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000000, arr[4] = { 10, -20, 30, -40 };
	char *guard = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *big = malloc(5001);

	mprotect(guard + 4096, 4096, PROT_NONE);
	memset(guard, 'A', 4096);
	memset(big, 'b', 5000);
	big[5000] = 0;
	fprintf(stderr, "pid %d\n", getpid());
	for (int i = 0; i < n; i++) {
		p_const();
		p_bytes(-3, 253);
		p_i32(-1, 0xffffffffu);
		p_sib(arr, i & 3);
		p_glob();
		strings(big, guard + 4090);
		p_none();
		p_stack(i);
		site_a(i);
		site_b();
		p_dbl(2.5);
		p_dbl_old(2.5);
		p_dblnat(2.5, -0.5f);
		usleep(300000);
	}
	return 0;
}
