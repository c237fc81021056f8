# SPDX-License-Identifier: MIT
"""`usertrace profile` of runtimes that compile while they run: names and whole stacks where the runtime can give them,
and the flag where it was not started so."""
import os
import re
import subprocess
import unittest

import live
import profiles

JAVA = """
public class Busy {
    static long work(int n) { long s = 0; for (int i = 0; i < n; i++) s += Integer.toString(i).hashCode(); return s; }
    public static void main(String[] args) {
        long until = System.currentTimeMillis() + Long.parseLong(args[0]), s = 0;
        for (int i = 0; System.currentTimeMillis() < until; i++) {
            s += work(20000);
            if (i == 100) System.out.println("ready");
        }
        System.exit(s == 1 ? 1 : 0);
    }
}
"""

NODE = ("function work(n) { let s = 0; for (let i = 0; i < n; i++) s += String(i).length; return s }"
        "for (let t = Date.now(); Date.now() - t < 1200;) work(20000)")


@live.needs_root()
class Runtimes(profiles.Case):
    def busy(self):
        """A folder with the class."""
        folder = self.tempdir()
        with open(os.path.join(folder, "Busy.java"), "w", encoding="utf-8") as file:
            file.write(JAVA)
        subprocess.run(["javac", "-d", folder, os.path.join(folder, "Busy.java")], check=True)
        return folder

    def java(self, *flags):
        """A busy virtual machine that has compiled what it does; ended with the case."""
        folder = self.busy()
        java = self.start("java", "-Xmx64m", *flags, "-cp", folder, "Busy", "60000")
        java.wait_for("ready")
        self.addCleanup(self.remove_map, java.pid)
        return java

    @staticmethod
    def remove_map(pid):
        if os.path.exists(f"/tmp/perf-{pid}.map"):
            os.unlink(f"/tmp/perf-{pid}.map")

    @live.needs_program("javac")
    def test_hotspot_without_a_map(self):
        java = self.java("-XX:+PreserveFramePointer")
        profile = self.profile("-p", java.pid, "-d", "1")
        self.assertGreater(profile.share("start_thread", "long Busy.work(int)"), 0.5, profile.told)
        cut = sum(w for s, w in profile.stacks for f in s[:2] if f.startswith("[") and f != "[GC]")
        self.assertLessEqual(cut, max(1, profile.total // 100), profile.told)
        self.assertRegex(profile.told, r"(none|under 0.01 %|0.\d\d %) of [\d,]+ frames have no name")

    @live.needs_program("javac")
    def test_hotspot_without_frame_pointers(self):
        java = self.java()
        profile = self.profile("-p", java.pid, "-d", "0.7")
        self.assertGreater(profile.share("[no frame pointers: java -XX:+PreserveFramePointer]"), 0.5, profile.told)
        self.assertGreater(profile.weight("long Busy.work(int)"), 0, profile.told)

    @live.needs_program("javac")
    def test_hotspot_from_its_start_to_its_end(self):
        """It is asked while it runs: at its end nobody can be asked any more."""
        profile = self.profile("--", "sh", "-c", 'echo $$; exec "$@"', "sh", "java", "-Xmx64m", "-XX:+PreserveFramePointer", "-cp", self.busy(),
                               "Busy", "1500")
        self.remove_map(profile.done.stdout[0])
        self.assertGreater(profile.share("start_thread", "long Busy.work(int)"), 0.3, profile.told)
        self.assertNotIn("process", "".join(line for line in profile.done.stderr if "note" in line))

    @live.needs_program("node")
    def test_node_with_and_without_its_map(self):
        plain = self.profile("--", "node", "-e", NODE)
        self.assertIn("[no map: node --perf-basic-prof", plain.told)
        named = self.profile("--", "node", "--perf-basic-prof", "-e", NODE, cwd=self.tempdir())
        ours = sum(w for s, w in named.stacks if any(re.match(r"JS:\W?work ", f) for f in s))
        self.assertGreater(ours / named.total, 0.3, named.told)
        self.assertNotIn("[no map", named.told)


if __name__ == "__main__":
    unittest.main()
