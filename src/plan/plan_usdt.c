/* SPDX-License-Identifier: MIT */
/* u: requests: the matching notes of a file become probes, each note a site. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "probe/usdt_args.h"
#include "plan/plan_priv.h"

int plan_scan_notes(struct plan_scan *scan, bool by_name)
{
	struct ut_err ignored, *err = scan->err;
	int r;

	if (scan->notes_read)
		return 0;
	if (!by_name)
		scan->err = &ignored;
	r = plan_scan_image(scan);
	if (!r && usdt_has_notes(scan->img))
		r = usdt_notes_read(scan->img, &scan->notes, scan->err);
	scan->err = err;
	if (r)
		return by_name ? r : 0;
	scan->notes_read = true;
	return 0;
}

static bool note_matches(const struct plan_request *r, bool file_named, const struct usdt_note *n)
{
	const struct probe_spec *s = r->spec;

	if (!glob_match(s->name, n->name))
		return false;
	if (s->provider)
		return file_named && glob_match(s->provider, n->provider);
	if (!plan_request_is_path(r) && glob_match(s->where, n->provider))
		return true;
	/*
	 * All events of <usertrace.h> are one probe, with addresses as arguments; e: tells them apart. A pattern for the
	 * probes of a file does not select it.
	 */
	return file_named && (!glob_is_pattern(s->name) || !plan_is_user_event(n));
}

/* Adds a name once. @probe "": only the provider. */
static void insert_name(struct name_list *list, const char *provider, const char *probe)
{
	char *name = NULL;

	if (asprintf(&name, "%s%s%s", provider, *probe ? ":" : "", probe) < 0)
		return;
	for (size_t i = 0; i < list->n; i++) {
		if (!strcmp(list->v[i], name)) {
			free(name);
			return;
		}
	}
	if (vec_push(list, name))
		free(name);
}

/* Collects names to suggest, only of providers or files that the request selects. */
static void collect_names(struct plan *plan, const struct plan_request *r, bool file_named,
			  const struct usdt_notes *notes)
{
	const char *last_name = "", *last_provider = "";

	for (size_t i = 0; i < notes->notes.n; i++) {
		const struct usdt_note *n = &notes->notes.v[i];
		bool meant = file_named || glob_match(r->spec->where, n->provider);

		if (meant && strcmp(last_name, n->name))
			insert_name(&plan->names, n->provider, n->name);
		else if (!meant && strcmp(last_provider, n->provider))
			insert_name(&plan->providers, n->provider, "");
		last_name = n->name;
		last_provider = n->provider;
	}
}

/* The notes of one probe: those of the same provider and name as the first. */
struct note_group {
	const struct usdt_notes *notes;
	size_t first;
};

static bool in_group(const struct note_group *g, size_t i)
{
	const struct usdt_note *a = &g->notes->notes.v[g->first], *b = &g->notes->notes.v[i];

	return !strcmp(a->name, b->name) && !strcmp(a->provider, b->provider);
}

static bool is_first_of_group(const struct usdt_notes *notes, size_t i)
{
	struct note_group g = { .notes = notes, .first = i };

	for (size_t k = 0; k < i; k++)
		if (in_group(&g, k))
			return false;
	return true;
}

struct scope_room {
	struct usdt_args args;
	char display[256];
};

static int group_scope(struct plan_scan *scan, const struct note_group *g, struct scope_room *room,
		       struct probe_scope *ret)
{
	const struct usdt_note *n = &g->notes->notes.v[g->first];
	AUTO_FREE struct operands *ops = malloc(sizeof(*ops));

	if (!ops)
		return ut_err_nomem(scan->err);
	snprintf(room->display, sizeof(room->display), "%s:%s", n->provider, n->name);
	*ret = (struct probe_scope){ .kind = PROBE_USDT, .display = room->display, .args = room->args.v };
	for (size_t i = g->first; i < g->notes->notes.n; i++) {
		if (!in_group(g, i))
			continue;
		operands_parse(g->notes->notes.v[i].args, ops);
		for (unsigned a = 0; a < ops->n; a++)
			operand_resolve(&ops->v[a], scan->img);
		usdt_args_add(&room->args, ops);
	}
	ret->nargs = room->args.n;
	return 0;
}

/* Uses the default format of the runtime definition unless the request has one. A default that does not fit is ignored. */
static int group_check(struct plan_scan *scan, unsigned request, const struct probe_scope *scope,
		       const struct usdt_note *n, struct probe_checked **ret)
{
	struct plan *plan = scan->plan;
	const struct probe_spec *spec = plan->requests.v[request].spec;
	const char *format = NULL;
	struct ut_err ignored;

	if (!spec->format && !spec->args.n && plan->options.runtimes)
		format = runtime_format(plan->options.runtimes, n->provider, n->name);
	if (format && !plan_check(plan, request, scope, format, ret, &ignored))
		return 0;
	return plan_check(plan, request, scope, NULL, ret, scan->err);
}

/* Probe headers emit a nop. Any other instruction means a wrong note, and a breakpoint there would break the program. */
static bool is_nop(struct elf_image *img, uint64_t vaddr)
{
	unsigned char b;

	while (elf_read_at(img, vaddr, &b, 1)) {
		if (b == 0x66 || b == 0x2e) { /* prefixes of the longer forms */
			vaddr++;
			continue;
		}
		return b == 0x90 || (b == 0x0f && elf_read_at(img, vaddr + 1, &b, 1) && b == 0x1f);
	}
	return false;
}

const char *plan_site_defect(struct plan_scan *scan, const struct usdt_note *n)
{
	if (n->defect)
		return n->defect;
	return is_nop(scan->img, n->vaddr) ? NULL : "the instruction there is not a nop, so the note must be wrong";
}

/* The operands of a note, in as little memory as possible: most have few, and a runtime has hundreds of sites. */
static struct operands *note_operands(struct plan_scan *scan, const struct usdt_note *n)
{
	struct operands all, *ret;
	size_t size;

	operands_parse(n->args, &all);
	for (unsigned i = 0; i < all.n; i++)
		operand_resolve(&all.v[i], scan->img);
	size = offsetof(struct operands, v) + (all.n ? all.n : 1) * sizeof(all.v[0]);
	ret = malloc(size);
	if (ret)
		memcpy(ret, &all, size);
	return ret;
}

/* An argument has one type for all sites: a float at one site and an integer at another would print a wrong number. */
static void reject_other_kinds(struct operands *ops, const struct usdt_args *args)
{
	for (unsigned i = 0; i < ops->n; i++) {
		const struct type *t = &args->v[i].type;
		struct operand *op = &ops->v[i];

		if (op->kind == OPERAND_UNREADABLE ||
		    (op->is_float == (t->kind == TYPE_FLOAT) && (!op->is_float || op->size == t->size)))
			continue;
		snprintf(op->reason, sizeof(op->reason), "is %s here and %s at other sites of the probe",
			 !op->is_float	 ? "an integer"
			 : op->size == 4 ? "a float"
					 : "a double",
			 t->kind != TYPE_FLOAT ? "an integer"
			 : t->size == 4	       ? "a float"
					       : "a double");
		op->kind = OPERAND_UNREADABLE;
	}
}

static int add_note_site(struct plan_scan *scan, int probe, const struct usdt_note *n, const struct usdt_args *args)
{
	struct plan_site site = { .kind = SITE_PROBE,
				  .probe = (unsigned)probe,
				  .file = (unsigned)scan->file,
				  .vaddr = n->vaddr,
				  .offset = n->offset,
				  .sem_offset = n->sem_offset,
				  .sem_twice = n->sem_twice };
	const char *defect = plan_site_defect(scan, n);

	if (defect)
		return plan_note(scan->plan, "%s:%s: one site of %s is skipped: %s", n->provider, n->name, scan->path,
				 defect);
	site.nop5 = nop5_location(scan->img, n->vaddr);
	site.operands = note_operands(scan, n);
	if (!site.operands)
		return ut_err_nomem(scan->err);
	reject_other_kinds(site.operands, args);
	return plan_add_site(scan->plan, &site, scan->err);
}

static int add_group(struct plan_scan *scan, unsigned request, const struct note_group *g)
{
	const struct usdt_note *n = &g->notes->notes.v[g->first];
	struct plan_probe p = { .request = request };
	AUTO_FREE struct scope_room *room = calloc(1, sizeof(*room));
	struct probe_scope scope;
	bool good = false;
	int probe, r = room ? group_scope(scan, g, room, &scope) : ut_err_nomem(scan->err);

	for (size_t i = g->first; !r && !good && i < g->notes->notes.n; i++)
		good = in_group(g, i) && !plan_site_defect(scan, &g->notes->notes.v[i]);
	if (!r && !good) {
		plan_set_miss(&scan->plan->requests.v[request], "%s:%s in '%s' cannot be attached: %s", n->provider,
			      n->name, scan->path, plan_site_defect(scan, n));
		return plan_note(scan->plan, "%s:%s in '%s' is skipped: %s", n->provider, n->name, scan->path,
				 plan_site_defect(scan, n));
	}
	if (!r)
		r = group_check(scan, request, &scope, n, &p.checked);
	if (r)
		return r;
	r = plan_scan_file(scan);
	p.file = (unsigned)scan->file;
	p.provider = strdup(n->provider);
	p.func = strdup(n->name);
	probe = plan_add_probe(scan->plan, &p);
	if (r < 0 || probe < 0)
		return ut_err_nomem(scan->err);
	for (size_t i = g->first; i < g->notes->notes.n; i++) {
		if (!in_group(g, i))
			continue;
		r = add_note_site(scan, probe, &g->notes->notes.v[i], &room->args);
		if (r)
			return r;
	}
	return 0;
}

/* A 32-bit program has the probe, but cannot be traced. */
static void note_other_machine(const struct plan_scan *scan, struct plan_request *req)
{
	if (req->miss || !scan->img || elf_image_is_x86_64(scan->img) || !usdt_has_notes(scan->img))
		return;
	plan_set_miss(req, "'%s' is for %s; only 64-bit x86 programs can be traced", scan->path,
		      elf_image_machine(scan->img));
	req->weak_miss = true;
}

int plan_usdt(struct plan_scan *scan, unsigned request)
{
	struct plan_request *req = &scan->plan->requests.v[request];
	bool named = request_names_file(req, scan);
	int r = 0;

	if (plan_request_is_path(req) && !named)
		return 0;
	if (req->spec->provider && !named)
		return 0;
	r = plan_scan_notes(scan, named && plan_request_is_path(req));
	if (!r && !scan->notes_read)
		note_other_machine(scan, req);
	if (r || !scan->notes_read)
		return r;
	for (size_t i = 0; !r && i < scan->notes.notes.n; i++) {
		struct note_group g = { .notes = &scan->notes, .first = i };

		if (note_matches(req, named, &scan->notes.notes.v[i]) && is_first_of_group(&scan->notes, i))
			r = add_group(scan, request, &g);
	}
	if (!r && !req->nprobes) {
		collect_names(scan->plan, req, named, &scan->notes);
		if (named && !scan->notes.notes.n && !req->miss) {
			plan_set_miss(req, "'%s' has no USDT probes", scan->path);
			req->weak_miss = true;
		}
	}
	return r;
}
