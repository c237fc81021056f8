/* SPDX-License-Identifier: MIT */
/* The same event as LTTng-UST has it: a name and a number. */
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER usertrace_bench
#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "./user_lttng.h"

#if !defined(UT_BENCH_USER_LTTNG_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define UT_BENCH_USER_LTTNG_H

#include <stdint.h>

#include <lttng/tracepoint.h>

TRACEPOINT_EVENT(usertrace_bench, count, TP_ARGS(const char *, name, int64_t, value),
		 TP_FIELDS(ctf_string(name, name) ctf_integer(int64_t, value, value)))

#endif

#include <lttng/tracepoint-event.h>
