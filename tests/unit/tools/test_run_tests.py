"""What a run of tests counts, prints and returns."""

import pytest
from programs import load

run_tests = load("run-tests")
from suites import Result  # noqa: E402


class Alone:
    """A runner whose tests pass, or fail, when they run alone."""

    step = "gcc"

    def __init__(self, passes, passes_busy=True):
        self.passes = passes
        self.passes_busy = passes_busy

    def run_alone(self, result, times, busy=False):
        passes = self.passes_busy if busy else self.passes
        return [entry("again", "OK" if passes else "FAIL")] * times


def entry(name, word, output="", suites="unit", seconds=1.0):
    return Result({"name": f"roar:{suites} / {name}", "result": word,
                   "stdout": output, "duration": seconds})


@pytest.fixture
def quiet(monkeypatch):
    """What is printed, as a list; no run before this one."""
    said = []
    monkeypatch.setattr(run_tests.matrix, "say", said.append)
    monkeypatch.delenv("CI", raising=False)
    return said


def judged(runner, *results):
    tally = run_tests.Tally()
    for result in results:
        run_tests.add_result(tally, runner, result)
    run_tests.settle(tally)
    return tally


def test_the_last_line_has_what_was_skipped(quiet):
    tally = judged(Alone(True), entry("a", "OK"), entry("b", "SKIP", "no disk"))
    assert tally.line() == "1 passed, 0 failed, 1 skipped"
    assert judged(Alone(True), entry("a", "OK")).line() == "1 passed, 0 failed"


def test_what_fails_again_is_a_failure(quiet):
    tally = judged(Alone(False), entry("a", "FAIL"))
    assert tally.line() == "0 passed, 1 failed"
    assert tally.unsteady == []


def test_what_passes_alone_is_unsteady(quiet):
    tally = judged(Alone(True), entry("a", "FAIL", suites="unit+arena"))
    assert tally.line() == "1 passed, 0 failed"
    assert tally.unsteady == ["gcc: roar:unit+arena / a"]


@pytest.mark.parametrize("suites", ["unit+arena", "server", "unit+threads"])
def test_in_ci_what_may_be_a_race_must_pass_on_busy_cpus(quiet, monkeypatch, suites):
    doubted = entry("a", "TIMEOUT", suites=suites)
    assert judged(Alone(True, False), doubted).line() == "1 passed, 0 failed"
    monkeypatch.setenv("CI", "true")
    assert judged(Alone(True, False), doubted).line() == "0 passed, 1 failed"
    tally = judged(Alone(True), doubted)
    assert tally.line() == "1 passed, 0 failed"
    assert tally.unsteady == [f"gcc: roar:{suites} / a"]


def test_ci_forgives_others(quiet, monkeypatch):
    monkeypatch.setenv("CI", "true")
    tally = judged(Alone(True, False), entry("a", "FAIL", suites="cli"))
    assert tally.line() == "1 passed, 0 failed"


@pytest.mark.parametrize("output", ["ERROR: AddressSanitizer: x", "seed 7"])
def test_a_finding_gets_no_second_chance(quiet, output):
    assert judged(Alone(True), entry("a", "FAIL", output)).line() == \
        "0 passed, 1 failed"


def test_unsteady_tests_are_counted_before_the_last_line(
        quiet, monkeypatch, tmp_path):
    monkeypatch.setattr(run_tests, "LAST_TALLY", str(tmp_path / "tally"))
    monkeypatch.setattr(run_tests.matrix, "MATRIX", str(tmp_path))
    monkeypatch.setitem(run_tests.STEPS, "quick", lambda tally: (
        run_tests.add_result(tally, Alone(True), entry("a", "FAIL"))))
    assert run_tests.main(["check"]) == 0
    assert quiet[-2:] == ["1 unsteady", "1 passed, 0 failed"]


def test_a_second_part_adds_to_the_first(quiet, monkeypatch, tmp_path):
    monkeypatch.setattr(run_tests, "LAST_TALLY", str(tmp_path / "tally"))
    monkeypatch.setattr(run_tests.matrix, "MATRIX", str(tmp_path))
    monkeypatch.setitem(run_tests.STEPS, "lint", lambda tally: (
        run_tests.add_result(tally, Alone(False), entry("a", "FAIL"))))
    monkeypatch.setitem(run_tests.STEPS, "fuzz", lambda tally: (
        run_tests.add_result(tally, Alone(True), entry("b", "OK"))))
    assert run_tests.main(["lint"]) == 1
    assert run_tests.main(["--add", "fuzz"]) == 1
    assert quiet[-1] == "1 passed, 1 failed"


def test_a_first_part_without_result_is_a_failure(quiet, monkeypatch, tmp_path):
    monkeypatch.setattr(run_tests, "LAST_TALLY", str(tmp_path / "tally"))
    monkeypatch.setattr(run_tests.matrix, "MATRIX", str(tmp_path))
    monkeypatch.setitem(run_tests.STEPS, "fuzz", lambda tally: None)
    assert run_tests.main(["--add", "fuzz"]) == 1
    assert quiet[-1] == "0 passed, 1 failed"


def test_the_ten_slowest_are_named(quiet):
    tally = judged(Alone(True), *(entry(f"t{n}", "OK", seconds=n)
                                  for n in range(12)))
    run_tests.report(tally)
    slow = [line for line in quiet if line.startswith("slow")]
    assert len(slow) == 10 and slow[0].endswith("/ t11")


def test_a_check_leaves_out_what_is_slow(quiet, monkeypatch):
    asked = []
    monkeypatch.setattr(run_tests, "built", lambda tally, name: "folder")
    monkeypatch.setattr(run_tests.Runner, "run", lambda self, words: (
        asked.append(words) or (0, "", [entry("a", "OK")])))
    tally = run_tests.Tally()
    run_tests.step_quick(tally)
    assert tally.passed == 1 and tally.timed == []
    words, = asked
    pairs = set(zip(words[::2], words[1::2]))
    assert pairs == {("--no-suite", "timing"), ("--no-suite", "slow"),
                     ("--suite", "unit"), ("--suite", "quick")}


def test_no_step_is_run_twice():
    assert run_tests.steps_of(["test", "more", "lint"]) == [
        "lint", "gcc", "user", "clang", "deep", "asan", "tsan", "fuzz"]
    assert run_tests.steps_of(["nonsense"]) is None
