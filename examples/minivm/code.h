/* SPDX-License-Identifier: MIT */
/*
 * Bytecode. A function's frame is a part of its thread's stack of values: arguments, locals, and what is being
 * computed. An instruction is 32 bits: the operation in the lowest 8, its operand, signed, in the others.
 */
#ifndef MINIVM_CODE_H
#define MINIVM_CODE_H

#include <pthread.h>
#include <stdatomic.h>

#include "value.h"

struct mutator;
struct vm;

enum op {
	OP_INT, /* push the operand */
	OP_NIL,
	OP_TEXT, /* push a new text: constant number */
	OP_LOCAL, /* push argument or local number */
	OP_SET, /* pop into argument or local number */
	OP_POP,
	OP_JUMP, /* to instruction number */
	OP_JUMP_FALSE, /* pop, and jump if it was nil or 0 */
	OP_LOOP, /* backwards, through a safepoint */
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_LESS,
	OP_EQUAL, /* pop two, push one */
	OP_CALL, /* function number: pop its arguments, push its result */
	OP_SPAWN, /* the same on a new thread; push its id */
	OP_PRIM, /* primitive number */
	OP_RETURN, /* pop the result */
};

static inline enum op insn_op(uint32_t insn) { return (enum op)(insn & 0xff); }
static inline int32_t insn_operand(uint32_t insn) { return (int32_t)insn >> 8; }

#define OPERAND_MOST 0x7fffff

typedef value (*native_code)(struct mutator *m, value *frame);

struct text_constant {
	char *bytes;
	size_t len;
};

struct function {
	char *name;
	unsigned arity, locals; /* locals: arguments included */
	unsigned most_depth; /* values above the locals */
	uint32_t *code;
	uint16_t *depth; /* before each instruction */
	unsigned count, room;
	_Atomic unsigned heat; /* calls and loops so far */
	_Atomic(native_code) native;
	size_t native_bytes;
	_Atomic bool entered; /* its machine code, since the last collection; kept with --move-code only */
};

#define FUNCTIONS_MAX 256
#define TEXTS_MAX 256

struct program {
	struct function functions[FUNCTIONS_MAX];
	unsigned function_count;
	struct text_constant texts[TEXTS_MAX];
	unsigned text_count;
};

/* A primitive's arguments lie on the stack, where the collector finds and moves them: look again after allocating. */
struct primitive {
	const char *name;
	unsigned arity;
	value (*run)(struct mutator *m, value *args);
};

extern const struct primitive primitives[];
extern const unsigned primitive_count;

/* read.c. NULL and a sentence in @err when the source is not right. @name is for the sentence. */
struct program *program_read(const char *name, const char *source, char *err, size_t err_size);
struct program *program_free(struct program *p);
struct function *program_find(struct program *p, const char *name);

/* interpret.c: calls a function whose arguments are on top of the stack, and pops them. */
value invoke(struct mutator *m, struct function *f);
/* The operations that can fail, for the interpreter and for what compiled code leaves to it. */
value arithmetic(struct mutator *m, enum op op, value a, value b);
value spawn(struct mutator *m, struct function *f, const value *args);
/* prim.c */
value text_new(struct mutator *m, const char *bytes, size_t len);

/* jit.c: machine code for a function. Without memory for it, or on another machine, the function stays interpreted. */
#ifdef __x86_64__
#define JIT_POSSIBLE true
#else
#define JIT_POSSIBLE false
#endif
void jit_compile(struct mutator *m, struct function *f);

/* codeheap.c */
struct code_heap {
	char *memory; /* two halves; NULL: there is none, and nothing is compiled */
	char *half, *top, *end; /* the one in use; where its code ends, and the page of that */
	pthread_mutex_t lock; /* for those who compile */
};

void code_heap_init(struct code_heap *h);
void code_heap_done(struct code_heap *h);
/* A copy that can be executed. NULL: there is no room, or the kernel does not allow it. */
void *code_heap_add(struct code_heap *h, const void *code, size_t len);
/* In the stopped world: code moves to the other half, and what has not run since the last time is thrown away. */
void code_heap_move(struct mutator *by);

#endif
