/* SPDX-License-Identifier: MIT */
/*
 * Names for the addresses of stacks, by process and time: what was mapped there, and which JIT code was there, at the time
 * of the sample. The recorder reports processes while it records (names_process and following). Not thread-safe. Out of
 * memory makes names missing, never wrong.
 *
 * Profiles look names up at the end, `trace` with each event (names_options.live).
 *
 * JIT code gets names in two steps, because its maps may be huge: names_request() for each address and time,
 * names_resolve() once, then names_user().
 */
#ifndef UT_SYM_NAMES_H
#define UT_SYM_NAMES_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/frame.h"

struct mapping;

/*
 * Appends a frame of a stack: "function+0x1f (libc.so.6)"; "fib+0x20 (JIT code)"; "vfs_read+0x9c" of the kernel,
 * "ext4_file_read_iter+0x9c [ext4]" of a module; without a name the address, as a virtual address of the file if there is
 * one, and the reason: "0x5591a0 [no symbols: python3.11]". Not escaped. @back: 1 if @addr is a return address and @f
 * the frame of the call before it.
 */
void frame_format(const struct frame *f, uint64_t addr, unsigned back, struct buf *out);

struct names_options {
	bool lines; /* inlined calls, files and lines from DWARF */
	const char *debug_dir; /* NULL: /usr/lib/debug; lives on */
	/*
	 * Names are looked up while events arrive, in their order: code maps are read as they grow, without names_request
	 * and names_resolve; mappings are read again when an address is in none of them; and a process is dropped when
	 * it exits.
	 */
	bool live;
};

struct names;
struct names *names_new(const struct names_options *o); /* NULL: out of memory */
struct names *names_free(struct names *n);

/*
 * The process exists at @time_ns (CLOCK_MONOTONIC): reads its mappings, opens its files, watches its code maps. For a known
 * process it reads the mappings again; a new mapping counts from the last reading, or the start of the process, unless it
 * replaces another one. Call it after names_exec, too. May raise the soft limit of descriptors when a quarter is in use.
 */
void names_process(struct names *n, pid_t pid, uint64_t time_ns);
/* @child has the mappings and code of @parent. */
void names_fork(struct names *n, pid_t parent, pid_t child, uint64_t time_ns);
/* The process runs another program from then on, with mappings of its own. */
void names_exec(struct names *n, pid_t pid, uint64_t time_ns);
/* A new mapping; one that is not executable only ends those that it replaces. All of these calls may come late, after
 * names_process has read the mappings. */
void names_mapped(struct names *n, pid_t pid, const struct mapping *m, uint64_t time_ns);
/* The process has exited: its files stay open for later lookups, and its PID may be reused. */
void names_exit(struct names *n, pid_t pid, uint64_t time_ns);
/* Are the mappings of the process known? Then names_process need not be called. */
bool names_has_process(struct names *n, pid_t pid);
/* Is JIT code of the process known? */
bool names_has_jit(struct names *n, pid_t pid);
/* With `live`: processes with JIT code that had no name since the last call; *@ret is valid until the next lookup. */
size_t names_missed(struct names *n, const pid_t **ret);
/* Polls for new and grown code maps; call it every few milliseconds while recording. Cheap when nothing happened. */
void names_poll(struct names *n, uint64_t time_ns);

/* Is @addr in JIT code at that time? Then it needs names_request. */
bool names_is_jit(struct names *n, pid_t pid, uint64_t addr, uint64_t time_ns);
void names_request(struct names *n, pid_t pid, uint64_t addr, bool exact, uint64_t time_ns);
void names_resolve(struct names *n, uint64_t time_ns);

/*
 * Appends the frames at @addr, innermost first: at least one, more where calls were inlined. @exact: @addr is the
 * instruction itself; otherwise it is a return address, and the call before it counts.
 */
void names_user(struct names *n, pid_t pid, uint64_t addr, bool exact, uint64_t time_ns, struct frames *ret);
void names_kernel(struct names *n, uint64_t addr, struct frames *ret);
/* Reads the kernel's names now instead of at the first lookup. BPF programs have names only while they are loaded. */
void names_load_kernel(struct names *n);
/* The placeholder frame for the end of an unwind (wire/unwind.h), "[no unwind info: libfoo.so]"; NULL for a complete stack and
 * for UT_END_NONE. */
const char *names_end(struct names *n, pid_t pid, unsigned end, uint64_t end_addr, uint64_t time_ns);
/* Is it such a placeholder? As the outermost frame it marks an incomplete stack. */
bool names_is_end(const char *text, size_t len);
/* File and base name behind an address, for messages; "" when there is none. */
const char *names_module(struct names *n, pid_t pid, uint64_t addr, uint64_t time_ns);
/* A flag that would give the process's JIT code names, "node --perf-basic-prof", for its placeholder frames; copied. One with
 * "FramePointer" in it is for stacks that end in code without frame pointers; a process may have one of each. */
void names_hint(struct names *n, pid_t pid, const char *flag);

/* Sentences about rejected or damaged maps and dumps; *@ret is valid until the next call. */
size_t names_notes(struct names *n, const char *const **ret);

#endif
