"""What save.c has saved, as the second implementation reads it, and what is left over."""

import json
import os

import pytest

pytest.importorskip("numpy")

from second import Second  # noqa: E402

ROWS = [bytes((i * 31 + c) & 255 for i in range(256)) for c in range(256)]


def expected(n, seed):
    """The bytes that save.c gives a tensor, 256 at a time."""
    return b"".join(ROWS[(i * 7 + (i >> 12) * 13 + seed) & 255]
                    for i in range(-(-n // 256)))[:n]


def load(base, step):
    """The manifest, and all tensors: name -> dtype, shape, bytes."""
    found = Second(base, step)
    return found.manifest, {
        name: (t["dtype"], t["shape"], found.tensor(name).tobytes())
        for name, t in found.manifest["tensors"].items()}


def referenced(base):
    """Names of all files that manifests refer to, by step."""
    names = set()
    for step in os.listdir(base):
        path = os.path.join(base, step, "manifest.json")
        if not os.path.exists(path):
            continue
        names.add(f"{step}/manifest.json")
        with open(path, encoding="utf-8") as file:
            for f in json.load(file)["files"]:
                names.add(f"{step}/{f['tree']}")
                names.update(e[2] for e in f["extents"])
    return names


def leftovers(base):
    """Files that belong to no checkpoint."""
    if not os.path.isdir(base):
        return []
    found = [os.path.join(step, name) for step in os.listdir(base)
             for name in os.listdir(os.path.join(base, step))]
    return sorted(set(found) - referenced(base))
