/* SPDX-License-Identifier: MIT */
/* The names of the ways a span can end. */
#include "model/span_end.h"

const char *span_end_name(enum span_end end)
{
	static const char *const names[SPAN_ENDS] = {
		[SPAN_COMPLETE] = "complete",
		[SPAN_OPEN] = "open",
		[SPAN_THREAD_EXITED] = "thread-exited",
		[SPAN_PROCESS_EXITED] = "process-exited",
		[SPAN_EXEC] = "exec",
		[SPAN_EVICTED] = "evicted",
		[SPAN_LOST] = "lost",
		[SPAN_INHERITED] = "inherited",
		[SPAN_BEFORE_ATTACH] = "before-attach",
		[SPAN_ORPHAN] = "orphan",
	};

	return names[end];
}
