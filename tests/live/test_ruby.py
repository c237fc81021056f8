# SPDX-License-Identifier: MIT
"""Debian's CRuby, traced live, against what the interpreter says itself."""
import os
import unittest

import live
import runtimes

RUBY = runtimes.path_of("ruby")
CHURN = os.path.join(live.TARGET_SOURCES, "gc_churn.rb")


def library_of(pid):
    """The file that holds the interpreter: its library, or the program when it is linked in."""
    with open(f"/proc/{pid}/maps") as maps:
        return next((line.split(None, 5)[5].rstrip("\n") for line in maps if "/libruby" in line), RUBY)


@live.needs_root()
@unittest.skipUnless(RUBY, "ruby is not installed")
class Ruby(runtimes.Case):
    def churn(self, *probes, seconds="0.6"):
        program = self.gated(RUBY, "--disable=gems", CHURN, seconds, "--gate")
        probes_seen = self.probes_of(library_of(program.pid), "*")
        trace = self.trace("-p", program.pid, "--json", *probes)
        said = self.go(program)
        self.stop(trace)
        self.assertEqual(set(self.semaphores(program.pid, library_of(program.pid), probes_seen)), {0})
        self.assertEqual(set(self.site_bytes(program.pid, library_of(program.pid), probes_seen)), {0x90})
        self.let_end(program)
        return said, self.by_probe(trace)

    def test_collections(self):
        said, events = self.churn("u:ruby:gc__mark__begin", "u:ruby:gc__mark__end", "u:ruby:gc__sweep__*")
        self.assertGreater(said["gc_count"], 0)
        self.assertEqual(len(events["gc__mark__begin"]), said["gc_count"])
        # Sweeping is lazy, in many parts, and some of them lie inside of a mark.
        self.assertGreaterEqual(len(events["gc__sweep__begin"]), len(events["gc__mark__begin"]))
        self.assertLessEqual(abs(len(events["gc__sweep__begin"]) - len(events["gc__sweep__end"])), 1)

    def test_raise(self):
        said, events = self.churn("u:ruby:raise")
        with open(CHURN) as file:
            line = 1 + next(i for i, text in enumerate(file) if "raise ArgumentError" in text)
        own = [e for e in events["raise"] if e["args"]["arg1"] == "ArgumentError"]
        self.assertEqual(len(own), said["raised"])
        self.assertEqual({(e["args"]["arg2"], e["args"]["arg3"]) for e in own}, {(CHURN, line)})
        self.assertEqual({e["message"] for e in own}, {f"ArgumentError {CHURN}:{line}"})

    def test_each_site_of_a_probe_by_its_own_operands(self):
        """array__create has a constant length at one of its sites, and a length of eight bytes at the others."""
        script = "x = [1, 2, 3, 4, 5]; y = Array.new(17, 0); x + y"
        found = self.events_of_command('u:ruby:array__create (arg2 != 0)',
                                       command=[RUBY, "--disable=gems", "-e", script])
        own = [e["args"]["arg1"] for e in found if e["args"]["arg2"] == "-e"]
        for length in (5, 0, 22):   # of a literal, of an array that is filled later, of a sum
            self.assertIn(length, own)

    def methods(self, script, *probes):
        return self.events_of_command(*probes, command=[RUBY, "--disable=gems", "-e", script])

    def test_methods_in_c(self):
        found = self.methods("25.times { |i| Math.sqrt(i) }", 'u:ruby:cmethod__entry (arg2 == "sqrt")',
                             'u:ruby:cmethod__return (arg2 == "sqrt")')
        self.assertEqual([e["message"] for e in found], ["Math#sqrt -e:1"] * 50)
        self.assertEqual([e["probe"] for e in found], ["ruby:cmethod__entry", "ruby:cmethod__return"] * 25)

    def test_methods_in_ruby(self):
        """Told only while the program watches them itself, as the runtime's file says."""
        probes = ['u:ruby:method__entry (arg1 == "Pot")', 'u:ruby:method__return (arg1 == "Pot")']
        script = "class Pot; def stir(n) n end end; pot = Pot.new; 25.times { |i| pot.stir(i) }"
        found = self.methods("TracePoint.new(:call, :return) {}.enable; " + script, *probes)
        self.assertEqual([e["message"] for e in found], ["Pot#stir -e:1"] * 50)
        self.assertEqual([e["probe"] for e in found], ["ruby:method__entry", "ruby:method__return"] * 25)
        self.assertEqual(self.methods(script, *probes), [])


if __name__ == "__main__":
    unittest.main()
