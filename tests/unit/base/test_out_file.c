/* SPDX-License-Identifier: MIT */
/* Files that appear as a whole: what is there before, when writing fails, and what is no file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/out_file.h"
#include "unit.h"

static char folder[] = "/tmp/usertrace-test-XXXXXX", path[64], link_path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/out", folder);
	snprintf(link_path, sizeof(link_path), "%s/link", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	unlink(link_path);
	return rmdir(folder); /* fails when anything was left behind */
}

static int write_word(void *ctx, int fd, struct ut_err *err)
{
	const char *word = ctx;

	(void)err;
	if (write(fd, word, strlen(word)) < 0)
		return -errno;
	return strcmp(word, "half") ? 0 : -EIO;
}

static int refuse(void *ctx, int fd, struct ut_err *err)
{
	(void)ctx;
	(void)fd;
	return ut_err_set(err, -EINVAL, "nothing to write");
}

static void expect_content(const char *want)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	assert_string_equal(text, want);
}

static void a_new_file(void **state)
{
	struct ut_err err = { 0 };
	struct stat st;
	mode_t mask = umask(027);

	(void)state;
	assert_int_equal(out_file_check(path, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(out_file_write(path, write_word, "first", &err), 0);
	umask(mask);
	expect_content("first");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void the_old_one_stays(void **state)
{
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(out_file_write(path, write_word, "half", &err), -EIO);
	assert_non_null(strstr(err.msg, "/out': Input/output error"));
	err = (struct ut_err){ 0 };
	assert_int_equal(out_file_write(path, refuse, NULL, &err), -EINVAL);
	assert_string_equal(err.msg, "nothing to write");
	expect_content("first");
	assert_int_equal(out_file_write(path, write_word, "second", NULL), 0);
	expect_content("second");
}

static void a_link_is_followed(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(symlink("out", link_path), 0);
	assert_int_equal(out_file_write(link_path, write_word, "third", NULL), 0);
	assert_int_equal(lstat(link_path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	expect_content("third");
}

/* A named pipe that nobody reads from does not make us wait. */
static void a_pipe_without_a_reader(void **state)
{
	char name[sizeof(folder) + 8], text[8] = "";
	struct ut_err err = { 0 };
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "%s/pipe", folder);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(out_file_check(name, &err), -ENXIO);
	assert_non_null(strstr(err.msg, "the FIFO has no reader"));
	assert_int_equal(out_file_write(name, write_word, "x", &err), -ENXIO);
	fd = open(name, O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0);
	assert_int_equal(out_file_check(name, NULL), 0);
	assert_int_equal(out_file_write(name, write_word, "fourth", NULL), 0);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 6);
	assert_string_equal(text, "fourth");
	close(fd);
	unlink(name);
}

static void what_cannot_be_written(void **state)
{
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(out_file_check(folder, &err), -EISDIR);
	assert_int_equal(out_file_check("/nonexistent/out", &err), -ENOENT);
	assert_string_equal(err.msg, "cannot write to '/nonexistent/out': No such file or directory");
	assert_int_equal(out_file_write("/nonexistent/out", write_word, "x", &err), -ENOENT);
	err = (struct ut_err){ 0 };
	assert_int_equal(out_file_check("/dev/full", &err), 0);
	assert_int_equal(out_file_write("/dev/full", write_word, "x", &err), -ENOSPC);
	assert_string_equal(err.msg, "cannot write to '/dev/full': No space left on device");
	assert_int_equal(out_file_write("/dev/null", write_word, "x", NULL), 0);
}

UNIT_TESTS(out_file)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_file),
		cmocka_unit_test(the_old_one_stays),
		cmocka_unit_test(a_link_is_followed),
		cmocka_unit_test(a_pipe_without_a_reader),
		cmocka_unit_test(what_cannot_be_written),
	};

	return unit_run(tests, make_folder, remove_folder);
}
