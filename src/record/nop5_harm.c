/* SPDX-License-Identifier: MIT */
/* Whether this kernel does harm where it probes a 5-byte nop: decided by experiment, not by version. */
#include "record/nop5_harm.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "proc/process.h"
#include "kernel/kernel.h"

/*
 * A leaf function that keeps its argument below the stack pointer across a 5-byte nop, and returns it. nop5_site is
 * the nop.
 */
uint64_t nop5_leaf(uint64_t value);
extern const char nop5_site[];
__asm__(".text\n"
	".p2align 6\n"
	".type nop5_leaf, @function\n"
	"nop5_leaf:\n"
	"	movq %rdi, -8(%rsp)\n"
	"	movq %rdi, -16(%rsp)\n"
	"nop5_site:\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	movq -8(%rsp), %rax\n"
	"	andq -16(%rsp), %rax\n"
	"	ret\n"
	".size nop5_leaf, . - nop5_leaf\n");

/* The kernel converts a site after its first hit; a few hundred calls are more than enough. */
static unsigned try_red_zone(void)
{
	for (uint64_t i = 1; i <= 300; i++)
		if (nop5_leaf(i) != i)
			return NOP5_RED_ZONE;
	return 0;
}

static void end_of_child(int signal)
{
	(void)signal;
	_exit(1);
}

/* Handles the signals, so that the kernel logs no crash. */
static void run_child(void)
{
	struct sigaction action = { .sa_handler = end_of_child };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	nop5_leaf(1);
	_exit(0);
}

/* After the site was converted. */
static unsigned try_fork(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		run_child();
	if (pid < 0)
		return NOP5_UNTRIED;
	while (waitpid(pid, &status, 0) < 0)
		;
	return status ? NOP5_FORKS : 0;
}

static unsigned try_it(void)
{
	bool multi = kernel_has_uprobe_multi();
	AUTO_CLOSE int fd = kernel_load_empty(multi), event = -1, link = -1;
	uint64_t offset;

	if (fd < 0 || process_own_offset(nop5_site, &offset))
		return NOP5_UNTRIED;
	link = kernel_link_own(fd, multi, offset, 0, 0, &event);
	return link < 0 ? (unsigned)NOP5_UNTRIED : try_red_zone() | try_fork();
}

unsigned nop5_harm_of_kernel(void)
{
	static int known = -1;

	if (known < 0)
		known = (int)try_it();
	return (unsigned)known;
}

const char *nop5_unsafe(enum nop5_location place, bool no_forks)
{
	unsigned harm = place == NOP5_NONE ? 0 : nop5_harm_of_kernel();

	if (place == NOP5_INSIDE && harm & (NOP5_RED_ZONE | NOP5_UNTRIED))
		return "a 5-byte nop inside a function, where a probe on this kernel would overwrite the function's "
		       "red zone";
	if (harm & (NOP5_FORKS | NOP5_UNTRIED) && !no_forks)
		return "a 5-byte nop, where a probe on this kernel would crash forked children; if the program never "
		       "forks, use --no-forks";
	return NULL;
}
