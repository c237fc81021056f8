/* SPDX-License-Identifier: MIT */
/* A list of checks. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "doctor/doctor_priv.h"

void checks_add(struct checks *c, enum check_state state, const char *thing, const char *remedy, const char *fmt, ...)
{
	struct check check = { .state = state, .pid = c->pid, .thing = strdup(thing) };
	struct buf meaning = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&meaning, fmt, ap);
	va_end(ap);
	check.meaning = buf_take(&meaning);
	check.remedy = remedy ? strdup(remedy) : NULL;
	if (check.thing && check.meaning && (check.remedy || !remedy) && !vec_push(&c->all, check))
		return;
	free(check.thing);
	free(check.meaning);
	free(check.remedy);
	c->failed = true;
}

void checks_done(struct checks *c)
{
	for (size_t i = 0; i < c->all.n; i++) {
		free(c->all.v[i].thing);
		free(c->all.v[i].meaning);
		free(c->all.v[i].remedy);
	}
	vec_done(&c->all);
}
