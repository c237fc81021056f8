/* SPDX-License-Identifier: MIT */
/* The names of threads that are measured: there as long as their process is, and no others are touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <cmocka.h>

#include "base/clock.h"
#include "record/measure.h"
#include "wire/state.h"
#include "unit.h"

#define FIRST 4000001 /* no process of any machine: nothing of theirs runs */
#define SECOND 4000002

static char *gc_threads[] = { (char *)"GC Thread*", (char *)"VM Thread" };
static char *compilers[] = { (char *)"C2 CompilerThre*" };

static struct runtime hotspot(void)
{
	struct runtime r = { .name = (char *)"HotSpot" };

	r.collector.v = gc_threads;
	r.collector.n = 2;
	r.service.v = compilers;
	r.service.n = 1;
	return r;
}

/* How many names of @pid there are. */
static unsigned names_of(const struct measure *m, pid_t pid)
{
	struct ut_thread_name key, *at = NULL, next;
	unsigned n = 0;

	for (; !bpf_map_get_next_key(measure_maps(m)->names_fd, at, &next); at = &key) {
		key = next;
		n += key.process == (uint32_t)pid;
	}
	return n;
}

static void test_names_go_with_their_process(void **state)
{
	struct runtime r = hotspot(), nameless = { .name = (char *)"X" };
	struct measure *m = NULL;
	struct ut_err err = { 0 };

	(void)state;
	if (geteuid() != 0) {
		print_message("measuring needs root\n");
		skip();
	}
	assert_int_equal(measure_open(monotonic_ns(), &m, &err), 0);
	assert_int_equal(measure_process(m, FIRST, &r, true), 0);
	assert_int_equal(measure_process(m, SECOND, &nameless, true), 0);
	assert_int_equal(names_of(m, FIRST), 3);
	assert_int_equal(names_of(m, SECOND), 0);
	assert_int_equal(measure_process(m, SECOND, &r, true), 0); /* it has become another program */
	assert_int_equal(measure_process(m, SECOND, &r, true), 0);
	assert_int_equal(names_of(m, SECOND), 3);
	measure_forget(m, FIRST);
	assert_false(measure_has(m, FIRST));
	assert_int_equal(names_of(m, FIRST), 0);
	assert_int_equal(names_of(m, SECOND), 3);
	measure_forget(m, FIRST);
	assert_int_equal(measure_process(m, FIRST, NULL, true), 0); /* the number comes again */
	assert_true(measure_has(m, FIRST));
	assert_int_equal(names_of(m, FIRST), 0);
	measure_forget(m, SECOND);
	assert_int_equal(names_of(m, SECOND), 0);
	measure_close(m);
}

UNIT_TESTS(measure_names)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_names_go_with_their_process) };

	return unit_run(tests, NULL, NULL);
}
