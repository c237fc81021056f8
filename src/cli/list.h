/* SPDX-License-Identifier: MIT */
/* What the parts of `usertrace list` share: the question, whom it is about, and the probes of one file. */
#ifndef UT_CLI_LIST_H
#define UT_CLI_LIST_H

#include "cli/cli.h"
#include "elf/usdt.h"
#include "probe/usdt_args.h"
#include "proc/process.h"
#include "proc/runtime.h"

struct list_words {
	VEC(char *) v;
}; /* owned */
void list_words_done(struct list_words *words);

struct list {
	const struct ut_cmd *cmd;
	const char *pattern; /* NULL: everything */
	bool json, verbose;
	struct runtimes runtimes;
	struct buf out; /* for standard output */
	size_t shown; /* probes, with -a rows, that fitted */
	struct list_words others; /* "provider:name" of those that did not: for near misses */
	char *functions; /* a file with functions that fit, where no probe does; owned, NULL: none */
	int status; /* the worst so far */
	struct operands operands; /* of the site just looked at */
	struct usdt_args args; /* of the probe just looked at */
};

/* Whom the list is about: a file that was named, or a process with all its files. */
struct list_subject {
	pid_t pid, ns_pid; /* 0: a file */
	char comm[16];
	const char *path; /* the file's, or the program's; NULL: unknown */
	const struct runtime *runtime; /* NULL: none that is known */
	size_t files, probes, shown; /* files that were read, sites in them, sites that fitted */
	bool own_probes; /* some are of its runtime */
};

/* A file while it is looked at. */
struct list_file {
	const char *path;
	bool deleted;
	struct elf_image *img;
	struct usdt_notes notes;
	VEC(const struct usdt_note *) sites; /* those that fit; by provider, name and address */
};
/* Reads the notes and picks those that fit. -ENOTSUP for files of other machines. To be followed by list_file_done. */
int list_file_read(struct list *list, struct list_file *file, int fd, struct ut_err *err);
void list_file_done(struct list_file *file);

/* The sites of one probe. */
struct list_probe {
	const struct usdt_note *const *sites;
	size_t n, defects;
	bool guarded;
};
/* The next probe; zero-initialise before the first call. */
bool list_next(const struct list_file *file, struct list_probe *probe);
/* Fills list->args. */
void list_probe_args(struct list *list, const struct list_file *file, const struct list_probe *probe);
/* Fills list->operands. */
void list_site_operands(struct list *list, const struct list_file *file, const struct usdt_note *site);

/* The three questions. Complaints are told and kept in list->status. */
void list_path(struct list *list, const char *path);
void list_process(struct list *list, pid_t pid);
void list_all(struct list *list);
/* One open file of a subject. */
int list_file(struct list *list, struct list_subject *subject, struct list_file *file, int fd, struct ut_err *err);

/* One file's probes, written. */
void list_text(struct list *list, const struct list_file *file);
void list_json(struct list *list, const struct list_subject *subject, const struct list_file *file);
/* "name":"value" with a comma before it, unless it is the first member. */
void list_json_member(struct buf *out, const char *name, const char *value);
/* Members runtime and language; with @advice also offers and hints. */
void list_json_runtime(struct buf *out, const struct runtime *runtime, bool advice);
void list_json_pid(struct buf *out, pid_t pid, pid_t ns_pid, const char *comm);

/* Prints what was gathered so far, so that what is said after it also comes after it on a terminal. */
void list_flush(struct list *list);
/* A sentence on standard error, foreign bytes in it escaped; @status is kept if it is the worst so far. */
void list_say(struct list *list, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* That a subject has no probes, which runtime it is, and what can be traced instead. @fd: its file, or -1. */
void list_tell_without(struct list *list, const struct list_subject *subject, int fd);
/* Has the file functions that fit the pattern? The first that has is named when no probe fits. */
void list_look_for_functions(struct list *list, const char *path, int fd);
/* That nothing fits the pattern, and what is near. */
void list_tell_miss(struct list *list);

/* Sorts words into files and the pattern. 0, or the exit status after a complaint. */
int list_operands(struct list *list, char **words, int n, struct list_words *ret_files);
/* Where the program or library called @name is, by PATH and the library folders; NULL: nowhere. The caller frees it. */
char *list_find_file(const char *name);
/* The libraries that the file needs; @with_probes: those that have probes alone. */
void list_needed(int fd, bool with_probes, struct list_words *ret);

#endif
