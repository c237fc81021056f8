/* SPDX-License-Identifier: MIT */
/* What the parts of `usertrace list` share: the question, and its answers on their way out. */
#ifndef UT_CLI_LIST_H
#define UT_CLI_LIST_H

#include "base/json.h"
#include "catalog/catalog.h"
#include "cli/cli.h"

struct list {
	bool json, verbose;
	struct catalog catalog;
	struct buf out; /* for standard output */
	int status; /* the worst so far */
};

/* The three questions. Complaints are told and kept in list->status. */
void list_path(struct list *list, const char *path);
void list_process(struct list *list, pid_t pid);
void list_all(struct list *list);
/* One file's probes, written. */
void list_text(struct list *list, const struct catalog_file *file);
void list_json(struct list *list, const struct catalog_subject *subject, const struct catalog_file *file);
/* Members runtime and language; with @advice also offers and hints. */
void list_json_runtime(struct json *j, const struct runtime *runtime, bool advice);
void list_json_pid(struct json *j, pid_t pid, pid_t ns_pid, const char *comm);

/* Prints what was gathered so far, so that what is said after it also comes after it on a terminal. */
void list_flush(struct list *list);
/* A sentence on standard error, foreign bytes in it escaped; @status is kept if it is the worst so far. */
void list_report(struct list *list, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* That a subject has no probes, which runtime it is, and what can be traced instead. */
void list_explain_no_probes(struct list *list, const struct catalog_subject *subject);
/* That nothing fits the pattern, and what is near. */
void list_explain_no_match(struct list *list);

#endif
