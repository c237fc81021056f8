// SPDX-License-Identifier: MIT
/* Runs programs and checks their results. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run.h"
#include "samples.h"

struct work {
	const struct run *run;
	double end;
	pthread_mutex_t lock;
	bool has_result;
	int64_t result;
	unsigned done;
};

void vm_fail(const struct mutator *m, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fflush(stdout);
	fprintf(stderr, "minivm: in '%s' of thread %u: %s\n", m->function ? m->function->name : "?", m->id, text);
	log_write_now();
	/* Other threads run until the process exits, so free nothing. */
	_exit(1);
}

void vm_broken(const char *format, ...)
{
	va_list args;

	fputs("minivm: internal error: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check_result(struct mutator *m, struct work *w, value v)
{
	const struct run *r = w->run;
	int64_t wanted, result = to_int(v);

	if (!is_int(v))
		vm_fail(m, "'main' must return a number");
	pthread_mutex_lock(&w->lock);
	wanted = r->expected ? *r->expected : w->has_result ? w->result : result;
	w->has_result = true;
	w->result = result;
	w->done++;
	pthread_mutex_unlock(&w->lock);
	if (result != wanted)
		vm_fail(m, "the result is %lld, but expected %lld", (long long)result, (long long)wanted);
}

static void work_rounds(struct mutator *m, void *arg)
{
	struct work *w = arg;
	const struct run *r = w->run;
	struct function *f = program_find(m->vm->program, "main");

	for (unsigned i = 0; r->rounds ? i < r->rounds : now_s() < w->end; i++) {
		*m->sp++ = from_int(r->argument);
		check_result(m, w, invoke(m, f));
	}
}

static void work_first(struct mutator *m, void *arg)
{
	const struct work *w = arg;

	for (unsigned i = 1; i < w->run->threads; i++) {
		if (!world_start(m->vm, work_rounds, arg, NULL, 0))
			vm_fail(m, "cannot start %u threads", w->run->threads);
	}
	work_rounds(m, arg);
}

static int fill(char *err, size_t err_size, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int fill(char *err, size_t err_size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, err_size, format, args);
	va_end(args);
	return -1;
}

static int run_on(struct vm *vm, struct run *r, char *err, size_t err_size)
{
	struct work w = { .run = r, .end = now_s() + r->seconds };
	bool ran;

	if (heap_init(&vm->heap, vm->opt.heap_bytes, vm->opt.generational ? vm->opt.nursery_bytes : 0))
		return fill(err, err_size, "out of memory for a heap of %zu bytes", vm->opt.heap_bytes);
	code_heap_init(&vm->code);
	pthread_mutex_init(&w.lock, NULL);
	world_init(&vm->world);
	ran = world_run(vm, work_first, &w);
	world_done(&vm->world);
	pthread_mutex_destroy(&w.lock);
	heap_done(&vm->heap);
	code_heap_done(&vm->code);
	r->moves = vm->moves;
	r->result = w.result;
	r->done = w.done;
	r->collections = vm->collections;
	r->compilations = vm->compilations;
	return ran ? 0 : fill(err, err_size, "out of memory for a thread");
}

int run(struct run *r, char *err, size_t err_size)
{
	struct vm *vm = calloc(1, sizeof(*vm));
	int ret = -1, code;

	if (!vm)
		return fill(err, err_size, "out of memory");
	vm->opt = r->opt;
	vm->program = program_read(r->name, r->source, err, err_size);
	if (vm->program) {
		code = log_open(&vm->log, r->log);
		if (code)
			fill(err, err_size, "cannot write the log '%s': %s", r->log, strerror(-code));
		else
			ret = run_on(vm, r, err, err_size);
		code = log_close(&vm->log);
		if (!ret && code)
			ret = fill(err, err_size, "cannot write the log '%s': %s", r->log, strerror(-code));
	}
	program_free(vm->program);
	free(vm);
	return ret;
}

/* ---- self-check ---- */

struct config {
	bool generational, jit, move_code;
	unsigned jit_threshold, threads;
};

static int check_one(const struct sample *s, const struct config *config, bool quiet)
{
	int64_t expected = s->expected(s->small);
	size_t heap = (config->threads * s->small_heap + 65535) / 65536 * 65536;
	struct run r = {
		.opt = { .heap_bytes = heap,
			 .nursery_bytes = 16384,
			 .generational = config->generational,
			 .jit = config->jit,
			 .jit_threshold = config->jit_threshold,
			 .check_heap = true,
			 .move_code = config->move_code },
		.name = s->name,
		.source = s->source,
		.argument = s->small,
		.expected = &expected,
		.threads = config->threads,
		.rounds = 2,
	};
	char err[300] = "", what[120];

	snprintf(what, sizeof(what), "%s, %s, %s from %u on, %u threads, heap of %zu", s->name,
		 config->generational ? "generational" : "mark-sweep",
		 config->move_code ? "compiled and moved"
		 : config->jit	   ? "compiled"
				   : "not compiled",
		 config->jit_threshold, config->threads, heap);
	/* A run without collections or compilations has tested nothing. */
	if (!run(&r, err, sizeof(err)) && s->collects && !r.collections)
		fill(err, sizeof(err), "nothing was collected");
	if (!*err && config->jit && JIT_POSSIBLE && !r.compilations)
		fill(err, sizeof(err), "nothing was compiled");
	if (!*err && config->move_code && JIT_POSSIBLE && s->collects && !r.moves)
		fill(err, sizeof(err), "nothing was moved");
	if (!quiet || *err)
		printf("%s: %s: %s; %u collections, %u compilations\n", *err ? "FAILED" : "ok", what,
		       *err ? err : "correct", r.collections, r.compilations);
	return *err ? 1 : 0;
}

int self_check(bool quiet)
{
	static const unsigned threads[] = { 1, 2, 8 };
	static const struct config configs[] = {
		{ false, false, false, 0, 0 }, { false, true, false, 0, 0 }, { false, true, true, 20, 0 },
		{ true, false, false, 0, 0 },  { true, true, true, 0, 0 },   { true, true, false, 20, 0 },
	};
	unsigned failed = 0, checks = 0;

	for (size_t s = 0; s < sample_count; s++) {
		for (size_t w = 0; w < sizeof(configs) / sizeof(*configs); w++) {
			for (size_t t = 0; t < sizeof(threads) / sizeof(*threads); t++, checks++) {
				struct config config = configs[w];

				config.threads = threads[t];
				failed += (unsigned)check_one(&samples[s], &config, quiet);
			}
		}
	}
	printf("%u checks, %u failed\n", checks, failed);
	return failed ? 1 : 0;
}
