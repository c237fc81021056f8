/* SPDX-License-Identifier: MIT */
/* How good the code maps of a process are: what stands in them, and how much of its run-time code has a name. */
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
	uint64_t bad, first_bad; /* what is none, and the number of the first such line (of a map) */
	uint64_t again; /* entries of places that another one names as well */
	bool counted; /* again is known: the file is not too large for it */
	/* Where the named code lies now. */
	uint64_t in_runtime, in_files, in_data, nowhere;
};

struct code_report {
	VEC(struct code_file_report) files;
	uint64_t runtime_bytes; /* executable memory that is of no file, as far as it is resident */
	uint64_t named_bytes; /* of that */
	VEC(char *) notes; /* files that were refused, and why */
};

/* -ESRCH. The maps are read where they stand; nothing is written. */
int code_check(pid_t pid, struct code_report *ret, struct ut_err *err);
void code_report_done(struct code_report *r);

#endif
