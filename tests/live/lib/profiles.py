# SPDX-License-Identifier: MIT
"""`usertrace profile` of small C programs, and what it says of them.

    program = self.build("int main(void) { … }", "-O2")
    profile = self.profile("-F", "1999", "--", program)        # to its end, as folded stacks
    self.assertGreater(profile.share("aa"), 0.25)

Shares hold within three standard deviations of so many samples, and what a clock of the kernel is off besides.
"""
import os
import re
import shutil
import subprocess

import live

# burn(MS) runs until this thread has run for so many milliseconds more, however fast the machine is and whoever else runs.
BURN = r"""
#include <stdint.h>
#include <time.h>
static volatile unsigned burned;
static inline uint64_t thread_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static inline __attribute__((always_inline)) void burn(unsigned ms)
{
	uint64_t end = thread_ns() + ms * 1000000ull;
	do
		for (unsigned i = 0; i < 20000; i++)
			burned = i;
	while (thread_ns() < end);
}
"""


class Profile:
    """Folded stacks: lists of frames, outermost first, with their weights."""

    def __init__(self, text):
        self.stacks = []
        for line in text:
            stack, _, weight = line.rpartition(" ")
            self.stacks.append((re.sub(r"_\[[a-z]\](?=;|$)", "", stack).split(";"), int(weight)))

    @property
    def total(self):
        return sum(weight for _, weight in self.stacks)

    def weight(self, *frames, leaf=None):
        """Of the stacks in which these frames come in this order; that end with this one."""
        total = 0
        for stack, weight in self.stacks:
            at = 0
            for frame in stack:
                at += at < len(frames) and frame == frames[at]
            if at == len(frames) and leaf in (None, stack[-1]):
                total += weight
        return total

    def share(self, *frames, **kwargs):
        return self.weight(*frames, **kwargs) / self.total if self.total else 0

    def near(self, case, frame, share):
        """The share of the stacks with a frame is as it should be, as far as so many samples can tell."""
        bound = 3 * (share * (1 - share) / self.total) ** 0.5 + 0.01
        case.assertAlmostEqual(self.share(frame), share, delta=bound, msg=f"{frame} of {self.total} samples")


class Case(live.Case):
    def build(self, source, *flags, name="program"):
        """A program from C."""
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        folder = self.tempdir()
        path = os.path.join(folder, name)
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(source)
        done = subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", *flags, "-o", path, path + ".c", "-pthread"],
                              capture_output=True, text=True)
        if done.returncode and "-static" in flags:
            self.skipTest(f"static programs cannot be linked here: {done.stderr[:200]}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def profile(self, *args, status=0, **kwargs):
        """A profile to its end, as folded stacks; .done is the process."""
        path = os.path.join(self.tempdir(), "out.folded")
        done = self.usertrace("profile", "-o", path, *args, **kwargs)
        self.assertEqual(done.status, status, done.describe())
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            profile = Profile(file.read().splitlines())
        profile.done = done
        profile.told = "\n".join(done.stderr)
        self.assertIn(" 0 lost", profile.told)
        return profile
