/* SPDX-License-Identifier: MIT */
/*
 * usertrace-jit.c: implements usertrace-jit.h. Copy both files into a program and compile this one with it, as C99 or
 * C++11 or later. It calls no library functions, not even libc's, and makes system calls directly. So errno is
 * preserved, and no function can be interposed.
 *
 * Optional macros at compile time:
 *
 *	UT_JIT_MAP_DIR, UT_JIT_DUMP_DIR		directories (default "/tmp"; profilers look for maps only there)
 *	UT_JIT_MAP_MAX, UT_JIT_DUMP_MAX		maximum size of a map (64 MiB) and of a dump (256 MiB); less than 4 GiB
 *	UT_JIT_EXPORT				export the functions from the shared library
 *	UT_OFF					make all functions do nothing
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

/* Hidden: if two libraries of a process have copies of this file, no call may resolve to the other copy. */
#if defined(__GNUC__) && defined(UT_JIT_EXPORT)
#pragma GCC visibility push(default)
#elif defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
#include "usertrace-jit.h"
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#if UT_JIT_VERSION != 100
#error "usertrace-jit.c and usertrace-jit.h are of different versions; copy both files from one release"
#endif

#if UT_HAVE_JIT

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

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

/* ---- State ---- */

/* A live piece of code. Entries of one table never overlap. */
struct entry {
	uint64_t addr;
	uint32_t size;
	uint32_t offset; /* file offset of its line in the map, or of its first record in the dump */
};

#define LEAF_ENTRIES 256

struct leaf {
	uint64_t first; /* address of its first entry */
	uint64_t n; /* 1 to LEAF_ENTRIES */
	struct entry *e;
};

/* Live code by address, a two-level array, so that an insertion moves little memory. */
struct table {
	struct leaf *leaf;
	uint64_t n, allocated;
	char *blocks; /* memory for the entries of leaves: a linked list */
	char *unused, *unused_end; /* the part of the newest block that was never allocated */
	struct entry *free_leaves; /* a linked list: the first address is the next pointer */
};

#define PATH_BYTES 256

struct output_file {
	int fd, shared; /* shared: another part of the process also appends to it */
	uint64_t dev, ino;
	char path[PATH_BYTES];
};

struct writer {
	struct output_file file;
	struct table table;
	uint64_t limit; /* maximum bytes */
	uint64_t index; /* dump: sequence number of the next load record */
	long marker; /* dump: address of the executable mapping that profilers look for; 0: none */
};

static struct {
	uint32_t on; /* flags of the files that are being written; read without the lock */
	uint32_t has_error;
	uint64_t lock; /* owner: pid << 32 | tid; 0: not held */
	uint64_t lost;
	uint32_t pid; /* process that the files belong to; 0: nothing was opened yet */
	struct writer map, dump;
	char dir[PATH_BYTES - 32]; /* UT_JIT_DIR, or "" */
	char error[PATH_BYTES + 256];
} state;

/* ---- System calls ---- */

static long raw_syscall(long number, long a, long b, long c, long d, long e, long f)
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

/* Returns the kernel's result, a negative errno on failure. Arguments may be integers or pointers. */
#define SYS(number, a, b, c, d) raw_syscall(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* The kernel's struct stat; libc's may differ. */
struct kernel_stat {
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

/* struct linux_dirent64, which no header declares. */
struct kernel_dirent {
	uint64_t ino, offset;
	uint16_t bytes;
	uint8_t type;
	char name[5];
};

/* struct iovec with const data. */
struct part {
	const void *bytes;
	uint64_t len;
};

static long sys_fstat(long fd, struct kernel_stat *st) { return SYS(SYS_fstat, fd, st, 0, 0); }

/* Does not follow symbolic links or block on a FIFO. */
static long sys_openat(const char *path, long flags)
{
	return SYS(SYS_openat, AT_FDCWD, path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
}

static long sys_close(long fd) { return SYS(SYS_close, fd, 0, 0, 0); }
static void sys_unlink(const char *path) { SYS(SYS_unlinkat, AT_FDCWD, path, 0, 0); }
static long sys_pread(int fd, void *ret, uint64_t len, uint64_t at) { return SYS(SYS_pread64, fd, ret, len, at); }

/* Is this return value of mmap an error? */
static int is_error(long ret) { return ret < 0 && ret > -4096; }

/* Returns NULL if out of memory. */
static char *memory_map(uint64_t bytes)
{
	long ret = raw_syscall(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return is_error(ret) ? NULL : (char *)ret;
}

static void memory_unmap(const void *memory, uint64_t bytes)
{
	if (memory)
		SYS(SYS_munmap, memory, bytes, 0, 0);
}

/* CLOCK_MONOTONIC */
static uint64_t now_ns(void)
{
	int64_t t[2];

	t[0] = t[1] = 0;
	SYS(SYS_clock_gettime, CLOCK_MONOTONIC, t, 0, 0);
	return (uint64_t)t[0] * 1000000000u + (uint64_t)t[1];
}

static uint32_t thread_id(void) { return (uint32_t)SYS(SYS_gettid, 0, 0, 0, 0); }

/* ---- Strings ---- */

/* Prevents the compiler from replacing a loop with a call to memcpy or similar. */
#define KEEP_LOOP __asm__ volatile("" ::: "memory")

static void copy_bytes(void *to, const void *from, uint64_t len)
{
#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len)::"memory");
#else
	unsigned char *d = (unsigned char *)to;
	const unsigned char *s = (const unsigned char *)from;

	while (len--) {
		*d++ = *s++;
		KEEP_LOOP;
	}
#endif
}

static void zero_bytes(void *to, uint64_t len)
{
	unsigned char *d = (unsigned char *)to;

	while (len--) {
		*d++ = 0;
		KEEP_LOOP;
	}
}

static uint64_t string_length(const char *text)
{
	uint64_t n = 0;

	while (text[n]) {
		n++;
		KEEP_LOOP;
	}
	return n;
}

/* Appends to a string of length @at in @size bytes at @ret, truncated to fit. Returns the new length. */
static uint64_t append_string(char *ret, uint64_t size, uint64_t at, const char *text)
{
	while (*text && at + 1 < size)
		ret[at++] = *text++;
	ret[at] = 0;
	return at;
}

static uint64_t append_number(char *ret, uint64_t size, uint64_t at, uint64_t n, unsigned base)
{
	char digits[24];
	unsigned i = sizeof(digits) - 1;

	digits[i] = 0;
	do {
		digits[--i] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	return append_string(ret, size, at, digits + i);
}

/* Copies a name to @ret (UT_JIT_NAME_MAX + 1 bytes), without control characters. Returns its length. */
static uint64_t clean_name(char *ret, const char *name)
{
	uint64_t n = 0;

	if (!name || !*name)
		return append_string(ret, UT_JIT_NAME_MAX + 1, 0, "[no name]");
	for (; name[n] && n < UT_JIT_NAME_MAX; n++) {
		unsigned char c = (unsigned char)name[n];

		ret[n] = c >= ' ' && c != 127 ? name[n] : c >= '\t' && c <= '\r' ? ' ' : '?';
	}
	ret[n] = 0;
	if (!name[n])
		return n;
	/* Truncate between two UTF-8 characters. */
	for (n -= 3; n > UT_JIT_NAME_MAX - 7 && ((unsigned char)ret[n] & 0xc0) == 0x80;)
		n--;
	return append_string(ret, UT_JIT_NAME_MAX + 1, n, "...");
}

/* ---- Live code ---- */

/* Returns the index of the last leaf that begins at or before @addr, or 0. */
static uint64_t table_find_leaf(const struct table *t, uint64_t addr)
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

/* Returns the number of entries of a leaf that begin at or before @addr. */
static uint64_t leaf_upper_bound(const struct leaf *l, uint64_t addr)
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

/* Finds the first entry that overlaps @from to @end, and the index of its leaf; NULL if there is none. */
static struct entry *table_first(const struct table *t, uint64_t from, uint64_t end, uint64_t *leaf)
{
	uint64_t i = table_find_leaf(t, from), at;
	struct entry *e = NULL;

	if (!t->n)
		return e;
	at = leaf_upper_bound(&t->leaf[i], from);
	if (at > 0 && t->leaf[i].e[at - 1].addr + t->leaf[i].e[at - 1].size > from)
		e = &t->leaf[i].e[at - 1];
	else if (at < t->leaf[i].n)
		e = &t->leaf[i].e[at];
	else if (++i < t->n)
		e = t->leaf[i].e;
	*leaf = i;
	return e && e->addr < end ? e : NULL;
}

/* Finds the last entry that begins in @from to @end, and the index of its leaf; NULL if there is none. */
static struct entry *table_last(const struct table *t, uint64_t from, uint64_t end, uint64_t *leaf)
{
	uint64_t at;
	struct entry *e = NULL;

	if (!t->n || end <= from)
		return e;
	*leaf = table_find_leaf(t, end - 1);
	at = leaf_upper_bound(&t->leaf[*leaf], end - 1);
	if (at > 0 && t->leaf[*leaf].e[at - 1].addr >= from)
		e = &t->leaf[*leaf].e[at - 1];
	return e;
}

static void table_remove(struct table *t, uint64_t leaf, struct entry *e)
{
	struct leaf *l = &t->leaf[leaf];

	l->n--;
	for (; e < l->e + l->n; e++) {
		e[0] = e[1];
		KEEP_LOOP;
	}
	l->first = l->e[0].addr;
	if (l->n)
		return;
	l->e[0].addr = (uint64_t)t->free_leaves;
	t->free_leaves = l->e;
	t->n--;
	for (; l < t->leaf + t->n; l++) {
		l[0] = l[1];
		KEEP_LOOP;
	}
}

static void table_clear(struct table *t, uint64_t from, uint64_t end)
{
	uint64_t leaf = 0;
	struct entry *e;

	while ((e = table_first(t, from, end, &leaf)))
		table_remove(t, leaf, e);
}

#define LEAF_BYTES (LEAF_ENTRIES * sizeof(struct entry))
#define BLOCK_BYTES (64 * LEAF_BYTES)

/* Allocates the entries of a leaf; NULL if out of memory. */
static struct entry *leaf_alloc(struct table *t)
{
	struct entry *ret = t->free_leaves;
	char *block;

	if (ret) {
		t->free_leaves = (struct entry *)ret->addr;
		return ret;
	}
	if (t->unused == t->unused_end) {
		block = memory_map(BLOCK_BYTES);
		if (!block)
			return ret;
		*(char **)block = t->blocks;
		t->blocks = block;
		t->unused = block + LEAF_BYTES; /* the first leaf's memory holds the list pointer */
		t->unused_end = block + BLOCK_BYTES;
	}
	ret = (struct entry *)t->unused;
	t->unused += LEAF_BYTES;
	return ret;
}

/* Makes room for one more leaf. Returns 0, or -1 if out of memory. */
static int table_reserve(struct table *t)
{
	uint64_t room = t->allocated ? 2 * t->allocated : 170;
	char *memory;

	if (t->n < t->allocated)
		return 0;
	memory = memory_map(room * sizeof(*t->leaf));
	if (!memory)
		return -1;
	copy_bytes(memory, t->leaf, t->n * sizeof(*t->leaf));
	memory_unmap(t->leaf, t->allocated * sizeof(*t->leaf));
	t->leaf = (struct leaf *)memory;
	t->allocated = room;
	return 0;
}

/* Inserts a leaf with @n entries, copied from @e, at index @i. Returns 0, or -1 if out of memory. */
static int table_insert_leaf(struct table *t, uint64_t i, const struct entry *e, uint64_t n)
{
	struct entry *room;

	if (table_reserve(t))
		return -1;
	room = leaf_alloc(t);
	if (!room)
		return -1;
	for (struct leaf *l = t->leaf + t->n; l > t->leaf + i; l--) {
		l[0] = l[-1];
		KEEP_LOOP;
	}
	t->n++;
	copy_bytes(room, e, n * sizeof(*e));
	t->leaf[i].e = room;
	t->leaf[i].n = n;
	t->leaf[i].first = e->addr;
	return 0;
}

/* Inserts an entry, and removes those that it overlaps. Returns 0, or -1 if out of memory. */
static int table_insert(struct table *t, struct entry entry)
{
	uint64_t i, at;
	struct leaf *l;

	table_clear(t, entry.addr, entry.addr + entry.size);
	i = table_find_leaf(t, entry.addr);
	if (!t->n)
		return table_insert_leaf(t, 0, &entry, 1);
	if (t->leaf[i].n == LEAF_ENTRIES) {
		/* JIT compilers mostly allocate at ascending addresses: do not split full leaves then. */
		if (leaf_upper_bound(&t->leaf[i], entry.addr) == LEAF_ENTRIES)
			return table_insert_leaf(t, i + 1, &entry, 1);
		if (table_insert_leaf(t, i + 1, t->leaf[i].e + LEAF_ENTRIES / 2, LEAF_ENTRIES / 2))
			return -1;
		t->leaf[i].n = LEAF_ENTRIES / 2;
		i = table_find_leaf(t, entry.addr);
	}
	l = &t->leaf[i];
	at = leaf_upper_bound(l, entry.addr);
	for (uint64_t k = l->n; k > at; k--) {
		l->e[k] = l->e[k - 1];
		KEEP_LOOP;
	}
	l->e[at] = entry;
	l->n++;
	l->first = l->e[0].addr;
	return 0;
}

static void table_free(struct table *t)
{
	char *next;

	for (char *block = t->blocks; block; block = next) {
		next = *(char **)block;
		memory_unmap(block, BLOCK_BYTES);
	}
	memory_unmap(t->leaf, t->allocated * sizeof(*t->leaf));
	zero_bytes(t, sizeof(*t));
}

/* ---- Files ---- */

/* Functions that return const char * return NULL on success, or an error message for ut_jit_error. */

static const char size_limit_text[] = "maximum size reached (UT_JIT_MAX)";

static const char *error_text(long error)
{
	switch (-error) {
	case EPERM:
	case EACCES: return "permission denied";
	case ENOENT:
	case ENOTDIR: return "the directory does not exist; set UT_JIT_DIR to an existing one";
	case ENOMEM: return "out of memory";
	case ENFILE:
	case EMFILE: return "too many open files";
	case EFBIG: return "file size limit exceeded (ulimit -f)";
	case ENOSPC:
	case EDQUOT: return "the disk is full";
	case EROFS: return "the file system is read-only";
	case ELOOP: return "is a symbolic link; remove it";
	default: return "cannot be written";
	}
}

enum other_writers { NO_WRITERS, APPENDING_WRITERS, OTHER_WRITERS };

/* Finds out whether the process has the file open for writing through a descriptor other than @own. */
static enum other_writers file_other_writers(const struct kernel_stat *file, int own)
{
	uint64_t buf[128];
	const char *entries = (const char *)buf;
	long n, dir = SYS(SYS_openat, AT_FDCWD, "/proc/self/fd", O_DIRECTORY | O_CLOEXEC, 0);
	enum other_writers ret = NO_WRITERS;

	if (dir < 0)
		return ret;
	while ((n = SYS(SYS_getdents64, dir, buf, sizeof(buf), 0)) > 0) {
		uint16_t bytes;

		for (long i = 0; i < n; i += bytes) {
			const char *digit = entries + i + offsetof(struct kernel_dirent, name);
			struct kernel_stat st;
			int fd = 0;
			long flags;

			copy_bytes(&bytes, entries + i + offsetof(struct kernel_dirent, bytes), sizeof(bytes));
			for (; *digit >= '0' && *digit <= '9'; digit++)
				fd = fd * 10 + (*digit - '0');
			if (*digit || fd == own || sys_fstat(fd, &st) || st.dev != file->dev || st.ino != file->ino)
				continue;
			flags = SYS(SYS_fcntl, fd, F_GETFL, 0, 0);
			if (flags <= 0 || (flags & O_ACCMODE) == O_RDONLY)
				continue;
			if (!(flags & O_APPEND))
				ret = OTHER_WRITERS;
			else if (ret == NO_WRITERS)
				ret = APPENDING_WRITERS;
		}
	}
	sys_close(dir);
	return ret;
}

static const char *file_adopt(struct output_file *f, long fd)
{
	struct kernel_stat st;
	long high;
	const char *why = NULL;

	/* Avoid 0 to 2, which are free if the program has closed its standard streams. */
	if (fd < 3) {
		high = SYS(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3, 0);
		sys_close(fd);
		fd = high;
	}
	if (fd < 0 || sys_fstat(fd, &st))
		why = error_text(fd);
	else if ((st.mode & S_IFMT) != S_IFREG)
		why = "is not a regular file; remove it";
	if (why) {
		if (fd >= 0)
			sys_close(fd);
		return why;
	}
	f->fd = (int)fd;
	f->dev = st.dev;
	f->ino = st.ino;
	return why;
}

/*
 * Handles an existing file at our path. If nobody writes it, an earlier process with this PID left it behind, and it is
 * removed. If another part of the process appends to it and @share is set, it is opened, and *@fd is its descriptor.
 */
static const char *file_clear_path(const struct output_file *f, int share, long *fd)
{
	struct kernel_stat st, opened;
	enum other_writers others;

	if (SYS(SYS_newfstatat, AT_FDCWD, f->path, &st, AT_SYMLINK_NOFOLLOW))
		return NULL; /* already removed */
	if ((st.mode & S_IFMT) == S_IFLNK)
		return "is a symbolic link; remove it";
	if ((st.mode & S_IFMT) != S_IFREG)
		return "is not a regular file; remove it";
	if (st.uid != (uint32_t)SYS(SYS_geteuid, 0, 0, 0, 0))
		return "belongs to another user; remove it";
	others = file_other_writers(&st, -1);
	if (others == OTHER_WRITERS || (others == APPENDING_WRITERS && !share))
		return "another JIT compiler in this process is writing it";
	if (others == NO_WRITERS) {
		sys_unlink(f->path);
		return NULL;
	}
	*fd = sys_openat(f->path, O_RDWR | O_APPEND);
	if (*fd < 0)
		return error_text(*fd);
	if (!sys_fstat((int)(*fd), &opened) && opened.dev == st.dev && opened.ino == st.ino)
		return NULL;
	sys_close(*fd);
	return "another process keeps replacing the file";
}

/* Creates the file @f->path, or opens it as file_clear_path allows. */
static const char *file_create(struct output_file *f, int share)
{
	const char *why;
	long fd;

	for (int tries = 0; tries < 5; tries++) {
		fd = sys_openat(f->path, O_RDWR | O_APPEND | O_CREAT | O_EXCL);
		f->shared = 0;
		if (fd >= 0) {
			SYS(SYS_fchmod, fd, 0600, 0, 0); /* regardless of the umask */
			return file_adopt(f, fd);
		}
		if (fd != -EEXIST)
			return error_text(fd);
		why = file_clear_path(f, share, &fd);
		if (why)
			return why;
		f->shared = fd >= 0;
		if (fd >= 0)
			return file_adopt(f, fd);
	}
	return "another process keeps creating the file";
}

/* Returns whether the descriptor still refers to our file, and the file's size. */
static int file_is_ours(const struct output_file *f, uint64_t *size)
{
	struct kernel_stat st;

	if (sys_fstat(f->fd, &st) || st.dev != f->dev || st.ino != f->ino)
		return 0;
	*size = st.size;
	return 1;
}

/* Reopens the file if the program has closed our descriptor, whose number may now refer to another file. */
static const char *file_check(struct output_file *f, uint64_t *size)
{
	struct output_file again;
	long fd;

	if (file_is_ours(f, size))
		return NULL;
	fd = sys_openat(f->path, O_RDWR | O_APPEND);
	if (fd < 0 || file_adopt(&again, fd))
		return "the descriptor was closed, and the file was removed";
	if (again.dev == f->dev && again.ino == f->ino) {
		f->fd = again.fd;
		if (file_is_ours(f, size))
			return NULL;
	}
	sys_close(again.fd);
	return "the descriptor was closed, and the file was replaced";
}

static void file_close(struct output_file *f)
{
	uint64_t size;

	if (f->fd > 0 && file_is_ours(f, &size))
		sys_close(f->fd);
	f->fd = -1;
}

/* After a short write that ended in the last part: retries the rest to get the error. */
static long file_write_rest(const struct output_file *f, const struct part *last, uint64_t rest)
{
	const char *end = (const char *)last->bytes + last->len;

	return rest > last->len ? 0 : SYS(SYS_write, f->fd, end - rest, (long)rest, 0);
}

/*
 * Appends all parts with one write, or nothing. *@at is the offset of the first part. Returns "" if a part is in
 * unreadable memory.
 */
static const char *file_append(struct output_file *f, uint64_t limit, const struct part *part, int parts, uint64_t *at)
{
	uint64_t size, len = 0, fsize[2];
	const char *why = file_check(f, &size);
	long n;

	for (int i = 0; i < parts; i++)
		len += part[i].len;
	if (why)
		return why;
	if (len > limit || size > limit - len)
		return size_limit_text;
	/* A write beyond this limit would raise SIGXFSZ. */
	if (!SYS(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, fsize) && (len > fsize[0] || size > fsize[0] - len))
		return error_text(-EFBIG);
	do {
		n = SYS(SYS_writev, f->fd, part, parts, 0);
	} while (n == -EINTR);
	*at = size;
	if (n > 0 && (uint64_t)n == len) {
		if (f->shared) /* others may have appended before us */
			*at = (uint64_t)SYS(SYS_lseek, f->fd, 0, SEEK_CUR, 0) - len;
		return why;
	}
	if (n > 0) {
		n = file_write_rest(f, &part[parts - 1], len - (uint64_t)n);
		if (!f->shared)
			SYS(SYS_ftruncate, f->fd, (long)size, 0, 0);
	}
	return n == -EFAULT ? "" : n >= 0 ? error_text(-ENOSPC) : error_text(n);
}

/* DIRECTORY/perf-PID.map or DIRECTORY/jit-PID.dump */
static void writer_path(struct output_file *f, uint32_t which, uint32_t pid)
{
	const uint64_t size = PATH_BYTES - 8;
	uint64_t n = append_string(f->path, size, 0,
				   which == UT_JIT_MAP ? UT_JIT_MAP_DIR
				   : state.dir[0]      ? state.dir
						       : UT_JIT_DUMP_DIR);

	n = append_string(f->path, size, n, which == UT_JIT_MAP ? "/perf-" : "/jit-");
	n = append_number(f->path, size, n, pid, 10);
	append_string(f->path, size, n, which == UT_JIT_MAP ? ".map" : ".dump");
}

/* ---- The map ---- */

/* Two hexadecimal numbers, a name, two spaces and a newline. */
#define LINE_BYTES (16 + 8 + 3 + UT_JIT_NAME_MAX)
#define BATCH_BYTES 65536u

/* Appends a buffer to the file and empties it. */
static const char *file_flush(struct output_file *to, uint64_t limit, const char *buf, uint64_t *len)
{
	const char *why = NULL;
	struct part part;
	uint64_t at;

	part.bytes = buf;
	part.len = *len;
	if (*len)
		why = file_append(to, limit, &part, 1, &at);
	*len = 0;
	return why;
}

/* Reads the line of an entry. Returns its length including the newline, or 0 if there is no line. */
static uint64_t map_read_line(const struct output_file *f, const struct entry *e, char *ret)
{
	long n = sys_pread(f->fd, ret, LINE_BYTES, e->offset);

	for (long i = 0; i < n; i++) {
		if (ret[i] == '\n')
			return (uint64_t)(i + 1);
	}
	return 0;
}

/* Copies the lines of all live code to a new file, and updates the offsets in the table. */
static const char *map_copy(struct writer *w, struct output_file *to)
{
	uint64_t size, filled = 0, written = 0;
	char *buf = memory_map(BATCH_BYTES);
	const char *why = !buf ? error_text(-ENOMEM) : w->table.n ? file_check(&w->file, &size) : NULL;

	for (uint64_t i = 0; !why && i < w->table.n; i++) {
		struct leaf *l = &w->table.leaf[i];

		for (uint64_t k = 0; !why && k < l->n; k++) {
			uint64_t len = map_read_line(&w->file, &l->e[k], buf + filled);

			if (!len)
				why = "the file was modified by another program";
			l->e[k].offset = (uint32_t)written;
			written += len;
			filled += len;
			if (filled > BATCH_BYTES - LINE_BYTES)
				why = file_flush(to, w->limit / 4 * 3, buf, &filled);
		}
	}
	if (!why)
		why = file_flush(to, w->limit / 4 * 3, buf, &filled);
	memory_unmap(buf, BATCH_BYTES);
	return why;
}

/* Rewrites a full map with the live code only, and renames the new file over the old one. */
static const char *map_compact(struct writer *w)
{
	struct output_file fresh;
	struct kernel_stat st;
	const char *why;
	long done;

	st.dev = w->file.dev;
	st.ino = w->file.ino;
	if (w->file.shared || file_other_writers(&st, w->file.fd))
		return "maximum size reached, and the file is shared";
	append_string(fresh.path, PATH_BYTES, append_string(fresh.path, PATH_BYTES, 0, w->file.path), ".new");
	why = file_create(&fresh, 0);
	if (why)
		return why;
	why = map_copy(w, &fresh);
	if (!why) {
		done = SYS(SYS_renameat, AT_FDCWD, fresh.path, AT_FDCWD, w->file.path);
		if (done < 0)
			why = error_text(done);
	}
	if (why) {
		sys_unlink(fresh.path);
		file_close(&fresh);
		return why;
	}
	file_close(&w->file);
	w->file.dev = fresh.dev;
	w->file.ino = fresh.ino;
	w->file.fd = fresh.fd;
	return why;
}

/* @name comes from clean_name. */
static const char *map_write(struct writer *w, uint64_t addr, uint32_t size, const char *name)
{
	char line[LINE_BYTES + 1];
	struct part part;
	struct entry entry;
	uint64_t at = 0;
	const char *why;

	part.len = append_number(line, sizeof(line), 0, addr, 16);
	part.len = append_string(line, sizeof(line), part.len, " ");
	part.len = append_number(line, sizeof(line), part.len, size, 16);
	part.len = append_string(line, sizeof(line), part.len, " ");
	part.len = append_string(line, sizeof(line), part.len, name);
	part.len = append_string(line, sizeof(line), part.len, "\n");
	part.bytes = line;
	why = file_append(&w->file, w->limit, &part, 1, &at);
	if (why == size_limit_text) {
		table_clear(&w->table, addr, addr + size);
		why = map_compact(w);
		if (!why)
			why = file_append(&w->file, w->limit, &part, 1, &at);
	}
	if (why)
		return why;
	entry.addr = addr;
	entry.size = size;
	entry.offset = (uint32_t)at;
	return table_insert(&w->table, entry) ? error_text(-ENOMEM) : why;
}

static const char *map_move(struct writer *w, const struct entry *e, uint64_t to)
{
	char line[LINE_BYTES + 1];
	uint64_t size, len, at = 0;
	const char *why = file_check(&w->file, &size);

	if (why)
		return why;
	len = map_read_line(&w->file, e, line);
	if (!len)
		return "the file was modified by another program";
	line[len - 1] = 0;
	for (int spaces = 0; spaces < 2 && at < len; at++)
		spaces += line[at] == ' ';
	return map_write(w, to, e->size, line + at);
}

/* ---- The dump ---- */

/* Records as in Linux's tools/perf/Documentation/jitdump-specification.txt. */
struct dump_record {
	uint32_t kind, bytes;
	uint64_t time;
};

#define DUMP_MAGIC 0x4a695444u /* "JiTD" */
#if defined(__x86_64__)
#define DUMP_MACHINE EM_X86_64
#else
#define DUMP_MACHINE EM_AARCH64
#endif

enum { DUMP_LOAD = 0, DUMP_MOVE = 1, DUMP_LINES = 2, DUMP_CLOSE = 3 };

struct dump_load {
	struct dump_record r;
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct dump_move {
	struct dump_record r;
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

/* Followed by count entries: u64 address, u32 line, u32 discriminator, NUL-terminated file name. */
struct dump_lines {
	struct dump_record r;
	uint64_t addr, count;
};

struct dump_header {
	uint32_t magic, version, bytes, machine, pad, pid;
	uint64_t time, flags;
};

static const char *dump_begin(struct writer *w)
{
	struct dump_header h;
	struct part part;
	uint64_t at;
	const char *why;

	h.magic = DUMP_MAGIC;
	h.version = 1;
	h.bytes = sizeof(h);
	h.machine = DUMP_MACHINE;
	h.pad = 0;
	h.pid = state.pid;
	h.time = now_ns();
	h.flags = 0;
	part.bytes = &h;
	part.len = sizeof(h);
	why = file_append(&w->file, w->limit, &part, 1, &at);
	if (why)
		return why;
	/* Profilers find the dump through this mapping. */
	w->marker = raw_syscall(SYS_mmap, 0, sizeof(h), PROT_READ | PROT_EXEC, MAP_PRIVATE, w->file.fd, 0);
	if (is_error(w->marker)) {
		w->marker = 0;
		return "cannot be mapped executable, so profilers could not find it; set UT_JIT_DIR to a directory "
		       "that is not mounted noexec";
	}
	return why;
}

static void dump_unmap(struct writer *w)
{
	if (w->marker)
		SYS(SYS_munmap, w->marker, sizeof(struct dump_header), 0, 0);
	w->marker = 0;
}

/*
 * @name comes from clean_name. @lines is the offset of the record with the lines of this code, or 0. *@at is the offset
 * of the first record of this code.
 */
static const char *dump_write_load(struct writer *w, uint64_t addr, uint32_t size, const char *name, uint64_t lines,
				   uint64_t *at)
{
	struct dump_load load;
	struct part part[3];
	struct entry entry;
	const char *why;

	load.r.kind = DUMP_LOAD;
	load.r.time = now_ns();
	load.pid = state.pid;
	load.tid = thread_id();
	load.vma = load.addr = addr;
	load.size = size;
	load.index = w->index;
	part[0].bytes = &load;
	part[0].len = sizeof(load);
	part[1].bytes = name;
	part[1].len = string_length(name) + 1;
	part[2].bytes = (const void *)addr;
	part[2].len = size;
	load.r.bytes = (uint32_t)(part[0].len + part[1].len + part[2].len);
	if (size > w->limit)
		return size_limit_text;
	why = file_append(&w->file, w->limit, part, 3, at);
	if (why)
		return why;
	w->index++;
	entry.addr = addr;
	entry.size = size;
	entry.offset = (uint32_t)(lines ? lines : *at);
	*at = entry.offset;
	return table_insert(&w->table, entry) ? error_text(-ENOMEM) : why;
}

/* Reads the load record and the name (UT_JIT_NAME_MAX + 1 bytes) of an entry. Returns 0 if there is none. */
static int dump_read_load(const struct output_file *f, const struct entry *e, struct dump_load *ret, char *name)
{
	const long whole = sizeof(*ret);
	uint64_t at = e->offset;
	long n;

	if (sys_pread(f->fd, ret, sizeof(*ret), at) != whole)
		return 0;
	if (ret->r.kind == DUMP_LINES) {
		at += ret->r.bytes;
		if (sys_pread(f->fd, ret, sizeof(*ret), at) != whole)
			return 0;
	}
	n = sys_pread(f->fd, name, UT_JIT_NAME_MAX + 1, at + sizeof(*ret));
	for (long i = 0; i < n; i++) {
		if (!name[i])
			return ret->r.kind == DUMP_LOAD;
	}
	return 0;
}

static const char *dump_write_move(struct writer *w, const struct entry *e, uint64_t to)
{
	char name[UT_JIT_NAME_MAX + 1];
	struct dump_load load;
	struct dump_move moved;
	struct part part;
	struct entry entry = *e;
	uint64_t at;
	const char *why = file_check(&w->file, &at);

	if (why)
		return why;
	if (!dump_read_load(&w->file, e, &load, name))
		return "the file was modified by another program";
	moved.r.kind = DUMP_MOVE;
	moved.r.bytes = sizeof(moved);
	moved.r.time = now_ns();
	moved.pid = state.pid;
	moved.tid = thread_id();
	moved.vma = moved.to = to;
	moved.from = e->addr;
	moved.size = e->size;
	moved.index = load.index;
	part.bytes = &moved;
	part.len = sizeof(moved);
	why = file_append(&w->file, w->limit, &part, 1, &at);
	entry.addr = to;
	if (why)
		return why;
	return table_insert(&w->table, entry) ? error_text(-ENOMEM) : why;
}

/* A buffer that is flushed to the file when it is full. */
struct batch {
	struct writer *w;
	const char *why;
	char *buf;
	uint64_t filled;
};

static void batch_append(struct batch *b, const void *bytes, uint64_t len)
{
	const char *from = (const char *)bytes;

	while (len && !b->why) {
		uint64_t n = BATCH_BYTES - b->filled < len ? BATCH_BYTES - b->filled : len;

		copy_bytes(b->buf + b->filled, from, n);
		b->filled += n;
		from += n;
		len -= n;
		if (b->filled == BATCH_BYTES)
			b->why = file_flush(&b->w->file, b->w->limit, b->buf, &b->filled);
	}
}

/* The file name of a line in a dump: "\xff" means the name of the previous line. */
static const char *line_file_name(const struct ut_jit_line *lines, size_t i)
{
	if (lines[i].file && (i == 0 || lines[i].file != lines[i - 1].file))
		return lines[i].file;
	return i ? "\xff" : "";
}

/* *@at is the offset of the record. Its header contains its size, which is therefore computed first. */
static const char *dump_write_lines(struct writer *w, uint64_t addr, const struct ut_jit_line *lines, size_t count,
				    uint64_t *at)
{
	struct dump_lines head;
	struct batch b;
	uint64_t bytes = sizeof(head);

	for (size_t i = 0; i < count; i++)
		bytes += 16 + string_length(line_file_name(lines, i)) + 1;
	b.why = file_check(&w->file, at);
	if (b.why || bytes > w->limit || *at > w->limit - bytes)
		return b.why ? b.why : size_limit_text;
	b.w = w;
	b.filled = 0;
	b.buf = memory_map(BATCH_BYTES);
	if (!b.buf)
		return error_text(-ENOMEM);
	head.r.kind = DUMP_LINES;
	head.r.bytes = (uint32_t)bytes;
	head.r.time = now_ns();
	head.addr = addr;
	head.count = count;
	batch_append(&b, &head, sizeof(head));
	for (size_t i = 0; i < count && !b.why; i++) {
		const char *file = line_file_name(lines, i);

		batch_append(&b, &lines[i].addr, 8);
		batch_append(&b, &lines[i].line, 4);
		batch_append(&b, &lines[i].discriminator, 4);
		batch_append(&b, file, string_length(file) + 1);
	}
	if (!b.why)
		b.why = file_flush(&w->file, w->limit, b.buf, &b.filled);
	memory_unmap(b.buf, BATCH_BYTES);
	return b.why;
}

/* Copies the line record of an entry of @from, unless its code has moved. *@ret is its new offset, or 0. */
static const char *dump_copy_lines(struct writer *w, const struct output_file *from, const struct entry *e,
				   uint64_t *ret)
{
	const char *why = NULL;
	struct dump_lines head;
	uint64_t buf[128], done = sizeof(head), at;
	struct part part;

	*ret = 0;
	if (sys_pread(from->fd, &head, sizeof(head), e->offset) != (long)sizeof(head) || head.r.kind != DUMP_LINES ||
	    head.addr != e->addr)
		return why;
	head.r.time = now_ns();
	part.bytes = &head;
	part.len = sizeof(head);
	why = file_append(&w->file, w->limit, &part, 1, ret);
	part.bytes = buf;
	while (!why && done < head.r.bytes) {
		uint64_t want = head.r.bytes - done < sizeof(buf) ? head.r.bytes - done : sizeof(buf);
		long n = sys_pread(from->fd, buf, want, e->offset + done);

		if (n <= 0)
			return "the file was modified by another program";
		part.len = (uint64_t)n;
		why = file_append(&w->file, w->limit, &part, 1, &at);
		done += part.len;
	}
	return why;
}

/* Copies all live code from the parent's dump to the new one. */
static const char *dump_copy(struct writer *w, struct output_file *from, const struct table *live)
{
	char name[UT_JIT_NAME_MAX + 1];
	struct dump_load load;
	uint64_t at;
	const char *why = file_check(from, &at);

	for (uint64_t i = 0; !why && i < live->n; i++) {
		const struct leaf *l = &live->leaf[i];

		for (uint64_t k = 0; !why && k < l->n; k++) {
			if (!dump_read_load(from, &l->e[k], &load, name))
				continue;
			why = dump_copy_lines(w, from, &l->e[k], &at);
			if (!why)
				why = dump_write_load(w, l->e[k].addr, l->e[k].size, name, at, &at);
			if (why && !*why) /* the code is no longer mapped */
				why = NULL;
		}
	}
	return why;
}

/* ---- Failures, fork and the lock ---- */

static struct writer *writer_of(uint32_t which) { return which == UT_JIT_MAP ? &state.map : &state.dump; }

static void set_enabled(uint32_t which, int on)
{
	if (on)
		__atomic_or_fetch(&state.on, which, __ATOMIC_RELAXED);
	else
		__atomic_and_fetch(&state.on, ~which, __ATOMIC_RELAXED);
}

/* Sets the string that ut_jit_error returns, "PATH: why". */
static void set_error(const char *where, const char *why)
{
	uint64_t n = append_string(state.error, sizeof(state.error), 0, where);

	n = append_string(state.error, sizeof(state.error), n, ": ");
	append_string(state.error, sizeof(state.error), n, why);
	__atomic_store_n(&state.has_error, 1u, __ATOMIC_RELEASE);
}

static void writer_stop(uint32_t which)
{
	struct writer *w = writer_of(which);

	set_enabled(which, 0);
	dump_unmap(w);
	file_close(&w->file);
	table_free(&w->table);
}

/* Handles the result of an operation on a writer: stops writing after an error. */
static void writer_check(uint32_t which, const char *why)
{
	if (!why)
		return;
	if (!*why) { /* unreadable code is omitted */
		state.lost++;
		return;
	}
	set_error(writer_of(which)->file.path, why);
	writer_stop(which);
}

/* Creates a file for a forked child, with the live code of its parent. */
static void writer_inherit(uint32_t which)
{
	struct writer *w = writer_of(which);
	struct output_file old, own;
	struct table live;
	const char *why;

	copy_bytes(&old, &w->file, sizeof(old));
	copy_bytes(&live, &w->table, sizeof(live));
	dump_unmap(w);
	if (which == UT_JIT_DUMP)
		zero_bytes(&w->table, sizeof(w->table));
	writer_path(&w->file, which, state.pid);
	why = file_create(&w->file, which == UT_JIT_MAP);
	if (why) {
		w->file.fd = -1;
	} else if (which == UT_JIT_DUMP) {
		why = dump_begin(w);
		if (!why)
			why = dump_copy(w, &old, &live);
	} else {
		copy_bytes(&own, &w->file, sizeof(own));
		copy_bytes(&w->file, &old, sizeof(old));
		why = map_copy(w, &own);
		copy_bytes(&old, &w->file, sizeof(old));
		copy_bytes(&w->file, &own, sizeof(own));
	}
	if (which == UT_JIT_DUMP)
		table_free(&live);
	file_close(&old);
	writer_check(which, why);
}

/* Rebuilds the table from the readable lines of the map. */
static void map_load_table(struct writer *w)
{
	char line[LINE_BYTES + 1];
	struct entry e;
	uint64_t size, len;
	const char *why = file_check(&w->file, &size);

	for (e.offset = 0; !why && (len = map_read_line(&w->file, &e, line)); e.offset += (uint32_t)len) {
		uint64_t numbers[2];
		const char *c = line;

		for (int i = 0; i < 2; i++, c += *c == ' ') {
			for (numbers[i] = 0; (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'f'); c++)
				numbers[i] = numbers[i] << 4 | (uint64_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
		}
		e.addr = numbers[0];
		e.size = (uint32_t)numbers[1];
		if (e.size && e.addr + e.size > e.addr && table_insert(&w->table, e))
			return;
	}
}

/* A thread of the parent held the lock during the fork, so the tables may be inconsistent. They are leaked. */
static void tables_discard(void)
{
	zero_bytes(&state.map.table, sizeof(state.map.table));
	zero_bytes(&state.dump.table, sizeof(state.dump.table));
	if (state.on & UT_JIT_MAP)
		map_load_table(&state.map);
}

static void state_enter_process(uint32_t pid, int was_locked)
{
	if (state.pid == pid)
		return;
	if (was_locked)
		tables_discard();
	state.pid = pid;
	for (uint32_t which = UT_JIT_MAP; which <= UT_JIT_DUMP; which++) {
		if (state.on & which)
			writer_inherit(which);
	}
}

#define LOCK_SPINS 100
#define LOCK_SLEEP_NS 50000
#define LOCK_TIMEOUT_NS 5000000000u

/* Spins or sleeps once. Returns 0 after LOCK_TIMEOUT_NS. */
static int lock_wait(unsigned *round, uint64_t *since)
{
	int64_t t[2];

	t[0] = 0;
	t[1] = LOCK_SLEEP_NS;
	if (++*round < LOCK_SPINS) {
#if defined(__x86_64__)
		__asm__ volatile("pause" ::: "memory");
#else
		__asm__ volatile("yield" ::: "memory");
#endif
		return 1;
	}
	if (!*since)
		*since = now_ns();
	SYS(SYS_nanosleep, t, 0, 0, 0);
	return now_ns() - *since < LOCK_TIMEOUT_NS;
}

/*
 * Acquires the lock, and after a fork switches to files of this process. Returns 0, and counts the call as lost, if
 * this thread already holds the lock (in a signal handler) or another thread does not release it.
 */
static int lock_acquire(void)
{
	const uint64_t pid = (uint64_t)SYS(SYS_getpid, 0, 0, 0, 0);
	const uint64_t self = pid << 32 | thread_id();
	uint64_t seen, since = 0;
	unsigned round = 0;

	for (;;) {
		seen = __atomic_load_n(&state.lock, __ATOMIC_RELAXED);
		if ((!seen || seen >> 32 != pid) &&
		    __atomic_compare_exchange_n(&state.lock, &seen, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			break;
		if (seen != self && lock_wait(&round, &since))
			continue;
		if (seen != self && seen >> 32 == pid)
			set_enabled(UT_JIT_MAP | UT_JIT_DUMP, 0);
		__atomic_add_fetch(&state.lost, 1u, __ATOMIC_RELAXED);
		return 0;
	}
	state_enter_process((uint32_t)pid, seen != 0);
	return 1;
}

static void lock_release(void) { __atomic_store_n(&state.lock, (uint64_t)0, __ATOMIC_RELEASE); }

/* ---- The environment ---- */

#ifdef __cplusplus
extern "C" {
#endif
/* Weak, since a program without libc may load the library. */
extern char **program_environ __asm__("environ") __attribute__((weak));
#ifdef __cplusplus
}
#endif

/* The value of an environment variable, or NULL. */
static const char *env_get(const char *name)
{
	char **env = &program_environ ? program_environ : NULL;

	for (; env && *env; env++) {
		const char *at = *env, *n = name;

		while (*n && *at == *n) {
			at++;
			n++;
		}
		if (!*n && *at == '=')
			return at + 1;
	}
	return NULL;
}

/* Does the program have more privileges than its user, such as a set-user-ID program? */
static int is_privileged(void)
{
	uint64_t pair[2];
	long fd;
	int ret = 0;

	if (SYS(SYS_getuid, 0, 0, 0, 0) != SYS(SYS_geteuid, 0, 0, 0, 0) ||
	    SYS(SYS_getgid, 0, 0, 0, 0) != SYS(SYS_getegid, 0, 0, 0, 0))
		return 1;
	fd = sys_openat("/proc/self/auxv", 0);
	while (fd >= 0 && SYS(SYS_read, fd, pair, sizeof(pair), 0) == (long)sizeof(pair) && pair[0])
		ret |= pair[0] == AT_SECURE && pair[1];
	if (fd >= 0)
		sys_close(fd);
	return ret;
}

/* Returns the length of @word if @text begins with it, followed by a comma or the end; else 0. */
static uint64_t match_word(const char *text, const char *word)
{
	uint64_t n = 0;

	while (word[n] && text[n] == word[n])
		n++;
	return !word[n] && (!text[n] || text[n] == ',') ? n : 0;
}

/* Parses the variable UT_JIT; returns @flags if it is invalid. */
static unsigned parse_outputs(const char *text, unsigned flags)
{
	unsigned ret = 0;
	uint64_t n;

	for (; *text; text += *text == ',') {
		if ((n = match_word(text, "map"))) {
			ret |= UT_JIT_MAP;
		} else if ((n = match_word(text, "dump"))) {
			ret |= UT_JIT_DUMP;
		} else if (!(n = match_word(text, "off"))) {
			set_error("UT_JIT", "must be map, dump, map,dump or off");
			return flags;
		}
		text += n;
	}
	return ret;
}

/* Returns the variable UT_JIT_MAX in bytes, or 0 if it is not set or invalid. */
static uint64_t parse_limit(const char *text)
{
	uint64_t n = 0;

	if (!text || !*text)
		return 0;
	for (; *text >= '0' && *text <= '9' && n < 4096; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	if (!*text && n > 0 && n < 4096)
		return n << 20;
	set_error("UT_JIT_MAX", "must be a number of MiB from 1 to 4095");
	return 0;
}

static unsigned read_environment(unsigned flags)
{
	const char *wanted = env_get("UT_JIT");
	const char *dir = env_get("UT_JIT_DIR");
	uint64_t limit;

	state.map.limit = UT_JIT_MAP_MAX;
	state.dump.limit = UT_JIT_DUMP_MAX;
	state.dir[0] = 0;
	if (flags & UT_JIT_NO_ENV || is_privileged())
		return flags;
	if (dir && string_length(dir) >= sizeof(state.dir))
		set_error("UT_JIT_DIR", "the path is too long");
	else if (dir)
		append_string(state.dir, sizeof(state.dir), 0, dir);
	limit = parse_limit(env_get("UT_JIT_MAX"));
	if (limit)
		state.map.limit = state.dump.limit = limit;
	return wanted && *wanted ? parse_outputs(wanted, flags) : flags;
}

/* ---- Public functions ---- */

static int is_on(void) { return __atomic_load_n(&state.on, __ATOMIC_RELAXED) != 0; }

static void writer_start(uint32_t which)
{
	struct writer *w = writer_of(which);
	const char *why;

	writer_path(&w->file, which, state.pid);
	w->index = 0;
	why = file_create(&w->file, which == UT_JIT_MAP);
	if (why)
		w->file.fd = -1;
	else if (which == UT_JIT_DUMP)
		why = dump_begin(w);
	if (!why)
		set_enabled(which, 1);
	else if (which == UT_JIT_DUMP && w->file.fd >= 0)
		sys_unlink(w->file.path); /* profilers could not find it */
	writer_check(which, why);
}

int ut_jit_open(unsigned flags)
{
	unsigned wanted;

	if (!lock_acquire())
		return 0;
	wanted = state.on ? flags : read_environment(flags);
	for (uint32_t which = UT_JIT_MAP; which <= UT_JIT_DUMP; which++) {
		if (wanted & which && !(state.on & which))
			writer_start(which);
	}
	wanted = state.on;
	lock_release();
	return (int)wanted;
}

static void emit_code(uint64_t addr, size_t size, const char *name, const struct ut_jit_line *lines, size_t n)
{
	char clean[UT_JIT_NAME_MAX + 1];
	const uint32_t bytes = (uint32_t)size;
	const char *why = NULL;
	uint64_t at = 0;

	if (!size || size > UINT32_MAX || addr + size < addr || !lock_acquire())
		return;
	clean_name(clean, name);
	if (state.on & UT_JIT_MAP)
		writer_check(UT_JIT_MAP, map_write(&state.map, addr, bytes, clean));
	if (state.on & UT_JIT_DUMP) {
		if (lines && n)
			why = dump_write_lines(&state.dump, addr, lines, n, &at);
		if (!why)
			why = dump_write_load(&state.dump, addr, bytes, clean, at, &at);
		writer_check(UT_JIT_DUMP, why);
	}
	lock_release();
}

void ut_jit_code(const void *addr, size_t size, const char *name)
{
	if (is_on())
		emit_code((uint64_t)addr, size, name, NULL, 0);
}

void ut_jit_code_lines(const void *addr, size_t size, const char *name, const struct ut_jit_line *lines, size_t count)
{
	if (is_on())
		emit_code((uint64_t)addr, size, name, lines, count);
}

/* Moves entries in the order of memmove, so that none is overwritten before it has moved. */
static const char *writer_move(uint32_t which, uint64_t from, uint64_t to, uint64_t size)
{
	struct writer *w = writer_of(which);
	uint64_t at = from, end = from + size, leaf = 0;
	struct entry *found, e;
	const char *why = NULL;

	while (!why &&
	       (found = to < from ? table_first(&w->table, at, end, &leaf) : table_last(&w->table, from, end, &leaf))) {
		e = *found;
		at = e.addr + e.size;
		if (to >= from)
			end = e.addr;
		if (e.addr < from) /* it only extends into the range */
			continue;
		table_remove(&w->table, leaf, found);
		why = which == UT_JIT_MAP ? map_move(w, &e, e.addr - from + to)
					  : dump_write_move(w, &e, e.addr - from + to);
	}
	return why;
}

static void change_range(uint64_t from, uint64_t to, uint64_t size, int drop)
{
	if (!size || from + size < from || to + size < to || (!drop && from == to) || !lock_acquire())
		return;
	for (uint32_t which = UT_JIT_MAP; which <= UT_JIT_DUMP; which++) {
		if (!(state.on & which))
			continue;
		if (drop)
			table_clear(&writer_of(which)->table, from, from + size);
		else
			writer_check(which, writer_move(which, from, to, size));
	}
	lock_release();
}

void ut_jit_move(const void *old_addr, const void *new_addr, size_t size)
{
	if (is_on())
		change_range((uint64_t)old_addr, (uint64_t)new_addr, size, 0);
}

void ut_jit_drop(const void *addr, size_t size)
{
	if (is_on())
		change_range((uint64_t)addr, 0, size, 1);
}

void ut_jit_forked(void)
{
	if (is_on() && lock_acquire())
		lock_release();
}

void ut_jit_close(void)
{
	struct dump_record closed;
	struct part part;
	uint64_t at;

	if (!is_on() || !lock_acquire())
		return;
	if (state.on & UT_JIT_DUMP) {
		closed.kind = DUMP_CLOSE;
		closed.bytes = sizeof(closed);
		closed.time = now_ns();
		part.bytes = &closed;
		part.len = sizeof(closed);
		file_append(&state.dump.file, state.dump.limit, &part, 1, &at);
		writer_stop(UT_JIT_DUMP);
	}
	if (state.on & UT_JIT_MAP)
		writer_stop(UT_JIT_MAP);
	lock_release();
}

int ut_jit_on(void) { return is_on(); }

const char *ut_jit_error(void) { return __atomic_load_n(&state.has_error, __ATOMIC_ACQUIRE) ? state.error : NULL; }

uint64_t ut_jit_lost(void) { return __atomic_load_n(&state.lost, __ATOMIC_RELAXED); }

#else /* unsupported platform */

int ut_jit_open(unsigned flags)
{
	(void)flags;
	return 0;
}

void ut_jit_code(const void *addr, size_t size, const char *name) { (void)addr, (void)size, (void)name; }

void ut_jit_code_lines(const void *addr, size_t size, const char *name, const struct ut_jit_line *lines, size_t count)
{
	(void)addr, (void)size, (void)name, (void)lines, (void)count;
}

void ut_jit_move(const void *old_addr, const void *new_addr, size_t size)
{
	(void)old_addr, (void)new_addr, (void)size;
}

void ut_jit_drop(const void *addr, size_t size) { (void)addr, (void)size; }
void ut_jit_forked(void) {}
void ut_jit_close(void) {}
int ut_jit_on(void) { return 0; }
const char *ut_jit_error(void) { return "naming JIT code is not supported on this platform"; }
uint64_t ut_jit_lost(void) { return 0; }

#endif
