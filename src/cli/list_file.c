/* SPDX-License-Identifier: MIT */
/* The probes of one file: its notes sorted, picked by the pattern, and taken together by name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/list.h"

static bool fits(const struct list *list, const struct usdt_note *note)
{
	const char *pattern = list->pattern, *colon = pattern ? strchr(pattern, ':') : NULL;
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

/* For near misses. That memory ran out costs an advice, nothing else. */
static void remember(struct list *list, const struct usdt_note *note)
{
	char *name;

	if (asprintf(&name, "%s:%s", note->provider, note->name) < 0)
		return;
	if (vec_push(&list->others.v, name))
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

static int pick_sites(struct list *list, struct list_file *file, struct ut_err *err)
{
	const struct usdt_note *other = NULL;

	for (size_t i = 0; i < file->notes.notes.n; i++) {
		const struct usdt_note *note = &file->notes.notes.v[i];

		if (fits(list, note)) {
			if (vec_push(&file->sites, note))
				return ut_err_nomem(err);
		} else if (!other || !same_probe(other, note)) {
			remember(list, note);
			other = note;
		}
	}
	if (file->sites.n)
		qsort(file->sites.v, file->sites.n, sizeof(*file->sites.v), compare_sites);
	return 0;
}

int list_file_read(struct list *list, struct list_file *file, int fd, struct ut_err *err)
{
	int r = elf_image_open(fd, &file->img, err);

	if (!r && !elf_image_is_x86_64(file->img))
		return ut_err_set(err, -ENOTSUP, "a file for %s; only programs for 64-bit x86 can be traced",
				  elf_image_machine(file->img));
	if (!r)
		r = usdt_notes_read(file->img, &file->notes, err);
	return r ? r : pick_sites(list, file, err);
}

void list_file_done(struct list_file *file)
{
	vec_done(&file->sites);
	usdt_notes_done(&file->notes);
	file->img = elf_image_free(file->img);
}

bool list_next(const struct list_file *file, struct list_probe *probe)
{
	size_t first = probe->sites ? (size_t)(probe->sites - file->sites.v) + probe->n : 0;

	if (first >= file->sites.n)
		return false;
	*probe = (struct list_probe){ .sites = file->sites.v + first };
	while (first + probe->n < file->sites.n && same_probe(probe->sites[0], probe->sites[probe->n])) {
		const struct usdt_note *site = probe->sites[probe->n++];

		probe->defects += site->defect != NULL;
		probe->guarded |= site->sem_vaddr != 0;
	}
	return true;
}

void list_site_operands(struct list *list, const struct list_file *file, const struct usdt_note *site)
{
	operands_parse(site->args, &list->operands);
	for (unsigned i = 0; i < list->operands.n; i++)
		operand_resolve(&list->operands.v[i], file->img);
}

void list_probe_args(struct list *list, const struct list_file *file, const struct list_probe *probe)
{
	memset(&list->args, 0, sizeof(list->args));
	for (size_t i = 0; i < probe->n; i++) {
		list_site_operands(list, file, probe->sites[i]);
		usdt_args_add(&list->args, &list->operands);
	}
}

static bool is_own_provider(const struct runtime *runtime, const char *provider)
{
	for (size_t i = 0; runtime && i < runtime->provider.n; i++)
		if (!strcmp(runtime->provider.v[i], provider))
			return true;
	return false;
}

int list_file(struct list *list, struct list_subject *subject, struct list_file *file, int fd, struct ut_err *err)
{
	int r = list_file_read(list, file, fd, err);

	if (r)
		return r;
	subject->files++;
	subject->probes += file->notes.notes.n;
	subject->shown += file->sites.n;
	list->shown += file->sites.n;
	for (size_t i = 0; i < file->notes.notes.n && !subject->own_probes; i++)
		subject->own_probes = is_own_provider(subject->runtime, file->notes.notes.v[i].provider);
	if (file->notes.broken)
		list_say(list, EXIT_OK, "'%s' has %zu broken %s, left out here; rebuild it if it is yours", file->path,
			 file->notes.broken, plural(file->notes.broken, "note"));
	if (file->sites.n && list->json)
		list_json(list, subject, file);
	else if (file->sites.n)
		list_text(list, file);
	return 0;
}

static int open_file(const char *path, struct ut_err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return ut_err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return ut_err_set(err, -EISDIR, "'%s' is a folder; name a program or a library", path);
	if (!S_ISREG(st.st_mode))
		return ut_err_set(err, -EINVAL, "'%s' is not a regular file", path);
	return take_fd(&fd);
}

static const struct runtime *runtime_of_path(const struct list *list, const char *path)
{
	const struct runtime *runtime = runtime_of_file(&list->runtimes, path);
	AUTO_FREE char *real = runtime ? NULL : realpath(path, NULL);

	return real ? runtime_of_file(&list->runtimes, real) : runtime;
}

/* Rights and memory are not the user's input; everything else about a file that was named is. */
static int status_of(int r)
{
	return r == -EACCES || r == -EPERM || r == -ENOMEM || r == -EIO ? EXIT_FAILED : EXIT_USAGE;
}

void list_path(struct list *list, const char *path)
{
	struct list_subject subject = { .path = path, .runtime = runtime_of_path(list, path) };
	AUTO(list_file_done) struct list_file file = { .path = path };
	struct ut_err err = { 0 };
	AUTO_CLOSE int fd = open_file(path, &err);
	int r = fd < 0 ? fd : list_file(list, &subject, &file, fd, &err);

	if (fd >= 0 && !subject.runtime)
		subject.runtime = runtime_of_symbols(&list->runtimes, fd);
	if (fd < 0)
		list_say(list, status_of(r), "%s", err.msg);
	else if (r)
		list_say(list, status_of(r), "'%s': %s", path, err.msg);
	else
		list_tell_without(list, &subject, fd);
	if (fd >= 0 && list->pattern && !list->shown)
		list_look_for_functions(list, path, fd);
}
