/* SPDX-License-Identifier: MIT */
/* Which files a request selects, and where they are searched. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "plan/plan_priv.h"

bool library_matches(const char *where, const char *path)
{
	static const char *const
		forms[] = { "%s",	  "%s.so",	 "%s.so.*", "lib%s.so",
			    "lib%s.so.*", "lib%s-*.so*", "%s.*" /* libstdc++.so.6 is a link to libstdc++.so.6.0.30 */ };
	const char *base = path_base(path);
	size_t n = ARRAY_SIZE(forms) - !strstr(where, ".so");
	char pattern[512];

	for (size_t i = 0; i < n; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		int len = snprintf(pattern, sizeof(pattern), forms[i], where);
#pragma GCC diagnostic pop

		if (len > 0 && (size_t)len < sizeof(pattern) && glob_match(pattern, base))
			return true;
	}
	return false;
}

bool request_names_file(const struct plan_request *r, const struct plan_scan *scan)
{
	if (!plan_request_is_path(r))
		return library_matches(r->spec->where, scan->path) || library_matches(r->spec->where, scan->real);
	return !strcmp(r->spec->where, scan->path) ||
	       (glob_is_pattern(r->spec->where) && glob_match(r->spec->where, scan->path)) ||
	       (r->has_id && r->id.ino == scan->id.ino && r->id.dev == scan->id.dev);
}

/* Can any request select this file? Saves opening hundreds of files that their name excludes. */
static bool wanted_by_name(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->requests.n; i++) {
		const struct plan_request *r = &plan->requests.v[i];

		if (r->spec->kind == PROBE_TRACEPOINT || r->spec->kind == PROBE_SIGNAL)
			continue;
		if (r->spec->kind == PROBE_USDT || r->spec->kind == PROBE_USER || plan_request_is_path(r) ||
		    library_matches(r->spec->where, path))
			return true;
	}
	return false;
}

/* For the error of a request without a probe: the file may have it. */
static void note_denied(struct plan *plan, const char *path)
{
	plan->ndenied++;
	if (!plan->denied)
		plan->denied = strdup(path);
}

/* A mapped file that cannot be opened is skipped: another file may have the probe. */
static int plan_mapping_checked(struct plan *plan, pid_t pid, const struct mapping *m, bool check, struct ut_err *err)
{
	struct ut_err why = { 0 };
	AUTO_CLOSE int fd = -1;

	if (!wanted_by_name(plan, m->path) || plan_was_seen(plan, pid, m, check))
		return 0;
	fd = mapping_open(pid, m, &why);
	if (fd == -EPERM || fd == -EACCES)
		note_denied(plan, m->path);
	if (fd < 0)
		return 0;
	return plan_file(plan, m->path, fd, err);
}

int plan_mapping(struct plan *plan, pid_t pid, const struct mapping *m, struct ut_err *err)
{
	return plan_mapping_checked(plan, pid, m, true, err);
}

/* C++, or Rust and others, which bring the unwinder of gcc. */
static bool is_unwinder(const char *path)
{
	static const char *const names[] = { "libstdc++.so", "libc++.so", "libgcc_s.so" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(path_base(path), names[i], strlen(names[i])))
			return true;
	return false;
}

static int plan_process_checked(struct plan *plan, pid_t pid, bool check, struct ut_err *err)
{
	struct mapped_files files = { 0 };
	int r = mapped_files_read(pid, &files, err);

	for (size_t i = 0; !r && check && i < files.files.n; i++)
		plan->unwinder |= is_unwinder(files.files.v[i].first.path);
	for (size_t i = 0; !r && i < files.files.n; i++)
		r = plan_mapping_checked(plan, pid, &files.files.v[i].first, check, err);
	mapped_files_done(&files);
	/* Without @check for all processes of the machine: the first that has chosen decides. */
	return r || (!check && !plan_lacks_choice(plan)) ? r : plan_choose(plan, pid, err);
}

int plan_process(struct plan *plan, pid_t pid, struct ut_err *err)
{
	return plan_process_checked(plan, pid, true, err);
}

int plan_all(struct plan *plan, struct ut_err *err)
{
	AUTO_FREE struct process_id *ids = NULL;
	size_t n = 0;
	int r = process_list(&ids, &n, err);

	for (size_t i = 0; !r && i < n; i++) {
		if (ids[i].pid == getpid())
			continue;
		r = plan_process_checked(plan, ids[i].pid, false, err); /* thousands of mappings: not a call for each */
		if (r == -ESRCH || r == -EPERM || r == -EACCES || r == -ENOENT)
			r = 0; /* the process exited meanwhile, or may not be examined */
	}
	return r;
}

/* A directory often has the name of a program or library: /usr/lib/ruby. */
static bool is_readable_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
}

static int plan_path(struct plan *plan, const char *path, struct ut_err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return ut_err_set(err, errno == ENOENT ? -EINVAL : -errno, "cannot open '%s': %s", path,
				  strerror(errno));
	return plan_file(plan, path, fd, err);
}

/* A file that may be there. Above 0: it is not, or holds no program, as linker scripts (libc.so) and the like. */
static int plan_candidate(struct plan *plan, const char *path, struct ut_err *err)
{
	int r = is_readable_file(path) ? plan_path(plan, path, err) : 1;

	return r == -ENOEXEC || r == -EBADMSG ? 1 : r;
}

/* A path that the user typed: a file that holds no program is bad input. */
static int plan_named_path(struct plan *plan, const char *path, struct ut_err *err)
{
	int r = plan_path(plan, path, err);

	if (r != -ENOEXEC && r != -EBADMSG && r != -ENOTSUP)
		return r;
	if (err)
		err->code = -EINVAL;
	return ut_err_wrap(err, "'%s'", path);
}

/* Searches PATH and the default directories of the dynamic linker on Debian and similar systems. */
static int search_directories(struct plan *plan, struct plan_request *request, struct ut_err *err)
{
	static const char *const libraries =
		"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64:/usr/lib:/usr/local/lib";
	AUTO_FREE char *directories = NULL;
	static const char *const forms[] = { "%s/%s", "%s/%s.so", "%s/lib%s.so" };
	char *save = NULL;

	if (asprintf(&directories, "%s:%s", libraries, getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin") < 0) {
		directories = NULL;
		return ut_err_nomem(err);
	}
	for (char *directory = strtok_r(directories, ":", &save); directory; directory = strtok_r(NULL, ":", &save)) {
		for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
			char path[4096];
			int n, r;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			n = snprintf(path, sizeof(path), forms[i], directory, request->spec->where);
#pragma GCC diagnostic pop
			if (n <= 0 || (size_t)n >= sizeof(path))
				continue;
			r = plan_candidate(plan, path, err);
			if (r <= 0)
				return r;
		}
	}
	return 0;
}

/* libc.so.6 for "c" and "libc": the versioned names in the directories of shared libraries. */
static int search_versions(struct plan *plan, struct plan_request *request, struct ut_err *err)
{
	static const char *const directories[] = { "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
						   "/usr/lib64" };

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		AUTO_CLOSEDIR DIR *dir = opendir(directories[i]);
		struct dirent *d;

		while (dir && (d = readdir(dir))) {
			char path[4096];
			int r;

			snprintf(path, sizeof(path), "%s/%s", directories[i], d->d_name);
			if (!strstr(d->d_name, ".so") || !library_matches(request->spec->where, path))
				continue;
			r = plan_candidate(plan, path, err);
			if (r <= 0)
				return r;
		}
	}
	return 0;
}

int plan_user_library(struct plan *plan, struct ut_err *err)
{
	static const char *const paths[] = {
		"/usr/lib/x86_64-linux-gnu/libusertrace.so.0",
		"/usr/local/lib/x86_64-linux-gnu/libusertrace.so.0",
		"/usr/local/lib/libusertrace.so.0",
		"/usr/lib/libusertrace.so.0",
		"/usr/lib64/libusertrace.so.0",
	};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(paths); i++)
		r = plan_candidate(plan, paths[i], err);
	return r < 0 ? r : 0;
}

int plan_named_files(struct plan *plan, bool search, struct ut_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < plan->requests.n; i++) {
		struct plan_request *request = &plan->requests.v[i];

		if (!*request->spec->where || request->spec->kind == PROBE_TRACEPOINT ||
		    glob_is_pattern(request->spec->where))
			continue;
		if (plan_request_is_path(request))
			r = plan_named_path(plan, request->spec->where, err);
		else if (search) {
			r = search_directories(plan, request, err);
			if (!r && !request->nprobes && !request->miss)
				r = search_versions(plan, request, err);
		}
	}
	/* Of a library that usertrace itself uses, other processes of this machine choose as it has. */
	return r || !search || !plan_lacks_choice(plan) ? r : plan_choose(plan, getpid(), err);
}

int plan_command(struct plan *plan, const char *name, struct ut_err *err)
{
	AUTO_FREE char *directories = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	char *save = NULL, path[4096];
	bool failed = false; /* a request, because of an error in it */
	int r;

	if (!directories)
		return ut_err_nomem(err);
	for (char *directory = strtok_r(directories, ":", &save); directory; directory = strtok_r(NULL, ":", &save)) {
		int n = strchr(name, '/') ? snprintf(path, sizeof(path), "%s", name)
					  : snprintf(path, sizeof(path), "%s/%s", directory, name);

		if (n <= 0 || (size_t)n >= sizeof(path) || access(path, X_OK))
			continue;
		r = plan_path(plan, path, err);
		for (size_t i = 0; i < plan->requests.n; i++)
			failed |= plan->requests.v[i].failed;
		/* a script, a program for another machine, or unreadable: its programs are planned when they run */
		return r == -EINVAL && err && err->msg[0] && failed ? r : 0;
	}
	return 0;
}
