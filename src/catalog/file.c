/* SPDX-License-Identifier: MIT */
/* The probes of one file: its notes, filtered by the pattern, sorted, and grouped by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalog/catalog_priv.h"

static bool note_matches(const struct catalog *c, const struct usdt_note *note)
{
	const char *pattern = c->pattern, *colon = pattern ? strchr(pattern, ':') : NULL;
	char provider[256];

	if (!colon)
		return !pattern || glob_match(pattern, note->name);
	if ((size_t)(colon - pattern) >= sizeof(provider))
		return false;
	snprintf(provider, sizeof(provider), "%.*s", (int)(colon - pattern), pattern);
	return glob_match(provider, note->provider) && glob_match(colon + 1, note->name);
}

static bool same_probe(const struct usdt_note *a, const struct usdt_note *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->provider, b->provider);
}

/* For near misses. Without memory there is one suggestion less. */
static void add_other(struct catalog *c, const struct usdt_note *note)
{
	char *name;

	if (asprintf(&name, "%s:%s", note->provider, note->name) < 0)
		return;
	if (vec_push(&c->others.v, name))
		free(name);
}

static int compare_sites(const void *a, const void *b)
{
	const struct usdt_note *const *x = a, *const *y = b;
	int order = strcmp((*x)->provider, (*y)->provider);

	if (!order)
		order = strcmp((*x)->name, (*y)->name);
	return order ? order : ((*x)->vaddr > (*y)->vaddr) - ((*x)->vaddr < (*y)->vaddr);
}

static int pick_sites(struct catalog *c, struct catalog_file *file, struct ut_err *err)
{
	const struct usdt_note *other = NULL;

	for (size_t i = 0; i < file->notes.notes.n; i++) {
		const struct usdt_note *note = &file->notes.notes.v[i];

		if (note_matches(c, note)) {
			if (vec_push(&file->sites, note))
				return ut_err_nomem(err);
		} else if (!other || !same_probe(other, note)) {
			add_other(c, note);
			other = note;
		}
	}
	if (file->sites.n)
		qsort(file->sites.v, file->sites.n, sizeof(*file->sites.v), compare_sites);
	return 0;
}

int catalog_file_read(struct catalog *c, struct catalog_file *file, int fd, struct ut_err *err)
{
	int r = elf_image_open(fd, &file->img, err);

	if (!r && !elf_image_is_x86_64(file->img))
		return ut_err_set(err, -ENOTSUP, "a file for %s; only 64-bit x86 programs can be traced",
				  elf_image_machine(file->img));
	if (!r)
		r = usdt_notes_read(file->img, &file->notes, err);
	return r ? r : pick_sites(c, file, err);
}

void catalog_file_done(struct catalog_file *file)
{
	vec_done(&file->sites);
	usdt_notes_done(&file->notes);
	file->img = elf_image_free(file->img);
}

bool catalog_next(const struct catalog_file *file, struct catalog_probe *probe)
{
	size_t first = probe->sites ? (size_t)(probe->sites - file->sites.v) + probe->n : 0;

	if (first >= file->sites.n)
		return false;
	*probe = (struct catalog_probe){ .sites = file->sites.v + first };
	while (first + probe->n < file->sites.n && same_probe(probe->sites[0], probe->sites[probe->n])) {
		const struct usdt_note *site = probe->sites[probe->n++];

		probe->defects += site->defect != NULL;
		probe->guarded |= site->sem_vaddr != 0;
	}
	return true;
}

void catalog_site_operands(const struct catalog_file *file, const struct usdt_note *site, struct operands *ret)
{
	operands_parse(site->args, ret);
	for (unsigned i = 0; i < ret->n; i++)
		operand_resolve(&ret->v[i], file->img);
}

void catalog_probe_args(const struct catalog_file *file, const struct catalog_probe *probe, struct usdt_args *ret)
{
	struct operands operands;

	*ret = (struct usdt_args){ 0 };
	for (size_t i = 0; i < probe->n; i++) {
		catalog_site_operands(file, probe->sites[i], &operands);
		usdt_args_add(ret, &operands);
	}
}

bool catalog_is_own(const struct runtime *runtime, const char *provider)
{
	for (size_t i = 0; runtime && i < runtime->provider.n; i++)
		if (!strcmp(runtime->provider.v[i], provider))
			return true;
	return false;
}
