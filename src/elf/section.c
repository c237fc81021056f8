/* SPDX-License-Identifier: MIT */
/* The section table of an ELF file and the bytes of its sections. */
#include <libelf.h>
#include <string.h>

#include "base/auto.h"
#include "elf/image_priv.h"

static inline void auto_elf_end_(Elf **e) { elf_end(*e); }

static Elf64_Shdr widen_shdr(const Elf32_Shdr *s)
{
	return (Elf64_Shdr){ .sh_name = s->sh_name,
			     .sh_type = s->sh_type,
			     .sh_flags = s->sh_flags,
			     .sh_addr = s->sh_addr,
			     .sh_offset = s->sh_offset,
			     .sh_size = s->sh_size,
			     .sh_link = s->sh_link,
			     .sh_info = s->sh_info,
			     .sh_addralign = s->sh_addralign,
			     .sh_entsize = s->sh_entsize };
}

static Elf64_Shdr shdr_at(const struct elf_image *img, const uint8_t *table, size_t i)
{
	Elf64_Shdr wide;
	Elf32_Shdr narrow;

	if (img->is_64) {
		memcpy(&wide, table + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, table + i * sizeof(narrow), sizeof(narrow));
	return widen_shdr(&narrow);
}

/* The table as it is in the file; its full length is stored in *@ret_n. */
static uint8_t *read_table(const struct elf_image *img, size_t *ret_n, uint32_t *ret_strndx)
{
	size_t entsize = img->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint64_t n = img->shnum, room = (img->size - img->shoff) / entsize;
	AUTO_FREE uint8_t *first = image_copy(img, img->shoff, entsize);
	Elf64_Shdr zero;

	if (!first)
		return NULL;
	zero = shdr_at(img, first, 0);
	if (n == 1 && zero.sh_size > 1)
		n = zero.sh_size;
	if (n > room || n > TABLE_BYTES_MAX / entsize)
		return NULL;
	*ret_n = n;
	*ret_strndx = img->shstrndx == SHN_XINDEX ? zero.sh_link : img->shstrndx;
	return image_copy(img, img->shoff, n * entsize);
}

static void read_section_names(struct elf_image *img, const uint8_t *table, size_t n, uint32_t strndx)
{
	Elf64_Shdr s;

	if (strndx == SHN_UNDEF || strndx >= n)
		return;
	s = shdr_at(img, table, strndx);
	if (s.sh_type == SHT_NOBITS || s.sh_size > TABLE_BYTES_MAX)
		return;
	img->section_names = image_copy(img, s.sh_offset, s.sh_size);
	img->section_names_size = img->section_names ? s.sh_size : 0;
}

void image_load_sections(struct elf_image *img)
{
	AUTO_FREE uint8_t *table = NULL;
	uint32_t strndx = 0;
	size_t n = 0;

	if (img->sections_loaded)
		return;
	img->sections_loaded = true;
	if (!img->shoff)
		return;
	table = read_table(img, &n, &strndx);
	if (!table || vec_reserve(&img->sections, n))
		return;
	read_section_names(img, table, n, strndx);
	for (size_t i = 0; i < n; i++) {
		Elf64_Shdr s = shdr_at(img, table, i);
		const char *name = s.sh_name < img->section_names_size ? img->section_names + s.sh_name : "";

		img->sections.v[img->sections.n++] = (struct section){
			.name = name,
			.type = s.sh_type,
			.link = s.sh_link,
			.flags = s.sh_flags,
			.vaddr = s.sh_addr,
			.offset = s.sh_offset,
			.size = s.sh_size,
			.entsize = s.sh_entsize,
		};
	}
}

struct section *image_section(struct elf_image *img, const char *name)
{
	image_load_sections(img);
	for (size_t i = 1; i < img->sections.n; i++)
		if (strcmp(img->sections.v[i].name, name) == 0)
			return &img->sections.v[i];
	return NULL;
}

bool elf_image_section(struct elf_image *img, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size)
{
	struct section *s = image_section(img, name);

	if (!s)
		return false;
	*ret_vaddr = s->vaddr;
	*ret_size = s->size;
	return true;
}

/* The size a compressed section claims to have, when that is possible at all: deflate reaches 1:1032. */
static bool plausible_compression(const struct elf_image *img, const struct section *s)
{
	Elf64_Chdr wide;
	Elf32_Chdr narrow;
	uint64_t size;

	if (img->is_64) {
		if (!image_read(img, s->offset, &wide, sizeof(wide)))
			return false;
		size = wide.ch_type == ELFCOMPRESS_ZLIB ? wide.ch_size : UINT64_MAX;
	} else {
		if (!image_read(img, s->offset, &narrow, sizeof(narrow)))
			return false;
		size = narrow.ch_type == ELFCOMPRESS_ZLIB ? narrow.ch_size : UINT64_MAX;
	}
	return s->size <= SECTION_BYTES_MAX && size <= SECTION_BYTES_MAX && size <= s->size * 1040 + 64;
}

static bool decompress(struct elf_image *img, struct section *s)
{
	size_t index = (size_t)(s - img->sections.v);
	Elf_Data *data;
	Elf_Scn *scn;

	if (!plausible_compression(img, s))
		return false;
	elf_version(EV_CURRENT);
	/* elf_memory takes char *, but does not write for as long as nobody asks for an update. */
	AUTO(auto_elf_end_)
	Elf *elf = img->mem ? elf_memory((char *)(uintptr_t)img->mem, img->size) : elf_begin(img->fd, ELF_C_READ, NULL);
	if (!elf)
		return false;
	scn = elf_getscn(elf, index);
	if (!scn || elf_compress(scn, 0, 0) < 0)
		return false;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return false;
	s->data = malloc(data->d_size + 1);
	if (!s->data)
		return false;
	memcpy(s->data, data->d_buf, data->d_size);
	s->data_size = data->d_size;
	return true;
}

bool section_load(struct elf_image *img, struct section *s)
{
	if (s->data)
		return true;
	if (s->type == SHT_NOBITS || s->type == SHT_NULL)
		return false;
	if (s->flags & SHF_COMPRESSED)
		return decompress(img, s);
	s->data = image_copy(img, s->offset, s->size);
	s->data_size = s->data ? s->size : 0;
	return s->data != NULL;
}

bool elf_image_section_data(struct elf_image *img, const char *name, const void **ret, size_t *ret_size)
{
	struct section *s = image_section(img, name);

	if (!s || !section_load(img, s))
		return false;
	*ret = s->data;
	*ret_size = s->data_size;
	return true;
}
