/* SPDX-License-Identifier: MIT */
/*
 * The USDT notes of an ELF file (.note.stapsdt, owner "stapsdt", type 3): format as written by SystemTap's
 * sys/sdt.h.
 */
#ifndef UT_ELF_USDT_H
#define UT_ELF_USDT_H

#include "base/vec.h"
#include "elf/image.h"

struct usdt_note {
	const char *provider, *name, *args; /* live as long as the list; args may be "" */
	uint64_t vaddr; /* the site, in the file's own addresses, after base adjustment */
	uint64_t offset; /* the same as file offset */
	uint64_t sem_vaddr; /* the semaphore (a 16-bit counter); 0: the probe has none */
	uint64_t sem_offset; /* its file offset, through its own segment; 0 when there is none */
	bool sem_twice; /* its page of the file belongs to another writable segment, too: it is mapped twice */
	const char *defect; /* NULL, or why this site cannot be attached ("outside any text segment", …) */
};

struct usdt_notes {
	VEC(struct usdt_note) notes; /* in file order */
	void *strings; /* owns every string above */
	size_t broken; /* notes of the right owner that could not be read at all */
};

/*
 * Reads all notes. A file without any gives an empty list and 0. The base adjustment (.stapsdt.base moved by prelink)
 * is made only when both bases are non-zero and the result lies in a text segment. 32-bit notes are refused: -ENOTSUP
 * and a sentence. Notes are found by section name and, in files without section headers, through PT_NOTE.
 */
int usdt_notes_read(struct elf_image *img, struct usdt_notes *ret, struct ut_err *err);
void usdt_notes_done(struct usdt_notes *notes);
/* Cheap test for programs that look at every file on a machine: does the file have a .note.stapsdt section? */
bool usdt_has_notes(struct elf_image *img);

#endif
