/* SPDX-License-Identifier: MIT */
/*
 * Speedscope's own format (https://www.speedscope.app/file-format-schema.json): a profile for each thread, its stacks
 * from the outermost frame on with weights: nanoseconds, or counts where there are no times.
 */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/sum.h"
#include "base/version.h"
#include "out/out_priv.h"

struct scope {
	const struct profile *p;
	bool times;
	struct writer w;
	VEC(uint32_t) path;
};

static void add_string(struct buf *b, const char *key, const char *s)
{
	struct buf name = { 0 };

	buf_add_name(&name, s, strlen(s));
	buf_addf(b, "\"%s\":", key);
	buf_add_json(b, name.data ? name.data : "", name.len);
	b->failed |= name.failed;
	buf_done(&name);
}

static void add_frame(struct buf *b, const struct profile_frame *frame)
{
	buf_addc(b, '{');
	add_string(b, "name", *frame->name ? frame->name : "[no name]");
	if (frame->file || (frame->module && *frame->module)) {
		buf_addc(b, ',');
		add_string(b, "file", frame->file ? frame->file : frame->module);
	}
	if (frame->file && frame->line) {
		buf_adds(b, ",\"line\":");
		buf_addu(b, frame->line);
	}
	buf_addc(b, '}');
}

static void add_frames(struct scope *s)
{
	buf_adds(&s->w.b, "\"shared\":{\"frames\":[");
	for (size_t i = 0; i < s->p->frames.n && !writer_more(&s->w); i++) {
		buf_adds(&s->w.b, i ? ",\n" : "\n");
		add_frame(&s->w.b, &s->p->frames.v[i]);
	}
	buf_adds(&s->w.b, "]},\n");
}

static int add_stack(struct scope *s, uint32_t node)
{
	s->path.n = 0;
	for (; node; node = s->p->nodes.v[node].parent)
		if (vec_push(&s->path, s->p->nodes.v[node].frame))
			return -ENOMEM;
	buf_addc(&s->w.b, '[');
	while (s->path.n) {
		buf_addu(&s->w.b, s->path.v[--s->path.n]);
		if (s->path.n)
			buf_addc(&s->w.b, ',');
	}
	buf_addc(&s->w.b, ']');
	return 0;
}

static uint64_t weight(const struct scope *s, const struct profile_weight *w)
{
	return s->times ? w->value_ns : w->count;
}

/* The @n weights at @order are one thread's. */
static int add_profile(struct scope *s, const uint32_t *order, size_t n, const char *name)
{
	struct buf *b = &s->w.b;
	uint64_t total = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		add_u64(&total, weight(s, &s->p->weights.v[order[i]]));
	buf_adds(b, "{\"type\":\"sampled\",");
	add_string(b, "name", name);
	buf_addf(b, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":", s->times ? "nanoseconds" : "none");
	buf_addu(b, total);
	buf_adds(b, ",\n\"samples\":[");
	for (size_t i = 0; i < n && !r; i++) {
		buf_adds(b, i ? ",\n" : "\n");
		r = add_stack(s, s->p->weights.v[order[i]].node);
		if (!r)
			r = writer_more(&s->w);
	}
	buf_adds(b, "],\n\"weights\":[");
	for (size_t i = 0; i < n && !r; i++) {
		buf_adds(b, i ? "," : "");
		buf_addu(b, weight(s, &s->p->weights.v[order[i]]));
		r = writer_more(&s->w);
	}
	buf_adds(b, "]}");
	return r;
}

static void add_name(struct buf *b, const struct profile *p, const struct profile_thread *t)
{
	out_add_thread(b, t);
	if (t->process && *t->process && strcmp(t->process, t->comm ? t->comm : "")) {
		buf_adds(b, b->len ? " of " : "");
		out_add_process(b, t);
	}
	if (!b->len)
		buf_adds(b, out_unit(p));
}

static int add_profiles(struct scope *s, const uint32_t *order, size_t n)
{
	int r = 0;

	buf_adds(&s->w.b, "\"profiles\":[");
	for (size_t i = 0, end; i < n && !r; i = end) {
		uint32_t thread = s->p->weights.v[order[i]].thread;
		struct buf name = { 0 };

		for (end = i; end < n && s->p->weights.v[order[end]].thread == thread; end++)
			;
		add_name(&name, s->p, &s->p->threads.v[thread]);
		buf_adds(&s->w.b, i ? ",\n" : "\n");
		r = name.failed ? -ENOMEM : add_profile(s, order + i, end - i, name.data);
		buf_done(&name);
	}
	buf_adds(&s->w.b, "]");
	return r;
}

static int write_speedscope(const struct profile *p, const struct out_options *o, int fd, struct ut_err *err)
{
	struct scope s = { .p = p, .times = out_has_times(p, o), .w = { .fd = fd } };
	size_t n;
	AUTO_FREE uint32_t *order = out_order(p, o, &n);
	int r = order ? 0 : -ENOMEM, end;

	buf_addf(&s.w.b,
		 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		 "\"exporter\":\"usertrace %s\",\n",
		 ut_version);
	add_string(&s.w.b, "name", o && o->title ? o->title : "usertrace");
	buf_adds(&s.w.b, ",\"activeProfileIndex\":0,\n");
	add_frames(&s);
	if (!r)
		r = add_profiles(&s, order, n);
	buf_adds(&s.w.b, "}\n");
	end = writer_end(&s.w);
	r = r ? r : end;
	vec_done(&s.path);
	return r == -ENOMEM ? ut_err_nomem(err) : r;
}

const struct out_format out_speedscope = {
	.name = "speedscope",
	.suffixes = ".speedscope.json .speedscope",
	.summary = "for https://www.speedscope.app, one profile per thread",
	.write = write_speedscope,
};
