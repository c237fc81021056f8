/* SPDX-License-Identifier: MIT */
/* HotSpot: its switches from command lines, environments and option files; what stands on the socket. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "proc/hotspot_priv.h"
#include "scratch.h"
#include "unit.h"

/* Words that end in a blank in the text end in a NUL there. */
static void add_words(struct buf *b, const char *words)
{
	for (const char *p = words; *p; p++)
		buf_addc(b, *p == '|' ? '\0' : *p);
	buf_addc(b, '\0');
}

static int flag(const char *cmdline, const char *environment)
{
	struct buf c = { 0 }, e = { 0 };
	int r;

	add_words(&c, cmdline);
	add_words(&e, environment);
	r = hotspot_flags_from(&c, &e, getpid(), "PreserveFramePointer");
	buf_done(&c);
	buf_done(&e);
	return r;
}

#define ON "-XX:+PreserveFramePointer"
#define OFF "-XX:-PreserveFramePointer"

static void the_command_line(void **state)
{
	(void)state;
	assert_int_equal(flag("java|Main", ""), -1);
	assert_int_equal(flag("java|" ON "|Main", ""), 1);
	assert_int_equal(flag("java|" ON "|" OFF "|Main", ""), 0);
	assert_int_equal(flag("java|" ON "x|Main", ""), -1);
	assert_int_equal(flag("java|Main|" ON, ""), -1); /* the program's own word */
	assert_int_equal(flag("java|-jar|x.jar|" ON, ""), -1);
	assert_int_equal(flag("java|-m|mod/Main|" ON, ""), -1);
	assert_int_equal(flag("java|-cp|a.jar|" ON "|Main", ""), 1);
	assert_int_equal(flag("java|-cp|" ON "|Main", ""), -1); /* a path of that name */
	assert_int_equal(flag("java|-Dx=y|--add-opens|a/b=c|" ON "|-jar|x", ""), 1);
	assert_int_equal(flag("", ""), -1);
}

static void the_environment(void **state)
{
	(void)state;
	assert_int_equal(flag("java|Main", "A=B|JAVA_TOOL_OPTIONS=-Xmx1g " ON), 1);
	assert_int_equal(flag("java|" OFF "|Main", "JAVA_TOOL_OPTIONS=" ON), 0);
	assert_int_equal(flag("java|" OFF "|Main", "_JAVA_OPTIONS=-Xss1m\t" ON "|X=Y"), 1);
	assert_int_equal(flag("java|Main", "JDK_JAVA_OPTIONS='-Dx=a b' \"" ON "\""), 1);
	assert_int_equal(flag("java|" OFF "|Main", "JDK_JAVA_OPTIONS=" ON), 0);
	assert_int_equal(flag("java|Main", "NOT_JAVA_TOOL_OPTIONS=" ON "|JAVA_TOOL_OPTIONSX=" ON), -1);
}

static char folder[] = "/tmp/ut-hotspot-XXXXXX";

static const char *option_file(const char *name, const char *text)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	write_file(folder, name, text);
	return path;
}

static void option_files(void **state)
{
	char line[512];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(line, sizeof(line), "java|@%s|Main", option_file("args", "# " OFF "\n-Xmx1g\n\"" ON "\"\n"));
	assert_int_equal(flag(line, ""), 1);
	snprintf(line, sizeof(line), "java|@@%s/args|Main", folder);
	assert_int_equal(flag(line, ""), -1);
	snprintf(line, sizeof(line), "java|-XX:Flags=%s|Main",
		 option_file("flags", "# x\n-UseThat +PreserveFramePointer\n"));
	assert_int_equal(flag(line, ""), 1);
	assert_int_equal(flag(line, "_JAVA_OPTIONS=" OFF), 0);
	snprintf(line, sizeof(line), "java|-XX:VMOptionsFile=%s|Main", option_file("options", "-Xmx1g\n" ON));
	assert_int_equal(flag(line, ""), 1);
	snprintf(line, sizeof(line), "java|@%s/none|" OFF "|Main", folder);
	assert_int_equal(flag(line, ""), 0);
	assert_int_equal(flag("java|@/dev/zero|@/tmp|Main", ""), -1); /* no regular files */
	snprintf(line, sizeof(line), "rm -r %s", folder);
	assert_int_equal(system(line), 0);
}

static int answer(const char *text, size_t *at, struct ut_err *err)
{
	struct buf b = { 0 };
	int r;

	buf_adds(&b, text);
	r = hotspot_answer(&b, at, err);
	buf_done(&b);
	return r;
}

static void answers(void **state)
{
	struct ut_err err = { 0 };
	size_t at = 0;

	(void)state;
	assert_int_equal(answer("0\nall is well\n", &at, &err), 0);
	assert_int_equal(at, 2);
	assert_int_equal(answer("0\n", &at, &err), 0);
	assert_int_equal(answer("0", &at, &err), -EAGAIN);
	assert_int_equal(answer("", &at, &err), -EAGAIN);
	assert_int_equal(answer("100\nno such command\nmore", &at, &err), -EIO);
	assert_string_equal(err.msg, "the JVM rejected the command: no such command");
	assert_int_equal(answer("01\nx", &at, &err), -EIO);
}

static void this_is_no_hotspot(void **state)
{
	struct ut_err err = { 0 };
	struct buf out = { 0 };

	(void)state;
	assert_false(hotspot_is_ready(getpid()));
	assert_int_equal(hotspot_command(getpid(), "VM.version", 1000, &out, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "is not a HotSpot"));
	assert_int_equal(hotspot_write_map(0x7ffffff0, 1000, &err), -ESRCH);
	assert_int_equal(hotspot_keeps_frame_pointers(0x7ffffff0), -ESRCH);
}

UNIT_TESTS(hotspot)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_line),   cmocka_unit_test(the_environment),
		cmocka_unit_test(option_files),	      cmocka_unit_test(answers),
		cmocka_unit_test(this_is_no_hotspot),
	};

	return unit_run(tests, NULL, NULL);
}
