"""Datasets and functions of the loader tests: importable, so that they can be pickled."""

import dataclasses
import os
import random
import time
from collections import namedtuple

import numpy
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Sample:
    image: torch.Tensor
    name: str
    raw: bytes


class Images(Dataset):
    """What most datasets are: an image and a label."""

    def __init__(self, n=37, side=24):
        self.n, self.side = n, side

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.full((3, self.side, self.side), float(i)), i


class Zoo(Dataset):
    """Everything that default_collate takes."""

    def __len__(self):
        return 23

    def __getitem__(self, i):
        return {
            "tensor": torch.arange(2000, dtype=torch.int64) + i,
            "half": torch.full((40, 50), i, dtype=torch.float16),
            "bf16": torch.full((2000,), i, dtype=torch.bfloat16),
            "bool": torch.arange(5000) % (i + 1) == 0,
            "scalar": torch.tensor(float(i)),
            "numpy": numpy.full((30, 40), i, dtype=numpy.int16),
            "fortran": numpy.asfortranarray(numpy.arange(1200.0).reshape(30, 40)) + i,
            "strided": torch.arange(4000)[::2] + i,
            "empty": torch.empty(0, 3),
            "int": i,
            "float": i / 7,
            "str": f"name {i}",
            "bytes": bytes([i]) * 5000,
            "list": [torch.full((1500,), i), i],
            "tuple": (i, torch.full((3,), i)),
            "point": Point(torch.full((2000,), i), i),
            "numpy_scalar": numpy.float32(i),
        }


class Random(Dataset):
    """Draws from all three generators."""

    def __len__(self):
        return 20

    def __getitem__(self, i):
        return (
            torch.rand(2000),
            torch.tensor(random.random()),
            torch.from_numpy(numpy.random.rand(1500)),
        )


class Stream(IterableDataset):
    """Shares the work by worker; the shares are of different lengths."""

    def __init__(self, n=41):
        self.n = n

    def __iter__(self):
        me = get_worker_info()
        first, step = (me.id, me.num_workers) if me else (0, 1)
        for i in range(first * 5, self.n, step):
            yield torch.full((1200,), i)

    def __len__(self):
        return self.n


class Workers(Dataset):
    """Who fetched it."""

    def __len__(self):
        return 16

    def __getitem__(self, i):
        me = get_worker_info()
        return torch.tensor([i, me.id, me.num_workers, me.seed % 10**6])


class Growing(Dataset):
    """Each sample is larger than the one before."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        return torch.full((10 ** (1 + i // 2),), i, dtype=torch.uint8)


class Uneven(IterableDataset):
    """One worker has a single sample, the other is slow with ten."""

    def __iter__(self):
        for i in range(10 if get_worker_info().id else 1):
            time.sleep(0.02)
            yield torch.full((2000,), i)


class Sleeping(Dataset):
    """Never has a sample."""

    def __len__(self):
        return 10

    def __getitem__(self, i):
        time.sleep(600)


class Failing(Dataset):
    def __init__(self, at=5, error=KeyError):
        self.at, self.error = at, error

    def __len__(self):
        return 10

    def __getitem__(self, i):
        if i == self.at:
            raise self.error("no such sample")
        return torch.full((2000,), i)


class Dying(Dataset):
    """Writes into `path` when it dies."""

    def __init__(self, signal_number, path=os.devnull):
        self.signal_number, self.path = signal_number, path

    def __len__(self):
        return 10

    def __getitem__(self, i):
        if i == 5:
            with open(self.path, "w", encoding="ascii") as f:
                f.write(str(time.monotonic()))
            os.kill(os.getpid(), self.signal_number)
            time.sleep(60)
        return torch.full((2000,), i)


class Pids(Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        return torch.tensor(os.getpid())


class Slow(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        time.sleep(3)
        return i


def collate_objects(batch):
    """What no default collate makes: objects, bytes, arrays."""
    return {
        "samples": [Sample(torch.full((1500,), x), f"n{x}", bytes(6000)) for x in batch],
        "bytes": bytes(range(256)) * 40,
        "bytearray": bytearray(10000),
        "array": numpy.asfortranarray(numpy.arange(6000.0).reshape(60, 100)),
        "structured": numpy.zeros(2000, dtype=[("a", "i4"), ("b", "f8")]),
        "set": set(batch),
        "none": None,
    }


def collate_lambda(batch):
    return lambda: batch


def collate_none(batch):
    return None


class Numbers(Dataset):
    def __len__(self):
        return 17

    def __getitem__(self, i):
        return i


def seed_by_worker(worker):
    torch.manual_seed(worker)


def fail_to_start(worker):
    raise RuntimeError(f"worker {worker} cannot start")


class PairBatches:
    """A batch sampler."""

    def __iter__(self):
        for i in range(0, 30, 3):
            yield [i, i + 2, i + 1]

    def __len__(self):
        return 10
