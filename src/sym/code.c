/* SPDX-License-Identifier: MIT */
/* The code maps of a process: finding its files, noting how they grow, and answering questions. */
#include "sym/code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/path.h"
#include "sym/code_priv.h"
#include "sym/history.h"

#define TMP_MS 1000 /* for its file systems to find it */

static void add_path(struct code_maps *c, pid_t number)
{
	size_t i = c->npaths++;

	snprintf(c->path[i], sizeof(c->path[i]), "%sperf-%d.map", c->owner.same_mounts ? "/tmp/" : "", (int)number);
	if (c->owner.same_mounts)
		strcpy(c->shown[i], c->path[i]);
	else
		snprintf(c->shown[i], sizeof(c->shown[i]), "/proc/%d/root/tmp/perf-%d.map", (int)c->owner.id.pid,
			 (int)number);
}

/* As the process sees it, with its rights: what is linked or mounted there is its user's choice. */
static int open_tmp(pid_t pid)
{
	AUTO(identity_place_done) struct identity_place place;
	int r = identity_place_open(pid, &place, NULL);

	return r ? r : identity_open_tmp(&place, TMP_MS);
}

/* The map is named by the PID in the process's own namespace or, with a shared file system, by ours. */
static void find_paths(struct code_maps *c)
{
	pid_t pid = c->owner.id.pid;

	if (!c->owner.same_mounts)
		c->dir = open_tmp(pid);
	if (!c->owner.same_mounts && c->dir < 0)
		return;
	add_path(c, c->owner.ns_pid);
	if (c->owner.same_mounts && c->owner.ns_pid != pid)
		add_path(c, pid);
}

struct code_maps *code_maps_bare(const struct code_owner *o)
{
	struct code_maps *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->owner = *o;
	c->dir = AT_FDCWD;
	c->watch = -1;
	return c;
}

/* Adds the dumps among the mappings, and detects HotSpot. */
static void scan_mappings(struct code_maps *c)
{
	struct mappings maps = { 0 };

	if (mappings_read(c->owner.id.pid, &maps, NULL))
		return;
	for (size_t i = 0; i < maps.maps.n; i++) {
		if (place_is_dump(&maps.maps.v[i]))
			code_maps_dump(c, &maps.maps.v[i]);
		if (!strcmp(path_base(maps.maps.v[i].path), "libjvm.so"))
			c->owner.rewrites = true;
	}
	mappings_done(&maps);
}

static bool poll_map(struct code_maps *c, uint64_t time_ns, bool first);

struct code_maps *code_maps_new(pid_t pid, uint64_t time_ns)
{
	struct code_owner owner;
	int r = code_owner_read(pid, &owner);
	struct code_maps *c = code_maps_bare(&owner);

	if (!c)
		return NULL;
	c->last_ns = time_ns;
	c->gone = r != 0;
	if (r)
		return c;
	find_paths(c);
	scan_mappings(c);
	poll_map(c, time_ns, true);
	return c;
}

struct code_maps *code_maps_free(struct code_maps *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < c->maps.n; i++)
		code_map_free(c->maps.v[i]);
	for (size_t i = 0; i < c->dumps.n; i++)
		code_dump_free(c->dumps.v[i]);
	for (size_t i = 0; i < c->names.n; i++)
		free(c->names.v[i]);
	for (size_t i = 0; i < c->texts.n; i++)
		free(c->texts.v[i]);
	vec_done(&c->maps);
	vec_done(&c->dumps);
	vec_done(&c->names);
	vec_done(&c->texts);
	strings_done(&c->files);
	vec_done(&c->settled.q);
	vec_done(&c->fresh.q);
	sentences_done(&c->notes);
	if (c->dir >= 0)
		close(c->dir);
	free(c);
	return NULL;
}

static struct code_map *newest_map(const struct code_maps *c) { return c->maps.n ? c->maps.v[c->maps.n - 1] : NULL; }

/* Watches the open file, whatever its name is. */
static void watch(const struct code_maps *c, int fd, uint32_t what)
{
	char path[64];

	if (c->watch < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	inotify_add_watch(c->watch, path, what);
}

/* Takes ownership of @m, which is the current map from now on. */
static bool add_map(struct code_maps *c, struct code_map *m)
{
	if (c->maps.n == CODE_FILES_MAX) {
		code_note(&c->notes, "'%s' was rewritten more than %d times: some of its names are not used", m->shown,
			  CODE_FILES_MAX);
		code_map_free(c->maps.v[--c->maps.n]);
	}
	if (vec_push(&c->maps, m)) {
		code_map_free(m);
		return false;
	}
	watch(c, m->fd, IN_MODIFY);
	return true;
}

static bool was_refused(const struct code_maps *c, const struct stat *st)
{
	return c->refused.ino == st->st_ino && c->refused.mtime_ns == timespec_ns(&st->st_mtim) &&
	       c->refused.size == (uint64_t)st->st_size;
}

/* Opens the file of that name, which is not the current map's. */
static bool open_map(struct code_maps *c, size_t path, uint64_t begin_ns)
{
	struct code_map *m, *last = newest_map(c);
	struct stat st;
	int fd = code_open(c->dir, c->path[path], c->shown[path], &c->owner, &st, &c->notes);

	if (fd == -EPERM || fd == -ESTALE) {
		c->refused.ino = st.st_ino;
		c->refused.mtime_ns = timespec_ns(&st.st_mtim);
		c->refused.size = (uint64_t)st.st_size;
		c->refused.stale = fd == -ESTALE;
	}
	if (fd < 0)
		return false;
	m = code_map_new(fd, c->shown[path], &st, begin_ns, c->owner.rewrites ? CODE_KEEP_ONE : CODE_KEEP_SMALL);
	if (!m) {
		close(fd);
		return false;
	}
	if (c->refused.stale && c->refused.ino == st.st_ino && c->refused.size <= (uint64_t)st.st_size)
		m->from = c->refused.size; /* the process appends to the file of an earlier one */
	if (last)
		code_map_close(last, begin_ns, false, &c->notes);
	return add_map(c, m);
}

/* The same file was rewritten. */
static bool reopen_map(struct code_maps *c, struct code_map *m, const struct stat *st, uint64_t time_ns)
{
	int fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
	struct code_map *again;

	code_map_close(m, time_ns, true, &c->notes);
	again = fd < 0 ? NULL : code_map_new(fd, m->shown, st, time_ns, m->keep_max);
	if (!again) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	return add_map(c, again);
}

/* Does another process have the PID by now? Then files with that PID are its own. */
static bool is_reused(const struct code_maps *c)
{
	struct process_id now;

	return c->owner.id.pid && !process_identify(c->owner.id.pid, &now, NULL) &&
	       now.start_ticks != c->owner.id.start_ticks;
}

static bool is_map_file(const struct code_map *m, const struct stat *st)
{
	return m && m->ino == st->st_ino && m->dev == st->st_dev;
}

/* The file at a path: 1 when it has changed, 0 when not, negative when it does not exist or is rejected. */
static int poll_path(struct code_maps *c, size_t path, uint64_t time_ns, bool first)
{
	struct code_map *m = newest_map(c);
	struct stat st;
	int r;

	if (fstatat(c->dir, c->path[path], &st, AT_SYMLINK_NOFOLLOW))
		return -ENOENT;
	if (is_map_file(m, &st) && m->size == (uint64_t)st.st_size && m->mtime_ns == timespec_ns(&st.st_mtim))
		return 0;
	if (was_refused(c, &st) || is_reused(c))
		return -EPERM;
	if (!is_map_file(m, &st))
		return open_map(c, path, first ? 0 : time_ns) ? 1 : -EPERM;
	r = code_map_grow(m, &st, time_ns);
	return r == -ESTALE ? reopen_map(c, m, &st, time_ns) : r;
}

static bool poll_map(struct code_maps *c, uint64_t time_ns, bool first)
{
	for (size_t i = 0; i < c->npaths; i++) {
		int r = poll_path(c, i, time_ns, first);

		if (r >= 0)
			return r > 0;
	}
	return false;
}

bool code_maps_poll(struct code_maps *c, uint64_t time_ns)
{
	if (time_ns > c->last_ns)
		c->last_ns = time_ns;
	return poll_map(c, c->last_ns, false);
}

void code_maps_watch(struct code_maps *c, int inotify_fd)
{
	if (inotify_fd < 0 || !c->npaths)
		return;
	c->watch = inotify_fd;
	if (c->dir >= 0)
		watch(c, c->dir, IN_CREATE | IN_MOVED_TO);
	else
		inotify_add_watch(inotify_fd, "/tmp", IN_CREATE | IN_MOVED_TO);
	if (newest_map(c))
		watch(c, newest_map(c)->fd, IN_MODIFY);
}

static void add_dump(struct code_maps *c, int fd, const char *shown, const struct stat *st)
{
	struct code_dump *d = NULL;

	if (!code_is_trusted(&c->owner, st)) {
		code_note(&c->notes, "'%s' belongs to user %u, but process %d to user %u: its names are not used",
			  shown, (unsigned)st->st_uid, (int)c->owner.id.pid, (unsigned)c->owner.uids[0]);
	} else if (c->dumps.n < CODE_FILES_MAX) {
		d = code_dump_new(fd, shown, st, &c->owner);
	}
	if (!d) {
		close(fd);
	} else if (vec_push(&c->dumps, d)) {
		code_dump_free(d);
	}
}

void code_maps_dump(struct code_maps *c, const struct mapping *m)
{
	struct stat st;
	bool known;
	int fd;

	if (c->gone || !m->file.ino || !place_is_dump(m) || (fd = mapping_open(c->owner.id.pid, m, NULL)) < 0)
		return;
	known = fstat(fd, &st) != 0;
	for (size_t i = 0; i < c->dumps.n && !known; i++)
		known = c->dumps.v[i]->ino == st.st_ino && c->dumps.v[i]->dev == st.st_dev;
	if (known)
		close(fd);
	else
		add_dump(c, fd, m->path, &st);
}

int code_maps_add_map(struct code_maps *c, int fd, const char *shown, uint64_t time_ns)
{
	struct code_map *m, *last = newest_map(c);
	struct stat st;

	if (fstat(fd, &st) || !(m = code_map_new(fd, shown, &st, time_ns, CODE_KEEP_SMALL)))
		return -ENOMEM;
	if (last)
		code_map_close(last, time_ns, false, &c->notes);
	return add_map(c, m) ? 0 : -ENOMEM;
}

int code_maps_add_dump(struct code_maps *c, int fd, const char *shown)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	add_dump(c, fd, shown, &st);
	return 0;
}

bool code_maps_any(const struct code_maps *c) { return c->maps.n || c->dumps.n; }

void code_maps_request(struct code_maps *c, uint64_t addr, uint64_t time_ns)
{
	struct code_question q = { .addr = addr, .time_ns = time_ns };

	vec_push(&c->fresh.q, q);
}

static void read_all(struct code_maps *c)
{
	code_questions_sort(&c->fresh);
	for (size_t i = 0; i < c->maps.n; i++)
		code_map_read(c->maps.v[i], (uint16_t)i, &c->fresh, &c->notes);
	for (size_t i = 0; i < c->dumps.n; i++)
		code_dump_read(c->dumps.v[i], (uint16_t)i, &c->fresh, &c->notes);
	if (vec_reserve(&c->settled.q, c->settled.q.n + c->fresh.q.n))
		return;
	if (c->fresh.q.n)
		memcpy(c->settled.q.v + c->settled.q.n, c->fresh.q.v, c->fresh.q.n * sizeof(*c->fresh.q.v));
	c->settled.q.n += c->fresh.q.n;
	vec_done(&c->fresh.q);
	code_questions_sort(&c->settled);
	for (size_t i = 0; i < c->maps.n; i++)
		code_map_read_rest(c->maps.v[i], (uint16_t)i, &c->settled, c->gone && i + 1 == c->maps.n, &c->notes);
	for (size_t i = 0; i < c->dumps.n; i++)
		code_dump_read_rest(c->dumps.v[i], (uint16_t)i, &c->settled, c->gone, &c->notes);
}

void code_maps_resolve(struct code_maps *c)
{
	uint64_t time_ns = monotonic_ns();

	if (!c->fresh.q.n && !c->settled.q.n)
		return;
	if (!c->gone && c->owner.id.pid) {
		scan_mappings(c);
		c->gone = !process_is_alive(&c->owner.id);
	}
	code_maps_poll(c, time_ns);
	read_all(c);
	code_names_fill(c);
}

void code_maps_lookup(struct code_maps *c, uint64_t addr, uint64_t time_ns, struct code_answer *ret)
{
	struct code_question *q = code_question_find(&c->settled, addr, time_ns);

	if (!q) {
		code_maps_request(c, addr, time_ns);
		code_maps_resolve(c);
		q = code_question_find(&c->settled, addr, time_ns);
	}
	*ret = (struct code_answer){ 0 };
	if (!q || !q->name || !q->name->name)
		return;
	*ret = (struct code_answer){
		.name = q->name->name,
		.start = q->name->start,
		.size = q->name->size,
		.file = q->file,
		.line = q->line,
		.later = q->found == CODE_LATER,
		.from_dump = q->found >= CODE_LOAD,
	};
}

/* True when a record of a dump covers the address; *@ret has no name when the code was moved away. */
static bool find_in_dumps(struct code_maps *c, uint64_t addr, uint64_t time_ns, struct code_answer *ret)
{
	const struct code_name *name = NULL;
	struct code_line *best = NULL;
	size_t of = 0;

	for (size_t i = 0; i < c->dumps.n; i++) {
		struct code_line *line = code_dump_line(c->dumps.v[i], addr, time_ns, &c->notes);

		if (!line || (best && best->time_ns > line->time_ns))
			continue;
		best = line;
		of = i;
	}
	if (best && best->found != CODE_GONE)
		name = code_line_name(c, NULL, c->dumps.v[of], best);
	if (name && name->name && addr - name->start < name->size)
		*ret = (struct code_answer){
			.name = name->name, .start = name->start, .size = name->size, .from_dump = true
		};
	return best;
}

void code_maps_lookup_live(struct code_maps *c, uint64_t addr, uint64_t time_ns, struct code_answer *ret)
{
	bool later = true;

	*ret = (struct code_answer){ 0 };
	if (time_ns > c->now_ns) { /* the events of one batch are older than the first poll for them */
		c->now_ns = monotonic_ns();
		code_maps_poll(c, c->now_ns);
	}
	if (find_in_dumps(c, addr, time_ns, ret))
		return;
	/* From the newest map on: without a line in time, the earliest of the later ones counts. */
	for (size_t i = c->maps.n; i-- && later;) {
		struct code_map *m = c->maps.v[i];
		const struct code_name *name;
		struct code_line *line;
		bool is_later;

		if (time_ns >= m->end_ns && m->end_ns != UINT64_MAX)
			continue;
		line = code_map_line(m, addr, time_ns, c->gone && i + 1 == c->maps.n, &is_later);
		name = line ? code_line_name(c, m, NULL, line) : NULL;
		if (!name || !name->name)
			continue;
		later = is_later;
		*ret = (struct code_answer){
			.name = name->name, .start = name->start, .size = name->size, .later = later
		};
	}
}

/* V8 writes "Kind:", then ~ for its bytecode, ^, + or * for what it compiled. */
static bool is_bytecode(const char *name)
{
	const char *p = name;

	while (is_alpha(*p))
		p++;
	return p > name && p[0] == ':' && p[1] == '~';
}

enum frame_kind code_kind(const char *name)
{
	if (!strncmp(name, "py::", 4) || is_bytecode(name) || !strcmp(name, "Interpreter"))
		return FRAME_INTERPRETED;
	return FRAME_COMPILED;
}

size_t code_maps_notes(struct code_maps *c, const char *const **ret)
{
	*ret = (const char *const *)c->notes.v;
	return c->notes.n;
}
