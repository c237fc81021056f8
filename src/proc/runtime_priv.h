/* SPDX-License-Identifier: MIT */
/* What the files about runtimes share: the parser of an .ini file, its [span KIND] sections in a file of their own. */
#ifndef UT_PROC_RUNTIME_PRIV_H
#define UT_PROC_RUNTIME_PRIV_H

#include "proc/runtime.h"

enum ini_section { INI_NONE, INI_RUNTIME, INI_PROBES, INI_SPAN };

struct ini_parser {
	const char *origin;
	unsigned line;
	enum ini_section section;
	struct runtime runtime;
	unsigned first_bare_probe; /* line of the first probe without "PROVIDER:" */
	bool kind_given;
	bool stops_given; /* the span that is being read says itself whether it stops the program */
	bool by_given;
	struct ut_err *err;
};

typedef typeof(((struct runtime *)NULL)->match) ini_strings; /* the header's lists of strings have one type */

/* A key of a section. Its value goes to @set, or into the section's object (a runtime or a span) at @offset. */
struct ini_key {
	const char *name;
	enum ini_form {
		INI_SET, /* by @set */
		INI_STRING, /* a char *, given once */
		INI_STRINGS, /* one more of an ini_strings */
		INI_THREAD, /* the same, the name of a thread or how it begins */
		INI_KIND, /* a string: one of RUNTIME_KINDS */
		INI_VERSION, /* a string: a version */
	} form;
	int (*set)(struct ini_parser *p, const char *value);
	size_t offset;
};

/* Sets "FILE:LINE: what" and returns -EINVAL. */
int ini_fail(const struct ini_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int ini_push_copy(struct ini_parser *p, ini_strings *to, const char *value);
/* One "key = value" of a section; @section is its name for the message about an unknown key. */
int ini_set_key(struct ini_parser *p, void *object, const struct ini_key *keys, size_t n, const char *section,
		const char *key, const char *value);
bool ini_quotes_are_closed(const char *s);
/* 0, or -EINVAL and a message with the nearest kind: @name is none of RUNTIME_KINDS. */
int ini_check_kind(struct ini_parser *p, const char *name);

/* "[span KIND]" begins; @kind is what stands behind "span". */
int span_section(struct ini_parser *p, char *kind);
int span_line(struct ini_parser *p, const char *key, const char *value);
/* What only the whole file can tell about its spans. */
int spans_finish(struct ini_parser *p);
void span_done(struct runtime_span *s);

/* Frees what a runtime owns; half-built ones, too. */
void runtime_done(struct runtime *r);

/* What is known of programs is not true any more: there is one runtime more. Without memory nothing is kept. */
void runtime_cache_reset(struct runtimes *r);

#endif
