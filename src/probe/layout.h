/* SPDX-License-Identifier: MIT */
/* Where the outputs of a checked probe lie in its record (wire/record.h): the generator writes by it, the printer reads
 * by it. Pure. */
#ifndef UT_PROBE_LAYOUT_H
#define UT_PROBE_LAYOUT_H

#include <stdint.h>

#include "probe/spec.h"

/* Frames of a stack; the kernel's own limit. */
#define STACK_FRAMES_MAX 127
#define STACK_ROOM ((uint32_t)(STACK_FRAMES_MAX * sizeof(uint64_t)))

/* Text rooms are kept under this, so that no size below can overflow. */
#define TEXT_ROOM_MAX (1u << 20)

/* One output's places, as byte offsets from the start of the record; 0 where it has none. */
struct layout_slot {
	uint32_t value; /* of the 64-bit value; for OUTPUT_STRING and OUTPUT_BYTES that is the address */
	uint32_t text; /* of the struct ut_rec_text; its bytes follow it */
	uint32_t room; /* bytes of room behind the struct ut_rec_text, a multiple of 8 */
	uint32_t fault; /* the value's bit in ut_rec_event.faults, ready to be or-ed in */
};

struct layout {
	unsigned nvalues, ntexts;
	uint32_t caller; /* of the return address, for stacks at a function's entry; 0: none */
	uint32_t state; /* of the struct ut_rec_state, for begins and ends of spans; 0: none */
	uint32_t size; /* of the whole record, a multiple of 8 */
	struct layout_slot slot[OUTPUTS_MAX]; /* by output */
};

/* @text_room: bytes of room for each text (stacks have STACK_ROOM); rounded up to 8, cut to TEXT_ROOM_MAX. */
void layout_of(const struct probe_checked *checked, uint32_t text_room, struct layout *ret);

/* What an output of this kind has in a record. */
bool output_has_value(enum output_kind kind);
bool output_has_text(enum output_kind kind); /* stacks too */
bool output_is_stack(enum output_kind kind);

#endif
