/* SPDX-License-Identifier: MIT */
/*
 * The plan: which sites of which files run which instructions, worked out before anything is attached. Pure but for
 * reading files. It can grow: a file that is mapped later is planned then and attached then.
 *
 * Words: a *request* is a probe as typed; it becomes *probes* (one for each file and name that fit), each with its
 * *sites*; equal instructions of sites are kept once, as *bodies*.
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
	enum gen_filter tracepoint_filter; /* in the place of gen.filter: kernel events cannot be attached by process */
	const struct runtimes *runtimes; /* default formats; may be NULL */
	const enum probe_state *states; /* by request; NULL: none. Used by plan_new alone */
	size_t samples; /* so many of the first requests: their events are samples */
	bool lifecycle; /* forks, execs and exits come as well, e: requests or not */
	/*
	 * The requests are nobody's who could be asked to mend them: one that does not fit a file has nothing there, and
	 * says so in its miss; formats need no excuse.
	 */
	bool described;
};

struct plan_file {
	struct file_id id;
	char *path; /* for people: as its process sees it */
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
	uint64_t events; /* counted by the session */
};

/* What a site is attached as. */
enum site_kind {
	SITE_PROBE,
	SITE_ENTRY, /* r: with duration: the call */
	SITE_RETURN,
	SITE_TRACEPOINT,
	SITE_USER, /* e: the probe of <usertrace.h> */
	SITE_PRCTL, /* e: the system call */
	SITE_SIGNAL, /* s: a signal's handler begins or ends */
};

#define SITE_NO_SNIPPET UINT32_MAX

struct plan_site {
	enum site_kind kind;
	unsigned probe, file;
	unsigned tracepoint_id; /* of those that sit on the kernel's events */
	uint64_t vaddr, offset, sem_offset;
	struct operands *operands; /* u: owned; shared by nobody */
	uint32_t snippet; /* SITE_NO_SNIPPET: the program is not generated */
	enum nop5_location nop5; /* see plan/nop5.h */
	bool nop5_before; /* SITE_USER: a faster place is 5 bytes in front of it */
	bool excluded; /* left out: attaching there would harm the program */
	const char *unreadable[OUTPUTS_MAX]; /* per output; NULL: readable. Lives in operands, or for ever */
};

struct plan_request {
	char *text;
	struct probe_spec *spec; /* for matching; each probe has a copy of its own */
	enum probe_state state;
	unsigned nprobes; /* that it became so far */
	bool has_id; /* WHERE is a path of ours: its identity */
	struct file_id id;
	bool failed; /* miss is an error that was found in it: it fits a file, but not so */
	bool weak_miss; /* miss says only that a file of that name has no probes at all */
	char *miss; /* why a file that fits WHERE has nothing for it; NULL: no file fitted */
};

/* Which file was looked at. The number of one that nobody holds open may be another file's later. */
struct plan_seen {
	struct file_id id;
	struct timespec changed;
	int64_t size;
	bool held; /* it is among the plan's files */
	bool overlay; /* each container's view of one file has a device number of its own */
};

struct name_list {
	char **v;
	size_t n, cap;
}; /* owned strings */

/* Tracepoints of signal handlers, and where the record of signal:signal_deliver has what. */
struct plan_signals {
	unsigned deliver, sigreturn; /* their numbers */
	unsigned number, code, handler; /* offsets */
};

struct plan {
	struct plan_options options;
	VEC(struct plan_request) requests;
	VEC(struct plan_probe) probes;
	VEC(struct plan_site) sites;
	VEC(struct plan_file) files;
	VEC(struct gen_snippet) snippets;
	VEC(struct plan_seen) seen; /* files looked at, with or without a hit */
	struct name_list names; /* "provider:name" of USDT probes that a request could have meant: for near misses */
	struct name_list providers; /* and the providers of others */
	struct sentences notes; /* to tell once */
	size_t notes_reported;
	int user_probe; /* the first e: request's, which the lanes' sites belong to; -1: none */
	int signal_probe; /* the first s: request's */
	struct plan_signals signals; /* with one */
};

/* Parses all requests; -EINVAL with the marked place. */
int plan_new(const char *const *texts, size_t n, const struct plan_options *options, struct plan **ret,
	     struct ut_err *err);
struct plan *plan_free(struct plan *plan);

/* t: requests, from the kernel's description. */
int plan_tracepoints(struct plan *plan, struct ut_err *err);
/* e: requests: what they print, and the sites in the kernel. @prctl: that lane too. */
int plan_user_transports(struct plan *plan, bool prctl, struct ut_err *err);
/* libusertrace where it is installed: programs that load it later are seen from their first event on. */
int plan_user_library(struct plan *plan, struct ut_err *err);
bool plan_wants_user_events(const struct plan *plan);
bool plan_wants_signals(const struct plan *plan);
/* Forks, execs and exits, which spans end with. */
bool plan_wants_lifecycle(const struct plan *plan);
/* Is how processes stand asked for by any request? */
bool plan_measures(const struct plan *plan);
/*
 * Everything that the requests want of one file. @path is how it is called for people and compared with WHERE; @fd is
 * duplicated. A file already looked at is passed over. Errors are the user's (a format that does not fit, an argument
 * that is not there): the plan is as before then.
 */
int plan_file(struct plan *plan, const char *path, int fd, struct ut_err *err);
/* All files a process has mapped. */
int plan_process(struct plan *plan, pid_t pid, struct ut_err *err);
/* One mapping of a process, just made. */
int plan_mapping(struct plan *plan, pid_t pid, const struct mapping *m, struct ut_err *err);
/* All files of all processes. Processes that end meanwhile are nobody's error. */
int plan_all(struct plan *plan, struct ut_err *err);
/* The file of a command that is going to run, as execvp will find it; none is no error here. */
int plan_command(struct plan *plan, const char *name, struct ut_err *err);
/* Files that requests name by path, or, without a process to look into, by library or program name. */
int plan_named_files(struct plan *plan, bool search, struct ut_err *err);

/* Does it sit on an event of the kernel, and not in a file? */
bool site_is_tracepoint(const struct plan_site *site);
/* Does it send events that are the user's, and not only helps others to? */
bool site_has_events(const struct plan_site *site);
bool plan_request_is_path(const struct plan_request *r);
/* Has every request a probe? */
bool plan_is_complete(const struct plan *plan);
/* 0 when every request has a probe; else -EINVAL, naming the first that has none, near misses, and what the runtime
 * offers. @where says what was searched ("process 123 (java)"). */
int plan_complete(const struct plan *plan, const char *where, const struct runtime *runtime, struct ut_err *err);

/* The same for requests that name a file which is there: nothing that comes later can help them. */
int plan_paths_complete(const struct plan *plan, struct ut_err *err);

/* --explain: the whole plan as text. Instructions are shown once for each body. */
void plan_explain(const struct plan *plan, struct buf *out);

#endif
