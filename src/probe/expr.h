/* SPDX-License-Identifier: MIT */
/* Expressions of the probe language as a tree. Values are 64-bit; types say how they print and compare. */
#ifndef UT_PROBE_EXPR_H
#define UT_PROBE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum type_kind {
	TYPE_INT, /* size and is_signed */
	TYPE_FLOAT, /* size 4 or 8: raw bits; may only be printed */
	TYPE_CHARS, /* a string in the record of a tracepoint, or comm: size is its capacity, 0 for __data_loc */
	TYPE_LITERAL, /* a string constant */
};

struct type {
	enum type_kind kind;
	uint8_t size;
	bool is_signed;
	bool is_pointer; /* declared as a pointer to characters (tracepoint fields): %s is right for it */
	uint8_t pointee_size; /* after a cast to a pointer ((u32 *)x): what * reads; 0: no pointer type */
	bool pointee_signed;
};

enum expr_op {
	EXPR_INT, /* value */
	EXPR_STRING, /* string, string_len: a literal, escapes already resolved */
	EXPR_VAR, /* var, index */
	EXPR_NEG,
	EXPR_NOT,
	EXPR_BITNOT, /* a */
	EXPR_CAST, /* a, to type */
	EXPR_DEREF, /* *a: type.size bytes of user memory at a */
	EXPR_MUL,
	EXPR_DIV,
	EXPR_MOD,
	EXPR_ADD,
	EXPR_SUB,
	EXPR_SHL,
	EXPR_SHR, /* a, b */
	EXPR_LT,
	EXPR_LE,
	EXPR_GT,
	EXPR_GE,
	EXPR_EQ,
	EXPR_NE, /* a, b; EQ and NE also a string and a literal */
	EXPR_AND,
	EXPR_XOR,
	EXPR_OR,
	EXPR_LAND,
	EXPR_LOR, /* short-circuit */
	EXPR_COND, /* a ? b : c */
};

enum var {
	VAR_ARG, /* index 0… = arg1… */
	VAR_FIELD, /* index into the tracepoint's fields */
	VAR_RETVAL,
	VAR_DURATION,
	VAR_PID,
	VAR_TID,
	VAR_CPU,
	VAR_TIME,
	VAR_COMM,
};

struct expr {
	enum expr_op op;
	struct type type; /* valid after checking; for EXPR_CAST from parsing on */
	size_t pos, len; /* its location in the probe text */
	uint64_t value;
	char *string; /* EXPR_STRING: owned; EXPR_VAR before checking: the name, owned */
	size_t string_len;
	enum var var;
	unsigned index;
	struct expr *a, *b, *c; /* owned */
};

struct expr *expr_free(struct expr *e);
/* The parser limits the depth of trees, so that functions may recurse. */
#define EXPR_DEPTH_MAX 64
unsigned expr_depth(const struct expr *e);

#endif
