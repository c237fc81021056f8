/* SPDX-License-Identifier: MIT */
/* The symbols of a stripped file, where a package of debugging symbols has brought them: below /usr/lib/debug, by build
 * id or by the name that the file gives. Only a file with the very same build id is believed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "elf/internal.h"

const char *image_debug_root = "/usr/lib/debug";

static bool same_build(struct elf_image *a, struct elf_image *b)
{
	const struct elf_build_id *x = elf_image_build_id(a), *y = elf_image_build_id(b);

	return x->size == y->size && memcmp(x->bytes, y->bytes, x->size) == 0;
}

/* The file at @path, when it is of the same build as @img and has symbols. */
static struct elf_image *open_debug_file(struct elf_image *img, const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct ut_err err = {};
	struct elf_image *debug;

	if (fd < 0 || elf_image_open(fd, &debug, &err))
		return NULL;
	if (debug->machine == img->machine && debug->is_64 == img->is_64 && same_build(img, debug))
		return debug;
	return elf_image_free(debug);
}

static bool path_by_build_id(struct elf_image *img, char *path, size_t size)
{
	const struct elf_build_id *id = elf_image_build_id(img);
	int n = snprintf(path, size, "%s/.build-id/%02x/", image_debug_root, id->bytes[0]);

	for (unsigned i = 1; i < id->size && n > 0 && (size_t)n < size; i++)
		n += snprintf(path + n, size - (size_t)n, "%02x", id->bytes[i]);
	if (n > 0 && (size_t)n < size)
		n += snprintf(path + n, size - (size_t)n, ".debug");
	return id->size > 1 && n > 0 && (size_t)n < size;
}

/* The folder of the file itself, below the root, and the name in its .gnu_debuglink. */
static bool path_by_name(struct elf_image *img, char *path, size_t size)
{
	struct section *s = image_section(img, ".gnu_debuglink");
	char proc[64], own[PATH_MAX];
	const char *name;
	ssize_t len;
	int n;

	if (!s || s->size > NAME_MAX + 8 || !section_load(img, s))
		return false;
	name = s->data;
	if (!s->data_size || !memchr(name, '\0', s->data_size) || !*name || strchr(name, '/'))
		return false;
	snprintf(proc, sizeof proc, "/proc/self/fd/%d", img->fd);
	len = readlink(proc, own, sizeof own - 1);
	if (len <= 0 || own[0] != '/')
		return false;
	own[len] = '\0';
	n = snprintf(path, size, "%s%.*s/%s", image_debug_root, (int)(strrchr(own, '/') - own), own, name);
	return n > 0 && (size_t)n < size;
}

struct elf_image *image_debug_file(struct elf_image *img)
{
	struct elf_image *debug = NULL;
	char path[PATH_MAX];

	if (img->fd < 0 || !elf_image_build_id(img)->size)
		return NULL;
	if (path_by_build_id(img, path, sizeof path))
		debug = open_debug_file(img, path);
	if (!debug && path_by_name(img, path, sizeof path))
		debug = open_debug_file(img, path);
	return debug;
}
