/* SPDX-License-Identifier: MIT */
/* One run of a program on a machine of its own, on several threads, again and again. */
#ifndef MINIVM_RUN_H
#define MINIVM_RUN_H

#include "vm.h"

struct run {
	struct options opt;
	const char *name, *source;
	const char *log; /* NULL: none */
	int64_t argument;
	const int64_t *expected; /* NULL: whatever it computes, if only it is the same each time */
	unsigned threads;
	unsigned rounds; /* 0: until the seconds are over */
	double seconds;
	/* What came of it. */
	int64_t result;
	unsigned done, collections, compilations, moves;
};

/* 0, or -1 with a sentence. A program that fails ends the process. */
int run(struct run *r, char *err, size_t err_size);

/* Every sample with both collectors, compiled and not, on 1 to 8 threads, in heaps that hardly suffice. 0 or 1. */
int self_check(bool quiet);

#endif
