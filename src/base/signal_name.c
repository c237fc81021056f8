/* SPDX-License-Identifier: MIT */
#include "base/signal_name.h"

#include <stdio.h>
#include <string.h>

#define KERNEL_SIGRTMIN 32
#define KERNEL_SIGNALS 64

const char *signal_name(int number, char ret[SIGNAL_NAME_SIZE])
{
	const char *name = number > 0 && number < KERNEL_SIGRTMIN ? sigabbrev_np(number) : NULL;

	if (name)
		snprintf(ret, SIGNAL_NAME_SIZE, "SIG%s", name);
	else if (number >= KERNEL_SIGRTMIN && number <= KERNEL_SIGNALS)
		snprintf(ret, SIGNAL_NAME_SIZE, number == KERNEL_SIGRTMIN ? "SIGRTMIN" : "SIGRTMIN+%d",
			 number - KERNEL_SIGRTMIN);
	else
		snprintf(ret, SIGNAL_NAME_SIZE, "signal %d", number);
	return ret;
}
