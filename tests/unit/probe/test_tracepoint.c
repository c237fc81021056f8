/* SPDX-License-Identifier: MIT */
/* Format descriptions as kernels print them (tests/cases/tracefs), and texts that are none. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "probe/tracepoint.h"
#include "proc/procfs.h"
#include "proc/tracefs.h"
#include "unit.h"

static void parse_case(const char *category, const char *file, struct tracepoint *ret)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_CLOSE int fd = -1;
	const char *root = getenv("UT_SOURCE_ROOT");
	struct ut_err err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/cases/tracefs/%s.format", root ? root : ".", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_return_code(fd, errno);
	assert_int_equal(fd_read_all(fd, 1 << 20, &text), 0);
	if (tracepoint_parse(category, text.data, text.len, ret, &err))
		fail_msg("%s: %s", file, err.msg);
}

static const struct tracepoint_field *field(const struct tracepoint *tp, const char *name)
{
	for (size_t i = 0; i < tp->fields.n; i++)
		if (strcmp(tp->fields.v[i].name, name) == 0)
			return &tp->fields.v[i];
	fail_msg("no field %s", name);
	return NULL;
}

static void assert_int_field(const struct tracepoint *tp, const char *name, unsigned offset, unsigned size,
			     bool is_signed)
{
	const struct tracepoint_field *f = field(tp, name);

	assert_null(f->unreadable);
	assert_int_equal(f->type.kind, TYPE_INT);
	assert_int_equal(f->offset, offset);
	assert_int_equal(f->type.size, size);
	assert_int_equal(f->type.is_signed, is_signed);
	assert_false(f->data_loc || f->rel_loc || f->user_string || f->kernel_string || f->type.is_pointer);
}

static void assert_chars_field(const struct tracepoint *tp, const char *name, unsigned offset, unsigned size)
{
	const struct tracepoint_field *f = field(tp, name);

	assert_null(f->unreadable);
	assert_int_equal(f->type.kind, TYPE_CHARS);
	assert_int_equal(f->offset, offset);
	assert_int_equal(f->type.size, size);
}

static void assert_unreadable(const struct tracepoint *tp, const char *name, const char *why)
{
	const struct tracepoint_field *f = field(tp, name);

	assert_non_null(f->unreadable);
	assert_non_null(strstr(f->unreadable, why));
}

static void reads_sched_switch(void **state)
{
	struct tracepoint tp = { 0 };

	(void)state;
	parse_case("sched", "sched-sched_switch", &tp);
	assert_int_equal(tp.id, 372);
	assert_int_equal(tp.fields.n, 7);
	assert_string_equal(tp.fields.v[0].name, "prev_comm");
	assert_string_equal(tp.fields.v[0].decl, "char prev_comm[16]");
	assert_chars_field(&tp, "prev_comm", 8, 16);
	assert_int_field(&tp, "prev_pid", 24, 4, true);
	assert_int_field(&tp, "prev_state", 32, 8, true);
	assert_chars_field(&tp, "next_comm", 40, 16);
	assert_int_field(&tp, "next_prio", 60, 4, true);
	tracepoint_done(&tp);
}

/* Words of 8 bytes in the record, declared types in the program. */
static void reads_arguments_of_system_calls(void **state)
{
	struct tracepoint tp = { 0 };
	const struct tracepoint_field *f;

	(void)state;
	parse_case("syscalls", "syscalls-sys_enter_openat", &tp);
	assert_int_equal(tp.fields.n, 5);
	assert_int_field(&tp, "__syscall_nr", 8, 4, true);
	assert_int_field(&tp, "dfd", 16, 4, true);
	assert_int_equal(field(&tp, "dfd")->size, 8);
	assert_int_field(&tp, "mode", 40, 2, false);
	f = field(&tp, "filename");
	assert_string_equal(f->decl, "const char * filename");
	assert_true(f->user_string && f->type.is_pointer && !f->kernel_string && !f->type.is_signed);
	assert_int_equal(f->type.size, 8);
	tracepoint_done(&tp);

	parse_case("syscalls", "syscalls-sys_enter_execve", &tp);
	assert_true(field(&tp, "filename")->user_string);
	assert_int_field(&tp, "argv", 24, 8, false); /* a pointer to pointers is no text */
	tracepoint_done(&tp);

	parse_case("syscalls", "syscalls-sys_exit_read", &tp);
	assert_int_field(&tp, "ret", 16, 8, true);
	tracepoint_done(&tp);
}

static void reads_small_numbers(void **state)
{
	struct tracepoint tp = { 0 };

	(void)state;
	parse_case("task", "task-task_rename", &tp);
	assert_chars_field(&tp, "oldcomm", 12, 16);
	assert_int_field(&tp, "oom_score_adj", 44, 2, true);
	tracepoint_done(&tp);

	parse_case("tcp", "tcp-tcp_retransmit_skb", &tp);
	assert_int_field(&tp, "skaddr", 16, 8, false); /* const void * */
	assert_int_field(&tp, "sport", 28, 2, false);
	assert_unreadable(&tp, "saddr", "array"); /* bytes, not text */
	tracepoint_done(&tp);
}

static void knows_text_elsewhere_in_the_record(void **state)
{
	struct tracepoint tp = { 0 };

	(void)state;
	parse_case("irq", "irq-irq_handler_entry", &tp);
	assert_chars_field(&tp, "name", 12, 0);
	assert_true(field(&tp, "name")->data_loc && !field(&tp, "name")->rel_loc);
	assert_string_equal(field(&tp, "name")->decl, "__data_loc char[] name");
	tracepoint_done(&tp);

	parse_case("user_events", "user_events-rel_loc", &tp);
	assert_int_equal(tp.id, 1451);
	assert_chars_field(&tp, "url", 12, 0);
	assert_true(field(&tp, "url")->rel_loc && !field(&tp, "url")->data_loc);
	assert_unreadable(&tp, "body", "array");
	assert_unreadable(&tp, "times", "is a structure");
	assert_unreadable(&tp, "corners", "array of structures");
	assert_int_field(&tp, "number", 8, 4, false);
	tracepoint_done(&tp);
}

static void says_what_cannot_be_read(void **state)
{
	struct tracepoint tp = { 0 };

	(void)state;
	parse_case("raw_syscalls", "raw_syscalls-sys_enter", &tp);
	assert_int_field(&tp, "id", 8, 8, true);
	assert_unreadable(&tp, "args", "is an array");
	assert_int_equal(field(&tp, "args")->size, 48);
	tracepoint_done(&tp);

	parse_case("dma", "dma-dma_map_sg", &tp);
	assert_unreadable(&tp, "phys_addrs", "array");
	assert_int_field(&tp, "truncated", 20, 1, false);
	assert_int_field(&tp, "dir", 36, 4, false); /* enum dma_data_direction */
	tracepoint_done(&tp);

	parse_case("ftrace", "ftrace-print", &tp);
	assert_unreadable(&tp, "buf", "of unknown length");
	tracepoint_done(&tp);
}

static void char_pointers_of_the_kernel_are_not_the_users(void **state)
{
	static const char text[] = "name: x\nID: 3\nformat:\n"
				   "\tfield:const char * what;\toffset:8;\tsize:8;\tsigned:0;\n"
				   "\tfield:const char __user * where;\toffset:16;\tsize:8;\tsigned:0;\n"
				   "\tfield:char big[300];\toffset:24;\tsize:300;\tsigned:0;\n";
	struct tracepoint tp = { 0 };

	(void)state;
	assert_int_equal(tracepoint_parse("net", text, sizeof(text) - 1, &tp, NULL), 0);
	assert_true(field(&tp, "what")->kernel_string && !field(&tp, "what")->user_string);
	assert_true(field(&tp, "where")->type.is_pointer);
	assert_unreadable(&tp, "big", "255");
	tracepoint_done(&tp);
	assert_int_equal(tracepoint_parse("syscalls", text, sizeof(text) - 1, &tp, NULL), 0);
	assert_true(field(&tp, "what")->user_string && !field(&tp, "what")->kernel_string);
	tracepoint_done(&tp);
}

static void refuses_what_is_no_description(void **state)
{
	static const char *const bad[] = {
		"",
		"hello\n",
		"ID: 5",
		"name: x\nformat:\n",
		"ID: x\n",
		"ID: 99999999999\n",
		"ID: 4294967296\n",
		"ID: 1\nformat:\n\tfield:int a;\n",
		"ID: 1\nformat:\n\tfield:int a;\toffset:x;\tsize:4;\n",
		"ID: 1\nformat:\n\tfield:int a;\toffset:70000;\tsize:4;\n",
		"ID: 1\nformat:\n\tfield:int a;\toffset:4294967295;\tsize:4294967295;\n",
		"ID: 1\nformat:\n\tfield:;\toffset:8;\tsize:4;\n",
		"ID: 1\nformat:\n\tfield:int;\toffset:8;\tsize:4;\n",
		"ID: 1\nformat:\n\tfield:a];\toffset:8;\tsize:4;\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct tracepoint tp = { .id = 77 };
		struct ut_err err = { 0 };

		if (tracepoint_parse("x", bad[i], strlen(bad[i]), &tp, &err) != -EBADMSG)
			fail_msg("not refused: %s", bad[i]);
		assert_true(err.msg[0]);
		assert_int_equal(tp.id, 77);
		assert_null(tp.fields.v);
	}
}

/* Every tracepoint of the running kernel. */
static void reads_all_of_this_kernel(void **state)
{
	struct ut_err err = { 0 };
	AUTO_CLOSE int dir = tracefs_open(&err);
	struct tracefs_names names = { 0 };

	(void)state;
	if (dir < 0) {
		print_message("%s\n", err.msg);
		skip();
	}
	assert_int_equal(tracefs_events(dir, "*", "*", &names, &err), 0);
	for (size_t i = 0; i < names.names.n; i++) {
		char *category = names.names.v[i], *event = strchr(category, ':');
		struct tracepoint tp = { 0 };
		AUTO_FREE char *text = NULL;
		size_t len;

		*event++ = '\0';
		if (tracefs_format(dir, category, event, &text, &len, &err) ||
		    tracepoint_parse(category, text, len, &tp, &err))
			fail_msg("%s:%s: %s", category, event, err.msg);
		assert_true(tp.id > 0);
		tracepoint_done(&tp);
	}
	print_message("%zu tracepoints\n", names.names.n);
	tracefs_names_done(&names);
}

UNIT_TESTS(tracepoint)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_sched_switch),
		cmocka_unit_test(reads_arguments_of_system_calls),
		cmocka_unit_test(reads_small_numbers),
		cmocka_unit_test(knows_text_elsewhere_in_the_record),
		cmocka_unit_test(says_what_cannot_be_read),
		cmocka_unit_test(char_pointers_of_the_kernel_are_not_the_users),
		cmocka_unit_test(refuses_what_is_no_description),
		cmocka_unit_test(reads_all_of_this_kernel),
	};

	return unit_run(tests, NULL, NULL);
}
