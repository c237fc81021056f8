/* SPDX-License-Identifier: MIT */
/* The recording of `profile`: a session whose samples are counted, and whose processes are symbolized. */
#ifndef UT_WATCH_PROFILE_RECORD_H
#define UT_WATCH_PROFILE_RECORD_H

#include "model/samples.h"
#include "record/session.h"

struct profile_record_options {
	struct target_set targets;
	const char *const *probes; /* their events are the samples */
	size_t nprobes;
	uint32_t frequency_hz; /* 0: no samples by time */
	bool waits, no_kernel, gc, lines;
};

/* Each method may be NULL. */
struct profile_record_sink {
	void *ctx;
	void (*started)(void *ctx); /* samples are being taken */
	/* Once a second. */
	void (*progress)(void *ctx, uint64_t elapsed_ns, uint64_t samples, uint64_t lost);
	void (*note)(void *ctx, const char *text); /* a sentence for the user */
};

struct profile_record {
	struct profile_record_options options;
	struct profile_record_sink sink;
	struct names *names;
	struct samples *samples;
	struct session *session;
	struct session_totals totals;
	int64_t begin_wall_ns;
	uint64_t stop_ns;
	uint64_t table_bytes; /* of unwind tables in the kernel */
	size_t table_files; /* with such tables */
	struct profile_record_inner *inner;
};

/* Plans; needs no privileges. -EINVAL for options that can never work. @runtimes outlives it. */
int profile_record_open(const struct profile_record_options *o, const struct runtimes *runtimes,
			const struct profile_record_sink *sink, struct profile_record *ret, struct ut_err *err);
/* From the attachment to the end. *@ret_end says why it ended; @log as in session_start. */
int profile_record_run(struct profile_record *r, enum session_end *ret_end, char **log, struct ut_err *err);
/* The profile with all totals. 0 or -ENOMEM. */
int profile_record_build(struct profile_record *r, bool idle, struct profile **ret);
/* Waits for a command. */
void profile_record_done(struct profile_record *r);

#endif
