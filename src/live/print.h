/* SPDX-License-Identifier: MIT */
/* Formats records as lines: text in the columns of BCC's trace, or JSON objects. Independent of the source of the records. */
#ifndef UT_LIVE_PRINT_H
#define UT_LIVE_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "probe/spec.h"

struct eval_scope;
struct names;
struct ut_rec_event;
struct ut_text;

struct live_options {
	bool json;
	bool wall_time; /* a column TIME: HH:MM:SS.uuuuuu, local time */
	bool since_start; /* a column SECONDS: since start_ns */
	bool cpu; /* a column CPU */
	unsigned decimals; /* of SECONDS: 6 (also for 0) or 9 */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t mono_ns, wall_ns; /* one moment on CLOCK_MONOTONIC and on CLOCK_REALTIME; wall_ns 0: not known */
	struct names *names; /* borrowed, with names_options.live; NULL: stacks print as numbers */
};

struct live_printer;
struct live_printer *live_printer_new(const struct live_options *options); /* NULL: out of memory */
struct live_printer *live_printer_free(struct live_printer *p);

/* A checked probe, prepared for printing: its format compiled, its keys quoted. Borrows @checked. NULL: no memory. */
struct live_probe;
struct live_probe *live_probe_new(const struct probe_checked *checked);
struct live_probe *live_probe_free(struct live_probe *p);

/* The probes of a plan by their number, each prepared when first needed. Zero-initialize; free with live_probes_done. */
struct live_probes {
	VEC(struct live_probe *) v;
};
struct live_probe *live_probes_get(struct live_probes *p, size_t number,
				   const struct probe_checked *checked); /* NULL: no memory */
void live_probes_done(struct live_probes *p);

struct live_event {
	const struct ut_rec_event *rec; /* 8-byte aligned; foreign: sizes inside are checked here */
	size_t size; /* bytes at rec */
	const struct eval_scope *scope; /* user events: evaluates the outputs, and rec is only a head; else NULL */
	unsigned cpu;
	struct live_probe *probe;
	const char *func; /* column FUNC: name of the probe, function or event */
	const char *provider_or_file; /* for JSON: the prefix of the name */
	const char *const *unreadable; /* per output, NULL or why this site cannot read it; NULL: all are readable */
	pid_t ns_pid; /* pid in the process's own namespace; 0 or the same: not shown */
	const struct ut_text *name; /* user events: column FUNC, any bytes; else NULL */
	uint64_t caller; /* return address of the probed function, if neither stack nor record has it; 0: none */
};

/* Column titles; nothing for JSON. */
void live_header(const struct live_printer *p, struct buf *out);
/*
 * Appends the event: one line, and in text the frames of its stacks on lines of their own. -EBADMSG for a record that
 * is too small for its probe or has sizes that do not fit; nothing is appended then.
 */
int live_print(struct live_printer *p, const struct live_event *e, struct buf *out);
/* Appends a line for @n events that were lost on @cpu between two events of that CPU. */
void live_print_lost(struct live_printer *p, uint64_t n, unsigned cpu, uint64_t from_ns, uint64_t to_ns,
		     struct buf *out);
/* Appends a line for @n events of @pid that were dropped because it alone filled the buffer. @comm may be NULL. */
void live_print_throttled(struct live_printer *p, uint64_t n, uint32_t pid, const char *comm, uint64_t from_ns,
			  uint64_t to_ns, struct buf *out);

#endif
