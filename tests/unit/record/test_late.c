/* SPDX-License-Identifier: MIT */
/* Names of processes that live, that have ended, and of their children: from memory, or from the file that was mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/auto.h"
#include "record/late.h"
#include "unit.h"

#define PAGE 4096

static const char constant[] = "a constant of this program";
static const char unread[] = "another one, that nobody has read yet";
static char changed[] = "before it was changed";

/* A number that was a process's a moment ago. */
static pid_t ended(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* Our own program's code, as @pid's. */
static void note(struct late *l, pid_t pid)
{
	struct mappings maps = { 0 };
	struct ut_err err;
	unsigned n = 0;

	assert_int_equal(mappings_read(getpid(), &maps, &err), 0);
	for (size_t i = 0; i < maps.maps.n; i++)
		if (maps.maps.v[i].exec && maps.maps.v[i].file.ino) {
			late_note(l, pid, &maps.maps.v[i]);
			n++;
		}
	assert_true(n > 1);
	mappings_done(&maps);
}

static void assert_reads(struct late *l, pid_t pid, const void *address, const char *text)
{
	char room[256];
	size_t got;

	memset(room, 'x', sizeof(room));
	got = late_read(l, pid, monotonic_ns(), (uintptr_t)address, room, 200);
	assert_int_equal(got, text ? strlen(text) + 1 : 0);
	if (text)
		assert_string_equal(room, text);
	assert_int_equal(room[200], 'x');
}

static void a_process_that_is_there(void **state)
{
	struct late *l = late_new();
	char room[64], *map = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	munmap(map + 2 * PAGE, PAGE);
	memset(map, 'm', 2 * PAGE);
	assert_reads(l, getpid(), constant, constant);
	assert_reads(l, getpid(), constant + sizeof(constant) - 1, "");
	assert_reads(l, getpid(), NULL, NULL);
	assert_reads(l, getpid(), (void *)0x10, NULL);
	assert_reads(l, getpid(), map + 2 * PAGE, NULL);
	assert_reads(l, getpid(), (void *)UINTPTR_MAX, NULL);
	assert_reads(l, getpid(), (void *)0x8000000000000000, NULL);
	/* as far as it can be read, and as far as there is room */
	assert_int_equal(late_read(l, getpid(), monotonic_ns(), (uintptr_t)map + 2 * PAGE - 9, room, sizeof(room)), 9);
	assert_int_equal(late_read(l, getpid(), monotonic_ns(), (uintptr_t)map, room, sizeof(room)), sizeof(room));
	assert_int_equal(late_read(l, getpid(), monotonic_ns(), (uintptr_t)map + PAGE - 3, room, sizeof(room)),
			 sizeof(room));
	strcpy(map + PAGE - 3, "two pages");
	assert_reads(l, getpid(), map + PAGE - 3, "two pages");
	munmap(map, 2 * PAGE);
	late_free(l);
}

static void a_process_that_has_ended(void **state)
{
	struct late *l = late_new();
	pid_t pid = ended();
	char room[8];

	(void)state;
	strcpy(changed, "after");
	assert_reads(l, pid, constant, NULL);
	note(l, pid);
	assert_reads(l, pid, constant, constant);
	assert_reads(l, pid, changed, "before it was changed"); /* a page that nobody touched is the file's */
	assert_int_equal(late_read(l, pid, monotonic_ns(), (uintptr_t)constant, room, sizeof(room)), sizeof(room));
	assert_memory_equal(room, "a consta", 8);
	assert_reads(l, pid, NULL, NULL);
	assert_reads(l, pid, (void *)UINTPTR_MAX, NULL);
	assert_reads(l, pid, room, NULL); /* a stack */
	assert_reads(l, pid, constant, constant); /* again, when it has been looked into */
	assert_reads(l, ended(), constant, NULL);
	late_free(l);
}

/* In the file it goes on where the second page begins, which the process has lost. */
static char __attribute__((aligned(PAGE))) two_pages[2 * PAGE] = {
	[PAGE - 3] = 't', 'w', 'o', ' ', 'p', 'a', 'g', 'e', 's',
};

static void a_process_that_ends_meanwhile(void **state)
{
	struct late *l = late_new();
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		munmap(two_pages + PAGE, PAGE);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	note(l, pid);
	assert_reads(l, pid, two_pages + PAGE - 3, "two pages");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	late_free(l);
}

static void children(void **state)
{
	struct late *l = late_new();
	pid_t parent = ended(), child = ended(), grandchild = ended();

	(void)state;
	note(l, parent);
	assert_reads(l, grandchild, constant, NULL);
	late_fork(l, child, parent);
	late_fork(l, grandchild, child);
	assert_reads(l, child, constant, constant);
	assert_reads(l, grandchild, constant, constant);
	late_fork(l, child, 0); /* it ran another program */
	assert_reads(l, child, constant, NULL);
	assert_reads(l, grandchild, unread, NULL);
	/* a ring of parents, as numbers that came again may make one */
	late_fork(l, child, grandchild);
	late_fork(l, grandchild, child);
	assert_reads(l, child, constant, NULL);
	late_free(l);
}

static void what_was_mapped_already(void **state)
{
	struct late *l = late_new();
	int pipes[2], code;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		close(pipes[1]);
		_exit(read(pipes[0], &byte, 1) == 1);
	}
	close(pipes[0]);
	late_note_process(l, pid);
	close(pipes[1]);
	assert_int_equal(waitpid(pid, &code, 0), pid);
	assert_reads(l, pid, constant, constant);
	late_note_process(l, pid); /* nothing there any more */
	assert_reads(l, pid, constant, constant);
	late_free(l);
}

/* A file that is no longer the one that was mapped, or never was a program, gives nothing. */
static void files_that_lie(void **state)
{
	struct late *l = late_new();
	char path[] = "/tmp/usertrace-test-XXXXXX";
	AUTO_CLOSE int fd = mkstemp(path);
	struct mapping m = { .start = 0x400000, .end = 0x500000, .exec = true, .path = path };
	pid_t pid = ended();
	struct file_id own;
	char fifo[64];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "\177ELF is all", 11), 11);
	late_note(l, pid, &m); /* another inode */
	assert_reads(l, pid, (void *)0x400000, NULL);
	{
		struct mappings maps = { 0 };
		struct ut_err err;
		void *map = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

		assert_int_equal(mappings_read(getpid(), &maps, &err), 0);
		for (size_t i = 0; i < maps.maps.n; i++)
			if (maps.maps.v[i].start == (uintptr_t)map)
				own = maps.maps.v[i].file;
		mappings_done(&maps);
		munmap(map, PAGE);
	}
	m.file = own;
	late_note(l, pid, &m);
	assert_reads(l, pid, (void *)0x400000, NULL);
	unlink(path);
	late_note(l, pid, &m);
	assert_reads(l, pid, (void *)0x400000, NULL);
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	m.path = fifo;
	late_note(l, pid, &m); /* does not wait for a writer */
	assert_reads(l, pid, (void *)0x400000, NULL);
	unlink(fifo);
	late_free(l);
}

/* A path that leads to a device now is not opened: that alone may make the device do something. */
static void a_device_in_its_place(void **state)
{
	struct late *l = late_new();
	char path[] = "/tmp/usertrace-test-XXXXXX", fifo[64], link[64], room[64];
	AUTO_CLOSE int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd = mkstemp(path);
	struct mapping m = { .start = 0x400000, .end = 0x500000, .exec = true, .path = link };
	pid_t pid = ended();

	(void)state;
	assert_true(fd >= 0);
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	snprintf(link, sizeof(link), "%s.link", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink(fifo, link), 0);
	assert_true(inotify_add_watch(watch, fifo, IN_OPEN) >= 0);
	late_note(l, pid, &m);
	assert_reads(l, pid, (void *)0x400000, NULL);
	assert_int_equal(read(watch, room, sizeof(room)), -1);
	assert_int_equal(errno, EAGAIN);
	unlink(link);
	unlink(fifo);
	unlink(path);
	late_free(l);
}

static void bounded(void **state)
{
	struct late *l = late_new();
	char path[] = "/no/such/file";
	struct mapping m = { .start = 0x400000, .end = 0x500000, .exec = true, .path = path };
	pid_t pid = ended();

	(void)state;
	note(l, pid);
	for (int i = 0; i < 4000; i++)
		late_note(l, 1, &m);
	assert_reads(l, pid, constant, constant);
	for (int i = 0; i < 200; i++)
		late_note(l, 1, &m);
	assert_reads(l, pid, unread, NULL);
	assert_null(late_free(l));
	assert_null(late_free(NULL));
}

/* A process of this number that started later is another one; and nobody has endless reads. */
static void only_its_own_and_not_for_ever(void **state)
{
	static const char names[4 * LATE_READS][8] = { "seven..", [1 ... 4 * LATE_READS - 1] = "another" };
	struct late *l = late_new();
	char room[8];
	unsigned reads = 0;
	uint64_t now = monotonic_ns();

	(void)state;
	assert_int_equal(late_read(l, getpid(), 1, (uintptr_t)names[0], room, sizeof(room)), 0);
	while (reads < 4 * LATE_READS && late_read(l, getpid(), now, (uintptr_t)names[reads], room, sizeof(room)) == 8)
		reads++;
	assert_int_equal(reads, LATE_READS);
	assert_int_equal(late_read(l, getpid(), now + LATE_WINDOW_NS, (uintptr_t)names[reads], room, sizeof(room)), 8);
	late_free(l);
}

/* Many events may have the same name before anybody has touched its page. */
static void one_name_in_many_events(void **state)
{
	static char name[] = "first";
	struct late *l = late_new();
	char room[8];
	uint64_t now = monotonic_ns();

	(void)state;
	for (unsigned i = 0; i < 10 * LATE_READS; i++) {
		memset(room, 0, sizeof(room));
		assert_int_equal(late_read(l, getpid(), now + i, (uintptr_t)name, room, sizeof(room)), 6);
		assert_string_equal(room, "first");
	}
	memcpy(name, "other", sizeof(name));
	late_fork(l, getpid(), 0); /* another program: nothing of the first is known */
	assert_int_equal(late_read(l, getpid(), now + LATE_WINDOW_NS, (uintptr_t)name, room, sizeof(room)), 6);
	assert_string_equal(room, "other");
	late_free(l);
}

UNIT_TESTS(late)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_its_own_and_not_for_ever), cmocka_unit_test(one_name_in_many_events),
		cmocka_unit_test(a_process_that_is_there),	 cmocka_unit_test(a_process_that_has_ended),
		cmocka_unit_test(a_process_that_ends_meanwhile), cmocka_unit_test(children),
		cmocka_unit_test(what_was_mapped_already),	 cmocka_unit_test(files_that_lie),
		cmocka_unit_test(a_device_in_its_place),	 cmocka_unit_test(bounded),
	};

	return unit_run(tests, NULL, NULL);
}
