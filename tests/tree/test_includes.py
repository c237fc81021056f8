# SPDX-License-Identifier: MIT
"""The table of layers holds, and the script that holds it finds what breaks it."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.environ["UT_SOURCE_ROOT"]
TOOL = os.path.join(ROOT, "tools/check-includes")


def check(root):
    done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


class Includes(unittest.TestCase):
    def check_source(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), "w") as file:
                file.write(text)
            return check(root)

    def test_the_tree(self):
        status, said = check(ROOT)
        self.assertEqual(status, 0, said)

    def test_downward_is_fine(self):
        self.assertEqual(self.check_source("src/probe/a.c", '#include "base/buf.h"\n#include <stdio.h>\n')[0], 0)

    def test_upward_is_named(self):
        status, said = self.check_source("src/base/a.c", '\n#include "elf/image.h"\n')
        self.assertEqual(status, 1)
        self.assertIn("src/base/a.c:2: includes elf/image.h: src/base may include no other layer, and not src/elf", said)

    def test_libraries(self):
        for path, header in [("src/cli/a.c", "<bpf/bpf.h>"), ("src/probe/a.c", "<libelf.h>"), ("src/wire/a.h", "<stdio.h>"),
                             ("src/model/a.c", "<linux/bpf.h>"), ("src/cli/a.c", '"wire/record.h"')]:
            with self.subTest(path=path, header=header):
                self.assertEqual(self.check_source(path, f"#include {header}\n")[0], 1)

    def test_what_headers_bring_along(self):
        with tempfile.TemporaryDirectory() as root:
            for path, text in (("src/cli/a.c", '#include "record/a.h"\n'), ("src/record/a.h", '#include "record/b.h"\n'),
                               ("src/record/b.h", '#include "wire/record.h"\n'), ("src/wire/record.h", "")):
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w") as file:
                    file.write(text)
            status, said = check(root)
        self.assertEqual(status, 1)
        self.assertIn("src/cli/a.c:1: sees wire/record.h through record/a.h and record/b.h", said)

    def check_files(self, **files):
        """@files: names below src with __ for / and no ending, which is .h."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, "src", name.replace("__", "/") + ".h")
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write("".join(f'#include "{header}.h"\n' for header in text.split()))
            return check(root)

    def test_circles(self):
        pair = {"elf__a": "elf/b", "elf__b": "elf/a"}
        self.assertEqual(self.check_files(**pair)[0], 0)
        more = {name.replace("elf", layer): text.replace("elf", layer) for layer in ("base", "sym", "out", "elf")
                for name, text in pair.items()}
        status, said = self.check_files(**more)
        self.assertEqual(status, 1)
        self.assertIn("src/out/a.c:1: out/a, out/b include each other", said)
        self.assertIn("4 circles of includes; 3 at most", said)
        status, said = self.check_files(elf__a="proc/a", proc__a="elf/b", elf__b="")
        self.assertIn("the directories elf, proc include each other", said)

    def test_an_include_names_its_layer(self):
        status, said = self.check_source("src/base/a.c", '#include "buf.h"\n')
        self.assertEqual(status, 1)
        self.assertIn("names its layer", said)

    def test_a_folder_that_is_no_layer(self):
        self.assertEqual(self.check_source("src/misc/a.c", "\n")[0], 1)
