/* SPDX-License-Identifier: MIT */
/* Where functions begin: told by function symbols, and in stripped files by the unwind tables. Nothing else is read
 * from those tables here. */
#include <string.h>

#include "base/auto.h"
#include "elf/internal.h"

/* Pointer encodings of the LSB's .eh_frame. */
enum {
	ENC_ABSPTR = 0x00, ENC_UDATA2 = 0x02, ENC_UDATA4 = 0x03, ENC_UDATA8 = 0x04,
	ENC_SDATA2 = 0x0a, ENC_SDATA4 = 0x0b, ENC_SDATA8 = 0x0c,
	ENC_PCREL = 0x10, ENC_DATAREL = 0x30, ENC_FORMAT = 0x0f, ENC_BASE = 0xf0,
};

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t take_bytes(struct cursor *c, size_t n)
{
	uint64_t v = 0;

	if (c->bad || (size_t)(c->end - c->at) < n) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->at, n);
	c->at += n;
	return v;
}

/* LEB128, signed or not: only its place matters here, or small values. */
static uint64_t take_leb(struct cursor *c)
{
	uint64_t v = 0, byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && !c->bad; shift += 7) {
		byte = take_bytes(c, 1);
		if (shift < 63)
			v |= (byte & 0x7f) << shift;
	}
	return v;
}

static size_t encoded_size(uint8_t enc, bool is_64)
{
	switch (enc & ENC_FORMAT) {
	case ENC_ABSPTR: return is_64 ? 8 : 4;
	case ENC_UDATA2: case ENC_SDATA2: return 2;
	case ENC_UDATA4: case ENC_SDATA4: return 4;
	case ENC_UDATA8: case ENC_SDATA8: return 8;
	default: return 0;
	}
}

/* A pointer at the cursor, whose own address is @here. Forms that no compiler writes for code make the cursor bad. */
static uint64_t take_pointer(struct cursor *c, uint8_t enc, bool is_64, uint64_t here)
{
	size_t size = encoded_size(enc, is_64);
	uint64_t v;

	if (!size || ((enc & ENC_BASE) != ENC_PCREL && (enc & ENC_BASE) != 0)) {
		c->bad = true;
		return 0;
	}
	v = take_bytes(c, size);
	if (enc & 0x08 && size < 8)
		v = (uint64_t)((int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size));
	return (enc & ENC_BASE) == ENC_PCREL ? v + here : v;
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
	memcpy(&n, bytes + 8, sizeof n);
	if (!n || n > (p->p_filesz - HEADER) / ENTRY || vec_reserve(s, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		int32_t distance;

		memcpy(&distance, bytes + HEADER + (size_t)i * ENTRY, sizeof distance);
		s->v[s->n++] = p->p_vaddr + (uint64_t)(int64_t)distance;
	}
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
static void take_entry(struct elf_image *img, const struct section *s, struct cursor entry)
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
	if (!entry.bad && vec_push(&img->starts, start))
		img->starts.n = 0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
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

		if (len > (size_t)(c.end - c.at))	/* also the 64-bit form, which no toolchain writes */
			break;
		if (len)
			take_entry(img, s, (struct cursor){ .at = c.at, .end = c.at + len });
		c.at += len;
	}
	if (img->starts.n)
		qsort(img->starts.v, img->starts.n, sizeof *img->starts.v, compare_u64);
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
	uint8_t code[sizeof endbr64];

	return vaddr % 16 == 0 ||
	       (elf_read_at(img, vaddr, code, sizeof code) && memcmp(code, endbr64, sizeof code) == 0);
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
	       bsearch(&vaddr, img->starts.v, img->starts.n, sizeof *img->starts.v, compare_u64) &&
	       looks_like_entry(img, vaddr);
}
