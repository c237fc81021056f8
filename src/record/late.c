/* SPDX-License-Identifier: MIT */
/* Reads memory of a process that may have ended. */
#include "record/late.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/io.h"
#include "elf/image.h"

#define NOTES 4096 /* recorded mappings */
#define CHILDREN 4096 /* a power of two */
#define GENERATIONS 8 /* of forks without exec */
#define BUDGETS 1024 /* a power of two */
#define KNOWN 512 /* a power of two */
#define KNOWN_SIZE 256 /* the longest string that is read */
#define PAGE 4096

struct noted {
	pid_t pid;
	uint64_t start, end, offset;
	struct file_id file;
	char *path; /* owned */
	bool examined; /* the file was opened; its addresses in the process: */
	uint64_t low, high; /* equal: no address can be read */
};

struct child {
	pid_t pid, parent;
};

/* The reads that a process has used in this window. */
struct budget {
	pid_t pid;
	unsigned reads;
	uint64_t since_ns;
};

/* A cached read: a child that never touched a page emits many events with the same address. */
struct known {
	pid_t pid;
	uint64_t since_ns, address;
	size_t size, len;
	char bytes[KNOWN_SIZE];
};

struct late {
	struct noted v[NOTES];
	size_t next;
	struct child children[CHILDREN];
	struct budget budgets[BUDGETS];
	struct known known[KNOWN];
};

struct late *late_new(void) { return calloc(1, sizeof(struct late)); }

struct late *late_free(struct late *l)
{
	for (size_t i = 0; l && i < NOTES; i++)
		free(l->v[i].path);
	free(l);
	return NULL;
}

void late_note(struct late *l, pid_t pid, const struct mapping *m)
{
	struct noted *n = &l->v[l->next];
	char *path = strdup(m->path);

	if (!path)
		return;
	free(n->path);
	*n = (struct noted){
		.pid = pid, .start = m->start, .end = m->end, .offset = m->offset, .file = m->file, .path = path
	};
	l->next = (l->next + 1) % NOTES;
}

void late_note_process(struct late *l, pid_t pid)
{
	struct mappings maps = { 0 };
	struct ut_err ignored;

	if (mappings_read(pid, &maps, &ignored))
		return;
	for (size_t i = 0; i < maps.maps.n; i++)
		if (maps.maps.v[i].exec && maps.maps.v[i].file.ino)
			late_note(l, pid, &maps.maps.v[i]);
	mappings_done(&maps);
}

void late_fork(struct late *l, pid_t child, pid_t parent)
{
	l->children[(uint32_t)child % CHILDREN] = (struct child){ .pid = child, .parent = parent };
	for (size_t i = 0; i < KNOWN; i++)
		if (l->known[i].pid == child)
			l->known[i].pid = 0;
}

/* 0: not known. */
static pid_t parent_of(const struct late *l, pid_t pid)
{
	const struct child *c = &l->children[(uint32_t)pid % CHILDREN];

	return c->pid == pid ? c->parent : 0;
}

/* Bytes up to the NUL, if there is one. */
static size_t up_to_nul(const char *s, size_t n)
{
	const char *nul = memchr(s, '\0', n);

	return nul ? (size_t)(nul - s) + 1 : n;
}

static size_t read_process(pid_t pid, uint64_t address, char *ret, size_t size)
{
	size_t first = PAGE - (size_t)(address % PAGE), got = 0;
	AUTO_CLOSE int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	/* page by page: the page after the string may not exist */
	for (size_t want = first < size ? first : size; got < size && want; want = size - got) {
		n = pread(fd, ret + got, want, (off_t)(address + got));
		if (n <= 0)
			break;
		got += (size_t)n;
		if (memchr(ret, '\0', got))
			break;
	}
	return up_to_nul(ret, got);
}

/* Opens the file of a mapping if it is still the file that was mapped. */
static int open_noted(const struct noted *n)
{
	const struct mapping m = { .file = n->file, .offset = n->offset };
	AUTO_CLOSE int peek = open(n->path, O_PATH | O_CLOEXEC);
	struct stat st;
	AUTO_CLOSE int fd = peek < 0 ? -1 : open_regular(peek, &st);

	return fd >= 0 && mapping_is_of(&m, &st) ? take_fd(&fd) : -1;
}

/*
 * How far the file's own addresses are from those of the process: from the segment that was mapped as code. Notes which
 * addresses of the process the file covers.
 */
static bool load_bias(struct noted *n, struct elf_image *img, uint64_t *ret)
{
	const struct elf_segment *segments;
	size_t count = elf_image_segments(img, &segments), code;

	for (code = 0; code < count; code++)
		if (segments[code].exec && (segments[code].offset & ~(uint64_t)(PAGE - 1)) == n->offset)
			break;
	if (code == count)
		return false;
	*ret = n->start - (segments[code].vaddr & ~(uint64_t)(PAGE - 1));
	for (size_t i = 0; i < count; i++) {
		uint64_t low = segments[i].vaddr + *ret, high = low + segments[i].filesz;

		if (high < low)
			continue;
		n->low = n->high && n->low < low ? n->low : low;
		n->high = n->high > high ? n->high : high;
	}
	return true;
}

/* Opens a file once to learn its addresses, later only for addresses inside: a program chooses the addresses. */
static size_t read_mapped_file(struct noted *n, uint64_t address, char *ret, size_t size)
{
	AUTO_CLOSE int fd = -1;
	struct elf_image *img = NULL;
	struct ut_err ignored;
	size_t got = 0;
	uint64_t bias;

	if (n->examined && (address < n->low || address >= n->high))
		return 0;
	n->examined = true;
	fd = open_noted(n);
	if (fd < 0 || elf_image_open(fd, &img, &ignored))
		return 0;
	if (load_bias(n, img, &bias))
		while (got < size && elf_read_at(img, address - bias + got, ret + got, 1) && ret[got++])
			;
	elf_image_free(img);
	return got;
}

/* The latest mapping first: the PID may have belonged to another process. */
static size_t read_mapped_files(struct late *l, pid_t pid, uint64_t address, char *ret, size_t size)
{
	size_t got = 0;

	for (size_t i = 1; !got && i <= NOTES; i++) {
		struct noted *n = &l->v[(l->next + NOTES - i) % NOTES];

		if (n->path && n->pid == pid)
			got = read_mapped_file(n, address, ret, size);
	}
	return got;
}

static bool spend_read(struct late *l, pid_t pid, uint64_t time_ns)
{
	struct budget *b = &l->budgets[(uint32_t)pid % BUDGETS];

	if (b->pid != pid || time_ns < b->since_ns || time_ns - b->since_ns >= LATE_WINDOW_NS)
		*b = (struct budget){ .pid = pid, .since_ns = time_ns };
	return b->reads++ < LATE_READS;
}

static size_t read_uncached(struct late *l, pid_t pid, uint64_t time_ns, uint64_t address, char *ret, size_t size)
{
	size_t got, more = 0;

	if (!spend_read(l, pid, time_ns))
		return 0;
	got = process_started_after(pid, time_ns) ? 0 : read_process(pid, address, ret, size);
	if (got && (got == size || !ret[got - 1]))
		return got;
	/* The process can exit between two pages: the file has the rest. */
	for (int i = 0; !more && pid && i < GENERATIONS; i++) {
		more = read_mapped_files(l, pid, address + got, ret + got, size - got);
		pid = parent_of(l, pid);
	}
	return got + more;
}

size_t late_read(struct late *l, pid_t pid, uint64_t time_ns, uint64_t address, char *ret, size_t size)
{
	struct known *k = &l->known[((uint32_t)pid * 31 + (address ^ address >> 12)) % KNOWN];
	size_t got;

	if (k->pid == pid && k->address == address && k->size == size && time_ns >= k->since_ns &&
	    time_ns - k->since_ns < LATE_WINDOW_NS) {
		memcpy(ret, k->bytes, k->len);
		return k->len;
	}
	got = read_uncached(l, pid, time_ns, address, ret, size);
	if (got && got <= sizeof(k->bytes)) {
		*k = (struct known){ .pid = pid, .since_ns = time_ns, .address = address, .size = size, .len = got };
		memcpy(k->bytes, ret, got);
	}
	return got;
}
