/* SPDX-License-Identifier: MIT */
/* The boundaries of instructions, and which of them the kernel probes, by Zydis. */
#include "elf/instruction.h"

#include <Zydis/Zydis.h>

#include "elf/image.h"

/* At most @size bytes at @vaddr; fewer before the end of the file. */
static size_t read_code(struct elf_image *img, uint64_t vaddr, uint8_t *ret, size_t size)
{
	while (size && !elf_read_at(img, vaddr, ret, size))
		size--;
	return size;
}

/* Segment and lock prefixes: is_prefix_bad of arch/x86/kernel/uprobes.c. */
static bool has_refused_prefix(const ZydisDecodedInstruction *insn)
{
	for (size_t i = 0; i < insn->raw.prefix_count; i++) {
		switch (insn->raw.prefixes[i].value) {
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0: return true;
		default: break;
		}
	}
	return false;
}

bool elf_is_probeable(struct elf_image *img, uint64_t vaddr)
{
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	size_t len = read_code(img, vaddr, bytes, sizeof(bytes));
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, len, &insn)))
		return true; /* perhaps newer than the decoder: the kernel decides */
	switch (insn.mnemonic) {
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3: return false;
	default: break;
	}
	return insn.meta.category != ZYDIS_CATEGORY_IO && insn.meta.category != ZYDIS_CATEGORY_IOSTRINGOP &&
	       !has_refused_prefix(&insn);
}

bool elf_is_instruction(struct elf_image *img, uint64_t start, uint64_t vaddr)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (start < vaddr) {
		size_t len = read_code(img, start, bytes, sizeof(bytes));

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, len, &insn)))
			return false;
		start += insn.length;
	}
	return start == vaddr;
}
