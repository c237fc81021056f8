/* SPDX-License-Identifier: MIT */
/* The terminal, by termios and common escape sequences. Waits neither for keys nor for a slow connection. */
#include "cli/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"

#define PATIENCE_MS 200 /* a screenful waits at most this long for a slow terminal */
#define PIECE 256 /* a writable terminal accepts at least this many bytes */

/* The alternate screen, no cursor, no wrapping at the right edge; and the reverse. */
static const char ENTER[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char LEAVE[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

static struct termios saved;
static volatile sig_atomic_t entered;

static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

int terminal_check(struct ut_err *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return ut_err_set(err, -EINVAL,
				  "standard %s is not a terminal; use --batch to print the table as plain text",
				  isatty(STDOUT_FILENO) ? "input" : "output");
	if (!term || !*term || !strcmp(term, "dumb") || !strcmp(term, "unknown"))
		return ut_err_set(
			err, -EINVAL,
			"this terminal (TERM=%s) does not support full-screen output; use --batch to print plain text",
			term ? term : "");
	return 0;
}

bool terminal_is_utf8(void)
{
	setlocale(LC_CTYPE, "");
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

bool terminal_wants_color(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

/* Uses only async-signal-safe calls. */
static void restore_terminal(void)
{
	ssize_t r = write(STDOUT_FILENO, LEAVE, sizeof(LEAVE) - 1);

	(void)r;
	tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

static void on_crash(int number)
{
	if (entered)
		restore_terminal();
	raise(number); /* SA_RESETHAND: the default action follows */
}

static void handle_crashes(bool on)
{
	struct sigaction sa = { .sa_flags = (int)SA_RESETHAND | SA_NODEFER };

	sa.sa_handler = on ? on_crash : SIG_DFL;
	for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
		sigaction(deadly[i], &sa, NULL);
}

int terminal_enter(struct ut_err *err)
{
	struct termios raw;
	struct buf text = { 0 };

	if (!entered && tcgetattr(STDIN_FILENO, &saved))
		return ut_err_set(err, -errno, "cannot get the terminal's settings: %s", strerror(errno));
	raw = saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR); /* without IXON Ctrl-S does not stop output */
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw))
		return ut_err_set(err, -errno, "cannot change the terminal's settings: %s", strerror(errno));
	handle_crashes(true);
	entered = 1;
	buf_adds(&text, ENTER);
	terminal_write(&text);
	buf_done(&text);
	return 0;
}

void terminal_leave(void)
{
	if (!entered)
		return;
	tcflush(STDIN_FILENO, TCIFLUSH); /* the shell must not read keys meant for usertrace */
	restore_terminal();
	entered = 0;
	handle_crashes(false);
}

void terminal_suspend(void)
{
	sigset_t stop;

	terminal_leave();
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL); /* the process stops here */
	sigprocmask(SIG_BLOCK, &stop, NULL);
	terminal_enter(NULL);
}

void terminal_size(unsigned *width, unsigned *height)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		size = (struct winsize){ .ws_col = 80, .ws_row = 24 };
	*width = size.ws_col;
	*height = size.ws_row;
}

ssize_t terminal_read(char *bytes, size_t max)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, 0) <= 0)
		return 0;
	n = read(STDIN_FILENO, bytes, max);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -EIO;
	return n || !(p.revents & (POLLHUP | POLLERR)) ? n : -EIO;
}

bool terminal_write(const struct buf *text)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };
	size_t at = 0;

	while (at < text->len) {
		size_t left = text->len - at;
		ssize_t n;

		if (poll(&p, 1, PATIENCE_MS) <= 0 || !(p.revents & POLLOUT))
			return false;
		n = write(STDOUT_FILENO, text->data + at, left < PIECE ? left : PIECE);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}
