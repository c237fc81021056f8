# SPDX-License-Identifier: MIT
"""The order of user events: processes hand a turn round and announce each, by turns through the header and by prctl; the
lines must come as the turns went, and none may be missing."""
import subprocess
import unittest

import live

TURNS = 50000 if live.PATIENCE <= 30 else 2000      # an emulated machine takes its time


@live.needs_root()
class Order(live.Case):
    def start_turns(self, processes, turns):
        target = self.start_target("turns", processes, turns, stdin=subprocess.PIPE)
        self.assertEqual(len(target.stdout[0].split()), 1 + processes)
        return target

    def check(self, processes, turns, *how):
        """Lines of the turns, as numbers in the order in which they were printed."""
        target = self.start_turns(processes, turns)
        pids = ",".join(target.stdout[0].split()[1:])
        trace = self.trace("-p", pids, *how)
        target.say("\n")
        target.wait_for(f"^turned {turns} ", timeout=max(100, live.PATIENCE))
        self.assertEqual(trace.interrupt(max(60, live.PATIENCE)), 0)
        numbers = [int(event[-1]) for event in trace.events()]
        self.assertEqual(len(numbers), turns, trace.describe())
        self.assertEqual(numbers, list(range(1, turns + 1)))
        trace.wait_for(r"\b0 lost", "stderr")

    def test_two_processes(self):
        self.check(2, TURNS, 'e:turn "%d", value')

    def test_eight_processes(self):
        self.check(8, TURNS, 'e:turn "%d", value')

    def test_json_and_other_probes(self):
        """The same among events of the kernel, and as JSON; each of three processes goes by both lanes."""
        turns = TURNS // 10
        target = self.start_turns(3, turns)
        trace = self.trace("-a", "--json", "e:turn", f"t:syscalls:sys_enter_prctl (pid == {target.stdout[0].split()[1]})")
        target.say("\n")
        target.wait_for(f"^turned {turns} ", timeout=max(100, live.PATIENCE))
        self.assertEqual(trace.interrupt(max(60, live.PATIENCE)), 0)
        events = trace.objects()
        ours = {int(pid) for pid in target.stdout[0].split()[1:]}
        self.assertEqual([e["value"] for e in events if e["type"] == "count" and e["pid"] in ours],
                         list(range(1, turns + 1)))
        times = [e["time_ns"] for e in events if "time_ns" in e]
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(len(times), turns + turns // 6)


if __name__ == "__main__":
    unittest.main()
