/* SPDX-License-Identifier: MIT */
/* The programs, their maps, and the events that they are attached to. */
#include "sample/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "bpf/sample.h"
#include "gen/asm.h"
#include "proc/process.h"
#include "kernel/kernel.h"
#include "kernel/kernel_object.h"
#include "kernel/kernel_struct.h"
#include "sample/period.h"
#include "sample/blocked.h"
#include "sample.skel.h"

/* The clock's event of one CPU. */
struct clock_event {
	int fd; /* one of sampler.fds */
	unsigned cpu;
	struct sampling_period period;
	uint64_t change_ns; /* earliest time of the next change of the period */
	uint64_t taken; /* sample_clock.taken at the last change */
};

struct sampler {
	struct sampler_options options;
	struct session_sampling sampling;
	struct sample_bpf *skel;
	struct unwind_maps *unwind;
	struct blocked *blocked; /* NULL: waits are not recorded */
	VEC(int) fds; /* events and links */
	bool cycles;
	VEC(struct clock_event) clocks;
	struct sample_clock *shared; /* by CPU; NULL: no clock */
	size_t shared_bytes;
};

static void choose_programs(struct sampler *s)
{
	bool waits = s->sampling.waits, probes = s->sampling.probes;
	struct sample_bpf *k = s->skel;

	bpf_program__set_autoload(k->progs.sample_clock, s->sampling.frequency_hz > 0);
	bpf_program__set_autoload(k->progs.sample_switch, waits);
	bpf_program__set_autoload(k->progs.sample_waking, waits);
	bpf_program__set_autoload(k->progs.sample_wakeup_new, waits);
	bpf_program__set_autoload(k->progs.sample_uprobe, probes);
	bpf_program__set_autoload(k->progs.sample_tracepoint, probes);
	if (s->options.multi)
		bpf_program__set_expected_attach_type(k->progs.sample_uprobe,
						      (enum bpf_attach_type)UT_BPF_TRACE_UPROBE_MULTI);
}

static int choose_maps(struct sampler *s)
{
	struct sample_bpf *k = s->skel;
	unsigned ncpus = s->options.ncpus;
	int r = bpf_map__reuse_fd(k->maps.ut_rings, s->options.rings_fd);

	if (!r)
		r = bpf_map__reuse_fd(k->maps.ut_lost, s->options.lost_fd);
	if (!r)
		r = bpf_map__set_max_entries(k->maps.ut_scratch, SAMPLE_CONTEXTS * ncpus);
	if (!r)
		r = bpf_map__set_max_entries(k->maps.ut_clock, ncpus);
	if (!r && s->sampling.waits)
		r = bpf_map__set_max_entries(k->maps.ut_away, SAMPLE_AWAY_MAX);
	return r;
}

static int open_clock(const struct sampler *s, bool cycles, unsigned cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
		.freq = 1,
		.sample_freq = s->sampling.frequency_hz,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int load_programs(struct sampler *s, struct ut_err *err)
{
	struct sample_bpf *k = s->skel;
	uint32_t frequency_hz = s->sampling.frequency_hz, zero = 0;
	AUTO_CLOSE int cycles = frequency_hz ? open_clock(s, true, 0) : -1;
	int r = choose_maps(s), uprobe, tracepoint;

	choose_programs(s);
	s->cycles = cycles >= 0;
	k->rodata->options.at = *kernel_offsets();
	k->rodata->options.ncpus = s->options.ncpus;
	k->rodata->options.self = (uint32_t)getpid();
	k->rodata->options.all = s->options.all;
	k->rodata->options.kernel = !s->sampling.no_kernel;
	k->rodata->options.halts = s->cycles;
	k->rodata->options.period_ns = frequency_hz ? 1000000000u / frequency_hz : 0;
	r = kernel_object_load(k->skeleton, r, s->options.verbose, err);
	if (r || !s->sampling.probes)
		return r;
	uprobe = bpf_program__fd(k->progs.sample_uprobe);
	tracepoint = bpf_program__fd(k->progs.sample_tracepoint);
	r = bpf_map_update_elem(bpf_map__fd(k->maps.ut_walk_uprobe), &zero, &uprobe, BPF_ANY);
	if (!r)
		r = bpf_map_update_elem(bpf_map__fd(k->maps.ut_walk_tracepoint), &zero, &tracepoint, BPF_ANY);
	return r ? ut_err_set(err, r, "cannot chain the programs that take samples: %s", strerror(-r)) : 0;
}

static int open_unwind(struct sampler *s, struct ut_err *err)
{
	const struct unwind_fds fds = {
		.rows = bpf_map__fd(s->skel->maps.ut_rows),
		.directory = bpf_map__fd(s->skel->maps.ut_directory),
		.rules = bpf_map__fd(s->skel->maps.ut_rules),
		.mappings = bpf_map__fd(s->skel->maps.ut_mappings),
		.sampled = bpf_map__fd(s->skel->maps.ut_sampled),
	};

	return unwind_maps_open(&fds, &s->unwind, err);
}

int sampler_open(const struct sampler_options *o, struct sampler **ret, struct ut_err *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return ut_err_nomem(err);
	s->options = *o;
	s->sampling = *o->sampling;
	s->skel = sample_bpf__open();
	if (!s->skel)
		r = ut_err_set(err, -errno, "cannot load the sampling programs: %s", strerror(errno));
	if (!r)
		r = load_programs(s, err);
	if (!r)
		r = open_unwind(s, err);
	if (!r && o->sampling->waits && !(s->blocked = blocked_new()))
		r = ut_err_nomem(err);
	if (r) {
		sampler_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sampler_stop(struct sampler *s)
{
	for (size_t i = s->fds.n; i > 0; i--)
		close(s->fds.v[i - 1]);
	s->fds.n = s->clocks.n = 0;
}

struct sampler *sampler_close(struct sampler *s)
{
	if (!s)
		return NULL;
	sampler_stop(s);
	vec_done(&s->fds);
	vec_done(&s->clocks);
	if (s->shared)
		munmap(s->shared, s->shared_bytes);
	unwind_maps_close(s->unwind);
	blocked_free(s->blocked);
	sample_bpf__destroy(s->skel);
	free(s);
	return NULL;
}

void sampler_maps(const struct sampler *s, int *fds)
{
	fds[GEN_MAP_WALK_UPROBE] = bpf_map__fd(s->skel->maps.ut_walk_uprobe);
	fds[GEN_MAP_WALK_TRACEPOINT] = bpf_map__fd(s->skel->maps.ut_walk_tracepoint);
}

int sampler_processes_fd(const struct sampler *s) { return bpf_map__fd(s->skel->maps.ut_sampled); }

struct unwind_maps *sampler_unwind(struct sampler *s) { return s->unwind; }

static int add_fd(struct sampler *s, int fd)
{
	if (fd < 0)
		return fd;
	if (vec_push(&s->fds, fd) == 0)
		return 0;
	close(fd);
	return -ENOMEM;
}

/* Sets a random period of the clock. For cycles, the value is a frequency, and the kernel finds the period. */
static int change_period(struct sampler *s, struct clock_event *e, uint64_t now_ns)
{
	uint64_t hold_ns, value;
	double rate = period_draw(&e->period, &hold_ns);

	value = (uint64_t)(s->cycles ? rate : 1e9 / rate);
	e->change_ns = now_ns + hold_ns;
	e->taken = __atomic_load_n(&s->shared[e->cpu].taken, __ATOMIC_RELAXED);
	return ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &value) ? -errno : 0;
}

/* The first period is random as well, and so is the phase. */
static int attach_clock(struct sampler *s, unsigned cpu, uint32_t limit_hz, uint64_t seed)
{
	int fd = open_clock(s, s->cycles, cpu), prog = bpf_program__fd(s->skel->progs.sample_clock);
	struct clock_event e = { .fd = fd, .cpu = cpu };

	if (fd < 0)
		return errno == ENODEV || errno == ENXIO ? 0 : -errno; /* a CPU that is off */
	if (add_fd(s, fd))
		return -ENOMEM;
	period_init(&e.period, s->sampling.frequency_hz, limit_hz, seed);
	change_period(s, &e, monotonic_ns()); /* a kernel that rejects it keeps the average frequency */
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog))
		return -errno;
	s->shared[cpu].last_ns = monotonic_ns();
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return vec_push(&s->clocks, e);
}

void sampler_vary_periods(struct sampler *s, uint64_t now_ns)
{
	for (size_t i = 0; i < s->clocks.n; i++) {
		struct clock_event *e = &s->clocks.v[i];

		if (now_ns >= e->change_ns && __atomic_load_n(&s->shared[e->cpu].taken, __ATOMIC_RELAXED) != e->taken)
			change_period(s, e, now_ns);
	}
}

static int share_clock(struct sampler *s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = s->options.ncpus * sizeof(*s->shared);
	void *p;

	s->shared_bytes = (size + page - 1) / page * page;
	p = mmap(NULL, s->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(s->skel->maps.ut_clock), 0);
	if (p == MAP_FAILED)
		return -errno;
	s->shared = p;
	return 0;
}

/* The kernel's maximum of samples per second; 0: not known. */
static uint32_t limit_of_kernel(void)
{
	AUTO_FCLOSE FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned limit;

	return f && fscanf(f, "%u", &limit) == 1 ? limit : 0;
}

static int start_clock(struct sampler *s, struct ut_err *err)
{
	uint32_t limit_hz = limit_of_kernel();
	uint64_t seed = monotonic_ns();
	int r = share_clock(s);

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = monotonic_ns();
	for (unsigned cpu = 0; !r && cpu < s->options.ncpus; cpu++)
		r = attach_clock(s, cpu, limit_hz, seed + cpu);
	if (r == -EINVAL)
		return ut_err_set(
			err, r,
			"the kernel rejects %u samples per second: kernel.perf_event_max_sample_rate sets the limit",
			s->sampling.frequency_hz);
	return r ? ut_err_set(err, r, "cannot sample by the clock: %s (requires root or CAP_PERFMON)", strerror(-r))
		 : 0;
}

int sampler_start(struct sampler *s, struct ut_err *err)
{
	struct sample_bpf *k = s->skel;
	const struct {
		const struct bpf_program *prog;
		const char *event;
	} raw[] = {
		{ k->progs.sample_wakeup_new, "sched_wakeup_new" },
		{ k->progs.sample_waking, "sched_waking" },
		{ k->progs.sample_switch, "sched_switch" },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(raw); i++) {
		if (!bpf_program__autoload(raw[i].prog))
			continue;
		r = add_fd(s, bpf_raw_tracepoint_open(raw[i].event, bpf_program__fd(raw[i].prog)));
		if (r)
			return ut_err_set(err, r, "cannot attach to the tracepoint %s: %s", raw[i].event, strerror(-r));
	}
	if (!r && s->sampling.frequency_hz)
		r = start_clock(s, err);
	return r;
}

/* The kernel's number of a state letter of /proc; 0: the thread is running, or has exited. */
static uint32_t state_of_letter(char letter)
{
	switch (letter) {
	case 'S': return 1;
	case 'D': return 2;
	case 'T': return 4;
	case 't': return 8;
	case 'I': return 0x402;
	default: return 0;
	}
}

/* Running threads are seen when they leave their CPU. */
static void note_thread(struct sampler *s, pid_t pid, pid_t tid)
{
	struct sample_away away = { .process = (uint32_t)pid, .state = state_of_letter(thread_state(pid, tid)) };
	uint32_t key = (uint32_t)tid;

	if (!away.state)
		return;
	bpf_map_update_elem(bpf_map__fd(s->skel->maps.ut_away), &key, &away, BPF_NOEXIST);
	if (away.state == 1 || away.state == 2)
		blocked_add(s->blocked, pid, tid);
}

void sampler_add_threads(struct sampler *s, pid_t pid)
{
	char path[64];
	AUTO_CLOSEDIR DIR *dir = NULL;

	if (!s->sampling.waits)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (e->d_name[0] != '.')
			note_thread(s, pid, (pid_t)strtol(e->d_name, NULL, 10));
}

int sampler_walk_blocked(struct sampler *s, int (*fn)(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips),
			 void *ctx)
{
	return s->blocked ? blocked_walk(s->blocked, s->unwind, fn, ctx) : 0;
}

void sampler_fill_wait(struct sampler *s, struct ut_rec_wait *rec)
{
	if (s->blocked)
		blocked_fill_wait(s->blocked, rec);
}

int sampler_unfinished(struct sampler *s, uint64_t now_ns, int (*fn)(void *ctx, const struct ut_rec_wait *rec),
		       void *ctx)
{
	int fd = bpf_map__fd(s->skel->maps.ut_away), r = 0;
	uint32_t tid, *at = NULL;

	while (s->sampling.waits && r >= 0 && !bpf_map_get_next_key(fd, at, &tid)) {
		struct ut_rec_wait rec = { .head = { .time_ns = now_ns, .site = UT_SITE_WAIT, .tid = tid } };
		struct sample_away away;

		at = &tid;
		if (bpf_map_lookup_elem(fd, &tid, &away))
			continue;
		rec.head.pid = away.process;
		thread_comm((pid_t)away.process, (pid_t)tid, rec.head.comm);
		rec.stack = away.stack;
		rec.from_ns = away.from_ns;
		rec.runnable_ns = away.runnable_ns;
		rec.waker = away.waker;
		rec.state = away.state;
		sampler_fill_wait(s, &rec);
		r = fn(ctx, &rec);
	}
	return r < 0 ? r : 0;
}

uint64_t sampler_busy(const struct sampler *s)
{
	uint32_t zero = 0;
	AUTO_FREE uint64_t *v = calloc(s->options.ncpus, sizeof(*v));
	uint64_t sum = 0;

	if (!v || bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.ut_busy), &zero, v))
		return 0;
	for (unsigned i = 0; i < s->options.ncpus; i++)
		sum += v[i];
	return sum;
}
