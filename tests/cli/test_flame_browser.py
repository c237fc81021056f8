# SPDX-License-Identifier: MIT
"""Flame graphs in a browser: what clicks, keys, the search and the link do. Skipped where no browser is installed."""
import os
import subprocess
import tempfile
import unittest

import browser
import live

EVIL = os.path.join(live.SOURCE_ROOT, "tests/cases/flame/evil.folded")
STACKS = "main;a;b 30\nmain;a;c_[k] 20\nmain;d_[j];[blocked] 40\nmain;d_[j] 10\nother;e_[i] 100\n"

BOXES = """[].map.call(document.querySelectorAll("#frames rect[data-i]"), function (r) {
    var b = r.getBoundingClientRect(), t = r.nextSibling;
    return { label: t && t.localName === "text" ? t.textContent : "", x: b.x, y: b.y, width: b.width, height: b.height,
             hit: r.classList.contains("hit"), above: r.classList.contains("above") };
})"""


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="usertrace-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.page = browser.Browser(1200, 600)
        cls.addClassCleanup(cls.page.close)

    def setUp(self):
        self.page.resize(1200, 600)
        self.page.faults.clear()

    def tearDown(self):
        self.assertEqual(self.page.faults, [])

    def open(self, *words, stdin=STACKS, name="x.svg", fragment=""):
        path = os.path.join(self.folder.name, name)
        subprocess.run([live.USERTRACE, "flame", "-o", path, *words], input=stdin.encode(), stderr=subprocess.DEVNULL, check=True,
                       timeout=60)
        self.page.open(path + fragment)
        return path

    def boxes(self):
        return {b["label"]: b for b in self.page.script(BOXES)}

    def widths(self):
        return {k: round(b["width"]) for k, b in self.boxes().items()}

    def click(self, label):
        box = self.boxes()[label]
        self.page.click(box["x"] + box["width"] / 2, box["y"] + 8)

    def fragment(self):
        return self.page.script("location.hash")

    def found(self):
        return self.page.script("document.querySelector('#found').textContent")

    def tip(self):
        return self.page.script("(function (t) { return t.getAttribute('visibility') === 'visible' ? "
                                "[].map.call(t.querySelectorAll('text'), function (l) { return l.textContent; }) : []; })"
                                "(document.querySelector('#tip'))")


class Picture(Case):
    def test_as_wide_as_the_window(self):
        self.open()
        self.assertEqual(self.widths(), {"all": 1180, "main": 590, "a": 295, "b": 177, "c": 118, "d": 295, "[blocked]": 236,
                                         "other": 590, "e": 590})
        self.page.resize(700, 600)
        self.page.wait("document.querySelector('#frames rect').getBoundingClientRect().width < 700")
        self.assertEqual(self.widths()["main"], 340)

    def test_the_script_draws_what_the_file_shows(self):
        path = self.open()
        drawn = self.boxes()
        with open(path, encoding="utf-8") as file:
            text = file.read()
        still = os.path.join(self.folder.name, "still.svg")
        with open(still, "w", encoding="utf-8") as file:
            file.write(text.replace("<script>", "<script type='text/plain'>"))
        self.page.open(still)
        shown = self.page.script("[].map.call(document.querySelectorAll('#frames g'), function (g) { var b = g.querySelector('rect')"
                                 ".getBoundingClientRect(); return [g.querySelector('text').textContent, b.x, b.y, b.width]; })")
        self.assertEqual(len(shown), len(drawn))
        for label, x, y, width in shown:
            box = drawn[label]
            self.assertAlmostEqual(box["x"], x, delta=0.02)
            self.assertAlmostEqual(box["y"], y, delta=0.02)
            self.assertAlmostEqual(box["width"], width, delta=0.02)

    def test_tip(self):
        self.open()
        box = self.boxes()["d"]
        self.page.move(box["x"] + 9, box["y"] + 9)
        self.assertEqual(self.tip(), ["d", "50 samples, 25.00 %", "of which itself 10 samples, 5.00 %"])
        self.page.move(600, 20)
        self.assertEqual(self.tip(), [])

    def test_evil(self):
        """No name does anything but stand there."""
        self.open(EVIL)
        self.page.key("/")
        for name, words in [("<script>", "1 frame"), ("onerror", "1 frame"), ("]]>", "1 frame"), ("العربية", "1 frame"),
                            ("日本", "1 frame"), ("& b <", "1 frame"), ("ends in a number 42", "1 frame")]:
            self.page.script("document.querySelector('#search').value = ''")
            self.page.type(name)
            self.assertIn(words, self.found(), name)
            self.page.key("Enter")
            self.assertIn(name, self.tip()[0])
        self.assertEqual(self.page.script("document.querySelectorAll('img, script').length"), 1)

    def test_diff(self):
        base = os.path.join(self.folder.name, "base.folded")
        with open(base, "w", encoding="utf-8") as file:
            file.write("main;a;b 50\nmain;d_[j] 50\n")
        self.open("--base", base)
        box = self.boxes()["b"]
        self.page.move(box["x"] + 9, box["y"] + 9)
        self.assertEqual(self.tip()[-1], "less than in the base: 50.00 % → 15.00 %, −35.00 points")
        box = self.boxes()["other"]
        self.page.move(box["x"] + 9, box["y"] + 9)
        self.assertEqual(self.tip()[-1], "new: the base has none")

    def test_deep(self):
        """Only what can be seen is in the page."""
        deep = ";".join(f"f{i}" for i in range(20000))
        self.open(stdin=f"{deep};x 1\n{deep};y 2\n")
        self.assertLess(len(self.boxes()), 60)
        self.assertIn("f0", self.boxes())   # a graph begins at its floor
        self.page.key("/")
        self.page.type("f9999")
        self.page.key("Enter")
        self.assertIn("f9999", self.boxes())


class Moves(Case):
    def test_zoom(self):
        self.open()
        self.click("a")
        self.assertEqual(self.widths(), {"all": 1180, "main": 1180, "a": 1180, "b": 708, "c": 472})
        self.assertTrue(self.boxes()["main"]["above"])
        self.assertFalse(self.boxes()["a"]["above"])
        self.click("main")
        self.assertEqual(self.widths()["a"], 590)
        self.page.script("document.querySelector('#reset').click()")
        self.assertEqual(self.widths()["main"], 590)

    def test_link(self):
        path = self.open()
        self.click("a")
        self.page.key("/")
        self.page.type("c")
        wanted, fragment = self.boxes(), self.fragment()
        self.assertRegex(fragment, r"^#z=\d+&s=c$")
        self.assertEqual(self.page.script("document.querySelector('#link').getAttribute('href')"), fragment)
        self.page.open(path + fragment)
        self.assertEqual(self.boxes(), wanted)
        self.assertEqual(self.page.script("document.querySelector('#search').value"), "c")

    def test_back(self):
        self.open()
        self.click("a")
        self.click("b")
        self.page.script("history.back()")
        self.assertTrue(self.page.wait("document.querySelectorAll('#frames .above').length === 2"))
        self.assertEqual(self.widths()["a"], 1180)

    def test_odd_fragments(self):
        for fragment in ("#z=99999", "#z=-1", "#z=x&s=%E0%A4%A", "#s=%3Cscript%3E", "#&&=&", "#z=1.5", "#r=1&s=("):
            self.open(fragment=fragment)
            self.assertIn("all", self.boxes(), fragment)

    def test_search(self):
        self.open()
        self.page.key("f", modifiers=2)
        self.page.type("A")     # in main and a: each part counts once
        self.assertEqual(self.found(), "50.00 % in 2 frames")
        self.assertEqual({k for k, b in self.boxes().items() if b["hit"]}, {"main", "a"})
        self.page.key("Escape")
        self.assertEqual((self.found(), self.fragment()), ("", ""))
        self.page.key("/")
        self.page.type("^[bc]$")
        self.assertEqual(self.found(), "no match")
        self.page.script("document.querySelector('#regex').click()")
        self.assertEqual(self.found(), "25.00 % in 2 frames")
        self.assertEqual(self.fragment(), "#s=%5E%5Bbc%5D%24&r=1")
        self.page.script("document.querySelector('#search').focus()")
        self.page.type("(")
        self.assertEqual(self.found(), "no regular expression")

    def test_matches_in_turn(self):
        self.open(fragment="#s=a")
        self.page.key("n")
        self.assertEqual(self.tip()[0], "main")
        self.page.key("n")
        self.assertEqual(self.tip()[0], "a")
        self.page.key("n")
        self.assertEqual(self.tip()[0], "main")
        self.page.key("N")
        self.assertEqual(self.tip()[0], "a")

    def test_what_is_too_narrow_is_found(self):
        self.open(stdin="main;wide 10000000\nmain;f;needle 1\n")
        self.assertNotIn("needle", self.boxes())
        self.page.key("/")
        self.page.type("needle")
        self.page.key("Enter")
        self.assertEqual(self.tip()[0], "needle")
        self.assertEqual(self.widths()["needle"], 1180)

    def test_keys(self):
        self.open()
        for key, name in [("ArrowUp", "all"), ("ArrowUp", "main"), ("ArrowUp", "a"), ("ArrowRight", "d"), ("ArrowUp", "[blocked]"),
                          ("ArrowDown", "d"), ("ArrowLeft", "a"), ("ArrowUp", "b"), ("ArrowRight", "c")]:
            self.page.key(key)
            self.assertEqual(self.tip()[0], name, key)
        self.page.key("ArrowDown")
        self.page.key("Enter")
        self.assertEqual(self.widths()["a"], 1180)
        self.page.key("Backspace")
        self.assertEqual(self.widths()["main"], 1180)
        self.page.key("Escape")
        self.assertEqual(self.widths()["main"], 590)
        self.open("-i")
        for key, name in [("ArrowDown", "all"), ("ArrowDown", "main"), ("ArrowUp", "all")]:
            self.page.key(key)
            self.assertEqual(self.tip()[0], name, key)

    def test_help(self):
        self.open()
        self.page.key("?")
        self.assertIn("Ctrl-F", self.page.script("document.querySelector('#help').textContent"))
        self.page.key("Escape")
        self.assertTrue(self.page.script("document.querySelector('#help') === null"))
