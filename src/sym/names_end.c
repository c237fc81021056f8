/* SPDX-License-Identifier: MIT */
/* Why a stack ends before its thread's start, in words. */
#include <string.h>

#include "base/auto.h"
#include "sym/names_priv.h"
#include "wire/unwind.h"

static const char *with_module(struct names *n, const char *text, const char *module)
{
	return *module ? names_internf(n, "[%s: %s]", text, module) : names_internf(n, "[%s]", text);
}

static const char *unknown_code(struct names *n, const struct place *p, uint64_t addr)
{
	if (p && p->kind == PLACE_UPROBES)
		return "[caller hidden by a return probe]"; /* another address stands in its place */
	if (p && p->file)
		return names_internf(n, "[not known yet when sampled: %s]", p->file->name);
	return names_internf(n, "[unknown code, no map: 0x%llx]",
			     (unsigned long long)(p ? p->start : addr & ~0xffffull));
}

/* Code that keeps no frame pointer: the flag that would make it keep one, else where it is. */
static const char *no_frame_pointer(struct names *n, const struct incarnation *in, const struct place *p, uint64_t addr)
{
	if (in && in->frame_hint)
		return names_internf(n, "[no frame pointers: %s]", in->frame_hint);
	if (p && p->file)
		return names_internf(n, "[no frame pointers: %s]", p->file->name);
	return names_internf(n, "[no frame pointers: code at 0x%llx]",
			     (unsigned long long)(p ? p->start : addr & ~0xffffull));
}

const char *names_end(struct names *n, pid_t pid, unsigned end, uint64_t end_addr, uint64_t time_ns)
{
	struct incarnation *in = names_incarnation(n, pid, time_ns);
	const struct place *p = in ? history_at(&in->history, end_addr, time_ns) : NULL;
	const char *module = names_module(n, pid, end_addr, time_ns);

	switch ((enum ut_walk_end)end) {
	case UT_END_START:
	case UT_END_NONE: return NULL;
	case UT_END_DEPTH: return "[truncated]";
	case UT_END_NO_INFO: return with_module(n, "no unwind info", module);
	case UT_END_STACK: return "[stack not resident]";
	case UT_END_NO_MAPPING: return unknown_code(n, p, end_addr);
	case UT_END_NO_PROCESS: return "[process not known yet]";
	case UT_END_RUNTIME:
	case UT_END_BARE: return no_frame_pointer(n, in, p, end_addr);
	case UT_END_LOOP: return "[broken stack: it leads back]";
	case UT_END_REGISTER: return with_module(n, "a register was not kept", module);
	case UT_END_UNSUPPORTED: return with_module(n, "unwind info not understood", module);
	case UT_END_BUSY: return "[interrupted another sample]";
	}
	return "[stack ends for an unknown reason]";
}

bool names_is_end(const char *text, size_t len)
{
	static const char *const begins[] = {
		"[truncated]",
		"[no unwind info",
		"[unwind info not understood",
		"[a register was not kept",
		"[no frame pointers",
		"[stack not resident]",
		"[stack not known]",
		"[unknown code, no map",
		"[process not known yet]",
		"[not known yet when sampled",
		"[caller hidden by a return probe]",
		"[broken stack",
		"[interrupted another sample]",
		"[stack ends for an unknown reason]",
	};

	for (size_t i = 0; len && *text == '[' && i < ARRAY_SIZE(begins); i++)
		if (len >= strlen(begins[i]) && memcmp(text, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}
