"""Exports: each format is what its specification says, and programs that read it agree."""

import base64
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml

import pytest
from conftest import roar_path
from helpers import make_place

SCHEMAS = os.path.join(os.path.dirname(__file__), "..", "data", "schemas")
# Characters that mean something in one format or another.
HOSTILE = "a <b>&\"'#$x;.txt"


@pytest.fixture(scope="module")
def pipeline():
    """prepare -> train, with a step that is there twice, and a name that needs quoting."""
    place = make_place(roar_path())
    place("init")
    place.write("raw.csv", "1,2\n")
    place.sh("cat raw.csv > features.csv")
    place.sh("(cat features.csv; echo w) > model.pt; wc -c model.pt > metrics.json")
    place.run("cp", "raw.csv", HOSTILE)
    place.write("raw.csv", "1,2,3\n")
    place.sh("cat raw.csv > features.csv")
    place.sh("(cat features.csv; echo w) > model.pt; wc -c model.pt > metrics.json")
    yield place
    place.remove()


def exported(place, name, *args):
    return place("export", "--format", name, *args).out


def schema(name):
    with open(os.path.join(SCHEMAS, f"{name}.schema.json"), encoding="utf-8") as f:
        return json.load(f)


def check_schema(document, name, *others):
    """Validates with the published schema, and those it refers to, without a network."""
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not here")
    whole = schema(name)
    store = {}
    for other in others:
        text = schema(other)
        store[text["$id"]] = text
    resolver = jsonschema.RefResolver(whole.get("$id", whole.get("id", "")), whole,
                                      store=store)
    kind = jsonschema.validators.validator_for(whole)
    errors = list(kind(whole, resolver=resolver).iter_errors(document))
    assert not errors, errors[0]


def test_cyclonedx_is_valid(pipeline):
    bom = json.loads(exported(pipeline, "cyclonedx"))
    check_schema(bom, "cyclonedx-bom-1.6", "cyclonedx-jsf-0.82", "cyclonedx-spdx")
    models = [c for c in bom["components"] if c["type"] == "machine-learning-model"]
    assert [m["name"] for m in models] == ["model.pt"]
    assert {h["alg"] for h in models[0]["hashes"]} == {"BLAKE3", "SHA-256"}
    # The same record, the same document.
    assert bom == json.loads(exported(pipeline, "cyclonedx"))


def test_prov_is_valid(pipeline):
    prov = json.loads(exported(pipeline, "prov"))
    check_schema(prov, "prov-json")
    assert len(prov["activity"]) == 5     # executions, not steps
    used = {(u["prov:activity"], u["prov:entity"]) for u in prov["used"].values()}
    assert used <= {(a, e) for a in prov["activity"] for e in prov["entity"]}


def test_openlineage_has_start_and_end_of_each_run(pipeline):
    events = [json.loads(line) for line in exported(pipeline, "openlineage").splitlines()]
    assert [e["eventType"] for e in events] == ["START", "COMPLETE"] * 5
    for event in events:
        assert re.fullmatch(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}\.\d+Z", event["eventTime"])
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                            r"[0-9a-f]{12}", event["run"]["runId"])
        assert event["job"]["namespace"] and event["job"]["name"]
        assert event["schemaURL"].endswith("2-0-2/OpenLineage.json#/$defs/RunEvent")
        for facet in [*event["job"]["facets"].values(), *event["run"]["facets"].values()]:
            assert facet["_producer"] and facet["_schemaURL"]
    assert len({e["run"]["runId"] for e in events}) == 5
    assert {d["name"] for d in events[1]["outputs"]} == {pipeline.path("features.csv")}


def test_a_crate_has_all_that_its_actions_mention(pipeline):
    crate = json.loads(exported(pipeline, "ro-crate"))
    by_id = {e["@id"]: e for e in crate["@graph"]}
    assert len(by_id) == len(crate["@graph"])
    assert by_id["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    actions = [e for e in crate["@graph"] if e["@type"] == "CreateAction"]
    assert [a["@id"] for a in actions] == [m["@id"] for m in by_id["./"]["mentions"]]
    for action in actions:
        for part in [*action["object"], *action["result"], action["instrument"]]:
            assert part["@id"] in by_id


def test_a_statement_names_what_was_made(pipeline):
    statement = json.loads(exported(pipeline, "in-toto", "model.pt"))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    subject, = statement["subject"]
    sha256 = subprocess.run(["sha256sum", pipeline.path("model.pt")], check=True,
                            stdout=subprocess.PIPE, text=True).stdout.split()[0]
    assert (subject["name"], subject["digest"]["sha256"]) == ("model.pt", sha256)
    steps = statement["predicate"]["buildDefinition"]["externalParameters"]["steps"]
    assert [s["name"] for s in steps] == ["@1", "@2"]


def test_a_signature_is_one_for_openssl(pipeline, tmp_path):
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("openssl is not here: nothing else checks the signature")
    key, public = str(tmp_path / "key.pem"), str(tmp_path / "public.pem")
    subprocess.run([openssl, "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    subprocess.run([openssl, "pkey", "-in", key, "-pubout", "-out", public], check=True)
    envelope = json.loads(exported(pipeline, "in-toto", "--key", key))
    body = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    (tmp_path / "pae").write_bytes(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(body), body))
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    verify = [openssl, "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin",
              "-sigfile", tmp_path / "sig", "-in"]
    assert subprocess.run([*verify, tmp_path / "pae"], check=False).returncode == 0
    (tmp_path / "other").write_bytes(b"DSSEv1 0  0 ")
    assert subprocess.run([*verify, tmp_path / "other"], check=False).returncode != 0


def test_what_cannot_be_signed(pipeline):
    key = pipeline.write("no-key", "secret")
    done = pipeline("export", "--format", "in-toto", "--key", key, code=2)
    assert "is not a private Ed25519 key" in done.err and "secret" not in done.err
    done = pipeline("export", "--format", "svg", "--key", key, code=2)
    assert "--key goes with --format in-toto" in done.err
    done = pipeline("export", "--format", "gif", code=2)
    assert "roar" in done.err and not done.out


def test_make_makes_it_again(pipeline):
    make = shutil.which("make")
    if not make:
        pytest.skip("make is not here")
    makefile = pipeline.path("again.mk")
    pipeline("export", "--format", "makefile", "-o", makefile)
    # Without a record, and with nothing but the input.
    for name in ("features.csv", "model.pt", "metrics.json"):
        before = pipeline.read(name)
        os.unlink(pipeline.path(name))
        subprocess.run([make, "-s", "-f", makefile, name], cwd=pipeline.root, check=True)
        assert pipeline.read(name) == before
    os.unlink(makefile)


def test_names_of_ours_and_variables_of_the_shell(project):
    project.write("data", "1\n")
    project.run("sh", "-c", "cat data >all; : ${HOME}")
    project.sh("cat all >end")
    makefile = project("export", "--format", "makefile").out
    assert "\nall: end job-1\n" in makefile
    assert "\njob-1: data\n" in makefile and "\nend : job-1\n" in makefile
    assert '>all; : \\\\${HOME}' in project("export", "--format", "dvc").out
    assert '>all; : ${HOME}' in project("export", "--format", "dvc-lock").out


def test_dvc_files_are_yaml_with_the_digests_of_md5sum(pipeline):
    stages, lock = exported(pipeline, "dvc"), exported(pipeline, "dvc-lock")
    assert stages.startswith("stages:\n  step-1:\n    cmd: ")
    md5 = subprocess.run(["md5sum", pipeline.path("model.pt")], check=True,
                         stdout=subprocess.PIPE, text=True).stdout.split()[0]
    assert f'- path: "model.pt"\n      hash: md5\n      md5: {md5}\n' in lock


def test_pictures_and_pages_escape_names(pipeline):
    svg = exported(pipeline, "svg")
    root = xml.fromstring(svg)
    texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert HOSTILE in texts and "model.pt" in texts
    page = exported(pipeline, "html")
    assert "<b>" not in page and "<script" not in page and "http://" not in page.replace(
        "http://www.w3.org/2000/svg", "")


def test_graphs_have_the_latest_executions(pipeline):
    dot = exported(pipeline, "dot")
    assert dot.count("label=\"@") == 3
    assert exported(pipeline, "mermaid").startswith("flowchart LR\n")


def test_nothing_recorded_is_said(project):
    done = project("export", "--format", "dot", code=1)
    assert "roar run" in done.err
