/* SPDX-License-Identifier: MIT */
/* The types of a probe's arguments over all its sites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "probe/usdt_args.h"
#include "unit.h"

/* The types as `list` shows them, for sites separated by '|'; what is unreadable everywhere in parentheses. */
static const char *types(const char *sites)
{
	static struct usdt_args args;
	static char text[512];
	struct operands ops;
	struct buf out = { 0 };
	char copy[256], type[16], *save = NULL;

	memset(&args, 0, sizeof(args));
	strcpy(copy, sites);
	for (char *site = strtok_r(copy, "|", &save); site; site = strtok_r(NULL, "|", &save)) {
		assert_int_equal(operands_parse(site, &ops), 0);
		usdt_args_add(&args, &ops);
	}
	for (unsigned i = 0; i < args.n; i++)
		buf_addf(&out, "%s%s%s%s", i ? " " : "", args.v[i].unreadable ? "(" : "", usdt_arg_type(&args, i, type),
			 args.v[i].unreadable ? ")" : "");
	strcpy(text, out.data ? out.data : "");
	buf_done(&out);
	return text;
}

static void test_one_site(void **state)
{
	(void)state;
	assert_string_equal(types(""), "");
	assert_string_equal(types("-4@%edi 8@%rax 1@%cl 8f@%rdx 4f@%ecx"), "int32 uint64 uint8 double float");
}

static void test_widest_and_signed_wins(void **state)
{
	(void)state;
	assert_string_equal(types("-4@$0 8@%rax|-8@%rbx 4@%eax"), "int64 uint64");
	assert_string_equal(types("8@%rax|-4@%eax"), "int64");
	assert_string_equal(types("4@%eax|2@%ax|1@%al"), "uint32");
}

/* What is a float at one site is not an integer at another: the first site's kind holds. */
static void test_floats_do_not_mix(void **state)
{
	(void)state;
	assert_string_equal(types("8f@%rax|-4@%eax"), "double");
	assert_string_equal(types("-4@%eax|8f@%rax"), "int32");
	assert_string_equal(types("4f@%eax|8f@%rax"), "float");
}

static void test_unreadable_only_where_every_site_is(void **state)
{
	(void)state;
	assert_string_equal(types("8f@%xmm0"), "(double)");
	assert_string_equal(types("8f@%xmm0|8f@%rax"), "double");
	assert_string_equal(types("8f@%rax|8f@%xmm0"), "double");
	assert_string_equal(types("8f@%xmm0 -4@%eax|8f@%xmm1 -4@%xmm2"), "(double) int32");
	assert_string_equal(types("16@%rax"), "(uint64)");
}

static void test_sites_with_more(void **state)
{
	(void)state;
	assert_string_equal(types("8@%rax|8@%rax -4@%edx"), "uint64 int32");
	assert_string_equal(types("8@%rax -4@%edx|8@%rax"), "uint64 int32");
}

UNIT_TESTS(usdt_args)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_site),
		cmocka_unit_test(test_floats_do_not_mix),
		cmocka_unit_test(test_widest_and_signed_wins),
		cmocka_unit_test(test_unreadable_only_where_every_site_is),
		cmocka_unit_test(test_sites_with_more),
	};

	return unit_run(tests, NULL, NULL);
}
