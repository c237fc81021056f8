/* SPDX-License-Identifier: MIT */
/* Offsets of values and strings in a probe's record. */
#include <string.h>

#include "probe/layout.h"
#include "wire/record.h"

bool output_has_value(enum output_kind kind)
{
	return kind == OUTPUT_VALUE || kind == OUTPUT_STRING || kind == OUTPUT_BYTES;
}

bool output_is_stack(enum output_kind kind) { return kind == OUTPUT_USTACK || kind == OUTPUT_KSTACK; }

bool output_has_text(enum output_kind kind)
{
	return kind == OUTPUT_STRING || kind == OUTPUT_BYTES || kind == OUTPUT_CHARS || output_is_stack(kind);
}

static uint32_t text_capacity(uint32_t text_room)
{
	if (text_room > TEXT_ROOM_MAX)
		text_room = TEXT_ROOM_MAX;
	return (text_room + 7) & ~7u;
}

/* At the first instruction of a function, the frame is not set up yet, but the return address is at the stack pointer. */
static bool has_caller(const struct probe_checked *checked)
{
	if (checked->spec->kind != PROBE_ENTRY || checked->spec->has_offset)
		return false;
	for (unsigned i = 0; i < checked->noutputs; i++)
		if (checked->outputs[i].kind == OUTPUT_USTACK)
			return true;
	return false;
}

void layout_of(const struct probe_checked *checked, uint32_t text_room, struct layout *ret)
{
	uint32_t at = sizeof(struct ut_rec_event), room = text_capacity(text_room);

	memset(ret, 0, sizeof(*ret));
	for (unsigned i = 0; i < checked->noutputs; i++) {
		if (!output_has_value(checked->outputs[i].kind))
			continue;
		ret->slot[i].value = at;
		ret->slot[i].fault = 1u << ret->nvalues++;
		at += sizeof(uint64_t);
	}
	if (has_caller(checked)) {
		ret->caller = at;
		at += sizeof(uint64_t);
	}
	if (checked->spec->state != STATE_NONE) {
		ret->state = at;
		at += sizeof(struct ut_rec_state);
	}
	for (unsigned i = 0; i < checked->noutputs; i++) {
		if (!output_has_text(checked->outputs[i].kind))
			continue;
		ret->slot[i].text = at;
		ret->slot[i].room = output_is_stack(checked->outputs[i].kind) ? STACK_ROOM : room;
		at += sizeof(struct ut_rec_text) + ret->slot[i].room;
		ret->ntexts++;
	}
	ret->size = at;
}
