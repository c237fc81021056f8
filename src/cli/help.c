/* SPDX-License-Identifier: MIT */
/* The help of one command from its tables, wrapped for 100 columns, and the messages on standard error. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 100
#define HELP_COLUMN 27 /* where the explanations of options begin */

/* Columns of UTF-8 text without wide characters: continuation bytes take none. */
static size_t columns(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

/* Appends @text word by word from column @at on; further lines begin at @indent. */
static void add_wrapped(struct buf *out, const char *text, size_t at, size_t indent)
{
	size_t column = at;

	while (*text) {
		size_t len = strcspn(text, " "), width = columns(text, len);

		if (column > indent && column + 1 + width > COLUMNS) {
			buf_addc(out, '\n');
			buf_fill(out, ' ', indent);
			column = indent;
		} else if (column > indent) {
			buf_addc(out, ' ');
			column++;
		}
		buf_add(out, text, len);
		column += width;
		text += len;
		text += strspn(text, " ");
	}
	buf_addc(out, '\n');
}

static void add_option(struct buf *out, const struct ut_opt *opt)
{
	size_t start = out->len, width;

	if (opt->short_name)
		buf_addf(out, "  -%c%s", opt->short_name, opt->long_name ? ", " : "");
	else
		buf_adds(out, "      ");
	if (opt->long_name)
		buf_addf(out, "--%s", opt->long_name);
	if (opt->value)
		buf_addf(out, "%s%s", opt->long_name ? "=" : " ", opt->value);
	width = out->data ? columns(out->data + start, out->len - start) : 0;
	if (width + 2 > HELP_COLUMN) {
		buf_addc(out, '\n');
		width = 0;
	}
	buf_fill(out, ' ', HELP_COLUMN - width);
	add_wrapped(out, opt->help, HELP_COLUMN, HELP_COLUMN);
}

void cli_help_text(const struct ut_cmd *cmd, struct buf *out)
{
	struct ut_opt help = { 'h', "help", NULL, "print this help", OPT_FLAG, 0 };
	size_t indent;

	buf_addf(out, "usage: usertrace %s", cmd->name);
	indent = out->len + 1;
	if (cmd->usage && *cmd->usage) {
		buf_addc(out, ' ');
		add_wrapped(out, cmd->usage, indent, indent);
	} else {
		buf_addc(out, '\n');
	}
	buf_addc(out, '\n');
	add_wrapped(out, cmd->summary, 0, 0);
	buf_adds(out, "\noptions:\n");
	for (size_t i = 0; i < cmd->noptions; i++) {
		add_option(out, &cmd->options[i]);
		if (cmd->options[i].short_name == 'h')
			help.short_name = 0; /* -h is an option of this command */
	}
	add_option(out, &help);
	if (cmd->details)
		buf_addf(out, "\n%s%s", cmd->details, cmd->details[strlen(cmd->details) - 1] == '\n' ? "" : "\n");
}

void cli_help(const struct ut_cmd *cmd, bool to_stderr)
{
	struct buf out = { 0 };

	cli_help_text(cmd, &out);
	if (out.data)
		fputs(out.data, to_stderr ? stderr : stdout);
	buf_done(&out);
}

void cli_print_sentence(const char *sentence)
{
	struct buf out = { 0 };

	for (const char *p = sentence; *p;) {
		size_t plain = strcspn(p, "\n\t\\");

		buf_add_escaped(&out, p, plain);
		p += plain;
		if (*p)
			buf_addc(&out, *p++);
	}
	buf_addc(&out, '\n');
	if (out.data)
		fputs(out.data, stderr);
	buf_done(&out);
}

static void print_sentence(const struct ut_cmd *cmd, const char *sentence)
{
	if (cmd)
		fprintf(stderr, "usertrace %s: ", cmd->name);
	else
		fputs("usertrace: ", stderr);
	cli_print_sentence(sentence);
}

int cli_fail(const struct ut_cmd *cmd, int status, const char *fmt, ...)
{
	char sentence[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	print_sentence(cmd, sentence);
	return status;
}

int cli_fail_err(const struct ut_cmd *cmd, const struct ut_err *err)
{
	print_sentence(cmd, err->msg[0] ? err->msg : strerror(err->code < 0 ? -err->code : EIO));
	return err->code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

int cli_exclusive(const struct ut_cmd *cmd, const char *a, const char *b)
{
	return usage_error(cmd, "%s and %s are mutually exclusive", a, b);
}
