#!/usr/bin/env python3
"""mutants.py - is the explorer worth its time?  It must find each known fault.

usage: mutants.py --cc CC --source LIB --work DIR [--quick] [--only NAME] OBJECT...

Each mutant is one small fault put into a copy of the arena's protocol.  The
copy is compiled, linked with the OBJECTs (the explorer and its cases) and
explored; a mutant that passes all cases, and one whose place is not found in
the source any more, is a failure of this test.  --quick takes those that are
found in about a second.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

sys.dont_write_bytecode = True
from mutant_list import MUTANTS, PROTOCOL, Mutant  # noqa: E402


@dataclass
class Tools:
    """What a mutant is made with."""

    cc: list[str]
    source: str
    work: str
    objects: list[str]


class Misfit(Exception):
    """The mutant is no fault of this source."""


def patch(path: str, mutant: Mutant) -> None:
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if text.count(mutant.right) != 1:
        raise Misfit(f"{mutant.file} has {text.count(mutant.right)} places "
                     f"that read {mutant.right!r}; mutant_list.py must follow")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(mutant.right, mutant.wrong))


def make(tools: Tools, mutant: Mutant) -> str:
    """The program with the fault."""
    folder = os.path.join(tools.work, mutant.name.replace(" ", "-"))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(tools.source, "arena"),
                    os.path.join(folder, "arena"))
    patch(os.path.join(folder, "arena", "protocol", mutant.file), mutant)
    program = os.path.join(folder, "explore_arena")
    sources = [os.path.join(folder, "arena", "protocol", name)
               for name in PROTOCOL]
    made = subprocess.run(
        [*tools.cc, "-std=gnu17", "-D_GNU_SOURCE", "-DARENA_EXPLORE", "-O1",
         "-w", "-I" + folder, "-I" + tools.source,
         "-I" + os.path.join(tools.source, "..", "include"),
         "-I" + os.path.dirname(os.path.abspath(__file__)),
         *sources, *tools.objects, "-o", program],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    if made.returncode:
        raise Misfit("it does not compile: " + made.stdout[-600:])
    return program


def finding(program: str, mutant: Mutant) -> str:
    """What the explorer says of it; empty when it found nothing."""
    done = subprocess.run([program, *mutant.how, *mutant.cases],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if "FAILED" in line]
    if done.returncode < 0:
        return f"killed by signal {-done.returncode}"
    return lines[0].strip() if done.returncode == 1 and lines else ""


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("--cc", "--source", "--work"):
        parser.add_argument(name, required=True)
    parser.add_argument("--only")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    tools = Tools(args.cc.split(), args.source, args.work, args.objects)
    missed = 0
    for mutant in MUTANTS:
        if (args.only and args.only != mutant.name
                or args.quick and not mutant.quick):
            continue
        begin = time.monotonic()
        try:
            found = finding(make(tools, mutant), mutant)
        except Misfit as e:
            print(f"MISFIT {mutant.name}: {e}")
            missed += 1
            continue
        missed += not found
        print(f"{'found ' if found else 'MISSED'} {mutant.name}"
              f" ({time.monotonic() - begin:.1f} s) {found}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
