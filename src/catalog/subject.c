/* SPDX-License-Identifier: MIT */
/* The probes of a named file, and those of a process: of every file that it has mapped. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "catalog/catalog_priv.h"

void catalog_done(struct catalog *c)
{
	words_done(&c->others);
	free(c->functions);
	runtimes_done(&c->runtimes);
}

static int read_subject_file(struct catalog *c, struct catalog_subject *subject, struct catalog_file *file, int fd,
			     const struct catalog_sink *sink, struct ut_err *err)
{
	int r = catalog_file_read(c, file, fd, err);

	if (r)
		return r;
	subject->files++;
	subject->probes += file->notes.notes.n;
	subject->shown += file->sites.n;
	c->shown += file->sites.n;
	for (size_t i = 0; i < file->notes.notes.n && !subject->own_probes; i++)
		subject->own_probes = catalog_is_own(subject->runtime, file->notes.notes.v[i].provider);
	sink->file(sink->ctx, subject, file);
	return 0;
}

/* For users who name a function where a probe is expected: keeps the first file that has such functions. */
static void find_function_file(struct catalog *c, const char *path, int fd)
{
	const struct elf_symbol *symbols;
	struct elf_image *img;
	size_t n;

	if (c->functions || !c->pattern || strchr(c->pattern, ':') || elf_image_open(fd, &img, NULL))
		return;
	n = elf_image_symbols(img, &symbols);
	for (size_t i = 0; i < n && !c->functions; i++)
		if (symbols[i].is_func && glob_match(c->pattern, symbols[i].name))
			c->functions = strdup(path);
	elf_image_free(img);
}

/* --- a file ------------------------------------------------------------------------------------------------ */

static int open_regular_file(const char *path, struct ut_err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return ut_err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return ut_err_set(err, -EISDIR, "'%s' is a directory; name a program or a library", path);
	if (!S_ISREG(st.st_mode))
		return ut_err_set(err, -EINVAL, "'%s' is not a regular file", path);
	return take_fd(&fd);
}

static const struct runtime *runtime_of_path(const struct catalog *c, const char *path)
{
	const struct runtime *runtime = runtime_of_file(&c->runtimes, path);
	AUTO_FREE char *real = runtime ? NULL : realpath(path, NULL);

	return real ? runtime_of_file(&c->runtimes, real) : runtime;
}

int catalog_path(struct catalog *c, const char *path, const struct catalog_sink *sink, struct ut_err *err)
{
	struct catalog_subject subject = { .path = path, .runtime = runtime_of_path(c, path) };
	AUTO(catalog_file_done) struct catalog_file file = { .path = path };
	AUTO_CLOSE int fd = open_regular_file(path, err);
	int r;

	if (fd < 0)
		return fd;
	r = read_subject_file(c, &subject, &file, fd, sink, err);
	if (r)
		r = ut_err_wrap(err, "'%s'", path);
	if (!subject.runtime)
		subject.runtime = runtime_of_symbols(&c->runtimes, fd);
	if (!r)
		sink->end(sink->ctx, &subject);
	if (c->pattern && !c->shown)
		find_function_file(c, path, fd);
	return r;
}

/* --- a process --------------------------------------------------------------------------------------------- */

static void read_mapped_file(struct catalog *c, struct catalog_subject *subject, const struct mapped_file *mapped,
			     const struct catalog_sink *sink)
{
	AUTO(catalog_file_done)
	struct catalog_file file = { .path = mapped->first.path, .deleted = mapped->first.deleted };
	struct ut_err err = { 0 };
	AUTO_CLOSE int fd = mapping_open(subject->pid, &mapped->first, &err);
	int r = fd < 0 ? fd : read_subject_file(c, subject, &file, fd, sink, &err);

	if (!r || (fd >= 0 && r == -ENOEXEC))
		return; /* not ELF: an archive of classes or the like, which holds no probes */
	if (fd >= 0 && r != -ENOTSUP) {
		sink->broken(sink->ctx, subject, file.path, &err);
		return;
	}
	if (!subject->foreign && (fd >= 0 || !subject->unopened))
		subject->first_unusable = err;
	subject->unopened += fd < 0;
	subject->foreign += fd >= 0;
}

static void read_mapped_files(struct catalog *c, struct catalog_subject *subject, const struct mapped_files *files,
			      const struct catalog_sink *sink)
{
	for (size_t i = 0; i < files->files.n; i++)
		read_mapped_file(c, subject, &files->files.v[i], sink);
	sink->end(sink->ctx, subject);
	for (size_t i = 0; i < files->files.n && c->pattern && !c->shown && !c->functions; i++) {
		const struct mapping *m = &files->files.v[i].first;
		AUTO_CLOSE int fd = mapping_open(subject->pid, m, NULL);

		if (fd >= 0)
			find_function_file(c, m->path, fd);
	}
}

int catalog_process(struct catalog *c, pid_t pid, const struct catalog_sink *sink, struct ut_err *err)
{
	AUTO(mapped_files_done) struct mapped_files files = { 0 };
	struct catalog_subject subject = { .pid = pid };
	struct process_id id;
	int r = process_identify(pid, &id, err);

	if (!r)
		r = mapped_files_read(pid, &files, err);
	if (r)
		return r;
	process_comm(pid, subject.comm);
	if (!files.files.n)
		return ut_err_set(err, -ENODATA, "process %d (%s) has no files: it is a kernel thread, or has exited",
				  pid, subject.comm);
	subject.ns_pid = process_ns_pid(pid);
	subject.runtime = runtime_of_process(&c->runtimes, pid);
	if (subject.runtime && subject.runtime->library)
		subject.runtime = NULL; /* a library such as libstdc++ does not name the process */
	if (files.files.v[0].is_program)
		subject.path = files.files.v[0].first.path;
	read_mapped_files(c, &subject, &files, sink);
	return 0;
}
