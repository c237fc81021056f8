/* SPDX-License-Identifier: MIT */
/*
 * Bytecode. The frame of a function is a part of its thread's value stack: arguments, locals, and temporaries. An
 * instruction has 32 bits: the operation in the lowest 8, its signed operand in the others.
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
	OP_TEXT, /* push a new string: constant number */
	OP_LOCAL, /* push argument or local number */
	OP_SET, /* pop into argument or local number */
	OP_POP,
	OP_JUMP, /* to instruction number */
	OP_JUMP_FALSE, /* pop, and jump if it was nil or 0 */
	OP_LOOP, /* jump backwards, with a safepoint */
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
	_Atomic unsigned heat; /* number of calls and loop iterations */
	_Atomic(native_code) native;
	size_t native_bytes;
	_Atomic bool entered; /* its machine code was called since the last collection; only with --move-code */
};

#define FUNCTIONS_MAX 256
#define TEXTS_MAX 256

struct program {
	struct function functions[FUNCTIONS_MAX];
	unsigned function_count;
	struct text_constant texts[TEXTS_MAX];
	unsigned text_count;
};

/* Arguments of a primitive are on the stack, where the collector updates them: reload them after allocating. */
struct primitive {
	const char *name;
	unsigned arity;
	value (*run)(struct mutator *m, value *args);
};

extern const struct primitive primitives[];
extern const unsigned primitive_count;

/* read.c. Returns NULL and a message in @err if the source has an error. @name is used in the message. */
struct program *program_read(const char *name, const char *source, char *err, size_t err_size);
struct program *program_free(struct program *p);
struct function *program_find(struct program *p, const char *name);

/* interpret.c: calls a function whose arguments are on top of the stack, and pops them. */
value invoke(struct mutator *m, struct function *f);
/* Operations that can fail, for the interpreter and as slow paths of compiled code. */
value arithmetic(struct mutator *m, enum op op, value a, value b);
value spawn(struct mutator *m, struct function *f, const value *args);
/* prim.c */
value text_new(struct mutator *m, const char *bytes, size_t len);

/* jit.c: compiles a function. If out of memory, or on another architecture, it remains interpreted. */
#ifdef __x86_64__
#define JIT_POSSIBLE true
#else
#define JIT_POSSIBLE false
#endif
void jit_compile(struct mutator *m, struct function *f);

/* codeheap.c */
struct code_heap {
	char *memory; /* two halves; NULL: the compiler is disabled */
	char *half, *top, *end; /* the half in use; the end of its code, and of its last page */
	pthread_mutex_t lock; /* for compiling threads */
};

void code_heap_init(struct code_heap *h);
void code_heap_done(struct code_heap *h);
/* Returns an executable copy. NULL: the heap is full, or the kernel does not allow it. */
void *code_heap_add(struct code_heap *h, const void *code, size_t len);
/* Moves code to the other half, and frees code that has not run since the last move. The world is stopped. */
void code_heap_move(struct mutator *by);

#endif
