/* SPDX-License-Identifier: MIT */
/* Stubs of the procedure linkage table: which function each leads to. The instruction of the stub tells the slot it
 * jumps through, and a relocation which symbol the slot is for. So the order of stubs and the linker do not matter.
 * x86-64 only. */
#include <string.h>

#include "base/auto.h"
#include "elf/image_priv.h"

#define STUB_BYTES 16
#define RELOCATIONS_MAX (1u << 22)

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static void add_relocations(struct elf_image *img, const struct section *s, struct stubs *stubs)
{
	size_t n = s->size / sizeof(Elf64_Rela);
	AUTO_FREE Elf64_Rela *r = NULL;

	if (s->type != SHT_RELA || s->entsize != sizeof(*r) || n > RELOCATIONS_MAX)
		return;
	r = image_copy(img, s->offset, n * sizeof(*r));
	for (size_t i = 0; r && i < n; i++) {
		uint32_t type = ELF64_R_TYPE(r[i].r_info);
		struct slot slot = { r[i].r_offset, ELF64_R_SYM(r[i].r_info), (uint64_t)r[i].r_addend };

		if (type == R_X86_64_IRELATIVE)
			slot.symbol = 0;
		else if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || !slot.symbol)
			slot.vaddr = 0;
		if (strcmp(s->name, ".rela.plt") == 0 && vec_push(&stubs->pushed, slot))
			return;
		if (slot.vaddr && vec_push(&stubs->slots, slot))
			return;
	}
}

static void find_dynsym(struct elf_image *img, struct stubs *stubs)
{
	for (size_t i = 1; i < img->sections.n; i++) {
		const struct section *s = &img->sections.v[i], *strings;

		if (s->type != SHT_DYNSYM || s->entsize != sizeof(Elf64_Sym) || s->link >= img->sections.n)
			continue;
		strings = &img->sections.v[s->link];
		stubs->dynsym = s->offset;
		stubs->ndynsym = s->size / sizeof(Elf64_Sym);
		stubs->strings = strings->offset;
		stubs->strings_size = strings->type == SHT_STRTAB ? strings->size : 0;
		return;
	}
}

static struct stubs *load_stubs(struct elf_image *img)
{
	if (img->stubs)
		return img->stubs;
	img->stubs = calloc(1, sizeof(*img->stubs));
	if (!img->stubs)
		return NULL;
	image_load_sections(img);
	find_dynsym(img, img->stubs);
	for (size_t i = 1; i < img->sections.n; i++)
		if (strncmp(img->sections.v[i].name, ".rela.", 6) == 0)
			add_relocations(img, &img->sections.v[i], img->stubs);
	if (img->stubs->slots.n)
		qsort(img->stubs->slots.v, img->stubs->slots.n, sizeof(*img->stubs->slots.v), compare_slots);
	return img->stubs;
}

/* The start of the stub that @vaddr is in: stubs are aligned like their section's first one. 0: no section of stubs. */
static uint64_t stub_start(struct elf_image *img, uint64_t vaddr, size_t *ret_size)
{
	image_load_sections(img);
	for (size_t i = 1; i < img->sections.n; i++) {
		const struct section *s = &img->sections.v[i];
		size_t size;

		if (strncmp(s->name, ".plt", 4) != 0 && strcmp(s->name, ".iplt") != 0)
			continue;
		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->size)
			continue;
		size = strcmp(s->name, ".plt.got") == 0 && s->entsize == 8 ? 8 : STUB_BYTES;
		*ret_size = size;
		return s->vaddr + (vaddr - s->vaddr) / size * size;
	}
	return 0;
}

/* What a stub does: jmp *slot(%rip), perhaps after endbr64 and with a bnd prefix; or push $n; jmp first_stub. */
static const struct slot *stub_slot(const struct stubs *stubs, uint64_t start, const uint8_t *code, size_t size)
{
	size_t at = size >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;
	int32_t displacement;
	uint32_t number;

	at += at < size && code[at] == 0xf2;
	if (at + 6 <= size && code[at] == 0xff && code[at + 1] == 0x25) {
		memcpy(&displacement, code + at + 2, sizeof(displacement));
		struct slot key = { .vaddr = start + at + 6 + (uint64_t)(int64_t)displacement };

		return stubs->slots.n ? bsearch(&key, stubs->slots.v, stubs->slots.n, sizeof(key), compare_slots)
				      : NULL;
	}
	if (at + 5 <= size && code[at] == 0x68) {
		memcpy(&number, code + at + 1, sizeof(number));
		return number < stubs->pushed.n && stubs->pushed.v[number].vaddr ? &stubs->pushed.v[number] : NULL;
	}
	return NULL;
}

static const char *slot_name(struct elf_image *img, struct stubs *stubs, const struct slot *slot)
{
	uint64_t left;
	char *name, *at;
	Elf64_Sym sym;

	if (!slot->symbol) {
		const struct elf_symbol *f = elf_function_at(img, slot->addend);

		return f ? f->name : NULL;
	}
	if (slot->symbol >= stubs->ndynsym ||
	    !image_read(img, stubs->dynsym + slot->symbol * sizeof(sym), &sym, sizeof(sym)) ||
	    sym.st_name >= stubs->strings_size)
		return NULL;
	left = stubs->strings_size - sym.st_name;
	name = image_copy(img, stubs->strings + sym.st_name, left < 4096 ? left : 4096);
	if (!name || !*name || vec_push(&stubs->names, name)) {
		free(name);
		return NULL;
	}
	at = strchr(name + 1, '@');
	if (at)
		*at = '\0';
	return name;
}

static bool slot_is_of(struct elf_image *img, const struct stubs *stubs, const struct slot *slot, const char *name)
{
	size_t len = strlen(name) + 1;
	char found[256];
	Elf64_Sym sym;

	return slot->symbol && slot->symbol < stubs->ndynsym && len <= sizeof(found) &&
	       image_read(img, stubs->dynsym + slot->symbol * sizeof(sym), &sym, sizeof(sym)) &&
	       sym.st_name < stubs->strings_size && len <= stubs->strings_size - sym.st_name &&
	       image_read(img, stubs->strings + sym.st_name, found, len) && !memcmp(found, name, len);
}

size_t elf_slots_of(struct elf_image *img, const char *name, uint64_t resolver, uint64_t *ret, size_t room)
{
	struct stubs *stubs = elf_image_is_x86_64(img) ? load_stubs(img) : NULL;
	size_t n = 0;

	for (size_t i = 0; stubs && i < stubs->slots.n && n < room; i++) {
		const struct slot *s = &stubs->slots.v[i];

		if (s->symbol ? slot_is_of(img, stubs, s, name) : resolver && s->addend == resolver)
			ret[n++] = s->vaddr;
	}
	return n;
}

const char *elf_stub_at(struct elf_image *img, uint64_t vaddr)
{
	uint8_t code[STUB_BYTES];
	const struct slot *slot;
	struct stubs *stubs;
	uint64_t start;
	size_t size;

	if (!elf_image_is_x86_64(img))
		return NULL;
	start = stub_start(img, vaddr, &size);
	stubs = start ? load_stubs(img) : NULL;
	if (!stubs || !elf_read_at(img, start, code, size))
		return NULL;
	slot = stub_slot(stubs, start, code, size);
	return slot ? slot_name(img, stubs, slot) : NULL;
}
