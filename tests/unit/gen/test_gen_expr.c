/* SPDX-License-Identifier: MIT */
/* Random expressions, in the kernel and in C: the same values, and the same verdicts of predicates. */
#include <stdlib.h>
#include <sys/prctl.h>

#include "probe_fire.h"
#include "unit.h"

#define PROGRAMS 16 /* attached to the same place at a time, at most */
#define BATCHES 8
#define ROUNDS 24
#define NODES 60000

/* A value and its type: an operation is unsigned when a 64-bit unsigned operand takes part (docs of the language). */
struct value {
	uint64_t v;
	uint8_t size;
	bool is_signed;
};

struct node {
	enum expr_op op;
	struct value literal; /* EXPR_INT: value; EXPR_CAST, EXPR_DEREF: the type */
	unsigned arg; /* EXPR_VAR; EXPR_DEREF: how far behind the pointer */
	const struct node *a, *b, *c;
};

static const struct arg {
	const char *spec;
	enum reg reg;
	uint8_t size;
	bool is_signed;
} args[] = {
	{ "-4@%eax", X86_RAX, 4, true }, { "4@%ecx", X86_RCX, 4, false }, { "-1@%bl", X86_RBX, 1, true },
	{ "1@%dl", X86_RDX, 1, false },	 { "-8@%rsi", X86_RSI, 8, true }, { "8@%rdi", X86_RDI, 8, false },
	{ "-2@%r8w", X86_R8, 2, true },	 { "8@%r10", X86_R10, 8, false }, { "8@%r9", X86_R9, 8, false },
};
#define POINTER (ARRAY_SIZE(args) - 1)

static const struct {
	const char *name;
	uint8_t size;
	bool is_signed;
} types[] = {
	{ "int", 4, true },  { "unsigned int", 4, false }, { "u8", 1, false }, { "s8", 1, true },
	{ "u16", 2, false }, { "short", 2, true },	   { "s64", 8, true }, { "u64", 8, false },
};

static struct node nodes[NODES];
static size_t nnodes;
static int nprograms = PROGRAMS;
static double slowest_ms;
static size_t slowest_insns;
static uint64_t seed;
static uint8_t memory[256];
static _Alignas(64) char stack[65536];

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* The numbers at which arithmetic goes wrong, and any others. */
static uint64_t interesting(void)
{
	static const uint64_t edges[] = {
		0,
		1,
		2,
		3,
		7,
		8,
		63,
		64,
		127,
		128,
		255,
		256,
		32767,
		32768,
		65535,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x100000000,
		INT64_MAX,
		1ull << 63,
		UINT64_MAX,
		UINT64_MAX - 1,
		(uint64_t)INT32_MIN,
		(uint64_t)-128,
	};

	return rnd() % 3 ? edges[rnd() % ARRAY_SIZE(edges)] : rnd() >> rnd() % 64;
}

static uint64_t fit(uint64_t v, uint8_t size, bool is_signed)
{
	switch (size) {
	case 1: return is_signed ? (uint64_t)(int8_t)v : (uint8_t)v;
	case 2: return is_signed ? (uint64_t)(int16_t)v : (uint16_t)v;
	case 4: return is_signed ? (uint64_t)(int32_t)v : (uint32_t)v;
	default: return v;
	}
}

static const struct node *grow(unsigned depth);

static const struct node *leaf(struct node *n)
{
	if (rnd() % 3 == 0) {
		uint64_t v = interesting();

		n->op = EXPR_INT;
		n->literal = (struct value){ v, 8, v <= INT64_MAX };
	} else {
		n->op = EXPR_VAR;
		n->arg = (unsigned)(rnd() % ARRAY_SIZE(args));
	}
	return n;
}

static const struct node *constant(uint64_t v)
{
	struct node *n = &nodes[nnodes++];

	*n = (struct node){ .op = EXPR_INT, .literal = { v, 8, v <= INT64_MAX } };
	return n;
}

static void grow_unary(struct node *n, unsigned depth)
{
	size_t t = rnd() % ARRAY_SIZE(types);

	n->literal = (struct value){ 0, types[t].size, types[t].is_signed };
	if (n->op == EXPR_DEREF)
		n->arg = (unsigned)(rnd() % 200);
	else
		n->a = grow(depth - 1);
}

static const struct node *grow(unsigned depth)
{
	static const enum expr_op ops[] = {
		EXPR_NEG, EXPR_NOT, EXPR_BITNOT, EXPR_CAST, EXPR_DEREF, EXPR_MUL,  EXPR_DIV, EXPR_MOD, EXPR_ADD,
		EXPR_SUB, EXPR_SHL, EXPR_SHR,	 EXPR_LT,   EXPR_LE,	EXPR_GT,   EXPR_GE,  EXPR_EQ,  EXPR_NE,
		EXPR_AND, EXPR_XOR, EXPR_OR,	 EXPR_LAND, EXPR_LOR,	EXPR_COND, EXPR_DIV, EXPR_MOD, EXPR_SHR,
	};
	struct node *n = &nodes[nnodes++];

	*n = (struct node){ 0 };
	assert_true(nnodes < NODES - 2);
	if (!depth || rnd() % 5 == 0)
		return leaf(n);
	n->op = ops[rnd() % ARRAY_SIZE(ops)];
	if (n->op >= EXPR_NEG && n->op <= EXPR_DEREF) {
		grow_unary(n, depth);
		return n;
	}
	n->a = grow(depth - 1);
	n->b = grow(depth - 1);
	if ((n->op == EXPR_DIV || n->op == EXPR_MOD) && n->b->op == EXPR_INT)
		n->b = constant(interesting() | 1);
	if ((n->op == EXPR_SHL || n->op == EXPR_SHR) && (n->b->op == EXPR_INT || n->b->op == EXPR_NEG))
		n->b = constant(rnd() % 64);
	if (n->op == EXPR_COND)
		n->c = grow(depth - 1);
	return n;
}

static const char *type_text(const struct value *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i].size == t->size && types[i].is_signed == t->is_signed)
			return types[i].name;
	return "?";
}

static void print(const struct node *n, struct buf *out)
{
	static const char *const words[] = {
		[EXPR_NEG] = "-",  [EXPR_NOT] = "!", [EXPR_BITNOT] = "~", [EXPR_MUL] = "*",  [EXPR_DIV] = "/",
		[EXPR_MOD] = "%",  [EXPR_ADD] = "+", [EXPR_SUB] = "-",	  [EXPR_SHL] = "<<", [EXPR_SHR] = ">>",
		[EXPR_LT] = "<",   [EXPR_LE] = "<=", [EXPR_GT] = ">",	  [EXPR_GE] = ">=",  [EXPR_EQ] = "==",
		[EXPR_NE] = "!=",  [EXPR_AND] = "&", [EXPR_XOR] = "^",	  [EXPR_OR] = "|",   [EXPR_LAND] = "&&",
		[EXPR_LOR] = "||",
	};

	switch (n->op) {
	case EXPR_INT:
		buf_addf(out, n->literal.is_signed ? "%llu" : "0x%llxu", (unsigned long long)n->literal.v);
		return;
	case EXPR_VAR: buf_addf(out, "arg%u", n->arg + 1); return;
	case EXPR_DEREF: buf_addf(out, "*(%s *)(arg%zu + %u)", type_text(&n->literal), POINTER + 1, n->arg); return;
	default: break;
	}
	buf_addc(out, '(');
	if (n->op == EXPR_CAST)
		buf_addf(out, "(%s)", type_text(&n->literal));
	else if (!n->b)
		buf_addf(out, "%s ", words[n->op]);
	print(n->a, out);
	if (n->b) {
		buf_addf(out, " %s ", n->op == EXPR_COND ? "?" : words[n->op]);
		print(n->b, out);
	}
	if (n->c) {
		buf_adds(out, " : ");
		print(n->c, out);
	}
	buf_addc(out, ')');
}

static bool is_u64(struct value v) { return v.size == 8 && !v.is_signed; }

/* C's truncation; dividing by zero gives 0 and leaves the left side as the rest, as in BPF. */
static uint64_t divide(enum expr_op op, uint64_t a, uint64_t b, bool is_unsigned)
{
	if (!b)
		return op == EXPR_DIV ? 0 : a;
	if (is_unsigned)
		return op == EXPR_DIV ? a / b : a % b;
	if (b == UINT64_MAX)
		return op == EXPR_DIV ? 0 - a : 0;
	return op == EXPR_DIV ? (uint64_t)((int64_t)a / (int64_t)b) : (uint64_t)((int64_t)a % (int64_t)b);
}

static struct value truth(bool v) { return (struct value){ v, 4, true }; }

static bool compare(enum expr_op op, uint64_t a, uint64_t b, bool is_unsigned)
{
	bool less = is_unsigned ? a < b : (int64_t)a < (int64_t)b;

	switch (op) {
	case EXPR_LT: return less;
	case EXPR_LE: return less || a == b;
	case EXPR_GT: return !less && a != b;
	case EXPR_GE: return !less;
	case EXPR_EQ: return a == b;
	default: return a != b;
	}
}

static struct value calculate(enum expr_op op, struct value a, struct value b)
{
	bool u = is_u64(a) || is_u64(b);
	struct value ret = { 0, 8, !u };
	unsigned shift = b.v & 63;

	switch (op) {
	case EXPR_MUL: ret.v = a.v * b.v; break;
	case EXPR_ADD: ret.v = a.v + b.v; break;
	case EXPR_SUB: ret.v = a.v - b.v; break;
	case EXPR_AND: ret.v = a.v & b.v; break;
	case EXPR_OR: ret.v = a.v | b.v; break;
	case EXPR_XOR: ret.v = a.v ^ b.v; break;
	case EXPR_DIV:
	case EXPR_MOD: ret.v = divide(op, a.v, b.v, u); break;
	case EXPR_SHL: return (struct value){ a.v << shift, 8, !is_u64(a) };
	case EXPR_SHR:
		return (struct value){ is_u64(a) ? a.v >> shift : (uint64_t)((int64_t)a.v >> shift), 8, !is_u64(a) };
	default: return truth(compare(op, a.v, b.v, u));
	}
	return ret;
}

/* The type needs both branches, the value one. */
static struct value choose(bool cond, struct value b, struct value c)
{
	struct value ret = cond ? b : c;

	if (b.size != c.size || b.is_signed != c.is_signed) {
		ret.size = 8;
		ret.is_signed = !is_u64(b) && !is_u64(c);
	}
	return ret;
}

static struct value eval(const struct node *n)
{
	struct value a, ret = n->literal;

	switch (n->op) {
	case EXPR_INT: return ret;
	case EXPR_VAR:
		return (struct value){ fit(fire_before[args[n->arg].reg], args[n->arg].size, args[n->arg].is_signed),
				       args[n->arg].size, args[n->arg].is_signed };
	case EXPR_DEREF:
		memcpy(&ret.v, memory + n->arg, sizeof(ret.v));
		ret.v = fit(ret.v, ret.size, ret.is_signed);
		return ret;
	default: break;
	}
	a = eval(n->a);
	switch (n->op) {
	case EXPR_NEG: return (struct value){ 0 - a.v, 8, !is_u64(a) };
	case EXPR_BITNOT: return (struct value){ ~a.v, 8, !is_u64(a) };
	case EXPR_NOT: return truth(!a.v);
	case EXPR_CAST: ret.v = fit(a.v, ret.size, ret.is_signed); return ret;
	case EXPR_LAND: return truth(a.v && eval(n->b).v);
	case EXPR_LOR: return truth(a.v || eval(n->b).v);
	case EXPR_COND: return choose(a.v, eval(n->b), eval(n->c));
	default: return calculate(n->op, a, eval(n->b));
	}
}

/* A program of a predicate and as many expressions as it may have. */
struct sample {
	struct buf text;
	const struct node *predicate, *outputs[OUTPUTS_MAX];
	struct probe_checked *checked;
	struct gen_snippet body;
};

static void make(struct sample *s, struct recorder *r, const struct gen_options *options, const struct gen_site *site,
		 uint32_t number)
{
	struct ut_err err = { 0 };
	double begin;

	*s = (struct sample){ .predicate = grow(4) };
	buf_adds(&s->text, "u:test:fire (");
	print(s->predicate, &s->text);
	buf_adds(&s->text, ")");
	for (int i = 0; i < OUTPUTS_MAX; i++) {
		s->outputs[i] = grow(5);
		buf_adds(&s->text, i ? ", " : " ");
		print(s->outputs[i], &s->text);
	}
	s->checked = fire_check(s->text.data, site->operands);
	if (gen_snippet(s->checked, site, options, &s->body, &err))
		fail_msg("%s", err.msg);
	begin = fire_ms();
	recorder_attach(r, &s->body, fire_nop1_site, number, options);
	if (fire_ms() - begin > slowest_ms) {
		slowest_ms = fire_ms() - begin;
		slowest_insns = s->body.code.insns.n;
	}
}

static void compare_outputs(const struct sample *s, const struct ut_rec_event *rec)
{
	struct buf text = { 0 };

	for (unsigned i = 0; i < OUTPUTS_MAX; i++) {
		uint64_t want = eval(s->outputs[i]).v, got = record_value(rec, s->checked, i);

		if (want == got && !record_faulted(rec, s->checked, i))
			continue;
		print(s->outputs[i], &text);
		fail_msg("%s is 0x%llx, not 0x%llx; %s", text.data, (unsigned long long)want, (unsigned long long)got,
			 record_faulted(rec, s->checked, i) ? "a fault was reported" : "");
	}
}

static void one_round(struct recorder *r, const struct sample *samples, uint64_t *seen)
{
	bool sent[PROGRAMS] = { 0 };
	const struct merge_item *item;

	for (int i = 0; i < 16; i++)
		fire_before[i] = interesting();
	fire_before[X86_RSP] = (uintptr_t)(stack + sizeof(stack) - 4096);
	fire_before[X86_R9] = (uintptr_t)memory;
	fire_nop1();
	assert_memory_equal(fire_before, fire_after, sizeof(fire_before));
	while ((item = recorder_next(r))) {
		const struct ut_rec_event *rec = item->rec;

		assert_non_null(rec);
		assert_true((int)rec->site < nprograms && !sent[rec->site]);
		sent[rec->site] = true;
		compare_outputs(&samples[rec->site], rec);
		++*seen;
	}
	for (int i = 0; i < nprograms; i++) {
		if (sent[i] == (eval(samples[i].predicate).v != 0))
			continue;
		fail_msg("the verdict should be %s: %.400s", sent[i] ? "no" : "yes", samples[i].text.data);
	}
}

static void one_batch(struct recorder *r, const struct gen_options *options, const struct gen_site *site,
		      uint64_t *seen)
{
	struct sample samples[PROGRAMS];

	nnodes = 0;
	for (int i = 0; i < nprograms; i++)
		make(&samples[i], r, options, site, (uint32_t)i);
	for (int i = 0; i < ROUNDS; i++)
		one_round(r, samples, seen);
	recorder_detach(r);
	for (int i = 0; i < nprograms; i++) {
		buf_done(&samples[i].text);
		gen_snippet_done(&samples[i].body);
		probe_checked_free(samples[i].checked);
	}
}

static void random_expressions(void **state)
{
	const char *given = getenv("UT_SEED");
	struct gen_options options = recorder_options(64);
	struct elf_image *self;
	struct recorder r;
	struct gen_site site;
	AUTO_FREE struct operands *ops = NULL;
	struct buf text = { 0 };
	int batches = getenv("UT_VM") ? 3 : BATCHES; /* an emulator is slow */
	uint64_t seen = 0;

	(void)state;
	need_root();
	nprograms = getenv("UT_VM") ? 4 : PROGRAMS;
	seed = given ? strtoull(given, NULL, 0) : 0x9e3779b97f4a7c15;
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = (uint8_t)rnd();
	for (size_t i = 0; i < ARRAY_SIZE(args); i++)
		buf_addf(&text, "%s%s", i ? " " : "", args[i].spec);
	self = fire_image();
	ops = fire_operands(self, text.data);
	site = (struct gen_site){ .operands = ops, .site_vaddr = fire_vaddr(self, fire_nop1_site) };
	recorder_open(&r, 1 << 16);
	for (int i = 0; i < batches; i++)
		one_batch(&r, &options, &site, &seen);
	print_message("%d expressions, %llu records compared; slowest load %.1f ms for %zu instructions\n",
		      batches * nprograms * OUTPUTS_MAX, (unsigned long long)seen, slowest_ms, slowest_insns);
	assert_true(seen > (uint64_t)(batches * nprograms) * 5);
	recorder_close(&r);
	elf_image_free(self);
	buf_done(&text);
}

UNIT_TESTS(gen_expr)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_expressions) };

	return unit_run(tests, NULL, NULL);
}
