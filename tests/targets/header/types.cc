// SPDX-License-Identifier: MIT
// The types of C++ as arguments of probes. A probe's name says what its note must say of the arguments, as in types.c.
// Other headers make macros of words, as bison does of its tokens.
#define INTEGER 258
#define ENUM 259
#define REFUSED 260
extern "C" {
#include "usertrace.h"
}

namespace zoo
{

enum class Small : signed char { A = -3, B };
enum class Wide : unsigned long { A = 3, B };
enum Plain : unsigned short { PLAIN_A, PLAIN_B };
enum Old { OLD_A = -1, OLD_B };

struct Animal {
	int legs : 5;
	unsigned eyes : 4;
	const char *name;
	static long count;
	virtual ~Animal() {}
	void see() const { UT_PROBE(types, m4_u4_u8_u8_m8, legs, eyes, name, this, count); }
};
long Animal::count = 1;

// Each use is a site of its own.
template <typename T> inline T pass(T v)
{
	UT_PROBE(sites, pass, v, sizeof(T));
	if (UT_PROBE_ENABLED(sites, pass))
		ut_mark("pass");
	return v;
}

template <typename T> struct Holder {
	T held;
	void show() { UT_PROBE(sites, show, held, this); }
};

static int function(int n) { return n + 1; }

static void scoped(int n)
{
	Small small = n > 1 ? Small::A : Small::B;
	Wide wide = n > 1 ? Wide::A : Wide::B;
	Plain plain = n > 1 ? PLAIN_A : PLAIN_B;
	Old old = n > 1 ? OLD_A : OLD_B;

	UT_PROBE(types, m1_u8_u2_m4, small, wide, plain, old);
	UT_PROBE(types, m1_u8_u2_m4, Small::A, Wide::B, PLAIN_B, OLD_A);
}

static void characters(int n)
{
	char16_t c16 = static_cast<char16_t>(n);
	char32_t c32 = static_cast<char32_t>(n);
	wchar_t wide = static_cast<wchar_t>(n);
	bool yes = n > 2;

	UT_PROBE(types, u2_u4_m4_u1, c16, c32, wide, yes);
	UT_PROBE(types, u2_u4_m4_u1_u1, u'a', U'b', L'c', true, n > 3);
	UT_PROBE(types, u8_u8_u8, u"a", U"b", L"c");
}

static void references(int n)
{
	int &ref = n;
	const int &const_ref = n;
	int &&rvalue = n + 1;
	const volatile double cvd = n;
	auto lambda = [&](unsigned char c) { UT_PROBE(types, u1_m4, c, n); };

	lambda(static_cast<unsigned char>(n));
	UT_PROBE(types, m4_m4_m4_f8, ref, const_ref, rvalue, cvd);
	UT_PROBE(types, u8_u8_u8_u8, nullptr, function, &function, &ref);
	UT_PROBE(types, f4_f8_f8, static_cast<float>(n), n * 0.5, 2.5);
	UT_PROBE(types, m4, [n] { return n + 1; }());
}

} // namespace zoo

int main(int argc, char **argv)
{
	zoo::Animal animal;
	zoo::Holder<short> holder = { 3 };
	int evaluated = 0;

	animal.legs = 4;
	animal.eyes = 2;
	animal.name = argv[0];
	animal.see();
	zoo::scoped(argc);
	zoo::characters(argc);
	zoo::references(argc);
	holder.show();
	zoo::pass(argc);
	zoo::pass(static_cast<short>(argc));
	zoo::pass(argc * 0.5);
	zoo::pass(zoo::Small::A);
	zoo::pass(argv[0]);
	zoo::pass(argc > 2);
	ut_begin("main");
	ut_end("main");
	UT_PROBE(types, m4_m4, ++evaluated, evaluated);
	return evaluated == 1 ? 0 : 1;
}
