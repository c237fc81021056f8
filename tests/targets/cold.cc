// SPDX-License-Identifier: MIT
// A function that throws each third time, from a part that the compiler splits off. ./cold CALLS
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>
static volatile unsigned long sink;
extern "C" [[gnu::noinline]] int risky(int n)
{
	if (__builtin_expect(n % 3 == 0, 0)) {
		sink -= n;
		throw std::runtime_error("third");
	}
	sink += n;
	return n;
}
extern "C" [[gnu::noinline]] int nested(int n)
{
	return n ? nested(n - 1) + 1 : risky(3);
}
extern "C" __attribute__((noinline, optimize("optimize-sibling-calls"))) int jumps(int n)
{
	sink ^= 1;
	return risky(n);
}
extern "C" [[gnu::noinline]] void *ends_thread(void *)
{
	sink += risky(1);
	pthread_exit(nullptr);
}
int main(int c, char **v)
{
	int calls = c > 1 ? atoi(v[1]) : 30, thrown = 0;
	pthread_t thread;

	for (int i = 0; i < calls; i++)
		try {
			sink += risky(i);
		} catch (std::exception &) {
			thrown++;
		}
	try {
		sink += nested(99);
	} catch (std::exception &) {
		thrown++;
	}
	try {
		sink += jumps(3);
	} catch (std::exception &) {
		thrown++;
	}
	pthread_create(&thread, nullptr, ends_thread, nullptr);
	pthread_join(thread, nullptr);
	fprintf(stderr, "risky %d thrown %d\n", calls + 3, thrown);
}
