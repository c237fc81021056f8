# SPDX-License-Identifier: MIT
"""What `make install` gives to those who write programs: headers and libraries, installed into a folder of the test."""
import glob
import os
import shutil
import subprocess
import tempfile

import live

TOOLS = ("meson", "pkg-config", "gcc")


def missing():
    """A reason to skip, or None."""
    if not os.path.exists(os.path.join(live.BUILD_ROOT, "build.ninja")):
        return "there is no build folder"
    absent = [tool for tool in TOOLS if not shutil.which(tool)]
    return f"{', '.join(absent)} not installed" if absent else None


class Installed:
    """Use it in setUpClass, and .remove() with addClassCleanup."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="usertrace-installed-")
        # --no-rebuild: a build would write to the folder that the tests run from.
        subprocess.run(["meson", "install", "-C", live.BUILD_ROOT, "--no-rebuild", "--tags", "runtime,devel",
                        "--destdir", self.root], check=True, capture_output=True, text=True, timeout=live.PATIENCE * 4)
        self.pc_folder = os.path.dirname(self.one("**/usertrace.pc"))

    def remove(self):
        shutil.rmtree(self.root, True)

    def one(self, pattern):
        """The only file of this pattern."""
        found = glob.glob(os.path.join(self.root, pattern), recursive=True)
        if len(found) != 1:
            raise AssertionError(f"{len(found)} files {pattern} in {self.root}: {found}")
        return found[0]

    @property
    def library(self):
        """libusertrace.so.0, as a program finds it."""
        return self.one("**/libusertrace.so.0")

    @property
    def environment(self):
        """In which pkg-config tells of this folder, with nothing left out as the system's own."""
        return {**os.environ, "PKG_CONFIG_LIBDIR": self.pc_folder, "PKG_CONFIG_PATH": "",
                "PKG_CONFIG_SYSROOT_DIR": self.root, "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1",
                "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}

    def flags(self, *options):
        """What pkg-config says."""
        done = subprocess.run(["pkg-config", *options, "usertrace"], env=self.environment, capture_output=True, text=True,
                              check=True, timeout=live.PATIENCE)
        return done.stdout.split()
