/* SPDX-License-Identifier: MIT */
/* Reading BPF ring buffers: layout and protocol of Documentation/bpf/ringbuf.rst, records of wire/record.h. */
#include "record/ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "wire/record.h"

#define LOST_STRIDE 8 /* counters are 64 bytes apart: no two CPUs share a cache line */

struct ring {
	struct ringbuf map;
	/*
	 * A copy of a record that wraps around the end of the data. One is enough: its memory is not freed before it has
	 * left the merge, and the next such record is a whole ring later. (The kernel could map the data twice in a row,
	 * but that counts as twice the resident memory.)
	 */
	char *wrapped;
	uint64_t read; /* read position; the consumer position is at or before it */
	uint32_t lost; /* last number seen in a record or in the counter */
	uint64_t last_ns; /* time of the last record read */
};

uint64_t rings_default_size(unsigned ncpus)
{
	uint64_t size = 4u << 20;

	while (size > (256u << 10) && size * ncpus > (16u << 20))
		size /= 2;
	return size;
}

int ringbuf_open(struct ringbuf *ret, const char *name, uint64_t size, struct ut_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *consumer, *producer;

	*ret = (struct ringbuf){ .fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, name, 0, 0, (uint32_t)size, NULL) };
	if (ret->fd == -EPERM)
		return ut_err_set(err, ret->fd, "the kernel rejects BPF: run as root, or with CAP_BPF and CAP_PERFMON");
	if (ret->fd < 0)
		return ut_err_set(err, ret->fd, "cannot create a ring buffer of %llu KiB: %s%s",
				  (unsigned long long)size / 1024, strerror(-ret->fd),
				  ret->fd == -ENOMEM   ? "; try a smaller --buffer"
				  : ret->fd == -EMFILE ? "; raise the limit (ulimit -n)"
						       : "");
	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
	if (consumer != MAP_FAILED)
		ret->consumer = consumer;
	producer = mmap(NULL, page + size, PROT_READ, MAP_SHARED, ret->fd, (off_t)page);
	if (producer != MAP_FAILED)
		ret->producer = producer;
	if (!ret->consumer || !ret->producer)
		return ut_err_set(err, -errno, "cannot map a ring buffer: %s", strerror(errno));
	ret->data = (const char *)producer + page;
	return 0;
}

void ringbuf_close(struct ringbuf *b, uint64_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (b->consumer)
		munmap(b->consumer, page);
	if (b->producer)
		munmap((void *)b->producer, page + size);
	close_fd(b->fd);
	*b = (struct ringbuf){ .fd = -1 };
}

static int open_lost(struct rings *r, struct ut_err *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	void *p;

	r->lost_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ut_lost", 4, r->n * LOST_STRIDE * 8, 1, &opts);
	if (r->lost_fd < 0)
		return ut_err_set(err, r->lost_fd, "cannot create the counters of lost events: %s",
				  strerror(-r->lost_fd));
	r->lost_size = (r->n * LOST_STRIDE * 8 + 4095u) & ~4095u;
	p = mmap(NULL, r->lost_size, PROT_READ, MAP_SHARED, r->lost_fd, 0);
	if (p == MAP_FAILED)
		return ut_err_set(err, -errno, "cannot map the counters of lost events: %s", strerror(errno));
	r->lost = p;
	return 0;
}

/*
 * All rings at once: the kernel waits for a grace period after each update of such an array, which takes milliseconds,
 * and there may be many CPUs.
 */
static int fill_outer(const struct rings *rings)
{
	AUTO_FREE uint32_t *keys = calloc(rings->n, sizeof(*keys)), *fds = calloc(rings->n, sizeof(*fds));
	uint32_t n = rings->n;
	int r = keys && fds ? 0 : -ENOMEM;

	for (uint32_t i = 0; !r && i < rings->n; i++) {
		keys[i] = i;
		fds[i] = (uint32_t)rings->v[i].map.fd;
	}
	if (!r && (bpf_map_update_batch(rings->outer_fd, keys, fds, &n, NULL) || n != rings->n))
		for (uint32_t i = 0; !r && i < rings->n; i++) /* a kernel that has no such call for this kind of map */
			r = bpf_map_update_elem(rings->outer_fd, &keys[i], &fds[i], BPF_ANY);
	return r;
}

static int open_outer(struct rings *rings, struct ut_err *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)rings->v[0].map.fd);
	int r;

	rings->outer_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "ut_rings", 4, 4, rings->n, &opts);
	r = rings->outer_fd < 0 ? rings->outer_fd : fill_outer(rings);
	return r ? ut_err_set(err, r, "cannot create the array of ring buffers: %s", strerror(-r)) : 0;
}

int rings_open(struct rings *ret, unsigned ncpus, uint64_t size_bytes, struct ut_err *err)
{
	int r = 0;

	*ret = (struct rings){ .n = ncpus, .outer_fd = -1, .lost_fd = -1, .size_bytes = size_bytes };
	ret->v = calloc(ncpus, sizeof(*ret->v));
	if (!ret->v)
		return ut_err_nomem(err);
	for (unsigned i = 0; i < ncpus; i++)
		ret->v[i].map.fd = -1;
	for (unsigned i = 0; !r && i < ncpus; i++)
		r = ringbuf_open(&ret->v[i].map, "ut_ring", size_bytes, err);
	if (!r)
		r = open_lost(ret, err);
	if (!r)
		r = open_outer(ret, err);
	if (r)
		rings_close(ret);
	return r;
}

void rings_close(struct rings *r)
{
	for (unsigned i = 0; r->v && i < r->n; i++) {
		ringbuf_close(&r->v[i].map, r->size_bytes);
		free(r->v[i].wrapped);
	}
	if (r->lost)
		munmap(r->lost, r->lost_size);
	close_fd(r->lost_fd);
	close_fd(r->outer_fd);
	free(r->v);
	*r = (struct rings){ .outer_fd = -1, .lost_fd = -1 };
}

int rings_fd(const struct rings *r, unsigned cpu) { return r->v[cpu].map.fd; }

/* Adds an item for the events that were lost since the last record. */
static int add_gap(struct ring *ring, struct merge *merge, unsigned cpu, uint32_t lost, uint64_t time_ns)
{
	struct merge_item gap = {
		.time_ns = time_ns, .lost = lost - ring->lost, .since_ns = ring->last_ns, .position = UINT64_MAX
	};

	if ((int32_t)gap.lost <= 0)
		return 0;
	if (gap.since_ns >
	    time_ns) /* the record before the gap nests in the one after it, or came after the counter was read */
		gap.since_ns = time_ns;
	ring->lost = lost;
	return merge_add(merge, cpu, &gap);
}

/* The record at the read position in one piece. NULL: out of memory. */
static const struct ut_rec_event *whole_record(struct ring *ring, uint64_t ring_size, uint32_t size)
{
	uint64_t at = (ring->read + BPF_RINGBUF_HDR_SZ) & (ring_size - 1);
	char *copy;

	if (at + size <= ring_size)
		return (const void *)(ring->map.data + at);
	copy = realloc(ring->wrapped, size);
	if (!copy)
		return NULL;
	ring->wrapped = copy;
	memcpy(copy, ring->map.data + at, ring_size - at);
	memcpy(copy + (ring_size - at), ring->map.data, size - (ring_size - at));
	return (const void *)copy;
}

static int add_record(struct ring *ring, uint64_t ring_size, struct merge *merge, unsigned cpu, uint32_t size)
{
	const struct ut_rec_event *rec = whole_record(ring, ring_size, size);
	struct merge_item item = { .rec = rec, .size = size, .position = ring->read };
	int r;

	if (!rec)
		return -ENOMEM;
	item.time_ns = rec->time_ns;
	r = add_gap(ring, merge, cpu, rec->lost, rec->time_ns);
	ring->last_ns = rec->time_ns;
	return r ? r : merge_add(merge, cpu, &item);
}

/* Reads up to the producer position; sets the watermark when all records before it were submitted. */
static int read_ring(struct rings *rings, unsigned cpu, struct merge *merge, uint64_t *n)
{
	struct ring *ring = &rings->v[cpu];
	uint64_t time = monotonic_ns(), mask = rings->size_bytes - 1, end;
	uint32_t lost = (uint32_t)__atomic_load_n(&rings->lost[cpu * LOST_STRIDE], __ATOMIC_ACQUIRE);
	int r = 0;

	end = __atomic_load_n(ring->map.producer, __ATOMIC_ACQUIRE);
	while (!r && ring->read < end) {
		const uint32_t *head = (const void *)(ring->map.data + (ring->read & mask));
		uint32_t len = __atomic_load_n(head, __ATOMIC_ACQUIRE);
		uint32_t size = len & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (len & BPF_RINGBUF_BUSY_BIT)
			return 0;
		if (!(len & BPF_RINGBUF_DISCARD_BIT) && size >= sizeof(struct ut_rec_event)) {
			r = add_record(ring, rings->size_bytes, merge, cpu, size);
			++*n;
		}
		ring->read += (size + BPF_RINGBUF_HDR_SZ + 7u) & ~7ull;
	}
	if (!r) /* all records are read, so the events lost until then came after the last one */
		r = add_gap(ring, merge, cpu, lost, time);
	merge_set_watermark(merge, cpu, time);
	return r;
}

int rings_read(struct rings *rings, struct merge *merge, uint64_t *ret_n)
{
	int r = 0;

	*ret_n = 0;
	for (unsigned i = 0; !r && i < rings->n; i++)
		r = read_ring(rings, i, merge, ret_n);
	return r;
}

void rings_release(struct rings *r, struct merge *merge)
{
	for (unsigned i = 0; i < r->n; i++)
		__atomic_store_n(r->v[i].map.consumer, merge_oldest(merge, i, r->v[i].read), __ATOMIC_RELEASE);
}

void rings_end_watermarks(struct rings *r, struct merge *merge)
{
	for (unsigned i = 0; i < r->n; i++)
		merge_set_watermark(merge, i, UINT64_MAX);
}

/* The sum of one counter over all CPUs. */
static uint64_t sum_counter(const struct rings *r, unsigned counter)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < r->n; i++)
		n += __atomic_load_n(&r->lost[i * LOST_STRIDE + counter], __ATOMIC_ACQUIRE);
	return n;
}

uint64_t rings_throttled(const struct rings *r) { return sum_counter(r, 1); }
uint64_t rings_lost_lifecycle(const struct rings *r) { return sum_counter(r, 2); }

double rings_pressure(const struct rings *r)
{
	double most = 0;

	for (unsigned i = 0; i < r->n; i++) {
		uint64_t used = __atomic_load_n(r->v[i].map.producer, __ATOMIC_RELAXED) - *r->v[i].map.consumer;
		double share = (double)used / (double)r->size_bytes;

		most = share > most ? share : most;
	}
	return most;
}
