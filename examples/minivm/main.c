// SPDX-License-Identifier: MIT
/* minivm: a small instrumented virtual machine. This file implements its command line. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "run.h"
#include "samples.h"

#define SOURCE_MAX (1 << 20)

enum option_id {
	OPT_HEAP = 256,
	OPT_NURSERY,
	OPT_GC,
	OPT_THREADS,
	OPT_SECONDS,
	OPT_ROUNDS,
	OPT_NO_JIT,
	OPT_JIT_THRESHOLD,
	OPT_JIT_MAP,
	OPT_JIT_DUMP,
	OPT_MOVE_CODE,
	OPT_LOG,
	OPT_CHECK_HEAP,
	OPT_QUIET,
	OPT_SELF_CHECK,
	OPT_HELP,
};

static const struct option long_options[] = {
	{ "heap", required_argument, NULL, OPT_HEAP },
	{ "nursery", required_argument, NULL, OPT_NURSERY },
	{ "gc", required_argument, NULL, OPT_GC },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "rounds", required_argument, NULL, OPT_ROUNDS },
	{ "no-jit", no_argument, NULL, OPT_NO_JIT },
	{ "jit-threshold", required_argument, NULL, OPT_JIT_THRESHOLD },
	{ "jit-map", no_argument, NULL, OPT_JIT_MAP },
	{ "jit-dump", no_argument, NULL, OPT_JIT_DUMP },
	{ "move-code", no_argument, NULL, OPT_MOVE_CODE },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "check-heap", no_argument, NULL, OPT_CHECK_HEAP },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "self-check", no_argument, NULL, OPT_SELF_CHECK },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

static const char usage[] =
	"usage: minivm [OPTION...] [PROGRAM [N]]\n"
	"\n"
	"Run a program, a file or one of those below, and emit events for tracers.\n"
	"\n"
	"  --gc NAME           garbage collector: mark-sweep or generational (default)\n"
	"  --heap SIZE         size of the heap in bytes, or with K, M or G (default 16M)\n"
	"  --nursery SIZE      size of the nursery (default 1M, or a quarter of a smaller heap)\n"
	"  --threads N         run the program on N threads (default 1)\n"
	"  --rounds N          run it N times on each thread (default 10)\n"
	"  --seconds N         run it repeatedly for N seconds instead\n"
	"  --no-jit            disable the JIT compiler\n"
	"  --jit-threshold N   compile a function after N calls and loop iterations (default 100)\n"
	"  --move-code         move compiled code at each collection, and free code that was not used\n"
	"  --jit-map           write a perf map, /tmp/perf-PID.map (or set UT_JIT=map)\n"
	"  --jit-dump          write a jitdump, /tmp/jit-PID.dump (or set UT_JIT=dump)\n"
	"  --log FILE          log all events with minivm's own clock\n"
	"  --check-heap        check every object after each collection\n"
	"  --quiet             print nothing but errors\n"
	"  --self-check        run all programs in all configurations and check the results\n"
	"\n"
	"Programs, and the meaning of N:\n";

struct command {
	struct run run;
	bool quiet, self_check, help, has_nursery, jit_map, jit_dump;
};

static int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the exit status for usage errors. */
static int complain(const char *format, ...)
{
	va_list args;

	fputs("minivm: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\n", stderr);
	return 2;
}

static void help(void)
{
	fputs(usage, stdout);
	for (size_t i = 0; i < sample_count; i++)
		printf("  %-18s  %s (default %lld)\n", samples[i].name, samples[i].what,
		       (long long)samples[i].argument);
}

static int parse_number(const char *option, const char *text, unsigned least, unsigned most, unsigned *ret)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || n < least || n > most)
		return complain("--%s: '%s' is not a number from %u to %u", option, text, least, most);
	*ret = (unsigned)n;
	return 0;
}

static int parse_size(const char *option, const char *text, size_t least, size_t *ret)
{
	static const size_t most = (size_t)2 << 30;
	const char *units = "KMG", *unit;
	unsigned long long n;
	size_t factor = 1;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit)
		factor = (size_t)1024 << 10 * (unit - units);
	if (errno || end == text || *text == '-' || (*end && (!unit || end[1])))
		return complain("--%s: '%s' is not a size such as 512K or 4M", option, text);
	if (n > most / factor || n * factor < least)
		return complain("--%s: %s must be between %zuK and 2G", option, text, least >> 10);
	*ret = (n * factor + AREA_BYTES - 1) / AREA_BYTES * AREA_BYTES;
	return 0;
}

static int parse_seconds(const char *text, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	if (*end || end == text || !isfinite(*ret) || *ret < 0 || *ret > 1e6)
		return complain("--seconds: '%s' is not a number of seconds", text);
	return 0;
}

static int parse_gc(const char *text, bool *generational)
{
	*generational = !strcmp(text, "generational");
	if (!*generational && strcmp(text, "mark-sweep"))
		return complain("--gc: '%s' must be mark-sweep or generational", text);
	return 0;
}

static int one_option(struct command *c, int id)
{
	struct options *opt = &c->run.opt;

	switch (id) {
	case OPT_HEAP: return parse_size("heap", optarg, 64 << 10, &opt->heap_bytes);
	case OPT_NURSERY: c->has_nursery = true; return parse_size("nursery", optarg, 16 << 10, &opt->nursery_bytes);
	case OPT_GC: return parse_gc(optarg, &opt->generational);
	case OPT_THREADS: return parse_number("threads", optarg, 1, THREADS_MAX / 2, &c->run.threads);
	case OPT_SECONDS: c->run.rounds = 0; return parse_seconds(optarg, &c->run.seconds);
	case OPT_ROUNDS: return parse_number("rounds", optarg, 1, 1000000000, &c->run.rounds);
	case OPT_NO_JIT: opt->jit = false; return 0;
	case OPT_JIT_THRESHOLD: return parse_number("jit-threshold", optarg, 0, 1000000000, &opt->jit_threshold);
	case OPT_JIT_MAP: c->jit_map = true; return 0;
	case OPT_JIT_DUMP: c->jit_dump = true; return 0;
	case OPT_MOVE_CODE: opt->move_code = true; return 0;
	case OPT_LOG: c->run.log = optarg; return 0;
	case OPT_CHECK_HEAP: opt->check_heap = true; return 0;
	case OPT_QUIET: c->quiet = true; return 0;
	case OPT_SELF_CHECK: c->self_check = true; return 0;
	case OPT_HELP: c->help = true; return 0;
	default: return 2;
	}
}

static int set_nursery_size(struct command *c)
{
	struct options *opt = &c->run.opt;
	size_t quarter = opt->heap_bytes / 4 / AREA_BYTES * AREA_BYTES;

	if (!c->has_nursery && opt->nursery_bytes > quarter)
		opt->nursery_bytes = quarter;
	if (opt->generational && opt->nursery_bytes > opt->heap_bytes / 2)
		return complain("--nursery: must be at most half of the heap (%zu bytes)", opt->heap_bytes);
	return 0;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, SOURCE_MAX + 1);
	size_t len = file && text ? fread(text, 1, SOURCE_MAX + 1, file) : 0;

	if (!file || !text || ferror(file)) {
		complain("cannot read the program '%s': %s", path, strerror(errno));
	} else if (len > SOURCE_MAX || strlen(text) != len) {
		complain("'%s' is not a program: it is longer than %d bytes or contains a NUL byte", path, SOURCE_MAX);
	} else {
		fclose(file);
		return text;
	}
	if (file)
		fclose(file);
	free(text);
	return NULL;
}

static int run_and_print(struct command *c)
{
	struct run *r = &c->run;
	char err[300];

	if (run(r, err, sizeof(err)))
		return complain("%s", err) - 1;
	if (!c->quiet)
		printf("%s %lld = %lld: %u rounds, %u threads, %u collections, %u compilations\n", r->name,
		       (long long)r->argument, (long long)r->result, r->done, r->threads, r->collections,
		       r->compilations);
	return 0;
}

static int run_sample(struct command *c, const struct sample *s)
{
	int64_t expected;

	if (c->run.argument > s->most)
		return complain("N: %lld exceeds the maximum of %lld for '%s'", (long long)c->run.argument,
				(long long)s->most, s->name);
	expected = s->expected(c->run.argument);
	c->run.source = s->source;
	c->run.expected = &expected;
	return run_and_print(c);
}

static int run_file(struct command *c, const char *path)
{
	char *source = read_file(path);
	int ret;

	if (!source)
		return 1;
	c->run.source = source;
	ret = run_and_print(c);
	free(source);
	return ret;
}

static int run_program(struct command *c, const char *name, const char *argument)
{
	const struct sample *s = sample_find(name);
	char *end;

	c->run.name = name;
	c->run.argument = s ? s->argument : 0;
	if (argument) {
		c->run.argument = strtoll(argument, &end, 10);
		if (*end || end == argument || c->run.argument < 0 || c->run.argument > 1000000000)
			return complain("N: '%s' is not a number from 0 to 1000000000", argument);
	}
	return s ? run_sample(c, s) : run_file(c, name);
}

int main(int argc, char **argv)
{
	struct command c = {
		.run.opt = { .heap_bytes = 16 << 20,
			     .nursery_bytes = 1 << 20,
			     .generational = true,
			     .jit = true,
			     .jit_threshold = 100 },
		.run.threads = 1,
		.run.rounds = 10,
	};
	int id, ret = 0;

	while (!ret && (id = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
		ret = one_option(&c, id == 'h' ? OPT_HELP : id);
	if (ret)
		return ret;
	if (c.help) {
		help();
		return 0;
	}
	if (argc - optind > 2)
		return complain("unexpected argument '%s'; usage: minivm [OPTION...] [PROGRAM [N]]", argv[optind + 2]);
	if (c.self_check)
		return self_check(c.quiet);
	if (set_nursery_size(&c))
		return 2;
	emit_code_open(c.jit_map, c.jit_dump);
	return run_program(&c, optind < argc ? argv[optind] : "trees", optind + 1 < argc ? argv[optind + 1] : NULL);
}
