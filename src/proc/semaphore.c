/* SPDX-License-Identifier: MIT */
/* Semaphores by mappings and memory. */
#include "proc/semaphore.h"

#include <errno.h>
#include <unistd.h>

/* The data segment, which the program reads, has the higher address: RELRO comes before it. */
bool semaphore_find(const struct mappings *maps, const struct file_id *file, uint64_t offset,
		    struct semaphore_place *ret)
{
	*ret = (struct semaphore_place){ 0 };
	for (size_t i = maps->maps.n; i-- > 0;) {
		const struct mapping *m = &maps->maps.v[i];
		uint64_t address = m->start + (offset - m->offset);

		if (!file_id_equal(&m->file, file) || offset < m->offset || offset - m->offset >= m->end - m->start)
			continue;
		if (m->write && !ret->address) {
			ret->address = address;
			continue;
		}
		ret->relocating |= m->write;
		if (ret->ntwins < SEMAPHORE_TWINS)
			ret->twins[ret->ntwins++] = address;
	}
	return ret->address != 0;
}

int semaphore_read(int mem, const struct semaphore_place *place, struct semaphore_count *ret)
{
	uint16_t count, twin;

	if (pread(mem, &count, sizeof(count), (off_t)place->address) != sizeof(count))
		return -EIO;
	*ret = (struct semaphore_count){ .count = count };
	for (size_t i = 0; i < place->ntwins; i++)
		if (pread(mem, &twin, sizeof(twin), (off_t)place->twins[i]) == sizeof(twin) && twin > count)
			ret->astray = true;
	return 0;
}
