// SPDX-License-Identifier: MIT
// throw COUNT: waits for a line on standard input, throws and catches so often, every second one again, and says so.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

static void gate()
{
	fflush(stdout);
	while (getchar() > '\n')
		;
}

static void inner(int i) { throw std::runtime_error(i & 1 ? "odd" : "even"); }

static void outer(int i)
{
	try {
		inner(i);
	} catch (std::exception &) {
		if (i & 1)
			throw;
	}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100, again = 0;

	printf("ready %d\n", (int)getpid());
	gate();
	for (int i = 0; i < n; i++) {
		try {
			outer(i);
		} catch (std::runtime_error &) {
			again++;
		}
	}
	printf("done thrown=%d rethrown=%d caught=%d\n", n, again, n + again);
	gate();
}
