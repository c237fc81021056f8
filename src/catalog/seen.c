/* SPDX-License-Identifier: MIT */
/* The files of all processes, by identity, so that a library that everybody maps is read once. */
#include "catalog/seen.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"

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
	uint64_t hash = file_id_hash(&m->file);
	uint32_t found = index_find(&seen->index, hash, i, file_id_equal(&seen->all.v[i]->id, &m->file));
	struct seen_file *file;

	if (found != INDEX_NONE)
		return seen->all.v[found];
	file = calloc(1, sizeof(*file));
	if (!file || vec_reserve(&seen->all, seen->all.n + 1) || index_add(&seen->index, hash, (uint32_t)seen->all.n)) {
		free(file);
		return NULL;
	}
	file->id = m->file;
	seen->all.v[seen->all.n++] = file;
	count_probes(seen, c, file, pid, m);
	return file;
}

void seen_files_done(struct seen_files *seen)
{
	for (size_t i = 0; i < seen->all.n; i++) {
		for (size_t k = 0; k < seen->all.v[i]->providers.n; k++)
			free(seen->all.v[i]->providers.v[k].name);
		vec_done(&seen->all.v[i]->providers);
		free(seen->all.v[i]);
	}
	vec_done(&seen->all);
	index_done(&seen->index);
}
