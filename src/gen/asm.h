/* SPDX-License-Identifier: MIT */
/* A small assembler for BPF instructions with forward labels. Encodings: linux/bpf.h and the kernel's
 * Documentation/bpf/standardization/instruction-set.rst. It never fails half-way: asm_finish reports the first
 * error. */
#ifndef UT_GEN_ASM_H
#define UT_GEN_ASM_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

enum bpf_reg { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

/*
 * Maps a program refers to; the loader replaces them with descriptors (gen_relocate). Also the names in a
 * disassembly.
 */
enum gen_map {
	GEN_MAP_RINGS, /* array of ring buffers, by CPU */
	GEN_MAP_LOST, /* array of one value: 64 bytes per CPU, the first 8 count events lost for want of
			 * room, the next 8 those of processes that were refused */
	GEN_MAP_FOLLOW, /* hash: process id → 1 */
	GEN_MAP_STARTS, /* hash: struct ut_call_key → struct ut_call */
	GEN_MAP_CALLS, /* array of one value: struct ut_call_counts */
	GEN_MAP_THROTTLED, /* hash: process id → what it may still write: struct ut_throttled */
	GEN_MAP_WALK_UPROBE, /* array of one program: what takes a sample of a probe's stack (src/bpf/sample.bpf.c) */
	GEN_MAP_WALK_TRACEPOINT,
	GEN_MAPS
};

/* Functions in C that a program calls; the loader appends them (gen_link). Also the names in a disassembly. */
enum gen_function {
	GEN_FUNCTION_SPAN_STEP, /* R1: enum ut_span_step, R2: stack pointer at a function's entry or 0; the state or 0 */
	GEN_FUNCTION_SPAN_COPY, /* R1: a struct ut_rec_state in the record, R2: the state or 0 */
	GEN_FUNCTIONS
};

struct asm_fixup {
	unsigned insn, label;
};

struct asm_buf {
	VEC(struct bpf_insn) insns;
	VEC(int) labels; /* instruction index; -1 while not placed */
	VEC(struct asm_fixup) fixups;
	int error; /* 0, -ENOMEM, -E2BIG (a jump too far) */
};

void asm_done(struct asm_buf *a);
/* Resolves all jumps. 0 or the first error. */
int asm_finish(struct asm_buf *a);

unsigned asm_label(struct asm_buf *a); /* a new label, not placed */
void asm_place(struct asm_buf *a, unsigned label); /* here */
/* Does anything jump to it so far? What nothing reaches, the kernel refuses. */
bool asm_used(const struct asm_buf *a, unsigned label);

void asm_mov(struct asm_buf *a, enum bpf_reg dst, enum bpf_reg src);
void asm_mov32(struct asm_buf *a, enum bpf_reg dst, enum bpf_reg src); /* clears the upper half */
void asm_movi(struct asm_buf *a, enum bpf_reg dst, int32_t imm); /* sign-extended */
void asm_imm64(struct asm_buf *a, enum bpf_reg dst, uint64_t imm); /* shortest form */
/* op: BPF_ADD, BPF_SUB, BPF_AND, BPF_LSH, … on 64 bits. */
void asm_alu(struct asm_buf *a, int op, enum bpf_reg dst, enum bpf_reg src);
void asm_alui(struct asm_buf *a, int op, enum bpf_reg dst, int32_t imm);
/* size: 1, 2, 4, 8 bytes; loads clear the upper bits. */
void asm_load(struct asm_buf *a, unsigned size, enum bpf_reg dst, enum bpf_reg base, int off);
void asm_store(struct asm_buf *a, unsigned size, enum bpf_reg base, int off, enum bpf_reg src);
void asm_storei(struct asm_buf *a, unsigned size, enum bpf_reg base, int off, int32_t imm);
/* lock *(u64 *)(base + off) += src */
void asm_xadd(struct asm_buf *a, enum bpf_reg base, int off, enum bpf_reg src);
/* cond: BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JSLT, …, 64-bit compares. */
void asm_jump(struct asm_buf *a, unsigned label);
void asm_jcc(struct asm_buf *a, int cond, enum bpf_reg dst, enum bpf_reg src, unsigned label);
void asm_jcci(struct asm_buf *a, int cond, enum bpf_reg dst, int32_t imm, unsigned label);
void asm_call(struct asm_buf *a, int helper);
void asm_call_function(struct asm_buf *a, enum gen_function function);
void asm_exit(struct asm_buf *a);
void asm_map(struct asm_buf *a, enum bpf_reg dst, enum gen_map map); /* the map itself */
void asm_map_value(struct asm_buf *a, enum bpf_reg dst, enum gen_map map); /* the first byte of its one value */

#endif
