/* SPDX-License-Identifier: MIT */
/* Which unit of the debugging information an address is in, and the source locations recorded there. */
#include "elf/lines.h"

#include <dwarf.h>
#include <string.h>

#include "base/auto.h"
#include "elf/image_priv.h"
#include "elf/lines_priv.h"

#define DEBUG_BYTES_MAX (2ull << 30)
#define UNITS_MAX (1u << 20)
#define UNIT_RANGES_MAX (1u << 22)

/* The bytes that a section has in memory; more than is allowed for a size that cannot be true. */
static uint64_t size_in_memory(const struct elf_image *img, const struct section *s)
{
	Elf64_Chdr header;

	if (s->name[1] == 'z') /* an older way; deflate's best */
		return s->size * 1040;
	if (!(s->flags & SHF_COMPRESSED))
		return s->size;
	if (!img->is_64 || !image_read(img, s->offset, &header, sizeof(header)) ||
	    header.ch_size > s->size * 1040 + 64) /* deflate's best */
		return DEBUG_BYTES_MAX + 1;
	return s->size + header.ch_size;
}

/* elfutils reads these sections whole. */
static bool is_readable(struct elf_image *img)
{
	uint64_t sum = 0;

	for (size_t i = 1; i < img->sections.n; i++) {
		const struct section *s = &img->sections.v[i];

		if ((!strncmp(s->name, ".debug_", 7) || !strncmp(s->name, ".zdebug_", 8)) && s->type != SHT_NOBITS)
			sum += size_in_memory(img, s);
		if (sum > DEBUG_BYTES_MAX)
			return false;
	}
	return true;
}

static bool has_dwarf(struct elf_image *img)
{
	const struct section *s = image_section(img, ".debug_info");

	return s && s->type != SHT_NOBITS && s->size && img->is_little && is_readable(img);
}

static struct elf_image *image_with_dwarf(struct elf_image *img)
{
	struct elf_image *debug;

	if (has_dwarf(img))
		return img;
	debug = image_debug_file(img);
	return debug && has_dwarf(debug) ? debug : NULL;
}

static int add_unit(struct elf_lines *l, Dwarf_Die *die, uint64_t bytes)
{
	struct unit unit = { .die = *die, .bytes = bytes };
	ptrdiff_t next = 0;
	Dwarf_Addr base, start, end;

	if (l->units.n >= UNITS_MAX || vec_push(&l->units, unit))
		return -ENOMEM;
	while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
		struct code_range r = { .start = start, .end = end, .what = (uint32_t)l->units.n - 1 };

		/* Sections that the linker dropped are at 0. */
		if (start && start < end && (l->ranges.n >= UNIT_RANGES_MAX || vec_push(&l->ranges, r)))
			return -ENOMEM;
	}
	return 0;
}

static bool is_code_unit(int tag) { return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit; }

static void find_units(struct elf_lines *l)
{
	Dwarf_Off at = 0, next;
	size_t header;
	Dwarf_Die die;

	for (; dwarf_next_unit(l->dwarf, at, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) == 0; at = next)
		if (dwarf_offdie(l->dwarf, at + header, &die) && is_code_unit(dwarf_tag(&die)) &&
		    add_unit(l, &die, next - at))
			break;
	code_ranges_index(&l->ranges);
}

struct elf_lines *elf_lines_open(struct elf_image *img)
{
	struct elf_image *with = image_with_dwarf(img);
	struct elf_lines *l = with ? calloc(1, sizeof(*l)) : NULL;

	if (!l)
		return NULL;
	elf_version(EV_CURRENT);
	/* elf_memory takes char *, but does not write for as long as nobody asks for an update. */
	l->elf = with->mem ? elf_memory((char *)(uintptr_t)with->mem, with->size)
			   : elf_begin(with->fd, ELF_C_READ, NULL);
	l->dwarf = l->elf ? dwarf_begin_elf(l->elf, DWARF_C_READ, NULL) : NULL;
	if (!l->dwarf || !lines_may_be_read(l))
		return elf_lines_free(l);
	find_units(l);
	return l->ranges.n ? l : elf_lines_free(l);
}

struct elf_lines *elf_lines_free(struct elf_lines *l)
{
	if (!l)
		return NULL;
	for (size_t i = 0; i < l->units.n; i++)
		unit_done(&l->units.v[i]);
	vec_done(&l->units);
	vec_done(&l->ranges);
	dwarf_end(l->dwarf);
	elf_end(l->elf);
	free(l);
	return NULL;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr));
	return name ? name : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
}

static uint64_t number_of(Dwarf_Die *die, unsigned what)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	return dwarf_attr(die, what, &attr) && dwarf_formudata(&attr, &v) == 0 ? v : 0;
}

/* Where the inlined function @die was called from. */
static void set_call(struct elf_lines *l, struct unit *u, Dwarf_Die *die, struct elf_place *ret)
{
	uint64_t file = number_of(die, DW_AT_call_file), line = number_of(die, DW_AT_call_line);
	Dwarf_Files *files;
	size_t n;

	ret->line = line <= UINT32_MAX ? (uint32_t)line : 0;
	if (dwarf_hasattr(die, DW_AT_call_file) && unit_lines_fit(l, u) &&
	    dwarf_getsrcfiles(&u->die, &files, &n) == 0 && file < n)
		ret->file = dwarf_filesrc(files, (size_t)file, NULL, NULL);
}

static void set_line(struct elf_lines *l, struct unit *u, uint64_t vaddr, struct elf_place *ret)
{
	Dwarf_Line *line = unit_lines_fit(l, u) ? dwarf_getsrc_die(&u->die, vaddr) : NULL;
	int n = 0;

	if (!line || dwarf_lineno(line, &n) || n <= 0)
		return;
	ret->line = (uint32_t)n;
	ret->file = dwarf_linesrc(line, NULL, NULL);
}

size_t elf_lines_at(struct elf_lines *l, uint64_t vaddr, struct elf_place ret[ELF_PLACES_MAX])
{
	const struct code_range *r = code_ranges_find(&l->ranges, vaddr);
	struct unit *u = r ? &l->units.v[r->what] : NULL;
	uint64_t chain[ELF_PLACES_MAX];
	size_t n;

	if (!u)
		return 0;
	n = unit_chain(l, u, vaddr, chain);
	memset(ret, 0, (n ? n : 1) * sizeof(*ret));
	set_line(l, u, vaddr, &ret[0]);
	for (size_t i = 0; i < n; i++) { /* the chain begins with the outermost */
		struct elf_place *place = &ret[n - 1 - i];
		Dwarf_Die die;

		if (!dwarf_offdie(l->dwarf, chain[i], &die))
			continue;
		place->name = name_of(&die);
		if (i)
			set_call(l, u, &die, place + 1);
	}
	return n ? n : ret[0].line != 0;
}
