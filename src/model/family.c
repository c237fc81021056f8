/* SPDX-License-Identifier: MIT */
/* A table by the low bits of the pid: pids are assigned in turn, so the newest replace the oldest. */
#include "model/family.h"

#include <stdlib.h>

struct member {
	uint32_t child; /* 0: none */
	struct family_parent parent;
};

struct family {
	struct member v[FAMILY_MAX];
};

struct family *family_new(void) { return calloc(1, sizeof(struct family)); }

struct family *family_free(struct family *f)
{
	free(f);
	return NULL;
}

void family_fork(struct family *f, uint32_t child, const struct family_parent *parent)
{
	struct member *m = &f->v[child % FAMILY_MAX];

	m->child = child;
	m->parent = *parent;
}

bool family_parent(const struct family *f, uint32_t child, struct family_parent *ret)
{
	const struct member *m = &f->v[child % FAMILY_MAX];

	if (!child || m->child != child)
		return false;
	*ret = m->parent;
	return true;
}
