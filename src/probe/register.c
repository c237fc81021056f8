/* SPDX-License-Identifier: MIT */
/* Looks up registers by name. */
#include "probe/register.h"

#include <string.h>

#include "base/ascii.h"
#include "base/auto.h"

/* By encoding: 64, 32, 16 and low 8 bits. */
static const char *const names[16][4] = {
	[X86_RAX] = { "rax", "eax", "ax", "al" },      [X86_RCX] = { "rcx", "ecx", "cx", "cl" },
	[X86_RDX] = { "rdx", "edx", "dx", "dl" },      [X86_RBX] = { "rbx", "ebx", "bx", "bl" },
	[X86_RSP] = { "rsp", "esp", "sp", "spl" },     [X86_RBP] = { "rbp", "ebp", "bp", "bpl" },
	[X86_RSI] = { "rsi", "esi", "si", "sil" },     [X86_RDI] = { "rdi", "edi", "di", "dil" },
	[X86_R8] = { "r8", "r8d", "r8w", "r8b" },      [X86_R9] = { "r9", "r9d", "r9w", "r9b" },
	[X86_R10] = { "r10", "r10d", "r10w", "r10b" }, [X86_R11] = { "r11", "r11d", "r11w", "r11b" },
	[X86_R12] = { "r12", "r12d", "r12w", "r12b" }, [X86_R13] = { "r13", "r13d", "r13w", "r13b" },
	[X86_R14] = { "r14", "r14d", "r14w", "r14b" }, [X86_R15] = { "r15", "r15d", "r15w", "r15b" },
};

static const char *const high_bytes[] = { [X86_RAX] = "ah", [X86_RCX] = "ch", [X86_RDX] = "dh", [X86_RBX] = "bh" };

static bool is_word(const char *name, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(name, word, len) == 0;
}

bool register_find(const char *name, size_t len, struct register_name *ret)
{
	*ret = (struct register_name){ .reg = X86_RIP, .bytes = 8 };
	if (is_word(name, len, "rip"))
		return true;
	for (unsigned r = 0; r < 16; r++) {
		ret->reg = (enum reg)r;
		for (unsigned form = 0; form < 4; form++) {
			ret->bytes = (uint8_t)(8 >> form);
			if (is_word(name, len, names[r][form]))
				return true;
		}
		ret->shift = 8;
		if (r < ARRAY_SIZE(high_bytes) && is_word(name, len, high_bytes[r]))
			return true;
		ret->shift = 0;
	}
	return false;
}

bool register_is_vector(const char *name, size_t len)
{
	static const char *const units[] = { "xmm", "ymm", "zmm", "mm", "st", "k" };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t n = strlen(units[i]);

		if (len < n || memcmp(name, units[i], n) != 0)
			continue;
		if (len == n)
			return strcmp(units[i], "st") == 0;
		return len <= n + 2 && is_digit(name[n]);
	}
	return false;
}
