/* SPDX-License-Identifier: MIT */
/* The probes of files, of a process and of all processes that match a pattern, with counts. */
#ifndef UT_CATALOG_CATALOG_H
#define UT_CATALOG_CATALOG_H

#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "catalog/locate.h"
#include "elf/usdt.h"
#include "probe/usdt_args.h"
#include "proc/process.h"
#include "proc/runtime.h"

/* A query, and the state of its results. Zero-initialize, then set pattern and runtimes; free with catalog_done. */
struct catalog {
	const char *pattern; /* borrowed; NULL: everything */
	struct runtimes runtimes; /* owned */
	size_t shown; /* sites that match so far */
	struct words others; /* "provider:name" of the probes that do not match: for near misses */
	char *functions; /* a file with functions that match, if no probe does; owned, NULL: none */
};
void catalog_done(struct catalog *c);

/* The subject of a result: a file that was named, or a process with all its files. */
struct catalog_subject {
	pid_t pid, ns_pid; /* 0: a file */
	char comm[16];
	const char *path; /* the file's, or the program's; NULL: unknown. Borrowed, as the callbacks say */
	const struct runtime *runtime; /* NULL: none that is known */
	size_t files, probes, shown; /* files that were read, sites in them, sites that match */
	bool own_probes; /* some are of its runtime */
	size_t unopened, foreign; /* files of a process that could not be opened, or are for another machine */
	struct ut_err first_unusable; /* why, of the first of those */
};

/* A file during a callback. */
struct catalog_file {
	const char *path;
	bool deleted;
	struct elf_image *img;
	struct usdt_notes notes;
	VEC(const struct usdt_note *) sites; /* those that match; by provider, name and address */
};

/* The sites of one probe. */
struct catalog_probe {
	const struct usdt_note *const *sites;
	size_t n, defects;
	bool guarded; /* by a semaphore */
};
/* The next probe of a file; zero-initialise before the first call. */
bool catalog_next(const struct catalog_file *file, struct catalog_probe *probe);
/* The arguments of a probe, merged over all its sites. */
void catalog_probe_args(const struct catalog_file *file, const struct catalog_probe *probe, struct usdt_args *ret);
void catalog_site_operands(const struct catalog_file *file, const struct usdt_note *site, struct operands *ret);

/* The receiver of results. Arguments are valid during the call. */
struct catalog_sink {
	/* A file was read; it is counted in the subject. It may have no matching site. */
	void (*file)(void *ctx, const struct catalog_subject *subject, const struct catalog_file *file);
	/* A file of a process is broken. Not called by catalog_path, which returns the error. */
	void (*broken)(void *ctx, const struct catalog_subject *subject, const char *path, const struct ut_err *err);
	/* All files were read. */
	void (*end)(void *ctx, const struct catalog_subject *subject);
	void *ctx;
};

/* One file that was named. */
int catalog_path(struct catalog *c, const char *path, const struct catalog_sink *sink, struct ut_err *err);
/* One process, with all files that it has mapped. -ENODATA: it has none. */
int catalog_process(struct catalog *c, pid_t pid, const struct catalog_sink *sink, struct ut_err *err);

/* A provider of probes in one file, with the matching probes. */
struct catalog_provider {
	char *name; /* owned */
	size_t probes, sites, guarded; /* guarded: probes with a semaphore */
};

struct catalog_row_process {
	pid_t pid, ns_pid;
	char comm[16];
};

/* A running program, and a provider of probes in one of its files. */
struct catalog_row {
	struct file_id program_id;
	char *program, *file; /* owned; file is NULL when it is the program itself */
	const struct runtime *runtime;
	const struct catalog_provider *provider; /* NULL: a runtime without probes */
	VEC(struct catalog_row_process) processes;
};

struct seen_files;
struct catalog_rows {
	VEC(struct catalog_row) rows; /* by program and provider */
	struct seen_files *seen; /* they own the providers of the rows */
	size_t refused; /* processes without permission */
	size_t unopened; /* files that could not be opened */
	bool failed; /* out of memory: some rows are missing */
};
/* Every process but our own. To be followed by catalog_rows_done, also after an error. */
int catalog_all(struct catalog *c, struct catalog_rows *ret, struct ut_err *err);
void catalog_rows_done(struct catalog_rows *rows);

/* The probes that did not match, each once, in order; returns how many, or a negative errno. *@ret: the caller frees the
 * array; the catalog owns the names. */
long catalog_others(struct catalog *c, const char ***ret);
/* The indexes of those @names that are similar to the pattern, the nearest first. Returns how many. */
size_t catalog_near(const struct catalog *c, const char **names, size_t n, size_t *ret, size_t max);

#endif
