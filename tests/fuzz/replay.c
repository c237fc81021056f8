/* SPDX-License-Identifier: MIT */
/* replay TARGET DIRECTORY…: runs each file of the directories through a fuzz target once, for compilers without libFuzzer.
 * Prints TAP. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "fuzz.h"

static struct fuzz_target *targets;

void fuzz_add(struct fuzz_target *target)
{
	target->next = targets;
	targets = target;
}

static const struct fuzz_target *find_target(const char *name)
{
	const struct fuzz_target *t = targets;

	while (t && strcmp(t->name, name))
		t = t->next;
	return t;
}

/* The bytes are in memory of just their size, so that a sanitizer sees a read behind them. */
static bool replay_file(const struct fuzz_target *target, int dir, const char *name)
{
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	AUTO_FREE uint8_t *bytes = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	bytes = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (!bytes || read(fd, bytes, (size_t)st.st_size) != st.st_size)
		return false;
	target->run(bytes, (size_t)st.st_size);
	return true;
}

static bool replay_folder(const struct fuzz_target *target, const char *path, unsigned *count)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool ok = dir != NULL;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		fprintf(stderr, "%s/%s\n", path, entry->d_name); /* the last one named is the one that crashed */
		if (replay_file(target, dirfd(dir), entry->d_name))
			(*count)++;
		else
			ok = false;
	}
	if (dir)
		closedir(dir);
	return ok;
}

int main(int argc, char **argv)
{
	const struct fuzz_target *target = argc > 1 ? find_target(argv[1]) : NULL;
	int failed = 0;

	if (!target || argc < 3) {
		fprintf(stderr, "usage: replay TARGET DIRECTORY...; TARGET is the NAME of a tests/fuzz/fuzz_NAME.c\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		unsigned count = 0;
		bool ok = replay_folder(target, argv[i], &count) && count;

		failed += !ok;
		printf("%s %d - %u inputs of %s\n", ok ? "ok" : "not ok", i - 1, count, argv[i]);
	}
	printf("1..%d\n", argc - 2);
	return failed != 0;
}
