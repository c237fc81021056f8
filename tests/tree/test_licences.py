# SPDX-License-Identifier: MIT
"""Every source file says its licence: GPL-2.0-only OR BSD-2-Clause in src/bpf, MIT elsewhere."""
import os
import re
import unittest

ROOT = os.environ["UT_SOURCE_ROOT"]
FOLDERS = ["include", "src", "tests", "tools", "bench"]
SPDX = re.compile(r"SPDX-License-Identifier:\s*(.+?)\s*(?:\*/)?$")


def sources():
    """C, C++, Python and shell files, which all have room for a comment in their first two lines."""
    for top in FOLDERS:
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders[:] = [f for f in folders if f not in ("cases", "corpus", "golden", "__pycache__")]
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith((".c", ".h", ".py", ".cc", ".S")) or (top == "tools" and "." not in name):
                    yield path


class Licences(unittest.TestCase):
    def test_every_file_says_its_licence(self):
        files = list(sources())
        self.assertGreater(len(files), 20)
        for path in files:
            name = os.path.relpath(path, ROOT)
            with self.subTest(file=name), open(path, encoding="utf-8") as file:
                head = [file.readline().rstrip() for _ in range(2)]
                said = [m[1] for m in map(SPDX.search, head) if m]
                self.assertEqual(said, ["GPL-2.0-only OR BSD-2-Clause" if name.startswith("src/bpf/") else "MIT"])

    def test_the_texts_are_there(self):
        for path, words in [("LICENSE", "MIT License"), ("src/bpf/LICENSE", "GPL-2.0-only OR BSD-2-Clause")]:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                self.assertIn(words, file.read())
