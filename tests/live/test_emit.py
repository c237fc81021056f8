# SPDX-License-Identifier: MIT
"""What `usertrace emit` announces, as a tracer sees it: the words of a script's calls against the events printed."""
import errno
import os
import subprocess
import time
import unittest

import live
import seccomp

PR_USER_TRACE = 0x55545243
WANTED = ("type", "name", "value", "id", "text")


@live.needs_root()
class Emit(live.Case):
    def setUp(self):
        self.name = f"emit-{os.getpid()}-{time.monotonic_ns()}"     # ours among whatever else the machine announces

    def listen(self, pattern=None):
        return self.trace("-a", "--json", pattern or f"e:{self.name}*")

    def emit(self, *words, **kwargs):
        done = self.start(live.USERTRACE, "emit", *words, **kwargs)
        self.assertEqual((done.wait(), done.stdout, done.stderr), (0, [], []), done.describe())
        return done

    def heard(self, trace, count):
        """The events so far, at least so many."""
        trace.wait_for_lines(count)
        self.assertEqual(trace.interrupt(), 0)
        return [{key: event[key] for key in WANTED if key in event} for event in trace.objects()]

    @live.vm_safe
    def test_kinds_values_ids_and_texts(self):
        calls = [(["begin", "", "5"], {"type": "begin", "value": 5}),
                 (["end", ""], {"type": "end", "value": 0}),
                 (["mark", ".a"], {"type": "mark", "value": 0}),
                 (["count", ".a", "-17"], {"type": "count", "value": -17}),
                 (["count", ".a", str(2**63 - 1)], {"type": "count", "value": 2**63 - 1}),
                 (["count", ".a", str(-2**63)], {"type": "count", "value": -2**63}),
                 (["mark", ".b", "--id", "0"], {"type": "mark", "value": 0, "id": "0"}),
                 (["count", ".b", "1", "--id", str(2**64 - 1)], {"type": "count", "value": 1, "id": str(2**64 - 1)}),
                 (["mark", ".c", "--text", "v 1.0 «ü»"], {"type": "mark", "value": 0, "text": "v 1.0 «ü»"}),
                 (["mark", ".c", "--text", ""], {"type": "mark", "value": 0, "text": ""}),
                 (["count", ".c", "3", "--text=-x"], {"type": "count", "value": 3, "text": "-x"})]
        trace = self.listen()
        for (kind, suffix, *rest), _ in calls:
            self.emit(kind, self.name + suffix, *rest)
        self.assertEqual(self.heard(trace, len(calls)),
                         [{"name": self.name + words[1], **event} for words, event in calls])

    def test_names_at_the_limit_and_of_any_bytes(self):
        long, odd = self.name + "x" * (127 - len(self.name)), self.name + " \n\x1b[31m"
        trace = self.listen()
        self.emit("mark", long, "--text", "t" * 255)
        self.emit("mark", odd)
        self.assertEqual(self.heard(trace, 2), [{"type": "mark", "name": long, "value": 0, "text": "t" * 255},
                                                {"type": "mark", "name": odd, "value": 0}])

    def test_another_user_does_not_speak_for_its_parent(self):
        """A child that gave up its privileges could end the spans of whoever started it."""
        trace = self.listen()
        script = self.start("/bin/sh", "-c",
                            '"$0" emit begin "$1"; setpriv --reuid=65534 --clear-groups perl -e '
                            "'syscall(157, 0x55545243, 0x42, shift, 1, 0)' \"$1\"; \"$0\" emit end \"$1\" 2; :",
                            live.USERTRACE, self.name)
        self.assertEqual(script.wait(), 0, script.describe())
        trace.wait_for_lines(3)
        self.assertEqual(trace.interrupt(), 0)
        begin, foreign, end = trace.objects()
        self.assertEqual((live.word(foreign), foreign["value"], foreign.get("duration_ns")), ("end", 1, None))
        self.assertNotEqual(foreign["pid"], script.pid)
        self.assertEqual((begin["pid"], end["pid"], end["value"]), (script.pid, script.pid, 2))
        self.assertIn("duration_ns", end)

    @live.vm_safe
    def test_the_script_is_who_speaks(self):
        """Two calls of a script make one span of the script, as long as what lay between them."""
        trace = self.listen()
        script = self.start("/bin/sh", "-c", '"$0" emit begin "$1"; echo begun; read line; "$0" emit end "$1" 7; echo ended; read line',
                            live.USERTRACE, self.name, stdin=subprocess.PIPE)
        script.wait_for("begun")
        after_begin = time.monotonic_ns()
        trace.wait_for_lines(1)
        before_end = time.monotonic_ns()
        script.say("\n")
        script.wait_for("ended")
        trace.wait_for_lines(2)
        self.assertEqual(trace.interrupt(), 0)
        begin, end = trace.objects()
        self.assertEqual([(e["pid"], e["tid"], live.word(e)) for e in (begin, end)],
                         [(script.pid, script.pid, "begin"), (script.pid, script.pid, "end")])
        self.assertEqual(end["duration_ns"], end["time_ns"] - begin["time_ns"])
        self.assertLess(begin["time_ns"], after_begin)
        self.assertLess(before_end, end["time_ns"])

    def test_a_span_of_a_script_that_ends_is_cut_short(self):
        trace = self.listen()
        script = self.start("/bin/sh", "-c", '"$0" emit begin "$1"; exit 3', live.USERTRACE, self.name)
        self.assertEqual(script.wait(), 3)
        trace.wait_for_lines(2)
        self.assertEqual(trace.interrupt(), 0)
        begin, closed = trace.objects()
        self.assertEqual((live.word(begin), live.word(closed), closed["pid"]), ("begin", "process-exited", script.pid))

    def test_one_script_by_its_number(self):
        """The command is a child of the script, and the event the script's."""
        script = self.start("/bin/sh", "-c", 'echo ready; read line; "$0" emit mark "$1"; echo marked; read line',
                            live.USERTRACE, self.name, stdin=subprocess.PIPE)
        script.wait_for("ready")
        trace = self.trace("-f", "-p", script.pid, "--json", f"e:{self.name}")
        self.emit("mark", self.name)                        # another's
        script.say("\n")
        script.wait_for("marked")
        trace.wait_for_lines(1)
        self.assertEqual(trace.interrupt(), 0)
        self.assertEqual([e["pid"] for e in trace.objects()], [script.pid])

    def test_a_script_without_its_children(self):
        script = self.start("/bin/sh", "-c", 'echo ready; read line; "$0" emit mark "$1"; echo marked; read line',
                            live.USERTRACE, self.name, stdin=subprocess.PIPE)
        script.wait_for("ready")
        trace = self.trace("-p", script.pid, "--json", f"e:{self.name}")
        script.say("\n")
        script.wait_for("marked")
        self.assertEqual(trace.interrupt(), 0)
        self.assertEqual(trace.stdout, [])
        self.assertIn("use -f to trace the user events", "\n".join(trace.stderr))

    def test_its_own(self):
        trace = self.listen()
        done = self.emit("mark", self.name, "--own")
        trace.wait_for_lines(1)
        self.assertEqual(trace.interrupt(), 0)
        self.assertEqual([(e["pid"], e["comm"]) for e in trace.objects()], [(done.pid, "usertrace")])

    @unittest.skipUnless(os.uname().machine == "x86_64", "the filter knows x86-64's number of the call")
    def test_what_a_filter_refuses_is_not_seen(self):
        """As the manual says: the filter is asked first."""
        trace = self.listen()
        refused = self.start(live.USERTRACE, "emit", "mark", self.name + ".refused",
                             preexec=lambda: seccomp.forbid_prctl(PR_USER_TRACE, seccomp.RET_ERRNO | errno.EPERM))
        self.assertEqual(refused.wait(), 1)
        self.emit("mark", self.name + ".free")
        self.assertEqual([e["name"] for e in self.heard(trace, 1)], [self.name + ".free"])


if __name__ == "__main__":
    unittest.main()
