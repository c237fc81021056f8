# SPDX-License-Identifier: MIT
"""Runs the unittest cases of some files and prints TAP, one line a case: tap.py [--vm] FILE...

UT_CASE=text runs the cases whose name holds the text, or one of several with blanks between."""
import importlib.util
import os
import sys
import traceback
import unittest


def say(line):
    print(line.encode("utf-8", "backslashreplace").decode("utf-8"), flush=True)


def comment(text):
    for line in text.splitlines():
        say("# " + line)


class TapResult(unittest.TestResult):
    """Prints each case when it ends. A case with failed subtests has failed once."""

    def __init__(self):
        super().__init__()
        self.number = 0
        self.failed = 0
        self.subtests = []

    def startTest(self, test):
        super().startTest(test)
        self.subtests = []

    def line(self, good, test, note=""):
        self.number += 1
        self.failed += not good
        say(f"{'ok' if good else 'not ok'} {self.number} - {test.id()}{note}")

    def broken(self, test, err):
        self.line(False, test)
        comment("".join(traceback.format_exception(*err)))

    def addSuccess(self, test):
        self.line(True, test)

    def addFailure(self, test, err):
        self.broken(test, err)

    def addError(self, test, err):
        self.broken(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.subtests.append(subtest.id())
            comment(subtest.id())
            comment("".join(traceback.format_exception(*err)))

    def addSkip(self, test, reason):
        self.line(True, test, " # SKIP " + " ".join(reason.split()))

    def addExpectedFailure(self, test, err):
        self.line(True, test)

    def addUnexpectedSuccess(self, test):
        self.line(False, test)
        comment("passed, although marked as an expected failure")

    def stopTest(self, test):
        if self.subtests:
            self.line(False, test)
        super().stopTest(test)


def load(path):
    """The cases of one file, under the file's own name."""
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def each_case(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from each_case(item)
        else:
            yield item


def is_vm_safe(case):
    method = getattr(case, case._testMethodName, None)
    return getattr(method, "vm_safe", getattr(type(case), "vm_safe", False))


def settle_folders():
    """Absolute paths of source and build for the cases, also when started by hand."""
    here = os.path.dirname(os.path.abspath(__file__))
    source = os.path.abspath(os.environ.get("UT_SOURCE_ROOT") or os.path.join(here, "../../.."))
    os.environ["UT_SOURCE_ROOT"] = source
    os.environ["UT_BUILD_ROOT"] = os.path.abspath(os.environ.get("UT_BUILD_ROOT") or os.path.join(source, "build"))


def main(argv):
    settle_folders()
    only_vm = "--vm" in argv
    wanted = os.environ.get("UT_CASE", "").split() or [""]
    result = TapResult()
    for path in (a for a in argv if a != "--vm"):
        try:
            cases = [c for c in each_case(load(path)) if any(w in c.id() for w in wanted) and (not only_vm or is_vm_safe(c))]
        except Exception:
            result.number += 1
            result.failed += 1
            say(f"not ok {result.number} - {os.path.basename(path)} cannot be loaded")
            comment(traceback.format_exc())
            continue
        unittest.TestSuite(cases).run(result)
    say(f"1..{result.number}")
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main(sys.argv[1:]))
