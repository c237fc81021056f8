# SPDX-License-Identifier: MIT
"""What the README shows to try is typed here as it stands there, and says what it says there, but for the numbers."""
import os
import re
import subprocess
import unittest

import live
import screen


def examples():
    """(command, the lines it is said to print) of each line "    # command" of the README's section."""
    with open(os.path.join(live.SOURCE_ROOT, "README.md")) as file:
        section = file.read().split("## Six things to try\n", 1)[1].split("\n## ", 1)[0]
    found = []
    for line in section.splitlines():
        if line.startswith("    # "):
            found.append((line[6:], []))
        elif line.startswith("    ") and found and line.strip() != "…":
            found[-1][1].append(line)
    return found


def shape(line):
    """A line without what differs from run to run: numbers, how wide the columns are for them, bars, and which of the
    stops was the longest."""
    line = re.sub(r"0x[0-9a-f]+", "0xN", line)
    line = re.sub(r"longest stop (.*?) \(.*\)", r"longest stop \1 (…)", re.sub("[▁-█·]", "", line))
    line = re.sub(r"\d[\d.,]*( [mnµ]?s\b)?", "N", line)
    return " ".join(line.split())


@live.needs_root()
@unittest.skipUnless(os.path.exists("/usr/bin/python3.11"), "/usr/bin/python3.11 is not installed")
@live.needs_program("javac")
class Readme(live.Case):
    def setUp(self):
        path = os.path.dirname(live.USERTRACE) + ":" + os.environ["PATH"]
        self.shell = self.start("bash", stdin=subprocess.PIPE, cwd=live.SOURCE_ROOT, env={"PATH": path})
        self.shell.say("exec 2>&1\n")

    def type(self, number, command):
        """What the command prints; a program in the background is waited for until it is ready."""
        first = len(self.shell.stdout)
        self.shell.say(command + "\n")
        if command.endswith("&"):
            self.shell.wait_until(lambda: any(line.startswith("ready ") for line in self.shell.stdout[first:]), "ready")
        self.shell.say(f"echo end-{number}\n")
        self.shell.wait_for(f"^end-{number}$")
        return self.shell.stdout[first:]

    def look_at(self, command, shown):
        """What fills the screen: its heading, and the row of the program that was started here."""
        pid = self.shell.wait_for(r"^ready (\d+)")[1]
        top = screen.Terminal(self, [live.USERTRACE, *command.split()[1:]], lines=60)     # with room for all others
        wanted = [line for line in shown if re.search(r"\bPID\b|\bpython3\b", line)]
        self.assertEqual(len(wanted), 2)
        top.wait_line(r"^ *PID ")
        self.assertIn(shape(wanted[0]), map(shape, top.text()))
        row = shape(wanted[1])
        top.wait_until(lambda lines: any(pid in line and shape(line) == row for line in lines), f"row like {row}")
        top.type("q")
        self.assertEqual(top.wait(), 0)

    def test_six_things(self):
        found = examples()
        self.assertEqual(len(found), 10)
        self.addCleanup(self.remove_files)
        for number, (command, shown) in enumerate(found):
            with self.subTest(command=command):
                if command == "usertrace top":
                    self.look_at(command, shown)
                    continue
                said = set(map(shape, self.type(number, command)))
                for line in shown:
                    self.assertIn(shape(line), said)
        self.type("kill", "kill %1 %2")
        with open("/tmp/where.svg", encoding="utf-8") as file:
            self.assertIn("GcChurn.main", file.read())

    def remove_files(self):
        """What the examples leave behind: the picture, and HotSpot's map."""
        pids = [line.split()[1] for line in self.shell.stdout if line.startswith("ready ")]
        for path in ["/tmp/where.svg", *(f"/tmp/perf-{pid}.map" for pid in pids)]:
            if os.path.exists(path):
                os.unlink(path)


if __name__ == "__main__":
    unittest.main()
