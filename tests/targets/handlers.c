/* SPDX-License-Identifier: MIT */
/*
 * A program that does work in handlers of signals, and says so. After "ready PID" it waits for a line; then it runs, and
 * prints for each handler «run SIGNAL TID BEGIN_NS END_NS», and «left SIGNAL TID BEGIN_NS» for one that it left by a jump.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/clock.h"

#define RUNS 4096
#define THREADS 4
#define EACH 50

struct run {
	int signal, tid, left;
	uint64_t begin_ns, end_ns;
};

static struct run runs[RUNS];
static unsigned nruns;
static char *guarded;
static sigjmp_buf out;

static void spin(uint64_t ns)
{
	for (uint64_t end = monotonic_ns() + ns; monotonic_ns() < end;)
		;
}

static struct run *begin(int signal)
{
	struct run *r = &runs[__atomic_fetch_add(&nruns, 1, __ATOMIC_RELAXED)];

	r->begin_ns = monotonic_ns();
	r->signal = signal;
	r->tid = (int)syscall(SYS_gettid);
	return r;
}

static void plain(int signal)
{
	struct run *r = begin(signal);

	spin(100000);
	r->end_ns = monotonic_ns();
}

static void nesting(int signal)
{
	struct run *r = begin(signal);

	spin(50000);
	raise(SIGUSR1);
	spin(50000);
	r->end_ns = monotonic_ns();
}

/* As runtimes do it: the page is filled, and the instruction that faulted goes on. */
static void fault(int signal)
{
	struct run *r = begin(signal);

	mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
	spin(20000);
	r->end_ns = monotonic_ns();
}

static void leave(int signal)
{
	begin(signal)->left = 1;
	siglongjmp(out, 1);
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(signal, &action, NULL);
}

static void *thread(void *arg)
{
	for (int i = 0; i < EACH; i++)
		pthread_kill(pthread_self(), SIGUSR1);
	return arg;
}

static void all(void)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	pthread_t threads[THREADS];

	sigaltstack(&alternate, NULL);
	handle(SIGUSR1, plain, 0);
	handle(SIGUSR2, nesting, 0);
	handle(SIGSEGV, fault, SA_ONSTACK);
	handle(SIGALRM, leave, SA_NODEFER);
	handle(SIGRTMIN + 1, plain, 0);
	handle(SIGWINCH, SIG_IGN, 0);
	for (int i = 0; i < 10; i++) {
		mprotect(guarded, 4096, PROT_NONE);
		*(volatile char *)guarded = 1;
		raise(SIGUSR2);
		raise(SIGWINCH); /* ignored */
		raise(SIGCHLD); /* by default nothing is done */
		raise(SIGRTMIN + 1);
		if (!sigsetjmp(out, 1))
			raise(SIGALRM);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	char line[16];

	guarded = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	all();
	for (unsigned i = 0; i < nruns; i++) {
		const struct run *r = &runs[i];

		if (r->left)
			printf("left %d %d %llu\n", r->signal, r->tid, (unsigned long long)r->begin_ns);
		else
			printf("run %d %d %llu %llu\n", r->signal, r->tid, (unsigned long long)r->begin_ns,
			       (unsigned long long)r->end_ns);
	}
	return 0;
}
