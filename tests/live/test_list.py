# SPDX-License-Identifier: MIT
"""What `usertrace list` says about files, processes and all processes: known counts of real runtimes, and the exact text
for a file made here (tests/golden/list.txt; UT_GOLDEN_UPDATE=1 writes it anew)."""
import glob
import json
import os
import shlex
import shutil
import struct
import subprocess

import live

GOLDEN = os.path.join(live.SOURCE_ROOT, "tests/golden/list.txt")
NOBODY = 65534


def note(provider, name, args, address, semaphore=0, base=0):
    """A USDT note as sys/sdt.h writes it."""
    text = b"".join(s + b"\0" for s in (provider, name, args))
    desc = struct.pack("<3Q", address, base, semaphore) + text
    return struct.pack("<3I", 8, len(desc), 3) + b"stapsdt\0" + desc + b"\0" * (-len(desc) % 4)


def elf(notes, bits=64, machine=62):
    """A program with one page of code at 0x1000 and one of data at 0x4000, and the notes."""
    if bits == 32:
        head = b"\x7fELF\x01\x01\x01" + bytes(9)
        return head + struct.pack("<2H5I6H", 2, machine, 1, 0x1000, 0, 0, 0, 52, 32, 0, 40, 0, 0) + bytes(64)
    names = b"\0.note.stapsdt\0.shstrtab\0"
    at_notes, at_names = 0x3000, 0x3000 + len(notes)
    at_sections = at_names + len(names) + -(at_names + len(names)) % 8
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<2HI3QI6H", 2, machine, 1, 0x1000, 64, at_sections, 0, 64, 56, 2, 64, 3, 2)
    head += struct.pack("<2I6Q", 1, 5, 0x1000, 0x1000, 0x1000, 0x1000, 0x1000, 0x1000)
    head += struct.pack("<2I6Q", 1, 6, 0x2000, 0x4000, 0x4000, 0x1000, 0x1000, 0x1000)
    body = (head.ljust(at_notes, b"\0") + notes + names).ljust(at_sections, b"\0")
    section = struct.Struct("<2I4Q2I2Q")
    return body + bytes(64) + section.pack(1, 7, 0, 0, at_notes, len(notes), 0, 0, 4, 0) + \
        section.pack(15, 3, 0, 0, at_names, len(names), 0, 0, 1, 0)


NOTES = b"".join([
    note(b"vm", b"gc__start", b"-4@%edi", 0x1010, 0x4000),
    note(b"vm", b"gc__done", b"-8@%r12 8@$0", 0x1020, 0x4002),
    note(b"vm", b"array__create", b"-4@$0 8@%rax -4@4(%rsp)", 0x1030),
    note(b"vm", b"array__create", b"-8@%rbx 8@%rax -4@20(%rsp)", 0x1040),
    note(b"vm", b"partly", b"8f@%xmm0 -4@%eax", 0x1050),
    note(b"vm", b"partly", b"8f@%rax -4@missing(%rip)", 0x1060),
    note(b"vm", b"never", b"4f@.LC1(%rip) 8@puts@GOTPCREL(%rip) -4@%fs:v@tpoff 3@%rax", 0x1070),
    note(b"vm", b"stray", b"", 0x9000),
    note(b"vm", b"stray", b"", 0x1080),
    note(b"other", b"gc__start", b"", 0x1090),
    note(b"ev\x1b[31mil", b"two\nlines\xff", b"8@%rdi", 0x10a0),
])


class Golden(live.Case):
    def make_files(self, folder):
        os.mkdir(os.path.join(folder, "folder"))
        for name, content in [("vm", elf(NOTES)), ("ourvm", elf(note(b"other", b"probe", b"8@%rdi", 0x1010))),
                              ("mute", elf(b"")), ("plain", elf(b"")), ("broken", elf(NOTES + b"\0\1\2\3" * 4)),
                              ("old", elf(b"", 32, 3)), ("arm", elf(NOTES, machine=183)), ("text", b"#!/bin/sh\n"),
                              ("ends", elf(NOTES)[:0x3010])]:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)

        os.makedirs(os.path.join(folder, "usertrace/runtimes"))
        with open(os.path.join(folder, "usertrace/runtimes/golden.ini"), "w") as file:
            file.write("[runtime]\nname = Our VM\nlanguage = Ours\nmatch = ourvm\nprovider = vm\nhint = it needs --probes\n")
        with open(os.path.join(folder, "usertrace/runtimes/mute.ini"), "w") as file:
            file.write("[runtime]\nname = Mute\nlanguage = Mute\nmatch = mute\n"
                       'offer = r:mute:collect "%u ns", duration | its collections\nhint = it has never had any\n')

    def transcript(self, folder, command):
        done = self.usertrace(*shlex.split(command), cwd=folder, env={"PATH": "/nowhere", "XDG_CONFIG_HOME": folder})
        return [f"$ usertrace {command}", *done.stdout, *(f"2> {line}" for line in done.stderr), f"= {done.status}"]

    def test_golden(self):
        folder = self.tempdir()
        self.make_files(folder)
        with open(GOLDEN, encoding="utf-8") as file:
            expected = file.read().splitlines()
        said = []
        for line in expected:
            if line.startswith("#"):
                said.append(line)
            if line.startswith("$ usertrace "):
                said += self.transcript(folder, line[len("$ usertrace "):])
        if os.environ.get("UT_GOLDEN_UPDATE"):
            with open(GOLDEN, "w", encoding="utf-8") as file:
                file.write("\n".join(said) + "\n")
            expected = said
        self.assertEqual("\n".join(said), "\n".join(expected))


class ListCase(live.Case):
    def objects(self, *args):
        done = self.usertrace("list", "--json", *args)
        self.assertEqual((done.status, done.stderr), (0, []))
        return done.objects()

    def runs(self, process, name):
        self.eventually(lambda: name in open(f"/proc/{process}/comm").read(), f"{process} runs {name}")


def counts(objects):
    return len(objects), sum(len(o["sites"]) for o in objects)


class Zoo(ListCase):
    def test_file(self):
        probes = self.objects(os.path.join(live.TARGETS, "zoo-pie"))
        self.assertEqual(counts(probes), (13, 14))
        multi, = [p for p in probes if p["name"] == "multi"]
        self.assertEqual((len(multi["sites"]), multi["has_semaphore"], multi["arguments"][0]["value_type"]), (2, False, "int32"))

    def test_functions_of_sites(self):
        probes = self.objects("-v", os.path.join(live.TARGETS, "zoo-pie"), "multi")
        self.assertEqual({s["function"] for s in probes[0]["sites"]}, {"site_a", "site_b"})

    def test_process_says_what_its_file_says(self):
        target = self.start_target("zoo-nopie", "1000")
        of_process = self.objects("-p", str(target.pid), "zoo:*")
        of_file = self.objects(os.path.join(live.TARGETS, "zoo-nopie"))
        for probe in of_process:
            self.assertEqual((probe.pop("pid"), probe.pop("comm")), (target.pid, "zoo-nopie"))
        self.assertEqual(of_process, of_file)

    def test_deleted_and_replaced(self):
        path = os.path.join(self.tempdir(), "zoo")
        shutil.copy(os.path.join(live.TARGETS, "zoo-pie"), path)
        target = self.start_target(path, "1000")
        os.unlink(path)
        with open(path, "w") as file:
            file.write("something else")
        probes = self.objects("-p", str(target.pid), "zoo:*")
        self.assertEqual(counts(probes), (13, 14))
        self.assertTrue(all(p["deleted"] and p["file"] == path for p in probes))
        self.assertIn(path + " (deleted)", self.usertrace("list", "-p", str(target.pid)).stdout)

    def test_all(self):
        target = self.start_target("zoo-pie", "1000")
        done = self.usertrace("list", "-a", "--json", "zoo:*")
        rows = done.objects()
        row, = [r for r in rows if target.pid in [p["pid"] for p in r["processes"]]]
        self.assertEqual((row["provider"], row["probes"], row["sites"], row["semaphores"]), ("zoo", 13, 14, 0))

    def test_a_32_bit_process(self):
        path = os.path.join(self.tempdir(), "old")
        code = bytes.fromhex("b81d000000cd80ebf7")    # pause(), for ever
        with open(path, "wb") as file:
            file.write(b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<2H5I6H", 2, 3, 1, 0x10054, 52, 0, 0, 52, 32, 1, 40, 0, 0))
            file.write(struct.pack("<8I", 1, 0, 0x10000, 0x10000, 84 + len(code), 84 + len(code), 5, 0x1000) + code)
        os.chmod(path, 0o755)
        try:
            target = self.start(path)
        except OSError as error:
            self.skipTest(f"32-bit programs do not run here: {error}")
        self.runs(target.pid, "old")
        done = self.usertrace("list", "-p", str(target.pid))
        self.assertEqual((done.status, done.stdout), (1, []))
        self.assertEqual(done.stderr, [f"usertrace list: process {target.pid} (old) runs a file for 32-bit x86; only 64-bit "
                                       "x86 programs can be traced"])

    def test_no_process(self):
        gone = self.start("/bin/true")
        gone.wait()
        done = self.usertrace("list", "-p", str(gone.pid))
        self.assertEqual((done.status, done.stdout, done.stderr), (1, [], [f"usertrace list: no process {gone.pid}"]))

    @live.needs_program("sleep")
    def test_process_without_probes(self):
        target = self.start("sleep", "60")
        self.runs(target.pid, "sleep")
        done = self.usertrace("list", "-p", str(target.pid))
        self.assertEqual((done.status, done.stdout), (1, []))
        self.assertIn(f"process {target.pid} (sleep) has no probes", done.stderr[0])
        self.assertIn(f"usertrace trace -p {target.pid} 'p:", "".join(done.stderr))

    @live.needs_program("unshare")
    def test_other_namespaces(self):
        if os.geteuid():
            self.skipTest("needs root")
        outer = self.start("unshare", "--pid", "--fork", "--mount", "--kill-child", os.path.join(live.TARGETS, "zoo-pie"), "1000")
        pid = self.child_of(outer)
        self.runs(pid, "zoo-pie")
        done = self.usertrace("list", "-p", str(pid), "multi")
        self.assertEqual(done.stdout[0], f"process {pid} (zoo-pie; 1 in its own pid namespace)")
        self.assertEqual(self.objects("-p", str(pid), "multi")[0]["ns_pid"], 1)
        self.assertTrue(any(f" {pid}/1 " in line for line in self.usertrace("list", "-a").stdout))

    def test_a_file_that_only_its_namespace_has(self):
        if os.geteuid() or not all(map(shutil.which, ("unshare", "mount", "sh", "cp"))):
            self.skipTest("needs root, unshare, mount, sh and cp")
        folder = self.tempdir()
        script = f"mount -t tmpfs none {folder} && cp {live.TARGETS}/zoo-static {folder}/hidden && exec {folder}/hidden 1000"
        inner = self.start("unshare", "--mount", "sh", "-c", script)
        self.runs(inner.pid, "hidden")
        self.assertFalse(os.path.exists(os.path.join(folder, "hidden")))
        self.assertEqual(counts(self.objects("-p", str(inner.pid))), (13, 14))


class WithoutRoot(ListCase):
    def as_nobody(self, *args):
        done = self.start(live.USERTRACE, "list", *args, preexec=lambda: (os.setgroups([]), os.setgid(NOBODY), os.setuid(NOBODY)))
        done.wait()
        return done

    def setUp(self):
        if os.geteuid():
            self.skipTest("needs root, to become nobody")
        if self.as_nobody("--help").status != 0:
            self.skipTest("nobody may not reach the build folder")

    def test_own_process(self):
        own = self.start(os.path.join(live.TARGETS, "zoo-pie"), "1000", preexec=lambda: os.setuid(NOBODY))
        own.wait_for("^pid", "stderr")
        # A program that changed its user before the exec is as open as any other of that user.
        done = self.start(live.USERTRACE, "list", "-p", str(own.pid), "multi", preexec=lambda: os.setuid(NOBODY))
        self.assertEqual((done.wait(), len(done.stdout)), (0, 3))

    def test_processes_of_others(self):
        target = self.start_target("zoo-pie", "1000")
        done = self.as_nobody("-p", str(target.pid))
        self.assertEqual((done.status, done.stdout), (1, []))
        self.assertRegex(done.stderr[0], f"cannot .* process {target.pid}: permission denied; run as root")
        self.assertRegex("\n".join(self.as_nobody("-a").stderr), r"\d+ process(es)? omitted: run as root")

    def test_a_file_that_is_not_for_us(self):
        path = os.path.join(self.tempdir(), "secret")
        with open(path, "wb") as file:
            file.write(elf(NOTES))
        done = self.as_nobody(path)
        self.assertEqual((done.status, done.stderr), (1, [f"usertrace list: cannot open '{path}': Permission denied"]))


class Runtimes(ListCase):
    @live.needs_program("/usr/bin/python3.11")
    def test_python(self):
        probes = self.objects("/usr/bin/python3.11")
        self.assertEqual(counts(probes), (8, 8))
        self.assertTrue(all(p["has_semaphore"] and p["provider"] == "python" for p in probes))
        types = {p["name"]: [a["value_type"] for a in p["arguments"]] for p in probes}
        self.assertEqual(types["gc__start"], ["int32"])
        self.assertEqual(types["function__entry"], ["uint64", "uint64", "int32"])

    @live.needs_program("/usr/bin/python3.11")
    def test_a_program_by_name_and_a_near_miss(self):
        done = self.usertrace("list", "python3.11", "gc_start", env={"PATH": "/usr/bin"})
        self.assertEqual((done.status, done.stdout), (1, []))
        self.assertEqual(done.stderr, ["usertrace list: no probe gc_start; there is python:gc__start"])

    def test_functions_that_fit_where_no_probe_does(self):
        target = self.start_target("zoo-pie", "1000")
        with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
            path = next(line.split()[-1] for line in maps if line.endswith("/zoo-pie\n"))
        for pattern, words in (("p_no*", "fits p_no*, but functions do"), ("p_none", "p_none, but a function")):
            done = self.usertrace("list", "-p", str(target.pid), pattern)
            self.assertEqual((done.status, done.stdout), (1, []))
            self.assertEqual(done.stderr, [f"usertrace list: no probe {words}: p:{path}:{pattern}"])

    def test_ruby(self):
        found = glob.glob("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.*")
        if not found:
            self.skipTest("libruby 3.1 is not installed")
        probes = self.objects(found[0])
        self.assertEqual(counts(probes), (22, 40))
        array, = [p for p in probes if p["name"] == "array__create"]
        self.assertEqual((len(array["sites"]), [a["value_type"] for a in array["arguments"]]), (4, ["int64", "uint64", "int32"]))
        self.assertTrue(all(p["has_semaphore"] for p in probes))

    @live.needs_program("/usr/bin/ruby")
    def test_the_library_of_ruby_is_named(self):
        done = self.usertrace("list", "/usr/bin/ruby")
        self.assertEqual((done.status, done.stdout), (1, []))
        self.assertIn("it is CRuby (Ruby)", done.stderr[0])
        self.assertRegex("\n".join(done.stderr), r"usertrace list /\S+/libruby")

    def test_java_as_a_file(self):
        path = "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"
        if not os.path.exists(path):
            self.skipTest("OpenJDK 17 is not installed")
        probes = self.objects(path)
        self.assertEqual(counts(probes), (517, 531))
        self.assertEqual(sum(p["provider"] == "hotspot" for p in probes), 42)
        self.assertEqual(len(self.usertrace("list", path).stdout), 518)

    @live.needs_program("javac")
    def test_java_as_a_process(self):
        if not os.path.exists("/usr/lib/jvm/java-17-openjdk-amd64/bin/java"):
            self.skipTest("OpenJDK 17 is not installed")
        source = os.path.join(self.tempdir(), "Wait.java")
        with open(source, "w") as file:
            file.write('class Wait { public static void main(String[] a) throws Exception {'
                       ' System.out.println("ready"); System.in.read(); } }')
        java = self.start("/usr/lib/jvm/java-17-openjdk-amd64/bin/java", source, stdin=subprocess.PIPE)
        java.wait_for("ready")
        jvm = [p for p in self.objects("-p", str(java.pid)) if p["file"].endswith("/libjvm.so")]
        self.assertEqual(counts(jvm), (517, 531))
        heading = self.usertrace("list", "-p", str(java.pid), "gc__begin").stdout[0]
        self.assertEqual(heading, f"process {java.pid} (java): HotSpot (Java)")
        rows = {r["provider"]: (r["probes"], r["sites"]) for r in map(json.loads, self.usertrace("list", "-a", "--json").stdout)
                if r["type"] == "provider" and java.pid in [p["pid"] for p in r["processes"]]}
        self.assertEqual((rows["hotspot"], rows["hotspot_jni"], rows["hs_private"]), ((42, 46), (473, 483), (2, 2)))

    @live.needs_program("/usr/bin/node")
    def test_node_has_none_and_offers(self):
        node = self.start("/usr/bin/node", "-e", "process.stdin.resume(); console.log('ready')", stdin=subprocess.PIPE)
        node.wait_for("ready")
        done = self.usertrace("list", "-p", str(node.pid), "gc*")
        self.assertEqual((done.status, done.stdout), (1, []))
        said = "\n".join(done.stderr)
        self.assertIn("it is Node.js (JavaScript)", said)
        self.assertIn(f"usertrace trace -p {node.pid} 'r:*node*:*Heap*PerformGarbageCollection*", said)
        data, = map(json.loads, self.usertrace("list", "--json", "-p", str(node.pid), "gc*").stdout)
        self.assertEqual((data["runtime"], data["type"]), ("Node.js", "no-probes"))
        self.assertTrue(data["offers"][0]["probe"].startswith("r:*node*:"))
        rows = [line.split() for line in self.usertrace("list", "-a").stdout]
        self.assertTrue(any(r[:3] == ["/usr/bin/node", "Node.js", "-"] and str(node.pid) in r[5] for r in rows))
