/* SPDX-License-Identifier: MIT */
/* usertrace-jit.c: maps and dumps are right, and nothing that happens to them harms the program. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Files of the test are where it stands, in a folder of its own, and small. */
#define UT_JIT_MAP_DIR "."
#define UT_JIT_DUMP_DIR "."
#define UT_JIT_MAP_MAX 8192u
#include "usertrace-jit.c"
#include "unit.h"

#define PLACE(n) ((const void *)(uintptr_t)(n))

static char folder[64];
static char text[1 << 20];

static const char *map_path(pid_t pid)
{
	static char path[64];

	snprintf(path, sizeof(path), "./perf-%d.map", pid);
	return path;
}

static const char *dump_path(pid_t pid)
{
	static char path[64];

	snprintf(path, sizeof(path), "./jit-%d.dump", pid);
	return path;
}

/* Into @text; the length, or -1. */
static ssize_t read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n;
}

static const char *map_text(void)
{
	assert_true(read_file(map_path(getpid())) >= 0);
	return text;
}

static void write_file(const char *path, const char *what)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(what, file);
	fclose(file);
}

static int enter_folder(void **unused)
{
	(void)unused;
	snprintf(folder, sizeof(folder), "/tmp/usertrace-jit-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	unsetenv("UT_JIT");
	unsetenv("UT_JIT_DIR");
	unsetenv("UT_JIT_MAX");
	state.has_error = 0;
	state.lost = 0;
	errno = 77;
	return 0;
}

static int leave_folder(void **unused)
{
	char command[128];

	(void)unused;
	ut_jit_close();
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return chdir("/") || system(command);
}

/* The child's status: its exit code, or 1000 and the signal. A child of the test must not return into cmocka. */
static int wait_for(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void open_map(void)
{
	assert_int_equal(ut_jit_open(UT_JIT_MAP), UT_JIT_MAP);
	assert_null(ut_jit_error());
}

static void assert_refused(const char *why)
{
	assert_int_equal(ut_jit_open(UT_JIT_MAP), 0);
	assert_int_equal(ut_jit_on(), 0);
	assert_non_null(ut_jit_error());
	assert_non_null(strstr(ut_jit_error(), map_path(getpid())));
	if (!strstr(ut_jit_error(), why))
		fail_msg("%s: nothing of '%s'", ut_jit_error(), why);
	assert_int_equal(errno, 77);
	ut_jit_code(PLACE(0x1000), 16, "nobody");
}

static void test_off(void **unused)
{
	(void)unused;
	ut_jit_code(PLACE(0x1000), 16, "early");
	assert_int_equal(ut_jit_open(0), 0);
	assert_int_equal(ut_jit_on(), 0);
	ut_jit_code(PLACE(0x1000), 16, "nobody");
	ut_jit_move(PLACE(0x1000), PLACE(0x2000), 16);
	ut_jit_drop(PLACE(0x1000), 16);
	ut_jit_forked();
	ut_jit_close();
	assert_int_equal(access(map_path(getpid()), F_OK), -1);
}

static void test_lines(void **unused)
{
	struct stat st;

	(void)unused;
	umask(0777);
	open_map();
	umask(022);
	ut_jit_code(PLACE(0x7f0000001000), 0x40, "fib");
	ut_jit_code(PLACE(0x2000), 1, "a b(c, <d>)");
	ut_jit_code(PLACE(0x3000), 0, "nothing");
	ut_jit_code(PLACE(UINTPTR_MAX), 16, "beyond the end");
	ut_jit_code(PLACE(0x4000), (size_t)UINT32_MAX + 1, "more than there is");
	ut_jit_code(PLACE(0x5000), 16, NULL);
	ut_jit_code(PLACE(0x6000), 16, "");
	ut_jit_code(PLACE(0x7000), 16, "x\ny\tz\x1b[1m\x7f\xc3\xa9");
	assert_string_equal(map_text(), "7f0000001000 40 fib\n2000 1 a b(c, <d>)\n5000 10 [no name]\n"
					"6000 10 [no name]\n7000 10 x y z?[1m?\xc3\xa9\n");
	assert_int_equal(stat(map_path(getpid()), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	ut_jit_close();
	assert_int_equal(read_file(map_path(getpid())), (ssize_t)strlen(text));
	assert_int_equal(errno, 77);
}

static void test_long_names(void **unused)
{
	char name[3 * UT_JIT_NAME_MAX];

	(void)unused;
	open_map();
	memset(name, 'n', sizeof(name));
	name[UT_JIT_NAME_MAX] = '\0';
	ut_jit_code(PLACE(0x1000), 16, name);
	assert_int_equal(strlen(map_text()), 8 + UT_JIT_NAME_MAX + 1);
	name[UT_JIT_NAME_MAX] = 'n';
	name[sizeof(name) - 1] = '\0';
	ut_jit_code(PLACE(0x2000), 16, name);
	assert_int_equal(strlen(map_text()), 2 * (8 + UT_JIT_NAME_MAX + 1));
	assert_string_equal(text + strlen(text) - 5, "n...\n");
	/* No half of a character stays. */
	for (unsigned i = 0; i < sizeof(name) - 1; i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	ut_jit_code(PLACE(0x3000), 16, name);
	map_text();
	assert_string_equal(text + strlen(text) - 6, "\xc3\xa9...\n");
}

static void test_environment(void **unused)
{
	(void)unused;
	setenv("UT_JIT", "map", 1);
	assert_int_equal(ut_jit_open(0), UT_JIT_MAP);
	ut_jit_close();
	assert_int_equal(ut_jit_open(UT_JIT_NO_ENV), 0);
	setenv("UT_JIT", "map,dump", 1);
	mkdir("dumps", 0700);
	setenv("UT_JIT_DIR", "dumps", 1);
	assert_int_equal(ut_jit_open(0), UT_JIT_MAP | UT_JIT_DUMP);
	assert_int_equal(chdir("dumps"), 0);
	assert_int_equal(access(dump_path(getpid()), F_OK), 0);
	assert_int_equal(chdir(".."), 0);
	ut_jit_close();
	setenv("UT_JIT", "off", 1);
	assert_int_equal(ut_jit_open(UT_JIT_MAP), 0);
	assert_null(ut_jit_error());
	setenv("UT_JIT", "mapp", 1);
	assert_int_equal(ut_jit_open(0), 0);
	assert_non_null(strstr(ut_jit_error(), "UT_JIT: "));
	setenv("UT_JIT", "map", 1);
	setenv("UT_JIT_MAX", "2", 1);
	assert_int_equal(ut_jit_open(0), UT_JIT_MAP);
	assert_int_equal(state.map.limit, 2 << 20);
}

static void test_an_older_file(void **unused)
{
	(void)unused;
	write_file("other", "this stays\n");
	assert_int_equal(link("other", map_path(getpid())), 0);
	open_map();
	ut_jit_code(PLACE(0x1000), 16, "new");
	assert_string_equal(map_text(), "1000 10 new\n");
	read_file("other");
	assert_string_equal(text, "this stays\n");
	/* A second call changes nothing. */
	open_map();
	assert_string_equal(map_text(), "1000 10 new\n");
}

static void test_links(void **unused)
{
	(void)unused;
	write_file("other", "this stays\n");
	assert_int_equal(symlink("other", map_path(getpid())), 0);
	assert_refused("symbolic link");
	read_file("other");
	assert_string_equal(text, "this stays\n");
	unlink(map_path(getpid()));
	assert_int_equal(symlink("nowhere", map_path(getpid())), 0);
	assert_refused("symbolic link");
	assert_int_equal(access("nowhere", F_OK), -1);
}

static void test_no_files(void **unused)
{
	(void)unused;
	assert_int_equal(mkfifo(map_path(getpid()), 0600), 0);
	assert_refused("not a regular file");
	unlink(map_path(getpid()));
	assert_int_equal(mkdir(map_path(getpid()), 0700), 0);
	assert_refused("not a regular file");
}

static void test_another_users(void **unused)
{
	(void)unused;
	if (geteuid())
		skip();
	write_file(map_path(getpid()), "theirs\n");
	assert_int_equal(chown(map_path(getpid()), 12345, 12345), 0);
	assert_refused("belongs to another user");
	assert_string_equal(map_text(), "theirs\n");
}

static void test_forbidden_folder(void **unused)
{
	(void)unused;
	assert_int_equal(chdir("/sys/kernel"), 0);
	assert_int_equal(ut_jit_open(UT_JIT_MAP | UT_JIT_DUMP), 0);
	assert_non_null(ut_jit_error());
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mkdir("gone", 0700), 0);
	assert_int_equal(chdir("gone"), 0);
	assert_int_equal(rmdir("../gone"), 0);
	assert_refused("the directory does not exist");
	assert_int_equal(chdir(folder), 0);
}

static void test_shared(void **unused)
{
	int fd = open(map_path(getpid()), O_WRONLY | O_CREAT | O_APPEND, 0600);

	(void)unused;
	assert_int_equal(write(fd, "10 10 theirs\n", 13), 13);
	open_map();
	ut_jit_code(PLACE(0x1000), 16, "ours");
	assert_int_equal(write(fd, "20 10 theirs\n", 13), 13);
	ut_jit_move(PLACE(0x1000), PLACE(0x2000), 16);
	assert_string_equal(map_text(), "10 10 theirs\n1000 10 ours\n20 10 theirs\n2000 10 ours\n");
	/* What others write is not ours to throw away. */
	for (unsigned i = 0; ut_jit_on() && i < 1000; i++)
		ut_jit_code(PLACE(0x1000), 16, "again and again");
	assert_non_null(strstr(ut_jit_error(), "shared"));
	assert_true(strlen(map_text()) <= UT_JIT_MAP_MAX);
	close(fd);
	unlink(map_path(getpid()));
	fd = open(map_path(getpid()), O_WRONLY | O_CREAT, 0600);
	assert_refused("another JIT compiler");
	close(fd);
}

static void test_size_limit(void **unused)
{
	pid_t child;
	struct rlimit limit = { 0 };
	bool good;

	(void)unused;
	child = fork();
	if (!child) {
		ut_jit_open(UT_JIT_MAP);
		ut_jit_code(PLACE(0x1000), 16, "one");
		limit.rlim_cur = limit.rlim_max = 20; /* one line, and a part of another */
		setrlimit(RLIMIT_FSIZE, &limit);
		ut_jit_code(PLACE(0x2000), 16, "two");
		ut_jit_code(PLACE(0x3000), 16, "three");
		good = ut_jit_error() && strstr(ut_jit_error(), "ulimit -f") && !ut_jit_on();
		good = good && !strcmp(map_text(), "1000 10 one\n") && errno == 77;
		_exit(good ? 0 : 1);
	}
	assert_int_equal(wait_for(child), 0);
}

static int fill_a_disk(void)
{
	char rest[60000];
	int fd;
	const char *end;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", folder, "tmpfs", 0, "size=64k") || chdir(folder))
		return 2;
	ut_jit_open(UT_JIT_MAP);
	ut_jit_code(PLACE(0x1000), 16, "one");
	fd = open("rest", O_WRONLY | O_CREAT, 0600);
	memset(rest, 'x', sizeof(rest));
	while (write(fd, rest, sizeof(rest)) > 0)
		;
	errno = 77;
	for (unsigned i = 0; ut_jit_on() && i < 1000; i++)
		ut_jit_code(PLACE(0x2000), 16, "a name that is a little longer");
	end = map_text() + strlen(text) - 1;
	if (!ut_jit_error() || !strstr(ut_jit_error(), "disk is full"))
		return 1;
	return end > text && *end == '\n' && errno == 77 ? 0 : 1;
}

static void test_full_disk(void **unused)
{
	pid_t child;
	int status;

	(void)unused;
	if (geteuid())
		skip();
	child = fork();
	if (!child)
		_exit(fill_a_disk());
	status = wait_for(child);
	if (status == 2)
		skip();
	assert_int_equal(status, 0);
}

static unsigned count_of(const char *what)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void test_rewritten(void **unused)
{
	struct stat st;
	int old;

	(void)unused;
	open_map();
	ut_jit_code(PLACE(0x1000), 16, "stays");
	ut_jit_code(PLACE(0x2000), 16, "moves");
	ut_jit_move(PLACE(0x2000), PLACE(0x3000), 16);
	ut_jit_code(PLACE(0x4000), 16, "goes");
	ut_jit_drop(PLACE(0x4000), 16);
	ut_jit_code(PLACE(0x5008), 16, "overwritten");
	ut_jit_code(PLACE(0x5000), 16, "owner");
	old = open(map_path(getpid()), O_RDONLY);
	for (unsigned i = 0; i < 1000; i++)
		ut_jit_code(PLACE(0x6000), 16, i < 999 ? "again and again" : "last");
	assert_null(ut_jit_error());
	assert_int_equal(stat(map_path(getpid()), &st), 0);
	assert_true(st.st_size <= UT_JIT_MAP_MAX && st.st_mode == (S_IFREG | 0600));
	assert_int_equal(fstat(old, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	close(old);
	assert_memory_equal(map_text(), "1000 10 stays\n3000 10 moves\n5000 10 owner\n6000 10 ", 43);
	assert_int_equal(count_of("goes") + count_of("overwritten") + count_of("2000 10"), 0);
	assert_int_equal(count_of("6000 10 last\n"), 1);
	assert_string_equal(strstr(text, "6000 10 last"), "6000 10 last\n");
	/* Places of lines are right after that. */
	ut_jit_move(PLACE(0x1000), PLACE(0x7000), 16);
	assert_non_null(strstr(map_text(), "\n7000 10 stays\n"));
}

static void test_full_of_what_lives(void **unused)
{
	char name[64];
	unsigned i;

	(void)unused;
	open_map();
	for (i = 0; ut_jit_on() && i < 1000; i++) {
		snprintf(name, sizeof(name), "a function that lives %u", i);
		ut_jit_code(PLACE(0x1000 + 16 * i), 16, name);
	}
	assert_true(i > 150 && i < 1000);
	assert_non_null(strstr(ut_jit_error(), "maximum size reached"));
	assert_true(strlen(map_text()) <= UT_JIT_MAP_MAX);
	assert_int_equal(count_of("\n"), i - 1);
	snprintf(name, sizeof(name), "./perf-%d.map.new", getpid());
	assert_int_equal(access(name, F_OK), -1);
}

static void test_fork(void **unused)
{
	pid_t child;
	char parents[200];

	(void)unused;
	open_map();
	ut_jit_code(PLACE(0x1000), 16, "one");
	ut_jit_code(PLACE(0x2000), 16, "two");
	ut_jit_code(PLACE(0x3000), 16, "three");
	ut_jit_move(PLACE(0x2000), PLACE(0x4000), 16);
	ut_jit_drop(PLACE(0x1000), 16);
	snprintf(parents, sizeof(parents), "%s", map_text());
	child = fork();
	if (!child) {
		ut_jit_forked();
		if (strcmp(map_text(), "3000 10 three\n4000 10 two\n"))
			_exit(1);
		ut_jit_code(PLACE(0x5000), 16, "child's");
		ut_jit_move(PLACE(0x3000), PLACE(0x6000), 16);
		if (strcmp(map_text(), "3000 10 three\n4000 10 two\n5000 10 child's\n6000 10 three\n") || errno != 77)
			_exit(2);
		if (fork() == 0) {
			ut_jit_code(PLACE(0x7000), 16, "grandchild's");
			_exit(strcmp(map_text(), "4000 10 two\n5000 10 child's\n6000 10 three\n"
						 "7000 10 grandchild's\n") != 0);
		}
		wait(&child);
		_exit(child ? 3 : 0);
	}
	assert_int_equal(wait_for(child), 0);
	assert_string_equal(map_text(), parents);
	ut_jit_code(PLACE(0x1000), 16, "four");
	assert_int_equal(strlen(map_text()), strlen(parents) + 13);
}

/* Another thread was writing when the process forked: its lock is nobody's now, and its table is not to be trusted. */
static void test_fork_in_the_middle(void **unused)
{
	pid_t child;

	(void)unused;
	open_map();
	ut_jit_code(PLACE(0xabcdef00), 16, "one");
	ut_jit_code(PLACE(0x3000), 16, "moved");
	ut_jit_move(PLACE(0x3000), PLACE(0x4000), 16);
	ut_jit_code(PLACE(0x3008), 1, "gone");
	ut_jit_code(PLACE(0x3000), 16, "three");
	state.lock = (uint64_t)getpid() << 32 | (uint32_t)(getpid() + 1);
	child = fork();
	if (!child) {
		state.map.table.n = 12345;
		ut_jit_code(PLACE(0x2000), 16, "two");
		_exit(strcmp(map_text(), "3000 10 three\n4000 10 moved\nabcdef00 10 one\n2000 10 two\n") != 0);
	}
	state.lock = 0;
	assert_int_equal(wait_for(child), 0);
}

/* A signal handler on the thread that is just announcing. */
static void test_own_lock(void **unused)
{
	(void)unused;
	open_map();
	state.lock = (uint64_t)getpid() << 32 | (uint32_t)getpid();
	ut_jit_code(PLACE(0x1000), 16, "handler");
	state.lock = 0;
	assert_int_equal(ut_jit_lost(), 1);
	ut_jit_code(PLACE(0x1000), 16, "program");
	assert_string_equal(map_text(), "1000 10 program\n");
}

static void test_closed_descriptor(void **unused)
{
	int mine, theirs;

	(void)unused;
	open_map();
	ut_jit_code(PLACE(0x1000), 16, "one");
	mine = state.map.file.fd;
	assert_true(mine > 2);
	close(mine);
	theirs = open("theirs", O_RDWR | O_CREAT, 0600);
	assert_int_equal(dup2(theirs, mine), mine);
	ut_jit_code(PLACE(0x2000), 16, "two");
	ut_jit_move(PLACE(0x1000), PLACE(0x3000), 16);
	assert_string_equal(map_text(), "1000 10 one\n2000 10 two\n3000 10 one\n");
	assert_int_equal(lseek(theirs, 0, SEEK_END), 0);
	close(state.map.file.fd);
	unlink(map_path(getpid()));
	ut_jit_code(PLACE(0x2000), 16, "three");
	assert_int_equal(ut_jit_on(), 0);
	assert_non_null(strstr(ut_jit_error(), "descriptor was closed"));
	ut_jit_close();
	assert_int_equal(fcntl(mine, F_GETFD), 0); /* which is theirs */
	if (theirs != mine)
		close(theirs);
	close(mine);
}

#define THREADS 8
#define EACH 40

static void *announce(void *arg)
{
	char name[32];

	for (unsigned i = 0; i < EACH; i++) {
		uintptr_t at = 0x100000 + ((uintptr_t)arg * EACH + i) * 64;

		snprintf(name, sizeof(name), "t%u.%u", (unsigned)(uintptr_t)arg, i);
		ut_jit_code(PLACE(at), 32, name);
		ut_jit_drop(PLACE(at), 32);
	}
	return NULL;
}

static void test_threads(void **unused)
{
	pthread_t threads[THREADS];
	char line[64];

	(void)unused;
	setenv("UT_JIT_MAX", "1", 1);
	open_map();
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, announce, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	map_text();
	assert_int_equal(count_of("\n"), THREADS * EACH);
	for (unsigned i = 0; i < THREADS * EACH; i++) {
		snprintf(line, sizeof(line), "%x 20 t%u.%u\n", 0x100000 + i * 64, i / EACH, i % EACH);
		assert_int_equal(count_of(line), 1);
	}
	assert_int_equal(ut_jit_lost(), 0);
}

/* The table against an array that has an owner for each address. */
#define ADDRESSES 6000

static void compare_owners(const uint32_t *owner, const uint64_t *start)
{
	const struct table *t = &state.map.table;
	uint64_t last = 0, covered = 0, owned = 0;

	for (uint64_t i = 0; i < t->n; i++) {
		assert_in_range(t->leaf[i].n, 1, LEAF_ENTRIES);
		assert_int_equal(t->leaf[i].first, t->leaf[i].e[0].addr);
		for (uint64_t k = 0; k < t->leaf[i].n; k++) {
			const struct entry *e = &t->leaf[i].e[k];

			assert_true(e->addr >= last && e->addr + e->size <= ADDRESSES);
			last = e->addr + e->size;
			for (uint64_t a = e->addr; a < last; a++)
				assert_true(owner[a] == e->offset && start[a] == e->addr);
			covered += e->size;
		}
	}
	for (unsigned a = 0; a < ADDRESSES; a++)
		owned += owner[a] != 0;
	assert_int_equal(covered, owned);
}

static void clear_owners(uint32_t *owner, uint64_t *start, uint64_t from, uint64_t end)
{
	for (uint64_t a = from; a < end; a++) {
		uint64_t first = start[a];

		for (uint64_t b = first; owner[a] && b < ADDRESSES && owner[b] && start[b] == first; b++)
			owner[b] = b == a ? owner[b] : 0;
		owner[a] = 0;
	}
}

static void test_table(void **unused)
{
	static uint32_t owner[ADDRESSES];
	static uint64_t start[ADDRESSES];
	struct table *t = &state.map.table;
	uint64_t most = 0;

	(void)unused;
	srand(1);
	for (uint32_t i = 1; i < 30000; i++) {
		struct entry e = { 1 + (uint64_t)rand() % (ADDRESSES - 40), 1 + rand() % 3, i };
		uint64_t end = e.addr + (rand() % 50 ? e.size : 30);

		clear_owners(owner, start, e.addr, end);
		if (rand() % 4) {
			table_clear(t, e.addr, end);
			assert_int_equal(table_insert(t, e), 0);
			for (uint64_t a = e.addr; a < e.addr + e.size; a++) {
				owner[a] = i;
				start[a] = e.addr;
			}
		} else {
			table_clear(t, e.addr, end);
		}
		most = t->n > most ? t->n : most;
		if (i % 500 == 0)
			compare_owners(owner, start);
	}
	assert_true(most > 4);
	table_free(t);
}

/* Many leaves, and memory that is used again. */
static void test_big_table(void **unused)
{
	struct table *t = &state.map.table;
	struct entry e = { .size = 16 };
	const char *blocks;

	(void)unused;
	for (e.addr = 16; e.addr <= 16 * 200000; e.addr += 16)
		assert_int_equal(table_insert(t, e), 0);
	assert_int_equal(t->n, (200000 + LEAF_ENTRIES - 1) / LEAF_ENTRIES);
	blocks = t->blocks;
	table_clear(t, 0, UINT64_MAX);
	assert_int_equal(t->n, 0);
	for (e.addr = 16 * 50000; e.addr; e.addr -= 16)
		assert_int_equal(table_insert(t, e), 0);
	assert_ptr_equal(t->blocks, blocks);
	table_free(t);
}

/* A block of functions slides over itself, down and up. */
static void test_block_moves(void **unused)
{
	(void)unused;
	open_map();
	for (unsigned i = 0; i < 4; i++)
		ut_jit_code(PLACE(0x1000 + 16 * i), 16, (const char *[]){ "a", "b", "c", "d" }[i]);
	ut_jit_move(PLACE(0x1010), PLACE(0x1008), 32);
	assert_string_equal(strstr(map_text(), "1008"), "1008 10 b\n1018 10 c\n");
	ut_jit_move(PLACE(0x1008), PLACE(0x1020), 32);
	assert_non_null(strstr(map_text(), "1018 10 c\n1030 10 c\n1020 10 b\n"));
	/* What the block came over is no more: a and d. */
	ut_jit_move(PLACE(0x1000), PLACE(0x9000), 0x100);
	assert_string_equal(strstr(map_text(), "1020 10 b\n"), "1020 10 b\n9030 10 c\n9020 10 b\n");
	ut_jit_move(PLACE(0x9000), PLACE(0x9000), 0x100);
	ut_jit_move(PLACE(0x9000), PLACE(UINTPTR_MAX), 0x100);
	assert_non_null(strstr(map_text(), "9020 10 b\n"));
}

static const char *at;

static const void *next(size_t bytes)
{
	const char *ret = at;

	at += bytes;
	return ret;
}

/* A copy, since records begin anywhere. */
static const struct dump_record *record(uint32_t kind)
{
	static union {
		struct dump_record record;
		struct dump_move longest;
	} copy;
	static uint64_t last;
	const struct dump_record *r = memcpy(&copy, at, sizeof(copy));

	assert_int_equal(r->kind, kind);
	assert_true(r->time >= last);
	last = r->time;
	return r;
}

static void read_header(void)
{
	const struct dump_header *h = (at = text, next(40));

	assert_int_equal(h->magic, 0x4a695444);
	assert_int_equal(h->version, 1);
	assert_int_equal(h->bytes, 40);
	assert_true(h->machine == 62 || h->machine == 183);
	assert_int_equal(h->pid, getpid());
	assert_int_equal(h->flags, 0);
}

static void read_load(const void *code, size_t size, const char *name, uint64_t index)
{
	const struct dump_load *l = (const void *)record(0);

	assert_int_equal(l->r.bytes, 56 + strlen(name) + 1 + size);
	assert_int_equal(l->pid, getpid());
	assert_int_equal(l->addr, (uintptr_t)code);
	assert_int_equal(l->vma, l->addr);
	assert_int_equal(l->size, size);
	assert_int_equal(l->index, index);
	next(56);
	assert_string_equal(next(strlen(name) + 1), name);
	assert_memory_equal(next(size), code, size);
}

static void read_lines(const void *code, const struct ut_jit_line *lines, const char *const *files, size_t count)
{
	const struct dump_lines *l = (const void *)record(2);
	const char *end = at + l->r.bytes;

	assert_int_equal(l->addr, (uintptr_t)code);
	assert_int_equal(l->count, count);
	next(32);
	for (size_t i = 0; i < count; i++) {
		assert_memory_equal(next(8), &lines[i].addr, 8);
		assert_memory_equal(next(4), &lines[i].line, 4);
		assert_memory_equal(next(4), &lines[i].discriminator, 4);
		assert_string_equal(next(strlen(files[i]) + 1), files[i]);
	}
	assert_ptr_equal(at, end);
}

static bool is_mapped(const char *path)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	bool ret = false;

	while (fgets(line, sizeof(line), maps))
		ret = ret || (strstr(line, path + 1) && strstr(line, " r-xp "));
	fclose(maps);
	return ret;
}

static void test_dump(void **unused)
{
	static const char code[64] = "code, as it were, \0 and more of it";
	const char *file = "fib.src";
	struct ut_jit_line lines[] = { { code, file, 10, 0 },
				       { code + 4, file, 11, 2 },
				       { code + 8, "inlined.src", 3, 0 },
				       { code + 12, NULL, 4, 0 } };
	const char *files[] = { "fib.src", "\xff", "inlined.src", "\xff" };
	const struct dump_move *m;
	ssize_t len;

	(void)unused;
	assert_int_equal(ut_jit_open(UT_JIT_DUMP), UT_JIT_DUMP);
	assert_true(is_mapped(dump_path(getpid())));
	ut_jit_code(code, 32, "fi\nb");
	ut_jit_code_lines(code + 32, 32, "fac", lines, 4);
	ut_jit_move(code + 32, PLACE(0x1000), 32);
	ut_jit_drop(code, 32);
	ut_jit_move(code, PLACE(0x2000), 32);
	ut_jit_close();
	assert_false(is_mapped(dump_path(getpid())));
	len = read_file(dump_path(getpid()));
	read_header();
	read_load(code, 32, "fi b", 0);
	read_lines(code + 32, lines, files, 4);
	read_load(code + 32, 32, "fac", 1);
	m = (const void *)record(1);
	assert_int_equal(m->r.bytes, 64);
	assert_true(m->from == (uintptr_t)code + 32 && m->to == 0x1000 && m->vma == 0x1000);
	assert_true(m->size == 32 && m->index == 1);
	next(64);
	assert_int_equal(record(3)->bytes, 16);
	next(16);
	assert_int_equal(at - text, len);
	assert_int_equal(errno, 77);
}

/* More lines than are gathered for one write. */
static void test_many_lines(void **unused)
{
	static const char code[16] = "code";
	static struct ut_jit_line lines[10000];
	const struct dump_lines *l;

	(void)unused;
	for (unsigned i = 0; i < 10000; i++)
		lines[i] = (struct ut_jit_line){ code, i % 2 ? "odd" : "even", i, 0 };
	assert_int_equal(ut_jit_open(UT_JIT_DUMP), UT_JIT_DUMP);
	ut_jit_code_lines(code, 16, "long", lines, 10000);
	ut_jit_close();
	assert_true(read_file(dump_path(getpid())) > 200000);
	read_header();
	l = (const void *)record(2);
	assert_int_equal(l->r.bytes, 32 + 10000 * 16 + 5000 * 4 + 5000 * 5);
	next(l->r.bytes);
	read_load(code, 16, "long", 0);
}

static void test_dump_after_fork(void **unused)
{
	static const char code[64] = "code of the parent";
	struct ut_jit_line lines[] = { { code, "parent.src", 10, 0 } };
	const char *files[] = { "parent.src" };
	pid_t child;

	(void)unused;
	assert_int_equal(ut_jit_open(UT_JIT_DUMP), UT_JIT_DUMP);
	ut_jit_code(code + 32, 16, "dropped");
	ut_jit_drop(code + 32, 16);
	ut_jit_code_lines(code, 32, "lined", lines, 1);
	ut_jit_code_lines(code + 40, 8, "moved", lines, 1);
	ut_jit_move(code + 40, code + 48, 8);
	child = fork();
	if (!child) {
		ut_jit_code(code + 32, 8, "child's");
		if (!is_mapped(dump_path(getpid())) || is_mapped(dump_path(getppid())))
			_exit(1);
		if (read_file(dump_path(getpid())) < 0)
			_exit(2);
		read_header();
		read_lines(code, lines, files, 1);
		read_load(code, 32, "lined", 3);
		read_load(code + 48, 8, "moved", 4);
		read_load(code + 32, 8, "child's", 5);
		_exit(at == text + read_file(dump_path(getpid())) ? 0 : 3);
	}
	assert_int_equal(wait_for(child), 0);
}

static void test_code_that_cannot_be_read(void **unused)
{
	char *pages = mmap(NULL, 2 * 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	assert_int_equal(mprotect(pages + 65536, 65536, PROT_NONE), 0);
	assert_int_equal(ut_jit_open(UT_JIT_DUMP), UT_JIT_DUMP);
	ut_jit_code(pages + 65536, 16, "none of it");
	ut_jit_code(pages + 65536 - 16, 32, "half of it");
	ut_jit_code(pages + 65536 - 16, 16, "all of it");
	assert_null(ut_jit_error());
	assert_int_equal(ut_jit_lost(), 2);
	assert_int_equal(read_file(dump_path(getpid())), 40 + 56 + 10 + 16);
	read_header();
	read_load(pages + 65536 - 16, 16, "all of it", 0);
	munmap(pages, 2 * 65536);
}

static void test_dump_is_full(void **unused)
{
	static char code[300000];

	(void)unused;
	setenv("UT_JIT_MAX", "1", 1);
	assert_int_equal(ut_jit_open(UT_JIT_DUMP), UT_JIT_DUMP);
	for (unsigned i = 0; i < 5; i++)
		ut_jit_code(code, sizeof(code), "big");
	assert_int_equal(ut_jit_on(), 0);
	assert_non_null(strstr(ut_jit_error(), "maximum size reached"));
	assert_int_equal(read_file(dump_path(getpid())), 40 + 3 * (56 + 4 + sizeof(code)));
}

/* Of lines that need several writes nothing is there when not all of them fit. */
static void test_lines_do_not_fit(void **unused)
{
	enum { MANY = 10000 };
	static char code[300000];
	static struct ut_jit_line lines[MANY];

	(void)unused;
	setenv("UT_JIT_MAX", "1", 1);
	assert_int_equal(ut_jit_open(UT_JIT_DUMP), UT_JIT_DUMP);
	for (unsigned i = 0; i < 3; i++)
		ut_jit_code(code, sizeof(code), "big");
	ut_jit_code_lines(code, 10, "many lines", lines, MANY);
	assert_int_equal(ut_jit_on(), 0);
	assert_non_null(strstr(ut_jit_error(), "maximum size reached"));
	assert_int_equal(read_file(dump_path(getpid())), 40 + 3 * (56 + 4 + sizeof(code)));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, enter_folder, leave_folder)

UNIT_TESTS(jit)
{
	const struct CMUnitTest tests[] = {
		CASE(test_off),
		CASE(test_lines),
		CASE(test_long_names),
		CASE(test_environment),
		CASE(test_an_older_file),
		CASE(test_links),
		CASE(test_no_files),
		CASE(test_another_users),
		CASE(test_forbidden_folder),
		CASE(test_shared),
		CASE(test_size_limit),
		CASE(test_full_disk),
		CASE(test_rewritten),
		CASE(test_full_of_what_lives),
		CASE(test_fork),
		CASE(test_fork_in_the_middle),
		CASE(test_own_lock),
		CASE(test_closed_descriptor),
		CASE(test_threads),
		CASE(test_table),
		CASE(test_big_table),
		CASE(test_block_moves),
		CASE(test_dump),
		CASE(test_many_lines),
		CASE(test_dump_after_fork),
		CASE(test_code_that_cannot_be_read),
		CASE(test_dump_is_full),
		CASE(test_lines_do_not_fit),
	};

	return unit_run(tests, NULL, NULL);
}
