/* SPDX-License-Identifier: MIT */
/* Frames of stacks by their names: symbolization makes them, profiles keep them, reports and files show them. */
#ifndef UT_BASE_FRAME_H
#define UT_BASE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum frame_kind {
	FRAME_NATIVE, /* of an ELF file */
	FRAME_KERNEL,
	FRAME_COMPILED, /* compiled at run time */
	FRAME_INTERPRETED, /* of a language's interpreter, as its map marks it: Node's ~, py:: */
	FRAME_INLINED, /* a call that the compiler made part of the next frame */
	FRAME_WAITING, /* a placeholder that names the wait */
	FRAME_REASON, /* a placeholder: the reason why names or frames are missing, or a group of frames */
};

/* Strings belong to what made it, as the names object. */
struct frame {
	const char *name; /* demangled, without an offset; with `unnamed`: "[reason: …]" */
	const char *module; /* base name of the file, "kernel", a kernel module's name, "" for run-time code */
	const char *file; /* source file, NULL when not known or not asked for */
	uint32_t line; /* 0: not known */
	/* Of the address in its function; with `unnamed`, the address in its file, 0: not known. */
	uint64_t offset;
	enum frame_kind kind;
	bool unnamed; /* no symbol was found: name is a placeholder with the reason */
};
struct frames {
	VEC(struct frame) v;
};

#endif
