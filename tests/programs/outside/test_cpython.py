"""CPython's own tests of processes and files (libpython3-testsuite)."""

import importlib.util
import os
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from outside import TRACERS, known_tests, run, traced

MODULE = os.environ.get("MODULE", "test_glob")
TESTS = os.environ.get("TESTS")  # a pattern; all tests without it


def results(folder):
    """{test: passed, failed or skipped}"""
    found = {}
    for case in ElementTree.parse(folder / "results.xml").getroot().iter("testcase"):
        said = [child.tag for child in case if child.tag in ("failure", "error")]
        said += ["skipped"] if case.get("status") != "run" or \
            case.find("skipped") is not None else []
        found[case.get("name")] = said[0] if said else "passed"
    return found


def suite(folder):
    return [sys.executable, "-I", "-m", "test", "--junit-xml",
            str(folder / "results.xml"), "-u", "none", MODULE,
            *(["-m", TESTS] if TESTS else [])]


@pytest.fixture(name="bare", scope="module")
def bare_results(tmp_path_factory):
    if not importlib.util.find_spec(f"test.{MODULE}"):
        pytest.skip("needs CPython's tests: apt-get install libpython3.11-testsuite")
    folder = tmp_path_factory.mktemp("bare")
    code, said = run(suite(folder), folder)
    assert (folder / "results.xml").exists(), said
    assert results(folder), said
    return code, results(folder)


@pytest.mark.parametrize("tracer", TRACERS)
def test_it_says_the_same_as_without(bare, tracer, tmp_path):
    code, said = traced(MODULE, tracer, suite(tmp_path), tmp_path)
    here, there = bare[1], results(tmp_path)
    other = {test: (here.get(test), there.get(test)) for test in {*here, *there}
             if here.get(test) != there.get(test)}
    unknown = {test: both for test, both in other.items()
               if test not in known_tests("cpython", tracer)}
    assert not unknown, (unknown, said[-3000:])
    assert other or code == bare[0]
