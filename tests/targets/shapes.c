/* SPDX-License-Identifier: MIT */
/* Probes whose operands the compiler turns into the less common forms. Known values: tbl[i] = 1000 + i, itbl[3] = 2003,
 * glob = 5. The argument is how many rounds; at the end it prints its pid. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/sdt.h>

struct row {
	char pad[12];
	int v;
	long w;
	short s;
	signed char c;
};

static long tbl[64];
static int itbl[64];
_Thread_local int tls_v = 7;
int glob = 5;
static double dg = 2.5;

static __attribute__((noinline)) long f(long i, struct row *r, long *p, double d, float fl)
{
	DTRACE_PROBE1(shp, sib_global, tbl[i]);
	DTRACE_PROBE1(shp, sib_ptr, p[i]);
	DTRACE_PROBE1(shp, sib_struct, r[i].v);
	DTRACE_PROBE3(shp, fields, r->v, r->s, r->c);
	DTRACE_PROBE1(shp, tls, tls_v);
	DTRACE_PROBE1(shp, global_var, glob);
	DTRACE_PROBE1(shp, static_arr, itbl[3]);
	DTRACE_PROBE1(shp, addr_of_global, &glob);
	DTRACE_PROBE1(shp, string_const, "hello");
	DTRACE_PROBE2(shp, floats, d, fl);
	DTRACE_PROBE1(shp, double_global, dg);
	DTRACE_PROBE3(shp, consts, -5, 1UL << 40, (char)-3);
	DTRACE_PROBE1(shp, func, (void *)puts);
	DTRACE_PROBE12(shp, twelve, i, r, p, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	return r[i].w + p[i] + tbl[i] + (long)d + (long)fl;
}

int main(int c, char **v)
{
	static struct row rows[64];
	int n = c > 1 ? atoi(v[1]) : 10;
	long acc = 0;

	tls_v += c;
	for (int i = 0; i < 64; i++) {
		tbl[i] = 1000 + i;
		itbl[i] = 2000 + i;
		rows[i] = (struct row){ "", 3000 + i, 4000 + i, -7, -9 };
	}
	for (int i = 0; i < n; i++) {
		acc += f(i & 63, rows, tbl, 1.5 * i, 0.5f * i);
		usleep(1000);
	}
	printf("pid=%d acc=%ld\n", (int)getpid(), acc);
	return 0;
}
