# SPDX-License-Identifier: MIT
"""What `usertrace trace` prints: values, texts, columns, limits, totals, and what it says about wrong command lines."""
import datetime
import json
import os
import re
import shutil
import subprocess
import time
import unittest

import live
import puppet

ZOO_BUILDS = ["zoo-pie", "zoo-nopie", "zoo-static", "zoo-stripped", "zoo-gz"]
HEADING = "PID     TID     COMM            FUNC             -"
UNREADABLE = "<unreadable>"
# What the program gives to the probe zoo:str in each round, as it has to be printed.
ZOO_TEXTS = ["hello", "", "(null)", "<fault 0x10>", r"tab\there\x1b[31mred\x1b[0m\nline2", r"\xff\xfe bad utf8",
             "été 日", "%s%n%d", "b" * 1024 + "…[cut at 1024]", "AAAAAA<fault>"]


def target(name):
    return os.path.join(live.TARGETS, name)


def zoo_round(i):
    """The events of one round, in order."""
    arr = (10, -20, 30, -40)
    return [("konst", "5 -5"), ("bytes", "-3 253"), ("i32", "-1 4294967295"), ("sib", str(arr[i & 3])),
            ("glob", "-7 0xfedcba9876543210"), *(("str", text) for text in ZOO_TEXTS), ("ptrlen", "no"), ("none", ""),
            ("stack", str(2 * i)), ("multi", str(i)), ("multi", "99"), ("dbl", UNREADABLE), ("dblold", UNREADABLE),
            ("dblnat", "2.5 -0.5")]


def zoo_probes(path):
    plain = ["konst", "bytes", "i32", "sib", "glob", "none", "stack", "multi", "dbl", "dblold", "dblnat"]
    return [f"u:{path}:{name}" for name in plain] + [f'u:{path}:str "%s"', f'u:{path}:ptrlen "%.*s", arg2, arg1']


@live.needs_root()
class Zoo(puppet.Case):
    def check(self, builds, rounds):
        """All builds at once, as each round takes its time."""
        if not all(os.path.exists(target(b)) for b in builds):
            self.skipTest("the programs are not built")
        traces = {b: self.trace(*zoo_probes(target(b)), "--", target(b), str(rounds), attached=False) for b in builds}
        expected = [event for i in range(rounds) for event in zoo_round(i)]
        for build, trace in traces.items():
            with self.subTest(build=build):
                self.assertEqual(trace.wait(), 0, trace.describe())
                seen = puppet.seen_events(trace)
                # Where the compiler keeps constants decides whether they can be read; a number that is there is right.
                seen = [(n, "2.5 -0.5" if n == "dblnat" and UNREADABLE in v else v) for n, v in seen]
                if build == "zoo-stripped":    # the operands are names, and the names are gone
                    self.assertEqual([v for n, v in seen if n == "glob"], [f"{UNREADABLE} {UNREADABLE}"] * rounds)
                    seen = [(n, "-7 0xfedcba9876543210" if n == "glob" else v) for n, v in seen]
                self.assertEqual(seen, expected)
                self.assertEqual(trace.wait_attached(), (13, 14))

    def test_one_build(self):
        self.check(["zoo-pie"], 1)

    def test_all_builds(self):
        self.check(ZOO_BUILDS, 4)

    def test_unreadable_arguments(self):
        trace = self.trace_command(f"u:{target('zoo-pie')}:dbl", "--", target("zoo-pie"), "1")
        self.assertEqual(trace.seen, [("dbl", UNREADABLE)])
        notes = [l for l in trace.stderr if "note:" in l]
        self.assertEqual(len(notes), 1)
        self.assertRegex(notes[0], r"arg1 of zoo:dbl cannot be read because it is in %xmm0")

    def test_an_argument_of_several_kinds(self):
        """It prints by one type; what is of another kind at a site is no number there."""
        trace = self.trace_command(f"u:{target('mixed')}:value", "--", target("mixed"))
        self.assertEqual(trace.seen, [("value", "2.5 1"), ("value", f"{UNREADABLE} 2"), ("value", f"{UNREADABLE} 3")],
                         trace.describe())
        trace = self.trace_command("--json", f"u:{target('mixed')}:value", "--", target("mixed"))
        reasons = [json.loads(line)["args"]["arg1"].get("reason", "") for line in trace.stdout[1:]]
        self.assertEqual(reasons, ["is an integer here and a double at other sites of the probe",
                                   "is a float here and a double at other sites of the probe"])

    def test_wrong_notes_spoil_nothing_else(self):
        path = target("broken")
        trace = self.trace_command(f"u:{path}:*", "--", path)
        self.assertEqual(trace.said, [("fine", "42")])
        self.assertEqual(trace.seen, [("operand", f"{UNREADABLE} 5"), ("fine", "42")])
        notes = "\n".join(trace.stderr)
        self.assertRegex(notes, "arg1 of broken:operand cannot be read because it names %zzz")
        self.assertRegex(notes, "broken:nowhere in .* is skipped: its address is outside")
        self.assertRegex(notes, "broken:middle in .* is skipped: the instruction there is not a nop")


# Rows of tests/cases/printf/formats.tsv: the probe that has such an argument, how the format goes on, what is printed.
# %s rows that have the zoo's texts for arguments are in ZOO_TEXTS.
ZOO_FORMATS = {
    ("%d", "4@ 0xffffffff (unsigned)"): ("i32", ", arg2", "4294967295"),
    ("%d", "8@ 18446744073709551615"): ("glob", ", arg2 | ~arg2", "18446744073709551615"),
    ("%u", "-4@ -1"): ("i32", ", arg1", "4294967295"),
    ("%d", "-1@ -3"): ("bytes", ", arg1", "-3"),
    ("%x", "-4@ -1"): ("i32", ", arg1", "ffffffff"),
    ("%02x", "1@ 2"): ("bytes", ", (u8)(arg2 - 251)", "02"),
    ("%f", "8f@ 2.5"): ("dblnat", ", arg1", "2.500000"),
    ("%d", "probe with three arguments"): ("konst", ", arg1", "5"),
    ("%%", "none"): ("none", "", "%"),
}
PUPPET_FORMATS = {
    ("%-10s|", '"ab"'): ("text ab", "ab        |"),
    ("%.3s", '"abcdef"'): ("text abcdef", "abc"),
    ("%s", "address in a page not yet touched"): ("page {file}", "first page"),
}
ZOO_TEXT_ROWS = {
    "NULL": "(null)", "pointer 0x10": "<fault 0x10>", "6 bytes and then an unmapped page": "AAAAAA<fault>",
    "empty string": "",
    "5000 bytes": ZOO_TEXTS[8], "bytes ff fe": ZOO_TEXTS[5], "ESC [ 3 1 m": ZOO_TEXTS[4],
    "line feed inside": ZOO_TEXTS[4],
    '"%s%n%d"': "%s%n%d",
}
REFUSED = {
    ("%s", "-4@ 7 (an int)"): ('i32 "%s", arg1', "%s needs the address of a string, but arg1 is int32"),
    ("%d %d", "probe with one argument"): ('stack "%d %d"', "has 1 argument, but the format needs 2"),
    ("%q", "any"): ('str "%q"', "unknown conversion"),
    ("%", "any"): ('str "%"', "the format ends in the middle"),
    ("%n", "any"): ('str "%n"', "%n would write to the program"),
    ("%*d", "any"): ('str "%*d"', "a width from an argument"),
}
ELSEWHERE = {("%s with %d length pair", '"no-terminator-here", 2'), ("%K", "kernel stack")}


@live.needs_root()
class Formats(puppet.Case):
    def test_every_row_has_a_case(self):
        path = os.path.join(live.SOURCE_ROOT, "tests/cases/printf/formats.tsv")
        with open(path, encoding="utf-8") as file:
            rows = [tuple(line.rstrip("\n").split("\t")[:2]) for line in file if not line.startswith("#")]
        known = {*ZOO_FORMATS, *PUPPET_FORMATS, *REFUSED, *ELSEWHERE, *(("%s", arg) for arg in ZOO_TEXT_ROWS)}
        self.assertEqual(set(rows), known)
        self.assertTrue(set(ZOO_TEXT_ROWS.values()) <= set(ZOO_TEXTS))    # which Zoo compares

    def test_numbers(self):
        path = target("zoo-pie")
        labels = {f"{probe} {n}": row for n, row in enumerate(ZOO_FORMATS) for probe in [ZOO_FORMATS[row][0]]}
        probes = []
        for label, row in labels.items():
            probe, number = label.split()
            probes.append(f'u:{path}:{probe} "{number}<{row[0]}>"{ZOO_FORMATS[row][1]}')
        trace = self.trace_command(*probes, "--", path, "1")
        printed = {f"{name} {message.split('<')[0]}": message.partition("<")[2][:-1] for name, message in trace.seen}
        self.assertEqual(printed, {label: ZOO_FORMATS[row][2] for label, row in labels.items()})

    @live.vm_safe
    def test_texts(self):
        file = os.path.join(self.tempdir(), "page")
        with open(file, "w") as out:
            out.write("first page")
        for (fmt, _), (command, expected) in PUPPET_FORMATS.items():
            with self.subTest(format=fmt):
                trace = self.trace_command(f'u:{puppet.PUPPET}:text "{fmt}", arg1', "--",
                                           puppet.PUPPET, command.format(file=file))
                self.assertEqual(trace.seen, [("text", expected)])

    def test_refused(self):
        for probe, sentence in REFUSED.values():
            with self.subTest(probe=probe):
                done = self.usertrace("trace", f"u:{target('zoo-pie')}:{probe}", "--", "true")
                self.assertEqual((done.status, done.stdout), (2, []))
                self.assertIn(sentence, done.stderr[0])


@live.needs_root()
class Columns(puppet.Case):
    def begin(self, *args, probe="u:puppet:tick"):
        self.target = self.puppet()
        return self.trace("-p", self.target.pid, *args, probe)

    def test_heading_is_there_before_the_first_event(self):
        trace = self.begin()
        self.assertEqual(trace.wait_for_lines(1), [HEADING])
        self.assertEqual((trace.probes, trace.sites), (1, 1))
        pid = self.target.pid
        self.target.do("tick 1")
        self.assertEqual(trace.wait_for_lines(2)[1], f"{pid:<7} {pid:<7} {'puppet':<15} {'tick':<16} 0")

    def test_a_line_shows_at_once(self):
        trace = self.begin()
        waited = []
        for i in range(5):
            start = time.monotonic()
            self.target.do("tick 1")
            trace.wait_for_lines(2 + i)
            waited.append(time.monotonic() - start)
        # The best of some: the machine may be busy, but what is always late is late by design.
        self.assertLess(min(waited), 0.2 if not os.environ.get("UT_VM") else 1)

    def test_the_last_line_of_a_burst_shows(self):
        """Also when one round of the tracer has read it and only the next, which reads nothing, knows its order."""
        trace = self.begin()
        os.sched_setaffinity(self.target.pid, {max(os.sched_getaffinity(0))})
        for i in range(1, 61):
            self.target.do("burst 30")
            trace.wait_for_lines(1 + 30 * i, timeout=5)

    def test_totals(self):
        trace = self.begin(probe="u:puppet:*")
        self.target.do("tick 5")
        self.target.do("forks 1")    # not followed
        self.target.do("text x")
        self.assertEqual(len(puppet.finish(trace)), 6)
        first = next(i for i, line in enumerate(trace.stderr) if re.match(r"usertrace: \d+ events? in ", line))
        totals = trace.stderr[first:]
        self.assertRegex(totals[0], r"^usertrace: 6 events in \S+ \S+ \(\d+/s\), 0 lost$")
        self.assertEqual(sorted(l.split() for l in totals[1:]), [["1", "puppet:text"], ["5", "puppet:tick"]])

    def test_max_events(self):
        trace = self.begin("-M", "3")
        expected = self.target.do("tick 5")[:3]
        self.assertEqual(trace.wait(), 0)
        self.assertEqual(puppet.seen_events(trace), expected)

    def test_duration(self):
        start = time.monotonic()
        trace = self.begin("-d", "300ms")
        expected = self.target.do("tick 2")
        self.assertEqual(trace.wait(), 0)
        self.assertGreaterEqual(time.monotonic() - start, 0.3)
        self.assertEqual(puppet.seen_events(trace), expected)

    def test_time_of_day(self):
        trace = self.begin("-T")
        before = datetime.datetime.now()
        self.target.do("tick 1")
        line = trace.wait_for_lines(2)[1]
        after = datetime.datetime.now()
        self.assertTrue(trace.stdout[0].startswith("TIME "))
        clock = datetime.datetime.strptime(line.split()[0], "%H:%M:%S.%f").time()
        stamp = datetime.datetime.combine(before.date(), clock)
        if before.date() == after.date():
            slack = datetime.timedelta(milliseconds=2)
            self.assertTrue(before - slack <= stamp <= after + slack, (before, stamp, after))

    def test_seconds_since_the_start(self):
        start = time.monotonic()
        trace = self.begin("-t")
        self.target.do("tick 20")
        self.assertEqual(trace.interrupt(), 0)
        limit = time.monotonic() - start
        self.assertTrue(trace.stdout[0].startswith("SECONDS "))
        times = [float(l.split()[0]) for l in trace.stdout[1:]]
        self.assertEqual((len(times), times), (20, sorted(times)))
        self.assertTrue(0 <= times[0] and times[-1] <= limit)

    def test_cpu(self):
        cpu = max(os.sched_getaffinity(0))
        trace = self.begin("-C")
        os.sched_setaffinity(self.target.pid, {cpu})
        self.target.do("tick 3")
        self.assertEqual(trace.interrupt(), 0)
        self.assertEqual(trace.stdout[0].split()[0], "CPU")
        self.assertEqual([l.split()[0] for l in trace.stdout[1:]], [str(cpu)] * 3)

    def test_output_file(self):
        path = os.path.join(self.tempdir(), "out")
        with open(path, "w") as file:
            file.write("old\n" * 1000)
        trace = self.begin("-o", path)
        self.target.do("tick 2")
        self.assertEqual(trace.interrupt(), 0)
        self.assertEqual(trace.stdout, [])
        with open(path) as file:
            lines = file.read().splitlines()
        self.assertEqual((lines[0], [l.split()[-1] for l in lines[1:]]), (HEADING, ["0", "1"]))

    def test_string_size(self):
        trace = self.begin("-S", "10", probe='u:puppet:text "%s|"')
        self.target.do("text 0123456789")
        self.target.do("text 0123456789a")
        self.target.do("text ")
        self.assertEqual([m for _, m in puppet.finish(trace)], ["0123456789|", "0123456789…[cut at 10]|", "|"])

    def test_predicate_on_comm(self):
        trace = self.begin(probe='u:puppet:tick (comm == "beta") "%d", arg1')
        self.target.do("name alpha")
        self.target.do("tick 2")
        self.target.do("name beta")
        expected = self.target.do("tick 2")
        self.target.do("name betamax")
        self.target.do("tick 2")
        self.assertEqual(puppet.finish(trace), expected)

    @live.vm_safe
    def test_text_in_a_predicate(self):
        trace = self.begin(probe='u:puppet:text (arg1 == "stop" || arg2 > 5) "%s", arg1')
        expected = []
        for text, matches in (("stop", True), ("stops", False), ("sto", False), ("longer", True), ("", False)):
            announced = self.target.do(f"text {text}")
            expected += announced if matches else []
        self.assertEqual(puppet.finish(trace), expected)


@live.needs_root()
class Json(puppet.Case):
    def test_members(self):
        tick = self.puppet()
        trace = self.trace("-p", tick.pid, "--json", "u:puppet:tick", 'u:puppet:text "%s", arg1')
        before = time.monotonic_ns()
        tick.do("tick 1")
        tick.do('text say "x"\\ \x1b')
        tick.do("text ")
        after = time.monotonic_ns()
        self.assertEqual(trace.interrupt(), 0)
        first, text, empty = trace.objects()
        self.assertEqual({k: first[k] for k in ("pid", "tid", "comm", "probe", "args")},
                         {"pid": tick.pid, "tid": tick.pid, "comm": "puppet", "probe": "puppet:tick",
                          "args": {"arg1": 0}})
        self.assertTrue(before <= first["time_ns"] <= text["time_ns"] <= empty["time_ns"] <= after)
        self.assertAlmostEqual(first["wall_ns"] - first["time_ns"], time.time_ns() - time.monotonic_ns(), delta=1e9)
        self.assertEqual(text["args"]["arg1"], 'say "x"\\ \x1b')
        self.assertEqual(empty["args"]["arg1"], "")

    def test_texts_of_the_zoo(self):
        path = target("zoo-pie")
        trace = self.trace_command("--json", f'u:{path}:str "%s"', f"u:{path}:dbl", f"u:{path}:glob", "--", path, "1")
        args = [list(o["args"].values()) for o in trace.objects()]
        self.assertEqual(args[0], [-7, 0xfedcba9876543210])
        self.assertEqual([a[0] for a in args[1:-1]], [
            "hello", "", None, {"error": "fault", "address": "0x10"}, "tab\there\x1b[31mred\x1b[0m\nline2",
            "\ufffd\ufffd bad utf8", "été 日", "%s%n%d", {"text": "b" * 1024, "truncated": "limit", "limit": 1024},
            {"text": "AAAAAA", "truncated": "fault"}])
        self.assertEqual(args[-1][0]["error"], "unreadable")
        for line, found in zip(trace.stdout, trace.objects()):    # nothing is said twice or in another way
            self.assertEqual(line, json.dumps(found, ensure_ascii=False, separators=(",", ":")))


@live.needs_root()
@live.vm_safe
class Stacks(puppet.Case):
    def test_user_stack_in_text(self):
        trace = self.trace_command(f'p:{puppet.PUPPET}:spin "%d%U", arg1', "--", puppet.PUPPET, "spins 1000")
        lines = trace.stdout[1:]
        heads = [i for i, line in enumerate(lines) if not line.startswith(" ")]
        self.assertEqual([lines[i].split()[3:] for i in heads], [["spin", "1000"]] * 2)
        stack = lines[1:heads[1]]
        self.assertTrue(all(l.startswith(8 * " ") and l[8] != " " for l in stack), stack)
        names = [l.split()[0] for l in stack]
        self.assertTrue(names[0].startswith("spin"), stack)
        self.assertTrue(any(n.startswith("outer") for n in names), stack)
        self.assertFalse(any(n.startswith("main") for n in names[:1]), stack)

    def test_kernel_stack_in_json_is_one_line(self):
        trace = self.trace_command("--json", f'u:{puppet.PUPPET}:tick "%d%K%U", arg1', "--", puppet.PUPPET, "tick 2")
        self.assertEqual(len(trace.objects()), 2)
        for o in trace.objects():
            stacks = [v for v in [*o["args"].values(), *o.values()] if isinstance(v, list)]
            self.assertEqual(len(stacks), 2)
            self.assertTrue(all(isinstance(f, str) for stack in stacks for f in stack))
            self.assertTrue(any("fire_tick" in f for stack in stacks for f in stack))


@live.needs_root()
class Pipes(puppet.Case):
    def test_a_reader_that_has_seen_enough(self):
        target = self.puppet()
        read, write = os.pipe()
        trace = self.trace("-p", target.pid, "u:puppet:tick", stdout=write)
        os.close(write)
        with os.fdopen(read) as pipe:
            self.assertEqual(pipe.readline().rstrip("\n"), HEADING)
        target.do("tick 3")
        self.assertEqual(trace.wait(), 0)
        self.assertEqual(len(trace.stderr), 1, trace.stderr)    # «attached», nothing else

    def test_head(self):
        target = self.puppet()
        head = self.start("head", "-n", "2", stdin=subprocess.PIPE)
        trace = self.trace("-p", target.pid, "u:puppet:tick", stdout=head.popen.stdin)
        head.popen.stdin.close()
        target.do("tick 1")
        self.assertEqual(head.wait(), 0)
        self.assertEqual((len(head.stdout), head.stdout[0]), (2, HEADING))
        target.do("tick 1")
        self.assertEqual(trace.wait(), 0)
        self.assertEqual(len(trace.stderr), 1, trace.stderr)


    def test_that_does_not_block(self):
        """Who shares a pipe with us may have made it so: a full one is waited for."""
        target = self.puppet()
        read, write = os.pipe()
        os.set_blocking(write, False)
        trace = self.trace("-p", target.pid, "-M", "20000", "u:puppet:tick", stdout=write)
        os.close(write)
        target.do("burst 20000")
        with os.fdopen(read) as pipe:
            lines = pipe.read().splitlines()
        self.assertEqual((trace.wait(), len(lines)), (0, 20001))


@live.needs_root()
class ForeignNames(puppet.Case):
    def test_cannot_reach_the_terminal(self):
        """A provider whose name would clear the screen, in the totals and in sentences."""
        path = os.path.join(self.tempdir(), "app")
        with open(puppet.PUPPET, "rb") as file:
            bytes_there = file.read()
        with open(path, "wb") as file:
            file.write(bytes_there.replace(b"puppet\0tick\0", b"\x1b[2Jpp\0tick\0"))
        os.chmod(path, 0o755)
        one = self.puppet(path)
        trace = self.trace("-p", one.pid, f"u:{path}:tick")
        expected = one.do("tick 1")
        self.assertEqual(puppet.finish(trace), expected)
        wrong = self.usertrace("trace", "-p", str(one.pid), f"u:{path}:tick (arg9 > 1)")
        self.assertEqual(wrong.status, 2)
        said = "\n".join(trace.stdout + trace.stderr + wrong.stderr)
        self.assertIn(r"\x1b[2Jpp:tick", "\n".join(trace.stderr))
        self.assertNotIn("\x1b", said)


class Explain(puppet.Case):
    def explain(self, *args, **kwargs):
        done = self.start(self.program, "trace", "--explain", *args, **kwargs)
        done.wait()
        return done

    def setUp(self):
        """A copy that everybody may run, and a target that everybody may read."""
        folder = self.tempdir()
        os.chmod(folder, 0o755)
        self.program, self.zoo = (shutil.copy(f, folder) for f in (live.USERTRACE, target("zoo-pie")))

    def test_without_rights(self):
        drop = (lambda: os.setuid(65534)) if os.geteuid() == 0 else None
        done = self.explain(f'u:{self.zoo}:str (pid > 1) "%s"', f"p:{self.zoo}:main", preexec=drop)
        self.assertEqual(done.status, 0, done.describe())
        text = "\n".join(done.stdout)
        self.assertIn("zoo:str", text)
        self.assertRegex(text, r"(?m)^\s*\d+: ")        # instructions
        self.assertFalse(any("attached" in l for l in done.stderr))

    def test_wrong_input_is_found_without_rights(self):
        drop = (lambda: os.setuid(65534)) if os.geteuid() == 0 else None
        done = self.explain(f"u:{self.zoo}:str (arg2 == 1)", preexec=drop)
        self.assertEqual((done.status, done.stdout), (2, []))
        self.assertRegex(done.stderr[0], "zoo:str has no arg2")

    def test_without_rights_nothing_is_traced(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to give it up")
        done = self.start(self.program, "trace", f"u:{self.zoo}:str", "--", self.zoo, "1",
                          preexec=lambda: os.setuid(65534))
        self.assertEqual(done.wait(), 1)
        self.assertRegex(done.stderr[-1], "^usertrace trace: .*root")
        self.assertFalse(any(l.startswith("pid") for l in done.stderr), "the command ran")


# Command lines that are wrong, with what the sentence must hold. ZOO is a program with probes, PID one that runs.
ZOO = f"u:{target('zoo-pie')}:str"
PATH = target("zoo-pie")
WRONG = [
    ([], "no probe given"),
    (["-p", "abc", ZOO], "'abc' is not a process id"),
    (["-p", "-5", ZOO], "'-5' is not a process id"),
    (["-p", "0", ZOO], "'0' is not a process id"),
    (["-p", "1,,2", ZOO], "'' is not a process id"),
    (["-p", "99999999999", ZOO], "'99999999999' is not a process id"),
    (["-p", "PID", "-a", ZOO], "-p and -a"),
    (["-a", ZOO, "--", "true"], "-a and a command after '--'"),
    (["--bogus", ZOO], "unknown option --bogus"),
    (["-M", "x", ZOO], "'x' is not an integer"),
    (["-M"], "requires a value"),
    (["-d", "soon", ZOO], "'soon' is not a time"),
    (["-d", "-1", ZOO], "'-1' is not a time"),
    (["-S", "0", ZOO], "1 to 4096"),
    (["-S", "5000", ZOO], "1 to 4096"),
    (["--buffer", "3000", ZOO], "power of two"),
    (["--follow", ZOO], "--follow requires a process"),
    (["--follow", "--no-follow", "-p", "PID", ZOO], "mutually exclusive"),
    ([ZOO, "--"], "missing command after '--'"),
    ([""], "the probe is empty"),
    (["u"], "KIND:WHERE:NAME"),
    (["malloc"], "KIND:WHERE:NAME"),
    (["u:/no/such/file:x"], "cannot open '/no/such/file'"),
    (["u:/etc/passwd:x"], "'/etc/passwd': not an ELF program"),
    (["u:/etc:x"], "'/etc' is not a regular file"),
    (["u:/dev/zero:x"], "'/dev/zero' is not a regular file"),
    ([f"u:{PATH}:st"], "there are zoo:str"),
    ([f"u:{PATH}:str (arg9 == 1)"], "zoo:str has no arg9; it has 1 argument"),
    ([f"u:{PATH}:str (arg1 ==)"], "a value is missing"),
    ([f"u:{PATH}:str arg1 arg2"], "an operator or ','"),
    ([f"u:{PATH}:str ((((("], "ends too early"),
    ([f"u:{PATH}:str (comm == 1)"], "a string can only be compared"),
    ([f"u:{PATH}:dbl (arg1 == 2)"], "cannot be read because it is in %xmm0"),
    ([f"u:{target('broken')}:middle"], "is not a nop"),
    ([f"u:{target('broken')}:nowhere"], "outside any executable segment"),
    ([f"u:{target('tiny-32')}:one"], "32-bit x86 program; only 64-bit"),
    ([f"p:{PATH}:ma"], "there is main"),
    ([f"r:{PATH}:main+4"], "takes no offset"),
    ([f"p:{PATH}:0x999999999"], "is not in the code"),
    ([f"p:{PATH}:main (duration > 1)"], "use an r: probe"),
    (["t:sched"], "the event is missing"),
    (["t:sched:nosuch"], "no kernel tracepoint"),
    (["t:nosuch:x"], "no kernel tracepoints of category"),
    (["t:sched:sched_switch (nofield == 1)"], "prev_comm"),
    (["u:nosuchprovider:x"], "no probe nosuchprovider:x"),
    (["p:nosuchlib:f"], "no function nosuchlib:f"),
    (["-p", "PID", "u:nosuch:x"], "no probe nosuch:x in process"),
    ([ZOO, f"u:{PATH}:nosuch"], "no probe nosuch"),
    (["u:" + 100000 * "x"], "too long"),
    (["u:\xff\xfe:x\x1b"], ""),
]


@live.needs_root()
class WrongCommandLines(puppet.Case):
    def test_table(self):
        pid = str(self.puppet().pid)
        for args, sentence in WRONG:
            with self.subTest(args=[a[:80] for a in args]):
                if any("tiny-32" in a for a in args) and not os.path.exists(target("tiny-32")):
                    continue
                done = self.usertrace("trace", *(pid if a == "PID" else a for a in args))
                self.assertEqual((done.status, done.stdout), (2, []), done.describe())
                self.assertTrue(done.stderr[0].startswith("usertrace trace: "), done.stderr)
                self.assertIn(sentence, "\n".join(done.stderr))
                self.assertFalse(any(re.search(live.Trace.ATTACHED, l) for l in done.stderr))
                self.assertNotIn("\x1b", "".join(done.stderr))


if __name__ == "__main__":
    unittest.main()
