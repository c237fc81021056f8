/* SPDX-License-Identifier: MIT */
/* One sink that passes everything to several. */
#include "record/sink.h"

#include <assert.h>

#define TEE(method, parameters, ...) \
	static int tee_##method parameters \
	{ \
		const struct session_tee *t = ctx; \
		int r = 0; \
\
		for (size_t i = 0; r >= 0 && i < t->n; i++) \
			if (t->sinks[i].method) \
				r = t->sinks[i].method(t->sinks[i].ctx, ##__VA_ARGS__); \
		return r; \
	}

#define TEE_VOID(method, parameters, ...) \
	static void tee_##method parameters \
	{ \
		const struct session_tee *t = ctx; \
\
		for (size_t i = 0; i < t->n; i++) \
			if (t->sinks[i].method) \
				t->sinks[i].method(t->sinks[i].ctx, ##__VA_ARGS__); \
	}

TEE(event, (void *ctx, const struct session_event *e), e)
TEE(life, (void *ctx, const struct session_lifecycle *life), life)
TEE(stack, (void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips), rec, ips)
TEE(sample, (void *ctx, const struct ut_rec_sample *rec, const struct plan_probe *probe), rec, probe)
TEE(wait, (void *ctx, const struct ut_rec_wait *rec), rec)
TEE_VOID(appeared, (void *ctx, pid_t pid, uint64_t time_ns), pid, time_ns)
TEE_VOID(mapped, (void *ctx, pid_t pid, const struct mapping *m, uint64_t time_ns), pid, m, time_ns)
TEE(throttled, (void *ctx, uint32_t pid, uint64_t count, uint64_t since_ns, uint64_t until_ns), pid, count, since_ns,
    until_ns)
TEE(lost, (void *ctx, uint64_t count, unsigned cpu, uint64_t since_ns, uint64_t until_ns), count, cpu, since_ns,
    until_ns)
TEE(flush, (void *ctx))
TEE_VOID(attached, (void *ctx, size_t nprobes, size_t nsites), nprobes, nsites)
TEE_VOID(process, (void *ctx, pid_t pid), pid)
TEE_VOID(sampled, (void *ctx))
TEE_VOID(note, (void *ctx, const char *text), text)

/* The sum of what the sinks print is at most @room. */
static int tee_user(void *ctx, const struct user_event *e, unsigned cpu, uint64_t room)
{
	const struct session_tee *t = ctx;
	int printed = 0;

	for (size_t i = 0; i < t->n; i++) {
		int r = t->sinks[i].user ? t->sinks[i].user(t->sinks[i].ctx, e, cpu, room) : 0;

		if (r < 0)
			return r;
		printed += r;
		room -= (uint64_t)r;
	}
	return printed;
}

void session_tee_add(struct session_tee *t, const struct session_sink *sink)
{
	assert(t->n < SESSION_TEE_MAX);
	t->sinks[t->n++] = *sink;
}

struct session_sink session_tee_sink(struct session_tee *t)
{
	struct session_sink ret = { .ctx = t };

#define HAS(method) ret.method = t->sinks[i].method ? tee_##method : ret.method
	for (size_t i = 0; i < t->n; i++) {
		HAS(event);
		HAS(user);
		HAS(life);
		HAS(stack);
		HAS(sample);
		HAS(wait);
		HAS(appeared);
		HAS(mapped);
		HAS(throttled);
		HAS(lost);
		HAS(flush);
		HAS(attached);
		HAS(process);
		HAS(sampled);
		HAS(note);
	}
#undef HAS
	return ret;
}
