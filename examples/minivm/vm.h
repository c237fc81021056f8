/* SPDX-License-Identifier: MIT */
/* One virtual machine: its options, its heap, its threads and its program. */
#ifndef MINIVM_VM_H
#define MINIVM_VM_H

#include "code.h"
#include "heap.h"
#include "log.h"
#include "world.h"

struct options {
	size_t heap_bytes, nursery_bytes;
	bool generational, jit, check_heap, move_code;
	unsigned jit_threshold; /* calls and loop iterations after which a function is compiled */
};

struct vm {
	struct options opt;
	struct heap heap;
	struct world world;
	struct log log;
	struct program *program;
	struct code_heap code;
	unsigned moves; /* times that all code was moved */
	_Atomic unsigned collections, compilations;
};

/* Prints an error with the current function, writes the log and exits with status 1. */
_Noreturn void vm_fail(const struct mutator *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints an internal error of the machine and aborts. */
_Noreturn void vm_broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
