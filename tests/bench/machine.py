# SPDX-License-Identifier: MIT
"""The facts that a figure means nothing without."""
import os
import re
import time

from tracers import run


def cpu():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    guest = ", a virtual machine" if re.search(r"^flags\s*:.*\bhypervisor\b", text, re.MULTILINE) else ""
    return f"{model[1] if model else os.uname().machine}, {os.cpu_count()} CPUs{guest}"


def distribution():
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            return re.search(r'^PRETTY_NAME="?([^"\n]*)', file.read(), re.MULTILINE)[1]
    except (OSError, TypeError):
        return "unknown"


def version(words, pattern=r"v?(\d+\.\d+[\w.+~-]*)"):
    try:
        done = run(*words)
    except OSError:
        return None
    match = re.search(pattern, done.stdout + done.stderr)
    return match[1] if match else None


def versions(usertrace):
    asked = [("usertrace", [usertrace, "--version"]), ("bpftrace", ["bpftrace", "--version"]),
             ("BCC", ["dpkg-query", "-W", "-f", "${Version}", "bpfcc-tools"]), ("perf", ["perf", "--version"]),
             ("LTTng", ["lttng", "--version"]), ("Java", ["java", "-version"])]
    found = [(name, version(words)) for name, words in asked]
    return ", ".join(f"{name} {value}" for name, value in found if value)


def system_call_ns(count=20000):
    """Figures of two machines compare through it."""
    start = time.perf_counter_ns()
    for _ in range(count):
        pass
    loop, start = time.perf_counter_ns() - start, time.perf_counter_ns()
    for _ in range(count):
        os.getppid()
    return (time.perf_counter_ns() - start - loop) / count


def facts(usertrace, rounds, quick):
    return [("machine", cpu()), ("kernel", f"Linux {os.uname().release.split('-')[0]}, {distribution()}"),
            ("date", time.strftime("%Y-%m-%d")), ("versions", versions(usertrace)),
            ("a system call (getppid)", f"{system_call_ns():.0f} ns"),
            ("rounds", f"{rounds}{', quick' if quick else ''}"), ("load of the machine before", f"{os.getloadavg()[0]:.1f}")]
