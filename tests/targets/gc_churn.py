# SPDX-License-Identifier: MIT
"""gc_churn.py SECONDS [--gate] [--calm]: reference cycles so that all generations are collected, imports and an audit
event; then what the collector says it did. With --gate it waits for a line on standard input before it begins and
before it ends; with --calm it takes its time, so that a person can follow."""
import gc
import os
import sys
import time


class Node:
    pass


def gate(text):
    print(text, flush=True)
    if "--gate" in sys.argv:
        sys.stdin.buffer.raw.read(1)


def stats():
    return [(g["collections"], g["collected"]) for g in gc.get_stats()]


def churn(seconds, calm):
    end = time.monotonic() + seconds
    next_full = time.monotonic() + 2.5
    live, n = [], 0
    while time.monotonic() < end:
        for i in range(300):
            x = Node()
            x.me = x
            x.d = {"k": [i]}
            n += 1
            if i % 30 == 0:
                live.append(x)
        if len(live) > 20000:
            del live[:10000]
        if calm and time.monotonic() > next_full:
            gc.collect(2)
            next_full += 2.5
        time.sleep(0.25 if calm else 0.001)
    return n


def main():
    gate(f"ready {os.getpid()}")
    before = stats()
    objects = churn(float(sys.argv[1]), "--calm" in sys.argv)
    gc.collect(2)
    import colorsys     # a module that nothing else has loaded, with no imports of its own
    sys.audit("usertrace.test", "argument")
    after = stats()
    delta = [(a[0] - b[0], a[1] - b[1]) for a, b in zip(after, before)]
    gate(f"done objects={objects} collections={','.join(str(c) for c, _ in delta)} collected={sum(c for _, c in delta)}")


main()
