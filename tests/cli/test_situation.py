"""What the machine, the environment and the packages of a job were."""

import glob
import os
import shutil

import pytest

SECRET = "s3cr3tValue0987654321zyx"
SITE = "venv/lib/python3.11/site-packages"


def variables(job):
    return job["environment"]["environments"][0]["variables"]


def packages(job, manager):
    return {p["name"]: p for p in job["packages"] or []
            if p["manager"] == manager}


def assert_clean(place):
    for folder, _, names in os.walk(place.base):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                assert SECRET.encode() not in f.read(), name


def test_variables_are_recorded_without_secrets(project):
    project("config", "set", "redact.patterns", '["corp-[0-9]+"]')
    project("config", "set", "redact.allow", '["PUBLIC_TOKEN"]')
    project.sh("RANK=3 env > /dev/null; unset PLAIN; env > /dev/null",
               env={"PLAIN": "a value", "WANDB_API_KEY": SECRET,
                    "my_password": SECRET, "ARGS": f"--x {SECRET}",
                    "HOST": "corp-17.example.org",
                    "PUBLIC_TOKEN": "not-a-secret"})
    job = project.last()
    found = variables(job)
    assert found["PLAIN"] == "a value"
    assert found["WANDB_API_KEY"] == found["my_password"] == "[REDACTED]"
    assert found["ARGS"] == "--x [REDACTED]"
    assert found["HOST"] == "[REDACTED].example.org"
    assert found["PUBLIC_TOKEN"] == "not-a-secret"
    assert "LD_PRELOAD" not in found and "ROAR_PRELOAD_LOG" not in found
    assert_clean(project)
    shown = project("show", "@1").out
    assert f"Variables:    {len(found)}, " in shown
    assert "PLAIN=a value" in project("show", "@1", "--all").out


def test_variables_of_other_programs_are_differences(project):
    """A tracer that does not stop processes may be late for short ones."""
    job = None
    for tracer in ("hybrid", "ptrace"):
        done = project("run", "-q", "--tracer", tracer, "--", "sh", "-c",
                       "RANK=3 env > /dev/null; unset PLAIN; "
                       "env > /dev/null", env={"PLAIN": "x"}, code=None)
        job = project.last() if done.code == 0 else job
        if job and job["tracer"] == tracer:
            break
    else:
        pytest.skip("no tracer that stops processes works here")
    rest = job["environment"]["environments"][1:]
    assert job["environment"]["n_unknown"] == 0
    assert "3" in [e["changed"].get("RANK") for e in rest]
    assert ["PLAIN"] in [e["unset"] for e in rest]


def test_jobs_in_the_same_situation_share_it(project):
    for _ in range(3):
        project.run("true")
    rows = project.database().execute(
        "SELECT kind, count(*), (SELECT count(*) FROM job_situations j"
        " WHERE j.kind = s.kind) FROM situations s WHERE kind < 5"
        " GROUP BY kind").fetchall()
    kinds = {kind: (documents, jobs) for kind, documents, jobs in rows}
    assert kinds[1] == kinds[3] == kinds[4] == (1, 3)
    assert kinds.get(2, (1, 3)) == (1, 3)


def test_machine_use_and_libraries(project):
    project.write("data.bin", b"x" * 3_000_000, age=0)
    project.sh("cat data.bin > copy.bin")
    job = project.last()
    machine = job["machine"]
    assert machine["kernel"] == os.uname().release
    assert machine["cpu"]["threads"] >= 1
    assert machine["memory_bytes"] > 0
    assert job["use"]["bytes_read"] >= 3_000_000
    assert job["use"]["bytes_written"] >= 3_000_000
    assert job["use"]["peak_memory_bytes"] > 0
    libraries = {os.path.basename(entry["path"]): entry
                 for entry in job["libraries"]}
    assert any(name.startswith("libc.so") for name in libraries)
    shown = project("show", "@1").out
    assert "Machine:" in shown and "I/O:" in shown


@pytest.mark.skipif("FAKE_NVML" not in os.environ, reason="no fake NVML")
def test_the_peak_of_gpu_memory(project):
    """The second question of the library comes after the first answer."""
    os.symlink(os.environ["FAKE_NVML"], project.path("libnvidia-ml.so.1"))
    project.write("libcuda.so.1", b"", age=0)
    wait = "rm -f used.asked; until [ -e used.asked ]; do sleep 0.05; done; "
    project.sh("echo \"1 $$ 5000000000\n0 1 7\" > used; cat libcuda.so.1; "
               + wait + wait, env={
                   "LD_LIBRARY_PATH": project.path(""),
                   "ROAR_TEST_NVML_FILE": project.path("used")})
    assert project.last()["use"]["gpus"] == [
        {"index": 1, "peak_memory_bytes": 5000000000}]
    assert "GPU memory:   4.7 GiB on GPU 1\n" in project("show", "@1").out
    project.sh("cat used")
    assert project.last()["use"]["gpus"] is None
    assert "GPU memory" not in project("show", "@2").out


def test_packages_are_those_whose_files_were_used(project):
    project.write(f"{SITE}/PyYAML-6.0.1.dist-info/METADATA",
                  "Name: PyYAML\nVersion: 6.0.1\n", age=0)
    project.write(f"{SITE}/PyYAML-6.0.1.dist-info/RECORD",
                  "yaml/__init__.py,,\n", age=0)
    project.write(f"{SITE}/six-1.16.0.dist-info/RECORD", "six.py,,\n", age=0)
    project.write(f"{SITE}/yaml/__init__.py", age=0)
    project.write(f"{SITE}/six.py", age=0)
    project.write("app/node_modules/x/package.json",
                  '{"name": "x", "version": "1.2.3"}', age=0)
    project.write("app/node_modules/x/index.js", age=0)
    project.run("cat", f"{SITE}/yaml/__init__.py",
                "app/node_modules/x/index.js")
    job = project.last()
    assert packages(job, "pip").keys() == {"PyYAML"}
    assert packages(job, "pip")["PyYAML"]["version"] == "6.0.1"
    assert packages(job, "npm")["x"]["version"] == "1.2.3"
    assert "  pip    PyYAML 6.0.1\n" in project("show", "@1", "--all").out
    if os.path.exists("/var/lib/dpkg/status"):
        assert "coreutils" in packages(job, "dpkg")


def test_the_interpreter_has_a_version(project):
    project.run("python3", "-I", "-S", "-c", "pass")
    found = [i for i in project.last()["interpreters"]
             if i["kind"] == "python"]
    assert len(found) == 1
    assert found[0]["version"].startswith("3.")
    assert not found[0]["venv"]
    assert f"python {found[0]['version']}" in project("show", "@1").out


def test_trackers_are_recognised(project):
    project.sh("mkdir -p wandb/run-20240102_030405-a1b2c3 tb && "
               "echo > wandb/run-20240102_030405-a1b2c3/x && "
               "echo > tb/events.out.tfevents.1.host",
               env={"WANDB_PROJECT": "vision"})
    trackers = {t["name"]: t for t in project.last()["trackers"]}
    assert trackers.keys() == {"wandb", "tensorboard"}
    assert trackers["wandb"]["run_id"] == "a1b2c3"
    assert trackers["wandb"]["project"] == "vision"
    assert trackers["tensorboard"]["folder"] == project.path("tb")
    assert "wandb run a1b2c3 of project vision" in project("show", "@1").out


def test_damaged_caches_cost_nothing(project):
    project.run("true")
    before = project.last()
    for name in ("packages-*", "elf-notes", "machine"):
        for path in glob.glob(os.path.join(project.home, ".cache/roar", name)):
            with open(path, "r+b") as f:
                f.truncate(100)
                f.write(b"\xff" * 50)
    project.run("true")
    after = project.last()
    for key in ("machine", "packages", "libraries"):
        assert after[key] == before[key]
    shutil.rmtree(os.path.join(project.home, ".cache"))
    project.run("true", env={"HOME": None, "XDG_CACHE_HOME": "/nonexistent/cache"})
    assert project.last()["libraries"] == before["libraries"]


def test_many_variables_stay_bounded(project):
    project.run("true", env={f"VARIABLE_{i}": "x" * 20 for i in range(20000)})
    environment = project.last()["environment"]
    assert environment["n_left_out"] > 10000
    assert len(environment["environments"][0]["variables"]) > 8000
