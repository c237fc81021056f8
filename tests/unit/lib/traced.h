/* SPDX-License-Identifier: MIT */
/* A whole trace of this program itself: from probes as typed, by way of a plan, to attachments. */
#ifndef UT_TESTS_TRACED_H
#define UT_TESTS_TRACED_H

#include <errno.h>
#include <limits.h>

#include "probe_fire.h"
#include "record/attach.h"
#include "plan/plan.h"

struct traced {
	struct recorder r;
	struct plan *plan;
	struct attach *attach;
};

static inline void own_path(char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);

	assert_true(n > 0);
	ret[n] = '\0';
}

static inline struct plan_options traced_options(void)
{
	struct plan_options ret = { .gen = recorder_options(200) };

	return ret;
}

/* A plan for probes "KIND:NAME…" of this program; its path is put in behind the first colon. */
static inline int own_plan(const char *const *texts, size_t n, struct plan **ret, struct ut_err *err)
{
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	AUTO_FREE char **full = calloc(n, sizeof(*full));
	struct plan_options options = traced_options();
	char path[PATH_MAX];
	int code;

	own_path(path);
	for (size_t i = 0; i < n; i++)
		assert_true(asprintf(&full[i], "%.2s%s:%s", texts[i], path, texts[i] + 2) > 0);
	code = plan_new((const char *const *)full, n, &options, ret, err);
	for (size_t i = 0; i < n; i++)
		free(full[i]);
	if (!code && (code = plan_file(*ret, path, fd, err)))
		*ret = plan_free(*ret);
	return code;
}

/* Attaches to process @pid; a negative errno with the sentence in @err when that is refused. */
static inline int traced_attach(struct traced *t, pid_t pid, bool no_multi, struct ut_err *err)
{
	struct attach_options options = {
		.pids = &pid, .npids = 1, .no_multi = no_multi, .no_forks = true, .verbose = true
	};
	AUTO_FREE char *log = NULL;
	int code;

	memcpy(options.map_fds, t->r.fds, sizeof(options.map_fds));
	t->attach = attach_new(&options);
	assert_non_null(t->attach);
	assert_int_equal(attach_is_multi(t->attach), !no_multi && kernel_has_uprobe_multi());
	code = attach_sites(t->attach, t->plan, 0, &log, err);
	if (log)
		print_message("%s\n", log);
	return code;
}

static inline void traced_open(struct traced *t, const char *const *texts, size_t n, bool no_multi)
{
	struct ut_err err = { 0 };

	memset(t, 0, sizeof(*t));
	recorder_open(&t->r, 1 << 18);
	if (own_plan(texts, n, &t->plan, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(plan_complete(t->plan, "this program", NULL, &err), 0);
	if (traced_attach(t, getpid(), no_multi, &err))
		fail_msg("%s", err.msg);
}

static inline void traced_close(struct traced *t)
{
	t->attach = attach_free(t->attach);
	t->plan = plan_free(t->plan);
	recorder_close(&t->r);
}

static inline const struct plan_probe *traced_probe(const struct traced *t, const struct ut_rec_event *rec)
{
	assert_true(rec->site < t->plan->sites.n);
	return &t->plan->probes.v[t->plan->sites.v[rec->site].probe];
}

#endif
