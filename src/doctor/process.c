/* SPDX-License-Identifier: MIT */
/* What one process offers to a tracer: identity, namespaces, runtime, probes and their semaphores. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/text.h"
#include "doctor/doctor_priv.h"
#include "sym/map_hint.h"
#include "elf/usdt.h"
#include "proc/hotspot.h"
#include "proc/process.h"
#include "proc/procfs.h"
#include "proc/runtime.h"
#include "proc/semaphore.h"

/* One provider of one file, with the counts of its notes. */
struct provider {
	const char *name;
	size_t probes, sites, defects;
};

struct found { /* over all files of a process */
	size_t probes, files, semaphores, raised;
	struct buf traced; /* names of probes with a raised semaphore */
	struct buf astray; /* of probes whose semaphore was raised where the program does not read it */
};

static int compare_notes(const void *a, const void *b)
{
	const struct usdt_note *const *x = a, *const *y = b;
	int order = strcmp((*x)->provider, (*y)->provider);

	return order ? order : strcmp((*x)->name, (*y)->name);
}

static void report_provider(struct checks *c, const char *path, const struct provider *p)
{
	if (p->defects)
		checks_add(c, CHECK_WARN, "probes", "rebuild the program",
			   "%s: %zu of its %zu sites in %s cannot be attached", p->name, p->defects, p->sites, path);
	else
		checks_add(c, CHECK_OK, "probes", NULL, "%s: %zu %s at %zu %s in %s", p->name, p->probes,
			   plural(p->probes, "probe"), p->sites, plural(p->sites, "site"), path);
}

static void add_probe_name(struct buf *names, const struct usdt_note *note)
{
	buf_addf(names, "%s%s:%s", names->len ? ", " : "", note->provider, note->name);
}

static void add_semaphore(struct found *found, const struct usdt_note *note, int mem, const struct mappings *maps,
			  const struct mapped_file *file)
{
	struct semaphore_place place;
	struct semaphore_count semaphore;

	if (!note->sem_offset || !semaphore_find(maps, &file->first.file, note->sem_offset, &place) ||
	    semaphore_read(mem, &place, &semaphore))
		return;
	found->semaphores++;
	if (semaphore.count) {
		found->raised++;
		add_probe_name(&found->traced, note);
	}
	if (semaphore.astray)
		add_probe_name(&found->astray, note);
}

/* Counts the notes of one file, sorted by name, and adds a check for each provider. */
static void check_notes(struct checks *c, struct found *found, const struct usdt_notes *notes, int mem,
			const struct mappings *maps, const struct mapped_file *file)
{
	size_t n = notes->notes.n;
	AUTO_FREE const struct usdt_note **sorted = calloc(n + 1, sizeof(*sorted));
	struct provider p = { 0 };

	if (!sorted) {
		c->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		sorted[i] = &notes->notes.v[i];
	qsort(sorted, n, sizeof(*sorted), compare_notes);
	for (size_t i = 0; i < n; i++) {
		const struct usdt_note *note = sorted[i];
		bool new_provider = !i || strcmp(note->provider, sorted[i - 1]->provider);
		bool new_probe = new_provider || strcmp(note->name, sorted[i - 1]->name);

		if (new_provider && p.name)
			report_provider(c, file->first.path, &p);
		if (new_provider)
			p = (struct provider){ .name = note->provider };
		p.sites++;
		p.probes += new_probe;
		p.defects += note->defect != NULL;
		found->probes += new_probe;
		if (new_probe)
			add_semaphore(found, note, mem, maps, file);
	}
	if (p.name)
		report_provider(c, file->first.path, &p);
	if (notes->broken)
		checks_add(c, CHECK_WARN, "probes", "rebuild the program", "%zu broken %s in %s", notes->broken,
			   plural(notes->broken, "note"), file->first.path);
}

static const char *privileges_remedy(void) { return geteuid() ? "ask as root" : "run it outside this container"; }

static void check_mapped_file(struct checks *c, struct found *found, pid_t pid, int mem, const struct mappings *maps,
			      const struct mapped_file *file)
{
	struct ut_err err = { 0 };
	AUTO_CLOSE int fd = mapping_open(pid, &file->first, &err);
	struct usdt_notes notes = { 0 };
	struct elf_image *img;

	if (fd < 0) {
		checks_add(c, CHECK_NO, "files", privileges_remedy(), "%s", err.msg);
		return;
	}
	if (elf_image_open(fd, &img, &err))
		return; /* not an ELF file, but mapped executable: it has no probes */
	found->files++;
	if (usdt_has_notes(img) && !usdt_notes_read(img, &notes, &err))
		check_notes(c, found, &notes, mem, maps, file);
	else if (err.code)
		checks_add(c, CHECK_WARN, "probes", NULL, "%s: %s", file->first.path, err.msg);
	usdt_notes_done(&notes);
	elf_image_free(img);
}

static void report_semaphores(struct checks *c, const struct found *found)
{
	if (!found->semaphores)
		return;
	if (found->astray.len)
		checks_add(
			c, CHECK_WARN, "semaphores",
			"build it with this version's usertrace.h; until then attach to the running process (-p)",
			"raised in the wrong mapping of a page that the linker (lld, mold) maps twice, so that these "
			"probes stay silent: %s",
			found->astray.data ? found->astray.data : "?");
	if (found->raised)
		checks_add(c, CHECK_OK, "semaphores", NULL, "%zu of %zu are raised; traced now: %s", found->raised,
			   found->semaphores, found->traced.data ? found->traced.data : "?");
	else if (!found->astray.len)
		checks_add(c, CHECK_OK, "semaphores", NULL, "none of %zu is raised: these probes are not traced now",
			   found->semaphores);
}

static void report_no_probes(struct checks *c, const struct runtime *runtime)
{
	if (!runtime || !runtime->offer.n)
		checks_add(c, CHECK_WARN, "probes", "trace functions: p:/path/of/program:FUNCTION",
			   "no file of this process has USDT probes");
	if (!runtime)
		return;
	for (size_t i = 0; i < runtime->hint.n; i++)
		checks_add(c, CHECK_WARN, "probes", NULL, "%s: %s", runtime->name, runtime->hint.v[i]);
	for (size_t i = 0; i < runtime->offer.n; i++)
		checks_add(c, CHECK_WARN, "probes", runtime->offer.v[i].probe,
			   "%s has none here; available instead: %s", runtime->name, runtime->offer.v[i].what);
}

static void check_mapped_files(struct checks *c, pid_t pid, const struct runtime *runtime)
{
	struct mapped_files files = { 0 };
	struct mappings maps = { 0 };
	struct found found = { 0 };
	struct ut_err err = { 0 };
	AUTO_CLOSE int mem = procfs_open(pid, "mem");

	if (mapped_files_read(pid, &files, &err) || mappings_read(pid, &maps, &err)) {
		checks_add(c, CHECK_NO, "files", privileges_remedy(), "%s", err.msg);
	} else {
		for (size_t i = 0; i < files.files.n; i++)
			check_mapped_file(c, &found, pid, mem, &maps, &files.files.v[i]);
		if (!found.probes)
			report_no_probes(c, runtime);
		else
			report_semaphores(c, &found);
	}
	buf_done(&found.traced);
	buf_done(&found.astray);
	mappings_done(&maps);
	mapped_files_done(&files);
}

/* Whether the process is in another namespace of @kind than usertrace; false where it cannot be read. */
static bool is_other_namespace(pid_t pid, const char *kind)
{
	char path[64];
	struct stat ours, theirs;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (stat(path, &ours))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind);
	return !stat(path, &theirs) && ours.st_ino != theirs.st_ino;
}

static void check_namespaces(struct checks *c, pid_t pid)
{
	bool pids = is_other_namespace(pid, "pid"), mounts = is_other_namespace(pid, "mnt");

	if (pids)
		checks_add(c, CHECK_OK, "namespaces", NULL,
			   "it has the PID %d in its own PID namespace%s; attach to it as %d", process_ns_pid(pid),
			   mounts ? ", with its own mounts" : "", pid);
	else if (mounts)
		checks_add(c, CHECK_OK, "namespaces", NULL,
			   "it has its own mounts; its files are opened through its mappings");
	else
		checks_add(c, CHECK_OK, "namespaces", NULL, "the same as here");
}

/* Whether `profile` finds names of the JIT code. */
static void check_code_map(struct checks *c, pid_t pid, const struct runtimes *runtimes, const struct runtime *runtime)
{
	AUTO_BUF struct buf lacks = { 0 }, remedy = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", pid, process_ns_pid(pid));
	if (!access(path, F_OK))
		checks_add(c, CHECK_OK, "names", NULL, "its JIT-compiled code has a map, /tmp/perf-%d.map",
			   process_ns_pid(pid));
	else if (hotspot_is_ready(pid))
		checks_add(c, CHECK_OK, "names", NULL,
			   "'usertrace profile' asks it for the names of its JIT-compiled code");
	else if (map_hint_explain(runtime, map_hint(runtimes, pid, runtime), &lacks, &remedy) && lacks.data)
		checks_add(c, CHECK_WARN, "names", remedy.data, "%s", lacks.data);
}

void doctor_process(struct checks *c, pid_t pid)
{
	struct runtimes runtimes = { 0 };
	struct ut_err err = { 0 };
	struct process_id id;
	const struct runtime *runtime = NULL;
	char cmdline[128], comm[16];

	c->pid = pid;
	if (process_identify(pid, &id, &err)) {
		checks_add(c, CHECK_NO, "process", NULL, "%s", err.msg);
		return;
	}
	process_comm(pid, comm);
	process_cmdline(pid, cmdline, sizeof(cmdline));
	checks_add(c, CHECK_OK, "process", NULL, "%s: %s", comm, cmdline[0] ? cmdline : "without a command line");
	check_namespaces(c, pid);
	if (runtimes_load(&runtimes, &err))
		checks_add(c, CHECK_WARN, "runtime", NULL, "%s", err.msg);
	else if (!(runtime = runtime_of_process(&runtimes, pid)))
		checks_add(c, CHECK_OK, "runtime", NULL, "no known runtime");
	else if (!runtime->language || !strcmp(runtime->language, runtime->name))
		checks_add(c, CHECK_OK, "runtime", NULL, "%s", runtime->name);
	else
		checks_add(c, CHECK_OK, "runtime", NULL, "%s (%s)", runtime->name, runtime->language);
	check_mapped_files(c, pid, runtime);
	if (runtime) {
		doctor_switches(c, pid, runtime->name);
		check_code_map(c, pid, &runtimes, runtime);
	}
	runtimes_done(&runtimes);
}
