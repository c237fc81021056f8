/* SPDX-License-Identifier: MIT */
/* What all loaders of src/bpf do with the skeletons that bpftool makes of its objects. */
#ifndef UT_KERNEL_KERNEL_OBJECT_H
#define UT_KERNEL_KERNEL_OBJECT_H

#include <bpf/libbpf.h>
#include <stdbool.h>

#include "base/err.h"

/* @fd is used instead of the map; the caller keeps ownership. Below 0: no program that runs uses the map, and it is
 * not made. */
int kernel_map_share(struct bpf_map *map, int fd);
/* @r: the result for the object so far. @verbose: libbpf prints why the kernel rejects it to standard error. */
int kernel_object_load(struct bpf_object_skeleton *skeleton, int r, bool verbose, struct ut_err *err);

#endif
