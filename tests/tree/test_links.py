# SPDX-License-Identifier: MIT
"""Every link of the documentation to a file of the tree, or to a heading of one, leads somewhere."""
import os
import re
import unittest

ROOT = os.environ["UT_SOURCE_ROOT"]
WRITTEN_LATER = {"docs/agreement.md"}   # by make check-runtimes
LINK = re.compile(r"\]\(([^)\s]+)\)")


def documents():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".", "build"))]
        for name in names:
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def text(path):
    """Without its examples."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return re.sub(r"^    .*$|^```.*?^```", "", file.read(), flags=re.MULTILINE | re.DOTALL)


def anchors(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        headings = re.findall(r"^#+ (.*)$", file.read(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def why_not(document, link):
    """What is wrong with a link, or None."""
    path, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
    if target in WRITTEN_LATER:
        return None
    if not os.path.exists(os.path.join(ROOT, target)):
        return "no such file"
    if anchor and (not target.endswith(".md") or anchor not in anchors(target)):
        return "no such heading"
    return None


class Links(unittest.TestCase):
    def test_lead_somewhere(self):
        count = 0
        for document in documents():
            for link in LINK.findall(text(document)):
                if re.match(r"[a-z]+:", link):
                    continue
                count += 1
                with self.subTest(document=document, link=link):
                    self.assertIsNone(why_not(document, link))
        self.assertGreater(count, 30)

    def test_what_leads_nowhere_is_noticed(self):
        self.assertEqual(why_not("README.md", "docs/no-such-file.md"), "no such file")
        self.assertEqual(why_not("docs/README.md", "glossary.md#no-such-heading"), "no such heading")
        self.assertIsNone(why_not("docs/README.md", "../README.md#requirements"))


if __name__ == "__main__":
    unittest.main()
