/* SPDX-License-Identifier: MIT */
/* Identities from /proc/PID/status, and work in a child that has one. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "proc/identity.h"
#include "unit.h"

static void test_parse(void **state)
{
	struct identity who;

	(void)state;
	assert_true(identity_parse(
		"Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nFDSize:\t64\nGroups:\t9 10 \nNStgid:\t1\n", &who));
	assert_int_equal(who.uids[1], 2);
	assert_int_equal(who.gids[3], 8);
	assert_int_equal(who.ngroups, 2);
	assert_int_equal(who.groups[1], 10);
	assert_false(identity_is_plain(&who));
	assert_true(identity_parse("Name:\tx\nUid:\t1\t1\t1\t1\nGid:\t5\t5\t5\t5\nGroups:\t\n", &who));
	assert_int_equal(who.ngroups, 0);
	assert_true(identity_is_plain(&who));
	assert_false(identity_parse("Name:\tx\nUid:\t1\t1\t1\t1\nGid:\t5\t5\t5\t5\n", &who));
}

struct seen {
	int dir;
	uid_t uid, euid, suid;
	bool other_open;
};

static int run_look(void *arg, int *ret_fd)
{
	struct seen *s = arg;

	getresuid(&s->uid, &s->euid, &s->suid);
	s->other_open = fcntl(0, F_GETFD) >= 0 || fcntl(1, F_GETFD) >= 0 || fcntl(2, F_GETFD) >= 0;
	*ret_fd = openat(s->dir, "null", O_RDONLY | O_CLOEXEC);
	return 0;
}

static void test_run(void **state)
{
	struct identity who;
	struct seen s = { .dir = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC) };
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(identity_read(getpid(), &who), 0);
	if (!geteuid())
		who.uids[1] = who.uids[3] = 65534;
	assert_int_equal(identity_run(&who, &s.dir, 1, run_look, &s, sizeof(s), 60000, &fd), 0);
	assert_int_equal(s.uid, getuid());
	assert_int_equal(s.euid, who.uids[1]);
	assert_false(s.other_open);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	close(fd);
	close(s.dir);
}

static _Noreturn int run_forever(void *arg, int *ret_fd)
{
	(void)arg;
	(void)ret_fd;
	for (;;)
		pause();
}

static void test_no_answer(void **state)
{
	struct identity who;
	int arg = 0;

	(void)state;
	assert_int_equal(identity_read(getpid(), &who), 0);
	assert_int_equal(identity_run(&who, NULL, 0, run_forever, &arg, sizeof(arg), 20, NULL), -ETIMEDOUT);
}

UNIT_TESTS(identity)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_no_answer),
	};

	return unit_run(tests, NULL, NULL);
}
