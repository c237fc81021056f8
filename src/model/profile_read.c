/* SPDX-License-Identifier: MIT */
/*
 * Reads folded stacks, fast: lines that begin as the line before them share its nodes, frames are found by the bytes
 * that stand in the file, and everything else is done once for each name.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "model/profile_priv.h"

#define NONE UINT32_MAX
#define CHUNK (1u << 20)
#define LINE_MAX_BYTES (64u << 20)	/* longer ones are no stacks */

/* A frame as its text stands in the file. */
struct known {
	uint64_t hash;
	const char *text;
	uint32_t len, frame;
};

/* A frame of the line before. */
struct step {
	size_t end;		/* in the line */
	uint32_t node, unnamed;	/* how many up to this one have no name */
};

struct reader {
	struct profile *p;
	struct profile_bad *bad;
	int fd;
	char *buf;
	size_t cap, n;			/* bytes that are there */
	size_t at;			/* of the line that comes next, */
	size_t scanned;			/* which has no end before this */
	size_t before, before_len;	/* the stack of the last good line */
	uint64_t line;
	uint32_t thread;
	bool end, skipping;		/* skipping: inside a line that is too long */
	VEC(struct step) steps;		/* of that stack */
	VEC(struct known) known;	/* a table: text NULL is free */
	size_t nknown;
	VEC(char *) texts;		/* chunks in which the known texts are */
	size_t text_left;
};

/* What a line says. */
struct line {
	const char *s;
	size_t len;		/* of the stack */
	uint64_t count;
	bool rounded, too_big;
};

/* Parsing: one line. */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static uint64_t add_digit(uint64_t v, char c, bool *too_big)
{
	if (!__builtin_mul_overflow(v, 10, &v) && !__builtin_add_overflow(v, (uint64_t)(c - '0'), &v))
		return v;
	*too_big = true;
	return UINT64_MAX;
}

/* "12", "1.5": to the nearest whole number. False when it is no such thing. */
static bool parse_count(const char *s, const char *end, struct line *ret)
{
	uint64_t v = 0;

	if (s == end || !is_digit(*s))
		return false;
	for (; s < end && is_digit(*s); s++)
		v = ret->too_big ? v : add_digit(v, *s, &ret->too_big);
	if (s < end && *s++ == '.') {
		bool up = s < end && *s >= '5';

		for (; s < end && is_digit(*s); s++)
			ret->rounded |= *s != '0';
		v += up && v < UINT64_MAX;
	}
	ret->count = v;
	return s == end;
}

static bool parse_line(const char *s, size_t len, struct line *ret)
{
	const char *end = s + len, *number;

	*ret = (struct line){ .s = s };
	while (end > s && is_blank(end[-1]))
		end--;
	for (number = end; number > s && (is_digit(number[-1]) || number[-1] == '.'); number--)
		;
	if (number == s || !is_blank(number[-1]) || !parse_count(number, end, ret))
		return false;
	while (number > s && is_blank(number[-1]))
		number--;
	ret->len = (size_t)(number - s);
	return ret->len > 0;
}

/* Nothing is said, or "# something": no stack, and no mistake. "#<Thread>;run 5" is a stack. */
static bool is_comment(const char *s, size_t len)
{
	while (len && is_blank(s[len - 1]))
		len--;
	return !len || (*s == '#' && (len == 1 || s[1] == ' ' || s[1] == '\t'));
}

/* Frames by their text. */

static bool starts(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && !memcmp(s, with, n);
}

static bool is_address(const char *s, size_t len)
{
	if (len < 3 || !starts(s, len, "0x"))
		return false;
	for (size_t i = 2; i < len; i++)
		if (!is_digit(s[i]) && !((s[i] | 0x20) >= 'a' && (s[i] | 0x20) <= 'f'))
			return false;
	return true;
}

static const char *const no_names[] = { "[unknown", "[no name", "[no unwind", "[stack not", "[unresolved", "[no map" };
static const char *const waits[] = { "[wait", "[block", "[sleep", "[runnable", "[idle", "[off-cpu", "[off_cpu", "[disk" };

static bool starts_with_any(const char *s, size_t len, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (starts(s, len, list[i]))
			return true;
	return false;
}

/* Brackets stand around what is no function; '-' and '--' part the program's frames from the kernel's. */
static enum frame_kind kind_of(const char *s, size_t len)
{
	if ((*s == '-' && len == 1) || (len == 2 && !memcmp(s, "--", 2)))
		return FRAME_REASON;
	if (*s != '[' || s[len - 1] != ']')
		return FRAME_NATIVE;
	return starts_with_any(s, len, waits, ARRAY_SIZE(waits)) ? FRAME_WAITING : FRAME_REASON;
}

uint32_t profile_frame_folded(struct profile *p, const char *s, size_t len)
{
	static const struct { const char *suffix; enum frame_kind kind; } kinds[] = {
		{ "_[k]", FRAME_KERNEL }, { "_[j]", FRAME_COMPILED }, { "_[i]", FRAME_INLINED }, { "_[w]", FRAME_WAITING },
	};

	if (!len)
		return profile_frame_bytes(p, "[no name]", 9, FRAME_REASON, true);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (len > 4 && !memcmp(s + len - 4, kinds[i].suffix, 4))
			return profile_frame_bytes(p, s, len - 4, kinds[i].kind, is_address(s, len - 4));
	return profile_frame_bytes(p, s, len, kind_of(s, len), is_address(s, len) ||
				   starts_with_any(s, len, no_names, ARRAY_SIZE(no_names)));
}

static uint64_t load8(const char *s)
{
	uint64_t v;

	memcpy(&v, s, sizeof v);
	return v;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* The buffer has 8 bytes more than are read, so that words can be loaded beyond the end. */
static uint64_t hash_text(const char *s, size_t len)
{
	uint64_t h = len;

	for (; len > 16; len -= 16, s += 16)
		h = mix(load8(s) ^ h, load8(s + 8));
	if (len > 8)
		return mix(load8(s) ^ h, load8(s + len - 8));
	return mix((len ? load8(s) << (64 - 8 * len) : 0) ^ h, 0);
}

static int grow_known(struct reader *r)
{
	size_t n = r->known.n ? r->known.n * 2 : 4096;
	struct known *v;

	if (r->nknown * 2 < r->known.n)
		return 0;
	v = calloc(n, sizeof *v);
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < r->known.n; i++) {
		size_t at = r->known.v[i].hash & (n - 1);

		if (!r->known.v[i].text)
			continue;
		while (v[at].text)
			at = (at + 1) & (n - 1);
		v[at] = r->known.v[i];
	}
	free(r->known.v);
	r->known.v = v;
	r->known.n = n;
	return 0;
}

static const char *keep_text(struct reader *r, const char *s, size_t len)
{
	char *to;

	if (!r->texts.n || r->text_left < len) {
		size_t size = len > CHUNK ? len : CHUNK;
		char *chunk = malloc(size);

		if (!chunk || vec_push(&r->texts, chunk)) {
			free(chunk);
			return NULL;
		}
		r->text_left = size;
	}
	/* Filled from the end. */
	r->text_left -= len;
	to = r->texts.v[r->texts.n - 1] + r->text_left;
	memcpy(to, s, len);
	return to;
}

static uint32_t frame_of(struct reader *r, const char *s, size_t len)
{
	uint64_t hash = hash_text(s, len);
	struct known new = { .hash = hash, .len = (uint32_t)len };
	size_t at;

	for (at = hash & (r->known.n - 1); r->known.v[at].text; at = (at + 1) & (r->known.n - 1)) {
		const struct known *k = &r->known.v[at];

		if (k->hash == hash && k->len == len && !memcmp(k->text, s, len))
			return k->frame;
	}
	new.text = keep_text(r, s, len);
	new.frame = new.text ? profile_frame_folded(r->p, s, len) : NONE;
	if (new.frame == NONE)
		return NONE;
	r->known.v[at] = new;
	r->nknown++;
	return grow_known(r) ? NONE : new.frame;
}

/* Stacks. */

static size_t same_bytes(const char *a, const char *b, size_t len)
{
	size_t i = 0;

	for (; i + 8 <= len; i += 8) {
		uint64_t x = load8(a + i) ^ load8(b + i);

		if (x)
			return i + (size_t)__builtin_ctzll(x) / 8;
	}
	while (i < len && a[i] == b[i])
		i++;
	return i;
}

/* How many frames of the stack before this one begins with: their bytes and the ';' behind them are the same. */
static size_t shared_steps(const struct reader *r, const struct line *l)
{
	size_t least = l->len < r->before_len ? l->len : r->before_len;
	size_t same = same_bytes(r->buf + r->before, l->s, least), n = r->steps.n;

	if (same == l->len && l->len == r->before_len)
		return n;
	while (n && r->steps.v[n - 1].end >= same)
		n--;
	return n;
}

static int push_step(struct reader *r, const char *s, size_t len, size_t end)
{
	struct step last = r->steps.n ? r->steps.v[r->steps.n - 1] : (struct step){0};
	uint32_t frame = frame_of(r, s, len);
	struct step next = { .end = end, .unnamed = last.unnamed };

	if (frame == NONE)
		return -ENOMEM;
	next.node = profile_node(r->p, last.node, frame);
	next.unnamed += r->p->frames.v[frame].unnamed;
	return next.node == NONE ? -ENOMEM : vec_push(&r->steps, next);
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t ret;

	return __builtin_mul_overflow(a, b, &ret) ? UINT64_MAX : ret;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	uint64_t ret;

	return __builtin_add_overflow(a, b, &ret) ? UINT64_MAX : ret;
}

static bool is_cut(const struct profile *p, uint32_t node)
{
	return !strcmp(p->frames.v[p->nodes.v[node].frame].name, "[truncated]");
}

static void count_line(struct reader *r, const struct line *l)
{
	struct profile_totals *t = &r->p->totals;

	t->saturated |= l->too_big || l->count > UINT64_MAX - t->samples;
	t->samples = plus(t->samples, l->count);
	t->frames = plus(t->frames, times(l->count, r->steps.n));
	t->unnamed = plus(t->unnamed, times(l->count, r->steps.v[r->steps.n - 1].unnamed));
	if (is_cut(r->p, r->steps.v[0].node))
		t->cut = plus(t->cut, l->count);
	r->bad->rounded += l->rounded;
}

static int take_stack(struct reader *r, const struct line *l)
{
	size_t shared = shared_steps(r, l), at;
	int code = 0;

	at = shared == r->steps.n && shared && r->before_len == l->len ? l->len + 1 : 0;
	if (!at)
		at = shared ? r->steps.v[shared - 1].end + 1 : 0;
	r->steps.n = shared;
	while (at <= l->len && !code) {
		const char *semicolon = memchr(l->s + at, ';', l->len - at);
		size_t end = semicolon ? (size_t)(semicolon - l->s) : l->len;

		code = push_step(r, l->s + at, end - at, end);
		at = end + 1;
	}
	if (code)
		return code;
	r->before = (size_t)(l->s - r->buf);
	r->before_len = l->len;
	count_line(r, l);
	return profile_add(r->p, r->steps.v[r->steps.n - 1].node, r->thread, PROFILE_CPU, l->count, 0);
}

static void take_bad(struct reader *r, const char *s, size_t len)
{
	if (r->bad->lines++)
		return;
	len = len < sizeof r->bad->first - 1 ? len : sizeof r->bad->first - 1;
	r->bad->first_line = r->line;
	memcpy(r->bad->first, s, len);
	r->bad->first[len] = 0;
}

static int take_line(struct reader *r, const char *s, size_t len)
{
	struct line l;

	if (r->line++ == 0 && starts(s, len, "\xef\xbb\xbf")) {
		s += 3;
		len -= 3;
	}
	if (is_comment(s, len))
		return 0;
	if (parse_line(s, len, &l))
		return take_stack(r, &l);
	take_bad(r, s, len);
	return 0;
}

/* Bytes. */

/* Moves what is still needed to the buffer's begin: the stack before, and the line that has begun. */
static void make_room(struct reader *r)
{
	size_t from = r->before_len && r->before < r->at ? r->before : r->at;

	/* A line before that is long would be moved again and again. */
	if (r->at - from > CHUNK / 4) {
		from = r->at;
		r->steps.n = r->before_len = 0;
	}
	if (!from)
		return;
	memmove(r->buf, r->buf + from, r->n - from);
	r->n -= from;
	r->at -= from;
	r->scanned -= from;
	r->before -= r->before_len ? from : r->before;
}

static int read_more(struct reader *r)
{
	ssize_t n;

	make_room(r);
	if (r->cap - r->n < CHUNK / 2) {
		char *more = realloc(r->buf, r->cap * 2 + 8);

		if (!more)
			return -ENOMEM;
		r->buf = more;
		r->cap *= 2;
	}
	do
		n = read(r->fd, r->buf + r->n, r->cap - r->n);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	r->end = !n;
	r->n += (size_t)n;
	return 0;
}

/* A line with its end, or the last one. */
static int end_line(struct reader *r, const char *s, size_t len)
{
	bool skipping = r->skipping;

	r->skipping = false;
	if (skipping)
		return 0;
	if (len <= LINE_MAX_BYTES)
		return take_line(r, s, len);
	r->line++;
	take_bad(r, s, len);
	return 0;
}

static int take_lines(struct reader *r)
{
	const char *newline;
	int code = 0;

	while (!code && (newline = memchr(r->buf + r->scanned, '\n', r->n - r->scanned))) {
		size_t from = r->at;

		r->at = r->scanned = (size_t)(newline - r->buf) + 1;
		code = end_line(r, r->buf + from, r->at - 1 - from);
	}
	r->scanned = r->n;
	if (code || r->n - r->at <= LINE_MAX_BYTES)
		return code;
	/* No need to keep what comes: the line is told now, and its end is waited for. */
	end_line(r, r->buf + r->at, r->n - r->at);
	r->skipping = true;
	r->at = r->n;
	return 0;
}

static int read_all(struct reader *r)
{
	int code = 0;

	while (!r->end && !code) {
		code = read_more(r);
		if (!code)
			code = take_lines(r);
	}
	/* The last line may have no end. */
	if (!code && r->at < r->n)
		code = end_line(r, r->buf + r->at, r->n - r->at);
	return code;
}

static void reader_done(struct reader *r)
{
	for (size_t i = 0; i < r->texts.n; i++)
		free(r->texts.v[i]);
	vec_done(&r->texts);
	vec_done(&r->steps);
	vec_done(&r->known);
	free(r->buf);
}

int profile_read_folded(struct profile *p, int fd, struct profile_bad *ret_bad, struct ut_err *err)
{
	struct reader r = { .p = p, .bad = ret_bad, .fd = fd, .cap = CHUNK };
	int code = -ENOMEM;

	*ret_bad = (struct profile_bad){0};
	r.buf = malloc(r.cap + 8);
	r.thread = profile_thread(p, 0, 0, "", "");
	/* A larger pipe is filled and emptied with fewer switches between its two ends; nothing is lost without. */
	fcntl(fd, F_SETPIPE_SZ, CHUNK);
	if (r.buf && r.thread != NONE && !grow_known(&r))
		code = read_all(&r);
	reader_done(&r);
	if (code == -ENOMEM)
		return ut_err_nomem(err);
	return code ? ut_err_set(err, code, "cannot read stacks: %s", strerror(-code)) : 0;
}
