/* SPDX-License-Identifier: MIT */
/* Processes: who they are (pid and start time), what they have mapped, how to open it from here. */
#ifndef UT_PROC_PROCESS_H
#define UT_PROC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"

/* A process is pid + start time; a pid alone may be reused. */
struct process_id {
	pid_t pid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat */
};

/* -ESRCH with a sentence («no process 123») when there is none; -EPERM when we may not look, with the remedy. */
int process_identify(pid_t pid, struct process_id *ret, struct ut_err *err);
bool process_is_alive(const struct process_id *id); /* same process, not a zombie */
/* State letter of /proc/PID/stat (R S D T t Z X), 0 when gone. */
char process_state(pid_t pid);
/*
 * The same of thread @tid of process @pid, 0 when the process has no such thread. For a thread never process_state(@tid): the
 * kernel sums all threads of the group for /proc/TID/stat, 1.5 ms with 10,000 of them, and not for /proc/PID/task/TID/stat.
 */
char thread_state(pid_t pid, pid_t tid);
bool process_has_ended(pid_t pid); /* gone, or a zombie; so is one of which only the first thread has ended */
int process_uids(pid_t pid, uint32_t ret[4]); /* user IDs: real, effective, saved, of file accesses. -ESRCH */
/* Does the process have our mount namespace and our root, so that paths name the same files? */
bool process_shares_files(pid_t pid);
/* Did it start after @time_ns of CLOCK_MONOTONIC? Then an event of that time is of another process of its number. */
bool process_started_after(pid_t pid, uint64_t time_ns);
pid_t process_parent(pid_t pid); /* 0: gone or unknown */
int process_comm(pid_t pid, char ret[16]); /* "" when gone */
int thread_comm(pid_t pid, pid_t tid, char ret[16]); /* "" when process @pid has no such thread */
/* First argument words of the command line, blanks between, at most @size - 1 bytes. */
int process_cmdline(pid_t pid, char *ret, size_t size);
/* pid in the process's own, innermost namespace (last number of NSpid); equals pid when it has no other. */
pid_t process_ns_pid(pid_t pid);
/* Are the pids that we see the machine's own? False in a container with a pid namespace: the kernel's programs see
 * others then. */
bool process_in_first_pid_namespace(void);
/* All process ids now (not threads), ascending. */
int process_list(struct process_id **ret, size_t *ret_n, struct ut_err *err); /* caller frees */

/* Identity of a file: never its path. */
struct file_id {
	uint64_t dev, ino;
};

static inline bool file_id_equal(const struct file_id *a, const struct file_id *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}

static inline uint64_t file_id_hash(const struct file_id *id) { return hash_pair(id->dev, id->ino); }

struct mapping {
	uint64_t start, end, offset; /* addresses; file offset of start */
	bool exec, write;
	struct file_id file; /* ino 0: anonymous; dev as stat's st_dev */
	char *path; /* owned; as /proc/PID/maps shows it, " (deleted)" cut off; "" for anonymous */
	bool deleted;
};

struct mappings {
	VEC(struct mapping) maps;
};

/* The mappings of a process in address order. -ESRCH when it is gone. */
int mappings_read(pid_t pid, struct mappings *ret, struct ut_err *err);
int mappings_parse(const char *text, size_t len, struct mappings *ret); /* the same from text; pure */
void mappings_done(struct mappings *m);
struct stat;
/* Is this the file that is mapped? Some filesystems show one device number in maps and another to stat. */
bool mapping_is_of(const struct mapping *m, const struct stat *st);

/* File offset of an address in a file that our own program has mapped; -ENOENT. */
int process_own_offset(const volatile void *addr, uint64_t *ret);

/*
 * Opens the file behind a mapping of @pid read-only, whatever mount namespace it is in and also when its path is gone
 * or names another file by now: through /proc/PID/map_files, else /proc/PID/root + path, checked by device and inode.
 * On overlay filesystems device numbers in maps and stat may differ: then inode and size decide. Returns a descriptor.
 */
int mapping_open(pid_t pid, const struct mapping *m, struct ut_err *err);

/*
 * One row per file that a process has mapped with execute permission (vdso and anonymous ones left out), main program
 * first. A file that is mapped several times appears once.
 */
struct mapped_file {
	struct mapping first; /* its lowest executable mapping; path owned */
	bool is_program; /* /proc/PID/exe */
};
struct mapped_files {
	VEC(struct mapped_file) files;
};
int mapped_files_read(pid_t pid, struct mapped_files *ret, struct ut_err *err);
void mapped_files_done(struct mapped_files *m);

#endif
