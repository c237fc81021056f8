/* SPDX-License-Identifier: MIT */
/* Names of addresses by process and time: through exec, fork, exit, libraries that take each other's place, files that
 * were deleted or replaced, stripped files, inlined calls, JIT-compiled code, and the reasons where there is no
 * name. Programs are compiled here. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "child.h"
#include "elf/image.h"
#include "proc/process.h"
#include "scratch.h"
#include "sym/names.h"
#include "wire/unwind.h"
#include "unit.h"

#define ADDR(p) ((uint64_t)(uintptr_t)(p))

static char folder[] = "/tmp/usertrace-names-XXXXXX";
static struct names *names;

__attribute__((noinline, used)) static int a_function_with_a_name(int x)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
	return x + 1;
}

/* Two libraries whose functions lie at the same place, and a program that waits in one. */
static int set_up_folder(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	write_file(folder, "lib.c",
		   "__attribute__((noinline)) int FUNCTION(int x)\n"
		   "{ __asm__ volatile(\"nop\"); return x + 1; }\n");
	write_file(folder, "wait.c",
		   "#include <unistd.h>\n"
		   "static inline __attribute__((always_inline)) void inner(void)\n"
		   "{ __asm__ volatile(\".globl marked\\nmarked: nop\"); }\n"
		   "__attribute__((noinline)) int work(int x)\n"
		   "{\n"
		   "	inner();\n"
		   "	return x + (int)write(1, \"x\", 1);\n"
		   "}\n"
		   "int main(void) { work(1); for (;;) pause(); }\n");
	run("cd %s && gcc -O2 -g -shared -fPIC -DFUNCTION=first_function -o libfirst.so lib.c && "
	    "gcc -O2 -g -shared -fPIC -DFUNCTION=other_function -o libother.so lib.c && gcc -O2 -g -o wait wait.c && "
	    "gcc -O2 -g -Wl,-z,lazy -fcf-protection=none -o lazy wait.c",
	    folder);
	return 0;
}

static int tear_down_folder(void **state)
{
	(void)state;
	run("rm -rf %s", folder);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	names = names_new(NULL);
	return names ? 0 : -1;
}

static int setup_lines(void **state)
{
	(void)state;
	names = names_new(&(struct names_options){ .lines = true });
	return names ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	assert_null(names_free(names));
	return 0;
}

static struct frame frame_at(pid_t pid, uint64_t addr, bool exact, uint64_t time)
{
	struct frames frames = {};
	struct frame ret;

	names_user(names, pid, addr, exact, time, &frames);
	assert_true(frames.v.n >= 1);
	ret = frames.v.v[frames.v.n - 1];
	vec_done(&frames.v);
	assert_non_null(ret.name);
	assert_non_null(ret.module);
	assert_int_equal(ret.unnamed, ret.name[0] == '[' && ret.kind != FRAME_INLINED);
	return ret;
}

static void assert_name(pid_t pid, uint64_t addr, uint64_t time, const char *expected)
{
	assert_string_equal(frame_at(pid, addr, true, time).name, expected);
}

static void assert_begins(const char *text, const char *beginning)
{
	if (strncmp(text, beginning, strlen(beginning)) != 0)
		fail_msg("'%s' does not begin with '%s'", text, beginning);
}

static uint64_t vaddr_of(const char *file, const char *symbol)
{
	char path[PATH_MAX];
	struct elf_image *img;
	struct elf_symbol s;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_image_open(fd, &img, NULL), 0);
	assert_int_equal(elf_symbol_find(img, symbol, &s), 1);
	elf_image_free(img);
	return s.vaddr;
}

static void names_its_own_functions(void **state)
{
	uint64_t f = ADDR(a_function_with_a_name);
	struct frame frame;

	(void)state;
	names_process(names, getpid(), 10);
	frame = frame_at(getpid(), f, true, 10);
	assert_string_equal(frame.name, "a_function_with_a_name");
	assert_string_equal(frame.module, "runner-sym");
	assert_int_equal(frame.kind, FRAME_NATIVE);
	assert_null(frame.file);
	assert_name(getpid(), f + 5, 20, "a_function_with_a_name");
	assert_name(getpid(), f, 1, "a_function_with_a_name"); /* before it was looked at: it was there */
	assert_string_equal(frame_at(getpid(), f + 5, false, 10).name, "a_function_with_a_name");
	assert_string_not_equal(frame_at(getpid(), f, false, 10).name, "a_function_with_a_name");
	assert_ptr_equal(frame_at(getpid(), f + 1, true, 10).name, frame_at(getpid(), f + 2, true, 10).name);
	assert_string_equal(names_module(names, getpid(), f, 10), "runner-sym");
	assert_begins(names_module(names, getpid(), ADDR(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")), 10), "libc.so");
}

static void what_nobody_knows_has_a_reason(void **state)
{
	(void)state;
	assert_name(getpid(), 0x1234, 10, "[process not known]");
	names_process(names, getpid(), 10);
	assert_name(getpid(), 0x12345, 10, "[no mapping known: 0x10000]");
	assert_name(getpid(), 0, 10, "[no mapping known: 0x0]");
	assert_begins(frame_at(getpid(), UINT64_MAX, true, 10).name, "[no mapping known: 0x");
	assert_name(-5, 0x1234, 10, "[process not known]");
	names_exit(names, getpid(), 20);
	assert_name(getpid(), ADDR(a_function_with_a_name), 19, "a_function_with_a_name");
	assert_name(getpid(), ADDR(a_function_with_a_name), 20, "[process not known]");
	assert_string_equal(names_module(names, getpid(), 0x1234, 10), "");
}

/* Maps the library's code at @where: a page that another one's had before. */
static uint64_t map_library(const char *file, const char *function, void *where)
{
	uint64_t vaddr = vaddr_of(file, function);
	char path[PATH_MAX];
	uint8_t *at;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	at = mmap(where, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | (where ? MAP_FIXED : 0), fd,
		  (off_t)(vaddr & ~4095ull));
	assert_true(at != MAP_FAILED);
	return ADDR(at) + (vaddr & 4095);
}

static void addresses_change_their_owner(void **state)
{
	uint64_t f = map_library("libfirst.so", "first_function", NULL);
	void *page = (void *)(uintptr_t)(f & ~4095ull);

	(void)state;
	names_process(names, getpid(), 10);
	assert_int_equal(map_library("libother.so", "other_function", page), f);
	names_process(names, getpid(), 20);
	munmap(page, 4096);
	names_process(names, getpid(), 30);
	assert_int_equal(map_library("libfirst.so", "first_function", page), f);
	names_process(names, getpid(), 40);
	assert_name(getpid(), f, 10, "first_function");
	assert_name(getpid(), f, 19, "first_function");
	assert_name(getpid(), f, 20, "other_function");
	assert_name(getpid(), f, 29, "other_function");
	assert_name(getpid(), f, 40, "first_function");
	assert_name(getpid(), f, 35, "first_function"); /* it may have come right after the last look */
	munmap(page, 4096);
}

/* The same told by events, as they come while recording. */
static void mappings_are_told_one_by_one(void **state)
{
	AUTO(mappings_done) struct mappings maps = {};
	uint64_t f = map_library("libfirst.so", "first_function", NULL);
	const struct mapping *first = NULL;
	struct mapping nothing;

	(void)state;
	assert_int_equal(mappings_read(getpid(), &maps, NULL), 0);
	for (size_t i = 0; i < maps.maps.n; i++)
		if (maps.maps.v[i].start <= f && f < maps.maps.v[i].end)
			first = &maps.maps.v[i];
	assert_non_null(first);
	names_process(names, getpid(), 5);
	nothing = *first;
	nothing.exec = false;
	names_mapped(names, getpid(), &nothing, 10);
	names_mapped(names, getpid(), first, 20);
	assert_name(getpid(), f, 9, "first_function");
	assert_begins(frame_at(getpid(), f, true, 10).name, "[no mapping known");
	assert_name(getpid(), f, 20, "first_function");
	munmap((void *)(uintptr_t)(f & ~4095ull), 4096);
}

static pid_t start(const char *program)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, program);
	return child_program(path, CHILD_WRITES);
}

/* Where @vaddr of its program lies in the child. */
static uint64_t address_in(pid_t pid, uint64_t vaddr)
{
	struct mapped_files files = {};
	uint64_t at;

	assert_int_equal(mapped_files_read(pid, &files, NULL), 0);
	assert_true(files.files.v[0].is_program);
	at = files.files.v[0].first.start - files.files.v[0].first.offset + vaddr;
	mapped_files_done(&files);
	return at;
}

static void a_child_is_like_its_parent_until_it_runs_another_program(void **state)
{
	uint64_t f = ADDR(a_function_with_a_name), work, vaddr = vaddr_of("wait", "work");
	pid_t pid;

	(void)state;
	names_process(names, getpid(), 10);
	pid = start("wait");
	names_fork(names, getpid(), pid, 20);
	names_exec(names, pid, 30);
	names_process(names, pid, 31);
	work = address_in(pid, vaddr);
	assert_name(pid, f, 19, "[process not known]");
	assert_name(pid, f, 20, "a_function_with_a_name");
	assert_name(pid, f, 29, "a_function_with_a_name");
	assert_begins(frame_at(pid, f, true, 30).name, "[no mapping known");
	assert_name(pid, work, 30, "work");
	assert_begins(frame_at(pid, work, true, 29).name, "[no mapping known");
	child_kill(pid);
	names_process(names, pid, 35); /* too late: what is known stays */
	names_exit(names, pid, 40);
	assert_name(pid, work, 39, "work");
	assert_name(pid, work, 41, "[process not known]");
	names_fork(names, getpid(), pid, 50); /* another with this number */
	assert_name(pid, f, 51, "a_function_with_a_name");
	assert_begins(frame_at(pid, work, true, 51).name, "[no mapping known");
	assert_name(pid, work, 39, "work");
}

/* The mappings are read before the news of the fork and of the exec are. */
static void news_may_be_late(void **state)
{
	uint64_t f = ADDR(a_function_with_a_name), work;
	pid_t pid = start("wait");

	(void)state;
	work = address_in(pid, vaddr_of("wait", "work"));
	names_process(names, getpid(), 10);
	names_fork(names, getpid(), pid, 15);
	names_process(names, pid, 40);
	names_exec(names, pid, 20);
	assert_name(pid, f, 16, "a_function_with_a_name");
	assert_begins(frame_at(pid, f, true, 25).name, "[no mapping known");
	assert_name(pid, work, 20, "work");
	assert_name(pid, work, 50, "work");
	names_fork(names, getpid(), pid, 12); /* nonsense: it is known as it is */
	assert_name(pid, work, 50, "work");
	child_kill(pid);
}

static void files_may_be_deleted_or_replaced(void **state)
{
	uint64_t vaddr = vaddr_of("wait", "work"), at;
	pid_t pid;

	(void)state;
	run("cd %s && cp wait gone", folder);
	pid = start("gone");
	at = address_in(pid, vaddr);
	run("cd %s && cp libfirst.so new && mv new gone", folder);
	names_process(names, pid, 10);
	assert_string_equal(frame_at(pid, at, true, 10).name, "work");
	child_kill(pid);
	run("cd %s && rm gone && cp wait gone", folder);
	pid = start("gone");
	at = address_in(pid, vaddr);
	run("rm %s/gone", folder);
	names_process(names, pid, 10);
	child_kill(pid);
	assert_name(pid, at, 10, "work");
	assert_string_equal(frame_at(pid, at, true, 10).module, "gone");
}

/* One that could not be opened any more when it was told of. */
static void a_file_that_is_gone_is_the_reason(void **state)
{
	struct mapping m = {
		.start = 0x10000, .end = 0x20000, .exec = true, .file = { 1, 77 }, .path = (char *)"/nowhere/libfoo.so"
	};
	struct frame f;

	(void)state;
	names_mapped(names, 1 << 23, &m, 10); /* no such process: the largest number is one less */
	f = frame_at(1 << 23, 0x10010, true, 11);
	assert_string_equal(f.name, "[file gone: libfoo.so]");
	assert_string_equal(f.module, "libfoo.so");
	assert_true(f.unnamed);
	assert_string_equal(names_end(names, 1 << 23, UT_END_NO_INFO, 0x10010, 11), "[no unwind info: libfoo.so]");
}

static void stripped_functions_are_one_frame_each(void **state)
{
	uint64_t vaddr = vaddr_of("wait", "work"), at;
	char expected[64];
	pid_t pid;

	(void)state;
	run("cd %s && strip -s -o bare wait", folder);
	pid = start("bare");
	at = address_in(pid, vaddr);
	names_process(names, pid, 10);
	snprintf(expected, sizeof(expected), "[no symbols: bare+0x%llx]", (unsigned long long)vaddr);
	assert_name(pid, at, 10, expected);
	assert_name(pid, at + 3, 10, expected);
	assert_name(pid, address_in(pid, vaddr_of("wait", "main")) + 4, 10, "main");
	assert_name(pid, address_in(pid, vaddr_of("wait", "_start")) + 8, 10, "_start");
	child_kill(pid);
}

static void stubs_are_named(void **state)
{
	pid_t pid = start("lazy");
	bool found = false;
	uint64_t plt, size;
	struct elf_image *img;
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/lazy", folder);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_image_open(fd, &img, NULL), 0);
	assert_true(elf_image_section(img, ".plt", &plt, &size));
	names_process(names, pid, 10);
	for (uint64_t v = plt + 16; v < plt + size; v += 16) {
		struct frame f = frame_at(pid, address_in(pid, v) + 6, true, 10);

		assert_int_equal(f.unnamed, 0);
		found |= strcmp(f.name, "write@plt") == 0;
	}
	assert_true(found);
	assert_begins(frame_at(pid, address_in(pid, plt), true, 10).name, "[no symbols: lazy");
	elf_image_free(img);
	child_kill(pid);
}

/* Code written by hand, with labels that have neither type nor size. */
static void labels_are_names(void **state)
{
	pid_t pid;

	(void)state;
	run("cd %s && echo '.text; .globl by_hand; by_hand: nop; nop; nop; ret; .fill 64, 1, 0x90' >hand.s && "
	    "gcc -O2 -o hand wait.c hand.s",
	    folder);
	pid = start("hand");
	names_process(names, pid, 10);
	assert_name(pid, address_in(pid, vaddr_of("hand", "by_hand")), 10, "by_hand");
	assert_name(pid, address_in(pid, vaddr_of("hand", "by_hand")) + 3, 10, "by_hand");
	assert_name(pid, address_in(pid, vaddr_of("hand", "work")), 10, "work");
	child_kill(pid);
}

static void inlined_calls_have_frames_with_lines(void **state)
{
	pid_t pid = start("wait");
	uint64_t at = address_in(pid, vaddr_of("wait", "marked"));
	struct frames f = {};

	(void)state;
	names_process(names, pid, 10);
	child_kill(pid);
	names_user(names, pid, at, true, 10, &f);
	names_user(names, pid, at + 1, false, 10, &f);
	assert_int_equal(f.v.n, 4);
	for (int i = 0; i < 4; i += 2) {
		assert_string_equal(f.v.v[i].name, "inner");
		assert_int_equal(f.v.v[i].kind, FRAME_INLINED);
		assert_int_equal(f.v.v[i].line, 3);
		assert_non_null(strstr(f.v.v[i].file, "wait.c"));
		assert_string_equal(f.v.v[i + 1].name, "work");
		assert_int_equal(f.v.v[i + 1].kind, FRAME_NATIVE);
		assert_int_equal(f.v.v[i + 1].line, 6);
		assert_string_equal(f.v.v[i + 1].module, "wait");
	}
	vec_done(&f.v);
}

/* Where handlers of signals return to: by its instructions, whatever symbols libc has. */
static void signals_return_has_a_name(void **state)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };
	AUTO(mappings_done) struct mappings maps = {};
	const uint8_t *at = NULL;

	(void)state;
	assert_int_equal(mappings_read(getpid(), &maps, NULL), 0);
	for (size_t i = 0; i < maps.maps.n && !at; i++) {
		const struct mapping *m = &maps.maps.v[i];

		if (m->exec && strstr(m->path, "libc.so"))
			at = memmem((const void *)(uintptr_t)m->start, m->end - m->start, code, sizeof(code));
	}
	if (!at) {
		print_message("this libc returns from signals in another way\n");
		skip();
	}
	names_process(names, getpid(), 10);
	assert_name(getpid(), ADDR(at), 10, "__restore_rt");
	assert_string_equal(frame_at(getpid(), ADDR(at), false, 10).name, "__restore_rt");
}

static void *executable_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void code_without_a_map_has_a_reason(void **state)
{
	uint64_t code = ADDR(executable_memory(8192));
	pid_t pid = child_program(NULL, CHILD_WRITES);
	struct frame f;

	(void)state;
	names_process(names, pid, 10);
	assert_true(names_is_jit(names, pid, code + 100, 10));
	assert_false(names_is_jit(names, pid, ADDR(a_function_with_a_name), 10));
	f = frame_at(pid, code + 100, true, 10);
	assert_begins(f.name, "[unknown code, no map: 0x");
	assert_int_equal(f.kind, FRAME_COMPILED);
	assert_string_equal(f.module, "");
	assert_ptr_equal(f.name, frame_at(pid, code + 8191, true, 10).name);
	names_hint(names, pid, "node --perf-basic-prof");
	assert_name(pid, code + 100, 10, "[no map: node --perf-basic-prof]");
	names_hint(names, pid, "-XX:+PreserveFramePointer");
	assert_string_equal(names_end(names, pid, UT_END_BARE, code, 10),
			    "[no frame pointers: -XX:+PreserveFramePointer]");
	child_kill(pid);
	munmap((void *)(uintptr_t)code, 8192);
}

/* The map of a process, written while it is watched; its child's code of before the fork has names, too. */
static void code_has_the_owner_of_its_time(void **state)
{
	uint64_t code = ADDR(executable_memory(8192));
	char path[64];
	FILE *map;
	pid_t pid = child_program(NULL, CHILD_WRITES), child = child_program(NULL, CHILD_WRITES);

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	map = fopen(path, "wxe");
	assert_non_null(map);
	names_process(names, pid, 10);
	fprintf(map, "%llx 100 first owner\n", (unsigned long long)code);
	fflush(map);
	names_poll(names, 20);
	names_fork(names, pid, child, 25);
	fprintf(map, "%llx 100 py::second\n", (unsigned long long)code);
	fclose(map);
	names_poll(names, 30);
	for (uint64_t t = 22; t <= 32; t += 10)
		names_request(names, pid, code + 8, true, t);
	names_resolve(names, 40);
	assert_name(pid, code + 8, 22, "first owner");
	assert_int_equal(frame_at(pid, code + 8, true, 22).kind, FRAME_COMPILED);
	assert_name(pid, code + 8, 32, "py::second");
	assert_int_equal(frame_at(pid, code + 8, true, 32).kind, FRAME_INTERPRETED);
	assert_name(child, code + 8, 50, "first owner");
	assert_begins(frame_at(pid, code + 0x200, true, 32).name, "[unknown code, no map: 0x");
	unlink(path);
	child_kill(child);
	child_kill(pid);
	munmap((void *)(uintptr_t)code, 8192);
}

static void files_that_are_no_programs(void **state)
{
	char path[PATH_MAX];
	uint8_t *at;

	(void)state;
	write_file(folder, "heap.core", "not a program, and as long as that\n");
	snprintf(path, sizeof(path), "%s/heap.core", folder);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	names_process(names, getpid(), 10);
	assert_name(getpid(), ADDR(at) + 8, 10, "[not an ELF file: heap.core]");
	assert_true(names_is_jit(names, getpid(), ADDR(at) + 8, 10));
	names_hint(names, getpid(), "sbcl --load x");
	assert_name(getpid(), ADDR(at) + 8, 10, "[no map: sbcl --load x]");
	munmap(at, 4096);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	names_exec(names, getpid(), 20);
	names_process(names, getpid(), 20);
	assert_name(getpid(), ADDR(at) + 8, 20, "[unknown code, no map: heap.core]");
	munmap(at, 4096);
}

static void kernel_functions(void **state)
{
	AUTO_FCLOSE FILE *list = fopen("/proc/kallsyms", "re");
	struct frames f = {};
	unsigned long long addr, wanted = 0;
	char type, name[256];

	(void)state;
	while (list && fscanf(list, "%llx %c %255s%*[^\n]", &addr, &type, name) == 3)
		if (strcmp(name, "vfs_read") == 0)
			wanted = addr;
	names_kernel(names, wanted ? wanted + 9 : 0xffffffff81000000, &f);
	names_kernel(names, 0x1234, &f);
	assert_int_equal(f.v.n, 2);
	assert_int_equal(f.v.v[0].kind, FRAME_KERNEL);
	assert_string_equal(f.v.v[0].module, "kernel");
	assert_string_equal(f.v.v[0].name, wanted ? "vfs_read" : "[kernel hides its symbols: kernel.kptr_restrict]");
	assert_int_equal(f.v.v[0].unnamed, !wanted);
	assert_true(f.v.v[1].unnamed);
	vec_done(&f.v);
}

static void every_end_has_its_words(void **state)
{
	uint64_t f = ADDR(a_function_with_a_name);

	(void)state;
	names_process(names, getpid(), 10);
	assert_null(names_end(names, getpid(), UT_END_START, 0, 10));
	assert_null(names_end(names, getpid(), UT_END_NONE, 0, 10));
	assert_string_equal(names_end(names, getpid(), UT_END_DEPTH, 0, 10), "[truncated]");
	assert_string_equal(names_end(names, getpid(), UT_END_NO_INFO, f, 10), "[no unwind info: runner-sym]");
	assert_string_equal(names_end(names, getpid(), UT_END_STACK, f, 10), "[stack not resident]");
	assert_string_equal(names_end(names, getpid(), UT_END_NO_MAPPING, 0x123456, 10),
			    "[unknown code, no map: 0x120000]");
	assert_string_equal(names_end(names, getpid(), UT_END_NO_MAPPING, f, 10),
			    "[not known yet when sampled: runner-sym]");
	for (unsigned end = UT_END_DEPTH; end < 20; end++) {
		const char *text = names_end(names, getpid(), end, f, 10);

		assert_non_null(text);
		assert_int_equal(text[0], '[');
		assert_int_equal(text[strlen(text) - 1], ']');
		assert_true(names_is_end(text, strlen(text)));
	}
	assert_false(names_is_end("[GC]", 4) || names_is_end("main", 4) || names_is_end("[idle]", 6));
}

static void notes_are_few(void **state)
{
	const char *const *notes;

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		char path[64];
		struct mapping m = {
			.start = 0x10000, .end = 0x20000, .exec = true, .file = { 1, 77 + i }, .path = path
		};

		snprintf(path, sizeof(path), "/nowhere/libfoo-%u.so", i);
		names_mapped(names, 1 << 23, &m, 10 + i);
	}
	assert_true(names_notes(names, &notes) <= 64);
	assert_name(1 << 23, 0x10010, 10, "[file gone: libfoo-0.so]");
	assert_name(1 << 23, 0x10010, 509, "[file gone: libfoo-499.so]");
}

static void functions_of_the_vdso(void **state)
{
	AUTO(mappings_done) struct mappings maps = {};
	bool found = false;

	(void)state;
	names_process(names, getpid(), 10);
	assert_int_equal(mappings_read(getpid(), &maps, NULL), 0);
	for (size_t i = 0; i < maps.maps.n; i++) {
		const struct mapping *m = &maps.maps.v[i];

		if (strcmp(m->path, "[vsyscall]") == 0 && m->exec)
			assert_name(getpid(), m->start + 0x400, 10, "time");
		if (strcmp(m->path, "[vdso]") != 0)
			continue;
		for (uint64_t at = m->start; at < m->end && !found; at += 16)
			found = strstr(frame_at(getpid(), at, true, 10).name, "clock_gettime") != NULL;
		assert_string_equal(frame_at(getpid(), m->start, true, 10).module, "vdso");
		assert_true(found);
	}
}

static size_t open_descriptors(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void files_are_shared_until_they_change(void **state)
{
	uint64_t vaddr = vaddr_of("wait", "work");
	pid_t first, second;
	size_t once;

	(void)state;
	run("cd %s && cp wait shared", folder);
	first = start("shared");
	names_process(names, first, 10);
	once = open_descriptors();
	second = start("shared");
	names_process(names, second, 10);
	names_process(names, second, 20);
	assert_int_equal(open_descriptors(), once);
	assert_name(second, address_in(second, vaddr), 20, "work");
	child_kill(second);
	child_kill(first);
	run("cd %s && cat lazy >shared", folder); /* the same inode */
	second = start("shared");
	names_process(names, second, 30);
	assert_int_equal(open_descriptors(), once + 1);
	assert_name(second, address_in(second, vaddr_of("lazy", "work")), 30, "work");
	child_kill(second);
}

static void run_with_own_mounts(const char *on)
{
	static const char make[] = "cp ../wait whole && objcopy --only-keep-debug whole d && strip -s -o x whole && "
				   "objcopy --add-gnu-debuglink=d x && rm whole";

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", on, "tmpfs", 0, NULL) || chdir(on) || system(make))
		_exit(1);
	execl("x", "x", NULL);
	_exit(1);
}

/* A program and its symbols on a mount that nobody else sees. */
static void mounts_of_its_own_have_symbols(void **state)
{
	char path[PATH_MAX];
	uint64_t work;
	int p[2];
	pid_t pid;
	char c;

	(void)state;
	if (geteuid()) {
		print_message("mounts need root\n");
		skip();
	}
	run("mkdir %s/mount", folder);
	snprintf(path, sizeof(path), "%s/mount", folder);
	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(p[1], 1);
		run_with_own_mounts(path);
	}
	close(p[1]);
	if (read(p[0], &c, 1) != 1) {
		print_message("mounts of one's own are not to be had here\n");
		waitpid(pid, NULL, 0);
		close(p[0]);
		skip();
	}
	close(p[0]);
	work = address_in(pid, vaddr_of("wait", "work"));
	names_process(names, pid, 10);
	child_kill(pid);
	assert_name(pid, work, 10, "work");
}

/* In a root of its own, stripped, with its debugging symbols there. */
static void a_container_has_its_own_symbols(void **state)
{
	uint64_t vaddr;
	char path[PATH_MAX];
	int p[2];
	pid_t pid;
	char c;

	(void)state;
	if (geteuid()) {
		print_message("changing a process's root needs root\n");
		skip();
	}
	run("cd %s && mkdir -p root/bin root/usr/lib/debug/bin && gcc -O2 -g -static -no-pie -o root/whole wait.c && "
	    "objcopy --only-keep-debug root/whole root/usr/lib/debug/bin/x.debug && "
	    "strip -s -o root/bin/x root/whole && "
	    "cd root/usr/lib/debug/bin && objcopy --add-gnu-debuglink=x.debug ../../../../bin/x",
	    folder);
	vaddr = vaddr_of("root/whole", "work");
	run("rm %s/root/whole", folder);
	snprintf(path, sizeof(path), "%s/root", folder);
	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(p[1], 1);
		if (chroot(path) == 0 && chdir("/") == 0)
			execl("/bin/x", "x", NULL);
		_exit(1);
	}
	close(p[1]);
	assert_int_equal(read(p[0], &c, 1), 1);
	close(p[0]);
	names_process(names, pid, 10);
	child_kill(pid);
	assert_name(pid, vaddr, 10, "work");
}

#define WITH_NAMES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT_TESTS(names)
{
	const struct CMUnitTest tests[] = {
		WITH_NAMES(names_its_own_functions),
		WITH_NAMES(what_nobody_knows_has_a_reason),
		WITH_NAMES(addresses_change_their_owner),
		WITH_NAMES(mappings_are_told_one_by_one),
		WITH_NAMES(a_child_is_like_its_parent_until_it_runs_another_program),
		WITH_NAMES(news_may_be_late),
		WITH_NAMES(files_may_be_deleted_or_replaced),
		WITH_NAMES(a_file_that_is_gone_is_the_reason),
		WITH_NAMES(stripped_functions_are_one_frame_each),
		WITH_NAMES(stubs_are_named),
		WITH_NAMES(labels_are_names),
		cmocka_unit_test_setup_teardown(inlined_calls_have_frames_with_lines, setup_lines, teardown),
		WITH_NAMES(signals_return_has_a_name),
		WITH_NAMES(code_without_a_map_has_a_reason),
		WITH_NAMES(code_has_the_owner_of_its_time),
		WITH_NAMES(files_that_are_no_programs),
		WITH_NAMES(kernel_functions),
		WITH_NAMES(every_end_has_its_words),
		WITH_NAMES(notes_are_few),
		WITH_NAMES(functions_of_the_vdso),
		WITH_NAMES(files_are_shared_until_they_change),
		WITH_NAMES(mounts_of_its_own_have_symbols),
		WITH_NAMES(a_container_has_its_own_symbols),
	};

	return unit_run(tests, set_up_folder, tear_down_folder);
}
