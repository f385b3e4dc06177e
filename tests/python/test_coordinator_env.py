"""init_from_env(): what launchers set, and what is wrong with it."""

import os
import signal
import subprocess
import sys
import types

import pytest

import roar
from coordinator_helpers import PATIENCE, Background, Server
from roar import _launch
from roar.coordinator import WorkerExists


TORCHRUN = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1",
            "TORCHELASTIC_RUN_ID": "run 7", "TORCHELASTIC_RESTART_COUNT": "2"}
SLURM = {"SLURM_PROCID": "5", "SLURM_NTASKS": "16", "SLURM_LOCALID": "1",
         "SLURM_JOB_ID": "4711"}
OPENMPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4",
           "OMPI_COMM_WORLD_LOCAL_RANK": "0"}


@pytest.mark.parametrize("env, want", [
    (TORCHRUN, ("torchrun", 3, 8, 1, "run 7", 2)),
    (SLURM, ("slurm", 5, 16, 1, "4711", 0)),
    (OPENMPI, ("openmpi", 1, 4, 0, "", 0)),
    ({"PMI_RANK": "2", "PMI_SIZE": "3"}, ("mpi", 2, 3, -1, "", 0)),
    ({"MV2_COMM_WORLD_RANK": "2", "MV2_COMM_WORLD_SIZE": "3"},
     ("mpi", 2, 3, -1, "", 0)),
    # torchrun on each of Slurm's nodes; mpirun in Slurm's script
    ({**SLURM, **TORCHRUN}, ("torchrun", 3, 8, 1, "run 7", 2)),
    ({**SLURM, **OPENMPI}, ("openmpi", 1, 4, 0, "", 0)),
    # srun with PMI
    ({**SLURM, "PMI_RANK": "5", "PMI_SIZE": "16"},
     ("mpi", 5, 16, -1, "", 0)),
    # RANK=$SLURM_PROCID by hand: Slurm's job is still the run
    ({**SLURM, "RANK": "5", "WORLD_SIZE": "16"},
     ("torchrun", 5, 16, -1, "4711", 0)),
    ({**TORCHRUN, "TORCHELASTIC_RUN_ID": "none"},
     ("torchrun", 3, 8, 1, "", 2)),
    # what sbatch tells to a script is no rank
    ({"SLURM_NTASKS": "16", "SLURM_JOB_ID": "4711"}, None),
    ({}, None),
])
def test_launchers_are_recognised(env, want):
    assert _launch.find(env) == want


@pytest.mark.parametrize("env, words", [
    ({"RANK": "1"}, ["RANK", "WORLD_SIZE"]),
    ({"WORLD_SIZE": "1"}, ["WORLD_SIZE", "not RANK"]),
    ({"RANK": "x", "WORLD_SIZE": "1"}, ["RANK", "'x'"]),
    ({"RANK": "-1", "WORLD_SIZE": "1"}, ["RANK", "'-1'"]),
    ({"RANK": "4", "WORLD_SIZE": "4"}, ["RANK=4", "0 to 3"]),
    ({"RANK": "0", "WORLD_SIZE": "1", **OPENMPI},
     ["RANK=0", "openmpi", "rank 1 of 4", "unset"]),
    ({"SLURM_PROCID": "1"}, ["SLURM_PROCID"]),
])
def test_what_is_incomplete_or_contradicts_is_named(env, words):
    with pytest.raises(ValueError) as caught:
        _launch.find(env)
    for word in words:
        assert word in str(caught.value)


@pytest.fixture
def clean(monkeypatch):
    """An environment without launchers."""
    for name in list(os.environ):
        if name.startswith(("SLURM_", "OMPI_", "PMI", "MV2_", "TORCHELASTIC",
                            "ROAR_")) or name in ("RANK", "WORLD_SIZE",
                                                  "LOCAL_RANK"):
            monkeypatch.delenv(name)
    return monkeypatch


def test_nothing_set_says_what_to_do(clean):
    with pytest.raises(ValueError, match="ROAR_COORDINATOR"):
        roar.init_from_env()
    with pytest.raises(ValueError, match="torchrun"):
        roar.init_from_env("127.0.0.1:1")


def test_ray_is_asked_where_it_is_loaded(clean):
    context = types.SimpleNamespace(
        get_world_rank=lambda: 2, get_world_size=lambda: 4,
        get_local_rank=lambda: 0, get_experiment_name=lambda: "exp")
    clean.setitem(sys.modules, "ray.train", types.SimpleNamespace(
        get_context=lambda: context))
    assert _launch.find() == ("ray", 2, 4, 0, "exp", 0)
    context.get_world_rank = lambda: None
    assert _launch.find() is None


def test_workers_of_a_launcher_meet(clean):
    server = Server()
    try:
        clean.setenv("ROAR_COORDINATOR", server.address)
        for name, value in {**TORCHRUN, "WORLD_SIZE": "2"}.items():
            clean.setenv(name, value)
        clean.setenv("RANK", "1")
        b = roar.init_from_env(metadata={"x": "y"})
        waiting = Background(b.barrier, "start")
        clean.setenv("RANK", "0")
        a = roar.init_from_env()
        assert a.job == b.job == "run-7"
        assert (a.worker_id, b.worker_id) == ("rank-0", "rank-1")
        assert a.launch.world_size == 2 and b.launch.rank == 1
        assert a.barrier("start").participants == 2
        assert waiting.result().participants == 2
        about = {w["worker_id"]: w["metadata"] for w in a.workers()}
        assert about["rank-1"]["launch_rank"] == "1"
        assert about["rank-1"]["x"] == "y"
        a.deregister()  # has finished, and the others go on
        assert b.barrier("end", timeout=PATIENCE).participants == 1
        assert b.barrier("end", policy="shrink",
                         timeout=PATIENCE).participants == 1
        b.deregister()
    finally:
        server.close()


HOLDER = """
import roar, time
job = roar.TrainingOrchestrator("{}", job="run-7")
job.configure(heartbeat_interval=0.1, timeout=4)
job.register_worker("rank-0")
print("there", flush=True)
time.sleep(600)
"""


def test_the_place_of_one_that_fell_silent_is_waited_for(clean):
    server = Server()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(server.address)],
        stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "there\n"
        holder.send_signal(signal.SIGSTOP)  # its connection does not end
        for name, value in {**TORCHRUN, "RANK": "0", "WORLD_SIZE": "1",
                            "ROAR_COORDINATOR": server.address}.items():
            clean.setenv(name, value)
        with pytest.raises(WorkerExists, match="rank-0"):
            roar.init_from_env(wait=0)
        with roar.init_from_env() as job:
            assert job.world.incarnation == 2
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
        server.close()
