# SPDX-License-Identifier: MIT
"""Programs whose profiles are compared, and what came out of a profiler's file: stacks, frames, names."""
import os
import re
import shutil
import subprocess
import tempfile
import time

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
PYTHON = "/usr/bin/python3.11"
RUBY = """
def fib(n) n < 2 ? n : fib(n - 1) + fib(n - 2) end
loop { fib(20); (1..2000).map(&:to_s).sort }
"""
PYTHON_LOOP = """
import re, json
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
while True: fib(18); json.dumps([{"a": i} for i in range(300)]); sorted(range(3000), key=lambda x: -x)
"""
NODE = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
for (;;) { fib(22); JSON.stringify(Array.from({length: 500}, (_, i) => ({a: i}))); [...Array(3000).keys()].sort((a, b) => b - a); }
"""
KERNEL = "while (1) { open(F, '<', '/proc/self/maps'); my @all = <F>; stat('/usr/lib/os-release') }"
LISP = "(loop (let ((x (make-list 2000))) (sort (mapcar (lambda (a) (declare (ignore a)) (random 100)) x) (function <))))"
SQL = "select count(*) from generate_series(1, 3000) a, generate_series(1, 3000) b where a % 7 = b % 5"


class Program:
    """One that burns processor time until it is ended. @argv of the command; the process is ready when it said a line."""

    def __init__(self, name, argv, why_not=None, feed=""):
        self.name, self.argv, self.why_not, self.feed = name, argv, why_not, feed
        self.process = None

    def __enter__(self):
        self.out = tempfile.TemporaryFile()
        self.cwd = tempfile.TemporaryDirectory(prefix="bench-cwd-")     # Node writes a file of its own into it
        self.process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=self.out, stderr=self.out, cwd=self.cwd.name)
        self.process.stdin.write(self.feed.encode())
        self.process.stdin.flush()
        deadline = time.monotonic() + programs.PATIENCE
        while cpu_seconds(self.process.pid) < 0.5:      # past its start: what is compared is how it runs
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise programs.Unusable(f"{self.name} does not run")
            time.sleep(0.02)
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.out.close()
        self.cwd.cleanup()

    @property
    def pid(self):
        return self.process.pid


class Postgres(Program):
    """A server of its own with one session that is busy; that one's backend is profiled."""

    def __init__(self, folder):
        found = sorted(name for name in os.listdir("/usr/lib/postgresql")) if os.path.isdir("/usr/lib/postgresql") else []
        self.bin = f"/usr/lib/postgresql/{found[-1]}/bin" if found else None
        super().__init__("PostgreSQL, a query", [], None if found else "no PostgreSQL")
        self.folder = os.path.join(folder, "postgres")

    def as_user(self, *argv, **more):
        return subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *argv], cwd="/", check=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)

    def __enter__(self):
        os.makedirs(self.folder)
        shutil.chown(self.folder, "postgres", "postgres")
        os.chmod(os.path.dirname(self.folder), 0o755)
        self.as_user(f"{self.bin}/initdb", "-D", f"{self.folder}/data", "-A", "trust")
        self.as_user(f"{self.bin}/pg_ctl", "-D", f"{self.folder}/data", "-w", "-o", f"-k {self.folder} -c listen_addresses=", "start")
        self.client = subprocess.Popen([f"{self.bin}/psql", "-h", self.folder, "-U", "postgres", "-c", f"do $$ begin loop perform ({SQL}); end loop; end $$"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + programs.PATIENCE
        self.backend = None
        while not self.backend and time.monotonic() < deadline:
            self.backend = next((pid for pid in children_of_postmaster(self.folder) if cpu_seconds(pid) > 0.5), None)
        if not self.backend:
            raise programs.Unusable("no backend is busy")
        return self

    def __exit__(self, *unused):
        self.as_user(f"{self.bin}/pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")
        self.client.wait(programs.PATIENCE)

    @property
    def pid(self):
        return self.backend


def children_of_postmaster(folder):
    with open(f"{folder}/data/postmaster.pid", encoding="ascii") as file:
        postmaster = int(file.readline())
    with open(f"/proc/{postmaster}/task/{postmaster}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def cpu_seconds(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compiled(folder, source, name, *options):
    out = os.path.join(folder, name)
    cc = "g++" if source.endswith(".cc") else "gcc"
    subprocess.run([cc, "-w", *options, os.path.join(HERE, source), "-o", out, "-pthread"], check=True)
    return out


def missing(command):
    return None if shutil.which(command) else f"no {command}"


def all_programs(folder):
    """What the issue of unknown frames is measured on."""
    subprocess.run(["javac", "-d", folder, os.path.join(HERE, "Churn.java")], check=False) if shutil.which("javac") else None
    deep = compiled(folder, "deep.c", "deep", "-O2")
    stripped = compiled(folder, "deep.c", "stripped", "-O2", "-s")
    static = compiled(folder, "deep.c", "static", "-O2", "-static")
    cxx = compiled(folder, "maps.cc", "maps", "-O2")
    map_option = ["--perf-basic-prof", "--interpreted-frames-native-stack"]
    return [
        Program("C -O2, 300 deep", [deep, "300"]),
        Program("C++ -O2", [cxx]),
        Program("static binary", [static, "30"]),
        Program("stripped binary", [stripped, "30"]),
        Program("the kernel's frames", ["perl", "-e", KERNEL], missing("perl")),
        Program("OpenJDK 17, -XX:+PreserveFramePointer", ["java", "-XX:+PreserveFramePointer", "-XX:+UseSerialGC", "-Xmx64m", "-cp", folder, "Churn", "heavy"],
                missing("javac"), "10000000\n"),
        Program("Node, with its map", ["node", *map_option, "-e", NODE], missing("node")),
        Program("python3.11", [PYTHON, "-c", PYTHON_LOOP], missing(PYTHON)),
        Program("ruby3.1", ["ruby", "-e", RUBY], missing("ruby")),
        Postgres(folder),
        Program("SBCL, with examples/sbcl", ["sbcl", "--noinform", "--load", os.path.join(HERE, "../../examples/sbcl/usertrace-map.lisp"), "--eval", LISP],
                missing("sbcl")),
    ]


def small_programs(folder):
    return [Program("C -O2, 300 deep", [compiled(folder, "deep.c", "deep", "-O2"), "300"])]


class Stacks:
    """Counts over samples: how many there are, reach a thread's start, and what their frames are called."""

    def __init__(self):
        self.samples = self.complete = self.frames = self.unknown = self.nameless = self.depth = 0
        self.kernel_frames = self.bytes = 0
        self.note = ""

    def add(self, frames, count, complete, unknown, nameless):
        self.samples += count
        self.complete += count * complete
        self.frames += count * len(frames)
        self.unknown += count * unknown
        self.nameless += count * nameless


# Where a thread or a program begins, or what is called from there: a stack that ends elsewhere is cut, whoever took it.
STARTS = re.compile(r"^(main|start_thread|__libc_start_main\S*|__libc_start_call_main|thread_native_entry|_start|__GI___clone3|__clone3|clone3|__clone|clone|thread_start|ret_from_fork(_asm)?|_dl_start_user|entry_SYSCALL_64_after_hwframe|"
                    r"asm_\w+|\[no symbols: [^]]*\]|secondary_startup_64\w*|common_startup_64)$")
NAMELESS = re.compile(r"^\[(no symbols|unknown code|no map|file gone|not an ELF|no unwind|kernel hides|no name)")
UNKNOWN = re.compile(r"^(\[unknown\]|0x[0-9a-f]+|\[unknown code.*|\[no map.*|\[file gone.*|\[kernel hides.*)$")


def read_folded(path):
    found = Stacks()
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            frames = [re.sub(r"_\[[a-z]\]$", "", frame) for frame in stack.split(";")]
            if frames and frames[0] == "[GC]":
                frames = frames[1:]
            complete = bool(frames and STARTS.match(frames[0]))
            found.add(frames, int(count), complete, sum(bool(UNKNOWN.match(frame)) for frame in frames), sum(bool(NAMELESS.match(frame)) for frame in frames))
    return found


def usertrace_profile(bench, pid, seconds, folder):
    out = os.path.join(folder, "usertrace.folded")
    done = subprocess.run([bench.usertrace, "profile", "-p", str(pid), "-d", str(seconds), "-o", out], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode:
        raise programs.Unusable(done.stderr.strip()[-200:])
    found = read_folded(out)
    found.bytes = os.path.getsize(out)
    return found


def perf_profile(how, pid, seconds, folder, max_stack=1100):
    """perf's file, read by perf script: a frame a line, outermost last."""
    data = os.path.join(folder, "perf.data")
    subprocess.run(["perf", "record", "-q", "-F", "999", "-e", "cpu-clock", *how, "-p", str(pid), "-o", data, "--", "sleep", str(seconds)],
                   stdin=subprocess.DEVNULL, capture_output=True, check=True)
    found = Stacks()
    found.bytes = os.path.getsize(data)
    script = subprocess.Popen(["perf", "script", "-i", data, "--no-inline", "--max-stack", str(max_stack), "-F", "comm,ip,sym"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    frames = []
    for line in [*script.stdout, "\n"]:
        words = line.split(None, 1)
        if line.startswith((" ", "\t")) and words:
            frames.append(words[1].strip() if len(words) > 1 else "[unknown]")
        elif not words and frames:
            unknown = sum(frame == "[unknown]" for frame in frames)
            found.add(frames, 1, bool(STARTS.match(frames[-1])), unknown, unknown)
            frames = []
    script.wait()
    script.stdout.close()
    os.unlink(data)
    return found
