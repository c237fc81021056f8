/* SPDX-License-Identifier: MIT */
/* From a process to the flag that its runtime's description names for the version it has. */
#include "cli/map_hint.h"

#include "base/auto.h"
#include "proc/process.h"

const char *map_hint(const struct runtimes *runtimes, pid_t pid, const struct runtime *runtime)
{
	AUTO(mapped_files_done) struct mapped_files files = { 0 };
	char version[32] = "";

	if (!runtime->map.n || mapped_files_read(pid, &files, NULL))
		return NULL;
	for (size_t i = 0; !version[0] && i < files.files.n; i++) {
		const struct mapping *m = &files.files.v[i].first;
		AUTO_CLOSE int fd = -1;

		if (runtime_of_mapping(runtimes, (int)pid, m) != runtime)
			continue;
		fd = mapping_open(pid, m, NULL);
		if (fd < 0 || !runtime_version(runtime, m->path, fd, version))
			version[0] = '\0';
	}
	return runtime_map_hint(runtime, version);
}
