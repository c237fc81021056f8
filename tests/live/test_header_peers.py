# SPDX-License-Identifier: MIT
"""Probes of usertrace.h, read by the tools that people have. One of them has floats, which must not harm the others."""
import os
import re
import shutil
import subprocess
import unittest

import elfnotes
import live

SOURCE = os.path.join(live.TARGET_SOURCES, "header/peers.c")

# What tests/targets/header/peers.c fires.
EXPECTED = {
    "signed_ints": [-1, -2, -3, -4],
    "unsigned_ints": [255, 65534, 4294967293, 2**64 - 4],
    "twelve": list(range(100, 112)),
    "constants": [5, -5, 255, -1],
    "guarded": [9],
}
SIZES = {"signed_ints": ["-1", "-2", "-4", "-8"], "unsigned_ints": ["1", "2", "4", "8"], "text": ["8", "8"],
         "twelve": ["-4"] * 12, "constants": ["-4", "-4", "1", "-8"], "guarded": ["-4"]}


def kernel_headers():
    """Where BCC finds what it compiles against, or None."""
    places = [os.environ.get("BCC_KERNEL_SOURCE"), f"/lib/modules/{os.uname().release}/build",
              os.path.join(live.BUILD_ROOT, "tests/bench/kernel-headers")]
    return next((p for p in places if p and os.path.isdir(p)), None)


class Peers(live.Case):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("gcc"):
            raise unittest.SkipTest("gcc is not installed")

    def setUp(self):
        self.folder = self.tempdir()
        self.program = os.path.join(self.folder, "peers")
        subprocess.run(["gcc", "-O2", "-DFLOATS", f"-I{live.SOURCE_ROOT}/include", SOURCE, "-o", self.program], check=True,
                       timeout=60)
        self.input = os.path.join(self.folder, "input")
        with open(self.input, "w", encoding="ascii") as file:
            file.write("go\n")

    def run_tool(self, *argv, **env):
        """What a tool prints; the program under it reads the line that lets it go on."""
        with open(self.input, encoding="ascii") as file:
            done = subprocess.run([str(a) for a in argv], stdin=file, capture_output=True, text=True, timeout=live.PATIENCE * 2,
                                  env={**os.environ, "HOME": self.folder, "LC_ALL": "C", **env}, check=False)
        self.said = done.stdout + done.stderr
        return done.stdout

    def check_numbers(self, found, expected=None):
        for name, values in (expected or EXPECTED).items():
            with self.subTest(probe=name):
                self.assertEqual(found.get(name), values, self.said[-3000:])

    def check_modulo(self, found, expected):
        """For tools that print all numbers as if they had a sign, or as if they had none."""
        self.check_numbers(*({n: [v % 2**64 for v in values] for n, values in d.items()} for d in (found, expected)))

    @live.needs_root()
    def test_usertrace(self):
        out = self.run_tool(live.USERTRACE, "trace", f"u:{self.program}:*", "--", self.program)
        lines = [l.split(None, 4) for l in out.splitlines() if re.match(r"\d+ ", l)]
        found = {l[3]: l[4].split() for l in lines if len(l) == 5}
        numbers = {n: [int(v, 0) for v in found.get(n, ["0"])] for n in EXPECTED}
        self.check_numbers(numbers)
        self.assertEqual(found.get("floats"), ["2.5", "1.5", "7"])
        text = self.run_tool(live.USERTRACE, "trace", f'u:{self.program}:text "%s %p", arg1, arg2', "--", self.program)
        self.assertRegex(text, r"text +hello 0x1234\n")

    def test_usertrace_list(self):
        out = self.run_tool(live.USERTRACE, "list", self.program)
        names = {"-1": "int8", "-2": "int16", "-4": "int32", "-8": "int64", "1": "uint8", "2": "uint16", "4": "uint32",
                 "8": "uint64"}
        for probe, sizes in SIZES.items():
            with self.subTest(probe=probe):
                guard = "guarded" if probe == "guarded" else "-"
                types = " ".join(names[s] for s in sizes)
                self.assertRegex(out, rf"(?m)^ *peers:{probe} +1 site +{guard} +{types}$")
        self.assertRegex(out, r"(?m)^ *usertrace:event +1 site +guarded +uint32 uint64 int64 uint64 uint64$")

    @live.needs_program("readelf")
    def test_readelf(self):
        out = self.run_tool("readelf", "-n", self.program)
        found = re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location: (\S+), Base: (\S+), Semaphore: (\S+)\s+Arguments: (.*)",
                           out)
        ours = [(n.provider, n.name, n.vaddr, n.base, n.semaphore, n.args) for n in elfnotes.Elf(self.program).notes()]
        self.assertEqual([(*f[:2], *(int(x, 16) for x in f[2:5]), f[5]) for f in found], ours)
        self.assertEqual({n[1] for n in ours}, {*SIZES, "floats", "event"})

    @live.needs_program("gdb")
    def test_gdb(self):
        script = os.path.join(self.folder, "script")
        with open(script, "w", encoding="ascii") as file:
            file.write("set pagination off\nset confirm off\n")
            for name, values in [*EXPECTED.items(), ("text", [0, 0x1234])]:
                file.write(f"break -probe-stap peers:{name}\ncommands\nsilent\n"
                           f'printf "SEEN {name} %d{" %ld" * len(values)}\\n", $_probe_argc, '
                           f'{", ".join(f"$_probe_arg{i}" for i in range(len(values)))}\ncontinue\nend\n')
            file.write(f"info probes stap peers\nrun < {self.input}\n")
        out = self.run_tool("gdb", "-nx", "-batch", "-x", script, self.program)
        if "ptrace" in self.said or "Cannot PTRACE" in self.said:
            self.skipTest("gdb may not trace here")
        for name in SIZES:
            self.assertRegex(out, rf"(?m)^stap +peers +{name} +0x[0-9a-f]+ ")
        found = {}
        for name, count, rest in re.findall(r"SEEN (\w+) (\d+) ([-\d ]+)$", out, re.MULTILINE):
            found[name] = [int(v) for v in rest.split()]
            self.assertEqual(int(count), len(found[name]), rest)
        text = found.pop("text", [])
        self.assertEqual(text[1:], [0x1234], self.said[-2000:])
        self.check_modulo(found, EXPECTED)

    @live.needs_root()
    @live.needs_program("bpftrace")
    def test_bpftrace(self):
        probes = {"signed_ints": 4, "unsigned_ints": 4, "twelve": 6, "constants": 4, "guarded": 1}
        code = "".join(f'usdt:{self.program}:peers:{name} {{ printf("SEEN {name}{" %ld" * n}\\n", '
                       f'{", ".join(f"arg{i}" for i in range(n))}); }}\n' for name, n in probes.items())
        code += f'usdt:{self.program}:peers:text {{ printf("SEEN text %s %ld\\n", str(arg0), arg1); }}\n'
        out = self.run_tool("bpftrace", "-c", self.program, "-e", code)
        found = {n: [int(v) for v in rest.split()] for n, rest in re.findall(r"SEEN (\w+) ([-\d ]+)$", out, re.MULTILINE)}
        self.check_modulo(found, {n: EXPECTED[n][:count] for n, count in probes.items()})
        self.assertIn(f"SEEN text hello {0x1234}\n", out)

    @live.needs_program("tplist-bpfcc")
    @live.needs_root()
    def test_bcc_list(self):
        out = self.run_tool("tplist-bpfcc", "-vv", "-l", self.program)
        for name, sizes in SIZES.items():
            with self.subTest(probe=name):
                part = re.search(rf"^b?'?peers:{name} \[sema (0x[0-9a-f]+)\]\n((?: .*\n?)*)", out, re.MULTILINE)
                self.assertTrue(part, out[-2000:])
                self.assertEqual(part[1] != "0x0", name == "guarded")
                found = re.findall(r"(\d+) +(signed|unsigned) +bytes @ (.*)", part[2])
                self.assertEqual([("-" if s == "signed" else "") + n for n, s, _ in found], sizes, part[2])
                self.assertFalse([f for f in found if "unrecognized" in f[2]])

    @live.needs_program("trace-bpfcc")
    @live.needs_root()
    def test_bcc_trace(self):
        headers = kernel_headers()
        if not headers:
            self.skipTest("BCC needs kernel headers; `make bench` fetches some")
        target = self.start(self.program, stdin=subprocess.PIPE)
        target.wait_for("ready")
        # What it makes of arg10 is arg1.
        expected = {n: v[:9] for n, v in EXPECTED.items()}
        formats = [f'u:{self.program}:{n} "SEEN {n}{" %lld" * len(v)}", {", ".join(f"arg{i + 1}" for i in range(len(v)))}'
                   for n, v in expected.items()]
        trace = self.start("trace-bpfcc", "-p", target.pid, *formats, f'u:{self.program}:text "SEEN text %s", arg1',
                           env={"BCC_KERNEL_SOURCE": headers, "PYTHONUNBUFFERED": "1"})
        # Its heading comes when it is attached.
        trace.wait_for("^PID", timeout=90)
        target.say("go\n")
        target.wait()
        trace.wait_for("SEEN text")
        trace.wait_for("SEEN guarded")
        trace.interrupt()
        self.said = trace.describe()
        found = {n: [int(v) for v in rest.split()]
                 for n, rest in (m.groups() for m in map(re.compile(r"SEEN (\w+) ([-\d ]+)$").search, trace.stdout) if m)}
        self.check_modulo(found, expected)

    @live.needs_root()
    @live.needs_program("perf")
    def test_perf(self):
        self.run_tool("perf", "buildid-cache", "--add", self.program)
        listed = self.run_tool("perf", "list", "sdt")
        # Constants are left out by perf, and numbers of one and two bytes lose their sign in its printing.
        names = ["signed_ints", "unsigned_ints", "twelve", "guarded", "text"]
        for name in names:
            self.assertIn(f"sdt_peers:{name} ", listed)
        made = []
        try:
            for name in names:
                self.run_tool("perf", "probe", "-q", "-a", f"sdt_peers:{name}")
                if "already exists" not in self.said:
                    made.append(name)
            data = os.path.join(self.folder, "data")
            self.run_tool("perf", "record", "-q", "-o", data, *[a for n in made for a in ("-e", f"sdt_peers:{n}")], self.program)
            recorded = self.said
            out = self.run_tool("perf", "script", "-i", data)
        finally:
            for name in made:
                self.run_tool("perf", "probe", "-q", "-d", f"sdt_peers:{name}")
        found = {n: [int(v, 0) for v in re.findall(r"arg\d+=(-?\w+)", rest)]
                 for n, rest in re.findall(r"sdt_peers:(\w+): \([0-9a-f]+\)(.*)", out)}
        self.said = recorded + out
        if "signed_ints" in found:
            found["signed_ints"] = [v - 2**8 if v == 255 else v - 2**16 if v == 65534 else v for v in found["signed_ints"]]
        self.assertEqual(found.pop("text", [0, 0])[1], 0x1234)
        self.check_numbers(found, {n: EXPECTED[n] for n in names if n != "text"})


if __name__ == "__main__":
    unittest.main()
