/* SPDX-License-Identifier: MIT */
/* The descendants of processes, from the parents in /proc. */
#include "proc/descendants.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"

static bool is_root(const int *roots, size_t nroots, pid_t pid)
{
	for (size_t i = 0; i < nroots; i++)
		if (roots[i] == pid)
			return true;
	return false;
}

static int compare_parents(const void *a, const void *b)
{
	const struct process_parent *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_marked(const struct process_parent *all, size_t n, pid_t pid, const bool *marks)
{
	const struct process_parent key = { .pid = pid };
	const struct process_parent *found = n ? bsearch(&key, all, n, sizeof(key), compare_parents) : NULL;

	return found && marks[found - all];
}

void descendants_mark(const struct process_parent *all, size_t n, const int *roots, size_t nroots, pid_t except,
		      bool *ret)
{
	bool again = true;

	for (size_t i = 0; i < n; i++)
		ret[i] = false;
	while (again) { /* one pass for each generation, usually one: a child mostly has the higher PID */
		again = false;
		for (size_t i = 0; i < n; i++) {
			pid_t parent = all[i].parent;

			if (ret[i] || (except && all[i].pid == except) || is_root(roots, nroots, all[i].pid))
				continue;
			ret[i] = parent && (is_root(roots, nroots, parent) || is_marked(all, n, parent, ret));
			again |= ret[i];
		}
	}
}

int descendants_list(const int *roots, size_t nroots, struct process_id **ret, size_t *ret_n, struct ut_err *err)
{
	AUTO_FREE struct process_parent *parents = NULL;
	AUTO_FREE bool *marks = NULL;
	struct process_id *ids = NULL;
	size_t n = 0, kept = 0;
	int r = process_list(&ids, &n, err);

	if (r)
		return r;
	parents = calloc(n + 1, sizeof(*parents));
	marks = calloc(n + 1, sizeof(*marks));
	if (!parents || !marks) {
		free(ids);
		return ut_err_nomem(err);
	}
	for (size_t i = 0; i < n; i++)
		parents[i] = (struct process_parent){ .pid = ids[i].pid, .parent = process_parent(ids[i].pid) };
	descendants_mark(parents, n, roots, nroots, getpid(), marks);
	for (size_t i = 0; i < n; i++)
		if (marks[i])
			ids[kept++] = ids[i];
	*ret = ids;
	*ret_n = kept;
	return 0;
}

size_t descendants_count(const struct runtime *const *v, size_t n, struct buf *out)
{
	size_t total = 0, named = 0, left;

	for (size_t i = 0; i < n; i++)
		total += v[i] != NULL;
	left = total;
	for (size_t i = 0; i < n && left; i++) {
		size_t same = 0;
		bool first = v[i] != NULL;

		for (size_t k = 0; first && k < i; k++)
			first = v[k] != v[i];
		if (!first)
			continue;
		for (size_t k = i; k < n; k++)
			same += v[k] == v[i];
		left -= same;
		buf_addf(out, "%s%zu%s that %s %s",
			 !named ? ""
			 : left ? ", "
				: " and ",
			 same,
			 named	     ? ""
			 : same == 1 ? " child process"
				     : " child processes",
			 same == 1 ? "runs" : "run", v[i]->name);
		named++;
	}
	return total;
}

size_t descendants_runtimes(const struct runtimes *r, const struct process_id *v, size_t n, struct buf *out)
{
	AUTO_FREE const struct runtime **runs = calloc(n + 1, sizeof(*runs));

	for (size_t i = 0; runs && i < n; i++) {
		runs[i] = runtime_of_process(r, v[i].pid);
		if (runs[i] && runs[i]->library)
			runs[i] = NULL;
	}
	return runs ? descendants_count(runs, n, out) : 0;
}
