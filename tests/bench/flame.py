# SPDX-License-Identifier: MIT
"""Folded stacks for flame graphs: walks through a call graph of 20,000 functions, no two the same."""
import random

WORDS = "alloc parse list map hash node read write sync lock buf tree scan visit emit load cache page queue init".split()


def functions(source):
    names = []
    for i in range(20000):
        a, b = source.choice(WORDS), source.choice(WORDS)
        names.append([f"{a}_{b}_{i}", f"ns::{a.title()}{i % 97}::{b}_{i}", f"{a}{b}_{i}_[k]", f"{b}_{a}_internal_{i}"][i % 4])
    return names


def stacks(count, least, most):
    """Sorted, as stackcollapse scripts write them; so many frames each."""
    source = random.Random(1)
    names = functions(source)
    callees = [[source.randrange(20000) for _ in range(6)] for _ in range(20000)]
    made = set()
    while len(made) < count:
        at, frames = 0, ["main"]
        for _ in range(source.randrange(least - 1, most)):
            at = callees[at][int(6 * source.random() ** 3)]
            frames.append(names[at])
        made.add(";".join(frames))
    return sorted(made)
