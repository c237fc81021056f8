/* SPDX-License-Identifier: MIT */
/* The probes of a file as JSON, one object per line. */
#include <string.h>

#include "base/auto.h"
#include "cli/list.h"
#include "elf/demangle.h"

void list_json_pid(struct json *j, pid_t pid, pid_t ns_pid, const char *comm)
{
	json_u64(j, "pid", (uint64_t)pid);
	if (ns_pid != pid)
		json_u64(j, "ns_pid", (uint64_t)ns_pid);
	json_string(j, "comm", comm);
}

void list_json_runtime(struct json *j, const struct runtime *runtime, bool advice)
{
	json_string(j, "runtime", runtime->name);
	if (runtime->language)
		json_string(j, "language", runtime->language);
	if (!advice)
		return;
	json_array(j, "offers");
	for (size_t i = 0; i < runtime->offer.n; i++) {
		json_object(j, NULL);
		json_string(j, "probe", runtime->offer.v[i].probe);
		json_string(j, "message", runtime->offer.v[i].what);
		json_close(j);
	}
	json_close(j);
	json_array(j, "hints");
	for (size_t i = 0; i < runtime->hint.n; i++)
		json_string(j, NULL, runtime->hint.v[i]);
	json_close(j);
}

static void add_arguments_json(struct json *j, const struct usdt_args *args)
{
	char type[16];

	json_array(j, "arguments");
	for (unsigned i = 0; i < args->n; i++) {
		json_object(j, NULL);
		json_string(j, "value_type", usdt_arg_type(args, i, type));
		json_u64(j, "size_bytes", args->v[i].type.size);
		if (args->v[i].unreadable)
			json_string(j, "unreadable", args->v[i].unreadable);
		json_close(j);
	}
	json_close(j);
}

static void add_function_json(struct json *j, const struct catalog_file *file, uint64_t vaddr)
{
	const struct elf_symbol *function = elf_function_at(file->img, vaddr);
	AUTO(buf_done) struct buf name = { 0 };

	if (!function)
		return;
	elf_demangle(function->name, &name);
	json_bytes(j, "function", name.data ? name.data : "", name.len);
	json_u64(j, "function_offset", vaddr - function->vaddr);
}

static void add_unreadable_json(struct json *j, const struct operands *operands)
{
	json_array(j, "unreadable");
	for (unsigned i = 0; i < operands->n; i++) {
		if (operands->v[i].kind != OPERAND_UNREADABLE)
			continue;
		json_object(j, NULL);
		json_u64(j, "argument", i + 1);
		json_string(j, "operand", operands->v[i].text);
		json_string(j, "reason", operands->v[i].reason);
		json_close(j);
	}
	json_close(j);
}

static void add_site_json(const struct list *list, const struct catalog_file *file, const struct usdt_note *site,
			  struct json *j)
{
	struct operands operands;

	json_object(j, NULL);
	json_address(j, "address", site->vaddr);
	json_u64(j, "offset", site->offset);
	if (site->sem_vaddr)
		json_address(j, "semaphore", site->sem_vaddr);
	json_string(j, "operands", site->args);
	if (list->verbose)
		add_function_json(j, file, site->vaddr);
	if (site->defect)
		json_string(j, "defect", site->defect);
	catalog_site_operands(file, site, &operands);
	add_unreadable_json(j, &operands);
	json_close(j);
}

void list_json(struct list *list, const struct catalog_subject *subject, const struct catalog_file *file)
{
	struct json j = { .out = &list->out };
	struct catalog_probe probe = { 0 };
	struct usdt_args args;

	while (catalog_next(file, &probe)) {
		catalog_probe_args(file, &probe, &args);
		json_object(&j, NULL);
		json_string(&j, "type", "probe");
		if (subject->pid)
			list_json_pid(&j, subject->pid, subject->ns_pid, subject->comm);
		json_string(&j, "file", file->path);
		json_bool(&j, "deleted", file->deleted);
		json_string(&j, "provider", probe.sites[0]->provider);
		json_string(&j, "name", probe.sites[0]->name);
		json_bool(&j, "has_semaphore", probe.guarded);
		add_arguments_json(&j, &args);
		json_array(&j, "sites");
		for (size_t i = 0; i < probe.n; i++)
			add_site_json(list, file, probe.sites[i], &j);
		json_line(&j);
	}
}
