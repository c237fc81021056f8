# SPDX-License-Identifier: MIT
"""Every command has a manual page that names each of its options, and nothing else."""
import os
import re
import shutil
import subprocess
import unittest

ROOT = os.environ["UT_SOURCE_ROOT"]
USERTRACE = os.path.join(os.environ["UT_BUILD_ROOT"], "src/cli/usertrace")


def listing():
    """{command: [(short, long, value)]} from the program's own tables."""
    text = subprocess.run([USERTRACE, "help", "--listing"], capture_output=True, text=True, check=True, timeout=60).stdout
    commands = {}
    for line in text.splitlines():
        command, *option = line.split("\t")
        commands.setdefault(command, [])
        if option:
            commands[command].append(tuple(option))
    return commands


def page_path(name):
    return os.path.join(ROOT, "man", name + ".1")


def page(name):
    with open(page_path(name), encoding="utf-8") as file:
        return file.read().replace("\\-", "-")


def tagged_options(text):
    """The options that head a paragraph: the lines after .TP that begin with a dash."""
    heads = re.findall(r"^\.TP.*\n(.*)$", text, re.MULTILINE)
    return {word for head in heads for word in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", re.sub(r"\\f[A-Z]|^\.[A-Z]+ ", "", head))}


class Manual(unittest.TestCase):
    def test_every_command_has_a_page(self):
        commands = listing()
        self.assertIn("doctor", commands)
        for command in commands:
            with self.subTest(command=command):
                self.assertTrue(os.path.exists(page_path("usertrace-" + command)), "no manual page")
                self.assertIn(f"usertrace-{command}", page("usertrace"), "usertrace.1 does not list it")

    def test_every_option_is_explained(self):
        for command, options in listing().items():
            if not os.path.exists(page_path("usertrace-" + command)):
                continue    # told above
            wanted = {word for short, long, _ in options for word in (short, long) if word}
            with self.subTest(command=command):
                self.assertEqual(tagged_options(page("usertrace-" + command)) - ({"-h", "--help"} - wanted), wanted)

    @unittest.skipUnless(shutil.which("mandoc") or shutil.which("man"), "neither man nor mandoc is installed")
    def test_the_pages_have_no_faults(self):
        for name in sorted(os.listdir(os.path.join(ROOT, "man"))):
            if not name.endswith(".1"):
                continue
            tool = ["mandoc", "-T", "lint", "-W", "error"] if shutil.which("mandoc") else ["man", "--warnings", "-l", "-Tutf8"]
            done = subprocess.run(tool + [os.path.join(ROOT, "man", name)], capture_output=True, text=True, timeout=60)
            with self.subTest(page=name):
                self.assertEqual(done.stderr, "")
