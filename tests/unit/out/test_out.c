/* SPDX-License-Identifier: MIT */
/* What profiles are written as: folded stacks, speedscope's JSON, pprof's message. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <zlib.h>

#include "base/intern.h"
#include "profile_cases.h"
#include "unit.h"

static void test_numbers(void **state)
{
	struct strings s = { 0 };
	struct pairs p = { 0 };
	char texts[500][12];

	(void)state;
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 500; i++) {
			snprintf(texts[i], sizeof(texts[i]), "%*u", i % 11, i);
			assert_int_equal(strings_number(&s, texts[i]), i);
			assert_int_equal(pairs_number(&p, i % 7, i), i);
		}
	assert_int_equal(strings_number(&s, ""), 500);
	assert_int_equal(pairs_number(&p, 1, 0), 500);
	assert_int_equal(pairs_number(&p, 0, 1), 501);
	strings_done(&s);
	pairs_done(&p);
}

static void test_formats(void **state)
{
	static const struct {
		const char *path, *format;
	} cases[] = {
		{ "a.folded", "folded" },
		{ "/x.folded/b", NULL },
		{ "x.pb.gz", "pprof" },
		{ "dir/x.pprof", "pprof" },
		{ "x.speedscope.json", "speedscope" },
		{ "x.json", NULL },
		{ ".folded", NULL },
		{ "folded", NULL },
		{ "", NULL },
		{ "dir/", NULL },
		{ "x.folded ", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct out_format *f = out_format_of(cases[i].path);

		assert_string_equal(f ? f->name : "none", cases[i].format ? cases[i].format : "none");
		if (f)
			assert_ptr_equal(out_format_named(f->name), f);
	}
	assert_null(out_format_named("x"));
	assert_null(out_format_named(""));
}

static void folded_is(struct profile *p, const struct out_options *o, const char *wanted)
{
	char *text = case_written(&out_folded, p, o, NULL);

	assert_string_equal(text, wanted);
	free(text);
}

static struct profile *two_threads(void)
{
	struct profile *p = profile_new();
	uint32_t a = profile_thread(p, 10, 10, "main", "app"), b = profile_thread(p, 10, 11, "worker", "app");

	case_add(p, a, "main@app|parse@libfoo.so|^next@libfoo.so", PROFILE_CPU, 5, 5 * MS);
	case_add(p, b, "start@libc.so|parse@libfoo.so", PROFILE_CPU, 2, 2 * MS);
	case_add(p, a, "main@app|read@libc.so|!sys_read@kernel", PROFILE_CPU, 1, 1 * MS);
	case_add(p, b, "main@app|read@libc.so|!sys_read@kernel", PROFILE_CPU, 3, 3 * MS);
	return p;
}

static void test_folded(void **state)
{
	struct profile *p = two_threads();

	(void)state;
	folded_is(p, NULL,
		  "main;parse;next_[i] 5\n"
		  "start;parse 2\n"
		  "main;read;sys_read_[k] 4\n");
	folded_is(p, &(struct out_options){ .per_thread = true },
		  "main (10);main;parse;next_[i] 5\n"
		  "main (10);main;read;sys_read_[k] 1\n"
		  "worker (11);start;parse 2\n"
		  "worker (11);main;read;sys_read_[k] 3\n");
	folded_is(p, &(struct out_options){ .by_process = true, .states = 1u << PROFILE_CPU },
		  "app (10);main;parse;next_[i] 5\n"
		  "app (10);main;read;sys_read_[k] 4\n"
		  "app (10);start;parse 2\n");
	folded_is(p, &(struct out_options){ .states = 1u << PROFILE_BLOCKED }, "");
	profile_free(p);
}

/* With waiting in it lengths are what adds up. */
static void test_folded_waiting(void **state)
{
	struct profile *p = two_threads();

	(void)state;
	case_add(p, 0, "main@app|read@libc.so|~[waits for a file]", PROFILE_BLOCKED, 1, 70);
	case_add(p, 0, "main@app|read@libc.so", PROFILE_RUNNABLE, 7, 8);
	folded_is(p, NULL,
		  "main;parse;next_[i] 5000000\n"
		  "start;parse 2000000\n"
		  "main;read 8\n"
		  "main;read;sys_read_[k] 4000000\n"
		  "main;read;[waits for a file] 70\n");
	folded_is(p, &(struct out_options){ .states = 1u << PROFILE_CPU },
		  "main;parse;next_[i] 5\n"
		  "start;parse 2\n"
		  "main;read;sys_read_[k] 4\n");
	profile_free(p);
}

/* No name makes two frames of one, or one line of two; lines that read the same are one. */
static void test_folded_names(void **state)
{
	struct profile *p = profile_new();
	uint32_t t = profile_thread(p, 0, 0, "", "");

	(void)state;
	case_add(p, t, "Lcom/Foo;run(I)V|\n|tail 5|\x1b[31m\xff|App\\Foo::bar", PROFILE_CPU, 1, 0);
	case_add(p, t, "$jit|!k_[k]|# x|~read|~[waits]|blank ", PROFILE_CPU, 2, 0);
	case_add(p, t, "f@a.so|g", PROFILE_CPU, 3, 0);
	case_add(p, t, "f@b.so|g", PROFILE_CPU, 4, 0);
	profile_add(p, 0, t, PROFILE_CPU, 5, 0);
	profile_add(p, profile_node(p, 0, profile_frame_named(p, "", 0, FRAME_NATIVE)), t, PROFILE_CPU, 6, 0);
	profile_add(p, case_node(p, "zero"), t, PROFILE_CPU, 0, 0);
	folded_is(p, NULL,
		  "[no frames] 5\n"
		  "Lcom/Foo:run(I)V;\\n;tail 5;\\x1b[31m\\xff;App\\Foo::bar 1\n"
		  "jit_[j];k_[k]_[k];\\x23 x;read_[w];[waits];blank\\x20 2\n"
		  "f;g 7\n"
		  "[no name] 6\n");
	profile_free(p);
}

static struct profile *read_folded(const char *text, size_t len)
{
	struct profile *p = profile_new();
	int fd = memfd_create("folded", MFD_CLOEXEC);
	struct profile_bad bad = { 0 };
	struct ut_err err = { 0 };

	assert_int_equal(write(fd, text, len), (ssize_t)len);
	lseek(fd, 0, SEEK_SET);
	if (profile_read_folded(p, fd, &bad, &err) || bad.lines)
		fail_msg("%s; %u bad lines, the first: %s", err.msg, (unsigned)bad.lines, bad.first);
	close(fd);
	return p;
}

static void say_difference(const char *a, const char *b)
{
	size_t at = 0, line = 0;

	for (; a[at] == b[at]; at++)
		if (a[at] == '\n')
			line = at + 1;
	fail_msg("%.*s\n%.*s", (int)strcspn(a + line, "\n"), a + line, (int)strcspn(b + line, "\n"), b + line);
}

/* Any names at all: what was written is what is written again after reading it. */
static void test_folded_round_trip(void **state)
{
	static const char letters[] = "ab;;\n\t\r \\_[kji]#0 9-:\x1b\xff\xc3\xa9\xe2\x80\xae\"<&";

	(void)state;
	srandom(7);
	for (unsigned round = 0; round < 300; round++) {
		struct profile *p = profile_new(), *again;
		size_t len, len2;
		char *text, *text2;

		for (unsigned n = 0; n < 40; n++) {
			uint32_t node = 0, t = profile_thread(p, 1, (int)(random() % 3) + 1, "a;b\n", "p");

			for (long depth = random() % 6; depth >= 0; depth--) {
				char name[16];
				size_t k = 0, size = (size_t)random() % sizeof(name);

				for (; k < size; k++)
					name[k] = letters[(size_t)random() % (sizeof(letters) - 1)];
				node = profile_node(
					p, node, profile_frame_named(p, name, size, (enum frame_kind)(random() % 7)));
			}
			profile_add(p, node, t, PROFILE_CPU, (uint64_t)random() % 5, 0);
		}
		text = case_written(&out_folded, p, &(struct out_options){ .per_thread = round % 2 }, &len);
		again = read_folded(text, len);
		text2 = case_written(&out_folded, again, NULL, &len2);
		if (strcmp(text, text2))
			say_difference(text, text2);
		assert_int_equal(len2, len);
		profile_free(p);
		profile_free(again);
		free(text);
		free(text2);
	}
}

static void test_speedscope(void **state)
{
	struct profile *p = two_threads();
	char *text = case_written(&out_speedscope, p, &(struct out_options){ .title = "a \"title\"" }, NULL);

	(void)state;
	assert_non_null(strstr(text, "\"name\":\"a \\\"title\\\"\",\"activeProfileIndex\":0,\"shared\":{\"frames\":["
				     "{\"name\":\"main\",\"file\":\"app\"},"
				     "{\"name\":\"parse\",\"file\":\"libfoo.so\"},"));
	assert_non_null(strstr(
		text,
		"\"profiles\":["
		"{\"type\":\"sampled\",\"name\":\"main (10) of app (10)\",\"unit\":\"nanoseconds\",\"startValue\":0,"
		"\"endValue\":6000000,"
		"\"samples\":[[0,1,2],[0,4,5]],\"weights\":[5000000,1000000]},"
		"{\"type\":\"sampled\",\"name\":\"worker (11) of app (10)\",\"unit\":\"nanoseconds\",\"startValue\":0,"
		"\"endValue\":5000000,"
		"\"samples\":[[3,1],[0,4,5]],\"weights\":[2000000,3000000]}]}\n"));
	free(text);
	profile_free(p);
}

static struct profile *read_pprof(const char *bytes, size_t len)
{
	struct profile *p = profile_new();
	int fd = memfd_create("pprof", MFD_CLOEXEC);
	struct ut_err err = { 0 };

	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	lseek(fd, 0, SEEK_SET);
	if (out_read_pprof(p, fd, &err))
		fail_msg("%s", err.msg);
	close(fd);
	return p;
}

/* In whatever order. */
static void same_lines(const char *a, char *b)
{
	char *save = NULL;

	assert_int_equal(strlen(a), strlen(b));
	for (char *line = strtok_r(b, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *at = strstr(a, line);

		if (!at || at[strlen(line)] != '\n' || (at != a && at[-1] != '\n'))
			fail_msg("no line %s", line);
	}
}

/* What was written is there again: stacks, kinds, threads, times, and what the recording said of itself. */
static void test_pprof_round_trip(void **state)
{
	struct profile *p = two_threads(), *again;
	const struct out_options o = { .per_thread = true, .by_process = true };
	char *packed, *text, *text2;
	size_t len;

	(void)state;
	case_add(p, 0, "main@app|read@libc.so|~[waiting]", PROFILE_BLOCKED, 1, 70);
	case_add(p, 0, "main@app|read@libc.so", PROFILE_RUNNABLE, 7, 8);
	case_add(p, 1, "=[truncated]|$jit;code|^a@app|^b@app|?[unknown code, no map: 0x1]", PROFILE_CPU, 9, 10);
	p->totals.lost = 3;
	p->totals.cut = 9;
	p->totals.duration_ns = 1000 * MS;
	p->totals.period_ns = MS;
	p->totals.begin_wall_ns = 1700000000000000000;
	packed = case_written(&out_pprof, p, NULL, &len);
	again = read_pprof(packed, len);
	text = case_written(&out_folded, p, &o, NULL);
	text2 = case_written(&out_folded, again, &o, NULL);
	same_lines(text2, text);
	assert_int_equal(again->weights.n, p->weights.n);
	assert_int_equal(again->totals.lost, 3);
	assert_int_equal(again->totals.cut, 9);
	assert_int_equal(again->totals.samples, p->totals.samples);
	assert_int_equal(again->totals.duration_ns, 1000 * MS);
	assert_int_equal(again->totals.period_ns, MS);
	assert_int_equal(again->totals.begin_wall_ns, 1700000000000000000);
	free(packed);
	free(text);
	free(text2);
	profile_free(p);
	profile_free(again);
}

/* Cut anywhere, or with a byte changed: refused with a sentence, or read as something else. */
static void test_pprof_damaged(void **state)
{
	struct profile *p = two_threads();
	size_t len;
	char *packed = case_written(&out_pprof, p, NULL, &len);

	(void)state;
	for (size_t i = 0; i < len; i++) {
		struct profile *again = profile_new();
		int fd = memfd_create("pprof", MFD_CLOEXEC);
		struct ut_err err = { 0 };

		assert_int_equal(write(fd, packed, i), (ssize_t)i);
		lseek(fd, 0, SEEK_SET);
		assert_int_equal(out_read_pprof(again, fd, &err), -EINVAL);
		assert_true(err.msg[0]);
		close(fd);
		profile_free(again);
	}
	free(packed);
	profile_free(p);
}

/* A full disk and a closed pipe are told without a sentence: the caller knows the file's name. */
static void test_write_errors(void **state)
{
	struct profile *p = two_threads();
	int pipes[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(pipes), 0);
	close(pipes[0]);
	for (size_t i = 0; out_formats[i]; i++) {
		struct ut_err err = { 0 };
		int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

		assert_int_equal(out_formats[i]->write(p, &(struct out_options){ 0 }, full, &err), -ENOSPC);
		assert_string_equal(err.msg, "");
		assert_int_equal(out_formats[i]->write(p, &(struct out_options){ 0 }, pipes[1], &err), -EPIPE);
		assert_string_equal(err.msg, "");
		close(full);
	}
	close(pipes[1]);
	profile_free(p);
}

/* Nothing was seen: every format has a form for that. */
static void test_nothing(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	for (size_t i = 0; out_formats[i]; i++)
		free(case_written(out_formats[i], p, NULL, NULL));
	profile_free(p);
}

UNIT_TESTS(out)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),	      cmocka_unit_test(test_formats),
		cmocka_unit_test(test_folded),	      cmocka_unit_test(test_folded_waiting),
		cmocka_unit_test(test_folded_names),  cmocka_unit_test(test_folded_round_trip),
		cmocka_unit_test(test_speedscope),    cmocka_unit_test(test_pprof_round_trip),
		cmocka_unit_test(test_pprof_damaged), cmocka_unit_test(test_write_errors),
		cmocka_unit_test(test_nothing),
	};

	return unit_run(tests, NULL, NULL);
}
