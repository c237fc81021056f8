# SPDX-License-Identifier: MIT
"""The last event before a crash is there: programs announce a few events and at once abort, reach for an address that is
nobody's, or are killed."""
import subprocess
import unittest

import live

CRASHES, STEPS = 150 if live.PATIENCE <= 30 else 12, 5      # an emulated machine takes its time


@live.needs_root()
class Crash(live.Case):
    def crash(self, count):
        """What each program was to do, as {pid: (lane, end)}, and what was printed of it as {pid: [values]}."""
        parent = self.start_target("crasher", count, stdin=subprocess.PIPE)
        trace = self.trace("-a", "--json", "e:step")
        parent.say("\n")
        parent.wait_for("^all gone$", timeout=max(100, live.PATIENCE))
        self.assertEqual(trace.interrupt(max(60, live.PATIENCE)), 0)
        gone = {int(line.split()[1]): tuple(line.split()[2:]) for line in parent.stdout if line.startswith("gone ")}
        seen = {pid: [] for pid in gone}
        for event in trace.objects():
            if event.get("name") == "step" and event.get("pid") in seen:
                seen[event["pid"]].append(event["value"])
        self.assertEqual(len(gone), count)
        trace.wait_for(r"\b0 lost", "stderr")
        return gone, seen

    @live.vm_safe
    def test_every_event_is_there(self):
        gone, seen = self.crash(CRASHES)
        self.assertEqual(len(set(gone.values())), 6)
        for pid, how in gone.items():
            with self.subTest(how=how):
                self.assertEqual(seen[pid], list(range(1, STEPS + 1)))


if __name__ == "__main__":
    unittest.main()
