/* SPDX-License-Identifier: MIT */
/* The JSON writer: commas and brackets in every nesting, all kinds of values, keys, misuse and memory that runs out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "unit.h"

static struct buf out;

static struct json start(void)
{
	buf_reset(&out);
	return (struct json){ .out = &out };
}

static int teardown(void **state)
{
	(void)state;
	buf_done(&out);
	return 0;
}

static void test_nesting(void **state)
{
	struct json j = start();

	(void)state;
	json_object(&j, NULL);
	json_u64(&j, "a", 1);
	json_object(&j, "empty");
	json_close(&j);
	json_array(&j, "none");
	json_close(&j);
	json_array(&j, "list");
	json_u64(&j, NULL, 2);
	json_array(&j, NULL);
	json_close(&j);
	json_object(&j, NULL);
	json_u64(&j, "b", 3);
	json_u64(&j, "c", 4);
	json_close(&j);
	json_null(&j, NULL);
	json_close(&j);
	json_bool(&j, "last", true);
	json_line(&j);
	json_array(&j, NULL);
	json_bool(&j, NULL, false);
	json_object(&j, NULL);
	json_line(&j); /* closes what is open */
	assert_string_equal(out.data, "{\"a\":1,\"empty\":{},\"none\":[],\"list\":[2,[],{\"b\":3,\"c\":4},null],"
				      "\"last\":true}\n[false,{}]\n");
	assert_false(out.failed);
}

/* One value as the member "k". */
static void expect(const struct json *j, const char *value)
{
	char want[128];

	snprintf(want, sizeof(want), "\"k\":%s", value);
	assert_ptr_equal(j->out, &out);
	assert_string_equal(out.data, want);
}

static void test_numbers(void **state)
{
	struct json j;

	(void)state;
	j = start(), json_u64(&j, "k", UINT64_MAX), expect(&j, "18446744073709551615");
	j = start(), json_i64(&j, "k", INT64_MIN), expect(&j, "-9223372036854775808");
	j = start(), json_id(&j, "k", UINT64_MAX), expect(&j, "\"18446744073709551615\"");
	j = start(), json_id(&j, "k", 0), expect(&j, "\"0\"");
	j = start(), json_address(&j, "k", 0xffffffff81000000), expect(&j, "\"0xffffffff81000000\"");
	j = start(), json_address(&j, "k", 0), expect(&j, "\"0x0\"");
	j = start(), json_double(&j, "k", 0.5, 6), expect(&j, "0.5");
	j = start(), json_double(&j, "k", -1e300, 17), expect(&j, "-1.0000000000000001e+300");
	j = start(), json_double(&j, "k", (double)0.1f, 9), expect(&j, "0.100000001");
	j = start(), json_double(&j, "k", -0.0, 17), expect(&j, "-0");
	j = start(), json_double(&j, "k", NAN, 17), expect(&j, "\"NaN\"");
	j = start(), json_double(&j, "k", INFINITY, 17), expect(&j, "\"Infinity\"");
	j = start(), json_double(&j, "k", -INFINITY, 17), expect(&j, "\"-Infinity\"");
}

static void test_strings(void **state)
{
	struct json j;

	(void)state;
	j = start(), json_string(&j, "k", ""), expect(&j, "\"\"");
	j = start(), json_bytes(&j, "k", "a\"\\\n\0\x7f\xff\xc3\xa9", 9),
	expect(&j, "\"a\\\"\\\\\\n\\u0000\\u007f\xef\xbf\xbd\xc3\xa9\"");
	j = start(), json_bytes(&j, "k", "\xe2\x80", 2), expect(&j, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void test_keys(void **state)
{
	struct json j = start();

	(void)state;
	json_object(&j, NULL);
	buf_adds(json_raw(&j, "raw"), "[1]");
	buf_adds(json_raw_quoted(&j, "\"q\\\"\""), "2");
	buf_adds(json_raw_foreign(&j, "\"\n\xff", 3), "3");
	json_array(&j, "x");
	buf_adds(json_raw(&j, NULL), "4");
	buf_adds(json_raw(&j, NULL), "5");
	json_line(&j);
	assert_string_equal(out.data, "{\"raw\":[1],\"q\\\"\":2,\"\\\"\\n\xef\xbf\xbd\":3,\"x\":[4,5]}\n");
}

/* As deep as it goes, arrays and objects in turns; one more fails, and so does a bracket that was not opened. */
static void test_depth(void **state)
{
	struct json j = start();

	(void)state;
	for (unsigned i = 0; i < JSON_DEPTH_MAX; i++) {
		if (i % 2)
			json_array(&j, "a");
		else
			json_object(&j, NULL);
	}
	json_line(&j);
	assert_false(out.failed);
	assert_int_equal(out.len, JSON_DEPTH_MAX * 2 + JSON_DEPTH_MAX / 2 * strlen("\"a\":") + 1);
	for (unsigned i = 0; i < JSON_DEPTH_MAX; i++)
		assert_int_equal(out.data[out.len - 2 - i], i % 2 ? ']' : '}');
	for (unsigned i = 0; i <= JSON_DEPTH_MAX; i++)
		json_array(&j, NULL);
	assert_true(out.failed);
	buf_done(&out);
	j = start();
	json_close(&j);
	assert_true(out.failed);
	buf_done(&out);
}

/* A buffer that has failed takes nothing more, whatever is written. */
static void test_failed(void **state)
{
	struct json j = start();

	(void)state;
	json_object(&j, NULL);
	out.failed = true;
	json_string(&j, "a", "b");
	json_address(&j, "a", 1);
	json_array(&j, "a");
	json_double(&j, "a", 1, 17);
	buf_adds(json_raw_quoted(&j, "\"q\""), "1");
	json_line(&j);
	assert_string_equal(out.data, "{");
	buf_done(&out);
}

UNIT_TESTS(json)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting), cmocka_unit_test(test_numbers), cmocka_unit_test(test_strings),
		cmocka_unit_test(test_keys),	cmocka_unit_test(test_depth),	cmocka_unit_test(test_failed),
	};

	return unit_run(tests, NULL, teardown);
}
