/* SPDX-License-Identifier: MIT */
#include "model/waits.h"

#include <string.h>

#include "base/auto.h"

static const char *const words[] = {
	[WAIT_NONE] = "[waiting for a CPU]", [WAIT_NEW] = "[waiting for a CPU]",
	[WAIT_SLEEPS] = "[sleeping]",	     [WAIT_UNINTERRUPTIBLE] = "[uninterruptible wait]",
	[WAIT_STOPPED] = "[stopped]",	     [WAIT_OTHER] = "[waiting]",
};

const char *waits_word(enum samples_waits waits) { return words[waits]; }

bool waits_state(const char *name, enum profile_state *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i], name))
			continue;
		*ret = i == WAIT_NONE || i == WAIT_NEW ? PROFILE_RUNNABLE : PROFILE_BLOCKED;
		return true;
	}
	return false;
}
