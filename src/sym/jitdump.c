/* SPDX-License-Identifier: MIT */
/* The records of a jitdump, from bytes that may lie. */
#include "sym/jitdump.h"

#include <byteswap.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

#define MAGIC 0x4A695444u
#define VERSION 1
#define HEADER_MAX 65536
#define FLAG_ARCH_TIMESTAMP 1
#define V8_PAD 0xdeadbeefu
#define V8_SHIFT 0x40 /* V8 counts the ELF header that `perf inject` puts before the code */
#define PREFIX 16 /* type, size, time */
#define LOAD_FIXED 56
#define MOVE_FIXED 64
#define DEBUG_FIXED 32

static uint32_t get32(const struct jitdump *d, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return d->swapped ? bswap_32(v) : v;
}

static uint64_t get64(const struct jitdump *d, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return d->swapped ? bswap_64(v) : v;
}

static int header_error(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -EBADMSG;
}

int jitdump_header(const void *bytes, size_t len, struct jitdump *ret, const char **ret_why)
{
	const uint8_t *p = bytes;
	struct jitdump d = { 0 };

	if (len < JITDUMP_HEADER)
		return header_error(ret_why, "ends within its header");
	if (get32(&d, p) == bswap_32(MAGIC))
		d.swapped = true;
	else if (get32(&d, p) != MAGIC)
		return header_error(ret_why, "is not a jitdump: it does not begin with JiTD");
	if (get32(&d, p + 4) != VERSION)
		return header_error(ret_why, "is a jitdump of an unsupported version (only 1 is supported)");
	d.header_size = get32(&d, p + 8);
	if (d.header_size < JITDUMP_HEADER || d.header_size > HEADER_MAX)
		return header_error(ret_why, "has an invalid header size");
	d.is_v8 = get32(&d, p + 16) == V8_PAD;
	d.pid = get32(&d, p + 20);
	d.cycles = get64(&d, p + 32) & FLAG_ARCH_TIMESTAMP;
	*ret = d;
	return 0;
}

/* Does code of this size end before memory does? */
static bool is_valid_range(uint64_t addr, uint64_t size) { return size && addr + size >= addr; }

static void get_load(const struct jitdump *d, const uint8_t *p, struct jitdump_record *ret)
{
	ret->addr = get64(d, p + 32);
	ret->code_size = get64(d, p + 40);
	ret->index = get64(d, p + 48);
	ret->name = LOAD_FIXED;
	if (ret->size < LOAD_FIXED + 1 || ret->code_size > ret->size - LOAD_FIXED - 1 ||
	    !is_valid_range(ret->addr, ret->code_size))
		ret->type = JITDUMP_BAD;
	else
		ret->name_max = ret->size - LOAD_FIXED - (uint32_t)ret->code_size;
}

static void get_move(const struct jitdump *d, const uint8_t *p, struct jitdump_record *ret)
{
	ret->old_addr = get64(d, p + 32);
	ret->addr = get64(d, p + 40);
	ret->code_size = get64(d, p + 48);
	ret->index = get64(d, p + 56);
	if (!is_valid_range(ret->addr, ret->code_size) || !is_valid_range(ret->old_addr, ret->code_size))
		ret->type = JITDUMP_BAD;
}

int jitdump_record(const struct jitdump *d, const void *bytes, size_t len, uint64_t left, struct jitdump_record *ret)
{
	static const uint32_t fixed[] = { LOAD_FIXED, MOVE_FIXED, DEBUG_FIXED };
	const uint8_t *p = bytes;
	uint32_t type;

	*ret = (struct jitdump_record){ 0 };
	if (len < PREFIX || left < PREFIX)
		return 0;
	type = get32(d, p);
	ret->size = get32(d, p + 4);
	ret->time_ns = get64(d, p + 8);
	if (ret->size < PREFIX)
		return -EBADMSG;
	if (ret->size > left)
		return 0;
	ret->type = type > INT32_MAX ? INT32_MAX : (int)type;
	if (type > JITDUMP_DEBUG)
		return 1;
	if (ret->size < fixed[type] || len < fixed[type])
		ret->type = JITDUMP_BAD;
	else if (type == JITDUMP_LOAD)
		get_load(d, p, ret);
	else if (type == JITDUMP_MOVE)
		get_move(d, p, ret);
	else {
		ret->addr = get64(d, p + 16);
		ret->entries = get64(d, p + 24);
	}
	return 1;
}

/* One entry: address, line, discriminator, file name; "\xff" is the file of the entry before. Its size, or 0. */
static size_t line_entry(const struct jitdump *d, const uint8_t *p, size_t len, struct jitdump_line *line)
{
	const uint8_t *nul = len > 16 ? memchr(p + 16, '\0', len - 16) : NULL;

	if (!nul)
		return 0;
	if (nul != p + 17 || p[16] != 0xff) {
		line->file = (const char *)p + 16;
		line->file_len = (uint32_t)(nul - p) - 16;
	}
	line->addr = get64(d, p) - (d->is_v8 ? V8_SHIFT : 0);
	line->line = get32(d, p + 8);
	return (size_t)(nul - p) + 1;
}

static int compare_lines(const void *a, const void *b)
{
	const struct jitdump_line *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* By address; of those with one address the last stays. */
static void sort_lines(struct jitdump_lines *lines)
{
	size_t kept = 0;

	if (lines->v.n < 2)
		return;
	qsort(lines->v.v, lines->v.n, sizeof(*lines->v.v), compare_lines);
	for (size_t i = 1; i < lines->v.n; i++) {
		kept += lines->v.v[i].addr != lines->v.v[kept].addr;
		lines->v.v[kept] = lines->v.v[i];
	}
	lines->v.n = kept + 1;
}

int jitdump_lines_read(const struct jitdump *d, const void *bytes, size_t len, struct jitdump_lines *ret)
{
	const uint8_t *p = bytes, *end = p + len;
	struct jitdump_line line = { 0 };
	uint64_t entries;
	size_t n;

	*ret = (struct jitdump_lines){ 0 };
	if (len < DEBUG_FIXED)
		return 0;
	entries = get64(d, p + 24);
	p += DEBUG_FIXED;
	for (; entries && (n = line_entry(d, p, (size_t)(end - p), &line)); entries--, line.at++, p += n)
		if (line.file && vec_push(&ret->v, line))
			return -ENOMEM;
	sort_lines(ret);
	return 0;
}

void jitdump_lines_done(struct jitdump_lines *lines) { vec_done(&lines->v); }

const struct jitdump_line *jitdump_line_at(const struct jitdump_lines *lines, uint64_t addr)
{
	size_t low = search_first_not(i, 0, lines->v.n, lines->v.v[i].addr <= addr);

	return low && lines->v.v[low - 1].file_len ? &lines->v.v[low - 1] : NULL;
}

/* Does @time lie in the life of the process on a clock that shows @now, in units of @unit nanoseconds? */
static bool lies_in(uint64_t time, uint64_t now, uint64_t life_ns, uint64_t unit)
{
	uint64_t last = now / unit, life = life_ns / unit, slack = 10000000000u / unit;

	return time <= last + slack && time + life + slack >= last;
}

const char *jitdump_clock(uint64_t time, const struct jitdump_clocks *now)
{
	if (lies_in(time, now->real_ns, now->life_ns, 1))
		return "of the wall clock in nanoseconds (CLOCK_REALTIME)";
	if (lies_in(time, now->real_ns, now->life_ns, 1000))
		return "of the wall clock in microseconds";
	if (lies_in(time, now->real_ns, now->life_ns, 1000000))
		return "of the wall clock in milliseconds";
	if (lies_in(time, now->real_ns, now->life_ns, 1000000000))
		return "of the wall clock in seconds";
	if (lies_in(time, now->boot_ns, now->life_ns, 1))
		return "of the time since boot with sleep (CLOCK_BOOTTIME)";
	if (now->cycles && time <= now->cycles && time >= now->cycles / 1024)
		return "of the CPU's cycle counter";
	if (lies_in(time, now->monotonic_ns, now->life_ns, 1000))
		return "of CLOCK_MONOTONIC in microseconds";
	if (time <= now->life_ns + 10000000000u)
		return "relative to the start of the program";
	return "of an unknown clock";
}
