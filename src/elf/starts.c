/* SPDX-License-Identifier: MIT */
/* Where functions begin: from function symbols, and in stripped files from the unwind tables. Nothing else is read
 * from those tables here. */
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "elf/cursor.h"
#include "elf/image_priv.h"

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort_starts(struct function_starts *s)
{
	for (size_t i = 1; i < s->n; i++) {
		if (s->v[i - 1].vaddr <= s->v[i].vaddr)
			continue;
		qsort(s->v, s->n, sizeof(*s->v), compare_u64);
		return;
	}
}

/* .eh_frame_hdr: a sorted table that the linker made. False when there is none of the usual form. */
static bool starts_from_header(struct elf_image *img, const Elf64_Phdr *p)
{
	enum { HEADER = 12, ENTRY = 8 };
	struct function_starts *s = &img->starts;
	AUTO_FREE uint8_t *bytes = NULL;
	uint32_t n;

	if (p->p_filesz < HEADER || p->p_filesz > SECTION_BYTES_MAX)
		return false;
	bytes = image_copy(img, p->p_offset, p->p_filesz);
	if (!bytes || bytes[0] != 1 || encoded_size(bytes[1], img->is_64) != 4 || bytes[2] != ENC_UDATA4 ||
	    bytes[3] != (ENC_DATAREL | ENC_SDATA4))
		return false;
	memcpy(&n, bytes + 8, sizeof(n));
	if (!n || n > (p->p_filesz - HEADER) / ENTRY || vec_reserve(s, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		int32_t distance[2];

		memcpy(distance, bytes + HEADER + (size_t)i * ENTRY, sizeof(distance));
		s->v[s->n++] = (struct function_start){ p->p_vaddr + (uint64_t)(int64_t)distance[0],
							p->p_vaddr + (uint64_t)(int64_t)distance[1] };
	}
	sort_starts(s); /* a table that lies */
	return true;
}

/* How the pointers of an entry's FDEs are encoded; 0xff when the CIE cannot be read. */
static uint8_t cie_encoding(struct cursor c, bool is_64)
{
	const char *augmentation;
	uint8_t version = (uint8_t)take_bytes(&c, 1), enc = ENC_ABSPTR;
	const uint8_t *nul = c.bad ? NULL : memchr(c.at, 0, (size_t)(c.end - c.at));

	if (!nul || (version != 1 && version != 3 && version != 4))
		return 0xff;
	augmentation = (const char *)c.at;
	c.at = nul + 1;
	if (augmentation[0] != 'z')
		return augmentation[0] ? 0xff : ENC_ABSPTR;
	if (version == 4)
		take_bytes(&c, 2);
	take_leb(&c);
	take_leb(&c);
	if (version == 1)
		take_bytes(&c, 1);
	else
		take_leb(&c);
	take_leb(&c);
	for (const char *a = augmentation + 1; *a && !c.bad; a++) {
		if (*a == 'R')
			enc = (uint8_t)take_bytes(&c, 1);
		else if (*a == 'L')
			take_bytes(&c, 1);
		else if (*a == 'P')
			take_bytes(&c, encoded_size((uint8_t)take_bytes(&c, 1), is_64));
		else if (*a != 'S' && *a != 'B')
			return 0xff;
	}
	return c.bad ? 0xff : enc;
}

/* One entry of .eh_frame after its length; adds the start of an FDE. */
static void parse_entry_point(struct elf_image *img, const struct section *s, struct cursor entry)
{
	const uint8_t *bytes = s->data, *id_at = entry.at;
	uint32_t back = (uint32_t)take_bytes(&entry, 4), cie_len;
	struct cursor cie;
	uint64_t start;
	uint8_t enc;

	if (entry.bad || !back || back > (size_t)(id_at - bytes))
		return;
	cie = (struct cursor){ .at = id_at - back, .end = bytes + s->data_size };
	cie_len = (uint32_t)take_bytes(&cie, 4);
	if (cie_len > (size_t)(cie.end - cie.at))
		return;
	cie.end = cie.at + cie_len;
	if (take_bytes(&cie, 4) != 0)
		return;
	enc = cie_encoding(cie, img->is_64);
	start = take_pointer(&entry, enc, img->is_64, s->vaddr + (uint64_t)(entry.at - bytes));
	if (!entry.bad &&
	    vec_push(&img->starts, ((struct function_start){ start, s->vaddr + (uint64_t)(id_at - 4 - bytes) })))
		img->starts.n = 0;
}

/* .eh_frame itself: static programs often have no header to it. */
static void starts_from_section(struct elf_image *img)
{
	struct section *s = image_section(img, ".eh_frame");
	struct cursor c;

	if (!s || !section_load(img, s))
		return;
	c = (struct cursor){ .at = s->data, .end = (uint8_t *)s->data + s->data_size };
	while (!c.bad && c.at < c.end) {
		uint32_t len = (uint32_t)take_bytes(&c, 4);

		if (len > (size_t)(c.end - c.at)) /* also the 64-bit form, which no toolchain writes */
			break;
		if (len)
			parse_entry_point(img, s, (struct cursor){ .at = c.at, .end = c.at + len });
		c.at += len;
	}
	sort_starts(&img->starts);
}

static void load_starts(struct elf_image *img)
{
	if (img->starts.loaded)
		return;
	img->starts.loaded = true;
	for (size_t i = 0; i < img->phdrs.n; i++)
		if (img->phdrs.v[i].p_type == PT_GNU_EH_FRAME && starts_from_header(img, &img->phdrs.v[i]))
			return;
	starts_from_section(img);
}

/*
 * The unwind tables also list the parts that compilers split off functions (".cold"), which are jumped to with the red
 * zone in use. Such a part is never an indirect jump's target (endbr64) and is not aligned like a function.
 */
static bool looks_like_entry(struct elf_image *img, uint64_t vaddr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[sizeof(endbr64)];

	return vaddr % 16 == 0 ||
	       (elf_read_at(img, vaddr, code, sizeof(code)) && memcmp(code, endbr64, sizeof(code)) == 0);
}

bool elf_is_function_start(struct elf_image *img, uint64_t vaddr)
{
	bool is_part = false;

	if (!elf_vaddr_is_text(img, vaddr))
		return false;
	if (image_function_symbol(img, vaddr, &is_part))
		return true;
	load_starts(img);
	return !is_part && img->starts.n &&
	       bsearch(&vaddr, img->starts.v, img->starts.n, sizeof(*img->starts.v), compare_u64) &&
	       looks_like_entry(img, vaddr);
}

/* The length of the range of the entry at @entry, read from the file; 0 when it cannot be. */
static uint64_t entry_length(struct elf_image *img, uint64_t entry)
{
	enum { CIE_MAX = 256 }; /* to the end of its augmentation */
	uint8_t bytes[CIE_MAX], fde[24] = {};
	struct cursor cie = { .at = bytes, .end = bytes + CIE_MAX };
	struct cursor c = { .at = fde + 8, .end = fde + sizeof(fde) };
	uint32_t back, len;
	uint64_t at;
	uint8_t enc;

	if (!elf_read_at(img, entry, fde, sizeof(fde)) && !elf_read_at(img, entry, fde, 16)) /* the last one */
		return 0;
	memcpy(&back, fde + 4, sizeof(back));
	at = entry + 4 - back;
	if (!back || back > entry + 4 || !elf_read_at(img, at, &len, sizeof(len)) || len < 4)
		return 0;
	if (len < CIE_MAX)
		cie.end = bytes + len;
	if (!elf_read_at(img, at + 4, bytes, (size_t)(cie.end - bytes)) || take_bytes(&cie, 4) != 0)
		return 0;
	enc = cie_encoding(cie, img->is_64);
	take_pointer(&c, enc, img->is_64, 0);
	at = take_pointer(&c, enc & ENC_FORMAT & ~0x08, img->is_64, 0);
	return c.bad ? 0 : at;
}

bool elf_unwind_entry_at(struct elf_image *img, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	size_t low;
	uint64_t len;

	load_starts(img);
	low = search_first_not(i, 0, img->starts.n, img->starts.v[i].vaddr <= vaddr);
	if (!low)
		return false;
	len = entry_length(img, img->starts.v[low - 1].entry);
	*ret_start = img->starts.v[low - 1].vaddr;
	*ret_end = *ret_start + len;
	return vaddr - *ret_start < len;
}
