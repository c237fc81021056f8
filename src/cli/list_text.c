/* SPDX-License-Identifier: MIT */
/* The probes of a file as text: aligned columns below the name of the file. */
#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/list.h"
#include "elf/demangle.h"

#define NAME_COLUMNS_MAX 56 /* a longer name shifts its own row only */

static void add_probe_name(struct buf *out, const struct catalog_probe *probe)
{
	const struct usdt_note *note = probe->sites[0];

	buf_add_escaped(out, note->provider, strlen(note->provider));
	buf_addc(out, ':');
	buf_add_escaped(out, note->name, strlen(note->name));
}

/* The width of the longest name, and the largest number of sites. */
static void measure_columns(const struct catalog_file *file, size_t *ret_name, size_t *ret_sites)
{
	struct buf name = { 0 };
	struct catalog_probe probe = { 0 };

	*ret_name = *ret_sites = 0;
	while (catalog_next(file, &probe)) {
		buf_reset(&name);
		add_probe_name(&name, &probe);
		if (name.len > *ret_name && name.len <= NAME_COLUMNS_MAX)
			*ret_name = name.len;
		if (probe.n > *ret_sites)
			*ret_sites = probe.n;
	}
	buf_done(&name);
}

static void add_args(struct buf *out, const struct usdt_args *args)
{
	char type[16];

	for (unsigned i = 0; i < args->n; i++) {
		if (i)
			buf_addc(out, ' ');
		buf_adds(out, usdt_arg_type(args, i, type));
		if (args->v[i].unreadable)
			buf_adds(out, "(unreadable)");
	}
}

static void add_function(struct buf *out, const struct catalog_file *file, uint64_t vaddr)
{
	const struct elf_symbol *function = elf_function_at(file->img, vaddr);

	if (!function)
		return;
	buf_adds(out, "  in ");
	elf_demangle(function->name, out);
	buf_addf(out, "+0x%" PRIx64, vaddr - function->vaddr);
}

static void add_site(struct list *list, const struct catalog_file *file, const struct usdt_note *site)
{
	struct buf *out = &list->out;
	struct operands operands;

	buf_addf(out, "      0x%" PRIx64 "  offset 0x%" PRIx64, site->vaddr, site->offset);
	if (site->sem_vaddr)
		buf_addf(out, "  semaphore 0x%" PRIx64, site->sem_vaddr);
	add_function(out, file, site->vaddr);
	if (*site->args)
		buf_adds(out, "  ");
	buf_add_escaped(out, site->args, strlen(site->args));
	buf_addc(out, '\n');
	if (site->defect)
		buf_addf(out, "        cannot be attached: %s\n", site->defect);
	catalog_site_operands(file, site, &operands);
	for (unsigned i = 0; i < operands.n; i++) {
		const struct operand *op = &operands.v[i];

		if (op->kind != OPERAND_UNREADABLE)
			continue;
		buf_addf(out, "        arg%u cannot be read: ", i + 1);
		buf_add_escaped(out, op->text, strlen(op->text));
		buf_addc(out, ' ');
		buf_add_escaped(out, op->reason, strlen(op->reason));
		buf_addc(out, '\n');
	}
}

static void add_probe(struct list *list, const struct catalog_file *file, const struct catalog_probe *probe,
		      size_t name_columns, int site_digits)
{
	struct buf *out = &list->out;
	struct usdt_args args;
	size_t start, first = 0;

	catalog_probe_args(file, probe, &args);
	buf_adds(out, "  ");
	start = out->len;
	add_probe_name(out, probe);
	buf_pad(out, start, name_columns + 2);
	buf_addf(out, "%*zu %-5s  %s", site_digits, probe->n, plural(probe->n, "site"),
		 probe->guarded ? "guarded" : "-");
	if (args.n)
		buf_fill(out, ' ', probe->guarded ? 2 : 8);
	add_args(out, &args);
	buf_addc(out, '\n');
	for (size_t i = 0; i < probe->n && list->verbose; i++)
		add_site(list, file, probe->sites[i]);
	if (!probe->defects || list->verbose)
		return;
	while (!probe->sites[first]->defect)
		first++;
	buf_addf(out, "      %zu of %zu %s cannot be attached: %s\n", probe->defects, probe->n,
		 plural(probe->n, "site"), probe->sites[first]->defect);
}

void list_text(struct list *list, const struct catalog_file *file)
{
	struct catalog_probe probe = { 0 };
	size_t name, sites;
	int digits = 1;

	measure_columns(file, &name, &sites);
	for (; sites >= 10; sites /= 10)
		digits++;
	buf_add_escaped(&list->out, file->path, strlen(file->path));
	buf_adds(&list->out, file->deleted ? " (deleted)\n" : "\n");
	while (catalog_next(file, &probe))
		add_probe(list, file, &probe, name, digits);
}
