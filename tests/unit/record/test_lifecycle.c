/* SPDX-License-Identifier: MIT */
/* The programs on fork, exec and exit: the kernel takes every choice of parts, and each does what it should. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "bpf/lifecycle.h"
#include "kernel/kernel.h"
#include "record/follow.h"
#include "record/lifecycle.h"
#include "record/merge.h"
#include "record/ring.h"
#include "unit.h"
#include "wire/unwind.h"

static struct rings rings;
static int sampled_fd;

static void need_root(void)
{
	if (geteuid() != 0) {
		print_message("attaching needs root\n");
		skip();
	}
}

static void open_maps(void)
{
	struct ut_err err = { 0 };

	if (rings_open(&rings, (unsigned)sysconf(_SC_NPROCESSORS_CONF), 65536, &err))
		fail_msg("%s", err.msg);
	sampled_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "ut_sampled", 4, sizeof(struct ut_unwind_process), 64, NULL);
	assert_true(sampled_fd >= 0);
}

static void close_maps(void)
{
	close(sampled_fd);
	rings_close(&rings);
}

static struct lifecycle_setup setup_of(const struct follow *f)
{
	return (struct lifecycle_setup){
		.ncpus = rings.n,
		.rings_fd = rings.outer_fd,
		.lost_fd = rings.lost_fd,
		.ring_fd = rings_fd(&rings, 0),
		.follow_fd = f ? follow_map_fd(f) : -1,
		.control_fd = f ? follow_control_fd(f) : -1,
		.sampled_fd = -1,
		.multi = kernel_has_uprobe_multi(),
		.verbose = true,
	};
}

static void the_kernel_takes_each_part(void **state)
{
	struct follow *f = NULL;
	struct ut_err err = { 0 };

	(void)state;
	need_root();
	open_maps();
	for (unsigned i = 0; i < 64; i++) {
		struct lifecycle_setup setup;
		struct lifecycle *l = NULL;

		if (i & 1 && follow_open(i & 2, &f, &err))
			fail_msg("%s", err.msg);
		setup = setup_of(f);
		setup.suspend = i & 1 && i & 2;
		setup.children = i & 1 && i & 4;
		setup.records = i & 8;
		setup.targets = i & 1;
		setup.sampled_fd = i & 16 ? sampled_fd : -1;
		setup.sample_children = i & 32;
		if (lifecycle_open(&setup, &l, &err))
			fail_msg("parts %#x: %s", i, err.msg);
		lifecycle_close(l);
		f = follow_close(f);
	}
	close_maps();
}

/* With what a kernel may not tell. */
static void the_kernel_takes_unknown_offsets(void **state)
{
	(void)state;
	need_root();
	open_maps();
	for (unsigned i = 0; i < 16; i++) {
		const struct ut_kernel_offsets at = { .task_tgid = i & 1 ? 1004 : 2000,
						      .task_pid = 1000,
						      .task_exit_code = i & 2 ? 1200 : -1,
						      .task_signal = i & 4 ? 1300 : -1,
						      .signal_live = i & 8 ? 16 : -1,
						      .signal_flags = i & 8 ? 100 : -1 };
		struct lifecycle_setup setup = setup_of(NULL);
		struct lifecycle *l = NULL;
		struct ut_err err = { 0 };

		setup.records = true;
		setup.at = &at;
		if (lifecycle_open(&setup, &l, &err))
			fail_msg("offsets %#x: %s", i, err.msg);
		lifecycle_close(l);
	}
	close_maps();
}

/* A child that waits to be told, then has a child of its own that becomes /bin/true, and exits with 7. */
static pid_t start_family(int *ret_gate)
{
	int gate[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (!pid) {
		close(gate[1]);
		if (read(gate[0], &c, 1) != 1)
			_exit(1);
		pid = fork();
		if (!pid) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		_exit(7);
	}
	close(gate[0]);
	*ret_gate = gate[1];
	return pid;
}

static struct ut_rec_life next_record(struct merge *merge)
{
	const struct merge_item *item;
	unsigned ring;
	uint64_t n = 1;

	item = merge_next(merge, &ring);
	if (!item) {
		while (n)
			assert_int_equal(rings_read(&rings, merge, &n), 0);
		rings_end_watermarks(&rings, merge);
		item = merge_next(merge, &ring);
	}
	assert_non_null(item);
	assert_non_null(item->rec);
	assert_int_equal(item->size, sizeof(struct ut_rec_life));
	assert_int_equal(((const struct ut_rec_event *)item->rec)->site, UT_SITE_LIFE);
	return *(const struct ut_rec_life *)item->rec;
}

/* A family whose records come with nobody else's between them, and what is sampled of it. */
static void records_of_a_family(void **state)
{
	const struct ut_unwind_process known = { .n = 5, .flags = UT_PROCESS_KNOWN, .stamp = 3 };
	struct ut_unwind_process got;
	struct lifecycle_setup setup;
	struct lifecycle *l = NULL;
	struct follow *f = NULL;
	struct merge *merge;
	struct ut_rec_life r;
	struct ut_err err = { 0 };
	uint32_t key, child;
	int gate;
	pid_t pid;

	(void)state;
	need_root();
	open_maps();
	merge = merge_new(rings.n);
	if (follow_open(false, &f, &err))
		fail_msg("%s", err.msg);
	setup = setup_of(f);
	setup.records = setup.targets = setup.children = setup.sample_children = true;
	setup.sampled_fd = sampled_fd;
	if (lifecycle_open(&setup, &l, &err))
		fail_msg("%s", err.msg);
	pid = start_family(&gate);
	key = (uint32_t)pid;
	assert_int_equal(follow_add(f, pid, &err), 0);
	assert_int_equal(bpf_map_update_elem(sampled_fd, &key, &known, BPF_ANY), 0);
	assert_int_equal(write(gate, "g", 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(gate);
	lifecycle_stop(l);
	assert_int_equal(lifecycle_missed(l), 0);

	r = next_record(merge);
	assert_int_equal(r.what, UT_LIFE_FORK);
	assert_int_equal(r.head.pid, pid);
	assert_int_equal(r.head.tid, pid);
	assert_int_equal(r.uid, getuid());
	child = r.other;
	assert_true(follow_contains(f, (pid_t)child));
	r = next_record(merge);
	assert_int_equal(r.what, UT_LIFE_EXEC);
	assert_int_equal(r.head.pid, child);
	assert_string_equal(r.head.comm, "true");
	r = next_record(merge);
	assert_int_equal(r.what, UT_LIFE_EXIT);
	assert_int_equal(r.head.pid, child);
	assert_int_equal(r.other, UT_EXIT_LAST | UT_EXIT_CODE_KNOWN | UT_EXIT_GROUP);
	assert_int_equal(r.code, 0);
	r = next_record(merge);
	assert_int_equal(r.what, UT_LIFE_EXIT);
	assert_int_equal(r.head.pid, pid);
	assert_int_equal(r.other, UT_EXIT_LAST | UT_EXIT_CODE_KNOWN | UT_EXIT_GROUP);
	assert_int_equal(r.code, 7 << 8);
	assert_true(bpf_map_lookup_elem(sampled_fd, &key, &got) == -ENOENT);
	assert_true(bpf_map_lookup_elem(sampled_fd, &child, &got) == -ENOENT);
	lifecycle_close(l);
	follow_close(f);
	merge_free(merge);
	close_maps();
}

/* Suspended at its exec, what was known of its memory is void; continued it ends. */
static void a_process_is_held(void **state)
{
	const struct ut_unwind_process known = { .n = 5, .flags = UT_PROCESS_KNOWN, .stamp = 3 };
	struct ut_unwind_process got;
	struct lifecycle_setup setup;
	struct lifecycle *l = NULL;
	struct follow *f = NULL;
	struct ut_err err = { 0 };
	int gate, status;
	pid_t pid, suspended;

	(void)state;
	need_root();
	open_maps();
	if (follow_open(true, &f, &err))
		fail_msg("%s", err.msg);
	setup = setup_of(f);
	setup.suspend = setup.children = setup.sample_children = true;
	setup.sampled_fd = sampled_fd;
	if (lifecycle_open(&setup, &l, &err))
		fail_msg("%s", err.msg);
	pid = start_family(&gate);
	assert_int_equal(follow_add(f, pid, &err), 0);
	assert_int_equal(bpf_map_update_elem(sampled_fd, &(uint32_t){ (uint32_t)pid }, &known, BPF_ANY), 0);
	assert_int_equal(write(gate, "g", 1), 1);
	while (!(suspended = follow_next_suspended(f)))
		assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_int_not_equal(suspended, pid);
	assert_int_equal(bpf_map_lookup_elem(sampled_fd, &suspended, &got), 0);
	assert_int_equal(got.n, 0);
	assert_int_equal(got.flags, 0);
	assert_int_equal(got.stamp, 3 + (1u << 24));
	lifecycle_stop(l);
	follow_continue(suspended);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 7 << 8);
	close(gate);
	follow_close(f);
	lifecycle_close(l);
	close_maps();
}

UNIT_TESTS(lifecycle)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_takes_each_part),
		cmocka_unit_test(the_kernel_takes_unknown_offsets),
		cmocka_unit_test(records_of_a_family),
		cmocka_unit_test(a_process_is_held),
	};

	return unit_run(tests, NULL, NULL);
}
