/* SPDX-License-Identifier: MIT */
/* From planned sites to running programs: loads, attaches and detaches them. */
#ifndef UT_RECORD_ATTACH_H
#define UT_RECORD_ATTACH_H

#include <sys/types.h>

#include "plan/plan.h"

struct attach;

struct attach_options {
	const pid_t *pids; /* processes to attach to; npids 0: every process that maps the file */
	size_t npids;
	int map_fds[GEN_MAPS]; /* -1 for maps that no program uses */
	const struct gen_functions *functions; /* called by programs at begins and ends of spans; NULL: none */
	bool no_multi; /* attach with perf events, as before Linux 6.6 (tests) */
	/* Sites whose semaphore is mapped twice wait for attach_held: at the exec the kernel would raise the wrong mapping's. */
	bool hold;
	bool no_forks; /* targets never fork: see record/nop5_harm.h */
	bool verbose; /* keep the verifier's log of a rejected program */
};

struct attach *attach_new(const struct attach_options *options); /* NULL: out of memory */
/*
 * Loads the programs of the sites from @first on and attaches them. On failure the sites of this call are detached, and
 * sites of earlier calls stay attached. The error names probe, file and reason. @log: the verifier's log if a program was
 * rejected and verbose is set, else NULL; the caller frees it.
 */
int attach_sites(struct attach *a, const struct plan *plan, size_t first, char **log, struct ut_err *err);
/*
 * The file, its number in the plan, of a site that waits until relocation is over; -1: none does. @i: the first one's number
 * among those that wait.
 */
int attach_held_file(const struct attach *a, const struct plan *plan, size_t i);
void attach_forget_held(struct attach *a, const struct plan *plan, unsigned file);
/* Attaches all sites of this file that wait. They wait no more, also on failure. */
int attach_held(struct attach *a, const struct plan *plan, unsigned file, struct ut_err *err);
/*
 * The process has called exec from a second thread: the kernel filters by the task that was its first thread, which has
 * ended. Attaches all sites in files once more, with the programs that are loaded, and closes the old links.
 * *@ret_ns: when they were attached, CLOCK_MONOTONIC nanoseconds.
 */
int attach_process_again(struct attach *a, const struct plan *plan, pid_t pid, uint64_t *ret_ns, struct ut_err *err);
/*
 * Sites that were left out so far, because the kernel does not probe their instructions and a pattern selected them. Their
 * numbers in the plan; borrowed until the next call of attach_sites. *@ret may be NULL if there are none.
 */
size_t attach_refused(const struct attach *a, const uint32_t **ret);
/*
 * Detaches everything, from several threads where each attachment waits for the kernel. Handlers have finished
 * when it returns.
 */
void attach_release(struct attach *a);
struct attach *attach_free(struct attach *a);
/* Events missed so far (BPF recursion: a program was already running on that CPU). */
uint64_t attach_missed(const struct attach *a);
/* True: uprobe_multi links; false: one perf event and link for each site. */
bool attach_is_multi(const struct attach *a);

#endif
