# SPDX-License-Identifier: MIT
"""What the tests of these runtimes share: building and running programs, and versions."""
import functools
import os
import re
import shutil
import subprocess
import tempfile
import time

import agree
import live
import runtimes

SOURCES = os.path.join(live.SOURCE_ROOT, "tests/runtimes/targets")


def source(name):
    return os.path.join(SOURCES, name)


def output_of(*argv):
    """What a program says, whatever its status."""
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


@functools.lru_cache
def version_of(package):
    """The upstream version of an installed package of the distribution; "" when it is not there."""
    return re.sub(r"^\d+:|[-+~].*$", "", output_of("dpkg-query", "-W", "-f", "${Version}", package))


class Case(runtimes.Case):
    folder = None

    @classmethod
    def setUpClass(cls):
        """A folder for what the class builds."""
        cls.folder = tempfile.mkdtemp(prefix="usertrace-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)

    @classmethod
    def build(cls, *argv):
        """Runs a compiler in that folder."""
        done = subprocess.run(argv, cwd=cls.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode:
            raise AssertionError(f"{' '.join(argv)}: {done.stdout}")

    @classmethod
    def built(cls, name):
        return os.path.join(cls.folder, name)

    def watched(self, *argv, kind="gc", **kwargs):
        """Runs a program of the targets under `usertrace gc`: the program, what it said when it was done, the watch."""
        program = self.gated(*argv, **kwargs)
        watch = agree.gc(self, "-p", program.pid, "--kind", kind)
        program.began = time.monotonic_ns()
        said = self.go(program)
        program.ended = time.monotonic_ns()
        self.assertEqual(watch.interrupt(), 0, watch.describe())
        self.let_end(program)
        return program, said, watch

    def refused(self, *argv):
        """What `usertrace gc` says of a program in which it can see nothing."""
        program = self.gated(*argv)
        watch = self.usertrace("gc", "-p", str(program.pid))
        self.assertEqual(watch.status, 2, watch.describe())
        return "\n".join(watch.stderr)


def noted(program):
    """The numbers of each line "gc …" of a program."""
    return [[int(n) for n in line.split()[1:]] for line in program.stdout if line.startswith("gc ")]


def symbols(path, *options):
    """Names of the functions that nm finds."""
    lines = output_of("nm", *options, path).splitlines()
    return {line.split()[-1] for line in lines if line.split()[-2:-1] in (["T"], ["t"])}


def build_id(path):
    """The build id of a file, in hexadecimal digits."""
    return next(iter(re.findall(r"Build ID: ([0-9a-f]+)", output_of("readelf", "-n", path))), "")
