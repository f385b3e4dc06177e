"""Cases for torch 2, which test_torch2.py runs.  Ranks are processes, forked from this one."""

import warnings

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType, fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                               parallelize_module)

import roar.checkpoint as ckpt
from roar.checkpoint.dcp import StorageReader, StorageWriter
from second import Second

WHOLE = torch.arange(33 * 40, dtype=torch.float32).reshape(33, 40)
WIDE = torch.arange(300 * 400, dtype=torch.float32).reshape(300, 400)


def in_ranks(world_size, body, *args):
    """Runs body(rank, *args) in processes that are one process group."""
    mp.start_processes(_rank, (world_size, body, args), world_size, start_method="fork")


def _rank(rank, world_size, body, args):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{args[0]}/group-{body.__name__}",
                            rank=rank, world_size=world_size)
    body(rank, *args)
    dist.barrier()
    dist.destroy_process_group()


def save(state, url, step):
    """As a program would: the id comes from rank 0."""
    box = [ckpt.new_save_id()]
    dist.broadcast_object_list(box)
    ckpt.save(state, url, step, rank=dist.get_rank(), world_size=dist.get_world_size(),
              save_id=box[0], timeout=60)


# ---- DTensor ----

LAYOUTS = [(Shard(0), Replicate()), (Shard(0), Shard(1)), (Replicate(), Replicate()),
           (Shard(1), Shard(0)), (Shard(0), Shard(0))]


def dtensors(rank, url):
    mesh = init_device_mesh("cpu", (2, 2))
    state = {}
    for i, layout in enumerate(LAYOUTS):
        state[f"a{i}"] = distribute_tensor(WHOLE, mesh, layout)
        state[f"b{i}"] = distribute_tensor(WIDE.bfloat16(), mesh, layout)
    state["plain"], state["step"] = WIDE.clone(), 7
    save(state, url, 1)
    flat = init_device_mesh("cpu", (4,))
    target = {name: torch.zeros_like(value) if name == "plain" else
              distribute_tensor(torch.zeros(value.shape, dtype=value.dtype), flat,
                                [Shard(1)])
              for name, value in state.items() if name != "step"}
    ckpt.load(url, 1, into=target)
    for name, value in target.items():
        whole = value if name == "plain" else value.full_tensor()
        expected = WHOLE if name[0] == "a" else WIDE.to(whole.dtype)
        assert torch.equal(whole, expected), name


def test_dtensors_on_meshes(tmp_path):
    in_ranks(4, dtensors, str(tmp_path))
    second = Second(tmp_path, 1)
    for i in range(len(LAYOUTS)):
        assert (second.tensor(f"a{i}") == WHOLE.numpy()).all()
    result = ckpt.load(tmp_path)
    assert result["step"] == 7 and torch.equal(result["b3"], WIDE.bfloat16())
    written = sum(p.stat().st_size for p in tmp_path.glob("*/*.safetensors"))
    assert written <= 4 * 8192 + len(LAYOUTS) * (WHOLE.nbytes + WIDE.nbytes // 2) + \
        WIDE.nbytes     # each byte once


# ---- FSDP ----

def model(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(),
                               torch.nn.Linear(30, 5))


def train(net, optimizer, steps):
    for step in range(steps):
        torch.manual_seed(100 + step)
        optimizer.zero_grad()
        net(torch.rand(8, 20)).square().mean().backward()
        optimizer.step()


def fsdp2(rank, url):
    net = model(1)
    fully_shard(net, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(net.parameters())
    train(net, optimizer, 3)
    weights, moments = get_state_dict(net, optimizer)
    save({"model": weights, "optimizer": moments}, url, 3)
    expected = [p.full_tensor().clone() for p in net.parameters()]
    train(net, optimizer, 2)
    weights, moments = get_state_dict(net, optimizer)
    state = {"model": weights, "optimizer": moments}
    ckpt.load(url, 3, into=state)
    set_state_dict(net, optimizer, model_state_dict=state["model"],
                   optim_state_dict=state["optimizer"])
    for p, value in zip(net.parameters(), expected):
        assert torch.equal(p.full_tensor(), value)


def test_fsdp2_model_and_optimizer(tmp_path):
    in_ranks(3, fsdp2, str(tmp_path))
    net = model(2)
    optimizer = torch.optim.AdamW(net.parameters())
    train(net, optimizer, 1)    # so that there is a state to be filled
    weights, moments = get_state_dict(net, optimizer)
    state = ckpt.load(tmp_path, into={"model": weights, "optimizer": moments})
    set_state_dict(net, optimizer, model_state_dict=state["model"],
                   optim_state_dict=state["optimizer"])
    single = model(1)
    other = torch.optim.AdamW(single.parameters())
    train(single, other, 3)
    for a, b in zip(net.parameters(), single.parameters()):
        torch.testing.assert_close(a, b)    # sums of ranks are rounded


def both(rank, url):
    """FSDP2 over tensor parallelism: the same dimension is divided twice."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    net = parallelize_module(model(1), mesh["tp"], {"0": ColwiseParallel(),
                                                    "2": RowwiseParallel()})
    fully_shard(net, mesh=mesh["dp"])
    save({"model": net.state_dict()}, url, 1)
    state = {"model": net.state_dict()}
    before = [tensor.to_local().clone() for tensor in state["model"].values()]
    for tensor in state["model"].values():
        tensor.to_local().zero_()
    ckpt.load(url, 1, into=state)
    for tensor, expected in zip(state["model"].values(), before):
        assert torch.equal(tensor.to_local(), expected)


def test_fsdp2_over_tensor_parallelism(tmp_path):
    in_ranks(4, both, str(tmp_path))
    net = model(3)
    net.load_state_dict(ckpt.load(tmp_path)["model"])
    for a, b in zip(net.parameters(), model(1).parameters()):
        assert torch.equal(a, b)


def fsdp1(rank, url):
    net = FullyShardedDataParallel(model(1), device_id=torch.device("cpu"))
    with FullyShardedDataParallel.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
        state = net.state_dict()
    kinds = {type(t).__name__ for t in state.values()}
    assert kinds <= {"ShardedTensor", "DTensor"}, kinds
    save({"model": state}, url, 1)


def test_fsdp1_sharded_state_dict(tmp_path):
    in_ranks(2, fsdp1, str(tmp_path))
    net = model(3)
    net.load_state_dict(ckpt.load(tmp_path)["model"])
    for a, b in zip(net.parameters(), model(1).parameters()):
        assert torch.equal(a, b)


# ---- DCP ----

def dcp_state(mesh, fill):
    return {"model": {"w": distribute_tensor(fill(WHOLE), mesh, [Shard(0)]),
                      "c": fill(torch.arange(6.)).to(torch.complex64)},
            "list": [fill(torch.ones(3)), "text"], "epoch": 3 if fill is same else 0}


def same(tensor):
    return tensor.clone()


def dcp_ranks(rank, url):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    dcp.save(dcp_state(mesh, same), storage_writer=StorageWriter(url, step=4, epoch=3))
    dcp.async_save(dcp_state(mesh, same),
                   storage_writer=StorageWriter(f"{url}/step-5")).result()
    dcp.save(dcp_state(mesh, same), checkpoint_id=f"{url}/of-torch")
    # Another layout.
    state = dcp_state(mesh, torch.zeros_like)
    state["model"]["w"] = distribute_tensor(torch.zeros(33, 40), mesh, [Shard(1)])
    dcp.load(state, storage_reader=StorageReader(url, step=4))
    assert torch.equal(state["model"]["w"].full_tensor(), WHOLE)
    assert torch.equal(state["model"]["c"], torch.arange(6.).to(torch.complex64))
    assert state["list"][1] == "text" and state["epoch"] == 3
    assert torch.equal(state["list"][0], torch.ones(3))


def test_dcp_reads_and_writes_our_files(tmp_path):
    in_ranks(2, dcp_ranks, str(tmp_path))
    for step in (4, 5):
        state = ckpt.load(tmp_path, step)
        flat = state["model"] if "model" in state else state
        w = flat["w"] if "w" in flat else flat["model.w"]
        assert torch.equal(w, WHOLE)
    assert (Second(tmp_path, 4).tensor("model.w") == WHOLE.numpy()).all()
    # And one process loads what two saved.
    state = {"model": {"w": torch.zeros(33, 40)}, "epoch": 0}
    dcp.load(state, storage_reader=StorageReader(tmp_path, step=5), no_dist=True)
    assert torch.equal(state["model"]["w"], WHOLE) and state["epoch"] == 3

    ckpt.import_dcp(tmp_path / "of-torch", tmp_path / "imported", 9, tags=["torch"])
    result = ckpt.load(tmp_path / "imported")
    assert torch.equal(result["model"]["w"], WHOLE) and result["epoch"] == 3


def test_dcp_reads_what_save_wrote(tmp_path):
    state = {"model": {"w": WHOLE, "tied": WHOLE}, "lr": 0.5, "betas": (0.9, 0.99)}
    ckpt.save(state, tmp_path, 1)
    target = {"model": {"w": torch.zeros(33, 40)}, "lr": 0.0, "betas": ()}
    dcp.load(target, storage_reader=StorageReader(tmp_path, 1), no_dist=True)
    assert torch.equal(target["model"]["w"], WHOLE)
    assert target["lr"] == 0.5 and target["betas"] == (0.9, 0.99)


def test_files_of_torch(tmp_path):
    state = {"w": WHOLE, "b": WHOLE.bfloat16().t(), "n": 3, "f8":
             torch.ones(4).to(torch.float8_e4m3fn)}
    torch.save(state, tmp_path / "model.pt")
    ckpt.import_torch(tmp_path / "model.pt", tmp_path / "base", 1)
    ckpt.export_torch(tmp_path / "base", tmp_path / "again.pt")
    again = torch.load(tmp_path / "again.pt", weights_only=True)
    assert torch.equal(again["w"], WHOLE) and again["n"] == 3
    assert torch.equal(again["b"], state["b"])
    assert torch.equal(again["f8"].view(torch.uint8), state["f8"].view(torch.uint8))
    torch.save({"x": pytest}, tmp_path / "bad.pt", pickle_module=Pickle)
    with pytest.raises(ckpt.CheckpointError, match="bad.pt"):
        ckpt.import_torch(tmp_path / "bad.pt", tmp_path / "base", 2)


class Pickle:
    """Writes a reference to a function, as a hostile file would."""
    import pickle as _pickle

    @staticmethod
    def dumps(value, protocol=2):
        return Pickle._pickle.dumps(print, protocol)

    class Pickler(_pickle.Pickler):
        def dump(self, value):
            return super().dump(print)


def test_into_torch_tensors(tmp_path):
    ckpt.save({"w": WHOLE, "b": WHOLE.to(torch.float8_e5m2)}, tmp_path, 1)
    wide = torch.zeros(33, 80)
    target = {"w": wide[:, ::2], "b": torch.zeros(33, 40, dtype=torch.float8_e5m2)}
    ckpt.load(tmp_path, into=target)
    assert torch.equal(target["w"], WHOLE) and not wide[:, 1::2].any()
    assert torch.equal(target["b"].view(torch.uint8),
                       WHOLE.to(torch.float8_e5m2).view(torch.uint8))
