/* SPDX-License-Identifier: MIT */
/* What the files of this layer share: the open image, checked access to its bytes, its sections and its notes.
 * Bytes are copied with pread, never mapped: a file that shrinks while it is read must not kill the tracer. */
#ifndef UT_ELF_IMAGE_PRIV_H
#define UT_ELF_IMAGE_PRIV_H

#include <elf.h>

#include "base/vec.h"
#include "elf/image.h"

/* More than this is no table of a program but a lie, or a trap for our memory. */
#define SECTION_BYTES_MAX (1ull << 30)
#define NOTE_BYTES_MAX (64ull << 20)
#define TABLE_BYTES_MAX (64ull << 20)

struct section {
	const char *name; /* in the image's section_names; "" when it has none */
	uint32_t type, link;
	uint64_t flags, vaddr, offset, size, entsize;
	void *data; /* owned; read when first asked for */
	size_t data_size;
};

struct symtab { /* where .symtab or .dynsym is in a file; all inside of it */
	const struct elf_image *in; /* the file: the image itself, or the one with its debugging symbols */
	uint64_t offset, n;
	uint64_t strings, strings_size;
	uint64_t versions, nversions; /* the version table that belongs to .dynsym */
};

struct function { /* one per address that a function symbol has */
	uint64_t vaddr;
	uint64_t reach; /* the highest end of this and all functions before it */
	uint32_t symbol;
};

struct function_start {
	uint64_t vaddr; /* first: searched for as a number */
	uint64_t entry; /* vaddr of its entry in .eh_frame */
};

struct function_starts { /* from the unwind tables; sorted */
	struct function_start *v;
	size_t n, cap;
	bool loaded;
};

/* An entry of the GOT that a stub of the PLT jumps through. */
struct slot {
	uint64_t vaddr; /* of the pointer; first: searched for as a number */
	uint32_t symbol; /* number in .dynsym; 0: none */
	uint64_t addend; /* with symbol 0: address of an indirect function's resolver */
};

/* The stubs of a PLT, as stubs.c reads them. */
struct stubs {
	VEC(struct slot) slots; /* sorted */
	VEC(struct slot) pushed; /* in order of .rela.plt: lazy stubs push a number */
	uint64_t dynsym, ndynsym, strings, strings_size; /* offsets and sizes in the file */
	VEC(char *) names;
};

struct elf_image {
	int fd; /* -1 for an image in memory */
	const uint8_t *mem;
	uint64_t size;

	bool is_64, is_little;
	uint16_t type, machine;
	char machine_name[48];
	VEC(struct elf_segment) segments;
	VEC(Elf64_Phdr) phdrs; /* all of them; 32-bit ones widened */

	uint64_t shoff, shnum; /* the table is in the file when shoff is not 0 */
	uint32_t shstrndx;
	bool sections_loaded;
	char *section_names;
	size_t section_names_size;
	VEC(struct section) sections;

	bool build_id_loaded, go_loaded, is_go;
	bool entry_loaded;
	uint64_t start_vaddr, main_vaddr; /* 0: not known */
	struct elf_build_id build_id;

	bool symtabs_loaded, symbols_loaded;
	struct symtab symtabs[2];
	bool debug_tried, mini_tried;
	struct elf_image *debug; /* owned; the separate file with debugging symbols */
	struct elf_image *mini; /* owned; the symbol table in .gnu_debugdata */
	void *owned; /* the bytes at mem, when they are ours to free */
	unsigned nsymtabs;
	char *strings[2]; /* of each table; names of symbols point into them */
	VEC(struct elf_symbol) symbols;
	VEC(struct function) functions;
	VEC(char *) names; /* symbol names without their version */
	struct function_starts starts;
	struct stubs *stubs; /* of the PLT; read when first asked for */
};

/* Copies file bytes; false when they are not all there. */
bool image_read(const struct elf_image *img, uint64_t offset, void *buf, size_t len);
/* The same into new memory, with a NUL behind it; NULL when they are not all there. */
void *image_copy(const struct elf_image *img, uint64_t offset, uint64_t len);

/* Reads the section table once. A table that cannot be read is an empty one. */
void image_load_sections(struct elf_image *img);
struct section *image_section(struct elf_image *img, const char *name);
/* Bytes of a section, read once; false when it has none. */
bool section_load(struct elf_image *img, struct section *s);

/* Finds the symbol tables, once; a .symtab that was stripped off in the file with debugging symbols, if it is there. */
void image_load_symtabs(struct elf_image *img);
/* The file with the debugging symbols of this very build, searched once and owned by the image. NULL: there is none. */
struct elf_image *image_debug_file(struct elf_image *img);
/* The symbols that Fedora's build keeps in a stripped file (.gnu_debugdata), unpacked once; the image's. NULL: none. */
struct elf_image *image_mini_file(struct elf_image *img);
extern const char *image_debug_root; /* /usr/lib/debug; tests have their own */
/* One raw symbol after the other, through a small buffer: tables are too large to copy for one question. */
struct symbol_walk {
	const struct symtab *table;
	uint8_t *buf; /* freed by symbol_walk_done */
	uint64_t next; /* index of the next symbol */
	size_t at, filled; /* symbols in the buffer */
};
struct symbol_walk symbol_walk_over(const struct symtab *table);
bool symbol_next(struct symbol_walk *w, Elf64_Sym *ret);
void symbol_walk_done(struct symbol_walk *w);
/* True for a defined symbol with an address; fills in all of @ret but the name. */
bool symbol_from_raw(const Elf64_Sym *raw, struct elf_symbol *ret);
/* @name's beginning without "@VERSION", alive as long as the image; NULL when memory ran out. */
const char *image_keep_name(struct elf_image *img, const char *name, size_t len);
/* True when a function symbol has this very address. A part that the compiler split off a function (".cold") is none:
 * *@ret_part is set then. */
bool image_function_symbol(struct elf_image *img, uint64_t vaddr, bool *ret_part);

/* One note; the pointers go into the walked bytes. */
struct note {
	const char *owner; /* owner_len bytes, without the NUL that belongs there */
	size_t owner_len;
	uint32_t type;
	const uint8_t *desc;
	size_t desc_len;
};
struct note_walk {
	const uint8_t *at, *end;
	size_t align;
	bool broken; /* what is left over is not a note */
};
struct note_walk note_walk_over(const void *bytes, size_t len, uint64_t align);
bool note_next(struct note_walk *w, struct note *ret);
bool note_is(const struct note *n, const char *owner, uint32_t type);

#endif
