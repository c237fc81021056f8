/* SPDX-License-Identifier: MIT */
/* The USDT notes of an ELF file: bytes to sites. What a site's operands mean is not for this file to say. */
#include "elf/usdt.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "elf/image_priv.h"

#define NOTE_SECTION ".note.stapsdt"
#define OWNER "stapsdt"
#define NOTE_TYPE 3
#define HEADER_BYTES (sizeof(Elf64_Nhdr) + sizeof(OWNER))
#define PAGE 4096u

static const char outside_text[] = "its address is outside any executable segment of the file";
static const char outside_data[] = "its semaphore is outside any writable segment of the file";
static const char odd_semaphore[] = "its semaphore has an odd address, which the kernel rejects";

/* Several stretches of note bytes behind each other. */
struct stretch {
	uint64_t offset, size, align;
};
struct stretches {
	VEC(struct stretch) list;
	uint64_t total;
};

static bool is_note_section(const struct section *s)
{
	return s->type == SHT_NOTE && strcmp(s->name, NOTE_SECTION) == 0;
}

bool usdt_has_notes(struct elf_image *img)
{
	image_load_sections(img);
	for (size_t i = 1; i < img->sections.n; i++)
		if (is_note_section(&img->sections.v[i]) && img->sections.v[i].size)
			return true;
	return false;
}

static int add_stretch(const struct elf_image *img, struct stretches *to, uint64_t offset, uint64_t size,
		       uint64_t align, struct ut_err *err)
{
	if (offset > img->size || size > img->size - offset)
		return ut_err_set(err, -EBADMSG,
				  "broken or truncated ELF file: the USDT notes are outside the file (%llu bytes)",
				  (unsigned long long)img->size);
	to->total += size;
	if (to->total > NOTE_BYTES_MAX)
		return ut_err_set(err, -EBADMSG, "broken ELF file: implausible size of the USDT notes (%llu bytes)",
				  (unsigned long long)to->total);
	return vec_push(&to->list, ((struct stretch){ offset, size, align })) ? ut_err_nomem(err) : 0;
}

/* Sections of the right name, or all notes among the segments when the file has no sections. */
static int find_stretches(struct elf_image *img, struct stretches *to, struct ut_err *err)
{
	int r = 0;

	image_load_sections(img);
	for (size_t i = 1; i < img->sections.n && !r; i++) {
		const struct section *s = &img->sections.v[i];

		if (is_note_section(s))
			r = add_stretch(img, to, s->offset, s->size, 4, err);
	}
	for (size_t i = 0; i < img->phdrs.n && !r && !img->sections.n; i++) {
		const Elf64_Phdr *p = &img->phdrs.v[i];

		if (p->p_type == PT_NOTE)
			r = add_stretch(img, to, p->p_offset, p->p_filesz, p->p_align, err);
	}
	return r;
}

/* A NUL-terminated string at *@at, which is moved behind it; NULL when it does not end before @end. */
static const char *read_string(const char **at, const char *end)
{
	const char *ret = *at, *nul = memchr(ret, '\0', (size_t)(end - ret));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return ret;
}

/* Whether a note has the base address that adjusts its location after prelink. */
static uint64_t base_adjustment(const struct elf_image *img, uint64_t vaddr, uint64_t base, uint64_t section_base)
{
	if (!base || !section_base || !elf_vaddr_is_text(img, vaddr + section_base - base))
		return 0;
	return section_base - base;
}

/* lld and mold: RELRO and .data share a page of the file. */
static bool is_mapped_twice(const struct elf_image *img, uint64_t offset)
{
	uint64_t page = offset / PAGE;
	size_t n = 0;

	for (size_t i = 0; i < img->segments.n; i++) {
		const struct elf_segment *s = &img->segments.v[i];

		n += s->write && s->filesz && s->offset / PAGE <= page &&
		     s->offset % PAGE + s->filesz > (page - s->offset / PAGE) * PAGE;
	}
	return n > 1;
}

static const char *place_semaphore(const struct elf_image *img, struct usdt_note *note)
{
	if (note->sem_vaddr & 1)
		return odd_semaphore;
	for (size_t i = 0; i < img->segments.n; i++) {
		const struct elf_segment *s = &img->segments.v[i];

		if (s->write && note->sem_vaddr >= s->vaddr && s->filesz >= 2 &&
		    note->sem_vaddr - s->vaddr <= s->filesz - 2) {
			note->sem_offset = note->sem_vaddr - s->vaddr + s->offset;
			note->sem_twice = is_mapped_twice(img, note->sem_offset);
			return note->sem_offset & 1 ? odd_semaphore : NULL;
		}
	}
	return outside_data;
}

/* The offset comes from an executable segment: a broken file may have others at the same address. */
static const char *place_site(const struct elf_image *img, struct usdt_note *note)
{
	for (size_t i = 0; i < img->segments.n; i++) {
		const struct elf_segment *s = &img->segments.v[i];

		if (s->exec && note->vaddr >= s->vaddr && note->vaddr - s->vaddr < s->filesz) {
			note->offset = note->vaddr - s->vaddr + s->offset;
			return NULL;
		}
	}
	return outside_text;
}

/* True when the description could be read. */
static bool read_note(const struct elf_image *img, const struct note *raw, uint64_t section_base, struct usdt_note *ret)
{
	const char *at = (const char *)raw->desc, *end = at + raw->desc_len;
	uint64_t address[3], move;

	if (raw->desc_len < sizeof(address))
		return false;
	memcpy(address, at, sizeof(address));
	at += sizeof(address);
	*ret = (struct usdt_note){ 0 };
	ret->provider = read_string(&at, end);
	ret->name = ret->provider ? read_string(&at, end) : NULL;
	ret->args = ret->name ? read_string(&at, end) : NULL;
	if (!ret->args || !*ret->provider || !*ret->name)
		return false;
	move = base_adjustment(img, address[0], address[1], section_base);
	ret->vaddr = address[0] + move;
	ret->defect = place_site(img, ret);
	if (address[2]) {
		ret->sem_vaddr = address[2] + move;
		const char *defect = place_semaphore(img, ret);

		if (!ret->defect)
			ret->defect = defect;
	}
	return true;
}

/* The next header of such a note, at a multiple of 4 bytes from @bytes; NULL: none before @end. */
static const uint8_t *find_header(const uint8_t *bytes, const uint8_t *from, const uint8_t *end)
{
	static const char owner[] = OWNER;
	Elf64_Nhdr h;

	for (const uint8_t *at = bytes + (((size_t)(from - bytes) + 3) & ~(size_t)3);
	     at < end && (size_t)(end - at) >= HEADER_BYTES; at += 4) {
		memcpy(&h, at, sizeof(h));
		if (h.n_namesz == sizeof(owner) && h.n_type == NOTE_TYPE &&
		    !memcmp(at + sizeof(h), owner, sizeof(owner)))
			return at;
	}
	return NULL;
}

/*
 * Where a description ends: its three strings do, if it is readable. A size that is too large would swallow the notes behind
 * it, and one that is too small would make a header of the rest.
 */
static const uint8_t *description_end(const struct note *raw, const struct usdt_note *note, bool readable)
{
	return readable ? (const uint8_t *)note->args + strlen(note->args) + 1 : raw->desc;
}

static int read_stretch(struct elf_image *img, const uint8_t *bytes, const struct stretch *s, uint64_t section_base,
			struct usdt_notes *to)
{
	struct note_walk w = note_walk_over(bytes, s->size, s->align);
	const uint8_t *end = bytes + s->size, *next;
	struct usdt_note note;
	struct note raw;

	for (;;) {
		const uint8_t *head = w.at;
		bool readable;

		if (!note_next(&w, &raw)) {
			to->broken += w.broken;
			next = w.broken ? find_header(bytes, head + 1, end) : NULL;
			if (!next)
				return 0;
			w = note_walk_over(next, (size_t)(end - next), s->align);
			continue;
		}
		if (!note_is(&raw, OWNER, NOTE_TYPE))
			continue;
		readable = read_note(img, &raw, section_base, &note);
		if (!readable)
			to->broken++;
		else if (vec_push(&to->notes, note))
			return -ENOMEM;
		head = w.at; /* a header that begins before it may end behind it */
		next = find_header(bytes, description_end(&raw, &note, readable),
				   (size_t)(end - head) > HEADER_BYTES ? head + HEADER_BYTES : end);
		if (next && next < head) {
			to->broken += readable;
			w = note_walk_over(next, (size_t)(end - next), s->align);
		}
	}
}

static int read_stretches(struct elf_image *img, const struct stretches *from, struct usdt_notes *to,
			  struct ut_err *err)
{
	uint64_t section_base = 0, size;
	uint8_t *bytes = malloc(from->total + 1);

	if (!bytes)
		return ut_err_nomem(err);
	to->strings = bytes;
	elf_image_section(img, ".stapsdt.base", &section_base, &size);
	for (size_t i = 0; i < from->list.n; i++) {
		const struct stretch *s = &from->list.v[i];

		if (!image_read(img, s->offset, bytes, s->size))
			return ut_err_set(err, -EIO, "cannot read the USDT notes: the file changed meanwhile");
		if (read_stretch(img, bytes, s, section_base, to))
			return ut_err_nomem(err);
		bytes += s->size;
	}
	return 0;
}

int usdt_notes_read(struct elf_image *img, struct usdt_notes *ret, struct ut_err *err)
{
	struct usdt_notes notes = { 0 };
	struct stretches found = { 0 };
	int r = find_stretches(img, &found, err);

	if (!r && found.total && !img->is_64 && usdt_has_notes(img))
		r = ut_err_set(err, -ENOTSUP, "the file is a %s program; only 64-bit programs can be traced",
			       img->machine_name);
	if (!r && found.total && img->is_64)
		r = read_stretches(img, &found, &notes, err);
	vec_done(&found.list);
	if (r)
		usdt_notes_done(&notes);
	else
		*ret = notes;
	return r;
}

void usdt_notes_done(struct usdt_notes *notes)
{
	vec_done(&notes->notes);
	free(notes->strings);
	*notes = (struct usdt_notes){ 0 };
}
