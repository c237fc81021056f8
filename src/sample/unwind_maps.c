/* SPDX-License-Identifier: MIT */
/* Processes: their executable mappings are consecutive in the kernel's array and replaced as a whole when they change. */
#include "sample/unwind_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/search.h"
#include "bpf/sample.h"
#include "proc/hotspot.h"
#include "sample/unwind_priv.h"

/* Time limit of a walk that reads a retired range of a process's mappings. */
#define GRACE_NS 200000000u

struct process {
	pid_t pid;
	uint32_t first, n;
	struct unwind_file **files; /* the mapped ones, each once */
	size_t nfiles;
	int bare; /* a JVM whose code keeps no frame pointers: 1 yes, 0 no, -1 not determined */
};

struct old_place {
	struct range range;
	uint64_t since_ns;
};

struct unwind_maps {
	struct unwind_tables tables;
	struct ranges places;
	VEC(struct process) processes; /* by pid */
	VEC(struct old_place) old;
	uint32_t stamp;
};

int unwind_maps_open(const struct unwind_fds *fds, struct unwind_maps **ret, struct ut_err *err)
{
	struct unwind_maps *m = calloc(1, sizeof(*m));

	if (!m)
		return ut_err_nomem(err);
	if (unwind_tables_open(&m->tables, fds) || ranges_open(&m->places, SAMPLE_MAPPINGS_MAX)) {
		unwind_maps_close(m);
		return ut_err_nomem(err);
	}
	*ret = m;
	return 0;
}

struct unwind_maps *unwind_maps_close(struct unwind_maps *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < m->processes.n; i++)
		free(m->processes.v[i].files);
	vec_done(&m->processes);
	vec_done(&m->old);
	ranges_done(&m->places);
	unwind_tables_done(&m->tables);
	free(m);
	return NULL;
}

/* The index of @pid, or the one where it belongs. */
static size_t process_index(const struct unwind_maps *m, pid_t pid)
{
	return search_first_not(i, 0, m->processes.n, m->processes.v[i].pid < pid);
}

static struct process *find_process(const struct unwind_maps *m, pid_t pid)
{
	size_t at = process_index(m, pid);

	return at < m->processes.n && m->processes.v[at].pid == pid ? &m->processes.v[at] : NULL;
}

static struct process *find_or_add(struct unwind_maps *m, pid_t pid)
{
	size_t at = process_index(m, pid);
	struct process *p = find_process(m, pid);

	if (p)
		return p;
	if (vec_push(&m->processes, ((struct process){ 0 })))
		return NULL;
	p = &m->processes.v[at];
	memmove(p + 1, p, (m->processes.n - 1 - at) * sizeof(*p));
	*p = (struct process){ .pid = pid, .bare = -1 };
	return p;
}

/* JIT code of HotSpot uses rbp for other things unless an option makes it keep frame pointers. */
static bool is_bare(struct process *p)
{
	if (p->bare < 0)
		p->bare = hotspot_is_ready(p->pid) && hotspot_keeps_frame_pointers(p->pid) == 0;
	return p->bare;
}

struct snapshot { /* the current mappings of a process */
	VEC(struct ut_unwind_mapping) mappings;
	VEC(struct unwind_file *) files;
};

static int use_file(struct snapshot *snapshot, struct unwind_file *f)
{
	for (size_t i = 0; i < snapshot->files.n; i++)
		if (snapshot->files.v[i] == f)
			return 0;
	if (vec_push(&snapshot->files, f))
		return -ENOMEM;
	f->users++; /* at once, or the next file could evict it */
	return 0;
}

static int add_mapping(struct unwind_maps *m, struct process *p, const struct mapping *from, struct snapshot *snapshot)
{
	struct ut_unwind_mapping to = {
		.start = from->start, .end = from->end, .process = (uint32_t)p->pid, .code = UT_CODE_RUNTIME
	};
	struct unwind_file *f = NULL;

	if (from->file.ino || strcmp(from->path, "[vdso]") == 0) {
		f = unwind_tables_get(&m->tables, p->pid, from);
		if (!f || use_file(snapshot, f))
			return -ENOMEM;
		to.code = f->code;
	}
	if (to.code == UT_CODE_TABLE && !unwind_file_bias(f, from, &to.bias))
		to.code = UT_CODE_FILE;
	if (to.code == UT_CODE_TABLE) {
		to.directory = f->directory;
		to.first_page = f->first_page;
		to.pages = f->pages;
	}
	if (strcmp(from->path, "[uprobes]") == 0) {
		to.code = UT_CODE_RETURNS;
		to.start--; /* returns go to its first byte, and a walk uses the byte before */
	}
	if (to.code == UT_CODE_RUNTIME && is_bare(p))
		to.code = UT_CODE_BARE;
	return vec_push(&snapshot->mappings, to);
}

static int read_snapshot(struct unwind_maps *m, struct process *p, struct snapshot *snapshot)
{
	AUTO(mappings_done) struct mappings maps = { 0 };
	int r = mappings_read(p->pid, &maps, NULL);

	for (size_t i = 0; !r && i < maps.maps.n; i++)
		if (maps.maps.v[i].exec)
			r = add_mapping(m, p, &maps.maps.v[i], snapshot);
	return r;
}

static void unuse_files(struct unwind_file **files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		files[i]->users--;
	free(files);
}

static void retire_mappings(struct unwind_maps *m, struct process *p)
{
	struct old_place old = { .range = { p->first, p->n }, .since_ns = monotonic_ns() };

	if (p->n && vec_push(&m->old, old) == 0)
		p->n = 0;
}

static int update_process(struct unwind_maps *m, pid_t pid, uint32_t first, uint32_t n, uint32_t flags)
{
	uint32_t key = (uint32_t)pid;
	struct ut_unwind_process value = {
		.first = first, .n = n, .stamp = ++m->stamp & 0xffffff, .flags = flags, .owner = key
	};

	return bpf_map_update_elem(m->tables.fds.sampled, &key, &value, BPF_ANY);
}

static int write_snapshot(struct unwind_maps *m, struct process *p, const struct snapshot *snapshot)
{
	uint32_t n = (uint32_t)snapshot->mappings.n, first = n ? ranges_alloc(&m->places, n) : 0;
	int r = first == UINT32_MAX ? -ENOSPC : 0;

	for (uint32_t i = 0; !r && i < n; i++) {
		uint32_t key = first + i;

		r = bpf_map_update_elem(m->tables.fds.mappings, &key, &snapshot->mappings.v[i], BPF_ANY);
	}
	if (!r)
		r = update_process(m, p->pid, first, n, UT_PROCESS_WANTED | UT_PROCESS_KNOWN);
	if (r) {
		if (first != UINT32_MAX)
			ranges_free(&m->places, first, n);
		return r;
	}
	retire_mappings(m, p);
	p->first = first;
	p->n = n;
	return 0;
}

int unwind_maps_process(struct unwind_maps *m, pid_t pid, struct ut_err *err)
{
	struct process *p = find_or_add(m, pid);
	struct snapshot snapshot = { 0 };
	int r = p ? read_snapshot(m, p, &snapshot) : -ENOMEM;

	if (!r)
		r = write_snapshot(m, p, &snapshot);
	if (!r) {
		unuse_files(p->files, p->nfiles);
		p->files = snapshot.files.v;
		p->nfiles = snapshot.files.n;
	} else {
		unuse_files(snapshot.files.v, snapshot.files.n);
	}
	vec_done(&snapshot.mappings);
	if (r == -ENOMEM)
		return ut_err_nomem(err);
	if (r == -ESRCH || r == -ENOENT) {
		unwind_maps_remove(m, pid); /* it has exited, and its PID may be reused soon */
		return 0;
	}
	if (r == -EACCES || r == -EPERM)
		return 0; /* no permission: its samples say that its mappings are not known */
	return r ? ut_err_set(err, r, "the kernel's tables of mappings are full: stacks of process %d are incomplete",
			      pid)
		 : 0;
}

int unwind_maps_enable(struct unwind_maps *m, pid_t pid, struct ut_err *err)
{
	struct process *p = find_or_add(m, pid);
	int r = p ? update_process(m, pid, 0, 0, UT_PROCESS_WANTED) : -ENOMEM;

	return r ? ut_err_set(err, r, "cannot enable sampling of process %d: %s", pid, strerror(-r)) : 0;
}

bool unwind_maps_has(const struct unwind_maps *m, pid_t pid) { return find_process(m, pid) != NULL; }

void unwind_maps_remove(struct unwind_maps *m, pid_t pid)
{
	struct process *p = find_process(m, pid);
	uint32_t key = (uint32_t)pid;

	if (!p)
		return;
	bpf_map_delete_elem(m->tables.fds.sampled, &key);
	retire_mappings(m, p);
	unuse_files(p->files, p->nfiles);
	memmove(p, p + 1, (size_t)(m->processes.v + m->processes.n - (p + 1)) * sizeof(*p));
	m->processes.n--;
}

void unwind_maps_reclaim(struct unwind_maps *m, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->old.n; i++) {
		struct old_place *o = &m->old.v[i];

		if (now - o->since_ns > GRACE_NS)
			ranges_free(&m->places, o->range.first, o->range.n);
		else
			m->old.v[kept++] = *o;
	}
	m->old.n = kept;
}

size_t unwind_maps_mappings(const struct unwind_maps *m, pid_t pid, struct ut_unwind_mapping **ret)
{
	const struct process *p = find_process(m, pid);
	struct ut_unwind_mapping *v = p && p->n ? calloc(p->n, sizeof(*v)) : NULL;

	if (!v)
		return 0;
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t key = p->first + i;

		if (bpf_map_lookup_elem(m->tables.fds.mappings, &key, &v[i])) {
			free(v);
			return 0;
		}
	}
	*ret = v;
	return p->n;
}

bool unwind_maps_page(const struct unwind_maps *m, uint32_t entry, uint32_t ret[2])
{
	uint32_t next = entry + 1;

	return !bpf_map_lookup_elem(m->tables.fds.directory, &entry, &ret[0]) &&
	       !bpf_map_lookup_elem(m->tables.fds.directory, &next, &ret[1]);
}

bool unwind_maps_chunk(const struct unwind_maps *m, uint32_t number, uint32_t *ret)
{
	uint32_t segment = number / SAMPLE_SEGMENT_CHUNKS, key = number % SAMPLE_SEGMENT_CHUNKS;

	return segment < m->tables.segments.n && !bpf_map_lookup_elem(m->tables.segments.v[segment], &key, ret);
}

const struct ut_unwind_rule *unwind_maps_rule(const struct unwind_maps *m, uint32_t number)
{
	return number < m->tables.nrules ? &m->tables.rules[number] : NULL;
}

void unwind_maps_size(const struct unwind_maps *m, uint64_t *ret_bytes, size_t *ret_files)
{
	*ret_bytes = (uint64_t)m->tables.segments.n * SAMPLE_SEGMENT_CHUNKS * SAMPLE_CHUNK_ROWS * 4 +
		     SAMPLE_DIRECTORY_MAX * 4u + UT_UNWIND_RULES_MAX * sizeof(struct ut_unwind_rule) +
		     SAMPLE_MAPPINGS_MAX * sizeof(struct ut_unwind_mapping);
	*ret_files = m->tables.with_table;
}
