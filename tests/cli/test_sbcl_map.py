# SPDX-License-Identifier: MIT
"""examples/sbcl/usertrace-map.lisp: SBCL's functions are in a perf map, where they are and where they were moved to."""
import os
import re
import stat
import subprocess
import unittest

import live

EXAMPLE = os.path.join(live.SOURCE_ROOT, "examples/sbcl/usertrace-map.lisp")

# Says where functions are: one with a name, one that is within another, and one that the collector moves.
PROGRAM = """
(defun burn (n) (if (< n 2) n (+ (burn (- n 1)) (burn (- n 2)))))
(defun outer (x) (flet ((inner (y) (* y x))) (declare (notinline inner)) #'inner))
(defvar *moves* (let ((sb-c::*compile-to-memory-space* :dynamic))
                  (compile nil '(sb-int:named-lambda "moves | \\ and
has (lines)" (x) (list x (random 5))))))
(defun address (function)
  (sb-kernel:get-lisp-obj-address (sb-kernel:%fun-fun function)))
(defun tell (name function)
  "Where it is, which the map has then: a collection may move it before."
  (loop for before = (address function)
        do (usertrace-map:refresh)
        until (= before (address function))
        finally (format t "~a ~d~%" name before)))
(tell "burn" #'burn) (tell "inner" (outer 3)) (tell "moves" *moves*)
(setf usertrace-map:*interval* 0)
(loop with before = (address *moves*) while (= before (address *moves*)) do (gc :full t))
(tell "moved" *moves*)
(gc)
"""


@live.needs_program("sbcl")
class SbclMap(live.Case):
    def start(self, program, before=lambda pid: None):
        """Runs it; what it says, and the path of its map."""
        folder = self.tempdir()
        with open(os.path.join(folder, "program.lisp"), "w", encoding="utf-8") as file:
            file.write(program)
        with subprocess.Popen(["sbcl", "--noinform", "--non-interactive", "--no-userinit", "--eval", "(read-line)",
                               "--load", EXAMPLE, "--load", "program.lisp"], cwd=folder, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            path = f"/tmp/perf-{process.pid}.map"
            self.addCleanup(lambda: os.path.lexists(path) and os.unlink(path))
            before(path)
            out = process.communicate("go\n", timeout=live.PATIENCE * 2)[0]
        self.assertEqual(process.returncode, 0, out)
        self.assertNotRegex(out, "usertrace-map|WARNING")
        return dict(re.findall(r"^(burn|inner|moves|moved) (\d+)$", out, re.MULTILINE)), path

    def read(self, path):
        self.assertEqual(stat.S_IMODE(os.lstat(path).st_mode), 0o600)
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        self.assertEqual(lines.pop(), "")
        for line in lines:
            self.assertRegex(line, r"\A[0-9a-f]+ [0-9a-f]+ [^\x00-\x1f]+\Z")
        return [(int(address, 16), int(size, 16), name) for address, size, name in (line.split(" ", 2) for line in lines)]

    def test_functions_are_found(self):
        places, path = self.start(PROGRAM)
        lines = self.read(path)
        self.assertGreater(len(lines), 10000)

        def at(name):
            """The last that the map says of an address within the function."""
            place = int(places[name]) + 16
            return [found for address, size, found in lines if address <= place < address + size][-1]
        self.assertEqual(at("burn"), "BURN")
        self.assertEqual(at("inner"), "(FLET INNER :IN OUTER)")
        self.assertNotEqual(places["moves"], places["moved"], "it was not moved")
        for name in "moves", "moved":
            self.assertRegex(at(name), r"\Amoves \|.* and\?has \(lines\)\Z")
        self.assertGreater(sum(name.endswith(" [assembler]") for _, _, name in lines), 20)

    def test_a_link_is_not_followed(self):
        target = os.path.join(self.tempdir(), "theirs")
        with open(target, "w", encoding="utf-8") as file:
            file.write("this stays")
        _, path = self.start("(print 1)", before=lambda path: os.symlink(target, path))
        self.assertGreater(len(self.read(path)), 10000)
        with open(target, encoding="utf-8") as file:
            self.assertEqual(file.read(), "this stays")


if __name__ == "__main__":
    unittest.main()
