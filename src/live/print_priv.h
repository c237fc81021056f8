/* SPDX-License-Identifier: MIT */
/* The parts of the live printer. Internal to src/live. */
#ifndef UT_LIVE_PRINT_PRIV_H
#define UT_LIVE_PRINT_PRIV_H

#include "base/json.h"
#include "live/print.h"
#include "probe/layout.h"
#include "sym/names.h"
#include "wire/record.h"

/* A whole number and how C prints it. */
struct int_spec {
	uint8_t base; /* 8, 10, 16 */
	uint8_t size; /* bytes of the value that count */
	bool is_signed;
	bool plain; /* decimal without flags, width and precision */
	bool upper, left, plus, space, alt, zero;
	bool is_pointer; /* %p: 0x…, and (nil) */
	bool is_hex; /* 0x… also for zero: values without a format */
	int width, precision; /* -1: none */
};

enum step_kind { STEP_LITERAL, STEP_INT, STEP_CHAR, STEP_FLOAT, STEP_TEXT, STEP_STACK };

/* One piece of a line, ready to run. */
struct step {
	enum step_kind kind;
	unsigned output;
	const char *literal; /* borrowed from the checked probe */
	size_t literal_len;
	struct int_spec number; /* STEP_INT; its width and flags serve the others as well */
	bool quoted; /* STEP_TEXT in the style without a format */
	char spec[40]; /* STEP_FLOAT: for snprintf */
};

struct live_probe {
	const struct probe_checked *checked;
	struct layout layout; /* for text_room */
	uint32_t text_room;
	bool has_layout;
	VEC(struct step) steps;
	char *keys[OUTPUTS_MAX]; /* owned: JSON strings for "args", quoted */
	char *names[OUTPUTS_MAX]; /* owned: the expressions as typed */
};

enum { /* widths with the blank behind; those of BCC's trace where it has them */
       WIDTH_TIME = 16,
       WIDTH_SECONDS = 13,
       WIDTH_CPU = 4,
       WIDTH_PID = 8,
       WIDTH_COMM = 16,
       WIDTH_FUNC = 17,
};

#define LINE_HEADS 32

/* The columns from PID to FUNC of an event, for the next one like it. len 0: not in use. */
struct line_head {
	uint32_t pid, tid;
	pid_t ns_pid;
	char comm[16];
	char func[40];
	uint8_t func_len;
	bool is_foreign;
	uint8_t len, trimmed; /* bytes of text; the same without the blanks at the end */
	char text[128];
};

struct live_printer {
	struct live_options opts;
	int64_t second; /* of the wall clock, for which the text is right */
	char hms[16]; /* "12:34:56." in local time */
	struct buf scratch;
	struct frames frames; /* of the address that is being printed */
	struct line_head heads[LINE_HEADS]; /* by thread and function */
};

/* The value of an output that has one: in the record's head, or behind it. */
uint64_t event_value(const struct live_event *e, unsigned output);
/* True when the value could not be read; it is the address then. */
bool event_faulted(const struct live_event *e, unsigned output);
const char *event_unreadable(const struct live_event *e, unsigned output);

/* The string of an output. */
void event_text(const struct live_event *e, unsigned output, struct ut_text *ret);
/* 0, or -EBADMSG when the record's sizes do not fit its probe. */
int event_check(const struct live_event *e);

int steps_compile(struct live_probe *p);
/* The message: all steps but stacks. */
void steps_run(const struct live_event *e, struct buf *out);

void number_print(const struct int_spec *spec, uint64_t v, struct buf *out);
/* Text with its state, as a %s with the step's width and precision shows it. */
void text_print(const struct step *s, const struct ut_text *t, struct buf *out);
/* Blanks around what was appended since @from, so that it is as wide as the step says. */
void pad_since(const struct int_spec *spec, size_t from, struct buf *out);

/* Who fired what. */
struct head {
	uint32_t pid, tid;
	pid_t ns_pid;
	const char *comm; /* 16 bytes */
	struct ut_text func;
	bool is_foreign; /* func is a text of the program: it may be anything, or missing */
};
/* The columns from PID to FUNC. Returns where a line without a message ends. */
size_t head_print(struct live_printer *p, const struct head *h, struct buf *out);
/* The columns before: times and CPU, as the options ask for them; -1: there is no CPU. */
void times_print(struct live_printer *p, uint64_t time_ns, int64_t cpu, struct buf *out);
/* A moment inside a sentence: the time of day, or seconds since the start. */
void moment_print(struct live_printer *p, uint64_t ns, struct buf *out);

/* All stacks of the event, a frame a line. */
void stacks_print(struct live_printer *p, const struct live_event *e, struct buf *out);
void stack_json(struct live_printer *p, const struct live_event *e, unsigned output, struct json *j);

void json_print(struct live_printer *p, const struct live_event *e, struct buf *out);
void json_lost(struct live_printer *p, uint64_t n, unsigned cpu, uint64_t from_ns, uint64_t to_ns, struct buf *out);
/* A value, to follow its key: a string, null, or an object that says what is missing. */
void json_text(const struct ut_text *t, struct json *j);
/* wall_ns, where the wall clock is known. */
void json_wall(struct live_printer *p, struct json *j, uint64_t ns);
/* begin_ns, end_ns and wall_ns. */
void json_interval(struct live_printer *p, uint64_t from_ns, uint64_t to_ns, struct json *j);
/* pid, ns_pid, tid and comm. */
void json_process(uint32_t pid, pid_t ns_pid, uint32_t tid, const char *comm, struct json *j);

struct live_user;
struct span;
uint64_t user_duration(const struct span *s);
void user_json(struct live_printer *p, const struct live_user *u, struct buf *out);
void throttled_json(struct live_printer *p, uint64_t n, uint32_t pid, const char *comm, uint64_t from_ns,
		    uint64_t to_ns, struct buf *out);

/* @ns on the monotonic clock as wall-clock nanoseconds; 0 when the wall clock is not known. */
uint64_t wall_ns_of(const struct live_printer *p, uint64_t ns);
/* "12:34:56.123456" in local time. */
void wall_print(struct live_printer *p, uint64_t ns, struct buf *out);
/* "-0.000123": seconds since the start. */
void seconds_print(const struct live_printer *p, uint64_t ns, struct buf *out);
/* @digits decimal digits of @v, with leading zeros. */
void digits_print(uint32_t v, unsigned digits, struct buf *out);

#endif
