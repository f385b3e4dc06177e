"""The program `roar`, and questions to its record: roar.lineage(), roar.last_run()."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any, NamedTuple


class LineageError(RuntimeError):
    """The program `roar` is not there, or has answered with a sentence."""


class Answer(NamedTuple):
    text: str
    errors: str     # what it printed on stderr


def find() -> str:
    """ROAR_PROGRAM, else `roar` on PATH, else beside this Python."""
    named = os.environ.get("ROAR_PROGRAM")
    if named:
        return named
    found = shutil.which("roar") or shutil.which(
        "roar", path=os.path.dirname(sys.executable))
    if found is None:
        raise LineageError("the program 'roar' is not on PATH: install it, or name it by "
                           "the variable ROAR_PROGRAM")
    return found


def call(words: list[str], *, cwd: str | None = None, given: bytes = b"") -> Answer:
    """Runs `roar WORDS`; its sentence becomes the error."""
    try:
        done = subprocess.run([find(), *words], cwd=cwd, input=given,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        raise LineageError(f"the program 'roar' cannot be run: {error}") from error
    errors = done.stderr.decode(errors="replace")
    if done.returncode:
        sentence = errors.strip().removeprefix("roar: ")
        raise LineageError(sentence or f"'roar {words[0]}' ended with {done.returncode}")
    return Answer(done.stdout.decode("utf-8", "surrogateescape"), errors)


def _ask(*words: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(call(list(words)).text)
    return answer


def lineage(ref: str | os.PathLike[str]) -> dict[str, Any]:
    """What is recorded of a file, or of anything that `roar show` takes ("@2", a hash):
    the answer of `roar show --json`, with all inputs that it was made from as `inputs` of
    `roar inputs --all --json` under "ancestry".  Raises LineageError if there is nothing."""
    name = os.fspath(ref)
    shown = _ask("show", "--json", "--", name)
    if shown.get("type") in ("job", "artifact"):
        shown["ancestry"] = _ask("inputs", "--all", "--json", "--", name)["inputs"]
    return shown


def last_run() -> dict[str, Any] | None:
    """The latest job of the active session, as `roar show --json` describes it; None if
    there is none."""
    last = _ask("status", "--json")["last_job"]
    return None if last is None else _ask("show", "--json", "--job", last["job_uid"])
