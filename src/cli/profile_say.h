/* SPDX-License-Identifier: MIT */
/* The last words of `profile`: what was seen, what is missing of it, and why. On standard error. */
#ifndef UT_CLI_PROFILE_SAY_H
#define UT_CLI_PROFILE_SAY_H

#include "watch/profile_record.h"

/* After profile_record_build. */
void profile_say_totals(const struct profile_record *r, const struct profile *p);
/* A sentence when there is nothing in the profile, with what may be the reason. */
void profile_say_nothing(const struct profile_record *r, const struct profile *p);

#endif
