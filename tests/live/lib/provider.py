# SPDX-License-Identifier: MIT
"""What tests of `usertrace dtrace` share: provider files, headers and objects from them, and programs that fire every
probe of one."""
import collections
import os
import re
import subprocess

import live

CASES = os.path.join(live.SOURCE_ROOT, "tests/cases/dtrace")
SYSTEMTAP = "/usr/bin/dtrace"
CFLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
WORDS = {"unsigned", "signed", "char", "short", "int", "long", "const", "size_t", "ssize_t", "void"}

Declared = collections.namedtuple("Declared", "provider name types")


def case(name):
    return os.path.join(CASES, name)


def is_systemtap():
    """Is SystemTap's dtrace installed?"""
    try:
        with open(SYSTEMTAP, encoding="utf-8") as file:
            return "ystemtap" in file.read(2000)
    except (OSError, UnicodeDecodeError):
        return False


def run(argv, cwd=None, env=None, **kwargs):
    """Runs a command that must succeed; its standard output."""
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=60, cwd=cwd,
                          env={**os.environ, **env} if env else None, **kwargs)
    assert done.returncode == 0, f"{argv}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def preprocess(text):
    return run(["cpp", "-P", "-xc", "-"], input=text)


def type_of(decl):
    """"unsigned long size" without its name."""
    words = decl.split()
    return " ".join(words[:-1] if words[-1].isidentifier() and words[-1] not in WORDS else words)


def declared(path):
    """What a plain provider file declares, read without usertrace."""
    with open(path, encoding="utf-8") as file:
        text = preprocess(re.sub(r"^#pragma.*$", "", file.read(), flags=re.M))
    found = []
    for provider, body in re.findall(r"provider (\w+) \{(.*?)\};", text, re.S):
        for name, args in re.findall(r"probe (\w+)\((.*?)\);", body, re.S):
            found.append(Declared(provider, name, [type_of(a) for a in args.split(",") if a.strip()]))
    return found


def macro(probe):
    """The name that SystemTap's script gives it."""
    return probe.provider.upper() + "_" + probe.name.replace("__", "_").upper()


def program(probes, header, macro_name=macro):
    """A C program that fires each probe once, with variables of the declared types, and asks for each semaphore."""
    lines = [f'#include "{header}"', "#include <stdio.h>", "#include <sys/types.h>", "int main(int argc, char **argv)", "{",
             "\tint enabled = 0;", "\t(void)argc, (void)argv;"]
    for number, probe in enumerate(probes):
        values = [f"v{number}_{i}" for i in range(len(probe.types))]
        for value, type_ in zip(values, probe.types):
            cast = f"({type_})argv" if "*" in type_ else f"({type_})argc"
            lines.append(f"\t{type_} {value} = {cast};")
        lines.append(f"\t{macro_name(probe)}({', '.join(values)});")
        lines.append(f"\tenabled += {macro_name(probe)}_ENABLED() ? 1 : 0;")
    return "\n".join(lines + ['\treturn printf("%d\\n", enabled) < 0;', "}", ""])


def notes(path):
    """{(provider, name): (list of sizes such as -4, has a semaphore)} from readelf."""
    found = {}
    text = run(["readelf", "-n", path])
    form = r"Provider: (.*)\n\s*Name: (.*)\n.*Semaphore: (0x[0-9a-f]+)\n\s*Arguments: ?(.*)"
    for provider, name, semaphore, args in re.findall(form, text):
        sizes = [int(a.split("@")[0]) for a in args.split()]
        assert (provider, name) not in found, f"{provider}:{name} has two sites"
        found[provider, name] = (sizes, int(semaphore, 16) != 0)
    return found


def symbols(path):
    """{name: (size, type, binding, visibility, section)} of an object."""
    names = dict(re.findall(r"^\s*\[\s*(\d+)\]\s(\S+)", run(["readelf", "-SW", path]), re.M))
    found = {}
    for line in run(["readelf", "-sW", path]).splitlines():
        words = line.split()
        if len(words) == 8 and words[4] == "GLOBAL":
            found[words[7]] = (int(words[2]), words[3], words[4], words[5], names.get(words[6]))
    return found


def macros(path, prefix):
    """{macro: number of arguments} of those that begin with the prefix."""
    with open(path, encoding="utf-8") as file:
        found = re.findall(r"^#\s*define\s+(" + prefix + r"\w*)\(([^)]*)\)", file.read(), re.M)
    return {name: len([a for a in args.split(",") if a.strip()]) for name, args in found}


def usertrace(*args, cwd=None, env=None):
    return run([live.USERTRACE, "dtrace", *args], cwd=cwd, env=env)
