/* SPDX-License-Identifier: MIT */
/* One file's notes, for the parts of the catalogue. */
#ifndef UT_CATALOG_CATALOG_PRIV_H
#define UT_CATALOG_CATALOG_PRIV_H

#include "catalog/catalog.h"

/* Reads the notes and picks those that fit. -ENOTSUP for files of other machines. To be followed by catalog_file_done. */
int catalog_file_read(struct catalog *c, struct catalog_file *file, int fd, struct ut_err *err);
void catalog_file_done(struct catalog_file *file);
/* Is the provider one of the runtime's own? */
bool catalog_is_own(const struct runtime *runtime, const char *provider);

#endif
