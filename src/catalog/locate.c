/* SPDX-License-Identifier: MIT */
/* Programs and libraries by name: in PATH, in the library directories, and among what a file needs. */
#include "catalog/locate.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "elf/image.h"
#include "elf/usdt.h"

static const char *const library_directories[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/usr/local/lib",
	"/usr/lib",
	"/lib",
};

void words_done(struct words *words)
{
	for (size_t i = 0; i < words->v.n; i++)
		free(words->v.v[i]);
	vec_done(&words->v);
}

/* DIRECTORY/NAME if that is a regular file that we may use in this way. */
static char *file_in(const char *directory, size_t len, const char *name, int access_mode)
{
	struct stat st;
	char *path;

	if (asprintf(&path, "%.*s%s%s", (int)len, directory, len ? "/" : "", name) < 0)
		return NULL;
	if (!stat(path, &st) && S_ISREG(st.st_mode) && !access(path, access_mode))
		return path;
	free(path);
	return NULL;
}

static char *find_program(const char *name)
{
	const char *directory = getenv("PATH");
	char *found = NULL;

	if (!directory)
		directory = "/usr/local/bin:/usr/bin:/bin";
	for (size_t len = 0; !found; directory += len + 1) {
		len = strcspn(directory, ":");
		if (len)
			found = file_in(directory, len, name, X_OK);
		if (!directory[len])
			break;
	}
	return found;
}

static bool has_elf_magic(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char magic[SELFMAG];

	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) && !memcmp(magic, ELFMAG, SELFMAG);
}

/* The library @name exactly: libruby-3.1.so.3.1. Linker scripts (libc.so) are passed over. */
static char *find_library(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(library_directories); i++) {
		char *found = file_in(library_directories[i], strlen(library_directories[i]), name, R_OK);

		if (found && has_elf_magic(found))
			return found;
		free(found);
	}
	return NULL;
}

/* The shortest file name in the directory that begins with @stem, ".so" and the end or a version; NULL when none. */
static char *find_version(const char *directory, const char *stem)
{
	AUTO_CLOSEDIR DIR *dir = opendir(directory);
	AUTO_FREE char *best = NULL;
	size_t len = strlen(stem);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *rest = entry->d_name + len;
		AUTO_FREE char *path = NULL;

		if (strncmp(entry->d_name, stem, len) || strncmp(rest, ".so", 3) || (rest[3] && rest[3] != '.'))
			continue;
		path = file_in(directory, strlen(directory), entry->d_name, R_OK);
		if (path && (!best || strlen(path) < strlen(best)) && has_elf_magic(path)) {
			free(best);
			best = take_ptr(path);
		}
	}
	return take_ptr(best);
}

/* "ruby-3.1", "libruby-3.1": what people leave out of a library's name. */
static char *find_library_by_stem(const char *name)
{
	AUTO_FREE char *stem = NULL;
	char *found = NULL;

	if (asprintf(&stem, "%s%s", strncmp(name, "lib", 3) ? "lib" : "", name) < 0)
		return stem = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(library_directories) && !found; i++)
		found = find_version(library_directories[i], stem);
	return found;
}

/* A program that is a script (a launcher in front of the real one) is passed over. */
char *locate_file(const char *name)
{
	char *found = find_program(name);

	if (found && has_elf_magic(found))
		return found;
	free(found);
	found = find_library(name);
	return found ? found : find_library_by_stem(name);
}

static bool path_has_notes(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct elf_image *img;
	bool ret;

	if (fd < 0 || elf_image_open(fd, &img, NULL))
		return false;
	ret = usdt_has_notes(img);
	elf_image_free(img);
	return ret;
}

/* Adds the library, with @with_probes only if it has probes. */
static void add_needed(const char *name, bool with_probes, struct words *ret)
{
	AUTO_FREE char *path = find_library(name);

	if (path && (!with_probes || path_has_notes(path)) && !vec_push(&ret->v, path))
		path = NULL;
}

void locate_needed(int fd, bool with_probes, struct words *ret)
{
	const void *dynamic, *strings;
	size_t size, strings_size;
	struct elf_image *img;

	if (elf_image_open(fd, &img, NULL))
		return;
	if (elf_image_section_data(img, ".dynamic", &dynamic, &size) &&
	    elf_image_section_data(img, ".dynstr", &strings, &strings_size)) {
		for (size_t at = 0; at + sizeof(Elf64_Dyn) <= size; at += sizeof(Elf64_Dyn)) {
			Elf64_Dyn d;

			memcpy(&d, (const char *)dynamic + at, sizeof(d));
			if (d.d_tag == DT_NULL)
				break;
			if (d.d_tag == DT_NEEDED && d.d_un.d_val < strings_size &&
			    memchr((const char *)strings + d.d_un.d_val, '\0', strings_size - d.d_un.d_val) &&
			    !strchr((const char *)strings + d.d_un.d_val, '/'))
				add_needed((const char *)strings + d.d_un.d_val, with_probes, ret);
		}
	}
	elf_image_free(img);
}
