"""`roar reproduce`: what was made is made again, in a new directory."""

import functools
import http.server
import json
import os
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading

import pytest

from helpers import make_place, until
from conftest import roar_path

# Steps of the project, by name; the recorded commands are in make_project().
MODEL, NOISE, STATE, METRICS, WAIT, LONG, OUTSIDE = (
    "@2", "@3", "@4", "@5", "@6", "@7", "@8")


def make_project(place):
    """Nine recorded runs that the tests share."""
    place.git("init", "-q")
    place.write(".gitignore", "raw.csv\nstate\nfetched\n", age=0)
    place.write("prep.sh", "cat \"$1\"\n", age=0)
    place.write("wait.sh", "if [ \"$WAIT_AT\" ]; then\n"
                # No child that would take Ctrl-C for itself.
                "  : > \"$WAIT_AT\"; exec sleep 100\nfi\necho ok > waited\n",
                age=0)
    place.commit()
    place.git("init", "-q", "--bare", os.path.join(place.base, "origin.git"))
    place.git("remote", "add", "origin",
              os.path.join(place.base, "origin.git"))
    place.git("push", "-q", "origin", "main")
    place("init", "-n")
    place.write("raw.csv", "1,2,3\n", age=0)
    place.write("state", "first\n", age=0)
    # Not committed: it is in the snapshot only.
    place.write("prep.sh", "tr 1 9 < \"$1\" > features\n"
                "printf '%s|' \"$@\" >> features\n")
    place("build", "-q", "--", "sh", "-c", "echo tool > tool.txt")
    place.run("sh", "prep.sh", "raw.csv", "it's\na \"line\"", "$HOME")
    place.sh(f"mkdir -p out; cat features tool.txt > {place.root}/out/model")
    place.sh("head -c 16 /dev/urandom > noise; cat noise > copy")
    place.sh("wc -l < state > seen; echo more >> state")
    place.sh("printf '{\"loss\": 0.50000%s}' $(date +%N) > metrics.json")
    place.run("sh", "wait.sh")
    place.run("sh", "-c", "echo $# > long.txt; exit 0", "sh",
              *["x" * 100000] * 20)
    place.sh(f"echo outside > {place.base}/outside.txt")


@pytest.fixture(scope="module", name="made")
def fixture_made():
    place = make_place(roar_path())
    make_project(place)
    yield place
    place.remove()


@pytest.fixture(name="new")
def fixture_new(made):
    """A directory that does not exist."""
    path = os.path.join(made.base, "new")
    yield path
    shutil.rmtree(path, ignore_errors=True)


def files_of(root):
    """All files with content and time, but what roar and git keep."""
    found = {}
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in (".roar", ".git")]
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                found[path] = (f.read(), os.stat(path).st_mtime_ns)
    return found


def again(place, ref, new, *options, code=0, **kwargs):
    return place("reproduce", ref, "--run", "-y", "--into", new, *options,
                 code=code, **kwargs)


def program(place, name, script):
    """A stand-in for a program, first in the PATH of the result."""
    folder = os.path.join(place.base, "bin")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + script)
    os.chmod(path, 0o755)
    return {"PATH": folder + ":" + place.env["PATH"]}


# ---- the plan ----

def test_the_plan_has_code_steps_inputs_in_their_order(made):
    plan = made.json("reproduce", "out/model")
    assert [s["step_ref"] for s in plan["steps"]] == ["@B1", "@1", "@2"]
    assert plan["steps"][1]["argv"][2:] == ["raw.csv", "it's\na \"line\"",
                                            "$HOME"]
    assert plan["steps"][2]["after"] == [plan["steps"][0]["job_uid"],
                                         plan["steps"][1]["job_uid"]] or \
        plan["steps"][2]["after"] == [plan["steps"][1]["job_uid"],
                                      plan["steps"][0]["job_uid"]]
    inputs = {i["place"]: i["source"] for i in plan["inputs"]}
    assert inputs == {"prep.sh": "code", "raw.csv": "disk"}
    assert plan["code"][0]["found_in"] == made.root
    assert plan["code"][0]["snapshot"]
    text = made("reproduce", "out/model").out
    assert "Steps (3)\n  @B1  " in text
    assert not os.path.exists(made.path("reproduce"))


def test_what_came_from_outside_has_no_plan(made):
    err = made("reproduce", "raw.csv", code=1).err
    assert "no recorded job wrote 'raw.csv'" in err
    assert "needs --run" in made("reproduce", MODEL, "-y", code=2).err
    assert "'--rtol' takes a number" in made(
        "reproduce", MODEL, "--run", "--rtol", "much", code=2).err


# ---- running ----

def test_outputs_that_are_made_again_are_identical(made, new):
    before = files_of(made.root)
    done = again(made, "out/model", new)
    assert "3 outputs, all hashed: identical with the record.\n" in done.out
    assert files_of(made.root) == before
    with open(os.path.join(new, "out/model"), encoding="utf-8") as f:
        assert f.read() == "9,2,3\nraw.csv|it's\na \"line\"|$HOME|tool\n"
    # Its own record; the uncommitted change is uncommitted again.
    assert os.path.isdir(os.path.join(new, ".roar"))
    assert "raw.csv" in os.listdir(new)
    assert " M prep.sh" in subprocess.run(
        ["git", "status", "--short"], cwd=new, env=made.env, check=True,
        stdout=subprocess.PIPE, text=True).stdout
    # A second time would overwrite it.
    taken = files_of(new)
    err = again(made, "out/model", new, code=1).err
    assert "exists and is not an empty directory" in err
    assert files_of(new) == taken


def test_a_difference_is_named_with_its_step_and_reason(made, new):
    done = again(made, NOISE, new, "--json", code=4)
    result = json.loads(done.out)
    assert result["verdict"] == "different"
    assert result["first_difference"] == "noise"
    assert any("/dev/urandom" in r for r in result["likely_reasons"])
    states = {o["place"]: o["state"] for o in result["outputs"]}
    assert states["noise"] == states["copy"] == "different"
    assert states["tool.txt"] == "identical"


def test_values_within_the_tolerance_have_their_own_exit_code(made, new):
    done = again(made, METRICS, new, "--rtol", "1e-3", code=3)
    assert "1 identical, 1 equal within the tolerance" in done.out
    shutil.rmtree(new)
    assert "  different" in again(made, METRICS, new, code=4).out


def test_a_long_command_is_run_as_it_was(made, new):
    again(made, LONG, new)
    with open(os.path.join(new, "long.txt"), encoding="utf-8") as f:
        assert f.read() == "20\n"


def test_nothing_is_run_unasked(made, new):
    err = made("reproduce", MODEL, "--run", "--into", new, code=1).err
    assert "add -y" in err and not os.path.exists(new)


def test_an_input_that_its_step_changed_is_missing(made, new):
    err = again(made, STATE, new, code=1).err
    assert "the input 'state' is missing: a step changes it in place" in err
    assert not os.path.exists(new)


def test_an_interruption_leaves_the_directory(made, new):
    flag = os.path.join(made.base, "started")
    with made.popen("reproduce", WAIT, "--run", "-y", "--into", new,
                    env={"WAIT_AT": flag},
                    start_new_session=True) as process:
        until(lambda: os.path.exists(flag))
        # As the terminal does: the whole group.
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"interrupted; 1 of 2 steps have run, and '" in err
    assert os.path.exists(os.path.join(new, "wait.sh"))


def test_code_that_is_gone_is_named(made, new):
    hidden = made.path("hidden")
    os.rename(made.path(".git"), hidden)
    try:
        err = again(made, MODEL, new, code=1).err
        assert "is gone: " in err and "the snapshot " in err
        shutil.rmtree(new)
        os.rename(os.path.join(made.base, "origin.git"),
                  os.path.join(made.base, "away.git"))
        try:
            err = again(made, MODEL, new, code=1).err
        finally:
            os.rename(os.path.join(made.base, "away.git"),
                      os.path.join(made.base, "origin.git"))
        assert "the code cannot be fetched from '" in err
    finally:
        os.rename(hidden, made.path(".git"))


def test_a_step_that_wrote_elsewhere_overwrites_nothing(made, new):
    outside = os.path.join(made.base, "outside.txt")
    with open(outside, "w", encoding="utf-8") as f:
        f.write("mine")
    err = again(made, OUTSIDE, new, code=1).err
    assert f"step @8 wrote '{outside}', which is outside of the new" in err
    assert not os.path.exists(new)
    bubblewrap = subprocess.run(["bwrap", "--ro-bind", "/", "/", "--dev",
                                 "/dev", "--proc", "/proc", "--unshare-net",
                                 "true"], check=False,
                                stderr=subprocess.DEVNULL) \
        if shutil.which("bwrap") else None
    if bubblewrap and bubblewrap.returncode == 0:
        again(made, OUTSIDE, new, "--sandbox", code=None)
    with open(outside, encoding="utf-8") as f:
        assert f.read() == "mine"


def test_a_link_that_a_step_made_leads_nowhere(made, new):
    """Of the record: the place of an input is a link by now."""
    victim = os.path.join(made.base, "victim")
    os.mkdir(victim)
    database = made.database()
    path = database.execute("SELECT id FROM paths WHERE path = ?",
                            (made.path("raw.csv"),)).fetchone()
    assert path
    database.execute("UPDATE paths SET path = ? WHERE id = ?",
                     (made.path("..") + "/victim/raw.csv",
                      path[0]))
    try:
        err = again(made, MODEL, new, code=1).err
        assert "victim/raw.csv' is missing: " in err
        assert not os.listdir(victim)
    finally:
        database.execute("UPDATE paths SET path = ? WHERE id = ?",
                         (made.path("raw.csv"), path[0]))
        database.close()


def test_a_foreign_record_is_run_only_when_trusted(made, new, served):
    url, folder = served
    elsewhere = os.path.join(made.base, "elsewhere")
    os.makedirs(elsewhere, exist_ok=True)
    path = os.path.join(folder, "record.jsonl")
    made("export", "out/model", "-o", path)
    plan = json.loads(made("reproduce", path, "--json", cwd=elsewhere).out)
    assert [s["step_ref"] for s in plan["steps"]] == ["@B1", "@1", "@2"]
    done = made("reproduce", path, "--run", "-y", "--into", new, code=1,
                cwd=elsewhere)
    assert "These commands come from somebody else:\n" in done.err
    assert "  sh prep.sh raw.csv $'it\\'s\\na \"line\"' '$HOME'\n" in done.err
    assert "add --trust" in done.err and not os.path.exists(new)
    done = made("reproduce", url + "record.jsonl", "--run", "--trust", "--into",
                new, cwd=elsewhere, code=None)
    if "built without" in done.err:
        pytest.skip("this roar has no transfers")
    assert done.code == 0 and "3 outputs, all hashed: identical" in done.out
    assert os.listdir(elsewhere) == []
    assert "is not a file or URL" in made("reproduce", MODEL, NOISE,
                                          code=2).err


def write_record(path, job, situations=(), files=()):
    """A record of one job, as somebody else could write it."""
    job = {"uid": "aa000000", "session": "94b91581325673ea", "kind": "run",
           "step": 1, "attempt": 1, "command": "true", "argv": '["true"]',
           "cwd": "/proj", "started_ns": 1795033853386461320,
           "complete": True, "tracer": "hybrid", **job}
    lines = [{"roar_record": {"version": 1}},
             {"session": {"uid": job["session"], "created_ns": 1}},
             {"job": job}]
    lines += [{"situation": {"kind": kind, "document": json.dumps(document)}}
              for kind, document in situations]
    lines += [{"file": {"ftype": 1, "seen": 1,
                        "digests": {"blake3": 64 * "5"}, "size": 5, **file}}
              for file in files]
    lines.append({"end": {"n_lines": len(lines)}})
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)


def test_a_foreign_record_is_shown_as_it_is_run(made, new):
    path = os.path.join(made.base, "hostile.jsonl")
    python = {"kind": "python", "path": "/opt/viewer", "version": "3.11.7",
              "prefix": "/opt", "venv": False}
    package = {"manager": "pip", "name": "six", "version": "1.16.0"}
    write_record(path, {"command": "echo harmless",
                        "argv": '["/opt/viewer", "evil"]'},
                 [(3, {"interpreters": [python]}),
                  (2, {"packages": [package]})])
    plan = made("reproduce", path).out
    assert "/opt/viewer evil" in plan and "harmless" not in plan
    err = made("reproduce", path, "--run", "--into", new, code=1).err
    assert f"  {new}/.venv/bin/python evil\n" in err
    assert "with packages of pip: six==1.16.0\n" in err


def test_a_script_shows_all_of_a_command(made, new):
    path = os.path.join(made.base, "hostile.jsonl")
    write_record(path, {"argv": json.dumps(
        ["sh", "-c", "printf %s \"$1\" >f", "sh", "a\x1b[2J\r'b"])})
    script = made("reproduce", path, "--script").out
    assert "\x1b" not in script and "\r" not in script
    if not shutil.which("b3sum"):
        pytest.skip("b3sum is not installed")
    subprocess.run(["sh", "-s", new], input=script, check=True, text=True,
                   env=made.env, stdout=subprocess.DEVNULL)
    with open(os.path.join(new, "f"), "rb") as f:
        assert f.read() == b"a\x1b[2J\r'b"


def test_a_foreign_record_does_not_configure_git_or_roar(made, new):
    path = os.path.join(made.base, "hostile.jsonl")
    for place in (".git/config", "a/.roar/config.toml", ".venv/bin/sh"):
        write_record(path, {}, files=[{"path": "/proj/" + place, "role": 1}])
        err = made("reproduce", path, "--run", "--trust", "--into", new,
                   code=1).err
        assert "would decide what git, roar or Python run" in err
    assert not os.path.exists(new)


def test_a_record_without_outputs_is_not_called_identical(made, new):
    path = os.path.join(made.base, "empty.jsonl")
    write_record(path, {})
    done = made("reproduce", path, "--run", "--trust", "--json", "--into", new)
    assert json.loads(done.out)["verdict"] == "nothing to compare"


def test_a_fetch_of_a_record_can_be_interrupted(made):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/record.jsonl"
        with made.popen("reproduce", url, start_new_session=True) as process:
            until(lambda: select.select([server], [], [], 0)[0] or
                  process.poll() is not None)
            if process.poll() is not None:
                pytest.skip("this roar has no transfers")
            os.killpg(process.pid, signal.SIGINT)
            _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == b"roar: interrupted: nothing was run\n"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(name="served")
def fixture_served(made):
    """The URL of a directory."""
    folder = os.path.join(made.base, "served")
    os.makedirs(folder, exist_ok=True)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", folder
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_input_is_fetched_from_where_it_came(made, new, served):
    url, folder = served
    with open(os.path.join(folder, "fetched"), "w", encoding="utf-8") as f:
        f.write("of a server\n")
    if "built without" in made("get", url + "fetched", code=None).err:
        pytest.skip("this roar has no transfers")
    made.sh("tr a-z A-Z < fetched > upper")
    os.unlink(made.path("fetched"))
    [step] = [s for s in made.json("reproduce", "upper")["inputs"]]
    assert step["source"] == "fetch" and step["from"] == url + "fetched"
    again(made, "upper", new)
    with open(os.path.join(new, "upper"), encoding="utf-8") as f:
        assert f.read() == "OF A SERVER\n"
    shutil.rmtree(new)
    # What is there by now is another content.
    with open(os.path.join(folder, "fetched"), "w", encoding="utf-8") as f:
        f.write("of a robber\n")
    err = again(made, "upper", new, code=1).err
    assert "an input cannot be fetched" in err
    assert "1 of 2 steps have run" in err


def test_the_script_does_the_same_without_roar(made, new):
    if not shutil.which("b3sum"):
        pytest.skip("b3sum is not installed")
    script = made("reproduce", "out/model", "--script").out
    path = os.path.join(made.base, "again.sh")
    with open(path, "w", encoding="utf-8") as f:
        f.write(script)

    def run(code):
        done = subprocess.run(["sh", path, new], cwd=made.base, env=made.env,
                              stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done

    assert "3 of 3 outputs are identical\n" in run(0).stdout
    with open(os.path.join(new, "out/model"), encoding="utf-8") as f:
        assert "raw.csv|it's\na \"line\"|$HOME|tool\n" in f.read()
    assert f"'{new}' exists" in run(1).stderr
    shutil.rmtree(new)
    with open(path, "w", encoding="utf-8") as f:
        f.write(script.replace("echo tool", "echo fool"))
    assert "1 of 3 outputs are identical\n" in run(4).stdout


def test_without_network_or_with_a_reason(made, new):
    done = again(made, WAIT, new, "--sandbox", code=None)
    if done.code:
        assert "a sandbox cannot be made here: bubblewrap " in done.err
    else:
        assert "the steps have no network (" in done.err


def test_bubblewrap_sees_the_files_read_only(made, new):
    log = os.path.join(made.base, "bwrap.log")
    env = program(made, "bwrap", f"echo \"$@\" >> '{log}'\n"
                  "while [ \"$1\" != -- ] && [ \"$1\" != true ]; do shift; "
                  "done\n[ \"$1\" = true ] || shift\nexec \"$@\"\n")
    again(made, WAIT, new, "--sandbox", env=env)
    with open(log, encoding="utf-8") as f:
        words = f.read()
    assert "--unshare-net --ro-bind / / " in words
    assert f"--bind {new} {new} --chdir {new} -- " in words


# ---- packages ----

PACKAGES = {"packages": [
    {"manager": "pip", "name": "numpy", "version": "1.26.4",
     "location": "/venv/lib"},
    {"manager": "pip", "name": "--evil", "version": "1"},
    {"manager": "dpkg", "name": "libgomp1", "version": "12.2.0-14",
     "arch": "amd64"}]}
LIBRARIES = {"interpreters": [
    {"kind": "python", "path": "/venv/bin/python", "version": "3.99.1",
     "prefix": "/venv", "venv": True}], "libraries": []}


def describe(database, job, kind, document):
    """The job has this document about its situation."""
    database.execute("INSERT INTO situations (kind, digest, document) VALUES "
                     "(?, ?, ?)", (kind, os.urandom(32), json.dumps(document)))
    number = database.execute("SELECT max(id) FROM situations").fetchone()[0]
    database.execute("INSERT OR REPLACE INTO job_situations (job_id, kind, "
                     "situation_id) VALUES (?, ?, ?)", (job, kind, number))


@pytest.fixture(name="packed")
def fixture_packed(made):
    """Step WAIT used packages."""
    database = made.database()
    job = database.execute("SELECT id FROM jobs WHERE kind = 'run' AND "
                           "step = 6").fetchone()[0]
    kept = database.execute("SELECT kind, situation_id FROM job_situations "
                            "WHERE job_id = ?", (job,)).fetchall()
    for kind, document in (2, PACKAGES), (3, LIBRARIES):
        describe(database, job, kind, document)
    yield made
    database.execute("DELETE FROM job_situations WHERE job_id = ?", (job,))
    for kind, number in kept:
        database.execute("INSERT INTO job_situations (job_id, kind, "
                         "situation_id) VALUES (?, ?, ?)",
                         (job, kind, number))
    database.close()


UV = """echo "uv $*" >> "$LOG"
if [ "$1" = venv ]; then
  mkdir -p "$3/bin"; ln -s /bin/sh "$3/bin/python"
fi
"""


def test_requirements_are_listed_and_installed_by_uv(packed, new):
    text = packed("reproduce", WAIT, "--list-requirements").out
    assert "  pip  numpy 1.26.4\n" in text
    assert "Python of @6: 3.99.1  /venv/bin/python\n" in text
    log = os.path.join(packed.base, "uv.log")
    env = program(packed, "uv", UV)
    done = again(packed, WAIT, new, env={**env, "LOG": log})
    assert "a package of pip is left out" in done.err
    with open(log, encoding="utf-8") as f:
        lines = f.read().splitlines()
    assert lines[0] == f"uv venv --quiet {new}/.venv --python 3.99.1"
    assert lines[1].startswith("uv pip install --quiet --python "
                               f"{new}/.venv/bin/python --no-deps -r ")
    with open(lines[1].split()[-1], encoding="utf-8") as f:
        assert f.read() == "numpy==1.26.4\n"
    os.unlink(os.path.join(packed.base, "bin", "uv"))


PYTHON = """if [ "$2" = venv ]; then
  mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit
fi
case "$*" in
*--find-links*) exit 0;;
esac
echo noise
echo "ERROR: No matching distribution found for numpy==1.26.4" >&2
exit 1
"""


def test_a_package_that_is_gone_is_named(packed, new):
    env = program(packed, "python3.99", PYTHON)
    done = again(packed, WAIT, new, env=env, code=1)
    assert "No matching distribution found for numpy==1.26.4" in done.err
    assert "0 of 2 steps have run" in done.err
    shutil.rmtree(new)
    # From a directory it is installed.
    again(packed, WAIT, new, "--wheels", packed.base, env=env)


def test_packages_of_the_system_are_shown_and_installed(packed, new):
    log = os.path.join(packed.base, "apt.log")
    env = program(packed, "apt-get", "echo \"$@\" > \"$LOG\"; exit 100\n")
    program(packed, "sudo", "exec \"$@\"\n")
    done = again(packed, WAIT, new, "--package-sync", code=1,
                 env={**env, "LOG": log})
    assert "apt-get install --yes -- " in done.err
    assert "apt-get ended with exit code 100" in done.err or \
        "sudo ended with exit code 100" in done.err
    assert not os.path.exists(new)
    with open(log, encoding="utf-8") as f:
        words = f.read().split()
    assert words[:3] == ["install", "--yes", "--"]
    assert "libgomp1:amd64=12.2.0-14" in words


# ---- variables and secrets ----

def test_variables_that_change_results_are_as_recorded(packed, new):
    database = packed.database()
    job = database.execute("SELECT id FROM jobs WHERE kind = 'run' AND "
                           "step = 6").fetchone()[0]
    database.execute("DELETE FROM job_situations WHERE job_id = ?", (job,))
    describe(database, job, 4, {"environments": [{"variables": {
        "OMP_NUM_THREADS": "3", "LD_PRELOAD": "/evil.so", "TZ":
        packed.root + "/zone", "MKL_NUM_THREADS": "[REDACTED]"}}]})
    database.close()
    done = again(packed, WAIT, new, env={"PYTHONHASHSEED": "7",
                                         "OMP_NUM_THREADS": "8"})
    assert "the variable MKL_NUM_THREADS of step @6 holds a secret" in done.err
    with sqlite3.connect(os.path.join(new, ".roar", "roar.db")) as record:
        text = record.execute(
            "SELECT document FROM situations s JOIN job_situations j ON "
            "s.id = j.situation_id WHERE j.kind = 4 ORDER BY job_id DESC"
        ).fetchone()[0]
    record.close()
    found = json.loads(text)["environments"][0]["variables"]
    assert found["OMP_NUM_THREADS"] == "3"
    assert found["TZ"] == new + "/zone"
    assert "LD_PRELOAD" not in found or "/evil" not in found["LD_PRELOAD"]
    assert "PYTHONHASHSEED" not in found


def test_a_command_without_its_secret_is_not_run(made, new):
    database = made.database()
    kept = database.execute("SELECT argv FROM jobs WHERE kind = 'run' AND "
                            "step = 6").fetchone()[0].decode()
    change = "UPDATE jobs SET argv = ? WHERE kind = 'run' AND step = 6"
    database.execute(change, ('["curl", "-H", "[REDACTED]"]',))
    err = again(made, WAIT, new, code=1).err
    database.execute(change, (kept,))
    database.close()
    assert "without the secrets of its command line" in err
    assert not os.path.exists(new)


def test_a_block_of_python_is_not_run_by_itself(made, new):
    database = made.database()
    change = "UPDATE jobs SET tracer = ? WHERE kind = 'run' AND step = 6"
    kept = made.json("show", WAIT)["tracer"]
    database.execute(change, ("python",))
    err = again(made, WAIT, new, code=1).err
    database.execute(change, (kept,))
    database.close()
    assert "step @6 is not run again: a block of Python runs with" in err
