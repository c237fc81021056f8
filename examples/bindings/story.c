/* SPDX-License-Identifier: MIT */
/*
 * User events from C: one header, nothing to link. When nobody is tracing, a call is a load and a branch.
 *
 *     $ gcc -O2 $(pkg-config --cflags usertrace) story.c -o story
 *     $ usertrace trace 'e:*' -- ./story
 */
#include <usertrace.h>

static void parse(void) { UT_SPAN("parse"); /* ends with the block, however control leaves it */ }

int main(void)
{
	ut_begin("request");
	parse();
	ut_mark_text("cache miss", "/index.html");
	ut_count("température", -4);
	ut_begin_id("download", 7); /* a span with an id may end on another thread */
	ut_end_id("download", 7);
	ut_mark("готово ✓");
	ut_end("request");
	return 0;
}
