/* SPDX-License-Identifier: MIT */
/*
 * An allocator that counts what is held and fails when told, to see what code does where memory runs out. A runner that
 * links counted_memory.c with the linker's --wrap uses it for all of its own calls; those of shared libraries go past it.
 */
#ifndef UT_TESTS_COUNTED_MEMORY_H
#define UT_TESTS_COUNTED_MEMORY_H

#include <stddef.h>

/*
 * held: pieces that are not freed yet; what a shared library allocated and the runner frees counts down. There is no
 * memory from the fail_from-th piece on until the fail_until-th, counted by asked; a test sets these three as it needs
 * them, and nothing fails while fail_until is 0. For one thread.
 */
extern size_t held, asked, fail_from, fail_until;

#endif
