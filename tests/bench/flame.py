# SPDX-License-Identifier: MIT
"""A million folded stacks to the SVG: seconds, memory, bytes. flame.py USERTRACE [LINES]

The stacks are walks through a call graph of 20,000 functions, 25 to 40 frames each, no two the same: sorted, as
stackcollapse scripts write them, and in any order."""
import os
import random
import subprocess
import sys
import tempfile
import time

WORDS = "alloc parse list map hash node read write sync lock buf tree scan visit emit load cache page queue init".split()


def functions(source):
    names = []
    for i in range(20000):
        a, b = source.choice(WORDS), source.choice(WORDS)
        names.append([f"{a}_{b}_{i}", f"ns::{a.title()}{i % 97}::{b}_{i}", f"{a}{b}_{i}_[k]", f"{b}_{a}_internal_{i}"][i % 4])
    return names


def stacks(count):
    source = random.Random(1)
    names = functions(source)
    callees = [[source.randrange(20000) for _ in range(6)] for _ in range(20000)]
    made = set()
    while len(made) < count:
        at, frames = 0, ["main"]
        for _ in range(source.randrange(24, 40)):
            at = callees[at][int(6 * source.random() ** 3)]
            frames.append(names[at])
        made.add(";".join(frames))
    return sorted(made)


def measure(usertrace, path):
    """(seconds, MiB, bytes) of one run from a file as standard input."""
    with open(path, "rb") as file, tempfile.TemporaryFile() as svg:
        begin = time.monotonic()
        process = subprocess.Popen([usertrace, "flame"], stdin=file, stdout=svg)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"usertrace flame ended with {process.returncode}")
        return seconds, usage.ru_maxrss / 1024, svg.seek(0, os.SEEK_END)


def main(usertrace, count="1000000"):
    lines = stacks(int(count))
    source = random.Random(2)
    with tempfile.TemporaryDirectory(prefix="usertrace-bench-") as folder:
        for order in ("sorted", "any order"):
            path = os.path.join(folder, "stacks.folded")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"{line} {source.randrange(1, 4)}\n" for line in lines)
            runs = [measure(usertrace, path) for _ in range(5)]
            print(f"{order}: {len(lines):,} stacks, {os.path.getsize(path) >> 20} MiB: {min(r[0] for r in runs):.2f} s, "
                  f"{max(r[1] for r in runs):.0f} MiB, {runs[0][2]:,} bytes of SVG")
            source.shuffle(lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
