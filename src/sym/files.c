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
#include "base/clock.h"
#include "base/path.h"
#include "elf/lines.h"
#include "proc/procfs.h"

static void file_free(struct sym_file *f)
{
	if (!f)
		return;
	elf_lines_free(f->lines);
	elf_image_free(f->img);
	free(f->path);
	free(f);
}

static bool is_file_of(const struct sym_file *f, const struct mapping *m)
{
	struct stat st;

	return f->img && file_id_equal(&f->id, &m->file) && strcmp(f->path, m->path) == 0 &&
	       elf_image_stat(f->img, &st) && (uint64_t)st.st_size == f->size &&
	       timespec_ns(&st.st_mtim) == f->mtime_ns;
}

/* Leaves half of the descriptors to others. The limit is raised late: programs that we start inherit it. */
static bool may_open(const struct sym_files *files)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || files->all.n < limit.rlim_cur / 4)
		return true;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return files->all.n < limit.rlim_max / 4; /* each may have a second one with its debugging symbols */
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

static enum sym_file_state state_of_error(int r)
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

/* A process with other mounts or another root has its debugging symbols there. */
static void find_debug(struct elf_image *img, pid_t pid, const char *path)
{
	char link[64], outer[PATH_MAX];
	AUTO_CLOSE int root = -1;
	ssize_t len;

	if (process_shares_files(pid) || (root = procfs_open_below(pid, "root", "", 0, 0)) < 0)
		return;
	snprintf(link, sizeof(link), "/proc/%d/root", (int)pid);
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
				  "cannot open '%s', so its functions have no names: too many open files (ulimit -n)",
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
	f->mtime_ns = timespec_ns(&st.st_mtim);
	find_debug(f->img, pid, m->path);
	return 0;
}

struct sym_file *sym_files_get(struct sym_files *files, pid_t pid, const struct mapping *m, struct ut_err *err)
{
	uint64_t hash = file_id_hash(&m->file);
	uint32_t found = index_find(&files->index, hash, i, is_file_of(files->all.v[i], m));
	struct sym_file *f;

	if (found != INDEX_NONE)
		return files->all.v[found];
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->id = m->file;
	f->path = strdup(m->path);
	if (!f->path || vec_reserve(&files->all, files->all.n + 1) ||
	    index_add(&files->index, hash, (uint32_t)files->all.n)) {
		file_free(f);
		return NULL;
	}
	f->name = path_base(f->path);
	f->number = ++files->last_number;
	f->state = state_of_error(open_image(files, f, pid, m, err));
	files->all.v[files->all.n++] = f;
	return f;
}

void sym_files_done(struct sym_files *files)
{
	for (size_t i = 0; i < files->all.n; i++)
		file_free(files->all.v[i]);
	vec_done(&files->all);
	index_done(&files->index);
	*files = (struct sym_files){ 0 };
}
