/* SPDX-License-Identifier: MIT */
/* The walker on stacks of this very program, with the tables of its files, beside libgcc's unwinder: deep recursion, in
 * a thread, in a signal handler, and at each single instruction of calls into libc. */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
#include <cmocka.h>

#include "base/auto.h"
#include "walk_host.h"
#include "unit.h"

#define NOINLINE __attribute__((noinline))

enum { SAVED_MAX = 2 << 20, FRAMES_MAX = 1024, RED_ZONE = 128 };

static struct unwind_table tables[HOST_RANGES];
static size_t ntables;

static struct unwind_table *read_table(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_table *t = &tables[ntables++];
	struct elf_image *img;

	assert_true(fd >= 0);
	assert_int_equal(elf_image_open(fd, &img, NULL), 0);
	assert_int_equal(unwind_table_build(img, t, NULL), 0);
	elf_image_free(img);
	return t;
}

static struct unwind_table *vdso_table(const uint8_t *bytes)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)bytes;
	struct unwind_table *t = &tables[ntables++];
	struct elf_image *img;

	assert_int_equal(elf_image_from_memory(bytes, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize, &img, NULL), 0);
	assert_int_equal(unwind_table_build(img, t, NULL), 0);
	elf_image_free(img);
	return t;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	struct unwind_table *t;

	(void)size;
	(void)data;
	if (vdso && info->dlpi_addr == vdso)
		t = vdso_table((const uint8_t *)vdso);
	else
		t = read_table(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		host.places[host.nplaces++] = (struct host_place){ .start = start,
								   .end = start + p->p_memsz,
								   .bias = info->dlpi_addr,
								   .code = UT_CODE_TABLE,
								   .table = t };
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < ntables; i++)
		unwind_table_done(&tables[i]);
	ntables = 0;
	return 0;
}

/* The end of this thread's stack. */
static uint64_t stack_end(void)
{
	static _Thread_local uint64_t end;
	pthread_attr_t attr;
	size_t size = 0;
	void *at = NULL;

	if (end)
		return end;
	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	pthread_attr_getstack(&attr, &at, &size);
	pthread_attr_destroy(&attr);
	end = (uint64_t)at + size;
	return end;
}

static int set_up(void **state)
{
	(void)state;
	memset(&host, 0, sizeof(host));
	dl_iterate_phdr(add_object, NULL);
	stack_end(); /* asks for memory, which a handler must not */
	return 0;
}

/* What libgcc sees, from the frame at @from on; a 0 behind the last one is left out. */
struct trace {
	uint64_t from, ips[FRAMES_MAX];
	size_t n;
};

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *data)
{
	struct trace *t = data;
	uint64_t ip = _Unwind_GetIP(context);

	if (!ip || t->n == FRAMES_MAX)
		return _URC_END_OF_STACK;
	if (t->n || !t->from || ip == t->from)
		t->ips[t->n++] = ip;
	return _URC_NO_REASON;
}

static struct walk w;
static struct trace trace;
static uint8_t saved[SAVED_MAX];

/* The stack as it is now, and no other memory. Registers that a function has taken back are still said to be below. */
static void save_stack(uint64_t sp)
{
	uint64_t start = sp - RED_ZONE, from = start, size = stack_end() - start;
	uint8_t *to = saved;

	if (size > SAVED_MAX)
		size = SAVED_MAX;
	host.nmemory = 0;
	host_add_memory(start, saved, size);
	/* No memcpy, which sanitizers watch: it reads over the borders of variables. */
	__asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(size) : : "memory");
}

static unsigned captures;

/* Walks its own stack, and compares all but its own frame: its callers, to the thread's start. */
static NOINLINE int capture(void)
{
	uint64_t ip;

	__asm__ volatile("mov %%rax, 0(%1)\n mov %%rdx, 8(%1)\n mov %%rcx, 16(%1)\n mov %%rbx, 24(%1)\n"
			 "mov %%rsi, 32(%1)\n mov %%rdi, 40(%1)\n mov %%rbp, 48(%1)\n mov %%rsp, 56(%1)\n"
			 "mov %%r8, 64(%1)\n mov %%r9, 72(%1)\n mov %%r10, 80(%1)\n mov %%r11, 88(%1)\n"
			 "mov %%r12, 96(%1)\n mov %%r13, 104(%1)\n mov %%r14, 112(%1)\n mov %%r15, 120(%1)\n"
			 "lea 0(%%rip), %0\n"
			 : "=&r"(ip)
			 : "r"(w.reg)
			 : "memory");
	w.ip = ip;
	save_stack(w.reg[WALK_RSP]);
	host_walk(&w);
	trace.n = trace.from = 0;
	_Unwind_Backtrace(take_frame, &trace);
	if (w.end != UT_END_START)
		fail_msg("the walk ended with %u at 0x%llx after %u frames; libgcc sees %zu", w.end,
			 (unsigned long long)w.end_addr, w.n, trace.n);
	assert_int_equal(w.n, trace.n);
	for (uint32_t i = 1; i < w.n; i++)
		if ((w.ips[i] & ~UT_IP_EXACT) != trace.ips[i])
			fail_msg("frame %u: 0x%llx, libgcc: 0x%llx", i, (unsigned long long)w.ips[i],
				 (unsigned long long)trace.ips[i]);
	captures++;
	return (int)w.n;
}

static volatile int sink;
static int dive(int depth);

static NOINLINE int dive_plain(int depth)
{
	int a = depth * 3, b = sink;
	int r = dive(depth - 1);

	return r + a * sink + b * sink;
}

static NOINLINE int dive_alloca(int depth)
{
	char *room = __builtin_alloca((size_t)(16 + depth % 50 * 8));
	int r;

	room[0] = (char)depth;
	sink = room[0] * 0;
	r = dive(depth - 1);
	return r + room[0] * sink;
}

static NOINLINE int dive_aligned(int depth)
{
	_Alignas(64) volatile char room[128];
	char *more = __builtin_alloca((size_t)(16 + depth % 50 * 8));
	int r;

	room[depth % 128] = 1;
	more[0] = room[depth % 128];
	r = dive(depth - 1);
	return r + (room[0] + more[0]) * sink;
}

static int dive_depth;

static int compare_and_dive(const void *a, const void *b)
{
	int depth = dive_depth;

	(void)a;
	(void)b;
	if (depth >= 0) {
		dive_depth = -1;
		sink = dive(depth) * 0;
	}
	return 0;
}

static NOINLINE int dive_libc(int depth)
{
	int two[2] = { 0, 0 };

	dive_depth = depth - 1;
	qsort(two, 2, sizeof(two[0]), compare_and_dive);
	return two[0];
}

static NOINLINE int dive_big(int depth)
{
	volatile char room[9000];
	int r;

	room[depth] = 1;
	r = dive(depth - 1);
	return r + room[depth] * sink;
}

static NOINLINE int dive(int depth)
{
	static int (*const ways[])(int) = { dive_plain, dive_alloca, dive_aligned, dive_libc, dive_plain, dive_big };

	if (!depth)
		return capture();
	return ways[(unsigned)depth % ARRAY_SIZE(ways)](depth);
}

static void test_recursion(void **state)
{
	(void)state;
	captures = 0;
	for (int depth = 0; depth < 60; depth++)
		dive(depth);
	dive(250);
	assert_int_equal(captures, 61);
	assert_true(w.n > 270);
}

static void *in_thread(void *arg)
{
	(void)arg;
	for (int depth = 0; depth < 20; depth++)
		dive(depth);
	return NULL;
}

static void test_thread(void **state)
{
	pthread_t thread;

	(void)state;
	captures = 0;
	assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(captures, 20);
}

static volatile sig_atomic_t rang;

static void on_alarm(int number)
{
	(void)number;
	dive(7);
	rang++;
}

/* Interrupts a loop wherever it is; the frames of the handler, of the kernel and of what it interrupted. */
static void test_alarm(void **state)
{
	struct sigaction action = { .sa_handler = on_alarm }, before;
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } }, off = { { 0, 0 }, { 0, 0 } };
	char text[100];

	(void)state;
	captures = 0;
	rang = 0;
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (rang < 10)
		sink += snprintf(text, sizeof(text), "%d %s %g", sink, "text", 1.5) & 1;
	setitimer(ITIMER_REAL, &off, NULL);
	sigaction(SIGALRM, &before, NULL);
	assert_true(captures >= 10);
}

enum { TRAP_FLAG = 0x100, STEPS_MAX = 30000 };

static volatile bool stepping;
static unsigned steps, stubs, differences;
static char difference[200];

static void take_context(const ucontext_t *uc)
{
	static const int by_dwarf[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
					REG_R8,	 REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };

	for (size_t i = 0; i < ARRAY_SIZE(by_dwarf); i++)
		w.reg[i] = (uint64_t)uc->uc_mcontext.gregs[by_dwarf[i]];
	w.ip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
}

static bool is_same(void)
{
	if (w.end != UT_END_START)
		return false;
	if (trace.n == 1 && w.n > 1)
		return true; /* in a stub of lld's libgcc is lost */
	if (w.n != trace.n)
		return false;
	for (uint32_t i = 0; i < w.n; i++)
		if ((w.ips[i] & ~UT_IP_EXACT) != trace.ips[i])
			return false;
	return true;
}

static void on_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	struct ut_unwind_rule rule = { 0 };

	(void)number;
	(void)info;
	if (!stepping || ++steps > STEPS_MAX) {
		uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	take_context(uc);
	if (host_find(w.ip, &rule) && rule.cfa == UT_CFA_PLT)
		stubs++;
	save_stack(w.reg[WALK_RSP]);
	host_walk(&w);
	trace.n = 0;
	trace.from = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	_Unwind_Backtrace(take_frame, &trace);
	if (!is_same() && !differences++)
		snprintf(difference, sizeof(difference),
			 "at 0x%llx, rule %u: end %u at 0x%llx, %u frames; libgcc has %zu",
			 (unsigned long long)trace.from, rule.cfa, w.end, (unsigned long long)w.end_addr, w.n, trace.n);
}

static int compare_ints(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Calls of all kinds: through stubs, some for the first time, with callbacks, into the vDSO. */
static NOINLINE void work(void)
{
	int numbers[6] = { 5, 3, 9, 1, 2, 8 };
	struct timespec now;
	char text[64];
	void *p;

	qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), compare_ints);
	clock_gettime(CLOCK_MONOTONIC, &now);
	p = malloc(300);
	sink = snprintf(text, sizeof(text), "%d %.3f %s", numbers[0], 2.5, "text");
	free(p);
	sink = (int)strtoul("1234", NULL, 10) + (int)getppid();
	sink = dive_depth + atoi("17");
}

static void test_each_instruction(void **state)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO }, before;

	(void)state;
	sigaction(SIGTRAP, &action, &before);
	steps = stubs = differences = 0;
	stepping = true;
	__asm__ volatile("sub $128, %%rsp\n pushf\n orl $0x100, (%%rsp)\n popf\n add $128, %%rsp\n"
			 :
			 :
			 : "memory", "cc");
	work();
	stepping = false;
	__asm__ volatile("nop\n nop\n");
	sigaction(SIGTRAP, &before, NULL);
	if (differences)
		fail_msg("%u of %u instructions: %s", differences, steps, difference);
	assert_true(steps > 2000);
	print_message("%u instructions, %u in stubs\n", steps, stubs);
}

UNIT_TESTS(walk_self)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_recursion, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_alarm, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_each_instruction, set_up, tear_down),
	};

	return unit_run(tests, NULL, NULL);
}
