/* SPDX-License-Identifier: MIT */
/* Sentences for a person, without duplicates. */
#include "base/sentences.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"

int sentences_add(struct sentences *s, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		if (!strcmp(s->v[i], text)) {
			free(text);
			return 0;
		}
	}
	if (!vec_push(s, text))
		return 0;
	free(text);
	return -ENOMEM;
}

void sentences_done(struct sentences *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	vec_done(s);
}
