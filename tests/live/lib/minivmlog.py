# SPDX-License-Identifier: MIT
"""minivm's own account: the lines of its log (examples/minivm/log.h), and how long nobody but the collector ran in each
collection, which follows from them.

A thread's processor time is known at some moments: of each other one when a collection begins and when it ends (ran), of
each one also when it stands still, and when it is woken in vain (safepoint, woken). What a thread has run until a moment
of its own it has run just before it; what it has run between its last moment and the end of the collection, just after
that moment. The times of all threads together, each moment once, are when the program was not stopped.
"""
import bisect
import collections

Span = collections.namedtuple("Span", "kind thread tid begin begun end ended before after text")

# From the last line that a thread writes until it is off its processor.
LEAVING_NS = 4000
# Who collects was off its processor while the clocks of the others should have been read.
HELD_UP_NS = 150_000


def read(path):
    with open(path) as file:
        lines = [line.rstrip("\n").split(" ", 9) for line in file if not line.startswith("#")]
    return [Span(kind, *map(int, numbers), text) for kind, *numbers, text in lines]


def covered(intervals, begin, end):
    """How much of the time from begin to end lies in any of the intervals."""
    total = 0
    for first, last in sorted(intervals):
        first, last = max(first, begin), min(last, end)
        if last > first:
            total += last - first
            begin = last
    return total


def ran_in(ran, moments, begin, end):
    """When the thread of a line «ran» did so, from begin to end. Its moments are (time, processor time)."""
    mine = moments[bisect.bisect(moments, (begin - LEAVING_NS,)):bisect.bisect(moments, (end,))]
    at, cpu, its_own = ran.begin, ran.before, False
    for time, total in mine:
        if time <= ran.begin:   # it stood still before its clock was read: nobody knows since when it ran
            yield begin, time + LEAVING_NS
            at, its_own = time + LEAVING_NS, True
            continue
        since = time - (total - cpu)
        yield begin if since <= ran.begin and not its_own else since, time
        at, cpu, its_own = time, total, True
    yield at, at + max(ran.after - cpu, 0)


class Collection:
    """One, with what its log says of the other threads."""

    def __init__(self, span, rans, moments):
        self.span, self.rans, self.moments = span, rans, moments
        self.length = span.ended - span.begun
        # The clocks of the others were read at once, and none of them ended.
        self.is_known = span.begun - span.begin <= HELD_UP_NS and all(
            r.after >= r.before and r.begin - span.begun <= HELD_UP_NS for r in rans)

    def ran(self, begin, end):
        """How long any other thread ran between two times in it."""
        intervals = [one for r in self.rans for one in ran_in(r, self.moments[r.tid], begin, end)]
        return covered(intervals, begin, end)


def collections_of(log):
    """All that ended, in order."""
    moments, rans = collections.defaultdict(list), collections.defaultdict(list)
    gcs = sorted((s for s in log if s.kind == "gc" and s.end), key=lambda s: s.begin)
    begins = [g.begin for g in gcs]
    for s in log:
        if s.kind in ("safepoint", "woken"):
            moments[s.tid].append((s.begun, s.before))
        elif s.kind == "ran":
            rans[bisect.bisect(begins, s.begin) - 1].append(s)
    for of_thread in moments.values():
        of_thread.sort()
    return [Collection(gc, rans[i], moments) for i, gc in enumerate(gcs)]
