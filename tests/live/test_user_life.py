# SPDX-License-Identifier: MIT
"""Spans of programs that fork, exec, make threads, crash and end; whose they are, and what is said of them."""
import os
import unittest

import announce
import live
from announce import LANES

TIME = r"[0-9.]+ (ns|µs|ms|s)"


@live.needs_root()
class Life(announce.Case):
    def said(self, trace):
        """What happened, by event and name, with why."""
        return [(live.word(e), e["name"], live.unmatched(e), e.get("exit_signal")) for e in trace.events]

    def test_begins_and_ends(self):
        """By name, innermost first; by id, on any thread; a wrong end closes nothing."""
        done = self.announce("h begin a", "p begin b", "h begin b", "p end b", "h end x", "p end b", "h end a",
                             "p end a", "h begin r id=1", "p begin r id=2", "thread h end r id=1", "p end r id=3",
                             "p end r", "h end r id=2")
        ends = [(e["name"], e.get("id"), live.unmatched(e), e.get("depth")) for e in done.events if live.word(e) == "end"]
        self.assertEqual(ends, [("b", None, None, 3), ("x", None, "orphan", None), ("b", None, None, 2),
                                ("a", None, None, 1),
                                ("a", None, "orphan", None), ("r", "1", None, 1), ("r", "3", "orphan", None),
                                ("r", None, "orphan", None), ("r", "2", None, 2)])
        begins = {e["time_ns"]: e for e in done.events if live.word(e) == "begin"}
        for end in (e for e in done.events if "duration_ns" in e):
            self.assertEqual(begins[end["time_ns"] - end["duration_ns"]]["name"], end["name"])
        self.assertRegex(done.told, r"(?m)^usertrace: spans: 5 complete, 4 without a begin$")

    def test_crossed(self):
        done = self.announce("h begin a", "p begin b", "h end a", "p end b")
        self.assertEqual([e.get("crossed") for e in done.events], [None, None, True, True])

    def test_threads(self):
        for lane in LANES:
            done = self.announce(f"threads {lane} 5")
            self.assertEqual(len({e["tid"] for e in done.events}), 5)
            for tid in {e["tid"] for e in done.events}:
                mine = [e for e in done.events if e["tid"] == tid]
                self.assertEqual([(live.word(e), e["name"], e.get("depth")) for e in mine],
                                 [("begin", "outer", None), ("begin", "inner", None), ("end", "inner", 2),
                                  ("end", "outer", 1)])
                self.assertLessEqual(mine[2]["duration_ns"] + mine[3]["own_ns"], mine[3]["duration_ns"])

    @live.vm_safe
    def test_a_thread_that_ends(self):
        """What has an id goes on without it."""
        for lane in LANES:
            done = self.announce(f"thread {lane} begin x", f"thread {lane} begin y id=5", f"{lane} end y id=5")
            # Who joins a thread can go on a moment before the kernel says that it has exited: y may begin in between.
            of_x, of_y = ([e for e in done.events if e["name"] == name] for name in "xy")
            self.assertEqual([live.word(e) for e in of_x], ["begin", "thread-exited"])
            self.assertEqual([live.word(e) for e in of_y], ["begin", "end"])
            self.assertEqual((done.events[0], done.events[-1]), (of_x[0], of_y[1]))
            self.assertEqual(of_x[0]["tid"], of_x[1]["tid"])

    def test_ends_of_programs(self):
        for lane in LANES:
            for command, status, exit in (("exit 3", 3, ("status", 3)), ("die 11", 139, ("signal", 11)),
                                          ("die 9", 137, ("signal", 9)),
                                          ("die 6", 134, ("signal", 6)), ("exit 0", 0, ("status", 0))):
                done = self.announce(f"{lane} begin gc value=4", command, status=status)
                self.assertEqual([(live.word(e), e["value"]) for e in done.events], [("begin", 4), ("process-exited", 4)])
                self.assertEqual([(k, done.events[1].get(f"exit_{k}")) for k in ("status", "signal") if f"exit_{k}" in done.events[1]],
                                 [exit])

    def test_the_same_in_text(self):
        for command, status, words in (("exit 3", 3, "exit status 3"), ("die 11", 139, r"signal 11 \(SIGSEGV\)")):
            done = self.announce("h begin gc", "p begin r id=4", command, text=True, status=status)
            self.assertEqual([l[0] for l in done.lines], ["gc", "r", "r", "gc"])
            self.assertRegex(done.lines[3][1], f"^process exited after {TIME}: {words}$")
            self.assertRegex(done.lines[2][1], f"^process exited after {TIME}: {words} id=4$")
            self.assertRegex(done.told, "(?m)^usertrace: spans: 2 ended by the exit of their thread or process$")
        done = self.announce("p begin a", "thread p begin b", "exec p mark c", text=True)
        self.assertRegex(done.lines[2][1], f"^thread exited after {TIME}$")
        self.assertRegex(done.lines[3][1], f"^replaced by exec after {TIME}$")

    @live.vm_safe
    def test_a_last_thread_that_is_not_the_first(self):
        for lane in LANES:
            done = self.announce(f"{lane} begin main", f"{lane} begin r id=1", f"last_thread {lane} begin %far:3")
            self.assertEqual([(live.word(e), e["name"]) for e in done.events],
                             [("begin", "main"), ("begin", "r"), ("thread-exited", "main"), ("begin", "far-3"),
                              ("process-exited", "far-3"), ("process-exited", "r")])
            self.assertNotEqual(done.events[0]["tid"], done.events[3]["tid"])

    @live.vm_safe
    def test_exec(self):
        for lane in LANES:
            done = self.announce(f"{lane} begin a", f"{lane} begin r id=1",
                                 f"exec {lane} end a;{lane} end r id=1;{lane} begin a;{lane} end a")
            self.assertEqual(self.said(done), [("begin", "a", None, None), ("begin", "r", None, None),
                                               ("exec", "r", None, None), ("exec", "a", None, None),
                                               ("end", "a", "orphan", None), ("end", "r", "orphan", None),
                                               ("begin", "a", None, None), ("end", "a", None, None)])
            self.assertEqual(len({e["pid"] for e in done.events}), 1)

    @live.vm_safe
    def test_forks(self):
        """A child does not have its parent's spans, and ends none of them."""
        for lane in LANES:
            done = self.announce(f"{lane} begin a", f"fork {lane} end a;{lane} begin b;die 11", f"{lane} end a")
            self.assertEqual(self.said(done),
                             [("begin", "a", None, None), ("end", "a", "inherited", None), ("begin", "b", None, None),
                              ("process-exited", "b", None, 11), ("end", "a", None, None)], lane)
            pids = [e["pid"] for e in done.events]
            self.assertEqual([pids[0] == p for p in pids], [True, False, False, False, True])

    def test_open_at_the_end(self):
        target = self.user()
        trace = self.trace("-p", target.pid, "e:*")
        for command in ("h begin a", "p begin b id=3", "thread h begin c id=1"):
            target.do(command)
        self.assertEqual(trace.interrupt(), 0)
        self.assertEqual([l.split()[3:5] for l in trace.stdout[1:]], [["a", "begin"], ["b", "begin"], ["c", "begin"],
                                                                     ["c", "open"], ["b", "open"], ["a", "open"]])
        self.assertRegex(trace.stdout[5], f"open for {TIME} id=3$")
        self.assertRegex("\n".join(trace.stderr), "(?m)^usertrace: spans: 3 still open$")

    def test_requests_and_spans_that_something_else_closed(self):
        done = self.announce("h begin a", "h begin b", "exit 1", requests=("e:b", 'e:a (kind == "end")'), status=1)
        self.assertEqual([(live.word(e), e["name"]) for e in done.events], [("begin", "b"), ("process-exited", "b")])


@live.needs_root()
class Families(announce.Case):
    def test_children_of_a_command(self):
        script = f'{announce.USER} "p mark one"; {announce.USER} "h mark two" & wait'
        done = self.announce("-c", script, program="/bin/sh")
        self.assertEqual([e["name"] for e in done.events], ["one", "two"])
        done = self.announce("-c", script, program="/bin/sh", options=("--no-follow",))
        self.assertEqual(done.events, [])

    def test_children_of_a_process(self):
        for follow in (False, True):
            target = self.user()
            trace = self.trace("-p", target.pid, "--json", *(["-f"] if follow else []), "e:*")
            target.do("fork p mark child")
            target.do("fork h mark child")
            target.do("h mark parent")
            self.assertEqual(trace.interrupt(), 0)
            self.assertEqual([e["name"] for e in trace.objects()], ["child"] * (2 * follow) + ["parent"])

    @live.vm_safe
    def test_events_of_the_parent(self):
        """As `usertrace emit` sends them: what one child begins another one ends."""
        done = self.announce("fork p 0x41 s", "fork p 0x42 s", "p mark me")
        self.assertEqual([(live.word(e), e["name"], "duration_ns" in e) for e in done.events],
                         [("begin", "s", False), ("end", "s", True), ("mark", "me", False)])
        self.assertEqual({e["pid"] for e in done.events}, {done.events[2]["pid"]})

    def test_parents_that_nobody_saw_fork(self):
        """The children were there before; their parent is asked for."""
        folder = self.tempdir()
        for name in "ab":
            os.mkfifo(os.path.join(folder, name))
        parent = self.start("/bin/sh", "-c", f'{announce.USER} < "$1/a" & {announce.USER} < "$1/b" & wait', "sh", folder)
        pipes = [os.open(os.path.join(folder, name), os.O_RDWR) for name in "ab"]
        parent.wait_for_lines(2)
        trace = self.trace("-a", "--json", "e:s")
        for i, (pipe, what) in enumerate(zip(pipes, ("0x41", "0x42"))):
            os.write(pipe, f"p {what} s\n".encode())
            trace.wait_for_lines(i + 1)
        self.assertEqual(trace.interrupt(), 0)
        for pipe in pipes:
            os.close(pipe)
        spans = trace.objects()
        self.assertEqual([(live.word(e), e["pid"]) for e in spans], [("begin", parent.pid), ("end", parent.pid)])
        self.assertIn("duration_ns", spans[1])


if __name__ == "__main__":
    unittest.main()
