/* SPDX-License-Identifier: MIT */
/* Addresses to names: which mapping of which process, which file behind it, which function in that. */
#include "elf/demangle.h"
#include "sym/sym.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "proc/process.h"
#include "sym/history.h"
#include "sym/kallsyms.h"
#include "proc/vdso.h"

struct code {
	uint64_t start, end, offset;
	enum place_kind kind;
	struct sym_file *file; /* a reference */
};

/* Addresses that are nowhere are common in broken stacks: mappings are not read again for each. */
#define REREAD_MS 100

struct process {
	pid_t pid;
	uint64_t noted_ms; /* when its mappings were read */
	VEC(struct code) code; /* executable mappings by address */
};

struct sym {
	struct sym_files files;
	VEC(struct process) processes;
	struct elf_image *vdso;
	bool vdso_tried;
	struct kallsyms kernel;
	bool kernel_tried;
};

struct sym *sym_new(void) { return calloc(1, sizeof(struct sym)); }

static void process_done(struct sym *s, struct process *p)
{
	for (size_t i = 0; i < p->code.n; i++)
		sym_files_put(&s->files, p->code.v[i].file);
	vec_done(&p->code);
}

struct sym *sym_free(struct sym *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->processes.n; i++)
		process_done(s, &s->processes.v[i]);
	vec_done(&s->processes);
	sym_files_done(&s->files);
	elf_image_free(s->vdso);
	kallsyms_done(&s->kernel);
	free(s);
	return NULL;
}

static struct process *find_process(const struct sym *s, pid_t pid)
{
	for (size_t i = 0; i < s->processes.n; i++)
		if (s->processes.v[i].pid == pid)
			return &s->processes.v[i];
	return NULL;
}

static int note_mapping(struct sym *s, struct process *p, const struct mapping *m)
{
	struct code c = { .start = m->start, .end = m->end, .offset = m->offset };

	if (m->file.ino) {
		c.file = sym_files_get(&s->files, p->pid, m, NULL);
		if (!c.file)
			return -ENOMEM;
	}
	c.kind = place_kind_of(m, c.file);
	if (vec_push(&p->code, c)) {
		sym_files_put(&s->files, c.file);
		return -ENOMEM;
	}
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* A process that ends has its number, and an empty or cut list of mappings, for a while. */
static bool has_memory(pid_t pid) { return !process_has_ended(pid); }

void sym_note_process(struct sym *s, pid_t pid)
{
	AUTO(mappings_done) struct mappings maps = { 0 };
	struct process fresh = { .pid = pid, .noted_ms = now_ms() }, *known;

	if (mappings_read(pid, &maps, NULL) || !maps.maps.n || !has_memory(pid))
		return; /* it has ended, or is about to: what is known stays */
	for (size_t i = 0; i < maps.maps.n; i++)
		if (maps.maps.v[i].exec && note_mapping(s, &fresh, &maps.maps.v[i]))
			break;
	known = find_process(s, pid);
	if (known) {
		process_done(s, known);
		*known = fresh;
	} else if (vec_push(&s->processes, fresh)) {
		process_done(s, &fresh);
	}
}

void sym_forget_process(struct sym *s, pid_t pid)
{
	struct process *p = find_process(s, pid);

	if (!p)
		return;
	process_done(s, p);
	*p = s->processes.v[--s->processes.n];
}

static const struct code *find_code(const struct process *p, uint64_t addr)
{
	size_t low = 0, high = p ? p->code.n : 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (addr >= p->code.v[mid].end)
			low = mid + 1;
		else
			high = mid;
	}
	return p && low < p->code.n && addr >= p->code.v[low].start ? &p->code.v[low] : NULL;
}

static void add_number(uint64_t addr, struct buf *out)
{
	buf_adds(out, "0x");
	buf_addx(out, addr);
}

static void add_place(const char *name, struct buf *out)
{
	buf_adds(out, " (");
	buf_add_escaped(out, name, strlen(name));
	buf_addc(out, ')');
}

static void add_function(const char *name, uint64_t offset, struct buf *out)
{
	elf_demangle(name, out);
	buf_adds(out, "+0x");
	buf_addx(out, offset);
}

/* The function of @img that holds @vaddr, or the plain @addr. @back is what was taken off for a return address. */
static void add_from_image(struct elf_image *img, uint64_t vaddr, unsigned back, uint64_t addr, struct buf *out)
{
	const struct elf_symbol *f = img ? elf_function_at(img, vaddr) : NULL;

	if (f)
		add_function(f->name, vaddr - f->vaddr + back, out);
	else
		add_number(addr, out);
}

static void add_from_file(const struct code *c, uint64_t addr, unsigned back, struct buf *out)
{
	struct elf_image *img = c->file->img;
	uint64_t vaddr;

	if (img && elf_offset_to_vaddr(img, addr - back - c->start + c->offset, &vaddr))
		add_from_image(img, vaddr, back, vaddr + back, out); /* without a name: the address in the file */
	else
		add_number(addr, out);
	add_place(c->file->name, out);
}

static void add_from_vdso(struct sym *s, const struct code *c, uint64_t addr, unsigned back, struct buf *out)
{
	uint64_t vaddr;

	if (!s->vdso_tried)
		s->vdso = vdso_open();
	s->vdso_tried = true;
	if (s->vdso && elf_offset_to_vaddr(s->vdso, addr - back - c->start, &vaddr))
		add_from_image(s->vdso, vaddr, back, addr, out);
	else
		add_number(addr, out);
	add_place("vdso", out);
}

/* The code at an address. One that is in no mapping we know may be in a library that was loaded since. */
static const struct code *code_at(struct sym *s, pid_t pid, uint64_t addr)
{
	const struct process *p = find_process(s, pid);
	const struct code *c = find_code(p, addr);

	if (c || !p || now_ms() - p->noted_ms < REREAD_MS)
		return c;
	sym_note_process(s, pid);
	return find_code(find_process(s, pid), addr);
}

void sym_user(struct sym *s, pid_t pid, uint64_t addr, bool is_return, struct buf *out)
{
	unsigned back = is_return && addr;
	const struct code *c = code_at(s, pid, addr - back);

	if (!c) {
		add_number(addr, out);
	} else if (c->kind == PLACE_VDSO) {
		add_from_vdso(s, c, addr, back, out);
	} else if (c->kind == PLACE_MEMORY) {
		add_number(addr, out);
		add_place("run-time code", out);
	} else if (c->file) {
		add_from_file(c, addr, back, out);
	} else {
		add_number(addr, out);
	}
}

static void load_kernel(struct sym *s)
{
	AUTO_CLOSE int fd = -1;

	if (s->kernel_tried)
		return;
	s->kernel_tried = true;
	fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		kallsyms_read(fd, &s->kernel); /* without the list, addresses print as numbers */
}

void sym_kernel(struct sym *s, uint64_t addr, struct buf *out)
{
	const struct kernel_function *f;

	load_kernel(s);
	f = kallsyms_find(&s->kernel, addr);
	if (!f) {
		add_number(addr, out);
		return;
	}
	add_function(s->kernel.strings + f->name, addr - f->addr, out);
	if (f->module) {
		buf_addc(out, ' ');
		buf_adds(out, s->kernel.strings + f->module);
	}
}
