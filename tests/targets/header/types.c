/* SPDX-License-Identifier: MIT */
/*
 * The types of C as arguments of probes. A probe's name says what its note must say of the arguments: m4 is "-4@", u4
 * "4@", f4 "4f@".
 */
#include <stdbool.h>
#include <stddef.h>

#include "usertrace.h"

enum plain { PLAIN_A, PLAIN_B };
enum negative { NEGATIVE_A = -1, NEGATIVE_B };
struct part {
	short number;
	char text[8];
	const char *name;
};
union either {
	unsigned char byte;
	float real;
};

int types_global = 7;
static unsigned short static_short = 9;
static double static_double = 0.5;
static const char array[] = "array";
static int numbers[4] = { 1, 2, 3, 4 };

static int function(int n) { return n + 1; }

static void integers(int seed)
{
	signed char sc = (signed char)seed;
	unsigned char uc = (unsigned char)seed;
	short s = (short)seed;
	unsigned short us = (unsigned short)seed;
	unsigned int u = (unsigned int)seed;
	long l = seed;
	unsigned long ul = u;
	long long ll = seed;
	unsigned long long ull = u;

	UT_PROBE(types, m1_u1_m2_u2, sc, uc, s, us);
	UT_PROBE(types, m4_u4_m8_u8_m8_u8, seed, u, l, ul, ll, ull);
	UT_PROBE(types, u8_m8, (size_t)u, (ptrdiff_t)seed);
	UT_PROBE(types, m4_u8, sc + s, sizeof(us));
	UT_PROBE(types, u1_m1_u2_m2_u4_m4, (uint8_t)seed, (int8_t)seed, (uint16_t)seed, (int16_t)seed, (uint32_t)seed,
		 (int32_t)seed);
}

static void others(int seed)
{
	bool yes = seed > 1;
	enum plain plain = seed > 1 ? PLAIN_A : PLAIN_B;
	enum negative negative = seed > 1 ? NEGATIVE_A : NEGATIVE_B;
	float f = (float)seed;
	double d = seed;
	const double cd = d + 1;

	UT_PROBE(types, u1_u4_m4, yes, plain, negative);
	UT_PROBE(types, f4_f8_f8_f8, f, d, cd, static_double);
	UT_PROBE(types, f8_f8, (double)f + 1.0, d * 2);
}

static void qualified(volatile int *at)
{
	const int ci = *at;
	volatile short vs = (short)ci;
	const volatile unsigned char cvu = (unsigned char)ci;

	UT_PROBE(types, m4_m2_u1_m4, ci, vs, cvu, *at);
}

static void pointers(int seed, char **argv)
{
	int local[3] = { seed, seed, seed };
	int vla[seed > 2 ? 3 : 2];

	vla[0] = seed;
	UT_PROBE(types, u8_u8_u8_u8_u8_u8_u8, argv, array, "literal", numbers, local, &seed, vla);
	UT_PROBE(types, u8_u8_u8_u8, function, &function, (void *)argv, NULL);
	UT_PROBE(types, m4_m4_m4, local[1], numbers[seed & 3], vla[0]);
}

static void members(struct part *part, const union either *either)
{
	UT_PROBE(types, m2_u8_u8_u1_f4, part->number, part->text, part->name, either->byte, either->real);
	UT_PROBE(types, u8_u8, part, either);
}

static void constants(void)
{
	UT_PROBE(types, m4_m4_u4_m8_u8, 1, -1, 1u, -1L, ~0ul);
	UT_PROBE(types, m1_u1_m2_u2, (signed char)-1, (unsigned char)255, (short)-1, (unsigned short)65535);
	UT_PROBE(types, f8_f4_u8, 2.5, 2.5f, (void *)0);
}

static void twelve(int n)
{
	UT_PROBE(types, m4_m4_m4_u2_f8_u8_m4_m4_m4_m8_f4_m4, n, n + 1, types_global, static_short, static_double, array,
		 numbers[n & 3], n + 2, types_global, (long)n, (float)n, n > 3);
}

static void by_number(int a)
{
	UT_PROBE(types, none);
	UT_PROBE(types, m4, a);
	UT_PROBE(types, m4_m4, a, a);
	UT_PROBE(types, m4_m4_m4, a, a, a);
	UT_PROBE(types, m4_m4_m4_m4, a, a, a, a);
	UT_PROBE(types, m4_m4_m4_m4_m4, a, a, a, a, a);
	UT_PROBE(types, m4_m4_m4_m4_m4_m4, a, a, a, a, a, a);
	UT_PROBE(types, m4_m4_m4_m4_m4_m4_m4, a, a, a, a, a, a, a);
	UT_PROBE(types, m4_m4_m4_m4_m4_m4_m4_m4, a, a, a, a, a, a, a, a);
	UT_PROBE(types, m4_m4_m4_m4_m4_m4_m4_m4_m4, a, a, a, a, a, a, a, a, a);
	UT_PROBE(types, m4_m4_m4_m4_m4_m4_m4_m4_m4_m4, a, a, a, a, a, a, a, a, a, a);
	UT_PROBE(types, m4_m4_m4_m4_m4_m4_m4_m4_m4_m4_m4, a, a, a, a, a, a, a, a, a, a, a);
}

int main(int argc, char **argv)
{
	struct part part = { 1, "text", "name" };
	union either either = { 1 };
	int evaluated = 0;

	integers(argc);
	others(argc);
	qualified(&argc);
	pointers(argc, argv);
	members(&part, &either);
	constants();
	twelve(argc);
	by_number(argc);
	UT_PROBE(types, m4_m4, ++evaluated, evaluated);
	types_global += function(numbers[0]);
	return evaluated == 1 ? 0 : 1;
}
