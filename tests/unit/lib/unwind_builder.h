/* SPDX-License-Identifier: MIT */
/* Small ELF files with unwind entries, made in memory: code, .eh_frame or .debug_frame, and what else a test adds. */
#ifndef UT_TESTS_UNWIND_BUILDER_H
#define UT_TESTS_UNWIND_BUILDER_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/unwind.h"

/* Code of three pages and a bit, then the entries. */
enum { CODE = 0x10000, CODE_SIZE = 0x30800, FRAMES = 0x80000, FRAMES_SIZE = 0x8000, HEADER = FRAMES + FRAMES_SIZE };
enum {
	CODE_OFFSET = 0x1000,
	FRAMES_OFFSET = CODE_OFFSET + CODE_SIZE,
	HEADER_OFFSET = FRAMES_OFFSET + FRAMES_SIZE,
	DYNAMIC_OFFSET = HEADER_OFFSET + 0x100,
	DEBUG_OFFSET = HEADER_OFFSET + 0x200,
	NAMES_OFFSET = DEBUG_OFFSET + 0x800,
	SECTIONS_OFFSET = NAMES_OFFSET + 0x100,
	FILE_SIZE = SECTIONS_OFFSET + 8 * 64
};

enum { PCREL_S4 = 0x1b };

struct cfi { /* bytes of .eh_frame or .debug_frame in the making */
	uint8_t *bytes;
	size_t n, cie; /* offset of the last common entry */
	uint64_t vaddr;
	uint8_t encoding;
	int is_debug, sized;
};

struct unwind_file {
	uint8_t *bytes;
	struct cfi eh, debug;
	size_t names, sections, phdrs;
};

static inline Elf64_Ehdr *file_ehdr(struct unwind_file *f) { return (Elf64_Ehdr *)f->bytes; }
static inline Elf64_Phdr *file_phdr(struct unwind_file *f, size_t i) { return (Elf64_Phdr *)(f->bytes + 64) + i; }
static inline Elf64_Shdr *file_shdr(struct unwind_file *f, size_t i)
{
	return (Elf64_Shdr *)(f->bytes + SECTIONS_OFFSET) + i;
}

static inline Elf64_Phdr *file_add_phdr(struct unwind_file *f, uint32_t type, uint32_t flags, uint64_t vaddr,
					uint64_t offset, uint64_t size)
{
	Elf64_Phdr *p = file_phdr(f, f->phdrs++);

	*p = (Elf64_Phdr){ .p_type = type,
			   .p_flags = flags,
			   .p_vaddr = vaddr,
			   .p_offset = offset,
			   .p_filesz = size,
			   .p_memsz = size };
	file_ehdr(f)->e_phnum = (uint16_t)f->phdrs;
	return p;
}

static inline Elf64_Shdr *file_add_section(struct unwind_file *f, const char *name, uint64_t vaddr, uint64_t offset,
					   uint64_t size)
{
	Elf64_Shdr *s = file_shdr(f, f->sections++);

	*s = (Elf64_Shdr){ .sh_name = (uint32_t)f->names,
			   .sh_type = SHT_PROGBITS,
			   .sh_addr = vaddr,
			   .sh_offset = offset,
			   .sh_size = size };
	memcpy(f->bytes + NAMES_OFFSET + f->names, name, strlen(name) + 1);
	f->names += strlen(name) + 1;
	file_ehdr(f)->e_shnum = (uint16_t)f->sections;
	return s;
}

static inline struct unwind_file file_new(void)
{
	struct unwind_file f = { .bytes = calloc(1, FILE_SIZE), .names = 1, .sections = 1 };

	*file_ehdr(&f) = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = 64,
		.e_shoff = SECTIONS_OFFSET,
		.e_ehsize = 64,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shstrndx = 1,
	};
	file_add_section(&f, ".shstrtab", 0, NAMES_OFFSET, 0x100)->sh_type = SHT_STRTAB;
	file_add_phdr(&f, PT_LOAD, PF_R | PF_X, CODE, CODE_OFFSET, CODE_SIZE);
	file_add_phdr(&f, PT_LOAD, PF_R, FRAMES, FRAMES_OFFSET, FRAMES_SIZE + 0x200);
	f.eh = (struct cfi){ .bytes = f.bytes + FRAMES_OFFSET, .vaddr = FRAMES };
	f.debug = (struct cfi){ .bytes = f.bytes + DEBUG_OFFSET, .is_debug = 1 };
	return f;
}

static inline uint8_t *file_code(struct unwind_file *f, uint64_t vaddr)
{
	return f->bytes + CODE_OFFSET + (vaddr - CODE);
}

static inline void cfi_bytes(struct cfi *c, const void *bytes, size_t len)
{
	memcpy(c->bytes + c->n, bytes, len);
	c->n += len;
}

static inline void cfi_u32(struct cfi *c, uint32_t v) { cfi_bytes(c, &v, 4); }

static inline void cfi_end(struct cfi *c, size_t begin)
{
	uint32_t len;

	while (c->n % 8)
		c->bytes[c->n++] = 0;
	len = (uint32_t)(c->n - begin - 4);
	memcpy(c->bytes + begin, &len, 4);
}

/* A common entry: factors 1 and -8, return address in column @ra. */
static inline void cfi_cie_of(struct cfi *c, const char *augmentation, uint8_t encoding, uint8_t ra,
			      const uint8_t *program, size_t len)
{
	size_t begin = c->n;
	const uint8_t head[] = { 1, 0x78, ra, 1, encoding }; /* 1, -8, ra; size of the augmentation data, those */

	c->cie = begin;
	c->encoding = augmentation[0] ? encoding : 0;
	c->sized = augmentation[0] == 'z';
	cfi_u32(c, 0);
	cfi_u32(c, c->is_debug ? 0xffffffff : 0);
	cfi_bytes(c, "\1", 1);
	cfi_bytes(c, augmentation, strlen(augmentation) + 1);
	cfi_bytes(c, head, c->sized ? 5 : 3);
	cfi_bytes(c, program, len);
	cfi_end(c, begin);
}

/* As all compilers begin: CFA = rsp + 8, the return address below it. */
static inline void cfi_cie(struct cfi *c)
{
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1 };

	cfi_cie_of(c, c->is_debug ? "" : "zR", PCREL_S4, 16, program, sizeof(program));
}

static inline void cfi_pointer(struct cfi *c, uint64_t v)
{
	size_t size = (c->encoding & 7) == 2 ? 2 : (c->encoding & 7) == 3 ? 4 : 8;

	if ((c->encoding & 0x70) == 0x10)
		v -= c->vaddr + c->n;
	cfi_bytes(c, &v, size);
}

static inline void cfi_fde(struct cfi *c, uint64_t start, uint64_t len, const uint8_t *program, size_t program_len)
{
	size_t begin = c->n;
	uint8_t encoding = c->encoding;

	cfi_u32(c, 0);
	cfi_u32(c, (uint32_t)(c->is_debug ? c->cie : c->n - c->cie));
	cfi_pointer(c, start);
	c->encoding &= 0x0f;
	cfi_pointer(c, len);
	c->encoding = encoding;
	if (c->sized)
		cfi_bytes(c, "", 1);
	cfi_bytes(c, program, program_len);
	cfi_end(c, begin);
}
#define PROGRAM(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define FDE(c, start, len, ...) cfi_fde(c, start, len, PROGRAM(__VA_ARGS__))

/* The sections are added when all entries are there. */
static inline void file_build(struct unwind_file *f, struct unwind_table *ret)
{
	struct elf_image *img = NULL;

	if (f->eh.n)
		file_add_section(f, ".eh_frame", FRAMES, FRAMES_OFFSET, f->eh.n);
	if (f->debug.n)
		file_add_section(f, ".debug_frame", 0, DEBUG_OFFSET, f->debug.n);
	if (elf_image_from_memory(f->bytes, FILE_SIZE, &img, NULL) || unwind_table_build(img, ret, NULL))
		abort();
	elf_image_free(img);
	f->eh.n = f->debug.n = 0;
}

static inline void file_free(struct unwind_file *f)
{
	free(f->bytes);
	f->bytes = NULL;
}

#endif
