/* SPDX-License-Identifier: MIT */
/* Functions that are known without any symbol: where a program begins, main, whose address that code hands to the C
 * library, and the code that signal handlers return to. */
#include <string.h>

#include "elf/image_priv.h"

#define START_BYTES 64

/* The beginning of glibc's and musl's _start: xor %ebp,%ebp; then the arguments are taken off the stack. */
static size_t start_prologue(const uint8_t *code)
{
	size_t at = memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;

	if (memcmp(code + at, "\x31\xed\x49\x89\xd1\x5e", 6) == 0)
		return at + 6;
	return 0;
}

/* The first argument of what _start calls: lea main(%rip),%rdi or mov $main,%rdi. 0: not found. */
static uint64_t main_from(const uint8_t *code, size_t at, uint64_t vaddr)
{
	for (; at + 7 < START_BYTES; at++) {
		int32_t v;

		memcpy(&v, code + at + 3, sizeof(v));
		if (memcmp(code + at, "\x48\x8d\x3d", 3) == 0)
			return vaddr + at + 7 + (uint64_t)(int64_t)v;
		if (memcmp(code + at, "\x48\xc7\xc7", 3) == 0)
			return (uint64_t)(int64_t)v;
	}
	return 0;
}

static void load_entry(struct elf_image *img)
{
	uint8_t code[START_BYTES];
	uint64_t entry;
	size_t at;

	img->entry_loaded = true;
	if (!elf_image_is_x86_64(img) || !image_read(img, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry)) ||
	    !elf_read_at(img, entry, code, sizeof(code)))
		return;
	at = start_prologue(code);
	if (!at)
		return;
	img->start_vaddr = entry;
	img->main_vaddr = main_from(code, at, entry);
}

/* mov $SYS_rt_sigreturn,%rax; syscall. Its unwind entry begins one byte before, since unwinders look there. */
static bool is_signal_return(struct elf_image *img, uint64_t vaddr)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };
	uint8_t bytes[sizeof(code) + 1];

	return elf_image_is_x86_64(img) && elf_read_at(img, vaddr, bytes, sizeof(bytes)) &&
	       (memcmp(bytes, code, sizeof(code)) == 0 || memcmp(bytes + 1, code, sizeof(code)) == 0);
}

const char *elf_entry_name(struct elf_image *img, uint64_t vaddr)
{
	if (!img->entry_loaded)
		load_entry(img);
	if (!vaddr)
		return NULL;
	if (vaddr == img->start_vaddr)
		return "_start";
	if (vaddr == img->main_vaddr)
		return "main";
	return is_signal_return(img, vaddr) ? "__restore_rt" : NULL;
}
