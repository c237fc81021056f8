/* SPDX-License-Identifier: MIT */
/* What kind of code an executable mapping holds, by its file and its name. */
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "sym/history.h"

bool place_is_named_memory(const struct mapping *m)
{
	static const char *const names[] = { "/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage", "/dev/shm/" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(m->path, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

bool place_is_dump(const struct mapping *m)
{
	const char *name = path_base(m->path);
	size_t len = strlen(name);

	return strncmp(name, "jit-", 4) == 0 && len > 9 && strcmp(name + len - 5, ".dump") == 0;
}

enum place_kind place_kind_of(const struct mapping *m, const struct sym_file *file)
{
	if (place_is_dump(m))
		return PLACE_DUMP;
	if (file && file->state != SYM_FILE_OPEN && place_is_named_memory(m))
		return PLACE_MEMORY;
	if (file && file->state == SYM_FILE_NOT_ELF)
		return m->write ? PLACE_MEMORY : PLACE_DATA; /* a heap that was saved, code and all: SBCL's */
	if (file)
		return PLACE_FILE;
	if (strcmp(m->path, "[vdso]") == 0)
		return PLACE_VDSO;
	if (strcmp(m->path, "[vsyscall]") == 0)
		return PLACE_VSYSCALL;
	return strcmp(m->path, "[uprobes]") == 0 ? PLACE_UPROBES : PLACE_MEMORY;
}
