/* SPDX-License-Identifier: MIT */
/*
 * The program whose user events are measured: loops that do nothing else, told over standard input which to run.
 *
 *     loop KIND COUNT         looped COUNT CPU_NS
 *
 * KIND: empty; probe (UT_PROBE); sdt (the probe of sys/sdt.h); mark, count (usertrace.h); prctl (our event); silent (a
 * prctl with an option that nobody knows, ours neither); other (another system call); lttng. First line: "ready PID
 * KIND…".
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/clock.h"
#include "usertrace.h"

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#endif
#ifdef WITH_LTTNG
#define TRACEPOINT_CREATE_PROBES
#define TRACEPOINT_DEFINE
#include "user_lttng.h"
#endif

/* Each loop begins a page of code and keeps its counter in a register that calls leave alone. */
#define LOOP(name, body) \
	static __attribute__((noinline, aligned(4096))) void loop_##name(uint64_t count) \
	{ \
		for (uint64_t i = 1; i <= count; i++) { \
			__asm__ volatile("" : "+r"(i)); \
			body; \
		} \
	}

LOOP(empty, (void)0)
LOOP(probe, UT_PROBE(bench, header, i, count))
#ifdef DTRACE_PROBE2
LOOP(sdt, DTRACE_PROBE2(bench, sdt, i, count))
#endif
LOOP(mark, ut_mark("bench"))
LOOP(count, ut_count("bench", (int64_t)i))
LOOP(prctl, syscall(SYS_prctl, PR_USER_TRACE, UT_COUNT, "bench", i, 0))
LOOP(silent, syscall(SYS_prctl, PR_USER_TRACE ^ 0x80, UT_COUNT, "bench", i, 0))
LOOP(other, syscall(SYS_getppid))
#ifdef WITH_LTTNG
LOOP(lttng, tracepoint(usertrace_bench, count, "bench", (int64_t)i))
#endif

static const struct kind {
	const char *name;
	void (*run)(uint64_t count);
} kinds[] = {
	{ "empty", loop_empty }, { "probe", loop_probe },   { "mark", loop_mark },   { "count", loop_count },
	{ "prctl", loop_prctl }, { "silent", loop_silent }, { "other", loop_other },
#ifdef DTRACE_PROBE2
	{ "sdt", loop_sdt },
#endif
#ifdef WITH_LTTNG
	{ "lttng", loop_lttng },
#endif
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static void serve_line(const char *line)
{
	char name[16] = "";
	uint64_t count = 0, start;

	if (sscanf(line, "loop %15s %" SCNu64, name, &count) == 2) {
		for (size_t i = 0; i < KINDS; i++) {
			if (strcmp(kinds[i].name, name))
				continue;
			start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
			kinds[i].run(count);
			printf("looped %" PRIu64 " %" PRIu64 "\n", count, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
			return;
		}
	}
	printf("unknown %s", line);
}

int main(void)
{
	char line[128];

	printf("ready %d", getpid());
	for (size_t i = 0; i < KINDS; i++)
		printf(" %s", kinds[i].name);
	puts("");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		serve_line(line);
		fflush(stdout);
	}
	return 0;
}
