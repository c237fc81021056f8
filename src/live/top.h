/* SPDX-License-Identifier: MIT */
/*
 * The full-screen table of runtimes: its data, its keys, and its rendering for a given size. Pure: the caller owns the terminal, the
 * clock and the source of spans. One thread.
 */
#ifndef UT_LIVE_TOP_H
#define UT_LIVE_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/collect.h"

#define TOP_FADE_NS 10000000000u /* how long an ended process stays in the table */

struct top_options {
	bool ascii; /* print nothing but ASCII */
	bool styled; /* bold, reverse: escape sequences */
	bool color; /* with styled: also colors */
	const char *kind; /* the kind that counts as a collection; NULL: every span. Outlives the table */
	uint64_t start_ns; /* all times are CLOCK_MONOTONIC */
	uint64_t wall_ns; /* of start_ns on CLOCK_REALTIME; 0: not known */
};

struct top_who {
	uint32_t pid;
	char comm[16];
	const char *runtime, *version; /* copied; NULL or "": not known */
	uint64_t seen_ns;
	const char *const *hints; /* sentences about what cannot be observed; copied */
	size_t nhints;
};

struct top;

struct top *top_new(const struct top_options *o); /* NULL: out of memory */
struct top *top_free(struct top *t);

/* Events. 0 or -ENOMEM. A PID that is in the table already is a new program from now on. */
int top_process(struct top *t, const struct top_who *who);
void top_gone(struct top *t, uint32_t pid, uint64_t time_ns);
int top_span(struct top *t, const struct collect_span *span);
void top_lost(struct top *t, uint64_t n);
/* Shows a sentence at the bottom for some seconds. */
void top_note(struct top *t, const char *text, uint64_t now_ns);

/* Keys: a Unicode character (Enter is '\r'), or one of these. */
enum top_key {
	KEY_NONE = 0x110000, /* a sequence without a meaning here */
	KEY_UP,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_HOME,
	KEY_END,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_DELETE,
	KEY_ESC,
};
/*
 * Parses the first key in @len bytes from a terminal. Returns its length; 0: incomplete. @last: no more bytes follow, so a lone
 * escape is the Esc key.
 */
size_t top_key_parse(const char *bytes, size_t len, bool last, uint32_t *ret);

enum top_act { TOP_NOTHING, TOP_DRAW, TOP_REDRAW, TOP_QUIT };
enum top_act top_key(struct top *t, uint32_t key);

/* Lines of text, each at most width columns, with their escape sequences; no line ends. */
struct top_screen {
	unsigned width, height;
	struct buf *line;
};
/* Empties all lines. 0 or -ENOMEM. */
int top_screen_size(struct top_screen *s, unsigned width, unsigned height);
void top_screen_done(struct top_screen *s);
/* The bytes that change a terminal from @old to @new; @old NULL: unknown contents. */
void top_screen_diff(const struct top_screen *old, const struct top_screen *new, struct buf *out);

/* Updates the numbers to @now_ns and draws all lines. 0 or -ENOMEM. */
int top_render(struct top *t, uint64_t now_ns, struct top_screen *s);
/* All rows as plain text of at most @width columns, and an empty line. */
int top_batch(struct top *t, uint64_t now_ns, unsigned width, struct buf *out);

#endif
