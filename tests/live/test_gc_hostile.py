# SPDX-License-Identifier: MIT
"""`usertrace gc` without rights, and on programs that do what no runtime should."""
import os
import shutil
import unittest

import live


@live.vm_safe
@live.needs_root()
class WithoutRights(live.Case):
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


if __name__ == "__main__":
    unittest.main()
