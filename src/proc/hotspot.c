/* SPDX-License-Identifier: MIT */
/* A command to a HotSpot: its socket, or the question for one, then one exchange. Waits by poll, never longer than told. */
#include "proc/hotspot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/path.h"
#include "proc/hotspot_priv.h"
#include "proc/identity.h"
#include "proc/procfs.h"

#define ANSWER_MAX (64u << 20)
#define LOOK_AGAIN_MS 50 /* where the folder cannot be watched */
#define LISTENS_MS 1000
#define REMOVE_MS 1000 /* also when the time for the answer is over */
#define LOST_MS 400 /* from the thread that listens to its socket */

struct attach {
	pid_t pid, ns_pid;
	struct identity_place place;
	uint64_t until_ns;
	uint64_t lost_ns; /* since when there is a listener without a socket */
	unsigned timeout_ms;
	enum asked { ASKED_NOWHERE, ASKED_TMP, ASKED_CWD } asked; /* the directory with our .attach_pid file */
	struct ut_err *err;
};

static int left_ms(const struct attach *a)
{
	uint64_t now = monotonic_ns();

	return now >= a->until_ns ? 0 : (int)((a->until_ns - now + 999999) / 1000000);
}

bool hotspot_is_loaded(pid_t pid)
{
	struct mapped_files files = { 0 };
	bool found = false;

	if (mapped_files_read(pid, &files, NULL))
		return false;
	for (size_t i = 0; i < files.files.n && !found; i++)
		found = !strcmp(path_base(files.files.v[i].first.path), "libjvm.so");
	mapped_files_done(&files);
	return found;
}

/* Does it have a handler for SIGQUIT? Without one it would end. */
static bool catches_quit(pid_t pid)
{
	static const char key[] = "\nSigCgt:\t";
	AUTO_BUF struct buf status = { 0 };
	const char *line;

	if (procfs_read(pid, "status", &status) || !status.data || !(line = strstr(status.data, key)))
		return false;
	return strtoull(line + strlen(key), NULL, 16) >> (SIGQUIT - 1) & 1;
}

static int process_error(struct attach *a, int r, const char *what)
{
	return ut_err_set(a->err, r, "process %d %s", (int)a->pid, what);
}

/* Would it take the question? Never asked otherwise. */
static int check_process(struct attach *a)
{
	char state = process_state(a->pid);

	if (!state || state == 'Z' || state == 'X')
		return ut_err_set(a->err, -ESRCH, "no process %d", (int)a->pid);
	if (!hotspot_is_loaded(a->pid))
		return process_error(a, -ENOTSUP, "is not a HotSpot JVM: it has no libjvm.so mapped");
	if (state == 'T' || state == 't')
		return process_error(a, -EAGAIN, "is stopped and cannot answer; let it continue (kill -CONT)");
	if (hotspot_flag(a->pid, "DisableAttachMechanism") == 1)
		return process_error(
			a, -ENOTSUP,
			"runs with -XX:+DisableAttachMechanism and cannot be attached to; start it without this "
			"flag, or with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit");
	return 0;
}

static int check_user(struct attach *a)
{
	uint32_t uid = a->place.who.uids[1];

	if (geteuid() && geteuid() != uid)
		return ut_err_set(
			a->err, -EACCES,
			"process %d belongs to user %u, and a JVM answers only its own user and root: run as root",
			(int)a->pid, uid);
	return 0;
}

/*
 * What is done in the directories of the machine: always in a child with its identity, as its user decides what is
 * mounted and linked there. The argument is copied there and back.
 */
struct act {
	int root, cwd; /* of the process */
	uint32_t uid; /* its user for file accesses */
	enum asked asked;
	mode_t mode; /* of a new file */
	char name[32];
	bool is_there;
	struct stat st;
};

static struct act act_of(const struct identity_place *p, const char *format, pid_t number)
{
	struct act act = { .root = p->root, .cwd = p->cwd, .uid = p->who.uids[3], .mode = 0600 };

	snprintf(act.name, sizeof(act.name), format, (int)number);
	return act;
}

static int act_run(const struct identity_place *p, identity_fn *fn, struct act *act, int timeout_ms, int *ret_fd)
{
	const int keep[] = { act->root, act->cwd };

	return identity_run(&p->who, keep, ARRAY_SIZE(keep), fn, act, sizeof(*act), (unsigned)timeout_ms, ret_fd);
}

/* The directory of an act: *@ret_dir, or -errno. */
static int act_directory(const struct act *act)
{
	if (act->asked == ASKED_CWD)
		return act->cwd < 0 ? -ENOENT : act->cwd;
	return identity_fn_tmp(act->root);
}

static int run_remove(void *arg, int *ret_fd)
{
	struct act *act = arg;
	int dir = act_directory(act);

	(void)ret_fd;
	return dir < 0 ? dir : unlinkat(dir, act->name, 0) ? -errno : 0;
}

static int attach_open(struct attach *a, pid_t pid, unsigned timeout_ms, struct ut_err *err)
{
	int r;

	*a = (struct attach){ .pid = pid, .timeout_ms = timeout_ms, .err = err };
	a->until_ns = monotonic_ns() + timeout_ms * 1000000ull;
	r = identity_place_open(pid, &a->place, err);
	if (!r)
		r = check_process(a);
	if (!r)
		r = check_user(a);
	a->ns_pid = process_ns_pid(pid);
	return r;
}

static void attach_done(struct attach *a)
{
	if (a->asked) {
		struct act act = act_of(&a->place, ".attach_pid%d", a->ns_pid);

		act.asked = a->asked;
		(void)act_run(&a->place, run_remove, &act, REMOVE_MS, NULL);
	}
	identity_place_done(&a->place);
}

/* Waits until @fd can be read or written. 0, -ETIMEDOUT, -ESRCH when the process ends first. */
static int wait_for(struct attach *a, int fd, short what, int at_most_ms)
{
	struct pollfd fds[2] = { { .fd = fd, .events = what }, { .fd = a->place.pidfd, .events = POLLIN } };
	int ms = left_ms(a), n;

	if (at_most_ms >= 0 && ms > at_most_ms)
		ms = at_most_ms;
	n = poll(fds, 2, ms);
	if (n < 0 && errno != EINTR)
		return -errno;
	if (n > 0 && fds[0].revents)
		return 0;
	if (n > 0 && fds[1].revents)
		return ut_err_set(a->err, -ESRCH, "process %d exited before it answered", (int)a->pid);
	return left_ms(a) ? -EAGAIN : -ETIMEDOUT;
}

static int timed_out(struct attach *a, const char *what)
{
	char state = process_state(a->pid);

	if (state == 'T' || state == 't')
		return process_error(a, -EAGAIN, "is stopped and cannot answer; let it continue (kill -CONT)");
	return ut_err_set(a->err, -ETIMEDOUT, "process %d %s within %u ms; it may be too busy: try again", (int)a->pid,
			  what, a->timeout_ms);
}

static int run_stat(void *arg, int *ret_fd)
{
	struct act *act = arg;
	int dir = act_directory(act);

	(void)ret_fd;
	if (dir < 0)
		return dir;
	act->is_there = !fstatat(dir, act->name, &act->st, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* With -Xrs it listens from the beginning, and no signal is needed. */
static bool listens(pid_t pid)
{
	AUTO(identity_place_done) struct identity_place place;
	struct act act;

	if (identity_place_open(pid, &place, NULL))
		return false;
	act = act_of(&place, ".java_pid%d", process_ns_pid(pid));
	return !act_run(&place, run_stat, &act, LISTENS_MS, NULL) && act.is_there && S_ISSOCK(act.st.st_mode);
}

bool hotspot_is_ready(pid_t pid) { return hotspot_is_loaded(pid) && (catches_quit(pid) || listens(pid)); }

/* From inside of the directory, as a path to it may be too long for a socket's address. */
static int run_connect(void *arg, int *ret_fd)
{
	struct act *act = arg;
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int dir = act_directory(act), fd;

	if (dir < 0)
		return dir;
	if (fstatat(dir, act->name, &act->st, AT_SYMLINK_NOFOLLOW) || !S_ISSOCK(act->st.st_mode) ||
	    (act->st.st_uid != act->uid && act->st.st_uid != 0))
		return -ENOENT;
	if (fchdir(dir))
		return -errno;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	memcpy(to.sun_path, act->name, sizeof(act->name));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return errno == EAGAIN ? -EAGAIN : -ENOENT; /* refused: nobody listens any more */
	*ret_fd = fd;
	return 0;
}

static int connect_once(struct attach *a)
{
	struct act act = act_of(&a->place, ".java_pid%d", a->ns_pid);
	struct ucred peer;
	socklen_t len = sizeof(peer);
	AUTO_CLOSE int fd = -1;
	int r = act_run(&a->place, run_connect, &act, left_ms(a), &fd);

	if (r)
		return r;
	/* The socket must be that of this very process: anybody may create a file of that name. */
	return fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) && peer.pid == a->pid ? take_fd(&fd)
												      : -ENOENT;
}

/* A new empty file, never through a link. */
static int run_create(void *arg, int *ret_fd)
{
	struct act *act = arg;
	int dir = act_directory(act), fd;

	(void)ret_fd;
	if (dir < 0)
		return dir;
	fd = openat(dir, act->name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, act->mode);
	if (fd < 0)
		return -errno;
	return fstat(fd, &act->st) ? -errno : 0;
}

/*
 * The file that makes a SIGQUIT a question; its owner must be the machine's user. Another tool may be asking just now: its
 * file serves us as well, and is not ours to remove.
 */
static int create_attach_file(struct attach *a, enum asked where)
{
	struct act act = act_of(&a->place, ".attach_pid%d", a->ns_pid);
	int r;

	act.asked = where;
	r = act_run(&a->place, run_create, &act, left_ms(a), NULL);
	if (!r)
		a->asked = where;
	if (r == -EEXIST && !act_run(&a->place, run_stat, &act, left_ms(a), NULL) && act.is_there &&
	    S_ISREG(act.st.st_mode) && (act.st.st_uid == act.uid || act.st.st_uid == 0))
		return 0;
	return r;
}

static int request_attach(struct attach *a)
{
	int r = create_attach_file(a, ASKED_TMP);

	if (r)
		r = create_attach_file(a, ASKED_CWD);
	return r ? ut_err_set(a->err, r, "neither /tmp nor the working directory of process %d is writable for it: %s",
			      (int)a->pid, strerror(-r))
		 : 0;
}

/* To this process and no later one of its number. */
static int send_quit(struct attach *a)
{
	int r;

	if (!catches_quit(a->pid))
		return process_error(a, -ENOTSUP,
				     "does not handle SIGQUIT yet because it is still starting; try again later");
	r = (int)syscall(SYS_pidfd_send_signal, a->place.pidfd, SIGQUIT, NULL, 0);
	return r ? ut_err_set(a->err, -errno, "cannot send a signal to process %d: %s", (int)a->pid, strerror(errno))
		 : 0;
}

/* Made in the child, so that the watch is counted as the machine's user's. */
static int run_watch(void *arg, int *ret_fd)
{
	int dir = act_directory(arg), fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (dir < 0 || fd < 0 || fchdir(dir) ||
	    inotify_add_watch(fd, ".", IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR) < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int watch_tmp(const struct attach *a)
{
	struct act act = act_of(&a->place, ".java_pid%d", a->ns_pid);
	int fd;

	return act_run(&a->place, run_watch, &act, left_ms(a), &fd) ? -1 : fd;
}

/* Does it have the thread that answers? */
static bool has_listener(pid_t pid)
{
	char path[64];
	AUTO_CLOSEDIR DIR *dir = NULL;
	struct dirent *entry;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		char comm[16];

		found = entry->d_name[0] != '.' && !thread_comm(pid, atoi(entry->d_name), comm) &&
			!strcmp(comm, "Attach Listener");
	}
	return found;
}

/*
 * A machine that was just starting removes the socket that it has made, as one of an earlier process: it makes another
 * when it is asked again. Not asked again before that is sure, as it would print its threads.
 */
static int signal_again(struct attach *a)
{
	if (!has_listener(a->pid)) {
		a->lost_ns = 0;
		return 0;
	}
	if (!a->lost_ns)
		a->lost_ns = monotonic_ns();
	if (monotonic_ns() - a->lost_ns < LOST_MS * 1000000ull)
		return 0;
	a->lost_ns = 0;
	return send_quit(a);
}

/* Asks for a socket and waits until it is there. */
static int request_socket(struct attach *a)
{
	AUTO_CLOSE int watch = watch_tmp(a);
	int r = request_attach(a), fd;
	char events[4096];

	if (!r)
		r = send_quit(a);
	while (!r) {
		fd = connect_once(a);
		if (fd >= 0)
			return fd;
		r = wait_for(a, watch, POLLIN, LOOK_AGAIN_MS);
		while (watch >= 0 && read(watch, events, sizeof(events)) > 0)
			;
		if (r == -EAGAIN)
			r = signal_again(a);
	}
	return r == -ETIMEDOUT ? timed_out(a, "did not start to answer") : r;
}

static int send_all(struct attach *a, int fd, const struct buf *b)
{
	size_t done = 0;

	while (done < b->len) {
		ssize_t n = send(fd, b->data + done, b->len - done, MSG_NOSIGNAL);
		int r;

		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return ut_err_set(a->err, -errno, "cannot send the command to process %d: %s", (int)a->pid,
					  strerror(errno));
		r = wait_for(a, fd, POLLOUT, -1);
		if (r && r != -EAGAIN)
			return r == -ETIMEDOUT ? timed_out(a, "did not accept the command") : r;
	}
	return 0;
}

static int receive_all(struct attach *a, int fd, struct buf *out)
{
	for (;;) {
		char *room = buf_room(out, 16384);
		ssize_t n = room ? recv(fd, room, 16384, 0) : -1;
		int r;

		if (!room)
			return ut_err_nomem(a->err);
		if (n == 0)
			return 0;
		if (n > 0) {
			out->len += (size_t)n;
			if (out->len > ANSWER_MAX)
				return process_error(a, -EFBIG, "sends an endless answer");
			continue;
		}
		if (errno == ECONNRESET)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return ut_err_set(a->err, -errno, "cannot read the answer of process %d: %s", (int)a->pid,
					  strerror(errno));
		r = wait_for(a, fd, POLLIN, -1);
		if (r && r != -EAGAIN)
			return r == -ETIMEDOUT ? timed_out(a, "did not answer") : r;
	}
}

int hotspot_answer(const struct buf *answer, size_t *ret_text, struct ut_err *err)
{
	const char *feed = answer->data ? memchr(answer->data, '\n', answer->len) : NULL;
	const char *text = feed ? feed + 1 : NULL;

	if (!feed)
		return -EAGAIN;
	*ret_text = (size_t)(text - answer->data);
	if (feed == answer->data + 1 && answer->data[0] == '0')
		return 0;
	return ut_err_set(err, -EIO, "the JVM rejected the command: %.*s",
			  (int)strcspn(text, "\n") < 500 ? (int)strcspn(text, "\n") : 500, text);
}

/* Version, command and three arguments, each with its NUL. */
static int exchange(struct attach *a, int fd, const char *command, struct buf *out)
{
	AUTO_BUF struct buf question = { 0 }, answer = { 0 };
	size_t text;
	int r;

	buf_add(&question, "1\0jcmd", 7);
	buf_add(&question, command, strlen(command) + 1);
	buf_add(&question, "\0", 2);
	if (question.failed)
		return ut_err_nomem(a->err);
	r = send_all(a, fd, &question);
	if (!r)
		r = receive_all(a, fd, &answer);
	if (r)
		return r;
	buf_add(&answer, "", 0);
	r = hotspot_answer(&answer, &text, a->err);
	if (r == -EAGAIN)
		return process_error(a, -EIO, "closed the connection without an answer");
	if (r)
		return r;
	buf_add(out, answer.data + text, answer.len - text);
	return out->failed ? ut_err_nomem(a->err) : 0;
}

int hotspot_command(pid_t pid, const char *command, unsigned timeout_ms, struct buf *out, struct ut_err *err)
{
	AUTO(attach_done) struct attach a;
	AUTO_CLOSE int fd = -1;
	int r = attach_open(&a, pid, timeout_ms, err);

	if (r)
		return r;
	fd = connect_once(&a);
	if (fd < 0)
		fd = request_socket(&a);
	return fd < 0 ? fd : exchange(&a, fd, command, out);
}

/*
 * The machine would write its map through a link of another user's. So a file of its own is there before it is asked: in a
 * sticky /tmp nobody else can replace that.
 */
static int prepare_map_file(struct attach *a, struct act *ret, bool *ret_created)
{
	int r;

	*ret = act_of(&a->place, "perf-%d.map", a->ns_pid);
	ret->mode = 0644;
	r = act_run(&a->place, run_create, ret, left_ms(a), NULL);
	*ret_created = !r;
	if (!r)
		return 0;
	if (r != -EEXIST)
		return ut_err_set(a->err, r, "the JVM of process %d cannot write /tmp/%s: %s", (int)a->pid, ret->name,
				  strerror(-r));
	r = act_run(&a->place, run_stat, ret, left_ms(a), NULL);
	if (!r && ret->is_there && S_ISREG(ret->st.st_mode) && ret->st.st_nlink == 1 && ret->st.st_uid == ret->uid)
		return 0;
	return ut_err_set(a->err, -EACCES,
			  "the map of process %d would be written to /tmp/%s, which exists and is not a regular file "
			  "of its user: remove it first",
			  (int)a->pid, ret->name);
}

/* Is it the same file, with new content? */
static bool was_written(const struct act *before, const struct act *after)
{
	return after->is_there && S_ISREG(after->st.st_mode) && after->st.st_size > 0 &&
	       after->st.st_uid == after->uid &&
	       (after->st.st_ino != before->st.st_ino || after->st.st_size != before->st.st_size ||
		timespec_ns(&after->st.st_mtim) != timespec_ns(&before->st.st_mtim));
}

int hotspot_write_map(pid_t pid, unsigned timeout_ms, struct ut_err *err)
{
	AUTO(attach_done) struct attach a;
	AUTO_BUF struct buf answer = { 0 };
	struct act before, after;
	bool created = false;
	int r = attach_open(&a, pid, timeout_ms, err);

	if (!r)
		r = prepare_map_file(&a, &before, &created);
	if (r)
		return r;
	r = hotspot_command(pid, "Compiler.perfmap", (unsigned)left_ms(&a), &answer, err);
	if (r == -EIO && err && strstr(err->msg, "Unknown diagnostic command"))
		r = ut_err_set(err, -ENOTSUP,
			       "the JVM of process %d cannot write a map; this requires OpenJDK 17 or later", (int)pid);
	after = act_of(&a.place, "perf-%d.map", a.ns_pid);
	if (!r && (act_run(&a.place, run_stat, &after, REMOVE_MS, NULL) || !was_written(&before, &after)))
		r = ut_err_set(
			err, -EIO,
			"the JVM of process %d did not write /tmp/perf-%d.map; is its /tmp full or not writable?",
			(int)pid, (int)a.ns_pid);
	if (r && created)
		(void)act_run(&a.place, run_remove, &after, REMOVE_MS, NULL);
	return r;
}
