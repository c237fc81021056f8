/* SPDX-License-Identifier: MIT */
/* Keeps the names of printed stacks up to date with the processes of the session. */
#include "watch/stack_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/sink.h"
#include "sym/names.h"
#include "watch/profile_maps.h"
#include "wire/record.h"

#define TRIES 256
#define TRY_NS 250000000u

/* A process of which nothing could be read: a kernel thread, or one that has ended. */
struct
try {
	pid_t pid;
	uint64_t time_ns;
};

struct stack_names {
	struct names *names;
	struct profile_maps *maps;
	struct try tries[TRIES]; /* by pid */
};

bool stack_names_wants_lives(const char *const *probes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(probes[i], "%U"))
			return true;
	return false;
}

struct stack_names *stack_names_new(const struct runtimes *runtimes)
{
	struct stack_names *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->names = names_new(&(struct names_options){ .live = true });
	s->maps = s->names ? profile_maps_new(s->names, runtimes) : NULL;
	return s->maps ? s : stack_names_free(s);
}

struct stack_names *stack_names_free(struct stack_names *s)
{
	if (!s)
		return NULL;
	profile_maps_free(s->maps);
	names_free(s->names);
	free(s);
	return NULL;
}

struct names *stack_names_of(struct stack_names *s) { return s->names; }

void stack_names_process(struct stack_names *s, pid_t pid)
{
	uint64_t time_ns = monotonic_ns();

	names_process(s->names, pid, time_ns);
	if (!names_has_jit(s->names, pid))
		return;
	profile_maps_note(s->maps, pid, 1);
	profile_maps_flush(s->maps, time_ns);
}

void stack_names_event(struct stack_names *s, pid_t pid)
{
	struct try *t = &s->tries[(uint32_t)pid % TRIES];
	uint64_t time_ns;

	if (names_has_process(s->names, pid))
		return;
	time_ns = monotonic_ns();
	if (t->pid == pid && time_ns < t->time_ns + TRY_NS)
		return;
	*t = (struct try){ pid, time_ns };
	stack_names_process(s, pid);
}

void stack_names_life(struct stack_names *s, const struct session_lifecycle *life)
{
	pid_t over = (pid_t)(life->what == UT_LIFE_FORK ? life->child : life->pid);
	struct try *t = &s->tries[(uint32_t)over % TRIES];

	if (t->pid == over && (life->what != UT_LIFE_EXIT || life->last))
		t->pid = 0;
	profile_maps_life(s->maps, life);
}

void stack_names_flush(struct stack_names *s)
{
	const pid_t *missed;
	size_t n = names_missed(s->names, &missed);

	for (size_t i = 0; i < n; i++)
		profile_maps_note(s->maps, missed[i], 1);
	profile_maps_flush(s->maps, monotonic_ns());
}

void stack_names_stop(struct stack_names *s, void (*note)(void *ctx, const char *text), void *ctx)
{
	profile_maps_stop(s->maps);
	profile_maps_notes(s->maps, note, ctx);
}
