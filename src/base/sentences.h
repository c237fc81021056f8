/* SPDX-License-Identifier: MIT */
/* Sentences for a person, without duplicates, in the order of their arrival. */
#ifndef UT_BASE_SENTENCES_H
#define UT_BASE_SENTENCES_H

#include <stdarg.h>
#include <stddef.h>

/* Zero-initialize to use. */
struct sentences {
	char **v; /* owned */
	size_t n, cap;
};

/* 0, also for one that is there already, or -ENOMEM. */
int sentences_add(struct sentences *s, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void sentences_done(struct sentences *s);

#endif
