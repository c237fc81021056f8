/* SPDX-License-Identifier: MIT */
/* The programs of user events: the kernel takes every one with every option, and the header's does what it should. */
#include <errno.h>
#include <sys/mman.h>

#include "probe_fire.h"

#include "gen/gen_user.h"
#include "usertrace.h"
#include "unit.h"

/* As on x86-64: the common fields, the number of the call, then a word for each argument. */
static const struct gen_prctl prctl_args = { .option = 16, .arg = { 24, 32, 40, 48 } };

enum lane { HEADER, PRCTL };

static int make(enum lane lane, const struct gen_options *options, struct gen_snippet *ret, struct ut_err *err)
{
	return gen_user_snippet(lane == HEADER ? NULL : &prctl_args, options, ret, err);
}

static int fds[GEN_MAPS];
static struct rings rings;

static void open_maps(void)
{
	struct ut_err err = { 0 };

	if (rings_open(&rings, recorder_cpus(), 65536, &err))
		fail_msg("%s", err.msg);
	for (int i = 0; i < GEN_MAPS; i++)
		fds[i] = -1;
	fds[GEN_MAP_RINGS] = rings.outer_fd;
	fds[GEN_MAP_LOST] = rings.lost_fd;
	fds[GEN_MAP_FOLLOW] = bpf_map_create(BPF_MAP_TYPE_HASH, "follow", 4, 4, 16, NULL);
	fds[GEN_MAP_THROTTLED] = kernel_throttled_map(sizeof(struct ut_throttled));
	assert_true(fds[GEN_MAP_FOLLOW] >= 0 && fds[GEN_MAP_THROTTLED] >= 0);
}

static void close_maps(void)
{
	close(fds[GEN_MAP_FOLLOW]);
	close(fds[GEN_MAP_THROTTLED]);
	rings_close(&rings);
}

static void load(enum lane lane, const struct gen_options *options)
{
	struct kernel_prog prog = { .type = lane == HEADER ? BPF_PROG_TYPE_KPROBE : BPF_PROG_TYPE_TRACEPOINT };
	const uint32_t numbers[] = { 0 };
	const struct gen_snippet *bodies[1];
	struct asm_buf code = { 0 };
	AUTO_FREE char *log = NULL;
	struct gen_snippet body;
	struct ut_err err = { 0 };
	int fd;

	if (make(lane, options, &body, &err))
		fail_msg("%s", err.msg);
	assert_false(body.sleeps);
	bodies[0] = &body;
	if (gen_program(bodies, numbers, 1, options, &code, &err) || gen_relocate(&code, fds))
		fail_msg("%s", err.msg);
	prog.insns = code.insns.v;
	prog.n = code.insns.n;
	prog.sleepable = body.sleeps;
	prog.multi = lane == HEADER && kernel_has_uprobe_multi();
	fd = kernel_prog_load(&prog, &log, &err);
	if (fd < 0)
		fail_msg("lane %d, sleep %d, filter %d, wake %u, fair %u: %s\n%s", lane, options->may_sleep,
			 options->filter, options->wake_bytes, options->fair_bytes, err.msg,
			 log && strlen(log) > 3000 ? log + strlen(log) - 3000
			 : log			   ? log
						   : "");
	close(fd);
	asm_done(&code);
	gen_snippet_done(&body);
}

static void each_option(enum lane lane)
{
	for (unsigned i = 0; i < 8; i++)
		for (enum gen_filter filter = GEN_FILTER_NONE; filter <= GEN_FILTER_NOT_SELF; filter++) {
			struct gen_options o = recorder_options(64);

			o.may_sleep = i & 1 && lane == HEADER;
			o.wake_bytes = i & 2 ? 16384 : 0;
			o.fair_bytes = i & 4 ? GEN_FAIR_FROM(65536) : 0;
			o.filter = filter;
			o.self_tgid = getpid();
			load(lane, &o);
		}
}

static void the_kernel_takes_both_lanes(void **state)
{
	(void)state;
	need_root();
	open_maps();
	each_option(HEADER);
	each_option(PRCTL);
	close_maps();
}

/* The largest buffers: numbers of them are 32 bits with a sign in the instructions. */
static void the_kernel_takes_large_buffers(void **state)
{
	struct gen_options o = recorder_options(64);

	(void)state;
	need_root();
	open_maps();
	o.wake_bytes = 1u << 29;
	o.fair_bytes = GEN_FAIR_FROM(1u << 30);
	load(HEADER, &o);
	close_maps();
}

/* What the header's program made of registers with these values. */
static const struct ut_rec_user_long *fire(struct recorder *r, uint32_t what, const void *name, const void *text)
{
	const struct merge_item *item;

	fire_before[X86_RDI] = 0xdead000000000000 | what; /* the upper half is nobody's */
	fire_before[X86_RSI] = (uintptr_t)name;
	fire_before[X86_RDX] = (uint64_t)-5;
	fire_before[X86_RCX] = 77;
	fire_before[X86_R8] = (uintptr_t)text;
	fire_nop1();
	item = recorder_next(r);
	assert_non_null(item);
	assert_non_null(item->rec);
	assert_int_equal(item->size,
			 text || ((const struct ut_rec_user *)(const void *)item->rec)->name_len > UT_NAME_SHORT
				 ? sizeof(struct ut_rec_user_long)
				 : sizeof(struct ut_rec_user));
	return (const void *)item->rec;
}

static const char *letters(size_t n)
{
	static char room[512];

	for (size_t i = 0; i < n; i++)
		room[i] = (char)('a' + i % 26);
	room[n] = '\0';
	return room;
}

/* Of @n bytes with their NUL, of which one more than @room is read. Older kernels give 0 for an empty text. */
static void assert_length(int32_t got, size_t n, size_t room)
{
	if (n || got)
		assert_int_equal(got, n > room ? room + 1 : n + 1);
}

static void attach(struct recorder *r, struct gen_snippet *body, bool may_sleep)
{
	struct gen_options o = recorder_options(64);
	struct ut_err err = { 0 };

	recorder_open(r, 65536);
	o.may_sleep = may_sleep;
	if (gen_user_snippet(NULL, &o, body, &err))
		fail_msg("%s", err.msg);
	recorder_attach(r, body, fire_nop1_site, 3, &o);
}

static void records_of_the_header(void **state)
{
	static const size_t lengths[] = { 0, 1, 7, 8, 30, 31, 32, 33, 126, 127, 128, 300 };
	const struct ut_rec_user_long *l;
	struct gen_snippet body;
	struct recorder r;

	(void)state;
	need_root();
	attach(&r, &body, true);
	fire_before[X86_RSP] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t n = lengths[i], kept = n < UT_NAME_MAX ? n : UT_NAME_MAX;

		l = fire(&r, UT_MARK, letters(n), NULL);
		assert_length(l->user.name_len, n, 128);
		assert_memory_equal(l->user.name, letters(n), kept);
		l = fire(&r, UT_MARK | UT_TEXT, "name", letters(n));
		assert_length(l->user.text_len, n, 256);
		assert_memory_equal(l->text, letters(n), n < 256 ? n : 256);
		assert_string_equal(l->user.name, "name");
	}
	l = fire(&r, UT_COUNT, NULL, NULL);
	assert_true(l->user.name_len < 0 && !l->user.name_addr && !l->user.text_addr);
	assert_int_equal(l->user.what, UT_COUNT);
	assert_int_equal(l->user.value, -5);
	assert_int_equal(l->user.id, 77);
	assert_int_equal(l->user.head.pid, getpid());
	assert_int_equal(l->user.head.site, 3);
	l = fire(&r, 0, (void *)0x1234, (void *)0x5678);
	assert_true(l->user.name_len < 0 && l->user.name_addr == 0x1234);
	assert_true(l->user.text_len < 0 && l->user.text_addr == 0x5678);
	assert_true(l->user.what != 0); /* which would be the string form of prctl */
	l = fire(&r, UINT32_MAX, "x", NULL);
	assert_int_equal(l->user.what, UINT32_MAX);
	gen_snippet_done(&body);
	recorder_close(&r);
}

/* A file's page that nobody has touched: nobody waits for it, and the address is handed on. */
static void pages_that_are_not_there(void **state)
{
	char path[] = "/tmp/usertrace-test-XXXXXX";
	AUTO_CLOSE int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, 4 << 20), 0);
	assert_int_equal(pwrite(fd, "far away", 9, 1 << 20), 9);
	assert_int_equal(pwrite(fd, "over two pages", 15, (2 << 20) - 4), 15);
	need_root();
	for (int may_sleep = 0; may_sleep < 2; may_sleep++) { /* what others may do */
		char *map = mmap(NULL, 4 << 20, PROT_READ, MAP_SHARED, fd, 0);
		const struct ut_rec_user_long *l;
		struct gen_snippet body;
		struct recorder r;

		assert_true(map != MAP_FAILED);
		attach(&r, &body, may_sleep);
		l = fire(&r, UT_MARK, map + (1 << 20), NULL);
		assert_int_equal(l->user.name_len, -EFAULT);
		assert_ptr_equal(l->user.name_addr, map + (1 << 20));
		l = fire(&r, UT_MARK | UT_TEXT, "x", map + (2 << 20) - 4);
		assert_int_equal(l->user.text_len, -EFAULT);
		assert_ptr_equal(l->user.text_addr, map + (2 << 20) - 4);
		gen_snippet_done(&body);
		recorder_close(&r);
		munmap(map, 4 << 20);
	}
}

/* One process at a nearly full ring may write its share, then is refused, and each refusal is counted twice. */
static void a_process_that_floods(void **state)
{
	struct gen_options o = recorder_options(64);
	struct ut_throttled account = { 0 };
	struct gen_snippet body;
	struct recorder r;
	struct ut_err err = { 0 };
	const int n = 2000;
	uint32_t pid = (uint32_t)getpid();
	uint64_t seen = 0, lost = 0;
	unsigned ring;

	(void)state;
	need_root();
	recorder_open(&r, 65536);
	r.fds[GEN_MAP_THROTTLED] = kernel_throttled_map(sizeof(account));
	assert_true(r.fds[GEN_MAP_THROTTLED] >= 0);
	o.fair_bytes = GEN_FAIR_FROM(65536);
	if (gen_user_snippet(NULL, &o, &body, &err))
		fail_msg("%s", err.msg);
	recorder_attach(&r, &body, fire_nop1_site, 0, &o);
	fire_before[X86_RDI] = UT_MARK;
	fire_before[X86_RSI] = (uintptr_t) "flood";
	fire_before[X86_R8] = 0;
	for (int i = 0; i < n; i++)
		fire_nop1();
	recorder_detach(&r);
	assert_int_equal(bpf_map_lookup_elem(r.fds[GEN_MAP_THROTTLED], &pid, &account), 0);
	assert_int_equal(account.throttled, rings_throttled(&r.rings));
	assert_true(account.throttled > 100);
	for (uint64_t k = 1; k;)
		assert_int_equal(rings_read(&r.rings, r.merge, &k), 0);
	rings_end_watermarks(&r.rings, r.merge);
	for (const struct merge_item *item; (item = merge_next(r.merge, &ring));)
		item->rec ? seen++ : (lost += item->lost);
	assert_int_equal(seen + lost + account.throttled, n);
	close(r.fds[GEN_MAP_THROTTLED]);
	gen_snippet_done(&body);
	recorder_close(&r);
}

UNIT_TESTS(gen_user)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_takes_both_lanes), cmocka_unit_test(the_kernel_takes_large_buffers),
		cmocka_unit_test(records_of_the_header),       cmocka_unit_test(pages_that_are_not_there),
		cmocka_unit_test(a_process_that_floods),
	};

	return unit_run(tests, NULL, NULL);
}
