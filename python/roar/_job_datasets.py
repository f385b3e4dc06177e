"""The datasets of a coordinator's job, shared by all its workers.

The coordinator assigns the shards and keeps the epoch; files and reading options are a
manifest (roar._manifest), whose hash is part of the registration.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _manifest
from ._balance import told
from ._collection import paths_of
from ._coord_errors import (CoordinatorInvalid, CoordinatorNotFound,
                            CoordinatorStale, WorkerExists)
from ._coord_results import SHARDS
from .dataset import DatasetSpec, Source
from .readers import KINDS, is_remote

if TYPE_CHECKING:
    from .coordinator import TrainingOrchestrator

FILES = "roar.files"    # in the metadata of a registration: a manifest's name


def _signed(seed: int) -> int:
    """The same 64 bits as messages have them."""
    seed &= (1 << 64) - 1
    return seed - (1 << 64) if seed >> 63 else seed


def _common(paths: list[str]) -> str:
    if not any(map(is_remote, paths)):
        return os.path.commonpath(paths)
    return os.path.commonprefix(paths).rpartition("/")[0]


def _where(paths: list[str]) -> str:
    """One path that describes all files, for people and other clients."""
    try:
        path = paths[0] if len(paths) == 1 else _common(paths)
        path.encode()
    except (IndexError, ValueError):
        return ""
    return path if len(path) <= 1024 else ""


class JobDatasets:
    """The backend of a DatasetRegistry with a coordinator."""

    def __init__(self, orchestrator: "TrainingOrchestrator") -> None:
        self._of = orchestrator
        self._manifests: dict[str, _manifest.Manifest] = {}     # by name

    # ---- workers

    def workers(self) -> list[str]:
        try:
            return [worker["worker_id"] for worker in self._of.workers()]
        except CoordinatorNotFound:
            return []   # nor is there a job yet

    def join(self, worker_id: str, weight: int | None,
             home: str | None) -> None:
        if self._of.worker_id != worker_id:
            self._of.register_worker(worker_id, weight=weight, home=home)

    def leave(self, worker_id: str) -> None:
        if self._of.worker_id != worker_id:
            if worker_id not in self.workers():
                return
            raise ValueError(
                f"this process is worker {self._of.worker_id!r}, and only "
                f"{worker_id!r} itself can leave the job")
        self._of.deregister()

    # ---- datasets

    def add(self, spec: DatasetSpec) -> None:
        paths = [] if spec.source is None else paths_of(spec.source)
        manifest = _manifest.Manifest(paths, {
            name: value for name, value in spec.options.items()
            if value is not None})
        known = self.spec(spec.dataset_id)
        if known is not None:
            _compare(known, spec, manifest)
            return
        metadata = {FILES: _manifest.keep(self._of, manifest.text())} \
            if paths or manifest.options else {}
        try:
            self._of.register_dataset(
                spec.dataset_id, _where(paths), spec.total_samples,
                spec.shard_size, spec.shuffle, _signed(spec.seed),
                format=spec.options.get("kind") or "", metadata=metadata,
                balance=spec.balance.name,
                shard_bytes=spec.balance.shard_bytes or None,
                shard_homes=spec.balance.shard_homes or None)
        except WorkerExists:    # others were faster
            known = self.spec(spec.dataset_id)
            if known is None:
                raise
            _compare(known, spec, manifest)

    def specs(self) -> list[str]:
        found: list[str] = []
        first = 0
        while True:
            page = self._list(first=first)
            found += [info["dataset_id"] for info in page["datasets"]]
            first = page["next"]
            if not first:
                return found

    def spec(self, dataset_id: str) -> DatasetSpec | None:
        page = self._list(dataset_id=dataset_id)
        if not page["datasets"]:
            return None
        info, = page["datasets"]
        source, options = self._files(info)
        return DatasetSpec(dataset_id, source or None, info["shuffle"],
                           info["seed"], info["shard_size"],
                           info["total_samples"], options, told(info))

    def _list(self, **about: Any) -> dict[str, Any]:
        try:
            return self._of.call(SHARDS + "ListDatasets", {
                "job_id": self._of.job or "", **about})
        except CoordinatorNotFound:
            return {"datasets": [], "next": 0}

    def _files(self, info: Mapping[str, Any]
               ) -> tuple[Source, Mapping[str, Any]]:
        """Of a dataset that was registered otherwise: what its path and format
        say."""
        name = info["metadata"].get(FILES)
        if name is None:
            kind = info["format"]
            return info["path"], {"kind": kind} if kind in KINDS else {}
        if name not in self._manifests:
            self._manifests[name] = _manifest.parse(
                _manifest.find(self._of, name))
        return self._manifests[name]

    # ---- shards and epochs

    def shards(self, dataset_id: str, worker_id: str, epoch: int) -> list[int]:
        if self._of.worker_id != worker_id:
            if worker_id not in self.workers():
                raise ValueError(f"there is no worker {worker_id!r}: register "
                                 "it first")
            raise ValueError(
                f"this process is worker {self._of.worker_id!r}; the shards of "
                f"{worker_id!r} are sent to that worker only")
        return [shard.shard_id for shard in self._of.get_shards(dataset_id)]

    def epoch(self, dataset_id: str) -> int:
        return self._of.shard_table(dataset_id).epoch

    def advance(self, dataset_id: str, epoch: int, abandon: bool) -> int:
        """Idempotent: all workers can call it, and the job advances once."""
        now = self.epoch(dataset_id)
        if now > epoch:
            return now
        try:
            return self._of.advance_epoch(dataset_id, epoch + 1,
                                          abandon=abandon)
        except CoordinatorStale:
            now = self.epoch(dataset_id)
            if now > epoch:
                return now      # others were faster
            raise


def _compare(known: DatasetSpec, spec: DatasetSpec,
             files: _manifest.Manifest) -> None:
    """Raises CoordinatorInvalid, which names the first field that differs."""
    fields = [(name, getattr(known, name), getattr(spec, name))
              for name in ("total_samples", "shard_size", "shuffle")]
    fields.append(("seed", _signed(known.seed), _signed(spec.seed)))
    fields.append(("balance", known.balance, spec.balance))
    fields.append(("path", known.source or [], files.paths))
    fields += [(name, known.options.get(name), files.options.get(name))
               for name in sorted({*known.options, *files.options})]
    for name, before, now in fields:
        if before != now:
            raise CoordinatorInvalid(
                f"dataset {spec.dataset_id!r} is registered with another "
                f"{name}, {before!r:.80} and not {now!r:.80}: give the same, "
                "or register it under another id")
