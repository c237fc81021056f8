/* SPDX-License-Identifier: MIT */
/* Sources in, results out. */
#include "dtrace/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/io.h"
#include "dtrace/run.h"

#define SOURCE_MAX (64u << 20)
#define TEMPORARY_TRIES 100

int dtrace_read(const char *path, struct buf *ret, struct ut_err *err)
{
	bool is_stdin = !strcmp(path, "-");
	AUTO_CLOSE int fd = is_stdin ? fcntl(0, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return ut_err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	return run_read_all(fd, is_stdin ? "standard input" : path, SOURCE_MAX, ret, err);
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[strspn(value, " \t\n\r")] ? value : NULL;
}

/* The words of the preprocessor's command itself. */
static int preprocessor(struct run_words *words, struct ut_err *err)
{
	const char *cpp = variable("CPP"), *cc = variable("CC");
	int ret;

	if (cpp || !cc)
		return run_split(words, cpp ? cpp : "cpp", err);
	ret = run_split(words, cc, err);
	return ret ? ret : run_add(words, "-E", err);
}

int dtrace_preprocess(const char *path, const char *const *options, size_t n, struct buf *ret, struct ut_err *err)
{
	struct run_words words = { 0 };
	/* Compilers take NAME.d for another language's. */
	int status = preprocessor(&words, err);

	if (!status)
		status = run_add(&words, "-xc", err);
	for (size_t i = 0; !status && i < n; i++)
		status = run_add(&words, options[i], err);
	if (!status)
		status = run_add(&words, path, err);
	if (!status && run_command(&words, ret, err))
		status = ut_err_wrap(err, "%s: the preprocessor (-C; from $CPP, $CC or cpp)", path);
	run_words_done(&words);
	return status;
}

static bool has_word(const struct run_words *words, const char *word)
{
	for (size_t i = 0; i < words->list.n; i++)
		if (!strcmp(words->list.v[i], word))
			return true;
	return false;
}

/* x86_64-linux-gnu: its first part. */
static int machine_of(const char *cc, const char *triplet, enum elf_machine *ret, struct ut_err *err)
{
	size_t len = strcspn(triplet, "-\n");

	*ret = elf_machine_named(triplet, len);
	if (*ret != ELF_MACHINE_UNKNOWN)
		return 0;
	return ut_err_set(err, -EINVAL,
			  "$CC ('%s') builds for '%.*s', but object files are supported only for x86_64 and aarch64; "
			  "select one with -m",
			  cc, (int)(len > 40 ? 40 : len), triplet);
}

static int ask_compiler(const char *cc, struct run_words *words, enum elf_machine *ret, struct ut_err *err)
{
	struct buf out = { 0 };
	int status = run_split(words, cc, err);

	if (!status && (has_word(words, "-m32") || has_word(words, "-mx32")))
		status = ut_err_set(err, -EINVAL,
				    "$CC ('%s') builds 32-bit code, but only 64-bit object files are supported", cc);
	if (!status)
		status = run_add(words, "-dumpmachine", err);
	if (!status && run_command(words, &out, err))
		status = ut_err_wrap(err, "cannot determine the target of $CC ('%s'); use -m", cc);
	if (!status)
		status = machine_of(cc, out.data ? out.data : "", ret, err);
	buf_done(&out);
	return status;
}

int dtrace_target(enum elf_machine *ret, struct ut_err *err)
{
	const char *cc = variable("CC");
	struct run_words words = { 0 };
	int status = 0;

	if (cc)
		status = ask_compiler(cc, &words, ret, err);
	else
		*ret = elf_machine_here();
	run_words_done(&words);
	return status;
}

static int write_bytes(int fd, const char *path, const char *bytes, size_t len, struct ut_err *err)
{
	int r = write_all(fd, bytes, len, NULL);

	return r ? ut_err_set(err, r, "cannot write '%s': %s", path, strerror(-r)) : 0;
}

/* A new file beside @target, which only we write: its descriptor, and its name in *@ret. */
static int make_temporary(const char *path, const char *target, char **ret, struct ut_err *err)
{
	for (unsigned i = 0; i < TEMPORARY_TRIES; i++) {
		int fd;

		if (asprintf(ret, "%s.%ld.%u.tmp", target, (long)getpid(), i) < 0) {
			*ret = NULL;
			return ut_err_nomem(err);
		}
		fd = open(*ret, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd >= 0)
			return fd;
		free(take_ptr(*ret));
		if (errno != EEXIST)
			break;
	}
	return ut_err_set(err, -errno, "cannot write '%s': cannot create a temporary file in its directory: %s", path,
			  strerror(errno));
}

/* @target is the file that @path resolves to. */
static int replace(const char *path, const char *target, const char *bytes, size_t len, struct ut_err *err)
{
	AUTO_FREE char *temporary = NULL;
	AUTO_CLOSE int fd = make_temporary(path, target, &temporary, err);
	int ret;

	if (fd < 0)
		return fd;
	ret = write_bytes(fd, path, bytes, len, err);
	if (!ret && close(take_fd(&fd)) < 0)
		ret = ut_err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	if (!ret && rename(temporary, target) < 0)
		ret = ut_err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	if (ret)
		unlink(temporary);
	return ret;
}

int dtrace_write(const char *path, const char *bytes, size_t len, struct ut_err *err)
{
	AUTO_FREE char *target = NULL;
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (!strcmp(path, "-"))
		return write_bytes(1, "standard output", bytes, len, err);
	if (stat(path, &st) < 0 ? lstat(path, &st) < 0 : S_ISREG(st.st_mode)) {
		target = realpath(path, NULL); /* through links; NULL when there is nothing yet */
		return replace(path, target ? target : path, bytes, len, err);
	}
	/* a link to what is not there yet, or no regular file */
	fd = open(path, O_WRONLY | O_CLOEXEC | (S_ISLNK(st.st_mode) ? O_CREAT : 0), 0666);
	if (fd < 0)
		return ut_err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	return write_bytes(fd, path, bytes, len, err);
}
