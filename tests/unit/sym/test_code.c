/* SPDX-License-Identifier: MIT */
/* Code maps: all cases of maps and dumps, who had an address when, files that are written anew, whose files are believed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "sym/code_priv.h"
#include "unit.h"

#define WRITER 4242 /* of the handed dumps */

static const char *case_path(const char *folder, const char *file, const char *ending)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/tests/cases/%s/%s%s", getenv("UT_SOURCE_ROOT"), folder, file, ending);
	return path;
}

/* No process: its files are those that are added, and nobody writes them any more. */
static struct code_maps *bare(bool gone)
{
	struct code_owner owner = { .ns_pid = WRITER };
	struct code_maps *c = code_maps_bare(&owner);

	assert_non_null(c);
	owner.uids[0] = getuid();
	owner.nuids = 1;
	owner.has_who = !identity_read(getpid(), &owner.who);
	owner.same_mounts = true;
	c->owner = owner;
	c->gone = gone;
	return c;
}

static void add_case_map(struct code_maps *c, const char *file)
{
	int fd = open(case_path("perfmap", file, ""), O_RDONLY | O_CLOEXEC);

	assert_return_code(fd, errno);
	assert_int_equal(code_maps_add_map(c, fd, file, 0), 0);
}

/* Asked while events are printed, it is the same. What came was told to code_maps_poll, at times of the test's own. */
static void expect_now(struct code_maps *c, uint64_t addr, uint64_t time_ns, const struct code_answer *want)
{
	struct code_answer a;

	c->now_ns = UINT64_MAX;
	code_maps_lookup_live(c, addr, time_ns, &a);
	assert_int_equal(!a.name, !want->name);
	if (!a.name)
		return;
	assert_string_equal(a.name, want->name);
	assert_true(a.start == want->start && a.size == want->size);
	assert_true(a.later == want->later && a.from_dump == want->from_dump);
}

static void expect(struct code_maps *c, uint64_t addr, uint64_t time_ns, const char *want)
{
	struct buf got = { 0 };
	struct code_answer a;

	code_maps_lookup(c, addr, time_ns, &a);
	if (a.name)
		buf_add_escaped(&got, a.name, strlen(a.name));
	else
		buf_adds(&got, "-");
	if (a.file)
		buf_addf(&got, " %s:%u", a.file, a.line);
	assert_string_equal(got.data, want);
	buf_done(&got);
	expect_now(c, addr, time_ns, &a);
}

/* Calls @fn with the columns of each line of a table. */
static void each_line(const char *path, void (*fn)(char **columns))
{
	FILE *f = fopen(path, "re");
	char line[1024];
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *columns[4] = { 0 }, *rest = line;

		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#')
			continue;
		for (size_t i = 0; i < 4; i++)
			columns[i] = strsep(&rest, "\t");
		fn(columns);
		n++;
	}
	assert_true(n > 30);
	fclose(f);
}

/* The table has escapes in C's way; the backslash itself is one there. */
static void one_map(char **columns)
{
	struct code_maps *c = bare(true);

	add_case_map(c, columns[0]);
	expect(c, strtoull(columns[1], NULL, 16), 5, columns[2]);
	code_maps_free(c);
}

static void all_handed_maps(void **state)
{
	(void)state;
	each_line(case_path("perfmap", "answers", ".tsv"), one_map);
}

static void one_dump(char **columns)
{
	struct code_maps *c = bare(true);
	const char *const *notes;
	char *at;
	int fd = open(case_path("jitdump", columns[0], ".dump"), O_RDONLY | O_CLOEXEC);
	uint64_t addr = strtoull(columns[1], &at, 16);
	size_t n;

	assert_return_code(fd, errno);
	assert_int_equal(code_maps_add_dump(c, fd, columns[0]), 0);
	expect(c, addr, strtoull(at + 1, NULL, 10), columns[2]);
	n = code_maps_notes(c, &notes);
	assert_int_equal(n, columns[3][0] != '-');
	if (n)
		assert_non_null(strstr(notes[0], columns[3]));
	expect(c, addr + 0x100000, 1, "-"); /* asked again, nothing is noted twice */
	assert_int_equal(code_maps_notes(c, &notes), n);
	code_maps_free(c);
}

static void all_handed_dumps(void **state)
{
	(void)state;
	each_line(case_path("jitdump", "answers", ".tsv"), one_dump);
}

static void a_long_name_is_cut_with_a_mark(void **state)
{
	struct code_maps *c = bare(true);
	struct code_answer a;

	(void)state;
	add_case_map(c, "long_name.map");
	code_maps_lookup(c, 0x7f0000001010, 1, &a);
	assert_int_equal(strlen(a.name), CODE_NAME_MAX + 3);
	assert_string_equal(a.name + CODE_NAME_MAX, "…");
	code_maps_free(c);
}

/* A file that a writer appends to, and which is looked at now and then. */
struct writer {
	int fd, copy;
	char path[64];
	struct code_maps *c;
};

static struct writer *writer_start(bool gone)
{
	struct writer *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->path, "/tmp/ut-code-XXXXXX");
	w->fd = mkostemp(w->path, O_CLOEXEC);
	assert_return_code(w->fd, errno);
	w->c = bare(gone);
	w->c->npaths = 1;
	strcpy(w->c->path[0], w->path);
	strcpy(w->c->shown[0], w->path);
	return w;
}

static void say(struct writer *w, const char *text)
{
	assert_int_equal(write(w->fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void writer_end(struct writer *w)
{
	unlink(w->path);
	close(w->fd);
	code_maps_free(w->c);
	free(w);
}

static void the_owner_is_who_had_arrived_by_then(void **state)
{
	struct writer *w = writer_start(false);
	struct code_answer a;

	(void)state;
	say(w, "1000 40 gen0\n");
	assert_true(code_maps_poll(w->c, 100));
	say(w, "1000 40 gen1\n2000 40 new\n");
	assert_true(code_maps_poll(w->c, 200));
	assert_false(code_maps_poll(w->c, 250));
	say(w, "1000 40 gen2\n");
	assert_true(code_maps_poll(w->c, 300));
	for (uint64_t t = 100; t < 400; t++)
		code_maps_request(w->c, 0x1010, t);
	code_maps_request(w->c, 0x2000, 150);
	code_maps_resolve(w->c);
	expect(w->c, 0x1010, 100, "gen0");
	expect(w->c, 0x1010, 199, "gen0");
	expect(w->c, 0x1010, 200, "gen1");
	expect(w->c, 0x1010, 299, "gen1");
	expect(w->c, 0x1010, 300, "gen2");
	expect(w->c, 0x1010, 399, "gen2");
	code_maps_lookup(w->c, 0x2000, 150, &a);
	assert_string_equal(a.name, "new");
	assert_true(a.later);
	code_maps_lookup(w->c, 0x2000, 250, &a);
	assert_false(a.later);
	assert_int_equal(a.start, 0x2000);
	assert_int_equal(a.size, 0x40);
	writer_end(w);
}

static void no_line(void *ctx, const struct perfmap_line *line)
{
	(void)ctx;
	(void)line;
}

static void reading_goes_on_where_it_stopped(void **state)
{
	struct writer *w = writer_start(false);

	(void)state;
	say(w, "1000 40 one\n2000 4");
	code_maps_poll(w->c, 100);
	expect(w->c, 0x2010, 500, "-"); /* the line is not complete while its writer lives */
	assert_int_equal(w->c->maps.v[0]->reader.offset, 18);
	say(w, "0 two\n3000 40 three");
	code_maps_poll(w->c, 600);
	expect(w->c, 0x3010, 700, "-");
	expect(w->c, 0x2010, 500, "two");
	assert_int_equal(w->c->maps.v[0]->reader.offset, 37);
	w->c->gone = true;
	code_maps_resolve(w->c);
	expect(w->c, 0x3010, 700, "three");
	expect(w->c, 0x3011, 700, "three"); /* a new question is told of what was read before */
	expect(w->c, 0x1010, 700, "one");
	writer_end(w);
}

/* What was never written is no work, whatever size the file says it has. */
static void a_map_with_a_hole(void **state)
{
	struct writer *w = writer_start(false);
	struct perfmap read;

	(void)state;
	say(w, "1000 40 before\n");
	assert_return_code(ftruncate(w->fd, 1l << 37), errno);
	lseek(w->fd, 0, SEEK_END);
	say(w, "\n2000 40 behind\n");
	assert_return_code(ftruncate(w->fd, 1l << 38), errno);
	code_maps_poll(w->c, 100);
	expect(w->c, 0x1010, 200, "before");
	expect(w->c, 0x2010, 200, "behind");
	expect(w->c, 0x3010, 200, "-");
	code_map_each(w->c->maps.v[0], true, no_line, NULL, &read, &w->c->notes);
	assert_int_equal(read.lines, 2);
	assert_int_equal(read.bad, 2);
	assert_int_equal(read.offset, 1l << 38);
	assert_int_equal(w->c->notes.n, 0);
	writer_end(w);
}

static void a_map_that_is_too_large(void **state)
{
	struct writer *w = writer_start(false);
	const char *const *notes;

	(void)state;
	say(w, "1000 40 one\n2000 40 two\n3000 40 three\n");
	code_maps_poll(w->c, 100);
	w->c->maps.v[0]->left = w->c->maps.v[0]->lines.left = 30;
	expect(w->c, 0x1010, 200, "one");
	expect(w->c, 0x2010, 200, "two");
	expect(w->c, 0x3010, 200, "-");
	assert_int_equal(code_maps_notes(w->c, &notes), 1);
	assert_non_null(strstr(notes[0], "is too large: its names from line 3 on are not used"));
	writer_end(w);
}

/* HotSpot writes its whole map each time. */
static void a_map_that_is_written_anew(void **state)
{
	struct writer *w = writer_start(false);
	const char *const *notes;

	(void)state;
	say(w, "1000 40 old\n2000 40 freed\n");
	code_maps_poll(w->c, 100);
	assert_return_code(ftruncate(w->fd, 0), errno);
	lseek(w->fd, 0, SEEK_SET);
	code_maps_poll(w->c, 200); /* it has begun to write */
	say(w, "1000 40 new\n3000 40 later\n4000 40 and more of them\n");
	code_maps_poll(w->c, 250);
	lseek(w->fd, 0, SEEK_SET); /* and once more, longer than before */
	say(w, "0900 40 third\n1000 40 newest\n2000 40 tenant\n3000 40 later and more\n");
	code_maps_poll(w->c, 300);
	assert_int_equal(w->c->maps.n, 3);
	expect(w->c, 0x1010, 150, "old");
	expect(w->c, 0x2010, 150, "freed");
	expect(w->c, 0x1010, 260, "new");
	expect(w->c, 0x1010, 220, "new"); /* while it was being written */
	expect(w->c, 0x2010, 260, "tenant"); /* the old one was gone by then */
	expect(w->c, 0x1010, 300, "newest");
	assert_int_equal(code_maps_notes(w->c, &notes), 0);
	writer_end(w);
}

static void another_file_of_the_name(void **state)
{
	struct writer *w = writer_start(false);
	int old;

	(void)state;
	say(w, "1000 40 old\n");
	code_maps_poll(w->c, 100);
	old = w->fd;
	assert_return_code(unlink(w->path), errno);
	assert_false(code_maps_poll(w->c, 150));
	w->fd = open(w->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	assert_return_code(w->fd, errno);
	say(w, "1000 40 new\n");
	assert_true(code_maps_poll(w->c, 200));
	expect(w->c, 0x1010, 150, "old");
	expect(w->c, 0x1010, 200, "new");
	close(old);
	writer_end(w);
}

/* Too large to be kept: what it said is lost when it is overwritten, and never another's name. */
static void a_large_map_that_is_written_anew(void **state)
{
	struct writer *w = writer_start(false);
	const char *const *notes;
	char line[64];

	(void)state;
	for (unsigned i = 0; i < 60000; i++) {
		snprintf(line, sizeof(line), "%x 10 function_%u\n", 0x100000 + i * 16, i);
		say(w, line);
	}
	code_maps_poll(w->c, 100);
	assert_false(w->c->maps.v[0]->keeps);
	assert_return_code(ftruncate(w->fd, 0), errno);
	lseek(w->fd, 0, SEEK_SET);
	say(w, "100000 10 other\n");
	code_maps_poll(w->c, 200);
	expect(w->c, 0x100004, 250, "other");
	expect(w->c, 0x100014, 150, "-");
	assert_int_equal(code_maps_notes(w->c, &notes), 1);
	assert_non_null(strstr(notes[0], "rewritten"));
	writer_end(w);
}

static void refused(struct writer *w, const char *why)
{
	const char *const *notes;

	assert_false(code_maps_poll(w->c, 100));
	assert_false(code_maps_poll(w->c, 200)); /* told once */
	assert_false(code_maps_any(w->c));
	assert_int_equal(code_maps_notes(w->c, &notes), 1);
	assert_non_null(strstr(notes[0], why));
	assert_non_null(strstr(notes[0], w->path));
	expect(w->c, 0x1010, 300, "-");
}

static void files_that_are_no_files(void **state)
{
	struct writer *w = writer_start(false);

	(void)state;
	unlink(w->path);
	assert_return_code(mkfifo(w->path, 0600), errno);
	alarm(10); /* never a hang */
	refused(w, "is a FIFO");
	writer_end(w);
	w = writer_start(false);
	unlink(w->path);
	assert_return_code(symlink("/etc/passwd", w->path), errno);
	refused(w, "is a link");
	writer_end(w);
	w = writer_start(false);
	unlink(w->path);
	assert_return_code(mkdir(w->path, 0700), errno);
	refused(w, "is a directory");
	rmdir(w->path);
	writer_end(w);
	alarm(0);
}

static void files_of_others(void **state)
{
	struct writer *w;

	(void)state;
	if (getuid())
		skip();
	w = writer_start(false);
	say(w, "1000 40 evil\n");
	assert_return_code(fchown(w->fd, 65534, 65534), errno);
	refused(w, "belongs to user 65534");
	w->c->owner.uids[0] = 65534; /* its own file */
	w->c->refused.ino = 0;
	assert_true(code_maps_poll(w->c, 300));
	expect(w->c, 0x1010, 400, "evil");
	writer_end(w);
}

static void a_file_of_an_earlier_process(void **state)
{
	struct writer *w = writer_start(false);
	struct timespec times[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };

	(void)state;
	say(w, "1000 40 stale\n");
	assert_return_code(futimens(w->fd, times), errno);
	w->c->owner.start_real_ns = 1000001ull * 1000000000;
	refused(w, "was written before process");
	say(w, "2000 40 mine\n"); /* the new process writes behind what it found */
	assert_true(code_maps_poll(w->c, 300));
	expect(w->c, 0x1010, 400, "-");
	expect(w->c, 0x2010, 400, "mine");
	writer_end(w);
}

/* The process has ended, and another one has its number and writes its map under it. */
static void the_file_of_a_later_process(void **state)
{
	struct writer *w = writer_start(false);

	(void)state;
	say(w, "1000 40 mine\n");
	assert_true(code_maps_poll(w->c, 100));
	w->c->owner.id = (struct process_id){ .pid = getpid(), .start_ticks = 1 };
	say(w, "1000 40 another\n");
	assert_false(code_maps_poll(w->c, 200));
	assert_return_code(ftruncate(w->fd, 0), errno);
	assert_false(code_maps_poll(w->c, 300));
	assert_return_code(unlink(w->path), errno);
	close(open(w->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
	assert_false(code_maps_poll(w->c, 400));
	assert_int_equal(w->c->maps.n, 1);
	expect(w->c, 0x1010, 500, "mine");
	writer_end(w);
}

/* A dump of one LOAD at @time_ns by process @pid. */
static int make_dump(uint64_t time_ns, uint32_t pid, uint32_t pad)
{
	int fd = memfd_create("jit-1.dump", MFD_CLOEXEC);
	struct {
		uint32_t magic, version, size, mach, pad, pid;
		uint64_t stamp, flags;
		uint32_t type, total;
		uint64_t time;
		uint32_t rpid, tid;
		uint64_t vma, addr, code_size, index;
		char name[8], code[16];
	} __attribute__((packed))
	d = { 0x4A695444, 1, 40, 0, pad, pid, 0, 0, 0, 80, time_ns, pid, pid, 0, 0x1000, 16, 0, "f", "" };

	assert_return_code(fd, errno);
	assert_int_equal(write(fd, &d, sizeof(d)), sizeof(d));
	return fd;
}

static void check_clock(uint64_t stamp, const char *like)
{
	struct code_maps *c = bare(true);
	const char *const *notes;

	c->owner.start_ns = clock_ns(CLOCK_MONOTONIC) - 5000000000u;
	code_maps_add_dump(c, make_dump(stamp, WRITER, 0), "d");
	expect(c, 0x1004, clock_ns(CLOCK_MONOTONIC), like ? "-" : "f");
	assert_int_equal(code_maps_notes(c, &notes), like != NULL);
	if (like && !strstr(notes[0], like))
		fail_msg("'%s' does not say '%s'", notes[0], like);
	code_maps_free(c);
}

static void times_of_other_clocks(void **state)
{
	(void)state;
	check_clock(clock_ns(CLOCK_MONOTONIC) - 1000, NULL);
	check_clock(clock_ns(CLOCK_REALTIME), "wall clock in nanoseconds");
	check_clock(clock_ns(CLOCK_REALTIME) / 1000, "wall clock in microseconds");
	check_clock(clock_ns(CLOCK_REALTIME) / 1000000000, "wall clock in seconds");
	check_clock(1000, "start of the program");
	check_clock(UINT64_MAX - 5, "an unknown clock");
#if defined(__x86_64__)
	check_clock(__builtin_ia32_rdtsc(), "cycle counter");
#endif
}

/* A child has its parent's mapping of the dump, and its code until the fork. */
static void a_dump_of_a_parent(void **state)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct code_maps *c = bare(false);
	const char *const *notes;

	(void)state;
	c->owner.start_ns = now - 1000;
	code_maps_add_dump(c, make_dump(now - 2000000000, WRITER - 1, 0), "before");
	expect(c, 0x1004, now, "f");
	code_maps_free(c);
	c = bare(false);
	c->owner.start_ns = now - 1000;
	code_maps_add_dump(c, make_dump(now - 500, WRITER - 1, 0), "after");
	expect(c, 0x1004, now, "-");
	assert_int_equal(code_maps_notes(c, &notes), 1);
	assert_non_null(strstr(notes[0], "'after' was written by process 4241"));
	code_maps_free(c);
}

static void add_line(struct buf *record, uint64_t addr, uint32_t line, const char *file)
{
	struct {
		uint64_t addr;
		uint32_t line, column;
	} entry = { addr, line, 0 };

	buf_add(record, &entry, sizeof(entry));
	buf_add(record, file, strlen(file) + 1);
}

static void expect_line(const struct jitdump_lines *lines, uint64_t addr, const char *file, uint32_t line)
{
	const struct jitdump_line *l = jitdump_line_at(lines, addr);

	assert_int_equal(l != NULL, file != NULL);
	if (!l)
		return;
	assert_int_equal(l->file_len, strlen(file));
	assert_memory_equal(l->file, file, l->file_len);
	assert_int_equal(l->line, line);
}

/* In whatever order they stand; of two with one address the later counts; "\xff" is the file before. */
static void lines_of_code(void **state)
{
	struct {
		uint32_t type, size;
		uint64_t time, addr, entries;
	} head = { 2, 0, 0, 0x1000, 6 };
	struct jitdump d = { 0 };
	struct jitdump_lines lines;
	struct buf record = { 0 };

	(void)state;
	buf_add(&record, &head, sizeof(head));
	add_line(&record, 0x1000, 1, "\xff"); /* there is none before */
	add_line(&record, 0x1020, 5, "b.js");
	add_line(&record, 0x1010, 2, "a.js");
	add_line(&record, 0x1018, 3, "\xff");
	add_line(&record, 0x1018, 4, "\xff");
	add_line(&record, 0x1030, 6, "");
	add_line(&record, 0x1012, 7, "c.js"); /* more than it says it has */
	assert_int_equal(jitdump_lines_read(&d, record.data, record.len, &lines), 0);
	expect_line(&lines, 0x100f, NULL, 0);
	expect_line(&lines, 0x1010, "a.js", 2);
	expect_line(&lines, 0x1017, "a.js", 2);
	expect_line(&lines, 0x1018, "a.js", 4);
	expect_line(&lines, 0x102f, "b.js", 5);
	expect_line(&lines, 0x1030, NULL, 0);
	jitdump_lines_done(&lines);
	buf_done(&record);
}

static void a_dump_outranks_a_map(void **state)
{
	struct writer *w = writer_start(false);
	struct code_answer a;

	(void)state;
	say(w, "1000 10 by_map\n1010 10 only_map\n");
	code_maps_poll(w->c, 100);
	code_maps_add_dump(w->c, make_dump(2000, WRITER, 0), "d");
	expect(w->c, 0x1004, 1500, "by_map");
	expect(w->c, 0x1004, 2500, "f");
	expect(w->c, 0x1014, 2500, "only_map");
	code_maps_lookup(w->c, 0x1004, 2500, &a);
	assert_true(a.from_dump);
	writer_end(w);
}

/* A map that grows while it is asked about: lines at any place, over one another. */
static void a_map_that_grows_under_questions(void **state)
{
	enum { LINES = 6000, PLACES = 4096 };
	static uint32_t owner[PLACES], size[LINES + 1], start[LINES + 1];
	struct writer *w = writer_start(false);
	uint32_t since[PLACES] = { 0 }, before[PLACES] = { 0 };
	char line[64], want[32];
	struct code_answer a;

	(void)state;
	srand(1);
	w->c->now_ns = UINT64_MAX;
	for (uint32_t i = 1; i <= LINES; i++) {
		start[i] = (uint32_t)rand() % (PLACES - 64);
		size[i] = 1 + (uint32_t)rand() % (i % 100 ? 8 : 64);
		snprintf(line, sizeof(line), "%x %x n%u\n", 0x10000 + start[i], size[i], i);
		say(w, line);
		for (uint32_t p = start[i]; p < start[i] + size[i]; p++) {
			before[p] = owner[p];
			since[p] = i;
			owner[p] = i;
		}
		if (i % 7)
			continue;
		code_maps_poll(w->c, i);
		for (int k = 0; k < 8; k++) {
			uint32_t p = (uint32_t)rand() % PLACES;

			code_maps_lookup_live(w->c, 0x10000 + p, i, &a);
			snprintf(want, sizeof(want), "n%u", owner[p]);
			assert_string_equal(a.name ? a.name : "n0", want);
			/* Before that line came it was the other's, if they did not come at once. */
			if (!owner[p] || !before[p] || (since[p] - 1) / 7 == (before[p] - 1) / 7)
				continue;
			code_maps_lookup_live(w->c, 0x10000 + p, (since[p] - 1) / 7 * 7, &a);
			snprintf(want, sizeof(want), "n%u", before[p]);
			assert_string_equal(a.name, want);
		}
	}
	assert_true(w->c->maps.v[0]->lines.sorted > LINES / 2);
	writer_end(w);
}

static void kinds_of_code(void **state)
{
	(void)state;
	assert_int_equal(code_kind("JS:~hotAdd /path/hot.js:3:16"), FRAME_INTERPRETED);
	assert_int_equal(code_kind("Eval:~ node:internal"), FRAME_INTERPRETED);
	assert_int_equal(code_kind("JS:*hotAdd"), FRAME_COMPILED);
	assert_int_equal(code_kind("py::main:/path/x.py"), FRAME_INTERPRETED);
	assert_int_equal(code_kind("Interpreter"), FRAME_INTERPRETED);
	assert_int_equal(code_kind("$hot:fib/1"), FRAME_COMPILED);
	assert_int_equal(code_kind(""), FRAME_COMPILED);
}

/* A real process: this one. */
static void the_map_of_a_live_process(void **state)
{
	struct code_maps *c;
	char path[64];
	int fd, notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char event[1024];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	c = code_maps_new(getpid(), 100);
	assert_non_null(c);
	assert_false(code_maps_any(c));
	code_maps_watch(c, notify);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	assert_return_code(fd, errno);
	assert_true(read(notify, event, sizeof(event)) > 0);
	assert_true(code_maps_poll(c, 150));
	while (read(notify, event, sizeof(event)) > 0)
		;
	assert_int_equal(write(fd, "1000 40 mine\n", 13), 13);
	assert_true(read(notify, event, sizeof(event)) > 0);
	assert_true(code_maps_poll(c, 200));
	unlink(path);
	close(fd);
	expect(c, 0x1010, 200, "mine");
	code_maps_free(c);
	close(notify);
}

static void a_process_that_is_gone(void **state)
{
	struct code_maps *c;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	c = code_maps_new(pid, 100);
	assert_non_null(c);
	assert_false(code_maps_poll(c, 200));
	expect(c, 0x1000, 200, "-");
	code_maps_free(c);
}

UNIT_TESTS(code)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_handed_maps),
		cmocka_unit_test(all_handed_dumps),
		cmocka_unit_test(a_long_name_is_cut_with_a_mark),
		cmocka_unit_test(the_owner_is_who_had_arrived_by_then),
		cmocka_unit_test(reading_goes_on_where_it_stopped),
		cmocka_unit_test(a_map_with_a_hole),
		cmocka_unit_test(a_map_that_is_too_large),
		cmocka_unit_test(a_map_that_is_written_anew),
		cmocka_unit_test(another_file_of_the_name),
		cmocka_unit_test(a_large_map_that_is_written_anew),
		cmocka_unit_test(files_that_are_no_files),
		cmocka_unit_test(files_of_others),
		cmocka_unit_test(a_file_of_an_earlier_process),
		cmocka_unit_test(the_file_of_a_later_process),
		cmocka_unit_test(times_of_other_clocks),
		cmocka_unit_test(a_dump_of_a_parent),
		cmocka_unit_test(lines_of_code),
		cmocka_unit_test(a_dump_outranks_a_map),
		cmocka_unit_test(a_map_that_grows_under_questions),
		cmocka_unit_test(kinds_of_code),
		cmocka_unit_test(the_map_of_a_live_process),
		cmocka_unit_test(a_process_that_is_gone),
	};

	return unit_run(tests, NULL, NULL);
}
