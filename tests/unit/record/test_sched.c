/* SPDX-License-Identifier: MIT */
/* The programs on the scheduler's events, and generated begins and ends that call their functions: the kernel takes all. */
#include "probe_fire.h"

#include "record/measure.h"
#include "record/sched.h"
#include "unit.h"

static struct measure *measure;
static struct sched *sched;

static void open_all(struct recorder *r)
{
	struct ut_err err = { 0 };

	recorder_open(r, 65536);
	if (measure_open(1000, &measure, &err))
		fail_msg("%s", err.msg);
	if (sched_open(&(struct sched_setup){ .state = *measure_maps(measure), .base_ns = 1000, .verbose = true },
		       &sched, &err))
		fail_msg("%s", err.msg);
}

static void close_all(struct recorder *r)
{
	sched = sched_close(sched);
	measure = measure_close(measure);
	recorder_close(r);
}

/* Loads @text as what @state is, twice in one program: several snippets call the same functions. */
static void load(struct recorder *r, const char *text, enum probe_state state, bool may_sleep)
{
	struct gen_options o = recorder_options(200);
	struct elf_image *img = fire_image();
	struct operands *ops = fire_operands(img, "8@%rdi 8@%rsi -4@%edx 8@8(%rsp) 8@%rcx 8@%r8 8@%r9 8@%rax");
	struct gen_site site = { .operands = ops, .site_vaddr = fire_vaddr(img, fire_nop1_site) };
	struct probe_checked *checked = fire_check(text, ops);
	struct kernel_prog prog = { .type = BPF_PROG_TYPE_KPROBE, .multi = r->multi };
	const uint32_t numbers[] = { 0, 7 };
	const struct gen_snippet *snippets[2];
	struct asm_buf code = { 0 };
	AUTO_FREE char *log = NULL;
	struct gen_snippet snippet;
	struct ut_err err = { 0 };
	int fd;

	checked->spec->state = state;
	o.may_sleep = may_sleep;
	if (gen_snippet(checked, &site, &o, &snippet, &err))
		fail_msg("%s: %s", text, err.msg);
	snippets[0] = snippets[1] = &snippet;
	if (gen_program(snippets, numbers, 2, &o, &code, &err))
		fail_msg("%s: %s", text, err.msg);
	assert_int_equal(gen_relocate(&code, r->fds), 0);
	assert_int_equal(gen_link(&code, sched_functions(sched)), 0);
	prog.insns = code.insns.v;
	prog.n = code.insns.n;
	prog.sleepable = snippet.sleeps;
	fd = kernel_prog_load(&prog, &log, &err);
	if (fd < 0)
		fail_msg("%s, state %d: %s\n%s", text, state, err.msg,
			 log && strlen(log) > 3000 ? log + strlen(log) - 3000
			 : log			   ? log
						   : "");
	close(fd);
	asm_done(&code);
	gen_snippet_done(&snippet);
	probe_checked_free(checked);
	free(ops);
	elf_image_free(img);
}

/* All of the stack that a begin or an end may use: many values, lengths, nested expressions, a literal. */
static void the_kernel_takes_begins_and_ends(void **state)
{
	static const char *const texts[] = {
		"u:test:fire \"n=%d\", arg1",
		"u:test:fire (arg1 == \"a rather long literal that is compared with the first argument\") \"n=%d\", "
		"arg2",
		"u:test:fire ((arg1 + (arg2 * (arg3 - (arg4 / 7)))) > 5 && arg2 == \"x\") \"a=%d b=%d c=%d d=%d e=%d "
		"f=%d g=%d "
		"h=%d\", arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8 + (arg1 * (arg2 - arg3))",
		"u:test:fire (arg1 == \"y\" || arg2 > arg3 + arg4) \"a=%.*s b=%.*s c=%.*s d=%d\", arg1, arg2, arg3, "
		"arg4, arg5, "
		"arg6, arg7 + (arg8 * 3)",
		"u:test:fire \"a=%s b=%s c=%s\", arg1, arg2, arg4",
	};
	struct recorder r;

	(void)state;
	need_root();
	open_all(&r);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (enum probe_state s = STATE_NONE; s <= STATE_GO; s++)
			for (int may_sleep = 0; may_sleep < 2; may_sleep++)
				load(&r, texts[i], s, may_sleep);
	close_all(&r);
}

/* Without the functions nothing is loaded that calls them. */
static void calls_want_functions(void **state)
{
	struct asm_buf code = { 0 };

	(void)state;
	asm_movi(&code, R0, 0);
	asm_exit(&code);
	assert_int_equal(asm_finish(&code), 0);
	assert_int_equal(gen_link(&code, NULL), 0);
	assert_int_equal(code.insns.n, 2);
	asm_call_function(&code, GEN_FUNCTION_SPAN_COPY);
	assert_int_equal(gen_link(&code, NULL), -EINVAL);
	asm_done(&code);
}

UNIT_TESTS(sched)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_takes_begins_and_ends),
		cmocka_unit_test(calls_want_functions),
	};

	return unit_run(tests, NULL, NULL);
}
