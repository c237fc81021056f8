/* SPDX-License-Identifier: MIT */
/* Names for addresses: the kind of mapping decides where names are looked up, and which placeholder stands for a missing one. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/auto.h"
#include "sym/names_priv.h"

#define FORKS_MAX 16 /* ancestors whose code maps are searched */
#define NOWHERE_MASK 0xffffull /* addresses in no mapping are grouped by 64 KiB */

struct names *names_new(const struct names_options *o)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	if (o)
		n->options = *o;
	elf_debug_root(n->options.debug_dir);
	n->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return n;
}

struct names *names_free(struct names *n)
{
	if (!n)
		return NULL;
	names_processes_done(n);
	sym_files_done(&n->files);
	elf_image_free(n->vdso);
	kallsyms_done(&n->kernel);
	strings_done(&n->strings);
	for (struct text_block *b = n->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	vec_done(&n->frames);
	vec_done(&n->places);
	index_done(&n->place_index);
	vec_done(&n->symbols);
	index_done(&n->symbol_index);
	vec_done(&n->missed);
	vec_done(&n->notes);
	vec_done(&n->all_notes);
	if (n->watch_fd >= 0)
		close(n->watch_fd);
	free(n);
	return NULL;
}

size_t names_notes(struct names *n, const char *const **ret)
{
	n->all_notes.n = 0;
	for (size_t i = 0; i < n->notes.n; i++)
		(void)vec_push(&n->all_notes, n->notes.v[i]);
	for (size_t i = 0; i < n->with_code.n; i++) {
		const char *const *notes;
		size_t count = code_maps_notes(n->with_code.v[i]->code, &notes);

		for (size_t k = 0; k < count && n->all_notes.n < 2 * NAMES_NOTES_MAX; k++)
			(void)vec_push(&n->all_notes, notes[k]);
	}
	*ret = n->all_notes.v;
	return n->all_notes.n;
}

void names_hint(struct names *n, pid_t pid, const char *flag)
{
	struct incarnation *in = names_latest(n, pid);

	if (!in || !flag)
		return;
	*(strstr(flag, "FramePointer") ? &in->frame_hint : &in->hint) = names_intern(n, flag);
}

/* The known mapping at an address at a given time. */
struct spot {
	struct incarnation *in; /* NULL: no such process at that time */
	const struct place *place; /* NULL: no mapping is known */
	uint64_t addr, time_ns;
};

static struct spot spot_at(struct names *n, pid_t pid, uint64_t addr, uint64_t time_ns)
{
	struct spot s = { .in = names_incarnation(n, pid, time_ns), .addr = addr, .time_ns = time_ns };

	if (s.in)
		s.place = history_at(&s.in->history, addr, time_ns);
	return s;
}

static struct code_maps *any_code(const struct spot *s)
{
	const struct incarnation *in = s->in;

	for (unsigned i = 0; in && i < FORKS_MAX; in = in->parent, i++)
		if (in->code && code_maps_any(in->code))
			return in->code;
	return NULL;
}

static bool may_be_runtime(struct names *n, const struct spot *s)
{
	uint64_t vaddr;

	if (!s->in)
		return false;
	if (!s->place)
		return any_code(s);
	switch (s->place->kind) {
	case PLACE_MEMORY:
	case PLACE_DATA: return true;
	case PLACE_FILE: /* the text of Node's own program holds builtins that its map names */
		return any_code(s) &&
		       !(names_vaddr(s->place, s->addr, &vaddr) && names_file_knows(n, s->place->file, vaddr));
	default: return false;
	}
}

bool names_is_jit(struct names *n, pid_t pid, uint64_t addr, uint64_t time_ns)
{
	struct spot s = spot_at(n, pid, addr, time_ns);

	return may_be_runtime(n, &s);
}

void names_request(struct names *n, pid_t pid, uint64_t addr, bool exact, uint64_t time_ns)
{
	struct spot s = spot_at(n, pid, addr - (!exact && addr), time_ns);
	uint64_t at = time_ns;

	for (struct incarnation *in = s.in; in; in = in->parent) {
		if (in->code)
			code_maps_request(in->code, s.addr, at);
		if (in->parent && in->forked_ns < at)
			at = in->forked_ns;
	}
}

void names_resolve(struct names *n, uint64_t time_ns)
{
	names_poll_all(n, time_ns);
	for (size_t i = 0; i < n->with_code.n; i++)
		code_maps_resolve(n->with_code.v[i]->code);
}

/* In the process's own maps, else in those of its ancestors as they were at the forks. */
static bool find_code(const struct names *n, const struct spot *s, struct code_answer *ret)
{
	uint64_t at = s->time_ns;
	unsigned i = 0;

	for (const struct incarnation *in = s->in; in && i < FORKS_MAX; in = in->parent, i++) {
		*ret = (struct code_answer){ 0 };
		if (in->code && n->options.live)
			code_maps_lookup_live(in->code, s->addr, at, ret);
		else if (in->code)
			code_maps_lookup(in->code, s->addr, at, ret);
		if (ret->name)
			return true;
		if (in->parent && in->forked_ns < at)
			at = in->forked_ns;
	}
	return false;
}

static bool add_code_frame(const struct names *n, const struct spot *s, struct frames *ret)
{
	struct code_answer a;
	struct frame f;

	if (!find_code(n, s, &a))
		return false;
	f = (struct frame){ .name = a.name,
			    .module = "",
			    .file = a.file,
			    .line = a.line,
			    .offset = s->addr - a.start,
			    .kind = code_kind(a.name) };
	return vec_push(&ret->v, f) == 0;
}

static const char *no_map(struct names *n, const struct spot *s)
{
	if (s->in->hint && !any_code(s))
		return names_internf(n, "[no map: %s]", s->in->hint);
	if (s->place->file)
		return names_internf(n, "[unknown code, no map: %s]", s->place->file->name);
	return names_internf(n, "[unknown code, no map: 0x%llx]", (unsigned long long)s->place->start);
}

static const char *no_mapping(struct names *n, uint64_t addr)
{
	if (n->options.live) /* broken stacks have any number of them, and the printer adds the address */
		return "[no mapping known]";
	return names_internf(n, "[no mapping known: 0x%llx]", (unsigned long long)(addr & ~NOWHERE_MASK));
}

static struct frame placeholder(const char *text, enum frame_kind kind)
{
	return (struct frame){ .name = text, .module = "", .kind = kind, .unnamed = true };
}

static struct frame in_vsyscall(const struct place *p, uint64_t addr)
{
	static const char *const names[] = { "gettimeofday", "time", "getcpu" };
	uint64_t i = (addr - p->start) / 1024;

	return (struct frame){ .name = i < ARRAY_SIZE(names) ? names[i] : "[vsyscall]",
			       .module = "[vsyscall]",
			       .kind = FRAME_NATIVE };
}

#define MISSED_MAX 256

static void note_missed(struct names *n, pid_t pid)
{
	for (size_t i = 0; i < n->missed.n; i++)
		if (n->missed.v[i] == pid)
			return;
	if (n->options.live && n->missed.n < MISSED_MAX)
		(void)vec_push(&n->missed, pid);
}

size_t names_missed(struct names *n, const pid_t **ret)
{
	size_t count = n->missed.n;

	*ret = n->missed.v;
	n->missed.n = 0;
	return count;
}

static void add_jit_frame(struct names *n, const struct spot *s, struct frames *ret)
{
	const struct sym_file *file = s->place->file;
	struct frame f;

	if (add_code_frame(n, s, ret))
		return;
	note_missed(n, s->in->pid);
	f = placeholder(no_map(n, s), FRAME_COMPILED);
	if (s->place->kind == PLACE_DATA && !s->in->hint && !any_code(s))
		f.name = names_internf(n, "[not an ELF file: %s]", file->name);
	if (file)
		f.module = names_intern(n, file->name);
	(void)vec_push(&ret->v, f);
}

static void add_file_frames(struct names *n, const struct spot *s, struct frames *ret)
{
	struct sym_file *file = s->place->file;
	uint64_t vaddr;

	if (may_be_runtime(n, s) && add_code_frame(n, s, ret))
		return;
	if (!file->img)
		names_in_file(n, file, 0, ret);
	else if (names_vaddr(s->place, s->addr, &vaddr))
		names_in_file(n, file, vaddr, ret);
	else
		(void)vec_push(&ret->v, ((struct frame){ .name = names_internf(n, "[no symbols: %s]", file->name),
							 .module = names_intern(n, file->name),
							 .kind = FRAME_NATIVE,
							 .unnamed = true }));
}

static void add_place_frames(struct names *n, const struct spot *s, struct frames *ret)
{
	switch (s->place->kind) {
	case PLACE_FILE: add_file_frames(n, s, ret); break;
	case PLACE_VDSO: (void)vec_push(&ret->v, names_in_vdso(n, s->place, s->addr)); break;
	case PLACE_VSYSCALL: (void)vec_push(&ret->v, in_vsyscall(s->place, s->addr)); break;
	case PLACE_UPROBES:
		(void)vec_push(&ret->v,
			       ((struct frame){ .name = "[uprobes]", .module = "[uprobes]", .kind = FRAME_NATIVE }));
		break;
	default: add_jit_frame(n, s, ret);
	}
}

/* The address may belong to a library or a dump that was mapped after the mappings were read. */
static bool may_be_new(const struct spot *s)
{
	return !s->place || ((s->place->kind == PLACE_MEMORY || s->place->kind == PLACE_DATA) && !any_code(s));
}

void names_user(struct names *n, pid_t pid, uint64_t addr, bool exact, uint64_t time_ns, struct frames *ret)
{
	struct spot s = spot_at(n, pid, addr - (!exact && addr), time_ns);
	size_t before = ret->v.n;

	if (n->options.live && may_be_new(&s) && names_reread(n, pid)) {
		s = spot_at(n, pid, s.addr, time_ns);
		if (!may_be_new(&s))
			names_latest(n, pid)->again_ns = 0;
	}
	if (s.place)
		add_place_frames(n, &s, ret);
	else if (!s.in)
		(void)vec_push(&ret->v, placeholder("[process not known]", FRAME_REASON));
	else if (!add_code_frame(n, &s, ret))
		(void)vec_push(&ret->v, placeholder(no_mapping(n, s.addr), FRAME_REASON));
	if (ret->v.n == before)
		(void)vec_push(&ret->v, placeholder("[out of memory]", FRAME_REASON));
}

void names_load_kernel(struct names *n)
{
	AUTO_CLOSE int fd = -1;

	if (n->kernel_tried)
		return;
	n->kernel_tried = true;
	fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		kallsyms_read(fd, &n->kernel);
	n->kernel_hidden = !n->kernel.n;
	if (n->kernel_hidden)
		names_note(n, "the kernel hides the addresses of its functions, so they have no names: run as root, "
			      "with kernel.kptr_restrict set to 0 or 1 (sysctl kernel.kptr_restrict=1)");
}

/* "[ext4]" without its brackets. */
static const char *module_name(struct names *n, const char *text)
{
	char name[128];
	size_t len = strlen(text);

	if (len < 3 || text[0] != '[' || len - 2 >= sizeof(name))
		return text;
	memcpy(name, text + 1, len - 2);
	name[len - 2] = '\0';
	return names_intern(n, name);
}

void names_kernel(struct names *n, uint64_t addr, struct frames *ret)
{
	struct frame f = { .module = "kernel", .kind = FRAME_KERNEL };
	const struct kernel_function *k;

	names_load_kernel(n);
	k = kallsyms_find(&n->kernel, addr);
	f.unnamed = !k;
	if (k) {
		f.name = n->kernel.strings + k->name;
		f.offset = addr - k->addr;
		if (k->module)
			f.module = module_name(n, n->kernel.strings + k->module);
	} else {
		f.name = n->kernel_hidden ? "[kernel hides its symbols: kernel.kptr_restrict]" : "[no symbols: kernel]";
	}
	(void)vec_push(&ret->v, f);
}

const char *names_module(struct names *n, pid_t pid, uint64_t addr, uint64_t time_ns)
{
	struct spot s = spot_at(n, pid, addr, time_ns);

	if (!s.place)
		return "";
	if (s.place->file)
		return names_intern(n, s.place->file->name);
	switch (s.place->kind) {
	case PLACE_VDSO: return "vdso";
	case PLACE_VSYSCALL: return "[vsyscall]";
	case PLACE_UPROBES: return "[uprobes]";
	default: return "";
	}
}
