/* SPDX-License-Identifier: MIT */
/* A library with probes: one fires when it is loaded, one when its function is called. */
#include <stdio.h>
#include <sys/sdt.h>

__attribute__((constructor)) static void loaded(void)
{
	DTRACE_PROBE1(plug, loaded, 1);
	printf("event loaded 1\n");
}

__attribute__((noipa)) void plug_work(long n)
{
	DTRACE_PROBE1(plug, work, n);
	printf("event work %ld\n", n);
}
