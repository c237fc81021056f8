/* SPDX-License-Identifier: MIT */
/* Names of addresses: of this process, of children that have ended, of the kernel; and of C++ and Rust symbols. */
#include <dlfcn.h>
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
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/process.h"
#include "sym/kallsyms.h"
#include "elf/demangle.h"
#include "sym/names.h"
#include "proc/vdso.h"
#include "child.h"
#include "unit.h"

#define ADDR(p) ((uint64_t)(uintptr_t)(p))

__attribute__((noinline, used)) static int a_function_with_a_name(int x)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
	return x + 1;
}

static struct names *names;

static int setup(void **state)
{
	(void)state;
	names = names_new(&(struct names_options){ .live = true });
	return names ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	assert_null(names_free(names));
	return 0;
}

static void note_process(pid_t pid) { names_process(names, pid, monotonic_ns()); }
static void forget_process(pid_t pid) { names_exit(names, pid, monotonic_ns()); }

static char *name_of(pid_t pid, uint64_t addr, bool is_return)
{
	struct frames frames = { 0 };
	struct buf b = { 0 };

	names_user(names, pid, addr, !is_return, monotonic_ns(), &frames);
	assert_int_equal(frames.v.n, 1);
	frame_format(&frames.v.v[0], addr, is_return && addr, &b);
	vec_done(&frames.v);
	return buf_take(&b);
}

static void assert_name(pid_t pid, uint64_t addr, bool is_return, const char *expected)
{
	AUTO_FREE char *name = name_of(pid, addr, is_return);

	assert_string_equal(name, expected);
}

static void assert_number(pid_t pid, uint64_t addr, const char *behind)
{
	char expected[96];

	snprintf(expected, sizeof(expected), "0x%llx%s", (unsigned long long)addr, behind);
	assert_name(pid, addr, false, expected);
}

static void names_its_own_functions(void **state)
{
	AUTO_FREE char *before = NULL;
	uint64_t f = ADDR(a_function_with_a_name);

	(void)state;
	note_process(getpid());
	assert_name(getpid(), f, false, "a_function_with_a_name+0x0 (runner-sym)");
	assert_name(getpid(), f + 5, false, "a_function_with_a_name+0x5 (runner-sym)");
	assert_name(getpid(), f + 5, true, "a_function_with_a_name+0x5 (runner-sym)");
	before = name_of(getpid(), f, true); /* the call before the first instruction is none of it */
	assert_null(strstr(before, "a_function_with_a_name+"));
}

static void names_functions_of_libraries(void **state)
{
	AUTO_FREE char *name = NULL;

	(void)state;
	note_process(getpid());
	name = name_of(getpid(), ADDR(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")) + 3, false);
	assert_memory_equal(name, "gnu_get_libc_version+0x3 (libc.so", 33);
}

static void names_functions_of_the_vdso(void **state)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	struct elf_image *img = vdso_open();
	struct elf_symbol f;
	AUTO_FREE char *name = NULL;

	(void)state;
	if (!base || !img) {
		print_message("no vdso here\n");
		skip();
	}
	assert_int_equal(elf_symbol_find(img, "__vdso_gettimeofday", &f), 1);
	note_process(getpid());
	name = name_of(getpid(), base + f.vaddr + 4, true);
	assert_non_null(strstr(name, "gettimeofday+0x4 (vdso)"));
	elf_image_free(img);
}

static void addresses_without_a_name_are_numbers(void **state)
{
	void *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_number(getpid(), 0x1234, " [process not known]"); /* nobody noted this process */
	note_process(getpid());
	assert_number(getpid(), 0, " [no mapping known]");
	assert_number(getpid(), 0x1234, " [no mapping known]");
	assert_number(getpid(), UINT64_MAX, " [no mapping known]");
	assert_number(getpid(), ADDR(data), " [no mapping known]");
	assert_name(getpid(), 0, true, "0x0 [no mapping known]");
	forget_process(getpid());
	forget_process(getpid());
	assert_number(getpid(), ADDR(a_function_with_a_name), " [process not known]");
	munmap(data, 4096);
}

static void run_time_code_is_told_apart(void **state)
{
	uint8_t *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("jit", MFD_CLOEXEC);
	uint8_t *shared;
	char why[64];

	(void)state;
	assert_return_code(ftruncate(fd, 4096), errno);
	shared = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_true(code != MAP_FAILED && shared != MAP_FAILED);
	note_process(getpid());
	snprintf(why, sizeof(why), " [unknown code, no map: 0x%llx]", (unsigned long long)ADDR(code));
	assert_number(getpid(), ADDR(code) + 100, why);
	assert_number(getpid(), ADDR(shared) + 7, " [unknown code, no map: memfd:jit]");
	munmap(code, 8192);
	note_process(getpid());
	assert_number(getpid(), ADDR(code) + 100, " [no mapping known]");
	munmap(shared, 4096);
	close(fd);
}

/* Dead, but not waited for: it has a list of mappings, and nothing in it. */
static void kill_child(pid_t pid)
{
	siginfo_t info;

	kill(pid, SIGKILL);
	assert_return_code(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), errno);
}

static void names_are_there_after_the_process_has_ended(void **state)
{
	pid_t pid = child_program(NULL, CHILD_RUNS);

	(void)state;
	note_process(pid);
	kill_child(pid);
	note_process(pid); /* too late: what is known stays */
	assert_name(pid, ADDR(a_function_with_a_name) + 2, false, "a_function_with_a_name+0x2 (runner-sym)");
	child_kill(pid);
	note_process(pid); /* too late: what is known stays */
	assert_name(pid, ADDR(a_function_with_a_name) + 2, false, "a_function_with_a_name+0x2 (runner-sym)");
	forget_process(pid);
	assert_number(pid, ADDR(a_function_with_a_name) + 2, " [process not known]");
}

/* Deleted before anything but its headers is read. */
static void names_are_there_when_the_file_is_gone(void **state)
{
	char folder[] = "/tmp/ut-test-XXXXXX", path[64], command[128];
	struct mapped_files files = { 0 };
	AUTO_FREE char *name = NULL;
	const struct mapping *m;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/gone\x1b", folder);
	snprintf(command, sizeof(command), "cp /bin/sleep '%s'", path);
	assert_int_equal(system(command), 0);
	pid = child_program(path, CHILD_RUNS);
	note_process(pid);
	assert_return_code(unlink(path), errno);
	assert_return_code(rmdir(folder), errno);
	assert_int_equal(mapped_files_read(pid, &files, NULL), 0);
	m = &files.files.v[0].first;
	assert_true(files.files.v[0].is_program);
	name = name_of(pid, m->start + 0x10, false);
	assert_non_null(strstr(name, ": gone\x1b")); /* whoever prints it escapes it */
	child_kill(pid);
	mapped_files_done(&files);
}

static size_t open_descriptors(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void files_are_opened_once_and_closed_in_the_end(void **state)
{
	size_t before = open_descriptors(), watch = 1, once; /* names watch code maps by a descriptor */
	pid_t pid;

	(void)state;
	note_process(getpid());
	once = open_descriptors();
	assert_true(once > before);
	pid = child_program(NULL, CHILD_RUNS);
	note_process(pid);
	note_process(pid);
	note_process(getpid());
	assert_int_equal(open_descriptors(), once); /* the same files */
	child_kill(pid);
	forget_process(getpid());
	assert_name(pid, ADDR(a_function_with_a_name), false, "a_function_with_a_name+0x0 (runner-sym)");
	forget_process(pid);
	names_free(names);
	assert_int_equal(open_descriptors(), before - watch);
	names = names_new(&(struct names_options){ .live = true });
}

/* Another program at the same addresses, and another process of the same number: neither has the old one's names. */
static void names_are_of_a_program_and_not_of_a_number(void **state)
{
	uint64_t f = ADDR(a_function_with_a_name), before_ns;
	struct frames frames = { 0 };

	(void)state;
	note_process(getpid());
	before_ns = monotonic_ns();
	assert_name(getpid(), f, false, "a_function_with_a_name+0x0 (runner-sym)");
	names_exec(names, getpid(), before_ns + 1);
	assert_false(names_has_process(names, getpid()));
	names_user(names, getpid(), f, true, before_ns, &frames);
	assert_string_equal(frames.v.v[0].name,
			    "[process not known]"); /* given back: no event of it can come any more */
	note_process(getpid());
	assert_true(names_has_process(names, getpid()));
	assert_name(getpid(), f, false, "a_function_with_a_name+0x0 (runner-sym)");
	names_exit(names, getpid(), monotonic_ns());
	assert_number(getpid(), f, " [process not known]");
	vec_done(&frames.v);
}

/* A child that was never looked at has what its parent had, and keeps the parent's code after that has ended. */
static void a_child_has_what_its_parent_had(void **state)
{
	enum { CHILD = 4000001, GRANDCHILD };
	uint64_t f = ADDR(a_function_with_a_name);
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	note_process(getpid());
	assert_true(names_has_jit(names, getpid()));
	names_fork(names, getpid(), CHILD, monotonic_ns());
	names_fork(names, CHILD, GRANDCHILD, monotonic_ns());
	names_fork(names, 4000003, 4000004, monotonic_ns()); /* nobody of whom anything is known */
	names_exit(names, getpid(), monotonic_ns());
	names_exit(names, CHILD, monotonic_ns());
	assert_name(GRANDCHILD, f + 1, false, "a_function_with_a_name+0x1 (runner-sym)");
	assert_number(CHILD, f, " [process not known]");
	assert_number(4000004, f, " [process not known]");
	names_exit(names, GRANDCHILD, monotonic_ns());
	assert_number(GRANDCHILD, f, " [process not known]");
	munmap(code, 4096);
}

static int text_file(const char *text)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void reads_lists_of_kernel_functions(void **state)
{
	AUTO_CLOSE int fd =
		text_file("ffffffff81000000 T _stext\nffffffff81002000 t late\nffffffff81001ff0 t __pfx_late\n"
			  "ffffffff81001000 T early\nffffffff81001000 W alias\nffffffff81003000 D data\nnonsense\n"
			  "ffffffffc0000000 t in_module\t[ext4]\nffffffffc0000100 t also\t[ext4]\nffffffffc0001000 t "
			  "other\t[xfs]\n"
			  "ffffffffc0002000 t \nffffffffc0003000 T cut");
	struct kallsyms k = { 0 };
	const struct kernel_function *f;

	(void)state;
	assert_int_equal(kallsyms_read(fd, &k), 0);
	assert_int_equal(k.n, 7);
	f = kallsyms_find(&k, 0xffffffff81001fff);
	assert_string_equal(k.strings + f->name, "early");
	assert_int_equal(f->module, 0);
	assert_string_equal(k.strings + kallsyms_find(&k, 0xffffffff81002000)->name, "late");
	f = kallsyms_find(&k, 0xffffffffc0000123);
	assert_string_equal(k.strings + f->name, "also");
	assert_string_equal(k.strings + f->module, "[ext4]");
	assert_string_equal(k.strings + kallsyms_find(&k, 0xffffffffc0001000)->module, "[xfs]");
	assert_null(kallsyms_find(&k, 0xffffffff80ffffff));
	assert_null(kallsyms_find(&k, 0x7f0000000000));
	assert_null(kallsyms_find(&k, 0xffffffffff600000)); /* far from any function */
	kallsyms_done(&k);
}

static void a_hidden_list_is_an_empty_one(void **state)
{
	AUTO_CLOSE int fd = text_file("0000000000000000 T _stext\n0000000000000000 t vfs_read\n");
	struct kallsyms k = { 0 };

	(void)state;
	assert_int_equal(kallsyms_read(fd, &k), 0);
	assert_int_equal(k.n, 0);
	assert_null(kallsyms_find(&k, 0xffffffff81000000));
	kallsyms_done(&k);
}

/* What the kernel's list says of a function, read by other means. */
static uint64_t address_in_kallsyms(const char *wanted)
{
	AUTO_FCLOSE FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long addr;
	char type, name[256];

	while (f && fscanf(f, "%llx %c %255s%*[^\n]", &addr, &type, name) == 3)
		if (strcmp(name, wanted) == 0)
			return addr;
	return 0;
}

static void names_functions_of_the_running_kernel(void **state)
{
	uint64_t addr = address_in_kallsyms("vfs_read");
	struct frames frames = { 0 };
	struct buf b = { 0 };

	(void)state;
	if (!addr) {
		print_message("the kernel hides its list of functions from this user\n");
		skip();
	}
	names_kernel(names, addr + 0x9c, &frames);
	frame_format(&frames.v.v[0], addr + 0x9c, 0, &b);
	assert_string_equal(b.data, "vfs_read+0x9c");
	buf_reset(&b);
	names_kernel(names, 0x1234, &frames);
	frame_format(&frames.v.v[1], 0x1234, 0, &b);
	assert_string_equal(b.data, "0x1234 [no symbols: kernel]");
	buf_done(&b);
	vec_done(&frames.v);
}

/* A library that is loaded after the mappings were read. */
static void names_what_is_loaded_later(void **state)
{
	void *handle;
	AUTO_FREE char *name = NULL;

	(void)state;
	note_process(getpid());
	handle = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	if (!handle || !dlsym(handle, "cbrt")) {
		print_message("libm.so.6 cannot be loaded: %s\n", dlerror());
		skip();
	}
	name = name_of(getpid(), (uintptr_t)dlsym(handle, "cbrt"), false);
	assert_non_null(strstr(name, "cbrt+0x0"));
	dlclose(handle);
}

static void assert_demangled(const char *name, const char *expected)
{
	struct buf b = { 0 };

	buf_adds(&b, ">");
	elf_demangle(name, &b);
	assert_string_equal(b.data + 1, expected);
	assert_int_equal(b.data[0], '>');
	buf_done(&b);
}

static void demangles_cpp_and_rust(void **state)
{
	(void)state;
	assert_demangled("_ZN2v88internal4Heap24PerformGarbageCollectionENS0_16GarbageCollectorE",
			 "v8::internal::Heap::PerformGarbageCollection");
	assert_demangled("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back");
	assert_demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	assert_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	assert_demangled("main", "main");
	assert_demangled("_Znonsense", "_Znonsense");
	assert_demangled("_Z", "_Z");
	assert_demangled("", "");
	assert_demangled("a\x1b[31m\n", "a\\x1b[31m\\n");
}

/* Forty steps of g<X, X>: a terabyte of text if it were printed. */
static void endless_names_stay_as_they_are(void **state)
{
	struct buf b = { 0 };
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	(void)state;
	buf_adds(&b, "_Z1fI1a1gIS0_S0_E");
	for (int i = 2; i < 36; i++)
		buf_addf(&b, "S1_IS%c_S%c_E", digits[i], digits[i]);
	buf_adds(&b, "Evv");
	assert_demangled(b.data, b.data);
	buf_reset(&b);
	buf_adds(&b, "_ZN");
	buf_fill(&b, 'P', 100000);
	assert_demangled(b.data, b.data);
	buf_done(&b);
}

#define WITH_SYM(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT_TESTS(sym)
{
	const struct CMUnitTest tests[] = {
		WITH_SYM(names_its_own_functions),
		WITH_SYM(names_functions_of_libraries),
		WITH_SYM(names_functions_of_the_vdso),
		WITH_SYM(addresses_without_a_name_are_numbers),
		WITH_SYM(run_time_code_is_told_apart),
		WITH_SYM(names_are_there_after_the_process_has_ended),
		WITH_SYM(names_are_there_when_the_file_is_gone),
		WITH_SYM(files_are_opened_once_and_closed_in_the_end),
		WITH_SYM(names_what_is_loaded_later),
		WITH_SYM(names_are_of_a_program_and_not_of_a_number),
		WITH_SYM(a_child_has_what_its_parent_had),
		cmocka_unit_test(reads_lists_of_kernel_functions),
		cmocka_unit_test(a_hidden_list_is_an_empty_one),
		WITH_SYM(names_functions_of_the_running_kernel),
		cmocka_unit_test(demangles_cpp_and_rust),
		cmocka_unit_test(endless_names_stay_as_they_are),
	};

	return unit_run(tests, NULL, NULL);
}
