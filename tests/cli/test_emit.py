# SPDX-License-Identifier: MIT
"""`usertrace emit` by itself: what it takes, what it refuses and in which words, what it costs. What it emits is in
tests/live/test_emit.py."""
import errno
import os
import shutil
import signal
import statistics
import subprocess
import time
import unittest

import live
import seccomp

PR_USER_TRACE = 0x55545243


class Words(live.Case):
    def refused(self, *words):
        """The complaint about these words."""
        done = self.usertrace("emit", *words)
        self.assertEqual((done.status, done.stdout), (2, []), done.describe())
        self.assertTrue(done.stderr[0].startswith("usertrace emit: "), done.stderr)
        self.assertEqual(len(done.stderr), 1)
        return done.stderr[0].removeprefix("usertrace emit: ")

    def taken(self, *words):
        done = self.usertrace("emit", *words)
        self.assertEqual((done.status, done.stdout, done.stderr), (0, [], []), done.describe())

    @live.vm_safe
    def test_what_it_takes(self):
        for words in (["begin", "gc"], ["end", "gc"], ["mark", "gc"], ["count", "gc", "5"], ["begin", "gc", "5"],
                      ["count", "gc", "-5"], ["count", "gc", "+5"], ["count", "gc", "0x10"], ["count", "gc", "-0x10"],
                      ["count", "gc", str(2**63 - 1)], ["count", "gc", str(-2**63)], ["--own", "mark", "gc"],
                      ["mark", "gc", "--id", "0"], ["mark", "gc", "--id", str(2**64 - 1)], ["mark", "gc", "--text", ""],
                      ["mark", "gc", "--text=-x"], ["mark", "x" * 127], ["mark", "a", "--text", "x" * 255],
                      ["mark", "two words\n\x01"], ["mark", "--", "-dash"]):
            with self.subTest(words=words):
                self.taken(*words)

    @live.vm_safe
    def test_what_is_missing(self):
        usage = "usertrace emit begin|end|mark|count NAME [VALUE]"
        self.assertEqual(self.refused(), f"a kind and a name are required: {usage}")
        self.assertEqual(self.refused("begin"), "a name is required: usertrace emit begin NAME")
        self.assertEqual(self.refused("mark", ""), "a name is required: usertrace emit mark NAME")
        self.assertEqual(self.refused("count"), "a name is required: usertrace emit count NAME VALUE")
        self.assertEqual(self.refused("count", "gc"), "the value of the counter is required: usertrace emit count gc VALUE")

    @live.vm_safe
    def test_kinds(self):
        self.assertEqual(self.refused("gc", "begin"), "the kind comes first: usertrace emit begin gc")
        self.assertEqual(self.refused("beginn", "gc"), "unknown kind of event 'beginn'; did you mean 'begin'?")
        self.assertEqual(self.refused("gc"), "unknown kind of event 'gc'; valid kinds: begin, end, mark and count")

    @live.vm_safe
    def test_values(self):
        for value in ("", "x", "1x", "1.5", "-", "0x", "0x-1", "+-1"):
            with self.subTest(value=value):
                self.assertEqual(self.refused("count", "gc", value), f"the value '{value}' is not an integer")
        for value in (str(2**63), str(-2**63 - 1), "9" * 40, "-" + "9" * 40):
            self.assertEqual(self.refused("count", "gc", value), f"the value '{value}' exceeds 64 bits")
        self.assertEqual(self.refused("count", "gc", "1", "2"),
                         "unexpected argument '2'; quote names and strings that contain spaces")

    @live.vm_safe
    def test_ids_and_texts(self):
        self.assertEqual(self.refused("mark", "a", "--id", "1", "--text", "x"),
                         "--id and --text are mutually exclusive: the system call has room for one")
        for number in ("x", "-1", str(2**64)):
            self.assertEqual(self.refused("mark", "a", "--id", number), f"the id '{number}' is not a 64-bit integer")

    @live.vm_safe
    def test_lengths(self):
        self.assertEqual(self.refused("mark", "x" * 128), "the name is too long (128 bytes); the limit is 127")
        self.assertEqual(self.refused("mark", "ü" * 64), "the name is too long (128 bytes); the limit is 127")
        self.assertEqual(self.refused("mark", "a", "--text", "x" * 256), "the string is too long (256 bytes); the limit is 255")


class Surroundings(live.Case):
    @live.vm_safe
    @live.needs_root()
    def test_it_needs_no_privileges(self):
        program = os.path.join(self.tempdir(), "usertrace")     # where an ordinary user may enter
        shutil.copy(live.USERTRACE, program)
        os.chmod(os.path.dirname(program), 0o755)
        done = self.start(program, "emit", "mark", "gc", preexec=lambda: os.setresuid(65534, 65534, 65534))
        self.assertEqual((done.wait(), done.stdout, done.stderr), (0, [], []))

    @live.vm_safe
    def test_closed_streams(self):
        done = subprocess.run(["/bin/sh", "-c", '"$0" emit mark gc <&- >&- 2>&-', live.USERTRACE], timeout=live.PATIENCE)
        self.assertEqual(done.returncode, 0)

    @unittest.skipUnless(os.uname().machine == "x86_64", "the filter knows x86-64's number of the call")
    def test_a_filter_that_refuses(self):
        done = self.start(live.USERTRACE, "emit", "mark", "gc",
                          preexec=lambda: seccomp.forbid_prctl(PR_USER_TRACE, seccomp.RET_ERRNO | errno.EPERM))
        self.assertEqual(done.wait(), 1)
        self.assertEqual(done.stderr, ["usertrace emit: the event cannot be traced: a seccomp filter "
                                       "rejects prctl (Operation not permitted)"])

    @unittest.skipUnless(os.uname().machine == "x86_64", "the filter knows x86-64's number of the call")
    def test_a_filter_that_kills(self):
        """As the manual says."""
        done = self.start(live.USERTRACE, "emit", "mark", "gc",
                          preexec=lambda: seccomp.forbid_prctl(PR_USER_TRACE, seccomp.RET_KILL_PROCESS))
        self.assertEqual(done.wait(), -signal.SIGSYS)


class Cost(live.Case):
    def milliseconds(self, *argv):
        start = time.perf_counter()
        subprocess.run(argv, check=True, timeout=live.PATIENCE)
        return (time.perf_counter() - start) * 1e3

    def test_little_more_than_the_start_of_a_program(self):
        """Nothing is read, asked or set up before the call. Asked again where something else keeps the machine busy."""
        for _ in range(5):
            pairs = [(self.milliseconds("/bin/true"), self.milliseconds(live.USERTRACE, "emit", "mark", "cost")) for _ in range(15)]
            ratio = statistics.median(emit / true for true, emit in pairs)
            if ratio < 4:
                return
        self.fail(f"takes {ratio:.1f} times as long as /bin/true")


if __name__ == "__main__":
    unittest.main()
