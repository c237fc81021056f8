/* SPDX-License-Identifier: MIT */
/*
 * The words for waits that a recording puts into stacks, and by which what it wrote is known when it is read: how a
 * thread waited is the innermost frame; an idle thread's name stands alone under WAITS_IDLE.
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
