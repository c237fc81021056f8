/* SPDX-License-Identifier: MIT */
/* The thread that asks virtual machines for maps, and the one that tells it whom: for ThreadSanitizer above all. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/sink.h"
#include "unit.h"
#include "watch/profile_maps.h"
#include "wire/record.h"

#define CHILDREN 8
#define STEP_NS 200000000u

/* None of them is a virtual machine, so that each is asked and has nothing to answer. */
static void start(pid_t ret[CHILDREN])
{
	for (int i = 0; i < CHILDREN; i++) {
		ret[i] = fork();
		if (!ret[i]) {
			pause();
			_exit(0);
		}
		assert_true(ret[i] > 0);
	}
}

static void end(const pid_t pids[CHILDREN])
{
	for (int i = 0; i < CHILDREN; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

/* Questions while answers come; processes that end meanwhile. */
static void ask(struct profile_maps *m, const pid_t pids[CHILDREN], unsigned rounds)
{
	uint64_t now = monotonic_ns();

	for (unsigned round = 0; round < rounds; round++) {
		for (int i = 0; i < CHILDREN; i++)
			profile_maps_note(m, pids[i], 1 + round);
		profile_maps_note(m, 0x7ffffff0, 1); /* nobody */
		if (round % 5 == 4)
			profile_maps_life(m, &(struct session_lifecycle){ .what = UT_LIFE_EXIT,
									  .pid = (uint32_t)pids[round % CHILDREN],
									  .last = true });
		profile_maps_flush(m, now += STEP_NS);
	}
}

static void fail_on_note(void *ctx, const char *text)
{
	(void)ctx;
	fail_msg("%s", text);
}

static void test_finish(void **state)
{
	struct runtimes runtimes = { 0 };
	struct names *names = names_new(NULL);
	struct profile_maps *m = profile_maps_new(names, &runtimes);
	pid_t pids[CHILDREN];

	(void)state;
	assert_non_null(m);
	start(pids);
	ask(m, pids, 200);
	profile_maps_finish(m);
	profile_maps_notes(m, fail_on_note, NULL);
	end(pids);
	profile_maps_free(m);
	names_free(names);
}

static void test_free_while_it_asks(void **state)
{
	struct runtimes runtimes = { 0 };
	struct names *names = names_new(NULL);
	pid_t pids[CHILDREN];

	(void)state;
	start(pids);
	for (unsigned rounds = 0; rounds < 20; rounds++) {
		struct profile_maps *m = profile_maps_new(names, &runtimes);

		assert_non_null(m);
		ask(m, pids, rounds);
		profile_maps_free(m);
	}
	end(pids);
	names_free(names);
}

UNIT_TESTS(profile_maps)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finish),
		cmocka_unit_test(test_free_while_it_asks),
	};

	return unit_run(tests, NULL, NULL);
}
