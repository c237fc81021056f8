/* SPDX-License-Identifier: MIT */
/* Provider files: what is read, into which macros and types it goes, the object, and every complaint
 * (tests/golden/dtrace-errors.txt; UT_GOLDEN_UPDATE=1 writes it anew). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "dtrace/embedded.h"
#include "dtrace/object.h"
#include "dtrace/provider.h"
#include "golden.h"
#include "elf/image.h"
#include "unit.h"

static struct dtrace_providers parse(const char *text)
{
	struct dtrace_providers p = { 0 };
	struct ut_err err = { 0 };

	if (dtrace_parse("probes.d", text, strlen(text), &p, &err))
		fail_msg("'%s': %s", text, err.msg);
	return p;
}

/* Parses what must be refused and returns the sentence. */
static const char *complaint(const char *text)
{
	static struct ut_err err;
	struct dtrace_providers p = { 0 };
	struct buf out = { 0 };
	int ret;

	err = (struct ut_err){ 0 };
	ret = dtrace_parse("probes.d", text, strlen(text), &p, &err);
	if (!ret)
		ret = dtrace_header(&p, "probes.d", true, &out, &err);
	dtrace_providers_done(&p);
	buf_done(&out);
	if (ret != -EINVAL || err.code != -EINVAL)
		fail_msg("'%s' was not refused", text);
	return err.msg;
}

static void test_nothing_declared(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"BEGIN{}",
		"/* provider x { probe y(); }; */",
		"// provider x",
		"#define provider x\n",
		"provider x { };",
		"struct a { int b; };",
		"int f(void) { return '}'; }",
		"# 1 \"x.h\"\nextern int e;",
		"#pragma D option quiet",
		"profile:::tick-1s { exit(0); }",
		"#define A \\\r\n provider x {\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct dtrace_providers p = parse(texts[i]);

		assert_int_equal(p.nprobes, 0);
		dtrace_providers_done(&p);
	}
}

static void test_names(void **state)
{
	static const struct {
		const char *provider, *probe, *macro;
	} names[] = {
		{ "ccl", "gc__start", "CCL_GC_START" },
		{ "a", "b_c", "A_B_C" },
		{ "a__b", "c__d", "A__B_C_D" },
		{ "x", "a___b", "X_A__B" },
		{ "x", "a____b", "X_A__B" },
		{ "x", "__a__", "X__A_" },
		{ "Py", "Gc2", "PY_GC2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_FREE char *macro = dtrace_macro_name(names[i].provider, names[i].probe);

		assert_string_equal(macro, names[i].macro);
	}
}

/* The only argument of "probe a(DECL)". */
static void check_type(const char *decl, const char *cast, bool is_truth)
{
	AUTO_FREE char *text = NULL;
	struct dtrace_providers p;

	assert_true(asprintf(&text, "typedef unsigned short mine; typedef bool truth;\nprovider x { probe a(%s); };",
			     decl) > 0);
	p = parse(text);
	assert_int_equal(p.nprobes, 1);
	assert_int_equal(p.all.v[0].probes.v[0].nargs, 1);
	if (!cast)
		assert_null(p.all.v[0].probes.v[0].args[0].cast);
	else
		assert_string_equal(p.all.v[0].probes.v[0].args[0].cast, cast);
	assert_int_equal(p.all.v[0].probes.v[0].args[0].is_truth, is_truth);
	assert_string_equal(p.all.v[0].probes.v[0].args[0].decl, decl);
	dtrace_providers_done(&p);
}

static void test_types(void **state)
{
	static const struct {
		const char *decl, *cast;
	} types[] = {
		{ "int", "int" },
		{ "int x", "int" },
		{ "unsigned", "unsigned int" },
		{ "unsigned x", "unsigned int" },
		{ "signed", "int" },
		{ "short int", "short" },
		{ "unsigned short", "unsigned short" },
		{ "long", "long" },
		{ "long long", "long" },
		{ "unsigned long long int x", "unsigned long" },
		{ "int long unsigned", "unsigned long" },
		{ "char", "char" },
		{ "signed char c", "signed char" },
		{ "unsigned char", "unsigned char" },
		{ "float", "float" },
		{ "double d", "double" },
		{ "const int", "int" },
		{ "int const volatile x", "int" },
		{ "int8_t", "signed char" },
		{ "uint16_t x", "unsigned short" },
		{ "uint32_t", "unsigned int" },
		{ "int64_t", "long" },
		{ "size_t", "unsigned long" },
		{ "uintptr_t p", "unsigned long" },
		{ "pid_t", "int" },
		{ "mine m", "unsigned short" },
		/* Pointers, and what becomes one. */
		{ "void *", "unsigned long" },
		{ "const char *name", "unsigned long" },
		{ "string", "unsigned long" },
		{ "string s", "unsigned long" },
		{ "struct a *", "unsigned long" },
		{ "union a **b", "unsigned long" },
		{ "int x[4]", "unsigned long" },
		{ "char *argv[]", "unsigned long" },
		{ "int (*f)(void)", "unsigned long" },
		{ "void (*)(int, char *)", "unsigned long" },
		{ "int f (int)", "unsigned long" },
		{ "my_t *", "unsigned long" },
		{ "long double *", "unsigned long" },
		{ "bool *", "unsigned long" },
		{ "mine *m", "unsigned long" },
		{ "char *const *restrict p", "unsigned long" },
		{ "int (*(*f)(void))[3]", "unsigned long" },
		/* What only the program knows. */
		{ "my_t", NULL },
		{ "my_t x", NULL },
		{ "enum color", NULL },
		{ "enum color c", NULL },
		{ "const my_t x", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		check_type(types[i].decl, types[i].cast, false);
	check_type("bool", "unsigned char", true);
	check_type("_Bool b", "unsigned char", true);
	check_type("truth t", "unsigned char", true);
	check_type("int (x)", "int", false);
}

static void test_parts_of_a_provider(void **state)
{
	struct dtrace_providers p = parse("provider a { probe x(); } provider b { probe x(int); };\n"
					  "provider a { probe y; };");

	(void)state;
	assert_int_equal(p.all.n, 2);
	assert_int_equal(p.nprobes, 3);
	assert_int_equal(p.all.v[0].probes.n, 2);
	assert_string_equal(p.all.v[0].probes.v[1].name, "y");
	assert_string_equal(p.all.v[0].probes.v[1].place, "probes.d:2");
	assert_string_equal(p.all.v[1].probes.v[0].macro, "B_X");
	dtrace_providers_done(&p);
}

static void test_line_markers(void **state)
{
	(void)state;
	assert_int_equal(strncmp(complaint("# 41 \"first.d\" 2\n\n  oops"), "first.d:42: ", 12), 0);
	assert_non_null(strstr(complaint("#line 7 \"dir/x y.d\"\noops"), "dir/x y.d:7: "));
	assert_non_null(strstr(complaint("#line 7\noops"), "probes.d:7: "));
	assert_non_null(strstr(complaint("\\\n\\\n/*\n*/ # 9\n oops"), "probes.d:9: "));
	assert_non_null(strstr(complaint("# 99999999999999999999 \"x\"\noops"), "x:2: "));
	assert_non_null(strstr(complaint("# 5 \"no end\noops"), "probes.d:5: "));
}

static void test_header_survives_its_names(void **state)
{
	/* Prefixes that builds replace in the whole header. */
	static const char *const words[] = { "POSTGRESQL_", "PYTHON_", "PHP_",	 "RUBY_",    "PERL_", "CCL_",
					     "TCL_",	    "QEMU_",   "MYSQL_", "HOTSPOT_", "SAIO_" };

	(void)state;
	assert_int_equal(dtrace_embedded_n, 1);
	assert_string_equal(dtrace_embedded[0].name, "usertrace.h");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_null(strstr(dtrace_embedded[0].text, words[i]));
}

static void test_header_text(void **state)
{
	struct dtrace_providers p = parse("provider a { probe b__c(int x[A* /B], bool); };");
	struct buf out = { 0 };
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(dtrace_header(&p, "a*/b\n.d", true, &out, &err), 0);
	assert_string_equal(out.data, "/* Made by usertrace dtrace -h from a?/b?.d; changes belong there. */\n\n"
				      "#include <usertrace.h>\n\n"
				      "/* A_B_C(int x[A * / B], bool) */\n"
				      "#define A_B_C_ENABLED() UT_PROBE_ENABLED(a, b__c)\n"
				      "#define A_B_C(arg1, arg2) \\\n"
				      "\tUT_PROBE(a, b__c, (unsigned long)(arg1), (unsigned char)((arg2) ? 1 : 0))\n");
	buf_done(&out);
	dtrace_providers_done(&p);
}

static void check_object(const char *text, enum elf_machine machine, const char *name, size_t symbols)
{
	struct dtrace_providers p = parse(text);
	struct buf one = { 0 }, two = { 0 };
	struct ut_err err = { 0 };
	struct elf_image *img = NULL;
	const struct elf_symbol *list;

	assert_int_equal(dtrace_object(&p, machine, &one, &err), 0);
	assert_int_equal(dtrace_object(&p, machine, &two, &err), 0);
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.data, two.data, one.len);
	assert_int_equal(elf_image_from_memory(one.data, one.len, &img, &err), 0);
	assert_non_null(strstr(elf_image_machine(img), name));
	assert_int_equal(elf_image_symbols(img, &list), symbols);
	for (size_t i = 0; i < symbols; i++) {
		assert_int_equal(list[i].size, 2);
		assert_int_equal(list[i].vaddr, 2 * i);
		assert_true(list[i].is_object && !list[i].is_local && !list[i].is_weak);
	}
	elf_image_free(img);
	buf_done(&one);
	buf_done(&two);
	dtrace_providers_done(&p);
}

static void test_objects(void **state)
{
	struct dtrace_providers p = parse("provider a { probe b; };");
	struct ut_err err = { 0 };
	struct buf out = { 0 };

	(void)state;
	check_object("provider a { probe b; probe c(int); }; provider d { probe e__f; };", ELF_MACHINE_X86_64, "x86",
		     3);
	check_object("provider a { probe b; probe c(int); };", ELF_MACHINE_AARCH64, "AArch64", 2);
	check_object("BEGIN{}", ELF_MACHINE_X86_64, "x86", 0);
	assert_int_equal(dtrace_object(&p, ELF_MACHINE_UNKNOWN, &out, &err), -EINVAL);
	dtrace_providers_done(&p);
	buf_done(&out);
}

static void test_too_many(void **state)
{
	struct buf text = { 0 };
	char *long_name = NULL;

	(void)state;
	buf_adds(&text, "provider a {");
	for (unsigned i = 0; i < 16385; i++)
		buf_addf(&text, "probe p%u;", i);
	assert_non_null(strstr(complaint(text.data), "more than 16384 probes"));
	buf_reset(&text);
	buf_adds(&text, "provider a { probe x(int ");
	buf_fill(&text, '(', 100000);
	assert_non_null(strstr(complaint(text.data), "more than 16 nested parentheses"));
	buf_reset(&text);
	buf_adds(&text, "provider ");
	buf_fill(&text, 'x', 256);
	buf_adds(&text, " { probe x; };");
	long_name = buf_take(&text);
	assert_non_null(strstr(complaint(long_name), "at most 255 bytes"));
	free(long_name);
	buf_fill(&text, '{', 100000);
	assert_non_null(strstr(complaint(text.data), "never closed"));
	buf_done(&text);
}

/* Blocks: "=== ", the file up to a line "---", and the exact complaint. */
static void test_golden_errors(void **state)
{
	AUTO_FREE char *text = golden_read("dtrace-errors.txt");
	struct buf out = { 0 };
	unsigned blocks = 0;

	(void)state;
	for (char *at = text, *next; at; at = next) {
		char *said = strstr(at, "\n---\n"), *wanted = said + 5;
		const char *found;

		assert_memory_equal(at, "=== ", 4);
		assert_non_null(said);
		*said = '\0';
		next = strstr(wanted, "\n\n=== ");
		if (next)
			*next = '\0', next += 2;
		else
			wanted[strlen(wanted) - 1] = '\0';
		found = complaint(at + 4);
		if (!golden_update())
			assert_string_equal(found, wanted);
		buf_addf(&out, "%s=== %s\n---\n%s\n", blocks++ ? "\n" : "", at + 4, found);
	}
	assert_true(blocks > 30);
	if (golden_update())
		golden_write("dtrace-errors.txt", out.data, out.len);
	buf_done(&out);
}

UNIT_TESTS(dtrace)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_declared),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_parts_of_a_provider),
		cmocka_unit_test(test_line_markers),
		cmocka_unit_test(test_header_survives_its_names),
		cmocka_unit_test(test_header_text),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_golden_errors),
	};

	return unit_run(tests, NULL, NULL);
}
