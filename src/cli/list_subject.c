/* SPDX-License-Identifier: MIT */
/* The probes of a file or of a process, printed while they are found. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli/list.h"

static void add_process_heading(struct list *list, const struct catalog_subject *s)
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

static void on_file(void *ctx, const struct catalog_subject *subject, const struct catalog_file *file)
{
	struct list *list = ctx;

	if (file->notes.broken)
		list_report(list, EXIT_OK, "'%s' has %zu broken %s, which are not listed; rebuild it if it is yours",
			    file->path, file->notes.broken, plural(file->notes.broken, "note"));
	if (!file->sites.n)
		return;
	if (list->json) {
		list_json(list, subject, file);
		return;
	}
	if (subject->pid && subject->shown == file->sites.n) /* the first file with probes */
		add_process_heading(list, subject);
	list_text(list, file);
}

static void on_broken(void *ctx, const struct catalog_subject *subject, const char *path, const struct ut_err *err)
{
	list_report(ctx, EXIT_OK, "'%s' of process %d: %s", path, subject->pid, err->msg);
}

static void on_end(void *ctx, const struct catalog_subject *s)
{
	struct list *list = ctx;

	if (s->foreign)
		list_report(list, s->shown ? EXIT_OK : EXIT_FAILED, "process %d (%s) runs %s", s->pid, s->comm,
			    s->first_unusable.msg);
	else if (s->unopened > 1)
		list_report(list, EXIT_FAILED, "%zu files of process %d could not be opened: %s", s->unopened, s->pid,
			    s->first_unusable.msg);
	else if (s->unopened)
		list_report(list, EXIT_FAILED, "%s", s->first_unusable.msg);
	if (s->files)
		list_explain_no_probes(list, s);
}

void list_process(struct list *list, pid_t pid)
{
	const struct catalog_sink sink = { .file = on_file, .broken = on_broken, .end = on_end, .ctx = list };
	struct ut_err err = { 0 };

	if (catalog_process(&list->catalog, pid, &sink, &err))
		list_report(list, EXIT_FAILED, "%s", err.msg);
}

/* Permissions, memory and I/O are failures; every other error is a mistake in the name of the file. */
static int status_of(int r)
{
	return r == -EACCES || r == -EPERM || r == -ENOMEM || r == -EIO ? EXIT_FAILED : EXIT_USAGE;
}

void list_path(struct list *list, const char *path)
{
	const struct catalog_sink sink = { .file = on_file, .end = on_end, .ctx = list };
	struct ut_err err = { 0 };
	int r = catalog_path(&list->catalog, path, &sink, &err);

	if (r)
		list_report(list, status_of(r), "%s", err.msg);
}
