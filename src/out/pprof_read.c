/* SPDX-License-Identifier: MIT */
/*
 * Reads pprof's message (profile.proto) from anybody. The outer message is taken apart here, field by field, so that
 * there is no second copy of all samples; what is in it is unpacked one by one, in two passes, as samples may stand
 * before what they speak of.
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
#define FRAMES_MAX (UINT64_C(1) << 30) /* of all stacks together: a small file may ask for any number */

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
	int count, state[PROFILE_STATES]; /* which value says it; -1: none */
	enum profile_state state_of_counts;
	bool in_samples; /* the second pass */
	VEC(char) scratch[4]; /* strings that need a NUL */
};

static int bad(struct reader *r, const char *what)
{
	return ut_err_set(r->err, -EINVAL, "is not a valid pprof profile: %s", what);
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

static int take_field(struct reader *r, unsigned number, const uint8_t *bytes, size_t len);
static int take_number(struct reader *r, unsigned number, uint64_t v);

static int take_fields(struct reader *r, const uint8_t *at, size_t len)
{
	const uint8_t *end = at + len;
	int code = 0;

	while (at < end && !code) {
		uint64_t tag, v;

		if (!varint(&at, end, &tag) || tag >> 3 == 0 || tag >> 32)
			return bad(r, "a field number is truncated or invalid");
		switch (tag & 7) {
		case 0:
			if (!varint(&at, end, &v))
				return bad(r, "a number is truncated");
			code = take_number(r, (unsigned)(tag >> 3), v);
			break;
		case 1:
		case 5:
			if ((size_t)(end - at) < ((tag & 7) == 1 ? 8u : 4u))
				return bad(r, "a number is truncated");
			at += (tag & 7) == 1 ? 8 : 4;
			break;
		case 2:
			if (!varint(&at, end, &v) || v > (uint64_t)(end - at))
				return bad(r, "it is cut");
			code = take_field(r, (unsigned)(tag >> 3), at, v);
			at += v;
			break;
		default: return bad(r, "a field has an unknown wire type");
		}
	}
	return code;
}

static int take_number(struct reader *r, unsigned number, uint64_t v)
{
	struct profile_totals *t = &r->p->totals;

	if (r->in_samples)
		return 0;
	switch (number) {
	case 9: t->begin_wall_ns = (int64_t)v; break;
	case 10: t->duration_ns = v <= INT64_MAX ? v : 0; break;
	case 12: r->period = v <= INT64_MAX ? v : 0; break;
	case 13: return vec_push(&r->comments, (int64_t)v);
	case 14: r->default_type = (int64_t)v; break;
	}
	return 0;
}

/* --- what samples speak of --- */

static int take_mapping(struct reader *r, const Pprof__Mapping *m)
{
	struct module new = { m->id, m->filename };

	return vec_push(&r->mappings, new);
}

static int take_function(struct reader *r, const Pprof__Function *f)
{
	struct function new = { f->id, f->name ? f->name : f->system_name, f->filename };

	return vec_push(&r->functions, new);
}

static int take_comments(struct reader *r, const uint8_t *at, size_t len)
{
	const uint8_t *end = at + len;
	uint64_t v;

	while (at < end && r->comments.n < 64) {
		if (!varint(&at, end, &v))
			return bad(r, "a comment is truncated");
		if (vec_push(&r->comments, (int64_t)v))
			return -ENOMEM;
	}
	return 0;
}

static int take_sample(struct reader *r, const Pprof__Sample *s);

static int take_value_type(struct reader *r, const Pprof__ValueType *t) { return vec_push(&r->types, *t); }

static int take_period_type(struct reader *r, const Pprof__ValueType *t)
{
	r->period_unit = t->unit;
	return 0;
}

#define TAKE(type, message, take) \
	do { \
		Pprof__##type *m = pprof__##message##__unpack(NULL, len, bytes); \
		if (!m) \
			return bad(r, "a " #message " is truncated or invalid"); \
		code = take_##take(r, m); \
		pprof__##message##__free_unpacked(m, NULL); \
	} while (0)

static int take_field(struct reader *r, unsigned number, const uint8_t *bytes, size_t len)
{
	struct text text = { (const char *)bytes, len };
	Pprof__Location *location;
	int code = 0;

	if (r->in_samples) {
		if (number == 2)
			TAKE(Sample, sample, sample);
		return code;
	}
	switch (number) {
	case 1: TAKE(ValueType, value_type, value_type); break;
	case 3: TAKE(Mapping, mapping, mapping); break;
	case 4:
		location = pprof__location__unpack(NULL, len, bytes);
		if (!location)
			return bad(r, "a location is truncated or invalid");
		code = vec_push(&r->packed, location);
		if (code)
			pprof__location__free_unpacked(location, NULL);
		break;
	case 5: TAKE(Function, function, function); break;
	case 6: code = vec_push(&r->strings, text); break;
	case 11: TAKE(ValueType, value_type, period_type); break;
	case 13: code = take_comments(r, bytes, len); break;
	}
	return code;
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

static struct text string(const struct reader *r, int64_t i)
{
	return i >= 0 && (uint64_t)i < r->strings.n ? r->strings.v[i] : (struct text){ "", 0 };
}

/* With a NUL behind it, in one of the scratch places; "" when there is no memory. */
static const char *c_string(struct reader *r, unsigned place, int64_t i)
{
	struct text t = string(r, i);

	r->scratch[place].n = 0;
	if (vec_reserve(&r->scratch[place], t.len + 1))
		return "";
	memcpy(r->scratch[place].v, t.s, t.len);
	r->scratch[place].v[t.len] = '\0';
	return r->scratch[place].v;
}

static const char *module_of(const char *path) { return *path == '[' || !*path_base(path) ? path : path_base(path); }

static bool is_kernel(const char *module)
{
	size_t len = strlen(module);

	return !strcmp(module, "kernel") || !strncmp(module, "[kernel", 7) ||
	       (len > 3 && !strcmp(module + len - 3, ".ko"));
}

static uint32_t frame_of(struct reader *r, const Pprof__Line *line, const Pprof__Location *l, bool inlined)
{
	const struct function *f = FIND(&r->functions, line->function_id);
	const struct module *m = FIND(&r->mappings, l->mapping_id);
	struct text name = f ? string(r, f->name) : (struct text){ 0 };
	struct frame frame = { .kind = FRAME_NATIVE };

	if (name.len > 8 && !memcmp(name.s, "[idle: ", 7) &&
	    name.s[name.len - 1] == ']') /* as we write a thread's name */
		return profile_frame_named(r->p, name.s + 7, name.len - 8, FRAME_WAITING);
	if (!name.len || name.s[0] == '[') /* words, not code */
		return profile_frame_folded(r->p, name.len ? name.s : "[no name]", name.len ? name.len : 9);
	frame.name = c_string(r, 0, f->name);
	frame.module = m ? module_of(c_string(r, 1, m->name)) : "";
	frame.file = f->file > 0 ? c_string(r, 2, f->file) : NULL;
	frame.line = line->line > 0 && line->line <= UINT32_MAX ? (uint32_t)line->line : 0;
	if (inlined)
		frame.kind = FRAME_INLINED;
	else if (is_kernel(frame.module))
		frame.kind = FRAME_KERNEL;
	else if (!strcmp(frame.module, "[compiled]"))
		frame.kind = FRAME_COMPILED;
	else if (!strcmp(frame.module, "[interpreted]"))
		frame.kind = FRAME_INTERPRETED;
	if (*frame.module == '[') /* a word instead of a file */
		frame.module = "";
	return profile_frame(r->p, &frame);
}

/* An address that nobody has named. */
static uint32_t address_frame(struct reader *r, uint64_t address)
{
	char name[32];
	int n = snprintf(name, sizeof(name), "0x%llx", (unsigned long long)address);

	return profile_frame_folded(r->p, name, (size_t)n);
}

static int take_location(struct reader *r, const Pprof__Location *l)
{
	struct location new = { l->id, (uint32_t)r->frames.n, 0 };

	if (l->n_line > LINES_MAX)
		return bad(r, "a location has too many lines");
	for (size_t i = 0; i < l->n_line || !i; i++) {
		uint32_t frame =
			l->n_line ? frame_of(r, l->line[i], l, i + 1 < l->n_line) : address_frame(r, l->address);

		if (frame == UINT32_MAX || vec_push(&r->frames, frame))
			return -ENOMEM;
		new.n++;
	}
	return vec_push(&r->locations, new);
}

/* --- samples --- */

struct labels {
	int64_t thread, process;
	int pid, tid;
};

static bool is(struct reader *r, int64_t i, const char *wanted)
{
	struct text t = string(r, i);

	return t.len == strlen(wanted) && !memcmp(t.s, wanted, t.len);
}

static int small(int64_t v) { return v > 0 && v <= INT32_MAX ? (int)v : 0; }

static uint32_t thread_of(struct reader *r, const Pprof__Sample *s)
{
	struct labels l = { 0 };

	for (size_t i = 0; i < s->n_label; i++) {
		const Pprof__Label *label = s->label[i];

		if (is(r, label->key, "thread"))
			l.thread = label->str;
		else if (is(r, label->key, "process"))
			l.process = label->str;
		else if (is(r, label->key, "pid"))
			l.pid = small(label->num);
		else if (is(r, label->key, "tid"))
			l.tid = small(label->num);
	}
	return profile_thread(r->p, l.pid, l.tid, c_string(r, 0, l.thread), c_string(r, 1, l.process));
}

static uint64_t value(const Pprof__Sample *s, int which)
{
	return which >= 0 && (size_t)which < s->n_value && s->value[which] > 0 ? (uint64_t)s->value[which] : 0;
}

static enum profile_state state_of(struct reader *r, const Pprof__Sample *s)
{
	for (size_t i = 0; i < s->n_label; i++)
		if (is(r, s->label[i]->key, "state") && is(r, s->label[i]->str, "event"))
			return PROFILE_EVENT;
	return r->state_of_counts;
}

static int add_values(struct reader *r, const Pprof__Sample *s, uint32_t node, uint32_t thread)
{
	uint64_t count = value(s, r->count);
	bool timed = false;

	add_u64(&r->p->totals.samples, count);
	r->p->totals.saturated |= r->p->totals.samples == UINT64_MAX;
	for (unsigned i = 0; i < PROFILE_STATES; i++) {
		uint64_t ns = value(s, r->state[i]);

		if (!ns)
			continue;
		if (profile_add(r->p, node, thread, (enum profile_state)i, timed ? 0 : count, ns))
			return -ENOMEM;
		timed = true;
	}
	return timed || !count ? 0 : profile_add(r->p, node, thread, state_of(r, s), count, 0);
}

static int take_sample(struct reader *r, const Pprof__Sample *s)
{
	uint32_t node = 0, thread = thread_of(r, s);

	for (size_t i = s->n_location_id; i-- > 0;) {
		const struct location *l = FIND(&r->locations, s->location_id[i]);

		if (!l)
			return bad(r, "a sample refers to a missing location");
		r->nframes += l->n;
		if (r->nframes > FRAMES_MAX)
			return bad(r, "its stacks have more than 1,000,000,000 frames");
		for (uint32_t k = l->n; k-- > 0 && node != UINT32_MAX;)
			node = profile_node(r->p, node, r->frames.v[l->first + k]);
	}
	return node == UINT32_MAX || thread == UINT32_MAX ? -ENOMEM : add_values(r, s, node, thread);
}

/* --- which of the values is what --- */

/* The profile has no other place for a text than its frames. */
static void keep_unit(struct reader *r, struct text unit)
{
	uint32_t frame = profile_frame_named(r->p, unit.s, unit.len, FRAME_REASON);

	if (frame != UINT32_MAX)
		r->p->totals.unit = r->p->frames.v[frame].name;
}

static void find_values(struct reader *r)
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

	memset(r->state, 0xff, sizeof(r->state));
	for (size_t i = 0; i < r->types.n && i < 64; i++) {
		const Pprof__ValueType *t = &r->types.v[i];

		for (size_t k = 0; k < ARRAY_SIZE(times) && is(r, t->unit, "nanoseconds"); k++)
			if (is(r, t->type, times[k].type))
				r->state[times[k].state] = (int)i;
		if (counted < 0 && is(r, t->unit, "count"))
			counted = (int)i;
		if (r->default_type && t->type == r->default_type && !is(r, t->unit, "nanoseconds"))
			preferred = (int)i;
	}
	r->count = preferred >= 0 ? preferred : counted >= 0 ? counted : 0;
	if ((size_t)r->count >= r->types.n || is(r, r->types.v[r->count].type, "samples"))
		return;
	r->state_of_counts = PROFILE_EVENT;
	keep_unit(r, string(r, r->types.v[r->count].type));
}

static void read_comments(struct reader *r)
{
	struct profile_totals *t = &r->p->totals;

	for (size_t i = 0; i < r->comments.n; i++) {
		unsigned long long samples, lost, cut, frames, unnamed;

		if (sscanf(c_string(r, 3, r->comments.v[i]),
			   "usertrace: samples %llu, lost %llu, cut %llu, frames %llu, unnamed %llu", &samples, &lost,
			   &cut, &frames, &unnamed) != 5)
			continue;
		t->lost = lost;
		t->cut = cut;
		t->frames = frames;
		t->unnamed = unnamed;
	}
}

static int read_message(struct reader *r, const void *bytes, size_t len)
{
	int code = take_fields(r, bytes, len);

	if (code)
		return code;
	if (!r->types.n)
		return bad(r, "it has no sample types");
	if (!r->strings.n || r->strings.v[0].len)
		return bad(r, "its string table is missing");
	for (size_t i = 0; i < r->functions.n; i++)
		if (r->functions.v[i].name < 0 || (uint64_t)r->functions.v[i].name >= r->strings.n)
			return bad(r, "the name of a function is missing");
	SORT(&r->mappings);
	SORT(&r->functions);
	for (size_t i = 0; i < r->packed.n && !code; i++)
		code = take_location(r, r->packed.v[i]);
	SORT(&r->locations);
	find_values(r);
	if (is(r, r->period_unit, "nanoseconds")) /* else it is bytes, or events */
		r->p->totals.period_ns = r->period;
	read_comments(r);
	r->in_samples = true;
	return code ? code : take_fields(r, bytes, len);
}

int out_read_pprof_message(struct profile *p, const void *bytes, size_t len, struct ut_err *err)
{
	struct reader r = { .p = p, .err = err };
	int code = read_message(&r, bytes, len);

	for (size_t i = 0; i < r.packed.n; i++)
		pprof__location__free_unpacked(r.packed.v[i], NULL);
	vec_done(&r.packed);
	vec_done(&r.strings);
	vec_done(&r.mappings);
	vec_done(&r.functions);
	vec_done(&r.types);
	vec_done(&r.locations);
	vec_done(&r.frames);
	vec_done(&r.comments);
	for (size_t i = 0; i < ARRAY_SIZE(r.scratch); i++)
		vec_done(&r.scratch[i]);
	return code == -ENOMEM ? ut_err_nomem(err) : code;
}

/* --- the file --- */

static int read_file(int fd, struct buf *ret, struct ut_err *err)
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

static int unpack(z_stream *z, struct buf *out, struct ut_err *err)
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

/* Numbers may come first; then a type of values, which begins with one of its two numbers as no text does. */
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

/* Puts what is in it in its place. */
static int unpack_file(struct buf *file, struct ut_err *err)
{
	struct buf message = { 0 };
	z_stream z = { .next_in = (Bytef *)file->data, .avail_in = (uInt)file->len };
	int r;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return ut_err_nomem(err);
	r = unpack(&z, &message, err);
	inflateEnd(&z);
	buf_done(file);
	*file = message;
	return r;
}

int out_read_pprof(struct profile *p, int fd, struct ut_err *err)
{
	struct buf file = { 0 };
	int r = read_file(fd, &file, err);

	if (!r && file.data && is_gzip((const unsigned char *)file.data, file.len))
		r = unpack_file(&file, err);
	if (!r)
		r = out_read_pprof_message(p, file.data ? file.data : "", file.len, err);
	buf_done(&file);
	return r;
}
