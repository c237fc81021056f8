/* SPDX-License-Identifier: MIT */
/* The option parser and the help: what people type, what they get, and what they are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "unit.h"

struct opts {
	bool all, follow;
	const char *output;
	uint64_t count, size, time_ns;
	struct pid_list pids;
	const char *text;
	struct string_list words;
};

#define MEMBER(m) offsetof(struct opts, m)

static const struct ut_opt options[] = {
	{ 'a', "all", NULL, "every process", OPT_FLAG, MEMBER(all) },
	{ 0, "no-follow", NULL,
	  "leave the children of a traced process alone, also when they are made by fork without exec, "
	  "which is what a server with worker processes does",
	  OPT_NOFLAG, MEMBER(follow) },
	{ 'o', "output", "FILE", "write there", OPT_STRING, MEMBER(output) },
	{ 'M', "max-events", "N", "stop after N events", OPT_U64, MEMBER(count) },
	{ 0, "buffer-size-per-processor", "SIZE", "room of each ring", OPT_SIZE, MEMBER(size) },
	{ 'd', "duration", "SECONDS", "stop then", OPT_SECONDS, MEMBER(time_ns) },
	{ 'p', "pid", "PID", "these processes", OPT_PIDS, MEMBER(pids) },
	{ 0, "text", "TEXT", "any text", OPT_TEXT, MEMBER(text) },
	{ 0, "on", "WORD", "so many", OPT_STRINGS, MEMBER(words) },
};

static const struct ut_cmd cmd = {
	.name = "try",
	.usage = "[-p PID | -a] PROBE… [-- COMMAND]",
	.summary = "Tries the options.",
	.details = "Examples:\n  usertrace try -a\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
};

static const struct ut_cmd numbers_cmd = {
	.name = "try", .options = options, .noptions = ARRAY_SIZE(options), .numbers = true
};

#define WORDS 16

struct run {
	struct opts opts;
	char *argv[WORDS + 1];
	char **command;
	int operands, status;
	bool done;
	char said[4096]; /* on standard error or output */
};

/* Points @fd to @to and returns where it pointed before. */
static int redirect(int fd, int to)
{
	int before = dup(fd);

	dup2(to, fd);
	return before;
}

/* Parses the words of @line (separated by blanks) and keeps what was printed. */
static void parse(struct run *r, const char *line)
{
	static char copy[256];
	int argc = 0, out, err, n;
	FILE *file = tmpfile();

	memset(r, 0, sizeof(*r));
	r->opts.follow = true;
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word && argc < WORDS; word = strtok(NULL, " "))
		r->argv[argc++] = word;
	assert_non_null(file);
	fflush(stdout);
	out = redirect(1, fileno(file));
	err = redirect(2, fileno(file));
	r->status = cli_parse(&cmd, argc, r->argv, &r->opts, &r->operands, &r->command, &r->done);
	fflush(stdout);
	close(redirect(1, out));
	close(redirect(2, err));
	close(out);
	close(err);
	rewind(file);
	n = (int)fread(r->said, 1, sizeof(r->said) - 1, file);
	r->said[n] = 0;
	fclose(file);
}

static void expect_fine(struct run *r, const char *line)
{
	parse(r, line);
	assert_string_equal(r->said, "");
	assert_int_equal(r->status, EXIT_OK);
	assert_false(r->done);
}

static void expect_usage(const char *line, const char *sentence)
{
	struct run r;

	parse(&r, line);
	assert_string_equal(r.said, sentence);
	assert_int_equal(r.status, EXIT_USAGE);
	assert_true(r.done);
	pid_list_done(&r.opts.pids);
}

static void test_nothing(void **state)
{
	struct run r;

	(void)state;
	expect_fine(&r, "try");
	assert_int_equal(r.operands, 0);
	assert_null(r.command);
	assert_false(r.opts.all);
	assert_true(r.opts.follow);
}

static void test_every_type(void **state)
{
	struct run r;

	(void)state;
	expect_fine(&r, "try -a --no-follow -o out.txt -M 0x10 --buffer-size-per-processor=64K -d 0.5 -p 12 --on=a");
	assert_true(r.opts.all);
	assert_false(r.opts.follow);
	assert_string_equal(r.opts.output, "out.txt");
	assert_int_equal(r.opts.count, 16);
	assert_int_equal(r.opts.size, 65536);
	assert_int_equal(r.opts.time_ns, 500000000);
	assert_int_equal(r.opts.pids.n, 1);
	assert_int_equal(r.opts.pids.v[0], 12);
	assert_int_equal(r.opts.words.n, 1);
	pid_list_done(&r.opts.pids);
	vec_done(&r.opts.words);
}

static void test_strings_that_come_again(void **state)
{
	struct run r;

	(void)state;
	expect_fine(&r, "try --on a,b one --on=c");
	assert_int_equal(r.opts.words.n, 2);
	assert_string_equal(r.opts.words.v[0], "a,b");
	assert_string_equal(r.opts.words.v[1], "c");
	vec_done(&r.opts.words);
	expect_usage("try --on=", "usertrace try: option --on requires a value: WORD\n");
}

static void test_attached_and_bundled_values(void **state)
{
	struct run r;

	(void)state;
	expect_fine(&r, "try -p12,13 -aM3 --pid=14 -ofile");
	assert_int_equal(r.opts.pids.n, 3);
	assert_int_equal(r.opts.pids.v[1], 13);
	assert_int_equal(r.opts.pids.v[2], 14);
	assert_true(r.opts.all);
	assert_int_equal(r.opts.count, 3);
	assert_string_equal(r.opts.output, "file");
	pid_list_done(&r.opts.pids);
}

static void test_operands_and_options_mix(void **state)
{
	struct run r;

	(void)state;
	expect_fine(&r, "try one -a two - --max-events 3 three");
	assert_int_equal(r.operands, 4);
	assert_string_equal(r.argv[0], "one");
	assert_string_equal(r.argv[1], "two");
	assert_string_equal(r.argv[2], "-");
	assert_string_equal(r.argv[3], "three");
	assert_int_equal(r.opts.count, 3);
}

static void test_a_command_keeps_its_options(void **state)
{
	struct run r;

	(void)state;
	expect_fine(&r, "try probe -- prog -a -- --all");
	assert_int_equal(r.operands, 1);
	assert_string_equal(r.command[0], "prog");
	assert_string_equal(r.command[1], "-a");
	assert_string_equal(r.command[2], "--");
	assert_string_equal(r.command[3], "--all");
	assert_null(r.command[4]);
	assert_false(r.opts.all);
}

static void test_negative_numbers_as_operands(void **state)
{
	char *argv[] = { "try", "-12", "-a", "-0x3", "-", NULL };
	struct opts opts = { 0 };
	int operands, status;
	char **command;
	bool done;

	(void)state;
	status = cli_parse(&numbers_cmd, 5, argv, &opts, &operands, &command, &done);
	assert_int_equal(status, EXIT_OK);
	assert_int_equal(operands, 3);
	assert_string_equal(argv[0], "-12");
	assert_string_equal(argv[1], "-0x3");
	assert_true(opts.all);
	expect_usage("try -12",
		     "usertrace try: unknown option -1 (in '-12'); 'usertrace help try' lists the options\n");
}

static void test_a_text_may_be_empty(void **state)
{
	struct run r;

	(void)state;
	expect_fine(&r, "try --text= one");
	assert_string_equal(r.opts.text, "");
	expect_fine(&r, "try --text -a");
	assert_string_equal(r.opts.text, "-a");
	assert_false(r.opts.all);
	expect_usage("try --text", "usertrace try: option --text requires a value: TEXT\n");
}

static void test_an_empty_command_is_refused(void **state)
{
	(void)state;
	expect_usage("try probe --", "usertrace try: missing command after '--'\n");
}

static void test_a_command_where_none_is_taken(void **state)
{
	char *argv[] = { "try", "--", "prog", NULL };
	struct opts opts = { 0 };
	int operands, null = open("/dev/null", O_WRONLY), err = redirect(2, null), status;
	bool done;

	(void)state;
	status = cli_parse(&cmd, 3, argv, &opts, &operands, NULL, &done);
	close(redirect(2, err));
	close(err);
	close(null);
	assert_int_equal(status, EXIT_USAGE);
	assert_true(done);
}

static void test_near_misses(void **state)
{
	(void)state;
	expect_usage("try --max-event=3", "usertrace try: unknown option --max-event; did you mean --max-events?\n");
	expect_usage("try --nofollow", "usertrace try: unknown option --nofollow; did you mean --no-follow?\n");
	expect_usage("try --zzz", "usertrace try: unknown option --zzz; 'usertrace help try' lists the options\n");
	expect_usage("try -az",
		     "usertrace try: unknown option -z (in '-az'); 'usertrace help try' lists the options\n");
}

static void test_missing_values(void **state)
{
	(void)state;
	expect_usage("try -p", "usertrace try: option -p requires a value: PID\n");
	expect_usage("try --pid", "usertrace try: option --pid requires a value: PID\n");
	expect_usage("try --output=", "usertrace try: option --output requires a value: FILE\n");
	expect_usage("try -M -- prog", "usertrace try: option -M requires a value: N\n");
}

static void test_wrong_values(void **state)
{
	(void)state;
	expect_usage("try --all=yes", "usertrace try: option --all takes no value\n");
	expect_usage("try -M 3x", "usertrace try: '3x' is not an integer (option -M)\n");
	expect_usage("try -M -3", "usertrace try: '-3' is not an integer (option -M)\n");
	expect_usage("try -d soon", "usertrace try: 'soon' is not a time such as 3, 0.5, 250ms or 2m (option -d)\n");
	expect_usage(
		"try --buffer-size-per-processor=1Q",
		"usertrace try: '1Q' is not a size such as 4096, 64K or 8M (option --buffer-size-per-processor)\n");
}

static void test_wrong_pids(void **state)
{
	(void)state;
	expect_usage("try -p 0", "usertrace try: '0' is not a process id (option -p)\n");
	expect_usage("try -p 12,", "usertrace try: '' is not a process id (option -p)\n");
	expect_usage("try -p java", "usertrace try: 'java' is not a process id (option -p)\n");
	expect_usage("try --pid=99999999999", "usertrace try: '99999999999' is not a process id (option --pid)\n");
}

static void test_help_is_asked_for(void **state)
{
	static const char *const ways[] = { "try -h", "try --help", "try -ah", "try probe --help -- x",
					    "try -h --nonsense" };
	struct run r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		parse(&r, ways[i]);
		assert_int_equal(r.status, EXIT_OK);
		assert_true(r.done);
		assert_non_null(strstr(
			r.said, "usage: usertrace try [-p PID | -a] PROBE… [-- COMMAND]\n\nTries the options.\n"));
	}
}

static void test_help_fits_the_page(void **state)
{
	struct buf text = { 0 };

	(void)state;
	cli_help_text(&cmd, &text);
	assert_false(text.failed);
	assert_non_null(strstr(text.data, "\n  -a, --all                every process\n"));
	assert_non_null(strstr(text.data, "\n  -o, --output=FILE        write there\n"));
	assert_non_null(strstr(
		text.data, "\n      --buffer-size-per-processor=SIZE\n                           room of each ring\n"));
	assert_non_null(strstr(text.data, "made by\n                           fork without"));
	assert_non_null(strstr(text.data, "\n  -h, --help               print this help\n\nExamples:\n"));
	for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 100 || strstr(line, "…"));
	buf_done(&text);
}

static void test_errors_choose_the_exit_status(void **state)
{
	struct ut_err bad = { -EINVAL, "no probe" }, broken = { -EIO, "" };
	int null = open("/dev/null", O_WRONLY), err = redirect(2, null);
	int usage = cli_fail_err(&cmd, &bad), failed = cli_fail_err(NULL, &broken);

	(void)state;
	close(redirect(2, err));
	close(err);
	close(null);
	assert_int_equal(usage, EXIT_USAGE);
	assert_int_equal(failed, EXIT_FAILED);
}

UNIT_TESTS(options)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_every_type),
		cmocka_unit_test(test_strings_that_come_again),
		cmocka_unit_test(test_attached_and_bundled_values),
		cmocka_unit_test(test_operands_and_options_mix),
		cmocka_unit_test(test_a_command_keeps_its_options),
		cmocka_unit_test(test_negative_numbers_as_operands),
		cmocka_unit_test(test_a_text_may_be_empty),
		cmocka_unit_test(test_an_empty_command_is_refused),
		cmocka_unit_test(test_a_command_where_none_is_taken),
		cmocka_unit_test(test_near_misses),
		cmocka_unit_test(test_missing_values),
		cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_wrong_pids),
		cmocka_unit_test(test_help_is_asked_for),
		cmocka_unit_test(test_help_fits_the_page),
		cmocka_unit_test(test_errors_choose_the_exit_status),
	};

	return unit_run(tests, NULL, NULL);
}
