/* SPDX-License-Identifier: MIT */
/* One jitdump: the record that covers an address at a given time. Records carry their time and may come in any order; a
 * MOVE refers to its LOAD by index. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/search.h"
#include "sym/code_priv.h"

#define WINDOW 65536
#define SLACK_NS 100000000u /* start times of processes are known to the tick */
#define LINES_MAX (16u << 20) /* bytes of one record of lines */

struct code_dump *code_dump_new(int fd, const char *shown, const struct stat *st, const struct code_owner *o)
{
	struct code_dump *d = calloc(1, sizeof(*d));

	if (!d || !(d->shown = strdup(shown))) {
		free(d);
		return NULL;
	}
	d->fd = fd;
	d->dev = st->st_dev;
	d->ino = st->st_ino;
	d->from_ns = o->start_ns > SLACK_NS ? o->start_ns - SLACK_NS : 0;
	d->started_ns = o->start_ns;
	d->ns_pid = o->ns_pid;
	return d;
}

struct code_dump *code_dump_free(struct code_dump *d)
{
	if (!d)
		return NULL;
	close(d->fd);
	code_lines_done(&d->lines);
	vec_done(&d->loads);
	free(d->shown);
	free(d);
	return NULL;
}

static uint64_t file_size(const struct code_dump *d)
{
	struct stat st;

	return fstat(d->fd, &st) || st.st_size < 0 ? 0 : (uint64_t)st.st_size;
}

/* The header, once the file has one. False: nothing to read (yet). */
static bool open_dump(struct code_dump *d, bool ended, struct sentences *notes)
{
	char head[JITDUMP_HEADER];
	const char *why;
	size_t n;

	if (d->known || d->refused)
		return d->known;
	n = code_pread(d->fd, 0, head, sizeof(head));
	if (n < sizeof(head) && (!ended || !n))
		return false;
	if (jitdump_header(head, n, &d->head, &why)) {
		code_note(notes, "'%s' %s: its names are not used", d->shown, why);
		d->refused = true;
	} else if (d->head.cycles) {
		code_note(notes,
			  "'%s' has timestamps in CPU cycles, which cannot be compared with those of the samples: its "
			  "names are not used; CLOCK_MONOTONIC is required",
			  d->shown);
		d->refused = true;
	} else {
		d->known = true;
		d->reader.at = d->head.header_size;
		/* The dump of a parent: a child has its mappings, and its code as it was at the fork. */
		d->inherited = d->ns_pid && d->head.pid != (uint32_t)d->ns_pid;
		d->from_ns = d->inherited ? 0 : d->from_ns;
	}
	return d->known;
}

struct reading {
	struct code_dump *d;
	struct code_dump_reader *at;
	struct code_index index;
	uint16_t number;
	uint64_t until_ns;
};

static uint64_t pop_debug(struct code_dump_reader *r, uint64_t addr)
{
	for (size_t i = 0; i < ARRAY_SIZE(r->debug); i++)
		if (r->debug[i].at && r->debug[i].addr == addr) {
			uint64_t at = r->debug[i].at;

			r->debug[i].at = 0;
			return at;
		}
	return 0;
}

static void push_debug(struct code_dump_reader *r, uint64_t addr)
{
	pop_debug(r, addr);
	r->debug[r->next_debug].addr = addr;
	r->debug[r->next_debug].at = r->at;
	r->next_debug = (r->next_debug + 1) % ARRAY_SIZE(r->debug);
}

/* From the record's time on, @found holds for the lookups in its range. */
static void resolve_range(struct reading *r, uint64_t addr, const struct jitdump_record *rec, enum code_found found,
			  uint64_t debug)
{
	struct code_questions *of = r->index.of;
	size_t i;

	if (!code_index_hits(&r->index, addr, rec->code_size, &i))
		return;
	for (; i < of->q.n && of->q.v[i].addr - addr < rec->code_size; i++) {
		struct code_question *q = &of->q.v[i];

		r->index.work++;
		if (rec->time_ns > q->time_ns || (q->found >= CODE_LOAD && q->ns > rec->time_ns))
			continue;
		q->found = (uint8_t)found;
		q->source = r->number;
		q->at = r->at->at;
		q->ns = rec->time_ns;
		q->debug = debug;
		q->named = false;
	}
}

static bool is_of_its_life(struct reading *r, const struct jitdump_record *rec)
{
	struct code_dump *d = r->d;

	if (d->inherited && rec->time_ns > d->started_ns) {
		d->others++;
		return false;
	}
	if (rec->time_ns >= d->from_ns && rec->time_ns <= r->until_ns) {
		d->good++;
		return true;
	}
	if (!d->strange++)
		d->first_strange = rec->time_ns;
	return false;
}

static void resolve_record(struct reading *r, const struct jitdump_record *rec)
{
	uint64_t debug;

	switch (rec->type) {
	case JITDUMP_DEBUG: push_debug(r->at, rec->addr); break;
	case JITDUMP_LOAD:
		debug = pop_debug(r->at, rec->addr);
		if (is_of_its_life(r, rec))
			resolve_range(r, rec->addr, rec, CODE_LOAD, debug);
		break;
	case JITDUMP_MOVE:
		if (!is_of_its_life(r, rec))
			break;
		resolve_range(r, rec->old_addr, rec, CODE_GONE, 0);
		resolve_range(r, rec->addr, rec, CODE_MOVE, 0);
		break;
	case JITDUMP_BAD: r->d->bad++; break;
	}
}

/* A walk over records through a window of the file. */
struct window {
	uint64_t from;
	size_t len;
	char bytes[WINDOW];
};

static const char *window_at(const struct code_dump *d, struct window *w, uint64_t at, size_t *ret_len)
{
	if (at < w->from || at + JITDUMP_HEAD > w->from + w->len) {
		w->from = at;
		w->len = code_pread(d->fd, at, w->bytes, sizeof(w->bytes));
	}
	*ret_len = w->len - (size_t)(at - w->from);
	return w->bytes + (at - w->from);
}

/* The record at @at of a file of @size bytes, as jitdump_record. */
static int record_at(const struct code_dump *d, struct window *w, uint64_t at, uint64_t size,
		     struct jitdump_record *ret)
{
	size_t len;
	const char *bytes;

	if (at >= size)
		return 0;
	bytes = window_at(d, w, at, &len);
	return jitdump_record(&d->head, bytes, len, size - at, ret);
}

static void note_end(struct code_dump *d, int r, bool cut, struct sentences *notes)
{
	if (d->told_broken)
		return;
	if (r < 0) {
		code_note(notes, "'%s' is corrupt: it is not read beyond byte %llu", d->shown,
			  (unsigned long long)d->reader.at);
		d->told_broken = true;
	} else if (cut && !d->told_cut) {
		code_note(notes, "'%s' ends within a record, which is not used", d->shown);
		d->told_cut = true;
	}
}

static uint64_t cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* Records whose times or writer do not fit; of a dump that is a parent's, or whose header has a PID other than the writer's,
 * nothing may be of use. */
static void note_unfit(struct code_dump *d, struct sentences *notes)
{
	struct jitdump_clocks now = { monotonic_ns(), clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_BOOTTIME), cycles(), 0 };

	if (d->others && !d->good)
		code_note(notes,
			  "according to its header '%s' was written by process %u after process %d had started: its "
			  "names are not used",
			  d->shown, d->head.pid, (int)d->ns_pid);
	if (!d->strange || d->told_strange)
		return;
	now.life_ns = now.monotonic_ns > d->started_ns ? now.monotonic_ns - d->started_ns : 0;
	code_note(notes,
		  "'%s' has %s with timestamps outside the lifetime of the process: they look like times %s, but "
		  "CLOCK_MONOTONIC in nanoseconds is required; these names are not used",
		  d->shown, d->good ? "records" : "only records", jitdump_clock(d->first_strange, &now));
	d->told_strange = true;
}

/* From where @reader stands until @end. Returns what stopped it: -EBADMSG, 0 for the end. */
static int read_records(struct reading *r, uint64_t end, struct sentences *notes)
{
	AUTO_FREE struct window *w = calloc(1, sizeof(*w));
	struct jitdump_record rec;
	int got = 0;

	if (!w)
		return 0;
	r->until_ns = monotonic_ns() + SLACK_NS;
	while ((got = record_at(r->d, w, r->at->at, end, &rec)) > 0) {
		resolve_record(r, &rec);
		r->at->at += rec.size;
		if (r->index.work > CODE_WORK_MAX) {
			code_note(notes,
				  "'%s' has too many records for the same addresses: its names beyond byte %llu are "
				  "not used",
				  r->d->shown, (unsigned long long)r->at->at);
			return 0;
		}
	}
	return got;
}

void code_dump_read(struct code_dump *d, uint16_t number, struct code_questions *fresh, struct sentences *notes)
{
	struct code_dump_reader again = { .at = d->head.header_size };
	struct reading r = { .d = d, .at = &again, .number = number };
	uint64_t good = d->good, bad = d->bad, strange = d->strange, others = d->others;

	if (!d->known || !fresh->q.n || d->reader.at <= again.at || code_index_make(&r.index, fresh))
		return;
	read_records(&r, d->reader.at, notes);
	code_index_done(&r.index);
	d->good = good; /* they were counted at the first reading */
	d->bad = bad;
	d->strange = strange;
	d->others = others;
}

void code_dump_read_rest(struct code_dump *d, uint16_t number, struct code_questions *all, bool ended,
			 struct sentences *notes)
{
	struct reading r = { .d = d, .at = &d->reader, .number = number };
	uint64_t size = file_size(d);
	int got;

	if (!open_dump(d, ended, notes) || code_index_make(&r.index, all))
		return;
	got = read_records(&r, size, notes);
	code_index_done(&r.index);
	note_end(d, got, ended && d->reader.at < size, notes);
	note_unfit(d, notes);
}

void code_dump_each(struct code_dump *d, bool ended, code_record_fn *fn, void *ctx, struct sentences *notes)
{
	struct code_questions none = { 0 };
	AUTO_FREE struct window *w = calloc(1, sizeof(*w));
	struct jitdump_record rec;

	code_dump_read_rest(d, 0, &none, ended, notes);
	if (!w || !d->known)
		return;
	for (uint64_t at = d->head.header_size; at < d->reader.at; at += rec.size) {
		if (record_at(d, w, at, d->reader.at, &rec) <= 0)
			return;
		fn(ctx, &rec);
	}
}

bool code_dump_move(const struct code_dump *d, struct code_question *q, struct code_moved *ret)
{
	char head[JITDUMP_HEAD];
	struct jitdump_record rec;
	size_t n = code_pread(d->fd, q->at, head, sizeof(head));

	if (jitdump_record(&d->head, head, n, UINT64_MAX, &rec) <= 0 || rec.type != JITDUMP_MOVE)
		return false;
	*ret = (struct code_moved){ q, rec.index, rec.code_size, rec.addr, rec.time_ns, 0 };
	q->at = 0;
	return true;
}

static int compare_index(const void *a, const void *b)
{
	const struct code_moved *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* Each move keeps the newest LOAD of its index and size before it. */
static void apply_load(struct code_moved *moved, size_t n, const struct jitdump_record *rec, uint64_t at,
		       uint64_t debug)
{
	size_t low = search_first_not(i, 0, n, moved[i].index < rec->index);

	for (; low < n && moved[low].index == rec->index; low++) {
		struct code_moved *m = &moved[low];

		if (m->size != rec->code_size || rec->time_ns > m->ns || (m->q->at && rec->time_ns < m->load_ns))
			continue;
		m->q->at = at;
		m->q->debug = debug;
		m->load_ns = rec->time_ns;
	}
}

void code_dump_moves(struct code_dump *d, struct code_moved *moved, size_t n)
{
	AUTO_FREE struct window *w = calloc(1, sizeof(*w));
	struct code_dump_reader r = { .at = d->head.header_size };
	struct jitdump_record rec;

	if (!w || !n || !d->known)
		return;
	qsort(moved, n, sizeof(*moved), compare_index);
	while (r.at < d->reader.at && record_at(d, w, r.at, d->reader.at, &rec) > 0) {
		if (rec.type == JITDUMP_DEBUG)
			push_debug(&r, rec.addr);
		else if (rec.type == JITDUMP_LOAD)
			apply_load(moved, n, &rec, r.at, pop_debug(&r, rec.addr));
		r.at += rec.size;
	}
}

static void add_dump_line(struct code_dump *d, uint64_t addr, const struct jitdump_record *rec, enum code_found found)
{
	struct code_line l = { .start = addr,
			       .end = addr + rec->code_size < addr ? UINT64_MAX : addr + rec->code_size,
			       .at = d->lines_at,
			       .time_ns = rec->time_ns,
			       .index = rec->index,
			       .found = (uint8_t)found };

	code_lines_add(&d->lines, &l);
}

static void store_record(struct reading *r, const struct jitdump_record *rec)
{
	struct code_dump *d = r->d;

	if ((rec->type != JITDUMP_LOAD && rec->type != JITDUMP_MOVE) || !is_of_its_life(r, rec))
		return;
	if (rec->type == JITDUMP_LOAD) {
		add_dump_line(d, rec->addr, rec, CODE_LOAD);
		(void)vec_push(&d->loads,
			       ((struct code_load){ rec->index, rec->code_size, rec->time_ns, d->lines_at }));
	} else {
		add_dump_line(d, rec->old_addr, rec, CODE_GONE);
		add_dump_line(d, rec->addr, rec, CODE_MOVE);
	}
}

static void read_new_records(struct code_dump *d, struct sentences *notes)
{
	struct reading r = { .d = d, .until_ns = monotonic_ns() + SLACK_NS };
	AUTO_FREE struct window *w = NULL;
	uint64_t size = file_size(d);
	struct jitdump_record rec;

	if (!open_dump(d, false, notes) || size <= d->lines_at)
		return;
	if (!d->lines_at)
		d->lines_at = d->head.header_size;
	w = malloc(sizeof(*w));
	if (!w)
		return;
	w->from = w->len = 0;
	while (record_at(d, w, d->lines_at, size, &rec) > 0) {
		store_record(&r, &rec);
		d->lines_at += rec.size;
	}
	code_lines_sort(&d->lines);
	note_unfit(d, notes);
}

/* The newest record that is not later; of equal times, the last one. */
static void choose_record(struct code_line **best, struct code_line *l, uint64_t time_ns)
{
	const struct code_line *b = *best;

	if (l->time_ns > time_ns)
		return;
	if (!b || l->time_ns > b->time_ns ||
	    (l->time_ns == b->time_ns && (l->at > b->at || (l->at == b->at && l->found == CODE_MOVE))))
		*best = l;
}

struct code_line *code_dump_line(struct code_dump *d, uint64_t addr, uint64_t time_ns, struct sentences *notes)
{
	read_new_records(d, notes);
	return code_lines_find(&d->lines, addr, time_ns, choose_record);
}

/* The newest LOAD with the index of the move that is not later. Indexes ascend, so the search begins at the end. */
static const struct code_load *load_of(const struct code_dump *d, const struct code_line *move)
{
	const struct code_load *best = NULL;

	for (size_t i = d->loads.n; i--;) {
		const struct code_load *l = &d->loads.v[i];

		if (l->index == move->index && l->size == move->end - move->start && l->time_ns <= move->time_ns &&
		    (!best || l->time_ns > best->time_ns))
			best = l;
	}
	return best;
}

bool code_dump_line_name(const struct code_dump *d, const struct code_line *line, struct code_name *ret,
			 struct buf *text)
{
	const struct code_load *load = line->found == CODE_MOVE ? load_of(d, line) : NULL;

	if (line->found == CODE_MOVE && !load)
		return false;
	if (!code_dump_name(d, load ? load->at : line->at, ret, text))
		return false;
	if (load) {
		ret->start = line->start;
		ret->size = line->end - line->start;
	}
	return true;
}

bool code_dump_name(const struct code_dump *d, uint64_t at, struct code_name *ret, struct buf *text)
{
	char record[JITDUMP_HEAD + CODE_NAME_MAX + 8];
	struct jitdump_record rec;
	size_t len = code_pread(d->fd, at, record, sizeof(record)), max;
	const char *name, *nul;

	if (jitdump_record(&d->head, record, len, UINT64_MAX, &rec) <= 0 || rec.type != JITDUMP_LOAD || rec.name > len)
		return false;
	ret->start = rec.addr;
	ret->size = rec.code_size;
	max = rec.name_max < len - rec.name ? rec.name_max : len - rec.name;
	name = record + rec.name;
	nul = memchr(name, '\0', max);
	if (!nul && (max == rec.name_max || max <= CODE_NAME_MAX))
		return true; /* the name runs into the code: it is none */
	code_add_name(text, name, nul ? (size_t)(nul - name) : max);
	return true;
}

void *code_dump_lines(const struct code_dump *d, uint64_t at, size_t *ret_len)
{
	char head[JITDUMP_HEAD];
	struct jitdump_record rec;
	void *bytes;

	if (jitdump_record(&d->head, head, code_pread(d->fd, at, head, sizeof(head)), UINT64_MAX, &rec) <= 0 ||
	    rec.type != JITDUMP_DEBUG || rec.size > LINES_MAX || !(bytes = malloc(rec.size)))
		return NULL;
	*ret_len = code_pread(d->fd, at, bytes, rec.size);
	return bytes;
}
