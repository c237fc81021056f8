/* SPDX-License-Identifier: MIT */
/* What elfutils may be let read: texts that end within their section, which it takes for granted, and programs of lines
 * that do not take all memory, since each of their bytes may make a row of a hundred bytes. */
#include <dwarf.h>
#include <string.h>

#include "elf/lines_priv.h"

#define UNIT_ROWS_MAX (2u << 20)
#define FILE_ROWS_MAX (8u << 20)
#define HEADER_MAX 23 /* up to the opcode base, with lengths of 64 bits */

static bool is_strings(const char *name)
{
	return !strcmp(name, ".debug_str") || !strcmp(name, ".debug_line_str") || !strcmp(name, ".zdebug_str") ||
	       !strcmp(name, ".zdebug_line_str");
}

/* Records one section as elfutils has it, decompressed. False: its last string is not terminated. */
static bool parse_bound(struct elf_lines *l, Elf_Scn *scn, const char *name)
{
	const Elf_Data *data;

	if (!strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line"))
		l->line_data = elf_getdata(scn, NULL);
	if (!l->info_data && (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
		l->info_data = elf_getdata(scn, NULL);
	if (!is_strings(name))
		return true;
	data = elf_getdata(scn, NULL);
	return !data || !data->d_buf || !data->d_size || !((const char *)data->d_buf)[data->d_size - 1];
}

bool lines_may_be_read(struct elf_lines *l)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(l->elf, &names))
		return false;
	while ((scn = elf_nextscn(l->elf, scn))) {
		const char *name = gelf_getshdr(scn, &header) ? elf_strptr(l->elf, names, header.sh_name) : NULL;

		if (name && header.sh_type != SHT_NOBITS && !parse_bound(l, scn, name))
			return false;
	}
	return true;
}

static uint64_t get(const uint8_t **at, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, *at, n); /* x86-64 files are little-endian */
	*at += n;
	return v;
}

/* At most so many rows come of the program that begins at @at. */
static uint64_t rows_at_most(const uint8_t *at, const uint8_t *end)
{
	uint64_t length, rows = 0, version;
	uint8_t base;

	if (end - at < HEADER_MAX)
		return 0;
	length = get(&at, 4);
	if (length == UINT32_MAX)
		length = get(&at, 8);
	if (length < (uint64_t)(end - at))
		end = at + length;
	version = get(&at, 2);
	at += (version >= 5 ? 2 : 0) + 4 + 1 + (version >= 4) + 3;
	base = (uint8_t)get(&at, 1);
	for (; at < end; at++)
		rows += *at >= base || *at == DW_LNS_copy;
	return rows;
}

static bool fits(struct elf_lines *l, struct unit *u)
{
	const Elf_Data *data = l->line_data;
	Dwarf_Attribute attr;
	Dwarf_Word at;
	uint64_t rows;

	if (!data || !dwarf_attr(&u->die, DW_AT_stmt_list, &attr) || dwarf_formudata(&attr, &at) || at >= data->d_size)
		return true; /* there are none */
	rows = rows_at_most((const uint8_t *)data->d_buf + at, (const uint8_t *)data->d_buf + data->d_size);
	if (rows > UNIT_ROWS_MAX || l->rows + rows > FILE_ROWS_MAX)
		return false;
	l->rows += rows;
	return true;
}

bool unit_lines_fit(struct elf_lines *l, struct unit *u)
{
	if (u->lines == LINES_NOT_KNOWN)
		u->lines = fits(l, u) ? LINES_FIT : LINES_TOO_MANY;
	return u->lines == LINES_FIT;
}
