/* SPDX-License-Identifier: MIT */
/* Names in ELF files: functions, stubs, inlined calls; and for what has no name the place that stands for it, the same
 * for all addresses of one function. What was asked once is remembered. */
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "elf/demangle.h"
#include "elf/lines.h"
#include "proc/vdso.h"
#include "sym/names_priv.h"

#define PLACES_MAX (1u << 23) /* that are remembered */

bool names_vaddr(const struct place *p, uint64_t addr, uint64_t *ret)
{
	return p->file && p->file->img && elf_offset_to_vaddr(p->file->img, addr - p->start + p->offset, ret);
}

static const char *demangled(struct names *n, const char *name, const char *suffix)
{
	struct buf b = { 0 };
	const char *kept;

	elf_demangle(name, &b);
	buf_adds(&b, suffix);
	kept = names_intern(n, b.failed || !b.data ? name : b.data);
	buf_done(&b);
	return kept;
}

/* The name of a symbol, demangled once. */
static const char *symbol_name(struct names *n, uint64_t file, const struct elf_symbol *s)
{
	uint64_t hash = hash_pair(file, s->vaddr);
	uint32_t known = index_find(&n->symbol_index, hash, i,
				    n->symbols.v[i].file == file && n->symbols.v[i].vaddr == s->vaddr);
	const char *name;

	if (known != INDEX_NONE)
		return n->symbols.v[known].name;
	name = demangled(n, s->name, "");
	if (!vec_push(&n->symbols, ((struct known_symbol){ file, s->vaddr, name })) &&
	    index_add(&n->symbol_index, hash, (uint32_t)n->symbols.n - 1))
		n->symbols.n--;
	return name;
}

#define LABEL_REACH 4096

/* The last symbol at or before @vaddr that marks a place in code, whatever its type: hand-written code has such. */
static const struct elf_symbol *label_before(struct elf_image *img, uint64_t vaddr)
{
	const struct elf_symbol *all;
	size_t n = elf_image_symbols(img, &all), low = search_first_not(i, 0, n, all[i].vaddr <= vaddr);

	for (; low && vaddr - all[low - 1].vaddr < LABEL_REACH; low--)
		if (!all[low - 1].is_object && !all[low - 1].is_tls)
			return &all[low - 1];
	return NULL;
}

/* The label of the code that begins at @entry; of code without unwind information (@entry 0) the last one, if that
 * belongs to such code itself. */
static const struct elf_symbol *label_of(struct elf_image *img, uint64_t entry, uint64_t vaddr)
{
	const struct elf_symbol *label = label_before(img, entry ? entry : vaddr);
	uint64_t start, end;

	if (!label || (entry && label->vaddr != entry))
		return NULL;
	if (!entry && (label->is_func || !elf_vaddr_is_text(img, label->vaddr) ||
		       elf_unwind_entry_at(img, label->vaddr, &start, &end)))
		return NULL;
	return label;
}

/* What is known of a place in an image. */
struct found {
	const struct elf_symbol *symbol;
	const char *stub;
	const char *known; /* a name without a symbol */
	bool has_entry;
	uint64_t entry; /* where the function begins that has no symbol */
};

static struct found find_name(struct elf_image *img, uint64_t vaddr)
{
	struct found f = { .stub = elf_stub_at(img, vaddr) };
	uint64_t end;

	if (f.stub)
		return f;
	f.symbol = elf_function_at(img, vaddr);
	if (f.symbol && f.symbol->size)
		return f;
	f.has_entry = elf_unwind_entry_at(img, vaddr, &f.entry, &end);
	/* A symbol without a size reaches on to what is another function by its unwind information. */
	if (f.symbol && f.has_entry && f.entry > f.symbol->vaddr)
		f.symbol = NULL;
	if (!f.symbol)
		f.symbol = label_of(img, f.has_entry ? f.entry : 0, vaddr);
	if (!f.symbol && f.has_entry)
		f.known = elf_entry_name(img, f.entry);
	return f;
}

static struct frame no_file(struct names *n, const struct sym_file *file)
{
	static const char *const why[] = {
		[SYM_FILE_NOT_ELF] = "not an ELF file",
		[SYM_FILE_BROKEN] = "broken ELF file",
		[SYM_FILE_GONE] = "file gone",
		[SYM_FILE_DENIED] = "may not open",
		[SYM_FILE_TOO_MANY] = "too many open files",
	};
	const char *text = file->state < ARRAY_SIZE(why) && why[file->state] ? why[file->state] : "file gone";

	return (struct frame){
		.name = names_internf(n, "[%s: %s]", text, file->name),
		.kind = FRAME_NATIVE,
		.unnamed = true,
	};
}

static struct frame of_image(struct names *n, struct elf_image *img, uint64_t number, const char *module,
			     uint64_t vaddr)
{
	struct found f = find_name(img, vaddr);
	struct frame ret = { .kind = FRAME_NATIVE, .module = module };

	if (f.stub)
		ret.name = demangled(n, f.stub, "@plt");
	else if (f.symbol)
		ret.name = symbol_name(n, number, f.symbol);
	else if (f.known)
		ret.name = f.known;
	else if (f.has_entry)
		ret.name = names_internf(n, "[no symbols: %s+0x%llx]", module, (unsigned long long)f.entry);
	else
		ret.name = names_internf(n, "[no symbols: %s]", module);
	ret.unnamed = !f.stub && !f.symbol && !f.known;
	ret.offset = f.symbol			   ? vaddr - f.symbol->vaddr
		     : !ret.unnamed && f.has_entry ? vaddr - f.entry
		     : ret.unnamed		   ? vaddr
						   : 0;
	return ret;
}

static struct elf_lines *lines_of(struct names *n, struct sym_file *file)
{
	if (!n->options.lines || file->lines_tried)
		return file->lines;
	file->lines_tried = true;
	file->lines = elf_lines_open(file->img);
	return file->lines;
}

/* Adds the frames of a place to n->frames: inlined calls, then @real, with lines. */
static int add_with_lines(struct names *n, struct elf_lines *lines, uint64_t vaddr, struct frame real)
{
	struct elf_place places[ELF_PLACES_MAX];
	size_t count = elf_lines_at(lines, vaddr, places);

	for (size_t i = 0; i < count; i++) {
		struct frame f = { .kind = FRAME_INLINED, .module = real.module, .line = places[i].line };
		bool is_last = i + 1 == count;

		if (is_last)
			f = real;
		if (is_last && real.unnamed && places[i].name) {
			f.name = demangled(n, places[i].name, "");
			f.unnamed = false;
		} else if (!is_last) {
			f.name = places[i].name ? demangled(n, places[i].name, "") : "[inlined call without a name]";
			f.unnamed = !places[i].name;
		}
		f.file = places[i].file ? names_intern(n, places[i].file) : NULL;
		f.line = places[i].line;
		if (vec_push(&n->frames, f))
			return -ENOMEM;
	}
	return count ? 0 : vec_push(&n->frames, real);
}

static int add_new_frames(struct names *n, struct sym_file *file, uint64_t vaddr)
{
	const char *module = names_intern(n, file->name);
	struct elf_lines *lines;
	struct frame real;

	if (!file->img) {
		real = no_file(n, file);
		real.module = module;
		real.offset = vaddr;
		return vec_push(&n->frames, real);
	}
	real = of_image(n, file->img, file->number, module, vaddr);
	lines = lines_of(n, file);
	return lines ? add_with_lines(n, lines, vaddr, real) : vec_push(&n->frames, real);
}

static uint32_t find_place(const struct names *n, uint64_t file, uint64_t vaddr)
{
	return index_find(&n->place_index, hash_pair(file, vaddr), i,
			  n->places.v[i].file == file && n->places.v[i].vaddr == vaddr);
}

static size_t end_of(const struct names *n, uint32_t place)
{
	return place + 1 < n->places.n ? n->places.v[place + 1].first : n->frames.n;
}

/* The frames behind @first are those of a place that was not known. */
static int store_place(struct names *n, uint64_t file, uint64_t vaddr, size_t first)
{
	struct known_place place = { .file = file, .vaddr = vaddr, .first = (uint32_t)first };

	if (n->places.n >= PLACES_MAX || vec_push(&n->places, place))
		return -ENOMEM;
	if (!index_add(&n->place_index, hash_pair(file, vaddr), (uint32_t)n->places.n - 1))
		return 0;
	n->places.n--;
	return -ENOMEM;
}

void names_in_file(struct names *n, struct sym_file *file, uint64_t vaddr, struct frames *ret)
{
	uint32_t known = find_place(n, file->number, vaddr);
	size_t first = known != INDEX_NONE ? n->places.v[known].first : n->frames.n, end;

	if (known == INDEX_NONE && add_new_frames(n, file, vaddr)) {
		n->frames.n = first;
		return;
	}
	end = known != INDEX_NONE ? end_of(n, known) : n->frames.n;
	for (size_t i = first; i < end; i++)
		if (vec_push(&ret->v, n->frames.v[i]))
			break;
	if (known == INDEX_NONE && store_place(n, file->number, vaddr, first))
		n->frames.n = first;
}

bool names_file_knows(struct names *n, struct sym_file *file, uint64_t vaddr)
{
	uint32_t known = find_place(n, file->number, vaddr);
	struct found f;

	if (known != INDEX_NONE)
		return !n->frames.v[end_of(n, known) - 1].unnamed;
	if (!file->img)
		return false;
	f = find_name(file->img, vaddr);
	return f.symbol || f.stub || f.known;
}

struct frame names_in_vdso(struct names *n, const struct place *p, uint64_t addr)
{
	uint64_t vaddr;

	if (!n->vdso_tried)
		n->vdso = vdso_open();
	n->vdso_tried = true;
	/* 32-bit programs have another one. */
	if (n->vdso && p->start >> 32 && elf_offset_to_vaddr(n->vdso, addr - p->start, &vaddr))
		return of_image(n, n->vdso, 0, "vdso", vaddr);
	return (struct frame){ .name = "[no symbols: vdso]", .module = "vdso", .kind = FRAME_NATIVE, .unnamed = true };
}
