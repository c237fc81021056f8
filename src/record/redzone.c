/* SPDX-License-Identifier: MIT */
/*
 * Which sites are at risk, and whether this kernel is one that puts them at risk: found out by experiment, not
 * by version.
 */
#include "record/redzone.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "proc/process.h"
#include "record/kernel.h"

#define NOP5 "\x0f\x1f\x44\x00\x00"
#define ENDBR64 "\xf3\x0f\x1e\xfa"

bool redzone_at_risk(struct elf_image *img, uint64_t vaddr)
{
	char bytes[5], before[4];

	if (!elf_read_at(img, vaddr, bytes, sizeof(bytes)) || memcmp(bytes, NOP5, 5))
		return false;
	if (elf_is_function_start(img, vaddr))
		return false;
	return !(vaddr >= 4 && elf_read_at(img, vaddr - 4, before, 4) && !memcmp(before, ENDBR64, 4) &&
		 elf_is_function_start(img, vaddr - 4));
}

/*
 * A leaf function that keeps its argument below the stack pointer across a 5-byte nop, and gives it back. redzone_site
 * is the nop.
 */
uint64_t redzone_leaf(uint64_t value);
extern const char redzone_site[];
__asm__(".text\n"
	".p2align 6\n"
	".type redzone_leaf, @function\n"
	"redzone_leaf:\n"
	"	movq %rdi, -8(%rsp)\n"
	"	movq %rdi, -16(%rsp)\n"
	"redzone_site:\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	movq -8(%rsp), %rax\n"
	"	andq -16(%rsp), %rax\n"
	"	ret\n"
	".size redzone_leaf, . - redzone_leaf\n");

/* The kernel converts a site after it was hit; a few hundred calls are far more than that takes. */
static enum redzone_state call_and_compare(void)
{
	for (uint64_t i = 1; i <= 500; i++)
		if (redzone_leaf(i) != i)
			return REDZONE_DESTROYED;
	return REDZONE_SAFE;
}

static enum redzone_state try_it(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 }, { .code = BPF_JMP | BPF_EXIT },
	};
	bool multi = kernel_has_uprobe_multi();
	const struct kernel_prog prog = { .type = BPF_PROG_TYPE_KPROBE, .insns = insns, .n = 2, .multi = multi };
	AUTO_CLOSE int fd = kernel_prog_load(&prog, NULL, NULL), event = -1, link = -1;
	uint64_t offset;
	struct kernel_uprobes u = { .path = "/proc/self/exe", .n = 1, .offsets = &offset, .pid = getpid() };

	if (fd < 0 || process_own_offset(redzone_site, &offset))
		return REDZONE_UNKNOWN;
	if (multi) {
		link = kernel_link_uprobes(fd, &u);
	} else {
		event = kernel_uprobe_event(u.path, offset, 0, false, u.pid);
		link = event >= 0 ? kernel_link_event(fd, event, 0) : event;
	}
	return link < 0 ? REDZONE_UNKNOWN : call_and_compare();
}

enum redzone_state redzone_of_kernel(void)
{
	static int known = -1;

	if (known < 0)
		known = (int)try_it();
	return (enum redzone_state)known;
}
