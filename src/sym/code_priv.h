/* SPDX-License-Identifier: MIT */
/* Shared by the files of code maps: trust in files, sources of names, and lookups in them. */
#ifndef UT_SYM_CODE_PRIV_H
#define UT_SYM_CODE_PRIV_H

#include <sys/stat.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/sentences.h"
#include "base/vec.h"
#include "proc/identity.h"
#include "sym/code.h"
#include "sym/jitdump.h"
#include "sym/perfmap.h"

#define CODE_PIECE (1u << 20) /* bytes of a file that are read at once */
#define CODE_KEEP_ONE (64u << 20) /* bytes kept in memory of a map that will be rewritten */
#define CODE_KEEP_SMALL (1u << 20) /* of a map that is not known to be rewritten */
#define CODE_KEEP_ALL (256u << 20) /* of all maps of all processes together */
#define CODE_READ_MAX (4ull << 30) /* bytes read of one map, without holes */
#define CODE_NAME_MAX 4096
#define CODE_LINES_MAX (1u << 22) /* lines of one map in memory, 56 bytes each */
#define CODE_FILES_MAX 64 /* generations of a map, or dumps, of one process */
#define CODE_WORK_MAX (1ull << 30) /* comparisons of a line with a lookup, in one pass */

/* The process that the code belongs to. Read while it is alive. */
struct code_owner {
	struct process_id id;
	pid_t ns_pid; /* in its own PID namespace */
	uint32_t uids[4]; /* real, effective, saved, of file accesses */
	size_t nuids; /* 0: not known, only root is trusted */
	uint64_t start_real_ns; /* when it started, by the wall clock; rounded down to a tick */
	uint64_t start_ns; /* by CLOCK_MONOTONIC */
	struct identity who; /* with which its files are opened; only if @has_who */
	bool has_who;
	bool same_mounts; /* it has our mount namespace and root */
	bool rewrites; /* it rewrites the whole map each time: HotSpot */
};
int code_owner_read(pid_t pid, struct code_owner *ret);

/* Keeps a bounded number of sentences. */
void code_note(struct sentences *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads up to @len bytes of a file from @at on; returns how many, 0 at the end or on an error. */
size_t code_pread(int fd, uint64_t at, void *to, size_t len);
/* The owner of a file is root or the process's user. */
bool code_is_trusted(const struct code_owner *o, const struct stat *st);
/*
 * Opens a file of the process's /tmp for reading, @path below the directory @dir. -ENOENT; -EPERM with a note that names
 * @shown when the file is not trusted: a link, no regular file, another user's; -ESTALE when it is older than the process.
 * Another user's process: opened in a child with its identity, as it may have mounted there what only root can read.
 */
int code_open(int dir, const char *path, const char *shown, const struct code_owner *o, struct stat *st,
	      struct sentences *notes);

enum code_found { /* in order: a higher one wins */
		  CODE_NOBODY,
		  CODE_LATER, /* by a line of a map that arrived after the time in question */
		  CODE_LINE,
		  CODE_LOAD, /* by a dump */
		  CODE_MOVE, /* by a dump: code with the index of a LOAD was moved here */
		  CODE_GONE, /* by a dump: the code was moved away */
};

/* A name and its address range; lookups share it. */
struct code_name {
	const char *name; /* NULL: the file has none */
	uint64_t start, size;
};

struct code_question {
	uint64_t addr, time_ns;
	uint64_t at; /* offset of the line or record in its file */
	uint64_t ns; /* time of the record */
	uint64_t debug; /* offset of the record with its source lines, 0: none */
	const struct code_name *name;
	const char *file;
	uint32_t line;
	uint16_t source; /* index in code_maps.maps or .dumps */
	uint8_t found;
	bool named; /* name, file and line are looked up */
};
struct code_questions {
	VEC(struct code_question) q;
};

/* Lookups in order of address, and the first one of each part of the address range. */
struct code_index {
	struct code_questions *of;
	uint64_t min, max;
	unsigned shift;
	uint32_t *first; /* CODE_BUCKETS + 1 */
	uint64_t work; /* comparisons since it was made */
};
#define CODE_BUCKETS 65536u

void code_questions_sort(struct code_questions *qs); /* by address and time; drops duplicates */
int code_index_make(struct code_index *x, struct code_questions *of);
void code_index_done(struct code_index *x);
/* Is any lookup within @size bytes from @start? Then *@ret is the first. */
bool code_index_hits(const struct code_index *x, uint64_t start, uint64_t size, size_t *ret);
struct code_question *code_question_find(struct code_questions *qs, uint64_t addr, uint64_t time_ns);

/* A file had this size at this time. */
struct code_arrival {
	uint64_t time_ns, size;
};
/* A line of a map, or a record of a dump, in memory. */
struct code_line {
	uint64_t start, end, at, time_ns; /* at: its offset in the file; time_ns: when it was first seen */
	const struct code_name *name; /* read at the first lookup */
	uint64_t index; /* CODE_MOVE: the index of its LOAD */
	uint8_t found; /* enum code_found, of a dump */
};
struct code_lines {
	VEC(struct code_line) v; /* the first @sorted by start, then by `at`; behind them newer ones */
	VEC(uint64_t) reach; /* of each sorted line: the highest end of it and all before it */
	size_t sorted;
	struct perfmap reader;
	uint64_t left; /* bytes that may still be read */
	bool ended;
};
/* Replaces *@best, which may be NULL, by @l if @l takes precedence at @time_ns. */
typedef void code_choose_fn(struct code_line **best, struct code_line *l, uint64_t time_ns);
void code_lines_add(struct code_lines *l, const struct code_line *line);
void code_lines_sort(struct code_lines *l); /* after some were added */
/* The line that @choose prefers of those that cover @addr; valid until the next is added. */
struct code_line *code_lines_find(struct code_lines *l, uint64_t addr, uint64_t time_ns, code_choose_fn *choose);
void code_lines_done(struct code_lines *l);

/* One perf map from its beginning until it was rewritten. */
struct code_map {
	int fd;
	char *shown; /* its path, for notes */
	uint64_t begin_ns; /* it is the current map from then on */
	uint64_t end_ns; /* until then; UINT64_MAX while it is current */
	uint64_t from; /* an earlier process wrote the bytes before this offset */
	uint64_t size, mtime_ns;
	ino_t ino;
	dev_t dev;
	VEC(struct code_arrival) log;
	struct buf kept; /* a copy of a file that may be rewritten */
	bool keeps, lost; /* lost: rewritten without a copy */
	size_t keep_max;
	struct code_lines lines; /* empty until code_map_line is called */
	struct perfmap reader; /* resolved lookups know the lines before it */
	uint64_t left; /* bytes that may still be read for them */
	bool ended;
	char tail[256]; /* the last bytes, which show whether the file was rewritten */
	size_t tail_len;
};

/* The file's present content counts as arrived at @begin_ns. @keep_max: bytes that are copied into memory. */
struct code_map *code_map_new(int fd, const char *shown, const struct stat *st, uint64_t begin_ns, size_t keep_max);
/* Another map is current from @time_ns on; @same_file: it has overwritten this one. */
void code_map_close(struct code_map *m, uint64_t time_ns, bool same_file, struct sentences *notes);
struct code_map *code_map_free(struct code_map *m);
/* Notes growth: 1, 0, or -ESTALE when the file was replaced or rewritten. @st is of the name or the descriptor. */
int code_map_grow(struct code_map *m, const struct stat *st, uint64_t time_ns);
/* Reads for new lookups what resolved ones know. */
void code_map_read(struct code_map *m, uint16_t number, struct code_questions *fresh, struct sentences *notes);
/* Reads the rest for all lookups; @ended: the writer is gone. */
void code_map_read_rest(struct code_map *m, uint16_t number, struct code_questions *all, bool ended,
			struct sentences *notes);
/* The line of @addr at @time_ns; without one, the first later one, and *@ret_later is true. NULL: none. @ended: the writer is
 * gone. Valid until the next call. */
struct code_line *code_map_line(struct code_map *m, uint64_t addr, uint64_t time_ns, bool ended, bool *ret_later);
/* All lines; @ret has the counts. */
void code_map_each(const struct code_map *m, bool ended, perfmap_fn *fn, void *ctx, struct perfmap *ret,
		   struct sentences *notes);
/* Appends a name from a file, made one line and of bounded length. */
void code_add_name(struct buf *text, const char *name, size_t len);
/* Reads the name of the line at offset @at. */
bool code_map_name(const struct code_map *m, uint64_t at, struct code_name *ret, struct buf *text);

struct code_dump_reader {
	uint64_t at; /* the next record; 0: the first one */
	struct {
		uint64_t addr, at;
	} debug[8]; /* lines of LOADs to come; at 0: none */
	unsigned next_debug;
};

/* A LOAD record, to name code that was moved. */
struct code_load {
	uint64_t index, size, time_ns, at;
};

struct code_dump {
	int fd;
	char *shown;
	dev_t dev;
	ino_t ino;
	struct jitdump head;
	bool known; /* its header was read */
	bool refused;
	uint64_t from_ns; /* no record can be older */
	uint64_t started_ns;
	pid_t ns_pid;
	bool inherited; /* its writer is a parent; its records count until the fork */
	struct code_dump_reader reader; /* resolved lookups know the records before it */
	uint64_t strange, first_strange; /* records with times outside the process's lifetime */
	uint64_t others; /* records of a parent from after the fork */
	uint64_t good, bad;
	bool told_cut, told_strange, told_broken;
	struct code_lines lines; /* empty until code_dump_line is called */
	uint64_t lines_at; /* the next record for them */
	VEC(struct code_load) loads;
};

/* The record that covers @addr at @time_ns; NULL: none. Valid until the next call. */
struct code_line *code_dump_line(struct code_dump *d, uint64_t addr, uint64_t time_ns, struct sentences *notes);
/* The name at such a line, a LOAD or a MOVE, and the address range of the code after it. */
bool code_dump_line_name(const struct code_dump *d, const struct code_line *line, struct code_name *ret,
			 struct buf *text);
struct code_dump *code_dump_new(int fd, const char *shown, const struct stat *st, const struct code_owner *o);
struct code_dump *code_dump_free(struct code_dump *d);
/* As with maps. */
void code_dump_read(struct code_dump *d, uint16_t number, struct code_questions *fresh, struct sentences *notes);
void code_dump_read_rest(struct code_dump *d, uint16_t number, struct code_questions *all, bool ended,
			 struct sentences *notes);
/* All records that can be read. */
typedef void code_record_fn(void *ctx, const struct jitdump_record *rec);
void code_dump_each(struct code_dump *d, bool ended, code_record_fn *fn, void *ctx, struct sentences *notes);
/* A lookup that a MOVE record resolved: where the code is now, and the time of its newest LOAD. */
struct code_moved {
	struct code_question *q;
	uint64_t index, size, start, ns, load_ns;
};
/* Finds the LOAD of each: q->at becomes its offset, 0 without one. Sorts @moved. */
void code_dump_moves(struct code_dump *d, struct code_moved *moved, size_t n);
/* Reads the MOVE record at @q. */
bool code_dump_move(const struct code_dump *d, struct code_question *q, struct code_moved *ret);
/* The name at a LOAD, and the address range where it was loaded. */
bool code_dump_name(const struct code_dump *d, uint64_t at, struct code_name *ret, struct buf *text);
/* The whole record of source lines at @at; NULL when it is none. The caller frees. */
void *code_dump_lines(const struct code_dump *d, uint64_t at, size_t *ret_len);

struct code_maps {
	struct code_owner owner;
	bool gone; /* the process has exited */
	int dir; /* its /tmp; AT_FDCWD: ours */
	char path[2][40]; /* names in it, the first that exists counts */
	char shown[2][80];
	size_t npaths;
	VEC(struct code_map *) maps;
	VEC(struct code_dump *) dumps;
	struct code_questions settled, fresh;
	struct sentences notes;
	VEC(struct code_name *) names;
	VEC(char *) texts;
	struct strings files; /* of source lines: some of the texts */
	uint64_t last_ns;
	uint64_t now_ns; /* when code_maps_lookup_live last polled */
	struct {
		ino_t ino;
		uint64_t mtime_ns, size;
		bool stale;
	} refused; /* the file that was rejected last */
	int watch; /* inotify, -1: none; not ours */
};

/* The name at a line of @m, or of @d if that is not NULL, read once; NULL: the file has changed. */
const struct code_name *code_line_name(struct code_maps *c, const struct code_map *m, const struct code_dump *d,
				       struct code_line *line);
/* Reads the names of resolved lookups. */
void code_names_fill(struct code_maps *c);

/* For tests: without a process, and files by descriptor, which are taken over. */
struct code_maps *code_maps_bare(const struct code_owner *o);
int code_maps_add_map(struct code_maps *c, int fd, const char *shown, uint64_t time_ns);
int code_maps_add_dump(struct code_maps *c, int fd, const char *shown);

#endif
