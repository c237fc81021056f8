/* SPDX-License-Identifier: MIT */
/* The entry point: selects the command, which has a file of its own. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/json_schema.h"

const struct ut_cmd *const ut_commands[] = {
	&cmd_list,   &cmd_trace, &cmd_gc,   &cmd_top,	 &cmd_profile, &cmd_flame,
	&cmd_report, &cmd_map,	 &cmd_emit, &cmd_dtrace, &cmd_doctor,  NULL,
};

static const struct ut_cmd *find_command(const char *name)
{
	for (size_t i = 0; ut_commands[i]; i++)
		if (!strcmp(ut_commands[i]->name, name))
			return ut_commands[i];
	return NULL;
}

static void print_overview(FILE *to)
{
	fputs("usage: usertrace COMMAND [OPTION…]\n\nTrace and profile language runtimes and the programs they "
	      "run.\n\n",
	      to);
	for (size_t i = 0; ut_commands[i]; i++)
		fprintf(to, "  %-9s %s\n", ut_commands[i]->name, ut_commands[i]->summary);
	fputs("\nSee 'usertrace help COMMAND' for a command, and 'man usertrace' for the manual.\n", to);
}

static int unknown_command(const char *name)
{
	const char *names[ARRAY_SIZE(ut_commands)] = { 0 };
	size_t n = 0, near[1];

	while (ut_commands[n]) {
		names[n] = ut_commands[n]->name;
		n++;
	}
	if (suggest(name, names, n, near, 1))
		return usage_error(NULL, "unknown command '%s'; did you mean '%s'?", name, names[near[0]]);
	return usage_error(NULL, "unknown command '%s'; 'usertrace help' lists the commands", name);
}

/* One line per command and per option, separated by tabs: the manual is checked against it. */
static int print_listing(void)
{
	for (size_t i = 0; ut_commands[i]; i++) {
		const struct ut_cmd *cmd = ut_commands[i];

		printf("%s\n", cmd->name);
		for (size_t k = 0; k < cmd->noptions; k++) {
			const struct ut_opt *opt = &cmd->options[k];
			char letter[3] = { '-', opt->short_name, 0 };

			printf("%s\t%s\t%s%s\t%s\n", cmd->name, opt->short_name ? letter : "",
			       opt->long_name ? "--" : "", opt->long_name ? opt->long_name : "",
			       opt->value ? opt->value : "");
		}
	}
	return EXIT_OK;
}

static int print_help(int argc, char **argv)
{
	const struct ut_cmd *cmd;

	if (argc < 2) {
		print_overview(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--listing"))
		return print_listing();
	cmd = find_command(argv[1]);
	if (!cmd)
		return unknown_command(argv[1]);
	cli_help(cmd, false);
	return EXIT_OK;
}

/* A closed standard stream stays unusable: no other file may get its descriptor and be written to. */
static void reserve_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			return;
}

/* Builds call `dtrace`, which may be a link to this program. */
static bool is_called_dtrace(const char *path)
{
	const char *name = path ? path_base(path) : NULL;

	return name && (!strcmp(name, "dtrace") || !strcmp(name, "usertrace-dtrace"));
}

int main(int argc, char **argv)
{
	const struct ut_cmd *cmd;

	reserve_standard_fds();
	if (is_called_dtrace(argv[0]))
		return cmd_dtrace.run(&cmd_dtrace, argc, argv);
	if (argc < 2) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("usertrace %s\n", ut_version);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return print_help(argc - 1, argv + 1);
	if (!strcmp(argv[1], "--json-schema"))
		return json_schema_print(argc - 1, argv + 1);
	if (argv[1][0] == '-')
		return usage_error(NULL, "unknown option '%s' before the command; see 'usertrace help'", argv[1]);
	cmd = find_command(argv[1]);
	return cmd ? cmd->run(cmd, argc - 1, argv + 1) : unknown_command(argv[1]);
}
