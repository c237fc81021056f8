/* SPDX-License-Identifier: MIT */
/*
 * Two processes on one processor hit one probe. The first gives it a text whose page comes only after the second has hit
 * it as well, so that whoever reads the text waits in the middle of an event. Ends with 77 where that cannot be had.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usertrace.h"

#define PAGE 4096

static char *text;
static int faults, start[2], other;

__attribute__((noinline)) static void hit(int who, const char *what, int number)
{
	UT_PROBE(slow_page, hit, who, what, number, who, number);
}

static void *serve(void *unused)
{
	static char page[PAGE] = "late";
	struct uffdio_copy copy = { .dst = (uintptr_t)text, .src = (uintptr_t)page, .len = PAGE };
	struct pollfd p = { .fd = faults, .events = POLLIN };

	(void)unused;
	poll(&p, 1, -1);
	close(start[1]);
	waitpid(other, NULL, 0);
	ioctl(faults, UFFDIO_COPY, &copy);
	return NULL;
}

static void hit_when_told(void)
{
	char none;

	close(start[1]);
	if (read(start[0], &none, 1) == 0)
		for (int i = 0; i < 3; i++)
			hit(2222, "other", 20 + i);
	_exit(0);
}

static int prepare(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register wanted = { .range = { .len = PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	cpu_set_t one;

	text = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	wanted.range.start = (uintptr_t)text;
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &wanted) || pipe(start))
		return -1;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

int main(void)
{
	pthread_t server;

	if (prepare())
		return 77;
	other = fork();
	if (!other)
		hit_when_told();
	pthread_create(&server, NULL, serve, NULL);
	hit(1111, text, 77);
	if (*(volatile char *)text != 'l') /* when nobody else waited for it, we do */
		return 1;
	pthread_join(server, NULL);
	return 0;
}
