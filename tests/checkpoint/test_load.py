"""Loading by tensor, by slice, into memory, and into another number of ranks."""

import pytest

import roar.checkpoint as ckpt
from roar.checkpoint import Shard

numpy = pytest.importorskip("numpy")

from second import write, write_sharded  # noqa: E402
from worlds import save_world  # noqa: E402


@pytest.fixture(name="saved")
def a_checkpoint(tmp_path):
    """Large enough for several leaves."""
    state = {"model": {"w": numpy.arange(600_000, dtype="f4").reshape(600, 1000),
                       "b": numpy.arange(10.)}, "step": 5, "list": [numpy.ones(3), "x"]}
    ckpt.save(state, tmp_path, 5)
    return tmp_path, state


def test_tensors_by_name_and_by_pattern(saved):
    url, state = saved
    result = ckpt.load(url, tensors=["model.*"])
    assert set(result) == {"model.w", "model.b"}
    assert numpy.array_equal(result["model.w"], state["model"]["w"])
    with pytest.raises(KeyError, match="has no tensor 'nothing'"):
        ckpt.load(url, tensors=["nothing"])


@pytest.mark.parametrize("index", [
    slice(10, 20), (slice(None), slice(3, 4)), 7, (-1, slice(5, 900)), (3, 4), slice(9, 9),
    (slice(100, 300), slice(250, 750))])
def test_slices(saved, index):
    url, state = saved
    result = ckpt.load(url, tensors={"model.w": index})["model.w"]
    assert result.shape == state["model"]["w"][index].shape
    assert numpy.array_equal(result, state["model"]["w"][index])


def test_impossible_slices_are_refused(saved):
    url, _ = saved
    for index in (slice(None, None, 2), 600, (0, 0, 0)):
        with pytest.raises(IndexError):
            ckpt.load(url, tensors={"model.w": index})


def test_a_slice_reads_its_leaves_alone(saved):
    url, _ = saved
    with ckpt.open_checkpoint(url) as checkpoint:
        checkpoint.tensor("model.b")
        assert checkpoint.bytes_read <= 1 << 20


def test_into_memory_that_exists(saved):
    url, state = saved
    wide = numpy.zeros((600, 2000), "f4")
    target = {"model": {"w": wide[:, ::2], "b": numpy.zeros(10)}, "step": None,
              "list": [numpy.zeros(3), None]}
    b = target["model"]["b"]
    result = ckpt.load(url, into=target)
    assert result is target and result["model"]["b"] is b
    assert numpy.array_equal(b, state["model"]["b"])
    assert numpy.array_equal(wide[:, ::2], state["model"]["w"]) and not wide[:, 1::2].any()
    assert target["step"] == 5 and target["list"][1] == "x"


def test_memory_with_gaps_is_filled_through_small_buffers(saved, monkeypatch):
    url, state = saved
    monkeypatch.setattr("roar.checkpoint._staging.Staging.half", 300_000)
    wide = numpy.zeros((600, 1000, 2), "f4")
    pairs = numpy.zeros((10, 2))
    ckpt.load(url, into={"model": {"w": wide[:, :, 1], "b": pairs[:, 0]}})
    assert numpy.array_equal(wide[:, :, 1], state["model"]["w"])
    assert numpy.array_equal(pairs[:, 0], state["model"]["b"])
    assert not wide[:, :, 0].any() and not pairs[:, 1].any()


def test_a_tensor_is_mapped_on_request(saved):
    url, state = saved
    with ckpt.open_checkpoint(url) as checkpoint:
        w = checkpoint.mapped("model.w")
    assert numpy.array_equal(w, state["model"]["w"])    # also after the close
    with pytest.raises(ValueError):
        w[0, 0] = 1
    with pytest.raises(KeyError):
        ckpt.open_checkpoint(url).mapped("nothing")


def test_into_names_what_does_not_fit(saved):
    url, _ = saved
    with pytest.raises(ckpt.CheckpointError, match="model.b.*F32.*F64"):
        ckpt.load(url, into={"model": {"b": numpy.zeros(10, "f4")}})
    with pytest.raises(ckpt.CheckpointError, match=r"\[11\].*\[10\]"):
        ckpt.load(url, into={"model": {"b": numpy.zeros(11)}})
    with pytest.raises(ckpt.CheckpointError, match="has no 'model.c'"):
        ckpt.load(url, into={"model": {"c": 1}})
    assert ckpt.load(url, into={"other": 1, "step": 0}, strict=False) == {
        "other": 1, "step": 5}


def boxes(rank, world, state):
    """State of one rank: w divided by rows, the rest replicated."""
    w = state["model"]["w"]
    rows = [len(w) * i // world for i in (rank, rank + 1)]
    return {**state, "model": {"w": Shard(w[slice(*rows)], w.shape, (rows[0], 0)),
                               "b": state["model"]["b"]}}


def save_sharded(url, state, world, step, **more):
    save_world(url, [boxes(rank, world, state) for rank in range(world)], step, **more)


@pytest.mark.parametrize("before, after", [(4, 1), (1, 4), (4, 3), (2, 8)])
def test_another_number_of_ranks(saved, before, after):
    url, state = saved
    save_sharded(url, state, before, 6)
    w = numpy.zeros((600, 1000), "f4")
    for rank in range(after):
        target = boxes(rank, after, {**state, "model": {"w": w, "b": numpy.zeros(10)}})
        ckpt.load(url, 6, into=target)
        assert numpy.array_equal(target["model"]["b"], state["model"]["b"])
    assert numpy.array_equal(w, state["model"]["w"])
    assert numpy.array_equal(ckpt.load(url, 6)["model"]["w"], w)


def test_a_replicated_tensor_is_written_once(tmp_path):
    state = {"big": numpy.arange(100_000.), "small": numpy.ones(3), "none": numpy.ones(0)}
    save_world(tmp_path, [state] * 3)
    with ckpt.open_checkpoint(tmp_path) as checkpoint:
        assert {p["file"] for p in checkpoint.tensors["big"].parts} == {0, 1, 2}
        assert len(checkpoint.tensors["small"].parts) == 1
        result = checkpoint.state()
    for name, value in state.items():
        assert numpy.array_equal(result[name], value)
    sizes = [p.stat().st_size for p in tmp_path.glob("*/*.safetensors")]
    assert sum(sizes) <= 3 * 4096 + 100_004 * 8


def test_the_second_implementation_writes_what_load_reads(tmp_path):
    rng = numpy.random.default_rng(1)
    w = rng.random((700, 500))
    write(tmp_path, 3, {"w": w, "half": ("BF16", rng.integers(0, 9, 5).astype("u2"))},
          state={"model": {"$tensor": "w"}, "t": {"$tuple": [1]}}, epoch=2)
    result = ckpt.load(tmp_path)
    assert numpy.array_equal(result["model"], w) and result["t"] == (1,)
    assert ckpt.load(tmp_path, tensors=["half"], framework="buffer")["half"].nbytes == 10
    write_sharded(tmp_path, 4, [
        {"w": ("F64", w.shape, (0, 0), w[:100])},
        {"w": ("F64", w.shape, (100, 0), w[100:, :250])},
        {"w": ("F64", w.shape, (100, 250), w[100:, 250:])}], {"w": {"$tensor": "w"}})
    assert numpy.array_equal(ckpt.load(tmp_path)["w"], w)
    part = ckpt.load(tmp_path, tensors={"w": (slice(90, 110), slice(240, 260))})["w"]
    assert numpy.array_equal(part, w[90:110, 240:260])


@pytest.mark.parametrize("step, error", [(-1, ValueError), (10**12, ckpt.CheckpointMissing)])
def test_a_step_that_cannot_be_is_refused(tmp_path, step, error):
    ckpt.save({"w": 1}, tmp_path, 5)
    with pytest.raises(error, match=str(step)):
        ckpt.load(tmp_path, step)


@pytest.mark.parametrize("as_", ["numpy", "torch"])
@pytest.mark.parametrize("view", [[0, [11], [1]], [-1, [3], [1]], [9, [3], [-1]], [0, [-1], [1]],
                                  [1 << 62, [0], [1]], [0, [6], [2]], [0, [2, 2], [1]], "x",
                                  [0.0, [1], [1]], [8, [2, 2], [1, 1]], None])
def test_a_view_beyond_its_tensor_is_refused(tmp_path, view, as_):
    """Such a view would be of other memory of the process."""
    if as_ == "torch":
        pytest.importorskip("torch")
    w = numpy.arange(10.)
    write_sharded(tmp_path, 1, [{"w": ("F64", [10], [0], w)}],
                  state={"$tensor": "w", "as": as_, "view": view})
    with pytest.raises(ckpt.CheckpointDamaged, match="'w'"):
        ckpt.load(tmp_path, 1)
