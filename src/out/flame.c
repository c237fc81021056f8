/* SPDX-License-Identifier: MIT */
/*
 * Flame graphs: one SVG file, a static picture that its script makes zoomable and searchable. It contains the boxes twice: drawn, for
 * viewers without scripts, and as numbers, from which the script draws the current view. Names occur only as text, never in
 * the script.
 *
 * #names has a line for each name: a letter for its kind, its shade, the name, and after a tab its module.
 * #boxes has a line for each box: depth, number of the name, total, self, and with `data-other` the value to compare.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/width.h"
#include "out/flame.h"
#include "out/out_priv.h"

#define ROW 18 /* a box and the gap below it */
#define HEAD 84 /* above the boxes */
#define MARGIN 10
#define LETTER 6.63 /* how wide one is, of 11 pixels */
#define SHADES 6
#define STEPS 8 /* of red and of blue */

struct svg {
	struct writer w;
	const struct out_options *o;
	const struct profile *p; /* as recorded, before any merging */
	struct flame f;
	double width, height;
	const char *unit;
	uint32_t *number; /* of each label in #names, +1; 0: not in it */
	VEC(uint32_t) names; /* labels by that number */
	VEC(uint32_t) thin; /* boxes too narrow for rectangles */
};

/* Text. */

/* Text whose control bytes are escaped already. */
static void add_xml_safe(struct buf *b, const char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t run = strcspn(s + i, "&<>\"\xef");

		run = run < len - i ? run : len - i;
		buf_add(b, s + i, run);
		i += run;
		if (i == len)
			break;
		/* XML allows no U+FFFE and U+FFFF. */
		if (len - i >= 3 && !memcmp(s + i, "\xef\xbf", 2) && (unsigned char)s[i + 2] >= 0xbe) {
			buf_adds(b, "\xef\xbf\xbd");
			i += 3;
			continue;
		}
		switch (s[i]) {
		case '&': buf_adds(b, "&amp;"); break;
		case '<': buf_adds(b, "&lt;"); break;
		case '>': buf_adds(b, "&gt;"); break;
		case '"': buf_adds(b, "&quot;"); break;
		default: buf_addc(b, s[i]);
		}
		i++;
	}
}

/* Foreign text as XML text or attribute. */
static void add_xml(struct svg *s, const char *text)
{
	struct buf safe = { 0 };

	buf_add_name(&safe, text, strlen(text));
	s->w.b.failed |= safe.failed;
	if (safe.len)
		add_xml_safe(&s->w.b, safe.data, safe.len);
	buf_done(&safe);
}

/* A number of pixels, without zeros at its end. */
static void add_coordinate(struct buf *b, double v, int digits)
{
	static const double scale[] = { 1, 10, 100, 1000, 10000 };
	long n = lround(v * scale[digits]);
	char text[40];
	int len;

	if (n < 0) {
		buf_addc(b, '-');
		n = -n;
	}
	buf_addi(b, n / (long)scale[digits]);
	n %= (long)scale[digits];
	if (!n)
		return;
	len = snprintf(text, sizeof(text), ".%0*ld", digits, n);
	while (text[len - 1] == '0')
		len--;
	buf_add(b, text, (size_t)len);
}

static void add_amount(struct svg *s, uint64_t v)
{
	char text[32];

	buf_adds(&s->w.b, s->f.source.times ? human_ns(v, text) : human_count(v, text));
	if (s->f.source.times)
		return;
	buf_addc(&s->w.b, ' ');
	add_xml(s, s->unit);
}

/* Per cent of the whole. */
static double share(uint64_t v, uint64_t total) { return total ? 100.0 * (double)v / (double)total : 0; }

/* Boxes. */

static const struct profile_frame *frame_of(const struct svg *s, const struct flame_box *b)
{
	return b->label == UINT32_MAX ? NULL : &s->f.source.p->frames.v[b->label];
}

static const char *name_of(const struct svg *s, const struct flame_box *b)
{
	return b->label == UINT32_MAX ? "all" : frame_of(s, b)->name;
}

static char kind_letter(uint8_t kind)
{
	static const char letters[] = {
		[FRAME_NATIVE] = 'n',  [FRAME_KERNEL] = 'k',  [FRAME_COMPILED] = 'c', [FRAME_INTERPRETED] = 'y',
		[FRAME_INLINED] = 'i', [FRAME_WAITING] = 'w', [FRAME_REASON] = 'r',
	};

	return kind < sizeof(letters) ? letters[kind] : 'n';
}

/* A name has the same shade in every graph. */
static unsigned shade(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return (h ^ h >> 15) % SHADES;
}

/* From 0, much less than in the base, to 2 * STEPS, much more. Adding a tenth of a percent keeps tiny boxes near the middle. */
static unsigned diff_step(const struct svg *s, const struct flame_box *b)
{
	double now = share(b->total, s->f.source.total) + 0.1, before = share(b->other, s->f.source.other) + 0.1;
	double step = round(log2(now / before) * STEPS / 2);

	return (unsigned)(STEPS + fmax(-STEPS, fmin(STEPS, step)));
}

static void add_class(struct svg *s, const struct flame_box *b)
{
	const struct profile_frame *f = frame_of(s, b);

	if (s->f.source.diff)
		buf_addf(&s->w.b, "d%u", diff_step(s, b));
	else if (!f)
		buf_adds(&s->w.b, "all");
	else
		buf_addf(&s->w.b, "%c%u", s->f.source.waits && b->other == b->total ? 'w' : kind_letter(f->kind),
			 shade(f->name));
}

static double x_of(const struct svg *s, uint64_t v)
{
	return s->f.source.total ? MARGIN + (s->width - 2 * MARGIN) * ((double)v / (double)s->f.source.total) : MARGIN;
}

static double y_of(const struct svg *s, uint32_t depth)
{
	return HEAD + (s->o->icicle ? (double)depth : (double)s->f.depth - depth) * ROW;
}

/* The tooltip of a box; the script formats its own the same way. */
static void add_about(struct svg *s, const struct flame_box *b)
{
	const struct profile_frame *f = frame_of(s, b);
	const struct flame_source *src = &s->f.source;
	double now = share(b->total, src->total), before = share(b->other, src->other);

	add_xml(s, name_of(s, b));
	if (f && *f->module) {
		buf_adds(&s->w.b, " [");
		add_xml(s, f->module);
		buf_addc(&s->w.b, ']');
	}
	buf_addc(&s->w.b, '\n');
	add_amount(s, b->total);
	buf_addf(&s->w.b, ", %.2f %%", now);
	if (src->waits && b->other) {
		buf_adds(&s->w.b, ", waiting ");
		add_amount(s, b->other);
	}
	if (src->diff && !b->other)
		buf_adds(&s->w.b, "; new, not in the base");
	else if (src->diff)
		buf_addf(&s->w.b, "; in the base %.2f %%: %+.2f points", before, now - before);
}

/* The name, truncated to the width of the box. */
static void add_label(struct svg *s, const struct flame_box *b, double x, double width)
{
	size_t columns = width > 8 ? (size_t)((width - 7) / LETTER) : 0, used;
	const char *name = name_of(s, b);
	struct buf safe = { 0 };

	if (!columns)
		return;
	buf_add_name(&safe, name, strlen(name));
	s->w.b.failed |= safe.failed;
	if (safe.data && text_width(safe.data, safe.len) > columns) {
		safe.len = columns < 3 ? 0 : text_fit(safe.data, safe.len, columns - 1, &used);
		if (safe.len)
			buf_adds(&safe, "…");
	}
	if (safe.len) {
		buf_adds(&s->w.b, "<text x=\"");
		add_coordinate(&s->w.b, x + 3.5, 1);
		buf_addf(&s->w.b, "\" y=\"%.1f\">", y_of(s, b->depth) + 12.5);
		add_xml_safe(&s->w.b, safe.data, safe.len);
		buf_adds(&s->w.b, "</text>");
	}
	buf_done(&safe);
}

static void add_box(struct svg *s, const struct flame_box *b)
{
	double x = x_of(s, b->start), width = x_of(s, b->start + b->total) - x;

	if (b->start + b->total < b->start || x + width > s->width - MARGIN)
		width = s->width - MARGIN - x;
	buf_adds(&s->w.b, "<g><title>");
	add_about(s, b);
	buf_adds(&s->w.b, "</title><rect class=\"");
	add_class(s, b);
	buf_adds(&s->w.b, "\" x=\"");
	add_coordinate(&s->w.b, x, 3);
	buf_addf(&s->w.b, "\" y=\"%.0f\" width=\"", y_of(s, b->depth));
	add_coordinate(&s->w.b, width, 3);
	buf_addf(&s->w.b, "\" height=\"%d\"/>", ROW - 1);
	add_label(s, b, x, width);
	buf_adds(&s->w.b, "</g>\n");
}

static int compare_thin(const void *a, const void *b, void *ctx)
{
	const struct svg *s = ctx;
	const struct flame_box *x = &s->f.boxes.v[*(const uint32_t *)a], *y = &s->f.boxes.v[*(const uint32_t *)b];
	unsigned p = kind_letter(s->f.source.p->frames.v[x->label].kind),
		 q = kind_letter(s->f.source.p->frames.v[y->label].kind);

	if (p != q)
		return p < q ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Boxes narrower than half a pixel become one path for each kind. */
static int draw_thin(struct svg *s)
{
	char open = 0;

	if (s->thin.n)
		qsort_r(s->thin.v, s->thin.n, sizeof(*s->thin.v), compare_thin, s);
	for (size_t i = 0; i < s->thin.n; i++) {
		const struct flame_box *b = &s->f.boxes.v[s->thin.v[i]];
		char kind = kind_letter(s->f.source.p->frames.v[b->label].kind);
		double x = x_of(s, b->start), width = x_of(s, b->start + b->total) - x;

		if (kind != open)
			buf_addf(&s->w.b, "%s<path class=\"thin %s\" d=\"", open ? "\"/>\n" : "",
				 s->f.source.diff ? "d8" : (char[]){ kind, '0', 0 });
		open = kind;
		buf_addc(&s->w.b, 'M');
		add_coordinate(&s->w.b, x, 2);
		buf_addf(&s->w.b, " %.0fh", y_of(s, b->depth));
		add_coordinate(&s->w.b, width < 0.01 ? 0.01 : width, 2);
		buf_adds(&s->w.b, "v17h-");
		add_coordinate(&s->w.b, width < 0.01 ? 0.01 : width, 2);
		buf_adds(&s->w.b, "z\n");
		if (writer_more(&s->w))
			return s->w.error;
	}
	buf_adds(&s->w.b, open ? "\"/>\n" : "");
	return s->w.error;
}

static int draw_boxes(struct svg *s)
{
	double scale = s->f.source.total ? (s->width - 2 * MARGIN) / (double)s->f.source.total : 0;

	buf_adds(&s->w.b, "<g id=\"frames\">\n");
	for (uint32_t i = 0; i < s->f.boxes.n; i++) {
		const struct flame_box *b = &s->f.boxes.v[i];

		if (i && b->total < s->f.drawn_from) {
			continue;
		} else if (i && (double)b->total * scale < 0.5) {
			if (vec_push(&s->thin, i))
				return -ENOMEM;
		} else {
			add_box(s, b);
		}
		if (writer_more(&s->w))
			return s->w.error;
	}
	draw_thin(s);
	buf_adds(&s->w.b, "</g>\n");
	return s->w.error;
}

/* Data for the script. */

static int write_names(struct svg *s)
{
	buf_adds(&s->w.b, "<metadata id=\"names\">");
	for (size_t i = 0; i < s->names.n; i++) {
		const struct profile_frame *f = &s->f.source.p->frames.v[s->names.v[i]];

		buf_addf(&s->w.b, "\n%c%u", kind_letter(f->kind), shade(f->name));
		add_xml(s, f->name);
		if (*f->module) {
			buf_addc(&s->w.b, '\t');
			add_xml(s, f->module);
		}
		if (writer_more(&s->w))
			return s->w.error;
	}
	buf_adds(&s->w.b, "</metadata>\n");
	return s->w.error;
}

static int write_boxes(struct svg *s)
{
	bool other = s->f.source.diff || s->f.source.waits;

	buf_adds(&s->w.b, "<metadata id=\"boxes\">");
	for (size_t i = 0; i < s->f.boxes.n; i++) {
		const struct flame_box *b = &s->f.boxes.v[i];
		uint64_t values[] = { b->label == UINT32_MAX ? 0 : s->number[b->label], b->total, b->self, b->other };

		buf_addc(&s->w.b, '\n');
		buf_addu(&s->w.b, b->depth);
		for (size_t k = 0; k < (other ? 4u : 3u); k++) {
			buf_addc(&s->w.b, ' ');
			buf_addu(&s->w.b, values[k]);
		}
		if (writer_more(&s->w))
			return s->w.error;
	}
	buf_adds(&s->w.b, "</metadata>\n");
	return s->w.error;
}

/* The head. */

static void add_title(struct svg *s)
{
	static const char *const what[] = { [PROFILE_CPU] = "CPU time",
					    [PROFILE_RUNNABLE] = "Waiting for a CPU",
					    [PROFILE_BLOCKED] = "Waiting",
					    [PROFILE_EVENT] = "Events" };
	unsigned states = s->f.source.states;

	if (s->o->title)
		add_xml(s, s->o->title);
	else if (s->f.source.diff)
		buf_adds(&s->w.b, "Difference");
	else if (s->f.source.waits)
		buf_adds(&s->w.b, "Running and waiting");
	else if (states && !(states & (states - 1)) && (s->f.source.times || states != 1u << PROFILE_CPU))
		buf_adds(&s->w.b, what[__builtin_ctz(states)]);
	else
		buf_adds(&s->w.b, "Flame graph");
}

static void add_fact(struct svg *s, uint64_t n, const char *one, const char *many)
{
	char text[32];

	if (n)
		buf_addf(&s->w.b, " · %s %s", human_count(n, text), n == 1 ? one : many);
}

static void add_facts(struct svg *s)
{
	const struct flame_source *src = &s->f.source;

	add_amount(s, src->total);
	if (src->waits && src->total)
		buf_addf(&s->w.b, ", %.1f %% of it waiting", share(src->other, src->total));
	if (s->p->totals.saturated)
		buf_adds(&s->w.b, " or more");
	if (src->times)
		add_fact(s, s->p->totals.samples, "sample", "samples");
	add_fact(s, s->p->totals.lost, "lost", "lost");
	add_fact(s, s->p->totals.cut, "with incomplete stacks", "with incomplete stacks");
	if (src->diff && s->f.gone && src->other)
		buf_addf(&s->w.b, " · %.2f %% of the base is in stacks that no longer occur",
			 share(s->f.gone, src->other));
	add_fact(s, s->f.narrow, "narrower frame is not drawn", "narrower frames are not drawn");
	if (s->o->reverse)
		buf_adds(&s->w.b, " · from the innermost frame to its callers");
}

struct key {
	const char *class, *says;
};

static void add_keys(struct svg *s, const struct key *keys, size_t n, const bool *used)
{
	double x = MARGIN + 2;

	for (size_t i = 0; i < n; i++) {
		if (used && !used[i])
			continue;
		buf_addf(&s->w.b, "<rect class=\"%s\" x=\"%.1f\" y=\"59\" width=\"12\" height=\"12\" rx=\"3\"/>",
			 keys[i].class, x);
		buf_addf(&s->w.b, "<text class=\"sub\" x=\"%.1f\" y=\"69\">%s</text>", x + 17, keys[i].says);
		x += 17 + 6.6 * (double)strlen(keys[i].says) + 16;
	}
	buf_addc(&s->w.b, '\n');
}

static void add_legend(struct svg *s)
{
	const struct key kinds[] = {
		{ "n0", "native" },
		{ "k0", "kernel" },
		{ "c0", "JIT-compiled" },
		{ "y0", "interpreted" },
		{ "i0", "inlined" },
		{ "w0", s->f.source.waits ? "only waits" : "waiting" },
		{ "r0", "placeholder frame" },
	};
	static const uint8_t order[] = { FRAME_NATIVE,	FRAME_KERNEL,  FRAME_COMPILED, FRAME_INTERPRETED,
					 FRAME_INLINED, FRAME_WAITING, FRAME_REASON };
	static const struct key steps[] = { { "d0", "much less" },
					    { "d4", "less" },
					    { "d8", "as in the base" },
					    { "d12", "more" },
					    { "d16", "much more, or new" } };
	bool used[sizeof(order)] = { 0 };

	if (s->f.source.diff) {
		add_keys(s, steps, sizeof(steps) / sizeof(*steps), NULL);
		return;
	}
	for (size_t i = 0; i < s->names.n; i++)
		for (size_t k = 0; k < sizeof(order); k++)
			used[k] |= s->f.source.p->frames.v[s->names.v[i]].kind == order[k];
	used[5] |= s->f.source.waits;
	add_keys(s, kinds, sizeof(order), used);
}

static void write_head(struct svg *s)
{
	buf_adds(&s->w.b,
		 "<rect id=\"back\" width=\"100%\" height=\"100%\"/>\n<g id=\"head\"><rect id=\"bar\" width=\"100%\" "
		 "height=\"78\"/><text class=\"title\" x=\"12\" y=\"28\">");
	add_title(s);
	buf_adds(&s->w.b, "</text><text class=\"sub\" x=\"12\" y=\"47\">");
	add_facts(s);
	buf_adds(&s->w.b, "</text>\n");
	buf_adds(&s->w.b, "<g id=\"legend\">");
	add_legend(s);
	buf_adds(&s->w.b, "</g></g>\n");
}

static void write_begin(struct svg *s)
{
	buf_addf(
		&s->w.b,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
		"width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\"",
		s->width, s->height, s->width, s->height);
	buf_addf(&s->w.b, " data-unit=\"%s\"", s->f.source.times ? "ns" : "count");
	buf_adds(&s->w.b, " data-word=\"");
	add_xml(s, s->unit);
	buf_addf(&s->w.b, "\" data-form=\"%s\"", s->o->icicle ? "icicle" : "flame");
	if (s->f.source.diff)
		buf_addf(&s->w.b, " data-other=\"base\" data-base=\"%llu\"", (unsigned long long)s->f.source.other);
	else if (s->f.source.waits)
		buf_adds(&s->w.b, " data-other=\"waiting\"");
	buf_adds(&s->w.b, ">\n<title>");
	add_title(s);
	buf_adds(&s->w.b, "</title>\n<style><![CDATA[\n");
	buf_add(&s->w.b, flame_embedded[0].text, flame_embedded[0].len);
	buf_adds(&s->w.b, "]]></style>\n");
}

static int write_document(struct svg *s)
{
	int r;

	s->number = calloc(s->f.source.p->frames.n + 1, sizeof(*s->number));
	if (!s->number)
		return -ENOMEM;
	for (size_t i = 1; i < s->f.boxes.n; i++) {
		uint32_t label = s->f.boxes.v[i].label;

		s->f.narrow += s->f.boxes.v[i].total < s->f.drawn_from;
		if (s->number[label])
			continue;
		if (vec_push(&s->names, label))
			return -ENOMEM;
		s->number[label] = (uint32_t)s->names.n;
	}
	write_begin(s);
	write_head(s);
	r = draw_boxes(s);
	if (!r)
		r = write_names(s);
	if (!r)
		r = write_boxes(s);
	buf_adds(&s->w.b, "<script><![CDATA[\n");
	buf_add(&s->w.b, flame_embedded[1].text, flame_embedded[1].len);
	buf_adds(&s->w.b, "]]></script>\n</svg>\n");
	return r;
}

static int write_svg(const struct profile *p, const struct out_options *o, int fd, struct ut_err *err)
{
	static const struct out_options none;
	struct svg s = { .w.fd = fd, .o = o ? o : &none, .p = p, .unit = out_unit(p) };
	int r = flame_build(&s.f, p, s.o), end;

	if (r == 0) {
		s.width = s.o->width ? s.o->width : 1200;
		s.height = HEAD + (s.f.depth + 1.0) * ROW + MARGIN;
		r = write_document(&s);
	}
	end = writer_end(&s.w);
	r = r ? r : end;
	flame_done(&s.f);
	free(s.number);
	vec_done(&s.names);
	vec_done(&s.thin);
	return r == -ENOMEM ? ut_err_nomem(err) : r;
}

const struct out_format out_svg = {
	.name = "svg",
	.suffixes = ".svg",
	.summary = "a flame graph for the browser",
	.write = write_svg,
};
