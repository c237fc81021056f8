// SPDX-License-Identifier: MIT
//
// User events from C++: one header, nothing to link. A span ends with its block, also when an exception leaves it.
//
//     $ g++ -std=c++11 -O2 $(pkg-config --cflags usertrace) story.cc -o story
//     $ usertrace trace 'e:*' -- ./story
#include <usertrace.h>

static void parse() { UT_SPAN("parse"); }

int main()
{
	ut_span request("request"); // what UT_SPAN declares, with a name of its own

	parse();
	ut_mark_text("cache miss", "/index.html");
	ut_count("température", -4);
	ut_begin_id("download", 7); // with an id it may end on another thread
	ut_end_id("download", 7);
	ut_mark("готово ✓");
}
