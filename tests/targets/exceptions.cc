// SPDX-License-Identifier: MIT
// exceptions COUNT THREADS: waits for a line on standard input, then throws and catches so often in each thread: through
// many frames, again, of several types, and inside of a destructor that another one runs. Says of each what it was and how
// long it took by its own clock:
//
//     thrown TID TYPE AGAIN BEGIN LENGTH
//     done thrown=N
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "../../src/base/clock.h"

struct Problem {
	int number;
};

struct Thrown {
	long tid;
	const char *type;
	int again;
	long begin, length;
};

static std::vector<Thrown> all;
static std::mutex lock;
static thread_local std::vector<Thrown> own;

static void caught(const char *type, int again, long begin)
{
	own.push_back({ syscall(SYS_gettid), type, again, begin, (long)monotonic_ns() - begin });
}

// Throws one of its own, and catches it, while another is on its way.
struct Inside {
	~Inside()
	{
		long begin = 0;

		try {
			begin = monotonic_ns();
			throw 5;
		} catch (int) {
			caught("i", 0, begin);
		}
	}
};

[[gnu::noinline]] static int deep(int n, long *begin)
{
	std::string held(100, 'x');

	if (n)
		return deep(n - 1, begin) + (int)held.size();
	Inside inside;
	*begin = monotonic_ns();
	throw Problem{ n };
}

static void once_and_again(long *begin)
{
	try {
		*begin = monotonic_ns();
		throw std::runtime_error("once");
	} catch (std::exception &) {
		caught("St13runtime_error", 0, *begin);
		*begin = monotonic_ns();
		throw;
	}
}

static void work(int count)
{
	for (int i = 0; i < count; i++) {
		long begin = 0;

		try {
			deep(30, &begin);
		} catch (Problem &) {
			caught("7Problem", 0, begin);
		}
		try {
			once_and_again(&begin);
		} catch (std::exception &) {
			caught("St13runtime_error", 1, begin);
		}
	}
	std::lock_guard<std::mutex> held(lock);
	all.insert(all.end(), own.begin(), own.end());
}

static void gate()
{
	fflush(stdout);
	while (getchar() > '\n')
		;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100, threads = argc > 2 ? atoi(argv[2]) : 1;
	std::vector<std::thread> others;

	printf("ready %d\n", (int)getpid());
	gate();
	for (int i = 0; i < threads; i++)
		others.emplace_back(work, count);
	for (std::thread &t : others)
		t.join();
	for (const Thrown &t : all)
		printf("thrown %ld %s %d %ld %ld\n", t.tid, t.type, t.again, t.begin, t.length);
	printf("done thrown=%zu\n", all.size());
	gate();
}
