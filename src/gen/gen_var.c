/* SPDX-License-Identifier: MIT */
/* Variables to instructions: operands of a note, registers of a call, fields of a tracepoint, the process itself. */
#include <errno.h>
#include <stddef.h>

#include "base/auto.h"

#include "gen/gen_priv.h"

/* struct pt_regs of x86-64 (arch/x86/include/asm/ptrace.h), part of the kernel's ABI as struct user_regs_struct is. */
int gen_pt_regs(enum reg r)
{
	static const int offset[] = {
		[X86_R15] = 0,	[X86_R14] = 8,	 [X86_R13] = 16,  [X86_R12] = 24,  [X86_RBP] = 32,  [X86_RBX] = 40,
		[X86_R11] = 48, [X86_R10] = 56,	 [X86_R9] = 64,	  [X86_R8] = 72,   [X86_RAX] = 80,  [X86_RCX] = 88,
		[X86_RDX] = 96, [X86_RSI] = 104, [X86_RDI] = 112, [X86_RIP] = 128, [X86_RSP] = 152,
	};

	return offset[r];
}

void gen_read_user(struct gen *g, int to, unsigned size)
{
	unsigned done = asm_label(g->a);

	asm_store(g->a, 8, FP, SP_FAULT_ADDR, R3);
	asm_storei(g->a, 8, FP, to, 0);
	asm_mov(g->a, R1, FP);
	asm_alui(g->a, BPF_ADD, R1, to);
	asm_movi(g->a, R2, (int32_t)size);
	asm_call(g->a, BPF_FUNC_probe_read_user);
	asm_jcci(g->a, BPF_JEQ, R0, 0, done);
	if (g->options->may_sleep) { /* the page may be there, only not in memory now */
		asm_mov(g->a, R1, FP);
		asm_alui(g->a, BPF_ADD, R1, to);
		asm_movi(g->a, R2, (int32_t)size);
		asm_load(g->a, 8, R3, FP, SP_FAULT_ADDR);
		asm_call(g->a, BPF_FUNC_copy_from_user);
		asm_jcci(g->a, BPF_JEQ, R0, 0, done);
		g->sleeps = true;
	}
	asm_jump(g->a, g->on_fault);
	asm_place(g->a, done);
}

/* The running address of a symbol: its distance from the site is the same wherever the file is mapped. */
static void gen_symbol(struct gen *g, const struct operand *op)
{
	uint64_t distance = op->sym_vaddr + (uint64_t)op->disp - g->site->site_vaddr;

	asm_load(g->a, 8, R0, R6, gen_pt_regs(X86_RIP));
	asm_imm64(g->a, R1, distance);
	asm_alu(g->a, BPF_ADD, R0, R1);
}

/* Address of a memory operand into R3. */
static void gen_address(struct gen *g, const struct operand *op)
{
	if (op->has_symbol) {
		gen_symbol(g, op);
	} else {
		asm_imm64(g->a, R0, (uint64_t)op->disp);
	}
	if (op->base != X86_NONE && op->base != X86_RIP) {
		asm_load(g->a, 8, R1, R6, gen_pt_regs(op->base));
		asm_alu(g->a, BPF_ADD, R0, R1);
	}
	if (op->index != X86_NONE) {
		asm_load(g->a, 8, R1, R6, gen_pt_regs(op->index));
		if (op->scale > 1)
			asm_alui(g->a, BPF_MUL, R1, op->scale);
		asm_alu(g->a, BPF_ADD, R0, R1);
	}
	asm_mov(g->a, R3, R0);
}

static void gen_operand(struct gen *g, const struct operand *op)
{
	switch (op->kind) {
	case OPERAND_CONST: asm_imm64(g->a, R0, op->value); return;
	case OPERAND_REG:
		asm_load(g->a, 8, R0, R6, gen_pt_regs(op->base));
		if (op->shift)
			asm_alui(g->a, BPF_RSH, R0, op->shift);
		break;
	case OPERAND_ADDR: gen_symbol(g, op); break;
	case OPERAND_MEM:
		gen_address(g, op);
		gen_read_user(g, SP_KEY, op->size);
		asm_load(g->a, 8, R0, FP, SP_KEY);
		break;
	default: asm_movi(g->a, R0, 0); return;
	}
	gen_extend(g, op->size, op->is_signed && !op->is_float);
}

static void gen_arg(struct gen *g, const struct expr *e)
{
	/* System V ABI for x86-64: the registers of integer arguments, in order. */
	static const enum reg call[] = { X86_RDI, X86_RSI, X86_RDX, X86_RCX, X86_R8, X86_R9 };

	if (g->site->operands && e->index < g->site->operands->n) {
		gen_operand(g, &g->site->operands->v[e->index]);
	} else if (!g->site->operands && e->index < ARRAY_SIZE(call)) {
		asm_load(g->a, 8, R0, R6, gen_pt_regs(call[e->index]));
		gen_extend(g, e->type.size, e->type.is_signed);
	} else {
		gen_refuse(g, e, "there is no argument %u at one of the sites", e->index + 1);
	}
}

/* Fields are read from the record by aligned loads where the kernel allows it, else copied out. */
static void gen_field(struct gen *g, const struct expr *e)
{
	const struct tracepoint_field *f = &g->site->tracepoint->fields.v[e->index];

	if (f->offset % f->type.size == 0) {
		asm_load(g->a, f->type.size, R0, R6, (int)f->offset);
	} else {
		asm_mov(g->a, R1, FP);
		asm_alui(g->a, BPF_ADD, R1, SP_KEY);
		asm_movi(g->a, R2, f->type.size);
		asm_mov(g->a, R3, R6);
		asm_alui(g->a, BPF_ADD, R3, (int32_t)f->offset);
		asm_storei(g->a, 8, FP, SP_KEY, 0);
		asm_call(g->a, BPF_FUNC_probe_read_kernel);
		asm_load(g->a, 8, R0, FP, SP_KEY);
	}
	gen_extend(g, f->type.size, f->type.is_signed);
}

unsigned gen_field_text(struct gen *g, const struct tracepoint_field *f, unsigned size)
{
	asm_mov(g->a, R3, R6);
	if (!f->data_loc && !f->rel_loc) {
		asm_alui(g->a, BPF_ADD, R3, (int32_t)f->offset);
		return size < f->size ? size : f->size;
	}
	asm_load(g->a, 4, R4, R6, (int)f->offset);
	asm_alui(g->a, BPF_AND, R4, 0xffff);
	asm_alu(g->a, BPF_ADD, R3, R4);
	if (f->rel_loc)
		asm_alui(g->a, BPF_ADD, R3, (int32_t)f->offset + 4);
	return size;
}

void gen_var(struct gen *g, const struct expr *e, unsigned temp)
{
	(void)temp;
	switch (e->var) {
	case VAR_ARG: gen_arg(g, e); break;
	case VAR_FIELD: gen_field(g, e); break;
	case VAR_RETVAL: asm_load(g->a, 8, R0, R6, gen_pt_regs(X86_RAX)); break;
	case VAR_DURATION: asm_load(g->a, 8, R0, FP, SP_DURATION); break;
	case VAR_PID:
		asm_call(g->a, BPF_FUNC_get_current_pid_tgid);
		asm_alui(g->a, BPF_RSH, R0, 32);
		break;
	case VAR_TID:
		asm_call(g->a, BPF_FUNC_get_current_pid_tgid);
		asm_mov32(g->a, R0, R0);
		break;
	case VAR_CPU: asm_call(g->a, BPF_FUNC_get_smp_processor_id); break;
	case VAR_TIME: asm_call(g->a, BPF_FUNC_ktime_get_ns); break;
	default: gen_refuse(g, e, "strings can only be compared with == and !=, or printed"); break;
	}
}
