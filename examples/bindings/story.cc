// SPDX-License-Identifier: MIT
//
// User events from C++: one header, nothing to link, and a span that ends with its scope.
//
//     $ g++ -std=c++11 -O2 $(pkg-config --cflags usertrace) story.cc -o story
//     $ usertrace trace 'e:*' -- ./story
#include <usertrace.h>

// Something takes time, from here to the end of the block. The name must live as long, as a literal does.
class Span
{
      public:
	explicit Span(const char *name) : name(name) { ut_begin(name); }
	~Span() { ut_end(name); }
	Span(const Span &) = delete;
	Span &operator=(const Span &) = delete;

      private:
	const char *name;
};

static void parse() { Span span("parse"); }

int main()
{
	Span request("request");

	parse();
	ut_mark_text("cache miss", "/index.html");
	ut_count("température", -4);
	ut_begin_id("download", 7); // with an id it may end on another thread
	ut_end_id("download", 7);
	ut_mark("готово ✓");
}
