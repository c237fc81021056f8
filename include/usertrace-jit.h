/* SPDX-License-Identifier: MIT */
/*
 * usertrace-jit.h: tell profilers the names of JIT code.
 *
 * For runtimes that compile to machine code at run time. Copy usertrace-jit.h and usertrace-jit.c into a C (C99 or
 * later) or C++ (C++11 or later) program and compile the .c with it, or link with libusertrace, which holds the same
 * functions.
 *
 *	ut_jit_open(UT_JIT_MAP);		once, before the first code is compiled
 *	ut_jit_code(code, size, "fib");		code is complete, and this is its name
 *	ut_jit_move(code, to, size);		a collector has moved it
 *	ut_jit_drop(to, size);			it is about to be freed
 *
 * `usertrace profile -p PID` and `perf report` then print "fib" in the place of an address.
 *
 * All functions: may be called on any thread, in signal handlers and after fork, but not between vfork and exec. They
 * leave errno alone, raise no signal, call no function of any library, and read no memory but what they are given
 * and, in ut_jit_open, the environment.
 * Names, lines and code are copied before a call returns. An error ends the writing, never the program: ut_jit_error
 * explains it. Threads take turns, for the time of a write; a signal handler that has interrupted a call on its own
 * thread is not served (ut_jit_lost). If a thread leaves a call halfway, as by longjmp out of a handler, the next call
 * waits for 5 seconds and then ends the writing.
 *
 * Cost: a call, a load and a branch while nothing is written; otherwise about 2 microseconds and five system calls for
 * each piece of code. Memory: 16 to 32 bytes for each live piece of code.
 *
 * One copy of the .c serves a program, and its functions are hidden: a shared library has a copy and a state of its
 * own. Two copies in one program are an error of the linker; keep the newer one. Functions are added but never changed
 * or removed, so a newer .c with its header serves callers that were compiled with an older header.
 *
 * Works on Linux for x86-64 with gcc or clang; for arm64 it compiles and is untested. Elsewhere, and with UT_OFF
 * defined for the .c, all functions do nothing.
 *
 * Changes: 0.1.0 a header and a source; before that, a header alone.
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

/* The release that this file is of: major * 10000 + minor * 100 + patch. */
#define UT_JIT_VERSION 100

/* 1 if code can be named on this machine and UT_OFF is not defined, else 0. */
#if defined(__GNUC__) && defined(__linux__) && defined(__ELF__) && defined(__LP64__) && !defined(UT_OFF) && \
	(defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__)))
#define UT_HAVE_JIT 1
#else
#define UT_HAVE_JIT 0
#endif

/* Longest name in bytes; of a longer one, the end is replaced by "...". */
#define UT_JIT_NAME_MAX 511

/* Flags of ut_jit_open. The numbers never change. */
enum {
	/*
	 * /tmp/perf-PID.map: one line of text for each piece of code, with address, size and name. Every profiler reads
	 * it. It says nothing about time: of an address with several owners in turn, perf knows the last one, usertrace
	 * the one that was there when it took the sample. Maximum size: 64 MiB. A full map is written again with the
	 * live code alone and renamed over the old one; if more than three quarters of it is live, writing ends.
	 */
	UT_JIT_MAP = 1,
	/*
	 * /tmp/jit-PID.dump, perf's jitdump: with the code itself, its lines, and the time of each change. usertrace
	 * reads it as it is, perf after `perf record -k mono` and `perf inject --jit`. Its directory must not be
	 * mounted noexec. Maximum size: 256 MiB, then writing ends.
	 */
	UT_JIT_DUMP = 2,
	/* Ignore the environment. */
	UT_JIT_NO_ENV = 4
};

/* The code from @addr to the next line's address, or to the end, was compiled from this line. */
struct ut_jit_line {
	const void *addr;
	const char *file; /* NULL: the same as in the line before */
	uint32_t line; /* from 1 */
	uint32_t discriminator; /* distinguishes pieces of one line; usually 0 */
};

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Starts to write. Returns the files that are being written now, UT_JIT_MAP | UT_JIT_DUMP; 0 if there are none. Another
 * call adds files. Code that existed before is named by calls of ut_jit_code right after this one.
 *
 * Users have the last word, unless UT_JIT_NO_ENV is set or the program has more rights than its user. So with
 * ut_jit_open(0) nothing is written until a user asks for it:
 *	UT_JIT=map | dump | map,dump | off	which files are written
 *	UT_JIT_DIR=DIRECTORY			where the dump is written; profilers look for maps in /tmp alone
 *	UT_JIT_MAX=MIB				maximum size of either file, 1 to 4095
 *
 * Files have mode 0600. A file that an earlier process with this PID left behind is replaced; symbolic links, FIFOs and
 * other users' files are left alone, and are an error. A map that another part of the process appends to (CPython, a
 * library with its own copy of this code) is shared with it; one that is written in another way, as Node does, is an
 * error.
 */
int ut_jit_open(unsigned flags);

/*
 * The @size bytes at @addr, complete and not yet executed, are code with this name. Earlier code that overlaps them is
 * gone. @name should be UTF-8; white space becomes a space, other control characters become '?', and NULL or "" is
 * "[no name]". Code of 0 bytes, or of 4 GiB and more, is ignored. For a dump, the bytes are read; if they are
 * unreadable, this piece is left out and counted as lost.
 */
void ut_jit_code(const void *addr, size_t size, const char *name);

/*
 * The same with @count source lines in ascending order of address. Dumps hold them, maps do not. NULL or 0: no lines.
 */
void ut_jit_code_lines(const void *addr, size_t size, const char *name, const struct ut_jit_line *lines, size_t count);

/*
 * All code that begins in the @size bytes at @old_addr has moved by the same distance, to @new_addr, and nobody has
 * executed it there yet: call this while the threads are stopped. Ranges may overlap. For one function or for a whole
 * block.
 */
void ut_jit_move(const void *old_addr, const void *new_addr, size_t size);

/*
 * All code that overlaps the @size bytes at @addr is gone. Neither file can express that: it makes room when a map is
 * written again, and keeps the code out of the files of children.
 */
void ut_jit_drop(const void *addr, size_t size);

/*
 * To be called in the child right after fork: gives it its own files, with the live code of its parent. Without this
 * call the next ut_jit_code, _move or _drop in the child does that, and until then profilers know no names of the
 * child. If another thread of the parent was inside a call during the fork, the child's map has all the lines of its
 * parent, and its dump none.
 */
void ut_jit_forked(void);

/* Ends the writing. The files stay, since profilers read them later. ut_jit_open may start again, with new files. */
void ut_jit_close(void);

/* 1 while anything is written, else 0: for names that are costly to make. */
int ut_jit_on(void);

/*
 * Why something is not written, "PATH: what is wrong; what to do", or NULL. The string is the library's: it stays
 * valid, and a later error overwrites it.
 */
const char *ut_jit_error(void);

/* How many calls were given up: those of signal handlers inside another call, and code that could not be read. */
uint64_t ut_jit_lost(void);

#ifdef __cplusplus
}
#endif

#endif
