/* SPDX-License-Identifier: MIT */
/* Runs a program repeatedly on several threads of a new machine. */
#ifndef MINIVM_RUN_H
#define MINIVM_RUN_H

#include "vm.h"

struct run {
	struct options opt;
	const char *name, *source;
	const char *log; /* NULL: none */
	int64_t argument;
	const int64_t *expected; /* NULL: any result that is the same each time */
	unsigned threads;
	unsigned rounds; /* 0: run for @seconds */
	double seconds;
	/* Results. */
	int64_t result;
	unsigned done, collections, compilations, moves;
};

/* Returns 0, or -1 with a message. A program that fails ends the process. */
int run(struct run *r, char *err, size_t err_size);

/* Runs all samples with both collectors, with and without JIT, on 1 to 8 threads, in small heaps. Returns 0 or 1. */
int self_check(bool quiet);

#endif
