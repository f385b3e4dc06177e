"""Every command of roar-cli's own page, typed as it stands there.

Scripts and tools that the page mentions are small ones of our own.  Commands that send or
fetch are dry here; tests/s3/test_seed_transfers.py types them against a server."""

import json
import os

import pytest
from helpers import make_place
from conftest import roar_path
from terminal import on_terminal

PREPROCESS = "#!/bin/sh\nmkdir -p data\necho raw > data/raw.csv\n"
TRAIN = """import os, sys
args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
for word in sys.argv[1:]:
    if word.startswith("--") and "=" in word:
        name, _, value = word.partition("=")
        args[name] = value
raw = open("data/raw.csv").read()
os.makedirs("outputs", exist_ok=True)
open("outputs/model.pt", "w").write(raw + args["--epochs"])
"""
# Each does what it is asked, as far as the record is concerned.
TOOLS = {
    "torchrun": 'shift; exec python3 "$@" --epochs 1',
    "maturin": "mkdir -p built; echo wheel > built/native.so",
    "pip": "echo installed > built/package",
}


@pytest.fixture(scope="module")
def place():
    """A project with the runs of the page: three steps, three build steps."""
    made = make_place(roar_path())
    tools = os.path.join(made.base, "tools")
    os.mkdir(tools)
    for name, text in TOOLS.items():
        path = os.path.join(tools, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
    made.env["PATH"] = f"{tools}:{made.env['PATH']}"
    made.git("init", "-q")
    made.write("scripts/preprocess.sh", PREPROCESS, mode=0o755)
    made.write("train.py", TRAIN)
    made.write("Makefile", "all:\n\techo x > built/made\n")
    made("init", "-y")
    made.commit("first")
    for line in ("build maturin develop --release", "build make -j4",
                 "build pip install -e .", "run ./scripts/preprocess.sh",
                 "run python3 train.py --epochs 10 --lr 0.001",
                 "run torchrun --nproc_per_node=4 train.py"):
        made(*line.split())
    yield made
    made.remove()


def typed(place, line, code=0):
    words = line.split()
    assert words[0] == "roar"
    return place(*words[1:], code=code)


def test_what_was_run_is_in_the_record(place):
    steps = [(job["step_ref"], job["command"]) for job in place.jobs()]
    assert steps[:6] == [
        ("@B1", "maturin develop --release"), ("@B2", "make -j4"),
        ("@B3", "pip install -e ."), ("@1", "./scripts/preprocess.sh"),
        ("@2", "python3 train.py --epochs 10 --lr 0.001"),
        ("@3", "torchrun --nproc_per_node=4 train.py")]


@pytest.mark.parametrize("line", ["roar init", "roar init -y", "roar init -n"])
def test_init(empty, line):
    empty.git("init", "-q")
    typed(empty, line)
    assert empty.exists(".roar/config.toml")
    ignored = empty.exists(".gitignore") and ".roar" in empty.read(".gitignore").decode()
    assert ignored == ("-y" in line)


def test_a_step_is_run_again(place):
    typed(place, "roar run @2")
    typed(place, "roar run @2 --epochs=10")
    typed(place, "roar run @2 --epochs=20")
    last = place.jobs()[-1]
    assert last["command"].replace("=", " ").startswith(
        "python3 train.py --epochs 20")


def test_reproduce(place):
    model = place.digests("outputs/model.pt")["blake3"]
    assert "train.py" in typed(place, f"roar reproduce {model[:8]}").out
    typed(place, f"roar reproduce {model[:8]} --list-requirements")
    for options in (["--run"], ["--run", "--package-sync"]):
        with on_terminal(place, "reproduce", model[:8], *options) as t:
            t.expect(r"\?")
            t.type("n\n")
            assert t.wait() == 1
    again = typed(place, f"roar reproduce {model[:8]} --run -y").out
    assert "identical  @B1  built/native.so" in again
    assert "all hashed: identical with the record" in again


@pytest.mark.parametrize("line", [
    "roar dag", "roar dag --expanded", "roar dag --json",
    "roar dag --show-artifacts"])
def test_dag(place, line):
    out = typed(place, line).out
    if "--json" in line:
        assert json.loads(out)["total_steps"] >= 3
    else:
        assert out.startswith("Pipeline: ") and "@B1" in out and "@2" in out


def test_show_status_and_log(place):
    job = place.jobs()[4]
    assert "Session" in typed(place, "roar show").out
    assert job["command"] in typed(place, f"roar show {job['job_uid']}").out
    assert "preprocess.sh" in typed(place, "roar show @1").out
    assert "maturin" in typed(place, "roar show @B1").out
    assert "Made by" in typed(place, "roar show ./outputs/model.pt").out
    dag_hash = place("session", "hash").out.strip()
    assert dag_hash[:12] in typed(place, "roar status").out
    assert "preprocess.sh" in typed(place, "roar log").out


def test_labels(place):
    for line in ("roar label set dag current owner=alice team=ml",
                 "roar label set job @2 phase=train lr=0.001",
                 "roar label set artifact ./outputs/model.pt "
                 "model.name=resnet50 stage=baseline",
                 "roar label cp job @2 artifact ./outputs/model.pt"):
        typed(place, line)
    assert "alice" in typed(place, "roar label show dag current").out
    assert "train" in typed(place, "roar label show job @2").out
    shown = typed(place, "roar label show artifact ./outputs/model.pt").out
    assert "resnet50" in shown and "train" in shown
    typed(place, "roar label history dag current")
    model = place.digests("outputs/model.pt")["blake3"]
    typed(place, f"roar label history artifact {model}")
    assert "needs a lineage server" in typed(place, "roar label sync", code=1).err


def test_config_and_environment(place):
    listed = typed(place, "roar config list").out
    for key, value in (("output.track_repo_files", "true"),  # there: false
                       ("output.quiet", "false"),
                       ("filters.ignore_system_reads", "true"),
                       ("filters.ignore_package_reads", "true"),
                       ("filters.ignore_torch_cache", "true"),
                       ("filters.ignore_tmp_files", "true"),
                       ("glaas.url", "none"),  # there: that of its makers
                       ("glaas.web_url", "none"),
                       ("hash.primary", "blake3"),
                       ("logging.level", "warning"),
                       ("registration.omit.enabled", "true")):
        assert key in listed
        assert typed(place, f"roar config get {key}").out.strip() == value
        typed(place, f"roar config set {key} {value}")
    typed(place, "roar config set glaas.url http://localhost:8000")
    typed(place, "roar env set FOO bar")
    assert typed(place, "roar env get FOO").out == "bar\n"
    assert "FOO" in typed(place, "roar env list").out
    typed(place, "roar env unset FOO")
    assert "FOO" not in typed(place, "roar env list").out


def test_tracers(place):
    assert "preload" in typed(place, "roar tracer status").out
    typed(place, "roar tracer set-default preload")
    assert place.json("tracer")["default"] == "preload"
    typed(place, "roar tracer set-default auto")


@pytest.mark.parametrize("line", [
    "roar register model.pt", "roar register --dry-run model.pt",
    "roar register -y model.pt", "roar register @4", "roar register deadbeef",
    "roar register s3://bucket/run/out", "roar auth register",
    "roar auth test", "roar auth status"])
def test_what_needs_a_server_says_so(place, line):
    done = typed(place, line, code=1)
    assert done.out == "" and done.err.count("\n") == 1
    assert "needs a lineage server, which does not exist yet" in done.err


def test_transfers(place):
    folder = os.path.join(place.base, "bucket")
    target = f"file://{folder}"
    place("put", "outputs/model.pt", target + "/models/", "-m", "Final model",
          "--dry-run")
    assert not os.path.exists(folder)
    place("put", "outputs/model.pt", target + "/models/", "-m", "Final model",
          "--no-tag")
    place("put", "@2", target + "/outputs/", "-m", "Step 2 outputs", "--no-tag")
    digest = place.digests("outputs/model.pt")["blake3"]
    place("get", target + "/models/model.pt", "./local/", "--hash", digest,
          "-m", "again")
    assert place.read("local/model.pt") == place.read("outputs/model.pt")
    place("get", target + "/models/model.pt", "./local/", code=1)
    place("get", target + "/models/model.pt", "./local/", "--force", "--dry-run")
    place("put", "outputs/model.pt", target + "/x/", code=2)  # without -m


def test_pop_and_reset(place):
    n = len(place.jobs())
    with on_terminal(place, "pop") as t:
        t.expect(r"\?")
        t.type("n\n")
        t.wait()
    assert len(place.jobs()) == n
    typed(place, "roar pop -y")
    assert len(place.jobs()) == n - 1
    with on_terminal(place, "reset") as t:
        t.expect(r"\?")
        t.type("y\n")
        assert t.wait() == 0
    typed(place, "roar reset -y")
    assert len(place.json("log")["jobs"]) == 0 and len(place.jobs()) == n - 1
