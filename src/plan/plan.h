/* SPDX-License-Identifier: MIT */
/*
 * The plan: which sites of which files run which instructions, determined before anything is attached. It reads files and
 * changes nothing. It can grow: a file that is mapped later is planned and attached at that time.
 *
 * Terms: a *request* is a probe as typed; it becomes *probes* (one for each file and name that match), each with *sites*;
 * sites with equal instructions share a *snippet*.
 */
#ifndef UT_PLAN_PLAN_H
#define UT_PLAN_PLAN_H

#include <time.h>

#include "base/buf.h"
#include "base/sentences.h"
#include "elf/usdt.h"
#include "gen/gen.h"
#include "proc/process.h"
#include "proc/runtime.h"
#include "plan/nop5.h"

struct plan_options {
	struct gen_options gen;
	/* Replaces gen.filter for tracepoints, which cannot be attached by process. */
	enum gen_filter tracepoint_filter;
	const struct runtimes *runtimes; /* default formats; may be NULL */
	const enum probe_state *states; /* by request; NULL: none. Only used by plan_new */
	size_t samples; /* number of requests, from the first on, whose events are samples */
	bool lifecycle; /* emit lifecycle events, even without e: requests */
	/*
	 * The requests come from runtime definitions, not from the user: one that does not fit a file has no probes there,
	 * with the reason in its miss, and notes about formats are dropped.
	 */
	bool described;
};

struct plan_file {
	struct file_id id;
	char *path; /* for display: as its process sees it */
	int fd; /* read-only */
};

struct plan_probe {
	struct probe_checked *checked;
	struct tracepoint tracepoint; /* t: */
	char *provider; /* "python"; the file's base name for p: and r:; the category for t: */
	char *func; /* "gc__start" */
	unsigned request; /* index of the text it came from */
	unsigned file; /* index; unused for t: */
	unsigned nsites;
	const char *how; /* r: why its returns are traced in this way; a constant */
	uint64_t events; /* number of events, counted by the session */
};

/* How a site is attached. */
enum site_kind {
	SITE_PROBE,
	SITE_ENTRY, /* r: the call; with a trampoline only if the duration is needed */
	SITE_RETURN, /* r: the kernel's return trampoline */
	SITE_RET, /* r: a RET instruction */
	SITE_TAIL, /* r: a jump to a function that returns in place of this one */
	SITE_TRACEPOINT,
	SITE_USER, /* e: the probe of <usertrace.h> */
	SITE_PRCTL, /* e: the system call */
	SITE_SIGNAL, /* s: a signal's handler begins or ends */
};

#define SITE_NO_SNIPPET UINT32_MAX

struct plan_site {
	enum site_kind kind;
	unsigned probe, file;
	unsigned tracepoint_id; /* with site_is_tracepoint */
	uint64_t vaddr, offset, sem_offset;
	struct operands *operands; /* u: owned, not shared */
	uint8_t condition; /* SITE_TAIL: the condition of the jump; ELF_END_ALWAYS */
	bool paired, goroutine; /* r: without a trampoline; in Go */
	uint32_t snippet; /* SITE_NO_SNIPPET: the program is not generated */
	enum nop5_location nop5; /* see plan/nop5.h */
	bool nop5_before; /* SITE_USER: a faster site is 5 bytes before it */
	bool sem_twice; /* as in struct usdt_note */
	bool excluded; /* a probe there would be unsafe */
	const char *unreadable[OUTPUTS_MAX]; /* per output; NULL: readable. Points into operands, or to a constant */
};

struct plan_request {
	char *text;
	struct probe_spec *spec; /* for matching; each probe has its own copy */
	enum probe_state state;
	unsigned nprobes; /* so far */
	bool has_id; /* WHERE is the path of a file: its identity */
	struct file_id id;
	bool failed; /* miss is an error in the request */
	bool weak_miss; /* miss only says that a file of that name has no probes */
	char *miss; /* why a file that matches WHERE has no probe for it; NULL: no file matched */
};

/* An examined file. The inode number of a file that is not open may be reused. */
struct plan_seen {
	struct file_id id;
	struct timespec changed;
	int64_t size;
	bool held; /* it is open as one of the plan's files */
	bool overlay; /* each container's view of one file has a device number of its own */
};

struct name_list {
	char **v;
	size_t n, cap;
}; /* owned strings */

/* The tracepoints of signal handlers, and the fields of signal:signal_deliver. */
struct plan_signals {
	unsigned deliver, sigreturn; /* IDs */
	unsigned number, code, handler; /* offsets */
};

/* An indirect function (IFUNC) that a request selects: each process has one of its implementations. */
struct plan_ifunc {
	unsigned request, file;
	uint64_t resolver; /* address in the file */
	char *name;
	bool found; /* in some process */
};

struct plan {
	struct plan_options options;
	VEC(struct plan_request) requests;
	VEC(struct plan_probe) probes;
	VEC(struct plan_site) sites;
	VEC(struct plan_file) files;
	VEC(struct gen_snippet) snippets;
	VEC(struct plan_ifunc) ifuncs;
	VEC(struct plan_seen) seen; /* examined files, with or without a match */
	struct name_list names; /* "provider:name" of USDT probes, to suggest for a request without a match */
	struct name_list providers; /* other providers, for the same */
	char *denied; /* first mapped file that could not be opened for lack of rights; NULL: none */
	size_t ndenied; /* how often that was tried */
	struct sentences notes; /* to report once */
	size_t notes_reported;
	bool unwinder; /* a target with a PID has loaded one: an exception can pass C */
	int user_probe; /* the probe of the first e: request, which owns the sites of both transports; -1: none */
	int signal_probe; /* the first s: request's */
	struct plan_signals signals; /* with an s: request */
};

/* Parses all requests; -EINVAL with the location marked. */
int plan_new(const char *const *texts, size_t n, const struct plan_options *options, struct plan **ret,
	     struct ut_err *err);
struct plan *plan_free(struct plan *plan);

/* Plans the t: requests. */
int plan_tracepoints(struct plan *plan, struct ut_err *err);
/* Plans the e: and s: requests and their tracepoints. @prctl: the prctl transport too. */
int plan_user_transports(struct plan *plan, bool prctl, struct ut_err *err);
/* Plans the installed libusertrace, so that programs that load it later are traced from their first event on. */
int plan_user_library(struct plan *plan, struct ut_err *err);
bool plan_wants_user_events(const struct plan *plan);
bool plan_wants_signals(const struct plan *plan);
/* Are lifecycle events needed? Spans end with them. */
bool plan_wants_lifecycle(const struct plan *plan);
/* Does any request measure stopped time? */
bool plan_measures(const struct plan *plan);
/*
 * Plans all requests for one file. @path is printed, and matched against the WHERE of requests; @fd is duplicated. Does nothing for a
 * file that was examined before. Errors are in a request (a format that does not fit, a missing argument); the plan is
 * unchanged then.
 */
int plan_file(struct plan *plan, const char *path, int fd, struct ut_err *err);
/* Plans all files that a process has mapped. */
int plan_process(struct plan *plan, pid_t pid, struct ut_err *err);
/*
 * Adds the implementations of the requested indirect functions that this process has chosen; plan_process does so too. A
 * process that has just started has not chosen yet. Needs the right to read its memory.
 */
int plan_choose(struct plan *plan, pid_t pid, struct ut_err *err);
/* Is there an indirect function that no process has chosen so far? */
bool plan_lacks_choice(const struct plan *plan);
/* Plans the file of one new mapping. */
int plan_mapping(struct plan *plan, pid_t pid, const struct mapping *m, struct ut_err *err);
/* Plans all files of all processes. Skips processes that exit meanwhile. */
int plan_all(struct plan *plan, struct ut_err *err);
/* Plans the file of a command, as execvp will find it; a missing file is not an error. */
int plan_command(struct plan *plan, const char *name, struct ut_err *err);
/* Plans files that requests name by path, and with @search also by the name of a library or program. */
int plan_named_files(struct plan *plan, bool search, struct ut_err *err);

/* Is the site a tracepoint of the kernel, and not in a file? */
bool site_is_tracepoint(const struct plan_site *site);
/* Does the site send events to the user? The entries of traced returns only store their time. */
bool site_has_events(const struct plan_site *site);
bool plan_request_is_path(const struct plan_request *r);
/* Has every request a probe? */
bool plan_is_complete(const struct plan *plan);
/* 0 when every request has a probe; otherwise -EINVAL with the first one that has none, similar names, and what the runtime
 * offers. @where names what was searched ("process 123 (java)"). */
int plan_complete(const struct plan *plan, const char *where, const struct runtime *runtime, struct ut_err *err);

/* The same for requests that name an existing file, where no later file can have the probe. */
int plan_paths_complete(const struct plan *plan, struct ut_err *err);

/* --explain: the whole plan as text, with the instructions of each snippet once. */
void plan_explain(const struct plan *plan, struct buf *out);

#endif
