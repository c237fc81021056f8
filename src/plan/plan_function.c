/* SPDX-License-Identifier: MIT */
/* p: and r: requests: the matching functions of a file become probes. */
#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "elf/demangle.h"
#include "elf/instruction.h"
#include "plan/plan_priv.h"

/* The scope of a function: the six registers of integer arguments, of unknown type, for p:; only the result for r:. */
static const struct probe_scope *function_scope(enum probe_kind kind, const char *display)
{
	static struct probe_field args[6];
	static struct probe_scope scope;

	for (size_t i = 0; i < ARRAY_SIZE(args); i++)
		args[i] = (struct probe_field){ .type = { .kind = TYPE_INT, .size = 8 } };
	scope = (struct probe_scope){
		.kind = kind, .display = display, .args = args, .nargs = kind == PROBE_ENTRY ? 6 : 0
	};
	return &scope;
}

/* Accepts p:PATH:0xADDRESS only if the function's code shows that an instruction starts there. */
static int check_address(struct plan_scan *scan, const struct probe_spec *spec)
{
	const struct elf_symbol *f = elf_function_at(scan->img, spec->offset);

	if (!elf_vaddr_is_text(scan->img, spec->offset))
		return 0; /* check_location reports it */
	if (f ? elf_is_instruction(scan->img, f->vaddr, spec->offset) : elf_is_function_start(scan->img, spec->offset))
		return 0;
	if (f)
		return probe_error_at(
			spec->text, spec->name_pos, strlen(spec->name), scan->err,
			"%s is in the middle of an instruction of %s; a probe there would break the program",
			spec->name, f->name);
	return probe_error_at(spec->text, spec->name_pos, strlen(spec->name), scan->err,
			      "cannot verify that an instruction of '%s' starts at %s (no symbol covers it, and no "
			      "function starts there); a probe inside an instruction would break the program",
			      scan->path, spec->name);
}

static int check_location(struct plan_scan *scan, const struct probe_spec *spec, const char *func, uint64_t vaddr,
			  uint64_t start)
{
	const struct elf_symbol *f = vaddr == start ? NULL : elf_function_at(scan->img, vaddr);

	if (vaddr != start && (!f || f->vaddr != start))
		return probe_error_at(spec->text, spec->name_pos, strlen(spec->name), scan->err,
				      "%s+0x%llx is not in %s: the function ends before it", func,
				      (unsigned long long)(vaddr - start), func);
	if (!elf_vaddr_is_text(scan->img, vaddr))
		return probe_error_at(spec->text, spec->name_pos, strlen(spec->name), scan->err,
				      "0x%llx is not in the code of '%s'", (unsigned long long)vaddr, scan->path);
	if (vaddr != start && !elf_is_instruction(scan->img, start, vaddr))
		return probe_error_at(
			spec->text, spec->name_pos, strlen(spec->name), scan->err,
			"%s+0x%llx is in the middle of an instruction; a probe there would break the program", func,
			(unsigned long long)(vaddr - start));
	if (!elf_is_probeable(scan->img, vaddr))
		return probe_error_at(spec->text, spec->name_pos, strlen(spec->name), scan->err,
				      "the kernel cannot probe the instruction of %s at 0x%llx in '%s'", func,
				      (unsigned long long)vaddr, scan->path);
	return 0;
}

static int add_function_site(struct plan_scan *scan, int probe, enum site_kind kind, uint64_t vaddr)
{
	struct plan_site site = {
		.kind = kind, .probe = (unsigned)probe, .file = (unsigned)scan->file, .vaddr = vaddr
	};

	if (!elf_vaddr_to_offset(scan->img, vaddr, &site.offset))
		return ut_err_set(scan->err, -EINVAL, "0x%llx is not in the file '%s'", (unsigned long long)vaddr,
				  scan->path);
	site.nop5 = nop5_location(scan->img, vaddr);
	return plan_add_site(scan->plan, &site, scan->err);
}

int plan_add_function(struct plan_scan *scan, unsigned request, const char *func, uint64_t vaddr, uint64_t start)
{
	const struct probe_spec *spec = scan->plan->requests.v[request].spec;
	struct plan_probe p = { .request = request };
	struct buf name = { 0 };
	int probe, r = check_location(scan, spec, func, vaddr, start);

	if (!r)
		r = plan_check(scan->plan, request, function_scope(spec->kind, func), NULL, &p.checked, scan->err);
	if (r)
		return r;
	r = plan_scan_file(scan);
	p.file = (unsigned)scan->file;
	p.provider = strdup(path_base(scan->path));
	elf_demangle(func, &name);
	p.func = buf_take(&name); /* C++ and Rust names as they are written, without parameters */
	probe = plan_add_probe(scan->plan, &p);
	if (r < 0 || probe < 0)
		return ut_err_nomem(scan->err);
	if (spec->kind == PROBE_ENTRY)
		return add_function_site(scan, probe, SITE_PROBE, vaddr);
	if (scan->plan->probes.v[probe].checked->needs_entry) {
		r = add_function_site(scan, probe, SITE_ENTRY, vaddr);
		if (r)
			return r;
	}
	return add_function_site(scan, probe, SITE_RETURN, vaddr);
}

/*
 * A part that the compiler split off a function is reached by a jump, so there is no return address on its stack, and r:
 * would overwrite something else.
 */
static bool is_split_off(const char *name) { return strstr(name, ".cold"); }

/*
 * Demangling is slow, and a program has 100,000 names. A mangled name contains the last identifier of the name literally,
 * except for names of the standard library that have abbreviations.
 */
static bool may_demangle_to(const char *mangled, const char *wanted)
{
	static const char *const abbreviated[] = { "allocator", "basic_string", "string",
						   "istream",	"ostream",	"iostream" };
	const char *colon = strrchr(wanted, ':'), *last = colon ? colon + 1 : wanted;

	for (const char *c = last; *c; c++)
		if (!is_word_char(*c))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(abbreviated); i++)
		if (!strcmp(last, abbreviated[i]))
			return true;
	return strstr(mangled, last);
}

static bool symbol_matches(const struct probe_spec *spec, const struct elf_symbol *s)
{
	struct buf plain = { 0 };
	bool ret;

	if (!s->is_func)
		return false;
	if (glob_match(spec->name, s->name))
		return !is_split_off(s->name) || is_split_off(spec->name);
	if (s->name[0] != '_' || !strstr(spec->name, "::") || !may_demangle_to(s->name, spec->name) ||
	    is_split_off(s->name))
		return false;
	elf_demangle(s->name, &plain);
	ret = plain.data && glob_match(spec->name, plain.data);
	buf_done(&plain);
	return ret;
}

static const char *cannot_be_probed(const struct probe_spec *spec, const struct elf_symbol *s)
{
	if (spec->kind == PROBE_RETURN && is_split_off(s->name))
		return "is a part of a function that the compiler split off; it is reached by a jump and has no return "
		       "of its own";
	return NULL;
}

/* Functions of a pattern that cannot be probed; the first one and its reason are named. */
struct skipped {
	size_t n;
	const char *name;
	struct ut_err reason;
};

/* A pattern selects what can be probed: 1, and the function is counted as skipped. Otherwise the location's error. */
static int check_one_of_many(struct plan_scan *scan, const struct probe_spec *spec, const struct elf_symbol *s,
			     struct skipped *skipped)
{
	struct ut_err *err = scan->err;
	struct ut_err reason = { 0 };
	int r;

	if (!glob_is_pattern(spec->name))
		return 0;
	scan->err = &reason;
	r = check_location(scan, spec, s->name, s->vaddr + (spec->has_offset ? spec->offset : 0), s->vaddr);
	scan->err = err;
	if (r && !skipped->n++) {
		skipped->name = s->name;
		skipped->reason = reason;
	}
	return r ? 1 : 0;
}

/* Only the first line of the reason: the others mark a location in the text of the request. */
static int note_skipped(struct plan_scan *scan, const struct skipped *s)
{
	int len = (int)strcspn(s->reason.msg, "\n"), r = 0;

	if (s->n > 1)
		r = plan_note(scan->plan, "%s and %zu more %s of '%s' are skipped: %.*s", s->name, s->n - 1,
			      plural(s->n - 1, "function"), scan->path, len, s->reason.msg);
	else if (s->n)
		r = plan_note(scan->plan, "%s of '%s' is skipped: %.*s", s->name, scan->path, len, s->reason.msg);
	return r ? ut_err_nomem(scan->err) : 0;
}

static int add_matching(struct plan_scan *scan, unsigned request, size_t *ret_found)
{
	struct skipped skipped = { 0 };
	const struct probe_spec *spec = scan->plan->requests.v[request].spec;
	const struct elf_symbol *symbols;
	size_t n = elf_image_symbols(scan->img, &symbols);
	uint64_t last = UINT64_MAX;
	const char *why;
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		if (symbols[i].vaddr == last || !symbol_matches(spec, &symbols[i]))
			continue; /* sorted by address: aliases of one function count once */
		if (symbols[i].is_ifunc) {
			r = plan_add_ifunc(scan, request, &symbols[i]);
			continue;
		}
		why = cannot_be_probed(spec, &symbols[i]);
		if (why) {
			plan_set_miss(&scan->plan->requests.v[request], "%s of %s %s", symbols[i].name, scan->path,
				      why);
			continue;
		}
		last = symbols[i].vaddr;
		if (check_one_of_many(scan, spec, &symbols[i], &skipped))
			continue;
		++*ret_found;
		r = plan_add_function(scan, request, symbols[i].name, last + (spec->has_offset ? spec->offset : 0),
				      last);
	}
	if (!r && skipped.n && !*ret_found)
		plan_set_miss(&scan->plan->requests.v[request], "%.*s", (int)strcspn(skipped.reason.msg, "\n"),
			      skipped.reason.msg);
	else if (!r)
		r = note_skipped(scan, &skipped);
	return r;
}

/* Suggests functions with similar names. */
static void miss(struct plan_scan *scan, struct plan_request *req)
{
	const struct elf_symbol *symbols;
	size_t n = elf_image_symbols(scan->img, &symbols), funcs = 0, near[3], k;
	AUTO_FREE const char **names = calloc(n ? n : 1, sizeof(*names));
	struct buf text = { 0 };

	for (size_t i = 0; names && i < n; i++)
		if (symbols[i].is_func)
			names[funcs++] = symbols[i].name;
	buf_addf(&text, "%s has no function '%s'", scan->path, req->spec->name);
	if (!funcs)
		buf_adds(&text, "; it is stripped: use an address (p:PATH:0x…) or install its debug symbols");
	k = names && !glob_is_pattern(req->spec->name) ? suggest(req->spec->name, names, funcs, near, ARRAY_SIZE(near))
						       : 0;
	for (size_t i = 0; i < k; i++)
		buf_addf(&text, "%s%s", i ? ", " : "; there is ", names[near[i]]);
	plan_set_miss(req, "%s", text.data ? text.data : "");
	buf_done(&text);
}

int plan_functions(struct plan_scan *scan, unsigned request)
{
	struct plan_request *req = &scan->plan->requests.v[request];
	const struct probe_spec *spec = req->spec;
	struct ut_err ignored, *err = scan->err;
	size_t found = 0;
	int r;

	if (!request_names_file(req, scan))
		return 0;
	scan->err = plan_request_is_path(req) ? err : &ignored;
	r = plan_scan_image(scan);
	scan->err = err;
	if (r)
		return plan_request_is_path(req) ? r : 0;
	if (!elf_image_is_x86_64(scan->img))
		return plan_request_is_path(req)
			       ? ut_err_set(err, -ENOTSUP, "'%s' is for %s; only 64-bit x86 programs can be traced",
					    scan->path, elf_image_machine(scan->img))
			       : 0;
	if (spec->kind == PROBE_RETURN && elf_image_is_go(scan->img))
		return probe_error_at(
			spec->text, 0, 1, err,
			"'%s' is a Go program: a return probe would crash it, because Go moves its stacks; use p:",
			scan->path);
	if (spec->has_address && (r = check_address(scan, spec)))
		return r;
	if (spec->has_address)
		return plan_add_function(scan, request, spec->name, spec->offset, spec->offset);
	r = add_matching(scan, request, &found);
	if (!r && !found && !req->nprobes && !req->miss)
		miss(scan, req);
	return r;
}
