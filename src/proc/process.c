/* SPDX-License-Identifier: MIT */
/* Start time, state, parent, names and IDs of a process, from /proc. */
#include "proc/process.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/clock.h"
#include "proc/procfs.h"

#define STAT_STATE 3 /* numbers of fields as in proc(5) */
#define STAT_PPID 4
#define STAT_START 22

/*
 * Field @number of /proc/PID/stat, NULL when it is missing. The second field is the name in parentheses, which may itself
 * contain spaces and parentheses, so the fields after it are counted from the last ')'.
 */
static const char *stat_field(const struct buf *stat, int number)
{
	const char *p = stat->data ? memrchr(stat->data, ')', stat->len) : NULL;

	if (!p)
		return NULL;
	p++;
	for (int field = STAT_STATE; *p == ' '; field++) {
		p++;
		if (field == number)
			return *p ? p : NULL;
		p += strcspn(p, " ");
	}
	return NULL;
}

static int stat_number(const struct buf *stat, int number, uint64_t *ret)
{
	const char *p = stat_field(stat, number);

	if (!p || !is_digit(*p))
		return -EBADMSG;
	errno = 0;
	*ret = strtoull(p, NULL, 10);
	return -errno;
}

static int read_stat_number(pid_t pid, int number, uint64_t *ret)
{
	AUTO_BUF struct buf b = { 0 };
	int r = procfs_read(pid, "stat", &b);

	return r ? r : stat_number(&b, number, ret);
}

/* The number after "KEY:" in /proc/PID/status, the last one of its line; 0 when there is none. */
static long status_last_number(pid_t pid, const char *key)
{
	AUTO_BUF struct buf b = { 0 };
	char *line, *end, *word;

	if (procfs_read(pid, "status", &b) || !b.data)
		return 0;
	line = strstr(b.data, key);
	if (!line)
		return 0;
	line += strlen(key);
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	word = strrchr(line, '\t');
	return word ? strtol(word, NULL, 10) : 0;
}

int process_identify(pid_t pid, struct process_id *ret, struct ut_err *err)
{
	uint64_t start;
	long leader;
	int r;

	if (pid <= 0)
		return ut_err_set(err, -ESRCH, "no process %d: PIDs start at 1", (int)pid);
	r = read_stat_number(pid, STAT_START, &start);
	if (r == -ESRCH)
		return ut_err_set(err, r, "no process %d", (int)pid);
	if (r == -EACCES || r == -EPERM)
		return ut_err_set(err, -EPERM,
				  "cannot inspect process %d: permission denied; run as root, or as its user",
				  (int)pid);
	if (r)
		return ut_err_set(err, r, "cannot read /proc/%d: %s", (int)pid, strerror(-r));
	leader = status_last_number(pid, "\nTgid:"); /* /proc/TID exists for every thread, though it is not listed */
	if (leader && leader != pid)
		return ut_err_set(err, -ESRCH, "%d is a thread of process %ld, not a process; use %ld", (int)pid,
				  leader, leader);
	*ret = (struct process_id){ .pid = pid, .start_ticks = start };
	return 0;
}

bool process_is_alive(const struct process_id *id)
{
	AUTO_BUF struct buf b = { 0 };
	const char *state;
	uint64_t start;

	if (procfs_read(id->pid, "stat", &b) || stat_number(&b, STAT_START, &start))
		return false;
	state = stat_field(&b, STAT_STATE);
	return start == id->start_ticks && state && *state != 'Z' && *state != 'X';
}

static char read_state(pid_t pid, const char *name)
{
	AUTO_BUF struct buf b = { 0 };
	const char *state;

	if (procfs_read(pid, name, &b))
		return 0;
	state = stat_field(&b, STAT_STATE);
	return state ? *state : 0;
}

char process_state(pid_t pid) { return read_state(pid, "stat"); }

char thread_state(pid_t pid, pid_t tid)
{
	char name[32];

	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	return read_state(pid, name);
}

bool process_has_ended(pid_t pid)
{
	char state = process_state(pid);

	return !state || state == 'Z' || state == 'X';
}

int process_uids(pid_t pid, uint32_t ret[4])
{
	AUTO_BUF struct buf b = { 0 };
	const char *line;

	if (procfs_read(pid, "status", &b) || !b.data || !(line = strstr(b.data, "\nUid:\t")))
		return -ESRCH;
	return sscanf(line + 6, "%" SCNu32 "%" SCNu32 "%" SCNu32 "%" SCNu32, &ret[0], &ret[1], &ret[2], &ret[3]) == 4
		       ? 0
		       : -ESRCH;
}

bool process_shares_files(pid_t pid)
{
	static const char *const links[] = { "ns/mnt", "root" };
	struct stat ours, its;
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		snprintf(path, sizeof(path), "/proc/self/%s", links[i]);
		if (stat(path, &ours))
			return false;
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, links[i]);
		if (stat(path, &its) || ours.st_dev != its.st_dev || ours.st_ino != its.st_ino)
			return false;
	}
	return true;
}

bool process_started_after(pid_t pid, uint64_t time_ns)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK), start, mono_ns, boot_ns;

	if (read_stat_number(pid, STAT_START, &start))
		return false;
	mono_ns = monotonic_ns();
	boot_ns = clock_ns(CLOCK_BOOTTIME);
	return start * tick_ns > time_ns + (boot_ns > mono_ns ? boot_ns - mono_ns : 0); /* start is rounded down */
}

pid_t process_parent(pid_t pid)
{
	uint64_t parent;

	return read_stat_number(pid, STAT_PPID, &parent) || parent > INT_MAX ? 0 : (pid_t)parent;
}

static int read_comm(pid_t pid, const char *name, char ret[16])
{
	AUTO_BUF struct buf b = { 0 };
	size_t len;
	int r = procfs_read(pid, name, &b);

	ret[0] = '\0';
	if (r)
		return r;
	len = b.len;
	if (len && b.data[len - 1] == '\n')
		len--;
	if (len > 15) /* kernel threads show longer ones */
		len = 15;
	if (len)
		memcpy(ret, b.data, len);
	ret[len] = '\0';
	return 0;
}

int process_comm(pid_t pid, char ret[16]) { return read_comm(pid, "comm", ret); }

int thread_comm(pid_t pid, pid_t tid, char ret[16])
{
	char name[32];

	snprintf(name, sizeof(name), "task/%d/comm", (int)tid);
	return read_comm(pid, name, ret);
}

int process_cmdline(pid_t pid, char *ret, size_t size)
{
	AUTO_CLOSE int fd = procfs_open(pid, "cmdline");
	ssize_t n;

	if (size)
		ret[0] = '\0';
	if (fd < 0)
		return fd;
	if (!size)
		return 0;
	n = read(fd, ret, size - 1);
	if (n < 0)
		return -errno;
	while (n && ret[n - 1] == '\0')
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (ret[i] == '\0')
			ret[i] = ' ';
	ret[n] = '\0';
	return 0;
}

pid_t process_ns_pid(pid_t pid)
{
	long inner = status_last_number(pid, "\nNSpid:");

	return inner > 0 && inner <= INT_MAX ? (pid_t)inner : pid;
}

static int compare_pids(const void *a, const void *b)
{
	const struct process_id *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

int process_list(struct process_id **ret, size_t *ret_n, struct ut_err *err)
{
	AUTO_CLOSEDIR DIR *dir = opendir("/proc");
	VEC(struct process_id) ids = { 0 };
	struct dirent *entry;

	if (!dir)
		return ut_err_set(err, -errno, "cannot list /proc: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		struct process_id id;

		if (!is_digit(entry->d_name[0]))
			continue;
		id.pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (read_stat_number(id.pid, STAT_START, &id.start_ticks))
			continue; /* ended meanwhile, or hidden from us */
		if (vec_push(&ids, id)) {
			vec_done(&ids);
			return ut_err_nomem(err);
		}
	}
	if (ids.n)
		qsort(ids.v, ids.n, sizeof(*ids.v), compare_pids);
	*ret = ids.v;
	*ret_n = ids.n;
	return 0;
}

/* PROC_PID_INIT_INO of include/linux/proc_ns.h; the same on every machine. */
#define FIRST_PID_NS 0xEFFFFFFCu

bool process_in_first_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NS;
}
