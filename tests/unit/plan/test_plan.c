/* SPDX-License-Identifier: MIT */
/* Plans: what becomes of probes as typed, in real and in made-up files, and what is said when nothing does.
 * tests/golden/explain.txt is the plan of a made-up file (UT_GOLDEN_UPDATE=1 writes it anew). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "elf_builder.h"
#include "golden.h"
#include "plan/plan_priv.h"
#include "unit.h"

static struct plan_options options(void)
{
	return (struct plan_options){ .gen = { .text_limit = 200, .may_sleep = true, .ncpus = 4 } };
}

static struct plan *new_plan(const char *const *texts, size_t n)
{
	struct plan_options o = options();
	struct ut_err err = { 0 };
	struct plan *ret;

	if (plan_new(texts, n, &o, &ret, &err))
		fail_msg("%s", err.msg);
	return ret;
}

/* A program that the build made; skipped when it made none. */
static int target_open(const char *name, char path[PATH_MAX])
{
	const char *root = getenv("UT_BUILD_ROOT");
	int fd;

	snprintf(path, PATH_MAX, "%s/tests/targets/%s", root ? root : ".", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		print_message("the build made no %s\n", name);
		skip();
	}
	return fd;
}

/* The plan of probe @text, with the path of @target put in the place of its "@"; NULL and the sentence in @err. */
static struct plan *plan_target(const char *target, const char *text, struct ut_err *err)
{
	char path[PATH_MAX], full[2 * PATH_MAX];
	AUTO_CLOSE int fd = target_open(target, path);
	const char *at = strchr(text, '@'), *texts[] = { full };
	struct plan *plan;

	memset(err, 0, sizeof(*err));
	assert_non_null(at);
	snprintf(full, sizeof(full), "%.*s%s%s", (int)(at - text), text, path, at + 1);
	plan = new_plan(texts, 1);
	if (!plan_file(plan, path, fd, err) && !plan_complete(plan, "the test", NULL, err))
		return plan;
	return plan_free(plan);
}

static struct plan *good_plan(const char *target, const char *text)
{
	struct ut_err err;
	struct plan *plan = plan_target(target, text, &err);

	if (!plan)
		fail_msg("%s: %s", text, err.msg);
	return plan;
}

static void sites_of_a_program(void **state)
{
	static const struct {
		const char *text;
		size_t probes, sites;
	} rows[] = {
		{ "u:@:konst", 1, 1 },
		{ "u:@:multi", 1, 2 },
		{ "u:@:zoo:i32 (arg1 > 3) \"%d\", arg1", 1, 1 },
		{ "u:@:dbl*", 3, 3 },
		{ "p:@:p_str \"%s\", arg1", 1, 1 },
		{ "p:@:site_?", 2, 2 },
		{ "r:@:p_str", 1, 1 },
		{ "r:@:p_str duration", 1, 2 },
		{ "r:@:p_str \"%U\"", 1, 2 }, /* the entry and RET, in place of the trampoline */
		{ "p:@:main", 1, 1 },
		{ "u:@:z?o:str \"%s\", arg1", 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plan *plan = good_plan("zoo-pie", rows[i].text);

		if (plan->probes.n != rows[i].probes || plan->sites.n != rows[i].sites)
			fail_msg("%s: %zu probes, %zu sites", rows[i].text, plan->probes.n, plan->sites.n);
		plan_free(plan);
	}
}

/* The same probe in every build of a program: offsets and addresses agree with the file. */
static void every_build_has_the_probes(void **state)
{
	static const char *const builds[] = { "zoo-pie", "zoo-nopie", "zoo-static", "zoo-stripped", "zoo-gz" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		struct plan *plan = good_plan(builds[i], "u:@:*");
		struct elf_image *img = NULL;
		unsigned char byte;

		assert_int_equal(plan->probes.n, 13);
		assert_int_equal(elf_image_open(plan->files.v[0].fd, &img, NULL), 0);
		for (size_t s = 0; s < plan->sites.n; s++) {
			assert_true(elf_read_at(img, plan->sites.v[s].vaddr, &byte, 1));
			assert_int_equal(byte, 0x90);
			assert_int_equal(pread(plan->files.v[0].fd, &byte, 1, (off_t)plan->sites.v[s].offset), 1);
			assert_int_equal(byte, 0x90);
		}
		elf_image_free(img);
		plan_free(plan);
	}
}

static void a_stripped_file_by_address(void **state)
{
	struct plan *named = good_plan("zoo-pie", "p:@:p_str"), *plan;
	char text[64];

	(void)state;
	snprintf(text, sizeof(text), "p:@:0x%llx \"%%s\", arg1", (unsigned long long)named->sites.v[0].vaddr);
	plan = good_plan("zoo-stripped", text);
	assert_int_equal(plan->sites.n, 1);
	assert_int_equal(plan->sites.v[0].vaddr, named->sites.v[0].vaddr);
	assert_int_equal(plan->sites.v[0].offset, named->sites.v[0].offset);
	plan_free(plan);
	plan_free(named);
}

static void mistakes_get_a_sentence(void **state)
{
	static const struct {
		const char *target, *text, *words[3];
	} rows[] = {
		{ "zoo-pie", "u:@:konts", { "konts", "zoo:konst" } },
		{ "zoo-pie", "u:@:nothing_like_it", { "nothing_like_it", "zoo:" } },
		{ "zoo-pie", "u:@:oza:konst", { "konst" } },
		{ "zoo-pie", "p:@:p_stak", { "has no function 'p_stak'", "p_stack" } },
		{ "zoo-stripped", "p:@:p_str", { "has no function 'p_str'" } },
		{ "zoo-pie", "p:@:nothing_*", { "nothing_*" } },
		{ "zoo-pie", "u:@:konst arg3", { "has no arg3", "^" } },
		{ "zoo-pie", "u:@:none arg1", { "has no arguments", "^" } },
		{ "zoo-pie", "u:@:dbl (arg1 > 2)", { "%xmm0", "^" } },
		{ "zoo-pie", "u:@:dblnat \"%d\", arg1", { "double", "^" } },
		{ "zoo-pie", "p:@:0x10", { "0x10", "code", "^" } },
		{ "zoo-pie", "p:@:0xffffffffffffffff", { "code", "^" } },
		{ "zoo-pie", "p:@:p_str+0x100000", { "^" } },
		{ "zoo-pie", "r:@:p_str arg1", { "retval", "^" } },
		{ "semaphores-32", "u:@:*", { "32-bit" } },
		{ "tiny-32", "p:@:_start", { "32-bit", "64-bit x86" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ut_err err;
		char path[PATH_MAX];
		struct plan *plan;

		snprintf(path, sizeof(path), "%s/tests/targets/%s", getenv("UT_BUILD_ROOT"), rows[i].target);
		if (access(path, R_OK))
			continue;
		plan = plan_target(rows[i].target, rows[i].text, &err);
		if (plan)
			fail_msg("%s was accepted", rows[i].text);
		for (size_t w = 0; w < ARRAY_SIZE(rows[i].words) && rows[i].words[w]; w++)
			if (!strstr(err.msg, rows[i].words[w]))
				fail_msg("%s: no '%s' in: %s", rows[i].text, rows[i].words[w], err.msg);
	}
}

/* Of the bytes of a function some begin instructions and some do not. */
static void the_middle_of_an_instruction(void **state)
{
	unsigned good = 0, refused = 0;

	(void)state;
	for (int off = 1; off < 24; off++) {
		char text[64];
		struct ut_err err;
		struct plan *plan;

		snprintf(text, sizeof(text), "p:@:main+%d", off);
		plan = plan_target("zoo-pie", text, &err);
		good += plan != NULL;
		refused += !plan;
		if (!plan)
			assert_non_null(strstr(err.msg, "in the middle of an instruction"));
		plan_free(plan);
	}
	assert_true(good >= 4 && refused >= 4);
}

/* What lies behind a function is another's: its bytes are no instructions as seen from here. */
static void behind_the_end_of_a_function(void **state)
{
	struct ut_err err;

	(void)state;
	assert_null(plan_target("zoo-pie", "p:@:main+999999", &err));
	assert_non_null(strstr(err.msg, "is not in main: the function ends before"));
	assert_null(plan_target("zoo-pie", "p:@:p_const+64", &err));
	assert_non_null(strstr(err.msg, "is not in p_const"));
}

/* Functions that the dynamic linker chooses among: probing their names would probe the choosing. */
static void a_function_chosen_at_start(void **state)
{
	static const char *const text = "p:libc.so.6:strlen";
	AUTO_CLOSE int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	struct plan *plan = new_plan(&text, 1);
	struct ut_err err = { 0 };

	(void)state;
	if (fd < 0) {
		plan_free(plan);
		print_message("the C library is somewhere else here\n");
		skip();
	}
	assert_int_equal(plan_file(plan, "/lib/x86_64-linux-gnu/libc.so.6", fd, &err), 0);
	assert_int_equal(plan->sites.n, 0);
	assert_true(plan_complete(plan, "the test", NULL, &err) < 0);
	assert_non_null(strstr(err.msg, "IFUNC"));
	plan_free(plan);
}

static unsigned sites_of(const char *target, const char *text)
{
	struct ut_err err = { 0 };
	struct plan *plan = plan_target(target, text, &err);
	unsigned n = plan ? (unsigned)plan->sites.n : 0;

	plan_free(plan);
	return n;
}

/* A function's cold part is jumped to, and where its return address would be lies anything. */
static void a_part_that_was_split_off(void **state)
{
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(sites_of("zoo-static", "p:@:_IO_fwrite.cold"), 1); /* there is one */
	assert_int_equal(sites_of("zoo-static", "p:@:_IO_fwrite*"), 1);
	assert_int_equal(sites_of("zoo-static", "r:@:_IO_fwrite*"), 1);
	assert_null(plan_target("zoo-static", "r:@:_IO_fwrite.cold", &err));
	assert_non_null(strstr(err.msg, "split off"));
}

static void names_of_libraries(void **state)
{
	static const struct {
		const char *where, *path;
		bool matches;
	} rows[] = {
		{ "c", "/lib/x86_64-linux-gnu/libc.so.6", true },
		{ "libc", "/lib/x86_64-linux-gnu/libc.so.6", true },
		{ "libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6", true },
		{ "libc.so", "/lib/libc.so.6", true },
		{ "c", "/usr/lib/libc-2.31.so", true },
		{ "c", "/usr/lib/libcrypt.so.1", false },
		{ "libc", "/usr/lib/libcap.so.2", false },
		{ "libjvm", "/usr/lib/jvm/lib/server/libjvm.so", true },
		{ "jvm", "/usr/lib/jvm/lib/server/libjvm.so", true },
		{ "jvm", "/usr/lib/jvm/bin/java", false },
		{ "python3.11", "/usr/bin/python3.11", true },
		{ "python", "/usr/bin/python3.11", false },
		{ "python*", "/usr/bin/python3.11", true },
		{ "libstdc++", "/usr/lib/libstdc++.so.6.0.30", true },
		{ "stdc++", "/usr/lib/libstdc++.so.6.0.30", true },
		{ "", "/usr/lib/libc.so.6", false },
		{ "c", "", false },
		{ "node", "/opt/node/bin/node", true },
	};
	char lengthy[3000];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (library_matches(rows[i].where, rows[i].path) != rows[i].matches)
			fail_msg("'%s' and %s", rows[i].where, rows[i].path);
	memset(lengthy, 'x', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = '\0';
	assert_false(library_matches(lengthy, "/usr/lib/libc.so.6"));
}

/* A file in memory. */
static int memory_file(const void *bytes, size_t size)
{
	int fd = memfd_create("made-up", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

#define MADE_UP "/opt/made-up/thing"

static int made_up_file(void)
{
	struct elf_builder *b = builder_new();
	int fd;

	b->bytes[0x100] = b->bytes[0x180] = b->bytes[0x200] = 0x90;
	NOTE(b, TEXT_VADDR + 0x100, 0, DATA_VADDR + 0x20, "made\0begin\0-4@%eax 8@16(%rsp) 8@$7");
	NOTE(b, TEXT_VADDR + 0x180, 0, DATA_VADDR + 0x20, "made\0begin\0-4@$3 8@(%rdi,%rsi,8) 8@$7");
	NOTE(b, TEXT_VADDR + 0x200, 0, 0,
	     "made\0end\0"
	     "8f@%xmm0 1@%ah");
	fd = memory_file(b->bytes, sizeof(b->bytes));
	free(b);
	return fd;
}

static struct plan *made_up_plan(const char *const *texts, size_t n)
{
	AUTO_CLOSE int fd = made_up_file();
	struct plan *plan = new_plan(texts, n);
	struct ut_err err = { 0 };

	if (plan_file(plan, MADE_UP, fd, &err) || plan_complete(plan, "the test", NULL, &err))
		fail_msg("%s", err.msg);
	return plan;
}

/* Without the instructions that read strings, which test_gen_text.c executes: nobody would read so long a listing. */
static void leave_out(struct buf *text, const char *from, const char *until)
{
	char *cut, *rest;

	buf_addc(text, '\0');
	cut = strstr(text->data, from);
	rest = cut ? strstr(cut, until) : NULL;
	assert_non_null(rest);
	memmove(cut, rest, strlen(rest) + 1);
	text->len = strlen(text->data);
}

/* Nothing says that an instruction begins there, so no probe is put there. */
static void an_address_must_begin_an_instruction(void **state)
{
	static const char *const texts[] = { "p:" MADE_UP ":0x400200" };
	AUTO_CLOSE int fd = made_up_file();
	struct plan *plan = new_plan(texts, 1);
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(plan_file(plan, MADE_UP, fd, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "that an instruction of"));
	plan_free(plan);
}

static void the_plan_as_text(void **state)
{
	static const char *const texts[] = {
		"u:made:begin (arg1 > 2 && comm != \"sh\") \"%d %s\", arg1, arg2",
		"u:made:end",
	};
	struct plan *plan = made_up_plan(texts, 2);
	struct buf text = { 0 };

	(void)state;
	plan_explain(plan, &text);
	leave_out(&text, "\ninstructions #0 (", "\ninstructions #2 (");
	golden_is("explain.txt", text.data, text.len);
	buf_done(&text);
	plan_free(plan);
}

/* Equal instructions are kept once, whoever asked for them. */
static void equal_bodies_are_shared(void **state)
{
	static const char *const texts[] = { "u:made:begin arg3", "u:made:begin arg3", "u:made:begin arg3 + 0" };
	struct plan *plan = made_up_plan(texts, 3);

	(void)state;
	assert_int_equal(plan->sites.n, 6);
	assert_int_equal(plan->probes.n, 3);
	assert_int_equal(plan->snippets.n, 2);
	plan_free(plan);
}

static void a_file_is_looked_at_once(void **state)
{
	static const char *const text = "u:made:*";
	AUTO_CLOSE int fd = made_up_file();
	struct plan *plan = new_plan(&text, 1);
	struct ut_err err = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(plan_file(plan, MADE_UP, fd, &err), 0);
		assert_int_equal(plan->sites.n, 3);
	}
	assert_int_equal(plan->requests.v[0].nprobes, 2);
	plan_free(plan);
}

/* All probes of a file are not the one of <usertrace.h>, whose events e: shows; by its name it is one like others. */
static void a_pattern_passes_over_the_site_of_user_events(void **state)
{
	static const struct {
		const char *text;
		size_t probes;
	} rows[] = {
		{ "u:thing:*", 1 },	{ "u:thing:*:*", 2 },	{ "u:" MADE_UP ":*", 1 },
		{ "u:thing:event", 1 }, { "u:usertrace:*", 1 }, { "u:usertrace:event", 1 },
	};
	struct elf_builder *b = builder_new();
	AUTO_CLOSE int fd = -1;

	(void)state;
	b->bytes[0x100] = b->bytes[0x180] = 0x90;
	NOTE(b, TEXT_VADDR + 0x100, 0, 0, "thing\0begin\0-4@%eax");
	NOTE(b, TEXT_VADDR + 0x180, 0, DATA_VADDR + 0x20,
	     "usertrace\0event\0"
	     "4@%edi 8@%rsi -8@%rdx 8@%rcx 8@%r8");
	fd = memory_file(b->bytes, sizeof(b->bytes));
	free(b);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plan *plan = new_plan(&rows[i].text, 1);
		struct ut_err err = { 0 };

		assert_int_equal(plan_file(plan, MADE_UP, fd, &err), 0);
		if (plan->requests.v[0].nprobes != rows[i].probes)
			fail_msg("%s: %u probes", rows[i].text, (unsigned)plan->requests.v[0].nprobes);
		plan_free(plan);
	}
}

/* A probe that does not fit a file takes back everything that this file gave to others. */
static void an_error_leaves_the_plan_as_it_was(void **state)
{
	static const char *const texts[] = { "u:made:begin arg1", "u:made:end arg9" };
	AUTO_CLOSE int fd = made_up_file();
	struct plan *plan = new_plan(texts, 2);

	(void)state;
	for (int i = 0; i < 2; i++) { /* and it is one again when the file is looked at again */
		struct ut_err err = { 0 };

		assert_true(plan_file(plan, MADE_UP, fd, &err) < 0);
		assert_non_null(strstr(err.msg, "arg9"));
		assert_int_equal(plan->probes.n + plan->sites.n + plan->snippets.n + plan->files.n, 0);
		assert_int_equal(plan->requests.v[0].nprobes + plan->requests.v[1].nprobes, 0);
	}
	plan_free(plan);
}

/* One unreadable argument is told, with its reason, and spoils nothing else. */
static void an_unreadable_argument(void **state)
{
	static const char *const text = "u:made:end";
	struct plan *plan = made_up_plan(&text, 1);

	(void)state;
	assert_int_equal(plan->sites.n, 1);
	assert_non_null(plan->sites.v[0].unreadable[0]);
	assert_non_null(strstr(plan->sites.v[0].unreadable[0], "xmm0"));
	assert_null(plan->sites.v[0].unreadable[1]);
	assert_int_equal(plan->notes.n, 1);
	plan_free(plan);
}

static void what_the_runtime_offers(void **state)
{
	static const char *const text = "u:gone:gc__start";
	static const char ini[] = "[runtime]\nname = Made Up\nlanguage = Lisp\nmatch = made-up\noffer = "
				  "p:made-up:collect | collections\n";
	struct runtimes runtimes = { 0 };
	struct plan *plan = new_plan(&text, 1);
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(runtimes_parse("made-up.ini", ini, strlen(ini), &runtimes, &err), 0);
	assert_true(plan_complete(plan, "process 123 (made-up)", &runtimes.all.v[0], &err) < 0);
	assert_non_null(strstr(err.msg, "process 123 (made-up)"));
	assert_non_null(strstr(err.msg, "this is Made Up (Lisp)"));
	assert_non_null(strstr(err.msg, "p:made-up:collect"));
	runtimes_done(&runtimes);
	plan_free(plan);
}

static void refuse_path(const char *path, const char *words)
{
	struct ut_err err = { 0 };
	char text[PATH_MAX + 16];
	const char *texts[] = { text };
	struct plan *plan;

	snprintf(text, sizeof(text), "p:%s:main", path);
	plan = new_plan(texts, 1);
	if (!plan_named_files(plan, false, &err))
		fail_msg("%s was accepted", path);
	if (!strstr(err.msg, words) || !strstr(err.msg, path))
		fail_msg("%s: no '%s' in: %s", path, words, err.msg);
	plan_free(plan);
}

/* No program: nothing hangs, nothing is read without end. */
static void files_that_are_no_programs(void **state)
{
	char folder[] = "/tmp/usertrace-test-XXXXXX", path[PATH_MAX];
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	refuse_path(folder, "regular file");
	refuse_path("/dev/zero", "regular file");
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	refuse_path(path, "regular file");
	unlink(path);
	snprintf(path, sizeof(path), "%s/text", folder);
	refuse_path(path, "cannot open");
	f = fopen(path, "w");
	refuse_path(path, "ELF");
	fputs("#!/bin/sh\necho no program\n", f);
	fclose(f);
	refuse_path(path, "ELF");
	unlink(path);
	rmdir(folder);
}

static void broken_probes_never_become_a_plan(void **state)
{
	static const char *const texts[] = { "u:made:begin", "u:made:begin (arg1 = 2)" };
	struct plan_options o = options();
	struct plan *plan;
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(plan_new(texts, 2, &o, &plan, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "did you mean '=='"));
}

/* Told before a command runs, when nothing is known of the probe yet. */
static void formats_wrong_by_themselves(void **state)
{
	static const char *const cases[][2] = {
		{ "u:made:begin \"%q\", arg1", "unknown conversion" },
		{ "u:made:begin \"50%\"", "ends in the middle" },
		{ "u:made:begin \"%n\", arg1", "not supported" },
		{ "u:made:begin \"%d %.*s\", arg1, arg2",
		  "the format needs 3 values, but 2 are given\n"
		  "  u:made:begin \"%d %.*s\", arg1, arg2\n                   ^~~~" },
		{ "p:c:read \"%d%U\", arg1, arg2", "the format prints 1 value, but 2 are given" },
	};
	struct plan_options o = options();
	struct plan *plan;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ut_err err = { 0 };

		assert_int_equal(plan_new(&cases[i][0], 1, &o, &plan, &err), -EINVAL);
		if (!strstr(err.msg, cases[i][1]))
			fail_msg("'%s' is not in '%s'", cases[i][1], err.msg);
	}
}

UNIT_TESTS(plan)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_of_a_program),
		cmocka_unit_test(every_build_has_the_probes),
		cmocka_unit_test(a_stripped_file_by_address),
		cmocka_unit_test(mistakes_get_a_sentence),
		cmocka_unit_test(the_middle_of_an_instruction),
		cmocka_unit_test(behind_the_end_of_a_function),
		cmocka_unit_test(a_function_chosen_at_start),
		cmocka_unit_test(a_part_that_was_split_off),
		cmocka_unit_test(names_of_libraries),
		cmocka_unit_test(an_address_must_begin_an_instruction),
		cmocka_unit_test(the_plan_as_text),
		cmocka_unit_test(equal_bodies_are_shared),
		cmocka_unit_test(a_file_is_looked_at_once),
		cmocka_unit_test(a_pattern_passes_over_the_site_of_user_events),
		cmocka_unit_test(an_error_leaves_the_plan_as_it_was),
		cmocka_unit_test(an_unreadable_argument),
		cmocka_unit_test(what_the_runtime_offers),
		cmocka_unit_test(files_that_are_no_programs),
		cmocka_unit_test(broken_probes_never_become_a_plan),
		cmocka_unit_test(formats_wrong_by_themselves),
	};

	return unit_run(tests, NULL, NULL);
}
