// SPDX-License-Identifier: MIT
/*
 * The template compiler for x86-64: a fixed sequence of machine code for each instruction. Values are in the frame in
 * memory, where the collector finds them, as with the interpreter. All jumps within the code are relative, and all
 * calls leave it, so it can be copied to any address.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "vm.h"

#ifdef __x86_64__

struct fix {
	unsigned insn; /* the target of the jump, or the failing instruction */
	size_t at; /* end of the 32-bit displacement to patch */
};

struct assembler {
	struct mutator *m;
	const struct function *f;
	uint8_t *bytes;
	size_t len, size;
	size_t *starts; /* of each instruction's code */
	struct fix *jumps, *failures;
	unsigned jump_count, failure_count;
};

#define MOST_BYTES 128 /* maximum code of an instruction, including its slow paths */

static void put_bytes(struct assembler *a, const void *bytes, size_t len)
{
	if (len > a->size - a->len)
		vm_broken("the code of '%s' exceeds the buffer of the compiler", a->f->name);
	memcpy(a->bytes + a->len, bytes, len);
	a->len += len;
}

#define CODE(a, ...) put_bytes((a), (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))
static void put32(struct assembler *a, int32_t n) { put_bytes(a, &n, sizeof(n)); }
static void put64(struct assembler *a, uint64_t n) { put_bytes(a, &n, sizeof(n)); }

/* rbx is the frame, r12 the thread; both are callee-saved. */
static void load_rax(struct assembler *a, unsigned slot) { CODE(a, 0x48, 0x8b, 0x83), put32(a, (int32_t)slot * 8); }
static void store_rax(struct assembler *a, unsigned slot) { CODE(a, 0x48, 0x89, 0x83), put32(a, (int32_t)slot * 8); }
static void load_rcx(struct assembler *a, unsigned slot) { CODE(a, 0x48, 0x8b, 0x8b), put32(a, (int32_t)slot * 8); }

/* m->sp = frame + depth: the values that the collector scans. */
static void set_sp(struct assembler *a, unsigned depth)
{
	CODE(a, 0x48, 0x8d, 0x83), put32(a, (int32_t)depth * 8); /* lea depth*8(%rbx),%rax */
	CODE(a, 0x49, 0x89, 0x84, 0x24), put32(a, offsetof(struct mutator, sp)); /* mov %rax,sp(%r12) */
}

/* Calls function(m, second, …); the other arguments are set by the caller. */
static void call_c(struct assembler *a, uintptr_t function)
{
	CODE(a, 0x4c, 0x89, 0xe7); /* mov %r12,%rdi */
	CODE(a, 0x48, 0xb8), put64(a, function); /* movabs $function,%rax */
	CODE(a, 0xff, 0xd0); /* call *%rax */
}

static void load_rsi(struct assembler *a, uint64_t n) { CODE(a, 0x48, 0xbe), put64(a, n); }

static void jump_to(struct assembler *a, unsigned insn)
{
	put32(a, 0);
	a->jumps[a->jump_count++] = (struct fix){ insn, a->len };
}

/* Two-byte conditional jump: 0x0f, @condition. */
static void fail_if(struct assembler *a, uint8_t condition, unsigned insn)
{
	CODE(a, 0x0f, condition), put32(a, 0);
	a->failures[a->failure_count++] = (struct fix){ insn, a->len };
}

#define JZ 0x84
#define JO 0x80
#define JBE 0x86

/* Loads both operands, which must be numbers, into rax and rcx. */
static void load_numbers(struct assembler *a, unsigned depth, unsigned insn)
{
	load_rax(a, depth - 2);
	load_rcx(a, depth - 1);
	CODE(a, 0x89, 0xc2, 0x21, 0xca); /* mov %eax,%edx; and %ecx,%edx */
	CODE(a, 0xf6, 0xc2, 0x01); /* test $1,%dl */
	fail_if(a, JZ, insn);
}

/* A number n is represented as 2n+1. An overflow here means that the result exceeds 63 bits. */
static void arithmetic_code(struct assembler *a, enum op op, unsigned depth, unsigned insn)
{
	load_numbers(a, depth, insn);
	CODE(a, 0x48, 0xff, 0xc8); /* dec %rax */
	if (op == OP_MUL)
		CODE(a, 0x48, 0xd1, 0xf9, 0x48, 0x0f, 0xaf, 0xc1); /* sar %rcx; imul %rcx,%rax */
	else
		CODE(a, 0x48, 0xff, 0xc9, 0x48, op == OP_ADD ? 0x01 : 0x29, 0xc8); /* dec %rcx; add %rcx,%rax */
	fail_if(a, JO, insn);
	CODE(a, 0x48, 0xff, 0xc0); /* inc %rax */
	store_rax(a, depth - 2);
}

/* @set: sete or setl. */
static void compare_code(struct assembler *a, uint8_t set, unsigned depth)
{
	CODE(a, 0x48, 0x39, 0xc8); /* cmp %rcx,%rax */
	CODE(a, 0x0f, set, 0xc0, 0x0f, 0xb6, 0xc0); /* setCC %al; movzbl %al,%eax */
	CODE(a, 0x8d, 0x44, 0x00, 0x01); /* lea 1(%rax,%rax),%eax */
	store_rax(a, depth - 2);
}

static void loop_code(struct assembler *a, unsigned depth, unsigned target)
{
	CODE(a, 0x48, 0xb8), put64(a, (uintptr_t)&a->m->vm->world.stop);
	CODE(a, 0x83, 0x38, 0x00); /* cmpl $0,(%rax) */
	CODE(a, 0x0f, JZ), jump_to(a, target);
	set_sp(a, depth);
	call_c(a, (uintptr_t)world_park);
	CODE(a, 0xe9), jump_to(a, target);
}

static void function_code(struct assembler *a, enum op op, struct function *callee, unsigned depth)
{
	set_sp(a, depth);
	if (op == OP_SPAWN) {
		CODE(a, 0x48, 0x8d, 0x93), put32(a, (int32_t)(depth - callee->arity) * 8); /* lea (%rbx),%rdx */
		load_rsi(a, (uintptr_t)callee);
		call_c(a, (uintptr_t)spawn);
	} else {
		load_rsi(a, (uintptr_t)callee);
		call_c(a, (uintptr_t)invoke);
	}
	store_rax(a, depth - callee->arity);
}

static void primitive_code(struct assembler *a, const struct primitive *p, unsigned depth)
{
	set_sp(a, depth);
	CODE(a, 0x48, 0x8d, 0xb3), put32(a, (int32_t)(depth - p->arity) * 8); /* lea (%rbx),%rsi */
	call_c(a, (uintptr_t)p->run);
	store_rax(a, depth - p->arity);
}

static void text_code(struct assembler *a, const struct text_constant *t, unsigned depth)
{
	set_sp(a, depth);
	load_rsi(a, (uintptr_t)t->bytes);
	CODE(a, 0xba), put32(a, (int32_t)t->len); /* mov $len,%edx */
	call_c(a, (uintptr_t)text_new);
	store_rax(a, depth);
}

/*
 * A frame, in words from rbp: 1 the return address, 0 the caller's rbp, which profilers need to unwind; -1 rbx, -2 r12,
 * -3 the thread's previous frame of compiled code, -4 padding, and -5 the return address of the next call. With -3 and
 * -5 codeheap.c finds all return addresses when it moves the code.
 */
static void prologue(struct assembler *a)
{
	CODE(a, 0x55, 0x48, 0x89, 0xe5); /* push %rbp; mov %rsp,%rbp */
	CODE(a, 0x53, 0x41, 0x54); /* push %rbx; push %r12 */
	CODE(a, 0x49, 0x89, 0xfc, 0x48, 0x89, 0xf3); /* mov %rdi,%r12; mov %rsi,%rbx */
	CODE(a, 0x41, 0xff, 0xb4, 0x24), put32(a, offsetof(struct mutator, native_frame)); /* push native_frame(%r12) */
	CODE(a, 0x50); /* push %rax, for the stack's alignment */
	CODE(a, 0x49, 0x89, 0xac, 0x24),
		put32(a, offsetof(struct mutator, native_frame)); /* mov %rbp,native_frame(%r12) */
}

static void epilogue(struct assembler *a)
{
	CODE(a, 0x59); /* pop %rcx */
	CODE(a, 0x41, 0x8f, 0x84, 0x24), put32(a, offsetof(struct mutator, native_frame)); /* pop native_frame(%r12) */
	CODE(a, 0x41, 0x5c, 0x5b, 0x5d, 0xc3); /* pop %r12; pop %rbx; pop %rbp; ret */
}

static void one_insn(struct assembler *a, unsigned i)
{
	uint32_t insn = a->f->code[i];
	unsigned depth = a->f->locals + a->f->depth[i], operand = insn >> 8;
	struct program *p = a->m->vm->program;

	a->starts[i] = a->len;
	switch (insn_op(insn)) {
	case OP_INT:
		CODE(a, 0x48, 0xc7, 0xc0), put32(a, (int32_t)from_int(insn_operand(insn))); /* mov $n,%rax */
		store_rax(a, depth);
		break;
	case OP_NIL:
		CODE(a, 0x31, 0xc0); /* xor %eax,%eax */
		store_rax(a, depth);
		break;
	case OP_TEXT: text_code(a, &p->texts[operand], depth); break;
	case OP_LOCAL:
		load_rax(a, operand);
		store_rax(a, depth);
		break;
	case OP_SET:
		load_rax(a, depth - 1);
		store_rax(a, operand);
		break;
	case OP_POP: break;
	case OP_JUMP: CODE(a, 0xe9), jump_to(a, operand); break;
	case OP_JUMP_FALSE:
		load_rax(a, depth - 1);
		CODE(a, 0x48, 0x83, 0xf8, 0x01); /* cmp $1,%rax */
		CODE(a, 0x0f, JBE), jump_to(a, operand);
		break;
	case OP_LOOP: loop_code(a, depth, operand); break;
	case OP_ADD:
	case OP_SUB:
	case OP_MUL: arithmetic_code(a, insn_op(insn), depth, i); break;
	case OP_LESS:
		load_numbers(a, depth, i);
		compare_code(a, 0x9c, depth);
		break;
	case OP_EQUAL:
		load_rax(a, depth - 2);
		load_rcx(a, depth - 1);
		compare_code(a, 0x94, depth);
		break;
	case OP_CALL:
	case OP_SPAWN: function_code(a, insn_op(insn), &p->functions[operand], depth); break;
	case OP_PRIM: primitive_code(a, &primitives[operand], depth); break;
	case OP_RETURN:
		load_rax(a, depth - 1);
		epilogue(a);
		break;
	}
}

/* Reports the error of an operation that failed in compiled code. */
static void failed(struct mutator *m, uint64_t op, const value *operands)
{
	arithmetic(m, (enum op)op, operands[0], operands[1]);
	vm_broken("compiled code of '%s' failed in a valid operation", m->function->name);
}

static void resolve(struct assembler *a, size_t at, size_t target)
{
	int32_t distance = (int32_t)((int64_t)target - (int64_t)at);

	memcpy(a->bytes + at - sizeof(distance), &distance, sizeof(distance));
}

static void failure_code(struct assembler *a, const struct fix *fix)
{
	unsigned depth = a->f->locals + a->f->depth[fix->insn];

	resolve(a, fix->at, a->len);
	CODE(a, 0x48, 0x8d, 0x93), put32(a, (int32_t)(depth - 2) * 8); /* lea (%rbx),%rdx */
	load_rsi(a, insn_op(a->f->code[fix->insn]));
	call_c(a, (uintptr_t)failed);
}

static void assemble(struct assembler *a)
{
	prologue(a);
	for (unsigned i = 0; i < a->f->count; i++)
		one_insn(a, i);
	for (unsigned i = 0; i < a->jump_count; i++)
		resolve(a, a->jumps[i].at, a->starts[a->jumps[i].insn]);
	for (unsigned i = 0; i < a->failure_count; i++)
		failure_code(a, &a->failures[i]);
}

/* Assembles the code and copies it to the code heap. NULL: out of memory. */
static void *code_of(struct assembler *a)
{
	if (!a->bytes || !a->starts || !a->jumps || !a->failures)
		return NULL;
	assemble(a);
	return code_heap_add(&a->m->vm->code, a->bytes, a->len);
}

void jit_compile(struct mutator *m, struct function *f)
{
	struct assembler a = { .m = m, .f = f, .size = (size_t)(f->count + 1) * MOST_BYTES };
	struct log_entry *e = emit_compile_begin(m, f->name);
	void *code;

	a.bytes = malloc(a.size);
	a.starts = calloc(f->count, sizeof(*a.starts));
	a.jumps = calloc(2 * (size_t)f->count, sizeof(*a.jumps));
	a.failures = calloc(2 * (size_t)f->count, sizeof(*a.failures));
	code = code_of(&a);
	free(a.bytes);
	free(a.starts);
	free(a.jumps);
	free(a.failures);
	if (code) {
		emit_code(code, a.len, f->name);
		f->native_bytes = a.len;
		f->entered = true;
		m->vm->compilations++;
		f->native = (native_code)(uintptr_t)code;
	}
	emit_compile_end(m, e, code ? a.len : 0);
}

#else

void jit_compile(struct mutator *m, struct function *f) { (void)m, (void)f; }

#endif
