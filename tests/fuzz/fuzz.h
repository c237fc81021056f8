/* SPDX-License-Identifier: MIT */
/*
 * A fuzz target: FUZZ_TARGET(elf) { … } in fuzz_elf.c is what libFuzzer calls, or what `replay elf DIRECTORY…` runs each
 * saved input through. It gets `const uint8_t *data, size_t size` and returns 0; what is wrong aborts.
 */
#ifndef UT_TESTS_FUZZ_H
#define UT_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
	struct fuzz_target *next;
};

#ifdef UT_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#define FUZZ_TARGET(target) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#else
/* Called before main. */
void fuzz_add(struct fuzz_target *target);

#define FUZZ_TARGET(target) \
	static int fuzz_##target(const uint8_t *data, size_t size); \
	__attribute__((constructor)) static void fuzz_add_##target(void) \
	{ \
		static struct fuzz_target fuzz_self = { .name = #target, .run = fuzz_##target }; \
\
		fuzz_add(&fuzz_self); \
	} \
	static int fuzz_##target(const uint8_t *data, size_t size)
#endif

#endif
