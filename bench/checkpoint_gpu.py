#!/usr/bin/env python3
"""Saves and loads GPU tensors by roar.checkpoint, torch.save and torch's DCP, in turn.

    checkpoint_gpu.py FOLDER GIB ROUNDS

Needs torch 2.x with CUDA.  Prints for each round seconds of a durable save (with fsync), of the
stall of a save in the background, and of a load into the same tensors, with the page cache
dropped where that is possible.  Every load is compared with what was saved."""

import json
import os
import shutil
import sys
import time

import torch
import torch.distributed.checkpoint as dcp

import roar.checkpoint as ckpt

N_TENSORS = 80


def files_below(folder):
    for path, _, names in os.walk(folder):
        yield from (os.path.join(path, name) for name in names)


def settle(folder, drop=False):
    """Makes what a peer wrote durable; drops it from the page cache before a load."""
    for path in files_below(folder):
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        if drop:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def save_torch(state, folder):
    torch.save(state, os.path.join(folder, "state.pt"))
    settle(folder)


def load_torch(state, folder):
    loaded = torch.load(os.path.join(folder, "state.pt"), map_location="cuda",
                        weights_only=True)
    for name, tensor in loaded.items():
        state[name].copy_(tensor)


def save_dcp(state, folder):
    dcp.save(state, checkpoint_id=folder, no_dist=True)
    settle(folder)


def load_dcp(state, folder):
    dcp.load(state, checkpoint_id=folder, no_dist=True)


def save_roar(state, folder):
    ckpt.save(state, folder, 1)


def load_roar(state, folder):
    ckpt.load(folder, 1, into=state)


WAYS = {"roar": (save_roar, load_roar), "torch": (save_torch, load_torch),
        "dcp": (save_dcp, load_dcp)}


def seconds(call):
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def measure(way, state, before, folder):
    save, load = WAYS[way]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    found = {"save": seconds(lambda: save(state, folder))}
    settle(folder, drop=True)
    for tensor in state.values():
        tensor.zero_()
    found["load"] = seconds(lambda: load(state, folder))
    if not all(torch.equal(state[name], before[name]) for name in state):
        sys.exit(f"checkpoint_gpu: {way} loaded other values than it saved")
    if way == "roar":
        pending = []
        found["stall"] = seconds(lambda: pending.append(
            ckpt.save(state, folder, 2, asynchronous=True)))
        found["background"] = seconds(pending[0].wait)
    shutil.rmtree(folder)
    return found


def main():
    folder, gib, rounds = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    each = int(gib * (1 << 30)) // N_TENSORS // 2
    state = {f"layer.{i}": torch.randn(each, device="cuda").bfloat16()
             for i in range(N_TENSORS)}
    before = {name: tensor.clone() for name, tensor in state.items()}
    for _ in range(rounds):
        for way in WAYS:
            found = measure(way, state, before, os.path.join(folder, way))
            print(json.dumps({"way": way, **{k: round(v, 3) for k, v in found.items()}}),
                  flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
