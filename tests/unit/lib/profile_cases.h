/* SPDX-License-Identifier: MIT */
/* Small profiles for tests of what is made of them, and what a writer wrote. */
#ifndef UT_TESTS_PROFILE_CASES_H
#define UT_TESTS_PROFILE_CASES_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "out/out.h"

#define MS UINT64_C(1000000)

/* "name@module", with '!' before it of the kernel, '^' inlined, '~' waiting, '?' without a name, '=' a word. */
static inline uint32_t case_frame(struct profile *p, const char *text)
{
	static const struct {
		char mark;
		enum frame_kind kind;
	} marks[] = {
		{ '!', FRAME_KERNEL }, { '^', FRAME_INLINED }, { '~', FRAME_WAITING },
		{ '?', FRAME_REASON }, { '=', FRAME_REASON },  { '$', FRAME_COMPILED },
	};
	struct frame f = { .kind = FRAME_NATIVE };
	char name[256];
	char *at;

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (*text == marks[i].mark)
			f.kind = marks[i].kind;
	f.unnamed = *text == '?';
	snprintf(name, sizeof(name), "%s", text + (f.kind != FRAME_NATIVE));
	at = strrchr(name, '@');
	if (at)
		*at = '\0';
	f.name = name;
	f.module = at ? at + 1 : "";
	return profile_frame(p, &f);
}

/* Frames from the outermost on, with '|' between. */
static inline uint32_t case_node(struct profile *p, const char *stack)
{
	char text[1024], *save = NULL;
	uint32_t node = 0;

	snprintf(text, sizeof(text), "%s", stack);
	for (char *frame = strtok_r(text, "|", &save); frame; frame = strtok_r(NULL, "|", &save))
		node = profile_node(p, node, case_frame(p, frame));
	return node;
}

static inline void case_add(struct profile *p, uint32_t thread, const char *stack, enum profile_state state,
			    uint64_t count, uint64_t ns)
{
	profile_add(p, case_node(p, stack), thread, state, count, ns);
	p->totals.samples += count;
}

/* What @f writes, NUL-terminated; the caller frees it. */
static inline char *case_written(const struct out_format *f, const struct profile *p, const struct out_options *o,
				 size_t *ret_len)
{
	int fd = memfd_create("written", MFD_CLOEXEC), code;
	struct ut_err err = { 0 };
	struct stat st;
	char *text;

	code = f->write(p, o, fd, &err);
	if (code || fstat(fd, &st))
		abort();
	text = calloc(1, (size_t)st.st_size + 1);
	if (!text || pread(fd, text, (size_t)st.st_size, 0) != st.st_size)
		abort();
	close(fd);
	if (ret_len)
		*ret_len = (size_t)st.st_size;
	return text;
}

#endif
