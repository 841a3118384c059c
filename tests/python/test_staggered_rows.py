"""Rows whose last sweep runs together with the next row's: as many as there are, in blocks, with all that a row needs to be finished."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support import with_threads

import tokamak as tk

ROWS = [2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 67, 100, 257, 1030]


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


def is_staggered(function, *arguments) -> bool:
    return any("with the next" in kernel.schedule for kernel in tk.jit(function).explain(*arguments).kernels)


def are_side_by_side(function, *arguments) -> bool:
    return any("at once" in kernel.schedule for kernel in tk.jit(function).explain(*arguments).kernels)


def numbers(shape, dtype=np.float32):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


def rows_alone(function, x, *others):
    """A row has no next one where it is alone."""
    compiled = tk.jit(function)
    return np.concatenate([compiled(x[i : i + 1], *others) for i in range(len(x))])


@pytest.mark.parametrize("function", [softmax, layer_norm])
@pytest.mark.parametrize("rows", ROWS)
def test_any_number_of_rows(function, rows):
    x = numbers((rows, 128))
    got = tk.jit(function)(x)
    np.testing.assert_array_equal(got, rows_alone(function, x))
    np.testing.assert_allclose(got, function(x), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("length", [32, 64, 96, 250, 301, 333, 1000, 1001, 1024, 1056, 4999, 5000])
def test_any_length_of_rows(dtype, length):
    x = numbers((37, length), ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    got = tk.jit(softmax)(x)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, rows_alone(softmax, x))
    wanted = softmax(x.astype(np.float64))
    tolerance = {"float16": 4e-3, "float32": 1e-6, "float64": 1e-14, "bfloat16": 2e-2}[dtype]
    np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=tolerance, atol=tolerance / 100)


@pytest.mark.parametrize("length", [512, 1024, 1536, 2048, 3072])
def test_rows_of_scratch_that_are_spread_are_within_bounds(length):
    """A multiple of 4 KB apart they would be in each other's way, so some lie further apart than they are long."""
    x = numbers((37, length))
    plain = tk.jit(softmax)(x)
    tk.set_checks("bounds")
    try:
        np.testing.assert_array_equal(tk.jit(softmax)(x), plain)
    finally:
        tk.set_checks("")


def test_they_are_staggered():
    x = numbers((256, 1024))
    assert is_staggered(softmax, x)
    assert is_staggered(layer_norm, x)
    assert is_staggered(layer_norm, numbers((4096, 1024)))  # the next rows of which are fetched
    assert not is_staggered(lambda x: x.sum(axis=1), x)
    assert not is_staggered(lambda x: x * 2, x)
    assert is_staggered(softmax, x[:, :1001].copy())  # stores that begin anywhere


def test_rows_of_parts_of_lines_are_stored_from_a_line_on():
    def schedules(function, *shape):
        return [kernel.schedule for kernel in tk.jit(function).explain(numbers(shape)).kernels]

    (of_long_rows,) = schedules(softmax, 300, 1001)
    assert "with the next" in of_long_rows and "from a cache line on" in of_long_rows
    (of_lines,) = schedules(softmax, 300, 1024)
    assert "with the next" in of_lines and "from a cache line on" not in of_lines
    (of_short_rows,) = schedules(softmax, 300, 250)
    assert "from a cache line on" not in of_short_rows
    (of_nothing_kept,) = schedules(layer_norm, 300, 1001)
    assert "with the next" in of_nothing_kept and "from a cache line on" not in of_nothing_kept


@pytest.mark.parametrize("rows", [2, 3, 7, 33, 120])
def test_rows_of_parts_of_lines_have_the_bits_of_rows_alone(rows):
    """What a row has left at either end, which other rows have not, goes to the same sums in the same order."""
    for length in (271, 287, 301, 1001, 2047, 4111, 20011):
        x = numbers((rows, length))
        for dtype in (np.float32, np.float64, ml_dtypes.bfloat16):
            y = x.astype(dtype)
            np.testing.assert_array_equal(tk.jit(softmax)(y), rows_alone(softmax, y))


def test_what_is_kept_by_an_earlier_sweep_is_there_twice():
    """A sweep of the next row writes what the last one of this row still has to read."""

    def f(x):
        e = np.exp(x)
        total = e.sum(axis=1, keepdims=True)
        spread = np.sqrt(((e - total) ** 2).sum(axis=1, keepdims=True))
        return e / spread

    for length in (256, 1001):
        x = numbers((67, length))
        np.testing.assert_array_equal(tk.jit(f)(x), rows_alone(f, x))
        np.testing.assert_allclose(tk.jit(f)(x), f(x), rtol=3e-5)


def test_rows_of_parts_of_lines_are_within_bounds():
    tk.set_checks("bounds")
    try:
        for shape in ((37, 1001), (3, 5003), (130, 333)):
            x = numbers(shape)
            np.testing.assert_allclose(tk.jit(softmax)(x), softmax(x), rtol=2e-5)
    finally:
        tk.set_checks("")


def test_short_rows_are_side_by_side():
    assert are_side_by_side(softmax, numbers((256, 32))) and is_staggered(softmax, numbers((256, 32)))
    assert are_side_by_side(layer_norm, numbers((128, 32)))
    assert not are_side_by_side(softmax, numbers((257, 64)))
    assert not are_side_by_side(softmax, numbers((256, 1024)))
    assert not are_side_by_side(softmax, numbers((8, 64)))


@pytest.mark.parametrize("length", [1, 2, 3, 16, 17, 31, 32, 48, 63, 64, 65, 100, 127, 128])
@pytest.mark.parametrize("function", [softmax, layer_norm])
def test_any_length_of_short_rows(function, length):
    x = numbers((252, length))
    got = tk.jit(function)(x)
    if length >= 16:  # shorter ones lie in lanes when there are many
        np.testing.assert_array_equal(got, rows_alone(function, x))
    np.testing.assert_allclose(got, function(x), rtol=2e-5, atol=2e-4 if length < 4 else 2e-6)


def test_short_rows_from_elsewhere():
    def f(x, i, scale):
        picked = x[i] * scale[:, None]
        e = np.exp(picked - picked.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True), (picked * picked).sum(axis=1)

    x, i, scale = numbers((50, 64)), np.random.default_rng(1).integers(0, 50, 400), numbers(400)
    for got, wanted in zip(tk.jit(f)(x, i, scale), f(x, i, scale), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=3e-5)
    i[333] = -51
    with pytest.raises(IndexError):
        tk.jit(f)(x, i, scale)


def test_what_belongs_to_each_row_and_each_column():
    def f(x, scale, shift, of_row, which):
        centred = x - x.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + of_row[:, None])
        return np.where(which[:, None], centred / spread * scale + shift, x - of_row[:, None]).astype(np.float32)

    x, scale, shift = numbers((301, 192)), numbers(192), numbers(192)
    of_row, which = np.abs(numbers(301)), numbers(301) > 0
    arguments = (x, scale, shift, of_row, which)
    assert is_staggered(f, *arguments)
    np.testing.assert_allclose(tk.jit(f)(*arguments), f(*arguments), rtol=2e-5, atol=2e-5)


def test_several_results():
    def f(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        total = e.sum(axis=1, keepdims=True)
        return e / total, e - total, total[:, 0]

    x = numbers((77, 256))
    for got, wanted in zip(tk.jit(f)(x), f(x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-4)


def test_rows_that_are_looked_up():
    def f(x, i):
        e = np.exp(x[i] - x[i].max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    x, i = numbers((50, 128)), np.random.default_rng(1).integers(0, 50, 211)
    np.testing.assert_allclose(tk.jit(f)(x, i), f(x, i), rtol=2e-5)
    i[177] = 50
    with pytest.raises(IndexError):
        tk.jit(f)(x, i)


def test_more_axes_outside_of_the_rows():
    x = numbers((6, 5, 4, 3, 160))
    for view in (x, x.transpose(2, 1, 0, 3, 4), x[::-1, 1:, :, ::2]):
        np.testing.assert_allclose(tk.jit(softmax)(view), softmax(view), rtol=2e-5)


def test_nan_and_infinity_stay_in_their_rows():
    x = numbers((40, 64))
    x[7, 3], x[8, 5], x[39, 0] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        wanted = softmax(x)
    got = tk.jit(softmax)(x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    np.testing.assert_allclose(got, wanted, rtol=2e-5)


def test_in_place_of_an_argument():
    x = numbers((130, 256))
    wanted = tk.jit(softmax)(x)
    np.testing.assert_array_equal(tk.jit(softmax, donate_argnums=0)(x.copy()), wanted)
    y = x.copy()

    @tk.jit
    def into(y):
        y[:] = softmax(y)

    into(y)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("length", [1024, 4999])
def test_past_the_caches_with_any_threads(length):
    x = numbers((9001 * 1024 // length, length))
    compiled = tk.jit(softmax)
    wanted = with_threads(1, lambda: compiled(x))
    np.testing.assert_allclose(wanted, softmax(x), rtol=2e-5)
    for threads in (2, 7):
        np.testing.assert_array_equal(with_threads(threads, lambda: compiled(x)), wanted)
