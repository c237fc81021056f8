/* SPDX-License-Identifier: MIT */
/* The options that build systems pass to dtrace(1) and SystemTap's dtrace: used, ignored, or rejected with a reason. */
#include "cli/dtrace_options.h"

#include <string.h>

#include "base/auto.h"
#include "base/text.h"

#define MEMBER(m) offsetof(struct dtrace_options, m)

/* OPT_FLAG options are set through this table; those with a value by their letter, in store_value. */
const struct ut_opt dtrace_option_table[DTRACE_OPTIONS] = {
	{ 'h', NULL, NULL, "write the C header: a macro for each probe, and one to test whether it is traced", OPT_FLAG,
	  MEMBER(header) },
	{ 'G', NULL, NULL,
	  "write the object file with the semaphores, to link into the program; object files on the command line are "
	  "not changed",
	  OPT_FLAG, MEMBER(object) },
	{ 's', NULL, "FILE", "the provider file; - is standard input; can be repeated", OPT_STRING, 0 },
	{ 'o', NULL, "FILE", "write to FILE instead of NAME.h or NAME.o in the current directory; - is standard output",
	  OPT_STRING, 0 },
	{ 'C', NULL, NULL, "run the C preprocessor first: $CPP, or $CC -E, or cpp", OPT_FLAG, MEMBER(preprocess) },
	{ 'I', NULL, "DIR", "option for the preprocessor, as are -D, -U and -include FILE", OPT_STRING, 0 },
	{ 'D', NULL, "NAME[=VALUE]", "option for the preprocessor", OPT_STRING, 0 },
	{ 'U', NULL, "NAME", "option for the preprocessor", OPT_STRING, 0 },
	{ 'm', "machine", "MACHINE", "x86_64 or aarch64, for -G (default: the target of $CC, or this machine)",
	  OPT_STRING, 0 },
	{ 0, "no-copy", NULL, "use #include <usertrace.h> in the header instead of a copy", OPT_FLAG, MEMBER(no_copy) },
	{ 'v', "verbose", NULL, "report what was found and written", OPT_FLAG, MEMBER(verbose) },
	{ 'V', "version", NULL, "print the version", OPT_FLAG, MEMBER(version) },
};

/* Options without effect on a header or an object, without and with a value. */
#define IGNORED "kqwZeH"
#define IGNORED_WITH_VALUE "xXL"
static const char *const ignored_words[] = { "-64", "-fpic", "-fPIC", "-fpie", "-fPIE", "--types", "--no-pyparsing" };
/* Options with which dtrace(1) traces. */
#define TRACING "aAbBcEfFilnpPS"

struct parser {
	const struct ut_cmd *cmd;
	struct dtrace_options *opts;
	char **argv;
	int argc, next;
};

static int no_memory(const struct parser *p) { return cli_fail(p->cmd, EXIT_FAILED, "out of memory"); }

/* The value of an option: attached to it, or the next word. */
static int read_value(struct parser *p, const char *option, const char *attached, const char **ret)
{
	*ret = *attached ? attached : p->next < p->argc ? p->argv[p->next++] : "";
	if (**ret)
		return 0;
	return usage_error(p->cmd, "option %s requires a value", option);
}

/* -I DIR for the preprocessor: as two words, which all preprocessors accept. */
static int add_preprocessor(struct parser *p, const char *option, const char *value)
{
	if (vec_push(&p->opts->preprocessor, option) || vec_push(&p->opts->preprocessor, value))
		return no_memory(p);
	return 0;
}

static int store_value(struct parser *p, char letter, const char *value)
{
	switch (letter) {
	case 's': return vec_push(&p->opts->sources, value) ? no_memory(p) : 0;
	case 'o': p->opts->output = value; return 0;
	case 'm': p->opts->machine = value; return 0;
	case 'I': return add_preprocessor(p, "-I", value);
	case 'D': return add_preprocessor(p, "-D", value);
	case 'U': return add_preprocessor(p, "-U", value);
	default: return 0;
	}
}

static const struct ut_opt *find_letter(char letter)
{
	for (size_t i = 0; i < DTRACE_OPTIONS; i++)
		if (dtrace_option_table[i].short_name == letter)
			return &dtrace_option_table[i];
	return NULL;
}

static int reject_letter(struct parser *p, char letter, const char *word)
{
	if (strchr(TRACING, letter))
		return usage_error(p->cmd,
				   "-%c is for tracing, but only the options of dtrace(1) for building, -h and -G, are "
				   "supported; 'usertrace %s' %s",
				   letter, letter == 'l' ? "list" : "trace", letter == 'l' ? "lists probes" : "traces");
	return usage_error(p->cmd, "unknown option -%c (in '%s'); 'usertrace help dtrace' lists the options",
			   letter > 0x20 && letter < 0x7f ? letter : '?', word);
}

/* One letter of a word such as -Cs. Advances *@ret_rest past it, or past its value to the end. */
static int parse_letter(struct parser *p, const char *word, const char **ret_rest)
{
	const char *at = *ret_rest, *value = NULL;
	const struct ut_opt *opt = find_letter(*at);
	char option[3] = { '-', *at, 0 };
	int status;

	*ret_rest = at + 1;
	if (opt && opt->type == OPT_FLAG) {
		*(bool *)((char *)p->opts + opt->offset) = true;
		return 0;
	}
	if (!opt && strchr(IGNORED, *at))
		return 0;
	if (!opt && !strchr(IGNORED_WITH_VALUE, *at))
		return reject_letter(p, *at, word);
	status = read_value(p, option, at + 1, &value);
	*ret_rest = "";
	return status ? status : store_value(p, *at, value);
}

static int reject_long(struct parser *p, const char *name)
{
	static const char *const known[] = { "machine", "no-copy", "verbose", "version", "help" };
	size_t near[1];

	if (suggest(name, known, ARRAY_SIZE(known), near, 1))
		return usage_error(p->cmd, "unknown option --%s; did you mean --%s?", name, known[near[0]]);
	return usage_error(p->cmd, "unknown option --%s; 'usertrace help dtrace' lists the options", name);
}

static int parse_long_word(struct parser *p, const char *name)
{
	if (!strcmp(name, "help")) {
		p->opts->help = true;
		return 0;
	}
	if (!strcmp(name, "machine"))
		return read_value(p, "--machine", "", &p->opts->machine);
	if (!strncmp(name, "machine=", 8)) {
		p->opts->machine = name + 8;
		return name[8] ? 0 : usage_error(p->cmd, "option --machine requires a value");
	}
	for (size_t i = 0; i < DTRACE_OPTIONS; i++) {
		const struct ut_opt *opt = &dtrace_option_table[i];

		if (opt->type == OPT_FLAG && opt->long_name && !strcmp(opt->long_name, name)) {
			*(bool *)((char *)p->opts + opt->offset) = true;
			return 0;
		}
	}
	return reject_long(p, name);
}

static bool is_ignored_word(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(ignored_words); i++)
		if (!strcmp(word, ignored_words[i]))
			return true;
	return false;
}

static int parse_dtrace_word(struct parser *p)
{
	const char *word = p->argv[p->next++], *value = NULL;
	int status = 0;

	if (word[0] != '-' || !word[1])
		return vec_push(&p->opts->operands, word) ? no_memory(p) : 0;
	if (is_ignored_word(word))
		return 0;
	if (!strcmp(word, "-32")) {
		p->opts->bits32 = true;
		return 0;
	}
	if (!strcmp(word, "-include")) {
		status = read_value(p, word, "", &value);
		return status ? status : add_preprocessor(p, word, value);
	}
	if (word[1] == '-')
		return parse_long_word(p, word + 2);
	for (const char *rest = word + 1; !status && *rest;)
		status = parse_letter(p, word, &rest);
	return status;
}

int dtrace_options_parse(const struct ut_cmd *cmd, int argc, char **argv, struct dtrace_options *opts)
{
	struct parser p = { .cmd = cmd, .opts = opts, .argv = argv, .argc = argc, .next = 1 };
	int status = 0;

	while (!status && p.next < argc)
		status = parse_dtrace_word(&p);
	return status;
}

void dtrace_options_done(struct dtrace_options *opts)
{
	vec_done(&opts->sources);
	vec_done(&opts->preprocessor);
	vec_done(&opts->operands);
}
