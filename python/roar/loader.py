"""roar.DataLoader: torch's DataLoader, whose workers send batches through an arena.

Torch's own code decides what is in a batch: samplers, seeds, fetching, order, shutdown.
Three things are replaced.  The result queue of the workers carries a short ticket; the
batch itself is in memory that worker and parent share (``_batches``).  If torch's
default_collate builds the batch, it is stacked directly in that memory
(``_torch_collate``).  Workers end when their parent dies (``_lifetime``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import torch.multiprocessing
import torch.utils.data
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from ._arena import Arena
from ._batches import BatchQueue, Spares
from ._elsewhere import following
from ._torch_collate import ArenaCollate
from ._lifetime import Parent, stay_at_exit

__all__ = ["DataLoader"]

T_co = TypeVar("T_co", covariant=True)


class DataLoader(torch.utils.data.DataLoader[T_co]):
    """A ``torch.utils.data.DataLoader`` that moves batches faster.

    Arguments, order and results are the same.  With ``num_workers=0`` it is torch's own.
    Tensors and arrays of a batch are views of shared memory; they can be read, written
    and kept like any others.  The memory is allocated with the first batch, grows when
    the consumer keeps more batches, and is freed with the loader.

    The dataset can be a roar.shards() stream: workers share its samples, each loop is an
    epoch, and ``state_dict(steps)`` of the stream is its position after these steps.
    """

    _roar_spares: Spares | None = None

    def _get_iterator(self) -> Any:
        if self.num_workers == 0:
            return super()._get_iterator()
        self.check_worker_number_rationality()
        if self._roar_spares is None:
            self._roar_spares = Spares()
        return _ArenaIterator(self, self._roar_spares)


class _ArenaIterator(_MultiProcessingDataLoaderIter):
    def __init__(self, loader: DataLoader[Any], spares: Spares) -> None:
        self._spares = spares
        self._pid = os.getpid()
        # Whole steps of a stream come in turn; samples are batched by each worker.
        self._following = following(
            loader.dataset,
            loader.num_workers == 1
            or (loader.batch_size is None and getattr(loader, "in_order", True)),
        )
        super().__init__(_Altered(loader, spares))

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        if self._following is not None:
            self._following.begin()
        super()._reset(loader, first_iter)
        queue = self._worker_result_queue
        if isinstance(queue, BatchQueue) and not self._pin_memory:
            queue.watch(self._workers, self._workers_status)

    def _next_data(self) -> Any:
        try:
            return super()._next_data()
        except StopIteration:
            if self._following is not None:
                self._following.finish()
            raise
        except Exception as error:
            stay_at_exit()
            # The traceback holds torch's frames, and with them this iterator and its
            # workers, until the garbage collector runs.  By then torch can no longer
            # stop the workers and waits 5 s for each of them.
            raise error.with_traceback(None)

    def _shutdown_workers(self) -> None:
        # A worker may inherit the iterator of a failed epoch.  When it is collected
        # there, torch takes locks of other processes' queues, and complains.
        if self._pid != os.getpid():
            return
        super()._shutdown_workers()
        queue = getattr(self, "_worker_result_queue", None)
        if isinstance(queue, BatchQueue):
            self._spares.give(queue.forget())


class _Altered:
    """The loader that torch's iterator gets, with our replacements."""

    def __init__(self, loader: DataLoader[Any], spares: Spares) -> None:
        self._loader = loader
        context = loader.multiprocessing_context or torch.multiprocessing
        # Batches in flight: those that torch prefetches, one that the consumer
        # uses, and one that it has not released yet.
        depth = (loader.prefetch_factor or 2) + 2
        self.multiprocessing_context = _Context(
            context, depth, spares.take(loader.num_workers)
        )
        self.collate_fn = loader.collate_fn
        if loader.collate_fn is torch.utils.data.default_collate:
            self.collate_fn = ArenaCollate()
        parent = Parent.of_worker(context.get_start_method())
        self.worker_init_fn = _Init(parent, loader.worker_init_fn)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Init:
    """Runs first in a worker: makes the worker end when its parent dies.

    Torch's own workers check every 5 s whether their parent is alive.
    """

    def __init__(self, parent: Parent, init_fn: Callable[[int], Any] | None) -> None:
        self._parent = parent
        self._init_fn = init_fn

    def __call__(self, worker: int) -> None:
        self._parent.tie_in_background()
        if self._init_fn is not None:
            self._init_fn(worker)


class _Context:
    """A multiprocessing context whose first queue, the result queue, is ours."""

    def __init__(self, context: Any, depth: int, spares: list[Arena]) -> None:
        self._context = context
        self._depth = depth
        self._spares: list[Arena] | None = spares

    def Queue(self) -> Any:
        queue, spares = self._context.Queue(), self._spares
        if spares is None:
            return queue
        self._spares = None
        return BatchQueue(queue, self._depth, spares)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)
