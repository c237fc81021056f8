/* SPDX-License-Identifier: MIT */
/* Fuzzes jitdumps: the reader of records by itself, then a whole dump that is asked who had an address when. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sym/code_priv.h"
#include "fuzz.h"

static void check(const struct jitdump_record *r, uint64_t left)
{
	if (r->size < 16 || r->size > left)
		abort();
	if (r->type == JITDUMP_LOAD &&
	    (r->code_size + r->name + r->name_max != r->size || !r->name_max || !r->code_size))
		abort();
	if ((r->type == JITDUMP_LOAD || r->type == JITDUMP_MOVE) && r->addr + r->code_size < r->addr)
		abort();
}

static void check_lines(const struct jitdump *d, const char *record, const struct jitdump_record *r)
{
	struct jitdump_lines lines;
	const struct jitdump_line *at;

	if (!jitdump_lines_read(d, record, r->size, &lines)) {
		for (size_t i = 1; i < lines.v.n; i++)
			if (lines.v.v[i - 1].addr >= lines.v.v[i].addr)
				abort();
		at = jitdump_line_at(&lines, r->addr + 20);
		if (at && (at->addr > r->addr + 20 || at->file < record || at->file + at->file_len > record + r->size))
			abort();
	}
	jitdump_lines_done(&lines);
}

/* Records alone; each is in memory of just its size. */
static void read_records(const uint8_t *data, size_t size)
{
	struct jitdump d;
	struct jitdump_record r;
	const char *why;

	if (jitdump_header(data, size, &d, &why))
		return;
	for (size_t at = d.header_size; at < size; at += r.size) {
		uint8_t *copy;

		if (jitdump_record(&d, data + at, size - at, size - at, &r) <= 0)
			return;
		check(&r, size - at);
		copy = malloc(r.size);
		if (!copy)
			return;
		memcpy(copy, data + at, r.size);
		if (r.type == JITDUMP_DEBUG)
			check_lines(&d, (const char *)copy, &r);
		free(copy);
	}
}

/* The kernel makes files slowly: one for all inputs. */
static int file_of(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("jit-1.dump", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return -1;
	return dup(fd);
}

static void check_answer(struct code_maps *c, uint64_t addr, uint64_t time_ns)
{
	struct code_answer a, now;

	code_maps_lookup(c, addr, time_ns, &a);
	c->now_ns = UINT64_MAX; /* nothing comes any more */
	code_maps_lookup_live(c, addr, time_ns, &now);
	if (!a.name != !now.name || (a.name && strcmp(a.name, now.name)))
		abort();
	if (a.name && (addr - a.start >= a.size || strchr(a.name, '\n') || !a.from_dump))
		abort();
}

FUZZ_TARGET(jitdump)
{
	struct code_owner owner = { .ns_pid = 4242 };
	struct code_maps *c;
	int fd;

	read_records(data, size);
	owner.uids[0] = getuid();
	owner.nuids = 1;
	c = code_maps_bare(&owner);
	fd = c ? file_of(data, size) : -1;
	if (fd < 0)
		return 0;
	c->gone = true;
	code_maps_add_dump(c, fd, "fuzz");
	for (uint64_t addr = 0x7f0000001000; addr < 0x7f0000003040; addr += 0x808)
		code_maps_request(c, addr, 2700);
	code_maps_resolve(c);
	for (uint64_t addr = 0x7f0000001000; addr < 0x7f0000003040; addr += 0x808)
		check_answer(c, addr, 2700);
	check_answer(c, 0x7f0000001010, 1u << 31);
	code_maps_free(c);
	return 0;
}
