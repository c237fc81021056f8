# SPDX-License-Identifier: MIT
"""Collections of PHP as `usertrace gc` sees them, against hrtime() around gc_collect_cycles() and against gc_status()."""
import os
import unittest

import agree
import live
import runtimes

PHP = runtimes.path_of("php")
OWN = os.path.join(live.TARGET_SOURCES, "gc_own.php")


@live.needs_root()
@live.needs_program("chrt")     # nothing else takes the processor between what both read
@unittest.skipUnless(PHP, "php is not installed")
class Php(runtimes.Case):
    def watched(self, kinds, seconds="0.3", env=None):
        program = self.gated("chrt", "-f", "1", PHP, OWN, seconds, env=env)
        watch = agree.gc(self, "-p", program.pid, "-k", kinds)
        said = self.go(program)
        self.let_end(program)
        self.assertEqual(watch.wait(), 0, watch.describe())
        said["own"] = [tuple(map(int, line.split()[1:])) for line in program.stdout if line.startswith("gc ")]
        return watch, said

    def test_collections(self):
        watch, said = self.watched("gc")
        version = watch.of_type("attach")[0]["version"]
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        spans, own = watch.spans("gc"), said["own"]
        asked = spans[:len(own)]
        agree.compare(self, "PHP", "gc_collect_cycles(), hrtime()", version=version, own=[o[:2] for o in own],
                      seen=agree.lengths(asked), least=0.8, note="its intervals include the time of a PHP call and two probes")
        self.assertEqual([s["freed_objects"] for s in asked], [o[2] for o in own])
        agree.count(self, "PHP", "automatic runs, gc_status()", version=version, own=said["runs"],
                    seen=len(spans) - len(own))
        agree.count(self, "PHP", "objects freed, gc_status()", version=version, own=said["collected"],
                    seen=sum(s["freed_objects"] for s in spans))
        self.assertEqual(watch.cut("gc"), 0)
        agree.stands_still(self, spans)

    def test_exceptions_and_the_request(self):
        watch, said = self.watched("exception,request")
        caught = watch.spans("exception")
        agree.count(self, "PHP", "exceptions, counted by the program", own=said["caught"], seen=len(caught))
        self.assertEqual({s["name"] for s in caught}, {"RuntimeException"})
        # It began before tracing.
        self.assertEqual([s["end"] for s in watch.spans("request", closed=None)], ["before-attach"])

    def test_a_command(self):
        script = os.path.join(self.tempdir(), "included.php")
        with open(script, "w") as file:
            file.write("<?php\n")
        for value, files in (("1", [script]), ("", [])):
            watch = agree.gc(self, "-k", "compile,request", "--", PHP, "-r", f"include '{script}';", attached=False,
                             env={"USE_ZEND_DTRACE": value})
            self.assertEqual(watch.wait(), 0, watch.describe())
            self.assertEqual([s["name"] for s in watch.spans("compile")], files)
            self.assertEqual(len(watch.spans("request")), 1)


if __name__ == "__main__":
    unittest.main()
