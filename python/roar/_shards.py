"""roar.shards(): a rank's samples of a dataset, and its position in them.

    for sample in roar.shards("data/train-*.tar", rank=0, world_size=8, seed=42):
        ...

    data = roar.shards("imagenet", coordinator=orchestrator, batch=64)
    for batch in data:
        ...
        checkpoint["data"] = data.state_dict()

The order is that of roar.SampleOrder: it depends on seed, dataset and epoch, not on the
number of ranks.  So any number of ranks can continue from a state, and each sample comes
exactly once.  The stream reads ahead; a state counts only the samples it returned.
"""

from __future__ import annotations

import array
import collections
import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _run
from ._checks import whole
from ._collection import WINDOW, Collection
from ._elsewhere import Board, Following, Share, share
from .dataset import DatasetRegistry, DatasetSpec
from .order import SampleOrder
from .readers import place_of

if TYPE_CHECKING:
    from ._arena import Arena
    from ._lease import Lease
    from ._together import Together
    from .coordinator import TrainingOrchestrator
    from .readers import AnyPath

# Shards that samples are shuffled among at a time: files stay open meanwhile.
SHUFFLED = 16
# Samples that a loop plans first; then four times as many, up to WINDOW.  So the first
# sample comes soon, and read-ahead is seldom interrupted.
FIRST_WINDOW = 64
MANY = 1 << 40      # samples; more than arguments may ask for at least


class ShardStream:
    """Samples of a dataset for one rank; made by roar.shards().

    A loop reads the rest of the epoch, the next loop the next epoch.  The stream can be
    the dataset of a torch or roar DataLoader: it is an IterableDataset, whose workers
    share the samples (``_elsewhere``).

    The order needs the number of samples, and shards without an index must be scanned
    for that.  So it is computed when it is first needed, not with the stream.
    """

    def __init__(self, files: Collection, make_order: Callable[[], SampleOrder], name: str,
                 rank: int | None, batched: bool,
                 arena: "Arena | None",
                 together: "Together | None" = None) -> None:
        self.files = files
        self.name = name
        self._make_order: Callable[[], SampleOrder] | None = make_order
        self._made: SampleOrder | None = None
        self._rank = rank           # None: not known
        self._batched = batched
        self._arena = arena
        self._together = together   # None: ranks do not change
        self._fresh = True          # no position was set or loaded
        self._loop = 0              # the loop that goes on now
        self._pid = os.getpid()     # the process whose position counts
        self._board = Board()
        self._replaced = 0          # of the board, when this copy was made
        self._under_way = False     # a loop of this copy has not ended
        self.followed: Following | None = None

    @property   # type: ignore[misc]
    def __class__(self) -> Any:
        """The class for isinstance().  Torch checks for an IterableDataset; this is one
        if torch is loaded, and does not load torch itself."""
        torch = sys.modules.get("torch.utils.data")
        return getattr(torch, "IterableDataset", ShardStream)

    def __getstate__(self) -> dict[str, Any]:
        if self._together is not None:
            raise TypeError(
                f"the stream of dataset {self.name!r} belongs to a worker of a "
                "coordinator and cannot be pickled: call roar.shards() in the "
                "process that reads")
        return {**self.__dict__, "_made": self._order, "_make_order": None,
                "followed": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if not self._board.shared:
            self._pid = os.getpid()     # a stream of its own
            self._replaced = 0

    def __reduce__(self) -> Any:
        return _unpickled, (), self.__getstate__()

    @property
    def _order(self) -> SampleOrder:
        if self._made is None:
            assert self._make_order is not None
            self._made = self._make_order()
        return self._made

    @property
    def epoch(self) -> int:
        """The current epoch."""
        return self._order.epoch

    @property
    def rank(self) -> int:
        """The rank of these samples; with a coordinator, in the current loop."""
        return self._order.rank

    @property
    def world_size(self) -> int:
        """The number of ranks; with a coordinator, in the current loop."""
        return self._order.world_size

    def set_epoch(self, epoch: int) -> None:
        """Moves to the beginning of a later epoch."""
        self._order.set_epoch(epoch)
        self._fresh = False
        self._board.ask(epoch)

    def __len__(self) -> int:
        """Samples, or batches, that are left of the epoch, for the rank that has the
        most of them."""
        return len(self._order)

    def __iter__(self) -> Iterator[Any]:
        order = self._order
        mine = self._begin()
        self._meet()
        epoch = order.epoch
        self._loop += 1
        loop = self._loop
        samples = FIRST_WINDOW
        try:
            while order.epoch == epoch and self._left(loop):
                n = max(1, samples // order.batch_size) * mine.size
                yield from self._window(order.ahead(n), epoch, loop, mine)
                samples = min(4 * samples, WINDOW)
            if order.epoch == epoch:
                self._finish(mine)
        finally:
            _run.notes().flush()    # a worker may end without cleanup

    def _begin(self) -> Share:
        """Begins a loop; returns which steps it reads."""
        board = self._board
        if self._pid == os.getpid():
            if board.readers or self.followed is not None:
                self.forget_readers()
            return Share(0, 1)
        mine = share()
        if mine.size > 1 and (self._together or self._order.audited):
            raise RuntimeError(
                f"dataset {self.name!r} has a coordinator or an audit, and workers "
                "cannot share its samples: let one worker read them")
        if self._under_way:
            raise RuntimeError(
                f"the previous loop over dataset {self.name!r} was left early, and "
                "workers have read ahead: start new workers")
        if board.replaced != self._replaced:
            raise RuntimeError(
                f"the position in dataset {self.name!r} was changed after this "
                "worker was started: start new workers")
        self._order.set_epoch(max(self._order.epoch, board.epoch))
        board.begin(mine)
        self._under_way = True
        return mine

    def _left(self, loop: int) -> int:
        """Batches that are left of the epoch, for the current loop.  Raises
        RuntimeError in an older loop, whose read-ahead is out of order."""
        if loop != self._loop:
            raise RuntimeError(
                f"another loop over dataset {self.name!r} has begun, or a state "
                "was loaded: this loop cannot continue, begin a new one")
        return len(self._order)

    def _meet(self) -> None:
        """All ranks begin together, at an agreed position and with agreed ranks."""
        if self._together is not None:
            self._together.begin(self._order, self._fresh)
            self._rank = self._order.rank
        self._fresh = False

    def _take(self) -> None:
        if self._together is None:
            self._order.take()
        else:
            self._together.take(self._order)

    def _finish(self, mine: Share) -> None:
        if self._together is not None:
            self._order.end_notes()
            self._together.finish()
        self._order.finish()
        self._under_way = False
        if self._pid != os.getpid() and self._board.replaced == self._replaced:
            self._board.finish(mine, self._order.epoch)

    def _window(self, batches: list[list[int]], epoch: int,
                loop: int, mine: Share) -> Iterator[Any]:
        given: list[int] = []
        noted = self._noted_at_flush(given, epoch)
        # Steps of other workers count as taken as well.
        before = (mine.worker - self._order.step) % mine.size
        end = self._order.step + len(batches)
        try:
            for batch, samples in self._read(batches[before::mine.size]):
                if self._order.epoch != epoch:
                    return      # the epoch was changed meanwhile
                self._left(loop)
                for _ in range(before + 1):
                    self._take()
                before = mine.size - 1
                given += batch
                if self._batched:
                    yield samples
                else:
                    yield from samples
            while mine.size > 1 and self._order.step < end:
                self._take()
        finally:
            _run.notes().unfollow(noted)
            noted()

    def _read(self, batches: list[list[int]]
              ) -> Iterator[tuple[list[int], Any]]:
        if self._arena is not None:
            for batch in batches:
                yield batch, self._in_arena(self._arena, batch)
            return
        found = self.files.window(list(itertools.chain.from_iterable(batches)))
        for batch in batches:
            yield batch, list(itertools.islice(found, len(batch)))
        next(found, None)   # which sees whether a shard has changed

    def _in_arena(self, arena: "Arena", batch: list[int]) -> Any:
        """Reads the records of a batch directly into the arena."""
        made = arena.empty((len(batch), self.files.options["record_bytes"]),
                           "uint8")
        self.files.fill(batch, made)
        return made

    # ---- pieces that are lent

    def lent(self, lease: "Lease") -> Iterator[Any]:
        """The unconsumed samples of a lease of this worker, one by one.  As in a
        loop over the lease, all samples before the current one are finished.

            for lease in job.pull("imagenet", epoch):
                for sample in data.lent(lease):
                    ...

        This is independent of loops over the stream and does not change their
        position.  The coordinator counts the consumed samples; an audit does not
        record them.
        """
        samples = self._samples_at(lease.positions, lease.epoch)
        try:
            for _, sample in zip(lease, samples):
                yield sample
            next(samples, None)     # which sees whether a shard has changed
        finally:
            samples.close()
            _run.notes().flush()

    def _samples_at(self, positions: range,
                    epoch: int) -> Generator[Any, None, None]:
        order = self._order.of_epoch(epoch)
        for first in range(0, len(positions), WINDOW):
            numbers = order.samples(array.array(
                "Q", positions[first:first + WINDOW])).tolist()
            given = 0
            try:
                for sample in self.files.window(numbers):
                    given += 1
                    yield sample
            finally:
                self._note(numbers[:given], epoch)

    def _noted_at_flush(self, given: list[int], epoch: int) -> Callable[[], None]:
        """A function that reports the samples of the growing list `given` which it has not
        reported yet, called whenever notes are flushed."""
        lock = threading.Lock()
        done = 0

        def report() -> None:
            nonlocal done
            with lock:
                first, done = done, len(given)
                self._note(given[first:done], epoch)

        _run.notes().follow(report)
        return report

    def _note(self, numbers: list[int], epoch: int) -> None:
        """Reports to the run that these samples were returned."""
        taken = collections.Counter(map(self.files.shard_of, numbers))
        for n, count in taken.items():
            _run.notes().add(_run.Taken(
                self._rank, epoch, self.name,
                place_of(self.files.paths[n])), count)

    # ---- state

    def position(self, steps: int | None = None,
                 epoch: int | None = None) -> dict[str, Any]:
        """The position of all ranks in the epoch, as a few numbers, after the samples
        that were returned.  It is the same on every rank after the same number of
        samples, or batches.

        If a loader reads ahead of the model, `steps` is the number of samples, or
        batches, that the model has seen since the epoch began or was resumed, and
        `epoch` is their epoch.  A pipeline or roar.DataLoader knows the epoch; with
        torch's own DataLoader, give it.  Raises RuntimeError or ValueError if the
        position is not known.
        """
        if self._pid == os.getpid():
            if self.followed is not None:
                if self.followed.open:
                    self._check_steps(steps, self.followed.in_order)
                    epoch = self._order.epoch if epoch is None else epoch
            elif self._board.readers:
                self._check_steps(steps, self._batched or
                                  self._board.readers == 1)
                if epoch is None:
                    raise RuntimeError(
                        f"dataset {self.name!r} is read in other processes: name "
                        "the epoch of these steps by "
                        "state_dict(steps, epoch)")
        return self._order.state_dict(steps, epoch)

    def _check_steps(self, steps: int | None, in_order: bool) -> None:
        if steps is None or self._together is not None:
            raise RuntimeError(
                f"dataset {self.name!r} is read in other processes, ahead of the "
                "model: give the number of steps that the model has seen by "
                "state_dict(steps)" + (
                    "" if self._together is None else
                    ", in a process that reads it without coordinator="))
        if steps and not in_order:
            raise RuntimeError(
                f"what the model has seen of dataset {self.name!r} is not known "
                "in the middle of an epoch, because several workers, or "
                "concurrent stages, give samples out of order: give "
                "roar.shards() a batch and the DataLoader batch_size=None, or "
                'stages output_order="input" and one worker')

    def state_dict(self, steps: int | None = None,
                   epoch: int | None = None) -> dict[str, Any]:
        """Same as position(), under the name that checkpoints use."""
        return self.position(steps, epoch)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a position, made with any number of ranks.  A loop in
        progress ends with a RuntimeError."""
        self._fresh = False
        self._loop += 1
        if self._together is None:
            self._order.load_state_dict(state)
        else:
            self._order.back(state)
            self._together.loaded()
        self.forget_readers()

    # ---- samples that other processes read

    def follow(self, in_order: bool) -> Following | None:
        """Follows the loops of a consumer in this process, whose workers start now.
        None if ranks agree on the position with each other."""
        return Following(self, in_order) if self._together is None else None

    def where(self) -> tuple[int, int, int]:
        """A value that changes when the position is set or loaded here."""
        return self._order.epoch, self._order.step, self._board.replaced

    def next_epoch(self) -> None:
        """The consumer has finished an epoch that other processes read."""
        self._order.finish()

    def forget_readers(self) -> None:
        """Makes the position of this process count again."""
        self.followed = None
        self._under_way = False
        if self._pid == os.getpid():
            self._board.clear()
            self._replaced = self._board.replaced

    def close(self) -> None:
        """Closes the shards and the audit, if any."""
        _run.notes().flush()
        if self._together is not None:
            self._together.close()
        if self._made is not None:
            self._made.close()
        self.files.close()

    def __enter__(self) -> "ShardStream":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()


def _unpickled() -> ShardStream:
    return ShardStream.__new__(ShardStream)


def _place(coordinator: "TrainingOrchestrator | None", rank: int | None,
           world_size: int | None) -> tuple[int | None, int, int]:
    """The known rank, and the rank and number of ranks to use.  A coordinator's are
    provisional until all ranks meet."""
    if (rank is None) != (world_size is None):
        raise ValueError("rank and world_size belong together: give both, or "
                         "neither")
    if rank is not None and world_size is not None:
        return rank, rank, world_size
    if coordinator is not None and coordinator.worker_id is not None:
        world = coordinator.wait_ready()
        return world.rank, world.rank, world.size
    return None, 0, 1


def _together(coordinator: "TrainingOrchestrator | None",
              rank: int | None, dataset_id: str) -> "Together | None":
    """The job that shares the samples; None without one, or if the rank is given."""
    if coordinator is None or coordinator.worker_id is None or \
            rank is not None:
        return None
    from ._together import Together
    return Together(coordinator, dataset_id)


def _spec_of(dataset: Any, coordinator: "TrainingOrchestrator | None",
             registry: DatasetRegistry | None) -> DatasetSpec | None:
    if coordinator is not None and registry is None:
        registry = DatasetRegistry(coordinator)
    return None if registry is None else registry.spec(dataset)


def shards(dataset: "AnyPath | Sequence[AnyPath]", *,
           coordinator: "TrainingOrchestrator | None" = None,
           registry: DatasetRegistry | None = None,
           path: "AnyPath | Sequence[AnyPath] | None" = None,
           rank: int | None = None, world_size: int | None = None,
           epoch: int = 0, batch: int | None = None,
           seed: int | None = None, shuffle: bool | None = None,
           tail: str = "exact", window: int = SHUFFLED,
           resume: dict[str, Any] | None = None,
           name: str | None = None,
           audit: "AnyPath | None" = None,
           world_epoch: int | None = None,
           arena: "Arena | None" = None,
           **options: Any) -> ShardStream:
    """A rank's samples of a dataset.

    dataset      with a coordinator or a registry, the id of a dataset registered
                 there; else a path, a pattern ("train-*.tar",
                 "train-{000..099}.tar") or a list of paths
    coordinator  a roar.TrainingOrchestrator, which provides the dataset, and the rank
                 if this process is one of its workers.  Waits until the job has
                 the workers it needs.  Then all workers of the job take part:
                 each loop begins when all have arrived.  Consumed samples are
                 reported to the coordinator from time to time.  If workers join
                 or leave during a loop, it ends with roar.WorldChanged, which
                 explains how to continue
    registry     a roar.DatasetRegistry with the dataset
    path         path of a registered dataset's shards on this machine, if it differs
                 from the registered path
    rank, world_size  this rank and the fixed number of ranks; default: those of the
                 coordinator, else a single rank
    epoch        first epoch
    batch        samples per step, returned as a list; None: one by one
    seed, shuffle     default: those of the dataset
    tail         the last step, if samples do not divide evenly: "exact" (a rank may
                 have fewer), "drop" or "pad"
    window       number of shards among which samples are shuffled, which bounds the
                 number of open files; 0: all samples are shuffled
    resume       a position() or state_dict() to continue from
    name         name of the dataset, which is a part of the order; default: the
                 registered id, or "samples"
    audit, world_epoch  as for roar.SampleOrder
    arena        for raw records: a batch is an array (samples, record_bytes) of bytes
                 in this arena, read directly into it and sent without a copy
    options      for roar.readers.open_shard(): kind, record_bytes, views, ...;
                 digests={name: BLAKE3 in hex}, the expected digests of files
    """
    if isinstance(coordinator, (str, bytes)):
        raise TypeError(
            f"coordinator is {coordinator!r:.80}, an address: connect to it by "
            "roar.TrainingOrchestrator(), register this process as a worker, "
            "and give that object")
    spec: DatasetSpec = _spec_of(dataset, coordinator, registry) or \
        DatasetSpec(name or "samples", dataset, shuffle is not False,
                    42 if seed is None else seed)
    source = spec.source if path is None else path
    if source is None:
        raise ValueError(f"dataset {spec.dataset_id!r} is registered without a "
                         "path: give the path of its shards by path=")
    files = Collection(source, **{**spec.options, **options})
    if arena is not None and (batch is None or files.kind != "raw"):
        raise ValueError("arena= is for batches of raw records: give batch and "
                         "record_bytes, or send samples as they come")
    together = _together(coordinator, rank, spec.dataset_id)
    known, rank, size = _place(coordinator, rank, world_size)
    if audit is not None and world_epoch is None and coordinator is not None:
        world_epoch = coordinator.world.epoch
    make = functools.partial(
        SampleOrder, spec.dataset_id, rank=rank, world_size=size,
        batch_size=1 if batch is None else batch,
        seed=spec.seed if seed is None else seed, epoch=epoch,
        shuffle=spec.shuffle if shuffle is None else shuffle,
        window=whole("window", window, 0), tail=tail, world_epoch=world_epoch)
    make(MANY, shard_size=MANY)     # checks the arguments at once

    def make_order() -> SampleOrder:
        spec.check(files)
        return make(len(files), audit=audit, shard_size=spec.shard_size or
                    -(-len(files) // len(files.paths)))

    stream = ShardStream(files, make_order, spec.dataset_id, known,
                         batch is not None, arena, together)
    if audit is not None:
        len(stream)     # whose file is opened with the order
    if resume is not None:
        stream.load_state_dict(resume)
    return stream
