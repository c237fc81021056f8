/* SPDX-License-Identifier: MIT */
/*
 * usertrace-jit.h: your program names the code that it makes while it runs, so that profilers can.
 *
 * For runtimes with a compiler of their own, or with a heap that code lies in. Copy this file into any C (C99 or later)
 * or C++ (C++11 or later) program. There is nothing to link.
 *
 *	#include "usertrace-jit.h"
 *
 *	ut_jit_open(UT_JIT_MAP);			once, before the first code is made
 *	ut_jit_code(code, bytes, "fib");		there is code here now, and this is its name
 *	ut_jit_move(code, to, bytes);			it lies there now
 *	ut_jit_drop(to, bytes);				and now there is none
 *
 * Then `usertrace profile -p PID` and `perf report` have "fib" where they would have had a number.
 *
 * TWO FORMS, either or both:
 *
 *	UT_JIT_MAP	/tmp/perf-PID.map: an address, a size and a name per line. Every profiler reads it.
 *	UT_JIT_DUMP	/tmp/jit-PID.dump: with the code itself, its lines and the time of each change, so that an
 *			address that had many owners has the right one at each moment. For usertrace as it is; for perf
 *			by `perf record -k mono` and `perf inject --jit`.
 *
 * THE ENVIRONMENT has the last word, unless UT_JIT_NO_ENV is among the flags: ut_jit_open(0) writes nothing until a
 * user asks for it. A program with more rights than its user ignores it.
 *
 *	UT_JIT=map | dump | map,dump | off	what is written
 *	UT_JIT_DIR=FOLDER			where the dump is made; a map is always in /tmp, where readers look
 *	UT_JIT_MAX=MIB				how big either file may become
 *
 * CALLS
 *
 *	int ut_jit_open(unsigned flags)		Returns what is written now: UT_JIT_MAP, UT_JIT_DUMP, both or 0. May be
 *						called again.
 *	ut_jit_code(addr, size, name)		New code, complete. What was known of the place before is void.
 *	ut_jit_code_lines(…, lines, count)	The same with lines, for the dump: by address, each until the next.
 *	ut_jit_move(old, new, size)		All code that begins in this range moves by the same distance, now.
 *						Ranges may overlap. For each function, or for a whole block.
 *	ut_jit_drop(addr, size)			All code in this range is gone. Neither form can say so: it is left out
 *						when a file is written again.
 *	ut_jit_forked()				In the child, right after fork: it has its own files at once. Without
 *						it they come with its next announcement; until then nothing has a name.
 *	ut_jit_close()				Nothing more is written. The files stay: profilers read them later.
 *	ut_jit_on()				1 while anything is written: for names that are costly to make.
 *	ut_jit_error()				Why something is not written: a sentence, or NULL. It stays in place.
 *	ut_jit_lost()				How many announcements were given up, as those of a signal handler that
 *						had interrupted another.
 *
 * WHAT IT COSTS while nothing is written: a load and a branch, and 13 KB of code. Otherwise some 2 microseconds for a
 * piece of code: five system calls, one of them the write. Of memory 16 bytes for each piece that lives, 32 at worst.
 *
 * IT HARMS NOBODY: each error ends the writing and nothing else. No signal is raised, errno is not touched, no function
 * of any library is called; a full disk, a file size limit (ulimit -f) and a /tmp that cannot be written are errors.
 *
 * - The files have mode 0600. Links, FIFOs and other people's files at their place are left alone, and are an error. A
 *   file of ours from an earlier process of that number is replaced, never written to.
 * - A map that another part of the process appends to is shared: CPython's, or that of a library with its own copy of
 *   this header. One that is written otherwise, as Node's, is left to it.
 * - A descriptor that the program closed by chance is noticed before it is written to, and opened again.
 * - One write for each line, so that a reader sees whole lines; of a line that did not fit on the disk nothing stays.
 * - A map has at most 64 MiB. When it is full it is written again with the code that lives, beside the old one, and put
 *   in its place at once. When more than three quarters live, it stays as it is. A dump ends at 256 MiB.
 * - fork: the child's files begin with the code of its parent that lives. If another thread of the parent was just
 *   announcing, its map begins with all that the parent's says, and its dump with nothing. No announcement between
 *   vfork and exec.
 *
 * WHERE IT MAY STAND: anywhere, on any thread, in signal handlers. Threads wait for each other, for the time of a
 * write; of a thread that never ends its announcement, as one whose handler left by longjmp, they wait 5 s once, and
 * nothing is written after that.
 *
 * NAMES should be UTF-8. Control characters become '?', those of white space a blank; of more than 511 bytes the rest
 * is left out, and "..." says so. NULL and "" are "[no name]". They are copied before the call returns, as is the code.
 * Code of 0 bytes, or of 4 GiB and more, is not announced.
 *
 * IN ONE PROGRAM all files that include this one share its state; a library has its own. Programs in other languages
 * call the same functions in libusertrace.
 *
 * MACHINES: Linux on x86-64 with gcc or clang. For arm64 it is compiled, and was never run there. Elsewhere, and with
 * UT_OFF defined, all calls do nothing.
 *
 * Names that end in an underscore are no one's business but this file's.
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

#if defined(__GNUC__) && defined(__linux__) && defined(__ELF__) && defined(__LP64__) && !defined(UT_OFF) && \
	(defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__)))
#define UT_HAVE_JIT 1
#else
#define UT_HAVE_JIT 0
#endif

enum { UT_JIT_MAP = 1, UT_JIT_DUMP = 2, UT_JIT_NO_ENV = 4 };

/* From this address on, code is of this line. */
struct ut_jit_line {
	const void *addr;
	const char *file; /* NULL: as the line before */
	uint32_t line;
	uint32_t discriminator; /* of several pieces of one line; else 0 */
};

/* Bytes of a name; sizes of files. These may be defined before. */
#define UT_JIT_NAME_MAX 511
#ifndef UT_JIT_MAP_DIR
#define UT_JIT_MAP_DIR "/tmp"
#endif
#ifndef UT_JIT_DUMP_DIR
#define UT_JIT_DUMP_DIR "/tmp"
#endif
#ifndef UT_JIT_MAP_MAX
#define UT_JIT_MAP_MAX (64u << 20)
#endif
#ifndef UT_JIT_DUMP_MAX
#define UT_JIT_DUMP_MAX (256u << 20)
#endif

#if defined(__GNUC__)
#define UT_JIT_INLINE_ static inline __attribute__((always_inline, unused))
#else
#define UT_JIT_INLINE_ static inline
#endif

#if UT_HAVE_JIT

#include <sys/syscall.h>

/* ---- What there is, once in each program or library ---- */

/* Code that lives; they never overlap. @at is where its line or record is in the file. */
struct ut_jit_entry_ {
	uint64_t addr;
	uint32_t size, at;
};

#define UT_JIT_LEAF_ 256

struct ut_jit_leaf_ {
	uint64_t first; /* address of its first entry */
	uint64_t n; /* 1 to UT_JIT_LEAF_ */
	struct ut_jit_entry_ *e;
};

/* Sorted by address, in leaves, so that an insertion moves little. */
struct ut_jit_table_ {
	struct ut_jit_leaf_ *leaf;
	uint64_t n, room;
	char *blocks; /* memory of leaves, chained */
	char *fresh, *fresh_end; /* what was never used of the newest */
	struct ut_jit_entry_ *spare; /* leaves that were given back */
};

#define UT_JIT_PATH_ 256

struct ut_jit_file_ {
	int fd, shared;
	uint64_t dev, ino;
	char path[UT_JIT_PATH_];
};

/* A map or a dump that is being written. */
struct ut_jit_writer_ {
	struct ut_jit_file_ file;
	struct ut_jit_table_ table;
	uint64_t limit;
	uint64_t index; /* dump: number of the next code */
	long mark; /* dump: where it is mapped, for readers to find it; 0: nowhere */
};

struct ut_jit_state_ {
	uint32_t on; /* what is written; read without the lock */
	uint32_t has_error;
	uint64_t lock; /* process and thread that have it; 0: nobody */
	uint64_t lost;
	uint32_t pid; /* whose files these are; 0: nothing was opened yet */
	struct ut_jit_writer_ map, dump;
	char dir[UT_JIT_PATH_ - 32];
	char error[UT_JIT_PATH_ + 256];
};

#ifdef __cplusplus
#define UT_JIT_AS_(type, x) (static_cast<type>(x))
#define UT_JIT_RAW_(type, x) (reinterpret_cast<type>(x))
#define UT_JIT_NULL_ nullptr
extern "C" {
#else
#define UT_JIT_AS_(type, x) ((type)(x))
#define UT_JIT_RAW_(type, x) ((type)(x))
#define UT_JIT_NULL_ ((void *)0)
#endif
extern struct ut_jit_state_ ut_jit_ __attribute__((visibility("hidden")));
__attribute__((weak)) struct ut_jit_state_ ut_jit_;
extern char **ut_jit_environ_ __asm__("environ") __attribute__((weak));
#ifdef __cplusplus
}
#endif

#define UT_JIT_FN_ static __attribute__((noinline, cold, unused, no_instrument_function))
#define UT_JIT_SMALL_ static inline __attribute__((unused, no_instrument_function))

/* ---- System calls, without a library, so that errno stays and nothing can interpose ---- */

UT_JIT_SMALL_ long ut_jit_sys6_(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#endif
}

UT_JIT_SMALL_ long ut_jit_sys_(long number, long a, long b, long c, long d)
{
	return ut_jit_sys6_(number, a, b, c, d, 0, 0);
}

#define UT_JIT_P_(pointer) UT_JIT_RAW_(long, pointer)
/* The kernel's numbers, since strict C hides them. */
#define UT_JIT_CWD_ (-100L)
#define UT_JIT_RDWR_ 2L
#define UT_JIT_CREATE_ 0300L /* O_CREAT | O_EXCL */
#define UT_JIT_APPEND_ 02000L
#define UT_JIT_CAREFUL_ (UT_JIT_NOFOLLOW_ | 02004000L) /* O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK */
#if defined(__x86_64__)
#define UT_JIT_NOFOLLOW_ 0400000L
#define UT_JIT_MACHINE_ 62u
#else
#define UT_JIT_NOFOLLOW_ 0100000L
#define UT_JIT_MACHINE_ 183u
#endif
#define UT_JIT_EINTR_ (-4L)
#define UT_JIT_EFAULT_ (-14L)
#define UT_JIT_EEXIST_ (-17L)

struct ut_jit_stat_ {
	uint64_t dev, ino;
#if defined(__x86_64__)
	uint64_t nlink;
	uint32_t mode, uid, gid, pad;
	uint64_t rdev;
#else
	uint32_t mode, nlink, uid, gid;
	uint64_t rdev, pad;
#endif
	uint64_t size;
	uint64_t rest[12];
};

struct ut_jit_part_ {
	const void *bytes;
	uint64_t len;
};

UT_JIT_SMALL_ long ut_jit_fstat_(int fd, struct ut_jit_stat_ *st)
{
	return ut_jit_sys_(SYS_fstat, fd, UT_JIT_P_(st), 0, 0);
}

UT_JIT_SMALL_ long ut_jit_openat_(const char *path, long flags)
{
	return ut_jit_sys_(SYS_openat, UT_JIT_CWD_, UT_JIT_P_(path), flags | UT_JIT_CAREFUL_, 0600);
}

UT_JIT_SMALL_ void ut_jit_unlink_(const char *path) { ut_jit_sys_(SYS_unlinkat, UT_JIT_CWD_, UT_JIT_P_(path), 0, 0); }

UT_JIT_SMALL_ long ut_jit_pread_(int fd, void *ret, uint64_t len, uint64_t at)
{
	return ut_jit_sys_(SYS_pread64, fd, UT_JIT_P_(ret), UT_JIT_AS_(long, len), UT_JIT_AS_(long, at));
}

/* NULL: there is none. */
UT_JIT_FN_ char *ut_jit_memory_(uint64_t bytes)
{
	long ret = ut_jit_sys6_(SYS_mmap, 0, UT_JIT_AS_(long, bytes), 3, 0x22, -1, 0);

	return ret < 0 && ret > -4096 ? UT_JIT_AS_(char *, UT_JIT_NULL_) : UT_JIT_RAW_(char *, ret);
}

UT_JIT_SMALL_ void ut_jit_give_back_(const void *memory, uint64_t bytes)
{
	if (memory)
		ut_jit_sys_(SYS_munmap, UT_JIT_P_(memory), UT_JIT_AS_(long, bytes), 0, 0);
}

/* ---- Texts ---- */

/* Keeps compilers from making calls of memcpy and the like out of loops. */
#define UT_JIT_LOOP_ __asm__ volatile("" ::: "memory")

UT_JIT_SMALL_ void ut_jit_copy_(void *to, const void *from, uint64_t len)
{
#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len)::"memory");
#else
	unsigned char *d = UT_JIT_AS_(unsigned char *, to);
	const unsigned char *s = UT_JIT_AS_(const unsigned char *, from);

	while (len--) {
		*d++ = *s++;
		UT_JIT_LOOP_;
	}
#endif
}

UT_JIT_SMALL_ void ut_jit_zero_(void *to, uint64_t len)
{
	unsigned char *d = UT_JIT_AS_(unsigned char *, to);

	while (len--) {
		*d++ = 0;
		UT_JIT_LOOP_;
	}
}

UT_JIT_SMALL_ uint64_t ut_jit_length_(const char *text)
{
	uint64_t n = 0;

	while (text[n]) {
		n++;
		UT_JIT_LOOP_;
	}
	return n;
}

/* Appends to @ret of @size, always ended by NUL; what does not fit is left out. Returns the new length. */
UT_JIT_FN_ uint64_t ut_jit_add_(char *ret, uint64_t size, uint64_t at, const char *text)
{
	while (*text && at + 1 < size)
		ret[at++] = *text++;
	ret[at] = 0;
	return at;
}

UT_JIT_FN_ uint64_t ut_jit_add_number_(char *ret, uint64_t size, uint64_t at, uint64_t n, unsigned base)
{
	char digits[24];
	unsigned i = sizeof(digits) - 1;

	digits[i] = 0;
	do {
		digits[--i] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	return ut_jit_add_(ret, size, at, digits + i);
}

/* The name as one line, at @ret, which has room for UT_JIT_NAME_MAX + 1. Returns its length. */
UT_JIT_FN_ uint64_t ut_jit_clean_(char *ret, const char *name)
{
	uint64_t n = 0;

	if (!name || !*name)
		return ut_jit_add_(ret, UT_JIT_NAME_MAX + 1, 0, "[no name]");
	for (; name[n] && n < UT_JIT_NAME_MAX; n++) {
		unsigned char c = UT_JIT_AS_(unsigned char, name[n]);

		ret[n] = c >= ' ' && c != 127 ? name[n] : c >= '\t' && c <= '\r' ? ' ' : '?';
	}
	ret[n] = 0;
	if (!name[n])
		return n;
	/* No part of a character stays: back to where one begins. */
	for (n -= 3; n > UT_JIT_NAME_MAX - 7 && (UT_JIT_AS_(unsigned char, ret[n]) & 0xc0) == 0x80;)
		n--;
	return ut_jit_add_(ret, UT_JIT_NAME_MAX + 1, n, "...");
}

/* ---- Code that lives ---- */

/* The last leaf that begins at or before @addr, or the first. */
UT_JIT_FN_ uint64_t ut_jit_leaf_of_(const struct ut_jit_table_ *t, uint64_t addr)
{
	uint64_t lo = 0, hi = t->n;

	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (t->leaf[mid].first <= addr)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* How many entries of a leaf begin at or before @addr. */
UT_JIT_FN_ uint64_t ut_jit_place_(const struct ut_jit_leaf_ *l, uint64_t addr)
{
	uint64_t lo = 0, hi = l->n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (l->e[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first entry that has a byte in @from to @end, and its leaf. NULL: none. */
UT_JIT_FN_ struct ut_jit_entry_ *ut_jit_first_(const struct ut_jit_table_ *t, uint64_t from, uint64_t end,
					       uint64_t *leaf)
{
	uint64_t i = ut_jit_leaf_of_(t, from), at;
	struct ut_jit_entry_ *e = UT_JIT_AS_(struct ut_jit_entry_ *, UT_JIT_NULL_);

	if (!t->n)
		return e;
	at = ut_jit_place_(&t->leaf[i], from);
	if (at > 0 && t->leaf[i].e[at - 1].addr + t->leaf[i].e[at - 1].size > from)
		e = &t->leaf[i].e[at - 1];
	else if (at < t->leaf[i].n)
		e = &t->leaf[i].e[at];
	else if (++i < t->n)
		e = t->leaf[i].e;
	*leaf = i;
	return e && e->addr < end ? e : UT_JIT_AS_(struct ut_jit_entry_ *, UT_JIT_NULL_);
}

/* The last entry that begins in @from to @end, and its leaf. NULL: none. */
UT_JIT_FN_ struct ut_jit_entry_ *ut_jit_last_(const struct ut_jit_table_ *t, uint64_t from, uint64_t end,
					      uint64_t *leaf)
{
	uint64_t at;
	struct ut_jit_entry_ *e = UT_JIT_AS_(struct ut_jit_entry_ *, UT_JIT_NULL_);

	if (!t->n || end <= from)
		return e;
	*leaf = ut_jit_leaf_of_(t, end - 1);
	at = ut_jit_place_(&t->leaf[*leaf], end - 1);
	if (at > 0 && t->leaf[*leaf].e[at - 1].addr >= from)
		e = &t->leaf[*leaf].e[at - 1];
	return e;
}

UT_JIT_FN_ void ut_jit_take_(struct ut_jit_table_ *t, uint64_t leaf, struct ut_jit_entry_ *e)
{
	struct ut_jit_leaf_ *l = &t->leaf[leaf];

	l->n--;
	for (; e < l->e + l->n; e++) {
		e[0] = e[1];
		UT_JIT_LOOP_;
	}
	l->first = l->e[0].addr;
	if (l->n)
		return;
	l->e[0].addr = UT_JIT_RAW_(uint64_t, t->spare);
	t->spare = l->e;
	t->n--;
	for (; l < t->leaf + t->n; l++) {
		l[0] = l[1];
		UT_JIT_LOOP_;
	}
}

UT_JIT_FN_ void ut_jit_clear_(struct ut_jit_table_ *t, uint64_t from, uint64_t end)
{
	uint64_t leaf = 0;
	struct ut_jit_entry_ *e;

	while ((e = ut_jit_first_(t, from, end, &leaf)))
		ut_jit_take_(t, leaf, e);
}

#define UT_JIT_LEAF_BYTES_ (UT_JIT_LEAF_ * sizeof(struct ut_jit_entry_))
#define UT_JIT_BLOCK_ (64 * UT_JIT_LEAF_BYTES_)

/* Room for the entries of a leaf. NULL: no memory. */
UT_JIT_FN_ struct ut_jit_entry_ *ut_jit_new_leaf_(struct ut_jit_table_ *t)
{
	struct ut_jit_entry_ *ret = t->spare;
	char *block;

	if (ret) {
		t->spare = UT_JIT_RAW_(struct ut_jit_entry_ *, ret->addr);
		return ret;
	}
	if (t->fresh == t->fresh_end) {
		block = ut_jit_memory_(UT_JIT_BLOCK_);
		if (!block)
			return ret;
		*UT_JIT_RAW_(char **, block) = t->blocks;
		t->blocks = block;
		t->fresh = block + UT_JIT_LEAF_BYTES_; /* the first leaf's room has the chain */
		t->fresh_end = block + UT_JIT_BLOCK_;
	}
	ret = UT_JIT_RAW_(struct ut_jit_entry_ *, t->fresh);
	t->fresh += UT_JIT_LEAF_BYTES_;
	return ret;
}

/* 0, or -1: no memory. */
UT_JIT_FN_ int ut_jit_more_leaves_(struct ut_jit_table_ *t)
{
	uint64_t room = t->room ? 2 * t->room : 170;
	char *memory;

	if (t->n < t->room)
		return 0;
	memory = ut_jit_memory_(room * sizeof(*t->leaf));
	if (!memory)
		return -1;
	ut_jit_copy_(memory, t->leaf, t->n * sizeof(*t->leaf));
	ut_jit_give_back_(t->leaf, t->room * sizeof(*t->leaf));
	t->leaf = UT_JIT_RAW_(struct ut_jit_leaf_ *, memory);
	t->room = room;
	return 0;
}

/* Puts a leaf with @n entries from @e at @i. 0, or -1: no memory. */
UT_JIT_FN_ int ut_jit_add_leaf_(struct ut_jit_table_ *t, uint64_t i, const struct ut_jit_entry_ *e, uint64_t n)
{
	struct ut_jit_entry_ *room;

	if (ut_jit_more_leaves_(t))
		return -1;
	room = ut_jit_new_leaf_(t);
	if (!room)
		return -1;
	for (struct ut_jit_leaf_ *l = t->leaf + t->n; l > t->leaf + i; l--) {
		l[0] = l[-1];
		UT_JIT_LOOP_;
	}
	t->n++;
	ut_jit_copy_(room, e, n * sizeof(*e));
	t->leaf[i].e = room;
	t->leaf[i].n = n;
	t->leaf[i].first = e->addr;
	return 0;
}

/* What overlaps it is no more. 0, or -1: no memory. */
UT_JIT_FN_ int ut_jit_put_(struct ut_jit_table_ *t, struct ut_jit_entry_ entry)
{
	uint64_t i, at;
	struct ut_jit_leaf_ *l;

	ut_jit_clear_(t, entry.addr, entry.addr + entry.size);
	i = ut_jit_leaf_of_(t, entry.addr);
	if (!t->n)
		return ut_jit_add_leaf_(t, 0, &entry, 1);
	if (t->leaf[i].n == UT_JIT_LEAF_) {
		/* Code is mostly made at rising addresses: full leaves stay full then. */
		if (ut_jit_place_(&t->leaf[i], entry.addr) == UT_JIT_LEAF_)
			return ut_jit_add_leaf_(t, i + 1, &entry, 1);
		if (ut_jit_add_leaf_(t, i + 1, t->leaf[i].e + UT_JIT_LEAF_ / 2, UT_JIT_LEAF_ / 2))
			return -1;
		t->leaf[i].n = UT_JIT_LEAF_ / 2;
		i = ut_jit_leaf_of_(t, entry.addr);
	}
	l = &t->leaf[i];
	at = ut_jit_place_(l, entry.addr);
	for (uint64_t k = l->n; k > at; k--) {
		l->e[k] = l->e[k - 1];
		UT_JIT_LOOP_;
	}
	l->e[at] = entry;
	l->n++;
	l->first = l->e[0].addr;
	return 0;
}

UT_JIT_FN_ void ut_jit_free_table_(struct ut_jit_table_ *t)
{
	char *next;

	for (char *block = t->blocks; block; block = next) {
		next = *UT_JIT_RAW_(char **, block);
		ut_jit_give_back_(block, UT_JIT_BLOCK_);
	}
	ut_jit_give_back_(t->leaf, t->room * sizeof(*t->leaf));
	ut_jit_zero_(t, sizeof(*t));
}

/* ---- Files ---- */

/* All that follow return NULL, or why not. */

static const char ut_jit_full_[] __attribute__((unused)) = "it has its greatest size (UT_JIT_MAX)";

UT_JIT_FN_ const char *ut_jit_why_(long error)
{
	switch (-error) {
	case 1:
	case 13: return "permission is denied";
	case 2:
	case 20: return "its folder is not there; set UT_JIT_DIR to one that is";
	case 12: return "there is no memory";
	case 23:
	case 24: return "there are too many open files";
	case 27: return "it would be longer than files may be (ulimit -f)";
	case 28:
	case 122: return "the disk is full";
	case 30: return "its file system is read-only";
	case 40: return "a symbolic link is there; remove it";
	default: return "it cannot be written";
	}
}

/* Is the file open in this process by another descriptor? 0: no; 1: yes, to append; 2: yes, to write anywhere. */
UT_JIT_FN_ int ut_jit_others_(const struct ut_jit_stat_ *file, int mine)
{
	uint64_t buf[128];
	char *entries = UT_JIT_RAW_(char *, buf);
	long n, folder = ut_jit_sys_(SYS_openat, UT_JIT_CWD_, UT_JIT_P_("/proc/self/fd"), 02000000, 0);
	int ret = 0;

	if (folder < 0)
		return 0;
	while ((n = ut_jit_sys_(SYS_getdents64, folder, UT_JIT_P_(entries), sizeof(buf), 0)) > 0) {
		for (long i = 0; i < n;) {
			struct ut_jit_stat_ st;
			const char *name = entries + i + 19;
			int fd = 0;
			long flags;

			i += UT_JIT_AS_(unsigned char, entries[i + 16]);
			i += UT_JIT_AS_(unsigned char, name[-2]) * 256L;
			for (; *name >= '0' && *name <= '9'; name++)
				fd = fd * 10 + (*name - '0');
			if (*name || fd == mine || ut_jit_fstat_(fd, &st) || st.dev != file->dev || st.ino != file->ino)
				continue;
			flags = ut_jit_sys_(SYS_fcntl, fd, 3, 0, 0);
			if (flags > 0 && (flags & 3))
				ret = !(flags & UT_JIT_APPEND_) ? 2 : ret ? ret : 1;
		}
	}
	ut_jit_sys_(SYS_close, folder, 0, 0, 0);
	return ret;
}

UT_JIT_FN_ const char *ut_jit_adopt_(struct ut_jit_file_ *f, long fd)
{
	struct ut_jit_stat_ st;
	long high;
	const char *why = UT_JIT_AS_(const char *, UT_JIT_NULL_);

	/* Not where a program expects its standard input and output. */
	if (fd < 3) {
		high = ut_jit_sys_(SYS_fcntl, fd, 1030, 3, 0);
		ut_jit_sys_(SYS_close, fd, 0, 0, 0);
		fd = high;
	}
	if (fd < 0 || ut_jit_fstat_(UT_JIT_AS_(int, fd), &st))
		why = ut_jit_why_(fd);
	else if ((st.mode & 0170000) != 0100000)
		why = "something else than a file is there; remove it";
	if (why) {
		if (fd >= 0)
			ut_jit_sys_(SYS_close, fd, 0, 0, 0);
		return why;
	}
	f->fd = UT_JIT_AS_(int, fd);
	f->dev = st.dev;
	f->ino = st.ino;
	return why;
}

/* What is at the place: may it be taken away? @share: or joined? Then *@fd is its descriptor. */
UT_JIT_FN_ const char *ut_jit_make_room_(const struct ut_jit_file_ *f, int share, long *fd)
{
	struct ut_jit_stat_ st, opened;
	int others;

	if (ut_jit_sys_(SYS_newfstatat, UT_JIT_CWD_, UT_JIT_P_(f->path), UT_JIT_P_(&st), 0x100))
		return UT_JIT_AS_(const char *, UT_JIT_NULL_); /* it is gone already */
	if ((st.mode & 0170000) == 0120000)
		return "a symbolic link is there; remove it";
	if ((st.mode & 0170000) != 0100000)
		return "something else than a file is there; remove it";
	if (st.uid != UT_JIT_AS_(uint32_t, ut_jit_sys_(SYS_geteuid, 0, 0, 0, 0)))
		return "another user's file is there; remove it";
	others = ut_jit_others_(&st, -1);
	if (others && (others == 2 || !share))
		return "another compiler in this process writes it";
	if (!others) {
		ut_jit_unlink_(f->path);
		return UT_JIT_AS_(const char *, UT_JIT_NULL_);
	}
	*fd = ut_jit_openat_(f->path, UT_JIT_RDWR_ | UT_JIT_APPEND_);
	if (*fd < 0)
		return ut_jit_why_(*fd);
	if (!ut_jit_fstat_(UT_JIT_AS_(int, *fd), &opened) && opened.dev == st.dev && opened.ino == st.ino)
		return UT_JIT_AS_(const char *, UT_JIT_NULL_);
	ut_jit_sys_(SYS_close, *fd, 0, 0, 0);
	return "it changes all the time";
}

/* Makes the file of @f->path. */
UT_JIT_FN_ const char *ut_jit_create_(struct ut_jit_file_ *f, int share)
{
	const char *why;
	long fd;

	for (int tries = 0; tries < 5; tries++) {
		fd = ut_jit_openat_(f->path, UT_JIT_RDWR_ | UT_JIT_APPEND_ | UT_JIT_CREATE_);
		f->shared = 0;
		if (fd >= 0) {
			ut_jit_sys_(SYS_fchmod, fd, 0600, 0, 0); /* whatever the umask is */
			return ut_jit_adopt_(f, fd);
		}
		if (fd != UT_JIT_EEXIST_)
			return ut_jit_why_(fd);
		why = ut_jit_make_room_(f, share, &fd);
		if (why)
			return why;
		f->shared = fd >= 0;
		if (fd >= 0)
			return ut_jit_adopt_(f, fd);
	}
	return "whoever else makes it is faster";
}

/* Is the descriptor still ours? *@size: of the file. */
UT_JIT_FN_ int ut_jit_is_ours_(const struct ut_jit_file_ *f, uint64_t *size)
{
	struct ut_jit_stat_ st;

	if (ut_jit_fstat_(f->fd, &st) || st.dev != f->dev || st.ino != f->ino)
		return 0;
	*size = st.size;
	return 1;
}

/* The program may have closed our descriptor, and opened something else by that number. */
UT_JIT_FN_ const char *ut_jit_hold_(struct ut_jit_file_ *f, uint64_t *size)
{
	struct ut_jit_file_ again;
	long fd;

	if (ut_jit_is_ours_(f, size))
		return UT_JIT_AS_(const char *, UT_JIT_NULL_);
	fd = ut_jit_openat_(f->path, UT_JIT_RDWR_ | UT_JIT_APPEND_);
	if (fd < 0 || ut_jit_adopt_(&again, fd))
		return "its descriptor was closed, and it is not there any more";
	if (again.dev == f->dev && again.ino == f->ino) {
		f->fd = again.fd;
		if (ut_jit_is_ours_(f, size))
			return UT_JIT_AS_(const char *, UT_JIT_NULL_);
	}
	ut_jit_sys_(SYS_close, again.fd, 0, 0, 0);
	return "its descriptor was closed, and another file is there";
}

UT_JIT_FN_ void ut_jit_close_file_(struct ut_jit_file_ *f)
{
	uint64_t size;

	if (f->fd > 0 && ut_jit_is_ours_(f, &size))
		ut_jit_sys_(SYS_close, f->fd, 0, 0, 0);
	f->fd = -1;
}

/* A write ended within its last part: what does the next say? */
UT_JIT_FN_ long ut_jit_rest_(const struct ut_jit_file_ *f, const struct ut_jit_part_ *last, uint64_t rest)
{
	const char *end = UT_JIT_AS_(const char *, last->bytes) + last->len;

	return rest > last->len ? 0 : ut_jit_sys_(SYS_write, f->fd, UT_JIT_P_(end - rest), UT_JIT_AS_(long, rest), 0);
}

/*
 * Appends all parts by one write, or nothing. *@at: where they begin. What is appended must be in the caller's memory;
 * if it cannot be read, the return value is "".
 */
UT_JIT_FN_ const char *ut_jit_append_(struct ut_jit_file_ *f, uint64_t limit, const struct ut_jit_part_ *part,
				      int parts, uint64_t *at)
{
	uint64_t size, len = 0, most[2];
	const char *why = ut_jit_hold_(f, &size);
	long n;

	for (int i = 0; i < parts; i++)
		len += part[i].len;
	if (why)
		return why;
	if (len > limit || size > limit - len)
		return ut_jit_full_;
	/* A write beyond this limit would raise SIGXFSZ. */
	if (!ut_jit_sys_(SYS_prlimit64, 0, 1, 0, UT_JIT_P_(most)) && (len > most[0] || size > most[0] - len))
		return ut_jit_why_(-27);
	do {
		n = ut_jit_sys_(SYS_writev, f->fd, UT_JIT_P_(part), parts, 0);
	} while (n == UT_JIT_EINTR_);
	*at = size;
	if (n > 0 && UT_JIT_AS_(uint64_t, n) == len) {
		if (f->shared) /* others may have come between */
			*at = UT_JIT_AS_(uint64_t, ut_jit_sys_(SYS_lseek, f->fd, 0, 1, 0)) - len;
		return why;
	}
	if (n > 0) {
		n = ut_jit_rest_(f, &part[parts - 1], len - UT_JIT_AS_(uint64_t, n));
		if (!f->shared)
			ut_jit_sys_(SYS_ftruncate, f->fd, UT_JIT_AS_(long, size), 0, 0);
	}
	return n == UT_JIT_EFAULT_ ? "" : n >= 0 ? ut_jit_why_(-28) : ut_jit_why_(n);
}

/* Where a writer's file is: FOLDER/perf-PID.map or FOLDER/jit-PID.dump. */
UT_JIT_FN_ void ut_jit_path_(struct ut_jit_file_ *f, uint32_t which, uint32_t pid)
{
	const uint64_t size = UT_JIT_PATH_ - 8;
	uint64_t n = ut_jit_add_(f->path, size, 0,
				 which == UT_JIT_MAP ? UT_JIT_MAP_DIR
				 : ut_jit_.dir[0]    ? ut_jit_.dir
						     : UT_JIT_DUMP_DIR);

	n = ut_jit_add_(f->path, size, n, which == UT_JIT_MAP ? "/perf-" : "/jit-");
	n = ut_jit_add_number_(f->path, size, n, pid, 10);
	ut_jit_add_(f->path, size, n, which == UT_JIT_MAP ? ".map" : ".dump");
}

/* ---- The map ---- */

/* Two numbers, a name and three that divide them. */
#define UT_JIT_LINE_ (16 + 8 + 3 + UT_JIT_NAME_MAX)
#define UT_JIT_BATCH_ 65536u

/* Appends what is in a buffer. */
UT_JIT_FN_ const char *ut_jit_flush_(struct ut_jit_file_ *to, uint64_t limit, const char *buf, uint64_t *len)
{
	const char *why = UT_JIT_AS_(const char *, UT_JIT_NULL_);
	struct ut_jit_part_ part;
	uint64_t at;

	part.bytes = buf;
	part.len = *len;
	if (*len)
		why = ut_jit_append_(to, limit, &part, 1, &at);
	*len = 0;
	return why;
}

/* Reads an entry's line, its end included. 0: it is not there. */
UT_JIT_FN_ uint64_t ut_jit_read_line_(const struct ut_jit_file_ *f, const struct ut_jit_entry_ *e, char *ret)
{
	long n = ut_jit_pread_(f->fd, ret, UT_JIT_LINE_, e->at);

	for (long i = 0; i < n; i++) {
		if (ret[i] == '\n')
			return UT_JIT_AS_(uint64_t, i + 1);
	}
	return 0;
}

/* The lines of all code that lives, from the writer's file to a new one; the table then has their places there. */
UT_JIT_FN_ const char *ut_jit_copy_lines_(struct ut_jit_writer_ *w, struct ut_jit_file_ *to)
{
	uint64_t size, filled = 0, written = 0;
	char *buf = ut_jit_memory_(UT_JIT_BATCH_);
	const char *why = !buf	       ? ut_jit_why_(-12)
			  : w->table.n ? ut_jit_hold_(&w->file, &size)
				       : UT_JIT_AS_(const char *, UT_JIT_NULL_);

	for (uint64_t i = 0; !why && i < w->table.n; i++) {
		struct ut_jit_leaf_ *l = &w->table.leaf[i];

		for (uint64_t k = 0; !why && k < l->n; k++) {
			uint64_t len = ut_jit_read_line_(&w->file, &l->e[k], buf + filled);

			if (!len)
				why = "somebody changed it";
			l->e[k].at = UT_JIT_AS_(uint32_t, written);
			written += len;
			filled += len;
			if (filled > UT_JIT_BATCH_ - UT_JIT_LINE_)
				why = ut_jit_flush_(to, w->limit / 4 * 3, buf, &filled);
		}
	}
	if (!why)
		why = ut_jit_flush_(to, w->limit / 4 * 3, buf, &filled);
	ut_jit_give_back_(buf, UT_JIT_BATCH_);
	return why;
}

/* The map is full: writes another with what lives, and puts it in its place. */
UT_JIT_FN_ const char *ut_jit_rewrite_(struct ut_jit_writer_ *w)
{
	struct ut_jit_file_ fresh;
	struct ut_jit_stat_ st;
	const char *why;
	long done;

	st.dev = w->file.dev;
	st.ino = w->file.ino;
	if (w->file.shared || ut_jit_others_(&st, w->file.fd))
		return "it is full, and shared";
	ut_jit_add_(fresh.path, UT_JIT_PATH_, ut_jit_add_(fresh.path, UT_JIT_PATH_, 0, w->file.path), ".new");
	why = ut_jit_create_(&fresh, 0);
	if (why)
		return why;
	why = ut_jit_copy_lines_(w, &fresh);
	if (!why) {
		done = ut_jit_sys_(SYS_renameat, UT_JIT_CWD_, UT_JIT_P_(fresh.path), UT_JIT_CWD_,
				   UT_JIT_P_(w->file.path));
		if (done < 0)
			why = ut_jit_why_(done);
	}
	if (why) {
		ut_jit_unlink_(fresh.path);
		ut_jit_close_file_(&fresh);
		return why;
	}
	ut_jit_close_file_(&w->file);
	w->file.dev = fresh.dev;
	w->file.ino = fresh.ino;
	w->file.fd = fresh.fd;
	return why;
}

/* @name is clean. */
UT_JIT_FN_ const char *ut_jit_write_line_(struct ut_jit_writer_ *w, uint64_t addr, uint32_t size, const char *name)
{
	char line[UT_JIT_LINE_ + 1];
	struct ut_jit_part_ part;
	struct ut_jit_entry_ entry;
	uint64_t at = 0;
	const char *why;

	part.len = ut_jit_add_number_(line, sizeof(line), 0, addr, 16);
	part.len = ut_jit_add_(line, sizeof(line), part.len, " ");
	part.len = ut_jit_add_number_(line, sizeof(line), part.len, size, 16);
	part.len = ut_jit_add_(line, sizeof(line), part.len, " ");
	part.len = ut_jit_add_(line, sizeof(line), part.len, name);
	part.len = ut_jit_add_(line, sizeof(line), part.len, "\n");
	part.bytes = line;
	why = ut_jit_append_(&w->file, w->limit, &part, 1, &at);
	if (why == ut_jit_full_) {
		ut_jit_clear_(&w->table, addr, addr + size);
		why = ut_jit_rewrite_(w);
		if (!why)
			why = ut_jit_append_(&w->file, w->limit, &part, 1, &at);
	}
	if (why)
		return why;
	entry.addr = addr;
	entry.size = size;
	entry.at = UT_JIT_AS_(uint32_t, at);
	return ut_jit_put_(&w->table, entry) ? ut_jit_why_(-12) : why;
}

UT_JIT_FN_ const char *ut_jit_move_line_(struct ut_jit_writer_ *w, const struct ut_jit_entry_ *e, uint64_t to)
{
	char line[UT_JIT_LINE_ + 1];
	uint64_t size, len, at = 0;
	const char *why = ut_jit_hold_(&w->file, &size);

	if (why)
		return why;
	len = ut_jit_read_line_(&w->file, e, line);
	if (!len)
		return "somebody changed it";
	line[len - 1] = 0;
	for (int spaces = 0; spaces < 2 && at < len; at++)
		spaces += line[at] == ' ';
	return ut_jit_write_line_(w, to, e->size, line + at);
}

/* ---- The dump ---- */

/* As Linux's tools/perf/Documentation/jitdump-specification.txt has them. */
struct ut_jit_record_ {
	uint32_t kind, bytes;
	uint64_t time;
};

enum { UT_JIT_LOAD_ = 0, UT_JIT_MOVED_ = 1, UT_JIT_LINES_ = 2, UT_JIT_CLOSED_ = 3 };

struct ut_jit_load_ {
	struct ut_jit_record_ r;
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct ut_jit_moved_ {
	struct ut_jit_record_ r;
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

/* After it, count times: u64 address, u32 line, u32 discriminator, the file's name. */
struct ut_jit_lines_ {
	struct ut_jit_record_ r;
	uint64_t addr, count;
};

struct ut_jit_header_ {
	uint32_t magic, version, bytes, machine, pad, pid;
	uint64_t time, flags;
};

/* CLOCK_MONOTONIC */
UT_JIT_FN_ uint64_t ut_jit_now_(void)
{
	int64_t t[2];

	t[0] = t[1] = 0;
	ut_jit_sys_(SYS_clock_gettime, 1, UT_JIT_P_(t), 0, 0);
	return UT_JIT_AS_(uint64_t, t[0]) * 1000000000u + UT_JIT_AS_(uint64_t, t[1]);
}

UT_JIT_FN_ const char *ut_jit_begin_dump_(struct ut_jit_writer_ *w)
{
	struct ut_jit_header_ h;
	struct ut_jit_part_ part;
	uint64_t at;
	const char *why;

	h.magic = 0x4a695444;
	h.version = 1;
	h.bytes = sizeof(h);
	h.machine = UT_JIT_MACHINE_;
	h.pad = 0;
	h.pid = ut_jit_.pid;
	h.time = ut_jit_now_();
	h.flags = 0;
	part.bytes = &h;
	part.len = sizeof(h);
	why = ut_jit_append_(&w->file, w->limit, &part, 1, &at);
	if (why)
		return why;
	/* Profilers see the mapping, and know where the dump is. */
	w->mark = ut_jit_sys6_(SYS_mmap, 0, sizeof(h), 5, 2, w->file.fd, 0);
	if (w->mark < 0 && w->mark > -4096) {
		w->mark = 0;
		return "it cannot be mapped to execute, as profilers expect; set UT_JIT_DIR to a folder without noexec";
	}
	return why;
}

UT_JIT_FN_ void ut_jit_unmark_(struct ut_jit_writer_ *w)
{
	if (w->mark)
		ut_jit_sys_(SYS_munmap, w->mark, sizeof(struct ut_jit_header_), 0, 0);
	w->mark = 0;
}

UT_JIT_SMALL_ uint32_t ut_jit_tid_(void) { return UT_JIT_AS_(uint32_t, ut_jit_sys_(SYS_gettid, 0, 0, 0, 0)); }

/* @name is clean. @lines: where the lines of this code were written, or 0. */
UT_JIT_FN_ const char *ut_jit_write_load_(struct ut_jit_writer_ *w, uint64_t addr, uint32_t size, const char *name,
					  uint64_t lines, uint64_t *at)
{
	struct ut_jit_load_ load;
	struct ut_jit_part_ part[3];
	struct ut_jit_entry_ entry;
	const char *why;

	load.r.kind = UT_JIT_LOAD_;
	load.r.time = ut_jit_now_();
	load.pid = ut_jit_.pid;
	load.tid = ut_jit_tid_();
	load.vma = load.addr = addr;
	load.size = size;
	load.index = w->index;
	part[0].bytes = &load;
	part[0].len = sizeof(load);
	part[1].bytes = name;
	part[1].len = ut_jit_length_(name) + 1;
	part[2].bytes = UT_JIT_RAW_(const void *, addr);
	part[2].len = size;
	load.r.bytes = UT_JIT_AS_(uint32_t, part[0].len + part[1].len + part[2].len);
	if (size > w->limit)
		return ut_jit_full_;
	why = ut_jit_append_(&w->file, w->limit, part, 3, at);
	if (why)
		return why;
	w->index++;
	entry.addr = addr;
	entry.size = size;
	entry.at = UT_JIT_AS_(uint32_t, lines ? lines : *at);
	*at = entry.at;
	return ut_jit_put_(&w->table, entry) ? ut_jit_why_(-12) : why;
}

/* Reads an entry's LOAD, and its name, which has room for UT_JIT_NAME_MAX + 1. 0: it is not there. */
UT_JIT_FN_ int ut_jit_read_load_(const struct ut_jit_file_ *f, const struct ut_jit_entry_ *e, struct ut_jit_load_ *ret,
				 char *name)
{
	const long whole = sizeof(*ret);
	uint64_t at = e->at;
	long n;

	if (ut_jit_pread_(f->fd, ret, sizeof(*ret), at) != whole)
		return 0;
	if (ret->r.kind == UT_JIT_LINES_) {
		at += ret->r.bytes;
		if (ut_jit_pread_(f->fd, ret, sizeof(*ret), at) != whole)
			return 0;
	}
	n = ut_jit_pread_(f->fd, name, UT_JIT_NAME_MAX + 1, at + sizeof(*ret));
	for (long i = 0; i < n; i++) {
		if (!name[i])
			return ret->r.kind == UT_JIT_LOAD_;
	}
	return 0;
}

UT_JIT_FN_ const char *ut_jit_write_moved_(struct ut_jit_writer_ *w, const struct ut_jit_entry_ *e, uint64_t to)
{
	char name[UT_JIT_NAME_MAX + 1];
	struct ut_jit_load_ load;
	struct ut_jit_moved_ moved;
	struct ut_jit_part_ part;
	struct ut_jit_entry_ entry = *e;
	uint64_t at;
	const char *why = ut_jit_hold_(&w->file, &at);

	if (why)
		return why;
	if (!ut_jit_read_load_(&w->file, e, &load, name))
		return "somebody changed it";
	moved.r.kind = UT_JIT_MOVED_;
	moved.r.bytes = sizeof(moved);
	moved.r.time = ut_jit_now_();
	moved.pid = ut_jit_.pid;
	moved.tid = ut_jit_tid_();
	moved.vma = moved.to = to;
	moved.from = e->addr;
	moved.size = e->size;
	moved.index = load.index;
	part.bytes = &moved;
	part.len = sizeof(moved);
	why = ut_jit_append_(&w->file, w->limit, &part, 1, &at);
	entry.addr = to;
	if (why)
		return why;
	return ut_jit_put_(&w->table, entry) ? ut_jit_why_(-12) : why;
}

/* A buffer that is appended when it is full: what is longer than it is not written at once. */
struct ut_jit_batch_ {
	struct ut_jit_writer_ *w;
	const char *why;
	char *buf;
	uint64_t filled;
};

UT_JIT_FN_ void ut_jit_gather_(struct ut_jit_batch_ *b, const void *bytes, uint64_t len)
{
	const char *from = UT_JIT_AS_(const char *, bytes);

	while (len && !b->why) {
		uint64_t n = UT_JIT_BATCH_ - b->filled < len ? UT_JIT_BATCH_ - b->filled : len;

		ut_jit_copy_(b->buf + b->filled, from, n);
		b->filled += n;
		from += n;
		len -= n;
		if (b->filled == UT_JIT_BATCH_)
			b->why = ut_jit_flush_(&b->w->file, b->w->limit, b->buf, &b->filled);
	}
}

/* The name that is written: "\xff" says that it is as before. */
UT_JIT_SMALL_ const char *ut_jit_line_file_(const struct ut_jit_line *lines, size_t i)
{
	if (lines[i].file && (i == 0 || lines[i].file != lines[i - 1].file))
		return lines[i].file;
	return i ? "\xff" : "";
}

/* *@at: where the record is. Its size must be known before it is written. */
UT_JIT_FN_ const char *ut_jit_write_lines_(struct ut_jit_writer_ *w, uint64_t addr, const struct ut_jit_line *lines,
					   size_t count, uint64_t *at)
{
	struct ut_jit_lines_ head;
	struct ut_jit_batch_ b;
	uint64_t bytes = sizeof(head);

	for (size_t i = 0; i < count; i++)
		bytes += 16 + ut_jit_length_(ut_jit_line_file_(lines, i)) + 1;
	b.why = ut_jit_hold_(&w->file, at);
	if (b.why || bytes > w->limit || *at > w->limit - bytes)
		return b.why ? b.why : ut_jit_full_;
	b.w = w;
	b.filled = 0;
	b.buf = ut_jit_memory_(UT_JIT_BATCH_);
	if (!b.buf)
		return ut_jit_why_(-12);
	head.r.kind = UT_JIT_LINES_;
	head.r.bytes = UT_JIT_AS_(uint32_t, bytes);
	head.r.time = ut_jit_now_();
	head.addr = addr;
	head.count = count;
	ut_jit_gather_(&b, &head, sizeof(head));
	for (size_t i = 0; i < count && !b.why; i++) {
		const char *file = ut_jit_line_file_(lines, i);

		ut_jit_gather_(&b, &lines[i].addr, 8);
		ut_jit_gather_(&b, &lines[i].line, 4);
		ut_jit_gather_(&b, &lines[i].discriminator, 4);
		ut_jit_gather_(&b, file, ut_jit_length_(file) + 1);
	}
	if (!b.why)
		b.why = ut_jit_flush_(&w->file, w->limit, b.buf, &b.filled);
	ut_jit_give_back_(b.buf, UT_JIT_BATCH_);
	return b.why;
}

/* Copies the lines of an entry of @from, if it has not moved. *@ret: where they are now, or 0. */
UT_JIT_FN_ const char *ut_jit_copy_record_(struct ut_jit_writer_ *w, const struct ut_jit_file_ *from,
					   const struct ut_jit_entry_ *e, uint64_t *ret)
{
	const char *why = UT_JIT_AS_(const char *, UT_JIT_NULL_);
	struct ut_jit_lines_ head;
	uint64_t buf[128], done = sizeof(head), at;
	struct ut_jit_part_ part;

	*ret = 0;
	if (ut_jit_pread_(from->fd, &head, sizeof(head), e->at) != UT_JIT_AS_(long, sizeof(head)) ||
	    head.r.kind != UT_JIT_LINES_ || head.addr != e->addr)
		return why;
	head.r.time = ut_jit_now_();
	part.bytes = &head;
	part.len = sizeof(head);
	why = ut_jit_append_(&w->file, w->limit, &part, 1, ret);
	part.bytes = buf;
	while (!why && done < head.r.bytes) {
		uint64_t want = head.r.bytes - done < sizeof(buf) ? head.r.bytes - done : sizeof(buf);
		long n = ut_jit_pread_(from->fd, buf, want, e->at + done);

		if (n <= 0)
			return "somebody changed it";
		part.len = UT_JIT_AS_(uint64_t, n);
		why = ut_jit_append_(&w->file, w->limit, &part, 1, &at);
		done += part.len;
	}
	return why;
}

/* All code that lives, from the parent's dump to the writer's new one. */
UT_JIT_FN_ const char *ut_jit_copy_loads_(struct ut_jit_writer_ *w, struct ut_jit_file_ *from,
					  const struct ut_jit_table_ *live)
{
	char name[UT_JIT_NAME_MAX + 1];
	struct ut_jit_load_ load;
	uint64_t at;
	const char *why = ut_jit_hold_(from, &at);

	for (uint64_t i = 0; !why && i < live->n; i++) {
		const struct ut_jit_leaf_ *l = &live->leaf[i];

		for (uint64_t k = 0; !why && k < l->n; k++) {
			if (!ut_jit_read_load_(from, &l->e[k], &load, name))
				continue;
			why = ut_jit_copy_record_(w, from, &l->e[k], &at);
			if (!why)
				why = ut_jit_write_load_(w, l->e[k].addr, l->e[k].size, name, at, &at);
			if (why && !*why) /* code that is gone */
				why = UT_JIT_AS_(const char *, UT_JIT_NULL_);
		}
	}
	return why;
}

/* ---- Who may, and what happens when something fails ---- */

UT_JIT_SMALL_ struct ut_jit_writer_ *ut_jit_of_(uint32_t which)
{
	return which == UT_JIT_MAP ? &ut_jit_.map : &ut_jit_.dump;
}

UT_JIT_FN_ void ut_jit_switch_(uint32_t which, int on)
{
	if (on)
		__atomic_or_fetch(&ut_jit_.on, which, __ATOMIC_RELAXED);
	else
		__atomic_and_fetch(&ut_jit_.on, ~which, __ATOMIC_RELAXED);
}

/* "PATH: why", for ut_jit_error. */
UT_JIT_FN_ void ut_jit_complain_(const char *where, const char *why)
{
	uint64_t n = ut_jit_add_(ut_jit_.error, sizeof(ut_jit_.error), 0, where);

	n = ut_jit_add_(ut_jit_.error, sizeof(ut_jit_.error), n, ": ");
	ut_jit_add_(ut_jit_.error, sizeof(ut_jit_.error), n, why);
	__atomic_store_n(&ut_jit_.has_error, 1u, __ATOMIC_RELEASE);
}

UT_JIT_FN_ void ut_jit_stop_(uint32_t which)
{
	struct ut_jit_writer_ *w = ut_jit_of_(which);

	ut_jit_switch_(which, 0);
	ut_jit_unmark_(w);
	ut_jit_close_file_(&w->file);
	ut_jit_free_table_(&w->table);
}

/* After anything that may have failed. */
UT_JIT_FN_ void ut_jit_settle_(uint32_t which, const char *why)
{
	if (!why)
		return;
	if (!*why) { /* code that cannot be read: that one is left out */
		ut_jit_.lost++;
		return;
	}
	ut_jit_complain_(ut_jit_of_(which)->file.path, why);
	ut_jit_stop_(which);
}

/* Files of this process, with what lived in its parent. */
UT_JIT_FN_ void ut_jit_inherit_(uint32_t which)
{
	struct ut_jit_writer_ *w = ut_jit_of_(which);
	struct ut_jit_file_ old, own;
	struct ut_jit_table_ live;
	const char *why;

	ut_jit_copy_(&old, &w->file, sizeof(old));
	ut_jit_copy_(&live, &w->table, sizeof(live));
	ut_jit_unmark_(w);
	if (which == UT_JIT_DUMP)
		ut_jit_zero_(&w->table, sizeof(w->table));
	ut_jit_path_(&w->file, which, ut_jit_.pid);
	why = ut_jit_create_(&w->file, which == UT_JIT_MAP);
	if (why) {
		w->file.fd = -1;
	} else if (which == UT_JIT_DUMP) {
		why = ut_jit_begin_dump_(w);
		if (!why)
			why = ut_jit_copy_loads_(w, &old, &live);
	} else {
		ut_jit_copy_(&own, &w->file, sizeof(own));
		ut_jit_copy_(&w->file, &old, sizeof(old));
		why = ut_jit_copy_lines_(w, &own);
		ut_jit_copy_(&old, &w->file, sizeof(old));
		ut_jit_copy_(&w->file, &own, sizeof(own));
	}
	if (which == UT_JIT_DUMP)
		ut_jit_free_table_(&live);
	ut_jit_close_file_(&old);
	ut_jit_settle_(which, why);
}

/* What lives, as the lines of the map say; nothing if it cannot be told. */
UT_JIT_FN_ void ut_jit_learn_(struct ut_jit_writer_ *w)
{
	char line[UT_JIT_LINE_ + 1];
	struct ut_jit_entry_ e;
	uint64_t size, len;
	const char *why = ut_jit_hold_(&w->file, &size);

	for (e.at = 0; !why && (len = ut_jit_read_line_(&w->file, &e, line)); e.at += UT_JIT_AS_(uint32_t, len)) {
		uint64_t numbers[2];
		const char *c = line;

		for (int i = 0; i < 2; i++, c += *c == ' ') {
			for (numbers[i] = 0; (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'f'); c++)
				numbers[i] =
					numbers[i] << 4 | UT_JIT_AS_(uint64_t, *c <= '9' ? *c - '0' : *c - 'a' + 10);
		}
		e.addr = numbers[0];
		e.size = UT_JIT_AS_(uint32_t, numbers[1]);
		if (e.size && e.addr + e.size > e.addr && ut_jit_put_(&w->table, e))
			return;
	}
}

/* The lock's holder was a thread of the parent: what it left half done is not looked at. */
UT_JIT_FN_ void ut_jit_forget_(void)
{
	ut_jit_zero_(&ut_jit_.map.table, sizeof(ut_jit_.map.table));
	ut_jit_zero_(&ut_jit_.dump.table, sizeof(ut_jit_.dump.table));
	if (ut_jit_.on & UT_JIT_MAP)
		ut_jit_learn_(&ut_jit_.map);
}

UT_JIT_FN_ void ut_jit_follow_(uint32_t pid, int torn)
{
	if (ut_jit_.pid == pid)
		return;
	if (torn)
		ut_jit_forget_();
	ut_jit_.pid = pid;
	for (uint32_t which = UT_JIT_MAP; which <= UT_JIT_DUMP; which++) {
		if (ut_jit_.on & which)
			ut_jit_inherit_(which);
	}
}

/* Waits a moment for the lock. 0: for too long already. */
UT_JIT_FN_ int ut_jit_wait_(unsigned *round, uint64_t *since)
{
	int64_t t[2];

	t[0] = 0;
	t[1] = 50000;
	if (++*round < 100) {
#if defined(__x86_64__)
		__asm__ volatile("pause" ::: "memory");
#else
		__asm__ volatile("yield" ::: "memory");
#endif
		return 1;
	}
	if (!*since)
		*since = ut_jit_now_();
	ut_jit_sys_(SYS_nanosleep, UT_JIT_P_(t), 0, 0, 0);
	return ut_jit_now_() - *since < 5000000000u;
}

/* Takes the lock; the process's own files are there then. 0: it cannot be had, and the announcement is lost. */
UT_JIT_FN_ int ut_jit_enter_(void)
{
	const uint64_t pid = UT_JIT_AS_(uint64_t, ut_jit_sys_(SYS_getpid, 0, 0, 0, 0));
	const uint64_t self = pid << 32 | ut_jit_tid_();
	uint64_t seen, since = 0;
	unsigned round = 0;

	for (;;) {
		seen = __atomic_load_n(&ut_jit_.lock, __ATOMIC_RELAXED);
		if ((!seen || seen >> 32 != pid) &&
		    __atomic_compare_exchange_n(&ut_jit_.lock, &seen, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			break;
		if (seen != self && ut_jit_wait_(&round, &since))
			continue;
		if (seen != self && seen >> 32 == pid)
			ut_jit_switch_(UT_JIT_MAP | UT_JIT_DUMP, 0);
		__atomic_add_fetch(&ut_jit_.lost, 1u, __ATOMIC_RELAXED);
		return 0;
	}
	ut_jit_follow_(UT_JIT_AS_(uint32_t, pid), seen != 0);
	return 1;
}

UT_JIT_FN_ void ut_jit_leave_(void) { __atomic_store_n(&ut_jit_.lock, UT_JIT_AS_(uint64_t, 0), __ATOMIC_RELEASE); }

/* ---- The environment ---- */

/* What comes after "NAME=", or NULL. */
UT_JIT_FN_ const char *ut_jit_getenv_(const char *name)
{
	char **env = &ut_jit_environ_ ? ut_jit_environ_ : UT_JIT_AS_(char **, UT_JIT_NULL_);

	for (; env && *env; env++) {
		const char *at = *env, *n = name;

		while (*n && *at == *n) {
			at++;
			n++;
		}
		if (!*n && *at == '=')
			return at + 1;
	}
	return UT_JIT_AS_(const char *, UT_JIT_NULL_);
}

/* Has the program more rights than its user? */
UT_JIT_FN_ int ut_jit_is_secure_(void)
{
	uint64_t pair[2];
	long fd;
	int ret = 0;

	if (ut_jit_sys_(SYS_getuid, 0, 0, 0, 0) != ut_jit_sys_(SYS_geteuid, 0, 0, 0, 0) ||
	    ut_jit_sys_(SYS_getgid, 0, 0, 0, 0) != ut_jit_sys_(SYS_getegid, 0, 0, 0, 0))
		return 1;
	fd = ut_jit_openat_("/proc/self/auxv", 0);
	while (fd >= 0 && ut_jit_sys_(SYS_read, fd, UT_JIT_P_(pair), 16, 0) == 16 && pair[0])
		ret |= pair[0] == 23 && pair[1]; /* AT_SECURE */
	if (fd >= 0)
		ut_jit_sys_(SYS_close, fd, 0, 0, 0);
	return ret;
}

/* Does @text begin with this word, up to a comma or the end? Then its length. */
UT_JIT_FN_ uint64_t ut_jit_word_(const char *text, const char *word)
{
	uint64_t n = 0;

	while (word[n] && text[n] == word[n])
		n++;
	return !word[n] && (!text[n] || text[n] == ',') ? n : 0;
}

/* What UT_JIT says, or @flags if it says nothing that is understood. */
UT_JIT_FN_ unsigned ut_jit_wanted_(const char *text, unsigned flags)
{
	unsigned ret = 0;
	uint64_t n;

	for (; *text; text += *text == ',') {
		if ((n = ut_jit_word_(text, "map"))) {
			ret |= UT_JIT_MAP;
		} else if ((n = ut_jit_word_(text, "dump"))) {
			ret |= UT_JIT_DUMP;
		} else if (!(n = ut_jit_word_(text, "off"))) {
			ut_jit_complain_("UT_JIT", "it is none of map, dump, map,dump and off");
			return flags;
		}
		text += n;
	}
	return ret;
}

/* UT_JIT_MAX: a number of MiB. 0: it is not there, or none. */
UT_JIT_FN_ uint64_t ut_jit_most_(const char *text)
{
	uint64_t n = 0;

	if (!text || !*text)
		return 0;
	for (; *text >= '0' && *text <= '9' && n < 4096; text++)
		n = n * 10 + UT_JIT_AS_(uint64_t, *text - '0');
	if (!*text && n > 0 && n < 4096)
		return n << 20;
	ut_jit_complain_("UT_JIT_MAX", "it is no number of MiB from 1 to 4095");
	return 0;
}

UT_JIT_FN_ unsigned ut_jit_ask_(unsigned flags)
{
	const char *wanted = ut_jit_getenv_("UT_JIT");
	const char *dir = ut_jit_getenv_("UT_JIT_DIR");
	uint64_t most;

	ut_jit_.map.limit = UT_JIT_MAP_MAX;
	ut_jit_.dump.limit = UT_JIT_DUMP_MAX;
	ut_jit_.dir[0] = 0;
	if (flags & UT_JIT_NO_ENV || ut_jit_is_secure_())
		return flags;
	if (dir && ut_jit_length_(dir) >= sizeof(ut_jit_.dir))
		ut_jit_complain_("UT_JIT_DIR", "it is too long");
	else if (dir)
		ut_jit_add_(ut_jit_.dir, sizeof(ut_jit_.dir), 0, dir);
	most = ut_jit_most_(ut_jit_getenv_("UT_JIT_MAX"));
	if (most)
		ut_jit_.map.limit = ut_jit_.dump.limit = most;
	return wanted && *wanted ? ut_jit_wanted_(wanted, flags) : flags;
}

/* ---- The calls ---- */

UT_JIT_SMALL_ int ut_jit_on(void) { return __atomic_load_n(&ut_jit_.on, __ATOMIC_RELAXED) != 0; }

UT_JIT_FN_ void ut_jit_start_(uint32_t which)
{
	struct ut_jit_writer_ *w = ut_jit_of_(which);
	const char *why;

	ut_jit_path_(&w->file, which, ut_jit_.pid);
	w->index = 0;
	why = ut_jit_create_(&w->file, which == UT_JIT_MAP);
	if (why)
		w->file.fd = -1;
	else if (which == UT_JIT_DUMP)
		why = ut_jit_begin_dump_(w);
	if (!why)
		ut_jit_switch_(which, 1);
	else if (which == UT_JIT_DUMP && w->file.fd >= 0)
		ut_jit_unlink_(w->file.path); /* nobody could find it */
	ut_jit_settle_(which, why);
}

UT_JIT_FN_ int ut_jit_open(unsigned flags)
{
	unsigned wanted;

	if (!ut_jit_enter_())
		return 0;
	wanted = ut_jit_.on ? flags : ut_jit_ask_(flags);
	for (uint32_t which = UT_JIT_MAP; which <= UT_JIT_DUMP; which++) {
		if (wanted & which && !(ut_jit_.on & which))
			ut_jit_start_(which);
	}
	wanted = ut_jit_.on;
	ut_jit_leave_();
	return UT_JIT_AS_(int, wanted);
}

UT_JIT_FN_ void ut_jit_announce_(uint64_t addr, size_t size, const char *name, const struct ut_jit_line *lines,
				 size_t n)
{
	char clean[UT_JIT_NAME_MAX + 1];
	const uint32_t bytes = UT_JIT_AS_(uint32_t, size);
	const char *why = UT_JIT_AS_(const char *, UT_JIT_NULL_);
	uint64_t at = 0;

	if (!size || size > UINT32_MAX || addr + size < addr || !ut_jit_enter_())
		return;
	ut_jit_clean_(clean, name);
	if (ut_jit_.on & UT_JIT_MAP)
		ut_jit_settle_(UT_JIT_MAP, ut_jit_write_line_(&ut_jit_.map, addr, bytes, clean));
	if (ut_jit_.on & UT_JIT_DUMP) {
		if (lines && n)
			why = ut_jit_write_lines_(&ut_jit_.dump, addr, lines, n, &at);
		if (!why)
			why = ut_jit_write_load_(&ut_jit_.dump, addr, bytes, clean, at, &at);
		ut_jit_settle_(UT_JIT_DUMP, why);
	}
	ut_jit_leave_();
}

UT_JIT_SMALL_ void ut_jit_code(const void *addr, size_t size, const char *name)
{
	if (ut_jit_on())
		ut_jit_announce_(UT_JIT_RAW_(uint64_t, addr), size, name,
				 UT_JIT_AS_(const struct ut_jit_line *, UT_JIT_NULL_), 0);
}

UT_JIT_SMALL_ void ut_jit_code_lines(const void *addr, size_t size, const char *name, const struct ut_jit_line *lines,
				     size_t count)
{
	if (ut_jit_on())
		ut_jit_announce_(UT_JIT_RAW_(uint64_t, addr), size, name, lines, count);
}

/* As memmove does it: in the order in which nothing is overwritten that has yet to move. */
UT_JIT_FN_ const char *ut_jit_move_in_(uint32_t which, uint64_t from, uint64_t to, uint64_t size)
{
	struct ut_jit_writer_ *w = ut_jit_of_(which);
	uint64_t at = from, end = from + size, leaf = 0;
	struct ut_jit_entry_ *found, e;
	const char *why = UT_JIT_AS_(const char *, UT_JIT_NULL_);

	while (!why && (found = to < from ? ut_jit_first_(&w->table, at, end, &leaf)
					  : ut_jit_last_(&w->table, from, end, &leaf))) {
		e = *found;
		at = e.addr + e.size;
		if (to >= from)
			end = e.addr;
		if (e.addr < from) /* it only reaches into the range */
			continue;
		ut_jit_take_(&w->table, leaf, found);
		why = which == UT_JIT_MAP ? ut_jit_move_line_(w, &e, e.addr - from + to)
					  : ut_jit_write_moved_(w, &e, e.addr - from + to);
	}
	return why;
}

UT_JIT_FN_ void ut_jit_change_(uint64_t from, uint64_t to, uint64_t size, int drop)
{
	if (!size || from + size < from || to + size < to || (!drop && from == to) || !ut_jit_enter_())
		return;
	for (uint32_t which = UT_JIT_MAP; which <= UT_JIT_DUMP; which++) {
		if (!(ut_jit_.on & which))
			continue;
		if (drop)
			ut_jit_clear_(&ut_jit_of_(which)->table, from, from + size);
		else
			ut_jit_settle_(which, ut_jit_move_in_(which, from, to, size));
	}
	ut_jit_leave_();
}

UT_JIT_SMALL_ void ut_jit_move(const void *old_addr, const void *new_addr, size_t size)
{
	if (ut_jit_on())
		ut_jit_change_(UT_JIT_RAW_(uint64_t, old_addr), UT_JIT_RAW_(uint64_t, new_addr), size, 0);
}

UT_JIT_SMALL_ void ut_jit_drop(const void *addr, size_t size)
{
	if (ut_jit_on())
		ut_jit_change_(UT_JIT_RAW_(uint64_t, addr), 0, size, 1);
}

UT_JIT_SMALL_ void ut_jit_forked(void)
{
	if (ut_jit_on() && ut_jit_enter_())
		ut_jit_leave_();
}

UT_JIT_FN_ void ut_jit_close(void)
{
	struct ut_jit_record_ closed;
	struct ut_jit_part_ part;
	uint64_t at;

	if (!ut_jit_on() || !ut_jit_enter_())
		return;
	if (ut_jit_.on & UT_JIT_DUMP) {
		closed.kind = UT_JIT_CLOSED_;
		closed.bytes = sizeof(closed);
		closed.time = ut_jit_now_();
		part.bytes = &closed;
		part.len = sizeof(closed);
		ut_jit_append_(&ut_jit_.dump.file, ut_jit_.dump.limit, &part, 1, &at);
		ut_jit_stop_(UT_JIT_DUMP);
	}
	if (ut_jit_.on & UT_JIT_MAP)
		ut_jit_stop_(UT_JIT_MAP);
	ut_jit_leave_();
}

UT_JIT_SMALL_ const char *ut_jit_error(void)
{
	return __atomic_load_n(&ut_jit_.has_error, __ATOMIC_ACQUIRE) ? ut_jit_.error
								     : UT_JIT_AS_(const char *, UT_JIT_NULL_);
}

UT_JIT_SMALL_ uint64_t ut_jit_lost(void) { return __atomic_load_n(&ut_jit_.lost, __ATOMIC_RELAXED); }

#else /* nothing can be announced here */

UT_JIT_INLINE_ int ut_jit_open(unsigned flags)
{
	(void)flags;
	return 0;
}
UT_JIT_INLINE_ int ut_jit_on(void) { return 0; }
UT_JIT_INLINE_ void ut_jit_forked(void) {}
UT_JIT_INLINE_ void ut_jit_close(void) {}
UT_JIT_INLINE_ uint64_t ut_jit_lost(void) { return 0; }
UT_JIT_INLINE_ const char *ut_jit_error(void) { return "no code is announced on this machine"; }

UT_JIT_INLINE_ void ut_jit_code(const void *addr, size_t size, const char *name) { (void)addr, (void)size, (void)name; }

UT_JIT_INLINE_ void ut_jit_code_lines(const void *addr, size_t size, const char *name, const struct ut_jit_line *lines,
				      size_t count)
{
	(void)addr, (void)size, (void)name, (void)lines, (void)count;
}

UT_JIT_INLINE_ void ut_jit_move(const void *old_addr, const void *new_addr, size_t size)
{
	(void)old_addr, (void)new_addr, (void)size;
}

UT_JIT_INLINE_ void ut_jit_drop(const void *addr, size_t size) { (void)addr, (void)size; }

#endif

#endif
