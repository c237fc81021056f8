# SPDX-License-Identifier: MIT
"""Attaching by pid, by path, to all, to later libraries, to calls and tracepoints, to targets that keep moving."""
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

import live
import puppet

SEED = int(os.environ.get("UT_SEED") or random.SystemRandom().randrange(1 << 30))
ROUNDS = int(os.environ.get("UT_ROUNDS") or 6)
IN_VM = bool(os.environ.get("UT_VM"))
TICK = "u:puppet:tick"


def target(name):
    return os.path.join(live.TARGETS, name)


def by_pid(trace):
    """The events seen, by the pid in their first column."""
    seen = {}
    for e in trace.events():
        seen.setdefault(int(e[0].partition("(")[0]), []).append((e[3], e[4] if len(e) > 4 else ""))
    return seen


@live.needs_root()
@live.vm_safe
class Which(puppet.Case):
    def test_one_pid(self):
        one, other = self.puppet(), self.puppet()
        trace = self.trace("-p", one.pid, TICK)
        other.do("tick 2")
        expected = one.do("tick 3")
        self.assertEqual(puppet.finish(trace), expected)
        self.assertEqual(set(by_pid(trace)), {one.pid})

    def test_several_pids(self):
        one, two, other = self.puppet(), self.puppet(), self.puppet()
        trace = self.trace("-p", f"{one.pid},{two.pid}", TICK)
        expected = {one.pid: one.do("tick 2"), two.pid: two.do("tick 3")}
        other.do("tick 4")
        puppet.finish(trace)
        self.assertEqual(by_pid(trace), expected)

    def test_a_pid_named_twice(self):
        one = self.puppet()
        trace = self.trace("-p", one.pid, "-p", f"{one.pid},{one.pid}", TICK)
        expected = one.do("tick 3")
        self.assertEqual(puppet.finish(trace), expected)

    def test_by_path_also_what_starts_later(self):
        early = self.puppet()
        trace = self.trace(f"u:{puppet.PUPPET}:tick")
        expected = {early.pid: early.do("tick 2")}
        late = self.puppet()
        expected[late.pid] = late.do("tick 3")
        puppet.finish(trace)
        self.assertEqual(by_pid(trace), expected)

    def test_by_path_and_pid(self):
        one, other = self.puppet(), self.puppet()
        trace = self.trace("-p", one.pid, f"u:{puppet.PUPPET}:tick")
        other.do("tick 2")
        expected = one.do("tick 1")
        self.assertEqual(puppet.finish(trace), expected)

    def test_all(self):
        early = self.puppet()
        trace = self.trace("-a", "u:puppet:tick")
        expected = {early.pid: early.do("tick 2")}
        late = self.puppet()
        expected[late.pid] = late.do("tick 3")
        puppet.finish(trace)
        self.assertEqual({p: e for p, e in by_pid(trace).items() if p in expected}, expected)

    def test_every_site_and_its_semaphore(self):
        one = self.puppet()
        self.assertEqual(one.number("semaphores"), [0, 0])
        trace = self.trace("-p", one.pid, "u:puppet:guarded")
        self.assertEqual((trace.probes, trace.sites), (1, 2))
        self.assertEqual(one.number("semaphores"), [1, 1])
        expected = one.do("guarded 5")
        self.assertEqual(expected, [("guarded", "5"), ("guarded", "6")])
        self.assertEqual(puppet.finish(trace), expected)
        self.assertEqual(one.number("semaphores"), [0, 0])
        self.assertEqual(one.do("guarded 5"), [])

    def test_two_tracers(self):
        one = self.puppet()
        code = one.code()
        first = self.trace("-p", one.pid, TICK, "u:puppet:guarded")
        second = self.trace("-p", one.pid, TICK, "u:puppet:guarded")
        self.assertNotIn(0, one.number("semaphores"))
        expected = one.do("tick 2") + one.do("guarded 1")
        self.assertEqual(puppet.finish(first), expected)
        self.assertNotIn(0, one.number("semaphores"))
        expected += one.do("tick 1") + one.do("guarded 3")
        self.assertEqual(puppet.finish(second), expected)
        self.assertEqual(one.number("semaphores"), [0, 0])
        self.assertEqual(one.code(), code)

    def test_one_by_one_is_the_same(self):
        one = self.puppet()
        probes = [TICK, "u:puppet:guarded", f'p:{puppet.PUPPET}:deep "%d", arg1',
                  f'r:{puppet.PUPPET}:deep "%d", retval']
        both = [self.trace("-p", one.pid, *way, *probes) for way in ([], ["--one-by-one"])]
        one.do("tick 3")
        one.do("guarded 3")
        one.do("deep 4")
        seen = [puppet.finish(trace) for trace in both]
        self.assertEqual(len(seen[0]), 3 + 2 + 4 + 4)
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(*[(t.probes, t.sites) for t in both])


@live.needs_root()
@live.vm_safe
class Calls(puppet.Case):
    def test_names_of_libraries(self):
        one = self.puppet()
        for name in ("c", "libc", "libc.so.6"):
            with self.subTest(name=name):
                trace = self.trace("-p", one.pid, f'p:{name}:puts', f'r:{name}:wait "%d", (int)retval')
                one.do("forks 2")
                self.assertEqual([e for e in puppet.finish(trace) if e[0] == "wait"][-1], ("wait", "-1"))

    def test_recursion(self):
        one = self.puppet()
        trace = self.trace("-p", one.pid, f'r:{puppet.PUPPET}:deep "%d %d", retval, duration')
        expected = one.do("deep 1") + one.do("deep 60") + one.do("deep 2")
        seen = [(name, *map(int, message.split())) for name, message in puppet.finish(trace)]
        self.assertEqual([(name, str(value)) for name, value, _ in seen], expected)
        durations = [d for _, _, d in seen[1:61]]
        self.assertEqual(durations, sorted(durations))    # each call holds the one inside it
        self.assertTrue(0 < durations[0])

    def test_deeper_than_the_kernel_follows(self):
        """The kernel follows 64 returns of a thread at a time: the innermost calls are not seen, the rest is right."""
        one = self.puppet()
        trace = self.trace("-p", one.pid, f'r:{puppet.PUPPET}:deep "%d", retval')
        told = one.do("deep 70") + one.do("deep 3")
        self.assertEqual(puppet.finish(trace), told[6:])

    def test_nested_calls_have_their_own_durations(self):
        one = self.puppet()
        trace = self.trace("-p", one.pid, f'r:{puppet.PUPPET}:outer "%d %d", retval, duration',
                           f'r:{puppet.PUPPET}:spin "%d %d", retval, duration')
        (_, told), = one.do("spins 3000000")
        ret, _, least, _, most = told.split()
        seen = puppet.finish(trace)
        self.assertEqual([name for name, _ in seen], ["spin", "spin", "outer"])
        spins = [int(m.split()[1]) for _, m in seen[:2]]
        value, duration = map(int, seen[2][1].split())
        self.assertEqual(value, int(ret))
        self.assertTrue(3000000 <= min(spins), spins)
        self.assertTrue(int(least) <= sum(spins) <= duration <= int(most), (least, spins, duration, most))

    def test_calls_that_are_left_by_longjmp(self):
        one = self.puppet()
        trace = self.trace("-p", one.pid, f'p:{puppet.PUPPET}:leap "%d", arg1', f'r:{puppet.PUPPET}:leap "%d", retval',
                           f'r:{puppet.PUPPET}:stay "%d %d", retval, duration')
        told = one.do("jumps 20")
        self.assertEqual(one.ask("deep 2")[-1], "event deep 2")     # it is still well
        seen = puppet.finish(trace)
        self.assertEqual([m for n, m in seen if n == "leap"], ["2", "1", "0"] * 20)    # entries; none has returned
        stays = [m.split() for n, m in seen if n == "stay"]
        self.assertEqual(len(stays), 20)
        for (_, announced), (value, duration) in zip(told, stays):
            ret, _, least, _, most = announced.split()
            self.assertEqual(value, ret)
            self.assertTrue(int(least) <= int(duration) <= int(most), (announced, duration))

    def test_offset_and_address(self):
        one = self.puppet()
        trace = self.trace("-p", one.pid, f'p:{puppet.PUPPET}:fire_tick+0x0 "%d", arg1')
        expected = [v for _, v in one.do("tick 3")]
        self.assertEqual([m for _, m in puppet.finish(trace)], expected)

    def test_many_threads(self):
        threads, rounds = (20, 5) if IN_VM else (200, 20)
        one = self.puppet()
        trace = self.trace("-p", one.pid, 'u:puppet:thread "%d %d", arg1, arg2',
                           f'r:{puppet.PUPPET}:deep "%d %d", retval, duration')
        made, = one.number(f"threads {threads} {rounds}")
        self.assertEqual(made, threads)
        puppet.finish(trace)
        fired, returned = {}, {}
        for _, tid, _, func, message in trace.events():
            (fired if func == "thread" else returned).setdefault(int(tid), []).append(tuple(map(int, message.split())))
        self.assertEqual(sorted(fired.values()), [[(t, i) for i in range(rounds)] for t in range(threads)])
        self.assertEqual(set(returned), set(fired))
        for calls in returned.values():
            self.assertEqual([value for value, _ in calls], [1, 2, 3] * rounds)
            for i in range(0, len(calls), 3):
                self.assertTrue(0 < calls[i][1] <= calls[i + 1][1] <= calls[i + 2][1], calls[i:i + 3])


@live.needs_root()
@live.vm_safe
class Tracepoints(puppet.Case):
    def test_fields_of_one_process(self):
        one, other = self.puppet(), self.puppet()
        trace = self.trace("-p", one.pid, 't:task:task_rename "%s > %s", oldcomm, newcomm')
        other.do("name other")
        one.do("name first")
        one.do("name second")
        self.assertEqual([m for _, m in puppet.finish(trace)], ["puppet > first", "first > second"])
        self.assertEqual(set(by_pid(trace)), {one.pid})

    def test_of_all(self):
        one, two = self.puppet(), self.puppet()
        trace = self.trace('t:task:task_rename (newcomm == "ut-first" || newcomm == "ut-second") "%s", newcomm')
        one.do("name ut-first")
        two.do("name ut-second")
        two.do("name ut-third")
        puppet.finish(trace)
        self.assertEqual({pid: [m for _, m in events] for pid, events in by_pid(trace).items()},
                         {one.pid: ["ut-first"], two.pid: ["ut-second"]})

    def test_in_order_with_probes(self):
        one = self.puppet()
        trace = self.trace("-p", one.pid, TICK, 't:task:task_rename "%s", newcomm')
        for i in range(5):
            one.do("tick 1")
            one.do(f"name n{i}")
        self.assertEqual([m for _, m in puppet.finish(trace)], [x for i in range(5) for x in (str(i), f"n{i}")])


@live.needs_root()
@live.vm_safe
class Libraries(puppet.Case):
    def test_loaded_later(self):
        one = self.puppet()
        trace = self.trace("-p", one.pid, "--wait", "u:plug:*")
        self.assertEqual(trace.probes, 0)
        one.do(f"load {puppet.PLUG}")
        trace.wait_for("attached 2 more probes at 2 sites", "stderr")
        expected = one.do("work 3") + one.do("work 4")
        seen = puppet.finish(trace)
        self.assertEqual([e for e in seen if e[0] == "work"], expected)

    def test_not_there_and_not_waited_for(self):
        one = self.puppet()
        done = self.usertrace("trace", "-p", str(one.pid), "u:plug:*")
        self.assertEqual((done.status, done.stdout), (2, []))
        self.assertRegex(done.stderr[0], rf"no probe plug:\* in process {one.pid} \(puppet\)")

    def test_of_all_loaded_later(self):
        trace = self.trace("-a", "--wait", "u:plug:work")
        one = self.puppet()
        one.do(f"load {puppet.PLUG}")
        trace.wait_for("attached", "stderr")
        self.eventually(lambda: one.do("work 1") and len(trace.stdout) > 1, "an event of the library")
        self.assertTrue(all(e == ("work", "1") for e in puppet.finish(trace)))


@live.needs_root()
class Files(puppet.Case):
    def copy(self):
        return shutil.copy(puppet.PUPPET, self.tempdir())

    @live.vm_safe
    def test_deleted(self):
        path = self.copy()
        one = self.puppet(path)
        os.unlink(path)
        trace = self.trace("-p", one.pid, TICK)
        expected = one.do("tick 2")
        self.assertEqual(puppet.finish(trace), expected)

    @live.vm_safe
    def test_replaced(self):
        path = self.copy()
        one = self.puppet(path)
        os.unlink(path)
        shutil.copy(target("zoo-pie"), path)
        trace = self.trace("-p", one.pid, TICK, 'r:puppet:deep "%d", retval')
        expected = one.do("tick 2") + one.do("deep 2")
        self.assertEqual(puppet.finish(trace), expected)

    @live.vm_safe
    def test_deleted_while_traced(self):
        path = self.copy()
        one = self.puppet(path)
        trace = self.trace("-p", one.pid, TICK)
        expected = one.do("tick 1")
        os.unlink(path)
        expected += one.do("tick 2")
        self.assertEqual(puppet.finish(trace), expected)

    @live.vm_safe
    def test_built_anew_under_the_same_number(self):
        """A file that was looked at in vain is gone, and the kernel gives its number to the next one."""
        path = os.path.join(self.tempdir(), "app")
        shutil.copy(target("forker"), path)
        number = os.stat(path).st_ino
        first = self.start_target(path, "waits", stdin=subprocess.PIPE)
        trace = self.trace("-a", "--wait", "u:puppet:tick")
        first.end()
        os.unlink(path)
        shutil.copy(puppet.PUPPET, path)
        if os.stat(path).st_ino != number:
            self.skipTest("this filesystem does not use a number twice")
        one = self.puppet(path)
        trace.wait_for("attached 1 more", "stderr")
        expected = one.do("tick 2")
        self.assertEqual(puppet.finish(trace), expected)

    @live.needs_program("unshare")
    def test_containers_of_one_image(self):
        """Each sees the program through an overlay of its own; the kernel has one file for both."""
        image = self.tempdir()
        shutil.copy(puppet.PUPPET, image)
        script = ('mount -t tmpfs none /mnt && mkdir /mnt/up /mnt/work /mnt/all && mount -t overlay none -o '
                  f'lowerdir={image},upperdir=/mnt/up,workdir=/mnt/work /mnt/all && exec /mnt/all/puppet')
        if self.start("unshare", "-m", "sh", "-c", script).wait():
            self.skipTest("no overlay filesystem")
        one, two = (self.puppet(["unshare", "-m", "sh", "-c", script]) for _ in range(2))
        for which in (("-a",), ("-p", f"{one.pid},{two.pid}")):
            with self.subTest(which=which):
                trace = self.trace(*which, "u:puppet:tick")
                expected = {one.pid: one.do("tick 2"), two.pid: two.do("tick 3")}
                puppet.finish(trace)
                self.assertEqual(by_pid(trace), expected)

    @live.needs_program("unshare")
    def test_container(self):
        """In its own mount and pid namespaces, with a program that is seen only there."""
        script = f'mount -t tmpfs none /mnt && cp "{puppet.PUPPET}" /mnt/app && exec /mnt/app'
        outer = self.puppet(["unshare", "-pfm", "--mount-proc", "--kill-child", "sh", "-c", script])
        self.assertEqual(outer.stdout[0], "ready 1")
        pid = self.child_of(outer)
        trace = self.trace("-p", pid, TICK)
        self.assertRegex(trace.stderr[-1], rf"process {pid} is 1 in its own namespace")
        expected = outer.do("tick 2")
        self.assertEqual(puppet.finish(trace), expected)
        self.assertEqual({e[0] for e in trace.events()}, {f"{pid}(1)"})


@live.needs_root()
class WrongProcesses(puppet.Case):
    def refused(self, pid, *probes):
        done = self.usertrace("trace", "-p", str(pid), *(probes or (TICK,)), timeout=20)
        self.assertIn(done.status, (1, 2), done.describe())
        self.assertEqual(done.stdout, [])
        self.assertTrue(done.stderr[0].startswith("usertrace trace: "), done.stderr)
        return done.stderr[0]

    def test_gone(self):
        gone = self.start("/bin/true") if os.path.exists("/bin/true") else self.puppet([puppet.PUPPET, "quit 0"])
        gone.wait()
        self.assertIn(f"no process {gone.pid}", self.refused(gone.pid))

    def test_zombie(self):
        one = self.puppet()
        pid, = one.number("zombie")
        self.assertEqual(puppet.state(pid), "Z")
        self.assertRegex(self.refused(pid), rf"{pid}.*exited")

    def test_kernel_thread(self):
        self.assertRegex(self.refused(2), r"process 2 .*kernel thread")
        self.assertRegex(self.refused(2, f"u:{puppet.PUPPET}:tick"), r"process 2 .*kernel thread")

    def test_thread(self):
        """The number of a thread is not that of a process; it says whose thread it is."""
        one = self.puppet()
        one.do("idle")
        tid, = (int(t) for t in os.listdir(f"/proc/{one.pid}/task") if int(t) != one.pid)
        self.assertRegex(self.refused(tid), rf"{tid} is a thread of process {one.pid}")

    def test_itself(self):
        trace = live.Process(["sh", "-c", f'exec {live.USERTRACE} trace -p $$ p:c:write'])
        self.addCleanup(trace.end)
        trace.wait(20)
        self.assertIn(trace.status, (1, 2), trace.describe())
        self.assertRegex(trace.stderr[0], "itself")

    def test_32_bits(self):
        if not os.path.exists(target("tiny-32")):
            self.skipTest("32-bit programs cannot be built here")
        try:
            tiny = self.start(target("tiny-32"))
        except OSError as error:
            self.skipTest(f"32-bit programs do not run here: {error.strerror}")
        self.eventually(lambda: os.readlink(f"/proc/{tiny.pid}/exe").endswith("tiny-32"), "exec")
        self.assertRegex(self.refused(tiny.pid, "u:tiny:one"), "32-bit")

    def test_reused_pid(self):
        """Another process that has the pid of one that is traced is not traced."""
        knob = "/proc/sys/kernel/ns_last_pid"
        if not os.access(knob, os.W_OK):
            self.skipTest(f"{knob} cannot be written")
        first, witness = self.puppet(), self.puppet()
        trace = self.trace("-p", f"{first.pid},{witness.pid}", TICK)
        expected = first.do("tick 1")
        first.end()
        for _ in range(200):
            with open(knob, "w") as file:
                file.write(str(first.pid - 1))
            second = self.puppet()
            if second.pid == first.pid:
                break
            second.end()
        else:
            self.skipTest("no process got the pid again")
        second.do("tick 5")
        expected += witness.do("tick 1")
        self.assertEqual(puppet.finish(trace), expected)


@live.needs_root()
class Restless(puppet.Case):
    """Targets that end, are killed or become another program while they are being attached to."""

    def rounds(self, what, count):
        print(f"# seed {SEED}", flush=True)
        chance = random.Random(SEED)
        outcomes = {}
        for i in range(count):
            one = self.puppet()
            trace = self.trace("-p", one.pid, "u:puppet:*", f"r:{puppet.PUPPET}:deep", attached=False)
            delay, start = chance.uniform(0, 0.03), time.monotonic()
            while time.monotonic() - start < delay:
                pass
            what(one)
            if what is again:
                one.wait_until(lambda: sum("ready" in l for l in one.stdout) == 2, "the second program")
                if trace.status is None:
                    self.eventually(lambda: trace.status is not None or any("attached" in l for l in trace.stderr),
                                    "a decision")
                if trace.status is None:
                    trace.signal(signal.SIGINT)
            status = trace.wait(20)
            self.assertIn(status, (0, 1, 2), f"round {i}, seed {SEED}: {trace.describe()}")
            text = "\n".join(trace.stderr)
            self.assertRegex(text, live.Trace.ATTACHED if status == 0 else r"(?m)^usertrace trace: .*\d",
                             f"round {i}, seed {SEED}")
            outcomes[status] = outcomes.get(status, 0) + 1
            if what is again and one.status is None:
                self.assertEqual(one.number("semaphores"), [0, 0])
            one.end()
            trace.end()
        return outcomes

    def test_killed(self):
        self.rounds(lambda one: one.signal(signal.SIGKILL), ROUNDS)

    def test_exits(self):
        self.rounds(lambda one: one.begin("quit 3"), ROUNDS)

    def test_executes(self):
        self.rounds(again, ROUNDS)

    @live.vm_safe
    def test_a_few_in_slow_motion(self):
        self.rounds(lambda one: one.signal(signal.SIGKILL), 3)

    @live.vm_safe
    def test_target_ends_while_traced(self):
        one, two = self.puppet(), self.puppet()
        trace = self.trace("-p", f"{one.pid},{two.pid}", TICK)
        expected = one.do("tick 2")
        one.begin("quit 0")
        one.wait()
        expected += two.do("tick 1")
        two.signal(signal.SIGKILL)
        self.assertEqual(trace.wait(20), 0)
        self.assertEqual(puppet.seen_events(trace), expected)


def again(one):
    one.begin("again")


if __name__ == "__main__":
    unittest.main()
