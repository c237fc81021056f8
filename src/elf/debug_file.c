/* SPDX-License-Identifier: MIT */
/* The debugging symbols of a stripped file, where a package or a build has left them: below /usr/lib/debug by build id,
 * or by the name in .gnu_debuglink beside the file, in .debug/ and below /usr/lib/debug. Only a file of the very same
 * build is believed: by its build id, or for files without one by the checksum that the link gives. Files of a
 * container are searched in its root. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <zlib.h>

#include "base/auto.h"
#include "base/io.h"
#include "base/path.h"
#include "elf/image_priv.h"

#define CRC_CHUNK 65536
#define CRC_BYTES_MAX (2ull << 30) /* a larger file is not read whole for its checksum */

const char *image_debug_root = "/usr/lib/debug";

struct debuglink {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

/* The name and the checksum in .gnu_debuglink; false when there is none that can be followed. */
static bool read_debuglink(struct elf_image *img, struct debuglink *ret)
{
	struct section *s = image_section(img, ".gnu_debuglink");
	size_t len, crc_at;

	if (!s || s->size > NAME_MAX + 8 || !section_load(img, s))
		return false;
	len = strnlen(s->data, s->data_size);
	crc_at = (len + 4) & ~(size_t)3;
	if (!len || len > NAME_MAX || memchr(s->data, '/', len) || crc_at + sizeof(ret->crc) > s->data_size)
		return false;
	memcpy(ret->name, s->data, len + 1);
	memcpy(&ret->crc, (char *)s->data + crc_at, sizeof(ret->crc));
	return true;
}

static bool has_crc(const struct elf_image *debug, uint32_t expected)
{
	AUTO_FREE uint8_t *chunk = malloc(CRC_CHUNK);
	uLong crc = crc32(0, NULL, 0);

	if (!chunk || debug->size > CRC_BYTES_MAX)
		return false;
	for (uint64_t at = 0; at < debug->size;) {
		size_t n = debug->size - at < CRC_CHUNK ? (size_t)(debug->size - at) : CRC_CHUNK;

		if (!image_read(debug, at, chunk, n))
			return false;
		crc = crc32(crc, chunk, (uInt)n);
		at += n;
	}
	return crc == expected;
}

/* @link: NULL when the file was not found by its link. */
static bool same_build(struct elf_image *img, struct elf_image *debug, const struct debuglink *link)
{
	const struct elf_build_id *x = elf_image_build_id(img), *y = elf_image_build_id(debug);

	if (debug->machine != img->machine || debug->is_64 != img->is_64)
		return false;
	if (x->size || y->size)
		return x->size == y->size && memcmp(x->bytes, y->bytes, x->size) == 0;
	return link && has_crc(debug, link->crc);
}

/* Opens @path below @root (-1: our own) if it is a regular file. */
static int open_below(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	AUTO_CLOSE int peek = -1;
	struct stat st;
	int fd;

	peek = root < 0 ? open(path, O_PATH | O_CLOEXEC) : (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	fd = peek < 0 ? -ENOENT : open_regular(peek, &st);
	return fd == -ENODEV ? -ENOENT : fd;
}

/* The debug link may name the file itself, meaning the file of the same name in another directory. */
static bool is_itself(const struct elf_image *img, int fd)
{
	struct stat own, other;

	return !fstat(img->fd, &own) && !fstat(fd, &other) && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* The file at @path, when it is of the same build as @img. */
static struct elf_image *open_debug_file(struct elf_image *img, int root, const char *path,
					 const struct debuglink *link)
{
	AUTO_CLOSE int fd = open_below(root, path);
	struct elf_image *debug;

	if (fd < 0 || is_itself(img, fd) || elf_image_open(fd, &debug, NULL))
		return NULL;
	return same_build(img, debug, link) ? debug : elf_image_free(debug);
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

/* The path under which the file was opened, "" when it has none any more. */
static void path_of_process(const struct elf_image *img, char ret[PATH_MAX])
{
	char proc[64];
	ssize_t len;

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", img->fd);
	len = readlink(proc, ret, PATH_MAX - 1);
	ret[len > 0 && ret[0] == '/' ? len : 0] = '\0';
}

static struct elf_image *find_by_link(struct elf_image *img, int root, const char *own)
{
	char path[2 * PATH_MAX];
	struct elf_image *debug = NULL;
	struct debuglink link;
	int folder;

	if (own[0] != '/' || !read_debuglink(img, &link))
		return NULL;
	folder = (int)(path_base(own) - 1 - own);
	for (unsigned i = 0; i < 3 && !debug; i++) {
		snprintf(path, sizeof(path), "%s%.*s%s/%s", i == 2 ? image_debug_root : "", folder, own,
			 i == 1 ? "/.debug" : "", link.name);
		debug = open_debug_file(img, root, path, &link);
	}
	return debug;
}

static struct elf_image *find_below(struct elf_image *img, int root, const char *own)
{
	struct elf_image *debug = NULL;
	char path[PATH_MAX];

	if (path_by_build_id(img, path, sizeof(path)))
		debug = open_debug_file(img, root, path, NULL);
	return debug ? debug : find_by_link(img, root, own);
}

struct elf_image *image_debug_file(struct elf_image *img)
{
	char own[PATH_MAX];

	if (img->debug_tried || img->fd < 0)
		return img->debug;
	img->debug_tried = true;
	path_of_process(img, own);
	img->debug = find_below(img, -1, own);
	return img->debug;
}

void elf_image_find_debug(struct elf_image *img, int root, const char *path)
{
	if (img->debug || img->fd < 0 || img->symtabs_loaded || image_section(img, ".debug_info"))
		return;
	img->debug = find_below(img, root, path);
	img->debug_tried = img->debug != NULL; /* else it may be in our own root */
}

const char *elf_debug_root(const char *folder)
{
	const char *before = image_debug_root;

	if (folder)
		image_debug_root = folder;
	return before;
}
