# SPDX-License-Identifier: MIT
"""Debian's PHP, traced live, against what the program says itself."""
import os
import unittest

import live
import runtimes

PHP = runtimes.path_of("php8.2") or runtimes.path_of("php")
CHURN = os.path.join(live.TARGET_SOURCES, "churn.php")


@live.needs_root()
@unittest.skipUnless(PHP, "php is not installed")
class Php(runtimes.Case):
    def churn(self, *probes, env=None, seconds="0.3"):
        program = self.gated(PHP, CHURN, seconds, "--gate", env=env)
        all_probes = self.probes_of(PHP, "*")
        trace = self.trace("-p", program.pid, "--json", *probes)
        said = self.go(program)
        self.stop(trace)
        self.assertEqual(set(self.semaphores(program.pid, PHP, all_probes)), {0})
        self.assertEqual(set(self.site_bytes(program.pid, PHP, all_probes)), {0x90})
        self.let_end(program)
        return said, self.by_probe(trace)

    def test_exceptions(self):
        said, events = self.churn("u:php:exception__thrown", "u:php:exception__caught")
        self.assertGreater(said["caught"], 0)
        for probe in ("exception__thrown", "exception__caught"):
            self.assertEqual([e["message"] for e in events[probe]], ["RuntimeException"] * said["caught"])

    def test_calls(self):
        """Calls are told only by a PHP that was started for it."""
        said, events = self.churn('u:php:function__entry (arg1 == "work")', 'u:php:function__return (arg1 == "work")',
                                  "u:php:exception__caught", env={"USE_ZEND_DTRACE": "1"})
        with open(CHURN) as file:
            line = 1 + next(i for i, text in enumerate(file) if "function work" in text)
        for probe in ("function__entry", "function__return"):
            self.assertEqual(len(events[probe]), said["calls"])
            told = {tuple(e["args"][f"arg{i}"] for i in (1, 2, 4, 5)) for e in events[probe]}
            self.assertEqual(told, {("work", CHURN, "Worker", "::")})
        self.assertEqual({e["message"] for e in events["function__entry"]}, {f"Worker::work {CHURN}:{line}"})
        self.assertEqual(len(events["exception__caught"]), said["caught"])

    def test_no_calls_without_it(self):
        said, events = self.churn("u:php:function__*")
        self.assertGreater(said["calls"], 0)
        self.assertEqual(events, {})

    def test_request(self):
        found = self.events_of_command("u:php:request__*", command=[PHP, CHURN, "0.01"])
        self.assertEqual([e["probe"] for e in found], ["php:request__startup", "php:request__shutdown"])
        self.assertEqual({e["message"] for e in found}, {CHURN})

    def test_collections_by_function(self):
        """Its collector has no probes; the function it is in can be traced, as the list says."""
        said, events = self.churn(f"r:{PHP}:zend_gc_collect_cycles \"%d ns\", duration")
        self.assertGreater(said["gc_runs"], 0)
        durations = [e["args"]["duration"] for e in events["zend_gc_collect_cycles"]]
        self.assertEqual(len(durations), said["gc_runs"])
        self.assertTrue(all(0 < d < 1e9 for d in durations), durations)


if __name__ == "__main__":
    unittest.main()
