# SPDX-License-Identifier: MIT
"""`usertrace flame`: what it takes and refuses, and the picture: well formed, in proportion, and with every name as text."""
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as xml

import live

EVIL = os.path.join(live.SOURCE_ROOT, "tests/cases/flame/evil.folded")
SVG = "{http://www.w3.org/2000/svg}"
STACKS = "main;a;b 30\nmain;a;c_[k] 20\nmain;d_[j];[blocked] 40\nmain;d_[j] 10\n[truncated];e_[i] 100\n"
MARGIN, ROW = 10, 18


class Box:
    """A rectangle of the picture with what is said of it."""

    def __init__(self, group):
        rect = group.find(SVG + "rect")
        self.name, self.about = group.find(SVG + "title").text.split("\n", 1)
        self.x, self.y, self.width = (float(rect.get(k)) for k in ("x", "y", "width"))
        self.kind = rect.get("class")
        label = group.find(SVG + "text")
        self.label = None if label is None else label.text

    def holds(self, other):
        return self.x - 0.01 <= other.x and other.x + other.width <= self.x + self.width + 0.01


class Picture:
    def __init__(self, text):
        self.root = xml.fromstring(text)
        self.frames = self.root.find(f"{SVG}g[@id='frames']")
        self.boxes = [Box(g) for g in self.frames.findall(SVG + "g")]
        self.facts = [t.text for t in self.root.find(f"{SVG}g[@id='head']").findall(SVG + "text")]

    def named(self, name):
        return [b for b in self.boxes if b.name == name]

    def box(self, name):
        boxes = self.named(name)
        assert len(boxes) == 1, (name, [b.name for b in self.boxes])
        return boxes[0]

    def data(self, name):
        return [line for line in self.root.find(f"{SVG}metadata[@id='{name}']").text.split("\n")[1:]]

    def names(self):
        return {line[2:] for line in self.data("names")}


class Case(live.Case):
    def setUp(self):
        self.folder = self.tempdir()

    def write(self, text, name="stacks.folded"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def flame(self, *words, stdin=""):
        return subprocess.run([live.USERTRACE, "flame", *words], input=stdin if isinstance(stdin, bytes) else stdin.encode(),
                              capture_output=True, timeout=60, cwd=self.folder)

    def made(self, *words, stdin=STACKS, errors=""):
        done = self.flame(*words, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, errors), words)
        return done.stdout

    def picture(self, *words, stdin=STACKS, errors=""):
        return Picture(self.made(*words, stdin=stdin, errors=errors))

    def refused(self, sentence, *words, stdin="", status=2):
        done = self.flame(*words, stdin=stdin)
        self.assertEqual((done.stdout, done.stderr.decode()), (b"", f"usertrace flame: {sentence}\n"))
        self.assertEqual(done.returncode, status)


class Geometry(Case):
    def check(self, picture, icicle=False):
        """Every box lies on one of the row below, and is as wide as its count says."""
        total = picture.box("all")
        rows = {}
        for box in picture.boxes:
            rows.setdefault(round((box.y - total.y) / ROW) * (1 if icicle else -1), []).append(box)
            samples = int(re.match(r"([\d,]+) ", box.about)[1].replace(",", ""))
            self.assertAlmostEqual(box.width / total.width, samples / self.total(total), delta=1e-3, msg=box.name)
        self.assertEqual(sorted(rows), list(range(len(rows))))
        for depth, row in rows.items():
            row.sort(key=lambda b: b.x)
            for left, right in zip(row, row[1:]):
                self.assertLessEqual(left.x + left.width, right.x + 0.01)
            if depth:
                for box in row:
                    self.assertTrue(any(below.holds(box) for below in rows[depth - 1]), box.name)
        return rows

    @staticmethod
    def total(box):
        return int(re.match(r"([\d,]+) ", box.about)[1].replace(",", ""))

    def test_flame(self):
        picture = self.picture()
        rows = self.check(picture)
        self.assertEqual([b.name for b in rows[1]], ["[truncated]", "main"])
        self.assertEqual([b.name for b in rows[2]], ["e", "a", "d"])
        self.assertEqual(picture.box("all").width, 1180)
        self.assertEqual(picture.box("main").about, "100 samples, 50.00 %")
        self.assertEqual(picture.facts[1], "200 samples · 100 with incomplete stacks")

    def test_forms(self):
        self.assertEqual(self.check(self.picture("-i"), icicle=True)[1][0].name, "[truncated]")
        self.assertEqual(self.picture("--width", "400").box("all").width, 380)
        rows = self.check(self.picture("--reverse"))
        self.assertEqual([b.name for b in rows[1]], ["[blocked]", "b", "c", "d", "e"])
        self.assertEqual([b.name for b in rows[2]], ["d", "a", "a", "main", "[truncated]"])
        self.check(self.picture("-r", "-i"), icicle=True)

    def test_many(self):
        lines = [f"main;f{i % 7};g{i % 31};h{i} {i % 5 + 1}" for i in range(3000)]
        picture = self.picture(stdin="\n".join(lines))
        rows = self.check(picture)
        self.assertEqual(len(rows[2]), 7)
        self.assertEqual(len(picture.data("boxes")), 1 + 1 + 7 + 217 + 3000)

    def test_a_name_in_many_places(self):
        picture = self.picture("-r", stdin="a;x 1\nb;x 2\nc;x;x 3\n")
        self.assertEqual([b.about for b in picture.named("x") if b.y == picture.box("all").y - ROW], ["6 samples, 100.00 %"])

    def test_narrow_boxes_are_left_out_and_counted(self):
        stdin = "main;wide 99999\n" + "".join(f"main;f{i} 1\n" for i in range(5000))
        picture = self.picture(stdin=stdin)
        self.assertEqual([b.name for b in picture.boxes], ["all", "main", "wide"])
        self.assertEqual(len(picture.data("boxes")), 3)
        self.assertIn("5,000 narrower frames are not drawn", picture.facts[1])
        small = self.picture(stdin="main;wide 99999\nmain;f 1\n")
        self.assertEqual([b.name for b in small.boxes], ["all", "main", "wide"])
        self.assertIn("f", small.names())   # to be found
        self.assertIn("1 narrower frame is not drawn", small.facts[1])
        few = self.picture("--width", "400", "--min-pixels", "100", stdin="main;a 20\nmain;b 80\n")
        self.assertEqual(few.names(), {"main", "b"})
        all_of_them = self.picture("--min-pixels", "0.001", stdin=stdin)
        self.assertEqual(len(all_of_them.data("boxes")), 5003)

    def test_a_big_profile_is_a_small_file(self):
        stdin = "".join(f"main;f{i % 100};g{i % 10000};leaf_with_a_long_name_{i} 1\n" for i in range(200000))
        self.assertLess(len(self.made(stdin=stdin)), 2_000_000)

    def test_deep(self):
        """Twenty thousand frames on each other."""
        deep = ";".join(f"f{i}" for i in range(20000))
        picture = self.picture(stdin="".join(f"{deep};leaf{i} {i + 1}\n" for i in range(5)))
        self.assertEqual(len(picture.boxes), 1 + 20000 + 5)
        self.assertEqual(len(self.check(picture)), 20002)
        self.assertEqual(len(self.picture("-r", stdin=f"{deep} 1\n").boxes), 20001)

    def test_nothing_but_zero(self):
        self.assertEqual([b.name for b in self.picture(stdin="a;b 0\n").boxes], ["all"])
        self.assertEqual([b.name for b in self.picture("-r", stdin="a;b 0\n").boxes], ["all"])


class Colors(Case):
    def test_kinds(self):
        picture = self.picture()
        kinds = {b.name: b.kind[0] for b in picture.boxes}
        self.assertEqual(kinds, {"all": "a", "main": "n", "a": "n", "b": "n", "c": "k", "d": "c", "[blocked]": "w",
                                 "[truncated]": "r", "e": "i"})

    def test_a_name_has_one_color(self):
        one, other = self.picture(), self.picture("-r", stdin="x;a 3\ny;a;b 4\n")
        self.assertEqual({b.kind for b in one.named("a")}, {b.kind for b in other.named("a")})
        shades = {b.kind for b in self.picture(stdin="".join(f"f{i} 1\n" for i in range(50))).boxes}
        self.assertEqual(shades, {"all"} | {f"n{i}" for i in range(6)})

    def test_diff(self):
        before = self.write("main;same 50\nmain;less 40\nmain;more 5\nmain;gone 5\n", "before.folded")
        after = self.write("main;same 100\nmain;less 20\nmain;more 60\nmain;new 20\n", "after.folded")
        picture = self.picture("--diff", before, after)
        self.assertEqual(self.made("--base", before, after), self.made("--base", before, stdin=open(after).read()))
        steps = {b.name: int(b.kind[1:]) for b in picture.boxes}
        self.assertEqual((steps["all"], steps["main"], steps["same"]), (8, 8, 8))
        self.assertLess(steps["less"], 4)
        self.assertGreater(steps["more"], 12)
        self.assertEqual(steps["new"], 16)
        self.assertEqual(picture.box("more").about, "60 samples, 30.00 %; in the base 5.00 %: +25.00 points")
        self.assertEqual(picture.box("new").about, "20 samples, 10.00 %; new, not in the base")
        self.assertIn("5.00 % of the base is in stacks that no longer occur", picture.facts[1])
        self.assertAlmostEqual(picture.box("less").width, 118, delta=0.01)

    def test_diff_of_unlike_files(self):
        counts, times, other = (self.write(text, name) for text, name in (
            ("main;a 5\n", "counts"), ("main;a 5\nmain;a;[sleeping] 7000000\n", "times"), ("begin;b 5\n[idle] 1\n", "other")))
        said = "usertrace flame: the {} file has waits, which are weighted by time, and the {} has none: their shares are not comparable\n"
        self.made("--diff", counts, times, errors=said.format("second", "first"))
        self.made("--diff", times, counts, errors=said.format("first", "second"))
        self.made("--diff", times, other, errors="usertrace flame: the two files have no function in common: are they from the same program?\n")

    def test_diff_reversed(self):
        before, after = self.write("a;x 1\nb;x 1\n", "before"), self.write("a;x 2\nc;x 2\n", "after")
        picture = self.picture("-r", "--diff", before, after)
        self.assertEqual(picture.box("x").about, "4 samples, 100.00 %; in the base 100.00 %: +0.00 points")
        self.assertEqual(picture.box("c").about, "2 samples, 50.00 %; new, not in the base")
        self.assertIn("50.00 % of the base", picture.facts[1])


class Evil(Case):
    TOLD = (f"usertrace flame: {EVIL}: 3 lines are no stack with a count and are left out; the first is line 14: 'main;bad count x'\n"
            f"usertrace flame: {EVIL}: a count with a fraction, rounded to integers\n"
            f"usertrace flame: {EVIL}: the sum of the counts exceeds 64 bits; shares are relative to 18446744073709551615\n")
    NAMES = {"main", "name with spaces and (args, more)", "a & b < c > \"d\" 'e'", "</script><script>alert(1)</script>",
             "<img src=x onerror=alert(1)>", "]]>", "<!--", "été", "日本語", "العربية", "ends in a number 42", "[unknown]", "leaf",
             "0x7f0000001000", "proc", "-", "kernel_half", "[no name]", "leading_empty", "big", "fraction", "tab\\tin name"}

    def test_every_name_is_there(self):
        for words in ([], ["-r"], ["-i"], ["--diff", EVIL]):
            picture = self.picture(*words, EVIL, errors=self.TOLD * (2 if "--diff" in words else 1))
            self.assertEqual(picture.names(), self.NAMES)
        self.assertEqual(picture.box("big").about[:27], "18,446,744,073,709,551,615 ")

    def test_without_the_giant_all_are_drawn(self):
        with open(EVIL, encoding="utf-8") as file:
            text = "".join(line for line in file if not line.startswith("main;big"))
        picture = self.picture(stdin=text, errors=self.TOLD.replace(EVIL, "standard input").rsplit("usertrace", 1)[0])
        self.assertEqual({b.name for b in picture.boxes}, self.NAMES - {"big"} | {"all"})

    def test_bytes(self):
        """What no XML may hold, and what would turn the text round, can be seen and does nothing."""
        odd = ("ctrl\x01\x1b[31m", "nul\0nul", "c1\x85", "bidi\u202eabc", "isolate\u2066x", "bom\ufeff", "line\u2028", "non\ufffe\uffff",
               "quote\"'", "amp&amp&#60", "back\\slash", "emoji\U0001f525", "--><b>")
        text = ";".join(odd).encode() + b";bad\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80 1\n"
        picture = self.picture(stdin=text)
        self.assertEqual(picture.names(), {"ctrl\\x01\\x1b[31m", "nul\\x00nul", "c1\\xc2\\x85", "bidi\\xe2\\x80\\xaeabc",
                                           "isolate\\xe2\\x81\\xa6x", "bom\\xef\\xbb\\xbf", "line\\xe2\\x80\\xa8", "non\ufffd\ufffd",
                                           "quote\"'", "amp&amp&#60", "back\\slash", "emoji\U0001f525", "--><b>",
                                           "bad\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80"})

    def test_title(self):
        picture = self.picture("-t", "</title><script>alert(1)</script>\x01\u202e")
        self.assertEqual(picture.facts[0], "</title><script>alert(1)</script>\\x01\\xe2\\x80\\xae")
        self.assertEqual(len(picture.root.findall(f".//{SVG}script")), 1)

    def test_nothing_is_asked_from_elsewhere(self):
        text = self.made(EVIL, errors=self.TOLD).decode()
        self.assertEqual(set(re.findall(r"\w+://[^\"' ]*", text)), {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})
        self.assertNotRegex(text, r"innerHTML|document\.write|insertAdjacentHTML|\beval\(|@import|url\(|xlink|\son[a-z]+=\"")
        self.assertEqual(text.count("<script"), 1)


class Command(Case):
    def test_ways_to_say_it(self):
        path = self.write(STACKS)
        wanted = self.made()
        self.assertEqual(self.made("-"), wanted)
        self.assertEqual(self.made(path), wanted)
        self.assertEqual(self.made("-o", "-", path), wanted)
        self.assertEqual(self.made("-o", "out.svg", path), b"")
        with open(os.path.join(self.folder, "out.svg"), "rb") as file:
            self.assertEqual(file.read(), wanted)

    def test_other_forms(self):
        self.made("-o", "again.folded")
        with open(os.path.join(self.folder, "again.folded"), encoding="utf-8") as file:
            self.assertEqual(sorted(file), sorted(STACKS.splitlines(keepends=True)))
        self.made("-o", "x.pb.gz")
        with open(os.path.join(self.folder, "x.pb.gz"), "rb") as file:
            self.assertEqual(file.read(2), b"\x1f\x8b")

    def test_bad_lines(self):
        self.made(stdin="a 1\nb\n", errors="usertrace flame: standard input: 1 line is no stack with a count and is left out; "
                                           "the first is line 2: 'b'\n")
        self.made(stdin="a 1\n\x1b[31mred\nb\n", errors="usertrace flame: standard input: 2 lines are no stack with a count and are "
                                                     "left out; the first is line 2: '\\x1b[31mred'\n")

    def test_refused(self):
        path = self.write(STACKS)
        self.refused("only one file is allowed; use --diff to compare two", path, path)
        self.refused("--diff requires two files, the older one first: --diff A B", "--diff", path)
        self.refused("--diff and --base are mutually exclusive", "--diff", "--base", path, path)
        self.refused("--width 5: 100 to 100000 pixels", "--width", "5", path)
        for pixels in ("x", "-1", "nan", "1e9", "1x"):
            self.refused(f"--min-pixels must be a number from 0 to 100, not '{pixels}'", f"--min-pixels={pixels}", path)
        self.assertEqual(self.flame("-o", "x.doc", path).returncode, 2)
        self.assertEqual(os.listdir(self.folder), ["stacks.folded"])

    def test_no_stacks(self):
        self.assertEqual(self.flame().returncode, 2)
        self.assertIn(b"no stacks", self.flame().stderr)
        self.assertEqual(self.flame(self.write(b"PERFILE2" + bytes(200), "perf.data")).returncode, 2)
        self.assertEqual(self.flame("/nowhere").returncode, 1)
        self.assertIn(b"/nowhere", self.flame("/nowhere").stderr)
        self.assertNotEqual(self.flame(self.folder).returncode, 0)
        self.assertEqual(self.flame("-o", "/nowhere/x.svg", stdin=STACKS).returncode, 1)

    def test_a_reader_that_goes(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([live.USERTRACE, "flame", self.write(STACKS)], stdout=writer, stderr=subprocess.PIPE, timeout=60)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (1, b""))
        with open("/dev/full", "wb") as full:
            done = subprocess.run([live.USERTRACE, "flame", self.write(STACKS)], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (1, b"usertrace flame: cannot write: No space left on device\n"))
