# SPDX-License-Identifier: MIT
"""What compares spans with a runtime's own account finds those that correspond, and fails when they differ."""
import os
import tempfile
import unittest

import agree

# Begins, and lengths that differ from each other by more than what counts as near.
OWN = [(1_000_000_000 + 10_000_000 * i, 100_000 + 61_000 * (i * 7 % 10)) for i in range(20)]
AHEAD = 5_000_000_000_000


def later(entries, by=3_000):
    """As another clock has them, a little longer."""
    return [(begin + AHEAD, length + by) for begin, length in entries]


class Agree(unittest.TestCase):
    def setUp(self):
        os.environ.pop("UT_AGREEMENT", None)

    def refuses(self, own, seen, pattern, **options):
        with self.assertRaisesRegex(AssertionError, pattern):
            agree.compare(self, "Runtime", "what", own, seen, **options)

    def test_the_same(self):
        self.assertEqual(len(agree.compare(self, "Runtime", "what", OWN, later(OWN))), 20)

    def test_cut_at_both_ends(self):
        pairs = agree.compare(self, "Runtime", "what", OWN, later(OWN[2:-1]), cut=3)
        self.assertEqual([own for own, _ in pairs], OWN[2:-1])
        pairs = agree.compare(self, "Runtime", "what", OWN[1:], later(OWN[:-1]), cut=2)
        self.assertEqual([own for own, _ in pairs], OWN[1:-1])

    def test_lengths_alone(self):
        own, seen = [n for _, n in OWN], [n + 5_000 for _, n in OWN[1:]]
        self.assertEqual(agree.compare(self, "Runtime", "what", own, seen, cut=1)[0], (own[1], seen[0]))

    def test_number(self):
        self.refuses(OWN, later(OWN[1:]), "20 by its own account, 19 seen, at most 0 cut")
        self.refuses(OWN, later(OWN[3:]), "at most 2 cut", cut=2)
        self.refuses(OWN[:5], later(OWN), "at most 2 cut", cut=2)
        self.refuses([], [], "0 seen")

    def test_length(self):
        self.refuses(OWN, later(OWN, 30_000), "differ in length: 100000 ns, seen as 130000")
        long = [(begin, 100 * length) for begin, length in OWN]
        agree.compare(self, "Runtime", "what", long, [(b, n * 1.015) for b, n in long])
        self.refuses(long, [(b, n * 1.03) for b, n in long], "20 differ")
        agree.compare(self, "Runtime", "what", OWN, later(OWN, 30_000), resolution_ns=1_000_000)

    def test_share(self):
        seen = later(OWN)
        seen[3], seen[4] = (seen[3][0], 1), (seen[4][0], 2)
        agree.compare(self, "Runtime", "what", OWN, seen)
        self.refuses(OWN, seen, "2 differ", least=0.95)
        seen[5] = (seen[5][0], 3)
        self.refuses(OWN, seen, "3 differ")

    def test_a_busy_machine(self):
        """So many more may differ as the CPU was taken from the program, but not more than half."""
        seen = later(OWN)
        for i in range(2, 7):
            seen[i] = (seen[i][0], i)
        self.refuses(OWN, seen, "taken from the program 0 times; of 20 5 differ")
        self.disturbed = lambda: 3
        agree.compare(self, "Runtime", "what", OWN, seen)
        seen[7] = (seen[7][0], 7)
        self.refuses(OWN, seen, "taken from the program 3 times; of 20 6 differ")
        self.disturbed = lambda: 1000
        self.refuses(OWN, later(OWN, 30_000), "of 20 20 differ")

    def test_one_missing_inside(self):
        alike = [(begin, 5_000) for begin, _ in OWN]
        self.refuses(alike, later(alike[:10] + alike[11:]), "do not begin", cut=1)

    def test_count(self):
        agree.count(self, "Runtime", "what", 10, 10)
        agree.count(self, "Runtime", "what", 10, 9, cut=1)
        with self.assertRaisesRegex(AssertionError, "10 by its own account, 8 seen, at most 1 cut"):
            agree.count(self, "Runtime", "what", 10, 8, cut=1)

    def test_table(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["UT_AGREEMENT"] = path = os.path.join(folder, "table.tsv")
            self.addCleanup(os.environ.pop, "UT_AGREEMENT", None)
            agree.compare(self, "Runtime", "what", OWN, later(OWN[1:]), cut=1, version="1.2")
            agree.count(self, "Runtime", "how many", 7, 7, note="counts only")
            with open(path) as table:
                rows = [line.rstrip("\n").split("\t") for line in table]
        self.assertEqual(rows[0], list(agree.COLUMNS))
        self.assertEqual(rows[1], ["Runtime", "1.2", "what", "20", "19", "1", "3.0", "3.0", "1.000", ""])
        self.assertEqual(rows[2], ["Runtime", "", "how many", "7", "7", "0", "", "", "", "counts only"])
