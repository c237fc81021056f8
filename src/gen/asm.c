/* SPDX-License-Identifier: MIT */
/* The assembler: one function per shape of instruction, labels resolved at the end. */
#include "gen/asm.h"

#include <errno.h>
#include <limits.h>

void asm_done(struct asm_buf *a)
{
	vec_done(&a->insns);
	vec_done(&a->labels);
	vec_done(&a->fixups);
}

static void emit(struct asm_buf *a, uint8_t code, enum bpf_reg dst, enum bpf_reg src, int16_t off, int32_t imm)
{
	struct bpf_insn insn = { .code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm };

	if (vec_push(&a->insns, insn))
		a->error = -ENOMEM;
}

int asm_finish(struct asm_buf *a)
{
	for (size_t i = 0; !a->error && i < a->fixups.n; i++) {
		int at = a->labels.v[a->fixups.v[i].label];
		int distance = at - (int)a->fixups.v[i].insn - 1;

		if (at < 0)
			a->error = -EINVAL;
		else if (distance > INT16_MAX || distance < INT16_MIN)
			a->error = -E2BIG;
		else
			a->insns.v[a->fixups.v[i].insn].off = (int16_t)distance;
	}
	return a->error;
}

unsigned asm_label(struct asm_buf *a)
{
	if (vec_push(&a->labels, -1)) {
		a->error = -ENOMEM;
		return 0;
	}
	return (unsigned)a->labels.n - 1;
}

void asm_place(struct asm_buf *a, unsigned label)
{
	if (label < a->labels.n)
		a->labels.v[label] = (int)a->insns.n;
}

bool asm_used(const struct asm_buf *a, unsigned label)
{
	for (size_t i = a->fixups.n; i > 0; i--)
		if (a->fixups.v[i - 1].label == label)
			return true;
	return false;
}

void asm_mov(struct asm_buf *a, enum bpf_reg dst, enum bpf_reg src)
{
	emit(a, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

void asm_mov32(struct asm_buf *a, enum bpf_reg dst, enum bpf_reg src)
{
	emit(a, BPF_ALU | BPF_MOV | BPF_X, dst, src, 0, 0);
}

void asm_movi(struct asm_buf *a, enum bpf_reg dst, int32_t imm)
{
	emit(a, BPF_ALU64 | BPF_MOV | BPF_K, dst, R0, 0, imm);
}

void asm_imm64(struct asm_buf *a, enum bpf_reg dst, uint64_t imm)
{
	if ((uint64_t)(int64_t)(int32_t)imm == imm) {
		asm_movi(a, dst, (int32_t)imm);
		return;
	}
	emit(a, BPF_LD | BPF_DW | BPF_IMM, dst, R0, 0, (int32_t)imm);
	emit(a, 0, R0, R0, 0, (int32_t)(imm >> 32));
}

void asm_alu(struct asm_buf *a, int op, enum bpf_reg dst, enum bpf_reg src)
{
	emit(a, (uint8_t)(BPF_ALU64 | op | BPF_X), dst, src, 0, 0);
}

void asm_alui(struct asm_buf *a, int op, enum bpf_reg dst, int32_t imm)
{
	emit(a, (uint8_t)(BPF_ALU64 | op | BPF_K), dst, R0, 0, imm);
}

static uint8_t width(unsigned size) { return size == 1 ? BPF_B : size == 2 ? BPF_H : size == 4 ? BPF_W : BPF_DW; }

void asm_load(struct asm_buf *a, unsigned size, enum bpf_reg dst, enum bpf_reg base, int off)
{
	emit(a, BPF_LDX | BPF_MEM | width(size), dst, base, (int16_t)off, 0);
}

void asm_store(struct asm_buf *a, unsigned size, enum bpf_reg base, int off, enum bpf_reg src)
{
	emit(a, BPF_STX | BPF_MEM | width(size), base, src, (int16_t)off, 0);
}

void asm_storei(struct asm_buf *a, unsigned size, enum bpf_reg base, int off, int32_t imm)
{
	emit(a, BPF_ST | BPF_MEM | width(size), base, R0, (int16_t)off, imm);
}

void asm_xadd(struct asm_buf *a, enum bpf_reg base, int off, enum bpf_reg src)
{
	emit(a, BPF_STX | BPF_ATOMIC | BPF_DW, base, src, (int16_t)off, BPF_ADD);
}

static void fixup(struct asm_buf *a, unsigned label)
{
	struct asm_fixup f = { .insn = (unsigned)a->insns.n, .label = label };

	if (vec_push(&a->fixups, f))
		a->error = -ENOMEM;
}

void asm_jump(struct asm_buf *a, unsigned label)
{
	fixup(a, label);
	emit(a, BPF_JMP | BPF_JA, R0, R0, 0, 0);
}

void asm_jcc(struct asm_buf *a, int cond, enum bpf_reg dst, enum bpf_reg src, unsigned label)
{
	fixup(a, label);
	emit(a, (uint8_t)(BPF_JMP | cond | BPF_X), dst, src, 0, 0);
}

void asm_jcci(struct asm_buf *a, int cond, enum bpf_reg dst, int32_t imm, unsigned label)
{
	fixup(a, label);
	emit(a, (uint8_t)(BPF_JMP | cond | BPF_K), dst, R0, 0, imm);
}

void asm_call(struct asm_buf *a, int helper) { emit(a, BPF_JMP | BPF_CALL, R0, R0, 0, helper); }

void asm_call_function(struct asm_buf *a, enum gen_function function)
{
	emit(a, BPF_JMP | BPF_CALL, R0, BPF_PSEUDO_CALL, 0, (int32_t)function);
}

void asm_exit(struct asm_buf *a) { emit(a, BPF_JMP | BPF_EXIT, R0, R0, 0, 0); }

void asm_map(struct asm_buf *a, enum bpf_reg dst, enum gen_map map)
{
	emit(a, BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, map);
	emit(a, 0, R0, R0, 0, 0);
}

void asm_map_value(struct asm_buf *a, enum bpf_reg dst, enum gen_map map)
{
	emit(a, BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_VALUE, 0, map);
	emit(a, 0, R0, R0, 0, 0);
}
