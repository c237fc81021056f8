/* SPDX-License-Identifier: MIT */
/* Processes and mappings: the pure parts from text, the rest on this very process and on children. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "child.h"
#include "proc/process.h"
#include "unit.h"

/* A child that runs @fn and then waits to be killed; the call returns when @fn is done. */
struct child {
	pid_t pid;
};

static struct child child_start(void (*fn)(void *), void *arg)
{
	int ready[2];
	char c;
	struct child child;

	assert_return_code(pipe2(ready, O_CLOEXEC), errno);
	child.pid = fork();
	assert_return_code(child.pid, errno);
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(arg);
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return child;
}

static void child_end(struct child child)
{
	kill(child.pid, SIGKILL);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
}

static void do_nothing(void *arg) { (void)arg; }
static void set_name(void *name) { prctl(PR_SET_NAME, name); }

static void identifies_itself_by_pid_and_start(void **state)
{
	struct process_id id, again;
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(process_identify(getpid(), &id, &err), 0);
	assert_int_equal(id.pid, getpid());
	assert_true(id.start_ticks > 0);
	assert_int_equal(process_identify(getpid(), &again, &err), 0);
	assert_int_equal(id.start_ticks, again.start_ticks);
	assert_true(process_is_alive(&id));
	id.start_ticks++;
	assert_false(process_is_alive(&id)); /* the pid was reused */
	assert_int_equal(process_state(getpid()), 'R');
	assert_int_equal(process_parent(getpid()), getppid());
}

static void refuses_what_is_no_process(void **state)
{
	struct process_id id = { .pid = 42 };
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(process_identify(0, &id, &err), -ESRCH);
	assert_int_equal(process_identify(-5, &id, &err), -ESRCH);
	assert_int_equal(process_identify(0x3ffffffe, &id, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "no process 1073741822"));
	assert_int_equal(id.pid, 42); /* untouched */
	assert_int_equal(process_state(0x3ffffffe), 0);
	assert_int_equal(process_parent(0x3ffffffe), 0);
}

static void parses_names_with_parentheses_and_blanks(void **state)
{
	static char name[] = "a) R 7 (b) c";
	struct child child = child_start(set_name, name);
	struct process_id id;
	char comm[16];

	(void)state;
	assert_int_equal(process_identify(child.pid, &id, NULL), 0);
	assert_int_equal(process_parent(child.pid), getpid());
	assert_int_equal(process_comm(child.pid, comm), 0);
	assert_string_equal(comm, name);
	child_end(child);
	assert_int_equal(process_comm(child.pid, comm), -ESRCH);
	assert_string_equal(comm, "");
}

static void a_zombie_is_not_alive(void **state)
{
	struct child child = child_start(do_nothing, NULL);
	struct process_id id;
	struct mappings maps = { 0 };
	struct ut_err err = { 0 };
	siginfo_t info;

	(void)state;
	assert_int_equal(process_identify(child.pid, &id, NULL), 0);
	assert_true(process_is_alive(&id));
	assert_false(process_has_ended(child.pid));
	kill(child.pid, SIGKILL);
	assert_return_code(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), errno);
	assert_int_equal(process_state(child.pid), 'Z');
	assert_false(process_is_alive(&id));
	assert_true(process_has_ended(child.pid));
	assert_int_equal(mappings_read(child.pid, &maps, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "has exited"));
	waitpid(child.pid, NULL, 0);
	assert_true(process_has_ended(child.pid));
	assert_int_equal(mappings_read(child.pid, &maps, &err), -ESRCH);
}

static void *thread_tells_its_number(void *arg)
{
	int *pipes = arg;
	pid_t tid = gettid();
	char c;

	if (write(pipes[1], &tid, sizeof(tid)) != sizeof(tid) || read(pipes[2], &c, 1) < 0)
		return NULL;
	return arg;
}

static void a_thread_is_no_process(void **state)
{
	int p[4];
	pthread_t thread;
	pid_t tid;
	struct process_id id;
	struct ut_err err = { 0 };

	(void)state;
	assert_return_code(pipe(p), errno);
	assert_return_code(pipe(p + 2), errno);
	assert_int_equal(pthread_create(&thread, NULL, thread_tells_its_number, p), 0);
	assert_int_equal(read(p[0], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(process_identify(tid, &id, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "is a thread of process"));
	close(p[3]);
	pthread_join(thread, NULL);
	for (int i = 0; i < 3; i++)
		close(p[i]);
}

/* A thread is read through its process only: the number of another process's thread names nothing. */
static void reads_a_thread_through_its_process(void **state)
{
	static char name[] = "first) Z thread";
	struct child child = child_start(set_name, name);
	char comm[16];

	(void)state;
	assert_int_equal(thread_state(getpid(), gettid()), 'R');
	assert_int_equal(thread_comm(child.pid, child.pid, comm), 0);
	assert_string_equal(comm, name);
	assert_int_not_equal(thread_state(child.pid, child.pid), 0);
	assert_int_equal(thread_state(getpid(), child.pid), 0);
	assert_int_equal(thread_comm(getpid(), child.pid, comm), -ESRCH);
	assert_string_equal(comm, "");
	child_end(child);
	assert_int_equal(thread_state(child.pid, child.pid), 0);
}

static void reads_command_lines(void **state)
{
	char full[4096], cut[6];

	(void)state;
	assert_int_equal(process_cmdline(getpid(), full, sizeof(full)), 0);
	assert_non_null(strstr(full, "runner-proc"));
	assert_int_equal(process_cmdline(getpid(), cut, sizeof(cut)), 0);
	assert_true(strlen(cut) <= 5);
	assert_memory_equal(cut, full, strlen(cut));
	assert_int_equal(process_cmdline(0x3ffffffe, full, sizeof(full)), -ESRCH);
	assert_string_equal(full, "");
}

static void lists_all_processes_in_order(void **state)
{
	struct child child = child_start(do_nothing, NULL);
	struct process_id *ids;
	size_t n, found = 0;

	(void)state;
	assert_int_equal(process_list(&ids, &n, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || ids[i].pid > ids[i - 1].pid);
		found += ids[i].pid == getpid() || ids[i].pid == child.pid;
	}
	assert_int_equal(found, 2);
	free(ids);
	child_end(child);
}

static void knows_the_pid_in_another_namespace(void **state)
{
	struct child child;
	pid_t keeper;
	int p[2];

	(void)state;
	assert_int_equal(process_ns_pid(getpid()) > 0, 1);
	if (geteuid() != 0) {
		print_message("not root: another pid namespace is not tried\n");
		skip();
	}
	assert_return_code(pipe(p), errno);
	keeper = fork();
	if (keeper == 0) {
		pid_t inner;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		inner = unshare(CLONE_NEWPID) ? -1 : fork();
		if (inner == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (write(p[1], &inner, sizeof(inner)) != sizeof(inner))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(p[0], &child.pid, sizeof(child.pid)), sizeof(child.pid));
	if (child.pid > 0)
		assert_int_equal(process_ns_pid(child.pid), 1);
	if (child.pid > 0)
		kill(child.pid, SIGKILL); /* it may not have asked yet to go with its parent */
	kill(keeper, SIGKILL);
	waitpid(keeper, NULL, 0);
	close(p[0]);
	close(p[1]);
	if (child.pid <= 0) {
		print_message("no pid namespace to be had here\n");
		skip();
	}
}

static void parses_every_kind_of_mapping(void **state)
{
	static const char text[] =
		"00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/a b (c)\n"
		"00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n"
		"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
		"7f0000001000-7f0000002000 r-xs fffff000 103:1a 18446744073709551615 /tmp/x\\012y (deleted)\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
	struct mappings m = { 0 };
	const struct mapping *v;

	(void)state;
	assert_int_equal(mappings_parse(text, sizeof(text) - 1, &m), 0);
	assert_int_equal(m.maps.n, 5);
	v = m.maps.v;
	assert_int_equal(v[0].start, 0x400000);
	assert_int_equal(v[0].end, 0x452000);
	assert_int_equal(v[0].offset, 0x1000);
	assert_true(v[0].exec && !v[0].write && !v[0].deleted);
	assert_int_equal(v[0].file.dev, makedev(8, 2));
	assert_int_equal(v[0].file.ino, 173521);
	assert_string_equal(v[0].path, "/usr/bin/a b (c)");
	assert_string_equal(v[1].path, "[heap]");
	assert_true(v[2].exec && v[2].write);
	assert_string_equal(v[2].path, "");
	assert_int_equal(v[2].file.ino, 0);
	assert_string_equal(v[3].path, "/tmp/x\\012y");
	assert_true(v[3].deleted);
	assert_int_equal(v[3].file.dev, makedev(0x103, 0x1a));
	assert_true(v[3].file.ino == UINT64_MAX);
	assert_true(v[4].end == 0xffffffffff601000);
	mappings_done(&m);
}

static void refuses_text_that_is_no_list_of_mappings(void **state)
{
	static const char *const bad[] = {
		"hello\n",
		"\n",
		"1000-2000 r-xp 0 08:02 5 /x",
		"1000-2000 r-xp 0 08:02\n",
		"2000-1000 r-xp 0 08:02 5 /x\n",
		"10000000000000000-20000000000000000 r-xp 0 08:02 5 /x\n",
		"1000-2000 r-xp 0 08:02 18446744073709551616 /x\n",
		"1000-2000 rwx\n",
		"g-2000 r-xp 0 08:02 5 /x\n",
		"1000-2000 r-xp 0 100000000:02 5 /x\n",
		"1000-2000 r-xp 0 08:02 5 /x\n1000-2000",
	};
	struct mappings m = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(mappings_parse(bad[i], strlen(bad[i]), &m), -EBADMSG);
		assert_int_equal(m.maps.n, 0);
	}
	assert_int_equal(mappings_parse("1000-2000 r-xp 0 08:02 5 /x\0y\n", 30, &m), -EBADMSG);
	assert_int_equal(mappings_parse("", 0, &m), 0);
}

/* The mapping of @pid that holds @addr. */
static const struct mapping *mapping_of(const struct mappings *maps, const void *addr)
{
	for (size_t i = 0; i < maps->maps.n; i++)
		if ((uintptr_t)addr >= maps->maps.v[i].start && (uintptr_t)addr < maps->maps.v[i].end)
			return &maps->maps.v[i];
	return NULL;
}

static void opens_its_own_program(void **state)
{
	struct mappings maps = { 0 };
	const struct mapping *m;
	struct stat opened, exe;
	struct ut_err err = { 0 };
	int fd;

	(void)state;
	assert_int_equal(mappings_read(getpid(), &maps, &err), 0);
	m = mapping_of(&maps, (void *)(uintptr_t)opens_its_own_program);
	assert_non_null(m);
	assert_true(m->exec && !m->write);
	fd = mapping_open(getpid(), m, &err);
	assert_return_code(fd, -fd);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	fstat(fd, &opened);
	stat("/proc/self/exe", &exe);
	assert_int_equal(opened.st_ino, exe.st_ino);
	close(fd);
	mappings_done(&maps);
}

static void lists_program_files_once_each(void **state)
{
	struct mapped_files files = { 0 };
	size_t libc = 0;

	(void)state;
	assert_int_equal(mapped_files_read(getpid(), &files, NULL), 0);
	assert_true(files.files.n >= 2);
	assert_true(files.files.v[0].is_program);
	assert_non_null(strstr(files.files.v[0].first.path, "runner-proc"));
	for (size_t i = 0; i < files.files.n; i++) {
		const struct mapped_file *f = &files.files.v[i];

		assert_true(f->first.exec && f->first.file.ino && f->first.path[0] == '/');
		assert_int_equal(f->is_program, i == 0);
		libc += strstr(f->first.path, "/libc.so.6") != NULL;
		for (size_t k = 0; k < i; k++)
			assert_false(f->first.file.ino == files.files.v[k].first.file.ino &&
				     f->first.file.dev == files.files.v[k].first.file.dev);
	}
	assert_true(libc <= 1);
	mapped_files_done(&files);
}

/* A copy of /bin/sleep in a new folder. */
struct copy {
	char folder[64], path[96];
};

static struct copy copy_program(void)
{
	struct copy c;
	char command[256];

	snprintf(c.folder, sizeof(c.folder), "/tmp/ut-test-XXXXXX");
	assert_non_null(mkdtemp(c.folder));
	snprintf(c.path, sizeof(c.path), "%s/prog", c.folder);
	snprintf(command, sizeof(command), "cp /bin/sleep %s", c.path);
	assert_int_equal(system(command), 0);
	return c;
}

static void opens_a_program_that_was_deleted_and_replaced(void **state)
{
	struct copy copy = copy_program();
	pid_t pid = child_program(copy.path, CHILD_RUNS);
	struct mapped_files files = { 0 };
	struct ut_err err = { 0 };
	struct stat before, opened;
	int fd, other;

	(void)state;
	assert_return_code(stat(copy.path, &before), errno);
	assert_return_code(unlink(copy.path), errno);
	other = open(copy.path, O_CREAT | O_EXCL | O_WRONLY, 0700); /* another file of this name */
	assert_return_code(other, errno);
	assert_int_equal(mapped_files_read(pid, &files, &err), 0);
	assert_true(files.files.v[0].is_program);
	assert_true(files.files.v[0].first.deleted);
	assert_string_equal(files.files.v[0].first.path, copy.path);
	fd = mapping_open(pid, &files.files.v[0].first, &err);
	assert_return_code(fd, -fd);
	fstat(fd, &opened);
	assert_int_equal(opened.st_ino, before.st_ino);
	assert_int_equal(opened.st_size, before.st_size);
	close(fd);
	close(other);
	mapped_files_done(&files);
	child_kill(pid);
	unlink(copy.path);
	rmdir(copy.folder);
}

static void refuses_a_stale_mapping(void **state)
{
	struct child child = child_start(do_nothing, NULL);
	struct mappings maps = { 0 };
	struct mapping m;
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(mappings_read(child.pid, &maps, NULL), 0);
	m = *mapping_of(&maps, (void *)(uintptr_t)refuses_a_stale_mapping);
	m.file.ino ^= 0x5a5a5a;
	m.path = (char *)"/bin/sh";
	assert_true(mapping_open(child.pid, &m, &err) < 0);
	assert_non_null(strstr(err.msg, "/bin/sh"));
	m.file.ino = 0;
	assert_int_equal(mapping_open(child.pid, &m, &err), -ENOENT);
	m = *mapping_of(&maps, (void *)(uintptr_t)refuses_a_stale_mapping);
	child_end(child);
	assert_int_equal(mapping_open(child.pid, &m, &err), -ESRCH);
	mappings_done(&maps);
}

/* In a mount namespace of its own: a tmpfs over /mnt with a program in it, mapped. */
static void map_hidden_file(void *ret_ok)
{
	int fd, source;
	void *p;

	*(bool *)ret_ok = false;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/mnt", "tmpfs", 0, NULL))
		return;
	source = open("/bin/true", O_RDONLY);
	fd = open("/mnt/hidden-program", O_CREAT | O_RDWR, 0700);
	if (source < 0 || fd < 0 || copy_file_range(source, NULL, fd, NULL, 4096, 0) < 0)
		if (ftruncate(fd, 4096))
			return;
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	*(bool *)ret_ok = p != MAP_FAILED;
}

static void opens_files_of_another_mount_namespace(void **state)
{
	bool *ok = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct mapped_files files = { 0 };
	struct child child;
	struct ut_err err = { 0 };
	bool found = false;

	(void)state;
	assert_true(ok != MAP_FAILED);
	if (geteuid() != 0) {
		print_message("not root: another mount namespace is not tried\n");
		skip();
	}
	child = child_start(map_hidden_file, ok);
	if (!*ok) {
		child_end(child);
		print_message("no mount namespace to be had here\n");
		skip();
	}
	assert_int_not_equal(access("/mnt/hidden-program", F_OK), 0);
	assert_int_equal(mapped_files_read(child.pid, &files, NULL), 0);
	for (size_t i = 0; i < files.files.n; i++) {
		int fd;

		if (strcmp(files.files.v[i].first.path, "/mnt/hidden-program") != 0)
			continue;
		found = true;
		fd = mapping_open(child.pid, &files.files.v[i].first, &err);
		assert_return_code(fd, -fd);
		close(fd);
		/* and without map_files: a mapping that moved meanwhile */
		files.files.v[i].first.start += 1u << 30;
		files.files.v[i].first.end += 1u << 30;
		fd = mapping_open(child.pid, &files.files.v[i].first, &err);
		assert_return_code(fd, -fd);
		close(fd);
	}
	assert_true(found);
	mapped_files_done(&files);
	child_end(child);
	munmap(ok, 4096);
}

/* Anonymous shared memory has an inode in maps but is no file. */
static void leaves_shared_memory_out(void **state)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct mapped_files files = { 0 };

	(void)state;
	assert_true(p != MAP_FAILED);
	assert_int_equal(mapped_files_read(getpid(), &files, NULL), 0);
	for (size_t i = 0; i < files.files.n; i++)
		assert_null(strstr(files.files.v[i].first.path, "/dev/zero"));
	mapped_files_done(&files);
	munmap(p, 4096);
}

UNIT_TESTS(process)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identifies_itself_by_pid_and_start),
		cmocka_unit_test(refuses_what_is_no_process),
		cmocka_unit_test(parses_names_with_parentheses_and_blanks),
		cmocka_unit_test(a_zombie_is_not_alive),
		cmocka_unit_test(a_thread_is_no_process),
		cmocka_unit_test(reads_a_thread_through_its_process),
		cmocka_unit_test(reads_command_lines),
		cmocka_unit_test(lists_all_processes_in_order),
		cmocka_unit_test(knows_the_pid_in_another_namespace),
		cmocka_unit_test(parses_every_kind_of_mapping),
		cmocka_unit_test(refuses_text_that_is_no_list_of_mappings),
		cmocka_unit_test(opens_its_own_program),
		cmocka_unit_test(lists_program_files_once_each),
		cmocka_unit_test(opens_a_program_that_was_deleted_and_replaced),
		cmocka_unit_test(refuses_a_stale_mapping),
		cmocka_unit_test(opens_files_of_another_mount_namespace),
		cmocka_unit_test(leaves_shared_memory_out),
	};

	return unit_run(tests, NULL, NULL);
}
