"""roar diff: what differs between executions, sessions and contents."""

import os
import subprocess

import pytest

TRAIN = """#!/bin/sh
cat data.csv >/dev/null
printf '{"loss": %s, "train_time": %s}' "$1" "$$" >"$2.json"
printf 'weights %s' "$1" >"$2.bin"
"""


def train(place, loss, name):
    place.run("sh", "train.sh", loss, name)
    return place.jobs()[-1]["job_uid"]


def differences(answer):
    """{kind: {base of the name: item}} of what counts."""
    found = {}
    for item in answer["differences"]:
        if not item["incidental"]:
            name = item["name"].rpartition("/")[2]
            found.setdefault(item["kind"], {})[name] = item
    return found


def test_two_executions(repo):
    repo.write("data.csv", "1\n")
    repo.write("train.sh", TRAIN)
    repo.commit()
    a = train(repo, "0.5", "one")
    repo.write("data.csv", "2\n")
    repo.write("train.sh", TRAIN + "# another\n")
    b = train(repo, "0.75", "two")

    answer = repo.json("diff", a, b, code=1)
    found = differences(answer)
    assert answer["same"] is False and answer["job_a"]["job_uid"] == a
    assert set(found) <= {"parameters", "code", "inputs", "outputs"}
    assert found["parameters"]["argument 2"]["b"] == "0.75"
    assert "+# another\n" in answer["code"]
    assert "a/data.csv" not in answer["code"]
    assert list(found["inputs"]) == ["data.csv"]
    metrics = found["outputs"]["one.json"]
    assert metrics["b"] == repo.path("two.json")
    assert metrics["content"]["verdict"] == "different"
    assert metrics["content"]["first"] == "loss"
    assert metrics["content"]["max_abs"] == 0.25
    assert found["outputs"]["one.bin"]["content"]["first"] == "byte 10"

    text = repo("diff", a, b, code=1).out
    assert "argument 2" in text and "    +# another\n" in text
    assert "first at loss: 0.5 and 0.75" in text
    assert repo("diff", a, a).out.endswith("No differences.\n")

    # Within the tolerance the metrics are equal, their times do not count.
    loose = repo.json("diff", "--rtol", "0.5", a, b, code=1)
    metrics = differences(loose)["outputs"]["one.json"]["content"]
    assert (metrics["verdict"], metrics["different"]) == ("equal", 0)
    assert "train_time" in metrics["note"]


def test_a_content_that_was_replaced_is_compared_by_hash(project):
    project.write("in", "1")
    project.sh("cat in >out")
    project.write("in", "2")
    project.sh("cat in >out")
    item = differences(project.json("diff", "@1.1", "@1.2", code=1))["outputs"]["out"]
    assert item["digests_a"] != item["digests_b"]
    assert item["content"] is None
    assert item["content_note"] == "the first content is gone"


def test_sessions_contents_collections_and_files(project):
    project.write("data", "1\n")
    project.sh("cat data >model")
    project.sh("cat model >only")
    project("reset", "-y")
    project.write("data", "2\n")
    project.sh("cat data >model")
    first = project.json("log", "--all-sessions")["jobs"][0]["session_uid"]
    answer = project.json("diff", f"session:{first}", "session:current", code=1)
    assert [s["same"] for s in answer["steps"]] == [False, False]
    assert set(differences(answer["steps"][0])) == {"inputs", "outputs"}
    assert answer["steps"][1]["job_b"] is None
    text = project("diff", first[:8], "session:current", code=1).out
    assert "inputs 1, outputs 1" in text and "only in the first" in text
    assert project("diff", first, first).code == 0

    # Content by path, with how it was made; and files of which nobody knows.
    project.run("cp", "model", "copy")
    answer = project.json("diff", "model", "copy")
    assert answer["compared"] == "artifacts" and answer["same"]
    project.write("a.csv", "x,loss\n1,0.5\n")
    project.write("b.csv", "x,loss\n1,0.6\n")
    text = project("diff", "a.csv", "b.csv", code=1).out
    assert "row 2, column 'loss'" in text
    assert project("diff", "--atol", "0.2", "a.csv", "b.csv").code == 0


def test_trouble_is_exit_code_2(project):
    project.write("data", "1\n")
    project.sh("cat data >model")
    for words, why in [(("@1", "model"), "two of the same kind"),
                       (("@1", "@9"), "'@9' does not exist"),
                       (("--rtol", "x", "@1", "@1"), "--rtol needs a number"),
                       (("@1",), "missing argument")]:
        done = project("diff", *words, code=2)
        assert why in done.err and done.out == ""


TORCH = """import sys, torch
state = {"w": torch.tensor([[1.0, float("nan")], [3.0, 4.0]]), "step": 3}
torch.save(state, "a.pt")
state["w"][1, 0] += 0.5
torch.save(state, "b.pt")
"""


def test_files_of_torch_are_compared_by_tensor(project):
    made = subprocess.run(["/usr/bin/python3", "-c", TORCH], cwd=project.root,
                          stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        pytest.skip("no torch: " + made.stderr.strip().rpartition("\n")[2])
    path = {"PATH": "/usr/bin:" + os.environ["PATH"]}
    found = project.json("diff", "a.pt", "b.pt", code=1, env=path)["content"]
    assert (found["format"], found["values"], found["different"]) == ("torch", 5, 1)
    assert found["first"] == found["worst"] == "tensor 'w' [1, 0]"
    assert found["max_abs"] == 0.5
    project("diff", "--atol", "0.5", "a.pt", "b.pt", env=path)
    # Without Python they are bytes.
    project.write("bin/python3", "#!/bin/sh\nexit 1\n", mode=0o755)
    path = {"PATH": project.path("bin") + ":" + os.environ["PATH"]}
    found = project.json("diff", "a.pt", "b.pt", code=1, env=path)["content"]
    assert found["format"] == "bytes" and "torch" in found["note"]
