// SPDX-License-Identifier: MIT
// C++ that throws through a function of C: the comparison of qsort. Waits for a line, then again before it ends.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
static int refuse(const void *, const void *)
{
	throw 1;
}
int main()
{
	int numbers[] = { 3, 1, 2 }, thrown = 0;

	printf("ready %d\n", getpid());
	fflush(stdout);
	getchar();
	for (int i = 0; i < 10; i++)
		try {
			qsort(numbers, 3, sizeof(*numbers), refuse);
		} catch (int) {
			thrown++;
		}
	printf("done thrown=%d\n", thrown);
	fflush(stdout);
	getchar();
}
