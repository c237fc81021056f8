/* SPDX-License-Identifier: MIT */
/* Finds runtimes by the names of files in PATH and the usual directories, and of running processes. */
#include "doctor/installed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "catalog/locate.h"
#include "proc/process.h"

/* In addition to PATH: runtimes are often libraries, or programs behind a launcher. */
static const char *const directories[] = {
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib64",
	"/usr/lib",
	"/usr/local/lib",
	"/usr/lib/jvm/*/lib/server",
	"/usr/local/lib/jvm/*/lib/server",
	"/opt/*/lib/server",
	"/usr/lib/postgresql/*/bin",
	"/usr/lib/erlang/erts-*/bin",
	"/usr/lib/clisp-*/base",
	"/usr/lib/dotnet/shared/Microsoft.NETCore.App/*",
	"/usr/share/dotnet/shared/Microsoft.NETCore.App/*",
};

struct candidate {
	const struct runtime *runtime;
	struct file_id id;
	char *path; /* owned; links resolved */
	bool part; /* another candidate needs it */
	struct words needs;
};

struct search {
	const struct runtimes *runtimes;
	VEC(struct candidate) found;
	bool failed; /* out of memory */
};

static struct candidate *find_candidate(struct search *s, const struct file_id *id)
{
	for (size_t i = 0; i < s->found.n; i++)
		if (s->found.v[i].id.ino == id->ino && s->found.v[i].id.dev == id->dev)
			return &s->found.v[i];
	return NULL;
}

static void push_candidate(struct search *s, struct candidate c)
{
	if (c.path && !vec_push(&s->found, c))
		return;
	free(c.path);
	words_done(&c.needs);
	s->failed = true;
}

/* @path has all links resolved, as in the mappings of a process. False: it is neither a program nor a library. */
static bool add_candidate(struct search *s, const char *path)
{
	const struct runtime *runtime = runtime_of_file(s->runtimes, path);
	AUTO_CLOSE int fd = runtime ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	struct candidate c = { .runtime = runtime };
	struct stat st;
	char magic[4];

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, "\177ELF", sizeof(magic)))
		return false;
	c.id = (struct file_id){ .dev = st.st_dev, .ino = st.st_ino };
	if (find_candidate(s, &c.id))
		return true;
	locate_needed(fd, false, &c.needs);
	c.path = strdup(path);
	push_candidate(s, c);
	return true;
}

static void scan_directory(struct search *s, const char *directory)
{
	AUTO_CLOSEDIR DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		AUTO_FREE char *path = NULL, *real = NULL;

		if (entry->d_type != DT_REG && entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
			continue;
		if (entry->d_type == DT_REG && !runtime_of_file(s->runtimes, entry->d_name))
			continue;
		if (asprintf(&path, "%s/%s", directory, entry->d_name) < 0) {
			path = NULL;
			s->failed = true;
			continue;
		}
		real = realpath(path, NULL);
		if (real)
			add_candidate(s, real);
	}
}

static void scan_directories(struct search *s)
{
	AUTO_FREE char *copy = strdup(getenv("PATH") ? getenv("PATH") : "/usr/local/bin:/usr/bin:/bin");
	char *rest = copy, *directory;

	s->failed |= !copy;
	while ((directory = strsep(&rest, ":")))
		if (directory[0] == '/')
			scan_directory(s, directory);
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		glob_t g = { 0 };

		if (!glob(directories[i], GLOB_ONLYDIR, NULL, &g))
			for (size_t k = 0; k < g.gl_pathc; k++)
				scan_directory(s, g.gl_pathv[k]);
		globfree(&g);
	}
}

/* A library that a program of the same runtime needs is reported with the program. */
static void mark_parts(struct search *s)
{
	for (size_t i = 0; i < s->found.n; i++)
		for (size_t k = 0; k < s->found.v[i].needs.v.n; k++) {
			struct candidate *part;
			struct stat st;

			if (stat(s->found.v[i].needs.v.v[k], &st))
				continue;
			part = find_candidate(s, &(struct file_id){ .dev = st.st_dev, .ino = st.st_ino });
			if (part && part != &s->found.v[i] && part->runtime == s->found.v[i].runtime)
				part->part = true;
		}
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = strcmp(x->runtime->name, y->runtime->name);

	return order ? order : strcmp(x->path, y->path);
}

static void installed_done(struct installed *i)
{
	for (size_t k = 0; k < i->files.n; k++) {
		free(i->files.v[k].path);
		close(i->files.v[k].fd);
	}
	vec_done(&i->files);
}

/* Owns @fd from here on. Skips devices that a process has mapped as code. */
static void add_installed_file(struct installed *i, const char *path, int fd, bool *failed)
{
	struct installed_file f = { .path = strdup(path), .fd = fd };
	struct stat st;
	bool regular = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);

	if (regular && f.path && !vec_push(&i->files, f))
		return;
	*failed |= regular;
	free(f.path);
	if (fd >= 0)
		close(fd);
}

static void add_installed_path(struct search *s, struct installed *i, const char *path)
{
	add_installed_file(i, path, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), &s->failed);
}

/* The longest version is the most precise: "3.1.2" of libruby against "3.1" of ruby3.1. */
static void set_longest_version(const struct runtimes *runtimes, struct installed *i)
{
	for (size_t k = 0; k < i->files.n; k++) {
		char version[32];

		if (runtime_of_file(runtimes, i->files.v[k].path) == i->runtime &&
		    runtime_version(i->runtime, i->files.v[k].path, i->files.v[k].fd, version) &&
		    strlen(version) > strlen(i->version))
			strcpy(i->version, version);
	}
}

static void visit_candidate(struct search *s, const struct candidate *c,
			    void (*fn)(void *ctx, const struct installed *i), void *ctx)
{
	struct installed i = { .runtime = c->runtime };

	add_installed_path(s, &i, c->path);
	for (size_t k = 0; i.files.n && k < c->needs.v.n; k++) {
		AUTO_FREE char *real = realpath(c->needs.v.v[k], NULL);

		if (real)
			add_installed_path(s, &i, real);
	}
	set_longest_version(s->runtimes, &i);
	if (i.files.n)
		fn(ctx, &i);
	installed_done(&i);
}

/* Flags in @ret the files of a process that belong to @runtime: by name, otherwise the program. False: none. */
static bool mark_runtime_files(const struct search *s, const struct runtime *runtime, const struct mapped_files *files,
			       bool *ret)
{
	bool any = false;

	for (size_t i = 0; i < files->files.n; i++) {
		ret[i] = runtime_of_file(s->runtimes, files->files.v[i].first.path) == runtime;
		any |= ret[i];
	}
	if (!any && files->files.n)
		ret[0] = any = true;
	return any;
}

static bool is_known(struct search *s, const struct mapped_files *files, const bool *own)
{
	for (size_t i = 0; i < files->files.n; i++)
		if (own[i] && find_candidate(s, &files->files.v[i].first.file))
			return true;
	return false;
}

/* A running runtime outside the usual directories: built by its user, or in a container. The files of the runtime come first. */
static void visit_process(struct search *s, const struct runtime *runtime, pid_t pid, const struct mapped_files *files,
			  void (*fn)(void *ctx, const struct installed *i), void *ctx)
{
	AUTO_FREE bool *own = calloc(files->files.n + 1, sizeof(*own));
	struct installed i = { .runtime = runtime, .pid = pid };

	s->failed |= !own;
	if (!own || !mark_runtime_files(s, runtime, files, own) || is_known(s, files, own))
		return;
	for (int others = 0; others <= 1; others++)
		for (size_t k = 0; k < files->files.n; k++) {
			const struct mapping *m = &files->files.v[k].first;

			if (own[k] == others)
				continue;
			add_installed_file(&i, m->path, mapping_open(pid, m, NULL), &s->failed);
			if (!others)
				push_candidate(s, (struct candidate){
							  .runtime = runtime, .id = m->file, .path = strdup(m->path) });
		}
	set_longest_version(s->runtimes, &i);
	if (i.files.n)
		fn(ctx, &i);
	installed_done(&i);
}

static int visit_processes(struct search *s, void (*fn)(void *ctx, const struct installed *i), void *ctx,
			   struct ut_err *err)
{
	AUTO_FREE struct process_id *ids = NULL;
	size_t n = 0;
	int r = process_list(&ids, &n, err);

	for (size_t i = 0; !r && i < n; i++) {
		AUTO(mapped_files_done) struct mapped_files files = { 0 };
		const struct runtime *runtime = runtime_of_process(s->runtimes, ids[i].pid);

		if (runtime && !runtime->library && !mapped_files_read(ids[i].pid, &files, NULL))
			visit_process(s, runtime, ids[i].pid, &files, fn, ctx);
	}
	return r;
}

static void search_done(struct search *s)
{
	for (size_t i = 0; i < s->found.n; i++) {
		free(s->found.v[i].path);
		words_done(&s->found.v[i].needs);
	}
	vec_done(&s->found);
}

static int find_candidates(struct search *s, char *const *paths, size_t npaths, struct ut_err *err)
{
	for (size_t i = 0; i < npaths; i++) {
		AUTO_FREE char *real = realpath(paths[i], NULL);

		if (!real)
			return ut_err_set(err, -errno, "cannot open '%s': %s", paths[i], strerror(errno));
		if (!runtime_of_file(s->runtimes, real))
			return ut_err_set(err, -EINVAL, "no runtime definition matches '%s'", real);
		if (!add_candidate(s, real))
			return ut_err_set(err, -EINVAL, "'%s' is neither a program nor a library", real);
	}
	if (npaths)
		return 0;
	scan_directories(s);
	mark_parts(s);
	if (s->found.n)
		qsort(s->found.v, s->found.n, sizeof(*s->found.v), compare_candidates);
	return 0;
}

int installed_each(const struct runtimes *runtimes, char *const *paths, size_t npaths,
		   void (*fn)(void *ctx, const struct installed *i), void *ctx, struct ut_err *err)
{
	AUTO(search_done) struct search s = { .runtimes = runtimes };
	int r = find_candidates(&s, paths, npaths, err);

	for (size_t i = 0; !r && i < s.found.n; i++)
		if (!s.found.v[i].part)
			visit_candidate(&s, &s.found.v[i], fn, ctx);
	if (!r && !npaths)
		r = visit_processes(&s, fn, ctx, err);
	return s.failed ? ut_err_nomem(err) : r;
}
