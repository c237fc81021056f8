/* SPDX-License-Identifier: MIT */
/*
 * The frames for waits in the stacks of a recording, by which a reader of folded stacks recognizes them: the innermost frame
 * is how a thread waited; the name of an idle thread is the only frame below WAITS_IDLE.
 */
#ifndef UT_MODEL_WAITS_H
#define UT_MODEL_WAITS_H

#include <stdbool.h>

#include "model/profile.h"

#define WAITS_IDLE "[idle]"

/* How a thread waited. */
enum samples_waits { WAIT_NONE, WAIT_NEW, WAIT_SLEEPS, WAIT_UNINTERRUPTIBLE, WAIT_STOPPED, WAIT_OTHER };

const char *waits_word(enum samples_waits waits);
/* False: @name is no such word. */
bool waits_state(const char *name, enum profile_state *ret);

#endif
