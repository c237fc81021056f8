/* SPDX-License-Identifier: MIT */
/* The parser of the probe language: heads, predicates, formats, expressions and their trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "probe/spec.h"
#include "unit.h"

static const char *const op_words[] = {
	[EXPR_NEG] = "neg", [EXPR_NOT] = "!",  [EXPR_BITNOT] = "~", [EXPR_DEREF] = "deref", [EXPR_MUL] = "*",
	[EXPR_DIV] = "/",   [EXPR_MOD] = "%",  [EXPR_ADD] = "+",    [EXPR_SUB] = "-",	    [EXPR_SHL] = "<<",
	[EXPR_SHR] = ">>",  [EXPR_LT] = "<",   [EXPR_LE] = "<=",    [EXPR_GT] = ">",	    [EXPR_GE] = ">=",
	[EXPR_EQ] = "==",   [EXPR_NE] = "!=",  [EXPR_AND] = "&",    [EXPR_XOR] = "^",	    [EXPR_OR] = "|",
	[EXPR_LAND] = "&&", [EXPR_LOR] = "||", [EXPR_COND] = "?",
};

/* A tree as "(+ arg1 (* 2 3))". */
static void dump(const struct expr *e, struct buf *out)
{
	if (e->op == EXPR_INT) {
		buf_addf(out, "%llu%s", (unsigned long long)e->value, e->type.is_signed ? "" : "u");
		return;
	}
	if (e->op == EXPR_STRING || e->op == EXPR_VAR) {
		buf_addf(out, e->op == EXPR_VAR ? "%s" : "'%s'", e->string);
		return;
	}
	buf_addc(out, '(');
	if (e->op == EXPR_CAST)
		buf_addf(out, "%c%d%s", e->type.is_signed ? 's' : 'u', e->type.size * 8,
			 e->type.pointee_size ? "*" : "");
	else
		buf_adds(out, op_words[e->op]);
	const struct expr *const operands[] = { e->a, e->b, e->c };
	for (size_t i = 0; i < 3; i++) {
		if (!operands[i])
			continue;
		buf_addc(out, ' ');
		dump(operands[i], out);
	}
	buf_addc(out, ')');
}

static struct probe_spec *parse(const char *text)
{
	struct probe_spec *spec = NULL;
	struct ut_err err = { 0 };

	if (probe_parse(text, &spec, &err))
		fail_msg("%s", err.msg);
	return spec;
}

static void assert_tree(const char *expr, const char *tree)
{
	struct buf text = { 0 }, out = { 0 };
	struct probe_spec *spec;

	buf_addf(&text, "u:a:b (%s)", expr);
	spec = parse(text.data);
	assert_non_null(spec->predicate);
	dump(spec->predicate, &out);
	assert_string_equal(out.data, tree);
	buf_done(&text);
	buf_done(&out);
	probe_spec_free(spec);
}

static void test_precedence(void **state)
{
	(void)state;
	assert_tree("1 + 2 * 3", "(+ 1 (* 2 3))");
	assert_tree("1 * 2 + 3", "(+ (* 1 2) 3)");
	assert_tree("1 - 2 - 3", "(- (- 1 2) 3)");
	assert_tree("1 << 2 + 3", "(<< 1 (+ 2 3))");
	assert_tree("a < b == c", "(== (< a b) c)");
	assert_tree("a & b == c", "(& a (== b c))");
	assert_tree("a | b ^ c & d", "(| a (^ b (& c d)))");
	assert_tree("a || b && c", "(|| a (&& b c))");
	assert_tree("a && b || c", "(|| (&& a b) c)");
	assert_tree("a ? b : c ? d : e", "(? a b (? c d e))");
	assert_tree("a || b ? c : d", "(? (|| a b) c d)");
	assert_tree("-a * b", "(* (neg a) b)");
	assert_tree("!~-a", "(! (~ (neg a)))");
	assert_tree("(1 + 2) * 3", "(* (+ 1 2) 3)");
	assert_tree("a - -1", "(- a (neg 1))");
	assert_tree("+a", "a");
	assert_tree("7 / 2 % 3", "(% (/ 7 2) 3)");
	assert_tree("a >= b != c <= d", "(!= (>= a b) (<= c d))");
	assert_tree("a >> 3 > 1", "(> (>> a 3) 1)");
}

static void test_casts(void **state)
{
	(void)state;
	assert_tree("((int)a)", "(s32 a)");
	assert_tree("(1 + (unsigned char)a + 1)", "(+ (+ 1 (u8 a)) 1)");
	assert_tree("1*(unsigned long long int)a", "(* 1 (u64 a))");
	assert_tree("1*(long unsigned)a", "(* 1 (u64 a))");
	assert_tree("1*(short)a", "(* 1 (s16 a))");
	assert_tree("1*(signed)a", "(* 1 (s32 a))");
	assert_tree("1*(char)a", "(* 1 (s8 a))");
	assert_tree("1*(size_t)-a", "(* 1 (u64 (neg a)))");
	assert_tree("1+*(u32 *)(a + 8)", "(+ 1 (deref (u64* (+ a 8))))");
	assert_tree("1+*(const char *)a", "(+ 1 (deref (u64* a)))");
	assert_tree("1+**(char **)a", "(+ 1 (deref (deref (u64* a))))");
	assert_tree("1+(bool)a", "(+ 1 (!= a 0))");
	assert_tree("1+(uint16_t)(s64)a", "(+ 1 (u16 (s64 a)))");
}

static void test_numbers(void **state)
{
	(void)state;
	assert_tree("0x1F", "31");
	assert_tree("017", "15");
	assert_tree("0", "0");
	assert_tree("10UL", "10u");
	assert_tree("10ull", "10u");
	assert_tree("10LL", "10");
	assert_tree("18446744073709551615", "18446744073709551615u");
	assert_tree("9223372036854775807", "9223372036854775807");
	assert_tree("'a' + '\\n' + '\\x1b' + '\\''", "(+ (+ (+ 97 10) 27) 39)");
	assert_tree("a == \"x\\ty\\\"\\\\\"", "(== a 'x\ty\"\\')");
	assert_tree("p != NULL", "(!= p 0)");
	assert_tree("args->x + args.y", "(+ x y)");
	assert_tree("a > 5ms", "(> a 5000000)");
	assert_tree("7ns+10us+10\xc2\xb5s+2s", "(+ (+ (+ 7 10000) 10000) 2000000000)");
	assert_tree("0s", "0");
	assert_tree("10000000000s", "10000000000000000000u");
}

struct head {
	const char *text;
	enum probe_kind kind;
	const char *where, *provider, *name;
	uint64_t offset;
	bool has_offset, has_address;
};

static const struct head heads[] = {
	{ "u:/path/to:probe", PROBE_USDT, "/path/to", NULL, "probe", 0, false, false },
	{ "  u:python:gc__start  ", PROBE_USDT, "python", NULL, "gc__start", 0, false, false },
	{ "u:python:gc-start", PROBE_USDT, "python", NULL, "gc__start", 0, false, false },
	{ "u:ccl:egc-st*", PROBE_USDT, "ccl", NULL, "egc__st*", 0, false, false },
	{ "u:/usr/lib/x.so:hotspot:gc__begin", PROBE_USDT, "/usr/lib/x.so", "hotspot", "gc__begin", 0, false, false },
	{ "u:\"/a b/c:d\":e", PROBE_USDT, "/a b/c:d", NULL, "e", 0, false, false },
	{ "u:\"/a b/c:d\":p:e(arg1)", PROBE_USDT, "/a b/c:d", "p", "e", 0, false, false },
	{ "u:/opt/g++-12/(x),y:n", PROBE_USDT, "/opt/g++-12/(x),y", NULL, "n", 0, false, false },
	{ "p:c:malloc", PROBE_ENTRY, "c", NULL, "malloc", 0, false, false },
	{ ":c:malloc", PROBE_ENTRY, "c", NULL, "malloc", 0, false, false },
	{ "p:libc.so.6:malloc+0x1f", PROBE_ENTRY, "libc.so.6", NULL, "malloc", 0x1f, true, false },
	{ "p:c:malloc+12 \"x\"", PROBE_ENTRY, "c", NULL, "malloc", 12, true, false },
	{ "p:/bin/x:0x1234", PROBE_ENTRY, "/bin/x", NULL, "0x1234", 0x1234, false, true },
	{ "p:x:ns::Class<int>::~Class", PROBE_ENTRY, "x", NULL, "ns::Class<int>::~Class", 0, false, false },
	{ "p:x:C::operator()", PROBE_ENTRY, "x", NULL, "C::operator()", 0, false, false },
	{ "p:x:C::operator+", PROBE_ENTRY, "x", NULL, "C::operator+", 0, false, false },
	{ "p:x:C::operator+++4", PROBE_ENTRY, "x", NULL, "C::operator++", 4, true, false },
	{ "r:/usr/bin/node:*PerformGC?", PROBE_RETURN, "/usr/bin/node", NULL, "*PerformGC?", 0, false, false },
	{ "r:c:read\"%d\"", PROBE_RETURN, "c", NULL, "read", 0, false, false },
	{ "t:sched:sched_switch", PROBE_TRACEPOINT, "sched", NULL, "sched_switch", 0, false, false },
	{ "e:gc", PROBE_USER, "", NULL, "gc", 0, false, false },
	{ " e:* ", PROBE_USER, "", NULL, "*", 0, false, false },
	{ "e:gc:major/1-?,x(kind == \"end\")", PROBE_USER, "", NULL, "gc:major/1-?,x", 0, false, false },
	{ "e:gc\"%d\", value", PROBE_USER, "", NULL, "gc", 0, false, false },
	{ "e:\"full gc\"", PROBE_USER, "", NULL, "full gc", 0, false, false },
	{ "e:\"a\\\"\\x01\\\\*\"(value)\"%d\", value", PROBE_USER, "", NULL, "a\"\x01\\*", 0, false, false },
	{ "e:\"\"", PROBE_USER, "", NULL, "", 0, false, false },
	{ "e:\xe6\x97\xa5\xff", PROBE_USER, "", NULL, "\xe6\x97\xa5\xff", 0, false, false },
	{ "s:SIGSEGV", PROBE_SIGNAL, "", NULL, "SIGSEGV", 0, false, false },
	{ "s:segv(duration > 5)", PROBE_SIGNAL, "", NULL, "SIGSEGV", 0, false, false },
	{ "s:11 \"%d\", value", PROBE_SIGNAL, "", NULL, "SIGSEGV", 0, false, false },
	{ "s:rtmin+3", PROBE_SIGNAL, "", NULL, "SIGRTMIN+3", 0, false, false },
	{ "s:SIG*", PROBE_SIGNAL, "", NULL, "SIG*", 0, false, false },
	{ "u:caf\xc3\xa9:\xe6\x97\xa5", PROBE_USDT, "caf\xc3\xa9", NULL, "\xe6\x97\xa5", 0, false, false },
};

static void test_heads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct probe_spec *spec = parse(heads[i].text);

		assert_int_equal(spec->kind, heads[i].kind);
		assert_string_equal(spec->where, heads[i].where);
		assert_string_equal(spec->name, heads[i].name);
		assert_string_equal(spec->provider ? spec->provider : "-", heads[i].provider ? heads[i].provider : "-");
		assert_int_equal(spec->offset, heads[i].offset);
		assert_int_equal(spec->has_offset, heads[i].has_offset);
		assert_int_equal(spec->has_address, heads[i].has_address);
		assert_memory_equal(spec->text + spec->where_pos, heads[i].where, strlen(heads[i].where));
		assert_string_equal(spec->text, heads[i].text);
		probe_spec_free(spec);
	}
}

static void test_body(void **state)
{
	struct probe_spec *spec = parse("p:c:malloc (arg1 > 4096) \"%u\\t\\x41\\n\", arg1, (int)arg2");

	(void)state;
	assert_non_null(spec->predicate);
	assert_string_equal(spec->format, "%u\tA");
	assert_int_equal(spec->args.n, 2);
	assert_memory_equal(spec->text + spec->format_pos, "%u", 2);
	probe_spec_free(spec);

	spec = parse("u:x:y arg1 + 1, arg2");
	assert_null(spec->predicate);
	assert_null(spec->format);
	assert_int_equal(spec->args.n, 2);
	probe_spec_free(spec);

	spec = parse("u:x:y (int)arg1");
	assert_null(spec->predicate);
	assert_int_equal(spec->args.n, 1);
	probe_spec_free(spec);

	spec = parse("u:x:y (arg1) -arg2");
	assert_non_null(spec->predicate);
	assert_int_equal(spec->args.n, 1);
	probe_spec_free(spec);

	spec = parse("e:\"full gc\" (duration > 5ms) \"%s\", name");
	assert_memory_equal(spec->text + spec->name_pos, "full gc\"", 8);
	assert_non_null(spec->predicate);
	assert_string_equal(spec->format, "%s");
	assert_int_equal(spec->args.n, 1);
	probe_spec_free(spec);

	spec = parse("u:x:y \"\"");
	assert_string_equal(spec->format, "");
	probe_spec_free(spec);

	spec = parse("u:x:y \"a\\n\\n\"");
	assert_string_equal(spec->format, "a\n");
	probe_spec_free(spec);
}

static void repeat(struct buf *b, const char *s, size_t n)
{
	while (n--)
		buf_adds(b, s);
}

/* Deep and long texts end in a sentence, never in a stack that runs out. */
static void test_depth(void **state)
{
	static const char *const openers[] = {
		"(", "- ", "~", "!", "*(u8 *)", "1 ? 1 : ", "1 ? ", "1+", "(1+", "(int)"
	};
	struct probe_spec *spec;
	struct ut_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(openers) / sizeof(openers[0]); i++) {
		struct buf b = { 0 };

		buf_adds(&b, "u:x:y ");
		repeat(&b, openers[i], 2000);
		buf_adds(&b, "1");
		assert_int_equal(probe_parse(b.data, &spec, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "nested too deeply"));
		buf_done(&b);
	}
	struct buf b = { 0 };
	buf_adds(&b, "u:x:y \"");
	repeat(&b, "x", 20000);
	assert_int_equal(probe_parse(b.data, &spec, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "too long"));
	buf_done(&b);
}

static void test_depth_allowed(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_adds(&b, "u:x:y (1+");
	repeat(&b, "(", 40);
	buf_adds(&b, "1");
	repeat(&b, ")", 40);
	repeat(&b, "+1", 55);
	buf_adds(&b, ")");
	probe_spec_free(parse(b.data));
	buf_done(&b);
}

UNIT_TESTS(parse)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_precedence),    cmocka_unit_test(test_casts), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_heads),	      cmocka_unit_test(test_body),  cmocka_unit_test(test_depth),
		cmocka_unit_test(test_depth_allowed),
	};

	return unit_run(tests, NULL, NULL);
}
