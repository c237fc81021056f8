/* SPDX-License-Identifier: MIT */
/*
 * Writes pprof: a gzipped message (profile.proto). A message may be written in pieces, each itself a message, which the reader
 * joins. Samples can therefore be written before all locations and strings are known.
 *
 * A sample is a weight: one stack of one thread in one state. A location is a frame, or a function with the calls
 * inlined in it. Addresses are omitted: frames have names, and pprof must not look for others.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/auto.h"
#include "base/intern.h"
#include "out/out_priv.h"
#include "out/profile.pb-c.h"

enum { BATCH = 256, COLUMNS = 5, LABELS = 5 };

/* Samples of one thread that are not written yet. */
struct batch {
	Pprof__Sample samples[BATCH], *list[BATCH];
	int64_t values[BATCH][COLUMNS];
	VEC(uint64_t) locations; /* of all; each sample has the next n_location_id of them */
	size_t n;
	Pprof__Label labels[4 + PROFILE_STATES];
	Pprof__Label *label_list[PROFILE_STATES][LABELS];
	size_t nlabels;
};

struct pprof {
	const struct profile *p;
	const struct out_options *o;
	unsigned states;
	bool times, waits;
	struct writer w;
	z_stream z;
	struct buf packed;
	VEC(char *) owned; /* texts that had to be escaped */
	struct strings strings, modules;
	struct pairs functions; /* (name, file), as strings */
	struct pairs locations; /* (location it is inlined in or 0, frame) */
	uint32_t *location_of; /* of a node; 0: in no stack that is written */
	uint32_t thread;
	struct batch batch;
	int error; /* negative errno or 0 */
};

/* --- strings and numbers for them --- */

static bool is_plain(const char *s)
{
	while (*s >= 0x20 && *s < 0x7f)
		s++;
	return !*s;
}

static int64_t string(struct pprof *f, const char *s)
{
	uint32_t number;

	if (!is_plain(s)) {
		struct buf b = { 0 };
		char *text;

		buf_add_name(&b, s, strlen(s));
		text = buf_take(&b);
		if (!text || vec_push(&f->owned, text)) {
			free(text);
			f->error = -ENOMEM;
			return 0;
		}
		s = text;
	}
	number = strings_number(&f->strings, s);
	if (number == UINT32_MAX)
		f->error = -ENOMEM;
	return number;
}

static uint64_t pair_id(struct pprof *f, struct pairs *pairs, uint32_t a, uint32_t b)
{
	uint32_t number = pairs_number(pairs, a, b);

	if (number == UINT32_MAX)
		f->error = -ENOMEM;
	return (uint64_t)number + 1;
}

static uint64_t function_id(struct pprof *f, const struct profile_frame *frame)
{
	int64_t name, file = frame->file ? string(f, frame->file) : 0;
	char *idle = NULL;

	/* The name of an idle thread is not a function. */
	if (frame->kind == FRAME_WAITING && *frame->name != '[') {
		if (asprintf(&idle, "[idle: %s]", frame->name) < 0 || vec_push(&f->owned, idle)) {
			free(idle);
			f->error = -ENOMEM;
			return 0;
		}
	}
	name = string(f, idle ? idle : frame->name);
	return pair_id(f, &f->functions, (uint32_t)name, (uint32_t)file);
}

/* Code that is in no file has its kind as its module. */
static const char *module_of(const struct profile_frame *frame)
{
	if (frame->module && *frame->module)
		return frame->module;
	switch (frame->kind) {
	case FRAME_KERNEL: return "kernel";
	case FRAME_COMPILED: return "[compiled]";
	case FRAME_INTERPRETED: return "[interpreted]";
	default: return NULL;
	}
}

static uint64_t mapping_id(struct pprof *f, const struct profile_frame *frame)
{
	const char *module = module_of(frame);
	uint32_t number = module ? strings_number(&f->modules, module) : 0;

	if (!module)
		return 0;
	if (number == UINT32_MAX)
		f->error = -ENOMEM;
	return (uint64_t)number + 1;
}

/* --- pieces of the file --- */

static void compress_piece(struct pprof *f, int how)
{
	f->z.next_in = (Bytef *)f->packed.data;
	f->z.avail_in = (uInt)f->packed.len;
	do {
		char *room = writer_more(&f->w) ? NULL : buf_room(&f->w.b, 65536);

		if (!room)
			break;
		f->z.next_out = (Bytef *)room;
		f->z.avail_out = 65536;
		deflate(&f->z, how);
		f->w.b.len += 65536 - f->z.avail_out;
	} while (!f->z.avail_out);
	if (f->w.b.failed)
		f->error = -ENOMEM;
}

static void write_piece(struct pprof *f, const Pprof__Profile *piece)
{
	size_t len = pprof__profile__get_packed_size(piece);
	char *room;

	buf_reset(&f->packed);
	room = buf_room(&f->packed, len);
	if (!room) {
		f->error = -ENOMEM;
		return;
	}
	f->packed.len = pprof__profile__pack(piece, (uint8_t *)room);
	compress_piece(f, Z_NO_FLUSH);
}

/* --- samples --- */

static void write_batch(struct pprof *f)
{
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	struct batch *b = &f->batch;
	size_t at = 0;

	for (size_t i = 0; i < b->n; i++) {
		b->samples[i].location_id = at < b->locations.n ? &b->locations.v[at] : NULL;
		at += b->samples[i].n_location_id;
	}
	piece.n_sample = b->n;
	piece.sample = b->list;
	if (b->n)
		write_piece(f, &piece);
	b->n = b->locations.n = 0;
}

static void add_label(struct pprof *f, const char *key, const char *text, int64_t number)
{
	struct batch *b = &f->batch;
	Pprof__Label *label = &b->labels[b->nlabels];

	if (!number && (!text || !*text))
		return;
	pprof__label__init(label);
	label->key = string(f, key);
	label->str = text ? string(f, text) : 0;
	label->num = number;
	for (size_t i = 0; i < PROFILE_STATES; i++)
		b->label_list[i][b->nlabels] = label;
	b->nlabels++;
}

/* The labels that all samples of a thread share, and for each state the label of that state if there are several. */
static void set_thread(struct pprof *f, const struct profile_thread *t)
{
	static const char *const names[PROFILE_STATES] = { "cpu", "runnable", "blocked", "event" };
	struct batch *b = &f->batch;

	b->nlabels = 0;
	add_label(f, "thread", t->comm, 0);
	add_label(f, "tid", NULL, t->tid);
	add_label(f, "process", t->process, 0);
	add_label(f, "pid", NULL, t->pid);
	if (!(f->states & (f->states - 1)))
		return;
	for (size_t i = 0; i < PROFILE_STATES; i++) {
		Pprof__Label *label = &b->labels[4 + i];

		pprof__label__init(label);
		label->key = string(f, "state");
		label->str = string(f, names[i]);
		b->label_list[i][b->nlabels] = label;
	}
	b->nlabels++;
}

/* pprof's numbers are signed. */
static int64_t signed_value(uint64_t v) { return v > INT64_MAX ? INT64_MAX : (int64_t)v; }

static void add_sample(struct pprof *f, const struct profile_weight *w)
{
	struct batch *b = &f->batch;
	Pprof__Sample *s = &b->samples[b->n];
	int64_t ns = signed_value(w->value_ns), *values = b->values[b->n];
	size_t before = b->locations.n;
	uint32_t at = w->node;

	while (at) {
		uint32_t location = f->location_of[at], inlined;

		if (vec_push(&b->locations, location)) {
			f->error = -ENOMEM;
			return;
		}
		do { /* calls inlined in it belong to the same location */
			inlined = f->locations.v.v[location - 1].a;
			at = f->p->nodes.v[at].parent;
			location = inlined;
		} while (inlined);
	}
	pprof__sample__init(s);
	s->n_location_id = b->locations.n - before;
	/* Columns: samples; cpu if there are times; runnable, blocked and wall if threads waited. */
	values[0] = signed_value(w->count);
	values[1] = w->state == PROFILE_CPU ? ns : 0;
	values[2] = w->state == PROFILE_RUNNABLE ? ns : 0;
	values[3] = w->state == PROFILE_BLOCKED ? ns : 0;
	values[4] = ns;
	s->value = values;
	s->n_value = f->waits ? 5 : f->times ? 2 : 1;
	s->label = b->label_list[w->state];
	s->n_label = b->nlabels;
	b->list[b->n++] = s;
	if (b->n == BATCH || b->locations.n > 16384)
		write_batch(f);
}

static void write_samples(struct pprof *f)
{
	size_t n;
	AUTO_FREE uint32_t *order = out_order(f->p, f->o, true, &n);

	if (!order)
		f->error = -ENOMEM;
	for (size_t i = 0; i < n && !f->error && !f->w.error; i++) {
		const struct profile_weight *w = &f->p->weights.v[order[i]];

		if (w->thread != f->thread) {
			write_batch(f);
			f->thread = w->thread;
			set_thread(f, &f->p->threads.v[w->thread]);
		}
		add_sample(f, w);
	}
	write_batch(f);
}

/* --- locations --- */

/* Finds the locations of all nodes in stacks that are written. */
static void find_locations(struct pprof *f)
{
	const struct profile *p = f->p;
	uint32_t *of = calloc(p->nodes.n + 1, sizeof(*of));
	AUTO_FREE uint32_t *own = calloc(p->frames.n + 1, sizeof(*own)); /* a frame's location, not inlined */

	f->location_of = of;
	if (!of || !own) {
		f->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < p->weights.n; i++)
		of[p->weights.v[i].node] |= out_wants(f->o, p->weights.v[i].state);
	for (size_t i = p->nodes.n; i-- > 1;)
		of[p->nodes.v[i].parent] |= of[i];
	for (size_t i = 1; i < p->nodes.n && !f->error; i++) {
		const struct profile_node *node = &p->nodes.v[i];
		uint8_t outer = node->parent ? p->frames.v[p->nodes.v[node->parent].frame].kind : FRAME_REASON;
		bool inlined = p->frames.v[node->frame].kind == FRAME_INLINED && outer != FRAME_REASON &&
			       outer != FRAME_WAITING;

		if (!of[i])
			continue;
		if (inlined || !own[node->frame])
			of[i] = (uint32_t)pair_id(f, &f->locations, inlined ? of[node->parent] : 0, node->frame);
		else
			of[i] = own[node->frame];
		if (!inlined)
			own[node->frame] = of[i];
	}
}

/* Fills in a location and its lines. Returns the number of lines. */
static size_t fill_location(struct pprof *f, size_t number, Pprof__Location *to, Pprof__Line *lines, size_t max)
{
	const struct profile_frame *frame = NULL;
	size_t n = 0;

	pprof__location__init(to);
	to->id = number + 1;
	for (size_t at = number + 1; at && n < max; at = f->locations.v.v[at - 1].a) {
		frame = &f->p->frames.v[f->locations.v.v[at - 1].b];
		pprof__line__init(&lines[n]);
		lines[n].function_id = function_id(f, frame);
		lines[n].line = frame->line;
		n++;
	}
	if (frame)
		to->mapping_id = mapping_id(f, frame);
	return n;
}

static void write_locations(struct pprof *f)
{
	enum { MAX = 512 };
	Pprof__Line lines[MAX], *line_list[MAX];

	for (size_t i = 0; i < MAX; i++)
		line_list[i] = &lines[i];
	for (size_t i = 0; i < f->locations.v.n && !f->error && !f->w.error;) {
		Pprof__Profile piece = PPROF__PROFILE__INIT;
		Pprof__Location locations[BATCH], *list[BATCH];
		size_t nlines = 0;

		/* The last of a piece has MAX / 2 lines to itself: deeper inlining is truncated. */
		for (; i < f->locations.v.n && piece.n_location < BATCH && nlines < MAX / 2; i++) {
			Pprof__Location *l = &locations[piece.n_location];

			l->line = NULL;
			list[piece.n_location++] = l;
			size_t n = fill_location(f, i, l, lines + nlines, MAX - nlines);
			l->line = line_list + nlines;
			l->n_line = n;
			nlines += n;
		}
		piece.location = list;
		write_piece(f, &piece);
	}
}

static void write_functions(struct pprof *f)
{
	for (size_t i = 0; i < f->functions.v.n && !f->error && !f->w.error;) {
		Pprof__Profile piece = PPROF__PROFILE__INIT;
		Pprof__Function functions[BATCH], *list[BATCH];

		for (; i < f->functions.v.n && piece.n_function < BATCH; i++) {
			Pprof__Function *to = &functions[piece.n_function];

			pprof__function__init(to);
			to->id = i + 1;
			to->name = to->system_name = f->functions.v.v[i].a;
			to->filename = f->functions.v.v[i].b;
			list[piece.n_function++] = to;
		}
		piece.function = list;
		write_piece(f, &piece);
	}
}

static void write_mappings(struct pprof *f)
{
	bool lines = false, inlined = false;

	for (size_t i = 0; i < f->p->frames.n; i++) {
		lines |= f->p->frames.v[i].line != 0;
		inlined |= f->p->frames.v[i].kind == FRAME_INLINED;
	}
	for (size_t i = 0; i < f->modules.v.n && !f->error; i++) {
		Pprof__Profile piece = PPROF__PROFILE__INIT;
		Pprof__Mapping mapping = PPROF__MAPPING__INIT, *list[] = { &mapping };

		mapping.id = i + 1;
		mapping.filename = string(f, f->modules.v.v[i]);
		mapping.has_functions = true; /* else pprof would look for them in the file */
		mapping.has_filenames = mapping.has_line_numbers = lines;
		mapping.has_inline_frames = inlined;
		piece.n_mapping = 1;
		piece.mapping = list;
		write_piece(f, &piece);
	}
}

static void write_strings(struct pprof *f)
{
	for (size_t i = 0; i < f->strings.v.n && !f->error && !f->w.error;) {
		Pprof__Profile piece = PPROF__PROFILE__INIT;
		char *list[BATCH];

		for (; i < f->strings.v.n && piece.n_string_table < BATCH; i++)
			list[piece.n_string_table++] = (char *)f->strings.v.v[i];
		piece.string_table = list;
		write_piece(f, &piece);
	}
}

/* --- the head --- */

/* The name of the process with the most samples. */
static const char *main_process(const struct pprof *f)
{
	AUTO_FREE uint64_t *sums = calloc(f->p->threads.n + 1, sizeof(*sums));
	size_t best = 0;

	for (size_t i = 0; sums && i < f->p->weights.n; i++)
		if (f->p->weights.v[i].state == PROFILE_CPU || f->p->weights.v[i].state == PROFILE_EVENT)
			sums[f->p->weights.v[i].thread] += f->p->weights.v[i].count;
	for (size_t i = 0; sums && i < f->p->threads.n; i++)
		best = sums[i] > sums[best] ? i : best;
	return f->p->threads.n ? f->p->threads.v[best].process : NULL;
}

/* pprof takes the file of the first mapping for the program: python3.11 for python3. */
static void find_program(struct pprof *f)
{
	const char *process = main_process(f);
	size_t len = process ? strlen(process) : 0;

	for (size_t i = 0; len && i < f->p->frames.n; i++)
		if (f->p->frames.v[i].module && !strncmp(f->p->frames.v[i].module, process, len)) {
			mapping_id(f, &f->p->frames.v[i]);
			return;
		}
}

static void write_head(struct pprof *f, const char *comment)
{
	const char *const names[COLUMNS] = { out_unit(f->p), "cpu", "runnable", "blocked", "wall" };
	size_t n = f->waits ? 5 : f->times ? 2 : 1;
	Pprof__ValueType types[COLUMNS], period = PPROF__VALUE_TYPE__INIT, *list[COLUMNS];
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	int64_t comments[] = { string(f, ""), 0 };

	for (size_t i = 0; i < n; i++) {
		pprof__value_type__init(&types[i]);
		types[i].type = string(f, names[i]);
		types[i].unit = string(f, i ? "nanoseconds" : "count");
		list[i] = &types[i];
	}
	comments[0] = string(f, comment);
	piece.n_sample_type = n;
	piece.sample_type = list;
	piece.default_sample_type = types[n - 1].type;
	piece.time_nanos = f->p->totals.begin_wall_ns;
	piece.duration_nanos = signed_value(f->p->totals.duration_ns);
	if (f->p->totals.period_ns) {
		period.type = string(f, "cpu");
		period.unit = string(f, "nanoseconds");
		piece.period_type = &period;
		piece.period = signed_value(f->p->totals.period_ns);
	}
	piece.n_comment = 1;
	piece.comment = comments;
	write_piece(f, &piece);
}

static void write_message(struct pprof *f)
{
	const struct profile_totals *t = &f->p->totals;
	struct buf comment = { 0 };

	string(f, "");
	find_program(f);
	/* The totals that pprof has no field for. */
	buf_addf(&comment, "usertrace: samples %llu, lost %llu, cut %llu, frames %llu, unnamed %llu",
		 (unsigned long long)t->samples, (unsigned long long)t->lost, (unsigned long long)t->cut,
		 (unsigned long long)t->frames, (unsigned long long)t->unnamed);
	write_head(f, comment.data ? comment.data : "");
	find_locations(f);
	if (!f->error)
		write_samples(f);
	write_locations(f);
	write_functions(f);
	write_mappings(f);
	write_strings(f);
	buf_reset(&f->packed);
	compress_piece(f, Z_FINISH);
	buf_done(&comment);
}

static void pprof_free(struct pprof *f)
{
	for (size_t i = 0; i < f->owned.n; i++)
		free(f->owned.v[i]);
	vec_done(&f->owned);
	strings_done(&f->strings);
	strings_done(&f->modules);
	pairs_done(&f->functions);
	pairs_done(&f->locations);
	vec_done(&f->batch.locations);
	buf_done(&f->packed);
	free(f->location_of);
	deflateEnd(&f->z);
	free(f);
}

static int write_pprof(const struct profile *p, const struct out_options *o, int fd, struct ut_err *err)
{
	const unsigned waiting = 1u << PROFILE_RUNNABLE | 1u << PROFILE_BLOCKED;
	struct pprof *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return ut_err_nomem(err);
	f->p = p;
	f->o = o;
	f->w.fd = fd;
	f->thread = UINT32_MAX;
	f->states = out_states(p, o);
	f->times = out_has_times(p, o);
	f->waits = f->states & waiting;
	if (deflateInit2(&f->z, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		f->error = -ENOMEM;
	else
		write_message(f);
	r = writer_end(&f->w);
	if (f->error)
		r = ut_err_nomem(err);
	pprof_free(f);
	return r;
}

const struct out_format out_pprof = {
	.name = "pprof",
	.suffixes = ".pb.gz .pprof",
	.summary = "for `go tool pprof` and compatible tools",
	.write = write_pprof,
};
