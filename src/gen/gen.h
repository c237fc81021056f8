/* SPDX-License-Identifier: MIT */
/* The generator: a checked probe at a site becomes BPF instructions. Pure: nothing is loaded here.
 *
 * A *snippet* is what one site runs: predicate, values, record, texts. Sites whose snippets are equal to the byte
 * share one (src/plan does that); a *program* is one snippet, or several with a search over the attach cookie in
 * front. The cookie is snippet << 32 | site.
 */
#ifndef UT_GEN_GEN_H
#define UT_GEN_GEN_H

#include "gen/asm.h"
#include "probe/operand.h"
#include "probe/spec.h"
#include "probe/tracepoint.h"

/* Longest text a record can hold; more would span a third page, see gen_text.c. */
#define GEN_TEXT_LIMIT_MAX 4096
/* Room for texts in the first try; longer ones get the limit in a second. */
#define GEN_TEXT_FIRST 128

enum gen_filter {
	GEN_FILTER_NONE, /* the attachment selects the process, or everybody is wanted */
	GEN_FILTER_FOLLOW, /* only processes in GEN_MAP_FOLLOW */
	GEN_FILTER_NOT_SELF, /* everybody but process self_tgid */
};

/* How the return of a function is known, and its call. */
enum gen_pairing {
	GEN_PAIR_TRAMPOLINE, /* by the kernel; the call only with a duration */
	GEN_PAIR_STACK, /* by a probe at the end; the call by its stack pointer */
	GEN_PAIR_GOROUTINE, /* the same in Go, whose stacks move */
};

#define GEN_CONDITION_NONE 0xff

/* One operand as the generator needs it: the symbol's distance from the site is worked out. */
struct gen_site {
	const struct operands *operands; /* u:, resolved; NULL for other kinds */
	uint64_t site_vaddr; /* where the probe is attached, in the file's numbering */
	const struct tracepoint *tracepoint; /* t: */
	enum gen_pairing pairing; /* r: */
	uint32_t request; /* r: without a trampoline: pairs calls and returns of one request */
	bool tail_jump; /* r: the function ends here by a jump: there is no retval */
	uint8_t condition; /* of the jump, the low 4 bits of its opcode; GEN_CONDITION_NONE */
};

struct gen_options {
	uint32_t text_limit; /* bytes of a text that are copied at most, 1…GEN_TEXT_LIMIT_MAX */
	bool may_sleep; /* uprobes: pages that are not resident are read by sleeping */
	enum gen_filter filter;
	int32_t self_tgid;
	uint32_t ncpus; /* possible CPUs: size of GEN_MAP_RINGS */
	uint32_t wake_bytes; /* wake the reader when a ring holds this much; 0: never */
	bool sample; /* no record: the program ends in the one that samples the stack */
	uint32_t fair_bytes; /* user events: from here on a process that floods is refused; 0: never */
};

/* Instructions without a jump out of them; ends with an exit. */
struct gen_snippet {
	struct asm_buf code;
	bool sleeps; /* it calls what only a sleepable program may call */
	uint32_t record_size; /* bytes of the largest record it sends */
};

/* The snippet for @checked at @site; -EINVAL with a sentence where the language allows what the generator cannot. */
int gen_snippet(const struct probe_checked *checked, const struct gen_site *site, const struct gen_options *options,
		struct gen_snippet *ret, struct ut_err *err);
/* r: what runs at the function's entry, and stores its time. */
int gen_entry_snippet(const struct gen_site *site, const struct gen_options *options, struct gen_snippet *ret,
		      struct ut_err *err);
void gen_snippet_done(struct gen_snippet *snippet);
bool gen_snippet_equal(const struct gen_snippet *a, const struct gen_snippet *b);

/*
 * A whole program of @n snippets (pointers), whose numbers in the cookie are @numbers, ascending. With one snippet the
 * cookie's upper half is ignored. The instructions are appended to @ret.
 */
int gen_program(const struct gen_snippet *const *snippets, const uint32_t *numbers, size_t n,
		const struct gen_options *options, struct asm_buf *ret, struct ut_err *err);
/*
 * Replaces map numbers with descriptors; fds has GEN_MAPS entries, -1 where there is none (then it must
 * not be used).
 */
int gen_relocate(struct asm_buf *program, const int *fds);

/* Functions in C that snippets call (enum gen_function): instructions, with descriptors already in them. */
struct gen_functions {
	const struct bpf_insn *insns; /* all of them, calling each other at most */
	size_t n;
	size_t at[GEN_FUNCTIONS]; /* where each begins */
};
/*
 * After gen_relocate: appends what is called, if anything is. -EINVAL when @functions is NULL then. They need 128
 * bytes of the 512 of a program's stack.
 */
int gen_link(struct asm_buf *program, const struct gen_functions *functions);

/*
 * True when @checked's output @i cannot be read at this site; the reason (living as long as the site's operands
 * or tracepoint) is in *@ret.
 */
bool gen_output_unreadable(const struct probe_checked *checked, unsigned i, const struct gen_site *site,
			   const char **ret);

/* One line for each instruction, numbered, into @out. */
void disasm(const struct bpf_insn *insns, size_t n, struct buf *out);

#endif
