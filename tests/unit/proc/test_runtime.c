/* SPDX-License-Identifier: MIT */
/* The .ini files about runtimes: the built-in ones, the user's, mistakes in them, and what they are found by. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/text.h"
#include "elf/usdt.h"
#include "probe/spec.h"
#include "proc/runtime.h"
#include "proc/runtime_builtin.h"
#include "scratch.h"
#include "unit.h"

static struct runtimes known;

static void probe_spec_done(struct probe_spec **spec) { probe_spec_free(*spec); }

static int load_known(void **state)
{
	struct ut_err err = { 0 };

	(void)state;
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	if (runtimes_load(&known, &err)) {
		print_error("%s\n", err.msg);
		return -1;
	}
	return 0;
}

static int free_known(void **state)
{
	(void)state;
	runtimes_done(&known);
	return 0;
}

static void every_builtin_file_parses(void **state)
{
	(void)state;
	assert_true(runtime_builtins_n >= 25);
	for (size_t i = 0; i < runtime_builtins_n; i++) {
		const struct runtime_builtin *b = &runtime_builtins[i];
		struct runtimes one = { 0 };
		struct ut_err err = { 0 };

		assert_int_equal(strlen(b->text), b->len);
		if (runtimes_parse(b->name, b->text, b->len, &one, &err))
			fail_msg("%s", err.msg);
		assert_int_equal(one.all.n, 1);
		assert_true(one.all.v[0].language[0]);
		/* a runtime with nothing to trace says at least why */
		assert_true(one.all.v[0].provider.n || one.all.v[0].offer.n || one.all.v[0].hint.n);
		runtimes_done(&one);
	}
	assert_int_equal(known.all.n, runtime_builtins_n); /* no name twice */
}

/* The formats name their arguments by number: none may come that the probe does not have. */
static unsigned highest_arg(const char *format)
{
	unsigned highest = 0;

	for (const char *s = format; (s = strstr(s, "arg")); s += 3)
		if ((unsigned)atoi(s + 3) > highest)
			highest = (unsigned)atoi(s + 3);
	return highest;
}

/* Conversions against arguments: every % takes one, every %.* two. */
static void formats_have_as_many_arguments_as_conversions(void **state)
{
	(void)state;
	for (size_t i = 0; i < known.all.n; i++)
		for (size_t k = 0; k < known.all.v[i].format.n; k++) {
			const struct runtime_format *f = &known.all.v[i].format.v[k];
			const char *end = strrchr(f->format, '"');
			unsigned wanted = 0, given = 0;

			assert_int_equal(f->format[0], '"');
			for (const char *s = f->format; s < end; s++)
				wanted += *s == '%' ? 1 + (s[1] == '.' && s[2] == '*') : 0;
			for (const char *s = end; *s; s++)
				given += *s == ',';
			if (wanted != given || highest_arg(end) > 12)
				fail_msg("%s:%s: %s", f->provider, f->probe, f->format);
		}
}

/* What the files say is probe language. */
static void formats_and_offers_are_probe_language(void **state)
{
	(void)state;
	for (size_t i = 0; i < known.all.n; i++) {
		const struct runtime *r = &known.all.v[i];

		for (size_t k = 0; k < r->format.n + r->offer.n; k++) {
			AUTO(buf_done) struct buf text = { 0 };
			struct probe_spec *spec = NULL;
			struct ut_err err = { 0 };

			if (k < r->format.n)
				buf_addf(&text, "u:%s:%s %s", r->format.v[k].provider, r->format.v[k].probe,
					 r->format.v[k].format);
			else
				buf_adds(&text, r->offer.v[k - r->format.n].probe);
			if (probe_parse(text.data, &spec, &err))
				fail_msg("%s: %s", r->name, err.msg);
			probe_spec_free(spec);
		}
	}
}

/* What spans are followed by is probe language, too, and each value in a format has a name. */
static void probes_of_spans_are_probe_language(void **state)
{
	size_t probes = 0;

	(void)state;
	for (size_t i = 0; i < known.all.n; i++)
		for (size_t k = 0; k < known.all.v[i].span.n; k++) {
			const struct runtime_span *s = &known.all.v[i].span.v[k];

			for (size_t p = 0; p < s->probe.n; p++) {
				AUTO(probe_spec_done) struct probe_spec *spec = NULL;
				struct ut_err err = { 0 };

				if (probe_parse(s->probe.v[p].text, &spec, &err) || probe_check_format(spec, &err))
					fail_msg("%s:%u: %s", known.all.v[i].origin, s->probe.v[p].line, err.msg);
				assert_true(spec->kind == PROBE_USDT || spec->kind == PROBE_ENTRY ||
					    spec->kind == PROBE_RETURN);
				assert_true(spec->format || !spec->args.n);
				probes++;
			}
		}
	assert_true(probes > 20);
}

static unsigned count_operands(const char *args)
{
	unsigned n = 0;

	for (; *args; args++)
		n += *args == '@';
	return n;
}

/* Every site of a probe that has a default format offers the arguments which that names. Returns how many it saw. */
static size_t check_notes(const char *path, const struct usdt_notes *notes)
{
	size_t seen = 0;

	for (size_t i = 0; i < notes->notes.n; i++) {
		const struct usdt_note *n = &notes->notes.v[i];
		const char *format = runtime_format(&known, n->provider, n->name);

		if (!format)
			continue;
		seen++;
		if (highest_arg(strrchr(format, '"')) > count_operands(n->args))
			fail_msg("%s %s:%s has '%s', which is less than %s", path, n->provider, n->name, n->args,
				 format);
	}
	return seen;
}

static void formats_fit_the_notes_of_installed_runtimes(void **state)
{
	static const char *const paths[] = {
		"/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
		"/usr/lib/jvm/temurin-25-jdk-amd64/lib/server/libjvm.so",
		"/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1",
		"/usr/bin/python3.11",
		"/usr/bin/php8.2",
		"/usr/lib/postgresql/15/bin/postgres",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	};
	size_t files = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		AUTO_CLOSE int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		struct elf_image *img = NULL;
		struct usdt_notes notes = { 0 };
		struct ut_err err = { 0 };

		if (fd < 0)
			continue;
		if (elf_image_open(fd, &img, &err) || usdt_notes_read(img, &notes, &err))
			fail_msg("%s: %s", paths[i], err.msg);
		if (notes.notes.n) {
			assert_true(check_notes(paths[i], &notes) > 0);
			files++;
		}
		usdt_notes_done(&notes);
		elf_image_free(img);
	}
	if (!files) {
		print_message("no runtime with probes is installed here\n");
		skip();
	}
}

static void assert_runtime(const char *path, const char *name)
{
	const struct runtime *r = runtime_of_file(&known, path);

	if (!r || strcmp(r->name, name) != 0)
		fail_msg("%s is %s, not %s", path, r ? r->name : "nothing", name);
}

static void recognises_files(void **state)
{
	(void)state;
	assert_runtime("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", "HotSpot");
	assert_runtime("/usr/bin/python3.11", "CPython");
	assert_runtime("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", "CPython");
	assert_runtime("libpython3.7m.so.1.0", "CPython");
	assert_runtime("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2", "CRuby");
	assert_runtime("/usr/bin/ruby3.1", "CRuby");
	assert_runtime("/usr/bin/php8.2", "PHP");
	assert_runtime("/usr/sbin/php-fpm8.2", "PHP");
	assert_runtime("/usr/bin/node", "Node.js");
	assert_runtime("/usr/lib/x86_64-linux-gnu/libnode.so.108", "Node.js");
	assert_runtime("/usr/lib/erlang/erts-13.1.5/bin/beam.smp", "Erlang");
	assert_runtime("/usr/lib/x86_64-linux-gnu/libguile-3.0.so.1.5.0", "Guile");
	assert_runtime("/usr/bin/mono-sgen", "Mono");
	assert_runtime("/usr/bin/sbcl", "SBCL");
	assert_runtime("/home/me/ccl/lx86cl64", "Clozure CL");
	assert_runtime("/usr/bin/chezscheme", "Chez Scheme");
	assert_runtime("/usr/lib/x86_64-linux-gnu/libluajit-5.1.so.2.1.0", "LuaJIT");
	assert_runtime("/usr/bin/perl", "Perl");
	assert_runtime("/usr/lib/postgresql/15/bin/postgres", "PostgreSQL");
	assert_runtime("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", "libstdc++");
	assert_runtime("/usr/bin/pypy3", "PyPy");
	assert_true(runtime_of_file(&known, "libstdc++.so.6")->library);
	assert_false(runtime_of_file(&known, "libjvm.so")->library);
}

static void claims_nothing_else(void **state)
{
	static const char *const others[] = {
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"ld-linux-x86-64.so.2",
		"libm.so.6",
		"libgcc_s.so.1",
		"/bin/bash",
		"/usr/bin/nodeenv",
		"python-config",
		"python3.11-config",
		"/usr/bin/rubyfmt",
		"monodevelop",
		"libpython-support.so",
		"phpize8.2",
		"/usr/bin/perldoc",
		"/usr/bin/pg_ctl",
		"postgresql",
		"java",
		"/lib/jvm",
		"_ssl.cpython-311-x86_64-linux-gnu.so",
		"libgc.so.1",
		"bunzip2",
		"luac5.4",
		"",
		"/",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (runtime_of_file(&known, others[i]))
			fail_msg("%s is taken for %s", others[i], runtime_of_file(&known, others[i])->name);
}

static void knows_default_formats(void **state)
{
	(void)state;
	assert_string_equal(runtime_format(&known, "hotspot", "gc__begin"), "\"full=%d\", arg1");
	assert_string_equal(runtime_format(&known, "ccl", "egc__start"), "\"used %d, gen %d\", arg1, arg2");
	assert_string_equal(runtime_format(&known, "python", "gc__start"), "\"generation=%d\", arg1");
	assert_string_equal(runtime_format(&known, "libstdcxx", "throw"), "\"%s\", *(u64 *)(arg2 + 8)");
	assert_null(runtime_format(&known, "hotspot", "gc__end"));
	assert_null(runtime_format(&known, "python", "gc__begin"));
	assert_null(runtime_format(&known, "nosuch", "gc__begin"));
}

static void a_process_has_the_runtime_of_its_program(void **state)
{
	const struct runtime *mine = runtime_of_process(&known, getpid());

	(void)state;
	assert_true(!mine || mine->library); /* sanitizers bring the C++ library with them */
	assert_null(runtime_of_process(&known, 0x3ffffffe));
}

/* A program that is called as a Lisp is: the name is all that is looked at. */
static void finds_the_runtime_of_another_process(void **state)
{
	char folder[] = "/tmp/ut-test-XXXXXX", path[64], command[160];
	const struct runtime *found;
	int p[2];
	pid_t pid;
	char c;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/sbcl", folder);
	snprintf(command, sizeof(command), "cp /bin/sleep %s", path);
	assert_int_equal(system(command), 0);
	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, "1000", NULL);
		_exit(1);
	}
	close(p[1]);
	assert_int_equal(read(p[0], &c, 1), 0); /* it runs */
	close(p[0]);
	found = runtime_of_process(&known, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
	rmdir(folder);
	assert_non_null(found);
	assert_string_equal(found->name, "SBCL");
}

static int parse(const char *text, struct runtimes *into, struct ut_err *err)
{
	return runtimes_parse("my.ini", text, strlen(text), into, err);
}

static void reads_a_whole_file(void **state)
{
	static const char text[] =
		"# comment\r\n; another\n\n[runtime]\nname = Toy Lisp   # what people call it\nlanguage=Lisp\n"
		"kind = server\nmatch = toylisp*\nmatch = libtoy.so\nprovider = toy\nprovider = toy2\n"
		"offer = p:toylisp:gc (arg1 | 3) \"%#x a # b\", arg1 | collections | of the nursery\n"
		"hint = issue #7 says: use -g\n[probes]\n"
		"gc__start = \"gen # %d \\\" %s\", arg1, arg2 # trailing\ntoy2:other = arg1\n";
	struct runtimes r = { 0 };
	struct ut_err err = { 0 };
	const struct runtime *t;

	(void)state;
	if (parse(text, &r, &err))
		fail_msg("%s", err.msg);
	t = &r.all.v[0];
	assert_string_equal(t->name, "Toy Lisp");
	assert_string_equal(t->language, "Lisp");
	assert_int_equal(t->match.n, 2);
	assert_int_equal(t->provider.n, 2);
	assert_string_equal(t->offer.v[0].probe, "p:toylisp:gc (arg1 | 3) \"%#x a # b\", arg1 | collections");
	assert_string_equal(t->offer.v[0].what, "of the nursery");
	assert_string_equal(t->hint.v[0], "issue"); /* a '#' behind a blank begins a comment */
	assert_string_equal(runtime_format(&r, "toy", "gc__start"), "\"gen # %d \\\" %s\", arg1, arg2");
	assert_string_equal(runtime_format(&r, "toy2", "other"), "arg1");
	runtimes_done(&r);
}

static void how_code_gets_names_depends_on_the_version(void **state)
{
	struct runtimes r = { 0 };
	struct ut_err err = { 0 };
	const struct runtime *t;

	(void)state;
	assert_int_equal(parse("[runtime]\nname = A\nmatch = aaa\nmap = since 3.12: a -X perf\n"
			       "map = since 3.13:a -X jit: better\n",
			       &r, NULL),
			 0);
	t = &r.all.v[0];
	assert_null(runtime_map_hint(t, "3.11.2"));
	assert_string_equal(runtime_map_hint(t, "3.12"), "a -X perf");
	assert_string_equal(runtime_map_hint(t, "3.13.1"), "a -X jit: better");
	assert_string_equal(runtime_map_hint(t, NULL), "a -X jit: better");
	assert_int_equal(parse("[runtime]\nname = B\nmatch = bbb\nmap = DIR=/x: b\n", &r, NULL), 0);
	assert_string_equal(runtime_map_hint(&r.all.v[1], "1"), "DIR=/x: b");
	assert_int_equal(parse("[runtime]\nname = C\nmatch = ccc\nmap = since ever\n", &r, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "my.ini:4: a map for some versions has the form"));
	runtimes_done(&r);
}

static void a_file_of_the_same_name_replaces(void **state)
{
	struct runtimes r = { 0 };

	(void)state;
	assert_int_equal(parse("[runtime]\nname = A\nmatch = aaa\nhint = old\n", &r, NULL), 0);
	assert_int_equal(parse("[runtime]\nname = B\nmatch = bbb\n", &r, NULL), 0);
	assert_int_equal(parse("[runtime]\nname = A\nmatch = ccc\n", &r, NULL), 0);
	assert_int_equal(r.all.n, 2);
	assert_string_equal(r.all.v[0].match.v[0], "ccc");
	assert_int_equal(r.all.v[0].hint.n, 0);
	runtimes_done(&r);
}

static void the_longest_pattern_wins(void **state)
{
	struct runtimes r = { 0 };

	(void)state;
	assert_int_equal(parse("[runtime]\nname = Long\nmatch = lisp-one*\n", &r, NULL), 0);
	assert_int_equal(parse("[runtime]\nname = Short\nmatch = lisp*\n", &r, NULL), 0);
	assert_int_equal(parse("[runtime]\nname = Lib\nkind = library\nmatch = lisp-one-and-more\n", &r, NULL), 0);
	assert_string_equal(runtime_of_file(&r, "/x/lisp-one-2")->name, "Long");
	assert_string_equal(runtime_of_file(&r, "/x/lisp-two")->name, "Short");
	assert_string_equal(runtime_of_file(&r, "lisp-one-and-more")->name, "Long");
	runtimes_done(&r);
}

/* What a program has built in is known by its functions; files that are known by name keep it. */
__attribute__((used, noinline)) static void built_in_toy(void) {}
__attribute__((used)) static int toy_number = 1;

static void a_program_is_known_by_its_functions(void **state)
{
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct runtimes r = { 0 };

	(void)state;
	assert_int_equal(parse("[runtime]\nname = Data\nsymbol = toy_number\n", &r, NULL), 0);
	assert_null(runtime_of_symbols(&r, fd));
	for (int i = 0; i < 2; i++)
		assert_null(runtime_of_process(&r, getpid()));
	assert_int_equal(parse("[runtime]\nname = Toy\nsymbol = no_such_toy\nsymbol = built_in_toy\n", &r, NULL), 0);
	assert_string_equal(runtime_of_symbols(&r, fd)->name, "Toy");
	for (int i = 0; i < 2; i++) /* the second time it is known */
		assert_string_equal(runtime_of_process(&r, getpid())->name, "Toy");
	assert_int_equal(parse("[runtime]\nname = Named\nmatch = runner-proc\n", &r, NULL), 0);
	assert_string_equal(runtime_of_process(&r, getpid())->name, "Named");
	runtimes_done(&r);
}

static void mistakes_are_told_with_file_and_line(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "[runtime]\nnane = x\n", "my.ini:2: unknown key 'nane' in [runtime]; did you mean 'name'?" },
		{ "[runtime]\nzzzzzzzz = x\n", "my.ini:2: unknown key 'zzzzzzzz'" },
		{ "\n\nname = x\n", "my.ini:3: 'name = x' is outside any section" },
		{ "[runtime]\nname = x\n[probe]\n", "my.ini:3: unknown section '[probe]'" },
		{ "[runtime]\nname\n", "my.ini:2: 'name' is not of the form 'key = value'" },
		{ "[runtime]\nname =  # nothing\n", "my.ini:2: 'name' has no value" },
		{ "[runtime]\n= x\n", "my.ini:2: the key before '='" },
		{ "[runtime]\nname = x\nname = y\n", "my.ini:3: duplicate key 'name'" },
		{ "[runtime]\nmatch = *\n", "my.ini:2: the pattern '*' matches too many files" },
		{ "[runtime]\nmatch = a*b?\n", "my.ini:2: the pattern" },
		{ "[runtime]\nsymbol = a*b\n", "my.ini:2: 'a*b' is not a function name" },
		{ "[runtime]\nmatch = /usr/bin/x\n", "my.ini:2: '/usr/bin/x' contains a '/'" },
		{ "[runtime]\nkind = lib\n", "my.ini:2: unknown kind 'lib'" },
		{ "[runtime]\noffer = p:x:y\n", "my.ini:2: an offer has the form" },
		{ "[runtime]\nname = x\n", "my.ini:1: [runtime] has no match" },
		{ "", "my.ini:1: [runtime] has no name" },
		{ "[runtime]\nname = x\nmatch = xxx\n[probes]\na = \"%d, arg1\n",
		  "my.ini:5: the format of 'a' has no closing quote" },
		{ "[runtime]\nname = x\nmatch = xxx\n[probes]\na = \"%d\", arg1\n",
		  "my.ini:5: probe 'a' has no provider" },
		{ "[runtime]\nname = x\nmatch = xxx\n[probes]\n:a = arg1\n", "my.ini:5: ':a' is not a probe" },
	};
	struct runtimes r = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ut_err err = { 0 };

		assert_int_equal(parse(cases[i].text, &r, &err), -EINVAL);
		if (strncmp(err.msg, cases[i].says, strlen(cases[i].says)) != 0)
			fail_msg("'%s' is not '%s'", err.msg, cases[i].says);
		assert_int_equal(r.all.n, 0);
	}
	assert_int_equal(runtimes_parse("my.ini", "[runtime]\0\n", 11, &r, NULL), -EINVAL);
}

static void remove_folder(const char *config)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -r '%s'", config);
	assert_int_equal(system(command), 0);
}

static void the_users_files_add_and_override(void **state)
{
	char config[] = "/tmp/ut-test-XXXXXX", folder[128];
	struct runtimes r = { 0 };
	struct ut_err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(config));
	snprintf(folder, sizeof(folder), "%s/usertrace", config);
	assert_return_code(mkdir(folder, 0700), errno);
	snprintf(folder, sizeof(folder), "%s/usertrace/runtimes", config);
	assert_return_code(mkdir(folder, 0700), errno);
	write_file(folder, "mine.ini", "[runtime]\nname = Toy\nmatch = toylisp\n");
	write_file(folder, "py.ini",
		   "[runtime]\nname = CPython\nmatch = mypython\n"
		   "[span request]\nbegin = u:my:a\nend = u:my:b\n");
	write_file(folder, "tie.ini", "[runtime]\nname = Mine\nmatch = ruby3.1\n");
	write_file(folder, "notes.txt", "not for us");
	setenv("XDG_CONFIG_HOME", config, 1);
	assert_int_equal(runtimes_load(&r, &err), 0);
	assert_int_equal(r.all.n, known.all.n + 2);
	assert_string_equal(runtime_of_file(&r, "toylisp")->name, "Toy");
	assert_string_equal(runtime_of_file(&r, "mypython")->name, "CPython");
	assert_int_equal(runtime_of_file(&r, "mypython")->span.n, 1);
	assert_string_equal(runtime_of_file(&r, "mypython")->span.v[0].kind, "request");
	assert_non_null(strstr(runtime_of_file(&r, "mypython")->origin, "/usertrace/runtimes/py.ini"));
	assert_string_equal(runtime_of_file(&r, "ruby3.1")->name, "Mine"); /* "ruby?.?" is as long */
	assert_null(runtime_of_file(&r, "python3.11"));
	runtimes_done(&r);

	write_file(folder, "zz.ini", "[runtime]\nname = Bad\nfoo = 1\n");
	assert_int_equal(runtimes_load(&r, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "/usertrace/runtimes/zz.ini:3: unknown key 'foo'"));
	assert_int_equal(r.all.n, 0);
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	remove_folder(config);
}

struct told {
	size_t n;
	char last[200];
};

static void tell(void *ctx, const struct ut_err *err)
{
	struct told *t = ctx;

	t->n++;
	snprintf(t->last, sizeof(t->last), "%.199s", err->msg);
}

static void broken_files_can_be_passed_over(void **state)
{
	char config[] = "/tmp/ut-test-XXXXXX", folder[160];
	struct runtimes r = { 0 };
	struct told told = { 0 };
	struct ut_err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(config));
	snprintf(folder, sizeof(folder), "mkdir -p %s/usertrace/runtimes", config);
	assert_int_equal(system(folder), 0);
	snprintf(folder, sizeof(folder), "%s/usertrace/runtimes", config);
	write_file(folder, "a.ini", "[runtime]\n");
	write_file(folder, "b.ini", "[runtime]\nname = Toy\nmatch = toylisp\n");
	write_file(folder, "c.ini", "[runtime]\nname = CPython\nmatch = aaa\n[span gc]\n");
	setenv("XDG_CONFIG_HOME", config, 1);
	assert_int_equal(runtimes_load_good(&r, tell, &told, &err), 0);
	assert_int_equal(told.n, 2);
	assert_non_null(strstr(told.last, "/c.ini:4: [span gc] has no begin"));
	assert_int_equal(r.all.n, known.all.n + 1);
	assert_string_equal(runtime_of_file(&r, "toylisp")->name, "Toy");
	assert_string_equal(runtime_of_file(&r, "python3.11")->origin,
			    "cpython.ini"); /* the broken one replaces nothing */
	runtimes_done(&r);
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	remove_folder(config);
}

/* A FIFO of that name must not hang the program. */
static void odd_files_are_refused(void **state)
{
	char config[] = "/tmp/ut-test-XXXXXX", path[160];
	struct runtimes r = { 0 };
	struct ut_err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(config));
	snprintf(path, sizeof(path), "mkdir -p %s/usertrace/runtimes", config);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/usertrace/runtimes/fifo.ini", config);
	assert_return_code(mkfifo(path, 0600), errno);
	setenv("XDG_CONFIG_HOME", config, 1);
	assert_int_equal(runtimes_load(&r, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "is not a regular file"));
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	remove_folder(config);
}

UNIT_TESTS(runtime)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_builtin_file_parses),
		cmocka_unit_test(formats_have_as_many_arguments_as_conversions),
		cmocka_unit_test(formats_and_offers_are_probe_language),
		cmocka_unit_test(probes_of_spans_are_probe_language),
		cmocka_unit_test(formats_fit_the_notes_of_installed_runtimes),
		cmocka_unit_test(recognises_files),
		cmocka_unit_test(claims_nothing_else),
		cmocka_unit_test(knows_default_formats),
		cmocka_unit_test(a_process_has_the_runtime_of_its_program),
		cmocka_unit_test(finds_the_runtime_of_another_process),
		cmocka_unit_test(reads_a_whole_file),
		cmocka_unit_test(a_file_of_the_same_name_replaces),
		cmocka_unit_test(the_longest_pattern_wins),
		cmocka_unit_test(a_program_is_known_by_its_functions),
		cmocka_unit_test(mistakes_are_told_with_file_and_line),
		cmocka_unit_test(the_users_files_add_and_override),
		cmocka_unit_test(how_code_gets_names_depends_on_the_version),
		cmocka_unit_test(broken_files_can_be_passed_over),
		cmocka_unit_test(odd_files_are_refused),
	};

	return unit_run(tests, load_known, free_known);
}
