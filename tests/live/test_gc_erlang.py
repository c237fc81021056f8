# SPDX-License-Identifier: MIT
"""`usertrace gc` against Erlang's own accounts: statistics(garbage_collection) counts, and erlang:trace/3 tells each
collection of each process with its begin and its end."""
import collections
import os
import subprocess
import unittest

import agree
import live
import runtimes

COUNTED = "statistics(garbage_collection)"


class Account:
    """What tests/targets/churn.erl says, with the system's times."""

    def __init__(self, lines):
        said = collections.defaultdict(list)
        for line in lines:
            kind, *words = line.split()
            said[kind].append(words)
        self.begin, self.end, self.count = map(int, said["window"][0])
        self.tracer = int(said["tracer"][0][0])
        (system, erlang), (system_then, erlang_then) = (map(int, pair) for pair in said["clock"])
        rate = (system_then - system) / (erlang_then - erlang)
        self.told = collections.defaultdict(list)
        for process, what, *times in said["gc"]:
            begin, end = (round(system + (int(t) - erlang) * rate) for t in times)
            self.told[int(process)].append((begin, end, what))


@live.needs_root()
@live.needs_program("erlc")
class GcErlang(runtimes.Case):
    def setUp(self):
        self.folder = self.tempdir()
        source = os.path.join(live.TARGET_SOURCES, "churn.erl")
        subprocess.run(["erlc", "-o", self.folder, source], check=True, timeout=60)

    def churn(self, *options):
        """What gc says of it, and its own account."""
        program = self.gated("erl", "-noshell", "-pa", self.folder, "-run", "churn", "main", "8")
        pid = int(program.stdout[0].split()[1])
        watch = agree.gc(self, "-p", pid, *options)
        self.go(program)
        self.assertEqual(watch.interrupt(), 0, watch.describe())
        account = Account(line for line in program.stdout if not line.startswith(("ready", "done")))
        self.let_end(program)
        self.version = watch.process(pid)["version"]
        self.assertEqual(watch.of_type("lost"), [])
        return watch, account

    def test_one_by_one(self):
        watch, account = self.churn("--kind", "gc,gc-phase")
        seen = [s for s in watch.spans("gc") if account.begin <= s["end_ns"] <= account.end]
        # Its readers are no moment: each scheduler answers for itself.
        agree.count(self, "Erlang", COUNTED, own=account.count, seen=len(seen), cut=2, version=self.version)
        pairs = [(self.of(s, account), s) for s in seen if s["args"]["process"] != account.tracer]
        self.assertGreater(len(pairs), 1000)
        # One call of the collector may be a minor collection that did not suffice and then a full one.
        self.assertEqual([s for told, s in pairs if not told], [])
        used = sum(len(told) for told, _ in pairs)
        there = sum(account.begin <= begin and end <= account.end for told in account.told.values()
                    for begin, end, _ in told)
        self.assertLessEqual(abs(used - there), 4)
        agree.compare(self, "Erlang", "erlang:trace(garbage_collection)", version=self.version,
                      own=[(told[0][0], told[-1][1] - told[0][0]) for told, _ in pairs],
                      seen=agree.lengths(s for _, s in pairs))
        self.assertTrue(any(len(told) == 1 for told, _ in pairs) and any(len(told) == 2 for told, _ in pairs))
        self.check_threads(seen)
        # These are neither counted nor told.
        self.assertEqual(len(watch.spans("gc-phase", label="hibernation")), 20)

    @staticmethod
    def of(span, account):
        """What Erlang tells of one call of the collector."""
        return [t for t in account.told[span["args"]["process"]]
                if span["begin_ns"] <= t[0] and t[1] <= span["end_ns"]]

    def check_threads(self, seen):
        """Only the Erlang process stands still: for the program as a whole that is no stop."""
        self.assertEqual({s["label"] for s in seen}, {"collection"})
        self.assertTrue(all(s.get("collector_ns", 0) == 0 for s in seen))


if __name__ == "__main__":
    unittest.main()
