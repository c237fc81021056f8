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
 *     symbol = caml_startup               # a function of a program that has the runtime built in; may come again
 *     provider = hotspot                  # its USDT providers; may come again
 *     version = name                      # where its version stands: the digits of the matched file's base name
 *     version = text "node v"             # or those behind this text, in the file's read-only data; may come again: the
 *                                         # first that is there counts
 *     collector = GC Thread*              # names of the collector's own threads, '*' at the end only; may come again
 *     service = C2 CompilerThre*          # of other threads that are the runtime's and not the program's
 *     none = the build has no symbol that …   # why there are no [span …]: what `gc` says
 *     # what to do when there are no probes, or what else there is; a line each, may come again
 *     offer = p:libphp*.so*:zend_gc_collect_cycles | collections of the cycle collector
 *     hint = start it with --perf-basic-prof to have its compiled code named
 *     map = since 3.12: python3 -X perf    # what has the code named that is compiled at run time; may come again, the
 *                                         # last that holds for the version counts
 *     [probes]
 *     # default formats: what `trace` prints for a probe when the user gives no format; probe-language syntax
 *     gc__begin = "full=%d", arg1
 *     hs_private:safepoint__begin = "%d", arg1    # of another provider than the first
 *
 *     [span gc]                           # what begins and ends; the kind is one of RUNTIME_KINDS; may come again
 *     title = pause                       # what these are called where no word says more
 *     begin = u:hotspot:gc__begin "full=%d", arg1     # probes, u:, p: or r:; may come again: other files, other places
 *     end = u:hotspot:gc__end
 *     inside = r:libjvm.so:GCCause::to_string* "cause=%s", retval    # what comes between them and says more
 *     by = process                        # an end closes the newest begin of its thread, or of its process; default thread
 *     only = manager ZGC*                 # of these values alone, told at any place; may come again: all must fit
 *     stops = no                          # the program does not stand still for it; default yes for gc, gc-phase, safepoint
 *     part-of = gc                        # it belongs to spans of that kind, inside or after: so many to each
 *     with = gc                           # watched whenever spans of that kind are, as those who do this are the collector
 *                                         # meanwhile; shown only when its own kind is asked for
 *     word = full 1 full                  # VALUE NUMBER WORDS: how it is called when that value is this number
 *     since = 3.12                        # of this version on; before = 3.13: of earlier ones alone
 *     needs = --trace-gc                  # what must be given at the program's start for these to come
 *     unseen = marking in small steps     # what is of these, but cannot be seen: told at the end of the summary
 *
 * The formats of these probes are lists of name=%d (%u, %s, %.*s). Of a value that comes more than once in a span the
 * last counts, and of words that fit the first in the file. Names with a meaning, others are shown as they are in JSON:
 *
 *     full, generation    for words
 *     name                text: what it is
 *     class               text: stands before the name, with a dot between them
 *     cause               text, or a number that has words: they are the cause then, not what it is called
 *     used                bytes; at the begin before, at the end after; of inside the first is before, the last after
 *     heap                bytes that the program's heap has
 *     before, after       bytes of a part; of inside they are added up, as freed and objects are
 *     freed, objects      bytes and objects that were freed
 *     id                  with by = id: an end closes the begin of the process that has the same id
 *     failed              of an end, not 0: it ends all that is open where it comes, and nothing when nothing is
 *
 * A '#' begins a comment at the start of a line, and behind a blank outside of double quotes.
 */
struct runtime_offer {
	char *probe, *what;
};
/* format: «"full=%d", arg1», as typed after the probe's name. */
struct runtime_format {
	char *provider, *probe, *format;
};

#define RUNTIME_KINDS "gc gc-phase safepoint compile class-load park request exception thread"

enum runtime_role { RUNTIME_BEGIN, RUNTIME_END, RUNTIME_INSIDE };
enum runtime_by { RUNTIME_BY_THREAD, RUNTIME_BY_PROCESS, RUNTIME_BY_ID };
struct runtime_span_probe {
	enum runtime_role role;
	char *text;
	unsigned line;
}; /* text: a probe as typed */
struct runtime_only {
	char *value, *glob;
};
struct runtime_word {
	char *value;
	long long number;
	char *text;
};

struct runtime_span {
	char *kind;
	char *title; /* NULL: the kind */
	enum runtime_by by;
	bool stops;
	char *part_of, *with, *since, *before, *needs, *unseen; /* NULL: none */
	VEC(struct runtime_span_probe) probe;
	VEC(struct runtime_only) only;
	VEC(struct runtime_word) word;
	unsigned line;
};

struct runtime_map {
	char *since, *text;
}; /* since NULL: every version */
struct runtime_version {
	bool in_text;
	char *prefix;
}; /* text "PREFIX", or name */

struct runtime {
	char *name, *language, *origin; /* origin: the file it was read from, "hotspot.ini" for a built-in one */
	char *none; /* why it has no spans; NULL */
	bool library; /* kind = library: other runtimes use it, so it names a process only when nothing else does */
	VEC(char *) match, symbol, provider, hint, collector, service;
	VEC(struct runtime_version) version;
	VEC(struct runtime_map) map;
	VEC(struct runtime_offer) offer;
	VEC(struct runtime_format) format;
	VEC(struct runtime_span) span;
};

struct runtime_cache; /* programs whose functions were looked at: each new process would read them again */
struct runtimes {
	VEC(struct runtime) all;
	struct runtime_cache *cached;
}; /* cached NULL: nothing is kept */

/* Built-in ones and those of the two folders. A broken file of the user's is an error that names file and line. */
int runtimes_load(struct runtimes *ret, struct ut_err *err);
/* The same, but each of those is told to @broken, and the others are read. */
int runtimes_load_good(struct runtimes *ret, void (*broken)(void *ctx, const struct ut_err *err), void *ctx,
		       struct ut_err *err);
/* Parses one file's text; pure. @origin is its name, for messages. A file that names the same runtime replaces it. */
int runtimes_parse(const char *origin, const char *text, size_t len, struct runtimes *into, struct ut_err *err);
void runtimes_done(struct runtimes *r);

/* The runtime whose match fits the base name of @path; NULL for none. Longest pattern wins. */
const struct runtime *runtime_of_file(const struct runtimes *r, const char *path);
/* The same, and when the file is the program of @pid and its name says nothing, by its functions and probes. */
struct mapping;
const struct runtime *runtime_of_mapping(const struct runtimes *r, int pid, const struct mapping *m);
/* By the functions that a program has; NULL for none. @fd is read, not moved. */
const struct runtime *runtime_of_symbols(const struct runtimes *r, int fd);
/* The runtime of a process, from all its executable mappings; NULL for none. */
const struct runtime *runtime_of_process(const struct runtimes *r, int pid);
/* The runtime that has a USDT provider of this name; NULL for none. */
const struct runtime *runtime_of_provider(const struct runtimes *r, const char *provider);
/*
 * The version of @r in this file of it, "17.0.15", into @ret; false when it does not tell. @fd is read, not moved.
 */
bool runtime_version(const struct runtime *r, const char *path, int fd, char ret[32]);
/* <0, 0, >0 as versions compare: number by number, a missing one is 0. */
int runtime_version_compare(const char *a, const char *b);
/* Does the span hold for this version? An unknown one (NULL or "") holds for all. */
bool runtime_span_holds(const struct runtime_span *s, const char *version);
/*
 * How a process of this version is started so that the code it compiles has names: "node --perf-basic-prof". NULL when
 * there is no way; an unknown version (NULL or "") has what the newest has.
 */
const char *runtime_map_hint(const struct runtime *r, const char *version);
/* One more file of the user's (--runtime FILE); it replaces the runtime of its name. */
int runtimes_load_file(struct runtimes *r, const char *path, struct ut_err *err);
/* Default format for a probe, NULL for none. */
const char *runtime_format(const struct runtimes *r, const char *provider, const char *probe);

#endif
