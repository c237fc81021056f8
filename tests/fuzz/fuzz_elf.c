/* SPDX-License-Identifier: MIT */
/* Fuzz target: an ELF file's notes, symbols, function starts, sections and source lines. */
#include <stdint.h>
#include <stdlib.h>

#include "elf/lines.h"
#include "elf/usdt.h"
#include "probe/operand.h"
#include "fuzz.h"

static void read_notes(struct elf_image *img)
{
	struct usdt_notes notes = { 0 };

	usdt_has_notes(img);
	if (usdt_notes_read(img, &notes, NULL))
		return;
	for (size_t i = 0; i < notes.notes.n && i < 64; i++) {
		struct operands ops;

		operands_parse(notes.notes.v[i].args, &ops);
		for (unsigned k = 0; k < ops.n; k++)
			operand_resolve(&ops.v[k], img);
		elf_is_function_start(img, notes.notes.v[i].vaddr);
	}
	usdt_notes_done(&notes);
}

static void read_symbols(struct elf_image *img)
{
	const struct elf_symbol *symbols;
	size_t n = elf_image_symbols(img, &symbols);
	static const char *const plts[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	struct elf_symbol s;
	uint64_t start, end;

	for (size_t i = 0; i < n; i += 1 + n / 16) {
		const struct elf_symbol *at = elf_function_at(img, symbols[i].vaddr + symbols[i].size / 2);

		if (at && at->vaddr > symbols[i].vaddr + symbols[i].size / 2)
			abort();
		if (elf_symbol_find(img, symbols[i].name, &s) == 0)
			abort(); /* what is listed can be found */
		elf_is_function_start(img, symbols[i].vaddr);
		elf_stub_at(img, symbols[i].vaddr);
		if (elf_unwind_entry_at(img, symbols[i].vaddr, &start, &end) && start > symbols[i].vaddr)
			abort();
	}
	for (size_t i = 0; i < 4; i++)
		if (elf_image_section(img, plts[i], &start, &end))
			elf_stub_at(img, start + 16);
}

static void read_lines(struct elf_image *img)
{
	struct elf_lines *l = elf_lines_open(img);
	struct elf_place places[ELF_PLACES_MAX];
	const struct elf_symbol *symbols;
	size_t n = elf_image_symbols(img, &symbols);

	if (!l)
		return;
	for (size_t i = 0; i < n && i < 64; i++)
		if (elf_lines_at(l, symbols[i].vaddr, places) > ELF_PLACES_MAX)
			abort();
	elf_lines_at(l, 0x401001, places);
	elf_lines_free(l);
}

FUZZ_TARGET(elf)
{
	struct elf_image *img = NULL;
	const void *bytes;
	size_t len;
	uint64_t v;

	if (elf_image_from_memory(data, size, &img, NULL))
		return 0;
	read_notes(img);
	read_symbols(img);
	read_lines(img);
	elf_image_build_id(img);
	elf_image_is_go(img);
	elf_is_function_start(img, 0x1000);
	elf_vaddr_to_offset(img, 0x401000, &v);
	elf_offset_to_vaddr(img, 0x1000, &v);
	elf_image_section_data(img, ".debug_str", &bytes, &len);
	elf_image_free(img);
	return 0;
}
