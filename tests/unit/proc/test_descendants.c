/* SPDX-License-Identifier: MIT */
/* Descendants of processes, and the runtimes that they run. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/descendants.h"
#include "unit.h"

#define ALL_MAX 8

static void assert_marked(const struct process_parent *all, size_t n, const int *roots, size_t nroots, pid_t except,
			  const char *wanted)
{
	char found[ALL_MAX + 1] = "";
	bool marks[ALL_MAX];

	descendants_mark(all, n, roots, nroots, except, marks);
	for (size_t i = 0; i < n; i++)
		found[i] = marks[i] ? 'x' : '.';
	assert_string_equal(found, wanted);
}

static void marks_every_generation(void **state)
{
	/* 3 is a child of 9: PIDs are reused, so that a child may have the lower one. */
	static const struct process_parent all[] = { { 1, 0 }, { 2, 0 }, { 3, 9 }, { 5, 1 },
						     { 7, 5 }, { 9, 7 }, { 11, 2 } };

	(void)state;
	assert_marked(all, 7, (const int[]){ 5 }, 1, 0, "..x.xx.");
	assert_marked(all, 7, (const int[]){ 1 }, 1, 0, "..xxxx.");
	assert_marked(all, 7, (const int[]){ 1, 7 }, 2, 0, "..xx.x."); /* 7 is a root itself */
	assert_marked(all, 7, (const int[]){ 11 }, 1, 0, ".......");
	assert_marked(all, 7, (const int[]){ 4 }, 1, 0, ".......");
	assert_marked(all, 0, (const int[]){ 1 }, 1, 0, "");
}

static void leaves_the_tracer_and_its_children_out(void **state)
{
	static const struct process_parent all[] = { { 1, 0 }, { 5, 1 }, { 7, 5 }, { 9, 7 }, { 10, 5 } };

	(void)state;
	assert_marked(all, 5, (const int[]){ 5 }, 1, 7, "....x");
	assert_marked(all, 5, (const int[]){ 5 }, 1, 5,
		      "..xxx"); /* the tracer is the root: its children are descendants */
}

static void ends_where_parents_contradict_each_other(void **state)
{
	static const struct process_parent all[] = { { 5, 9 }, { 7, 5 }, { 9, 7 }, { 10, 10 } };

	(void)state;
	assert_marked(all, 4, (const int[]){ 1 }, 1, 0, "....");
	assert_marked(all, 4, (const int[]){ 7 }, 1, 0, "x.x.");
}

static void lists_those_of_a_process(void **state)
{
	struct process_id *v = NULL;
	struct ut_err err = { 0 };
	int go[2], told[2], roots[1];
	pid_t grandchild = 0;
	size_t n = 0;
	char c;

	(void)state;
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(told), 0);
	roots[0] = fork();
	if (!roots[0]) {
		pid_t pid = fork();

		close(go[1]);
		if (pid && write(told[1], &pid, sizeof(pid)) < 0)
			_exit(1);
		_exit(read(go[0], &c, 1) > 0);
	}
	assert_int_equal(read(told[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	assert_int_equal(descendants_list(roots, 1, &v, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(v[0].pid, grandchild);
	free(v);
	/* ourselves: we are no descendant of our parent here */
	assert_int_equal(descendants_list((const int[]){ getppid() }, 1, &v, &n, &err), 0);
	for (size_t i = 0; i < n; i++)
		assert_true(v[i].pid != getpid() && v[i].pid != roots[0]);
	free(v);
	close(go[1]);
	close(go[0]);
	close(told[0]);
	close(told[1]);
	waitpid(roots[0], NULL, 0);
}

static void assert_count(const struct runtime *const *v, size_t n, size_t total, const char *wanted)
{
	struct buf text = { 0 };

	assert_int_equal(descendants_count(v, n, &text), total);
	assert_string_equal(text.data ? text.data : "", wanted);
	buf_done(&text);
}

static void counts_runtimes(void **state)
{
	static char python[] = "CPython", ruby[] = "Ruby", php[] = "PHP";
	static struct runtime p = { .name = python }, r = { .name = ruby }, h = { .name = php };

	(void)state;
	assert_count((const struct runtime *const[]){ NULL, NULL }, 2, 0, "");
	assert_count((const struct runtime *const[]){ NULL, &p }, 2, 1, "1 child process that runs CPython");
	assert_count((const struct runtime *const[]){ &p, NULL, &p }, 3, 2, "2 child processes that run CPython");
	assert_count((const struct runtime *const[]){ &p, &r, &p }, 3, 3,
		     "2 child processes that run CPython and 1 that runs Ruby");
	assert_count((const struct runtime *const[]){ &r, &p, &h, &p }, 4, 4,
		     "1 child process that runs Ruby, 2 that run CPython and 1 that runs PHP");
}

UNIT_TESTS(descendants)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_every_generation),
		cmocka_unit_test(leaves_the_tracer_and_its_children_out),
		cmocka_unit_test(ends_where_parents_contradict_each_other),
		cmocka_unit_test(lists_those_of_a_process),
		cmocka_unit_test(counts_runtimes),
	};

	return unit_run(tests, NULL, NULL);
}
