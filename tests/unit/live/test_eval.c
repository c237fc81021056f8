/* SPDX-License-Identifier: MIT */
/*
 * Expressions of user events: a table, random expressions against the very instructions that the generator makes of them
 * (run here, without a kernel), and the records that the printer gets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/auto.h"
#include "live/user.h"
#include "gen/gen_priv.h"
#include "probe_scopes.h"
#include "unit.h"

static struct ut_text text_of(const char *s)
{
	return (struct ut_text){ .bytes = s, .len = s ? strlen(s) : 0, .state = s ? UT_TEXT_WHOLE : UT_TEXT_NULL };
}

static struct eval_scope scope_new(void)
{
	struct eval_scope s = { .pid = 4711, .tid = 4712, .cpu = 3, .time_ns = 5000000000u, .comm = "java" };

	s.values[USER_VALUE] = (uint64_t)-7;
	s.values[USER_ID] = UINT64_MAX;
	s.values[USER_DURATION] = 5000001;
	s.texts[USER_KIND] = text_of("end");
	s.texts[USER_NAME] = text_of("gc");
	s.texts[USER_TEXT].state = UT_TEXT_NULL;
	return s;
}

static struct probe_checked *check(const char *text)
{
	struct ut_err err;
	struct probe_checked *ret = check_text(text, &err);

	if (!ret)
		fail_msg("%s", err.msg);
	return ret;
}

static uint64_t eval(const char *expr, const struct eval_scope *scope)
{
	struct buf text = { 0 };
	struct probe_checked *c;
	uint64_t ret;

	buf_addf(&text, "e:gc 1, %s", expr);
	c = check(text.data);
	ret = eval_expr(c->outputs[1].expr, scope);
	probe_checked_free(c);
	buf_done(&text);
	return ret;
}

static void test_numbers(void **state)
{
	static const struct {
		const char *expr;
		uint64_t value;
	} rows[] = {
		{ "value", (uint64_t)-7 },
		{ "id", UINT64_MAX },
		{ "duration", 5000001 },
		{ "pid", 4711 },
		{ "tid", 4712 },
		{ "cpu", 3 },
		{ "time", 5000000000u },
		{ "value < 0", 1 },
		{ "value < 1U", 0 },
		{ "value + id", (uint64_t)-8 },
		{ "-value", 7 },
		{ "value / 2", (uint64_t)-3 },
		{ "value % 2", (uint64_t)-1 },
		{ "value % -4", (uint64_t)-3 },
		{ "7 % -4", 3 },
		{ "value / -2", 3 },
		{ "id / 2", INT64_MAX },
		{ "id / value", 1 },
		{ "value / cpu", (uint64_t)-2 },
		{ "value / (cpu - 3)", 0 },
		{ "value % (cpu - 3)", (uint64_t)-7 },
		{ "(1 << 63) / (value + 6)", 1ull << 63 },
		{ "(1 << 63) % (value + 6)", 0 },
		{ "value >> 1", (uint64_t)-4 },
		{ "id >> 60", 15 },
		{ "1 << value", 1ull << 57 },
		{ "1 << (cpu + 64)", 8 },
		{ "(u8)value", 249 },
		{ "(s8)(u8)value", (uint64_t)-7 },
		{ "(int)0xffffffff", (uint64_t)-1 },
		{ "(unsigned)value", 4294967289u },
		{ "(short)0x18000", (uint64_t)-32768 },
		{ "(bool)value", 1 },
		{ "!value", 0 },
		{ "!!value", 1 },
		{ "~value", 6 },
		{ "value && 2", 1 },
		{ "value * 0 || 0", 0 },
		{ "value ? id : 5", UINT64_MAX },
		{ "value < 0 ? (u8)value : (s8)1", 249 },
		{ "id > 5 ? -1 : 1", (uint64_t)-1 },
		{ "duration > 5ms", 1 },
		{ "duration > 5001us", 0 },
		{ "value == -7", 1 },
		{ "value ^ id", 6 },
		{ "value & 0xff | 0x100", 0x1f9 },
		{ "(u32)id == -1", 0 },
	};
	struct eval_scope scope = scope_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t got = eval(rows[i].expr, &scope);

		if (got != rows[i].value)
			fail_msg("%s is 0x%llx, not 0x%llx", rows[i].expr, (unsigned long long)got,
				 (unsigned long long)rows[i].value);
	}
}

/* What is not there differs from every text, the empty one too. */
static void test_texts(void **state)
{
	static const struct {
		const char *expr;
		bool absent, empty, some;
	} rows[] = {
		{ "text == \"\"", false, true, false },
		{ "text != \"\"", true, false, true },
		{ "text == NULL", true, false, false },
		{ "text != 0", false, true, true },
		{ "text == \"ab\"", false, false, true },
		{ "text == \"a\"", false, false, false },
		{ "text == \"abc\"", false, false, false },
		{ "\"ab\" != text", true, true, false },
		{ "kind == \"end\" && name == \"gc\" && comm == \"java\"", true, true, true },
		{ "kind == \"begin\" || comm != \"java\"", false, false, false },
		{ "text == \"ab\" ? 0 : 1", true, true, false },
		{ "NULL == name", false, false, false },
	};
	struct eval_scope scope = scope_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		scope.texts[USER_TEXT] = (struct ut_text){ .state = UT_TEXT_FAULT };
		assert_int_equal(eval(rows[i].expr, &scope), rows[i].absent);
		scope.texts[USER_TEXT] = text_of("");
		assert_int_equal(eval(rows[i].expr, &scope), rows[i].empty);
		scope.texts[USER_TEXT] = (struct ut_text){ .bytes = "abc", .len = 2 }; /* not terminated */
		assert_int_equal(eval(rows[i].expr, &scope), rows[i].some);
	}
	memcpy(scope.comm, "sixteen letters!", 16);
	assert_int_equal(eval("comm == \"java\"", &scope), 0);
}

/* --- random expressions against the generator --- */

/* What the instructions read: the fields of user events as those of a tracepoint. */
struct context {
	uint64_t value, id, duration;
	char kind[16], name[72], text[72];
	const struct eval_scope *scope;
};

static const struct {
	uint32_t offset, size;
} places[USER_FIELDS] = {
	[USER_KIND] = { offsetof(struct context, kind), 16 },
	[USER_NAME] = { offsetof(struct context, name), 72 },
	[USER_VALUE] = { offsetof(struct context, value), 8 },
	[USER_ID] = { offsetof(struct context, id), 8 },
	[USER_TEXT] = { offsetof(struct context, text), 72 },
	[USER_DURATION] = { offsetof(struct context, duration), 8 },
};

struct machine {
	uint64_t r[11];
	struct context *ctx;
	_Alignas(8) char stack[512];
};

static uint64_t alu(int op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return b ? a / b : 0;
	case BPF_MOD: return b ? a % b : a;
	case BPF_OR: return a | b;
	case BPF_AND: return a & b;
	case BPF_XOR: return a ^ b;
	case BPF_LSH: return a << (b & 63);
	case BPF_RSH: return a >> (b & 63);
	case BPF_ARSH: return (uint64_t)((int64_t)a >> (b & 63));
	case BPF_NEG: return 0 - a;
	case BPF_MOV: return b;
	default: fail_msg("ALU operation 0x%x", op); return 0;
	}
}

static bool jumps(int op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_JA: return true;
	case BPF_JEQ: return a == b;
	case BPF_JNE: return a != b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JLT: return a < b;
	case BPF_JLE: return a <= b;
	case BPF_JSGT: return (int64_t)a > (int64_t)b;
	case BPF_JSGE: return (int64_t)a >= (int64_t)b;
	case BPF_JSLT: return (int64_t)a < (int64_t)b;
	case BPF_JSLE: return (int64_t)a <= (int64_t)b;
	default: fail_msg("jump 0x%x", op); return false;
	}
}

static void call(struct machine *m, int helper)
{
	const struct eval_scope *s = m->ctx->scope;

	switch (helper) {
	case BPF_FUNC_get_current_pid_tgid: m->r[0] = (uint64_t)s->pid << 32 | s->tid; break;
	case BPF_FUNC_get_smp_processor_id: m->r[0] = s->cpu; break;
	case BPF_FUNC_ktime_get_ns: m->r[0] = s->time_ns; break;
	case BPF_FUNC_get_current_comm:
		assert_int_equal(m->r[2], sizeof(s->comm));
		memcpy((void *)(uintptr_t)m->r[1], s->comm, sizeof(s->comm));
		break;
	case BPF_FUNC_probe_read_kernel_str:
		snprintf((char *)(uintptr_t)m->r[1], m->r[2], "%s", (const char *)(uintptr_t)m->r[3]);
		break;
	default: fail_msg("helper %d", helper);
	}
}

static void memory(struct machine *m, const struct bpf_insn *i)
{
	static const unsigned sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };
	unsigned size = sizes[BPF_SIZE(i->code) >> 3];
	uint64_t v = BPF_CLASS(i->code) == BPF_ST ? (uint64_t)(int64_t)i->imm : m->r[i->src_reg];

	assert_int_equal(BPF_MODE(i->code), BPF_MEM);
	if (BPF_CLASS(i->code) == BPF_LDX) {
		v = 0;
		memcpy(&v, (char *)(uintptr_t)m->r[i->src_reg] + i->off, size);
		m->r[i->dst_reg] = v;
	} else {
		memcpy((char *)(uintptr_t)m->r[i->dst_reg] + i->off, &v, size);
	}
}

static uint64_t run(const struct bpf_insn *insns, struct context *ctx)
{
	struct machine m = { .ctx = ctx };

	m.r[R6] = (uintptr_t)ctx;
	m.r[FP] = (uintptr_t)(m.stack + sizeof(m.stack));
	for (const struct bpf_insn *i = insns;; i++) {
		uint64_t b = BPF_SRC(i->code) == BPF_X ? m.r[i->src_reg] : (uint64_t)(int64_t)i->imm;

		switch (BPF_CLASS(i->code)) {
		case BPF_ALU64: m.r[i->dst_reg] = alu(BPF_OP(i->code), m.r[i->dst_reg], b); break;
		case BPF_ALU:
			m.r[i->dst_reg] = (uint32_t)alu(BPF_OP(i->code), (uint32_t)m.r[i->dst_reg], (uint32_t)b);
			break;
		case BPF_LD:
			m.r[i->dst_reg] = (uint32_t)i[0].imm | (uint64_t)(uint32_t)i[1].imm << 32;
			i++;
			break;
		case BPF_JMP:
			if (BPF_OP(i->code) == BPF_EXIT)
				return m.r[0];
			if (BPF_OP(i->code) == BPF_CALL)
				call(&m, i->imm);
			else if (jumps(BPF_OP(i->code), m.r[i->dst_reg], b))
				i += i->off;
			break;
		default: memory(&m, i);
		}
	}
}

/* The value of @e as the instructions have it. */
static uint64_t generated(const struct probe_checked *c, const struct expr *e, struct context *ctx)
{
	struct tracepoint tp = { 0 };
	struct gen_site site = { .tracepoint = &tp };
	struct gen_options options = { .ncpus = 1 };
	struct asm_buf code = { 0 };
	struct ut_err err = { 0 };
	struct gen g = { .a = &code, .checked = c, .site = &site, .options = &options, .err = &err };
	uint64_t ret;

	gen_state_stack(&g);
	for (unsigned i = 0; i < USER_FIELDS; i++) {
		struct tracepoint_field f = { .type = eval_user_scope()->fields[i].type,
					      .offset = places[i].offset,
					      .size = places[i].size };

		assert_int_equal(vec_push(&tp.fields, f), 0);
	}
	gen_expr(&g, e, 0);
	asm_exit(&code);
	if (g.error || asm_finish(&code))
		fail_msg("%s", err.msg);
	ret = run(code.insns.v, ctx);
	asm_done(&code);
	vec_done(&tp.fields);
	return ret;
}

static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static uint64_t interesting(void)
{
	static const uint64_t edges[] = {
		0,
		1,
		2,
		3,
		7,
		63,
		64,
		127,
		128,
		255,
		256,
		32767,
		32768,
		65535,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x100000000,
		INT64_MAX,
		1ull << 63,
		UINT64_MAX,
		UINT64_MAX - 1,
		(uint64_t)INT32_MIN,
		(uint64_t)-128,
	};

	return rnd(3) ? edges[rnd(ARRAY_SIZE(edges))] : rnd(UINT64_MAX) >> rnd(64);
}

static void add_leaf(struct buf *out)
{
	static const char *const names[] = { "value", "id", "duration", "pid", "tid", "cpu", "time" };
	static const char *const texts[] = {
		"name == \"gc\"",
		"text != \"a\"",
		"comm == \"java\"",
		"\"end\" == kind",
		"text == \"\"",
		"name != \"a name of thirty-two bytes, as it\"",
		"comm != \"fifteen letters\"",
	};
	uint64_t v = interesting();

	switch (rnd(6)) {
	case 0:
	case 1: buf_addf(out, v > INT64_MAX || rnd(2) ? "0x%llxU" : "%llu", (unsigned long long)v); break;
	case 2: buf_addf(out, "(%s)", texts[rnd(ARRAY_SIZE(texts))]); break;
	default: buf_adds(out, names[rnd(ARRAY_SIZE(names))]);
	}
}

static void add_expr(struct buf *out, unsigned depth)
{
	static const char *const binary[] = { "*",  "/",  "%", "+", "-", "<<", ">>", "<", "<=", ">", ">=",
					      "==", "!=", "&", "^", "|", "&&", "||", "/", "%",	">>" };
	static const char *const unary[] = { "-",     "!",	 "~",	  "(int)", "(unsigned)", "(u8)",    "(s8)",
					     "(u16)", "(short)", "(s64)", "(u64)", "(bool)",	 "(void *)" };

	if (!depth || !rnd(6)) {
		add_leaf(out);
		return;
	}
	buf_addc(out, '(');
	if (rnd(4) == 0) {
		buf_adds(out, unary[rnd(ARRAY_SIZE(unary))]);
		buf_addc(out, ' ');
		add_expr(out, depth - 1);
	} else {
		bool cond = rnd(8) == 0;

		add_expr(out, depth - 1);
		buf_addf(out, " %s ", cond ? "?" : binary[rnd(ARRAY_SIZE(binary))]);
		add_expr(out, depth - 1);
		if (cond) {
			buf_adds(out, " : ");
			add_expr(out, depth - 1);
		}
	}
	buf_addc(out, ')');
}

static struct eval_scope random_scope(struct context *ctx)
{
	static const char *const texts[] = { "", "a", "gc", "gcx", "g", "a name of thirty-two bytes, as it" };
	static const char *const comms[] = { "java", "", "fifteen letters" };
	struct eval_scope s = { .pid = (uint32_t)rnd(1 << 22),
				.tid = (uint32_t)rnd(1 << 22),
				.cpu = (uint32_t)rnd(64),
				.time_ns = rnd(1ull << 50) };

	*ctx = (struct context){ .value = interesting(), .id = interesting(), .duration = interesting() };
	s.values[USER_VALUE] = ctx->value;
	s.values[USER_ID] = ctx->id;
	s.values[USER_DURATION] = ctx->duration;
	strcpy(ctx->kind, rnd(2) ? "end" : "begin");
	strcpy(ctx->name, texts[rnd(ARRAY_SIZE(texts))]);
	strcpy(ctx->text, texts[rnd(ARRAY_SIZE(texts))]);
	s.texts[USER_KIND] = text_of(ctx->kind);
	s.texts[USER_NAME] = text_of(ctx->name);
	s.texts[USER_TEXT] = text_of(ctx->text);
	strcpy(s.comm, comms[rnd(ARRAY_SIZE(comms))]);
	return s;
}

static void compare(const struct probe_checked *c, const struct expr *e)
{
	struct context ctx;
	struct eval_scope scope = random_scope(&ctx);
	uint64_t got, want;

	ctx.scope = &scope;
	want = generated(c, e, &ctx);
	got = eval_expr(e, &scope);
	if (got != want)
		fail_msg("0x%llx, not 0x%llx: %s", (unsigned long long)got, (unsigned long long)want, c->spec->text);
}

static void test_random(void **state)
{
	const char *given = getenv("UT_SEED");
	struct buf text = { 0 };
	struct ut_err err;
	unsigned compared = 0;

	(void)state;
	seed = given ? strtoull(given, NULL, 0) : 0x9e3779b97f4a7c15;
	for (unsigned i = 0; i < 8000; i++) {
		struct probe_checked *c;

		buf_reset(&text);
		buf_adds(&text, "e:gc 0, ");
		add_expr(&text, 5);
		c = check_text(text.data, &err);
		if (!c) { /* division by a zero, shifts by too much */
			assert_true(strstr(err.msg, "division by zero") ||
				    strstr(err.msg, "a shift must be from 0 to 63"));
			continue;
		}
		for (unsigned j = 0; j < 4; j++)
			compare(c, c->outputs[1].expr);
		compared++;
		probe_checked_free(c);
	}
	assert_true(compared > 4000);
	buf_done(&text);
}

/* --- printed values --- */

static struct ut_rec_event head_of(const struct eval_scope *scope)
{
	struct ut_rec_event head = { .time_ns = scope->time_ns, .pid = scope->pid, .tid = scope->tid };

	memcpy(head.comm, scope->comm, sizeof(head.comm));
	return head;
}

static void assert_printed(const char *probe, const struct eval_scope *scope, bool json, const char *expected)
{
	struct live_options options = { .json = json };
	struct probe_checked *c = check(probe);
	struct live_printer *p = live_printer_new(&options);
	struct live_probe *lp = live_probe_new(c);
	struct ut_rec_event head = head_of(scope);
	struct buf out = { 0 };
	struct live_event e = {
		.rec = &head, .size = sizeof(head), .scope = scope, .cpu = scope->cpu, .probe = lp, .func = "gc"
	};

	assert_int_equal(live_print(p, &e, &out), 0);
	assert_string_equal(out.data, expected);
	buf_done(&out);
	live_probe_free(lp);
	live_printer_free(p);
	probe_checked_free(c);
}

#define COLUMNS "4711    4712    java            gc               "

static void test_printed(void **state)
{
	struct eval_scope scope = scope_new();

	(void)state;
	assert_printed("e:gc \"%s %s %d %u %s %d\"", &scope, false,
		       COLUMNS "end gc -7 18446744073709551615 (null) 5000001\n");
	assert_printed("e:gc", &scope, false,
		       COLUMNS "kind=\"end\" name=\"gc\" value=-7 id=18446744073709551615 "
			       "text=(null) duration=5000001\n");
	assert_printed("e:gc \"%s %d %d %d %d|%-4s|%.1s\", comm, pid, tid, cpu, time, name, name", &scope, false,
		       COLUMNS "java 4711 4712 3 5000000000|gc  |g\n");
	assert_printed("e:gc \"%d %x %c %p\", value * 2, id, 'x', duration", &scope, false,
		       COLUMNS "-14 ffffffffffffffff x 0x4c4b41\n");
	assert_printed("e:gc \"\"", &scope, false, "4711    4712    java            gc\n");
	assert_printed("e:gc name, text, value", &scope, true,
		       "{\"type\":\"event\",\"time_ns\":5000000000,\"pid\":4711,\"tid\":4712,\"comm\":\"java\",\"cpu\":"
		       "3,\"probe\":\"gc\","
		       "\"args\":{\"name\":\"gc\",\"text\":null,\"value\":-7}}\n");
}

static void test_printed_strings(void **state)
{
	struct eval_scope scope = scope_new();
	char longest[256], expected[512];

	(void)state;
	scope.texts[USER_TEXT] = text_of("a\n\xff");
	assert_printed("e:gc \"%s|%s\", text, name", &scope, false, COLUMNS "a\\n\\xff|gc\n");
	scope.texts[USER_TEXT] = text_of("");
	assert_printed("e:gc text", &scope, false, COLUMNS "text=\"\"\n");
	scope.texts[USER_TEXT] = (struct ut_text){ .state = UT_TEXT_FAULT };
	assert_printed("e:gc text", &scope, false, COLUMNS "text=<fault>\n");
	scope.texts[USER_NAME].state = UT_TEXT_CUT_LIMIT;
	assert_printed("e:gc \"%s\", name", &scope, false, COLUMNS "gc…[cut at 2]\n");
	memset(longest, 'x', 255);
	longest[255] = '\0';
	scope.texts[USER_TEXT] = text_of(longest);
	snprintf(expected, sizeof(expected), COLUMNS "%s end\n", longest);
	assert_printed("e:gc \"%s %s\", text, kind", &scope, false, expected);
}

/* A name that the program did not really give is told in the column FUNC, also of a line with a format. */
static void test_printed_name(void **state)
{
	struct eval_scope scope = scope_new();
	struct live_options options = { 0 };
	struct ut_text name = { .state = UT_TEXT_FAULT, .address = 16 };
	struct probe_checked *c = check("e:* \"%d\", value");
	struct live_printer *p = live_printer_new(&options);
	struct live_probe *lp = live_probe_new(c);
	struct ut_rec_event head = head_of(&scope);
	struct buf out = { 0 };
	struct live_event e = {
		.rec = &head, .size = sizeof(head), .scope = &scope, .probe = lp, .func = "", .name = &name
	};

	(void)state;
	assert_int_equal(live_print(p, &e, &out), 0);
	name = (struct ut_text){ .bytes = "(null)", .len = 6 };
	assert_int_equal(live_print(p, &e, &out), 0);
	assert_string_equal(out.data, "4711    4712    java            <fault 0x10>     -7\n"
				      "4711    4712    java            \"(null)\"         -7\n");
	buf_done(&out);
	live_probe_free(lp);
	live_printer_free(p);
	probe_checked_free(c);
}

UNIT_TESTS(eval)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_random),		cmocka_unit_test(test_printed),
		cmocka_unit_test(test_printed_strings), cmocka_unit_test(test_printed_name),
	};

	return unit_run(tests, NULL, NULL);
}
