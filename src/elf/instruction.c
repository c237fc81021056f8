/* SPDX-License-Identifier: MIT */
/* The boundaries of instructions, by Zydis. */
#include "elf/instruction.h"

#include <Zydis/Zydis.h>

#include "elf/image.h"

bool elf_is_instruction(struct elf_image *img, uint64_t start, uint64_t vaddr)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (start < vaddr) {
		size_t len = sizeof(bytes);

		while (len && !elf_read_at(img, start, bytes, len))
			len--;
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, len, &insn)))
			return false;
		start += insn.length;
	}
	return start == vaddr;
}
