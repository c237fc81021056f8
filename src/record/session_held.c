/* SPDX-License-Identifier: MIT */
/*
 * Sites whose semaphore lies in a page that is mapped twice until relocation is over (lld, mold). At the exec the kernel
 * would raise the wrong mapping's, and could not lower it either: the probe would stay behind in the kernel. So these sites
 * are attached as soon as the first process that maps their file has relocated it.
 */
#include <bpf/bpf.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "proc/semaphore.h"
#include "record/session_priv.h"

/* Has the process mapped this file, and is its relocation over? */
static bool has_relocated(const struct session *s, pid_t pid, unsigned file)
{
	AUTO(mappings_done) struct mappings maps = { 0 };
	struct semaphore_place place;
	struct ut_err ignored;
	struct stat st;
	size_t i;

	if (pid <= 0 || fstat(s->plan->files.v[file].fd, &st) || mappings_read(pid, &maps, &ignored))
		return false;
	for (i = 0; i < maps.maps.n && !(maps.maps.v[i].file.ino && mapping_is_of(&maps.maps.v[i], &st)); i++)
		;
	if (i == maps.maps.n)
		return false;
	for (size_t k = 0; k < s->plan->sites.n; k++) {
		const struct plan_site *site = &s->plan->sites.v[k];

		if (site->sem_twice && site->file == file)
			return semaphore_find(&maps, &maps.maps.v[i].file, site->sem_offset, &place) &&
			       !place.relocating;
	}
	return false;
}

static bool any_has_relocated(const struct session *s, unsigned file)
{
	uint32_t pid, *at = NULL;

	for (size_t i = 0; i < s->targets.n; i++)
		if (!s->targets.v[i].ended && has_relocated(s, s->targets.v[i].id.pid, file))
			return true;
	if (!s->follow)
		return false;
	while (!bpf_map_get_next_key(follow_map_fd(s->follow), at, &pid)) {
		if (has_relocated(s, (pid_t)pid, file))
			return true;
		at = &pid;
	}
	return false;
}

static void note_held(struct session *s, unsigned file, const char *what)
{
	char text[PATH_MAX + 256];

	snprintf(text, sizeof(text),
		 "'%s' was linked so that the semaphores of its probes are mapped twice (lld, mold): %s",
		 s->plan->files.v[file].path, what);
	if (s->sink->note)
		s->sink->note(s->sink->ctx, text);
}

bool session_holds_sites(const struct session *s) { return attach_held_file(s->attach, s->plan, 0) >= 0; }

void session_serve_held(struct session *s, bool started)
{
	struct ut_err err = { 0 };
	int file;

	for (size_t i = 0; (file = attach_held_file(s->attach, s->plan, i)) >= 0;) {
		if (!any_has_relocated(s, (unsigned)file)) {
			i++;
			continue;
		}
		if (attach_held(s->attach, s->plan, (unsigned)file, &err) && s->sink->note)
			s->sink->note(s->sink->ctx, err.msg);
		else if (started)
			note_held(s, (unsigned)file,
				  "they are attached after its relocation; earlier events may be missed");
		i = 0;
	}
}

void session_report_held(struct session *s)
{
	int file;

	while ((file = attach_held_file(s->attach, s->plan, 0)) >= 0) {
		note_held(s, (unsigned)file, "no process ran it long enough for them to be attached");
		attach_forget_held(s->attach, s->plan, (unsigned)file);
	}
}
