/* SPDX-License-Identifier: MIT */
/* One ELF file, opened for reading: what it is, its segments, symbols, functions and build id. Foreign bytes: every
 * size and offset is checked, and a file that lies is refused with a sentence, never followed. */
#ifndef UT_ELF_IMAGE_H
#define UT_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct elf_image;

struct elf_segment { /* a PT_LOAD */
	uint64_t vaddr, offset, filesz, memsz;
	bool exec, write;
};

struct elf_symbol {
	const char *name; /* lives as long as the image */
	uint64_t vaddr, size; /* size may be 0 */
	bool is_func; /* STT_FUNC or STT_GNU_IFUNC */
	bool is_ifunc; /* the address is a resolver, run once by the dynamic linker */
	bool is_object; /* STT_OBJECT */
	bool is_tls; /* STT_TLS: vaddr is an offset, not an address */
	bool is_local, is_weak;
};

struct elf_build_id {
	uint8_t size, bytes[40];
}; /* size 0: the file has none */

/*
 * Opens the ELF file behind @fd, which is borrowed: the image keeps a duplicate. Not an ELF file at all is -ENOEXEC
 * with a sentence, a broken one -EBADMSG. 32-bit and foreign-machine files open (so that one can say what they are):
 * ask elf_image_is_x86_64(). Only headers are read here; the rest is read on demand.
 */
int elf_image_open(int fd, struct elf_image **ret, struct ut_err *err);
/* The same over bytes in memory, which must outlive the image (tests, fuzzing). */
int elf_image_from_memory(const void *bytes, size_t size, struct elf_image **ret, struct ut_err *err);
struct elf_image *elf_image_free(struct elf_image *img); /* returns NULL, takes NULL */

bool elf_image_is_x86_64(const struct elf_image *img);
bool elf_image_is_pie(const struct elf_image *img); /* ET_DYN: its addresses are relative */
/* "32-bit x86", "64-bit AArch64", …: for the sentence that refuses it. */
const char *elf_image_machine(const struct elf_image *img);
const struct elf_build_id *elf_image_build_id(struct elf_image *img);
/* True when the file was written by Go (.go.buildinfo / .note.go.buildid): return probes would crash it. */
bool elf_image_is_go(struct elf_image *img);

/* fstat of the open file; false for one in memory. */
struct stat;
bool elf_image_stat(const struct elf_image *img, struct stat *ret);
size_t elf_image_segments(const struct elf_image *img, const struct elf_segment **ret);
/* Address in the file's own numbering to file offset and back, through PT_LOAD. False: no segment holds it. */
bool elf_vaddr_to_offset(const struct elf_image *img, uint64_t vaddr, uint64_t *ret);
bool elf_offset_to_vaddr(const struct elf_image *img, uint64_t offset, uint64_t *ret);
/* True when @vaddr lies in an executable segment. */
bool elf_vaddr_is_text(const struct elf_image *img, uint64_t vaddr);
/* Copies @len file bytes at @vaddr; false when they are not all in the file. */
bool elf_read_at(struct elf_image *img, uint64_t vaddr, void *buf, size_t len);

/* Name, address and size of a section; false when there is none. */
bool elf_image_section(struct elf_image *img, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size);
/* The bytes of a section (from the file, decompressed if need be), alive as long as the image; false when none. */
bool elf_image_section_data(struct elf_image *img, const char *name, const void **ret, size_t *ret_size);

/* All symbols of .symtab and .dynsym (defined ones only, versions removed, duplicates of the two tables merged), sorted
 * by address. Read once and cached in the image. Returns their number; 0 for a file without any. */
size_t elf_image_symbols(struct elf_image *img, const struct elf_symbol **ret);
/*
 * The one address of @name. 1 and the symbol in @ret; 0 when there is none; -EEXIST when several
 * addresses bear this name (static variables of several files), *ret is one of them then.
 */
int elf_symbol_find(struct elf_image *img, const char *name, struct elf_symbol *ret);
/* The function whose range holds @vaddr (size-0 symbols reach to the next one); NULL when none. */
const struct elf_symbol *elf_function_at(struct elf_image *img, uint64_t vaddr);
/* True when @vaddr is the first instruction of a function: a function symbol or the start of an .eh_frame entry says
 * so. Works in stripped files through .eh_frame. */
bool elf_is_function_start(struct elf_image *img, uint64_t vaddr);
/* The range of the .eh_frame entry that @vaddr is in: what is known of a function that has no symbol. False: none. */
bool elf_unwind_entry_at(struct elf_image *img, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);
/* "_start", "main" or "__restore_rt" when that is what begins at @vaddr, recognized without symbols; NULL: none of them, or
 * not known. */
const char *elf_entry_name(struct elf_image *img, uint64_t vaddr);
/* The function that the stub of the procedure linkage table at @vaddr leads to, alive as long as the image; NULL when
 * it is no stub, or leads to something that has no name. */
const char *elf_stub_at(struct elf_image *img, uint64_t vaddr);

/*
 * Addresses of the pointers (entries of the GOT) through which the file's code calls the function @name, or the indirect
 * function whose resolver is at @resolver (0: none): at most @room. Returns their number. The dynamic linker stores the
 * function that the process uses in them.
 */
size_t elf_slots_of(struct elf_image *img, const char *name, uint64_t resolver, uint64_t *ret, size_t room);

/*
 * Separate debugging symbols are searched when symbols are first needed, below our own /usr/lib/debug and beside the
 * file. For one that came from a process with another root this is to be called before: it looks below @root, a
 * descriptor of that directory, where the file is known as @path.
 */
void elf_image_find_debug(struct elf_image *img, int root, const char *path);
/* Sets the directory that is searched instead of /usr/lib/debug, which must live on (NULL: none is set). Returns the one
 * before. For all images; not while other threads open some. */
const char *elf_debug_root(const char *folder);

#endif
