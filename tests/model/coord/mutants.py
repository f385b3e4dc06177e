#!/usr/bin/env python3
"""mutants.py - is the simulator worth its time?  It must find each known fault.

usage: mutants.py --cc CC --source LIB --include DIR --work DIR
                  [--only NAME] OBJECT...

Each mutant is one small fault in a file of the state machine.  That file is
compiled, linked before the OBJECTs (the simulator, the state machine as it is,
what both need) and run; a mutant that passes all its seeds, and one whose place
is not found in the source any more, is a failure of this test.  So is a first
mutant that is not printed small, or not so that it can be seen again.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass

sys.dont_write_bytecode = True
from mutant_list import MUTANTS, Mutant  # noqa: E402


@dataclass
class Tools:
    """What a mutant is made with."""

    cc: list[str]
    source: str
    include: list[str]
    work: str
    objects: list[str]


class Misfit(Exception):
    """The mutant is no fault of this source."""


def patched(tools: Tools, mutant: Mutant) -> str:
    path = os.path.join(tools.source, "coord", mutant.file)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if text.count(mutant.right) != 1:
        raise Misfit(f"{mutant.file} has {text.count(mutant.right)} places "
                     f"that read {mutant.right!r}; mutant_list.py must follow")
    return text.replace(mutant.right, mutant.wrong)


def make(tools: Tools, mutant: Mutant) -> str:
    """The program with the fault."""
    folder = os.path.join(tools.work, mutant.name.replace(" ", "-"))
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(folder, os.path.basename(mutant.file))
    with open(source, "w", encoding="utf-8") as f:
        f.write(patched(tools, mutant))
    program = os.path.join(folder, "simulate")
    made = subprocess.run(
        [*tools.cc, "-std=gnu17", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64",
         "-O1", "-w", "-I" + tools.source,
         *["-I" + d for d in tools.include], source, *tools.objects,
         "-lprotobuf-c", "-lm", "-o", program],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    if made.returncode:
        raise Misfit("it does not compile: " + made.stdout[-600:])
    return program


def finding(program: str, mutant: Mutant) -> str:
    """What the simulator says of it; empty when it found nothing."""
    done = subprocess.run([program, "--brief", "--count", str(mutant.seeds)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if "FAILED" in line]
    if done.returncode < 0 and not lines:
        return f"killed by signal {-done.returncode}"
    return lines[0].strip() if done.returncode and lines else ""


def explained(program: str) -> str:
    """What is wrong with how a failure is told; empty when nothing is."""
    told = subprocess.run([program], stdout=subprocess.PIPE, text=True,
                          check=False).stdout
    again = re.search(r"simulate (--seed \d+) --trace (--keep [\d,]+)", told)
    if not again:
        return "nothing says how to see it again"
    done = subprocess.run([program, *again[1].split(), *again[2].split()],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 1 or "FAILED" not in done.stdout:
        return f"simulate {again[1]} {again[2]} does not fail"
    if again[2].count(",") > 20:
        return f"{again[2]} is not small"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("--cc", "--source", "--work"):
        parser.add_argument(name, required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--only")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    tools = Tools(args.cc.split(), args.source, args.include, args.work,
                  args.objects)
    missed = 0
    for mutant in MUTANTS:
        if args.only and args.only != mutant.name:
            continue
        begin = time.monotonic()
        try:
            program = make(tools, mutant)
            found = finding(program, mutant)
            wrong = explained(program) if mutant == MUTANTS[0] else ""
        except Misfit as e:
            print(f"MISFIT {mutant.name}: {e}")
            missed += 1
            continue
        missed += not found or wrong != ""
        print(f"{'found ' if found else 'MISSED'} {mutant.name}"
              f" ({time.monotonic() - begin:.1f} s) {found}{wrong}",
              flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
