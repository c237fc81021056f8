# SPDX-License-Identifier: MIT
"""tools/check-summary counts what ran, and notices what did not."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.environ["UT_SOURCE_ROOT"], "tools/check-summary")


class Summary(unittest.TestCase):
    def summary(self, *options, env=None, **files):
        """Runs the tool over files of the given names and texts; status and lines."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, text in files.items():
                paths.append(os.path.join(folder, name.replace("_", ".")))
                with open(paths[-1], "w") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, TOOL, *options, *paths], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "UT_SKIPS": "", **(env or {})})
            return done.returncode, done.stdout.splitlines()

    def log(self, **entry):
        return json.dumps({"name": "usertrace / t", "result": "OK", "returncode": 0, "stdout": "", **entry}) + "\n"

    def test_adds_up(self):
        status, lines = self.summary(a_tap="1..2\nok 1 - one\nok 2 - two\n", b_json=self.log(stdout="ok 1 - x\n1..1\n"))
        self.assertEqual((status, lines), (0, ["3 passed, 0 failed"]))

    def test_failures_are_named(self):
        status, lines = self.summary(b_json=self.log(stdout="ok 1 - x\nnot ok 2 - y\n1..2\n", result="FAIL", returncode=1))
        self.assertEqual((status, lines), (1, ["failed: t: y", "1 passed, 1 failed"]))

    def test_skips_tell_their_reasons(self):
        text = "ok 1 - x # SKIP no ruby\nneeds root\nnot ok 2 # SKIP y\nok 3 - z\n1..3\n"
        status, lines = self.summary(a_tap=text)
        self.assertEqual(status, 0)
        self.assertEqual(lines, ["skipped, needs root: a: y (1)", "skipped, no ruby: a: x (1)", "1 passed, 0 failed, 2 skipped"])

    def test_a_test_that_dies_has_failed(self):
        status, lines = self.summary(b_json=self.log(stdout="1..3\nok 1 - x\n", result="FAIL", returncode=-11))
        self.assertEqual(status, 1)
        self.assertEqual(lines[-1], "1 passed, 2 failed")
        status, lines = self.summary(b_json=self.log(result="TIMEOUT", returncode=-9))
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))
        status, lines = self.summary(b_json=self.log(stdout="ok 1 - x\n", result="FAIL", returncode=1))
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))

    def test_no_results_are_a_failure(self):
        self.assertEqual(self.summary(a_tap="")[0], 1)
        self.assertEqual(self.summary(b_json="")[0], 1)
        done = subprocess.run([sys.executable, TOOL, "/nonexistent.tap"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"))

    def test_too_few_cases_are_a_failure(self):
        text = "ok 1 - x\nok 2 - y\n1..2\n"
        self.assertEqual(self.summary("--least", "2", a_tap=text), (0, ["2 passed, 0 failed"]))
        status, lines = self.summary("--least", "3", a_tap=text)
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed"))
        self.assertIn("2 cases passed where at least 3 are expected", lines[0])

    def test_only_listed_skips_are_fine(self):
        text = "ok 1 - x # SKIP no [ruby] 3\nok 2 - y # SKIP no [ruby] 4\nok 3 - z\n1..3\n"
        with tempfile.NamedTemporaryFile("w") as file:
            for rows, status, last in [("# why\n2 a no [ruby] *\n", 0, "1 passed, 0 failed, 2 skipped"),
                                       ("1 * no [ruby] *\n", 1, "1 passed, 1 failed, 1 skipped"),
                                       ("2 b no [ruby] *\n", 1, "1 passed, 2 failed")]:
                file.seek(0)
                file.truncate()
                file.write(rows)
                file.flush()
                with self.subTest(rows=rows):
                    result, lines = self.summary("--skips", file.name, a_tap=text)
                    self.assertEqual((result, lines[-1]), (status, last))
                    self.assertEqual(self.summary("--skips", file.name, a_tap=text, env={"UT_SKIPS": "any"})[0], 0)
            self.assertIn(f"failed: a: y: skipped for a reason that {file.name} does not list: no [ruby] 4", lines)

    def test_the_list_of_skips(self):
        """Each row of tests/skips has a number and a reason, with a line above that says why it is fine."""
        with open(os.path.join(os.environ["UT_SOURCE_ROOT"], "tests/skips")) as file:
            lines = file.read().splitlines()
        for before, line in zip(lines, lines[1:]):
            if line and not line.startswith("#"):
                self.assertRegex(line, r"^\d+ +\S+ +\S")
                self.assertTrue(before, line)
