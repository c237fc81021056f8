/* SPDX-License-Identifier: MIT */
/* Skeletons into the kernel. */
#include "kernel/kernel_object.h"

#include <errno.h>
#include <string.h>

int kernel_map_share(struct bpf_map *map, int fd)
{
	return fd < 0 ? bpf_map__set_autocreate(map, false) : bpf_map__reuse_fd(map, fd);
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

int kernel_object_load(struct bpf_object_skeleton *skeleton, int r, bool verbose, struct ut_err *err)
{
	libbpf_print_fn_t before = verbose ? NULL : libbpf_set_print(quiet);

	if (!r)
		r = bpf_object__load_skeleton(skeleton);
	if (before)
		libbpf_set_print(before);
	if (r == -EPERM || r == -EACCES)
		return ut_err_set(
			err, r, "may not load programs into the kernel: run as root, or with CAP_BPF and CAP_PERFMON");
	if (r)
		ut_err_set(err, r, "the kernel refuses the %s programs: %s (usertrace doctor tells what is missing)",
			   skeleton->name, strerror(-r));
	return r;
}
