"""h2spec, the conformance suite of HTTP/2, against roar-coordinator."""

import os
import shutil
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from outside import KNOWN

SOURCE = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"


@pytest.fixture(name="h2spec", scope="module")
def h2spec_program(tmp_path_factory):
    """That of the PATH, else as built by Go."""
    if shutil.which("h2spec"):
        return shutil.which("h2spec")
    if not shutil.which("go"):
        pytest.skip("needs h2spec, or Go to build it")
    folder = tmp_path_factory.mktemp("go")
    done = subprocess.run(["go", "install", SOURCE], capture_output=True, text=True,
                          timeout=280, check=False,
                          env={**os.environ, "GOBIN": str(folder)})
    if done.returncode:
        pytest.skip(f"Go cannot build h2spec: {done.stderr.splitlines()[-1]}")
    return str(folder / "h2spec")


@pytest.fixture(name="port")
def coordinator_port(tmp_path):
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen(
            [os.environ["COORDINATOR"], "--data-dir", tmp_path / "data", "--listen",
             "127.0.0.1:0", "--http", "127.0.0.1:0"], stdout=subprocess.PIPE,
            stderr=log, text=True)
    yield server.stdout.readline().split()[1].rpartition(":")[2]
    assert server.poll() is None, "the coordinator has ended"
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0
    server.stdout.close()


def test_only_known_cases_fail(h2spec, port, tmp_path):
    subprocess.run([h2spec, "-h", "127.0.0.1", "-p", port, "-o", "2", "-j",
                    tmp_path / "results.xml"], stdout=subprocess.DEVNULL,
                   timeout=280, check=False)
    cases = list(ElementTree.parse(tmp_path / "results.xml").getroot()
                 .iter("testcase"))
    failed = {(case.get("package"), case.get("classname")) for case in cases
              if case.find("failure") is not None or case.find("error") is not None}
    assert len(cases) > 100
    known = {(one["package"], one["case"]): one["always"] for one in KNOWN["h2spec"]}
    assert failed <= set(known)
    assert {case for case, always in known.items() if always} <= failed
