/* SPDX-License-Identifier: MIT */
/* The cache of program files, by device, inode and path: while a file is open here, its inode cannot be reused. The
 * path counts because some filesystems show the same numbers for several files. */
#include "sym/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "elf/lines.h"

static void file_free(struct sym_file *f)
{
	if (!f)
		return;
	elf_lines_free(f->lines);
	elf_image_free(f->img);
	free(f->path);
	free(f);
}

static struct sym_file **bucket(const struct sym_files *files, const struct file_id *id)
{
	uint64_t h = (id->ino ^ id->dev << 40) * 0x9e3779b97f4a7c15u;

	return &files->buckets[(h >> 32) & (files->nbuckets - 1)];
}

static int make_room(struct sym_files *files)
{
	size_t n = files->nbuckets ? files->nbuckets * 2 : 64;
	struct sym_files fresh = { .nbuckets = n };

	if (files->n < files->nbuckets)
		return 0;
	fresh.buckets = calloc(n, sizeof(*fresh.buckets));
	if (!fresh.buckets)
		return -ENOMEM;
	for (size_t i = 0; i < files->nbuckets; i++) {
		for (struct sym_file *f = files->buckets[i], *next; f; f = next) {
			struct sym_file **at = bucket(&fresh, &f->id);

			next = f->next;
			f->next = *at;
			*at = f;
		}
	}
	free(files->buckets);
	files->buckets = fresh.buckets;
	files->nbuckets = n;
	return 0;
}

static uint64_t mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static bool is_unchanged(const struct sym_file *f)
{
	struct stat st;

	return elf_image_stat(f->img, &st) && (uint64_t)st.st_size == f->size && mtime_ns(&st) == f->mtime_ns;
}

static struct sym_file *find(const struct sym_files *files, const struct mapping *m)
{
	if (!files->nbuckets)
		return NULL;
	for (struct sym_file *f = *bucket(files, &m->file); f; f = f->next)
		if (f->img && f->id.dev == m->file.dev && f->id.ino == m->file.ino && strcmp(f->path, m->path) == 0 &&
		    is_unchanged(f))
			return f;
	return NULL;
}

/* Leaves half of the descriptors to others. The limit is raised late: programs that we start inherit it. */
static bool may_open(const struct sym_files *files)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || files->n < limit.rlim_cur / 4)
		return true;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return files->n < limit.rlim_max / 4; /* each may have a second one with its debugging symbols */
}

/* The process has ended, but the file may still be where it was. */
static int open_by_path(const struct mapping *m)
{
	AUTO_CLOSE int fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	struct stat st;

	if (m->path[0] != '/' || fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -ENOENT;
	return st.st_dev == m->file.dev && st.st_ino == m->file.ino ? take_fd(&fd) : -ESTALE;
}

static enum sym_file_state state_of(int r)
{
	switch (r) {
	case 0: return SYM_FILE_OPEN;
	case -ENOEXEC:
	case -ENODEV: return SYM_FILE_NOT_ELF;
	case -EBADMSG: return SYM_FILE_BROKEN;
	case -EPERM:
	case -EACCES: return SYM_FILE_DENIED;
	case -EMFILE:
	case -ENFILE: return SYM_FILE_TOO_MANY;
	default: return SYM_FILE_GONE;
	}
}

static bool is_same(const char *path, const char *own)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(own, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* A process with other mounts or another root has its debugging symbols there. */
static void find_debug(struct elf_image *img, pid_t pid, const char *path)
{
	char link[64], mounts[64], outer[PATH_MAX];
	AUTO_CLOSE int root = -1;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/root", (int)pid);
	snprintf(mounts, sizeof(mounts), "/proc/%d/ns/mnt", (int)pid);
	if (is_same(link, "/") && is_same(mounts, "/proc/self/ns/mnt"))
		return;
	root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return;
	/* After chroot the path begins at our root; in another mount namespace it begins at the process's. */
	len = readlink(link, outer, sizeof(outer));
	if (len > 1 && (size_t)len < sizeof(outer) && strncmp(path, outer, (size_t)len) == 0 && path[len] == '/')
		path += len;
	elf_image_find_debug(img, root, path);
}

static int open_image(struct sym_files *files, struct sym_file *f, pid_t pid, const struct mapping *m,
		      struct ut_err *err)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int r;

	if (!may_open(files))
		return ut_err_set(err, -EMFILE,
				  "'%s' is not opened, its functions have no names: too many files are "
				  "open (ulimit -n)",
				  m->path);
	fd = mapping_open(pid, m, err);
	if (fd == -ESRCH)
		fd = open_by_path(m);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	r = elf_image_open(fd, &f->img, err);
	if (r) {
		ut_err_wrap(err, "'%s'", m->path);
		return r;
	}
	f->size = (uint64_t)st.st_size;
	f->mtime_ns = mtime_ns(&st);
	find_debug(f->img, pid, m->path);
	return 0;
}

struct sym_file *sym_files_get(struct sym_files *files, pid_t pid, const struct mapping *m, struct ut_err *err)
{
	struct sym_file *f = find(files, m), **at;
	const char *slash;

	if (f) {
		f->refs++;
		return f;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->id = m->file;
	f->refs = 1;
	f->path = strdup(m->path);
	if (!f->path || make_room(files)) {
		file_free(f);
		return NULL;
	}
	slash = strrchr(f->path, '/');
	f->name = slash ? slash + 1 : f->path;
	f->number = ++files->last_number;
	f->state = state_of(open_image(files, f, pid, m, err));
	at = bucket(files, &f->id);
	f->next = *at;
	*at = f;
	files->n++;
	return f;
}

void sym_files_put(struct sym_files *files, struct sym_file *file)
{
	if (!file || --file->refs)
		return;
	for (struct sym_file **at = bucket(files, &file->id); *at; at = &(*at)->next) {
		if (*at == file) {
			*at = file->next;
			files->n--;
			break;
		}
	}
	file_free(file);
}

void sym_files_done(struct sym_files *files)
{
	for (size_t i = 0; i < files->nbuckets; i++)
		for (struct sym_file *f = files->buckets[i], *next; f; f = next) {
			next = f->next;
			file_free(f);
		}
	free(files->buckets);
	*files = (struct sym_files){ 0 };
}
