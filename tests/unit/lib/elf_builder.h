/* SPDX-License-Identifier: MIT */
/* Small ELF files made in memory, so that a test can break them in one place. */
#ifndef UT_TESTS_ELF_BUILDER_H
#define UT_TESTS_ELF_BUILDER_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_VADDR 0x400000ull
#define DATA_VADDR 0x602000ull /* its distance to the file offset is not that of the text */
#define SEGMENT_SIZE 0x1000ull
#define BASE_VADDR 0x400800ull /* .stapsdt.base */

enum { TEXT_OFFSET = 0, DATA_OFFSET = 0x1000, NOTES_OFFSET = 0x2000, STRINGS_OFFSET = 0x3000, SHDRS_OFFSET = 0x3100 };
enum { SECTION_BASE = 1, SECTION_NOTES, SECTION_STRINGS, SECTIONS };

struct elf_builder {
	_Alignas(8) uint8_t bytes[0x3200];
	size_t notes; /* bytes of notes so far */
};

static inline Elf64_Ehdr *builder_ehdr(struct elf_builder *b) { return (Elf64_Ehdr *)b->bytes; }
static inline Elf64_Phdr *builder_phdr(struct elf_builder *b, int i) { return (Elf64_Phdr *)(b->bytes + 64) + i; }
static inline Elf64_Shdr *builder_shdr(struct elf_builder *b, int i)
{
	return (Elf64_Shdr *)(b->bytes + SHDRS_OFFSET) + i;
}

/* An executable with a text and a data segment, a .stapsdt.base and an empty .note.stapsdt. */
static inline struct elf_builder *builder_new(void)
{
	static const char strings[] = "\0.stapsdt.base\0.note.stapsdt\0.shstrtab";
	struct elf_builder *b = calloc(1, sizeof(*b));

	*builder_ehdr(b) = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = 64,
		.e_shoff = SHDRS_OFFSET,
		.e_ehsize = 64,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = SECTION_STRINGS,
	};
	*builder_phdr(b, 0) = (Elf64_Phdr){ .p_type = PT_LOAD,
					    .p_flags = PF_R | PF_X,
					    .p_offset = TEXT_OFFSET,
					    .p_vaddr = TEXT_VADDR,
					    .p_filesz = SEGMENT_SIZE,
					    .p_memsz = SEGMENT_SIZE };
	*builder_phdr(b, 1) = (Elf64_Phdr){ .p_type = PT_LOAD,
					    .p_flags = PF_R | PF_W,
					    .p_offset = DATA_OFFSET,
					    .p_vaddr = DATA_VADDR,
					    .p_filesz = 0x800,
					    .p_memsz = SEGMENT_SIZE };
	*builder_shdr(b, SECTION_BASE) = (Elf64_Shdr){ .sh_name = 1,
						       .sh_type = SHT_PROGBITS,
						       .sh_flags = SHF_ALLOC,
						       .sh_addr = BASE_VADDR,
						       .sh_offset = 0x800,
						       .sh_size = 1 };
	*builder_shdr(b, SECTION_NOTES) =
		(Elf64_Shdr){ .sh_name = 15, .sh_type = SHT_NOTE, .sh_offset = NOTES_OFFSET, .sh_addralign = 4 };
	*builder_shdr(b, SECTION_STRINGS) = (Elf64_Shdr){
		.sh_name = 29, .sh_type = SHT_STRTAB, .sh_offset = STRINGS_OFFSET, .sh_size = sizeof(strings)
	};
	memcpy(b->bytes + STRINGS_OFFSET, strings, sizeof(strings));
	return b;
}

static inline void builder_bytes(struct elf_builder *b, const void *bytes, size_t len)
{
	memcpy(b->bytes + NOTES_OFFSET + b->notes, bytes, len);
	b->notes += len;
	builder_shdr(b, SECTION_NOTES)->sh_size = b->notes;
}

/* A note of any owner and with any description; @descsz as it is written, which may be a lie. */
static inline void builder_raw_note(struct elf_builder *b, const char *owner, uint32_t type, uint32_t namesz,
				    uint32_t descsz, const void *desc, size_t desc_len)
{
	uint32_t head[3] = { namesz, descsz, type };
	static const uint8_t zeros[4];
	size_t owner_len = strlen(owner) + 1;

	builder_bytes(b, head, sizeof(head));
	builder_bytes(b, owner, owner_len);
	builder_bytes(b, zeros, -owner_len & 3);
	builder_bytes(b, desc, desc_len);
	builder_bytes(b, zeros, -desc_len & 3);
}

/* A USDT note; @tail is "provider\0name\0args" with its last NUL implied. */
static inline void builder_note(struct elf_builder *b, uint64_t pc, uint64_t base, uint64_t sem, const char *tail,
				size_t tail_len)
{
	uint64_t address[3] = { pc, base, sem };
	uint8_t desc[512] = { 0 };

	memcpy(desc, address, sizeof(address));
	memcpy(desc + sizeof(address), tail, tail_len);
	builder_raw_note(b, "stapsdt", 3, 8, (uint32_t)(sizeof(address) + tail_len), desc, sizeof(address) + tail_len);
}
#define NOTE(b, pc, base, sem, tail) builder_note(b, pc, base, sem, tail, sizeof(tail))

#endif
