/* SPDX-License-Identifier: MIT */
/* Running a compiler: command lines from the environment, and what a child prints. */
#ifndef UT_DTRACE_RUN_H
#define UT_DTRACE_RUN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct run_words {
	VEC(char *) list;
};

/* Appends the words of @line, at its blanks, with '…', "…" and \ for what holds some. */
int run_split(struct run_words *words, const char *line, struct ut_err *err);
int run_add(struct run_words *words, const char *word, struct ut_err *err);
void run_words_done(struct run_words *words);

/* Runs the words as a command, found in PATH, and appends what it prints to @out. Anything but exit status 0 is -EIO. */
int run_command(const struct run_words *words, struct buf *out, struct ut_err *err);

/* Appends all that @fd has to give, at most @max bytes. @name is for the sentence. */
int run_read_all(int fd, const char *name, size_t max, struct buf *out, struct ut_err *err);

#endif
