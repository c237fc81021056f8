/* SPDX-License-Identifier: MIT */
/* User events: trials of the prctl transport, and the cost of both transports, untraced and traced. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "gen/gen.h"
#include "proc/process.h"
#include "proc/tracefs.h"
#include "doctor/machine_priv.h"
#include "plan/event.h"
#include "kernel/kernel.h"
#include "record/nop5_harm.h"
#include "usertrace.h"

#define ROUNDS 2 /* detaching takes tens of milliseconds */
#define BATCHES 15
#define CALLS 100
/* Neither an option of any kernel nor of usertrace: costs the same, and other tracers do not see it. */
#define SILENT_OPTION (PR_USER_TRACE ^ 0x80)

/* As the site of the header: a 5-byte nop where the function begins, and a 1-byte nop. */
void doctor_user_site(void);
void doctor_user_nop(void);
__asm__(".text\n"
	".p2align 4\n"
	".type doctor_user_site, @function\n"
	"doctor_user_site:\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"doctor_user_nop:\n"
	"	nop\n"
	"	ret\n"
	".size doctor_user_site, . - doctor_user_site\n");

static void call_site(void) { doctor_user_site(); }
static void call_prctl(void) { syscall(SYS_prctl, SILENT_OPTION, 0, 0, 0, 0); }
static void call_other(void) { syscall(SYS_getppid); }

static double batch_ns(void (*call)(void))
{
	struct timespec a, b;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (int i = 0; i < CALLS; i++)
		call();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / CALLS;
}

/* The fastest of several batches, which was disturbed least. *@ret: the result of an earlier call, or 0. */
static void measure_call(void (*call)(void), double *ret)
{
	for (int i = 0; i < BATCHES; i++) {
		double ns = batch_ns(call);

		if (*ret <= 0 || ns < *ret)
			*ret = ns;
	}
}

/* --- prctl ------------------------------------------------------------------------------------------------ */

/* Loads a program that counts prctl calls with PR_USER_TRACE, the first argument of the tracepoint, in its map. */
static int load_counting(int map_fd, int option_offset)
{
	struct kernel_prog prog = { .type = BPF_PROG_TYPE_TRACEPOINT };
	struct asm_buf a = { 0 };
	unsigned other = asm_label(&a);

	asm_load(&a, 4, R1, R1, option_offset); /* an int: the kernel ignores the upper half */
	asm_jcci(&a, BPF_JNE, R1, PR_USER_TRACE, other);
	asm_map_value(&a, R2, GEN_MAP_LOST);
	asm_movi(&a, R1, 1);
	asm_xadd(&a, R2, 0, R1);
	asm_place(&a, other);
	asm_movi(&a, R0, 0);
	asm_exit(&a);
	return doctor_load(&a, &prog, map_fd);
}

/* The ID of the tracepoint and the offset of its first argument. */
static int find_tracepoint(unsigned *ret_id, int *ret_option_offset)
{
	AUTO_CLOSE int dir = tracefs_open(NULL);
	const struct tracepoint_field *option;
	struct tracepoint tp = { 0 };
	int r = dir < 0 ? dir : event_read(dir, "syscalls", "sys_enter_prctl", &tp, NULL);

	if (r)
		return r;
	option = event_field(&tp, "option");
	if (option && option->size == 8) {
		*ret_id = tp.id;
		*ret_option_offset = (int)option->offset;
	} else {
		r = -ENOENT;
	}
	tracepoint_done(&tp);
	return r;
}

/* The one test event that other tracers may see. 0: the kernel returned EINVAL, as for every unknown option. */
static int call_user_prctl(void)
{
	if (!prctl(PR_USER_TRACE, UT_MARK, "usertrace doctor", 0ul, 0ul) || errno == EINVAL)
		return 0;
	return -errno;
}

/* One call, while the program is attached. */
static void try_prctl(struct machine *m, int map)
{
	const uint32_t key = 0;
	uint64_t before = 0, after = 0;

	bpf_map_lookup_elem(map, &key, &before);
	m->tried[TRY_PRCTL_ALLOWED] = call_user_prctl();
	bpf_map_lookup_elem(map, &key, &after);
	if (after == before && !m->tried[TRY_PRCTL_ALLOWED])
		m->tried[TRY_PRCTL] = -EIO;
}

/* Measures untraced and traced calls alternately, so that other load disturbs both. */
static void measure_prctl(struct machine *m, unsigned tracepoint, int map, int prog)
{
	double other_off = 0, other_on = 0;

	for (int i = 0; i < ROUNDS; i++) {
		AUTO_CLOSE int event = -1, link = -1;

		measure_call(call_other, &other_off);
		measure_call(call_prctl, &m->costs.prctl_off_ns);
		event = kernel_tracepoint_event(tracepoint);
		link = event < 0 ? event : kernel_link_event(prog, event, 0);
		m->tried[TRY_PRCTL] = link < 0 ? link : 0;
		if (link < 0)
			return;
		if (!i)
			try_prctl(m, map);
		if (m->tried[TRY_PRCTL] || m->tried[TRY_PRCTL_ALLOWED])
			return;
		measure_call(call_other, &other_on);
		measure_call(call_prctl, &m->costs.prctl_on_ns);
	}
	m->costs.other_ns = other_on - other_off;
	m->costs.prctl_measured = true;
}

/* --- the header's site ------------------------------------------------------------------------------------ */

static void measure_site(struct user_costs *ret, bool multi)
{
	AUTO_CLOSE int prog = kernel_load_empty(multi);
	AUTO_CLOSE int event = -1, link = -1;
	bool fast = !nop5_unsafe(NOP5_FIRST, false);
	uint64_t offset;

	if (prog < 0 || process_own_offset(fast ? doctor_user_site : doctor_user_nop, &offset))
		return;
	link = kernel_link_own(prog, multi, offset, 0, 0, &event);
	if (link < 0)
		return;
	measure_call(call_site, &ret->site_on_ns);
	ret->site_measured = true;
}

void doctor_try_user(struct machine *m)
{
	AUTO_CLOSE int map = -1, prog = -1;
	unsigned tracepoint = 0;
	int option_offset = 0, r = find_tracepoint(&tracepoint, &option_offset);

	map = r ? r : bpf_map_create(BPF_MAP_TYPE_ARRAY, "ut_seen", 4, 8, 1, NULL);
	prog = map < 0 ? map : load_counting(map, option_offset);
	m->tried[TRY_PRCTL] = prog < 0 ? prog : 0;
	if (prog >= 0) {
		measure_prctl(m, tracepoint, map, prog);
	} else {
		m->tried[TRY_PRCTL_ALLOWED] = call_user_prctl();
		measure_call(call_prctl, &m->costs.prctl_off_ns);
	}
	if (!m->tried[TRY_FIRES])
		measure_site(&m->costs, m->multi);
}
