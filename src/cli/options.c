/* SPDX-License-Identifier: MIT */
/* The options of every command: reads argv by the command's table into the command's own struct. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/text.h"
#include "base/vec.h"

#define PID_LIMIT (1u << 22) /* the kernel's largest pid_max on 64-bit machines */

struct parser {
	const struct ut_cmd *cmd;
	void *opts;
	char **argv;
	int argc, next, operands;
	bool help;
};

void pid_list_done(struct pid_list *pids) { vec_done(pids); }

static int bad_value(struct parser *p, const char *option, const char *value, const char *wanted)
{
	return usage_error(p->cmd, "'%s' is not %s (option %s)", value, wanted, option);
}

static int store_pids(struct parser *p, const char *option, const char *value, struct pid_list *pids)
{
	AUTO_FREE char *copy = strdup(value);
	char *rest = copy, *word;
	uint64_t pid;

	while (rest && (word = strsep(&rest, ","))) {
		if (parse_u64(word, &pid) || !pid || pid > PID_LIMIT)
			return bad_value(p, option, word, "a process id");
		if (vec_push(pids, (int)pid))
			return cli_fail(p->cmd, EXIT_FAILED, "out of memory");
	}
	return copy ? 0 : cli_fail(p->cmd, EXIT_FAILED, "out of memory");
}

/* 0, or the exit status after an error message. @value is NULL for flags only. */
static int store_option(struct parser *p, const struct ut_opt *opt, const char *option, char *value)
{
	void *member = (char *)p->opts + opt->offset;

	switch (opt->type) {
	case OPT_FLAG:
	case OPT_NOFLAG: *(bool *)member = opt->type == OPT_FLAG; return 0;
	case OPT_STRING:
	case OPT_TEXT: *(const char **)member = value; return 0;
	case OPT_U64: return parse_u64(value, member) ? bad_value(p, option, value, "an integer") : 0;
	case OPT_SIZE:
		return parse_size(value, member) ? bad_value(p, option, value, "a size such as 4096, 64K or 8M") : 0;
	case OPT_SECONDS:
		return parse_duration(value, member) ? bad_value(p, option, value, "a time such as 3, 0.5, 250ms or 2m")
						     : 0;
	case OPT_PIDS: return store_pids(p, option, value, member);
	case OPT_STRINGS:
		return vec_push((struct string_list *)member, value) ? cli_fail(p->cmd, EXIT_FAILED, "out of memory")
								     : 0;
	}
	return 0;
}

static bool takes_value(const struct ut_opt *opt) { return opt->type != OPT_FLAG && opt->type != OPT_NOFLAG; }

/* Stores the value of @opt: the attached one, or the next word. */
static int store_with_value(struct parser *p, const struct ut_opt *opt, const char *option, char *attached)
{
	char *value = attached;

	if (!value && p->next < p->argc && strcmp(p->argv[p->next], "--"))
		value = p->argv[p->next++];
	if (!value || (!*value && opt->type != OPT_TEXT))
		return usage_error(p->cmd, "option %s requires a value: %s", option, opt->value ? opt->value : "VALUE");
	return store_option(p, opt, option, value);
}

/* Offers the similar long options, as "; did you mean --a or --b?", or where to find all. */
static int unknown_long(struct parser *p, const char *name)
{
	AUTO(buf_done) struct buf hint = { 0 };
	VEC(const char *) names = { 0 };
	size_t near[3], n;

	for (size_t i = 0; i < p->cmd->noptions; i++)
		if (p->cmd->options[i].long_name && vec_push(&names, p->cmd->options[i].long_name))
			break;
	n = suggest(name, names.v, names.n, near, ARRAY_SIZE(near));
	for (size_t i = 0; i < n; i++)
		buf_addf(&hint, "%s--%s", i ? " or " : "; did you mean ", names.v[near[i]]);
	if (n)
		buf_adds(&hint, "?");
	else
		buf_addf(&hint, "; 'usertrace help %s' lists the options", p->cmd->name);
	vec_done(&names);
	return usage_error(p->cmd, "unknown option --%s%s", name, hint.data ? hint.data : "");
}

static const struct ut_opt *find_long(const struct ut_cmd *cmd, const char *name)
{
	for (size_t i = 0; i < cmd->noptions; i++)
		if (cmd->options[i].long_name && !strcmp(cmd->options[i].long_name, name))
			return &cmd->options[i];
	return NULL;
}

static const struct ut_opt *find_short(const struct ut_cmd *cmd, char c)
{
	for (size_t i = 0; i < cmd->noptions; i++)
		if (c && cmd->options[i].short_name == c)
			return &cmd->options[i];
	return NULL;
}

static int parse_long(struct parser *p, char *word)
{
	char *value = strchr(word, '=');
	AUTO_FREE char *name = value ? strndup(word, (size_t)(value - word)) : strdup(word);
	AUTO_FREE char *option = NULL;
	const struct ut_opt *opt;

	if (!name || asprintf(&option, "--%s", name) < 0) {
		option = NULL;
		return cli_fail(p->cmd, EXIT_FAILED, "out of memory");
	}
	opt = find_long(p->cmd, name);
	if (!opt && !strcmp(name, "help") && !value)
		return p->help = true, 0;
	if (!opt)
		return unknown_long(p, name);
	if (takes_value(opt))
		return store_with_value(p, opt, option, value ? value + 1 : NULL);
	if (value)
		return usage_error(p->cmd, "option %s takes no value", option);
	return store_option(p, opt, option, NULL);
}

/* A word such as -Tp12: flags in one word, the last of which may take the rest as its value. */
static int parse_short(struct parser *p, char *letters)
{
	for (char *c = letters; *c; c++) {
		const struct ut_opt *opt = find_short(p->cmd, *c);
		char option[3] = { '-', *c, 0 };
		int status;

		if (!opt && *c == 'h') {
			p->help = true;
			continue;
		}
		if (!opt)
			return usage_error(p->cmd,
					   "unknown option -%c (in '-%s'); 'usertrace help %s' lists the options",
					   (unsigned char)*c < 0x80 && *c > 0x20 ? *c : '?', letters, p->cmd->name);
		if (takes_value(opt))
			return store_with_value(p, opt, option, c[1] ? c + 1 : NULL);
		status = store_option(p, opt, option, NULL);
		if (status)
			return status;
	}
	return 0;
}

/* Parses one word of argv; 0, or the exit status after an error message. */
static int parse_word(struct parser *p)
{
	char *word = p->argv[p->next++];

	if (word[0] == '-' && word[1] == '-')
		return parse_long(p, word + 2);
	if (word[0] == '-' && word[1] && !(p->cmd->numbers && is_digit(word[1])))
		return parse_short(p, word + 1);
	p->argv[p->operands++] = word;
	return 0;
}

int cli_parse(const struct ut_cmd *cmd, int argc, char **argv, void *opts, int *ret_operands, char ***ret_command,
	      bool *ret_done)
{
	struct parser p = { .cmd = cmd, .opts = opts, .argv = argv, .argc = argc, .next = 1 };
	char **command = NULL;

	*ret_done = true;
	while (p.next < argc && !p.help) {
		int status;

		if (!strcmp(argv[p.next], "--")) {
			command = argv + p.next + 1;
			break;
		}
		status = parse_word(&p);
		if (status)
			return status;
	}
	if (p.help) {
		cli_help(cmd, false);
		return EXIT_OK;
	}
	if (command && !ret_command)
		return usage_error(cmd, "unexpected command after '--'");
	if (command && !*command)
		return usage_error(cmd, "missing command after '--'");
	*ret_operands = p.operands;
	if (ret_command)
		*ret_command = command;
	*ret_done = false;
	return EXIT_OK;
}
