/* SPDX-License-Identifier: MIT */
/* C++ and Rust names for people, by libiberty. Names come from files that anyone may have written. */
#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "elf/demangle.h"

#define MANGLED_MAX 4096 /* libiberty needs stack in proportion to the length */
#define DEMANGLED_MAX 16384

struct sink {
	struct buf out;
	jmp_buf too_long;
};

/*
 * Back references let a short name stand for an endless one (each of n steps doubles it), and the demangler has no way
 * to be stopped but this. It works on the stack, so that at most one identifier is leaked by the jump.
 */
static void sink_add(const char *text, size_t len, void *opaque)
{
	struct sink *sink = opaque;

	if (sink->out.failed || len > DEMANGLED_MAX - sink->out.len)
		longjmp(sink->too_long, 1);
	buf_add(&sink->out, text, len);
}

static bool looks_mangled(const char *name)
{
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return false;
	return strnlen(name, MANGLED_MAX + 1) <= MANGLED_MAX;
}

static bool demangle(const char *name, struct sink *sink)
{
	if (setjmp(sink->too_long))
		return false;
	if (rust_demangle_callback(name, DMGL_NO_OPTS, sink_add, sink))
		return true;
	buf_reset(&sink->out); /* it may have begun before it gave up */
	return cplus_demangle_v3_callback(name, DMGL_NO_OPTS, sink_add, sink);
}

void elf_demangle(const char *name, struct buf *out)
{
	struct sink sink = { 0 };

	if (looks_mangled(name) && demangle(name, &sink) && sink.out.len)
		buf_add_escaped(out, sink.out.data, sink.out.len);
	else
		buf_add_escaped(out, name, strlen(name));
	buf_done(&sink.out);
}
