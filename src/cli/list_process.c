/* SPDX-License-Identifier: MIT */
/* The probes of one process: of every file that it has mapped, as it has them mapped. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/list.h"

struct unusable { /* files of a process that could not be looked at */
	size_t n, foreign;
	struct ut_err first;
};

static void look_at_file(struct list *list, struct list_subject *subject, const struct mapped_file *mapped,
			 struct unusable *unusable)
{
	AUTO(list_file_done) struct list_file file = { .path = mapped->first.path, .deleted = mapped->first.deleted };
	struct ut_err err = { 0 };
	AUTO_CLOSE int fd = mapping_open(subject->pid, &mapped->first, &err);
	int r = fd < 0 ? fd : list_file(list, subject, &file, fd, &err);

	if (!r || (fd >= 0 && r == -ENOEXEC))
		return; /* not ELF: an archive of classes or the like, which holds no probes */
	if (fd < 0) {
		if (!unusable->n++)
			unusable->first = err;
	} else if (r == -ENOTSUP) {
		if (!unusable->foreign++)
			unusable->first = err;
	} else {
		list_say(list, EXIT_OK, "'%s' of process %d: %s", file.path, subject->pid, err.msg);
	}
}

static void add_heading(struct list *list, const struct list_subject *s)
{
	struct buf *out = &list->out;

	buf_addf(out, "process %d (", s->pid);
	buf_add_escaped(out, s->comm, strlen(s->comm));
	if (s->ns_pid != s->pid)
		buf_addf(out, "; %d in its own pid namespace", s->ns_pid);
	buf_addc(out, ')');
	if (s->runtime)
		buf_addf(out, ": %s", s->runtime->name);
	if (s->runtime && s->runtime->language && strcmp(s->runtime->language, s->runtime->name))
		buf_addf(out, " (%s)", s->runtime->language);
	buf_addc(out, '\n');
}

static void tell_unusable(struct list *list, const struct list_subject *s, const struct unusable *unusable)
{
	if (unusable->foreign)
		list_say(list, s->shown ? EXIT_OK : EXIT_FAILED, "process %d (%s) runs %s", s->pid, s->comm,
			 unusable->first.msg);
	else if (unusable->n > 1)
		list_say(list, EXIT_FAILED, "%zu files of process %d could not be opened: %s", unusable->n, s->pid,
			 unusable->first.msg);
	else if (unusable->n)
		list_say(list, EXIT_FAILED, "%s", unusable->first.msg);
}

/* Whoever asks for a name does not always know that functions are no probes. */
static void look_for_functions(struct list *list, pid_t pid, const struct mapped_files *files)
{
	for (size_t i = 0; i < files->files.n && !list->functions; i++) {
		const struct mapping *m = &files->files.v[i].first;
		AUTO_CLOSE int fd = mapping_open(pid, m, NULL);

		if (fd >= 0)
			list_look_for_functions(list, m->path, fd);
	}
}

static void look_at_files(struct list *list, struct list_subject *subject, const struct mapped_files *files)
{
	size_t before = list->out.len;
	struct unusable unusable = { 0 };

	if (!list->json)
		add_heading(list, subject);
	for (size_t i = 0; i < files->files.n; i++)
		look_at_file(list, subject, &files->files.v[i], &unusable);
	if (!subject->shown && list->out.len > before) {
		list->out.len = before; /* a heading over nothing */
		list->out.data[before] = '\0';
	}
	tell_unusable(list, subject, &unusable);
	if (subject->files)
		list_tell_without(list, subject, -1);
	if (list->pattern && !list->shown)
		look_for_functions(list, subject->pid, files);
}

void list_process(struct list *list, pid_t pid)
{
	AUTO(mapped_files_done) struct mapped_files files = { 0 };
	struct list_subject subject = { .pid = pid };
	struct process_id id;
	struct ut_err err = { 0 };

	if (process_identify(pid, &id, &err) || mapped_files_read(pid, &files, &err)) {
		list_say(list, EXIT_FAILED, "%s", err.msg);
		return;
	}
	process_comm(pid, subject.comm);
	subject.ns_pid = process_ns_pid(pid);
	subject.runtime = runtime_of_process(&list->runtimes, pid);
	if (subject.runtime && subject.runtime->library)
		subject.runtime = NULL; /* what a program is made of is not what it is */
	if (files.files.n && files.files.v[0].is_program)
		subject.path = files.files.v[0].first.path;
	if (!files.files.n)
		list_say(list, EXIT_FAILED, "process %d (%s) has no files: a thread of the kernel, or it has ended",
			 pid, subject.comm);
	else
		look_at_files(list, &subject, &files);
}
