/* SPDX-License-Identifier: MIT */
/* What the files of the profile share. */
#ifndef UT_MODEL_PROFILE_PRIV_H
#define UT_MODEL_PROFILE_PRIV_H

#include "model/profile.h"

uint32_t profile_frame_bytes(struct profile *p, const char *name, size_t len, enum frame_kind kind, bool unnamed);

#endif
