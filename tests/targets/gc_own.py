# SPDX-License-Identifier: MIT
"""gc_own.py SECONDS|-: reference cycles of every age; then a line "gc GENERATION BEGIN LENGTH OBJECTS" for each collection
that gc.callbacks told (times of CLOCK_MONOTONIC in ns) and one of what gc.get_stats() counted. It waits for a line on
standard input before it begins and before it ends; with - it runs until there is one more. It imports modules while it
runs, and ends without a last collection."""
import gc
import os
import select
import sys
import time

MODULES = ("colorsys", "this", "textwrap", "shlex")
own, began = [], 0


def told(phase, info):
    global began
    now = time.perf_counter_ns()
    if phase == "stop":
        own.append((info["generation"], began, now - began, info["collected"] + info["uncollectable"]))
    else:
        began = time.perf_counter_ns()


class Node:
    pass


def grow(live, n):
    for i in range(n):
        x = Node()
        x.me = x
        x.d = {"k": [i]}
        if i % 30 == 0:
            live.append(x)
    if len(live) > 20000:
        del live[:10000]


def runner(seconds):
    if seconds == "-":
        return lambda: not (select.select([0], [], [], 0)[0] and sys.stdin.buffer.raw.read(1))
    end = time.monotonic() + float(seconds)
    return lambda: time.monotonic() < end


def churn(runs):
    live = []
    while runs():
        for generation in (0, 1, 2):
            grow(live, 2000)
            gc.collect(generation)


def gate(text):
    print(text, flush=True)
    sys.stdin.buffer.raw.read(1)


def imports():
    sys.stdout, stdout = open(os.devnull, "w"), sys.stdout      # one of them has a poem to tell
    before = set(sys.modules)
    for name in MODULES:
        __import__(name)
    sys.stdout = stdout
    return [name for name in sys.modules if name not in before]


def main():
    gate(f"ready {os.getpid()}")
    before = gc.get_stats()
    gc.callbacks.append(told)
    churn(runner(sys.argv[1]))
    gc.callbacks.remove(told)
    gc.disable()
    counted = [a["collections"] - b["collections"] for a, b in zip(gc.get_stats(), before)]
    imported = imports()
    for row in own:
        print("gc", *row)
    gate(f"done collections={','.join(map(str, counted))} imported={','.join(imported)}")
    os._exit(0)


main()
