/* SPDX-License-Identifier: MIT */
/* Which language runtime a process or a file is, and what can be traced in it when it has no probes. Knowledge is text:
 * runtimes/<name>.ini, built in, then /etc/usertrace/runtimes and $XDG_CONFIG_HOME/usertrace/runtimes, which add and
 * override. */
#ifndef UT_PROC_RUNTIME_H
#define UT_PROC_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

/*
 * The .ini format, one file a runtime:
 *
 *     [runtime]
 *     name = HotSpot                      # what people call it
 *     language = Java
 *     kind = runtime                      # or server, or library: what other runtimes use as well (libstdc++)
 *     match = libjvm.so                   # glob on the base name of a mapped file or of the program; may come again
 *     provider = hotspot                  # its USDT providers; may come again
 *     # what to do when there are no probes, or what else there is; a line each, may come again
 *     offer = p:libphp*.so*:zend_gc_collect_cycles | collections of the cycle collector
 *     hint = start it with --perf-basic-prof to have its compiled code named
 *     [probes]
 *     # default formats: what `trace` prints for a probe when the user gives no format; probe-language syntax
 *     gc__begin = "full=%d", arg1
 *     hs_private:safepoint__begin = "%d", arg1    # of another provider than the first
 *
 * A '#' begins a comment at the start of a line, and behind a blank outside of double quotes.
 */
struct runtime_offer { char *probe, *what; };
/* format: «"full=%d", arg1», as typed after the probe's name. */
struct runtime_format { char *provider, *probe, *format; };

struct runtime {
	char *name, *language;
	bool library; /* kind = library: other runtimes use it, so it names a process only when nothing else does */
	VEC(char *) match, provider, hint;
	VEC(struct runtime_offer) offer;
	VEC(struct runtime_format) format;
};

struct runtimes { VEC(struct runtime) all; };

/* Built-in ones and those of the two folders. A broken file of the user's is an error that names file and line. */
int runtimes_load(struct runtimes *ret, struct ut_err *err);
/* Parses one file's text; pure. @origin is its name, for messages. A file that names the same runtime replaces it. */
int runtimes_parse(const char *origin, const char *text, size_t len, struct runtimes *into, struct ut_err *err);
void runtimes_done(struct runtimes *r);

/* The runtime whose match fits the base name of @path; NULL for none. Longest pattern wins. */
const struct runtime *runtime_of_file(const struct runtimes *r, const char *path);
/* The runtime of a process, from all its executable mappings; NULL for none. */
const struct runtime *runtime_of_process(const struct runtimes *r, int pid);
/* The runtime that has a USDT provider of this name; NULL for none. */
const struct runtime *runtime_of_provider(const struct runtimes *r, const char *provider);
/* Default format for a probe, NULL for none. */
const char *runtime_format(const struct runtimes *r, const char *provider, const char *probe);

#endif
