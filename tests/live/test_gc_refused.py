# SPDX-License-Identifier: MIT
"""What `usertrace gc` says of processes that it cannot watch."""
import os
import shutil
import subprocess
import unittest

import agree
import live

PYTHON = "/usr/bin/python3.11"
# A child that collects, and longer than it takes to be looked at.
FORKS = """
import gc, os, sys, time
print("ready", flush=True)
sys.stdin.readline()
child = os.fork()
end = time.monotonic() + 0.5
while time.monotonic() < end:
    gc.collect()
if not child:
    os._exit(0)
os.waitpid(child, 0)
print("child", child, flush=True)
"""


@live.needs_root()
class Refused(live.Case):
    @live.needs_program("setpriv")
    def test_a_process_of_somebody_else(self):
        """It is not said to be no runtime: nobody could look."""
        program = os.path.join(self.tempdir(), "usertrace")
        shutil.copy(live.USERTRACE, program)
        os.chmod(os.path.dirname(program), 0o755)
        target = self.start("sleep", "60")
        done = self.start("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", program, "gc", "-p",
                          target.pid)
        self.assertEqual((done.wait(), done.stderr),
                         (1, [f"usertrace gc: cannot inspect process {target.pid}: permission denied; run as root"]), done.describe())

    def test_a_process_that_nobody_has_waited_for(self):
        parent = self.start("perl", "-e", '$| = 1; if (my $pid = fork) { print "pid $pid\\n"; sleep 60 }')
        pid = parent.wait_for(r"pid (\d+)")[1]
        self.eventually(lambda: ") Z " in open(f"/proc/{pid}/stat", encoding="ascii").read(), "end of the child")
        done = self.usertrace("gc", "-p", pid)
        self.assertEqual((done.status, done.stderr), (1, [f"usertrace gc: no process {pid} (it has exited)"]))

    @unittest.skipUnless(os.path.exists(PYTHON), f"{PYTHON} is not installed")
    def test_children_are_not_watched_unless_asked_for(self):
        """And so it is not said of them that nothing was collected."""
        target = self.start_target(PYTHON, "-c", FORKS, stdin=subprocess.PIPE)
        watch = agree.gc(self, "-p", target.pid)
        target.say("go\n")
        child = int(target.wait_for(r"child (\d+)")[1])
        target.wait()
        watch.wait_for('"type":"detach"')
        self.assertEqual(watch.interrupt(), 0, watch.describe())
        self.assertEqual([o for o in watch.objects() if o.get("pid") == child], [])
        self.assertEqual([s["pid"] for s in watch.of_type("summary")], [target.pid])


if __name__ == "__main__":
    unittest.main()
