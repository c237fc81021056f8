/* SPDX-License-Identifier: MIT */
/* `usertrace emit`: one user event from a shell script, by prctl. Needs no privileges. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/commands.h"
#include "usertrace.h"

struct opts {
	const char *id, *text;
	bool own;
};

static const struct ut_opt options[] = {
	{ 0, "id", "N", "set the id of the event: spans with an id may overlap and cross threads", OPT_STRING,
	  offsetof(struct opts, id) },
	{ 0, "text", "TEXT", "attach a string to the event (mutually exclusive with --id)", OPT_TEXT,
	  offsetof(struct opts, text) },
	{ 0, "own", NULL, "attribute the event to this command instead of its parent process", OPT_FLAG,
	  offsetof(struct opts, own) },
};

/* The arguments of the system call. */
struct event {
	unsigned what;
	const char *name;
	int64_t value;
	unsigned long extra; /* the id, or the address of the text */
};

static const char *const kinds[] = { "begin", "end", "mark", "count" };
static const unsigned kind_numbers[] = { UT_BEGIN, UT_END, UT_MARK, UT_COUNT };

/* The index of a kind, or -1. */
static int kind_index(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i], word))
			return (int)i;
	return -1;
}

static int unknown_kind(const struct ut_cmd *cmd, int n, char **words)
{
	size_t near[1];

	if (n > 1 && kind_index(words[1]) >= 0)
		return usage_error(cmd, "the kind comes first: usertrace emit %s %s", words[1], words[0]);
	if (suggest(words[0], kinds, ARRAY_SIZE(kinds), near, 1))
		return usage_error(cmd, "unknown kind of event '%s'; did you mean '%s'?", words[0], kinds[near[0]]);
	return usage_error(cmd, "unknown kind of event '%s'; valid kinds: begin, end, mark and count", words[0]);
}

/* A whole number with a sign, in decimal or 0x hexadecimal; 0, -EINVAL or -ERANGE. */
static int parse_value(const char *word, int64_t *ret)
{
	bool negative = *word == '-';
	uint64_t size;
	int r = parse_u64(word + (negative || *word == '+'), &size);

	if (r)
		return r;
	if (size > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret = negative ? (int64_t)-size : (int64_t)size;
	return 0;
}

static int parse_event_words(const struct ut_cmd *cmd, int n, char **words, struct event *ret)
{
	int kind, r;

	if (!n)
		return usage_error(cmd,
				   "a kind and a name are required: usertrace emit begin|end|mark|count NAME [VALUE]");
	kind = kind_index(words[0]);
	if (kind < 0)
		return unknown_kind(cmd, n, words);
	if (n < 2 || !*words[1])
		return usage_error(cmd, "a name is required: usertrace emit %s NAME%s", words[0],
				   kind_numbers[kind] == UT_COUNT ? " VALUE" : "");
	if (n < 3 && kind_numbers[kind] == UT_COUNT)
		return usage_error(cmd, "the value of the counter is required: usertrace emit count %s VALUE",
				   words[1]);
	if (n > 3)
		return usage_error(cmd, "unexpected argument '%s'; quote names and strings that contain spaces",
				   words[3]);
	ret->what = kind_numbers[kind];
	ret->name = words[1];
	r = n == 3 ? parse_value(words[2], &ret->value) : 0;
	if (r)
		return usage_error(cmd,
				   r == -ERANGE ? "the value '%s' exceeds 64 bits" : "the value '%s' is not an integer",
				   words[2]);
	return EXIT_OK;
}

static int parse_event_options(const struct ut_cmd *cmd, const struct opts *opts, struct event *ret)
{
	uint64_t id;

	if (opts->id && opts->text)
		return usage_error(cmd, "--id and --text are mutually exclusive: the system call has room for one");
	if (opts->id && parse_u64(opts->id, &id))
		return usage_error(cmd, "the id '%s' is not a 64-bit integer", opts->id);
	if (opts->id) {
		ret->what |= UT_ID;
		ret->extra = id;
	} else if (opts->text) {
		ret->what |= UT_TEXT;
		ret->extra = (unsigned long)opts->text;
	}
	if (!opts->own)
		ret->what |= UT_PARENT;
	return EXIT_OK;
}

/* A truncated name would be another name, and its begin would not match its end. */
static int check_lengths(const struct ut_cmd *cmd, const struct event *e, const char *text)
{
	if (strlen(e->name) > UT_NAME_MAX)
		return usage_error(cmd, "the name is too long (%zu bytes); the limit is %d", strlen(e->name),
				   UT_NAME_MAX);
	if (text && strlen(text) > UT_TEXT_MAX)
		return usage_error(cmd, "the string is too long (%zu bytes); the limit is %d", strlen(text),
				   UT_TEXT_MAX);
	return EXIT_OK;
}

static int run_emit(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct opts opts = { 0 };
	struct event event = { 0 };
	char **more = NULL;
	int n, status;
	bool done;

	status = cli_parse(cmd, argc, argv, &opts, &n, &more, &done);
	if (done)
		return status;
	while (more && *more) /* after "--": names that begin with a dash */
		argv[n++] = *more++;
	status = parse_event_words(cmd, n, argv, &event);
	if (!status)
		status = parse_event_options(cmd, &opts, &event);
	if (!status)
		status = check_lengths(cmd, &event, opts.text);
	if (status)
		return status;
	/* the kernel knows no such option: it returns EINVAL whether or not the event is traced */
	if (!prctl(PR_USER_TRACE, (unsigned long)event.what, event.name, (unsigned long)event.value, event.extra) ||
	    errno == EINVAL)
		return EXIT_OK;
	return cli_fail(cmd, EXIT_FAILED, "the event cannot be traced: a seccomp filter rejects prctl (%s)",
			strerror(errno));
}

const struct ut_cmd cmd_emit = {
	.name = "emit",
	.usage = "begin|end|mark|count NAME [VALUE] [--id=N | --text=TEXT] [--own]",
	.summary = "emit a user event from a shell script",
	.details =
		"The event is attributed to the parent process, so that a begin and an end from two\n"
		"calls in a script make one span. Trace it with: usertrace trace e:NAME; with -p and the script's PID\n"
		"also use -f, since the command is a child of the script.\n\n"
		"  usertrace emit begin backup; tar cf backup.tar .; usertrace emit end backup\n"
		"  usertrace emit count queue 17\n"
		"  usertrace emit mark deployed --text \"$version\"\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.numbers = true,
	.run = run_emit,
};
