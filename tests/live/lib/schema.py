# SPDX-License-Identifier: MIT
"""Whether JSON output is what `usertrace --json-schema` says. Every object that a test reads by live.Process.objects() is
checked, as far as python3-jsonschema is there (it is not on the other kernel)."""
import functools
import json
import subprocess

try:
    import jsonschema
except ImportError:
    jsonschema = None

EACH = 300      # of a type in one output; the others are like them


@functools.lru_cache(maxsize=None)
def of_command(command=None):
    from live import USERTRACE      # which includes this file
    done = subprocess.run([USERTRACE, "--json-schema", *([command] if command else [])], capture_output=True, check=True,
                          timeout=60)
    return json.loads(done.stdout)


@functools.lru_cache(maxsize=None)
def validators(command=None):
    """{type of a line: its validator}: what is wrong is said better than by the whole schema's oneOf."""
    schema = of_command(command)
    names = [line["$ref"].rsplit("/", 1)[1] for line in schema["oneOf"]]
    return {schema["$defs"][name]["properties"]["type"]["const"]:
            jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}) for name in names}


def fault(line, command=None):
    """What is wrong with one line, in words; None when it is as the schema says."""
    known = validators(command)
    if not isinstance(line, dict) or line.get("type") not in known:
        return f"no type that the schema knows: {line}"
    error = jsonschema.exceptions.best_match(known[line["type"]].iter_errors(line))
    return f"{error.json_path}: {error.message} in {json.dumps(line)}"[:2000] if error else None


def check(lines, command=None):
    seen = {}
    for line in lines:
        kind = line.get("type") if isinstance(line, dict) else None
        seen[kind] = seen.get(kind, 0) + 1
        if jsonschema and seen[kind] <= EACH:
            wrong = fault(line, command)
            if wrong:
                raise AssertionError(wrong)
    return lines
