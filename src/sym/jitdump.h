/* SPDX-License-Identifier: MIT */
/*
 * The records of a jitdump (Linux: tools/perf/Documentation/jitdump-specification.txt), from bytes of the file. Pure.
 * Sizes in the file are compared with the record's and with the file's before they are used; nothing is allocated.
 */
#ifndef UT_SYM_JITDUMP_H
#define UT_SYM_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define JITDUMP_HEADER 40 /* bytes that jitdump_header needs */
#define JITDUMP_HEAD 64 /* bytes that jitdump_record needs of a record, if it has as many */

struct jitdump {
	bool swapped; /* of the other byte order */
	uint32_t header_size; /* records begin there */
	uint32_t pid; /* of the writer, as it sees itself */
	bool cycles; /* its times are processor cycles */
	bool is_v8; /* lines stand 64 bytes behind the code that they are of */
};

/* 0, or -EBADMSG and *@ret_why, the end of a sentence about the file: "is no jitdump". */
int jitdump_header(const void *bytes, size_t len, struct jitdump *ret, const char **ret_why);

enum jitdump_type {
	JITDUMP_LOAD = 0,
	JITDUMP_MOVE = 1,
	JITDUMP_DEBUG = 2, /* lines of the LOAD that follows */
	JITDUMP_CLOSE = 3,
	JITDUMP_UNWINDING = 4,
	JITDUMP_BAD = -1, /* a record that says what cannot be; the next one can be read */
};

struct jitdump_record {
	int type; /* other numbers: unknown ones */
	uint32_t size; /* the next record is behind so many bytes */
	uint64_t time_ns;
	uint64_t addr, code_size, index; /* LOAD; of MOVE the new place */
	uint64_t old_addr; /* MOVE */
	uint32_t name, name_max; /* LOAD: where in the record the name begins, bytes till the code */
	uint64_t entries; /* DEBUG */
};

/*
 * The record that begins at @bytes, of which @len are there, and @left till the end of the file. 1; 0 when the file ends
 * before the record does; -EBADMSG for a size that no record has: where the next one begins is not known then.
 */
int jitdump_record(const struct jitdump *d, const void *bytes, size_t len, uint64_t left, struct jitdump_record *ret);

/* What a DEBUG record tells: from @addr on, line @line of a file. */
struct jitdump_line {
	uint64_t addr;
	const char *file; /* in the record, not terminated */
	uint32_t file_len, line, at; /* at: which entry of the record */
};
struct jitdump_lines {
	VEC(struct jitdump_line) v;
}; /* by address, each once: the last one counts */
/* From the whole record @bytes, which must live as long. Returns -ENOMEM. Free with jitdump_lines_done. */
int jitdump_lines_read(const struct jitdump *d, const void *bytes, size_t len, struct jitdump_lines *ret);
void jitdump_lines_done(struct jitdump_lines *lines);
/* The one that @addr is of; NULL: none, or of no file. */
const struct jitdump_line *jitdump_line_at(const struct jitdump_lines *lines, uint64_t addr);

/* All clocks at one moment, and since when the process lives. */
struct jitdump_clocks {
	uint64_t monotonic_ns, real_ns, boot_ns, cycles; /* cycles 0: not known */
	uint64_t life_ns;
};
/* Which clock a time looks like that cannot be CLOCK_MONOTONIC's: "of the wall clock in nanoseconds". Never NULL. */
const char *jitdump_clock(uint64_t time, const struct jitdump_clocks *now);

#endif
