/* SPDX-License-Identifier: MIT */
/*
 * Reads folded stacks fast: lines that begin like the previous one share its nodes, frames are found by their bytes in
 * the file, and everything else is done once for each name.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/ascii.h"
#include "base/hash.h"
#include "base/auto.h"
#include "base/sum.h"
#include "model/profile_priv.h"
#include "model/waits.h"
#include "sym/names.h"

#define NONE UINT32_MAX
#define CHUNK (1u << 20)
#define LINE_MAX_BYTES (64u << 20) /* longer lines are not stacks */
#define PADDING 64 /* bytes after the buffer, so that whole words can be loaded at its end */
#define HEAD_WORDS 4
#define SPARSE (1u << 17) /* known frames up to which at most a quarter of the table is used, for few collisions */
#define BATCH 32 /* frames that are looked up together */
#define BATCH_FRAMES (64u << 10) /* that go into the tree together */

/* A frame by its bytes in the file: one cache line, which for most names holds all that is compared. */
struct known {
	uint64_t head[HEAD_WORDS]; /* the first bytes, padded with 0 */
	uint64_t hash;
	const char *text; /* NULL: free */
	uint32_t len;
	uint32_t frame : 31, unnamed : 1;
	bool cut, gc; /* if it is the outermost frame: the stack is truncated; it is in a collection */
} __attribute__((aligned(64)));

/* A frame of the previous line. */
struct step {
	size_t end; /* in the line */
	uint32_t unnamed; /* how many up to this one have no name */
	bool cut, gc; /* as in known */
};

struct reader {
	struct profile *p;
	struct profile_bad *bad;
	int fd;
	char *buf;
	size_t cap, n; /* n: bytes in it */
	size_t at; /* where the next line begins */
	size_t scanned; /* that line has no end before this */
	size_t before, before_len; /* the stack of the last good line */
	uint64_t line;
	struct profile_grower *grower;
	struct profile_batch out; /* stacks for the tree */
	struct profile_totals totals; /* but for the samples */
	bool end, skipping; /* skipping: inside a line that is too long */
	VEC(struct step) steps; /* of that stack */
	struct known batch[BATCH]; /* frames of the current line that are not looked up yet */
	size_t ends[BATCH], nbatch;
	struct known *known; /* a table */
	size_t known_size, nknown;
	VEC(char *) texts; /* chunks in which the known texts are */
	size_t text_left;
};

/* A parsed line. */
struct line {
	const char *s;
	size_t len; /* of the stack */
	uint64_t count;
	bool rounded, too_big;
};

/* Parsing: one line. */

/* "12", "1.5": to the nearest whole number. False when it is no such thing. */
static bool parse_count(const char *s, const char *end, struct line *ret)
{
	uint64_t v = 0;

	if (s == end || !is_digit(*s))
		return false;
	for (; s < end && is_digit(*s); s++)
		ret->too_big |=
			__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v);
	v = ret->too_big ? UINT64_MAX : v;
	if (s < end && *s++ == '.') {
		bool up = s < end && *s >= '5';

		for (; s < end && is_digit(*s); s++)
			ret->rounded |= *s != '0';
		v += up && v < UINT64_MAX;
	}
	ret->count = v;
	return s == end;
}

static bool parse_folded_line(const char *s, size_t len, struct line *ret)
{
	const char *end = s + len, *number;

	*ret = (struct line){ .s = s };
	while (end > s && is_line_blank(end[-1]))
		end--;
	for (number = end; number > s && (is_digit(number[-1]) || number[-1] == '.'); number--)
		;
	if (number == s || !is_line_blank(number[-1]) || !parse_count(number, end, ret))
		return false;
	while (number > s && is_line_blank(number[-1]))
		number--;
	ret->len = (size_t)(number - s);
	return ret->len > 0;
}

/* An empty line, or "# something". "#<Thread>;run 5" is a stack. */
static bool is_comment(const char *s, size_t len)
{
	while (len && is_line_blank(s[len - 1]))
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
		if (hex_value(s[i]) < 0)
			return false;
	return true;
}

static const char *const no_names[] = {
	"[unknown", "[no name", "[no symbols", "[unresolved", "[no map", "[kernel hides"
};
static const char *const wait_words[] = { "[wait",    "[block",	  "[sleep", "[runnable",	"[idle",
					  "[off-cpu", "[off_cpu", "[disk",  "[uninterruptible", "[stopped]" };

static bool starts_with_any(const char *s, size_t len, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (starts(s, len, list[i]))
			return true;
	return false;
}

/* Brackets mark frames that are not functions; '-' and '--' separate the frames of the program from those of the kernel. */
static enum frame_kind kind_by_brackets(const char *s, size_t len)
{
	if ((*s == '-' && len == 1) || (len == 2 && !memcmp(s, "--", 2)))
		return FRAME_REASON;
	if (*s != '[' || s[len - 1] != ']')
		return FRAME_NATIVE;
	return starts_with_any(s, len, wait_words, ARRAY_SIZE(wait_words)) ? FRAME_WAITING : FRAME_REASON;
}

uint32_t profile_frame_folded(struct profile *p, const char *s, size_t len)
{
	static const struct {
		const char *suffix;
		enum frame_kind kind;
	} kinds[] = {
		{ "_[k]", FRAME_KERNEL },
		{ "_[j]", FRAME_COMPILED },
		{ "_[i]", FRAME_INLINED },
		{ "_[w]", FRAME_WAITING },
	};

	if (!len)
		return profile_frame_bytes(p, "[no name]", 9, FRAME_REASON, true);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (len > 4 && !memcmp(s + len - 4, kinds[i].suffix, 4))
			return profile_frame_bytes(p, s, len - 4, kinds[i].kind, is_address(s, len - 4));
	return profile_frame_bytes(p, s, len, kind_by_brackets(s, len),
				   is_address(s, len) || starts_with_any(s, len, no_names, ARRAY_SIZE(no_names)));
}

static uint64_t load8(const char *s)
{
	uint64_t v;

	memcpy(&v, s, sizeof(v));
	return v;
}

/*
 * Fills in the key of a lookup in place: a copy would wait for the stores before it. No branch depends on the length of
 * usual names, since it would be mispredicted.
 */
static void fill_lookup(struct known *k, const char *s, size_t len)
{
	static const unsigned char masks[16 * HEAD_WORDS] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	};
	size_t in_head = len < 8 * HEAD_WORDS ? len : 8 * HEAD_WORDS;
	const char *mask = (const char *)masks + 8 * HEAD_WORDS - in_head;

	for (size_t i = 0; i < HEAD_WORDS; i++)
		k->head[i] = load8(s + 8 * i) & load8(mask + 8 * i);
	k->hash = hash_pair(k->head[0] ^ len, k->head[1]) ^ hash_pair(k->head[2], k->head[3] ^ 0x8ebc6af09c88c6e3u);
	for (size_t at = in_head; at < len; at += 8)
		k->hash = hash_pair(k->hash, load8(s + (at + 8 < len ? at : len - 8)));
	k->len = (uint32_t)len;
}

static bool is_same_known(const struct known *a, const struct known *b, const char *text)
{
	uint64_t differ = (a->hash ^ b->hash) | (a->len ^ b->len);

	for (size_t i = 0; i < HEAD_WORDS; i++)
		differ |= a->head[i] ^ b->head[i];
	return !differ && (a->len <= 8 * HEAD_WORDS ||
			   !memcmp(a->text + 8 * HEAD_WORDS, text + 8 * HEAD_WORDS, a->len - 8 * HEAD_WORDS));
}

static int grow_known(struct reader *r)
{
	size_t n = r->known_size ? r->known_size * 2 : 4096;
	struct known *v;

	if (r->nknown * 4 < r->known_size * (r->known_size < SPARSE ? 1 : 3))
		return 0;
	v = index_alloc(n * sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < r->known_size; i++) {
		size_t at = r->known[i].hash & (n - 1);

		if (!r->known[i].text)
			continue;
		while (v[at].text)
			at = (at + 1) & (n - 1);
		v[at] = r->known[i];
	}
	free(r->known);
	r->known = v;
	r->known_size = n;
	return 0;
}

static const char *copy_to_chunk(struct reader *r, const char *s, size_t len)
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

/* The known frame with the bytes at @s, whose key is @k; inserted if it is new. NULL: out of memory. */
static const struct known *find_known(struct reader *r, struct known *k, const char *s)
{
	size_t at, mask = r->known_size - 1;
	uint32_t frame;

	for (at = k->hash & mask; r->known[at].text; at = (at + 1) & mask)
		if (is_same_known(&r->known[at], k, s))
			return &r->known[at];
	k->text = copy_to_chunk(r, s, k->len);
	frame = k->text ? profile_frame_folded(r->p, s, k->len) : NONE;
	if (frame >= NONE >> 1)
		return NULL;
	k->frame = frame & NONE >> 1;
	k->unnamed = r->p->frames.v[frame].unnamed;
	k->cut = names_is_end(s, k->len);
	k->gc = k->len == 4 && !memcmp(s, "[GC]", 4);
	r->known[at] = *k;
	r->nknown++;
	return grow_known(r) ? NULL : k;
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

/* How many frames of the previous stack this one begins with: their bytes and the ';' after them are the same. */
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

/* A bit for each ';' in 64 bytes. */
#ifdef __SSE2__
static uint64_t semicolons(const char *s)
{
	uint64_t ret = 0;

	for (unsigned i = 0; i < 4; i++) {
		__m128i found = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(s + 16 * i)), _mm_set1_epi8(';'));

		ret |= (uint64_t)(unsigned)_mm_movemask_epi8(found) << 16 * i;
	}
	return ret;
}
#else
static uint64_t semicolons(const char *s)
{
	uint64_t ret = 0;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t x = load8(s + 8 * i) ^ 0x3b3b3b3b3b3b3b3bu, low = 0x7f7f7f7f7f7f7f7fu;
		uint64_t found = ~(((x & low) + low) | x | low);

		ret |= ((found >> 7) * 0x0102040810204080u) >> 56 << 8 * i;
	}
	return ret;
}
#endif

static int look_up_batch(struct reader *r, const struct line *l)
{
	uint32_t unnamed = r->steps.n ? r->steps.v[r->steps.n - 1].unnamed : 0;

	if (vec_reserve(&r->out.frames, r->out.frames.n + BATCH) || vec_reserve(&r->steps, r->steps.n + BATCH))
		return -ENOMEM;
	for (size_t i = 0; i < r->nbatch; i++) {
		const struct known *k = find_known(r, &r->batch[i], l->s + r->ends[i] - r->batch[i].len);

		if (!k)
			return -ENOMEM;
		unnamed += k->unnamed;
		r->out.frames.v[r->out.frames.n++] = k->frame;
		r->steps.v[r->steps.n++] =
			(struct step){ .end = r->ends[i], .unnamed = unnamed, .cut = k->cut, .gc = k->gc };
	}
	r->nbatch = 0;
	return 0;
}

/* The frame from @from to @end. It is looked up later, after its table entry was prefetched. */
static int push_frame(struct reader *r, const struct line *l, size_t from, size_t end)
{
	struct known *k = &r->batch[r->nbatch];

	fill_lookup(k, l->s + from, end - from);
	r->ends[r->nbatch++] = end;
	__builtin_prefetch(&r->known[k->hash & (r->known_size - 1)]);
	return r->nbatch == BATCH ? look_up_batch(r, l) : 0;
}

/* The frames of a line from @at on, where a frame begins. */
static int push_frames(struct reader *r, const struct line *l, size_t at)
{
	for (size_t block = at; block < l->len; block += 64) {
		uint64_t found = semicolons(l->s + block);

		if (l->len - block < 64)
			found &= (1ull << (l->len - block)) - 1;
		for (; found; found &= found - 1) {
			size_t end = block + (size_t)__builtin_ctzll(found);

			if (push_frame(r, l, at, end))
				return -ENOMEM;
			at = end + 1;
		}
	}
	return push_frame(r, l, at, l->len) || look_up_batch(r, l) ? -ENOMEM : 0;
}

static void count_line(struct reader *r, const struct line *l)
{
	struct profile_totals *t = &r->totals;

	t->saturated |= l->too_big;
	add_u64(&t->frames, product_u64(l->count, r->steps.n));
	add_u64(&t->unnamed, product_u64(l->count, r->steps.v[r->steps.n - 1].unnamed));
	if (r->steps.v[r->steps.n > 1 && r->steps.v[0].gc].cut)
		add_u64(&t->cut, l->count);
	r->bad->rounded += l->rounded;
}

static int read_stack(struct reader *r, const struct line *l)
{
	size_t shared = shared_steps(r, l);
	struct profile_stack s = { .shared = (uint32_t)shared, .count = l->count };

	if (shared < r->steps.n || !shared || r->before_len != l->len) {
		r->steps.n = shared;
		if (push_frames(r, l, shared ? r->steps.v[shared - 1].end + 1 : 0))
			return -ENOMEM;
	}
	s.n = (uint32_t)(r->steps.n - shared);
	r->before = (size_t)(l->s - r->buf);
	r->before_len = l->len;
	count_line(r, l);
	if (vec_push(&r->out.stacks, s))
		return -ENOMEM;
	return r->out.frames.n < BATCH_FRAMES && r->out.stacks.n < BATCH_FRAMES
		       ? 0
		       : profile_grower_submit(r->grower, &r->out);
}

/* Without its end. */
static int read_line(struct reader *r, const char *s, size_t len)
{
	bool skipping = r->skipping;
	struct line l;

	r->skipping = false;
	if (skipping)
		return 0;
	if (r->line++ == 0 && starts(s, len, "\xef\xbb\xbf")) {
		s += 3;
		len -= 3;
	}
	if (len <= LINE_MAX_BYTES && is_comment(s, len))
		return 0;
	if (len <= LINE_MAX_BYTES && parse_folded_line(s, len, &l))
		return read_stack(r, &l);
	if (r->bad->lines++)
		return 0;
	len = len < sizeof(r->bad->first) - 1 ? len : sizeof(r->bad->first) - 1;
	r->bad->first_line = r->line;
	memcpy(r->bad->first, s, len);
	r->bad->first[len] = 0;
	return 0;
}

/* Bytes. */

/* Moves what is still needed to the start of the buffer: the previous stack, and the line that has begun. */
static void make_room(struct reader *r)
{
	size_t from = r->before_len && r->before < r->at ? r->before : r->at;

	/* A long previous line would be moved again and again. */
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

static int fill_buffer(struct reader *r)
{
	ssize_t n;

	make_room(r);
	if (r->cap - r->n < CHUNK / 2) {
		char *more = realloc(r->buf, r->cap * 2 + PADDING);

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

static int read_lines(struct reader *rd)
{
	const char *newline;
	int r = 0;

	while (!r && (newline = memchr(rd->buf + rd->scanned, '\n', rd->n - rd->scanned))) {
		size_t from = rd->at;

		rd->at = rd->scanned = (size_t)(newline - rd->buf) + 1;
		r = read_line(rd, rd->buf + from, rd->at - 1 - from);
	}
	rd->scanned = rd->n;
	if (r || rd->n - rd->at <= LINE_MAX_BYTES)
		return r;
	/* The line is too long: it is reported now, and the rest of it is skipped. */
	read_line(rd, rd->buf + rd->at, rd->n - rd->at);
	rd->skipping = true;
	rd->at = rd->n;
	return 0;
}

static void reader_done(struct reader *r)
{
	for (size_t i = 0; i < r->texts.n; i++)
		free(r->texts.v[i]);
	vec_done(&r->texts);
	vec_done(&r->steps);
	vec_done(&r->out.stacks);
	vec_done(&r->out.frames);
	free(r->known);
	free(r->buf);
}

/* Creates what the tree needs before another thread grows it. */
static int prepare_reader(struct reader *r)
{
	uint32_t thread = profile_thread(r->p, 0, 0, "", "");

	if (r->p->prune_share > 0)
		r->p->pruned = profile_frame_named(r->p, "[narrower frames]", 17, FRAME_REASON);
	r->buf = malloc(r->cap + PADDING);
	r->grower = profile_grower_new(r->p, thread);
	return !r->buf || !r->grower || thread == NONE || grow_known(r) ? -ENOMEM : 0;
}

/* States from the frames that our recordings of waits write. */

enum wait_kind { NO_WAIT, READY, BLOCKED, IDLE }; /* of a frame; IDLE: the threads' names are below it */

/* For each frame, its enum wait_kind. NULL: no frame is such a word, or out of memory (*@ret_r). */
static uint8_t *find_wait_words(const struct profile *p, int *ret_r)
{
	uint8_t *ret = calloc(p->frames.n + 1, 1);
	bool any = false;

	*ret_r = ret ? 0 : -ENOMEM;
	for (size_t i = 0; ret && i < p->frames.n; i++) {
		enum profile_state state;

		if (waits_state(p->frames.v[i].name, &state))
			ret[i] = state == PROFILE_BLOCKED ? BLOCKED : READY;
		else if (!strcmp(p->frames.v[i].name, WAITS_IDLE))
			ret[i] = IDLE;
		any |= ret[i] != NO_WAIT;
	}
	if (any)
		return ret;
	free(ret);
	return NULL;
}

static enum profile_state wait_state(const struct profile *p, const uint8_t *words, uint32_t node)
{
	const struct profile_node *n = &p->nodes.v[node];
	bool idle;

	if (!node)
		return PROFILE_CPU;
	idle = n->parent && words[p->nodes.v[n->parent].frame] == IDLE && p->frames.v[n->frame].kind == FRAME_WAITING;
	if (words[n->frame] == READY)
		return PROFILE_RUNNABLE;
	return words[n->frame] == BLOCKED || idle ? PROFILE_BLOCKED : PROFILE_CPU;
}

/* Each node has one weight, so no two weights become equal by a new state. */
static int find_states(struct profile *p)
{
	int r;
	AUTO_FREE uint8_t *words = find_wait_words(p, &r);

	if (!words)
		return r;
	for (size_t i = 0; i < p->weights.n; i++) {
		struct profile_weight *w = &p->weights.v[i];

		w->state = wait_state(p, words, w->node);
		p->totals.times_only |= w->state != PROFILE_CPU;
	}
	for (size_t i = 0; p->totals.times_only && i < p->weights.n; i++)
		p->weights.v[i].value_ns = p->weights.v[i].count;
	return 0;
}

int profile_read_folded(struct profile *p, int fd, struct profile_bad *ret_bad, struct ut_err *err)
{
	struct reader rd = { .p = p, .bad = ret_bad, .fd = fd, .cap = CHUNK };
	int r, grown;

	*ret_bad = (struct profile_bad){ 0 };
	/* A larger pipe needs fewer context switches between its two ends; failure is harmless. */
	fcntl(fd, F_SETPIPE_SZ, CHUNK);
	r = prepare_reader(&rd);
	while (!rd.end && !r) {
		r = fill_buffer(&rd);
		if (!r)
			r = read_lines(&rd);
	}
	/* The last line may have no end. */
	if (!r && rd.at < rd.n)
		r = read_line(&rd, rd.buf + rd.at, rd.n - rd.at);
	if (!r)
		r = profile_grower_submit(rd.grower, &rd.out);
	grown = rd.grower ? profile_grower_end(rd.grower) : 0;
	r = r ? r : grown;
	if (!r)
		r = find_states(p);
	/* The grower has counted the samples. */
	add_u64(&p->totals.frames, rd.totals.frames);
	add_u64(&p->totals.unnamed, rd.totals.unnamed);
	add_u64(&p->totals.cut, rd.totals.cut);
	p->totals.saturated |= rd.totals.saturated;
	reader_done(&rd);
	if (r == -ENOMEM)
		return ut_err_nomem(err);
	return r ? ut_err_set(err, r, "cannot read stacks: %s", strerror(-r)) : 0;
}
