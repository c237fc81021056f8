# SPDX-License-Identifier: MIT
"""tools/agreement makes a table of what the tests compared; tools/check-runtimes has tests to run."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.environ["UT_SOURCE_ROOT"]
TOOL = os.path.join(ROOT, "tools/agreement")
HEAD = "runtime\tversion\twhat\town\tseen\tcut\ta\tb\tc\tnote\n"


class Agreement(unittest.TestCase):
    def table(self, *texts):
        """The rows that the tool writes for files of these texts, and its status."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, f"{i}.tsv") for i in range(len(texts))]
            for path, text in zip(paths, texts):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            output = os.path.join(folder, "out.md")
            status = subprocess.run([sys.executable, TOOL, output, *paths], stderr=subprocess.DEVNULL, timeout=60,
                                    check=False).returncode
            if not os.path.exists(output):
                return status, []
            with open(output, encoding="utf-8") as file:
                return status, [line.rstrip("\n") for line in file if line.startswith("| ")][1:]

    def test_rows(self):
        status, rows = self.table(HEAD + "Toy\t1\tpauses\t3\t3\t0\t1.5\t9.0\t0.667\tcoarse | clock\n",
                                  HEAD + "Ant\t2\truns\t4\t5\t1\t\t\t\t\n")
        self.assertEqual((status, rows), (0, ["| Ant | 2 | runs | 4 | 5 | 1 |  |  |  |  |",
                                              "| Toy | 1 | pauses | 3 | 3 | 0 | 1.5 | 9.0 | 67 % | coarse \\| clock |"]))

    def test_the_last_attempt_counts(self):
        _, rows = self.table(HEAD + "Toy\t1\tpauses\t3\t3\t0\t1\t9\t0.5\t\nToy\t1\tpauses\t4\t4\t0\t1\t2\t1.000\t\n")
        self.assertEqual(rows, ["| Toy | 1 | pauses | 4 | 4 | 0 | 1 | 2 | 100 % |  |"])

    def test_nothing(self):
        self.assertEqual(self.table(HEAD), (1, []))

    def test_there_are_tests(self):
        self.assertGreater(len(glob.glob(os.path.join(ROOT, "tests/runtimes/test_*.py"))), 5)


if __name__ == "__main__":
    unittest.main()
