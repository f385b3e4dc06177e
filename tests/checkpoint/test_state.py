"""States of all kinds survive a save and a load; the second implementation agrees."""

import array
import collections
import json
import math

import pytest

import roar.checkpoint as ckpt

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from second import Second  # noqa: E402


def again(tmp_path, state, **more):
    ckpt.save(state, tmp_path, 1)
    return ckpt.load(tmp_path, 1, **more)


def same(a, b):
    """Equal in structure, types and bits."""
    assert type(a) is type(b) or (isinstance(a, dict) and type(b) is dict), (a, b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, torch.Tensor):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert bits(a) == bits(b)
    elif isinstance(a, (numpy.ndarray, numpy.generic)):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, float) and math.isnan(a):
        assert math.isnan(b)
    else:
        assert a == b


def bits(tensor):
    tensor = tensor.detach().contiguous()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return bytes(tensor.reshape(-1).view(torch.uint8).numpy().tobytes()) \
        if tensor.numel() else b""


VALUES = [None, True, 0, -1 << 63, (1 << 64) + 3, 1.5, -0.0, math.inf, math.nan, 2 + 3j,
          "", "text", "\0", "\udc80", b"", b"raw\0", (), (1, (2,)), [], [[1], None],
          {}, {"a": {"b": 1}}, {1: "one", (2, 3): "pair", None: 0},
          {"$tensor": "not one", "$": 1}, collections.OrderedDict(b=1, a=2)]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_as_they_were(tmp_path, value):
    same(value, again(tmp_path, value))
    same(value, again(tmp_path / "inside", {"x": [value, (value,)]})["x"][1][0])


TORCH = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16",
         "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
         "float8_e4m3fnuz", "uint16", "uint32", "uint64"]
STORED = {"bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
          "complex64": "F32", "float8_e4m3fnuz": "U8", "bool": "BOOL"}


@pytest.mark.parametrize("name", TORCH)
def test_all_types_of_torch(tmp_path, name):
    dtype = getattr(torch, name, None)
    if dtype is None:
        pytest.skip(f"torch {torch.__version__} has no {name}")
    size = 16 if name == "complex128" else 8
    raw = torch.randint(0, 2, (24 * size,), dtype=torch.uint8)
    tensor = raw.view(dtype).reshape(-1, 4)
    state = {"w": tensor, "empty": tensor[:0], "scalar": tensor[0, 0].clone()}
    result = again(tmp_path, state)
    same(state, result)
    second = Second(tmp_path, 1)
    assert second.tensor("w").tobytes() == bits(tensor)
    if name in STORED:
        assert second.manifest["tensors"]["w"]["dtype"] == STORED[name]


NUMPY = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8",
         "c16", "M8[ns]", "m8[s]", ">f4"]


@pytest.mark.parametrize("code", NUMPY)
def test_all_types_of_numpy(tmp_path, code):
    a = numpy.arange(24).astype(code).reshape(4, 6)
    result = again(tmp_path, {"a": a, "column": a[:, 1], "back": a[::-1],
                              "one": a.dtype.type(1) if code[0] not in "Mm>" else None})
    little = a.astype(a.dtype.newbyteorder("<"))
    same({"a": little, "column": little[:, 1], "back": little[::-1]},
         {key: result[key] for key in ("a", "column", "back")})
    if code in ("f4", "i2", "?"):
        same(a.dtype.type(1), result["one"])


def test_ml_dtypes_of_numpy(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = numpy.arange(10).astype(ml_dtypes.bfloat16)
    same({"a": a}, again(tmp_path, {"a": a}))
    assert Second(tmp_path, 1).manifest["tensors"]["a"]["dtype"] == "BF16"


def test_what_cannot_be_saved_is_named(tmp_path):
    class Thing:
        pass
    for value, word in ((Thing(), "Thing"), ({1, 2}, "set"),
                        (torch.zeros(2, 2).to_sparse(), "dense"),
                        (torch.empty(3, device="meta"), "materialise"),
                        (numpy.array(["x"]), "numbers")):
        with pytest.raises(TypeError, match=word) as raised:
            ckpt.save({"deep": {"er": value}}, tmp_path, 1)
        assert "deep.er" in str(raised.value)
    with pytest.raises(ckpt.CheckpointMissing):
        ckpt.load(tmp_path, 1)


def test_tensors_that_are_not_contiguous(tmp_path):
    base = torch.arange(120.).reshape(4, 5, 6)
    state = {"t": base.transpose(0, 2).clone().transpose(0, 1),
             "slice": (base + 1)[:, ::2, 1:3], "expanded": torch.ones(3, 1).expand(3, 4),
             "conj": torch.tensor([1 + 2j, 3j]).conj(),
             "numpy": numpy.arange(30).reshape(5, 6).T[::2]}
    same({k: v if k == "numpy" else v.contiguous().resolve_conj()
          for k, v in state.items()}, again(tmp_path, state))


def test_shared_storages_are_written_once(tmp_path):
    w = torch.arange(1000, dtype=torch.float32).reshape(10, 100)
    other = torch.zeros(1000)
    state = {"w": w, "tied": w, "row": w[3], "turned": w.t(), "o": other,
             "same": other.view(-1)}
    result = again(tmp_path, state)
    same({k: v.contiguous() for k, v in state.items()},
         {k: v.contiguous() for k, v in result.items()})
    second = Second(tmp_path, 1)
    assert set(second.manifest["tensors"]) == {"w", "o"}
    assert numpy.array_equal(second.state()["turned"], w.t().numpy())
    result["w"][3, 7] = -5.0
    assert result["row"][7] == -5.0 and result["turned"][7, 3] == -5.0
    assert result["tied"] is result["w"]

    a = numpy.arange(100)
    result = again(tmp_path / "numpy", {"a": a, "again": a, "part": a[10:20:2]})
    result["a"][12] = -1
    assert result["part"][1] == -1 and result["again"] is result["a"]


def test_names_say_where_a_tensor_was_and_never_collide(tmp_path):
    state = {"a.b": numpy.zeros(1), "a": {"b": numpy.ones(1)}, 3: numpy.full(1, 3),
             "list": [numpy.full(1, 4)], "__metadata__": numpy.full(1, 5)}
    same(state, again(tmp_path, state))
    assert set(Second(tmp_path, 1).manifest["tensors"]) == {
        "a.b", "a.b#2", "3", "list.0", "__metadata__#2"}


def test_buffers_without_numpy_and_torch(tmp_path):
    doubles = array.array("d", [1.5, -2.0])
    result = again(tmp_path, {"d": doubles, "b": memoryview(b"abcd").cast("H")},
                   framework="buffer")
    assert list(result["d"]) == [1.5, -2.0] and result["b"].tobytes() == b"abcd"
    assert again(tmp_path / "n", {"d": doubles}, framework="numpy")["d"].tolist() == [1.5, -2]


def test_position_generators_and_the_rest_come_back(tmp_path):
    position = {"version": 1, "epoch": 3, "consumed": [[0, 128]]}
    state = ckpt.rng_state()
    before = torch.rand(3), numpy.random.rand(3)
    ckpt.save({"w": torch.ones(2)}, tmp_path, 7, epoch=3, metrics={"loss": 0.25},
              data_position=position, rng=state, tags=["best"], metadata={"by": "me"})
    checkpoint = ckpt.open_checkpoint(tmp_path)
    assert (checkpoint.step, checkpoint.epoch) == (7, 3)
    assert checkpoint.metrics == {"loss": 0.25} and checkpoint.tags == ["best"]
    assert checkpoint.data_position == position
    assert checkpoint.metadata == {"by": "me"}
    same({"w": torch.ones(2)}, checkpoint.state())
    ckpt.set_rng_state(checkpoint.rng)
    same(before, (torch.rand(3), numpy.random.rand(3)))
    with open(tmp_path / "step-000000000007" / "manifest.json", encoding="utf-8") as f:
        assert json.load(f)["data_position"] == position


def test_a_state_of_a_model_and_its_optimizer(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.BatchNorm1d(7))
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)
    for _ in range(3):
        model(torch.rand(4, 5)).sum().backward()
        optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    result = again(tmp_path, state)
    same(state, result)
    model.load_state_dict(result["model"])
    optimizer.load_state_dict(result["optimizer"])


def test_a_masked_array_does_not_lose_its_mask_silently(tmp_path):
    masked = numpy.ma.array([1., 2.], mask=[False, True])
    with pytest.raises(TypeError, match="'w' is masked"):
        ckpt.save({"w": masked}, tmp_path, 1)
    ckpt.save({"w": masked.data, "mask": masked.mask}, tmp_path, 1)
    assert list(ckpt.load(tmp_path, 1)["mask"]) == [False, True]


@pytest.mark.parametrize("tree", [
    {"$tuple": 3}, {"$items": [1]}, {"$complex": [1, 2, 3]}, {"$int": "x"},
    {"$text": "!"}, {"$bytes": 5}, {"$tensor": "absent", "as": "torch"}, {"$new": 1},
    {"$tensor": ["w"]}], ids=repr)
def test_a_malformed_tree_is_named(tmp_path, tree):
    ckpt.save({"w": numpy.zeros(3)}, tmp_path, 1)
    with ckpt.open_checkpoint(tmp_path) as checkpoint, \
            pytest.raises(ckpt.CheckpointDamaged, match="of step 1 of|update roar"):
        checkpoint.value(tree)
