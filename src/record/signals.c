/* SPDX-License-Identifier: MIT */
/* Two programs on two tracepoints. */
#include "record/signals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "bpf/signal.h"
#include "gen/gen_user.h"
#include "kernel/kernel.h"
#include "kernel/kernel_object.h"
#include "usertrace.h"
#include "signal.skel.h"

struct signals {
	struct signal_bpf *skel;
	int links[2], events[2]; /* of the begin and of the end; -1 */
};

static void set_signal_options(struct signal_options *o, const struct signals_setup *setup)
{
	*o = (struct signal_options){
		.ncpus = setup->options->ncpus,
		.self = (uint32_t)setup->options->self_tgid,
		.targets = setup->targets,
		.number = setup->events->number,
		.code = setup->events->code,
		.handler = setup->events->handler,
		.begin = UT_BEGIN,
		.end = UT_END,
		.wake_bytes = setup->options->wake_bytes,
		.fair_bytes = setup->options->fair_bytes,
		.fair_share = GEN_FAIR_BYTES(setup->options->fair_bytes),
	};
}

static int share_signal_maps(struct signal_bpf *k, const struct signals_setup *setup)
{
	int r = kernel_map_share(k->maps.ut_rings, setup->rings_fd);

	if (!r)
		r = kernel_map_share(k->maps.ut_lost, setup->lost_fd);
	if (!r)
		r = kernel_map_share(k->maps.ut_throttled, setup->throttled_fd);
	return r ? r : kernel_map_share(k->maps.ut_follow, setup->targets ? setup->follow_fd : -1);
}

static int attach_handler_program(struct signals *s, unsigned which, const struct bpf_program *prog, unsigned id,
				  struct ut_err *err)
{
	int r = s->events[which] = kernel_tracepoint_event(id);

	if (r >= 0)
		r = s->links[which] = kernel_link_event(bpf_program__fd(prog), s->events[which], 0);
	return r < 0 ? ut_err_set(err, r, "cannot attach to the kernel's signal events: %s", strerror(-r)) : 0;
}

int signals_open(const struct signals_setup *setup, struct signals **ret, struct ut_err *err)
{
	struct signals *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return ut_err_nomem(err);
	memset(s->links, -1, sizeof(s->links));
	memset(s->events, -1, sizeof(s->events));
	s->skel = signal_bpf__open();
	if (s->skel) {
		set_signal_options(&s->skel->rodata->options, setup);
		r = kernel_object_load(s->skel->skeleton, share_signal_maps(s->skel, setup), setup->verbose, err);
	} else {
		r = ut_err_set(err, -errno, "cannot prepare the programs on signals: %s", strerror(errno));
	}
	if (!r)
		r = attach_handler_program(s, 0, s->skel->progs.signal_begin, setup->events->deliver, err);
	if (!r)
		r = attach_handler_program(s, 1, s->skel->progs.signal_end, setup->events->sigreturn, err);
	if (r) {
		signals_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void signals_stop(struct signals *s)
{
	for (unsigned i = 0; s && i < 2; i++) {
		close_fd(s->links[i]);
		close_fd(s->events[i]);
		s->links[i] = s->events[i] = -1;
	}
}

struct signals *signals_close(struct signals *s)
{
	if (!s)
		return NULL;
	signals_stop(s);
	signal_bpf__destroy(s->skel);
	free(s);
	return NULL;
}

uint64_t signals_missed(const struct signals *s)
{
	return kernel_prog_missed(bpf_program__fd(s->skel->progs.signal_begin)) +
	       kernel_prog_missed(bpf_program__fd(s->skel->progs.signal_end));
}
