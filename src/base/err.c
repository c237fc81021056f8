/* SPDX-License-Identifier: MIT */
/* Errors as a code and a sentence; nothing here allocates. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int ut_err_set(struct ut_err *err, int r, const char *fmt, ...)
{
	char msg[sizeof(err->msg)]; /* a copy: an argument may point into the sentence that is being replaced */
	va_list ap;

	if (!err)
		return r;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	memcpy(err->msg, msg, sizeof(err->msg));
	err->code = r;
	return r;
}

int ut_err_wrap(struct ut_err *err, const char *fmt, ...)
{
	char msg[sizeof(err->msg)];
	size_t len, rest;
	va_list ap;

	if (!err)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg) - 2, fmt, ap);
	va_end(ap);
	len = strlen(msg);
	memcpy(msg + len, ": ", 2);
	len += 2;
	rest = strnlen(err->msg, sizeof(err->msg) - len - 1);
	memcpy(msg + len, err->msg, rest);
	msg[len + rest] = '\0';
	memcpy(err->msg, msg, len + rest + 1);
	return err->code;
}

int ut_err_nomem(struct ut_err *err) { return ut_err_set(err, -ENOMEM, "out of memory"); }
