/* SPDX-License-Identifier: MIT */
/* What `profile` prints on standard error: its progress, and at the end the samples, the losses and their reasons. */
#ifndef UT_CLI_PROFILE_SUMMARY_H
#define UT_CLI_PROFILE_SUMMARY_H

#include "watch/profile_record.h"

/* A line that is overwritten each second where standard error is a terminal. */
struct profile_progress {
	bool wanted;
	bool shown; /* it is on the terminal, and must be cleared before other output */
};
/* @progress outlives the recording. */
struct profile_record_sink profile_summary_sink(struct profile_progress *progress);
void profile_clear_progress(struct profile_progress *progress);

/* After profile_record_build. */
void profile_print_totals(const struct profile_record *record, const struct profile *p);
/* A sentence when there is nothing in the profile, with what may be the reason. */
void profile_explain_empty(const struct profile_record *record, const struct profile *p);

#endif
