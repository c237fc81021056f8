/* SPDX-License-Identifier: MIT */
/* A file's probes as JSON, one object a line. */
#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "cli/list.h"
#include "elf/demangle.h"

static void comma(struct buf *out)
{
	if (out->len && out->data[out->len - 1] != '{' && out->data[out->len - 1] != '[')
		buf_addc(out, ',');
}

void list_json_member(struct buf *out, const char *name, const char *value)
{
	comma(out);
	buf_addf(out, "\"%s\":", name);
	buf_add_json(out, value, strlen(value));
}

static void add_number(struct buf *out, const char *name, uint64_t value)
{
	comma(out);
	buf_addf(out, "\"%s\":%" PRIu64, name, value);
}

void list_json_pid(struct buf *out, pid_t pid, pid_t ns_pid, const char *comm)
{
	add_number(out, "pid", (uint64_t)pid);
	if (ns_pid != pid)
		add_number(out, "ns_pid", (uint64_t)ns_pid);
	list_json_member(out, "comm", comm);
}

void list_json_runtime(struct buf *out, const struct runtime *runtime, bool advice)
{
	list_json_member(out, "runtime", runtime->name);
	if (runtime->language)
		list_json_member(out, "language", runtime->language);
	if (!advice)
		return;
	buf_adds(out, ",\"offers\":[");
	for (size_t i = 0; i < runtime->offer.n; i++) {
		comma(out);
		buf_addc(out, '{');
		list_json_member(out, "probe", runtime->offer.v[i].probe);
		list_json_member(out, "what", runtime->offer.v[i].what);
		buf_addc(out, '}');
	}
	buf_adds(out, "],\"hints\":[");
	for (size_t i = 0; i < runtime->hint.n; i++) {
		comma(out);
		buf_add_json(out, runtime->hint.v[i], strlen(runtime->hint.v[i]));
	}
	buf_addc(out, ']');
}

static void add_args(struct buf *out, const struct usdt_args *args)
{
	char type[16];

	buf_adds(out, ",\"args\":[");
	for (unsigned i = 0; i < args->n; i++) {
		comma(out);
		buf_addc(out, '{');
		list_json_member(out, "type", usdt_arg_type(args, i, type));
		add_number(out, "size", args->v[i].type.size);
		if (args->v[i].unreadable)
			list_json_member(out, "unreadable", args->v[i].unreadable);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_function(struct buf *out, const struct catalog_file *file, uint64_t vaddr)
{
	const struct elf_symbol *function = elf_function_at(file->img, vaddr);
	struct buf name = { 0 };

	if (!function)
		return;
	elf_demangle(function->name, &name);
	list_json_member(out, "function", name.data ? name.data : "");
	add_number(out, "function_offset", vaddr - function->vaddr);
	buf_done(&name);
}

static void add_unreadable(struct buf *out, const struct operands *operands)
{
	bool any = false;

	for (unsigned i = 0; i < operands->n; i++) {
		if (operands->v[i].kind != OPERAND_UNREADABLE)
			continue;
		buf_adds(out, any ? ",{" : ",\"unreadable\":[{");
		add_number(out, "arg", i + 1);
		list_json_member(out, "operand", operands->v[i].text);
		list_json_member(out, "reason", operands->v[i].reason);
		buf_addc(out, '}');
		any = true;
	}
	if (any)
		buf_addc(out, ']');
}

static void add_site(struct list *list, const struct catalog_file *file, const struct usdt_note *site)
{
	struct buf *out = &list->out;
	struct operands operands;

	comma(out);
	buf_addc(out, '{');
	add_number(out, "address", site->vaddr);
	add_number(out, "offset", site->offset);
	if (site->sem_vaddr)
		add_number(out, "semaphore", site->sem_vaddr);
	list_json_member(out, "operands", site->args);
	if (list->verbose)
		add_function(out, file, site->vaddr);
	if (site->defect)
		list_json_member(out, "defect", site->defect);
	catalog_site_operands(file, site, &operands);
	add_unreadable(out, &operands);
	buf_addc(out, '}');
}

void list_json(struct list *list, const struct catalog_subject *subject, const struct catalog_file *file)
{
	struct buf *out = &list->out;
	struct catalog_probe probe = { 0 };
	struct usdt_args args;

	while (catalog_next(file, &probe)) {
		catalog_probe_args(file, &probe, &args);
		buf_addc(out, '{');
		if (subject->pid)
			list_json_pid(out, subject->pid, subject->ns_pid, subject->comm);
		list_json_member(out, "file", file->path);
		if (file->deleted)
			buf_adds(out, ",\"deleted\":true");
		list_json_member(out, "provider", probe.sites[0]->provider);
		list_json_member(out, "name", probe.sites[0]->name);
		buf_addf(out, ",\"guarded\":%s", probe.guarded ? "true" : "false");
		add_args(out, &args);
		buf_adds(out, ",\"sites\":[");
		for (size_t i = 0; i < probe.n; i++)
			add_site(list, file, probe.sites[i]);
		buf_adds(out, "]}\n");
	}
}
