/* SPDX-License-Identifier: MIT */
/*
 * usertrace-jit.h: names JIT-compiled code for profilers.
 *
 * For runtimes with a JIT compiler. Copy usertrace-jit.h and usertrace-jit.c into a C (C99 or
 * later) or C++ (C++11 or later) program and compile the .c with it, or link with libusertrace, which exports the same
 * functions.
 *
 *	ut_jit_open(UT_JIT_MAP);		once, before the first code is compiled
 *	ut_jit_code(code, size, "fib");		report complete code and its name
 *	ut_jit_move(code, to, size);		report code that a collector has moved
 *	ut_jit_drop(to, size);			report code that is about to be freed
 *
 * `usertrace profile -p PID` and `perf report` then print "fib" instead of an address.
 *
 * All functions can be called on any thread, in signal handlers and after fork, but not between vfork and exec. They
 * preserve errno, raise no signals, call no library functions, and read only the memory passed to them and, in
 * ut_jit_open, the environment. Names, lines and code are copied before a call returns. After an error writing stops,
 * and the program is not affected: ut_jit_error returns the reason. A lock serializes threads for the duration of a
 * write; a call from a signal handler that interrupted another call on the same thread is dropped (ut_jit_lost). If a
 * thread never returns from a call, for instance because a handler calls longjmp, the next call waits for 5 seconds and
 * then stops writing.
 *
 * Cost: a call, a load and a branch if nothing is written; otherwise about 2 microseconds and five system calls per
 * piece of code. Memory: 16 to 32 bytes per live piece of code.
 *
 * A program needs one copy of the .c. Its functions have hidden visibility, so each shared library can have a copy with
 * a state of its own. Linking two copies into one program is a linker error; keep the newer one. Later versions may add
 * functions but never change or remove them, so a newer .c works with callers compiled with an older header.
 *
 * Works on Linux for x86-64 with gcc or clang; compiles for arm64, but is untested there. On other systems, and with
 * UT_OFF defined for the .c, all functions do nothing.
 *
 * Changes: 0.1.0: a header and a source file; before, a header only.
 */
#ifndef USERTRACE_JIT_H
#define USERTRACE_JIT_H

#ifdef __cplusplus
#if __cplusplus < 201103L
#error "usertrace-jit.h needs C++11 or later (-std=c++11)"
#endif
#elif !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
#error "usertrace-jit.h needs C99 or later (-std=c99)"
#endif

#include <stddef.h>
#include <stdint.h>

/* Version of this file: major * 10000 + minor * 100 + patch. */
#define UT_JIT_VERSION 100

/* 1 if this platform is supported and UT_OFF is not defined, else 0. */
#if defined(__GNUC__) && defined(__linux__) && defined(__ELF__) && defined(__LP64__) && !defined(UT_OFF) && \
	(defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__)))
#define UT_HAVE_JIT 1
#else
#define UT_HAVE_JIT 0
#endif

/* Maximum length of a name in bytes; the end of a longer one is replaced with "...". */
#define UT_JIT_NAME_MAX 511

/* Flags for ut_jit_open. The values never change. */
enum {
	/*
	 * /tmp/perf-PID.map: one line per piece of code, with address, size and name. All profilers read it. It has no
	 * timestamps: if an address had several owners, perf uses the last one, and usertrace the one that was in the
	 * map when it took the sample. Maximum size: 64 MiB. A full map is rewritten with the live code only and
	 * renamed over the old one; if more than three quarters of it are live, writing stops.
	 */
	UT_JIT_MAP = 1,
	/*
	 * /tmp/jit-PID.dump, perf's jitdump: also contains the code itself, its source lines, and the time of each
	 * change. usertrace reads it directly, perf after `perf record -k mono` and `perf inject --jit`. Its directory
	 * must not be mounted noexec. Writing stops at 256 MiB.
	 */
	UT_JIT_DUMP = 2,
	/* Ignore the environment. */
	UT_JIT_NO_ENV = 4
};

/* Source line of the code from @addr up to the address of the next entry, or to the end of the code. */
struct ut_jit_line {
	const void *addr;
	const char *file; /* NULL: same as in the previous entry */
	uint32_t line; /* from 1 */
	uint32_t discriminator; /* distinguishes code blocks of one line; usually 0 */
};

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Starts writing the files selected by @flags. Returns the flags of the files that are being written, UT_JIT_MAP |
 * UT_JIT_DUMP, or 0 if there are none. Further calls can add files. Report existing code with ut_jit_code right after
 * this call.
 *
 * The environment overrides @flags, unless they include UT_JIT_NO_ENV or the program has more privileges than its user.
 * ut_jit_open(0) therefore writes nothing unless the user requests it:
 *	UT_JIT=map | dump | map,dump | off	files to write
 *	UT_JIT_DIR=DIRECTORY			directory of the dump; profilers look for maps only in /tmp
 *	UT_JIT_MAX=MIB				maximum size of either file, 1 to 4095
 *
 * Files have mode 0600. A file left behind by an earlier process with this PID is replaced. Symbolic links, FIFOs and
 * files of other users are not touched, and are errors. If another part of the process appends to the map (CPython, or
 * a library with its own copy of this code), both share it; if it writes the map in another way, as Node does, that is
 * an error.
 */
int ut_jit_open(unsigned flags);

/*
 * Reports @size bytes of code at @addr, which must be complete and not yet executed. The code replaces all earlier code
 * that it overlaps. @name should be UTF-8; whitespace becomes a space, other control characters become '?', and NULL
 * and "" become "[no name]". Code of 0 bytes, or of 4 GiB or more, is ignored. A dump also contains the bytes of the
 * code; if they cannot be read, the code is omitted and counted as lost.
 */
void ut_jit_code(const void *addr, size_t size, const char *name);

/*
 * The same with @count source lines, in ascending order of address, which only a dump contains. NULL or 0: no lines.
 */
void ut_jit_code_lines(const void *addr, size_t size, const char *name, const struct ut_jit_line *lines, size_t count);

/*
 * Reports that all code that begins in the @size bytes at @old_addr, one function or a whole block, was moved by the
 * same distance to @new_addr. Call this while the threads are stopped, before the code is executed at its new address.
 * The ranges may overlap.
 */
void ut_jit_move(const void *old_addr, const void *new_addr, size_t size);

/*
 * Reports that all code that overlaps the @size bytes at @addr was freed. Neither format can record that; the code is
 * omitted when the map is rewritten, and from the files of forked children.
 */
void ut_jit_drop(const void *addr, size_t size);

/*
 * Creates files for a forked child, with the live code of its parent. Call this in the child right after fork;
 * otherwise the next ut_jit_code, _move or _drop in the child creates them, and profilers have no names for the child
 * until then. If another thread of the parent was in a call during the fork, the child's map has all lines of the
 * parent's map, and its dump has no code.
 */
void ut_jit_forked(void);

/* Stops writing. The files are kept, since profilers read them later. ut_jit_open can start again with new files. */
void ut_jit_close(void);

/* Returns 1 if a file is being written, else 0. Use it to guard the computation of expensive names. */
int ut_jit_on(void);

/*
 * Returns the reason why a file is not being written, as "PATH: problem; remedy", or NULL. The string is static; a
 * later error overwrites it.
 */
const char *ut_jit_error(void);

/* Returns the number of dropped calls: calls from a signal handler inside another call, and unreadable code. */
uint64_t ut_jit_lost(void);

#ifdef __cplusplus
}
#endif

#endif
