/* SPDX-License-Identifier: MIT */
/*
 * Reads pprof's message (profile.proto), which is foreign. The outer message is parsed here, field by field, so that there is no second
 * copy of all samples. The inner messages are unpacked one by one, in two passes, because samples may precede the locations
 * they refer to.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/sum.h"
#include "out/out.h"
#include "out/profile.pb-c.h"

enum { UNPACKED_MAX = 1 << 30, LINES_MAX = 4096 };
#define FRAMES_MAX (UINT64_C(1) << 30) /* of all stacks together: a small file may refer to any number */

struct text {
	const char *s;
	size_t len;
};
struct module {
	uint64_t id;
	int64_t name;
};
struct function {
	uint64_t id;
	int64_t name, file;
};
struct location {
	uint64_t id;
	uint32_t first, n;
}; /* in `frames`, the innermost first */

struct reader {
	struct profile *p;
	struct ut_err *err;
	VEC(struct text) strings;
	VEC(struct module) mappings;
	VEC(struct function) functions;
	VEC(Pprof__ValueType) types;
	VEC(Pprof__Location *) packed; /* until functions are known */
	VEC(struct location) locations;
	VEC(uint32_t) frames;
	VEC(int64_t) comments;
	uint64_t nframes; /* of all samples */
	int64_t default_type;
	uint64_t period;
	int64_t period_unit;
	int count, state[PROFILE_STATES]; /* index of the value; -1: none */
	enum profile_state state_of_counts;
	bool in_samples; /* the second pass */
	VEC(char) scratch[4]; /* strings that need a NUL */
};

static int bad(struct reader *in, const char *what)
{
	return ut_err_set(in->err, -EINVAL, "is not a valid pprof profile: %s", what);
}

/* --- the outer message --- */

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

static int read_field(struct reader *in, unsigned number, const uint8_t *bytes, size_t len);
static int read_number(struct reader *in, unsigned number, uint64_t v);

static int read_fields(struct reader *in, const uint8_t *at, size_t len)
{
	const uint8_t *end = at + len;
	int r = 0;

	while (at < end && !r) {
		uint64_t tag, v;

		if (!varint(&at, end, &tag) || tag >> 3 == 0 || tag >> 32)
			return bad(in, "a field number is truncated or invalid");
		switch (tag & 7) {
		case 0:
			if (!varint(&at, end, &v))
				return bad(in, "a number is truncated");
			r = read_number(in, (unsigned)(tag >> 3), v);
			break;
		case 1:
		case 5:
			if ((size_t)(end - at) < ((tag & 7) == 1 ? 8u : 4u))
				return bad(in, "a number is truncated");
			at += (tag & 7) == 1 ? 8 : 4;
			break;
		case 2:
			if (!varint(&at, end, &v) || v > (uint64_t)(end - at))
				return bad(in, "it is cut");
			r = read_field(in, (unsigned)(tag >> 3), at, v);
			at += v;
			break;
		default: return bad(in, "a field has an unknown wire type");
		}
	}
	return r;
}

static int read_number(struct reader *in, unsigned number, uint64_t v)
{
	struct profile_totals *t = &in->p->totals;

	if (in->in_samples)
		return 0;
	switch (number) {
	case 9: t->begin_wall_ns = (int64_t)v; break;
	case 10: t->duration_ns = v <= INT64_MAX ? v : 0; break;
	case 12: in->period = v <= INT64_MAX ? v : 0; break;
	case 13: return vec_push(&in->comments, (int64_t)v);
	case 14: in->default_type = (int64_t)v; break;
	}
	return 0;
}

/* --- mappings, functions, locations --- */

static int read_packed_comments(struct reader *in, const uint8_t *at, size_t len)
{
	const uint8_t *end = at + len;
	uint64_t v;

	while (at < end && in->comments.n < 64) {
		if (!varint(&at, end, &v))
			return bad(in, "a comment is truncated");
		if (vec_push(&in->comments, (int64_t)v))
			return -ENOMEM;
	}
	return 0;
}

static int add_sample(struct reader *in, const Pprof__Sample *s);

/* Unpacks a message as `m`, evaluates @take, and frees it. */
#define TAKE(type, message, take) \
	do { \
		Pprof__##type *m = pprof__##message##__unpack(NULL, len, bytes); \
		if (!m) \
			return bad(in, "a " #message " is truncated or invalid"); \
		r = (take); \
		pprof__##message##__free_unpacked(m, NULL); \
	} while (0)

static int read_field(struct reader *in, unsigned number, const uint8_t *bytes, size_t len)
{
	struct text text = { (const char *)bytes, len };
	Pprof__Location *location;
	int r = 0;

	if (in->in_samples) {
		if (number == 2)
			TAKE(Sample, sample, add_sample(in, m));
		return r;
	}
	switch (number) {
	case 1: TAKE(ValueType, value_type, vec_push(&in->types, *m)); break;
	case 3: TAKE(Mapping, mapping, vec_push(&in->mappings, ((struct module){ m->id, m->filename }))); break;
	case 4:
		location = pprof__location__unpack(NULL, len, bytes);
		if (!location)
			return bad(in, "a location is truncated or invalid");
		r = vec_push(&in->packed, location);
		if (r)
			pprof__location__free_unpacked(location, NULL);
		break;
	case 5:
		TAKE(Function, function,
		     vec_push(&in->functions,
			      ((struct function){ m->id, m->name ? m->name : m->system_name, m->filename })));
		break;
	case 6: r = vec_push(&in->strings, text); break;
	case 11: TAKE(ValueType, value_type, (in->period_unit = m->unit, 0)); break;
	case 13: r = read_packed_comments(in, bytes, len); break;
	}
	return r;
}

/* --- locations to frames --- */

static int compare_ids(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y; /* the first member of all of them */

	return a < b ? -1 : a > b;
}

#define SORT(vec) \
	do { \
		if ((vec)->n) \
			qsort((vec)->v, (vec)->n, sizeof(*(vec)->v), compare_ids); \
	} while (0)
#define FIND(vec, id) ((vec)->n ? bsearch(&(id), (vec)->v, (vec)->n, sizeof(*(vec)->v), compare_ids) : NULL)

static struct text string(const struct reader *in, int64_t i)
{
	return i >= 0 && (uint64_t)i < in->strings.n ? in->strings.v[i] : (struct text){ "", 0 };
}

/* The string with a NUL after it, in scratch buffer @which; "" when there is no memory. */
static const char *c_string(struct reader *in, unsigned which, int64_t i)
{
	struct text t = string(in, i);

	in->scratch[which].n = 0;
	if (vec_reserve(&in->scratch[which], t.len + 1))
		return "";
	memcpy(in->scratch[which].v, t.s, t.len);
	in->scratch[which].v[t.len] = '\0';
	return in->scratch[which].v;
}

static const char *module_of(const char *path) { return *path == '[' || !*path_base(path) ? path : path_base(path); }

static bool is_kernel(const char *module)
{
	size_t len = strlen(module);

	return !strcmp(module, "kernel") || !strncmp(module, "[kernel", 7) ||
	       (len > 3 && !strcmp(module + len - 3, ".ko"));
}

static uint32_t frame_of(struct reader *in, const Pprof__Line *line, const Pprof__Location *l, bool inlined)
{
	const struct function *f = FIND(&in->functions, line->function_id);
	const struct module *m = FIND(&in->mappings, l->mapping_id);
	struct text name = f ? string(in, f->name) : (struct text){ 0 };
	struct frame frame = { .kind = FRAME_NATIVE };

	if (name.len > 8 && !memcmp(name.s, "[idle: ", 7) && name.s[name.len - 1] == ']') /* written so by pprof.c */
		return profile_frame_named(in->p, name.s + 7, name.len - 8, FRAME_WAITING);
	if (!name.len || name.s[0] == '[') /* placeholder frames */
		return profile_frame_folded(in->p, name.len ? name.s : "[no name]", name.len ? name.len : 9);
	frame.name = c_string(in, 0, f->name);
	frame.module = m ? module_of(c_string(in, 1, m->name)) : "";
	frame.file = f->file > 0 ? c_string(in, 2, f->file) : NULL;
	frame.line = line->line > 0 && line->line <= UINT32_MAX ? (uint32_t)line->line : 0;
	if (inlined)
		frame.kind = FRAME_INLINED;
	else if (is_kernel(frame.module))
		frame.kind = FRAME_KERNEL;
	else if (!strcmp(frame.module, "[compiled]"))
		frame.kind = FRAME_COMPILED;
	else if (!strcmp(frame.module, "[interpreted]"))
		frame.kind = FRAME_INTERPRETED;
	if (*frame.module == '[') /* not a file */
		frame.module = "";
	return profile_frame(in->p, &frame);
}

/* The frame of an address without a name. */
static uint32_t address_frame(struct reader *in, uint64_t address)
{
	char name[32];
	int n = snprintf(name, sizeof(name), "0x%llx", (unsigned long long)address);

	return profile_frame_folded(in->p, name, (size_t)n);
}

static int add_location(struct reader *in, const Pprof__Location *l)
{
	struct location new = { l->id, (uint32_t)in->frames.n, 0 };

	if (l->n_line > LINES_MAX)
		return bad(in, "a location has too many lines");
	for (size_t i = 0; i < l->n_line || !i; i++) {
		uint32_t frame =
			l->n_line ? frame_of(in, l->line[i], l, i + 1 < l->n_line) : address_frame(in, l->address);

		if (frame == UINT32_MAX || vec_push(&in->frames, frame))
			return -ENOMEM;
		new.n++;
	}
	return vec_push(&in->locations, new);
}

/* --- samples --- */

struct labels {
	int64_t thread, process;
	int pid, tid;
};

static bool string_is(struct reader *in, int64_t i, const char *wanted)
{
	struct text t = string(in, i);

	return t.len == strlen(wanted) && !memcmp(t.s, wanted, t.len);
}

static int positive_int(int64_t v) { return v > 0 && v <= INT32_MAX ? (int)v : 0; }

static uint32_t thread_of(struct reader *in, const Pprof__Sample *s)
{
	struct labels l = { 0 };

	for (size_t i = 0; i < s->n_label; i++) {
		const Pprof__Label *label = s->label[i];

		if (string_is(in, label->key, "thread"))
			l.thread = label->str;
		else if (string_is(in, label->key, "process"))
			l.process = label->str;
		else if (string_is(in, label->key, "pid"))
			l.pid = positive_int(label->num);
		else if (string_is(in, label->key, "tid"))
			l.tid = positive_int(label->num);
	}
	return profile_thread(in->p, l.pid, l.tid, c_string(in, 0, l.thread), c_string(in, 1, l.process));
}

static uint64_t value(const Pprof__Sample *s, int which)
{
	return which >= 0 && (size_t)which < s->n_value && s->value[which] > 0 ? (uint64_t)s->value[which] : 0;
}

static enum profile_state count_state(struct reader *in, const Pprof__Sample *s)
{
	for (size_t i = 0; i < s->n_label; i++)
		if (string_is(in, s->label[i]->key, "state") && string_is(in, s->label[i]->str, "event"))
			return PROFILE_EVENT;
	return in->state_of_counts;
}

static int add_sample_values(struct reader *in, const Pprof__Sample *s, uint32_t node, uint32_t thread)
{
	uint64_t count = value(s, in->count);
	bool timed = false;

	add_u64(&in->p->totals.samples, count);
	in->p->totals.saturated |= in->p->totals.samples == UINT64_MAX;
	for (unsigned i = 0; i < PROFILE_STATES; i++) {
		uint64_t ns = value(s, in->state[i]);

		if (!ns)
			continue;
		if (profile_add(in->p, node, thread, (enum profile_state)i, timed ? 0 : count, ns))
			return -ENOMEM;
		timed = true;
	}
	return timed || !count ? 0 : profile_add(in->p, node, thread, count_state(in, s), count, 0);
}

static int add_sample(struct reader *in, const Pprof__Sample *s)
{
	uint32_t node = 0, thread = thread_of(in, s);

	for (size_t i = s->n_location_id; i-- > 0;) {
		const struct location *l = FIND(&in->locations, s->location_id[i]);

		if (!l)
			return bad(in, "a sample refers to a missing location");
		in->nframes += l->n;
		if (in->nframes > FRAMES_MAX)
			return bad(in, "its stacks have more than 1,000,000,000 frames");
		for (uint32_t k = l->n; k-- > 0 && node != UINT32_MAX;)
			node = profile_node(in->p, node, in->frames.v[l->first + k]);
	}
	return node == UINT32_MAX || thread == UINT32_MAX ? -ENOMEM : add_sample_values(in, s, node, thread);
}

/* --- the meaning of the values --- */

/* The frames of a profile own its strings, so the unit becomes a frame. */
static void set_unit(struct reader *in, struct text unit)
{
	uint32_t frame = profile_frame_named(in->p, unit.s, unit.len, FRAME_REASON);

	if (frame != UINT32_MAX)
		in->p->totals.unit = in->p->frames.v[frame].name;
}

static void find_values(struct reader *in)
{
	static const struct {
		const char *type;
		enum profile_state state;
	} times[] = {
		{ "cpu", PROFILE_CPU },
		{ "runnable", PROFILE_RUNNABLE },
		{ "blocked", PROFILE_BLOCKED },
		{ "delay", PROFILE_BLOCKED },
	};
	int counted = -1, preferred = -1;

	memset(in->state, 0xff, sizeof(in->state));
	for (size_t i = 0; i < in->types.n && i < 64; i++) {
		const Pprof__ValueType *t = &in->types.v[i];

		for (size_t k = 0; k < ARRAY_SIZE(times) && string_is(in, t->unit, "nanoseconds"); k++)
			if (string_is(in, t->type, times[k].type))
				in->state[times[k].state] = (int)i;
		if (counted < 0 && string_is(in, t->unit, "count"))
			counted = (int)i;
		if (in->default_type && t->type == in->default_type && !string_is(in, t->unit, "nanoseconds"))
			preferred = (int)i;
	}
	in->count = preferred >= 0 ? preferred : counted >= 0 ? counted : 0;
	if ((size_t)in->count >= in->types.n || string_is(in, in->types.v[in->count].type, "samples"))
		return;
	in->state_of_counts = PROFILE_EVENT;
	set_unit(in, string(in, in->types.v[in->count].type));
}

static void read_comments(struct reader *in)
{
	struct profile_totals *t = &in->p->totals;

	for (size_t i = 0; i < in->comments.n; i++) {
		unsigned long long samples, lost, cut, frames, unnamed;

		if (sscanf(c_string(in, 3, in->comments.v[i]),
			   "usertrace: samples %llu, lost %llu, cut %llu, frames %llu, unnamed %llu", &samples, &lost,
			   &cut, &frames, &unnamed) != 5)
			continue;
		t->lost = lost;
		t->cut = cut;
		t->frames = frames;
		t->unnamed = unnamed;
	}
}

static int read_message(struct reader *in, const void *bytes, size_t len)
{
	int r = read_fields(in, bytes, len);

	if (r)
		return r;
	if (!in->types.n)
		return bad(in, "it has no sample types");
	if (!in->strings.n || in->strings.v[0].len)
		return bad(in, "its string table is missing");
	for (size_t i = 0; i < in->functions.n; i++)
		if (in->functions.v[i].name < 0 || (uint64_t)in->functions.v[i].name >= in->strings.n)
			return bad(in, "the name of a function is missing");
	SORT(&in->mappings);
	SORT(&in->functions);
	for (size_t i = 0; i < in->packed.n && !r; i++)
		r = add_location(in, in->packed.v[i]);
	SORT(&in->locations);
	find_values(in);
	if (string_is(in, in->period_unit, "nanoseconds")) /* else it is bytes, or events */
		in->p->totals.period_ns = in->period;
	read_comments(in);
	in->in_samples = true;
	return r ? r : read_fields(in, bytes, len);
}

int out_read_pprof_message(struct profile *p, const void *bytes, size_t len, struct ut_err *err)
{
	struct reader in = { .p = p, .err = err };
	int r = read_message(&in, bytes, len);

	for (size_t i = 0; i < in.packed.n; i++)
		pprof__location__free_unpacked(in.packed.v[i], NULL);
	vec_done(&in.packed);
	vec_done(&in.strings);
	vec_done(&in.mappings);
	vec_done(&in.functions);
	vec_done(&in.types);
	vec_done(&in.locations);
	vec_done(&in.frames);
	vec_done(&in.comments);
	for (size_t i = 0; i < ARRAY_SIZE(in.scratch); i++)
		vec_done(&in.scratch[i]);
	return r == -ENOMEM ? ut_err_nomem(err) : r;
}

/* --- the file --- */

static int read_input(int fd, struct buf *ret, struct ut_err *err)
{
	static const size_t piece = 1 << 20;
	ssize_t n;

	do {
		char *room = buf_room(ret, piece);

		if (!room)
			return ut_err_nomem(err);
		n = read(fd, room, piece);
		if (n < 0 && errno != EINTR)
			return ut_err_set(err, -errno, "cannot be read: %s", strerror(errno));
		ret->len += n > 0 ? (size_t)n : 0;
		if (ret->len > UNPACKED_MAX)
			return ut_err_set(err, -EFBIG, "is larger than 1 GiB, too large for a profile");
	} while (n);
	return 0;
}

static int gunzip(z_stream *z, struct buf *out, struct ut_err *err)
{
	static const size_t piece = 1 << 16;
	int how = Z_OK;

	while (how != Z_STREAM_END) {
		char *room = buf_room(out, piece);

		if (!room)
			return ut_err_nomem(err);
		if (!z->avail_in)
			return ut_err_set(err, -EINVAL, "is truncated: the end of its gzip stream is missing");
		z->next_out = (Bytef *)room;
		z->avail_out = (uInt)piece;
		how = inflate(z, Z_NO_FLUSH);
		out->len += piece - z->avail_out;
		if (how != Z_OK && how != Z_STREAM_END && how != Z_BUF_ERROR)
			return ut_err_set(err, -EINVAL, "is not a gzip file, or is corrupt");
		if (out->len > UNPACKED_MAX)
			return ut_err_set(err, -EFBIG,
					  "is larger than 1 GiB when uncompressed, too large for a profile");
	}
	return 0;
}

static bool is_gzip(const unsigned char *begin, size_t len) { return len >= 2 && begin[0] == 0x1f && begin[1] == 0x8b; }

/* Numeric fields may come first; then a value type, whose first field is one of two numbers, as in no text. */
static bool is_message(const uint8_t *at, const uint8_t *end)
{
	uint64_t v;

	while (at < end && (*at == 9 << 3 || *at == 10 << 3 || *at == 12 << 3 || *at == 14 << 3)) {
		at++;
		if (!varint(&at, end, &v))
			return false;
	}
	return end - at >= 3 && (at[0] == (1 << 3 | 2) || at[0] == (11 << 3 | 2)) &&
	       (at[2] == 1 << 3 || at[2] == 2 << 3);
}

bool out_is_pprof(const unsigned char *begin, size_t len)
{
	return is_gzip(begin, len) || is_message(begin, begin + len);
}

/* Replaces the contents by their uncompressed form. */
static int gunzip_buffer(struct buf *file, struct ut_err *err)
{
	struct buf message = { 0 };
	z_stream z = { .next_in = (Bytef *)file->data, .avail_in = (uInt)file->len };
	int r;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return ut_err_nomem(err);
	r = gunzip(&z, &message, err);
	inflateEnd(&z);
	buf_done(file);
	*file = message;
	return r;
}

int out_read_pprof(struct profile *p, int fd, struct ut_err *err)
{
	struct buf file = { 0 };
	int r = read_input(fd, &file, err);

	if (!r && file.data && is_gzip((const unsigned char *)file.data, file.len))
		r = gunzip_buffer(&file, err);
	if (!r)
		r = out_read_pprof_message(p, file.data ? file.data : "", file.len, err);
	buf_done(&file);
	return r;
}
