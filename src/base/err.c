/* SPDX-License-Identifier: MIT */
/* Errors as a code and a sentence; nothing here allocates. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int ut_err_set(struct ut_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	/* Through a copy: an argument may point into the sentence that is being replaced. */
	char msg[sizeof err->msg];

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	memcpy(err->msg, msg, sizeof err->msg);
	err->code = code;
	return code;
}

int ut_err_wrap(struct ut_err *err, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	if (!err)
		return -EINVAL;
	char msg[sizeof err->msg];

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	len = strlen(msg);
	snprintf(msg + len, sizeof msg - len, ": %s", err->msg);
	memcpy(err->msg, msg, sizeof err->msg);
	return err->code;
}

int ut_err_nomem(struct ut_err *err)
{
	return ut_err_set(err, -ENOMEM, "out of memory");
}
