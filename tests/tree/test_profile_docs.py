# SPDX-License-Identifier: MIT
"""docs/profile.md and the manual explain every frame in brackets that a profile may have, and the flags of all runtimes."""
import glob
import os
import re
import unittest

ROOT = os.environ["UT_SOURCE_ROOT"]


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def reasons():
    """The words of all frames that names and samples make up, without what differs in them."""
    found = set()
    for path in glob.glob(os.path.join(ROOT, "src/sym/names*.c")) + [os.path.join(ROOT, "src/model/samples_build.c")]:
        text = re.sub(r"/\*.*?\*/", "", read(path), flags=re.DOTALL)
        found.update(re.findall(r'"\[([A-Za-z][^":%\]]*)', text))
        found.update(re.findall(r'with_module\(n, "([^"]+)"', text))
        found.update(re.findall(r'\[SYM_FILE_\w+\] = "([^"]+)"', text))
    return found


def flags():
    """(file, flag) of each key `map` of a description."""
    for path in sorted(glob.glob(os.path.join(ROOT, "runtimes/*.ini"))):
        for flag in re.findall(r"^map = (?:since [\d.]+: )?(.*)$", read(path), re.MULTILINE):
            yield os.path.basename(path), flag


class ProfileDocs(unittest.TestCase):
    def test_frames_in_brackets_are_explained(self):
        self.assertGreater(len(reasons()), 25)
        self.assertTrue({"GC", "no unwind info", "file gone", "truncated"} <= reasons())
        pages = {"docs/profile.md": read("docs/profile.md"), "man": read("man/usertrace-profile.1").replace("\\-", "-")}
        for name, page in pages.items():
            for reason in sorted(reasons()):
                with self.subTest(page=name, reason=reason):
                    self.assertRegex(page, r"\[" + re.escape(reason) + r"[\]:+]")

    def test_flags_are_there(self):
        self.assertGreater(len(list(flags())), 10)
        table = re.sub(r"\s+", " ", read("docs/profile.md"))
        for name, flag in flags():
            with self.subTest(file=name, flag=flag):
                for word in flag.split(" (")[0].split():
                    self.assertIn(word, table)


if __name__ == "__main__":
    unittest.main()
