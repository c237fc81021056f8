/* SPDX-License-Identifier: MIT */
/* Frames as text, for stacks that are printed an address at a time. */
#include <string.h>

#include "sym/names.h"

static void add_address(uint64_t addr, struct buf *out)
{
	buf_adds(out, "0x");
	buf_addx(out, addr);
}

static void add_module(const struct frame *f, struct buf *out)
{
	const char *open = " (", *close = ")", *module = f->module;

	if (f->kind == FRAME_COMPILED) {
		module = "JIT code";
	} else if (f->kind == FRAME_INTERPRETED) {
		module = "interpreted";
	} else if (f->kind == FRAME_KERNEL) {
		module = strcmp(module, "kernel") ? module : "";
		open = " [";
		close = "]";
	}
	if (!*module)
		return;
	buf_adds(out, open);
	buf_adds(out, module);
	buf_adds(out, close);
}

void frame_format(const struct frame *f, uint64_t addr, unsigned back, struct buf *out)
{
	if (f->unnamed) {
		add_address(f->offset ? f->offset + back : addr, out);
		buf_addc(out, ' ');
		buf_adds(out, f->name);
		return;
	}
	buf_adds(out, f->name);
	buf_adds(out, "+0x");
	buf_addx(out, f->offset + back);
	add_module(f, out);
}
