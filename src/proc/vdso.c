/* SPDX-License-Identifier: MIT */
/* Finds this process's own vDSO and opens it as an ELF image in memory. */
#include "proc/vdso.h"

#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "proc/process.h"

struct elf_image *vdso_open(void)
{
	AUTO(mappings_done) struct mappings maps = { 0 };

	if (mappings_read(getpid(), &maps, NULL))
		return NULL;
	for (size_t i = 0; i < maps.maps.n; i++) {
		const struct mapping *m = &maps.maps.v[i];
		struct elf_image *img;

		if (strcmp(m->path, "[vdso]") != 0)
			continue;
		if (elf_image_from_memory((const void *)(uintptr_t)m->start, m->end - m->start, &img, NULL))
			return NULL;
		return img;
	}
	return NULL;
}
