/* SPDX-License-Identifier: MIT */
/* One set of programs on fork, exec and exit, with the parts that a session needs. */
#include "record/lifecycle.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/vec.h"
#include "bpf/lifecycle.h"
#include "kernel/kernel.h"
#include "kernel/kernel_object.h"
#include "kernel/kernel_struct.h"
#include "plan/event.h"
#include "proc/tracefs.h"
#include "lifecycle.skel.h"

struct lifecycle {
	struct lifecycle_bpf *skel;
	int rings_fd, ring_fd; /* to wait with */
	VEC(int) links;
};

/* Without tracefs the exiting thread decides instead: two threads that exit at once may both seem the last. */
static bool exit_event_has_group_dead(void)
{
	AUTO_CLOSE int tracefs = tracefs_open(NULL);
	struct tracepoint tp = { 0 };
	bool ret;

	if (tracefs < 0 || event_read(tracefs, "sched", "sched_process_exit", &tp, NULL))
		return false;
	ret = event_field(&tp, "group_dead") != NULL;
	tracepoint_done(&tp);
	return ret;
}

static void choose_parts(struct lifecycle_bpf *k, const struct lifecycle_setup *setup)
{
	struct lifecycle_options *o = &k->rodata->options;

	o->at = setup->at ? *setup->at : *kernel_offsets();
	o->ncpus = setup->ncpus;
	o->self = (uint32_t)getpid();
	o->records = setup->records;
	o->targets = setup->targets;
	o->children = setup->children;
	o->suspend = setup->suspend;
	o->thread_execs = setup->thread_execs;
	o->group_dead = setup->records && exit_event_has_group_dead();
	o->samples = setup->sampled_fd >= 0;
	o->measure = setup->state != NULL;
	o->base_ns = setup->base_ns;
	o->sample_children = setup->sample_children;
	bpf_program__set_autoload(k->progs.lifecycle_fork, o->records || o->samples || o->children);
	bpf_program__set_autoload(k->progs.lifecycle_exec,
				  o->records || o->samples || o->measure || o->suspend || o->thread_execs);
	bpf_program__set_autoload(k->progs.lifecycle_exit, o->records || o->samples || o->measure);
	bpf_program__set_autoload(k->progs.lifecycle_libraries, o->suspend);
	if (setup->multi)
		bpf_program__set_expected_attach_type(k->progs.lifecycle_libraries,
						      (enum bpf_attach_type)UT_BPF_TRACE_UPROBE_MULTI);
}

static int share_lifecycle_maps(struct lifecycle_bpf *k, const struct lifecycle_setup *setup)
{
	const struct {
		struct bpf_map *map;
		int fd;
	} shared[] = {
		{ k->maps.ut_rings, setup->records || setup->thread_execs ? setup->rings_fd : -1 },
		{ k->maps.ut_lost, setup->records || setup->thread_execs ? setup->lost_fd : -1 },
		{ k->maps.ut_follow, setup->follow_fd },
		{ k->maps.ut_control, setup->suspend ? setup->control_fd : -1 },
		{ k->maps.ut_sampled, setup->sampled_fd },
		{ k->maps.ut_processes, setup->state ? setup->state->processes_fd : -1 },
		{ k->maps.ut_threads, setup->state ? setup->state->threads_fd : -1 },
		{ k->maps.ut_current, setup->state ? setup->state->current_fd : -1 },
		{ k->maps.ut_names, setup->state ? setup->state->names_fd : -1 },
	};
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(shared); i++)
		r = kernel_map_share(shared[i].map, shared[i].fd);
	return r;
}

static int attach_program(struct lifecycle *l, const struct bpf_program *prog, const char *event, struct ut_err *err)
{
	int fd;

	if (!bpf_program__autoload(prog))
		return 0;
	fd = bpf_raw_tracepoint_open(event, bpf_program__fd(prog));
	if (fd < 0)
		return ut_err_set(err, fd, "cannot attach to the tracepoint %s: %s", event, strerror(-fd));
	if (vec_push(&l->links, fd)) {
		close(fd);
		return ut_err_nomem(err);
	}
	return 0;
}

int lifecycle_open(const struct lifecycle_setup *setup, struct lifecycle **ret, struct ut_err *err)
{
	struct lifecycle *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return ut_err_nomem(err);
	l->rings_fd = setup->rings_fd;
	l->ring_fd = setup->ring_fd;
	l->skel = lifecycle_bpf__open();
	if (l->skel) {
		choose_parts(l->skel, setup);
		r = kernel_object_load(l->skel->skeleton, share_lifecycle_maps(l->skel, setup), setup->verbose, err);
	} else {
		r = ut_err_set(err, -errno, "cannot load the BPF programs for lifecycle events: %s", strerror(errno));
	}
	if (!r)
		r = attach_program(l, l->skel->progs.lifecycle_exit, "sched_process_exit", err);
	if (!r)
		r = attach_program(l, l->skel->progs.lifecycle_exec, "sched_process_exec", err);
	if (!r)
		r = attach_program(l, l->skel->progs.lifecycle_fork, "sched_process_fork", err);
	if (r) {
		lifecycle_close(l);
		return r;
	}
	*ret = l;
	return 0;
}

void lifecycle_stop(struct lifecycle *l)
{
	uint32_t first = 0;

	if (!l || !l->links.n)
		return;
	for (size_t i = 0; i < l->links.n; i++)
		close(l->links.v[i]);
	l->links.n = 0;
	if (!l->skel->rodata->options.suspend)
		return;
	/*
	 * The link of a raw tracepoint does not wait for running programs. The kernel does when an array of maps changes:
	 * the first ring replaces itself. A program that starts later sees that nobody is suspended any more.
	 */
	__atomic_store_n(&l->skel->data->suspending, 0, __ATOMIC_SEQ_CST);
	bpf_map_update_elem(l->rings_fd, &first, &l->ring_fd, BPF_ANY);
}

struct lifecycle *lifecycle_close(struct lifecycle *l)
{
	if (!l)
		return NULL;
	lifecycle_stop(l);
	lifecycle_bpf__destroy(l->skel);
	vec_done(&l->links);
	free(l);
	return NULL;
}

int lifecycle_libraries_prog(const struct lifecycle *l) { return bpf_program__fd(l->skel->progs.lifecycle_libraries); }

uint64_t lifecycle_missed(const struct lifecycle *l)
{
	return kernel_prog_missed(bpf_program__fd(l->skel->progs.lifecycle_fork)) +
	       kernel_prog_missed(bpf_program__fd(l->skel->progs.lifecycle_exec)) +
	       kernel_prog_missed(bpf_program__fd(l->skel->progs.lifecycle_exit));
}
