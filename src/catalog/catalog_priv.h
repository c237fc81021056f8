/* SPDX-License-Identifier: MIT */
/* Private to the catalog: the notes of one file. */
#ifndef UT_CATALOG_CATALOG_PRIV_H
#define UT_CATALOG_CATALOG_PRIV_H

#include "catalog/catalog.h"

/* Reads the notes and selects those that match. -ENOTSUP for files of other machines. Call catalog_file_done in any case. */
int catalog_file_read(struct catalog *c, struct catalog_file *file, int fd, struct ut_err *err);
void catalog_file_done(struct catalog_file *file);
/* Is the provider one of the runtime's own? */
bool catalog_is_own(const struct runtime *runtime, const char *provider);

#endif
