# SPDX-License-Identifier: MIT
"""Folded stacks for flame graphs: walks through a call graph of 20,000 functions, no two the same.

flame.py COUNT LEAST MOST FILE      so many, of so many frames. A program of its own, as what it needs of memory would be
counted for who is started after it."""
import random
import sys

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


def main(count, least, most, path):
    counts = random.Random(2)
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{stack} {counts.randrange(1, 4)}\n" for stack in stacks(int(count), int(least), int(most)))


if __name__ == "__main__":
    main(*sys.argv[1:])
