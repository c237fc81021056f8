# SPDX-License-Identifier: MIT
"""The collections of OCaml programs, against Gc.quick_stat and the event log of the instrumented runtime."""
import glob
import os
import struct
import unittest

import agree
import churns
import live
import runtimes

OCAMLOPT = runtimes.path_of("ocamlopt")
MAGIC, ENTRY, EXIT, COUNTER, ALLOC, FLUSH = 0xc1fc1fc1, 0, 1, 2, 3, 4
REST = {ENTRY: "<H", EXIT: "<H", COUNTER: "<QH", ALLOC: "<QB", FLUSH: "<Q"}  # as eventlog_metadata describes them
MAJOR_SLICE, MINOR = 8, 24
AT_ITS_ENDS = 5     # the log begins with the program and ends with it; we come and go at its gates


def phases(path):
    """(phase, begin, length) of each phase in the log, in the order of their ends."""
    with open(path, "rb") as file:
        data = file.read()
    assert struct.unpack_from("<I", data)[0] == MAGIC, path
    at, begun = 8, {}
    while at < len(data):
        when, _, kind = struct.unpack_from("<QII", data, at)
        values = struct.unpack_from(REST[kind], data, at + 16)
        at += 16 + struct.calcsize(REST[kind])
        if kind == ENTRY:
            begun[values[0]] = when
        elif kind == EXIT and values[0] in begun:
            begin = begun.pop(values[0])
            yield values[0], begin, when - begin


@live.needs_root()
@unittest.skipUnless(OCAMLOPT, "ocamlopt is not installed")
class OCaml(churns.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(churns.source("churn.ml"), encoding="utf-8") as file, open(cls.built("churn.ml"), "w") as copy:
            copy.write(file.read())
        cls.build(OCAMLOPT, "unix.cmxa", "churn.ml", "-o", "churn")
        cls.build("ocamlc", "unix.cma", "churn.ml", "-o", "churn-bytecode")
        cls.build(OCAMLOPT, "-runtime-variant", "i", "unix.cmxa", "churn.ml", "-o", "churn-instrumented")

    def labelled(self, watch, label):
        return [s for s in watch.spans("gc") if s["label"] == label]

    def test_count(self):
        self.counts("churn", "minor")

    def test_bytecode(self):
        self.counts("churn-bytecode", "minor of bytecode")

    def counts(self, name, what):
        _, said, watch = self.watched(self.built(name), "120")
        version = churns.version_of("ocaml-base")
        self.assertGreater(said["minor"], 10)
        agree.count(self, "OCaml", f"{what}, Gc.quick_stat", said["minor"], len(self.labelled(watch, "minor")),
                    version=version)
        self.assertEqual(len(self.labelled(watch, "compaction")), said["compactions"])

    def test_lengths(self):
        self.compare_lengths()

    def compare_lengths(self):
        # With a large nursery each is so long that our probes, which lie within the log's times, do not matter.
        program, said, watch = self.watched(self.built("churn-instrumented"), "40", cwd=self.folder,
                                            env={"OCAML_EVENTLOG_ENABLED": "1", "OCAMLRUNPARAM": "s=1M"})
        log = list(phases(glob.glob(os.path.join(self.folder, f"*{program.pid}.eventlog"))[0]))
        version = churns.version_of("ocaml-base")
        for phase, label in ((MINOR, "minor"), (MAJOR_SLICE, "major slice")):
            own = [(begin, length) for which, begin, length in log if which == phase]
            seen = agree.lengths(self.labelled(watch, label))
            self.assertGreater(len(seen), 30)
            agree.compare(self, "OCaml", f"{label}, event log", own, seen, cut=AT_ITS_ENDS, version=version)
        self.assertEqual(len(self.labelled(watch, "minor")), said["minor"])


if __name__ == "__main__":
    unittest.main()
