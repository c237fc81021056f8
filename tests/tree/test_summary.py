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
    def summary(self, again=None, **files):
        """Runs the tool over files of the given names and texts; status and lines."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            if again is not None:
                paths += ["--again", os.path.join(folder, "second")]
                with open(paths[-1], "w") as file:
                    file.write(again)
            for name, text in files.items():
                paths.append(os.path.join(folder, name.replace("_", ".")))
                with open(paths[-1], "w") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, TOOL, *paths], capture_output=True, text=True, timeout=60)
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

    def second(self, stdout, whole=False, **entry):
        return json.dumps({"name": "t", "result": "OK", "returncode": 0, "whole": whole, **entry, "stdout": stdout}) + "\n"

    def test_what_passed_in_a_second_run_is_named(self):
        log = self.log(stdout="ok 1 - x\nnot ok 2 - y\nnot ok 3 - z\n1..3\n", result="FAIL", returncode=1)
        status, lines = self.summary(b_json=log, again=self.second("ok 1 - y\nnot ok 2 - z\n1..2\n", result="FAIL"))
        self.assertEqual((status, lines), (1, ["passed only when run by itself: t: y", "failed: t: z",
                                               "2 passed, 1 failed; 1 passed only when run by themselves"]))
        status, lines = self.summary(b_json=log, again=self.second("ok 1 - y\nok 2 - z\n1..2\n"), a_tap="ok 1 - a # SKIP b\n")
        self.assertEqual((status, lines[-1]), (0, "3 passed, 0 failed, 1 skipped; 2 passed only when run by themselves"))

    def test_a_second_run_must_have_the_case(self):
        log = self.log(stdout="not ok 1 - y\n1..1\n", result="FAIL", returncode=1)
        for text in "", "1..0\n", "ok 1 - y # SKIP no\n1..1\n", "ok 1 - x\n1..1\n", "ok 1 - y\nnot ok 2 - y\n1..2\n":
            self.assertEqual(self.summary(b_json=log, again=self.second(text))[1][-1].split(",")[1].strip(), "1 failed", text)
        self.assertEqual(self.summary(b_json=log, again="")[0], 1)

    def test_a_test_that_died_must_pass_as_a_whole(self):
        log = self.log(stdout="ok 1 - x\n", result="TIMEOUT", returncode=-9)
        good = "ok 1 - x\nok 2 - y\n1..2\n"
        self.assertEqual(self.summary(b_json=log, again=self.second(good, whole=True)), (0, [
            "passed only when run by itself: t: timeout (exit status -9)",
            "2 passed, 0 failed; 1 passed only when run by themselves"]))
        self.assertEqual(self.summary(b_json=log, again=self.second(good))[0], 1)
        self.assertEqual(self.summary(b_json=log, again=self.second("not " + good, whole=True, result="FAIL"))[0], 1)
        self.assertEqual(self.summary(b_json=log, again=self.second("ok 1 - x\n1..2\n", whole=True))[0], 1)

    def test_what_failed_is_run_again(self):
        """tools/check-again runs the failed cases of live tests alone, and what ended before its time from its begin."""
        with tempfile.TemporaryDirectory() as folder:
            log, out = os.path.join(folder, "log.json"), os.path.join(folder, "again")
            entry = {"name": "t:live+beside / t", "result": "FAIL", "returncode": 1, "env": {"WORD": "there"},
                     "command": ["sh", "-c", "echo ok 1 - m.C.y \\# $WORD, $UT_CASE; echo 1..1"]}
            with open(log, "w") as file:
                for change in ({"stdout": "ok 1 - m.C.x\nnot ok 2 - m.C.y\n1..2\n"}, {"stdout": "1..1\n", "name": "t:live / u"},
                               {"stdout": "not ok 1 - m.C.y\n1..1\n", "name": "t:unit / v"},
                               {"stdout": "ok 1 - m.C.y\n1..1\n", "name": "t:live / w", "result": "OK", "returncode": 0}):
                    file.write(json.dumps({**entry, **change}) + "\n")
            done = subprocess.run([sys.executable, os.path.join(os.path.dirname(TOOL), "check-again"), folder, out, log],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out) as file:
                seconds = [json.loads(line) for line in file]
            self.assertEqual([(s["name"], s["whole"], s["stdout"].splitlines()[0]) for s in seconds], [
                ("t", False, "ok 1 - m.C.y # there, m.C.y"), ("u", True, "ok 1 - m.C.y # there,")])
