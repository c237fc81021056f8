/* SPDX-License-Identifier: MIT */
/*
 * Speedscope's own format (https://www.speedscope.app/file-format-schema.json): a profile for each thread, its stacks
 * from the outermost frame on with weights: nanoseconds, or counts where there are no times.
 */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/sum.h"
#include "base/version.h"
#include "out/out_priv.h"

struct scope {
	const struct profile *p;
	bool times;
	struct writer w;
	struct json j; /* to the writer's buffer */
	VEC(uint32_t) path;
};

static void add_string(struct json *j, const char *key, const char *s)
{
	struct buf name = { 0 };

	buf_add_name(&name, s, strlen(s));
	json_bytes(j, key, name.data ? name.data : "", name.len);
	j->out->failed |= name.failed;
	buf_done(&name);
}

static void add_frame(struct json *j, const struct profile_frame *frame)
{
	json_object(j, NULL);
	add_string(j, "name", *frame->name ? frame->name : "[no name]");
	if (frame->file || (frame->module && *frame->module))
		add_string(j, "file", frame->file ? frame->file : frame->module);
	if (frame->file && frame->line)
		json_u64(j, "line", frame->line);
	json_close(j);
}

static void add_frames(struct scope *s)
{
	json_object(&s->j, "shared");
	json_array(&s->j, "frames");
	for (size_t i = 0; i < s->p->frames.n && !writer_more(&s->w); i++)
		add_frame(&s->j, &s->p->frames.v[i]);
	json_close(&s->j);
	json_close(&s->j);
}

static int add_stack(struct scope *s, uint32_t node)
{
	s->path.n = 0;
	for (; node; node = s->p->nodes.v[node].parent)
		if (vec_push(&s->path, s->p->nodes.v[node].frame))
			return -ENOMEM;
	json_array(&s->j, NULL);
	while (s->path.n)
		json_u64(&s->j, NULL, s->path.v[--s->path.n]);
	json_close(&s->j);
	return 0;
}

static uint64_t weight_value(const struct scope *s, uint32_t number)
{
	return s->times ? s->p->weights.v[number].value_ns : s->p->weights.v[number].count;
}

/* The profile of one thread, from its @n weights at @order. */
static int add_profile(struct scope *s, const uint32_t *order, size_t n, const char *name)
{
	struct json *j = &s->j;
	uint64_t total = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		add_u64(&total, weight_value(s, order[i]));
	json_object(j, NULL);
	json_string(j, "type", "sampled");
	add_string(j, "name", name);
	json_string(j, "unit", s->times ? "nanoseconds" : "none");
	json_u64(j, "startValue", 0);
	json_u64(j, "endValue", total);
	json_array(j, "samples");
	for (size_t i = 0; i < n && !r; i++) {
		r = add_stack(s, s->p->weights.v[order[i]].node);
		if (!r)
			r = writer_more(&s->w);
	}
	json_close(j);
	json_array(j, "weights");
	for (size_t i = 0; i < n && !r; i++) {
		json_u64(j, NULL, weight_value(s, order[i]));
		r = writer_more(&s->w);
	}
	json_close(j);
	json_close(j);
	return r;
}

static void add_profile_name(struct buf *b, const struct profile *p, const struct profile_thread *t)
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

	json_array(&s->j, "profiles");
	for (size_t i = 0, end; i < n && !r; i = end) {
		uint32_t thread = s->p->weights.v[order[i]].thread;
		struct buf name = { 0 };

		for (end = i; end < n && s->p->weights.v[order[end]].thread == thread; end++)
			;
		add_profile_name(&name, s->p, &s->p->threads.v[thread]);
		r = name.failed ? -ENOMEM : add_profile(s, order + i, end - i, name.data);
		buf_done(&name);
	}
	json_close(&s->j);
	return r;
}

static int write_speedscope(const struct profile *p, const struct out_options *o, int fd, struct ut_err *err)
{
	struct scope s = { .p = p, .times = out_has_times(p, o), .w = { .fd = fd } };
	size_t n;
	AUTO_FREE uint32_t *order = out_order(p, o, true, &n);
	int r = order ? 0 : -ENOMEM, end;

	s.j.out = &s.w.b;
	json_object(&s.j, NULL);
	json_string(&s.j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	buf_addf(json_raw(&s.j, "exporter"), "\"usertrace %s\"", ut_version);
	add_string(&s.j, "name", o && o->title ? o->title : "usertrace");
	json_u64(&s.j, "activeProfileIndex", 0);
	add_frames(&s);
	if (!r)
		r = add_profiles(&s, order, n);
	json_line(&s.j);
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
