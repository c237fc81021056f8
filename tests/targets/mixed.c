/* SPDX-License-Identifier: MIT */
/* One probe whose argument is a double at one site and other things at others. */
#include "usertrace.h"

int main(int argc, char **argv)
{
	double d = 2.5 * argc;
	float f = 1.5f * (float)argc;

	(void)argv;
	UT_PROBE(mixed, value, d, 1);
	UT_PROBE(mixed, value, argc, 2);
	UT_PROBE(mixed, value, f, 3);
	return 0;
}
