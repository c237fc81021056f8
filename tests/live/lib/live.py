# SPDX-License-Identifier: MIT
"""What live tests share: starting programs and the tracer, waiting for what they say, ending them whatever happens.

    class Ticks(live.Case):
        @live.vm_safe                                     # needs C programs only: also runs on the other kernel
        def test_counts(self):
            target = self.start_target("ticker", "100")   # waits for its line "ready PID"
            trace = self.trace("-p", target.pid, "u:ticker:tick")    # waits for "attached ..."
            trace.wait_for_lines(100)
            self.assertEqual(trace.interrupt(), 0)

Nothing here sleeps: every wait is for a line, an end or a condition, and has a limit. UT_CASE=text runs the cases
whose name holds the text, or one of several with blanks between.
"""
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import schema

SOURCE_ROOT = os.environ.get("UT_SOURCE_ROOT") or os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD_ROOT = os.environ.get("UT_BUILD_ROOT") or os.path.join(SOURCE_ROOT, "build")
USERTRACE = os.path.join(BUILD_ROOT, "src/cli/usertrace")
TARGETS = os.path.join(BUILD_ROOT, "tests/targets")
TARGET_SOURCES = os.path.join(SOURCE_ROOT, "tests/targets")
# Software emulation is some twenty times slower.
PATIENCE = float(os.environ.get("UT_PATIENCE", "30"))

_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


def vm_safe(item):
    """Marks a case or a class that needs nothing but the programs of the build."""
    item.vm_safe = True
    return item


def host_only(item):
    """Marks a case of a class that is vm_safe otherwise: it needs a program that the other machine does not
    have, or does not depend on the kernel."""
    item.vm_safe = False
    return item


def kernel_version():
    return tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())


def needs_root():
    return unittest.skipUnless(os.geteuid() == 0, "needs root")


def needs_kernel(major, minor):
    return unittest.skipUnless(kernel_version() >= (major, minor), f"needs Linux {major}.{minor}")


def needs_program(name):
    return unittest.skipUnless(shutil.which(name), f"{name} is not installed")


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Process:
    """A child whose output is read by threads into lists of lines, with waits for what it says."""

    def __init__(self, argv, stdin=subprocess.DEVNULL, env=None, cwd=None, stdout=subprocess.PIPE, preexec=None):
        def before_exec():
            _die_with_parent()
            if preexec:
                preexec()
        self.argv = [str(a) for a in argv]
        self.stdout, self.stderr = [], []
        self._changed = threading.Condition()
        self._readers = []
        self.popen = subprocess.Popen(self.argv, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, cwd=cwd,
                                      env={**os.environ, **env} if env else None, preexec_fn=before_exec)
        self._open_streams = 0
        for stream, lines in ((self.popen.stdout, self.stdout), (self.popen.stderr, self.stderr)):
            if stream is not None:
                self._open_streams += 1
                reader = threading.Thread(target=self._read, args=(stream, lines), daemon=True)
                self._readers.append(reader)
                reader.start()

    @property
    def pid(self):
        return self.popen.pid

    @property
    def status(self):
        """Exit status, negative signal number, or None while it runs."""
        return self.popen.poll()

    def _read(self, stream, lines):
        for raw in stream:
            line = raw.decode("utf-8", "surrogateescape").rstrip("\n")
            with self._changed:
                lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._open_streams -= 1
            self._changed.notify_all()

    def describe(self):
        tail = "\n".join(["stdout: " + l for l in self.stdout[-15:]] + ["stderr: " + l for l in self.stderr[-15:]])
        return f"{' '.join(self.argv)} (status {self.status})\n{tail}"

    def wait_until(self, condition, what, timeout=None):
        """Waits until condition() is true; it is asked again after each line of output and at the end of output."""
        timeout = PATIENCE if timeout is None else timeout
        deadline = time.monotonic() + timeout
        with self._changed:
            while not condition():
                left = deadline - time.monotonic()
                if self._open_streams == 0:
                    raise AssertionError(f"ended before {what}: {self.describe()}")
                if left <= 0:
                    raise AssertionError(f"no {what} within {timeout:g} s: {self.describe()}")
                self._changed.wait(left)

    def wait_for(self, pattern, stream="stdout", timeout=None):
        """The match of the first line of the stream that holds the pattern, once there is one."""
        lines = getattr(self, stream)
        regex = re.compile(pattern)
        found = []

        def look():
            found[:] = [m for m in map(regex.search, lines) if m]
            return found
        self.wait_until(look, f"line with '{pattern}' on {stream}", timeout)
        return found[0]

    def wait_for_lines(self, count, stream="stdout", timeout=None):
        lines = getattr(self, stream)
        self.wait_until(lambda: len(lines) >= count, f"{count} lines on {stream}", timeout)
        return list(lines)

    def wait(self, timeout=None):
        """Waits for its end and for all its output; the exit status."""
        try:
            self.popen.wait(PATIENCE if timeout is None else timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"does not end: {self.describe()}") from None
        # A grandchild may hold the pipes open; then what is there has to do.
        for reader in self._readers:
            reader.join(2)
        return self.popen.returncode

    def signal(self, number):
        self.popen.send_signal(number)

    def interrupt(self, timeout=None):
        """Ctrl-C, for this process alone; the exit status."""
        self.signal(signal.SIGINT)
        return self.wait(timeout)

    def say(self, text):
        """Writes to its standard input (start it with stdin=subprocess.PIPE)."""
        self.popen.stdin.write(text.encode())
        self.popen.stdin.flush()

    def end(self):
        """Kills it if it still runs. Safe to call at any time."""
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()
        for reader in self._readers:
            reader.join(2)
        for stream in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if stream:
                try:
                    stream.close()
                except OSError:
                    pass

    def objects(self):
        """The events of --json, which are as the schema says."""
        return schema.check([json.loads(l) for l in self.stdout if l.strip()])


class Trace(Process):
    """A running `usertrace trace`."""

    ATTACHED = r"attached (\d+) probes? at (\d+) sites?"

    def wait_attached(self, timeout=None):
        """Numbers of probes and sites, once it says that they are attached."""
        match = self.wait_for(self.ATTACHED, "stderr", timeout)
        return int(match[1]), int(match[2])

    def events(self):
        """The event lines so far without the heading, split at blanks: PID TID COMM FUNC rest."""
        lines = [l for l in self.stdout if l.strip()]
        if lines and lines[0].split()[:2] == ["PID", "TID"] or lines and "PID" in lines[0].split()[:2]:
            lines = lines[1:]
        return [l.split(None, 4) for l in lines]


CLOSED = ("open", "thread-exited", "process-exited", "exec", "evicted")     # by something else than an end


def word(event):
    """What a user event in JSON is in one word: its type, or what closed the span in the place of an end."""
    return event["end"] if event.get("end") in CLOSED else event["type"]


def unmatched(event):
    """Why an end in JSON has no span; None for everything else."""
    return event["end"] if "end" in event and "duration_ns" not in event else None


class Case(unittest.TestCase):
    """A test case that ends what it started, newest first, also when it fails."""

    maxDiff = 4000

    def start(self, *argv, **kwargs):
        """Starts a program; it is ended with the case."""
        process = Process(argv, **kwargs)
        self.addCleanup(process.end)
        return process

    def start_target(self, name, *args, ready=r"^(ready|pid)\b", **kwargs):
        """Starts a program of tests/targets and waits until it says that it is ready, on either of its streams."""
        path = name if "/" in name else os.path.join(TARGETS, name)
        if not os.path.exists(path):
            self.skipTest(f"{os.path.relpath(path, BUILD_ROOT)} is not built")
        target = self.start(path, *args, **kwargs)
        if ready:
            regex = re.compile(ready)
            target.wait_until(lambda: any(map(regex.search, target.stdout + target.stderr)), f"line with '{ready}'")
        return target

    def usertrace(self, *args, timeout=None, stdin=subprocess.DEVNULL, env=None, cwd=None):
        """Runs the command to its end; it has .stdout and .stderr as lists of lines, and .status."""
        process = Process([USERTRACE, *args], stdin=stdin, env=env, cwd=cwd)
        self.addCleanup(process.end)
        process.wait(timeout)
        return process

    def trace(self, *args, attached=True, **kwargs):
        """Starts `usertrace trace` and waits until it is attached (attached=False: does not wait)."""
        trace = Trace([USERTRACE, "trace", *args], **kwargs)
        self.addCleanup(trace.end)
        if attached:
            trace.probes, trace.sites = trace.wait_attached()
        return trace

    def child_of(self, process):
        """The pid of the first child of a process, once there is one."""
        path = f"/proc/{process.pid}/task/{process.pid}/children"

        def children():
            with open(path) as file:
                return file.read().split()
        self.eventually(children, f"a child of {process.pid}")
        return int(children()[0])

    def tempdir(self):
        path = tempfile.mkdtemp(prefix="usertrace-test-")
        self.addCleanup(shutil.rmtree, path, True)
        return path

    def eventually(self, condition, what, timeout=None):
        """Polls for a condition that nothing announces, such as a file in /proc."""
        deadline = time.monotonic() + (PATIENCE if timeout is None else timeout)
        pause = threading.Event()
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"never came true: {what}")
            pause.wait(0.002)
