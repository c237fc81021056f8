/* SPDX-License-Identifier: MIT */
/* The files of all processes, by identity, so that a library that everybody maps is read once. */
#include "catalog/seen.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"

/* Where the file is, or the empty slot where it belongs. */
static struct seen_file **find_slot(struct seen_file **slots, size_t nslots, const struct file_id *id)
{
	size_t i = (size_t)((id->ino ^ id->dev << 32 ^ id->dev >> 7) * 0x9e3779b97f4a7c15ull >> 32) & (nslots - 1);

	while (slots[i] && (slots[i]->id.ino != id->ino || slots[i]->id.dev != id->dev))
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

static bool make_room(struct seen_files *seen)
{
	size_t nslots = seen->nslots ? seen->nslots * 2 : 256;
	struct seen_file **slots;

	if (seen->n * 2 < seen->nslots)
		return true;
	slots = calloc(nslots, sizeof(struct seen_file *));
	if (!slots)
		return false;
	for (size_t i = 0; i < seen->nslots; i++)
		if (seen->slots[i])
			*find_slot(slots, nslots, &seen->slots[i]->id) = seen->slots[i];
	free(seen->slots);
	seen->slots = slots;
	seen->nslots = nslots;
	return true;
}

/* Probes come sorted by provider. */
static void count_probe(struct seen_file *file, const struct catalog_probe *probe)
{
	const char *name = probe->sites[0]->provider;
	struct catalog_provider *p = file->providers.n ? &file->providers.v[file->providers.n - 1] : NULL;

	if (!p || strcmp(p->name, name)) {
		struct catalog_provider fresh = { .name = strdup(name) };

		if (!fresh.name || vec_push(&file->providers, fresh)) {
			free(fresh.name);
			return;
		}
		p = &file->providers.v[file->providers.n - 1];
	}
	p->probes++;
	p->sites += probe->n;
	p->guarded += probe->guarded;
}

/* A file that is no program of this machine has nothing for us. */
static void count_probes(struct seen_files *seen, struct catalog *c, struct seen_file *to, pid_t pid,
			 const struct mapping *m)
{
	AUTO(catalog_file_done) struct catalog_file file = { .path = m->path };
	struct catalog_probe probe = { 0 };
	AUTO_CLOSE int fd = mapping_open(pid, m, NULL);

	if (fd < 0) {
		seen->unopened++;
		return;
	}
	if (catalog_file_read(c, &file, fd, NULL))
		return;
	while (catalog_next(&file, &probe))
		count_probe(to, &probe);
}

const struct seen_file *seen_file_get(struct seen_files *seen, struct catalog *c, pid_t pid, const struct mapping *m)
{
	struct seen_file **slot;

	if (!make_room(seen))
		return NULL;
	slot = find_slot(seen->slots, seen->nslots, &m->file);
	if (*slot)
		return *slot;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot)
		return NULL;
	(*slot)->id = m->file;
	seen->n++;
	count_probes(seen, c, *slot, pid, m);
	return *slot;
}

void seen_files_done(struct seen_files *seen)
{
	for (size_t i = 0; i < seen->nslots; i++) {
		if (!seen->slots[i])
			continue;
		for (size_t k = 0; k < seen->slots[i]->providers.n; k++)
			free(seen->slots[i]->providers.v[k].name);
		vec_done(&seen->slots[i]->providers);
		free(seen->slots[i]);
	}
	free(seen->slots);
}
