/* SPDX-License-Identifier: MIT */
/* One set of programs on the scheduler's events, and the functions that come with them. */
#include "record/sched.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/vec.h"
#include "bpf/sched.h"
#include "kernel/kernel_object.h"
#include "kernel/kernel_struct.h"
#include "sched.skel.h"

struct sched {
	struct sched_bpf *skel;
	struct gen_functions functions;
	VEC(int) links;
};

static int share_sched_maps(struct sched_bpf *k, const struct state_maps *state)
{
	int r = kernel_map_share(k->maps.ut_processes, state->processes_fd);

	if (!r)
		r = kernel_map_share(k->maps.ut_threads, state->threads_fd);
	if (!r)
		r = kernel_map_share(k->maps.ut_current, state->current_fd);
	return r ? r : kernel_map_share(k->maps.ut_names, state->names_fd);
}

/* The program calls each in its order; libbpf has put them all behind it. */
static int find_functions(struct sched *s, struct ut_err *err)
{
	const struct bpf_program *prog = s->skel->progs.sched_functions;
	const struct bpf_insn *insns = bpf_program__insns(prog);
	size_t n = bpf_program__insn_cnt(prog), found = 0, own = n;

	for (size_t i = 0; i < own; i++) {
		size_t target = i + 1 + (size_t)insns[i].imm;

		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg != BPF_PSEUDO_CALL)
			continue;
		if (found == GEN_FUNCTIONS || target >= n)
			return ut_err_set(err, -EINVAL,
					  "the programs of the scheduler's events are not as they should be");
		s->functions.at[found++] = target;
		own = target < own ? target : own;
	}
	if (found < GEN_FUNCTIONS)
		return ut_err_set(err, -EINVAL, "the programs of the scheduler's events lack a function");
	for (size_t i = 0; i < GEN_FUNCTIONS; i++)
		s->functions.at[i] -= own;
	s->functions.insns = insns + own;
	s->functions.n = n - own;
	return 0;
}

static int attach_all(struct sched *s, struct ut_err *err)
{
	const struct {
		const struct bpf_program *prog;
		const char *event;
	} raw[] = {
		{ s->skel->progs.sched_free, "sched_process_free" },
		{ s->skel->progs.sched_rename, "task_rename" },
		{ s->skel->progs.sched_wakeup, "sched_wakeup" },
		{ s->skel->progs.sched_wakeup, "sched_wakeup_new" },
		{ s->skel->progs.sched_switch, "sched_switch" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(raw); i++) {
		int fd = bpf_raw_tracepoint_open(raw[i].event, bpf_program__fd(raw[i].prog));

		if (fd < 0)
			return ut_err_set(err, fd,
					  "cannot attach to the tracepoint %s: %s; use --no-measure to do without it",
					  raw[i].event, strerror(-fd));
		if (vec_push(&s->links, fd)) {
			close(fd);
			return ut_err_nomem(err);
		}
	}
	return 0;
}

int sched_open(const struct sched_setup *setup, struct sched **ret, struct ut_err *err)
{
	struct sched *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return ut_err_nomem(err);
	s->skel = sched_bpf__open();
	if (s->skel) {
		s->skel->rodata->options.at = *kernel_offsets();
		s->skel->rodata->options.base_ns = setup->base_ns;
		r = kernel_object_load(s->skel->skeleton, share_sched_maps(s->skel, &setup->state), setup->verbose,
				       err);
	} else {
		r = ut_err_set(err, -errno, "cannot prepare the programs on the scheduler's events: %s",
			       strerror(errno));
	}
	if (!r)
		r = find_functions(s, err);
	if (!r)
		r = attach_all(s, err);
	if (r) {
		sched_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct sched *sched_close(struct sched *s)
{
	if (!s)
		return NULL;
	for (size_t i = s->links.n; i > 0; i--)
		close(s->links.v[i - 1]);
	vec_done(&s->links);
	sched_bpf__destroy(s->skel);
	free(s);
	return NULL;
}

const struct gen_functions *sched_functions(const struct sched *s) { return &s->functions; }
