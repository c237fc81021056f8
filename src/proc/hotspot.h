/* SPDX-License-Identifier: MIT */
/*
 * HotSpot's own attach protocol, as its tools speak it (openjdk: os/linux/classes/…/VirtualMachineImpl.java,
 * os/posix/attachListener_posix.cpp): a file .attach_pidN and SIGQUIT make the virtual machine listen on a socket
 * .java_pidN in its /tmp, where one command is asked for each connection. Works into containers and for other users'
 * processes: files are created and opened in a child with the process's identity, below its root (proc/identity.h), and
 * numbers are those of the innermost namespace.
 */
#ifndef UT_PROC_HOTSPOT_H
#define UT_PROC_HOTSPOT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "proc/process.h"

/* Is it a HotSpot, and would a SIGQUIT be taken as a question? One that is not ready for it would print all its
 * threads, or end. */
bool hotspot_is_ready(pid_t pid);
/* Is it a HotSpot at all, though it may still be starting? */
bool hotspot_is_loaded(pid_t pid);
/*
 * One command of jcmd ("Compiler.perfmap", "VM.flags -all"); its answer is appended to @out. Waits at most
 * @timeout_ms for the machine to come to it. -ESRCH, -ETIMEDOUT, -EACCES, -EAGAIN (stopped; or still starting: -ENOTSUP),
 * -ENOTSUP (-XX:+DisableAttachMechanism, no HotSpot), -EIO (refused by the machine) with sentences that name the remedy.
 * May be called from several threads.
 */
int hotspot_command(pid_t pid, const char *command, unsigned timeout_ms, struct buf *out, struct ut_err *err);
/* Asks for the map of compiled code, which the machine writes to /tmp/perf-N.map as it sees it. Not when a link or
 * another user's file stands there. */
int hotspot_write_map(pid_t pid, unsigned timeout_ms, struct ut_err *err);
/* Does its compiled code keep frame pointers (-XX:+PreserveFramePointer)? 1, 0, or negative when it cannot be known.
 * From its command line, JAVA_TOOL_OPTIONS and option files; the machine is not disturbed. */
int hotspot_keeps_frame_pointers(pid_t pid);

#endif
