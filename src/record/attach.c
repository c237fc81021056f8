/* SPDX-License-Identifier: MIT */
/* Groups sites into programs and links. Sites of one kind and file go into one link for each program and process. */
#include "record/attach.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "record/nop5_harm.h"

/*
 * Limits of one program: the kernel's time to load it grows with the square of its size, and its time to detach grows with
 * the number of programs.
 */
#define SNIPPETS_MAX 128
#define INSNS_MAX 3000
#define DETACH_THREADS 32

/* A link or, without uprobe_multi, its perf event. */
struct attached_link {
	int fd;
	pid_t pid; /* 0: of every process */
};

/* Sites that share a program. */
struct attached_part {
	int prog;
	VEC(uint32_t) sites; /* numbers in the plan */
};

struct attach {
	struct attach_options options;
	bool multi;
	VEC(pid_t) pids;
	VEC(int) progs;
	VEC(struct attached_link) links;
	VEC(struct attached_part) parts; /* of sites in files */
	VEC(uint32_t) held; /* sites that wait for attach_held */
	VEC(uint32_t) refused; /* sites whose instruction the kernel does not probe */
};

struct attach *attach_new(const struct attach_options *options)
{
	struct attach *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->options = *options;
	a->multi = !options->no_multi && kernel_has_uprobe_multi();
	for (size_t i = 0; i < options->npids; i++)
		if (vec_push(&a->pids, options->pids[i]))
			return attach_free(a);
	if (!options->npids && vec_push(&a->pids, 0))
		return attach_free(a);
	return a;
}

bool attach_is_multi(const struct attach *a) { return a->multi; }

struct closer {
	const struct attached_link *links;
	size_t n, step;
};

static void *close_some(void *arg)
{
	struct closer *c = arg;

	for (size_t i = 0; i < c->n; i += c->step)
		close(c->links[i].fd);
	return NULL;
}

/* Closing a link waits until its handlers have finished; several threads wait at the same time. */
static void close_all(const struct attached_link *links, size_t n)
{
	pthread_t threads[DETACH_THREADS];
	struct closer work[DETACH_THREADS];
	size_t want = n < DETACH_THREADS ? n : DETACH_THREADS, running = 0;

	for (size_t i = 0; i < want; i++) {
		work[i] = (struct closer){ .links = links + i, .n = n - i, .step = want };
		if (want > 1 && !pthread_create(&threads[running], NULL, close_some, &work[i]))
			running++;
		else
			close_some(&work[i]);
	}
	for (size_t i = 0; i < running; i++)
		pthread_join(threads[i], NULL);
}

void attach_release(struct attach *a)
{
	close_all(a->links.v, a->links.n);
	a->links.n = 0;
}

struct attach *attach_free(struct attach *a)
{
	if (!a)
		return NULL;
	attach_release(a);
	for (size_t i = 0; i < a->progs.n; i++)
		close(a->progs.v[i]);
	for (size_t i = 0; i < a->parts.n; i++)
		vec_done(&a->parts.v[i].sites);
	vec_done(&a->parts);
	vec_done(&a->held);
	vec_done(&a->refused);
	vec_done(&a->progs);
	vec_done(&a->links);
	vec_done(&a->pids);
	free(a);
	return NULL;
}

uint64_t attach_missed(const struct attach *a)
{
	uint64_t n = 0;

	for (size_t i = 0; i < a->progs.n; i++)
		n += kernel_prog_missed(a->progs.v[i]);
	return n;
}

/* One attach_sites call. */
struct attach_call {
	struct attach *a;
	const struct plan *plan;
	size_t first;
	char **log;
	struct ut_err *err;
};

/* Sites of one kind in one file, sorted by snippet: a group is split into programs. */
struct group {
	enum site_kind kind;
	unsigned file;
	VEC(const struct plan_site *) sites;
};

static bool is_tracepoint(const struct group *g) { return site_is_tracepoint(g->sites.v[0]); }

static const char *site_name(const struct attach_call *call, const struct plan_site *s, char ret[256])
{
	const struct plan_probe *p;

	p = &call->plan->probes.v[s->probe];
	snprintf(ret, 256, "%s:%s", p->provider, p->func);
	return ret;
}

static int add_link(struct attach *a, int fd, pid_t pid)
{
	if (vec_push(&a->links, ((struct attached_link){ fd, pid }))) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

#define KERNEL_ENOTSUPP 524 /* internal to the kernel: no header defines it */

static int attach_error(const struct attach_call *call, const struct plan_site *s, pid_t pid, int r)
{
	char room[256];
	const char *path = site_is_tracepoint(s) ? "the kernel" : call->plan->files.v[s->file].path;
	const char *name = site_name(call, s, room);

	if (r == -ESRCH)
		return ut_err_set(call->err, r, "process %d exited while probes were being attached", pid);
	if (r == -EPERM || r == -EACCES)
		return ut_err_set(
			call->err, r,
			"cannot attach to '%s': permission denied; run as root, or with CAP_BPF and CAP_PERFMON", path);
	if (r == -EOPNOTSUPP || r == -KERNEL_ENOTSUPP)
		return ut_err_set(call->err, r, "the kernel cannot probe the instruction of %s at 0x%llx in '%s'", name,
				  (unsigned long long)s->vaddr, path);
	if (r == -EINVAL && s->sem_offset)
		return ut_err_set(call->err, r,
				  "cannot attach %s in '%s': the kernel rejects this site or its semaphore", name,
				  path);
	if (r == -EMFILE || r == -ENFILE)
		return ut_err_set(call->err, r,
				  "too many open files while attaching to '%s': raise the limit (ulimit -n)", path);
	return ut_err_set(call->err, r, "cannot attach %s to '%s': %s", name, path, strerror(-r));
}

static uint64_t cookie_of(const struct attach_call *call, const struct plan_site *s)
{
	return (uint64_t)s->snippet << 32 | (uint64_t)(s - call->plan->sites.v);
}

static bool is_refusal(int r) { return r == -EOPNOTSUPP || r == -KERNEL_ENOTSUPP; }

/* Does the request of this site select functions by a pattern? Then those that cannot be probed are left out. */
static bool is_one_of_many(const struct attach_call *call, const struct plan_site *s)
{
	const struct plan_request *r = &call->plan->requests.v[call->plan->probes.v[s->probe].request];

	return !site_is_tracepoint(s) && glob_is_pattern(r->spec->name);
}

/* 0: the site is left out. */
static int refuse(const struct attach_call *call, const struct plan_site *s, pid_t pid, int r)
{
	uint32_t number = (uint32_t)(s - call->plan->sites.v);

	if (!is_refusal(r) || !is_one_of_many(call, s))
		return attach_error(call, s, pid, r);
	for (size_t i = 0; i < call->a->refused.n; i++)
		if (call->a->refused.v[i] == number)
			return 0;
	return vec_push(&call->a->refused, number) ? ut_err_nomem(call->err) : 0;
}

/*
 * The sites [from … to) of a group as one link for @pid. The kernel attaches all or none, and does not say which site it
 * refuses: halves are tried then.
 */
static int link_multi(const struct attach_call *call, const struct group *g, size_t from, size_t to, int prog,
		      const char *path, pid_t pid)
{
	size_t n = to - from;
	AUTO_FREE uint64_t *numbers = calloc(3 * n, sizeof(*numbers));
	uint64_t *offsets = numbers, *sems = numbers + n, *cookies = numbers + 2 * n;
	struct kernel_uprobes u = { .path = path,
				    .n = n,
				    .offsets = offsets,
				    .cookies = cookies,
				    .pid = pid,
				    .is_return = g->kind == SITE_RETURN };
	int fd, r;

	if (!numbers)
		return ut_err_nomem(call->err);
	for (size_t i = 0; i < n; i++) {
		const struct plan_site *s = g->sites.v[from + i];

		offsets[i] = s->offset;
		sems[i] = s->sem_offset;
		cookies[i] = cookie_of(call, s);
		if (s->sem_offset)
			u.sem_offsets = sems;
	}
	fd = kernel_link_uprobes(prog, &u);
	if (fd >= 0)
		return add_link(call->a, fd, pid);
	if (n == 1 || !is_refusal(fd))
		return refuse(call, g->sites.v[from], pid, fd);
	r = link_multi(call, g, from, from + n / 2, prog, path, pid);
	return r ? r : link_multi(call, g, from + n / 2, to, prog, path, pid);
}

static int link_event(const struct attach_call *call, const struct plan_site *s, int prog, int event, pid_t pid)
{
	int fd;

	if (event < 0)
		return refuse(call, s, pid, event);
	fd = kernel_link_event(prog, event, cookie_of(call, s));
	if (fd < 0) {
		close(event);
		return attach_error(call, s, pid, fd);
	}
	if (add_link(call->a, fd, pid)) {
		close(event);
		return -ENOMEM;
	}
	return add_link(call->a, event, pid);
}

/* The sites [from … to) for one process; 0: for every process. */
static int link_process(const struct attach_call *call, const struct group *g, size_t from, size_t to, int prog,
			pid_t pid)
{
	char path[64];
	int r = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", call->plan->files.v[g->file].fd);
	if (call->a->multi)
		return link_multi(call, g, from, to, prog, path, pid);
	for (size_t i = from; !r && i < to; i++) {
		const struct plan_site *s = g->sites.v[i];

		r = link_event(call, s, prog,
			       kernel_uprobe_event(path, s->offset, s->sem_offset, g->kind == SITE_RETURN, pid), pid);
	}
	return r;
}

static int keep_part(const struct attach_call *call, const struct group *g, size_t from, size_t to, int prog)
{
	struct attached_part part = { .prog = prog };

	for (size_t i = from; i < to; i++) {
		if (vec_push(&part.sites, (uint32_t)(g->sites.v[i] - call->plan->sites.v))) {
			vec_done(&part.sites);
			return ut_err_nomem(call->err);
		}
	}
	if (vec_push(&call->a->parts, part)) {
		vec_done(&part.sites);
		return ut_err_nomem(call->err);
	}
	return 0;
}

static int link_group_part(const struct attach_call *call, const struct group *g, size_t from, size_t to, int prog)
{
	int r = 0;

	if (is_tracepoint(g))
		return link_event(call, g->sites.v[from], prog,
				  kernel_tracepoint_event(g->sites.v[from]->tracepoint_id), 0);
	for (size_t p = 0; !r && p < call->a->pids.n; p++)
		r = link_process(call, g, from, to, prog, call->a->pids.v[p]);
	return r ? r : keep_part(call, g, from, to, prog);
}

static void close_links_of(struct attach *a, size_t n, pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->links.n; i++) {
		if (i < n && a->links.v[i].pid == pid)
			close(a->links.v[i].fd);
		else
			a->links.v[kept++] = a->links.v[i];
	}
	a->links.n = kept;
}

static bool is_refused(const struct attach *a, uint32_t site)
{
	for (size_t i = 0; i < a->refused.n; i++)
		if (a->refused.v[i] == site)
			return true;
	return false;
}

int attach_process_again(struct attach *a, const struct plan *plan, pid_t pid, uint64_t *ret_ns, struct ut_err *err)
{
	struct attach_call call = { .a = a, .plan = plan, .err = err };
	size_t old = a->links.n;
	int r = 0;

	for (size_t i = 0; !r && i < a->parts.n; i++) {
		const struct attached_part *part = &a->parts.v[i];
		const struct plan_site *first = &plan->sites.v[part->sites.v[0]];
		struct group g = { .kind = first->kind, .file = first->file };

		for (size_t k = 0; !r && k < part->sites.n; k++)
			if (!is_refused(a, part->sites.v[k]) && vec_push(&g.sites, &plan->sites.v[part->sites.v[k]]))
				r = ut_err_nomem(err);
		if (!r && g.sites.n)
			r = link_process(&call, &g, 0, g.sites.n, part->prog, pid);
		vec_done(&g.sites);
	}
	*ret_ns = monotonic_ns();
	close_links_of(a, old, pid); /* waits for the kernel */
	return r;
}

size_t attach_refused(const struct attach *a, const uint32_t **ret)
{
	*ret = a->refused.v;
	return a->refused.n;
}

/* Loads the program of the snippets of sites [from … to); its descriptor is kept. */
static int load_part(const struct attach_call *call, const struct group *g, size_t from, size_t to)
{
	const struct gen_snippet *snippets[SNIPPETS_MAX];
	uint32_t numbers[SNIPPETS_MAX];
	struct asm_buf assembly = { 0 };
	struct kernel_prog prog = { .type = is_tracepoint(g) ? BPF_PROG_TYPE_TRACEPOINT : BPF_PROG_TYPE_KPROBE,
				    .multi = call->a->multi && !is_tracepoint(g) };
	struct gen_options options = call->plan->options.gen;
	size_t n = 0;
	int fd;

	if (is_tracepoint(g))
		options.filter = call->plan->options.tracepoint_filter;
	for (size_t i = from; i < to; i++) {
		uint32_t snippet = g->sites.v[i]->snippet;

		if (n && numbers[n - 1] == snippet)
			continue;
		numbers[n] = snippet;
		snippets[n] = &call->plan->snippets.v[snippet];
		prog.sleepable |= snippets[n++]->sleeps;
	}
	fd = gen_program(snippets, numbers, n, &options, &assembly, call->err);
	if (!fd && gen_relocate(&assembly, call->a->options.map_fds))
		fd = ut_err_set(call->err, -EINVAL, "a generated program refers to a missing map");
	if (!fd && gen_link(&assembly, call->a->options.functions))
		fd = ut_err_set(call->err, -EINVAL, "a generated program calls a missing function");
	if (!fd) {
		prog.insns = assembly.insns.v;
		prog.n = assembly.insns.n;
		fd = kernel_prog_load(&prog, call->a->options.verbose ? call->log : NULL, call->err);
	}
	asm_done(&assembly);
	if (fd >= 0 && vec_push(&call->a->progs, fd)) {
		close(fd);
		fd = ut_err_nomem(call->err);
	}
	return fd;
}

/* How many sites from @from on still fit into one program. */
static size_t part_end(const struct attach_call *call, const struct group *g, size_t from)
{
	size_t snippets = 0, insns = 0, i;

	for (i = from; i < g->sites.n; i++) {
		uint32_t snippet = g->sites.v[i]->snippet;

		if (i > from && g->sites.v[i - 1]->snippet == snippet)
			continue;
		insns += call->plan->snippets.v[snippet].code.insns.n;
		if (i > from && (++snippets > SNIPPETS_MAX - 1 || insns > INSNS_MAX || is_tracepoint(g)))
			break;
	}
	return i;
}

static int compare_sites_by_snippet(const void *a, const void *b)
{
	const struct plan_site *x = *(const struct plan_site *const *)a, *y = *(const struct plan_site *const *)b;

	if (x->snippet != y->snippet)
		return x->snippet < y->snippet ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int attach_group(const struct attach_call *call, struct group *g)
{
	int r = 0;

	qsort(g->sites.v, g->sites.n, sizeof(*g->sites.v), compare_sites_by_snippet);
	for (size_t from = 0, to; r >= 0 && from < g->sites.n; from = to) {
		/* two tracepoints never share a program: each event has an attachment of its own */
		to = is_tracepoint(g) ? from + 1 : part_end(call, g, from);
		r = load_part(call, g, from, to);
		if (r >= 0)
			r = link_group_part(call, g, from, to, r);
	}
	return r < 0 ? r : 0;
}

/* Sites of one kind and file, from the call's first on, beginning with the one at @seed. */
static int collect_group(const struct attach_call *call, size_t seed, bool *done, struct group *ret)
{
	const struct plan_site *like = &call->plan->sites.v[seed];

	*ret = (struct group){ .kind = like->kind, .file = like->file };
	for (size_t i = seed; i < call->plan->sites.n; i++) {
		const struct plan_site *s = &call->plan->sites.v[i];
		const char *unsafe;
		char name[256];

		if (s->kind != like->kind || (!site_is_tracepoint(s) && s->file != like->file))
			continue;
		done[i - call->first] = true;
		if (s->excluded || s->snippet == SITE_NO_SNIPPET)
			continue;
		unsafe = nop5_unsafe(s->nop5, call->a->options.no_forks);
		if (unsafe) /* a 5-byte nop where this kernel would do harm: never attached */
			return ut_err_set(call->err, -EOPNOTSUPP,
					  "%s in '%s' at 0x%llx is %s; rebuild it with a probe header that emits a "
					  "1-byte nop",
					  site_name(call, s, name), call->plan->files.v[s->file].path,
					  (unsigned long long)s->vaddr, unsafe);
		if (call->a->options.hold && s->sem_twice) {
			if (vec_push(&call->a->held, (uint32_t)(s - call->plan->sites.v)))
				return ut_err_nomem(call->err);
			continue;
		}
		if (vec_push(&ret->sites, s))
			return ut_err_nomem(call->err);
	}
	return 0;
}

int attach_held_file(const struct attach *a, const struct plan *plan, size_t i)
{
	return i < a->held.n ? (int)plan->sites.v[a->held.v[i]].file : -1;
}

void attach_forget_held(struct attach *a, const struct plan *plan, unsigned file)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->held.n; i++)
		if (plan->sites.v[a->held.v[i]].file != file)
			a->held.v[kept++] = a->held.v[i];
	a->held.n = kept;
}

int attach_held(struct attach *a, const struct plan *plan, unsigned file, struct ut_err *err)
{
	struct attach_call call = { .a = a, .plan = plan, .err = err };
	int r = 0;

	/* Those of user events and of probes have programs of different kinds. */
	for (enum site_kind kind = 0; !r && kind <= SITE_USER; kind++) {
		struct group g = { .kind = kind, .file = file };

		for (size_t i = 0; !r && i < a->held.n; i++) {
			const struct plan_site *s = &plan->sites.v[a->held.v[i]];

			if (s->file == file && s->kind == kind && vec_push(&g.sites, s))
				r = ut_err_nomem(err);
		}
		if (!r && g.sites.n)
			r = attach_group(&call, &g);
		vec_done(&g.sites);
	}
	attach_forget_held(a, plan, file);
	return r;
}

/* Entries come before returns in a plan's order, so that no return is seen whose call was not. */
int attach_sites(struct attach *a, const struct plan *plan, size_t first, char **log, struct ut_err *err)
{
	struct attach_call call = { .a = a, .plan = plan, .first = first, .log = log, .err = err };
	size_t n = plan->sites.n - first, links = a->links.n, parts = a->parts.n, held = a->held.n;
	AUTO_FREE bool *done = calloc(n ? n : 1, sizeof(*done));
	int r = done ? 0 : ut_err_nomem(err);

	if (log)
		*log = NULL;
	for (size_t i = first; !r && i < plan->sites.n; i++) {
		struct group g = { 0 };

		if (done[i - first])
			continue;
		r = collect_group(&call, i, done, &g);
		if (!r)
			r = attach_group(&call, &g);
		vec_done(&g.sites);
	}
	if (r) {
		close_all(a->links.v + links, a->links.n - links);
		a->links.n = links;
		a->held.n = held;
		for (; a->parts.n > parts; a->parts.n--)
			vec_done(&a->parts.v[a->parts.n - 1].sites);
	}
	return r;
}
