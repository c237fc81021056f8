/* SPDX-License-Identifier: MIT */
/* The trace filesystem of the running kernel; skipped, with the reason, where it may not be used. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "proc/procfs.h"
#include "proc/tracefs.h"
#include "unit.h"

static int open_or_skip(void)
{
	struct ut_err err = { 0 };
	int dir = tracefs_open(&err);

	if (dir < 0) {
		print_message("%s\n", err.msg);
		skip();
	}
	return dir;
}

static size_t count_mounts(void)
{
	AUTO_BUF struct buf b = { 0 };
	AUTO_CLOSE int fd = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	assert_int_equal(fd_read_all(fd, 1 << 20, &b), 0);
	for (size_t i = 0; i < b.len; i++)
		n += b.data[i] == '\n';
	return n;
}

static void opens_without_leaving_a_mount(void **state)
{
	size_t before = count_mounts();
	AUTO_CLOSE int dir = open_or_skip();

	(void)state;
	assert_true(fcntl(dir, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(faccessat(dir, "events/sched", F_OK, 0), 0);
	assert_int_equal(count_mounts(), before);
}

static void says_where_it_is_mounted(void **state)
{
	char where[256] = "x", small[2];

	(void)state;
	assert_int_equal(tracefs_where(where, sizeof(where)), 0);
	assert_true(where[0] == '\0' || where[0] == '/');
	if (where[0])
		assert_int_equal(tracefs_where(small, sizeof(small)), -ENAMETOOLONG);
}

static void gives_the_text_of_a_format(void **state)
{
	AUTO_CLOSE int dir = open_or_skip();
	AUTO_FREE char *text = NULL;
	struct ut_err err = { 0 };
	size_t len;

	(void)state;
	assert_int_equal(tracefs_format(dir, "sched", "sched_switch", &text, &len, &err), 0);
	assert_int_equal(strlen(text), len);
	assert_non_null(strstr(text, "name: sched_switch\n"));
	assert_non_null(strstr(text, "prev_comm"));
}

static void offers_near_misses(void **state)
{
	AUTO_CLOSE int dir = open_or_skip();
	static const struct {
		const char *category, *event, *says;
	} cases[] = {
		{ "sched", "sched_swich", "there is sched:sched_switch" },
		{ "shed", "sched_switch", "there is sched" },
		{ "sched", "qqqqqqqqqqqq", "no kernel tracepoint sched:qqqqqqqqqqqq" },
		{ "..", "sched", "no kernel tracepoint" },
		{ "sched", "../sched/sched_switch", "no kernel tracepoint" },
		{ "", "x", "no kernel tracepoint" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ut_err err = { 0 };
		char *text = NULL;
		size_t len = 9;

		assert_int_equal(tracefs_format(dir, cases[i].category, cases[i].event, &text, &len, &err), -ENOENT);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("'%s' does not say '%s'", err.msg, cases[i].says);
		assert_null(text);
		assert_int_equal(len, 9);
	}
}

static void lists_events_by_glob(void **state)
{
	AUTO_CLOSE int dir = open_or_skip();
	struct tracefs_names names = { 0 }, all = { 0 };
	size_t seen = 0;

	(void)state;
	assert_int_equal(tracefs_events(dir, "sch?d", "sched_s*", &names, NULL), 0);
	for (size_t i = 0; i < names.names.n; i++) {
		assert_memory_equal(names.names.v[i], "sched:sched_s", 13);
		seen += strcmp(names.names.v[i], "sched:sched_switch") == 0;
		assert_true(i == 0 || strcmp(names.names.v[i - 1], names.names.v[i]) < 0);
	}
	assert_int_equal(seen, 1);
	assert_int_equal(tracefs_events(dir, "*", "*", &all, NULL), 0);
	assert_true(all.names.n > names.names.n);
	tracefs_names_done(&names);
	assert_int_equal(tracefs_events(dir, "nosuch", "*", &names, NULL), 0);
	assert_int_equal(names.names.n, 0);
	tracefs_names_done(&all);
}

UNIT_TESTS(tracefs)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_without_leaving_a_mount), cmocka_unit_test(says_where_it_is_mounted),
		cmocka_unit_test(gives_the_text_of_a_format),	 cmocka_unit_test(offers_near_misses),
		cmocka_unit_test(lists_events_by_glob),
	};

	return unit_run(tests, NULL, NULL);
}
