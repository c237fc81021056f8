// SPDX-License-Identifier: MIT
//
// User events from C++: one header, nothing to link. A span ends with its block, also by an exception.
//
//     $ g++ -std=c++11 -O2 $(pkg-config --cflags usertrace) story.cc -o story
//     $ usertrace trace 'e:*' -- ./story
#include <usertrace.h>

static void parse() { UT_SPAN("parse"); }

int main()
{
	ut_span request("request"); // the object that UT_SPAN declares, as a named variable

	parse();
	ut_mark_text("cache miss", "/index.html");
	ut_count("température", -4);
	ut_begin_id("download", 7); // a span with an id may end on another thread
	ut_end_id("download", 7);
	ut_mark("готово ✓");
}
