# SPDX-License-Identifier: MIT
"""What `usertrace doctor` says about the machine and about processes: compared with what is known from elsewhere."""
import errno
import json
import os
import re
import shutil
import subprocess

import live
import seccomp

PR_USER_TRACE = 0x55545243


def about(done, thing):
    """The meanings of one thing among the lines of --json, with their states."""
    checks = done.objects()
    return [(c["state"], c["message"]) for c in checks if c["name"] == thing]


class Machine(live.Case):
    def state(self, done, thing):
        """The state of a thing that is told once."""
        (state, _), = about(done, thing)
        return state

    def as_user(self, *capabilities):
        """doctor --json of a user with only these capabilities, from a copy that this user may run."""
        program = os.path.join(self.tempdir(), "usertrace")
        shutil.copy(live.USERTRACE, program)
        os.chmod(os.path.dirname(program), 0o755)
        kept = ",".join("+" + c for c in capabilities)
        some = ["--inh-caps", kept, "--ambient-caps", kept] if kept else []
        done = self.start("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *some, program, "doctor",
                          "--json")
        done.wait()
        return done

    @live.vm_safe
    @live.needs_root()
    def test_where_everything_works(self):
        """A machine on which the other tests trace: nothing can be missing."""
        done = self.usertrace("doctor", "--json")
        self.assertEqual([line for line in done.stdout if '"state":"no"' in line], [])
        self.assertEqual(done.status, 0)
        self.assertEqual(done.stderr, [])
        for thing in ("a probe on ourselves", "raising semaphores", "attach cookies", "clock", "ring buffer",
                      "sleepable BPF", "perf uprobes", "tracepoints", "new mappings", "privileges"):
            self.assertEqual(self.state(done, thing), "ok", thing)

    def test_the_kernel_is_named(self):
        self.assertIn(("ok", f"Linux {os.uname().release} on x86_64"), about(self.usertrace("doctor", "--json"), "kernel"))

    @live.vm_safe
    @live.needs_root()
    def test_multi_attach_is_that_of_the_kernel(self):
        """6.6 brought it; before, one program type takes the number of the attachment and means nothing by it."""
        state = "ok" if live.kernel_version() >= (6, 6) else "warn"
        self.assertEqual(self.state(self.usertrace("doctor", "--json"), "multi-attach"), state)

    @live.vm_safe
    @live.needs_root()
    def test_kernels_before_fast_nops_do_no_harm(self):
        done = self.usertrace("doctor", "--json")
        for thing in ("red zone", "forked children"):
            self.assertIn(self.state(done, thing), ("ok",) if live.kernel_version() < (6, 18) else ("ok", "warn"))

    def test_every_line_that_is_not_ok_has_a_remedy(self):
        for line in self.usertrace("doctor", "--json").stdout:
            check = json.loads(line)
            self.assertTrue(check["state"] == "ok" or check.get("remedy"), line)

    @live.needs_root()
    @live.needs_program("setpriv")
    def test_an_ordinary_user(self):
        done = self.as_user()
        self.assertEqual(done.status, 1)
        self.assertEqual(done.stderr, [])
        self.assertEqual([self.state(done, "CAP_BPF"), self.state(done, "CAP_PERFMON")], ["no", "no"])
        self.assertEqual(self.state(done, "not tried"), "warn")
        self.assertEqual(about(done, "a probe on ourselves"), [])
        for line in done.stdout:
            check = json.loads(line)
            if check["state"] != "ok":
                self.assertRegex(check["remedy"], "root|sudo|do not need it", line)

    @live.needs_root()
    @live.needs_kernel(6, 6)
    @live.needs_program("setpriv")
    def test_two_capabilities_are_enough(self):
        done = self.as_user("bpf", "perfmon")
        self.assertEqual(done.status, 0)
        self.assertEqual(self.state(done, "a probe on ourselves"), "ok")
        self.assertEqual(self.state(done, "CAP_SYS_PTRACE"), "warn")

    @live.needs_root()
    @live.needs_program("unshare")
    def test_root_of_a_user_namespace(self):
        done = self.start("unshare", "--user", "--map-root-user", live.USERTRACE, "doctor", "--json")
        self.assertEqual(done.wait(), 1)
        self.assertEqual(self.state(done, "privileges"), "no")

    @live.needs_root()
    @live.needs_program("unshare")
    def test_another_pid_namespace(self):
        done = self.start("unshare", "--pid", "--fork", "--mount-proc", live.USERTRACE, "doctor", "--json")
        self.assertEqual(done.wait(), 0)
        self.assertEqual(self.state(done, "pid namespace"), "warn")
        self.assertEqual(self.state(done, "a probe on ourselves"), "ok")


class UserEvents(live.Case):
    """Both lanes, tried and measured."""

    def meaning(self, done, thing):
        (state, meaning), = about(done, thing)
        self.assertEqual(state, "ok", meaning)
        return meaning

    def nanoseconds(self, done, thing):
        return [float(n) for n in re.findall(r"([\d.]+) ns\b", self.meaning(done, thing))]

    @live.needs_root()
    def test_what_they_cost(self):
        done = self.usertrace("doctor", "--json")
        off, = self.nanoseconds(done, "prctl")
        on, others = self.nanoseconds(done, "prctl events")
        site, = self.nanoseconds(done, "usertrace.h events")
        self.assertLess(20, off)
        self.assertLess(0.8 * off, on)     # if somebody else traces now, both are traced
        self.assertLess(others, on / 2)
        self.assertLess(20, site)

    @live.vm_safe
    @live.needs_root()
    def test_one_event_is_announced_and_all_is_let_go(self):
        trace = self.trace("-a", f't:syscalls:sys_enter_prctl (option == {PR_USER_TRACE}) "%u %s", arg2, arg3')
        doctor = self.usertrace("doctor")
        self.assertEqual(doctor.status, 0)
        trace.wait_for("usertrace doctor")
        self.assertEqual(trace.interrupt(), 0)
        self.assertEqual([event[-1].strip() for event in trace.events() if event[0] == str(doctor.pid)], ["3 usertrace doctor"])

    @live.needs_root()
    @live.needs_program("setpriv")
    def test_an_ordinary_user_learns_what_it_costs_when_off(self):
        program = os.path.join(self.tempdir(), "usertrace")
        shutil.copy(live.USERTRACE, program)
        os.chmod(os.path.dirname(program), 0o755)
        done = self.start("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", program, "doctor", "--json")
        done.wait()
        off, = self.nanoseconds(done, "prctl")
        self.assertLess(20, off)
        self.assertEqual(about(done, "prctl events") + about(done, "usertrace.h events"), [])
        self.assertEqual([state for state, _ in about(done, "user events")], ["warn"])

    @live.needs_root()
    def test_a_filter_in_the_way(self):
        done = self.start(live.USERTRACE, "doctor", "--json",
                          preexec=lambda: seccomp.forbid_prctl(PR_USER_TRACE, seccomp.RET_ERRNO | errno.EPERM))
        self.assertEqual(done.wait(), 0, done.describe())
        self.assertEqual(about(done, "prctl"), [("warn", "a seccomp filter rejects the call (Operation not permitted): prctl "
                                                 "events from here cannot be traced; other filters kill the calling program")])
        self.assertEqual(about(done, "prctl events"), [("ok", "can be traced")])


class Processes(live.Case):
    def doctor(self, pid):
        return self.usertrace("doctor", "--json", "-p", str(pid))

    def test_a_process_that_is_gone(self):
        gone = self.start("/bin/true")
        gone.wait()
        done = self.doctor(gone.pid)
        self.assertEqual(done.status, 1)
        self.assertEqual(about(done, "process"), [("no", f"no process {gone.pid}")])

    def test_probes_are_counted(self):
        target = self.start_target("zoo-pie", "1000")
        done = self.doctor(target.pid)
        (state, meaning), = [c for c in about(done, "probes") if c[1].startswith("zoo:")]
        self.assertEqual(state, "ok")
        self.assertRegex(meaning, r"^zoo: 13 probes at 14 sites in .*/zoo-pie$")    # `multi` has two sites

    def test_a_report_that_nobody_takes(self):
        """It is written in parts, and that it cannot be is said once."""
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([live.USERTRACE, "doctor", "-p", str(os.getpid())], stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "usertrace doctor: cannot write the report: No space left on device\n"))

    def test_the_text_has_a_line_for_each_check(self):
        target = self.start_target("zoo-pie", "1000")
        text, data = self.usertrace("doctor", "-v", "-p", str(target.pid)), self.doctor(target.pid)
        lines = [line for line in text.stdout if line and not line.startswith(("process ", "this machine"))]
        self.assertEqual(len(lines), len(data.stdout))
        for line, check in zip(lines, map(json.loads, data.stdout)):
            self.assertTrue(line.startswith(f"{check['state']:<5} {check['name']}: "), line)

    def test_a_process_comes_first(self):
        """And of the machine only what is not ok."""
        target = self.start_target("zoo-pie", "1000")
        lines = self.usertrace("doctor", "-p", str(target.pid)).stdout
        self.assertEqual(lines[0], f"process {target.pid}")
        heading = next(i for i, line in enumerate(lines) if line.startswith("this machine, where "))
        self.assertIn("ok    namespaces: the same as here", lines[:heading])
        ok, n = map(int, re.findall(r"\d+", lines[heading]))
        self.assertEqual(len(lines[heading + 1:]), n - ok)
        self.assertEqual([line for line in lines[heading + 1:] if line.startswith("ok ")], [])

    @live.needs_root()
    def test_other_users_processes_keep_nothing_from_root(self):
        target = self.start("sleep", "60", preexec=lambda: os.setuid(65534))
        self.eventually(lambda: "sleep" in open(f"/proc/{target.pid}/comm").read(), "exec")
        done = self.doctor(target.pid)
        self.assertEqual(about(done, "files"), [])
        self.assertEqual(about(done, "process"), [("ok", "sleep: sleep 60")])

    @live.needs_root()
    @live.needs_program("unshare")
    def test_namespaces(self):
        outer = self.start("unshare", "--pid", "--fork", "--mount", "--propagation", "unchanged", "--kill-child", "sleep", "60")
        pid = self.child_of(outer)
        self.eventually(lambda: "sleep" in open(f"/proc/{pid}/comm").read(), "exec")
        (state, meaning), = about(self.doctor(pid), "namespaces")
        self.assertEqual(state, "ok")
        self.assertEqual(meaning, f"it has the PID 1 in its own PID namespace, with its own mounts; attach to it as {pid}")

    def test_our_own_namespaces(self):
        target = self.start("sleep", "60")
        self.assertEqual(about(self.doctor(target.pid), "namespaces"), [("ok", "the same as here")])


class Runtimes(live.Case):
    def doctor(self, pid):
        done = self.usertrace("doctor", "--json", "-p", str(pid))
        self.assertEqual(done.stderr, [])
        return done

    @live.needs_program("/usr/bin/python3.11")
    def test_python(self):
        python = self.start("/usr/bin/python3.11", "-c", "print('ready', flush=True); input()", stdin=subprocess.PIPE)
        python.wait_for("ready")
        done = self.doctor(python.pid)
        self.assertEqual(about(done, "runtime"), [("ok", "CPython (Python)")])
        self.assertIn(("ok", "python: 8 probes at 8 sites in /usr/bin/python3.11"), about(done, "probes"))
        self.assertEqual(about(done, "semaphores"), [("ok", "none of 8 is raised: these probes are not traced now")])
        lacks = "stacks contain the functions of the interpreter instead of Python functions"
        self.assertEqual(about(done, "names"), [("warn", lacks)])
        self.assertIn(f"{lacks}: versions from 3.12 on have them when started as python3 -X perf",
                      self.usertrace("map", "-p", str(python.pid)).stdout)

    @live.needs_program("php8.2")
    def test_the_switch_of_php(self):
        for value, state in (("1", "ok"), ("0", "warn")):
            php = self.start("php8.2", "-n", "-r", "echo \"ready\\n\"; fgets(STDIN);", stdin=subprocess.PIPE,
                             env={"USE_ZEND_DTRACE": value})
            php.wait_for("ready")
            with self.subTest(value=value):
                self.assertEqual([s for s, _ in about(self.doctor(php.pid), "switches")], [state])

    @live.needs_program("javac")
    def test_the_switches_of_java(self):
        source = os.path.join(self.tempdir(), "Wait.java")
        with open(source, "w") as file:
            file.write('class Wait { public static void main(String[] a) throws Exception {'
                       ' System.out.println("ready"); System.in.read(); } }')
        java = self.start("java", "-XX:+DTraceAllocProbes", source, stdin=subprocess.PIPE)
        java.wait_for("ready")
        done = self.doctor(java.pid)
        self.assertEqual(about(done, "runtime"), [("ok", "HotSpot (Java)")])
        switches = about(done, "switches")
        self.assertIn(("ok", "object__alloc fires"), switches)
        self.assertIn(("warn", "method__entry and method__return do not fire"), switches)
