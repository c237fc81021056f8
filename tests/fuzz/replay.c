/* SPDX-License-Identifier: MIT */
/* Runs each file of the named folders through a fuzz target once, for compilers without libFuzzer. Prints TAP. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes are in memory of just their size, so that a sanitizer sees a read behind them. */
static bool replay_file(int dir, const char *name)
{
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	AUTO_FREE uint8_t *bytes = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	bytes = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (!bytes || read(fd, bytes, (size_t)st.st_size) != st.st_size)
		return false;
	LLVMFuzzerTestOneInput(bytes, (size_t)st.st_size);
	return true;
}

static bool replay_folder(const char *path, unsigned *count)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool ok = dir != NULL;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		fprintf(stderr, "%s/%s\n", path, entry->d_name); /* the last one named is the one that crashed */
		if (replay_file(dirfd(dir), entry->d_name))
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
	bool ok = argc > 1;
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		unsigned count = 0;

		ok = replay_folder(argv[i], &count) && count;
		failed += !ok;
		printf("%s %d - %u inputs of %s\n", ok ? "ok" : "not ok", i, count, argv[i]);
	}
	printf("1..%d\n", argc - 1);
	return failed || argc < 2;
}
