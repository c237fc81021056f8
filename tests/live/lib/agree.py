# SPDX-License-Identifier: MIT
"""`usertrace gc` against a runtime's own account of itself, one by one.

    watch = agree.gc(self, "-p", program.pid)             # usertrace gc --json, attached
    ...
    watch.interrupt()
    seen = [(s["begin_ns"], s["duration_ns"]) for s in watch.spans("gc")]
    agree.compare(self, "HotSpot", "Serial, pauses", own=own, seen=seen, cut=2, version="17.0.15")

An entry is a length in ns, or its begin in ns, on a clock that goes as fast as ours, its length, and whatever else. With
$UT_AGREEMENT each comparison appends a row to that file.
"""
import glob
import json
import os
import re
import statistics

import live

MS = 1_000_000
SHARE = 0.02            # lengths agree within this share
NEAR_NS = 20_000        # or within this
BEGIN_NS = 2 * MS        # begins agree within this, for a program may be off the processor between its note and our event
COLUMNS = ("runtime", "version", "what", "own", "seen", "cut", "median difference (us)", "largest difference (us)",
           "share within 2 % or 20 us", "note")


def taken_away(pid):
    """How often the CPU was taken from a thread of the process that wanted to go on, so far."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                total += int(re.search(r"^nonvoluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)[1])
        except (OSError, TypeError):    # it has ended meanwhile
            pass
    return total


def waited_ns(pid):
    """For how long the first thread of the process could have run and had no CPU, so far."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1])


def stolen_ns():
    """What the machine's host took from its CPUs, so far."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Watch(live.Trace):
    """A running `usertrace gc --json`. What it says is complete once it has ended."""

    pid_of_program, taken_before, stolen_before, waited_before = None, 0, 0, 0
    disturbed, waited_ns = 0, 0

    def measure(self, pid):
        """From now on it is counted how often the machine comes between the program's clock and ours, at most: .disturbed is how
        often the CPU was taken from a thread of the program, or for a millisecond from all of the machine."""
        if not os.path.exists(f"/proc/{pid}/schedstat"):    # several, or one that has ended: nothing is counted
            return
        self.pid_of_program, self.taken_before, self.stolen_before = pid, taken_away(pid), stolen_ns()
        self.waited_before = waited_ns(pid)

    def note(self):
        """The end of what is counted, while the program is still there."""
        pid, self.pid_of_program = self.pid_of_program, None
        if pid and os.path.exists(f"/proc/{pid}/schedstat"):
            self.disturbed = max(taken_away(pid) - self.taken_before, 0) + (stolen_ns() - self.stolen_before) // MS
            self.waited_ns = waited_ns(pid) - self.waited_before

    def interrupt(self, timeout=None):
        self.note()
        return super().interrupt(timeout)

    def of_type(self, kind):
        return [o for o in self.objects() if o.get("type") == kind]

    def spans(self, kind=None, closed="complete", **values):
        """Spans of a kind in order of their begin; those that ended alone, or with closed=None cut ones as well."""
        values = {**values, **({"kind": kind} if kind else {}), **({"end": closed} if closed else {})}
        found = [s for s in self.of_type("span") if all(s.get(k) == v for k, v in values.items())]
        return sorted(found, key=lambda s: s["begin_ns"])

    def cut(self, kind=None, **values):
        """How many spans were cut."""
        return len([s for s in self.spans(kind, closed=None, **values) if s["end"] != "complete"])

    def summary(self, pid=None):
        """The summary of a process; without a pid there must be one alone."""
        found = [s for s in self.of_type("summary") if pid is None or s["pid"] == pid]
        if len(found) != 1:
            raise AssertionError(f"{len(found)} summaries: {self.describe()}")
        return found[0]

    def process(self, pid):
        """What it said of a process when it began to watch it."""
        return next(p for p in self.of_type("attach") if p["pid"] == pid)


def gc(case, *args, attached=True, **kwargs):
    """Starts `usertrace gc --json` and waits until it is attached (attached=False: does not wait)."""
    watch = Watch([live.USERTRACE, "gc", "--json", *args], **kwargs)
    case.addCleanup(watch.end)
    case.disturbed, case.before_end = (lambda: watch.disturbed), watch.note
    if attached:
        watch.probes, watch.sites = watch.wait_attached()
    if "-p" in args:
        watch.measure(args[args.index("-p") + 1])
    return watch


def lengths(spans):
    """Entries of spans: begin and length."""
    return [(s["begin_ns"], s["duration_ns"]) for s in spans]


def _pairs(own, seen, skip_own, skip_seen):
    return list(zip(own[skip_own:], seen[skip_seen:]))


def _length(entry):
    return entry[1] if isinstance(entry, tuple) else entry


def near(own, seen, resolution_ns=0):
    """Two lengths agree."""
    return abs(seen - own) <= max(SHARE * own, NEAR_NS, resolution_ns)


def _clock(pairs):
    """What our clock is ahead of theirs; None when no begins are told."""
    if not pairs or not all(isinstance(e, tuple) for pair in pairs for e in pair):
        return None
    return statistics.median_low([seen[0] - own[0] for own, seen in pairs])


def _score(pairs, resolution_ns):
    """How many pairs agree, then how near they are: more is better."""
    clock = _clock(pairs)
    good, away = 0, 0
    for own, seen in pairs:
        begins = clock is None or abs(seen[0] - own[0] - clock) <= BEGIN_NS + resolution_ns
        good += begins and near(_length(own), _length(seen), resolution_ns)
        away += abs(_length(own) - _length(seen))
    return good, -away


def align(own, seen, cut, resolution_ns=0):
    """Pairs of what corresponds: both in order and without gaps, at most @cut left out at the ends of both together.
    None when they are more than @cut apart in number."""
    best = None
    for skip in range(-cut, cut + 1):
        skip_own, skip_seen = max(skip, 0), max(-skip, 0)
        pairs = _pairs(own, seen, skip_own, skip_seen)
        left_out = len(own) + len(seen) - 2 * len(pairs)
        if left_out <= cut:
            score = (*_score(pairs, resolution_ns), -left_out)
            if best is None or score > best[0]:
                best = (score, pairs)
    return best and best[1]


def _append(*columns):
    path = os.environ.get("UT_AGREEMENT")
    if not path:
        return
    new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8") as table:
        for row in [COLUMNS] * new + [columns]:
            table.write("\t".join(str(c) for c in row) + "\n")


def compare(case, runtime, what, own, seen, cut=0, version="", resolution_ns=0, least=0.9, note=""):
    """Asserts that the same are there, but for those cut at the ends, at most @cut, and that at least the share
    @least of them is as long within 2 % or 20 us. @resolution_ns: of the own account, when it is coarser than that.
    On a busy machine others come between the program's clock and ours: so many more may differ as the CPU was taken from
    the program while it was watched, but never more than half. Gives the pairs back."""
    own, seen = list(own), list(seen)
    pairs = align(own, seen, cut, resolution_ns)
    where = f"{runtime} {version}, {what}: {len(own)} by its own account, {len(seen)} seen, at most {cut} cut"
    if not pairs:
        _append(runtime, version, what, len(own), len(seen), cut, "", "", "", "numbers differ")
        case.fail(where)
    away = [abs(_length(o) - _length(s)) for o, s in pairs]
    good = [near(_length(o), _length(s), resolution_ns) for o, s in pairs]
    share = sum(good) / len(pairs)
    _append(runtime, version, what, len(own), len(seen), len(own) + len(seen) - 2 * len(pairs),
            f"{statistics.median(away) / 1e3:.1f}", f"{max(away) / 1e3:.1f}", f"{share:.3f}", note)
    disturbed = case.disturbed() if hasattr(case, "disturbed") else 0
    usual = int((1 - least) * len(pairs) + 1e-9)
    allowed = max(usual, min(usual + disturbed, len(pairs) // 2))
    where += f"; the CPU was taken from the program {disturbed} times"
    clock = _clock(pairs)
    if clock is not None:
        late = [s[0] - o[0] - clock for o, s in pairs if abs(s[0] - o[0] - clock) > BEGIN_NS + resolution_ns]
        case.assertLessEqual(len(late), allowed, f"{where}; {len(late)} do not begin at the same times: {late[:5]}")
    bad = [f"{_length(o)} ns, seen as {_length(s)}" for (o, s), g in zip(pairs, good) if not g]
    case.assertLessEqual(len(bad), allowed, f"{where}; of {len(pairs)} {len(bad)} differ in length: {'; '.join(bad[:5])}")
    return pairs


def count(case, runtime, what, own, seen, cut=0, version="", note=""):
    """Asserts that two numbers are the same but for at most @cut."""
    _append(runtime, version, what, own, seen, cut, "", "", "", note)
    case.assertLessEqual(abs(own - seen), cut, f"{runtime} {version}, {what}: {own} by its own account, {seen} seen, "
                                               f"at most {cut} cut")


def stands_still(case, spans):
    """Asserts that the program stood still all through spans of a program with one thread. (The processor may be taken
    from the whole machine between an event and the reading of its state: a few may say less, none more.)"""
    less = 0
    for span in spans:
        gone = span["duration_ns"] - span["stopped_ns"] - span["held_ns"]
        case.assertGreaterEqual(gone, 0, span)
        less += gone > 1000 + span["duration_ns"] // 100
    case.assertLessEqual(less, len(spans) // 20 + 1)
