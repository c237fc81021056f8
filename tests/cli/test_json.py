# SPDX-License-Identifier: MIT
"""JSON of the commands that need no privileges, and the examples of docs/json.md, against the schemas; the schemas themselves."""
import copy
import json
import os
import re
import shutil
import subprocess
import unittest

import jsonschema

import live
import schema

COMMANDS = ["doctor", "gc", "list", "map", "profile", "report", "trace"]
DOCUMENT = os.path.join(live.SOURCE_ROOT, "docs/json.md")
HOSTILE = b'a"b\\c\x01\x1b[31m\n\xff\xc3(\xe2\x80\xae\xed\xa0\x80\xf0\x9f\x98\x80'


def read(*path):
    with open(os.path.join(live.SOURCE_ROOT, *path), encoding="utf-8") as file:
        return file.read()


def document_examples():
    """The objects that docs/json.md shows, each on one line or several."""
    blocks = re.findall(r'^    (\{"type".*\n(?:     .*\n)*)', read("docs/json.md"), re.MULTILINE)
    return [json.loads(block.replace("\n     ", "")) for block in blocks]


def strict(text):
    """One JSON value without a key twice, NaN or Infinity."""
    def pairs(found):
        assert len({key for key, _ in found}) == len(found), found
        return dict(found)

    def refuse(word):
        raise ValueError(word)
    return json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)


class Schemas(live.Case):
    def test_they_are_schemas(self):
        for command in (None, *COMMANDS):
            with self.subTest(command=command):
                text = schema.of_command(command)
                self.assertEqual(text["$schema"], "https://json-schema.org/draft/2020-12/schema")
                jsonschema.Draft202012Validator.check_schema(text)

    def test_every_object_is_strict(self):
        def walk(node, path):
            if isinstance(node, dict):
                if node.get("type") == "object":
                    self.assertIn("additionalProperties", node, path)
                    if node["additionalProperties"] is not False:
                        self.assertTrue(path.endswith(("/args", "/ends")), path)
                for key, child in node.items():
                    walk(child, f"{path}/{key}")
            elif isinstance(node, list):
                for i, child in enumerate(node):
                    walk(child, f"{path}/{i}")
        walk(schema.of_command(), "")

    def test_the_schema_of_all_is_that_of_each(self):
        every = schema.of_command()
        lines = set()
        for command in COMMANDS:
            one = schema.of_command(command)
            lines |= {line["$ref"] for line in one["oneOf"]}
            for name, definition in one["$defs"].items():
                self.assertEqual(every["$defs"][name], definition)
        self.assertEqual({line["$ref"] for line in every["oneOf"]}, lines)

    def test_commands_with_json_have_one(self):
        listing = self.usertrace("help", "--listing").stdout
        self.assertEqual(sorted(line.split("\t")[0] for line in listing if "\t--json\t" in line), COMMANDS)

    def test_another_command(self):
        for wrong in ("flame", "usertrace", "", "trace.json"):
            done = self.usertrace("--json-schema", wrong)
            self.assertEqual((done.status, done.stdout), (2, []))
            self.assertEqual(done.stderr, [f"usertrace: --json-schema: '{wrong}' is not a command with JSON output; use one of "
                                           + ", ".join(COMMANDS)])
        done = self.usertrace("--json-schema", "gc", "list")
        self.assertEqual((done.status, done.stderr), (2, ["usertrace: --json-schema: unexpected argument 'list'"]))

    def test_words_are_those_of_the_program(self):
        definitions = schema.of_command()["$defs"]
        names = re.search(r"names\[SPAN_ENDS\] = \{(.*?)\};", read("src/model/span_end.c"), re.DOTALL)[1]
        self.assertEqual(definitions["span_end"]["enum"], re.findall(r'"([a-z-]+)"', names))
        kinds = re.search(r'#define RUNTIME_KINDS "(.*)"', read("src/proc/runtime.h"))[1].split()
        self.assertEqual(definitions["span_kind"]["enum"], kinds + ["signal"])

    def test_the_document_has_every_type_and_key(self):
        text = read("docs/json.md")
        words = set(re.findall(r"`([a-z0-9_-]+)`", text)) | set(re.findall(r'"([a-z0-9_-]+)"', text))
        for name, definition in schema.of_command()["$defs"].items():
            for key, of_key in definition.get("properties", {}).items():
                self.assertIn(key, words, name)
                for word in of_key.get("enum", []) + ([of_key["const"]] if isinstance(of_key.get("const"), str) else []):
                    self.assertIn(word, words, name)


class Mutations(live.Case):
    """What a schema is worth: each change to a good object is found."""

    def test_examples_of_the_document(self):
        examples = document_examples()
        self.assertGreaterEqual({e["type"] for e in examples}, {"event", "end", "lost", "throttled", "span"})
        for example in examples:
            self.assertIsNone(schema.fault(example))

    def test_changes_are_found(self):
        for example in document_examples():
            required = schema.validators()[example["type"]].schema["$defs"][example["type"]]["required"]
            changes = [{**example, "wrong": 1}, {**example, "pid": "1"}, {**example, "type": "Wrong"}, {**example, "count": -1}]
            changes += [{k: v for k, v in example.items() if k != key} for key in required]
            if "end" in example:
                changes += [{**example, "end": word} for word in ("ended", "died", None)]
            for moment in ("time_ns", "begin_ns", "end_ns", "wall_ns"):
                changes += [{**example, moment: value} for value in (-1, 1.5, "1")]
            for change in changes:
                self.assertIsNotNone(schema.fault(change), change)

    def test_changes_deep_inside(self):
        stacks = self.usertrace("report", "hot", "--json", "--threads", self.stacks()).objects()[0]
        for path in (("totals",), ("states", 0), ("states", 0, "functions", 0), ("threads", 0)):
            change = copy.deepcopy(stacks)
            node = change
            for step in path:
                node = node[step]
            node["wrong"] = 1
            self.assertIsNotNone(schema.fault(change), path)

    def stacks(self):
        path = os.path.join(self.tempdir(), "in.folded")
        with open(path, "w", encoding="ascii") as file:
            file.write("main;run 3\nmain;write;vfs_write_[k] 2\n")
        return path


class Commands(live.Case):
    def lines(self, *argv, command=None, status=(0, 1), **kwargs):
        """What a command prints: each line strict JSON, valid UTF-8, and as its schema says."""
        done = subprocess.run([live.USERTRACE, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=live.PATIENCE * 2,
                              check=False, **kwargs)
        self.assertIn(done.returncode, status, done.stderr)
        lines = done.stdout.decode("utf-8").split("\n")
        self.assertEqual(lines.pop(), "")
        self.assertTrue(lines, done.stderr)
        found = [strict(line) for line in lines]
        for line in found:
            wrong = schema.fault(line, command or argv[0])
            self.assertIsNone(wrong)
        return found

    def zoo(self, name="zoo-pie"):
        path = os.path.join(live.TARGETS, name)
        if not os.path.exists(path):
            self.skipTest(f"{name} is not built")
        return path

    def test_list(self):
        found = self.lines("list", "--json", self.zoo()) + self.lines("list", "-v", "--json", self.zoo(), "multi")
        self.assertEqual({line["type"] for line in found}, {"probe"})
        self.assertEqual([line["type"] for line in self.lines("list", "--json", "/bin/true")], ["no-probes"])

    def test_list_of_processes(self):
        target = self.start(self.zoo(), "1000")
        found = self.lines("list", "--json", "-p", str(target.pid))
        self.assertTrue(all(line["pid"] == target.pid for line in found))
        self.assertIn("provider", {line["type"] for line in self.lines("list", "-a", "--json")})

    def test_list_of_hostile_names(self):
        folder = os.fsencode(self.tempdir())
        path = os.path.join(folder, HOSTILE)
        shutil.copy(self.zoo(), path)
        found = self.lines("list", "--json", path)
        self.assertEqual({line["file"] for line in found}, {path.decode("utf-8", "replace")})
        target = subprocess.Popen([path, "1000"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (target.kill(), target.communicate()))
        target.stderr.readline()
        found = self.lines("list", "--json", "-p", str(target.pid), "zoo:*")
        self.assertTrue(found[0]["comm"].startswith('a"b\\c\x01\x1b[31m\n'))

    def test_doctor(self):
        self.assertGreater(len(self.lines("doctor", "--json")), 5)
        self.assertGreater(len(self.lines("doctor", "--runtimes", "--json")), 5)
        target = self.start(self.zoo(), "1000")
        found = self.lines("doctor", "--json", "-p", str(target.pid))
        self.assertEqual(found[0]["pid"], target.pid)

    def test_doctor_of_a_hostile_runtime_definition(self):
        path = os.path.join(self.tempdir(), "bad.ini")
        with open(path, "wb") as file:
            file.write(b"[runtime]\nname = " + HOSTILE.replace(b"\n", b" ") + b"\nmatch = zoo-*\n[span gc]\nbegin = u:\xff\x01\n")
        self.lines("doctor", "--json", "--runtime", path, self.zoo())

    def test_map(self):
        target = self.start(self.zoo(), "1000")
        found, = self.lines("map", "--check", "--json", "-p", str(target.pid))
        self.assertEqual((found["pid"], found["files"]), (target.pid, []))
        path = f"/tmp/perf-{target.pid}.map"
        with open(path, "wb") as file:
            file.write(b"1000 20 " + HOSTILE.replace(b"\n", b"") + b"\n1000 20 b\nno line\n")
        self.addCleanup(os.unlink, path)
        found, = self.lines("map", "--check", "--json", "-p", str(target.pid))
        self.assertEqual([(f["path"], f["format"], f["bad_entries"]) for f in found["files"]], [(path, "perf-map", 1)])

    def test_report(self):
        hostile = HOSTILE.replace(b"\n", b"").replace(b";", b"")
        text = (b"main;run;parse_[i] 40\nmain;" + hostile + b" 3\nstart;[unknown code, no map: 0x7f01] 4\n"
                b"main;take;pthread_cond_wait;schedule_[k];[sleeping] 30\n")
        for options in ((), ("--threads",), ("--function", "*"), ("--rows", "1")):
            found, = self.lines("report", "hot", "--json", *options, input=text)
            names = [f["name"] for f in found["states"][0]["functions"]]
            if "--rows" not in options:
                self.assertTrue(any(name.startswith('a"b\\c\x01') for name in names), names)
        self.assertEqual(found, self.lines("report", "hot", "--json", "--rows", "1", input=text, command="profile")[0])


@unittest.skipUnless(shutil.which("jq"), "jq is not installed")
class Jq(live.Case):
    """Every command of docs/json.md that has a jq in it does what it says."""

    def test_examples(self):
        folder = self.tempdir()
        examples = document_examples()
        self.write(folder, "gc.json", [e for e in examples if e["type"] in ("span", "lost")])
        self.write(folder, "events.json", [e for e in examples if e["type"] not in ("span",)])
        with open(os.path.join(folder, "app.folded"), "w", encoding="ascii") as file:
            file.write("main;run 3\nmain;write 2\n")
        typed = re.findall(r"^    (.*\bjq .*)$", read("docs/json.md"), re.MULTILINE)
        self.assertGreaterEqual(len(typed), 4)
        said = {}
        for command in typed:
            command = command.replace("usertrace ", f"{live.USERTRACE} ").replace("app.pb.gz", "app.folded")
            done = subprocess.run(["sh", "-c", f"{command}"], cwd=folder, capture_output=True, text=True, check=False,
                                  timeout=live.PATIENCE)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            said[command.split()[-1]] = done.stdout.splitlines()
        self.assertEqual(said["gc.json"], ["3210000"])
        self.assertEqual(said["events.json"], ["4998765433\t1234567\tgc"])
        self.assertIn(["3\trun", "2\twrite"], [lines[:2] for lines in said.values()])

    def write(self, folder, name, objects):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(o) + "\n" for o in objects)


if __name__ == "__main__":
    unittest.main()
