/* SPDX-License-Identifier: MIT */
/* Where programs and libraries are, by their names. */
#ifndef UT_CATALOG_LOCATE_H
#define UT_CATALOG_LOCATE_H

#include <stdbool.h>

#include "base/vec.h"

struct words {
	VEC(char *) v;
}; /* owned */
void words_done(struct words *words);

/* The path of the program or library @name, found in PATH and the library directories; NULL if there is none. The caller frees it. */
char *locate_file(const char *name);
/* The libraries that the file needs; @with_probes: those that have probes alone. */
void locate_needed(int fd, bool with_probes, struct words *ret);

#endif
