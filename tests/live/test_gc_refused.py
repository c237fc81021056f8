# SPDX-License-Identifier: MIT
"""What `usertrace gc` says of processes that it cannot watch."""
import os
import shutil
import unittest

import live


@live.vm_safe
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
                         (1, [f"usertrace gc: may not look at process {target.pid}: run as root"]), done.describe())

    def test_a_process_that_nobody_has_waited_for(self):
        parent = self.start("perl", "-e", '$| = 1; if (my $pid = fork) { print "pid $pid\\n"; sleep 60 }')
        pid = parent.wait_for(r"pid (\d+)")[1]
        self.eventually(lambda: ") Z " in open(f"/proc/{pid}/stat", encoding="ascii").read(), "end of the child")
        done = self.usertrace("gc", "-p", pid)
        self.assertEqual((done.status, done.stderr), (1, [f"usertrace gc: no process {pid} (it has ended)"]))


if __name__ == "__main__":
    unittest.main()
