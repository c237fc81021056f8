# SPDX-License-Identifier: MIT
"""A program that announces nonsense, at random: the tracer stays up, and its output stays what it promises to be."""
import json
import os
import random
import re
import subprocess
import unittest

import announce
import live
import schema

HOSTILE = os.path.join(live.TARGETS, "user_hostile")
SEED = int(os.environ.get("UT_SEED") or random.SystemRandom().randrange(1 << 30))
MILLISECONDS = 2000
# A name in memory that never comes, as its program alone could provide it (userfaultfd) and does not.
STUCK = """
import ctypes, mmap, struct, sys
libc, library = ctypes.CDLL(None, use_errno=True), ctypes.CDLL(sys.argv[1])
fd = libc.syscall(323, 0o2000000)
room = mmap.mmap(-1, mmap.PAGESIZE)
address = ctypes.addressof(ctypes.c_char.from_buffer(room))
api, register = struct.pack("QQQ", 0xaa, 0, 0), struct.pack("QQQQ", address, mmap.PAGESIZE, 1, 0)
if fd < 0 or libc.ioctl(fd, 0xc018aa3f, api) or libc.ioctl(fd, 0xc020aa00, register):
    sys.exit(print("ready, but not allowed", flush=True))
print("ready", flush=True)
sys.stdin.readline()    # whether somebody listens says nothing: a trace of everybody may, before ours is there
library.ut_mark(b"before")
library.ut_mark(ctypes.c_void_p(address))
print("through", flush=True)
"""
ONLY_X86 = unittest.skipUnless(os.uname().machine == "x86_64", "the program knows x86-64's number of the call")
EVENTS = {"begin", "end", "mark", "count", "thread-exited", "process-exited", "open", "exec", "evicted"}


@live.needs_root()
class Hostile(announce.Case):
    def run_hostile(self, *options, requests):
        path = os.path.join(self.tempdir(), "out")
        print(f"# seed {SEED}", flush=True)
        trace = self.trace(*options, "-o", path, *requests, "--", HOSTILE, SEED, MILLISECONDS, attached=False)
        self.assertEqual(trace.wait(), 0, f"seed {SEED}: {trace.describe()}")
        with open(path, "rb") as file:
            data = file.read()
        self.assertTrue(data.endswith(b"\n"))
        self.assertRegex("\n".join(trace.stderr),
                         r"(?m)^usertrace: [\d,]+ user events of an unknown kind ignored$")
        self.assertNotRegex("\n".join(trace.stderr), "[\x00-\x09\x0b-\x1f\x7f]")
        return data.decode("utf-8").split("\n")[:-1]

    def test_json(self):
        lines = self.run_hostile("--json", requests=(
            "e:*", 'e:gc* (duration > 0 || text != NULL) "%s %20s %d %x %s", kind, name, value, id, text'))
        events = schema.check([json.loads(line) for line in lines])
        self.assertGreater(len(events), 1000)
        counted = 0
        for e in events:
            if e["type"] in ("lost", "throttled"):
                continue
            self.assertGreater(e["pid"], 0)
            if e["type"] == "event":
                self.assertEqual(set(e["args"]), {"kind", "name", "value", "id", "text"})
                continue
            counted += 1
            self.assertIn(live.word(e), EVENTS)
            for text in (e["name"], e.get("text")):
                if isinstance(text, dict):
                    self.assertIn(set(text) - {"limit"}, ({"error", "address"}, {"text", "truncated"}))
                elif text is not None:
                    self.assertLessEqual(len(text), 255)
        self.assertGreater(counted, 1000)

    def test_text(self):
        lines = self.run_hostile("-t", "--buffer", "64K", requests=("e:*",))
        for line in lines[1:]:
            self.assertNotRegex(line, "[\x00-\x1f\x7f]")
            if not line.startswith("-- "):
                self.assertTrue(re.match(r"-?[0-9.]+ +\d+ +\d+ ", line), line)

    def check_never_comes(self, *probe):
        """Neither its program nor the tracer stands still; what was printed."""
        library = os.path.join(live.BUILD_ROOT, "src/emit/libusertrace.so")
        if not os.path.exists(library):
            self.skipTest("libusertrace.so is not built")
        stuck = self.start("/usr/bin/python3", "-c", STUCK, library, stdin=subprocess.PIPE)
        if stuck.wait_for("ready.*")[0] != "ready":
            self.skipTest("userfaultfd is not allowed here")
        trace = self.trace("-p", stuck.pid, *probe)
        stuck.say("\n")
        self.assertEqual((stuck.wait(), trace.wait()), (0, 0))
        self.assertEqual(stuck.stdout, ["ready", "through"])
        return "\n".join(trace.stdout)

    @ONLY_X86
    def test_a_name_that_never_comes(self):
        self.assertRegex(self.check_never_comes("e:*"), r" before +mark\n.* <fault 0x[0-9a-f]+> +mark$")

    @ONLY_X86
    def test_a_text_that_never_comes(self):
        printed = self.check_never_comes("--no-sleep", 'u:usertrace:event "%s", arg2')
        self.assertRegex(printed, r" event +before\n.* event +<fault 0x[0-9a-f]+>$")


if __name__ == "__main__":
    unittest.main()
