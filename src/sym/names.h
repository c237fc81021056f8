/* SPDX-License-Identifier: MIT */
/*
 * Names for the addresses of stacks, by process and by time: what was mapped where, and which code compiled at run
 * time lay there, at the moment of the sample. Told of processes while recording (names_process and following), asked
 * when a profile is made. Not thread-safe. Out of memory makes names missing, never wrong.
 *
 * Two users: profiles ask at the end, `trace` for each event (names_options.live).
 *
 * Memory that is code at run time gets names in two steps, because its maps may be huge: names_request() for each address
 * and moment, names_resolve() once, then names_user().
 */
#ifndef UT_SYM_NAMES_H
#define UT_SYM_NAMES_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/frame.h"

struct mapping;

/*
 * Appends a frame of a stack as text: "function+0x1f (libc.so.6)"; "fib+0x20 (JIT code)"; "vfs_read+0x9c" of the
 * kernel, "ext4_file_read_iter+0x9c [ext4]" of a module; without a name the address, in the numbering of the file where
 * there is one, and why: "0x5591a0 [no symbols: python3.11]". Not escaped. @back: 1 if @f is of the call before a
 * return address, which @addr is.
 */
void frame_format(const struct frame *f, uint64_t addr, unsigned back, struct buf *out);

struct names_options {
	bool lines; /* inlined calls, files and lines from DWARF */
	const char *debug_dir; /* NULL: /usr/lib/debug; lives on */
	/*
	 * Names are asked for while events come, in their order: code maps are read as they grow, with no names_request
	 * and names_resolve, mappings are read again when an address is in none of them, and what is known of a process
	 * goes with it.
	 */
	bool live;
};

struct names;
struct names *names_new(const struct names_options *o); /* NULL: out of memory */
struct names *names_free(struct names *n);

/*
 * The process is there at @time_ns (CLOCK_MONOTONIC): reads what it has mapped, opens its files, watches its code maps.
 * Again for one that is known: its mappings are read anew. What is seen for the first time has been there since the
 * process was last looked at, or began, unless something else was there. To be called after names_exec, too. May raise
 * the soft limit of descriptors, when a quarter of it is in use.
 */
void names_process(struct names *n, pid_t pid, uint64_t time_ns);
/* @child has what @parent had. */
void names_fork(struct names *n, pid_t parent, pid_t child, uint64_t time_ns);
/* It runs another program from then on: nothing that was known holds after it. */
void names_exec(struct names *n, pid_t pid, uint64_t time_ns);
/* One mapping that came; one that is not executable only ends what was there. All of these calls may come late, after
 * the mappings have been read by names_process. */
void names_mapped(struct names *n, pid_t pid, const struct mapping *m, uint64_t time_ns);
/* Ended: its files stay open for later questions, its number may be another's from now on. */
void names_exit(struct names *n, pid_t pid, uint64_t time_ns);
/* Is it known what the process has mapped? Then names_process need not be called. */
bool names_has_process(struct names *n, pid_t pid);
/* Has it code that was compiled at run time, as far as is known? */
bool names_has_jit(struct names *n, pid_t pid);
/* With `live`: processes whose run-time code had no name since the last call; *@ret lives until then. */
size_t names_missed(struct names *n, const pid_t **ret);
/* Looks for code maps that came or grew; to be called every few milliseconds while recording. Cheap when
 * nothing happened. */
void names_poll(struct names *n, uint64_t time_ns);

/* Is @addr, at that time, in code compiled at run time? Then it is to be wanted. */
bool names_is_jit(struct names *n, pid_t pid, uint64_t addr, uint64_t time_ns);
void names_request(struct names *n, pid_t pid, uint64_t addr, bool exact, uint64_t time_ns);
void names_resolve(struct names *n, uint64_t time_ns);

/*
 * Appends the frames at @addr, innermost first: at least one, more where calls were inlined. @exact: the place itself;
 * otherwise a return address, and the call before it is meant.
 */
void names_user(struct names *n, pid_t pid, uint64_t addr, bool exact, uint64_t time_ns, struct frames *ret);
void names_kernel(struct names *n, uint64_t addr, struct frames *ret);
/* The kernel's names as they are now; else they are read when the first is asked for. BPF programs have some only while
 * they are loaded. */
void names_load_kernel(struct names *n);
/* "[no unwind info: libfoo.so]" and so on, for how a walk ended (wire/unwind.h); NULL for a complete stack, and for
 * UT_END_NONE. */
const char *names_end(struct names *n, pid_t pid, unsigned end, uint64_t end_addr, uint64_t time_ns);
/* Is it one of those texts? As the outermost frame it says that the stack is cut. */
bool names_is_end(const char *text, size_t len);
/* File and base name behind an address, for messages; "" when there is none. */
const char *names_module(struct names *n, pid_t pid, uint64_t addr, uint64_t time_ns);
/* A hint that a process's frames without a name get: "node --perf-basic-prof", kept as a copy. One that speaks of a
 * FramePointer is for stacks that end in code without frame pointers instead; a process may have one of each. */
void names_hint(struct names *n, pid_t pid, const char *flag);

/* What was wrong with maps and dumps, a sentence each; *@ret lives until the next call. */
size_t names_notes(struct names *n, const char *const **ret);

#endif
