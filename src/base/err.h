/* SPDX-License-Identifier: MIT */
/* Errors: a negative errno, and one sentence for a person in an object that the caller owns. */
#ifndef UT_BASE_ERR_H
#define UT_BASE_ERR_H

/* One error. It owns no memory, so it also works when memory is gone. An all-zero object means «no error». */
struct ut_err {
	int code; /* negative errno, as returned */
	char msg[2000]; /* one sentence: the subject, what is wrong, what to do; may hold line feeds for a marked place in a
			   text */
};

/*
 * Sets the sentence (printf rules) and returns @code, so that a function can end with `return ut_err_set(…)`.
 * @err may be NULL. A sentence that is too long is truncated.
 */
int ut_err_set(struct ut_err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Puts "context: " before the sentence that is there and returns its code. For callers that know more than the
 * callee.
 */
int ut_err_wrap(struct ut_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The usual sentence for a failed allocation; returns -ENOMEM. */
int ut_err_nomem(struct ut_err *err);

#endif
