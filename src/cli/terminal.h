/* SPDX-License-Identifier: MIT */
/*
 * The terminal as a full-screen program needs it: keys without waiting, a screen of its own, and everything as it was
 * afterwards, also when this program crashes. There is one terminal; standard input and output.
 */
#ifndef UT_CLI_TERMINAL_H
#define UT_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* 0, or -EINVAL with a sentence: it is none, or one that can only print lines. Changes nothing. */
int terminal_check(struct ut_err *err);
/* True when it may be sent UTF-8, by the locale. */
bool terminal_is_utf8(void);
/* True when lines on @fd may be coloured: a terminal that can, and a user who has not set NO_COLOR (https://no-color.org). */
bool terminal_wants_color(int fd);

/* Its own screen, no cursor, keys as they come (Ctrl-C and Ctrl-Z still send signals). Once more: after a stop. */
int terminal_enter(struct ut_err *err);
/* All as it was; nothing when it was not entered. */
void terminal_leave(void);
/* What Ctrl-Z asks for: leaves, stops this process, and enters again when it goes on. SIGTSTP is blocked. */
void terminal_suspend(void);

void terminal_size(unsigned *width, unsigned *height);
/* Bytes that were typed, without waiting; 0: none; -EIO: the terminal is gone. */
ssize_t terminal_read(char *bytes, size_t max);
/* False: it does not take all of it now (a connection that hangs); what it shows is unknown then. */
bool terminal_write(const struct buf *text);

#endif
