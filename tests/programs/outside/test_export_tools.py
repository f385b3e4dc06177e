"""Exports, read by the tools of those who made the formats; they come from PyPI."""

import base64
import os
import subprocess
import venv

import pytest

PACKAGES = ["cyclonedx-python-lib[json-validation]", "prov", "securesystemslib[crypto]",
            "in-toto-attestation", "openlineage-python", "dvc", "roc-validator"]
PIPELINE = ("cat raw.csv > features.csv", "cat features.csv > model.pt")


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    venv.create(folder, with_pip=True)
    done = subprocess.run([folder / "bin" / "pip", "-q", "install", *PACKAGES], check=False,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        pytest.skip(f"PyPI cannot be reached: {done.stderr.strip()[-200:]}")
    return folder / "bin"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "raw.csv").write_text("1,2\n")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    roar(folder, "init", "-y")
    for step in PIPELINE:
        roar(folder, "run", "-q", "sh", "-c", step)
    return folder


def roar(folder, *args):
    return subprocess.run([os.environ["ROAR"], *args], cwd=folder, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def python(tools, script, text):
    """Runs a script that reads the export from stdin."""
    subprocess.run([tools / "python", "-c", script], input=text, text=True, check=True)


def test_cyclonedx_python_lib(tools, project):
    python(tools, "import sys\nfrom cyclonedx.schema import SchemaVersion\n"
           "from cyclonedx.validation.json import JsonStrictValidator as V\n"
           "e = V(SchemaVersion.V1_6).validate_str(sys.stdin.read())\n"
           "sys.exit(str(e) if e else 0)",
           roar(project, "export", "--format", "cyclonedx"))


def test_prov(tools, project):
    python(tools, "import sys, prov.model\n"
           "d = prov.model.ProvDocument.deserialize(content=sys.stdin.read())\n"
           "sys.exit(not len(d.get_records()))", roar(project, "export", "--format", "prov"))


def test_openlineage_python(tools, project):
    python(tools, "import json, sys\n"
           "from openlineage.client.event_v2 import Job, Run, RunEvent, RunState\n"
           "for line in sys.stdin:\n"
           "    e = json.loads(line)\n"
           "    RunEvent(eventType=RunState[e['eventType']], eventTime=e['eventTime'],\n"
           "             run=Run(runId=e['run']['runId']), producer=e['producer'],\n"
           "             job=Job(namespace=e['job']['namespace'], name=e['job']['name']))",
           roar(project, "export", "--format", "openlineage"))


def test_securesystemslib_and_in_toto(tools, project, tmp_path):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    public = base64.b64decode((tmp_path / "key.pub").read_text().split()[1])[-32:].hex()
    text = roar(project, "export", "model.pt", "--format", "in-toto", "--key", key)
    python(tools, "import base64, json, sys\n"
           "from google.protobuf import json_format\n"
           "from in_toto_attestation.v1 import statement, statement_pb2\n"
           "from securesystemslib.dsse import Envelope\n"
           "from securesystemslib.signer import SSlibKey\n"
           "e = json.load(sys.stdin)\n"
           f"k = SSlibKey(e['signatures'][0]['keyid'], 'ed25519', 'ed25519', "
           f"{{'public': '{public}'}})\n"
           "p = e['payload']\n"
           "assert Envelope.from_dict(dict(e)).verify([k], 1)\n"
           "pb = json_format.Parse(base64.b64decode(p),\n"
           "                       statement_pb2.Statement())\n"
           "statement.Statement.copy_from_pb(pb).validate()", text)


def test_dvc(tools, project, tmp_path):
    env = {**os.environ, "HOME": str(tmp_path), "DVC_NO_ANALYTICS": "1"}
    roar(project, "export", "--format", "dvc", "-o", "dvc.yaml")
    roar(project, "export", "--format", "dvc-lock", "-o", "dvc.lock")
    for words in (["init", "-q"], ["commit", "-q", "-f"]):
        subprocess.run([tools / "dvc", *words], cwd=project, check=True, env=env)
    status = subprocess.run([tools / "dvc", "status"], cwd=project, check=True, env=env,
                            stdout=subprocess.PIPE, text=True).stdout
    assert "up to date" in status


def test_rocrate_validator(tools, project):
    (project / "ro-crate-metadata.json").write_text(
        roar(project, "export", "--format", "ro-crate"))
    done = subprocess.run([tools / "rocrate-validator", "validate", "--no-paging", "-p",
                           "process-run-crate", "--requirement-severity", "required",
                           project], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if "URLError" in done.stdout:
        pytest.skip("rocrate-validator needs the network for its profiles")
    assert done.returncode == 0, done.stdout[-3000:]

