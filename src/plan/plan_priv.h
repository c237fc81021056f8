/* SPDX-License-Identifier: MIT */
/* Private to the files of the plan. */
#ifndef UT_PLAN_PLAN_PRIV_H
#define UT_PLAN_PLAN_PRIV_H

#include "plan/plan.h"

/* One file while it is examined. */
struct plan_scan {
	struct plan *plan;
	const char *path;
	const char *real; /* the target of links; path itself where it is not known */
	int fd;
	struct file_id id;
	struct elf_image *img; /* opened when first needed */
	struct usdt_notes notes;
	bool notes_read;
	int file; /* index into plan->files; -1 until a request matches */
	struct ut_err *err;
};

/* Does WHERE of a p:, r: or u: request name this file (by path, identity or library name)? */
bool request_names_file(const struct plan_request *r, const struct plan_scan *scan);
/* "libc", "c", "libc.so.6", globs: does @where name the library or program at @path? Pure. */
bool library_matches(const char *where, const char *path);

/*
 * Has this mapping's file been examined? Matched by inode, and with @check also by its time of change: a program that was
 * rebuilt often gets the inode of the old one.
 */
bool plan_was_seen(const struct plan *plan, pid_t pid, const struct mapping *m, bool check);
int plan_scan_image(struct plan_scan *scan);
int plan_scan_file(struct plan_scan *scan); /* adds the file to the plan; returns its index */

/*
 * Reads the notes of the file once; look->notes_read says whether it was readable. An unreadable file is an error
 * only if a request names it.
 */
int plan_scan_notes(struct plan_scan *scan, bool by_name);
/* NULL, or the reason why this site cannot be attached. */
const char *plan_site_defect(struct plan_scan *scan, const struct usdt_note *n);
bool plan_is_user_event(const struct usdt_note *n); /* the site of <usertrace.h> */

int plan_usdt(struct plan_scan *scan, unsigned request);
int plan_user(struct plan_scan *scan);
int plan_functions(struct plan_scan *scan, unsigned request);

/* An indirect function that the request selects. */
int plan_add_ifunc(struct plan_scan *scan, unsigned request, const struct elf_symbol *symbol);
/*
 * A probe on the function @func (name, address, size; 0: not known), @offset bytes after its start. > 0: its return cannot
 * be traced, for the reason in the request's miss.
 */
int plan_add_function(struct plan_scan *scan, unsigned request, const struct elf_symbol *func, uint64_t offset);

/* Appends a probe (members moved in) and returns its index; -ENOMEM. */
int plan_add_probe(struct plan *plan, struct plan_probe *probe);
/* Generates the snippet of @site and appends the site. Takes over site->operands, on failure too. */
int plan_add_site(struct plan *plan, struct plan_site *site, struct ut_err *err);
/* The same with a snippet that exists already; moved in. */
int plan_add_site_with(struct plan *plan, struct plan_site *site, struct gen_snippet *snippet, struct ut_err *err);
int plan_note(struct plan *plan, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Parses and checks request @request against @scope. @extra: NULL, or a default format to append to the text. */
int plan_check(struct plan *plan, unsigned request, const struct probe_scope *scope, const char *extra,
	       struct probe_checked **ret, struct ut_err *err);
void plan_set_miss(struct plan_request *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
