# SPDX-License-Identifier: MIT
"""Tracers and targets that end at any moment: nothing is left behind in the target, and the tracer is never hurt."""
import os
import random
import signal
import time
import unittest

import live
import puppet

SEED = int(os.environ.get("UT_SEED") or random.SystemRandom().randrange(1 << 30))
ROUNDS = int(os.environ.get("UT_ROUNDS") or (2 if os.environ.get("UT_VM") else 8))
# The longest time until a random moment: attaching and some tracing fit in.
SPAN = 1.5 if os.environ.get("UT_VM") else 0.12
PROBES = ["u:puppet:*", f'r:{puppet.PUPPET}:deep "%d", retval', 't:task:task_rename "%s", newcomm']


def wait_a_moment(chance, span=SPAN):
    end = time.monotonic() + chance.uniform(0, span)
    while time.monotonic() < end:
        pass


def stat_fields(pid):
    """The fields of /proc/PID/stat behind the name: state, parent, group, session …; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def session_of(leader):
    """The states of the processes of a session, by pid."""
    fields = {int(p): stat_fields(p) for p in os.listdir("/proc") if p.isdigit()}
    return {p: f[0] for p, f in fields.items() if f and int(f[3]) == leader}


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(p) for p in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def comm_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


@live.needs_root()
class Kill(puppet.Case):
    def setUp(self):
        print(f"# seed {SEED}", flush=True)
        self.chance = random.Random(SEED)

    def assert_untouched(self, target, code, what):
        """No breakpoint, no raised semaphore, and it does what it is told."""
        self.eventually(lambda: target.code() == code, f"{what}: its instructions are as they were (seed {SEED})")
        self.eventually(lambda: target.number("semaphores") == [0, 0], f"{what}: semaphores are down (seed {SEED})")
        self.assertEqual(target.do("guarded 1"), [], what)
        self.assertEqual(len(target.do("deep 3")), 3, what)


@live.vm_safe
class TracerKilled(Kill):
    def test_at_random_moments(self):
        target = self.puppet()
        code, attached, changed = target.code(), 0, 0
        for i in range(ROUNDS):
            trace = self.trace("-p", target.pid, *PROBES, *(["--one-by-one"] if i % 3 == 2 else []), attached=False)
            wait_a_moment(self.chance)
            changed += target.code() != code
            target.do("tick 3")
            target.do("deep 5")
            trace.signal(signal.SIGKILL)
            trace.wait()
            attached += any("attached" in l for l in trace.stderr)
            self.assert_untouched(target, code, f"round {i}")
            trace.end()
        print(f"# killed while attached: {attached} of {ROUNDS}; breakpoints seen: {changed}", flush=True)

    def test_after_it_was_attached(self):
        target = self.puppet()
        code = target.code()
        trace = self.trace("-p", target.pid, *PROBES)
        self.assertNotEqual(target.code(), code)
        self.assertNotEqual(target.number("semaphores"), [0, 0])
        trace.signal(signal.SIGKILL)
        trace.wait()
        self.assert_untouched(target, code, "the target")

    def test_while_the_target_fires(self):
        target = self.puppet()
        code = target.code()
        trace = self.trace("-p", target.pid, "u:puppet:*")
        target.begin("burst 300000")
        trace.wait_for_lines(100)
        trace.signal(signal.SIGKILL)
        trace.wait()
        target.lines_of("burst 300000")
        self.assert_untouched(target, code, "the target")

    @live.host_only     # it takes long there, and what it shows does not depend on the kernel
    def test_with_a_command_that_makes_processes(self):
        script = f"while :; do {puppet.PUPPET} 'tick 1' 'load {puppet.PLUG}' 'forks 2' >/dev/null; done"
        guards = 0
        for i in range(ROUNDS):
            trace = self.trace("u:puppet:*", "u:plug:*", "--", "sh", "-c", script, attached=False, preexec=os.setsid)
            self.addCleanup(self.end_session, trace.pid)
            wait_a_moment(self.chance, 2 * SPAN)
            guardians = [p for p in children_of(trace.pid) if comm_of(p) == "usertrace-guard"]
            guards += len(guardians)
            trace.signal(signal.SIGKILL)
            trace.popen.wait()
            what = f"round {i}, seed {SEED}"
            self.eventually(lambda: all(comm_of(p) != "usertrace-guard" for p in guardians),
                            f"the guardian ends, {what}")
            # Stopped for a moment is what holding means; what must not be is one that stays so.
            self.eventually(lambda: "T" not in session_of(trace.pid).values(), f"nobody is left stopped, {what}")
            self.end_session(trace.pid)
            trace.end()
        print(f"# guardians seen: {guards} of {ROUNDS}", flush=True)
        if SPAN < 1:
            self.assertGreater(guards, 0)

    def end_session(self, leader):
        """Kills what a session still holds, until nothing new comes."""
        while True:
            alive = [p for p, state in session_of(leader).items() if state != "Z" and p != os.getpid()]
            if not alive:
                return
            for pid in alive:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


@live.vm_safe
class TargetKilled(Kill):
    def test_at_random_moments(self):
        for i in range(ROUNDS):
            target = self.puppet()
            trace = self.trace("-p", target.pid, "u:puppet:tick", f"r:{puppet.PUPPET}:deep")
            target.begin("forever")
            wait_a_moment(self.chance, 0.05)
            target.signal(signal.SIGKILL)
            self.assertEqual(trace.wait(), 0, f"round {i}, seed {SEED}: {trace.describe()}")
            ticks = [int(e[4]) for e in trace.events() if e[0] != "--"]
            if not any(e[0] == "--" for e in trace.events()):    # nothing lost
                self.assertEqual(ticks, list(range(len(ticks))), f"round {i}, seed {SEED}")
            self.assertRegex("\n".join(trace.stderr), rf"(?m)^usertrace: {len(ticks):,} events? in ")
            trace.end()

    def test_one_of_many(self):
        """The others are traced on, and nothing of theirs is lost."""
        puppets = [self.puppet() for _ in range(4)]
        trace = self.trace("-p", ",".join(str(p.pid) for p in puppets), "u:puppet:tick")
        expected = []
        while puppets:
            for one in puppets:
                expected += [(one.pid, e) for e in one.do("tick 2")]
            puppets.pop(self.chance.randrange(len(puppets))).signal(signal.SIGKILL)
        self.assertEqual(trace.wait(), 0)
        self.assertEqual([(int(e[0]), (e[3], e[4])) for e in trace.events()], expected)


class Signals(Kill):
    def test_that_end_it_in_order(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(signal=number.name):
                target = self.puppet()
                code = target.code()
                trace = self.trace("-p", target.pid, "u:puppet:*")
                expected = target.do("tick 3")
                trace.signal(number)
                self.assertEqual(trace.wait(), 0)
                self.assertEqual(puppet.seen_events(trace), expected)
                self.assertRegex("\n".join(trace.stderr), r"(?m)^usertrace: 3 events in ")
                self.assert_untouched(target, code, number.name)

    @live.vm_safe
    def test_while_attaching(self):
        target = self.puppet()
        code = target.code()
        for i in range(ROUNDS):
            trace = self.trace("-p", target.pid, *PROBES, attached=False)
            wait_a_moment(self.chance, SPAN / 2)
            trace.signal(signal.SIGTERM)
            # Before it has asked for signals it ends as every program does.
            self.assertIn(trace.wait(), (0, -signal.SIGTERM), f"round {i}, seed {SEED}: {trace.describe()}")
            self.assert_untouched(target, code, f"round {i}")
            trace.end()

    def test_a_command_that_is_waited_for(self):
        trace = self.trace("u:puppet:tick", "--", puppet.PUPPET, "tick 2", "die 11")
        self.assertEqual(trace.wait(), 128 + 11)


class Outputs(Kill):
    def check_refused(self, trace, target, code, sentence):
        target.do("tick 1")
        self.assertEqual(trace.wait(), 1, trace.describe())
        self.assertRegex("\n".join(trace.stderr), rf"(?m)^usertrace trace: .*{sentence}")
        self.assert_untouched(target, code, "the target")

    def test_full_disk(self):
        target = self.puppet()
        code = target.code()
        trace = self.trace("-p", target.pid, "-o", "/dev/full", "u:puppet:tick", attached=False)
        self.check_refused(trace, target, code, "/dev/full.*No space left")

    def test_full_standard_output(self):
        target = self.puppet()
        code = target.code()
        with open("/dev/full", "w") as full:
            trace = self.trace("-p", target.pid, "u:puppet:tick", stdout=full, attached=False)
        self.check_refused(trace, target, code, "No space left")

    def test_closed_standard_output(self):
        target = self.puppet()
        code = target.code()
        trace = self.trace("-p", target.pid, "u:puppet:tick", preexec=lambda: os.close(1), attached=False)
        self.check_refused(trace, target, code, "standard output")

    def test_closed_standard_streams(self):
        """What it opens must not land on the numbers of streams that others write to."""
        path = os.path.join(self.tempdir(), "out")
        target = self.puppet()
        trace = self.trace("-p", target.pid, "-M", "2", "-o", path, "u:puppet:tick",
                           preexec=lambda: os.closerange(0, 3), attached=False)
        self.eventually(lambda: os.path.exists(path) and os.path.getsize(path), "the heading")
        expected = target.do("tick 2")
        self.assertEqual(trace.wait(), 0)
        with open(path) as file:
            lines = file.read().splitlines()
        self.assertEqual([tuple(l.split()[3:]) for l in lines[1:]], expected)


if __name__ == "__main__":
    unittest.main()
