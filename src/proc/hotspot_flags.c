/* SPDX-License-Identifier: MIT */
/*
 * Which switches a HotSpot was started with, from its command line, environment and option files, in the machine's own
 * order: -XX:Flags=FILE, JAVA_TOOL_OPTIONS, the command line (the launcher puts JDK_JAVA_OPTIONS before it), and
 * _JAVA_OPTIONS; the last one counts. Nothing is asked of the machine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "proc/hotspot_priv.h"
#include "proc/identity.h"
#include "proc/procfs.h"

#define FILE_MAX (1u << 20)
#define FILE_MS 1000 /* for its file system to open a file */
#define FILES_MAX 32 /* option files in all, as they may name each other */

struct flags {
	pid_t pid;
	const char *name; /* "PreserveFramePointer" */
	int value; /* -1: not told */
	int files;
};

/* "-XX:+Name" and "-XX:-Name". */
static void parse_option(struct flags *f, const char *option)
{
	if (!strncmp(option, "-XX:", 4) && (option[4] == '+' || option[4] == '-') && !strcmp(option + 5, f->name))
		f->value = option[4] == '+';
}

/* A file that the process's options name, as the process sees it; relative names from its folder. */
static int read_its_file(pid_t pid, const char *path, struct buf *out)
{
	AUTO_CLOSE int fd = *path ? identity_open_file(pid, path, FILE_MS) : -ENOENT;

	return fd < 0 ? -ENOENT : fd_read_all(fd, FILE_MAX, out);
}

/* The next word of a text with quotes, cut out in place; NULL at the end. '#' begins a comment in files. */
static char *next_word(char **text, bool comments)
{
	char *p = *text, *word, *to, quote = 0;

	for (;;) {
		while (is_space(*p))
			p++;
		if (!comments || *p != '#')
			break;
		p += strcspn(p, "\n");
	}
	if (!*p)
		return NULL;
	for (word = to = p; *p && (quote || !is_space(*p)); p++) {
		if (quote ? *p == quote : *p == '"' || *p == '\'')
			quote = quote ? 0 : *p;
		else if (comments && quote && *p == '\\' && p[1])
			*to++ = *++p;
		else
			*to++ = *p;
	}
	*text = *p ? p + 1 : p;
	*to = '\0';
	return word;
}

static void parse_option_file(struct flags *f, const char *path, bool comments)
{
	AUTO_BUF struct buf text = { 0 };
	char *rest, *word;

	if (f->files++ >= FILES_MAX || read_its_file(f->pid, path, &text) || !text.data)
		return;
	rest = text.data;
	while ((word = next_word(&rest, comments)))
		parse_option(f, word);
}

/* "+Name" and "-Name", with or without -XX: before them. */
static void parse_settings_file(struct flags *f, const char *path)
{
	AUTO_BUF struct buf text = { 0 };
	char *rest, *word;

	if (f->files++ >= FILES_MAX || read_its_file(f->pid, path, &text) || !text.data)
		return;
	rest = text.data;
	while ((word = next_word(&rest, true))) {
		parse_option(f, word);
		if ((*word == '+' || *word == '-') && !strcmp(word + 1, f->name))
			f->value = *word == '+';
	}
}

/* Does the option have its value in the next word? */
static bool takes_word(const char *option)
{
	static const char *const with[] = { "-cp",
					    "-classpath",
					    "--class-path",
					    "-p",
					    "--module-path",
					    "--add-modules",
					    "--upgrade-module-path",
					    "--limit-modules",
					    "--add-exports",
					    "--add-opens",
					    "--add-reads",
					    "--patch-module",
					    "--enable-native-access",
					    "--source",
					    "-splash" };

	for (size_t i = 0; i < ARRAY_SIZE(with); i++)
		if (!strcmp(option, with[i]))
			return true;
	return false;
}

static bool ends_options(const char *word)
{
	return *word != '-' || !strcmp(word, "-jar") || !strcmp(word, "-m") || !strcmp(word, "--module") ||
	       !strncmp(word, "--module=", 9);
}

/* One word of the command line; true when what follows is the program's own. */
static bool parse_argument(struct flags *f, const char *word)
{
	if (*word == '@') {
		if (word[1] != '@')
			parse_option_file(f, word + 1, true);
		return false;
	}
	if (ends_options(word))
		return true;
	if (!strncmp(word, "-XX:VMOptionsFile=", 18))
		parse_option_file(f, word + 18, false);
	parse_option(f, word);
	return false;
}

static void parse_command_line(struct flags *f, const struct buf *cmdline)
{
	const char *p = cmdline->data, *end = p ? p + cmdline->len : NULL;
	bool value = false;

	for (bool first = true; p < end; p += strlen(p) + 1, first = false) {
		if (first)
			continue;
		if (!value && parse_argument(f, p))
			return;
		value = !value && takes_word(p);
	}
}

static void parse_settings(struct flags *f, const struct buf *cmdline)
{
	const char *p = cmdline->data, *end = p ? p + cmdline->len : NULL;

	for (; p < end; p += strlen(p) + 1)
		if (!strncmp(p, "-XX:Flags=", 10))
			parse_settings_file(f, p + 10);
}

/* A variable of its environment as it was at its start: words that are options. */
static void parse_variable(struct flags *f, const struct buf *environment, const char *name)
{
	const char *p = environment->data, *end = p ? p + environment->len : NULL;
	size_t len = strlen(name);
	AUTO_FREE char *copy = NULL;
	char *rest, *word;

	for (; p < end; p += strlen(p) + 1)
		if (!strncmp(p, name, len) && p[len] == '=') {
			copy = strdup(p + len + 1);
			break;
		}
	rest = copy;
	while (rest && (word = next_word(&rest, false)))
		if (*word == '@')
			parse_option_file(f, word + 1, true);
		else
			parse_option(f, word);
}

int hotspot_flags_from(const struct buf *cmdline, const struct buf *environment, pid_t pid, const char *name)
{
	struct flags f = { .pid = pid, .name = name, .value = -1 };

	parse_settings(&f, cmdline);
	parse_variable(&f, environment, "JAVA_TOOL_OPTIONS");
	parse_variable(&f, environment, "JDK_JAVA_OPTIONS");
	parse_command_line(&f, cmdline);
	parse_variable(&f, environment, "_JAVA_OPTIONS");
	return f.value;
}

int hotspot_flag(pid_t pid, const char *name)
{
	AUTO_BUF struct buf cmdline = { 0 }, environment = { 0 };
	int r = procfs_read(pid, "cmdline", &cmdline);

	if (!r)
		r = procfs_read(pid, "environ", &environment);
	if (r)
		return r;
	r = hotspot_flags_from(&cmdline, &environment, pid, name);
	return r < 0 ? 2 : r;
}

int hotspot_keeps_frame_pointers(pid_t pid)
{
	int r = hotspot_flag(pid, "PreserveFramePointer");

	return r == 2 ? 0 : r; /* no release has it on by default */
}
