/* SPDX-License-Identifier: MIT */
/* Generated programs in the running kernel: every form of operand against its known value. */
#include <errno.h>
#include <limits.h>
#include <sys/mman.h>

#include "probe_fire.h"
#include "unit.h"

__asm__(".data\n.globl g_i32\n.hidden g_i32\n.p2align 4\n.type g_i32, @object\n.size g_i32, 16\n"
	"g_i32: .long -7, 0, 0, 12\n"
	".globl g_text\n.hidden g_text\n.type g_text, @object\n.size g_text, 8\ng_text: .asciz \"a text!\"\n.text\n");
extern const char g_text[];

static struct elf_image *self;

/* The registers and the memory that tests/cases/usdt/arg_specs.tsv assumes. */
static bool world(void)
{
	static const uint64_t regs[16] = {
		[X86_RAX] = 0x11223344aabbccdd,
		[X86_RCX] = 3,
		[X86_RDX] = 0xc004000000000000,
		[X86_RBX] = 0xffffffffffffff80,
		[X86_RSP] = 0x26000,
		[X86_RBP] = 0x27000,
		[X86_RSI] = 2,
		[X86_RDI] = 0x25000,
		[X86_R8] = 0xfffffffffffffff9,
		[X86_R9] = 0x8000000000000000,
		[X86_R10] = 0x1122334455667788,
		[X86_R11] = 0x8182838485868788,
		[X86_R12] = 0xffffffff,
		[X86_R13] = 0x7fff8000ffff0000,
		[X86_R14] = 0x80,
		[X86_R15] = 1,
	};
	char *mem = mmap((void *)0x24000, 0x4000, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (mem == MAP_FAILED && errno != EEXIST)
		return false;
	memcpy(fire_before, regs, sizeof(regs));
	*(uint64_t *)0x26ff8 = 77;
	*(int32_t *)0x26ffc = -9;
	*(uint64_t *)0x26000 = 5;
	*(uint64_t *)0x26008 = 6;
	*(int32_t *)0x25008 = -40;
	*(int32_t *)0x24010 = -7;
	*(int32_t *)0x2401c = 12;
	*(double *)0x25100 = 2.5;
	*(uint16_t *)0x25200 = 0x8001;
	*(uint8_t *)0x25202 = 0xff;
	return true;
}

struct form {
	const char *spec;
	uint64_t value;
	bool unreadable;
};

#define IS(spec, value) \
	{ \
		spec, value, false \
	}
#define NOT(spec) \
	{ \
		spec, 0, true \
	}
static const struct form forms[] = {
	IS("-4@$5", 5),
	IS("-4@$-5", (uint64_t)-5),
	IS("8@$18446744073709551615", UINT64_MAX),
	IS("-8@$0x10", 16),
	IS("8@$1099511627776", 1ull << 40),
	IS("-1@$-3", (uint64_t)-3),
	IS("4@$-1", 0xffffffff),
	IS("1@$-3", 253),
	IS("1@%al", 221),
	IS("-1@%al", (uint64_t)-35),
	IS("1@%ah", 204),
	IS("-1@%ah", (uint64_t)-52),
	IS("1@%bh", 0xff),
	IS("-1@%bl", (uint64_t)-128),
	IS("2@%ax", 52445),
	IS("-2@%ax", (uint64_t)(int16_t)52445),
	IS("-4@%eax", (uint64_t)-1430532899),
	IS("4@%eax", 2864434397),
	IS("8@%rax", 1234605617868164317),
	IS("-8@%rax", 1234605617868164317),
	IS("-4@%r8d", (uint64_t)-7),
	IS("1@%r8b", 249),
	IS("2@%r8w", 65529),
	IS("-2@%r8w", (uint64_t)-7),
	IS("8@%rcx", 3),
	IS("8@%rdx", 0xc004000000000000),
	IS("8@%rbx", 0xffffffffffffff80),
	IS("8@%rsp", 0x26000),
	IS("8@%rbp", 0x27000),
	IS("8@%rsi", 2),
	IS("8@%rdi", 0x25000),
	IS("-8@%r9", 1ull << 63),
	IS("8@%r10", 0x1122334455667788),
	IS("8@%r11", 0x8182838485868788),
	IS("4@%r11d", 0x85868788),
	IS("-4@%r11d", 0xffffffff85868788),
	IS("-4@%r12d", UINT64_MAX),
	IS("4@%r12d", 0xffffffff),
	IS("8@%r13", 0x7fff8000ffff0000),
	IS("-1@%r14b", (uint64_t)-128),
	IS("8@%r15", 1),
	IS("1@%dil", 0),
	IS("1@%sil", 2),
	IS("1@%bpl", 0),
	IS("1@%spl", 0),
	IS("4@%rax", 0xaabbccdd),
	IS("8@-8(%rbp)", 77ull | 0xfffffff7ull << 32),
	IS("-4@-4(%rbp)", (uint64_t)-9),
	IS("4@-8(%rbp)", 77),
	IS("8@(%rsp)", 5),
	IS("8@8(%rsp)", 6),
	IS("-4@(%rdi,%rsi,4)", (uint64_t)-40),
	IS("-4@0x24008(,%rsi,4)", (uint64_t)-7),
	IS("-4@4(%rdi,%rsi,2)", (uint64_t)-40),
	IS("-4@-4(%rdi,%rcx,4)", (uint64_t)-40),
	IS("-4@6(%rdi,%rsi)", (uint64_t)-40),
	IS("-4@0x2401c", 12),
	IS("-4@g_i32(%rip)", (uint64_t)-7),
	IS("-4@g_i32+12(%rip)", 12),
	IS("-4@12+g_i32(%rip)", 12),
	IS("-4@g_i32", (uint64_t)-7),
	IS("-4@g_i32+12", 12),
	IS("4@g_i32(%rip)", 0xfffffff9),
	IS("4f@%eax", 0xaabbccdd),
	IS("8f@%rdx", 0xc004000000000000),
	IS("8f@0x100(%rdi)", 0x4004000000000000),
	IS("-2@0x200(%rdi)", (uint64_t)(int16_t)0x8001),
	IS("2@0x200(%rdi)", 0x8001),
	IS("-1@0x202(%rdi)", UINT64_MAX),
	IS("1@0x202(%rdi)", 255),
	NOT("8f@%xmm0"),
	NOT("8@%xmm0"),
	NOT("16@%rdi"),
	NOT("4@%foo"),
	NOT("-4@(%rdi,%rsi,3)"),
	NOT("8f@.LC1(%rip)"),
	NOT("-4@%fs:tls_v@tpoff"),
	NOT("8@puts@GOTPCREL(%rip)"),
	NOT("8@nowhere_to_be_found(%rip)"),
};

static void check_value(const struct form *f, const struct ut_rec_event *rec, const struct probe_checked *checked,
			unsigned i, const char *where)
{
	uint64_t value = record_value(rec, checked, i);

	if (record_faulted(rec, checked, i))
		fail_msg("%s at %s: said to be a fault", f->spec, where);
	if (value != (f->unreadable ? 0 : f->value))
		fail_msg("%s at %s: 0x%llx instead of 0x%llx", f->spec, where, (unsigned long long)value,
			 (unsigned long long)f->value);
}

/* All registers, and the memory behind the stack pointer, are as they were. */
static void check_unharmed(void)
{
	for (int i = 0; i < 16; i++)
		if (fire_after[i] != fire_before[i])
			fail_msg("register %d (enum reg) was changed", i);
	assert_int_equal(*(uint64_t *)0x26000, 5);
}

static void check_some(struct recorder *r, const struct form *f, unsigned n, void (*fire)(void), const char *site,
		       const char *where)
{
	struct gen_options options = recorder_options(200);
	struct probe_checked *checked;
	struct operands *ops;
	struct gen_site gs = { .site_vaddr = fire_vaddr(self, site) };
	struct gen_snippet body;
	struct ut_err err = { 0 };
	char args[1024] = "";

	for (unsigned i = 0; i < n; i++)
		snprintf(args + strlen(args), sizeof(args) - strlen(args), "%s%s", i ? " " : "", f[i].spec);
	ops = fire_operands(self, args);
	assert_int_equal(ops->n, n);
	for (unsigned i = 0; i < n; i++)
		if ((ops->v[i].kind == OPERAND_UNREADABLE) != f[i].unreadable)
			fail_msg("%s: %s", f[i].spec, f[i].unreadable ? "should be unreadable" : ops->v[i].reason);
	gs.operands = ops;
	checked = fire_check("u:test:fire", ops);
	if (gen_snippet(checked, &gs, &options, &body, &err))
		fail_msg("%s", err.msg);
	recorder_attach(r, &body, site, 7, &options);
	for (int round = 0; round < 5; round++) { /* a 5-byte nop becomes something else after the first time */
		const struct ut_rec_event *rec;

		fire();
		check_unharmed();
		rec = recorder_event(r);
		assert_int_equal(rec->site, 7);
		assert_int_equal(rec->pid, getpid());
		assert_int_equal(rec->lost, 0);
		for (unsigned i = 0; i < n; i++)
			check_value(&f[i], rec, checked, i, where);
	}
	recorder_detach(r);
	gen_snippet_done(&body);
	probe_checked_free(checked);
	free(ops);
}

static void check_all(void (*fire)(void), const char *site, const char *where)
{
	struct recorder r;

	need_root();
	if (!world()) {
		print_message("the low addresses of the cases are not free\n");
		skip();
	}
	recorder_open(&r, 1 << 16);
	for (size_t at = 0; at < ARRAY_SIZE(forms); at += OPERANDS_MAX) {
		size_t left = ARRAY_SIZE(forms) - at;

		check_some(&r, forms + at, left < OPERANDS_MAX ? (unsigned)left : OPERANDS_MAX, fire, site, where);
	}
	recorder_close(&r);
}

static void operands_at_a_breakpoint(void **state)
{
	(void)state;
	check_all(fire_nop1, fire_nop1_site, "a 1-byte nop");
}
static void operands_at_a_long_nop(void **state)
{
	(void)state;
	check_all(fire_nop5, fire_nop5_site, "a 5-byte nop");
}

/* One probe at fire_nop1's site over @args. */
struct one {
	struct recorder r;
	struct gen_options options;
	struct operands *ops;
	struct probe_checked *checked;
	struct gen_snippet body;
};

static void one_open(struct one *o, const char *text, const char *args)
{
	struct gen_site gs = { .site_vaddr = fire_vaddr(self, fire_nop1_site) };
	struct ut_err err = { 0 };

	o->options = recorder_options(200);
	recorder_open(&o->r, 1 << 16);
	o->ops = fire_operands(self, args);
	o->checked = fire_check(text, o->ops);
	gs.operands = o->ops;
	if (gen_snippet(o->checked, &gs, &o->options, &o->body, &err))
		fail_msg("%s", err.msg);
	recorder_attach(&o->r, &o->body, fire_nop1_site, 1, &o->options);
}

static void one_close(struct one *o)
{
	recorder_close(&o->r);
	gen_snippet_done(&o->body);
	probe_checked_free(o->checked);
	free(o->ops);
}

static void address_of_a_symbol(void **state)
{
	struct one o;
	const struct ut_rec_event *rec;

	(void)state;
	need_root();
	world();
	one_open(&o, "u:test:fire \"%s %p %p\", arg1, arg1, arg2", "8@$g_text 8@$g_text+2");
	fire_nop1();
	rec = recorder_event(&o.r);
	assert_int_equal(record_value(rec, o.checked, 1), (uintptr_t)g_text);
	assert_int_equal(record_value(rec, o.checked, 2), (uintptr_t)g_text + 2);
	assert_int_equal(record_text(rec, o.checked, 0)->len, 7);
	assert_memory_equal(record_text(rec, o.checked, 0) + 1, "a text!", 7);
	one_close(&o);
}

/* Memory that cannot be read spoils its own value, which becomes the address, and no other. */
static void faults_are_told_apart(void **state)
{
	struct one o;
	const struct ut_rec_event *rec;

	(void)state;
	need_root();
	world();
	one_open(&o, "u:test:fire arg1, arg2, *(u32 *)(arg3 + 1), *(u16 *)(arg4 + 8), arg3 ? 1 / (arg3 - arg3) : 9",
		 "8@0x10 8@(%rsp) 8@$0x20 8@%rdi");
	fire_nop1();
	rec = recorder_event(&o.r);
	assert_true(record_faulted(rec, o.checked, 0));
	assert_int_equal(record_value(rec, o.checked, 0), 0x10);
	assert_false(record_faulted(rec, o.checked, 1));
	assert_int_equal(record_value(rec, o.checked, 1), 5);
	assert_true(record_faulted(rec, o.checked, 2));
	assert_int_equal(record_value(rec, o.checked, 2), 0x21);
	assert_false(record_faulted(rec, o.checked, 3));
	assert_int_equal(record_value(rec, o.checked, 3), (uint16_t)-40);
	assert_int_equal(record_value(rec, o.checked, 4), 0);
	one_close(&o);
}

/* A predicate that cannot be decided is not true. */
static void a_faulting_predicate_is_false(void **state)
{
	struct one o;

	(void)state;
	need_root();
	world();
	one_open(&o, "u:test:fire (*(u32 *)arg1 == 0 || 1) arg1", "8@$0x20");
	fire_nop1();
	assert_null(recorder_next(&o.r));
	one_close(&o);
}

static void load_event(struct recorder *r, const struct gen_snippet *body, const struct gen_options *options,
		       const char *name)
{
	const uint32_t number = 0;
	struct asm_buf code = { 0 };
	struct ut_err err = { 0 };
	struct kernel_prog prog = { .type = BPF_PROG_TYPE_TRACEPOINT };
	int fd;

	assert_int_equal(gen_program(&body, &number, 1, options, &code, &err), 0);
	assert_int_equal(gen_relocate(&code, r->fds), 0);
	prog.insns = code.insns.v;
	prog.n = code.insns.n;
	fd = kernel_prog_load(&prog, NULL, &err);
	if (fd < 0)
		fail_msg("%s: %s", name, err.msg);
	close(fd);
	asm_done(&code);
}

static void event(struct recorder *r, const char *name, const struct gen_options *options)
{
	char path[PATH_MAX], text[8192] = "", probe[128], *dash;
	struct tracepoint tp = { 0 };
	struct gen_site gs = { .tracepoint = &tp };
	struct probe_field fields[64] = { 0 };
	struct probe_scope scope = { .kind = PROBE_TRACEPOINT, .display = name, .fields = fields };
	struct probe_checked *checked = NULL;
	struct probe_spec *spec;
	struct gen_snippet body;
	struct ut_err err = { 0 };
	AUTO_FCLOSE FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/tests/cases/tracefs/%s.format", getenv("UT_SOURCE_ROOT"), name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	snprintf(probe, sizeof(probe), "t:%s", name);
	dash = strchr(probe, '-');
	*dash = ':';
	if (tracepoint_parse("syscalls", text, strlen(text), &tp, &err))
		fail_msg("%s: %s", name, err.msg);
	for (size_t i = 0; i < tp.fields.n && i < ARRAY_SIZE(fields); i++)
		fields[scope.nfields++] = (struct probe_field){ .name = tp.fields.v[i].name,
								.type = tp.fields.v[i].type,
								.unreadable = tp.fields.v[i].unreadable };
	if (probe_parse(probe, &spec, &err) || probe_check(spec, &scope, &checked, &err) ||
	    gen_snippet(checked, &gs, options, &body, &err))
		fail_msg("%s: %s", name, err.msg);
	for (unsigned i = 0; i < checked->noutputs; i++) {
		const struct tracepoint_field *field = &tp.fields.v[i];
		const char *reason = NULL;

		assert_int_equal(gen_output_unreadable(checked, i, &gs, &reason), field->unreadable != NULL);
		assert_ptr_equal(reason, field->unreadable);
	}
	load_event(r, &body, options, name);
	gen_snippet_done(&body);
	probe_checked_free(checked);
	tracepoint_done(&tp);
}

/* Every field of an event that has fields of all kinds, unreadable ones too. */
static void events(void **state)
{
	static const char *const names[] = {
		"block-block_rq_issue",	     "dma-dma_map_sg",	       "irq-irq_handler_entry",	 "sched-sched_switch",
		"syscalls-sys_enter_execve", "syscalls-sys_exit_read", "raw_syscalls-sys_enter", "user_events-rel_loc",
		"tcp-tcp_retransmit_skb",
	};
	struct gen_options options = recorder_options(200);
	struct recorder r;

	(void)state;
	need_root();
	options.may_sleep = false;
	recorder_open(&r, 1 << 16);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		event(&r, names[i], &options);
	recorder_close(&r);
}

static int open_self(void **state)
{
	(void)state;
	self = fire_image();
	return 0;
}

static int close_self(void **state)
{
	(void)state;
	self = elf_image_free(self);
	return 0;
}

UNIT_TESTS(gen)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands_at_a_breakpoint),	 cmocka_unit_test(operands_at_a_long_nop),
		cmocka_unit_test(address_of_a_symbol),		 cmocka_unit_test(faults_are_told_apart),
		cmocka_unit_test(a_faulting_predicate_is_false), cmocka_unit_test(events),
	};

	return unit_run(tests, open_self, close_self);
}
