/* SPDX-License-Identifier: MIT */
/* The [span KIND] sections and what else `gc` asks of the .ini files about runtimes, versions among them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "proc/runtime.h"
#include "unit.h"

#define HEAD "[runtime]\nname = Toy\nmatch = toylisp\n"
#define SPAN HEAD "[span gc]\n"
#define WHOLE SPAN "begin = u:toy:gc__begin \"full=%d\", arg1\nend = u:toy:gc__end\n"

static int parse(const char *text, struct runtimes *into, struct ut_err *err)
{
	return runtimes_parse("my.ini", text, strlen(text), into, err);
}

static void parse_good(const char *text, struct runtimes *into)
{
	struct ut_err err = { 0 };

	if (parse(text, into, &err))
		fail_msg("%s", err.msg);
}

static void reads_what_a_span_says(void **state)
{
	static const char text[] =
		HEAD "provider = toy\nversion = name\nversion = text \"toy \\\"v\" # comment\n"
		     "collector = GC Thread*\ncollector = Sweeper\nservice = C2 CompilerThre*\n"
		     "[probes]\nphase__end = \"part=%d freed=%u\", arg1, arg2\n"
		     "[span gc]\ntitle = pause # of all\nbegin = u:toy:gc__begin \"full=%d id=%d\", arg1, arg2\n"
		     "begin = p:libtoy*.so:collect(x, y) \"id=%d\", arg1\nend = u:toy:gc__end \"id=%d\", arg1\n"
		     "inside = r:toylisp:cause* \"cause=%s\", retval\nby = id\nonly = cause Z* of*\nonly = full 1\n"
		     "word = full 1 a full  one\nword = full -0x10 odd\nsince = 3.12\nbefore = 4\nneeds = "
		     "--trace-gc\nunseen = small steps\n"
		     "[span gc-phase]\nbegin = u:toy:phase__begin\nend = u:toy:phase__end \"part=%d\", arg1\n"
		     "part-of = gc\nwith = gc\nword = part 2 sweep\n"
		     "stops = no\n[span compile]\nbegin = u:toy:c\nend = u:toy:d\nby = process\n"
		     "[span compile]\nbegin = u:toy:e\nend = u:toy:f\nstops = yes\nby = thread\n";
	struct runtimes r = { 0 };
	const struct runtime *t;
	const struct runtime_span *s;

	(void)state;
	parse_good(text, &r);
	t = &r.all.v[0];
	assert_string_equal(t->origin, "my.ini");
	assert_null(t->none);
	assert_int_equal(t->version.n, 2);
	assert_false(t->version.v[0].in_text);
	assert_true(t->version.v[1].in_text);
	assert_string_equal(t->version.v[1].prefix, "toy \"v");
	assert_int_equal(t->collector.n, 2);
	assert_string_equal(t->collector.v[0], "GC Thread*");
	assert_string_equal(t->service.v[0], "C2 CompilerThre*");
	assert_int_equal(t->span.n, 4);
	s = &t->span.v[0];
	assert_string_equal(s->kind, "gc");
	assert_string_equal(s->title, "pause");
	assert_int_equal(s->line, 12);
	assert_int_equal(s->by, RUNTIME_BY_ID);
	assert_true(s->stops);
	assert_null(s->part_of);
	assert_null(s->with);
	assert_string_equal(s->since, "3.12");
	assert_string_equal(s->before, "4");
	assert_string_equal(s->needs, "--trace-gc");
	assert_string_equal(s->unseen, "small steps");
	assert_int_equal(s->probe.n, 4);
	assert_int_equal(s->probe.v[0].role, RUNTIME_BEGIN);
	assert_string_equal(s->probe.v[0].text, "u:toy:gc__begin \"full=%d id=%d\", arg1, arg2");
	assert_int_equal(s->probe.v[1].role, RUNTIME_BEGIN);
	assert_int_equal(s->probe.v[1].line, 15);
	assert_int_equal(s->probe.v[2].role, RUNTIME_END);
	assert_int_equal(s->probe.v[3].role, RUNTIME_INSIDE);
	assert_int_equal(s->only.n, 2);
	assert_string_equal(s->only.v[0].value, "cause");
	assert_string_equal(s->only.v[0].glob, "Z* of*");
	assert_int_equal(s->word.n, 2);
	assert_string_equal(s->word.v[0].value, "full");
	assert_int_equal(s->word.v[0].number, 1);
	assert_string_equal(s->word.v[0].text, "a full  one");
	assert_int_equal(s->word.v[1].number, -16);
	s = &t->span.v[1];
	assert_false(s->stops);
	assert_string_equal(s->part_of, "gc");
	assert_string_equal(s->with, "gc");
	assert_null(s->title);
	assert_string_equal(s->word.v[0].value, "part");
	assert_int_equal(t->span.v[2].by, RUNTIME_BY_PROCESS);
	assert_false(t->span.v[2].stops);
	assert_true(t->span.v[3].stops);
	runtimes_done(&r);
}

static void says_why_there_is_none(void **state)
{
	struct runtimes r = { 0 };

	(void)state;
	parse_good(HEAD "none = the build has no symbol\n", &r);
	assert_string_equal(r.all.v[0].none, "the build has no symbol");
	assert_int_equal(r.all.v[0].span.n, 0);
	runtimes_done(&r);
}

/* What stands for itself, and what a span of that kind does by default. */
static void only_what_holds_the_program_up_stops_it(void **state)
{
	static const char *const kinds[] = { "gc",   "gc-phase", "safepoint", "compile", "class-load",
					     "park", "request",	 "exception", "thread" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		AUTO(buf_done) struct buf text = { 0 };
		struct runtimes r = { 0 };

		buf_addf(&text, HEAD "[span %s]\nbegin = u:toy:b\nend = u:toy:e\n", kinds[i]);
		parse_good(text.data, &r);
		assert_int_equal(r.all.v[0].span.v[0].stops, i < 3);
		runtimes_done(&r);
	}
}

static void check_mistake(const char *text, const char *says)
{
	struct runtimes r = { 0 };
	struct ut_err err = { 0 };

	assert_int_equal(parse(text, &r, &err), -EINVAL);
	if (strncmp(err.msg, says, strlen(says)) != 0)
		fail_msg("'%s' is not '%s'", err.msg, says);
	assert_int_equal(r.all.n, 0);
}

static void mistakes_in_the_runtime_are_told(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ HEAD "collecter = x\n", "my.ini:4: unknown key 'collecter' in [runtime]; did you mean 'collector'?" },
		{ HEAD "collector = GC * Thread\n", "my.ini:4: 'GC * Thread': '*' is allowed only at the end" },
		{ HEAD "service = *\n", "my.ini:4: '*' matches every thread" },
		{ HEAD "service = C2 CompilerThread*\n",
		  "my.ini:4: 'C2 CompilerThread*' is longer than 15 bytes, to which the kernel "
		  "truncates thread names; write 'C2 CompilerThre*'" },
		{ HEAD "collector = abcdefghijklmnop\n", "my.ini:4: 'abcdefghijklmnop' is longer than 15 bytes" },
		{ HEAD "collector = a\ncollector = a\n", "my.ini:5: duplicate line 'collector = a'" },
		{ HEAD "none = a\nnone = b\n", "my.ini:5: duplicate key 'none'" },
		{ HEAD "kind = server\nkind = server\n", "my.ini:5: duplicate key 'kind'" },
		{ HEAD "none = a\n[span gc]\nbegin = u:a:b\nend = u:a:c\n",
		  "my.ini:5: 'none' declares that there are no spans" },
		{ HEAD "version = file\n", "my.ini:4: unknown version 'file': must be name, or text \"PREFIX\"" },
		{ HEAD "version = text\n", "my.ini:4: unknown version 'text'" },
		{ HEAD "version = text node\n", "my.ini:4: the string before the version must be in double quotes" },
		{ HEAD "version = text \"\"\n", "my.ini:4: the string before the version must be in double quotes" },
		{ HEAD "version = text \"node v\n",
		  "my.ini:4: the string before the version must be in double quotes" },
		{ HEAD "version = text \"a\" b\n", "my.ini:4: the string before the version must be in double quotes" },
		{ HEAD "version = text \"0123456789012345678901234567890123456789012345678901234567890123456789\"\n",
		  "my.ini:4: the string before the version is longer than 64 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_mistake(cases[i].text, cases[i].says);
}

static void mistakes_in_spans_are_told(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ HEAD "[span]\n", "my.ini:4: the kind is missing" },
		{ HEAD "[span ]\n", "my.ini:4: the kind is missing" },
		{ HEAD "[span cg]\n", "my.ini:4: unknown kind of span 'cg'; valid kinds: gc gc-phase" },
		{ HEAD "[span gcphase]\n", "my.ini:4: unknown kind of span 'gcphase'; did you mean 'gc-phase'?" },
		{ HEAD "[span gc-]\n", "my.ini:4: unknown kind of span 'gc-'" },
		{ HEAD "[span gc safepoint]\n", "my.ini:4: unknown kind of span 'gc safepoint'" },
		{ HEAD "[span gc\n", "my.ini:4: unknown section '[span gc'" },
		{ HEAD "[spangc]\n", "my.ini:4: unknown section '[spangc]'" },
		{ SPAN, "my.ini:4: [span gc] has no begin" },
		{ SPAN "end = u:a:b\n", "my.ini:4: [span gc] has no begin" },
		{ SPAN "begin = u:a:b\ninside = u:a:c\n", "my.ini:4: [span gc] has no end" },
		{ SPAN "begin = u:a:b\n[span gc]\nend = u:a:c\nbegin = u:a:b\n", "my.ini:4: [span gc] has no end" },
		{ SPAN "beginn = u:a:b\n", "my.ini:5: unknown key 'beginn' in [span gc]; did you mean 'begin'?" },
		{ SPAN "collector = x\n", "my.ini:5: unknown key 'collector' in [span gc]; valid keys: title, begin," },
		{ SPAN "begin = t:a:b\n", "my.ini:5: 't:a:b' is not a probe: it must begin with u:, p: or r:" },
		{ SPAN "begin = gc__begin\n", "my.ini:5: 'gc__begin' is not a probe" },
		{ SPAN "begin = u:\n", "my.ini:5: 'u:' is not a probe" },
		{ SPAN "begin = u:a:b \"x=%d, arg1\n",
		  "my.ini:5: the format of 'u:a:b \"x=%d, arg1' has no closing quote" },
		{ SPAN "begin = u:a:b\nbegin = u:a:b\n", "my.ini:6: duplicate probe 'u:a:b', first in line 5" },
		{ SPAN "title = a\ntitle = b\n", "my.ini:6: duplicate key 'title'" },
		{ SPAN "needs = a\nneeds = b\n", "my.ini:6: duplicate key 'needs'" },
		{ SPAN "by = thread\nby = thread\n", "my.ini:6: duplicate key 'by'" },
		{ SPAN "stops = yes\nstops = yes\n", "my.ini:6: duplicate key 'stops'" },
		{ SPAN "since = 1\nsince = 1\n", "my.ini:6: duplicate key 'since'" },
		{ SPAN "before = 1\nbefore = 1\n", "my.ini:6: duplicate key 'before'" },
		{ SPAN "part-of = gc\npart-of = gc\n", "my.ini:6: duplicate key 'part-of'" },
		{ SPAN "by = pid\n", "my.ini:5: unknown value 'pid' of by: must be thread, process or id" },
		{ SPAN "stops = true\n", "my.ini:5: unknown value 'true' of stops: must be yes or no" },
		{ SPAN "with = gcc\n", "my.ini:5: unknown kind of span 'gcc'" },
		{ WHOLE "with = safepoint\n",
		  "my.ini:4: it is watched with spans of the kind safepoint, but there is no other" },
		{ SPAN "part-of = gcc\n", "my.ini:5: unknown kind of span 'gcc'" },
		{ WHOLE "part-of = safepoint\n",
		  "my.ini:4: it is part of spans of the kind safepoint, but there is no other" },
		{ WHOLE "part-of = gc\n",
		  "my.ini:4: it is part of spans of the kind gc, but there is no other [span gc]" },
		{ SPAN "since = v3\n",
		  "my.ini:5: 'v3' is not a version: it must be numbers separated by dots, as in 'since = 3.12'" },
		{ SPAN "since = 3.\n", "my.ini:5: '3.' is not a version" },
		{ SPAN "before = .3\n", "my.ini:5: '.3' is not a version" },
		{ SPAN "before = 3..1\n", "my.ini:5: '3..1' is not a version" },
		{ SPAN "before = 3 1\n", "my.ini:5: '3 1' is not a version" },
		{ WHOLE "since = 3.12\nbefore = 3.12.0\n",
		  "my.ini:4: [span gc] applies to no version: since 3.12, but before 3.12.0" },
		{ SPAN "only = full\n", "my.ini:5: 'only' has the form 'VALUE GLOB'" },
		{ SPAN "only = 1full x\n", "my.ini:5: 'only' has the form 'VALUE GLOB'" },
		{ SPAN "only = f*l x\n", "my.ini:5: 'only' has the form 'VALUE GLOB'" },
		{ WHOLE "only = ful 1\n",
		  "my.ini:4: 'only' uses the value 'ful', which no format of this span has; did you mean "
		  "'full'?" },
		{ SPAN "word = full\n", "my.ini:5: 'word' has the form 'VALUE NUMBER WORDS'" },
		{ SPAN "word = full 1\n", "my.ini:5: 'word' has the form 'VALUE NUMBER WORDS'" },
		{ SPAN "word = full one full\n", "my.ini:5: 'one' is not a number: 'word' has the form" },
		{ SPAN "word = full 1x full\n", "my.ini:5: '1x' is not a number" },
		{ SPAN "word = full 99999999999999999999 full\n", "my.ini:5: '99999999999999999999' is not a number" },
		{ SPAN "word = full 1 a\nword = full 0x1 b\n", "my.ini:6: full 1 already has a word: 'a'" },
		{ WHOLE "word = gen 1 young\n",
		  "my.ini:4: 'word' uses the value 'gen', which no format of this span has" },
		{ HEAD "provider = toy\n[probes]\nb = \"full=%d\", arg1\n[span gc]\nbegin = u:toy:b\nend = "
		       "u:toy:e\nword = full 1 x\n",
		  "my.ini:7: 'word' uses the value 'full', which no format of this span has" },
		{ WHOLE "by = id\n", "my.ini:5: 'by = id' needs a value id in the format of each begin and end" },
		{ SPAN "by = id\nbegin = u:a:b \"id=%d\", arg1\nend = u:a:c \"pid=%d\", arg1\n",
		  "my.ini:7: 'by = id' needs" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_mistake(cases[i].text, cases[i].says);
}

static void versions_compare_number_by_number(void **state)
{
	static const struct {
		const char *a, *b;
		int order;
	} cases[] = {
		{ "3.11", "3.12", -1 },
		{ "3.9", "3.11", -1 },
		{ "3", "3.0.0", 0 },
		{ "17.0.15", "17", 1 },
		{ "25", "17.0.15", 1 },
		{ "", "1", -1 },
		{ "", "0", 0 },
		{ "", "", 0 },
		{ "3.11.2", "3.11.2", 0 },
		{ "010", "10", 0 },
		{ "1.2+7", "1.2", 0 },
		{ "99999999999999999999999", "99999999999999999998", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(runtime_version_compare(cases[i].a, cases[i].b), cases[i].order);
		assert_int_equal(runtime_version_compare(cases[i].b, cases[i].a), -cases[i].order);
	}
}

static void a_span_holds_for_its_versions(void **state)
{
	struct runtime_span always = { 0 }, s = { .since = (char[]){ "3.12" }, .before = (char[]){ "4" } };

	(void)state;
	assert_true(runtime_span_holds(&always, "1"));
	assert_true(runtime_span_holds(&s, NULL));
	assert_true(runtime_span_holds(&s, ""));
	assert_false(runtime_span_holds(&s, "3.11.9"));
	assert_true(runtime_span_holds(&s, "3.12"));
	assert_true(runtime_span_holds(&s, "3.99.1"));
	assert_false(runtime_span_holds(&s, "4.0"));
}

static void the_version_stands_in_the_name(void **state)
{
	static const struct {
		const char *path, *version;
	} cases[] = {
		{ "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2", "3.1.2" },
		{ "/usr/bin/python3.11", "3.11" },
		{ "libpython3.11.so.1.0", "3.11" },
		{ "/opt/9.9.9/php8.2", "8.2" },
		{ "libnode.so.108", "108" },
		{ "a1b2", "1" },
		{ "x1..2.3.", "2.3" },
		{ "/usr/lib/libjvm.so", "" },
		{ "", "" },
		{ "1/", "" },
		{ "lib1.2.3.4.5.6.7.8.9.10.11.12.13.14.so", "" },
	};
	struct runtimes r = { 0 };

	(void)state;
	parse_good(HEAD "version = name\n", &r);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char version[32] = "left over";

		assert_int_equal(runtime_version(&r.all.v[0], cases[i].path, -1, version), cases[i].version[0] != 0);
		assert_string_equal(version, cases[i].version);
	}
	runtimes_done(&r);
}

/* Constants of this very program; the prefixes are put together at run time, or they would be found as well. */
const char version_long[] = "toy-runtime-version-17.0.15+6-LTS";
const char version_other[] = "toy-runtime-version-x", version_only_text[] = "toy-runtime-words-only";

static void version_of_this_program(const char *prefix, bool found, const char *expected)
{
	AUTO(buf_done) struct buf text = { 0 };
	AUTO_FCLOSE FILE *self = fopen("/proc/self/exe", "r");
	struct runtimes r = { 0 };
	char version[32];

	assert_non_null(self);
	buf_addf(&text, HEAD "version = text \"toy-runtime-%s\"\n", prefix);
	parse_good(text.data, &r);
	assert_int_equal(runtime_version(&r.all.v[0], "toylisp", fileno(self), version), found);
	assert_string_equal(version, expected);
	assert_int_equal(lseek(fileno(self), 0, SEEK_CUR), 0);
	runtimes_done(&r);
}

static void the_version_stands_behind_a_text(void **state)
{
	(void)state;
	assert_true(version_long[0] == version_other[0] && version_only_text[0]);
	version_of_this_program("version-", true, "17.0.15");
	version_of_this_program("words-", false, "");
	version_of_this_program("nothing-", false, "");
}

/* A file whose one segment is all of it: @size bytes, the text at @at. */
static int image_with_text(size_t size, size_t at, const char *text)
{
	char path[] = "/tmp/ut-test-XXXXXX", head[4096] = { 0 };
	int fd = mkstemp(path);
	struct {
		unsigned char ident[16];
		uint16_t type, machine;
		uint32_t version;
		uint64_t entry, phoff, shoff;
		uint32_t flags;
		uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
		uint32_t p_type, p_flags;
		uint64_t p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align;
	} elf = {
		.ident = { 0x7f, 'E', 'L', 'F', 2, 1, 1 },
		.type = 3,
		.machine = 62,
		.version = 1,
		.phoff = 64,
		.ehsize = 64,
		.phentsize = 56,
		.phnum = 1,
		.shentsize = 64,
		.p_type = 1,
		.p_flags = 4,
		.p_filesz = size,
		.p_memsz = size,
		.p_align = 4096,
	};

	memcpy(head, &elf, sizeof(elf));
	assert_return_code(fd, errno);
	unlink(path);
	assert_return_code(ftruncate(fd, (off_t)size), errno);
	assert_int_equal(pwrite(fd, head, sizeof(head), 0), sizeof(head));
	assert_int_equal(pwrite(fd, text, strlen(text), (off_t)at), strlen(text));
	return fd;
}

/* The file is read in pieces of 64 KiB: the text is found wherever it lies across their borders, and at the end. */
static void a_text_across_pieces_is_found(void **state)
{
	struct runtimes r = { 0 };
	char version[32];

	(void)state;
	parse_good(HEAD "version = text \"node v\"\n", &r);
	for (size_t at = 65536 - 16; at < 65536 + 4; at++) {
		AUTO_CLOSE int fd = image_with_text(300000, at, "node vnode v20.19.2");

		assert_true(runtime_version(&r.all.v[0], "node", fd, version));
		assert_string_equal(version, "20.19.2");
	}
	for (size_t cut = 0; cut < 3; cut++) {
		AUTO_CLOSE int fd = image_with_text(131072, 131072 - 10 + cut, "node v20.1");

		assert_return_code(ftruncate(fd, 131072), errno);
		assert_true(runtime_version(&r.all.v[0], "node", fd, version));
		assert_string_equal(version, cut == 0 ? "20.1" : "20");
	}
	runtimes_done(&r);
}

static void the_first_version_that_is_there_counts(void **state)
{
	struct runtimes r = { 0 };
	AUTO_CLOSE int fd = image_with_text(8192, 5000, "node v20.19.2");
	char version[32];

	(void)state;
	parse_good(HEAD "version = text \"nodejs v\"\nversion = text \"node v\"\nversion = name\n", &r);
	assert_true(runtime_version(&r.all.v[0], "node18", fd, version));
	assert_string_equal(version, "20.19.2");
	assert_true(runtime_version(&r.all.v[0], "node18", -1, version));
	assert_string_equal(version, "18");
	runtimes_done(&r);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void one_more_file_replaces_by_name(void **state)
{
	char folder[] = "/tmp/ut-test-XXXXXX", path[64];
	struct runtimes r = { 0 };
	struct ut_err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/toy.ini", folder);
	parse_good(WHOLE "[span compile]\nbegin = u:toy:a\nend = u:toy:b\n", &r);
	write_text(path, HEAD "[span request]\nbegin = u:toy:a\nend = u:toy:b\n");
	assert_int_equal(runtimes_load_file(&r, path, &err), 0);
	assert_int_equal(r.all.n, 1);
	assert_string_equal(r.all.v[0].origin, path);
	assert_int_equal(r.all.v[0].span.n, 1);
	assert_string_equal(r.all.v[0].span.v[0].kind, "request");

	write_text(path, SPAN "begin = u:toy:a\n");
	assert_int_equal(runtimes_load_file(&r, path, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "/toy.ini:4: [span gc] has no end"));
	assert_int_equal(r.all.v[0].span.n, 1); /* what was there stays */

	assert_return_code(truncate(path, 2 << 20), errno);
	assert_int_equal(runtimes_load_file(&r, path, &err), -EFBIG);
	unlink(path);
	assert_int_equal(runtimes_load_file(&r, path, &err), -ENOENT);
	assert_non_null(strstr(err.msg, path));
	assert_return_code(mkfifo(path, 0600), errno);
	assert_int_equal(runtimes_load_file(&r, path, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "is not a regular file"));
	assert_int_equal(runtimes_load_file(&r, "/dev/zero", &err), -EINVAL);
	assert_int_equal(runtimes_load_file(&r, folder, &err), -EINVAL);
	unlink(path);
	rmdir(folder);
	runtimes_done(&r);
}

UNIT_TESTS(runtime_span)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_a_span_says),
		cmocka_unit_test(says_why_there_is_none),
		cmocka_unit_test(only_what_holds_the_program_up_stops_it),
		cmocka_unit_test(mistakes_in_the_runtime_are_told),
		cmocka_unit_test(mistakes_in_spans_are_told),
		cmocka_unit_test(versions_compare_number_by_number),
		cmocka_unit_test(a_span_holds_for_its_versions),
		cmocka_unit_test(the_version_stands_in_the_name),
		cmocka_unit_test(the_version_stands_behind_a_text),
		cmocka_unit_test(a_text_across_pieces_is_found),
		cmocka_unit_test(the_first_version_that_is_there_counts),
		cmocka_unit_test(one_more_file_replaces_by_name),
	};

	return unit_run(tests, NULL, NULL);
}
