/* SPDX-License-Identifier: MIT */
/* The plan itself: adds requests, probes, sites and snippets, and removes them together. */
#include "plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "plan/plan_priv.h"

static void request_done(struct plan_request *r)
{
	free(r->text);
	probe_spec_free(r->spec);
	free(r->miss);
}

static void probe_done(struct plan_probe *p)
{
	probe_checked_free(p->checked);
	tracepoint_done(&p->tracepoint);
	free(p->provider);
	free(p->func);
}

bool plan_request_is_path(const struct plan_request *r)
{
	return r->spec->kind != PROBE_TRACEPOINT && r->spec->kind != PROBE_SIGNAL && strchr(r->spec->where, '/');
}

bool site_is_tracepoint(const struct plan_site *site)
{
	return site->kind == SITE_TRACEPOINT || site->kind == SITE_PRCTL || site->kind == SITE_SIGNAL;
}

bool site_has_events(const struct plan_site *site) { return site->kind != SITE_ENTRY && !site->excluded; }

static int add_request(struct plan *plan, const char *text, struct ut_err *err)
{
	struct plan_request request = { 0 };
	struct stat st;
	int r = probe_parse(text, &request.spec, err);

	if (!r)
		r = probe_check_format(request.spec, err);
	if (r) {
		request_done(&request);
		return r;
	}
	request.text = strdup(text);
	if (plan_request_is_path(&request) && stat(request.spec->where, &st) == 0) {
		request.has_id = true;
		request.id = (struct file_id){ .dev = st.st_dev, .ino = st.st_ino };
	}
	if (!request.text || vec_push(&plan->requests, request)) {
		request_done(&request);
		return ut_err_nomem(err);
	}
	return 0;
}

int plan_new(const char *const *texts, size_t n, const struct plan_options *options, struct plan **ret,
	     struct ut_err *err)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int r = 0;

	if (!plan)
		return ut_err_nomem(err);
	plan->options = *options;
	plan->user_probe = plan->signal_probe = -1;
	for (size_t i = 0; !r && i < n; i++) {
		r = add_request(plan, texts[i], err);
		if (!r && options->states)
			plan->requests.v[i].state = options->states[i];
	}
	plan->options.states = NULL; /* the caller's */
	if (r) {
		plan_free(plan);
		return r;
	}
	*ret = plan;
	return 0;
}

bool plan_measures(const struct plan *plan)
{
	for (size_t i = 0; i < plan->requests.n; i++)
		if (plan->requests.v[i].state != STATE_NONE)
			return true;
	return false;
}

int plan_note(struct plan *plan, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = sentences_add(&plan->notes, fmt, ap);
	va_end(ap);
	return r;
}

void plan_set_miss(struct plan_request *r, const char *fmt, ...)
{
	va_list ap;

	free(r->miss);
	r->weak_miss = false;
	va_start(ap, fmt);
	if (vasprintf(&r->miss, fmt, ap) < 0)
		r->miss = NULL;
	va_end(ap);
}

int plan_check(struct plan *plan, unsigned request, const struct probe_scope *scope, const char *extra,
	       struct probe_checked **ret, struct ut_err *err)
{
	struct plan_request *req = &plan->requests.v[request];
	AUTO_FREE char *text = NULL;
	struct probe_spec *spec = NULL;
	int r;

	if (asprintf(&text, "%s%s%s", req->text, extra ? " " : "", extra ? extra : "") < 0) {
		text = NULL;
		return ut_err_nomem(err);
	}
	r = probe_parse(text, &spec, err);
	if (!r) {
		spec->state = req->state;
		r = probe_check(spec, scope, ret, err);
	}
	if (r) {
		probe_spec_free(spec);
		return r;
	}
	/* notes about a default format are of no use to the user */
	for (size_t i = 0; !r && !extra && !plan->options.described && i < (*ret)->notes.n; i++)
		r = plan_note(plan, "%s", (*ret)->notes.v[i]);
	if (!r)
		return 0;
	*ret = probe_checked_free(*ret);
	return ut_err_nomem(err);
}

int plan_add_probe(struct plan *plan, struct plan_probe *probe)
{
	if (!probe->provider || !probe->func || vec_push(&plan->probes, *probe)) {
		probe_done(probe);
		return -ENOMEM;
	}
	plan->requests.v[probe->request].nprobes++;
	return (int)plan->probes.n - 1;
}

/* Returns the index of an equal snippet, or of this one, which is moved in. */
static int insert_snippet(struct plan *plan, struct gen_snippet *snippet)
{
	for (size_t i = 0; i < plan->snippets.n; i++) {
		if (gen_snippet_equal(&plan->snippets.v[i], snippet)) {
			gen_snippet_done(snippet);
			return (int)i;
		}
	}
	if (vec_push(&plan->snippets, *snippet)) {
		gen_snippet_done(snippet);
		return -ENOMEM;
	}
	return (int)plan->snippets.n - 1;
}

static struct gen_site gen_site_of(const struct plan *plan, const struct plan_site *site)
{
	const struct plan_probe *p = &plan->probes.v[site->probe];

	return (struct gen_site){
		.operands = site->operands,
		.site_vaddr = site->vaddr,
		.tracepoint = &p->tracepoint,
		.pairing = site->goroutine ? GEN_PAIR_GOROUTINE
			   : site->paired  ? GEN_PAIR_STACK
					   : GEN_PAIR_TRAMPOLINE,
		.request = p->request,
		.tail_jump = site->kind == SITE_TAIL,
		.condition = site->condition,
	};
}

static int generate_snippet(struct plan *plan, const struct plan_site *site, struct gen_snippet *ret,
			    struct ut_err *err)
{
	const struct plan_probe *p = &plan->probes.v[site->probe];
	struct gen_site gs = gen_site_of(plan, site);
	struct gen_options options = plan->options.gen;

	if (site->kind == SITE_ENTRY)
		return gen_entry_snippet(&gs, &options, ret, err);
	options.sample = p->request < plan->options.samples;
	options.may_sleep = options.may_sleep && site->kind != SITE_TRACEPOINT && !options.sample;
	return gen_snippet(p->checked, &gs, &options, ret, err);
}

static void set_unreadable(struct plan *plan, struct plan_site *site)
{
	const struct plan_probe *p = &plan->probes.v[site->probe];
	struct gen_site gs = gen_site_of(plan, site);

	for (unsigned i = 0; i < p->checked->noutputs; i++)
		if (!gen_output_unreadable(p->checked, i, &gs, &site->unreadable[i]))
			site->unreadable[i] = NULL;
}

int plan_add_site_with(struct plan *plan, struct plan_site *site, struct gen_snippet *snippet, struct ut_err *err)
{
	int r = insert_snippet(plan, snippet);

	if (r >= 0) {
		site->snippet = (uint32_t)r;
		r = vec_push(&plan->sites, *site);
	}
	if (r < 0) {
		free(site->operands);
		return ut_err_nomem(err);
	}
	if (site_has_events(site))
		plan->probes.v[site->probe].nsites++;
	return 0;
}

int plan_add_site(struct plan *plan, struct plan_site *site, struct ut_err *err)
{
	struct gen_snippet snippet;
	int r = generate_snippet(plan, site, &snippet, err);

	if (r) {
		free(site->operands);
		return r;
	}
	set_unreadable(plan, site);
	return plan_add_site_with(plan, site, &snippet, err);
}

int plan_scan_file(struct plan_scan *scan)
{
	struct plan_file f = { .id = scan->id };

	if (scan->file >= 0)
		return scan->file;
	f.path = strdup(scan->path);
	f.fd = fcntl(scan->fd, F_DUPFD_CLOEXEC, 3);
	if (!f.path || f.fd < 0 || vec_push(&scan->plan->files, f)) {
		free(f.path);
		if (f.fd >= 0)
			close(f.fd);
		return ut_err_nomem(scan->err);
	}
	scan->file = (int)scan->plan->files.n - 1;
	return scan->file;
}

int plan_scan_image(struct plan_scan *scan) { return scan->img ? 0 : elf_image_open(scan->fd, &scan->img, scan->err); }

/* A state of the plan, to which undo_to_mark returns. */
struct plan_mark {
	size_t probes, sites, snippets, files, seen, ifuncs;
};

static struct plan_mark mark_plan(const struct plan *plan)
{
	return (struct plan_mark){ plan->probes.n, plan->sites.n, plan->snippets.n,
				   plan->files.n,  plan->seen.n,  plan->ifuncs.n };
}

static void undo_to_mark(struct plan *plan, const struct plan_mark *m)
{
	for (size_t i = m->probes; i < plan->probes.n; i++) {
		plan->requests.v[plan->probes.v[i].request].nprobes--;
		probe_done(&plan->probes.v[i]);
	}
	for (size_t i = m->sites; i < plan->sites.n; i++)
		free(plan->sites.v[i].operands);
	for (size_t i = m->snippets; i < plan->snippets.n; i++)
		gen_snippet_done(&plan->snippets.v[i]);
	for (size_t i = m->files; i < plan->files.n; i++) {
		free(plan->files.v[i].path);
		close(plan->files.v[i].fd);
	}
	while (plan->ifuncs.n > m->ifuncs)
		free(plan->ifuncs.v[--plan->ifuncs.n].name);
	plan->files.n = m->files;
	plan->seen.n = m->seen;
	plan->probes.n = m->probes;
	plan->sites.n = m->sites;
	plan->snippets.n = m->snippets;
}

static void free_names(struct name_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i]);
	vec_done(list);
}

struct plan *plan_free(struct plan *plan)
{
	if (!plan)
		return NULL;
	undo_to_mark(plan, &(struct plan_mark){ 0 });
	for (size_t i = 0; i < plan->requests.n; i++)
		request_done(&plan->requests.v[i]);
	sentences_done(&plan->notes);
	vec_done(&plan->requests);
	vec_done(&plan->probes);
	vec_done(&plan->sites);
	vec_done(&plan->files);
	vec_done(&plan->snippets);
	vec_done(&plan->seen);
	vec_done(&plan->ifuncs);
	free(plan->denied);
	free_names(&plan->providers);
	free_names(&plan->names);
	free(plan);
	return NULL;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * Containers of one image see the same file through different overlays. The kernel attaches probes to the file below
 * them: attached for each overlay, every event would be reported once per overlay.
 */
static bool same_below(const struct plan_seen *a, const struct plan_seen *b)
{
	return a->overlay && b->overlay && a->id.ino == b->id.ino && a->size == b->size &&
	       same_time(&a->changed, &b->changed);
}

static bool was_seen(const struct plan *plan, const struct plan_seen *file)
{
	for (size_t i = 0; i < plan->seen.n; i++) {
		const struct plan_seen *s = &plan->seen.v[i];
		bool same_id = s->id.ino == file->id.ino && s->id.dev == file->id.dev;

		if ((same_id && (s->held || same_time(&s->changed, &file->changed))) || same_below(s, file))
			return true;
	}
	return false;
}

bool plan_was_seen(const struct plan *plan, pid_t pid, const struct mapping *m, bool check)
{
	for (size_t i = 0; i < plan->seen.n; i++) {
		const struct plan_seen *s = &plan->seen.v[i];
		char link[96];
		struct stat st;

		if (s->id.ino != m->file.ino || s->id.dev != m->file.dev)
			continue;
		snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)m->start,
			 (unsigned long long)m->end);
		if (s->held || !check || stat(link, &st) || same_time(&s->changed, &st.st_ctim))
			return true;
	}
	return false;
}

static struct plan_seen seen_file(int fd, const struct stat *st)
{
	struct statfs fs;

	return (struct plan_seen){ .id = { .dev = st->st_dev, .ino = st->st_ino },
				   .changed = st->st_ctim,
				   .size = st->st_size,
				   .overlay = fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC };
}

static int scan_request(struct plan_scan *scan, unsigned request)
{
	struct plan *plan = scan->plan;
	enum probe_kind kind = plan->requests.v[request].spec->kind;
	struct plan_mark mark = mark_plan(plan);
	int r = 0;

	if (kind == PROBE_USDT)
		r = plan_usdt(scan, request);
	else if (kind != PROBE_TRACEPOINT && kind != PROBE_USER)
		r = plan_functions(scan, request);
	if (r && scan->err) { /* for callers that continue: the reason why the request has no probe */
		plan_set_miss(&plan->requests.v[request], "%s", scan->err->msg);
		plan->requests.v[request].failed = true;
	}
	if (r != -EINVAL || !plan->options.described)
		return r;
	undo_to_mark(plan, &mark);
	if (scan->file >= (int)mark.files)
		scan->file = -1;
	if (scan->err)
		*scan->err = (struct ut_err){ 0 };
	return 0;
}

static int scan_requests(struct plan_scan *scan)
{
	int r = plan_user(scan);

	for (unsigned i = 0; !r && i < scan->plan->requests.n; i++)
		r = scan_request(scan, i);
	return r;
}

/* "/usr/bin/chezscheme" for a link to it named scheme. */
static const char *real_path(int fd, const char *path, char *buf, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buf, size - 1);
	if (n <= 0)
		return path;
	buf[n] = '\0';
	return buf;
}

int plan_file(struct plan *plan, const char *path, int fd, struct ut_err *err)
{
	char real[PATH_MAX];
	struct plan_mark mark = mark_plan(plan);
	struct plan_scan scan = { .plan = plan,
				  .path = path,
				  .fd = fd,
				  .file = -1,
				  .err = err,
				  .real = real_path(fd, path, real, sizeof(real)) };
	struct plan_seen seen;
	struct stat st;
	int r;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return ut_err_set(err, -EINVAL, "'%s' is not a regular file", path);
	seen = seen_file(fd, &st);
	scan.id = seen.id;
	if (was_seen(plan, &seen))
		return 0;
	if (vec_push(&plan->seen, seen))
		return ut_err_nomem(err);
	r = scan_requests(&scan);
	plan->seen.v[mark.seen].held = scan.file >= 0;
	if (r)
		undo_to_mark(plan, &mark);
	if (scan.notes_read)
		usdt_notes_done(&scan.notes);
	elf_image_free(scan.img);
	return r;
}
