/* SPDX-License-Identifier: MIT */
/* `usertrace dtrace`, also as `dtrace`: headers and objects from provider files, for build systems. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/dtrace_options.h"
#include "dtrace/files.h"
#include "dtrace/object.h"
#include "dtrace/provider.h"

/* Operands: a provider file where no -s names one, otherwise the object files that Solaris' dtrace -G wants to see. */
static int sort_sources(const struct ut_cmd *cmd, struct dtrace_options *opts)
{
	bool named = opts->sources.n > 0;

	for (size_t i = 0; i < opts->operands.n; i++) {
		const char *name = opts->operands.v[i];
		size_t len = strlen(name);
		bool is_source = (len > 2 && !strcmp(name + len - 2, ".d")) || !strcmp(name, "-");

		if (is_source && named)
			return usage_error(
				cmd, "'%s' is a provider file without -s; with several files each one needs -s", name);
		if (is_source && vec_push(&opts->sources, name))
			return cli_fail(cmd, EXIT_FAILED, "out of memory");
		if (!is_source && opts->header)
			return usage_error(cmd, "'%s': -h takes only provider files (-s FILE.d)", name);
	}
	return 0;
}

/* Checks options and operands before any file is read. */
static int check_dtrace_options(const struct ut_cmd *cmd, struct dtrace_options *opts)
{
	int status;

	if (opts->header && opts->object)
		return usage_error(cmd, "-h and -G are mutually exclusive; run the command once for each");
	if (!opts->header && !opts->object)
		return usage_error(
			cmd,
			"-h (write a header) or -G (write an object file) is required; see 'usertrace help dtrace'");
	status = sort_sources(cmd, opts);
	if (status)
		return status;
	if (!opts->sources.n)
		return usage_error(cmd, "a provider file is required: -s FILE.d");
	if (opts->object && opts->bits32)
		return usage_error(cmd, "-32: only 64-bit object files are supported");
	if (!opts->output && !strcmp(opts->sources.v[0], "-"))
		return usage_error(cmd, "the name of the output cannot be derived from standard input; use -o FILE");
	return 0;
}

static int choose_machine(const struct ut_cmd *cmd, const struct dtrace_options *opts, enum elf_machine *ret)
{
	struct ut_err err = { 0 };

	if (!opts->machine)
		return dtrace_target(ret, &err) ? cli_fail_err(cmd, &err) : 0;
	*ret = elf_machine_named(opts->machine, strlen(opts->machine));
	if (*ret == ELF_MACHINE_UNKNOWN)
		return usage_error(cmd, "-m: unknown machine '%s'; object files are supported for x86_64 and aarch64",
				   opts->machine);
	return 0;
}

static int read_sources(const struct ut_cmd *cmd, const struct dtrace_options *opts, struct dtrace_providers *ret)
{
	struct ut_err err = { 0 };
	int r = 0;

	for (size_t i = 0; !r && i < opts->sources.n; i++) {
		const char *path = opts->sources.v[i], *name = strcmp(path, "-") ? path : "<stdin>";
		struct buf text = { 0 };

		if (opts->preprocess)
			r = dtrace_preprocess(path, opts->preprocessor.v, opts->preprocessor.n, &text, &err);
		else
			r = dtrace_read(path, &text, &err);
		if (!r)
			r = dtrace_parse(name, text.data ? text.data : "", text.len, ret, &err);
		buf_done(&text);
	}
	if (r)
		return cli_fail_err(cmd, &err);
	if (!ret->nprobes)
		cli_fail(cmd, EXIT_OK, "'%s' declares no probes, so the output has none", opts->sources.v[0]);
	return 0;
}

/* dir/probes.d makes probes.h or probes.o in the current directory. */
static char *default_output(const struct dtrace_options *opts)
{
	const char *base = path_base(opts->sources.v[0]), *dot = strrchr(base, '.');
	size_t len = dot && dot > base ? (size_t)(dot - base) : strlen(base);
	char *ret;

	return asprintf(&ret, "%.*s.%c", (int)len, base, opts->header ? 'h' : 'o') < 0 ? NULL : ret;
}

/* The names of the sources without directories, so that the same sources make the same header anywhere. */
static char *source_names(const struct dtrace_options *opts)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < opts->sources.n; i++)
		buf_addf(&out, "%s%s", i ? ", " : "",
			 strcmp(opts->sources.v[i], "-") ? path_base(opts->sources.v[i]) : "standard input");
	return buf_take(&out);
}

/* Whether @output is one of the sources, also by another name or link. */
static bool is_source(const struct dtrace_options *opts, const char *output)
{
	struct stat a, b;

	for (size_t i = 0; i < opts->sources.n; i++)
		if (!stat(output, &a) && S_ISREG(a.st_mode) && !stat(opts->sources.v[i], &b) && a.st_dev == b.st_dev &&
		    a.st_ino == b.st_ino)
			return true;
	return false;
}

static int write_output(const struct ut_cmd *cmd, const struct dtrace_options *opts,
			const struct dtrace_providers *providers, enum elf_machine machine)
{
	AUTO_FREE char *made = opts->output ? NULL : default_output(opts);
	AUTO_FREE char *names = source_names(opts);
	const char *output = opts->output ? opts->output : made;
	struct ut_err err = { 0 };
	struct buf out = { 0 };
	int status;

	if (output && is_source(opts, output))
		return usage_error(cmd, "refusing to overwrite the provider file '%s'; use a different file with -o",
				   output);
	if (!output || (!opts->object && !names))
		status = ut_err_nomem(&err);
	else if (opts->object)
		status = dtrace_object(providers, machine, &out, &err);
	else
		status = dtrace_header(providers, names, opts->no_copy, &out, &err);
	if (!status)
		status = dtrace_write(output, out.data ? out.data : "", out.len, &err);
	buf_done(&out);
	if (status)
		return cli_fail_err(cmd, &err);
	if (opts->verbose)
		cli_fail(cmd, EXIT_OK, "%zu %s in %zu %s, written to '%s'", providers->nprobes,
			 plural(providers->nprobes, "probe"), providers->all.n, plural(providers->all.n, "provider"),
			 output);
	return EXIT_OK;
}

static int write_sources(const struct ut_cmd *cmd, struct dtrace_options *opts)
{
	enum elf_machine machine = ELF_MACHINE_UNKNOWN;
	struct dtrace_providers providers = { 0 };
	int status = check_dtrace_options(cmd, opts);

	if (!status && opts->object)
		status = choose_machine(cmd, opts, &machine);
	if (!status)
		status = read_sources(cmd, opts, &providers);
	if (!status)
		status = write_output(cmd, opts, &providers, machine);
	dtrace_providers_done(&providers);
	return status;
}

static int run_dtrace(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct dtrace_options opts = { 0 };
	int status = dtrace_options_parse(cmd, argc, argv, &opts);

	if (!status && opts.help)
		cli_help(cmd, false);
	else if (!status && opts.version)
		printf("usertrace dtrace %s\n", ut_version);
	else if (!status)
		status = write_sources(cmd, &opts);
	dtrace_options_done(&opts);
	return status;
}

const struct ut_cmd cmd_dtrace = {
	.name = "dtrace",
	.usage = "-h | -G [-C [-I DIR] [-D NAME[=VALUE]]] -s FILE.d [-o FILE] [OBJECT…]",
	.summary = "generate header and object file from a provider file, for builds that call dtrace",
	.details = "A provider file declares probes:\n"
		   "  provider myvm { probe gc__start(int generation); probe gc__done(); };\n\n"
		   "Examples:\n"
		   "  usertrace dtrace -h -s myvm.d          myvm.h with MYVM_GC_START(generation) and\n"
		   "                                         MYVM_GC_START_ENABLED()\n"
		   "  usertrace dtrace -G -s myvm.d          myvm.o with the semaphores\n"
		   "  make DTRACE=\"usertrace dtrace\"         instead of SystemTap's dtrace\n"
		   "  ln -s $(command -v usertrace) dtrace   also works under this name\n",
	.options = dtrace_option_table,
	.noptions = DTRACE_OPTIONS,
	.run = run_dtrace,
};
