/* SPDX-License-Identifier: MIT */
/* The entries of .eh_frame and .debug_frame, one after the other as elfutils cuts them. */
#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/auto.h"
#include "base/search.h"
#include "elf/unwind_priv.h"

struct frames {
	struct unwind_build *b;
	struct unwind_layer *layer;
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
	bool is_eh;
	bool by_header; /* the size is not known: the first end mark is the end */
	uint64_t entries_max; /* entries of functions to take */
	VEC(struct cie) cies; /* by offset, as they come */
	size_t last_cie;
};

/* Pointers that lie in memory, or are relative to what a debugger alone knows, are refused. */
static bool is_known_encoding(uint8_t enc)
{
	uint8_t base = enc & ENC_BASE;

	return encoded_size(enc, true) &&
	       (base == 0 || base == ENC_PCREL || base == ENC_TEXTREL || base == ENC_DATAREL);
}

/* What an augmentation string declares about FDEs (LSB, "Eh frame"). */
static bool read_augmentation(struct cie *cie, const Dwarf_CIE *raw)
{
	struct cursor c = { .at = raw->augmentation_data, .end = raw->augmentation_data + raw->augmentation_data_size };
	const char *a = raw->augmentation;

	cie->encoding = ENC_ABSPTR;
	cie->sized = *a == 'z';
	if (!cie->sized) /* "eh" and others of old have data whose size nobody knows */
		return a[strspn(a, "SB")] == '\0';
	if (!raw->augmentation_data)
		return !a[1];
	for (a++; *a && !c.bad; a++) {
		if (*a == 'R')
			cie->encoding = take_byte(&c);
		else if (*a == 'L')
			take_byte(&c);
		else if (*a == 'P')
			take_bytes(&c, encoded_size(take_byte(&c), true));
		else if (*a != 'S' && *a != 'B')
			break; /* what is unknown has a size */
	}
	return !c.bad && is_known_encoding(cie->encoding);
}

static int parse_cie(struct frames *f, uint64_t offset, const Dwarf_CIE *raw)
{
	struct cie cie = { .offset = offset,
			   .code_align = raw->code_alignment_factor,
			   .data_align = raw->data_alignment_factor };

	cie.bad = raw->return_address_register != 16 || !read_augmentation(&cie, raw);
	if (!cie.bad)
		cie_run(&cie, (struct cursor){ .at = raw->initial_instructions, .end = raw->initial_instructions_end });
	f->b->table->bad_entries += cie.bad;
	return vec_push(&f->cies, cie);
}

/* A common entry that has been met: those that are pointed at alone are none. */
static const struct cie *find_cie(struct frames *f, uint64_t offset)
{
	size_t low;

	if (f->last_cie < f->cies.n && f->cies.v[f->last_cie].offset == offset)
		return &f->cies.v[f->last_cie];
	low = search_first_not(i, 0, f->cies.n, f->cies.v[i].offset < offset);
	if (low == f->cies.n || f->cies.v[low].offset != offset)
		return NULL;
	f->last_cie = low;
	return &f->cies.v[low];
}

static uint64_t base_of(const struct frames *f, uint8_t enc, uint64_t here)
{
	switch (enc & ENC_BASE) {
	case ENC_PCREL: return here;
	case ENC_DATAREL: return f->b->data_base;
	default: return 0; /* ENC_TEXTREL: relative to where the file is loaded */
	}
}

static uint64_t address_of(const struct frames *f, const uint8_t *at) { return f->vaddr + (uint64_t)(at - f->bytes); }

/* 0, -ENOMEM, or -EBADMSG. */
static int parse_fde(struct frames *f, const Dwarf_FDE *raw)
{
	static const struct ut_unwind_rule unsupported = { .cfa = UT_CFA_UNSUPPORTED };
	const struct cie *cie = find_cie(f, raw->CIE_pointer);
	struct cursor c = { .at = raw->start, .end = raw->end };
	uint64_t start, length;
	int r;

	if (!cie || cie->bad)
		return -EBADMSG;
	start = base_of(f, cie->encoding, address_of(f, c.at));
	start += take_encoded(&c, cie->encoding, true);
	length = take_encoded(&c, cie->encoding & ENC_FORMAT & (uint8_t)~ENC_SIGNED, true);
	if (cie->sized)
		take_block(&c);
	if (c.bad)
		return -EBADMSG;
	if (!length || !start) /* the linker threw the function away */
		return 0;
	if (start + length < start || !unwind_is_code(f->b, start, start + length))
		return -EBADMSG;
	r = fde_run(f->b, f->layer, cie, start, start + length, c, address_of(f, c.at));
	if (r != -EBADMSG)
		return r;
	f->b->table->unsupported++;
	r = unwind_add_span(f->b, f->layer, start, start + length, &unsupported);
	return r ? r : -EBADMSG;
}

/* 1: behind the last entry. 0, -ENOMEM, or -EBADMSG. */
static int parse_entry(struct frames *f, Dwarf_Off offset, Dwarf_Off *next)
{
	static const unsigned char ident[EI_NIDENT] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT };
	Elf_Data data = { .d_buf = (void *)(uintptr_t)f->bytes, .d_size = f->size, .d_version = EV_CURRENT };
	Dwarf_CFI_Entry entry;
	uint32_t length = 0;
	int r;

	*next = offset;
	if (f->size - offset < sizeof(length))
		return 1;
	memcpy(&length, f->bytes + offset, sizeof(length));
	if (!length) { /* an end mark, or one that a linker left in the middle */
		*next = offset + sizeof(length);
		return f->by_header;
	}
	r = dwarf_next_cfi(ident, &data, f->is_eh, offset, next, &entry);
	if (r)
		return r > 0 ? 1 : -EBADMSG;
	if (dwarf_cfi_cie_p(&entry))
		return parse_cie(f, offset, &entry.cie);
	if (!f->entries_max--)
		return 1;
	return parse_fde(f, &entry.fde);
}

static int parse_entries(struct frames *f)
{
	Dwarf_Off offset = 0, next = 0;
	int r;

	for (; offset < f->size; offset = next) {
		r = parse_entry(f, offset, &next);
		if (r == 1)
			return 0;
		if (r == -ENOMEM)
			return r;
		f->b->table->bad_entries += r != 0;
		if (next <= offset || next > f->size) /* nobody knows where the next one begins */
			return 0;
	}
	return 0;
}

static int read_frames(struct frames *f)
{
	int r = parse_entries(f);

	vec_done(&f->cies);
	return r;
}

/* Where .eh_frame begins, and how many entries it has, by the header that programs find it with at run time. */
static bool read_header(struct unwind_build *b, const Elf64_Phdr *p, uint64_t *ret_vaddr, uint64_t *ret_entries)
{
	uint8_t bytes[20];
	struct cursor c = { .at = bytes + 4, .end = bytes + sizeof(bytes) };
	size_t len = p->p_filesz < sizeof(bytes) ? (size_t)p->p_filesz : sizeof(bytes);

	memset(bytes, 0, sizeof(bytes));
	if (len < 8 || !image_read(b->img, p->p_offset, bytes, len) || bytes[0] != 1)
		return false;
	if (bytes[1] == ENC_OMIT || ((bytes[1] & ENC_BASE) == ENC_DATAREL))
		*ret_vaddr = p->p_vaddr + take_encoded(&c, bytes[1], true);
	else
		*ret_vaddr = take_pointer(&c, bytes[1], true, p->p_vaddr + 4);
	*ret_entries = UINT64_MAX;
	if (bytes[2] != ENC_OMIT && !c.bad)
		*ret_entries = take_encoded(&c, bytes[2] & ENC_FORMAT, true);
	return !c.bad;
}

/* From there to the end of its segment: the file does not say how long it is. */
static uint8_t *read_by_header(struct frames *f)
{
	const struct elf_image *img = f->b->img;
	uint64_t offset;

	for (size_t i = 0; i < img->phdrs.n; i++)
		if (img->phdrs.v[i].p_type == PT_GNU_EH_FRAME &&
		    read_header(f->b, &img->phdrs.v[i], &f->vaddr, &f->entries_max))
			break;
	f->by_header = true;
	for (size_t i = 0; f->vaddr && i < img->segments.n; i++) {
		const struct elf_segment *s = &img->segments.v[i];

		if (f->vaddr < s->vaddr || f->vaddr - s->vaddr >= s->filesz)
			continue;
		offset = f->vaddr - s->vaddr;
		f->size = s->filesz - offset;
		if (f->size > UNWIND_BYTES_MAX)
			f->size = UNWIND_BYTES_MAX;
		return image_copy(img, s->offset + offset, f->size);
	}
	return NULL;
}

int unwind_read_eh_frame(struct unwind_build *b, struct unwind_layer *layer)
{
	struct section *s = image_section(b->img, ".eh_frame");
	struct frames f = { .b = b, .layer = layer, .is_eh = true, .entries_max = UINT64_MAX };
	AUTO_FREE uint8_t *bytes = NULL;

	if (s && s->type != SHT_NOBITS && !(s->flags & SHF_COMPRESSED)) {
		f.vaddr = s->vaddr;
		f.size = s->size;
		if (f.size <= UNWIND_BYTES_MAX)
			bytes = image_copy(b->img, s->offset, f.size);
	} else {
		bytes = read_by_header(&f);
	}
	if (!bytes)
		return 0;
	f.bytes = bytes;
	return read_frames(&f);
}

int unwind_read_debug_frame(struct unwind_build *b, struct unwind_layer *layer)
{
	struct frames f = { .b = b, .layer = layer, .entries_max = UINT64_MAX };
	struct section *s = image_section(b->img, ".debug_frame");
	const void *bytes;

	if (!s || s->size > UNWIND_BYTES_MAX || !elf_image_section_data(b->img, ".debug_frame", &bytes, &f.size) ||
	    f.size > UNWIND_BYTES_MAX)
		return 0;
	f.bytes = bytes;
	return read_frames(&f);
}
