/* SPDX-License-Identifier: MIT */
/* The object with the semaphores of a program's probes. */
#include <stdio.h>

#include "base/auto.h"
#include "dtrace/object.h"

static void names_done(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static int make_names(const struct dtrace_providers *p, char **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < p->all.n; i++)
		for (size_t k = 0; k < p->all.v[i].probes.n; k++, n++)
			if (asprintf(&ret[n], "%s_%s_semaphore", p->all.v[i].name, p->all.v[i].probes.v[k].name) < 0) {
				ret[n] = NULL;
				return -1;
			}
	return 0;
}

int dtrace_object(const struct dtrace_providers *p, enum elf_machine machine, struct buf *out, struct ut_err *err)
{
	char **names = calloc(p->nprobes + 1, sizeof(*names));
	int ret;

	if (!names || make_names(p, names))
		ret = ut_err_nomem(err);
	else
		ret = elf_write_semaphores(machine, (const char *const *)names, p->nprobes, out, err);
	if (names)
		names_done(names, p->nprobes);
	return ret;
}
