/* SPDX-License-Identifier: MIT */
/* The programs on signal handlers: the kernel takes them with every option, and they tell which handler ends. */
#include "probe_fire.h"

#include <signal.h>

#include "gen/gen_user.h"
#include "plan/event.h"
#include "proc/tracefs.h"
#include "record/follow.h"
#include "record/signals.h"
#include "unit.h"
#include "usertrace.h"

static struct plan_signals find_events(void)
{
	AUTO_CLOSE int tracefs = tracefs_open(NULL);
	struct plan_signals ret = { 0 };
	struct tracepoint tp = { 0 };
	struct ut_err err = { 0 };

	if (event_read(tracefs, "signal", "signal_deliver", &tp, &err))
		fail_msg("%s", err.msg);
	ret.deliver = tp.id;
	ret.number = event_field(&tp, "sig")->offset;
	ret.code = event_field(&tp, "code")->offset;
	ret.handler = event_field(&tp, "sa_handler")->offset;
	tracepoint_done(&tp);
	if (event_read(tracefs, "syscalls", "sys_enter_rt_sigreturn", &tp, &err))
		fail_msg("%s", err.msg);
	ret.sigreturn = tp.id;
	tracepoint_done(&tp);
	return ret;
}

static struct signals *open_signals(struct recorder *r, const struct gen_options *o, bool targets, int follow_fd)
{
	const struct plan_signals events = find_events();
	const struct signals_setup setup = {
		.events = &events,
		.options = o,
		.targets = targets,
		.rings_fd = r->rings.outer_fd,
		.lost_fd = r->rings.lost_fd,
		.throttled_fd = r->fds[GEN_MAP_THROTTLED],
		.follow_fd = follow_fd,
		.verbose = true,
	};
	struct signals *ret = NULL;
	struct ut_err err = { 0 };

	if (signals_open(&setup, &ret, &err))
		fail_msg("%s", err.msg);
	return ret;
}

static void open_recorder(struct recorder *r)
{
	recorder_open(r, 65536);
	r->fds[GEN_MAP_THROTTLED] = kernel_throttled_map(sizeof(struct ut_throttled));
	assert_true(r->fds[GEN_MAP_THROTTLED] >= 0);
}

static void close_recorder(struct recorder *r)
{
	close(r->fds[GEN_MAP_THROTTLED]);
	recorder_close(r);
}

static void the_kernel_takes_every_option(void **state)
{
	struct recorder r;

	(void)state;
	need_root();
	open_recorder(&r);
	for (unsigned i = 0; i < 8; i++) {
		struct gen_options o = recorder_options(64);

		o.wake_bytes = i & 1 ? 16384 : 0;
		o.fair_bytes = i & 2 ? GEN_FAIR_FROM(65536) : 0;
		o.self_tgid = getpid();
		signals_close(open_signals(&r, &o, i & 4, r.fds[GEN_MAP_FOLLOW]));
	}
	close_recorder(&r);
}

static int depth;

static void on_signal(int number)
{
	if (number == SIGUSR1 && depth++ < 3)
		raise(SIGUSR2);
	if (number == SIGUSR2)
		raise(SIGWINCH);
}

static void assert_event(struct recorder *r, uint32_t what, int number)
{
	const struct ut_rec_user *u = (const void *)recorder_event(r);

	assert_int_equal(u->head.site, UT_SITE_SIGNAL);
	assert_int_equal(u->head.pid, getpid());
	assert_int_equal(u->what, what);
	assert_int_equal(u->id, number);
	assert_int_equal(u->value, what == UT_BEGIN ? SI_TKILL : 0);
	assert_int_equal(u->name_len, 1);
	assert_int_equal(u->name[0], 0);
	assert_true(!u->name_addr && !u->text_addr && !u->text_len);
	assert_int_equal(u->uid, getuid());
}

/* Handlers inside handlers; those of nobody in the set are not there. */
static void handlers_in_handlers(void **state)
{
	struct gen_options o = recorder_options(64);
	const struct sigaction action = { .sa_handler = on_signal };
	struct signals *s;
	struct recorder r;
	uint32_t self = (uint32_t)getpid(), one = 1;

	(void)state;
	need_root();
	open_recorder(&r);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
	assert_int_equal(sigaction(SIGWINCH, &action, NULL), 0);
	s = open_signals(&r, &o, true, r.fds[GEN_MAP_FOLLOW]);
	raise(SIGUSR1);
	assert_int_equal(bpf_map_update_elem(r.fds[GEN_MAP_FOLLOW], &self, &one, BPF_ANY), 0);
	raise(SIGUSR1);
	signals_stop(s);
	raise(SIGUSR1);
	assert_int_equal(signals_missed(s), 0);
	assert_event(&r, UT_BEGIN, SIGUSR1);
	assert_event(&r, UT_BEGIN, SIGUSR2);
	assert_event(&r, UT_BEGIN, SIGWINCH);
	assert_event(&r, UT_END, SIGWINCH);
	assert_event(&r, UT_END, SIGUSR2);
	assert_event(&r, UT_END, SIGUSR1);
	assert_null(recorder_next(&r));
	signals_close(s);
	close_recorder(&r);
}

/* One process at a nearly full ring may write its share, then is refused, and each refusal is counted twice. */
static void a_process_that_floods(void **state)
{
	struct gen_options o = recorder_options(64);
	const struct sigaction action = { .sa_handler = on_signal };
	struct ut_throttled account = { 0 };
	struct signals *s;
	struct recorder r;
	uint32_t self = (uint32_t)getpid(), one = 1;
	uint64_t seen = 0, lost = 0;
	unsigned ring;
	const int n = 1000;

	(void)state;
	need_root();
	open_recorder(&r);
	o.fair_bytes = GEN_FAIR_FROM(65536);
	assert_int_equal(bpf_map_update_elem(r.fds[GEN_MAP_FOLLOW], &self, &one, BPF_ANY), 0);
	assert_int_equal(sigaction(SIGWINCH, &action, NULL), 0);
	s = open_signals(&r, &o, true, r.fds[GEN_MAP_FOLLOW]);
	for (int i = 0; i < n; i++)
		raise(SIGWINCH);
	signals_stop(s);
	assert_int_equal(bpf_map_lookup_elem(r.fds[GEN_MAP_THROTTLED], &self, &account), 0);
	assert_int_equal(account.throttled, rings_throttled(&r.rings));
	assert_true(account.throttled > 100);
	for (uint64_t k = 1; k;)
		assert_int_equal(rings_read(&r.rings, r.merge, &k), 0);
	rings_end_watermarks(&r.rings, r.merge);
	for (const struct merge_item *item; (item = merge_next(r.merge, &ring));)
		item->rec ? seen++ : (lost += item->lost);
	assert_int_equal(seen + lost + account.throttled, 2 * n);
	signals_close(s);
	close_recorder(&r);
}

UNIT_TESTS(signals)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_takes_every_option),
		cmocka_unit_test(handlers_in_handlers),
		cmocka_unit_test(a_process_that_floods),
	};

	return unit_run(tests, NULL, NULL);
}
