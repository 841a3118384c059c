"""Where conditions on positions begin and end to hold: paddings, rolls, joins, writes to parts, one inside the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

DTYPES = ["float32", "float64", "uint8", "int16"]
#: Around the numbers of lanes of a register, and several registers long.
LENGTHS = [1, 3, 7, 8, 9, 31, 33, 40, 64, 65, 130]


def roll(x: Any, axis: int, k: int) -> Any:
    return np.roll(x, k, axis=axis)


def pad(x: Any, axis: int, k: int) -> Any:
    modes = ["constant", "edge", "wrap", "reflect", "symmetric"]
    amount = min(abs(k) % 4, x.shape[axis] - 1)
    return np.pad(x, [(amount, 1) if i == axis else (0, amount) for i in range(x.ndim)], mode=modes[k % 5])


def join(x: Any, axis: int, k: int) -> Any:
    return np.concatenate([x, x + x.dtype.type(1), np.flip(x, axis)][: 1 + k % 3], axis=axis)


def write(x: Any, axis: int, k: int) -> Any:
    y = x.copy()
    start = k % x.shape[axis]
    part = [slice(None)] * x.ndim
    part[axis] = slice(start, start + 1 + k % 5)
    y[tuple(part)] = y[tuple(part)] + x.dtype.type(k % 7)
    return y


def write_inside(x: Any, axis: int, k: int) -> Any:
    y = x.copy()
    y[1:-1, 1 + k % 3 : -1] += x[:-2, 1 + k % 3 : -1]
    return y


def shift_difference(x: Any, axis: int, k: int) -> Any:
    y = np.zeros_like(x)
    y[:, 1:] = x[:, 1:] - x[:, :-1]
    y[k % x.shape[0]] = x[0]
    return y


STEPS = [roll, pad, join, write, write_inside, shift_difference]


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[tuple[Any, int, int]], np.ndarray]:
    steps = draw(
        st.lists(
            st.tuples(st.sampled_from(STEPS), st.integers(0, 1), st.integers(0, 40)), min_size=1, max_size=4
        )
    )
    shape = (draw(st.sampled_from(LENGTHS)), draw(st.sampled_from(LENGTHS)))
    dtype = draw(st.sampled_from(DTYPES))
    values = np.arange(shape[0] * shape[1]).reshape(shape) * 7 % 101
    return steps, values.astype(dtype)


@given(programs())
def test_edges_inside_of_edges(program: tuple[list[tuple[Any, int, int]], np.ndarray]) -> None:
    steps, x = program

    def function(x: Any) -> Any:
        for step, axis, k in steps:
            x = step(x, axis, k)
        return x, x.max(axis=0), (x % x.dtype.type(5)).sum(axis=1)

    for got, want in zip(tk.jit(function)(x), function(x), strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype


@pytest.mark.parametrize("rows", [1, 2, 5, 40, 150])
def test_rows_written_one_by_one(rows: int) -> None:
    def function(x: Any) -> Any:
        out = np.zeros((rows, x.shape[0]), x.dtype)
        for i in range(rows):
            out[i] = x * i + (out[i - 1] if i else 0)
        return out

    x = np.arange(70.0)
    np.testing.assert_array_equal(tk.jit(function)(x), function(x))


@pytest.mark.parametrize("count", [2, 3, 17, 200])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_many_stacked(count: int, axis: int) -> None:
    def function(x: Any) -> Any:
        return np.stack([x + i for i in range(count)], axis=axis)

    x = np.arange(15 * 33, dtype=np.float32).reshape(15, 33)
    np.testing.assert_array_equal(tk.jit(function)(x), function(x))


@pytest.mark.parametrize("mode", ["constant", "edge", "wrap", "reflect"])
@pytest.mark.parametrize("shape", [(300_000,), (40_000, 9), (3, 5, 20_000)])
def test_long_loops_that_are_shared_out(mode: Any, shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)

    def function(x: Any) -> Any:
        padded = np.pad(x, 2, mode=mode)
        return padded, np.roll(x, 5, axis=-1) - x, padded.max()

    for got, want in zip(tk.jit(function)(x), function(x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_an_index_is_checked_where_it_is_used() -> None:
    def function(x: Any, i: Any) -> Any:
        return np.concatenate([x[i], np.zeros(50, x.dtype), x[i][::-1]])

    x = np.arange(10.0)
    i = np.arange(60) % 10
    np.testing.assert_array_equal(tk.jit(function)(x, i), function(x, i))
    i[59] = 10
    with pytest.raises(IndexError):
        tk.jit(function)(x, i)


@pytest.mark.parametrize("shape", [(5,), (12,), (2000,), (7, 9), (40, 50)])
@pytest.mark.parametrize("scan", [np.cumsum, np.cumprod, np.nancumsum, np.subtract.accumulate])
def test_scans_that_are_written_to(scan: Any, shape: tuple[int, ...]) -> None:
    """However many parts of a result read a scan, it goes on once for every element."""

    def one_place(b: Any) -> Any:
        v = scan(b, axis=-1)
        v[..., 3] = 8
        return [v]

    def several_places(b: Any) -> Any:
        v = scan(b, axis=0)
        v[1:3] = 2
        v[-1] += v[0]
        return [v, v.sum()]

    def parts(b: Any) -> Any:
        c = scan(b, axis=0)
        return [np.concatenate([c[:3], b[3:], c[2:]])]

    def twice(b: Any) -> Any:
        c = scan(scan(b, axis=-1), axis=-1)
        c[..., 1:2] = 7
        return [c]

    b = np.random.default_rng(0).integers(1, 3, shape) / 2
    for f in (one_place, several_places, parts, twice):
        for got, want in zip(tk.jit(f)(b), f(b), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)
