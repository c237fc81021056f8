/* SPDX-License-Identifier: MIT */
/*
 * One perf map over time. Its lines carry no time, so the time at which a line was first seen counts: a log of file sizes
 * with times. The file is read in pieces, once for each set of lookups; of a match only the offset is kept.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sym/code_priv.h"

#define LOG_MAX 65536
#define LINE_READ 512 /* bytes of a line that are read first for its name */

static atomic_size_t kept_all; /* bytes of all maps that are kept in memory */

/* Bytes of the file as it was: from the copy, if there is one. Returns how many, 0 at the end or on an error. */
static size_t read_at(const struct code_map *m, uint64_t at, char *to, size_t len)
{
	if (!m->keeps)
		return code_pread(m->fd, at, to, len);
	if (at >= m->kept.len)
		return 0;
	if (len > m->kept.len - at)
		len = m->kept.len - at;
	memcpy(to, m->kept.data + at, len);
	return len;
}

/* How much of the file from @at on was never written, as with truncate(1); it may be larger than all disks. */
static uint64_t hole_at(const struct code_map *m, uint64_t at, uint64_t end)
{
	off_t data = m->keeps ? -1 : lseek(m->fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return !m->keeps && errno == ENXIO ? end - at : 0;
	return ((uint64_t)data < end ? (uint64_t)data : end) - at;
}

static void free_copy(struct code_map *m)
{
	atomic_fetch_sub(&kept_all, m->kept.len);
	buf_done(&m->kept);
	m->keeps = false;
}

/* Extends the copy to @size. A map that grows too large loses its copy and is read from the file. */
static void copy_new_bytes(struct code_map *m, uint64_t size)
{
	while (m->keeps && m->kept.len < size) {
		size_t want = size - m->kept.len < CODE_PIECE ? (size_t)(size - m->kept.len) : CODE_PIECE;
		char *room = NULL;
		ssize_t n;

		if (size <= m->keep_max && atomic_load(&kept_all) + want <= CODE_KEEP_ALL)
			room = buf_room(&m->kept, want);
		if (!room) {
			free_copy(m);
			return;
		}
		n = pread(m->fd, room, want, (off_t)m->kept.len);
		if (n <= 0)
			return;
		m->kept.len += (size_t)n;
		atomic_fetch_add(&kept_all, (size_t)n);
	}
}

/* Are the bytes before the former end unchanged? */
static bool is_continued(const struct code_map *m)
{
	char now[sizeof(m->tail)];

	if (!m->tail_len)
		return true;
	return pread(m->fd, now, m->tail_len, (off_t)(m->size - m->tail_len)) == (ssize_t)m->tail_len &&
	       !memcmp(now, m->tail, m->tail_len);
}

/* Drops every second entry of a log that is too long: lines of a dropped entry count as arrived with the next. */
static void thin_log(struct code_map *m)
{
	size_t n = 1;

	for (size_t i = 2; i < m->log.n; i += 2)
		m->log.v[n++] = m->log.v[i];
	if (m->log.v[n - 1].size != m->log.v[m->log.n - 1].size)
		m->log.v[n++] = m->log.v[m->log.n - 1];
	m->log.n = n;
}

static void note_size(struct code_map *m, uint64_t size, uint64_t time_ns)
{
	struct code_arrival a = { time_ns, size };
	size_t tail_len;

	if (m->log.n >= LOG_MAX)
		thin_log(m);
	if (!vec_push(&m->log, a))
		m->size = size; /* else it is noted the next time */
	copy_new_bytes(m, m->size);
	tail_len = m->size < sizeof(m->tail) ? (size_t)m->size : sizeof(m->tail);
	m->tail_len = code_pread(m->fd, m->size - tail_len, m->tail, tail_len);
}

struct code_map *code_map_new(int fd, const char *shown, const struct stat *st, uint64_t begin_ns, size_t keep_max)
{
	struct code_map *m = calloc(1, sizeof(*m));

	if (!m || !(m->shown = strdup(shown))) {
		free(m);
		return NULL;
	}
	m->fd = fd;
	m->begin_ns = begin_ns;
	m->end_ns = UINT64_MAX;
	m->ino = st->st_ino;
	m->dev = st->st_dev;
	m->mtime_ns = timespec_ns(&st->st_mtim);
	m->keeps = keep_max > 0;
	m->keep_max = keep_max;
	m->left = m->lines.left = CODE_READ_MAX;
	if (st->st_size > 0)
		note_size(m, (uint64_t)st->st_size, begin_ns);
	return m;
}

struct code_map *code_map_free(struct code_map *m)
{
	if (!m)
		return NULL;
	free_copy(m);
	vec_done(&m->log);
	code_lines_done(&m->lines);
	close(m->fd);
	free(m->shown);
	free(m);
	return NULL;
}

void code_map_close(struct code_map *m, uint64_t time_ns, bool same_file, struct sentences *notes)
{
	m->end_ns = time_ns;
	if (!same_file || m->keeps || !m->size)
		return;
	m->lost = true;
	code_note(notes,
		  "'%s' was rewritten while it was read; it is too large to keep, so names that it had before may be "
		  "missing",
		  m->shown);
}

int code_map_grow(struct code_map *m, const struct stat *st, uint64_t time_ns)
{
	uint64_t size = st->st_size > 0 ? (uint64_t)st->st_size : 0;

	if (st->st_ino != m->ino || st->st_dev != m->dev || size < m->size)
		return -ESTALE;
	if (size == m->size && timespec_ns(&st->st_mtim) == m->mtime_ns)
		return 0;
	if (!is_continued(m))
		return -ESTALE;
	m->mtime_ns = timespec_ns(&st->st_mtim);
	if (size == m->size)
		return 0;
	note_size(m, size, time_ns);
	return 1;
}

struct reading {
	struct code_map *m;
	struct code_index index;
	uint16_t number;
	size_t log; /* index of the arrival of the lines being read */
};

/* When was the line seen first? */
static uint64_t arrival(struct reading *r, uint64_t end)
{
	while (r->log < r->m->log.n && r->m->log.v[r->log].size < end)
		r->log++;
	return r->log < r->m->log.n ? r->m->log.v[r->log].time_ns : UINT64_MAX;
}

/* Applies a line that arrived at @time_ns to one lookup. */
static void resolve_question(struct code_question *q, const struct reading *r, uint64_t time_ns,
			     const struct perfmap_line *line)
{
	if (q->found > CODE_LINE || (q->time_ns >= r->m->end_ns && r->m->end_ns != UINT64_MAX))
		return;
	if (q->time_ns >= r->m->begin_ns && time_ns <= q->time_ns)
		q->found = CODE_LINE;
	else if (q->found == CODE_NOBODY)
		q->found = CODE_LATER;
	else
		return;
	q->source = r->number;
	q->at = line->offset;
	q->named = false;
}

static void resolve_line(void *ctx, const struct perfmap_line *line)
{
	struct reading *r = ctx;
	uint64_t time_ns;
	size_t i;

	if (line->offset < r->m->from || !code_index_hits(&r->index, line->start, line->size, &i))
		return;
	time_ns = arrival(r, line->end);
	for (; i < r->index.of->q.n && r->index.of->q.v[i].addr - line->start < line->size; i++) {
		resolve_question(&r->index.of->q.v[i], r, time_ns, line);
		r->index.work++;
	}
}

/* Feeds the next piece of the file before @end. False: there is no more, or it may not be read. */
static bool feed_piece(const struct code_map *m, struct perfmap *reader, uint64_t end, uint64_t *left, char *piece,
		       perfmap_fn *fn, void *ctx)
{
	uint64_t want = end - reader->offset < CODE_PIECE ? end - reader->offset : CODE_PIECE, hole;
	size_t n;

	if (reader->offset >= end)
		return false;
	hole = hole_at(m, reader->offset, end);
	if (hole) {
		perfmap_skip(reader, hole);
		return true;
	}
	n = read_at(m, reader->offset, piece, want < *left ? (size_t)want : (size_t)*left);
	*left -= n;
	perfmap_feed(reader, piece, n, fn, ctx);
	return n > 0;
}

static void note_large(const struct code_map *m, const struct perfmap *reader, uint64_t left, struct sentences *notes)
{
	if (!left && reader->offset < m->size)
		code_note(notes, "'%s' is too large: its names from line %llu on are not used", m->shown,
			  (unsigned long long)reader->number + 1);
}

/* Reads the file from where @reader stands until @end. */
static void read_map(struct code_map *m, uint16_t number, struct perfmap *reader, struct code_questions *of,
		     uint64_t end, bool ended, struct sentences *notes)
{
	struct reading r = { .m = m, .number = number };
	AUTO_FREE char *piece = malloc(CODE_PIECE);
	uint64_t again = CODE_READ_MAX, *left = reader == &m->reader ? &m->left : &again;

	if (!piece || code_index_make(&r.index, of))
		return;
	while (r.index.work <= CODE_WORK_MAX && feed_piece(m, reader, end, left, piece, resolve_line, &r))
		;
	if (r.index.work > CODE_WORK_MAX)
		code_note(notes,
			  "'%s' has too many lines for the same addresses: its names from line %llu on are not used",
			  m->shown, (unsigned long long)reader->number);
	else
		note_large(m, reader, *left, notes);
	if (ended)
		perfmap_end(reader, resolve_line, &r);
	code_index_done(&r.index);
}

void code_map_read(struct code_map *m, uint16_t number, struct code_questions *fresh, struct sentences *notes)
{
	struct perfmap reader = { 0 };

	if (fresh->q.n && m->reader.offset && !m->lost)
		read_map(m, number, &reader, fresh, m->reader.offset, m->ended, notes);
}

void code_map_read_rest(struct code_map *m, uint16_t number, struct code_questions *all, bool ended,
			struct sentences *notes)
{
	if (!all->q.n || m->ended || m->lost || (m->reader.offset >= m->size && !ended))
		return;
	read_map(m, number, &m->reader, all, m->size, ended, notes);
	m->ended = ended;
}

void code_map_each(const struct code_map *m, bool ended, perfmap_fn *fn, void *ctx, struct perfmap *ret,
		   struct sentences *notes)
{
	AUTO_FREE char *piece = malloc(CODE_PIECE);
	uint64_t left = m->left;

	*ret = (struct perfmap){ 0 };
	while (piece && feed_piece(m, ret, m->size, &left, piece, fn, ctx))
		;
	note_large(m, ret, left, notes);
	if (ended)
		perfmap_end(ret, fn, ctx);
}

static void store_line(void *ctx, const struct perfmap_line *line)
{
	struct reading *r = ctx;
	struct code_line l = { .start = line->start,
			       .end = line->start + line->size,
			       .at = line->offset,
			       .time_ns = arrival(r, line->end) };

	if (line->offset >= r->m->from)
		code_lines_add(&r->m->lines, &l);
}

static void read_new_lines(struct code_map *m, bool ended)
{
	struct code_lines *l = &m->lines;
	struct reading r = { .m = m };
	AUTO_FREE char *piece = NULL;

	if (m->lost || l->ended || (l->reader.offset >= m->size && !ended))
		return;
	piece = malloc(CODE_PIECE);
	while (piece && feed_piece(m, &l->reader, m->size, &l->left, piece, store_line, &r))
		;
	l->ended = ended;
	if (ended)
		perfmap_end(&l->reader, store_line, &r);
	code_lines_sort(l);
}

/* Of two lines that cover an address, the last that had arrived wins, else the first that arrived later. */
static void choose_line(struct code_line **best, struct code_line *l, uint64_t time_ns)
{
	bool later = l->time_ns > time_ns;

	if (!*best || (later ? (*best)->time_ns > time_ns && l->at < (*best)->at
			     : (*best)->time_ns > time_ns || l->at > (*best)->at))
		*best = l;
}

struct code_line *code_map_line(struct code_map *m, uint64_t addr, uint64_t time_ns, bool ended, bool *ret_later)
{
	struct code_line *best;

	read_new_lines(m, ended);
	best = code_lines_find(&m->lines, addr, time_ns, choose_line);
	*ret_later = best && (best->time_ns > time_ns || time_ns < m->begin_ns);
	return best;
}

/* One line for messages: line feeds and NULs are escaped. */
void code_add_name(struct buf *text, const char *name, size_t len)
{
	size_t cut = len > CODE_NAME_MAX ? CODE_NAME_MAX : len;

	while (cut < len && cut && ((unsigned char)name[cut] & 0xc0) == 0x80)
		cut--;
	for (size_t i = 0; i < cut; i++)
		if (name[i] == '\n')
			buf_adds(text, "\\n");
		else if (name[i] == '\0')
			buf_adds(text, "\\0");
		else
			buf_addc(text, name[i]);
	if (cut < len)
		buf_adds(text, "…");
}

bool code_map_name(const struct code_map *m, uint64_t at, struct code_name *ret, struct buf *text)
{
	char line[PERFMAP_HEAD_MAX + CODE_NAME_MAX + 8];
	uint64_t left = m->size - at;
	size_t len = read_at(m, at, line, left < LINE_READ ? (size_t)left : LINE_READ), name;
	const char *feed = memchr(line, '\n', len);

	if (!feed && len == LINE_READ) {
		len = read_at(m, at, line, left < sizeof(line) ? (size_t)left : sizeof(line));
		feed = memchr(line, '\n', len);
	}
	if (feed)
		len = (size_t)(feed - line);
	if (perfmap_parse(line, len, &ret->start, &ret->size, &name) != 1)
		return false; /* it is another file by now */
	if (len && line[len - 1] == '\r')
		len--;
	if (name < len)
		code_add_name(text, line + name, len - name);
	return true;
}
