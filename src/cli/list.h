/* SPDX-License-Identifier: MIT */
/* What the parts of `usertrace list` share: the question, what is listed just now, and one file's probes. */
#ifndef UT_CLI_LIST_H
#define UT_CLI_LIST_H

#include "cli/cli.h"
#include "elf/usdt.h"
#include "probe/usdt_args.h"
#include "proc/process.h"
#include "proc/runtime.h"

struct list {
	const struct ut_cmd *cmd;
	const char *pattern;		/* NULL: everything */
	bool json, verbose;
	struct runtimes runtimes;
	struct buf out;			/* for standard output */
	size_t shown;			/* probes (with -a: rows) in it so far */
	VEC(char *) others;		/* "provider:name" of what did not fit, for near misses */
	int status;			/* the worst so far */
	struct operands operands;	/* of the site that is looked at; resolved */
	struct usdt_args args;		/* of the probe that is looked at */
};

/* What is listed: a file that was named, or a process with all its files. */
struct list_subject {
	pid_t pid, ns_pid;		/* 0: a file */
	char comm[16];
	const char *path;		/* a file's; of a process, the program's */
	const struct runtime *runtime;	/* NULL: none that is known */
	size_t files, probes, shown;	/* files that could be read, their probes, those that fit */
	bool own_probes;		/* one of them is of a provider of its runtime */
	const char *failure;		/* why its files cannot hold probes that one can use; NULL */
	struct ut_err err;		/* holds that text */
};

/* A file while it is listed. */
struct list_file {
	const char *path;
	bool deleted;
	struct elf_image *img;
	struct usdt_notes notes;
	VEC(const struct usdt_note *) sites;	/* those that fit, by provider, name and address */
	size_t nprobes;				/* different names among them */
};

/* The sites of one probe; zero-initialise before the first call of list_next. */
struct list_probe {
	const struct usdt_note *const *sites;
	size_t n;
	size_t defects;
	bool guarded;
};
bool list_next(const struct list_file *file, struct list_probe *probe);
/* Fills list->args with the probe's arguments. */
void list_probe_args(struct list *list, const struct list_file *file, const struct list_probe *probe);
/* Fills list->operands with those of one site. */
void list_site_operands(struct list *list, const struct list_file *file, const struct usdt_note *site);

bool list_fits(const struct list *list, const struct usdt_note *note);
void list_remember(struct list *list, const struct usdt_note *note);
/* Probes of one open file into list->out. 0, or -errno and a sentence; -ENOTSUP for what is not of this machine. */
int list_file(struct list *list, struct list_subject *subject, const char *path, bool deleted, int fd, struct ut_err *err);

void list_operand_file(struct list *list, const char *path);
void list_process(struct list *list, pid_t pid);
void list_all(struct list *list);

/* How one file's probes are written. */
void list_text(struct list *list, const struct list_subject *subject, const struct list_file *file);
void list_json(struct list *list, const struct list_subject *subject, const struct list_file *file);
/* Members pid, ns_pid and comm, with a comma behind them; nothing for a file. */
void list_json_subject(struct buf *out, const struct list_subject *subject);
/* The heading of a process: "process 12 (java; 1 in its own pid namespace): HotSpot (Java)". */
void list_heading(struct list *list, const struct list_subject *subject);

/* A sentence on standard error, everything foreign in it escaped. */
void list_say(struct list *list, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* After a subject: that it has no probes and what there is instead. */
void list_tell_without(struct list *list, const struct list_subject *subject, struct elf_image *img);
/* At the end, when nothing fits: what is near. @where: NULL or the one place that was searched. */
void list_tell_miss(struct list *list, const char *where);

/* Sorts operands into files (kept in @words) and the pattern. 0 or an exit status after the complaint. */
int list_operands(struct list *list, char **words, int n, VEC(char *) *ret_files);
/* The program or library called @name in PATH or in the library folders; NULL when none. Caller frees. */
char *list_find_file(const char *name);

#endif
