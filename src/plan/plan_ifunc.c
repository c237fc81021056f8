/* SPDX-License-Identifier: MIT */
/* Indirect functions (IFUNC): the implementations that processes have chosen, from the pointers that they call through. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "elf/image.h"
#include "plan/plan_priv.h"

#define SLOTS_MAX 16

int plan_add_ifunc(struct plan_scan *scan, unsigned request, const struct elf_symbol *symbol)
{
	struct plan_ifunc f = { .request = request, .resolver = symbol->vaddr };
	int r = plan_scan_file(scan);

	if (r < 0)
		return r;
	f.file = (unsigned)r;
	plan_set_miss(
		&scan->plan->requests.v[request],
		"%s of %s is an indirect function (IFUNC): each process chooses one of its implementations when it "
		"starts, and no process was found that has; try -p PID",
		symbol->name, scan->path);
	f.name = strdup(symbol->name);
	if (!f.name || vec_push(&scan->plan->ifuncs, f)) {
		free(f.name);
		return ut_err_nomem(scan->err);
	}
	return 0;
}

bool plan_lacks_choice(const struct plan *plan)
{
	for (size_t i = 0; i < plan->ifuncs.n; i++)
		if (!plan->ifuncs.v[i].found)
			return true;
	return false;
}

/* What an address of the file is in the process, as a difference: the mapping shows where an offset is. */
static bool bias_of(const struct elf_image *img, const struct mapping *m, uint64_t *ret)
{
	uint64_t vaddr;

	if (!elf_offset_to_vaddr(img, m->offset, &vaddr))
		return false;
	*ret = m->start - vaddr;
	return true;
}

static bool read_pointer(pid_t pid, uint64_t at, uint64_t *ret)
{
	struct iovec local = { ret, sizeof(*ret) }, remote = { (void *)(uintptr_t)at, sizeof(*ret) };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof(*ret);
}

/* The file in which the function is, in one process. */
struct chooser {
	struct plan *plan;
	pid_t pid;
	const struct mapped_files *files;
	const struct mapping *home;
	struct elf_image *img; /* of the function's file */
	uint64_t bias;
};

/* The address that these pointers of a mapped file hold, in the function's file; false: none is in its code. */
static bool choice_in(const struct chooser *c, struct elf_image *img, uint64_t bias, const struct plan_ifunc *f,
		      uint64_t *ret)
{
	uint64_t slots[SLOTS_MAX], value;
	size_t n = elf_slots_of(img, f->name, img == c->img ? f->resolver : 0, slots, SLOTS_MAX);

	for (size_t i = 0; i < n; i++) {
		if (!read_pointer(c->pid, bias + slots[i], &value))
			continue;
		*ret = value - c->bias;
		/* A stub of the linkage table and an address before relocation are no functions. */
		if (*ret != f->resolver && elf_vaddr_is_text(c->img, *ret) && elf_is_function_start(c->img, *ret) &&
		    !elf_stub_at(c->img, *ret))
			return true;
	}
	return false;
}

/* The file's own pointers first; then those of the other files, which know the function by its name. */
static bool find_choice(const struct chooser *c, const struct plan_ifunc *f, uint64_t *ret)
{
	if (choice_in(c, c->img, c->bias, f, ret))
		return true;
	for (size_t i = 0; i < c->files->files.n; i++) {
		const struct mapping *m = &c->files->files.v[i].first;
		struct elf_image *img = NULL;
		AUTO_CLOSE int fd = -1;
		uint64_t bias;
		bool found;

		if (m == c->home || (fd = mapping_open(c->pid, m, NULL)) < 0 || elf_image_open(fd, &img, NULL))
			continue;
		found = bias_of(img, m, &bias) && choice_in(c, img, bias, f, ret);
		elf_image_free(img);
		if (found)
			return true;
	}
	return false;
}

static bool is_planned(const struct plan *plan, const struct plan_ifunc *f, uint64_t vaddr)
{
	for (size_t i = 0; i < plan->sites.n; i++)
		if (plan->sites.v[i].vaddr == vaddr && plan->sites.v[i].file == f->file &&
		    plan->probes.v[plan->sites.v[i].probe].request == f->request)
			return true;
	return false;
}

static int add_choice(const struct chooser *c, size_t number, uint64_t vaddr, struct ut_err *err)
{
	struct plan_ifunc *f = &c->plan->ifuncs.v[number];
	const struct plan_file *file = &c->plan->files.v[f->file];
	struct plan_scan scan = { .plan = c->plan,
				  .path = file->path,
				  .real = file->path,
				  .fd = file->fd,
				  .id = file->id,
				  .img = c->img,
				  .file = (int)f->file,
				  .err = err };
	const struct elf_symbol *symbol = elf_function_at(c->img, vaddr);
	const struct elf_symbol func = { .name = f->name,
					 .vaddr = vaddr,
					 .size = symbol && symbol->vaddr == vaddr ? symbol->size : 0 };
	int r;

	f->found = true;
	if (is_planned(c->plan, f, vaddr))
		return 0; /* two functions with one implementation: memcpy and memmove */
	r = plan_add_function(&scan, f->request, &func, 0);
	if (r > 0) /* the request has the reason */
		return 0;
	if (r || c->plan->options.described || glob_is_pattern(c->plan->requests.v[f->request].spec->name))
		return r;
	return plan_note(
		       c->plan,
		       "%s of '%s' is an indirect function: process %d uses the implementation at 0x%llx%s%s%s, whose "
		       "calls by other names are included",
		       f->name, file->path, (int)c->pid, (unsigned long long)vaddr, symbol ? " (" : "",
		       symbol ? symbol->name : "", symbol ? ")" : "")
		       ? ut_err_nomem(err)
		       : 0;
}

static int choose_in_file(struct chooser *c, unsigned file, struct ut_err *err)
{
	uint64_t vaddr;
	int r = 0;

	c->home = NULL;
	for (size_t i = 0; i < c->files->files.n; i++)
		if (file_id_equal(&c->files->files.v[i].first.file, &c->plan->files.v[file].id))
			c->home = &c->files->files.v[i].first;
	if (!c->home || elf_image_open(c->plan->files.v[file].fd, &c->img, NULL))
		return 0;
	if (bias_of(c->img, c->home, &c->bias))
		for (size_t i = 0; !r && i < c->plan->ifuncs.n; i++)
			if (c->plan->ifuncs.v[i].file == file && find_choice(c, &c->plan->ifuncs.v[i], &vaddr))
				r = add_choice(c, i, vaddr, err);
	elf_image_free(c->img);
	return r;
}

int plan_choose(struct plan *plan, pid_t pid, struct ut_err *err)
{
	AUTO(mapped_files_done) struct mapped_files files = { 0 };
	struct chooser c = { .plan = plan, .pid = pid, .files = &files };
	int r = plan->ifuncs.n ? mapped_files_read(pid, &files, err) : 0;

	for (unsigned file = 0; !r && plan->ifuncs.n && file < plan->files.n; file++) {
		bool wanted = false;

		for (size_t i = 0; i < plan->ifuncs.n; i++)
			wanted |= plan->ifuncs.v[i].file == file;
		if (wanted)
			r = choose_in_file(&c, file, err);
	}
	return r;
}
