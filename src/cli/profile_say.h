/* SPDX-License-Identifier: MIT */
/* What `profile` says on standard error: its progress, and at the end what was seen, what is missing of it, and why. */
#ifndef UT_CLI_PROFILE_SAY_H
#define UT_CLI_PROFILE_SAY_H

#include "watch/profile_record.h"

/* A line that is written over each second where standard error is a terminal. */
struct profile_progress {
	bool wanted;
	bool shown; /* it stands there, and makes room for another text */
};
/* @progress outlives the recording. */
struct profile_record_sink profile_say_sink(struct profile_progress *progress);
void profile_clear_progress(struct profile_progress *progress);

/* After profile_record_build. */
void profile_say_totals(const struct profile_record *r, const struct profile *p);
/* A sentence when there is nothing in the profile, with what may be the reason. */
void profile_say_nothing(const struct profile_record *r, const struct profile *p);

#endif
