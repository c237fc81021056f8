/* SPDX-License-Identifier: MIT */
/* p: and r: requests: the matching functions of a file become probes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "elf/demangle.h"
#include "elf/instruction.h"
#include "elf/returns.h"
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

static int add_function_site(struct plan_scan *scan, int probe, const struct plan_site *like, uint64_t vaddr)
{
	struct plan_site site = *like;

	site.probe = (unsigned)probe;
	site.file = (unsigned)scan->file;
	site.vaddr = vaddr;
	if (!elf_vaddr_to_offset(scan->img, vaddr, &site.offset))
		return ut_err_set(scan->err, -EINVAL, "0x%llx is not in the file '%s'", (unsigned long long)vaddr,
				  scan->path);
	site.nop5 = nop5_location(scan->img, vaddr);
	return plan_add_site(scan->plan, &site, scan->err);
}

/* --- how returns are traced -------------------------------------------------------------------------------------- */

/*
 * The kernel's trampoline replaces the return address: cheap, and invisible to a program that does not read its own stack.
 * An unwinder (exceptions, panics) does not know that address and ends the program; Go copies its stacks. A probe on RET
 * changes nothing, but the kernel executes the instruction singly, which costs 20 times as much.
 */
enum return_way { RETURN_TRAMPOLINE, RETURN_INSTRUCTIONS, RETURN_REFUSED };

struct return_choice {
	enum return_way way;
	const char *reason; /* a constant */
};

struct return_facts {
	bool is_go;
	bool unwinds; /* exceptions or panics exist in the file, or the name is of C++ or Rust */
	bool beside_unwinder; /* the process has loaded an unwinder, to which a function in C may call back */
	bool wants_stack; /* the user stack, or a sample of it */
	bool described; /* by a runtime definition, whose author knows the function */
	const struct elf_returns *returns;
};

/* Is another function on the stack above this one's return address? Also after a jump to it, which leaves the address. */
static bool runs_others(const struct elf_returns *r)
{
	for (size_t i = 0; i < r->ends.n; i++)
		if (r->ends.v[i].kind == ELF_END_TAIL_JUMP)
			return true;
	return r->calls;
}

static struct return_choice choose_return(const struct return_facts *f)
{
	bool can_pass = f->unwinds && runs_others(f->returns);

	/* one that never returns is left by an exception, or not at all: without an end that can be probed */
	if (f->is_go)
		return f->returns->problem ? (struct return_choice){ RETURN_REFUSED, NULL }
					   : (struct return_choice){ RETURN_INSTRUCTIONS,
								     "RET instructions, because Go moves its stacks" };
	if (f->returns->problem && f->unwinds)
		return f->described ? (struct return_choice){ RETURN_TRAMPOLINE,
							      "trampoline: the runtime definition names the function" }
				    : (struct return_choice){ RETURN_REFUSED, NULL };
	if (can_pass)
		return (struct return_choice){ RETURN_INSTRUCTIONS,
					       "RET instructions, because an exception or panic can pass" };
	/* the functions of runtime definitions are known not to be passed by exceptions, and a probe on RET costs them 20 us */
	if (f->beside_unwinder && !f->described && runs_others(f->returns) && !f->returns->problem)
		return (struct return_choice){ RETURN_INSTRUCTIONS,
					       "RET instructions, because what it calls may throw: "
					       "the process has an unwinder" };
	if (f->wants_stack && !f->returns->problem && f->returns->ends.n)
		return (struct return_choice){ RETURN_INSTRUCTIONS,
					       "RET instructions, because the trampoline hides the caller in a stack" };
	if (f->unwinds)
		return (struct return_choice){ RETURN_TRAMPOLINE,
					       "trampoline: it calls nothing, so no exception can pass" };
	if (f->returns->calls_itself)
		return (struct return_choice){ RETURN_TRAMPOLINE,
					       "trampoline: C, without an unwinder in its file; the kernel misses "
					       "returns at more than 64 nested calls" };
	return (struct return_choice){ RETURN_TRAMPOLINE, "trampoline: C, without an unwinder in its file" };
}

static bool wants_stack(const struct plan *plan, const struct plan_probe *p)
{
	if (p->request < plan->options.samples)
		return true;
	for (unsigned i = 0; i < p->checked->noutputs; i++)
		if (p->checked->outputs[i].kind == OUTPUT_USTACK)
			return true;
	return false;
}

/* Names of C++ and Rust: exceptions and panics pass such functions even in a file that names no unwinder. */
static bool is_mangled(const char *name) { return !strncmp(name, "_Z", 2) || !strncmp(name, "_RN", 3); }

static struct return_choice return_choice_of(struct plan_scan *scan, const struct plan_probe *p, const char *func,
					     bool is_go, const struct elf_returns *returns)
{
	const struct return_facts facts = {
		.is_go = is_go,
		.unwinds = is_mangled(func) || elf_image_unwinds(scan->img),
		.beside_unwinder = scan->plan->unwinder,
		.wants_stack = wants_stack(scan->plan, p),
		.described = scan->plan->options.described,
		.returns = returns,
	};

	return choose_return(&facts);
}

static int add_trampoline(struct plan_scan *scan, int probe, uint64_t vaddr)
{
	static const struct plan_site entry = { .kind = SITE_ENTRY }, end = { .kind = SITE_RETURN };
	int r = 0;

	if (scan->plan->probes.v[probe].checked->needs_entry)
		r = add_function_site(scan, probe, &entry, vaddr);
	return r ? r : add_function_site(scan, probe, &end, vaddr);
}

static int add_return_instructions(struct plan_scan *scan, int probe, bool is_go, const struct elf_returns *returns)
{
	struct plan_site site = { .kind = SITE_ENTRY, .paired = true, .goroutine = is_go, .condition = ELF_END_ALWAYS };
	int r = add_function_site(scan, probe, &site, returns->entry);

	for (size_t i = 0; !r && i < returns->ends.n; i++) {
		const struct elf_end *end = &returns->ends.v[i];

		site.kind = end->kind == ELF_END_RETURN ? SITE_RET : SITE_TAIL;
		site.condition = end->condition;
		r = add_function_site(scan, probe, &site, end->vaddr);
	}
	return r;
}

/* Adds the probe, whose members are moved in; its sites are not there yet. Returns its index. */
static int add_probe_of(struct plan_scan *scan, struct plan_probe *p, const char *func)
{
	struct buf name = { 0 };
	int probe, r = plan_scan_file(scan);

	p->file = (unsigned)scan->file;
	p->provider = strdup(path_base(scan->path));
	elf_demangle(func, &name);
	p->func = buf_take(&name); /* C++ and Rust names as they are written, without parameters */
	probe = plan_add_probe(scan->plan, p);
	return r < 0 || probe < 0 ? ut_err_nomem(scan->err) : probe;
}

static uint64_t size_of_function(struct elf_image *img, uint64_t vaddr, uint64_t size)
{
	uint64_t start, end;

	if (!size && elf_unwind_entry_at(img, vaddr, &start, &end) && start == vaddr)
		size = end - start;
	return size;
}

/* > 0: refused, with the reason in the request's miss. */
static int add_return_probe(struct plan_scan *scan, struct plan_probe *p, const struct elf_symbol *func)
{
	bool is_go = elf_image_is_go(scan->img);
	struct plan_request *req = &scan->plan->requests.v[p->request];
	struct elf_returns returns;
	struct return_choice choice;
	int r, probe;

	elf_function_returns(scan->img, func->vaddr, size_of_function(scan->img, func->vaddr, func->size), is_go,
			     &returns);
	choice = return_choice_of(scan, p, func->name, is_go, &returns);
	if (choice.way == RETURN_REFUSED) {
		probe_checked_free(p->checked);
		plan_set_miss(req,
			      "%s of %s %s (at 0x%llx), and the kernel's return trampoline could end the program: %s",
			      func->name, scan->path, returns.problem, (unsigned long long)returns.problem_vaddr,
			      is_go ? "Go moves its stacks" : "an exception or panic can pass; use p:");
		r = 1;
	} else {
		p->how = choice.reason;
		probe = add_probe_of(scan, p, func->name);
		r = probe < 0			      ? probe
		    : choice.way == RETURN_TRAMPOLINE ? add_trampoline(scan, probe, func->vaddr)
						      : add_return_instructions(scan, probe, is_go, &returns);
	}
	elf_returns_done(&returns);
	return r;
}

int plan_add_function(struct plan_scan *scan, unsigned request, const struct elf_symbol *func, uint64_t offset)
{
	static const struct plan_site site = { .kind = SITE_PROBE };
	const struct probe_spec *spec = scan->plan->requests.v[request].spec;
	struct plan_probe p = { .request = request };
	int probe, r = check_location(scan, spec, func->name, func->vaddr + offset, func->vaddr);

	if (!r)
		r = plan_check(scan->plan, request, function_scope(spec->kind, func->name), NULL, &p.checked,
			       scan->err);
	if (r)
		return r;
	if (spec->kind == PROBE_RETURN)
		return add_return_probe(scan, &p, func);
	probe = add_probe_of(scan, &p, func->name);
	return probe < 0 ? probe : add_function_site(scan, probe, &site, func->vaddr + offset);
}

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
		return !elf_name_is_part(s->name) || elf_name_is_part(spec->name);
	if (s->name[0] != '_' || !strstr(spec->name, "::") || !may_demangle_to(s->name, spec->name) ||
	    elf_name_is_part(s->name))
		return false;
	elf_demangle(s->name, &plain);
	ret = plain.data && glob_match(spec->name, plain.data);
	buf_done(&plain);
	return ret;
}

static const char *cannot_be_probed(const struct probe_spec *spec, const struct elf_symbol *s)
{
	if (spec->kind == PROBE_RETURN && elf_name_is_part(s->name))
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
	struct plan_request *req = &scan->plan->requests.v[request];
	const struct probe_spec *spec = req->spec;
	const struct elf_symbol *symbols;
	size_t n = elf_image_symbols(scan->img, &symbols);
	uint64_t last = UINT64_MAX;
	const char *why;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
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
		r = plan_add_function(scan, request, &symbols[i], spec->has_offset ? spec->offset : 0);
		*ret_found += r == 0;
		if (r > 0 && !skipped.n++) {
			skipped.name = symbols[i].name;
			snprintf(skipped.reason.msg, sizeof(skipped.reason.msg), "%s", req->miss ? req->miss : "");
		}
	}
	if (r >= 0 && skipped.n && !*ret_found)
		plan_set_miss(req, "%.*s", (int)strcspn(skipped.reason.msg, "\n"), skipped.reason.msg);
	else if (r >= 0)
		r = note_skipped(scan, &skipped);
	return r < 0 ? r : 0;
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
	if (spec->has_address && (r = check_address(scan, spec)))
		return r;
	if (spec->has_address)
		return plan_add_function(scan, request,
					 &(struct elf_symbol){ .name = spec->name, .vaddr = spec->offset }, 0);
	r = add_matching(scan, request, &found);
	if (!r && !found && !req->nprobes && !req->miss)
		miss(scan, req);
	return r;
}
