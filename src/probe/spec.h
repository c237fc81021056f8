/* SPDX-License-Identifier: MIT */
/* One probe as typed (spec), and the same checked against what it is attached to (checked probe). Pure. */
#ifndef UT_PROBE_SPEC_H
#define UT_PROBE_SPEC_H

#include "base/buf.h"
#include "base/err.h"
#include "base/sentences.h"
#include "base/vec.h"
#include "probe/expr.h"

enum probe_kind { PROBE_USDT, PROBE_ENTRY, PROBE_RETURN, PROBE_TRACEPOINT, PROBE_USER, PROBE_SIGNAL };

/* What becomes of a process's standing when a probe fires: its record has a struct ut_rec_state. Not typed: asked for. */
enum probe_state {
	STATE_NONE, /* no state in the record */
	STATE_SEE, /* as it is: begins and ends of what does not stop the program, and what comes inside */
	STATE_STOP, /* the program is stopped from here on; this thread collects */
	STATE_GO, /* the newest stop ends */
};

/* Text pieces are owned, NUL-terminated. */
struct probe_spec {
	enum probe_kind kind;
	enum probe_state state;
	char *text; /* the whole probe as typed */
	char *where; /* u: provider, library or path; p: r: library or path; t: category; e: s: "" */
	char *provider; /* u:WHERE:PROVIDER:NAME: the provider, else NULL */
	char *name; /* probe, function or event; may be a glob */
	size_t where_pos, name_pos; /* in text */
	uint64_t offset; /* p: FUNCTION+OFF */
	bool has_offset;
	bool has_address; /* p:PATH:0xADDR: name is a number, offset the address in the file's numbering */
	struct expr *predicate; /* NULL: none */
	char *format; /* NULL: none; escapes resolved; may hold NUL? no: refused */
	size_t format_pos; /* of the character after the opening quote, in text */
	VEC(struct expr *) args; /* owned */
};

/*
 * Parses @text: KIND:WHERE:NAME[+OFF] [(PREDICATE)] ["FORMAT"[, EXPR]…] | [EXPR[, EXPR]…]; of a user event the head is
 * e:NAME or e:"NAME", of a signal's handler s:SIGNAL. Errors are -EINVAL with a sentence that has the text and a mark
 * under the place on lines of their own:
 *
 *     unknown operator '=' in the predicate; did you mean '=='?
 *       u:python:gc__start (arg1 = 2)
 *                                ^
 */
int probe_parse(const char *text, struct probe_spec **ret, struct ut_err *err);
struct probe_spec *probe_spec_free(struct probe_spec *spec);
/* The marked-place rendering above, for errors that are found later (planning): @pos and @len in spec->text. */
int probe_error_at(const char *text, size_t pos, size_t len, struct ut_err *err, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* What a probe offers to its expressions. Filled by the planner from notes, from the calling convention or from the
 * kernel's format description. */
struct probe_field {
	const char *name; /* fields only */
	struct type type;
	const char *unreadable; /* NULL, or the reason why it cannot be read at any site */
};
struct probe_scope {
	enum probe_kind kind;
	const char *display; /* "python:gc__start": for messages */
	const struct probe_field *args; /* arg1… : u: by the note, p: arg1…arg6; none for r: and t: */
	unsigned nargs;
	const struct probe_field *fields; /* t: and e: by name */
	unsigned nfields;
};

enum output_kind {
	OUTPUT_VALUE, /* 64-bit value of expr */
	OUTPUT_STRING, /* NUL-terminated text at the user address expr */
	OUTPUT_BYTES, /* at most len bytes of text at the user address expr, for %.*s */
	OUTPUT_CHARS, /* text of a TYPE_CHARS variable (tracepoint field) */
	OUTPUT_HEAD, /* pid, tid, comm, cpu, time: in every record's head; needs no room */
	OUTPUT_USTACK,
	OUTPUT_KSTACK,
};

struct output {
	enum output_kind kind;
	const struct expr *expr; /* owned by the spec */
	const struct expr *len; /* OUTPUT_BYTES */
	struct type type; /* of expr */
};

/* One piece of a format: literal text, or a conversion of one output. */
struct format_piece {
	char *literal; /* owned; NULL for a conversion */
	size_t literal_len;
	unsigned output; /* index of the output it prints */
	char flags[8]; /* of "-+ #0", as typed */
	int width, precision; /* -1: none */
	char conv; /* d u x X o c s p f e g (i → d, F E G as typed), 'U', 'K' */
};

#define OUTPUTS_MAX 16

struct probe_checked {
	struct probe_spec *spec; /* owned */
	unsigned noutputs;
	struct output outputs[OUTPUTS_MAX];
	VEC(struct format_piece) format; /* empty: outputs are printed each by its own type, separated by blanks */
	bool needs_entry; /* r: with duration: the entry is probed as well */
	struct sentences notes; /* to tell once («%d prints arg1 unsigned: the probe declares…») */
};

/*
 * Checks @spec against @scope, fills in the types, and binds the format to outputs. Takes @spec over on success only.
 * Without a format and arguments every arg (or field) of the scope becomes an output. Refused, with the marked place
 * and what exists: an argument or field that is not there, a conversion that does not fit its type, %n, too few
 * arguments for the format, floats in arithmetic, text compared with numbers, a predicate that needs what cannot be
 * read.
 */
int probe_check(struct probe_spec *spec, const struct probe_scope *scope, struct probe_checked **ret,
		struct ut_err *err);
struct probe_checked *probe_checked_free(struct probe_checked *checked);

/*
 * What is wrong with the format of @spec whatever probe it meets: conversions that do not exist, and a number of
 * values that is not the number of expressions.
 */
int probe_check_format(struct probe_spec *spec, struct ut_err *err);

#endif
