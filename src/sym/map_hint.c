/* SPDX-License-Identifier: MIT */
/* From a process to the flag that its runtime's description names for the version it has. */
#include "sym/map_hint.h"

#include <string.h>

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

/* The newest flag comes with the version that brought it, where the description says which. */
static void add_newer(const struct runtime *runtime, const char *newest, struct buf *remedy)
{
	const char *since = runtime->map.v[runtime->map.n - 1].since;

	if (since)
		buf_addf(remedy, "versions from %s on have them when started as %s", since, newest);
	else
		buf_addf(remedy, "start a newer version as %s", newest);
}

bool map_hint_explain(const struct runtime *runtime, const char *hint, struct buf *lacks, struct buf *remedy)
{
	const char *newest = runtime_map_hint(runtime, NULL);

	if (!newest)
		return false;
	if (!strcmp(runtime->name, "CPython")) /* without the flag it compiles nothing */
		buf_adds(lacks, "stacks contain the functions of the interpreter instead of Python functions");
	else
		buf_adds(lacks, "its JIT-compiled code has no names in stacks");
	if (hint)
		buf_addf(remedy, "start it as %s", hint);
	else
		add_newer(runtime, newest, remedy);
	return true;
}
