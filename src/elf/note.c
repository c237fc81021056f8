/* SPDX-License-Identifier: MIT */
/* Notes of any owner, and the two questions they answer: which build is this, and did Go write it? */
#include <string.h>

#include "base/auto.h"
#include "elf/image_priv.h"

struct note_walk note_walk_over(const void *bytes, size_t len, uint64_t align)
{
	return (struct note_walk){ .at = bytes, .end = (const uint8_t *)bytes + len, .align = align == 8 ? 8 : 4 };
}

/* @len rounded up; what is left when the last note lacks its padding. */
static size_t padded(size_t len, size_t align, size_t left)
{
	size_t up = (len + align - 1) & ~(align - 1);

	return up > left ? left : up;
}

bool note_next(struct note_walk *w, struct note *ret)
{
	size_t left = (size_t)(w->end - w->at), skip;
	Elf64_Nhdr h;

	if (!left || w->broken)
		return false;
	w->broken = true;
	if (left < sizeof(h))
		return false;
	memcpy(&h, w->at, sizeof(h));
	left -= sizeof(h);
	if (h.n_namesz > left)
		return false;
	skip = padded(h.n_namesz, w->align, left);
	if (h.n_descsz > left - skip)
		return false;
	ret->owner = (const char *)w->at + sizeof(h);
	ret->owner_len = strnlen(ret->owner, h.n_namesz);
	ret->type = h.n_type;
	ret->desc = w->at + sizeof(h) + skip;
	ret->desc_len = h.n_descsz;
	w->at = ret->desc + padded(h.n_descsz, w->align, left - skip);
	w->broken = false;
	return true;
}

bool note_is(const struct note *n, const char *owner, uint32_t type)
{
	return n->type == type && n->owner_len == strlen(owner) && memcmp(n->owner, owner, n->owner_len) == 0;
}

/* The first that is wanted of the notes that are left to walk over: its description, as much as has room. */
static bool find_note(struct note_walk *w, const char *owner, uint32_t type, uint8_t *desc, size_t room,
		      size_t *ret_len)
{
	struct note n;

	while (note_next(w, &n)) {
		if (!note_is(&n, owner, type))
			continue;
		*ret_len = n.desc_len < room ? n.desc_len : room;
		if (*ret_len)
			memcpy(desc, n.desc, *ret_len);
		return true;
	}
	return false;
}

/* The first note of this owner and type in the loaded segments; its description is truncated to @room. True when
 * found. */
static bool find_loaded_note(struct elf_image *img, const char *owner, uint32_t type, uint8_t *desc, size_t room,
			     size_t *ret_len)
{
	for (size_t i = 0; i < img->phdrs.n; i++) {
		const Elf64_Phdr *p = &img->phdrs.v[i];
		AUTO_FREE void *bytes = NULL;
		struct note_walk w;

		if (p->p_type != PT_NOTE || p->p_filesz > NOTE_BYTES_MAX)
			continue;
		bytes = image_copy(img, p->p_offset, p->p_filesz);
		if (!bytes)
			continue;
		w = note_walk_over(bytes, p->p_filesz, p->p_align);
		if (find_note(&w, owner, type, desc, room, ret_len))
			return true;
	}
	return false;
}

/* The same in a section, for files whose segments do not hold it. */
static bool find_section_note(struct elf_image *img, const char *section, const char *owner, uint32_t type,
			      uint8_t *desc, size_t room, size_t *ret_len)
{
	struct section *s = image_section(img, section);
	struct note_walk w;

	if (!s || s->size > NOTE_BYTES_MAX || !section_load(img, s))
		return false;
	w = note_walk_over(s->data, s->data_size, 4);
	return find_note(&w, owner, type, desc, room, ret_len);
}

const struct elf_build_id *elf_image_build_id(struct elf_image *img)
{
	struct elf_build_id *id = &img->build_id;
	size_t len = 0;

	if (img->build_id_loaded)
		return id;
	img->build_id_loaded = true;
	if (find_loaded_note(img, "GNU", NT_GNU_BUILD_ID, id->bytes, sizeof(id->bytes), &len) ||
	    find_section_note(img, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, id->bytes, sizeof(id->bytes), &len))
		id->size = (uint8_t)len;
	return id;
}

bool elf_image_is_go(struct elf_image *img)
{
	enum { GO_BUILD_ID = 4 };
	uint8_t desc[1];
	size_t len;

	if (!img->go_loaded) {
		img->go_loaded = true;
		img->is_go = image_section(img, ".go.buildinfo") || image_section(img, ".note.go.buildid") ||
			     find_loaded_note(img, "Go", GO_BUILD_ID, desc, sizeof(desc), &len);
	}
	return img->is_go;
}
