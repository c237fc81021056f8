# SPDX-License-Identifier: MIT
"""User events from C programs, in both lanes: every operation, every name, every way to ask for them."""
import os
import unittest

import announce
import live
import seccomp
from announce import LANES, short

PR_USER_TRACE = 0x55545243
LETTERS = "abcdefghijklmnopqrstuvwxyz" * 160


@live.vm_safe
@live.needs_root()
class Lanes(announce.Case):
    def test_every_operation(self):
        commands, expected = [], []
        for lane in LANES:
            for kind in ("begin", "end", "mark", "count"):
                for more, value, id, text in (("", 0, None, None), ("value=-9223372036854775808", -1 << 63, None, None),
                                              ("value=7 id=18446744073709551615", 7, (1 << 64) - 1, None),
                                              ("value=-1 text=hello", -1, None, "hello"), ("id=0", 0, 0, None)):
                    commands.append(f"{lane} {kind} {lane}{kind} {more}")
                    expected.append((kind, lane + kind, value, id, text))
        commands.append("h mark both id=3 text=t")     # which a system call has no room for
        expected.append(("mark", "both", 0, 3, "t"))
        seen = self.announce(*commands, "exit 0").events
        closed = ("process-exited",)
        self.assertEqual([short(e) for e in seen if live.word(e) not in closed], expected)

    @live.host_only
    def test_operations_that_do_not_exist(self):
        wrong = ["h 0 x", "p 0 x", "h 5 x", "p 5 x", "h 15 x", "p 0x101 x", "h 0x81 x", "h 0x80000001 x", "p 0x10 x",
                 "h 0xffffffff x"]
        done = self.announce(*wrong, "p mark good")
        self.assertEqual([short(e)[:2] for e in done.events], [("mark", "good")])
        self.assertRegex(done.told,
                         rf"(?m)^usertrace: {len(wrong)} user events of an unknown kind ignored$")

    def test_strings(self):
        done = self.announce("string entry: gc", "string exit:gc", "string entry:\tgc", "string exit: \t gc",
                             "string entry:",
                             "string exit:", "string entry", "string a word", "string Entry: x", "string %empty",
                             "string %bad", "string %len:400", "string entry: %x", "string %far:1")
        self.assertEqual([short(e)[:2] for e in done.events if live.word(e) != "process-exited"],
                         [("begin", "gc"), ("end", "gc"), ("begin", "gc"), ("end", "gc"), ("begin", ""), ("end", ""),
                          ("mark", "entry"), ("mark", "a word"), ("mark", "Entry: x"), ("mark", ""),
                          ("mark", {"error": "fault", "address": "0x10000"}),
                          ("mark", {"text": LETTERS[:127], "truncated": "limit", "limit": 127}), ("begin", "%x"),
                          ("mark", "far-1")])

    def test_names_and_texts(self):
        fault = {"error": "fault", "address": "0x10000"}
        far_fault = {"error": "fault", "address": "0xffffffff81000000"}
        cases = [("%null", None, None), ("%bad", fault, fault), ("%empty", "", ""),
                 ("%kernel", far_fault, far_fault),
                 ("%hex:1b5b324a0a0d09", "\x1b[2J\n\r\t", "\x1b[2J\n\r\t"),
                 ("%hex:c3a9fffe41", "é\ufffd\ufffdA", "é\ufffd\ufffdA"),
                 ("%span:3:40", "x" * 40, "x" * 40), ("%span:1:1", "x", "x")]
        for n in (1, 7, 8, 31, 32, 33, 126, 127, 128, 4000):
            cut = {"text": LETTERS[:127], "truncated": "limit", "limit": 127}
            cases.append((f"%len:{n}", LETTERS[:n] if n < 128 else cut, None))
        for n in (0, 1, 127, 128, 254, 255, 256, 4000):
            cut = {"text": LETTERS[:255], "truncated": "limit", "limit": 255}
            cases.append((f"%len:{n}", None, LETTERS[:n] if n < 256 else cut))
        commands, expected = [], []
        for lane in LANES:
            for spec, name, text in cases:
                if name is not None or spec == "%null":
                    commands.append(f"{lane} mark {spec}")
                    expected.append((lane, spec, name))
                if text is not None or spec == "%null":
                    commands.append(f"{lane} mark t text={spec}")
                    expected.append((lane, spec, text))
        seen = [(e["text"] if "text" in e else e["name"]) for e in self.announce(*commands).events]
        self.assertEqual([(*e[:2], s) for e, s in zip(expected, seen)], expected)
        self.assertEqual(len(seen), len(expected))

    @live.host_only
    def test_the_same_in_text(self):
        done = self.announce("h mark %null", "p mark %bad", "h mark %empty", "p mark %len:128",
                             "h mark %hex:1b0a5cff41",
                             "h mark t text=%null", "p mark t text=%empty", "h mark t text=%len:256", "h begin (null)",
                             "h count c value=-5 id=9", "p mark m value=5", text=True)
        self.assertEqual(done.lines[:11],
                         [["(null)", "mark"], ["<fault", "0x10000>  mark"], ['""', "mark"],
                          [LETTERS[:127] + "…[cut", "at 127] mark"], ["\\x1b\\n\\\\\\xffA", "mark"],
                          ["t", "mark (null)"],
                          ["t", 'mark ""'], ["t", f'mark "{LETTERS[:255]}"…[cut at 255]'], ['"(null)"', "begin"],
                          ["c", "count -5 id=9"], ["m", "mark value=5"]])
        self.assertEqual(done.lines[11][0], '"(null)"')
        self.assertRegex(done.lines[11][1], r"^process exited after .*: exit status 0$")

    def test_running_into_memory_that_is_not_there(self):
        """What can be read of it is, while the process is there."""
        target = self.user()
        trace = self.trace("-p", target.pid, "--json", "e:*")
        names = ("%edge:9", "t text=%edge:9", "%edge:0", "%edge:200")
        commands = [f"{lane} mark {name}" for lane in LANES for name in names]
        for i, command in enumerate(commands):
            target.do(command)
            trace.wait_for_lines(i + 1)
        self.assertEqual(trace.interrupt(), 0)
        seen = [e.get("text", e["name"]) for e in trace.objects()]
        part = {"text": "x" * 9, "truncated": "fault"}
        self.assertEqual([[s[0], s[1], s[2].get("error"), s[3]] for s in (seen[:4], seen[4:])],
                         [[part, part, "fault", {"text": "x" * 127, "truncated": "limit", "limit": 127}]] * 2)

    def test_pages_that_nobody_touched(self):
        """Constants of a file, which the kernel has not mapped yet."""
        for program in ("user", "user-static", "user-stripped"):
            commands = [f"{lane} mark {k}:{i}" for k in ("%far", "%farspan") for i, lane in enumerate(LANES)]
            commands += [f"{lane} mark t text=%far:{i + 2}" for i, lane in enumerate(LANES)]
            done = self.announce(*commands, program=os.path.join(live.TARGETS, program))
            self.assertEqual([e.get("text", e["name"]) for e in done.events],
                             ["far-0", "far-1", "span-0-of-two-pages", "span-1-of-two-pages", "far-2", "far-3"],
                             program)

    def test_pages_of_programs_that_are_gone(self):
        """A child shares its parent's file, and may not have touched a page of it when it ends."""
        commands = []
        for lane in LANES:
            commands += [f"fork {lane} mark %far:{i};die 9" for i in range(4)]
            commands += [f"fork {lane} mark t text=%far:{i};exit 0" for i in range(4)]
            commands += [f"fork fork {lane} mark %farspan:0"]
        seen = [e.get("text", e["name"]) for e in self.announce(*commands, "p mark %far:7", "die 9", status=137).events]
        self.assertEqual(seen, ([f"far-{i}" for i in range(4)] * 2 + ["span-0-of-two-pages"]) * 2 + ["far-7"])

    def test_a_page_that_many_events_find_untouched(self):
        """A child is far ahead of who reads the first of its names: its other events have that name all the same."""
        commands = [f"fork many {lane} 3 %far:{i} 5000" for lane in LANES for i in range(8)]
        seen = [e["name"] for e in self.announce(*commands, requests=("e:far-*",)).events]
        self.assertEqual({name: seen.count(name) for name in set(seen)}, {f"far-{i}": 10000 for i in range(8)})

    def test_a_process_that_was_there_and_ends(self):
        for i in range(5):
            target = self.user()
            trace = self.trace("-p", target.pid, "--json", "e:*")
            target.begin("p mark %far:1")
            target.begin("die 9")
            self.assertEqual(trace.wait(), 0)
            self.assertEqual([e["name"] for e in trace.objects()], ["far-1"], i)


@live.needs_root()
class Programs(announce.Case):
    def test_static_and_stripped(self):
        for program in ("user-static", "user-stripped"):
            done = self.announce("h begin gc", "p end gc", program=os.path.join(live.TARGETS, program))
            self.assertEqual([live.word(e) for e in done.events], ["begin", "end"], program)
            self.assertIn("duration_ns", done.events[1])

    @live.vm_safe
    def test_a_library_that_is_loaded(self):
        plug = os.path.join(live.TARGETS, "user_plug.so")
        target = self.user()
        trace = self.trace("-p", target.pid, "--json", "e:*")
        target.do(f"library {plug} user_plug first")     # may come before its site is attached
        trace.wait_for("attached 1 more site", "stderr")
        target.do(f"library {plug} user_plug second")
        target.do("h mark own")
        self.assertEqual(trace.interrupt(), 0)
        self.assertEqual([e["name"] for e in trace.objects()][-2:], ["second", "own"])

    def test_libusertrace(self):
        library = os.path.join(live.BUILD_ROOT, "src/emit/libusertrace.so")
        if not os.path.exists(library):
            self.skipTest("libusertrace.so is not built")
        target = self.user()
        target.do(f"library {library} ut_mark before")
        trace = self.trace("-p", target.pid, "--json", "e:*")
        self.assertEqual(trace.sites, 3)
        target.do(f"library {library} ut_begin span")
        target.do(f"library {library} ut_end span")
        self.assertEqual(trace.interrupt(), 0)
        self.assertEqual([(live.word(e), e["name"]) for e in trace.objects()], [("begin", "span"), ("end", "span")])

    def test_a_filter_that_forbids_prctl(self):
        """It is asked before the tracer is; the header needs no system call."""
        target = self.user(preexec=lambda: seccomp.forbid_prctl(PR_USER_TRACE, seccomp.RET_ERRNO | 1))
        trace = self.trace("-p", target.pid, "--json", "e:*")
        target.do("h mark header")
        target.do("p mark prctl")
        target.do("h mark last")
        self.assertEqual(trace.interrupt(), 0)
        self.assertEqual([e["name"] for e in trace.objects()], ["header", "last"])

    def test_a_running_process(self):
        target = self.user()
        target.do("h begin early")
        trace = self.trace("-p", target.pid, "e:*")
        self.assertEqual((trace.probes, trace.sites), (1, 2))
        for command in ("h end early", "p begin gc", "h end gc", "h begin late id=4"):
            target.do(command)
        self.assertEqual(trace.interrupt(), 0)
        lines = [announce.split(l) for l in trace.stdout[1:]]
        self.assertEqual(lines[:2] + lines[3:4],
                         [["early", "end (began before tracing)"], ["gc", "begin"], ["late", "begin id=4"]])
        self.assertRegex(lines[2][1], "^end [0-9.]+ (ns|µs|ms)$")
        self.assertRegex(" ".join(lines[4]), r"^late open for [0-9.]+ (ns|µs|ms|s) id=4$")

    def test_nobody_listens_any_more(self):
        target = self.user()
        trace = self.trace("-p", target.pid, "e:*", "-M", "2")
        for _ in range(2):
            target.do("h mark x")
        self.assertEqual(trace.wait(), 0)
        target.do("h mark x")
        again = self.trace("-p", target.pid, "e:*")
        target.do("h mark y")
        self.assertEqual(again.interrupt(), 0)
        self.assertEqual([announce.split(l)[0] for l in again.stdout[1:]], ["y"])

    def test_everybody(self):
        """-a alone is e:*, and e:* alone is of everybody; two programs, in the order in which they were told."""
        for how in ("-a",), ("e:turn-*",):
            with self.subTest(how=how):
                self.check_everybody(*how)

    def check_everybody(self, *how):
        one, two = self.user(), self.user(os.path.join(live.TARGETS, "user-static"))
        trace = self.trace(*how, "--json")
        expected = []
        for i in range(4):
            for target, lane in ((one, "h"), (two, "p"), (two, "h"), (one, "p")):
                target.do(f"{lane} count turn-{one.pid} value={len(expected)}")
                expected.append((target.pid, len(expected)))
        self.assertEqual(trace.interrupt(), 0)
        seen = [(e["pid"], e["value"]) for e in trace.objects() if e.get("name") == f"turn-{one.pid}"]
        self.assertEqual(seen, expected)


@live.needs_root()
class Requests(announce.Case):
    def names(self, *args, **kwargs):
        return [e["name"] for e in self.announce(*args, **kwargs).events]

    def by_request(self, commands, requests, field):
        """For each of the requests, what it printed of an event; from one run."""
        numbered = [f'{request} "{i} %s", {field}' for i, request in enumerate(requests)]
        said = [e["message"].split(" ", 1) for e in self.announce(*commands, requests=numbered).events]
        return {request: [text for number, text in said if int(number) == i] for i, request in enumerate(requests)}

    def test_names(self):
        commands = ["h mark gc", "p mark gc:major", "h mark gcx", "p mark x", "h mark %null", "p mark %empty",
                    "h mark %bad",
                    "p mark %hex:672063"]
        expected = {"e:gc": ["gc"], "e:gc*": ["gc", "gc:major", "gcx"], "e:?": ["x"], "e:gc:major": ["gc:major"],
                    'e:""': [""], 'e:"g c"': ["g c"], "e:nothing": [],
                    "e:*": ["gc", "gc:major", "gcx", "x", "(null)", "", "<fault 0x10000>", "g c"]}
        self.assertEqual(self.by_request(commands, expected, "name"), expected)

    def test_a_name_that_nobody_announced(self):
        told = self.announce("h mark heap", "p mark compile", "h mark gc", requests=("e:gcc", "e:nothing", "e:gc")).told
        self.assertIn("no event named gcc; there was gc\n", told + "\n")
        self.assertIn("no event named nothing; there was heap, compile, gc\n", told + "\n")
        self.assertNotIn("no event named gc;", told)
        many = [f"h mark name{i}x" for i in range(20)]
        told = self.announce(*many, requests=("e:zzz", "e:*")).told
        self.assertIn("there was name0x, name1x, name2x, name3x, name4x, and more (e:* shows all)", told)

    def test_predicates(self):
        commands = ["h begin gc value=1", "p end gc value=2", "h count c value=-5 id=7", "p mark m text=hello",
                    "h mark m text=%null", "p mark m", "h mark m text=%empty"]
        expected = {'kind == "begin"': ["begin"], 'kind != "mark"': ["begin", "end", "count"], "value < 0": ["count"],
                    "id == 7": ["count"], 'text == "hello"': ["mark"], "text != NULL": ["mark", "mark"],
                    'text == ""': ["mark"], "duration > 0": ["end"], "duration > 3600s": [],
                    'name == "gc" && value == 2': ["end"], 'comm == "user" && value == 2': ["end"], "pid == 1": [],
                    "tid == pid && cpu >= 0": ["begin", "end", "count"] + ["mark"] * 4}
        seen = self.by_request(commands, [f"e:* ({p})" for p in expected], "kind")
        self.assertEqual({request[5:-1]: kinds for request, kinds in seen.items()}, expected)

    def test_spans_do_not_need_their_begins(self):
        done = self.announce("h begin gc", "h end gc", requests=('e:gc (kind == "end" && duration > 1ns)',))
        self.assertEqual([live.word(e) for e in done.events], ["end"])
        self.assertEqual(done.events[0]["depth"], 1)

    def test_formats(self):
        done = self.announce("h begin gc value=1", "p end gc value=-2", "h count c id=7 text=t", "p mark %bad",
                             "p mark n text=%null",
                             requests=('e:* "%s|%s|%d|%u|%s|", kind, name, value, id, text',), text=True)
        self.assertEqual([l[1] for l in done.lines[:3]],
                         ["begin|gc|1|0|(null)|", "end|gc|-2|0|(null)|", "count|c|0|7|t|"])
        self.assertEqual([l[-1][l[-1].index("mark"):] for l in done.lines[3:5]],
                         ["mark|<fault 0x10000>|0|0|(null)|", "mark|n|0|0|(null)|"])
        done = self.announce("h begin gc", "p end gc", requests=('e:gc (kind == "end") "%d", duration',))
        self.assertEqual(list(done.events[0]["args"]), ["duration"])
        self.assertEqual(done.events[0]["message"], str(done.events[0]["args"]["duration"]))
        self.assertGreater(done.events[0]["args"]["duration"], 0)

    def test_several_requests(self):
        """An event is printed once for each request that means it."""
        done = self.announce("h mark gc value=5", "p mark x",
                             requests=("e:*", "e:gc", "e:g* (value > 5)", 'e:gc "%d", value'))
        self.assertEqual([e.get("name", e.get("message")) for e in done.events], ["gc", "gc", "5", "x"])
        self.assertRegex(done.told, r"(?m)^usertrace: 4 events in ")
        self.assertRegex(done.told, r"(?m)^ +2  e:\*$")
        self.assertNotIn("e:g*", done.told)

    @live.vm_safe
    def test_other_probes_beside(self):
        """One order, whatever the kind of probe."""
        done = self.announce("probe 1", "h mark a", "rename b", "p mark c", "probe 2", "thread h mark d",
                             requests=("u:user:tick", "e:*", 't:task:task_rename (newcomm == "b") "%s", newcomm'))
        self.assertEqual([e.get("name") or e["probe"] for e in done.events],
                         ["user:tick", "a", "task:task_rename", "c", "user:tick", "d"])
        times = [e["time_ns"] for e in done.events]
        self.assertEqual(times, sorted(times))

    def test_one_lane_alone(self):
        self.assertEqual(self.names("h mark a", "p mark b", "h mark c", options=("--no-prctl",)), ["a", "c"])

    def test_limits(self):
        commands = ["many h 3 x 10", "many p 3 x 10"]
        done = self.announce(*commands, options=("-M", "7"))
        self.assertEqual([e["value"] for e in done.events], list(range(7)))
        done = self.announce(*commands, options=("-M", "3"), requests=("e:x", "e:*"))
        self.assertEqual([e["value"] for e in done.events], [0, 0, 1])
        target = self.user()
        trace = self.trace("-p", target.pid, "-d", "300ms", "e:*")
        target.do("h begin x")
        self.assertEqual(trace.wait(), 0)
        self.assertRegex(trace.stdout[-1], r" x +open for [0-9.]+ ms$")

    def test_strict_when_all_came(self):
        self.announce("many h 3 x 100", options=("--strict",))

    def test_without_a_request(self):
        done = self.announce("h mark a", "p mark b", requests=())
        self.assertEqual([e["name"] for e in done.events], ["a", "b"])
        self.assertTrue(all(e["cpu"] in range(os.cpu_count()) for e in done.events))

    def test_older_ways_of_attaching(self):
        self.assertEqual(self.names("h mark a", "p mark b", options=("--one-by-one",)), ["a", "b"])

    def test_a_plan_is_explained(self):
        done = self.usertrace("trace", "--explain", "e:gc", "e:x*", "--", announce.USER)
        self.assertEqual(done.status, 0, done.describe())
        text = "\n".join(done.stdout)
        for part in ("e:gc", "e:x*", "probe_read_user_str", "ringbuf_reserve"):
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
