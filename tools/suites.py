"""Suites of a build folder: how they are run, and what each test said."""

import json
import os
import re
import subprocess

import matrix

# Tests wait more than they compute.
AT_ONCE = str(4 * int(matrix.JOBS))

# A sanitizer's report, or the seed of a test that tries many things.
FOUND = re.compile(r"Sanitizer|runtime error:|\bseeds?\b", re.IGNORECASE)


def tests_of(folder):
    """(suites, what meson knows of it) for each test of the build folder."""
    output = subprocess.run(["meson", "introspect", "--tests", folder],
                            stdout=subprocess.PIPE, check=True).stdout
    return [({s.split(":")[-1] for s in test["suite"]}, test)
            for test in json.loads(output)]


def suites_of(folder):
    """The suites that the build folder has tests for."""
    return {suite for suites, _ in tests_of(folder) for suite in suites}


def programs_of(folder, suite):
    """What the tests of a suite start or read, to build no more."""
    # A folder of yesterday learns of today's tests first.
    matrix.run(["ninja", "-C", folder, "build.ninja"], env=matrix.CACHED)
    listing = matrix.run(["ninja", "-C", folder, "-t", "targets", "all"])[1]
    built_here = {line.split(":")[0] for line in listing.splitlines()}
    words = {word.removeprefix(folder + os.sep)
             for suites, test in tests_of(folder) if suite in suites
             for word in test["cmd"]}
    return sorted(words & built_here)


def read_log(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return [json.loads(line) for line in f if line.strip()]
    except OSError:
        return []


class Result:
    """What one test program did."""

    def __init__(self, entry):
        self.name = entry["name"]  # PROJECT:SUITES / TEST
        self.suites = set(self.name.split(" / ")[0].split(":")[-1].split("+"))
        self.seconds = entry.get("duration") or 0.0
        self.word = entry["result"]
        self.output = (entry.get("stdout") or "") + (entry.get("stderr") or "")
        self.passed = self.word in ("OK", "EXPECTEDFAIL")
        self.skipped = self.word == "SKIP"
        self.crashed = entry.get("returncode", 0) < 0 and self.word != "TIMEOUT"

    def may_be_load(self):
        """Whether a machine that is too busy may be to blame: not for a crash, a
        sanitizer's finding, or what one of many random inputs shows."""
        return not self.crashed and not FOUND.search(self.output)

    def reason(self):
        """Why it says it was skipped: the line that has the word, or its
        last."""
        lines = [n.strip() for n in self.output.splitlines() if n.strip()]
        for line in lines:
            if re.search(r"skip", line, re.IGNORECASE):
                return line
        return lines[-1] if lines else "no reason given"

    def cases(self):
        """(passed, failed names, skipped names) that a cmocka or pytest program
        printed, or None for a program that is one test by itself."""
        ran = re.search(r"^\[ *PASSED *\] (\d+) test", self.output,
                        re.MULTILINE)
        if ran and "[==========]" in self.output:
            failed = re.findall(r"^\[ *FAILED *\] ([A-Za-z_]\w*)$",
                                self.output, re.MULTILINE)
            skipped = re.findall(r"^\[ *SKIPPED *\] ([A-Za-z_]\w*)$",
                                 self.output, re.MULTILINE)
            return int(ran[1]), sorted(set(failed)), sorted(set(skipped))
        if "= test session starts =" in self.output:
            return self.cases_of_pytest()
        return None

    def cases_of_pytest(self):
        """With -v each case has a line of its own, also where pytest itself was
        ended in the middle: then the last one has no result yet."""
        begun = re.findall(r"^\S+?::(\S+)(.*)$", self.output, re.MULTILINE)
        failed = [name for name, result in begun
                  if re.search(r"\b(FAILED|ERROR)\b", result)]
        if begun and not re.search(r"[A-Z]{4}", begun[-1][1]):
            failed.append(f"ended in {begun[-1][0]}")
        reasons = re.findall(r"^E   +(.*)$", self.output, re.MULTILINE)
        if failed and reasons:
            failed[0] += f" ({reasons[0][:120]})"
        return (sum("PASSED" in result for _, result in begun), failed,
                re.findall(r"^SKIPPED .*$", self.output, re.MULTILINE))


class Runner:
    """How a step starts the tests of its build folder."""

    def __init__(self, step, folder, log="testlog", wrapper=None, env=None,
                 slower=1):
        self.step = step
        self.folder = folder
        self.log = log
        self.wrapper = wrapper
        # Plugins of pytest that happen to be installed are loaded by each of its
        # hundred starts, for nothing.
        self.env = dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
                        **(env or {}))
        self.slower = slower

    def run(self, words, log=None, at_once=AT_ONCE):
        """(exit status, output, results) of `meson test` with these words."""
        log = log or self.log
        # Meson adds the name of the wrapper to that of the log.
        if self.wrapper:
            suffix = "-" + os.path.basename(self.wrapper.split()[0])
            words = ["--wrapper", self.wrapper, *words]
        else:
            suffix = ""
        path = os.path.join(self.folder, "meson-logs", log + suffix + ".json")
        if os.path.exists(path):
            os.unlink(path)
        status, output = matrix.run(
            ["meson", "test", "-C", self.folder, "--no-rebuild", "--logbase",
             log, "--timeout-multiplier", str(self.slower),
             "--num-processes", at_once, *words], env=self.env)
        return status, output, [Result(entry) for entry in read_log(path)]

    def run_suites(self, suites, without=()):
        """All their tests but those that promise a time, or have another label
        to leave out."""
        return self.run([word for label in ("timing", *without)
                         for word in ("--no-suite", label)] +
                        [word for suite in sorted(suites)
                         for word in ("--suite", suite)])

    def timed_tests(self, suites):
        """Names of the tests of these suites that promise a time."""
        return [test["name"] for labels, test in tests_of(self.folder)
                if "timing" in labels and labels & suites]

    def run_alone(self, result, times, busy=False):
        """One test again and again, with no other test beside it; its results.
        `busy`: something else uses every CPU."""
        name = result.name.split(" / ", 1)[1]
        loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
                 for _ in range(2 * int(matrix.JOBS) if busy else 0)]
        try:
            return [again for _ in range(times)
                    for again in self.run([name], self.log + "-again", "1")[2]]
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
