/* SPDX-License-Identifier: MIT */
/* Shared by the parts of `usertrace list`: its options, the catalog, and the output. */
#ifndef UT_CLI_LIST_H
#define UT_CLI_LIST_H

#include "base/json.h"
#include "catalog/catalog.h"
#include "cli/cli.h"

struct list {
	bool json, verbose;
	struct catalog catalog;
	struct buf out; /* for standard output */
	int status; /* the greatest so far */
};

/* One subject each. Errors are reported and recorded in list->status. */
void list_path(struct list *list, const char *path);
void list_process(struct list *list, pid_t pid);
void list_all(struct list *list);
/* Appends the probes of one file to the output. */
void list_text(struct list *list, const struct catalog_file *file);
void list_json(struct list *list, const struct catalog_subject *subject, const struct catalog_file *file);
/* Members runtime and language; with @advice also offers and hints. */
void list_json_runtime(struct json *j, const struct runtime *runtime, bool advice);
void list_json_pid(struct json *j, pid_t pid, pid_t ns_pid, const char *comm);

/* Prints the output so far, so that later messages on standard error follow it on a terminal. */
void list_flush(struct list *list);
/* A sentence on standard error, foreign bytes in it escaped; @status replaces a smaller list->status. */
void list_report(struct list *list, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Reports that a subject has no probes, its runtime, and what can be traced instead. */
void list_explain_no_probes(struct list *list, const struct catalog_subject *subject);
/* Reports that nothing matches the pattern, and similar names. */
void list_explain_no_match(struct list *list);

#endif
