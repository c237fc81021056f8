/* SPDX-License-Identifier: MIT */
/*
 * Instructions to text, in the notation of the kernel's own disassembler, for --explain. Knows what the
 * generator emits.
 */
#include <linux/bpf.h>

#include "base/auto.h"
#include "gen/gen.h"

static const char *const map_names[GEN_MAPS] = {
	[GEN_MAP_RINGS] = "rings",	    [GEN_MAP_LOST] = "lost",	     [GEN_MAP_FOLLOW] = "follow",
	[GEN_MAP_STARTS] = "starts",	    [GEN_MAP_THROTTLED] = "refused", [GEN_MAP_WALK_UPROBE] = "walk",
	[GEN_MAP_WALK_TRACEPOINT] = "walk", [GEN_MAP_CALLS] = "calls",
};

static const char *const function_names[GEN_FUNCTIONS] = {
	[GEN_FUNCTION_SPAN_STEP] = "span_step",
	[GEN_FUNCTION_SPAN_COPY] = "span_copy",
};

static const struct {
	int number;
	const char *name;
} helpers[] = {
	{ BPF_FUNC_map_lookup_elem, "map_lookup_elem" },
	{ BPF_FUNC_map_update_elem, "map_update_elem" },
	{ BPF_FUNC_map_delete_elem, "map_delete_elem" },
	{ BPF_FUNC_ktime_get_ns, "ktime_get_ns" },
	{ BPF_FUNC_get_smp_processor_id, "get_smp_processor_id" },
	{ BPF_FUNC_get_current_pid_tgid, "get_current_pid_tgid" },
	{ BPF_FUNC_get_current_comm, "get_current_comm" },
	{ BPF_FUNC_get_stack, "get_stack" },
	{ BPF_FUNC_probe_read_user, "probe_read_user" },
	{ BPF_FUNC_probe_read_kernel, "probe_read_kernel" },
	{ BPF_FUNC_probe_read_user_str, "probe_read_user_str" },
	{ BPF_FUNC_probe_read_kernel_str, "probe_read_kernel_str" },
	{ BPF_FUNC_ringbuf_reserve, "ringbuf_reserve" },
	{ BPF_FUNC_ringbuf_submit, "ringbuf_submit" },
	{ BPF_FUNC_ringbuf_discard, "ringbuf_discard" },
	{ BPF_FUNC_ringbuf_query, "ringbuf_query" },
	{ BPF_FUNC_copy_from_user, "copy_from_user" },
	{ BPF_FUNC_get_attach_cookie, "get_attach_cookie" },
	{ BPF_FUNC_tail_call, "tail_call" },
};

static const char *helper_name(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
		if (helpers[i].number == number)
			return helpers[i].name;
	return "helper";
}

static const char *reg(unsigned r)
{
	static const char *const names[] = { "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "fp" };

	return r < ARRAY_SIZE(names) ? names[r] : "r?";
}

static const char *width(unsigned code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B: return "u8";
	case BPF_H: return "u16";
	case BPF_W: return "u32";
	default: return "u64";
	}
}

static const char *alu_op(unsigned op)
{
	switch (op) {
	case BPF_ADD: return "+=";
	case BPF_SUB: return "-=";
	case BPF_MUL: return "*=";
	case BPF_DIV: return "/=";
	case BPF_MOD: return "%=";
	case BPF_OR: return "|=";
	case BPF_AND: return "&=";
	case BPF_XOR: return "^=";
	case BPF_LSH: return "<<=";
	case BPF_RSH: return ">>=";
	case BPF_ARSH: return "s>>=";
	case BPF_MOV: return "=";
	default: return "?=";
	}
}

static const char *jump_op(unsigned op)
{
	switch (op) {
	case BPF_JEQ: return "==";
	case BPF_JNE: return "!=";
	case BPF_JGT: return ">";
	case BPF_JGE: return ">=";
	case BPF_JLT: return "<";
	case BPF_JLE: return "<=";
	case BPF_JSGT: return "s>";
	case BPF_JSGE: return "s>=";
	case BPF_JSLT: return "s<";
	case BPF_JSLE: return "s<=";
	case BPF_JSET: return "&";
	default: return "?";
	}
}

static void source(const struct bpf_insn *i, struct buf *out)
{
	if (BPF_SRC(i->code) == BPF_X)
		buf_adds(out, reg(i->src_reg));
	else
		buf_addf(out, "%d", i->imm);
}

static void alu(const struct bpf_insn *i, struct buf *out)
{
	const char *narrow = BPF_CLASS(i->code) == BPF_ALU ? "(u32)" : "";

	if (BPF_OP(i->code) == BPF_NEG) {
		buf_addf(out, "%s = -%s", reg(i->dst_reg), reg(i->dst_reg));
		return;
	}
	buf_addf(out, "%s %s %s", reg(i->dst_reg), alu_op(BPF_OP(i->code)), narrow);
	source(i, out);
}

static void jump(const struct bpf_insn *i, size_t at, struct buf *out)
{
	size_t target = at + 1 + (size_t)i->off;

	switch (BPF_OP(i->code)) {
	case BPF_CALL:
		if (i->src_reg == BPF_PSEUDO_CALL)
			buf_addf(out, "call %s", function_names[i->imm]);
		else
			buf_addf(out, "call %s#%d", helper_name(i->imm), i->imm);
		return;
	case BPF_EXIT: buf_adds(out, "exit"); return;
	case BPF_JA: buf_addf(out, "goto %zu", target); return;
	default:
		buf_addf(out, "if %s %s ", reg(i->dst_reg), jump_op(BPF_OP(i->code)));
		source(i, out);
		buf_addf(out, " goto %zu", target);
	}
}

static void atomic(const struct bpf_insn *i, struct buf *out)
{
	buf_addf(out, "lock *(%s *)(%s %+d) += %s", width(i->code), reg(i->dst_reg), i->off, reg(i->src_reg));
}

static void memory(const struct bpf_insn *i, struct buf *out)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_LDX:
		buf_addf(out, "%s = *(%s *)(%s %+d)", reg(i->dst_reg), width(i->code), reg(i->src_reg), i->off);
		break;
	case BPF_ST: buf_addf(out, "*(%s *)(%s %+d) = %d", width(i->code), reg(i->dst_reg), i->off, i->imm); break;
	default:
		if (BPF_MODE(i->code) == BPF_ATOMIC) {
			atomic(i, out);
			break;
		}
		buf_addf(out, "*(%s *)(%s %+d) = %s", width(i->code), reg(i->dst_reg), i->off, reg(i->src_reg));
		break;
	}
}

static void wide(const struct bpf_insn *i, struct buf *out)
{
	bool is_map = i->src_reg == BPF_PSEUDO_MAP_FD || i->src_reg == BPF_PSEUDO_MAP_VALUE;

	if (is_map)
		buf_addf(out, "%s = %s%s", reg(i->dst_reg),
			 i->src_reg == BPF_PSEUDO_MAP_VALUE ? "value of map " : "map ",
			 i->imm >= 0 && i->imm < GEN_MAPS ? map_names[i->imm] : "?");
	else
		buf_addf(out, "%s = 0x%llx", reg(i->dst_reg),
			 (unsigned long long)((uint64_t)(uint32_t)i[1].imm << 32 | (uint32_t)i[0].imm));
}

void disasm(const struct bpf_insn *insns, size_t n, struct buf *out)
{
	for (size_t at = 0; at < n; at++) {
		const struct bpf_insn *i = &insns[at];

		buf_addf(out, "%6zu: ", at);
		switch (BPF_CLASS(i->code)) {
		case BPF_ALU:
		case BPF_ALU64: alu(i, out); break;
		case BPF_JMP:
		case BPF_JMP32: jump(i, at, out); break;
		case BPF_LD:
			if (at + 1 < n)
				wide(i, out);
			at++;
			break;
		default: memory(i, out); break;
		}
		buf_addc(out, '\n');
	}
}
