#!/usr/bin/env python3
"""Saves and loads a state by torch or by safetensors, for checkpoint.py.

    checkpoint_peers.py torch|safetensors FOLDER MIB ROUNDS

Prints a JSON object per round, seconds by name: save (with fsync of the file) and load (after
the file left the page cache)."""

import json
import os
import sys
import time

N_TENSORS = 64


def ways(package):
    """The two functions, by a path."""
    import torch
    if package == "torch":
        return torch, torch.save, lambda path: torch.load(path, weights_only=True)
    from safetensors.torch import load_file, save_file
    return torch, save_file, load_file


def sync(path, drop):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    if drop:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def main():
    package, folder, mib, rounds = sys.argv[1:]
    torch, save, load = ways(package)
    each = (int(mib) << 20) // N_TENSORS // 4
    state = {f"layer.{i}.weight": torch.randn(each) for i in range(N_TENSORS)}
    path = os.path.join(folder, "peer")
    for i in range(int(rounds) + 1):
        start = time.perf_counter()
        save(state, path)
        sync(path, False)
        saved = time.perf_counter()
        sync(path, True)
        begun = time.perf_counter()
        loaded = load(path)
        # A mapped file is read when it is looked at.
        total = sum(float(t[::1024].sum()) for t in loaded.values())
        ended = time.perf_counter()
        if i:
            print(json.dumps({"save": saved - start, "load": ended - begun,
                              "sum": total}), flush=True)
        os.unlink(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
