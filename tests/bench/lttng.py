# SPDX-License-Identifier: MIT
"""LTTng-UST beside us: a session with the same event enabled, written to files as it does by itself."""
import os
import re
import shutil
import subprocess
import time

import programs
from tracers import run

EVENT = "usertrace_bench:count"
HERE = os.path.dirname(os.path.realpath(__file__))


class Failed(Exception):
    """Why it cannot be measured here."""


def build_program(bench):
    """user.c with LTTng's tracepoint in it, built here, since the library may have come after the build. None: not there."""
    path = os.path.join(bench.folder, "user-lttng")
    done = run("cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-w", "-DWITH_LTTNG", "-I", HERE, "-I", os.path.join(HERE, "../../include"),
               os.path.join(HERE, "user.c"), "-o", path, "-llttng-ust", "-ldl")
    return None if done.returncode else path


class Daemon:
    """Its session daemon, unless one runs already; that one is left alone."""

    def __init__(self, folder):
        self.process = None
        if run("lttng", "--no-sessiond", "list").returncode:
            self.process = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL, env={**os.environ, "LTTNG_HOME": folder})

    def wait(self):
        deadline = time.monotonic() + programs.PATIENCE
        while run("lttng", "--no-sessiond", "list").returncode:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise Failed("its session daemon does not answer")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(programs.PATIENCE)


class Session:
    def __init__(self, bench, program):
        self.bench, self.program, self.discarded = bench, program, 0

    def missing(self):
        if not self.program:
            return "liblttng-ust-dev is not installed"
        return next((f"{name} is not installed" for name in ("lttng", "lttng-sessiond") if not shutil.which(name)), None)

    def command(self, *words):
        done = run("lttng", "--no-sessiond", *words)
        if done.returncode:
            raise Failed(f"lttng {words[0]}: {(done.stderr or done.stdout).strip()[:160]}")
        return done.stdout

    def measure(self, loops):
        """Nanoseconds an event, in a session of its own."""
        name, files = f"usertrace-bench-{os.getpid()}", os.path.join(self.bench.folder, "lttng")
        with Daemon(self.bench.folder) as daemon:
            daemon.wait()
            try:
                self.command("create", name, "--output", files)
                self.command("enable-event", "--userspace", "--session", name, EVENT)
                self.command("start", name)
                with loops(self.program, cpu=self.bench.target_cpu, env={"LTTNG_UST_REGISTER_TIMEOUT": "-1"}) as program:
                    ns = program.ns("lttng", self.bench.user_events)
                self.command("stop", name)
                self.discarded += sum(map(int, re.findall(r"Discarded events: (\d+)", self.command("list", name))))
                if not any(os.path.getsize(os.path.join(folder, file)) > self.bench.user_events
                           for folder, _, found in os.walk(files) for file in found):
                    raise Failed("it wrote nothing")
                return ns
            finally:
                run("lttng", "--no-sessiond", "destroy", name)
                shutil.rmtree(files, ignore_errors=True)
