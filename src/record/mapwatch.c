/* SPDX-License-Identifier: MIT */
/* One perf event without samples on each CPU; its ring carries the mappings. Layout: perf_event_open(2). */
#include "record/mapwatch.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "kernel/kernel.h"

#define RING_PAGES 32

struct watch_ring {
	int fd;
	struct perf_event_mmap_page *page;
};

struct mapwatch {
	unsigned n;
	size_t page_bytes;
	struct watch_ring v[];
};

/* The fixed part of a PERF_RECORD_MMAP2 record; the file's name follows, and the time in its last 8 bytes. */
struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char name[];
};

static int open_cpu(struct mapwatch *w, unsigned cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
		.sample_id_all = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct watch_ring *ring = &w->v[w->n];

	ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return errno == ENODEV ? 0 : -errno; /* an offline CPU */
	ring->page = mmap(NULL, (RING_PAGES + 1) * w->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (ring->page == MAP_FAILED) {
		int r = -errno;

		close(ring->fd);
		return r;
	}
	w->n++;
	return 0;
}

int mapwatch_open(struct mapwatch **ret, struct ut_err *err)
{
	unsigned cpus = kernel_cpus();
	struct mapwatch *w = calloc(1, sizeof(*w) + cpus * sizeof(w->v[0]));
	int r = 0;

	if (!w)
		return ut_err_nomem(err);
	w->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; !r && i < cpus; i++)
		r = open_cpu(w, i);
	if (r) {
		mapwatch_close(w);
		return ut_err_set(err, r, "cannot watch for new mappings: %s (requires root or CAP_PERFMON)",
				  strerror(-r));
	}
	*ret = w;
	return 0;
}

struct mapwatch *mapwatch_close(struct mapwatch *w)
{
	for (unsigned i = 0; w && i < w->n; i++) {
		munmap(w->v[i].page, (RING_PAGES + 1) * w->page_bytes);
		close(w->v[i].fd);
	}
	free(w);
	return NULL;
}

unsigned mapwatch_fds(const struct mapwatch *w) { return w->n; }
int mapwatch_fd(const struct mapwatch *w, unsigned i) { return w->v[i].fd; }

/* Copies @len bytes at position @at out of a ring that may wrap. */
static void copy_out(const struct mapwatch *w, const struct watch_ring *r, uint64_t at, void *to, size_t len)
{
	const char *data = (const char *)r->page + w->page_bytes;
	uint64_t size = RING_PAGES * w->page_bytes;

	for (size_t i = 0; i < len; i++)
		((char *)to)[i] = data[(at + i) & (size - 1)];
}

/* The name as in /proc/PID/maps, with line feeds as octal numbers. For display only: files are opened by other paths. */
static void escape_name(const char *name, char *ret, size_t size)
{
	size_t n = 0;

	for (; *name && n + 5 < size; name++) {
		if (*name == '\n' || *name == '\r') {
			n += (size_t)snprintf(ret + n, size - n, "\\%03o", (unsigned)*name);
			continue;
		}
		ret[n++] = *name;
	}
	ret[n] = '\0';
}

static int emit_mapping(struct mmap2 *rec, mapwatch_fn *fn, void *ctx)
{
	uint64_t time_ns;
	char name[PATH_MAX];
	struct mapping m = {
		.start = rec->addr,
		.end = rec->addr + rec->len,
		.offset = rec->pgoff,
		.exec = true,
		.write = rec->prot & PROT_WRITE,
		.path = name,
		.file = { .dev = makedev(rec->maj, rec->min), .ino = rec->ino },
	};

	memcpy(&time_ns, (const char *)rec + rec->header.size - sizeof(time_ns), sizeof(time_ns));
	((char *)rec)[rec->header.size - sizeof(time_ns) - 1] = '\0';
	if (rec->name[0] != '/' || !rec->ino || strcmp(rec->name, "//anon") == 0)
		m.file = (struct file_id){ 0 };
	escape_name(strcmp(rec->name, "//anon") == 0 ? "" : rec->name, name, sizeof(name));
	return fn(ctx, (pid_t)rec->pid, &m, time_ns);
}

static int read_ring(struct mapwatch *w, struct watch_ring *ring, mapwatch_fn *fn, void *ctx)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE), tail = ring->page->data_tail;
	union {
		struct mmap2 rec;
		char bytes[65536];
	} *room = malloc(sizeof(*room));
	AUTO_FREE void *owned = room;
	int r = room ? 0 : -ENOMEM;
	bool missed = false;

	(void)owned;
	while (!r && tail < head) {
		struct perf_event_header h;

		copy_out(w, ring, tail, &h, sizeof(h));
		if (h.size < sizeof(h))
			break;
		missed |= h.type == PERF_RECORD_LOST;
		if (h.type == PERF_RECORD_MMAP2 && h.size > sizeof(room->rec) + sizeof(uint64_t)) {
			copy_out(w, ring, tail, room, h.size);
			r = emit_mapping(&room->rec, fn, ctx);
		}
		tail += h.size;
	}
	__atomic_store_n(&ring->page->data_tail, r ? tail : head, __ATOMIC_RELEASE);
	return r ? r : missed;
}

int mapwatch_read(struct mapwatch *w, mapwatch_fn *fn, void *ctx)
{
	int r = 0, missed = 0;

	for (unsigned i = 0; r >= 0 && i < w->n; i++) {
		r = read_ring(w, &w->v[i], fn, ctx);
		missed |= r > 0;
	}
	return r < 0 ? r : missed;
}
