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
	struct int_spec number; /* STEP_INT; the others use its width and flags */
	bool quoted; /* STEP_TEXT in the style without a format */
	char spec[40]; /* STEP_FLOAT: for snprintf */
};

struct live_probe {
	const struct probe_checked *checked;
	struct layout layout; /* for text_room */
	uint32_t text_room;
	bool has_layout;
	VEC(struct step) steps;
	struct live_values *values; /* NULL: not asked for yet */
	char *keys[OUTPUTS_MAX]; /* owned: JSON strings for "args", quoted */
	char *names[OUTPUTS_MAX]; /* owned: the expressions as typed */
};

enum { /* widths including the space after the column; as in BCC's trace where it has the column */
       WIDTH_TIME = 16,
       WIDTH_SECONDS = 13,
       WIDTH_CPU = 4,
       WIDTH_PID = 8,
       WIDTH_COMM = 16,
       WIDTH_FUNC = 17,
};

#define LINE_HEADS 32

/* Cached columns from PID to FUNC. len 0: empty. */
struct line_head {
	uint32_t pid, tid;
	pid_t ns_pid;
	char comm[16];
	char func[40];
	uint8_t func_len;
	bool is_foreign;
	uint8_t len, trimmed; /* bytes of text; the same without the spaces at the end */
	char text[128];
};

struct live_printer {
	struct live_options opts;
	int64_t second; /* of the wall clock, for which hms is valid */
	char hms[16]; /* "12:34:56." in local time */
	struct buf scratch;
	struct frames frames; /* of the address that is being printed */
	struct line_head heads[LINE_HEADS]; /* by thread and function */
};

/* The value of a numeric output. */
uint64_t event_value(const struct live_event *e, unsigned output);
/* True when the value could not be read; event_value() is then its address. */
bool event_faulted(const struct live_event *e, unsigned output);
/* Why this site cannot read the output, or NULL. */
static inline const char *event_unreadable(const struct live_event *e, unsigned output)
{
	return e->unreadable ? e->unreadable[output] : NULL;
}
/* The bits of a float of 4 or 8 bytes. */
static inline double double_of(uint64_t bits, unsigned size)
{
	double d;
	float f;

	memcpy(&f, &bits, sizeof(f)); /* little endian: the low half */
	memcpy(&d, &bits, sizeof(d));
	return size == 4 ? (double)f : d;
}

/* The string of an output. */
void event_text(const struct live_event *e, unsigned output, struct ut_text *ret);
/* 0, or -EBADMSG when the record's sizes do not fit its probe. */
int event_check(const struct live_event *e);

int steps_compile(struct live_probe *p);
/* The message: all steps but stacks. */
void steps_run(const struct live_event *e, struct buf *out);

void number_print(const struct int_spec *spec, uint64_t v, struct buf *out);
/* The low @size bytes of @v, sign-extended or zero-extended. */
int64_t number_extend(uint64_t v, unsigned size, bool is_signed);
/* A string with its state, as a %s with this width and precision prints it; @spec NULL: with neither. */
void text_print(const struct int_spec *spec, bool quoted, const struct ut_text *t, struct buf *out);
/* Adds spaces until the text since @from has the width of @spec. */
void pad_since(const struct int_spec *spec, size_t from, struct buf *out);

/* The values of the columns from PID to FUNC. */
struct head {
	uint32_t pid, tid;
	pid_t ns_pid;
	const char *comm; /* 16 bytes */
	struct ut_text func;
	bool is_foreign; /* func is a string of the program: any bytes, or missing */
};
/* The columns from PID to FUNC. Returns where a line without a message ends. */
size_t head_print(struct live_printer *p, const struct head *h, struct buf *out);
/* The columns before PID that the options select: times and CPU; @cpu -1: unknown. */
void times_print(struct live_printer *p, uint64_t time_ns, int64_t cpu, struct buf *out);

/* All stacks of the event, a frame a line. */
void stacks_print(struct live_printer *p, const struct live_event *e, struct buf *out);
void stack_json(struct live_printer *p, const struct live_event *e, unsigned output, struct json *j);

void json_print(struct live_printer *p, const struct live_event *e, struct buf *out);
void json_lost(struct live_printer *p, uint64_t n, unsigned cpu, uint64_t from_ns, uint64_t to_ns, struct buf *out);
/* A value, after its key: a string, null, or an object with the error or the truncated string. */
void json_text(const struct ut_text *t, struct json *j);
/* wall_ns, where the wall clock is known. */
void json_wall(struct live_printer *p, struct json *j, uint64_t ns);
/* pid, ns_pid, tid and comm. */
void json_process(uint32_t pid, pid_t ns_pid, uint32_t tid, const char *comm, struct json *j);

struct live_user;
void user_json(struct live_printer *p, const struct live_user *u, struct buf *out);
void throttled_json(struct live_printer *p, uint64_t n, uint32_t pid, const char *comm, uint64_t from_ns,
		    uint64_t to_ns, struct buf *out);

/* @ns on the monotonic clock as wall-clock nanoseconds; 0 when the wall clock is not known. */
uint64_t wall_ns_of(const struct live_printer *p, uint64_t ns);
/* "12:34:56.123456" in local time. */
void wall_print(struct live_printer *p, uint64_t ns, struct buf *out);
/* "-0.000123": seconds since the start. */
void seconds_print(const struct live_printer *p, uint64_t ns, struct buf *out);

#endif
