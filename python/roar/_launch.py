"""init_from_env(): reads the variables that launchers set for their processes.

    torchrun  RANK, WORLD_SIZE, LOCAL_RANK, TORCHELASTIC_RUN_ID
    Ray       ray.train.get_context() if it is loaded, else as torchrun
    Open MPI  OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, ..._LOCAL_RANK
    MPICH     PMI_RANK, PMI_SIZE, MPI_LOCALRANKID (Intel MPI, MVAPICH as well)
    Slurm     SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, SLURM_JOB_ID

The innermost launcher started this process: under torchrun within Slurm, Slurm's
variables are still set, but describe the node.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple

if TYPE_CHECKING:
    from .coordinator import TrainingOrchestrator


class Launch(NamedTuple):
    """What the launcher set for this process."""

    launcher: str       # "torchrun", "ray", "openmpi", "mpi", "slurm"
    rank: int
    world_size: int
    local_rank: int     # -1 when it does not say
    run_id: str         # of the run; "" when it does not say
    restart: int        # how often torchrun has restarted the workers


class _Names(NamedTuple):
    """The variables of a launcher; the first one that is set counts."""

    launcher: str
    rank: tuple[str, ...]
    size: tuple[str, ...]
    local: tuple[str, ...]
    run: tuple[str, ...]


_LAUNCHERS = (
    _Names("torchrun", ("RANK",), ("WORLD_SIZE",), ("LOCAL_RANK",),
           ("TORCHELASTIC_RUN_ID",)),
    _Names("openmpi", ("OMPI_COMM_WORLD_RANK",), ("OMPI_COMM_WORLD_SIZE",),
           ("OMPI_COMM_WORLD_LOCAL_RANK",),
           ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid")),
    _Names("mpi", ("PMI_RANK", "MV2_COMM_WORLD_RANK"),
           ("PMI_SIZE", "MV2_COMM_WORLD_SIZE"),
           ("MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK"), ("PMI_ID",)),
    _Names("slurm", ("SLURM_PROCID",),
           ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"),
           ("SLURM_LOCALID",), ("SLURM_JOB_ID", "SLURM_JOBID")),
)


def _first(env: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str]:
    for name in names:
        if env.get(name):
            return name, env[name]
    return names[0], ""


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(f"the environment variable {name} is "
                         f"{text[:80]!r}, which is not a rank or count")
    return int(text)


def _read(env: Mapping[str, str], names: _Names) -> Launch | None:
    """The values of this launcher; None if it did not start this process."""
    rank_name, rank = _first(env, names.rank)
    size_name, size = _first(env, names.size)
    if not rank and (not size or names.launcher == "slurm"):
        return None     # Slurm tells the size to scripts, too
    if not rank or not size:
        have, lack = (size_name, rank_name) if size else (rank_name, size_name)
        raise ValueError(
            f"the environment has {have}, but not {lack}: a launcher sets "
            f"both; set {lack}, or unset {have}")
    local_name, local = _first(env, names.local)
    launch = Launch(names.launcher, _number(rank_name, rank),
                    _number(size_name, size),
                    _number(local_name, local) if local else -1,
                    _first(env, names.run)[1], 0)
    if launch.rank >= launch.world_size:
        raise ValueError(f"the environment has {rank_name}={rank} and "
                         f"{size_name}={size}: ranks go from 0 to "
                         f"{launch.world_size - 1}")
    return launch


def _ray() -> Launch | None:
    """Ray Train's word, within a function that it runs."""
    train = sys.modules.get("ray.train")
    if train is None:
        return None
    try:
        context = train.get_context()
        rank, size = context.get_world_rank(), context.get_world_size()
        local = context.get_local_rank()
        name = context.get_experiment_name()
    except (AttributeError, RuntimeError):
        return None
    if rank is None or size is None:
        return None
    return Launch("ray", int(rank), int(size),
                  -1 if local is None else int(local), str(name or ""), 0)


def find(environ: Mapping[str, str] | None = None) -> Launch | None:
    """The values of the innermost launcher; None if there is none.

    Raises ValueError if its variables are incomplete, or contradict those of
    another launcher of this process.
    """
    env = os.environ if environ is None else environ
    found = [launch for names in _LAUNCHERS
             if (launch := _read(env, names)) is not None]
    told = _ray() if environ is None else None
    if told is not None:
        return told
    if not found:
        return None
    first = found[0]
    if first.launcher == "torchrun":
        if not env.get("TORCHELASTIC_RUN_ID"):
            _check_agreement(found)
        restart = env.get("TORCHELASTIC_RESTART_COUNT", "")
        first = first._replace(
            restart=int(restart) if restart.isdecimal() else 0,
            run_id="" if first.run_id == "none" else first.run_id)
        if not first.run_id:
            others = [launch.run_id for launch in found[1:] if launch.run_id]
            first = first._replace(run_id=others[0] if others else "")
    return first


def _check_agreement(found: list[Launch]) -> None:
    """RANK and WORLD_SIZE set by hand, in a process that MPI started."""
    for other in found[1:]:
        if other.launcher != "slurm" and other[1:3] != found[0][1:3]:
            raise ValueError(
                f"the environment has RANK={found[0].rank} and WORLD_SIZE="
                f"{found[0].world_size}, but {other.launcher} says rank "
                f"{other.rank} of {other.world_size}: unset RANK and "
                "WORLD_SIZE, or set them to the same")


def _name(text: str) -> str:
    """`text` as a job may be called."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", text)[:128]


def init_from_env(coordinator: str | None = None, *,
                  job: str | None = None, token: str | None = None,
                  worker_id: str | None = None, host: str | None = None,
                  port: int = 0, gpu_count: int = 0, memory_bytes: int = 0,
                  metadata: Mapping[str, Any] | None = None,
                  tls_ca: str | None = None,
                  tls_name: str | None = None,
                  connect_timeout: float = 60.0,
                  timeout: float | None = 300.0,
                  wait: Any = ...) -> "TrainingOrchestrator":
    """Joins the coordinator as the process that the launcher started.

    coordinator  its address; None: the environment variable ROAR_COORDINATOR
    job          None: ROAR_COORDINATOR_JOB; else, without a token, the
                 launcher's run (TORCHELASTIC_RUN_ID, SLURM_JOB_ID, ...)
    token        None: ROAR_COORDINATOR_TOKEN
    worker_id    None: "rank-N", so that a restarted process takes its
                 predecessor's place
    wait         seconds to wait for that place while the predecessor counts as
                 alive (its machine lost power); None: for ever; default: the
                 job's timeout

    Sets the number of workers that the job starts with to the launcher's world
    size, so that no barrier is released before all have joined.  Later some may
    finish, or die if the policy is "shrink".  The result's attribute `launch` has
    the launcher's values: rank, world_size, local_rank, ...  The coordinator
    assigns ranks in the order of registration; they can differ from the
    launcher's.
    """
    from .coordinator import TrainingOrchestrator

    env = os.environ
    address = coordinator or env.get("ROAR_COORDINATOR", "")
    if not address:
        raise ValueError("no coordinator is named: pass its address, or set "
                         "ROAR_COORDINATOR to HOST:PORT")
    launch = find()
    if launch is None:
        raise ValueError(
            "no launcher's variables are set (RANK and WORLD_SIZE of "
            "torchrun, SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMI_RANK): start "
            "the program with torchrun, srun or mpirun, or use "
            "roar.TrainingOrchestrator and name the worker yourself")
    token = token or env.get("ROAR_COORDINATOR_TOKEN") or None
    job = job or env.get("ROAR_COORDINATOR_JOB") or None
    if job is None and token is None and launch.run_id:
        job = _name(launch.run_id)
    about = {"launcher": launch.launcher, "launch_rank": launch.rank,
             "launch_world_size": launch.world_size,
             "local_rank": launch.local_rank, **(metadata or {})}
    result = TrainingOrchestrator(
        address, job=job, token=token, tls_ca=tls_ca, tls_name=tls_name,
        connect_timeout=connect_timeout, timeout=timeout)
    try:
        known = result.configure(start_workers=launch.world_size)
        result.register_worker(
            worker_id or f"rank-{launch.rank}", host, port, gpu_count,
            memory_bytes, about,
            wait=known["settings"]["timeout_ms"] / 1000 if wait is ... else
            wait)
    except BaseException:
        result.close()
        raise
    result.launch = launch
    return result
