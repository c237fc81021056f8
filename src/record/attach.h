/* SPDX-License-Identifier: MIT */
/* From planned sites to running programs: load, attach, and let go of all of it again. */
#ifndef UT_RECORD_ATTACH_H
#define UT_RECORD_ATTACH_H

#include <sys/types.h>

#include "plan/plan.h"

struct attach;

struct attach_options {
	const pid_t *pids; /* processes to attach to; npids 0: every process that maps the file */
	size_t npids;
	int map_fds[GEN_MAPS]; /* -1 for maps that no program uses */
	const struct gen_functions *functions; /* what begins and ends of spans call; NULL: there are none */
	bool no_multi; /* use the older way (tests) */
	bool no_forks; /* the programs do not fork: see record/nop5_harm.h */
	bool verbose; /* keep the verifier's log when a program is refused */
};

struct attach *attach_new(const struct attach_options *options); /* NULL: out of memory */
/*
 * Loads what the sites from @first on need and attaches them. On failure nothing of this call stays attached, and what
 * was attached before stays. The sentence names probe, file and reason. @log: the verifier's log when a program was
 * refused and verbose is set, else NULL; the caller frees.
 */
int attach_sites(struct attach *a, const struct plan *plan, size_t first, char **log, struct ut_err *err);
/*
 * Detaches everything, from several threads where each attachment waits for the kernel. Handlers have finished
 * when it returns.
 */
void attach_release(struct attach *a);
struct attach *attach_free(struct attach *a);
/* Events that programs were too busy to see, so far. */
uint64_t attach_missed(const struct attach *a);
/* "multi" or "perf": which way was used. */
bool attach_is_multi(const struct attach *a);

#endif
