# SPDX-License-Identifier: MIT
"""What `usertrace doctor -p` says about processes: compared with what is known about them from elsewhere."""
import json
import os
import subprocess

import live


def about(done, thing):
    """The meanings of one thing among the lines of --json, with their states."""
    checks = [json.loads(line) for line in done.stdout]
    return [(c["state"], c["meaning"]) for c in checks if c["thing"] == thing]


class Processes(live.Case):
    def doctor(self, pid):
        return self.usertrace("doctor", "--json", "-p", str(pid))

    @live.vm_safe
    def test_a_process_that_is_gone(self):
        gone = self.start("/bin/true")
        gone.wait()
        done = self.doctor(gone.pid)
        self.assertEqual(done.status, 1)
        self.assertEqual(about(done, "process"), [("no", f"no process {gone.pid}")])

    @live.vm_safe
    def test_probes_are_counted(self):
        target = self.start_target("zoo-pie", "1000")
        done = self.doctor(target.pid)
        (state, meaning), = [c for c in about(done, "probes") if c[1].startswith("zoo:")]
        self.assertEqual(state, "ok")
        self.assertRegex(meaning, r"^zoo: 13 probes at 14 sites in .*/zoo-pie$")    # `multi` has two sites

    @live.vm_safe
    def test_the_text_has_a_line_for_each_check(self):
        target = self.start_target("zoo-pie", "1000")
        text, data = self.usertrace("doctor", "-p", str(target.pid)), self.doctor(target.pid)
        lines = [line for line in text.stdout if line and not line.startswith("process ")]
        self.assertEqual(len(lines), len(data.stdout))
        for line, check in zip(lines, map(json.loads, data.stdout)):
            self.assertTrue(line.startswith(f"{check['state']:<5} {check['thing']}: "), line)

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
        self.assertEqual(meaning, f"it calls itself 1 in a pid namespace of its own, with mounts of its own; attach by {pid}")

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
        self.assertEqual(about(done, "semaphores"), [("ok", "none of 8 is raised: nobody listens to these probes now")])

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
        self.assertIn(("warn", "method__entry and method__return stay silent"), switches)
