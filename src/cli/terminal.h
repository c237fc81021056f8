/* SPDX-License-Identifier: MIT */
/*
 * The terminal as a full-screen program needs it: keys without waiting, the alternate screen, and the original
 * state afterwards, also after a crash. There is one terminal, on standard input and output.
 */
#ifndef UT_CLI_TERMINAL_H
#define UT_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Whether full-screen output is possible: 0, or -EINVAL with a sentence. Changes nothing. */
int terminal_check(struct ut_err *err);
/* Whether the locale is UTF-8. */
bool terminal_is_utf8(void);
/* Whether lines on @fd may be colored: a terminal that supports it, and no NO_COLOR (https://no-color.org). */
bool terminal_wants_color(int fd);

/* Enters the alternate screen without cursor and line editing (Ctrl-C and Ctrl-Z send signals); again after a stop. */
int terminal_enter(struct ut_err *err);
/* Restores the terminal; does nothing if it was not entered. */
void terminal_leave(void);
/* On Ctrl-Z: leaves, stops this process, and enters again after SIGCONT. SIGTSTP is blocked. */
void terminal_suspend(void);

void terminal_size(unsigned *width, unsigned *height);
/* Reads typed bytes without waiting; 0: none; -EIO: the terminal is gone. */
ssize_t terminal_read(char *bytes, size_t max);
/* False: the terminal did not accept all bytes in time (a connection that hangs), so its contents are unknown. */
bool terminal_write(const struct buf *text);

#endif
