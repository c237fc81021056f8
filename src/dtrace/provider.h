/* SPDX-License-Identifier: MIT */
/* What a provider file declares: providers, their probes and the types of their arguments. */
#ifndef UT_DTRACE_PROVIDER_H
#define UT_DTRACE_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#define DTRACE_ARGS_MAX 12 /* as SystemTap's macros */
#define DTRACE_NAME_MAX 255

struct dtrace_arg {
	char *decl; /* as declared: "unsigned int size" */
	const char *cast; /* the C type to convert to, static; NULL: only the program knows the type */
	bool is_truth; /* a bool: 0 or 1 */
};

struct dtrace_probe {
	char *name; /* as declared: "gc__start" */
	char *macro; /* "CCL_GC_START" */
	char *place; /* "probes.d:12", for complaints */
	struct dtrace_arg args[DTRACE_ARGS_MAX];
	unsigned nargs;
};

struct dtrace_provider {
	char *name;
	VEC(struct dtrace_probe) probes;
};

struct dtrace_alias { /* a typedef of the file itself */
	char *name;
	const char *cast;
	bool is_truth, is_void, is_struct;
};

struct dtrace_providers {
	VEC(struct dtrace_provider) all; /* in the order of the files */
	VEC(struct dtrace_alias) aliases;
	size_t nprobes;
};

/*
 * Reads one file's text and adds what it declares. @name is the file's for complaints. 0, -ENOMEM, or -EINVAL and a
 * sentence with the position; @ret is to be freed in any case. A file may have no provider at all: scripts of other
 * kinds are skipped.
 */
int dtrace_parse(const char *name, const char *text, size_t len, struct dtrace_providers *ret, struct ut_err *err);
void dtrace_providers_done(struct dtrace_providers *p);

/* The macro of a probe, as SystemTap names it: upper case, each "__" of the probe as "_". NULL: no memory. */
char *dtrace_macro_name(const char *provider, const char *probe);

/*
 * The C header: each probe's PROVIDER_PROBE(…) and PROVIDER_PROBE_ENABLED(). It holds a copy of usertrace.h, or with
 * @include an #include of it. @sources are the files' names for its first line. 0, -ENOMEM, or -EINVAL and a sentence
 * when a name belongs to usertrace.h.
 */
int dtrace_header(const struct dtrace_providers *p, const char *sources, bool include, struct buf *out,
		  struct ut_err *err);

#endif
