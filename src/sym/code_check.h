/* SPDX-License-Identifier: MIT */
/* The quality of a process's code maps: their entries, and the share of its JIT code that has a name. */
#ifndef UT_SYM_CODE_CHECK_H
#define UT_SYM_CODE_CHECK_H

#include "base/err.h"
#include "base/vec.h"
#include "proc/process.h"

struct code_file_report {
	char *path;
	bool is_dump;
	uint64_t bytes;
	uint64_t entries; /* lines of a map; LOADs and MOVEs of a dump */
	uint64_t bad, first_bad; /* invalid entries, and the line number of the first (of a map) */
	uint64_t again; /* entries that overlap another one */
	bool counted; /* `again` is known: the file is not too large to compare its entries */
	/* Where the named code is now. */
	uint64_t in_runtime, in_files, in_data, nowhere;
};

struct code_report {
	VEC(struct code_file_report) files;
	uint64_t runtime_bytes; /* resident executable memory that belongs to no program file */
	uint64_t named_bytes; /* the part of it that has a name */
	VEC(char *) notes; /* files that were rejected, and why */
};

/* -ESRCH. Reads the maps in place and writes nothing. */
int code_check(pid_t pid, struct code_report *ret, struct ut_err *err);
void code_report_done(struct code_report *r);

#endif
