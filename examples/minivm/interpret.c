// SPDX-License-Identifier: MIT
/* Calls, and the interpreter for functions that have no machine code yet. */
#include "vm.h"

/* A safepoint: all live values are on the stack, below sp. */
static void poll(struct mutator *m)
{
	if (m->vm->world.stop)
		world_park(m);
}

/* Counts calls and loop iterations; exactly one thread sees the threshold and compiles the function. */
static void warm(struct mutator *m, struct function *f)
{
	const struct options *opt = &m->vm->opt;

	if (!opt->jit || f->native)
		return;
	if (atomic_fetch_add_explicit(&f->heat, 1, memory_order_relaxed) == opt->jit_threshold)
		jit_compile(m, f);
}

value arithmetic(struct mutator *m, enum op op, value a, value b)
{
	static const char *const names[] = { [OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*", [OP_LESS] = "<" };
	int64_t x = to_int(a), y = to_int(b), r;
	bool over = false;

	if (op == OP_EQUAL)
		return from_int(a == b);
	if (!is_int(a) || !is_int(b))
		vm_fail(m, "'%s' requires numbers", names[op]);
	if (op == OP_LESS)
		return from_int(x < y);
	if (op == OP_ADD)
		over = __builtin_add_overflow(x, y, &r);
	else if (op == OP_SUB)
		over = __builtin_sub_overflow(x, y, &r);
	else
		over = __builtin_mul_overflow(x, y, &r);
	if (over || r > INT_MOST || r < -INT_MOST - 1)
		vm_fail(m, "the result of '%s' is too large", names[op]);
	return from_int(r);
}

static value interpret(struct mutator *m, const struct function *f, value *frame)
{
	struct program *p = m->vm->program;
	value *sp = frame + f->locals;

	for (const uint32_t *pc = f->code;;) {
		uint32_t insn = *pc++;
		int32_t operand = insn_operand(insn);

		switch (insn_op(insn)) {
		case OP_INT: *sp++ = from_int(operand); break;
		case OP_NIL: *sp++ = NIL; break;
		case OP_TEXT:
			m->sp = sp;
			*sp++ = text_new(m, p->texts[operand].bytes, p->texts[operand].len);
			break;
		case OP_LOCAL: *sp++ = frame[operand]; break;
		case OP_SET: frame[operand] = *--sp; break;
		case OP_POP: sp--; break;
		case OP_JUMP: pc = f->code + operand; break;
		case OP_JUMP_FALSE:
			if (!is_true(*--sp))
				pc = f->code + operand;
			break;
		case OP_LOOP:
			m->sp = sp;
			poll(m);
			warm(m, (struct function *)f);
			pc = f->code + operand;
			break;
		case OP_ADD:
		case OP_SUB:
		case OP_MUL:
		case OP_LESS:
		case OP_EQUAL:
			sp--;
			sp[-1] = arithmetic(m, insn_op(insn), sp[-1], sp[0]);
			break;
		case OP_CALL:
			m->sp = sp;
			sp -= p->functions[operand].arity;
			*sp++ = invoke(m, &p->functions[operand]);
			break;
		case OP_SPAWN:
			sp -= p->functions[operand].arity;
			*sp = spawn(m, &p->functions[operand], sp);
			sp++;
			break;
		case OP_PRIM:
			m->sp = sp;
			sp -= primitives[operand].arity;
			*sp = primitives[operand].run(m, sp);
			sp++;
			break;
		case OP_RETURN: return sp[-1];
		}
	}
}

value invoke(struct mutator *m, struct function *f)
{
	value *frame = m->sp - f->arity, *top = frame + f->locals, ret;
	const struct function *caller = m->function;
	native_code native;

	m->function = f;
	if (++m->depth > DEPTH_MAX || top + f->most_depth > m->stack_end)
		vm_fail(m, "stack overflow: %u nested calls", m->depth);
	while (m->sp < top)
		*m->sp++ = NIL;
	poll(m);
	warm(m, f);
	native = f->native;
	if (native && m->vm->opt.move_code && !f->entered)
		f->entered = true;
	ret = native ? native(m, frame) : interpret(m, f, frame);
	m->sp = frame;
	m->depth--;
	m->function = caller;
	return ret;
}

static void run_function(struct mutator *m, void *arg) { m->result = invoke(m, arg); }

value spawn(struct mutator *m, struct function *f, const value *args)
{
	struct mutator *started = world_start(m->vm, run_function, f, args, f->arity);

	if (!started)
		vm_fail(m, "cannot start a thread: out of memory, or the limit of %d threads is reached", THREADS_MAX);
	return from_int(started->id);
}
