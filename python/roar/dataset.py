"""Datasets, the workers that share them, and the worker that owns each shard.

    registry = roar.DatasetRegistry()
    registry.register_worker("worker-0")
    registry.register_dataset("imagenet", 1_281_167, 10_000, path="train-*.tar")
    for shard in registry.get_shards("imagenet", "worker-0", epoch=0):
        print(shard.start_index, shard.end_index, shard.file_paths)

Without a coordinator a registry is private to this process.  With a coordinator all
workers of the job see the same datasets, epochs and shards.

A table assigns shards to workers.  The numbers of shards per worker differ by at most
one, and the fewest possible shards move when a worker joins or leaves.  The epoch does
not change which shards a worker owns; it changes their order, if the dataset is
shuffled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import _roar_shard

from ._balance import Balance, of_dataset, of_worker
from ._checks import whole
from ._collection import Collection
from .readers import KINDS, AnyPath

if TYPE_CHECKING:
    from ._job_datasets import JobDatasets  # noqa: F401
    from .coordinator import TrainingOrchestrator

__all__ = ["DatasetRegistry", "DatasetSpec", "ShardInfo"]

MOST = (1 << 63) - 1
MAX_SHARDS = (1 << 31) - 1      # of a table
# Options that other processes need to read the shards of a dataset.
OPTIONS = ("kind", "record_bytes", "header_bytes", "max_sample", "digests")

Source = AnyPath | Sequence[AnyPath]


class ShardInfo(NamedTuple):
    """A shard of a dataset, owned by one worker."""

    dataset_id: str
    shard_id: int
    total_shards: int
    start_index: int
    end_index: int          # exclusive
    epoch: int
    file_paths: list[str]   # files with these samples, if known

    @property
    def num_samples(self) -> int:
        """Number of samples in the shard."""
        return self.end_index - self.start_index


@dataclasses.dataclass(frozen=True)
class DatasetSpec:
    """The registration of a dataset."""

    dataset_id: str
    source: Source | None = None     # paths of its shards, if known
    shuffle: bool = True
    seed: int = 42
    shard_size: int = 0
    total_samples: int = -1             # -1: all samples of the shards
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    balance: Balance = Balance()

    @property
    def total_shards(self) -> int:
        """Number of shards of shard_size samples."""
        return -(-self.total_samples // self.shard_size)

    def check(self, files: Collection) -> None:
        """Raises ValueError if the files do not match the registration."""
        if not len(files):
            raise ValueError(f"dataset {self.dataset_id!r} has no samples")
        if self.total_samples not in (-1, len(files)):
            raise ValueError(
                f"dataset {self.dataset_id!r} is registered with "
                f"{self.total_samples} samples, but its files have "
                f"{len(files)}: register it as it is, under another id")

    def shard(self, shard_id: int, epoch: int,
              files: Collection | None) -> ShardInfo:
        """Describes one of its shards."""
        start = shard_id * self.shard_size
        end = min(start + self.shard_size, self.total_samples)
        paths = [] if files is None else [
            files.paths[n] for n in range(files.shard_of(start),
                                          files.shard_of(end - 1) + 1)]
        return ShardInfo(self.dataset_id, shard_id, self.total_shards, start,
                         end, epoch, paths)

    def in_order(self, shard_ids: Sequence[int], epoch: int) -> list[int]:
        """Sorts shards into the order of an epoch."""
        if not self.shuffle or not shard_ids:
            return sorted(shard_ids)
        order = _roar_shard.Order(self.dataset_id, self.total_shards,
                                  self.seed & (1 << 64) - 1, epoch)
        return sorted(shard_ids, key=order.position)


def make_spec(dataset_id: str, total_samples: int, shard_size: int,
              shuffle: bool, seed: int, path: Source | None,
              options: Mapping[str, Any], balance: str = "count",
              shard_bytes: Sequence[int] | None = None,
              shard_homes: Sequence[str] | None = None) -> DatasetSpec:
    """A DatasetSpec from the caller's arguments; raises ValueError."""
    if not isinstance(dataset_id, str) or not dataset_id:
        raise ValueError(f"dataset_id must be a name, not {dataset_id!r:.80}")
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise TypeError(f"there is no option {unknown[0]!r}; choose from: "
                        f"{', '.join(OPTIONS)}")
    if options.get("kind") not in (None, *KINDS):
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, "
                         f"not {options['kind']!r:.80}")
    spec = DatasetSpec(
        dataset_id, path, bool(shuffle),
        whole("seed", seed, -(1 << 63), (1 << 64) - 1),
        whole("shard_size", shard_size, 1, MOST),
        whole("total_samples", total_samples, 0, MOST), dict(options))
    if spec.total_shards > MAX_SHARDS:
        raise ValueError(
            f"dataset {dataset_id!r} would have {spec.total_shards} shards, "
            f"more than {MAX_SHARDS}: take a larger shard_size")
    return dataclasses.replace(spec, balance=of_dataset(
        balance, shard_bytes, shard_homes, spec.total_shards))


class _Local:
    """The registry of this process: a table for each dataset."""

    def __init__(self) -> None:
        self._workers: dict[str, int] = {}
        self._about: dict[str, tuple[int, str]] = {}    # weight and home
        self._specs: dict[str, DatasetSpec] = {}
        self._tables: dict[str, _roar_shard.Table] = {}
        self._epochs: dict[str, int] = {}

    def workers(self) -> list[str]:
        return list(self._workers)

    def join(self, worker_id: str, weight: int | None,
             home: str | None) -> None:
        if worker_id in self._workers:
            return
        self._about[worker_id] = weight or 1, home or ""
        used = set(self._workers.values())
        number = next(n for n in range(len(used) + 1) if n not in used)
        self._workers[worker_id] = number
        for dataset_id, table in self._tables.items():
            self._join(dataset_id, table, worker_id)
            table.deal()

    def _join(self, dataset_id: str, table: _roar_shard.Table,
              worker_id: str) -> None:
        self._specs[dataset_id].balance.join(
            table, self._workers[worker_id], worker_id,
            *self._about[worker_id])

    def leave(self, worker_id: str) -> None:
        if worker_id not in self._workers:
            return
        number = self._workers.pop(worker_id)
        self._about.pop(worker_id)
        for table in self._tables.values():
            table.leave(number)
            table.deal()

    def add(self, spec: DatasetSpec) -> None:
        known = self._specs.setdefault(spec.dataset_id, spec)
        if known != spec:
            name = next(field.name for field in dataclasses.fields(spec)
                        if getattr(known, field.name) !=
                        getattr(spec, field.name))
            raise ValueError(
                f"dataset {spec.dataset_id!r} is registered with another "
                f"{name}: give the same, or register it under another id")
        if spec.dataset_id in self._tables or not spec.total_shards:
            return
        table = spec.balance.table(spec.total_shards)
        for worker_id in self._workers:
            self._join(spec.dataset_id, table, worker_id)
        table.deal()
        self._tables[spec.dataset_id] = table

    def specs(self) -> list[str]:
        return list(self._specs)

    def spec(self, dataset_id: str) -> DatasetSpec | None:
        return self._specs.get(dataset_id)

    def shards(self, dataset_id: str, worker_id: str, epoch: int) -> list[int]:
        if worker_id not in self._workers:
            raise ValueError(f"there is no worker {worker_id!r}: register it "
                             "first")
        table = self._tables.get(dataset_id)
        return [] if table is None else \
            table.shards(self._workers[worker_id])

    def epoch(self, dataset_id: str) -> int:
        return self._epochs.get(dataset_id, 0)

    def advance(self, dataset_id: str, epoch: int, abandon: bool) -> int:
        self._epochs[dataset_id] = epoch + 1
        return epoch + 1


class DatasetRegistry:
    """Datasets and the workers that own their shards.

    coordinator_url  None: private to this process; else a coordinator's address, or a
                     roar.TrainingOrchestrator that is connected to it
    options          arguments of the TrainingOrchestrator made for an address
    """

    def __init__(self, coordinator_url:
                 "str | TrainingOrchestrator | None" = None,
                 **options: Any) -> None:
        self._books: "_Local | JobDatasets"
        if coordinator_url is None:
            self._books = _Local()
        else:
            from ._job_datasets import JobDatasets  # noqa: F811
            from .coordinator import TrainingOrchestrator
            self._books = JobDatasets(
                TrainingOrchestrator(coordinator_url, **options)
                if isinstance(coordinator_url, str) else coordinator_url)
        self._files: dict[str, Collection] = {}
        self._seen: dict[str, int] = {}     # epochs

    # ---- workers

    def register_worker(self, worker_id: str, *, weight: int | None = None,
                        home: str | None = None) -> None:
        """Adds a worker, which then gets shards of all datasets.  Idempotent: a
        registered worker stays unchanged.  With a coordinator this process becomes
        that worker.

        weight  relative capacity, for balance="weight"; None: 1
        home    location, for balance="locality"; None, with a coordinator: its
                host
        """
        if not isinstance(worker_id, str) or not worker_id:
            raise ValueError(f"worker_id must be a name, not {worker_id!r:.80}")
        of_worker(weight, home)     # raises ValueError if invalid
        self._books.join(worker_id, weight, home)

    def remove_worker(self, worker_id: str) -> None:
        """Removes a worker; the others get its shards.  Idempotent."""
        self._books.leave(worker_id)

    @property
    def worker_count(self) -> int:
        """Number of workers."""
        return len(self.active_workers())

    def active_workers(self) -> list[str]:
        """Ids of the workers."""
        return self._books.workers()

    # ---- datasets

    def register_dataset(self, dataset_id: str, total_samples: int,
                         shard_size: int, shuffle: bool = True,
                         seed: int = 42, *, path: Source | None = None,
                         balance: str = "count",
                         shard_bytes: Sequence[int] | None = None,
                         shard_homes: Sequence[str] | None = None,
                         **options: Any) -> int:
        """Registers a dataset; returns the number of its shards.

        path     its files: a path, a pattern or a list of paths, as for
                 roar.shards().  Files need not end at multiples of shard_size
        balance  how shards are assigned to workers, with shard_bytes or shard_homes
                 if needed: as for TrainingOrchestrator.register_dataset()
        options  kind, record_bytes, header_bytes, max_sample, as for
                 roar.readers.open_shard(); digests, {name: BLAKE3 in hex} of the
                 files whose content is known: other content is refused

        Idempotent: the same values can be registered again.  Different values raise
        ValueError, which names the first of them.  A dataset has at most a million
        files and 64 MiB of file names.
        """
        spec = make_spec(dataset_id, total_samples, shard_size, shuffle, seed,
                         path, options, balance, shard_bytes, shard_homes)
        self._books.add(spec)
        return spec.total_shards

    @property
    def dataset_count(self) -> int:
        """Number of datasets."""
        return len(self.datasets())

    def datasets(self) -> list[str]:
        """Ids of the datasets."""
        return self._books.specs()

    def spec(self, dataset_id: Any) -> DatasetSpec:
        """The dataset registered under this id; raises ValueError if none is."""
        found = self._books.spec(dataset_id) \
            if isinstance(dataset_id, str) else None
        if found is None:
            raise ValueError(f"there is no dataset {dataset_id!r:.80}: "
                             "register it first")
        return found

    def _collection(self, spec: DatasetSpec) -> Collection | None:
        if spec.source is None:
            return None
        if spec.dataset_id not in self._files:
            files = Collection(spec.source, **spec.options)
            spec.check(files)
            self._files[spec.dataset_id] = files
        return self._files[spec.dataset_id]

    # ---- shards and epochs

    def get_shards(self, dataset_id: str, worker_id: str,
                   epoch: int | None = None) -> list[ShardInfo]:
        """The shards of a worker, in the order of `epoch` (None: the current one).
        Raises ValueError for an epoch that is over."""
        spec = self.spec(dataset_id)
        current = self.current_epoch(dataset_id)
        epoch = current if epoch is None else whole("epoch", epoch, 0, MOST)
        if epoch < current:
            raise ValueError(f"epoch {epoch} of dataset {dataset_id!r} is over, "
                             f"this is {current}: an epoch does not go back")
        files = self._collection(spec)
        mine = self._books.shards(dataset_id, worker_id, epoch)
        return [spec.shard(shard_id, epoch, files)
                for shard_id in spec.in_order(mine, epoch)]

    def current_epoch(self, dataset_id: str) -> int:
        """The current epoch of the dataset."""
        self.spec(dataset_id)
        self._seen[dataset_id] = self._books.epoch(dataset_id)
        return self._seen[dataset_id]

    def advance_epoch(self, dataset_id: str, *, abandon: bool = False) -> int:
        """Starts the next epoch and returns its number.

        With a coordinator every worker calls this at the end of an epoch.  The job
        advances once from the epoch that this worker has seen last.  Raises
        CoordinatorStale while samples are left of an epoch that was reported or
        leased, unless `abandon` is true.
        """
        if dataset_id not in self._seen:
            self.current_epoch(dataset_id)
        self._seen[dataset_id] = self._books.advance(
            dataset_id, self._seen[dataset_id], abandon)
        return self._seen[dataset_id]

    def __repr__(self) -> str:
        return (f"DatasetRegistry(workers={self.worker_count}, "
                f"datasets={self.dataset_count})")
