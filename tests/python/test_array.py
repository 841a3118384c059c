"""tk.Array outside jit: eager operations, and memory shared with others."""

import copy
import pickle

import numpy as np
import pytest
import tokamak as tk

from support import DTYPES, assert_same, random_array


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_round_trips(dtype, rng):
    x = random_array(rng, (3, 5), dtype)
    a = tk.asarray(x)
    assert (a.shape, a.dtype, a.ndim, a.size, a.nbytes) == (x.shape, x.dtype, 2, 15, x.nbytes)
    assert_same(np.asarray(a), x)
    assert np.shares_memory(np.asarray(a), x)
    assert_same(np.asarray(memoryview(a)), x)
    assert np.shares_memory(np.frombuffer(memoryview(a), dtype), x)
    back = np.from_dlpack(a)
    assert_same(back, x)
    assert np.shares_memory(back, x)
    assert np.shares_memory(np.asarray(tk.from_dlpack(x)), x)
    assert not np.shares_memory(np.asarray(tk.array(x)), x)


def test_strided_views_share_memory(rng):
    x = random_array(rng, (6, 8), np.float32)[::2, ::-1]
    a = tk.asarray(x)
    assert a.strides == x.strides
    assert np.shares_memory(np.asarray(a), x)
    assert_same(np.asarray(a), x)
    view = a.T[1:]
    assert np.shares_memory(np.asarray(view), x)
    assert_same(np.asarray(view), x.T[1:])
    assert_same(np.asarray(memoryview(a)), x)


def test_memory_is_read_only():
    a = tk.array([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(a)[0] = 3
    with pytest.raises(TypeError):
        hash(a)
    with pytest.raises(BufferError):
        np.frombuffer(tk.array(np.ones((4, 4))).T, np.float64)


def test_memory_outlives_its_maker():
    view = np.asarray(tk.array(np.arange(1000.0)) + 1)
    assert_same(view, np.arange(1000.0) + 1)


def test_eager_operations(rng):
    x, y = random_array(rng, (4, 5), np.float32), random_array(rng, (5,), np.float32)
    a, b = tk.asarray(x), tk.asarray(y)
    for got, want in [
        (a + b, x + y),
        (a * 2, x * 2),
        (1 - a, 1 - x),
        (y + a, y + x),
        (np.maximum(a, y), np.maximum(x, y)),
        (a > b, x > y),
        (a[1:, ::-1], x[1:, ::-1]),
        (np.where(a > 0, a, 0), np.where(x > 0, x, 0)),
        (np.concatenate([a, a]), np.concatenate([x, x])),
        (a.max(axis=0), x.max(axis=0)),
        (a.astype(np.int32), x.astype(np.int32)),
    ]:
        assert isinstance(got, tk.Array)
        assert_same(got, want)


def test_values():
    a = tk.array(3)
    assert (int(a), float(a), bool(a), a.item(), a.tolist()) == (3, 3.0, True, 3, 3)
    assert [10, 20, 30, 40][a] == 40
    assert len(tk.array([1, 2, 3])) == 3
    assert [int(v) for v in tk.array([1, 2, 3])] == [1, 2, 3]
    assert 2 in tk.array([1, 2, 3])
    assert repr(tk.array([1.0, 2.0])) == "Array([1., 2.], dtype=float64)"
    assert f"{tk.array(0.5):.2f}" == "0.50"
    assert_same(pickle.loads(pickle.dumps(tk.array([1.0, 2.0]))), np.array([1.0, 2.0]))
    assert_same(copy.deepcopy(tk.array([1, 2])), np.array([1, 2]))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(tk.array([1, 2]))


def test_making():
    assert_same(tk.array([[1, 2], [3, 4]], dtype=np.float32), np.array([[1, 2], [3, 4]], np.float32))
    assert_same(tk.array([tk.array(1.0), 2.0]), np.array([1.0, 2.0]))
    with pytest.raises(TypeError, match="dtype"):
        tk.array(["a"])
    with pytest.raises(TypeError):
        tk.asarray(object())


def test_jitted_functions_give_arrays_for_arrays():
    f = tk.jit(lambda x, y: (x + y, x.sum()))
    a = tk.array(np.arange(4.0))
    result, total = f(a, np.ones(4))
    assert isinstance(result, tk.Array)
    assert isinstance(total, tk.Array)
    assert_same(result, np.arange(4.0) + 1)
    assert isinstance(f(np.ones(4), np.ones(4))[0], np.ndarray)


def test_lists_as_operands():
    x = np.arange(4.0).reshape(2, 2)
    check = [
        lambda x: x @ [[1.0, 2.0], [3.0, 4.0]],
        lambda x: [1, 2] + x,
        lambda x: x * (3, 4),
        lambda x: [[1], [2]] < x,
    ]
    for function in check:
        assert_same(tk.jit(function)(x), function(x))
        assert_same(np.asarray(function(tk.asarray(x))), function(x))


def test_shapes_that_depend_on_values():
    x = np.array([3.0, 0, 1, 3, 0])
    a = tk.asarray(x)
    for function in (
        np.flatnonzero,
        np.unique,
        np.argwhere,
        lambda x: np.extract(x > 0, x),
        lambda x: np.union1d(x, [7.0]),
        lambda x: np.polymul(x.ravel(), [0.0, 1.0, 2.0]),
        lambda x: np.polydiv(x.ravel(), [1.0, 2.0])[0],
    ):
        got = function(a)
        assert isinstance(got, tk.Array)
        assert_same(np.asarray(got), function(x))
    for got, want in zip(np.nonzero(a), np.nonzero(x), strict=True):
        assert_same(np.asarray(got), want)
    values, counts = np.unique(a, return_counts=True)
    assert_same(np.asarray(counts), np.array([2, 1, 2]))
    with pytest.raises(NotImplementedError, match="depends on values"):
        tk.jit(np.unique)(x)
