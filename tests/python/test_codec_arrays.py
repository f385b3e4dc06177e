"""Arrays and tensors of every kind."""

import sys

import pytest

import roar
from arena_helpers import LARGE, both, through

numpy = pytest.importorskip("numpy")


@pytest.fixture(name="arena", params=["copy", "view"])
def arena_fixture(request):
    with both(copy=request.param == "copy") as arena:
        yield arena


RECORD = numpy.dtype([("a", "<i4"), ("b", "f8", (2,)), ("c", "S5")],
                     align=True)
DTYPES = ["?", "i1", "u1", "<i2", ">i4", "u8", "f2", "f4", "f8", "longdouble",
          "c8", "c16", "S7", "U3", "M8[ns]", "m8[D]", "V9", RECORD]


def filled(dtype, shape):
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape))
    raw = numpy.random.default_rng(1).integers(
        0, 2 if dtype.kind == "b" else 100, count * dtype.itemsize, "u1")
    if dtype.kind == "U":
        return numpy.full(shape, "äb", dtype)
    return numpy.frombuffer(raw.tobytes(), dtype)[:count].reshape(shape)


def same(a, b):
    return (type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
            and a.dtype.fields == b.dtype.fields
            and a.tobytes() == b.tobytes())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(2, 3), (40, 50), (0, 5), ()], ids=str)
def test_arrays_of_every_dtype(arena, dtype, shape):
    array = filled(dtype, shape)
    result = through(arena, {"a": array})["a"]
    assert same(result, array)


@pytest.mark.parametrize("make", [
    numpy.asfortranarray, lambda a: a.T, lambda a: a[::2], lambda a: a[::-1],
    lambda a: a[:, 3:9], lambda a: numpy.broadcast_to(a[0], (99, 100)),
    lambda a: a.reshape(10, 10, 10, 10).transpose(2, 0, 3, 1),
    lambda a: a.astype(object), lambda a: a.view(numpy.matrix),
    lambda a: numpy.ma.masked_array(a, a > 5), lambda a: a[3, 4],
], ids=range(11))
def test_arrays_of_every_layout(arena, make):
    array = make(numpy.arange(10000, dtype="f8").reshape(100, 100))
    result = through(arena, [array])[0]
    assert type(result) is type(array)
    assert result.dtype == array.dtype
    assert numpy.array_equal(result, array)
    if isinstance(array, numpy.ndarray):
        assert result.flags.f_contiguous == array.flags.f_contiguous or \
            not array.flags.forc


def test_bfloat16_of_ml_dtypes(arena):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = numpy.arange(LARGE).astype(ml_dtypes.bfloat16)
    assert same(through(arena, array), array)


def test_one_array_stays_one_array(arena):
    array = numpy.arange(LARGE)
    a, b, c = through(arena, (array, [array], array.copy()))
    assert a is b[0] and a is not c


def test_results_can_be_written(arena):
    for array in (numpy.arange(LARGE), numpy.arange(3)):
        result = through(arena, array)
        result += 1
        assert (result == array + 1).all()


def test_dtypes_keep_titles_and_metadata(arena):
    dtype = numpy.dtype([(("title", "name"), "f8")])
    array = numpy.zeros(LARGE, dtype)
    assert through(arena, array).dtype.fields == array.dtype.fields


torch = pytest.importorskip("torch")
TORCH = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
         torch.float16, torch.bfloat16, torch.float32, torch.float64,
         torch.complex64, torch.complex128, torch.bool]


@pytest.mark.parametrize("dtype", TORCH, ids=str)
@pytest.mark.parametrize("shape", [(2, 3), (60, 70), (0, 5), ()], ids=str)
def test_tensors_of_every_dtype(arena, dtype, shape):
    tensor = torch.randint(0, 2, shape).to(dtype)
    result = through(arena, {"t": tensor})["t"]
    assert type(result) is torch.Tensor
    assert result.dtype == dtype and result.shape == tensor.shape
    assert torch.equal(result, tensor)


@pytest.mark.parametrize("make", [
    lambda t: t.T, lambda t: t[:, ::2], lambda t: t[1:, 1:],
    lambda t: t.expand(3, 100, 100), lambda t: t.permute(1, 0)[5:],
    lambda t: t.reshape(10, 10, 10, 10).contiguous(
        memory_format=torch.channels_last)], ids=range(6))
def test_tensors_keep_their_strides(arena, make):
    tensor = make(torch.arange(10000.0).reshape(100, 100))
    result = through(arena, tensor)
    assert torch.equal(result, tensor)
    assert result.stride() == tensor.stride()


def test_tensors_with_large_gaps_come_without(arena):
    tensor = torch.arange(10000.0).reshape(100, 100)[:3, :3]
    result = through(arena, tensor)
    assert torch.equal(result, tensor)
    assert result.stride() == (3, 1)


@pytest.mark.parametrize("make", [torch.conj, lambda t: t.conj().imag],
                         ids=["conj", "neg"])
def test_lazy_conjugation_and_negation_are_carried_out(arena, make):
    tensor = make(torch.randn(50, 60, dtype=torch.complex64))
    assert torch.equal(through(arena, tensor), tensor)


@pytest.mark.parametrize("size", [3, LARGE])
def test_gradients_are_wanted_as_before(arena, size):
    result = through(arena, torch.zeros(size, requires_grad=True))
    assert result.requires_grad and result.is_leaf
    result.sum().backward()
    parameter = torch.nn.Parameter(torch.ones(size), requires_grad=False)
    result = through(arena, parameter)
    assert type(result) is torch.nn.Parameter
    assert not result.requires_grad and torch.equal(result, parameter)


def test_part_of_a_graph_is_refused_as_torch_does(arena):
    with pytest.raises(RuntimeError, match="non-leaf"):
        arena.send(torch.zeros(LARGE, requires_grad=True) * 2)
    assert through(arena, 1) == 1


def test_tensors_are_nobodys_view(arena):
    for size in (3, LARGE):
        result = through(arena, torch.zeros(size))
        assert not result._is_view()
        result.resize_(1)


def test_tensors_that_are_no_plain_memory_arrive(arena):
    sparse = torch.eye(5).to_sparse()
    assert torch.equal(through(arena, sparse).to_dense(), torch.eye(5))
    names = torch.quantize_per_tensor(torch.ones(5), 0.1, 0, torch.qint8)
    assert torch.equal(through(arena, names).dequantize(), names.dequantize())


def test_a_state_dict_arrives(arena):
    model = torch.nn.Linear(100, 100)
    result = through(arena, model.state_dict())
    assert list(result) == ["weight", "bias"]
    assert torch.equal(result["weight"], model.weight)


def test_arrays_and_tensors_have_a_way_of_their_own():
    torch = pytest.importorskip("torch")
    for cls in (numpy.ndarray, torch.Tensor, torch.nn.Parameter):
        with pytest.raises(ValueError, match="own encoding"):
            roar.register(cls, lambda obj: (None, []), lambda *parts: None)


@pytest.mark.parametrize("module", [None, sys], ids=["none", "in part"])
def test_types_are_registered_without_numpy(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "numpy", module)
    roar.register(type("Own", (), {}), lambda obj: (None, []),
                  lambda *parts: None)
