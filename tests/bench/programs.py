# SPDX-License-Identifier: MIT
"""The programs of a benchmark: what is traced, and whatever traces it, each ended by its own handle."""
import os
import re
import signal
import subprocess
import tempfile
import time

POKES = 200
ATTACHED_NS = 150       # an event that nobody traces takes two nanoseconds, a trap more than this on any machine
PATIENCE = 30


class Unusable(Exception):
    """Why a tracer cannot be measured here."""


class Target:
    """The program of target.c, told over its standard input what to fire."""

    def __init__(self, build, cpu=None):
        self.path = os.path.join(build, "tests/bench/target")
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.process = subprocess.Popen(pin + [self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        words = self.process.stdout.readline().split()
        self.pid, self.partner = int(words[1]), int(words[2])
        for site in ("nop1", "nop5"):
            self.ask(f"poke {site} {POKES}")    # the first call pays for its page

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def say(self, line):
        self.process.stdin.write(line + "\n")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the traced program has ended")
        return [int(word) for word in line.split()[1:]]

    def ask(self, line):
        self.say(line)
        return self.answer()

    def is_traced(self, site):
        """Costs an event more than an instruction? Asked again, since an answer may be an interruption's."""
        return all(self.ask(f"poke {site} {POKES}")[1] > POKES * ATTACHED_NS for _ in range(5))


class Running:
    """A tracer at work, with its two streams in files."""

    def __init__(self, argv, cpu=None, env=None):
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.argv = argv
        self.out, self.err = tempfile.NamedTemporaryFile(prefix="bench-out-"), tempfile.NamedTemporaryFile(prefix="bench-err-")
        self.process = subprocess.Popen(pin + argv, stdin=subprocess.PIPE, stdout=self.out, stderr=self.err,
                                        env={**os.environ, **(env or {})})

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.out.close()
        self.err.close()

    def stderr(self):
        with open(self.err.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def last_words(self):
        with open(self.out.name, encoding="utf-8", errors="replace") as file:
            text = self.stderr() + file.read(4096)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1][:160] if lines else "it says nothing"

    def wait_until(self, condition, what):
        """Polls for what nothing announces."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if self.process.poll() is not None:
                raise Unusable("ended at once: " + self.last_words())
            if time.monotonic() > deadline:
                raise Unusable(f"{what} within {PATIENCE} s: " + self.last_words())

    def wait_traced(self, target, site):
        """A probe is in place before its program or its buffer is: it counts once an event came through."""
        self.wait_until(lambda: target.is_traced(site), "did not attach")
        self.tracer.wait_ready(self, target, site)

    def peak_kib(self):
        """Most memory that was resident so far."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"^VmHWM:\s+(\d+)", file.read(), re.MULTILINE)[1])

    def stop(self, patience=120):
        """Ctrl-C, again where the tracer is known to swallow it; the seconds until it has ended."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.stdin.close()
        while True:
            try:
                self.process.wait(2)
                return time.monotonic() - start
            except subprocess.TimeoutExpired:
                if time.monotonic() - start > patience:
                    raise Unusable(f"does not end within {patience} s of Ctrl-C") from None
            if self.tracer.swallows_interrupts:
                self.process.send_signal(signal.SIGINT)
