/* SPDX-License-Identifier: MIT */
/* What the files of the plan share. Not for others. */
#ifndef UT_PLAN_PLAN_PRIV_H
#define UT_PLAN_PLAN_PRIV_H

#include "plan/plan.h"

/* One file while it is looked at. */
struct plan_scan {
	struct plan *plan;
	const char *path;
	const char *real; /* where links lead to; the path itself when that is not known */
	int fd;
	struct file_id id;
	struct elf_image *img; /* opened when first needed */
	struct usdt_notes notes;
	bool notes_read;
	int file; /* index into plan->files; -1 until something in it is wanted */
	struct ut_err *err;
};

/* Does WHERE of a p:, r: or u: request name this file (by path, identity or library name)? */
bool request_names_file(const struct plan_request *r, const struct plan_scan *scan);
/* "libc", "c", "libc.so.6", globs: does @where name the library or program at @path? Pure. */
bool library_matches(const char *where, const char *path);

/*
 * Was this mapping's file looked at? Told by its number, and when @check is set also by its time of change: a program
 * that is built anew often gets the number of the old one.
 */
bool plan_was_seen(const struct plan *plan, pid_t pid, const struct mapping *m, bool check);
int plan_scan_image(struct plan_scan *scan);
int plan_scan_file(struct plan_scan *scan); /* index of the file in the plan; adds it */

/*
 * Reads the notes of the file once; look->notes_read says whether it has any. A file that cannot be read is an error
 * only when it was asked for by name.
 */
int plan_scan_notes(struct plan_scan *scan, bool by_name);
/* NULL, or why this site cannot be attached. */
const char *plan_site_defect(struct plan_scan *scan, const struct usdt_note *n);
bool plan_is_user_event(const struct usdt_note *n); /* the site of <usertrace.h> */

int plan_usdt(struct plan_scan *scan, unsigned request);
int plan_user(struct plan_scan *scan);
int plan_functions(struct plan_scan *scan, unsigned request);

/* Appends a probe (members moved in) and returns its index; -ENOMEM. */
int plan_add_probe(struct plan *plan, struct plan_probe *probe);
/* Generates the body of @site and appends the site. Takes over site->operands, on failure too. */
int plan_add_site(struct plan *plan, struct plan_site *site, struct ut_err *err);
/* The same with a body that is made already; moved in. */
int plan_add_site_with(struct plan *plan, struct plan_site *site, struct gen_snippet *snippet, struct ut_err *err);
int plan_note(struct plan *plan, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Parses and checks request @request against @scope. @extra: NULL, or a default format to put behind the text. */
int plan_check(struct plan *plan, unsigned request, const struct probe_scope *scope, const char *extra,
	       struct probe_checked **ret, struct ut_err *err);
void plan_set_miss(struct plan_request *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
