"""The standard's arrays: how they are made, exchanged and converted, their methods, and programs for any namespace."""

import numpy as np
import pytest
import tokamak as tk
from array_api import ALL, BOOL, FLOATS, INTEGERS, NUMERIC, compare

from support import assert_same


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_creation(dtype):
    """The same on both sides of jit, where nothing is an argument."""
    programs = [
        lambda xp: xp.zeros((2, 3), dtype=dtype),
        lambda xp: xp.ones(4, dtype=dtype),
        lambda xp: xp.full((2, 2), 1, dtype=dtype),
        lambda xp: xp.eye(3, dtype=dtype),
        lambda xp: xp.eye(2, 4, k=1, dtype=dtype),
        lambda xp: xp.asarray([[0, 1], [1, 0]], dtype=dtype),
        lambda xp: xp.asarray(1, dtype=dtype),
    ]
    if dtype != tk.bool:
        programs += [
            lambda xp: xp.arange(5, dtype=dtype),
            lambda xp: xp.arange(1, 10, 3, dtype=dtype),
            lambda xp: xp.linspace(0, 8, 5, dtype=dtype),
        ]

    def all_of_them(xp):
        return [program(xp) for program in programs]

    want = all_of_them(np)
    compare(all_of_them(tk), want, "eager")
    compare(tk.jit(lambda x: [x, *all_of_them(tk)])(np.ones(1))[1:], want, "jitted")
    assert all(type(one) is tk.Array for one in all_of_them(tk))


def test_creation_of_default_dtypes():
    programs = [
        lambda xp: xp.zeros(()),
        lambda xp: xp.ones((0, 2)),
        lambda xp: xp.full((2,), True),
        lambda xp: xp.full((2,), 3),
        lambda xp: xp.full((2,), 0.5),
        lambda xp: xp.eye(2),
        lambda xp: xp.arange(3),
        lambda xp: xp.arange(5, 1, -2),
        lambda xp: xp.arange(1, 5, -2),
        lambda xp: xp.arange(0.5, 3),
        lambda xp: xp.arange(0, 1, 0.1),
        lambda xp: xp.linspace(0, 1, 5),
        lambda xp: xp.linspace(-1, 1, num=4, endpoint=False),
        lambda xp: xp.linspace(3, 1, 1),
        lambda xp: xp.linspace(3, 1, 0),
        lambda xp: xp.asarray([True, False]),
        lambda xp: xp.asarray([1, True]),
        lambda xp: xp.asarray([[1, 2.5]]),
        lambda xp: xp.asarray(memoryview(b"abc")),
    ]
    for number, program in enumerate(programs):
        compare(program(tk), program(np), f"program {number}")
    assert tk.empty((2, 3), dtype=tk.int8).shape == tk.empty_like(tk.ones((2, 3))).shape == (2, 3)
    with pytest.raises(ValueError, match="step is 0"):
        tk.arange(0, 3, 0)


def test_copies():
    x = np.ones(3)
    assert np.shares_memory(np.asarray(tk.asarray(x)), x)
    assert np.shares_memory(np.asarray(tk.asarray(x, copy=False)), x)
    assert not np.shares_memory(np.asarray(tk.asarray(x, copy=True)), x)
    a = tk.asarray(x)
    assert tk.asarray(a) is tk.astype(a, tk.float64, copy=False) is a
    for other in (tk.asarray(a, copy=True), tk.astype(a, tk.float64), tk.reshape(a, (3,), copy=True)):
        other[0] = 5
        assert a[0].item() == 1
    with pytest.raises(ValueError, match="copy"):
        tk.asarray(x, dtype=tk.float32, copy=False)
    with pytest.raises(ValueError, match="copy"):
        tk.asarray(a, dtype=tk.float32, copy=False)
    with pytest.raises(ValueError, match="copy"):
        tk.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="copy"):
        tk.reshape(tk.ones((2, 3)).T, (6,), copy=False)


def test_dlpack():
    x = np.arange(6.0).reshape(2, 3)
    a = tk.asarray(x)
    assert a.__dlpack_device__() == (1, 0)
    for back in (np.from_dlpack(a), np.from_dlpack(a, device="cpu", copy=False)):
        assert np.shares_memory(back, x)
        assert_same(back, x)
    assert np.shares_memory(np.asarray(tk.from_dlpack(x)), x)
    assert np.shares_memory(np.asarray(tk.from_dlpack(a, device="cpu", copy=False)), x)
    assert not np.shares_memory(np.asarray(tk.from_dlpack(x, copy=True)), x)
    assert not np.shares_memory(np.from_dlpack(a, copy=True), x)
    with pytest.raises(AttributeError, match="list"):
        tk.from_dlpack([1.0])
    with pytest.raises(ValueError, match="gpu"):
        tk.from_dlpack(x, device="gpu")
    with pytest.raises(BufferError):
        tk.from_dlpack(np.array(["text"]))


def test_devices():
    a = tk.ones(3)
    assert a.device == "cpu"
    assert_same(a.to_device("cpu"), np.ones(3))
    assert tk.zeros(2, device=a.device).device == "cpu"
    for wrong in (
        lambda: a.to_device("gpu"),
        lambda: tk.zeros(3, device="gpu"),
        lambda: tk.astype(a, tk.int8, device=1),
    ):
        with pytest.raises(ValueError, match="there is only 'cpu'"):
            wrong()
    with pytest.raises(ValueError, match="stream"):
        a.to_device("cpu", stream=1)


def test_dtype_functions():
    x = tk.ones(3, dtype=tk.float32)
    assert tk.can_cast(tk.int8, tk.int16)
    assert tk.can_cast(x, tk.float64)
    assert not tk.can_cast(tk.float64, tk.float32)
    assert tk.finfo(x) == tk.finfo(tk.float32)
    limits = tk.finfo(tk.float32)
    assert (limits.bits, limits.eps, limits.dtype) == (32, 2.0**-23, tk.float32)
    assert (limits.max, limits.min, limits.smallest_normal) == (
        (2 - 2.0**-23) * 2.0**127,
        -limits.max,
        2.0**-126,
    )
    assert all(type(one) is float for one in limits[1:5])
    assert tk.finfo(tk.float64).eps == 2.0**-52
    whole = tk.iinfo(tk.uint16)
    assert (whole.bits, whole.max, whole.min, whole.dtype) == (16, 65535, 0, tk.uint16)
    assert tk.iinfo(tk.zeros(2, dtype=tk.int64)).min == -(2**63)
    with pytest.raises(TypeError, match="iinfo tells"):
        tk.finfo(tk.int8)
    with pytest.raises(TypeError, match="finfo tells"):
        tk.iinfo(tk.float32)
    kinds = {
        "bool": BOOL,
        "signed integer": INTEGERS[:4],
        "unsigned integer": INTEGERS[4:],
        "integral": INTEGERS,
        "real floating": FLOATS,
        "complex floating": [],
        "numeric": NUMERIC,
    }
    for kind, members in kinds.items():
        assert [dtype for dtype in ALL if tk.isdtype(dtype, kind)] == members
    assert tk.isdtype(tk.int8, (tk.int16, "bool", tk.int8))
    assert not tk.isdtype(tk.int8, tk.int16)
    with pytest.raises(ValueError, match="no kind of dtypes"):
        tk.isdtype(tk.int8, "small")
    assert tk.result_type(tk.int8, tk.uint8) == tk.int16
    assert tk.result_type(x, 1) == tk.result_type(x, np.ones(2, np.float32), 2.5) == tk.float32
    with pytest.raises(ValueError, match="at least one"):
        tk.result_type(1, 2.0)


def test_dtypes_beyond_the_standard():
    bfloat16 = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    for dtype, bits, eps in ((tk.float16, 16, 2.0**-10), (bfloat16, 16, 2.0**-7)):
        x = np.arange(6).reshape(2, 3).astype(dtype)
        assert (tk.finfo(dtype).bits, tk.finfo(tk.asarray(x)).eps) == (bits, eps)
        assert tk.isdtype(dtype, "real floating")
        assert tk.sqrt(tk.asarray(x)).dtype == tk.zeros(3, dtype=dtype).dtype == dtype
        assert_same(
            np.asarray(tk.sum(tk.asarray(x), axis=0)).astype(np.float32), np.array([3, 5, 7], np.float32)
        )
        assert dtype not in tk.__array_namespace_info__().dtypes().values()


def test_array_object():
    a = tk.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert (a.shape, a.size, a.ndim, a.dtype) == ((2, 3), 6, 2, tk.float64)
    assert a.T.shape == a.mT.shape == (3, 2)
    three = tk.asarray(3)
    assert (int(three), float(three), bool(three), complex(three), [0, 1, 2, 3][three]) == (
        3,
        3.0,
        True,
        3 + 0j,
        3,
    )
    with pytest.raises(TypeError, match=r"scalar|0-d|only"):
        float(a)
    with pytest.raises(TypeError):
        [0, 1][tk.asarray(1.0)]
    a[0, :] = 7
    a[1, 1] += 1
    assert_same(a, np.array([[7.0, 7.0, 7.0], [4.0, 6.0, 6.0]]))
    assert_same(a[..., None, ::-1][1, 0, :], np.array([6.0, 6.0, 4.0]))
    with pytest.raises(IndexError):
        a[2, 0]
    with pytest.raises(ValueError):
        _ = tk.ones(3).mT


def test_errors_name_the_line():
    with pytest.raises(ValueError, match=r"test_array_api_objects\.py:\d+, in test_errors_name_the_line"):
        tk.add(tk.ones(2), tk.ones(3))
    for wrong in (
        lambda x: tk.expand_dims(x, axis=3),
        lambda x: tk.stack([x, x], axis=3),
        lambda x: tk.concat([x, x], axis=2),
        lambda x: tk.flip(x, axis=2),
        lambda x: tk.sum(x, axis=(0, 2)),
    ):
        with pytest.raises(IndexError, match="out of"):
            wrong(tk.ones((2, 3)))
    with pytest.raises(TypeError, match="float64"):
        tk.bitwise_and(tk.ones(2), tk.ones(2))


def test_numbers_and_lists():
    """They are not in the standard, but no reason to fail."""
    assert_same(tk.exp(0.0), np.float64(1))
    assert_same(tk.sum([[1, 2], [3, 4]], axis=0), np.array([4, 6]))
    assert_same(tk.concat([[1, 2], [3, 4]]), np.arange(1, 5))
    assert_same(tk.add(1, 2), np.int64(3))
    assert_same(tk.where(tk.asarray([True, False]), 1, 2), np.array([1, 2]))
    assert_same(tk.add(np.float32(1), 2), np.float32(3))
    with pytest.raises(TypeError, match="str"):
        tk.exp("text")


# ---------------------------------------------------------------------------------------------------------------------
# Programs written for any namespace


def softmax(x, axis=-1):
    xp = x.__array_namespace__()
    powers = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return powers / xp.sum(powers, axis=axis, keepdims=True)


def standardized(x):
    xp = x.__array_namespace__()
    x = xp.astype(x, xp.float64)
    spread = xp.std(x, axis=0, correction=1)
    return (x - xp.mean(x, axis=0)) / xp.where(spread == 0, xp.ones_like(spread), spread)


def distances(x, y):
    xp = x.__array_namespace__()
    return xp.sqrt(xp.sum(xp.square(xp.expand_dims(x, axis=1) - y[None, ...]), axis=-1))


def relaxed(u, steps=3):
    xp = u.__array_namespace__()
    for _ in range(steps):
        inner = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) / 4
        u = xp.concat([u[:1, :], xp.concat([u[1:-1, :1], inner, u[1:-1, -1:]], axis=1), u[-1:, :]])
    return u


def polynomial(x, degree=4):
    xp = x.__array_namespace__()
    powers = xp.pow(x[:, None], xp.arange(degree + 1, dtype=x.dtype, device=x.device))
    return xp.matmul(powers, xp.linspace(0, 1, degree + 1, dtype=x.dtype))


@pytest.mark.parametrize("program", [softmax, standardized, distances, relaxed, polynomial])
def test_programs(program, rng):
    x = rng.standard_normal((6, 5))
    args = (x, x[::-1] * 2) if program is distances else (x[:, 0],) if program is polynomial else (x,)
    want = program(*args)
    compare(tk.jit(program)(*args), want, "jitted", 64.0)
    compare(program(*map(tk.asarray, args)), want, "eager", 64.0)
