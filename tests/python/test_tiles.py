"""What is read and written in tiles, side by side, or from where data says: arrays that do not fit the caches."""

from __future__ import annotations

import numpy as np
import pytest
import tokamak as tk

RNG = np.random.default_rng(7)
DTYPES = [np.uint8, np.int16, np.float32, np.float64]
SHAPES = [(300, 500), (1000, 700), (257, 1031), (65, 4100)]


def numbers(dtype, *shape):
    return (RNG.standard_normal(shape) * 20).astype(dtype)


def agree(function, *arguments):
    with np.errstate(over="ignore", invalid="ignore"):
        expected = function(*arguments)
    got = tk.jit(function)(*arguments)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert got.strides == expected.strides
    if np.issubdtype(got.dtype, np.floating):
        tolerance = 2e-5 if got.dtype == np.float32 else 1e-12
        scale = np.abs(expected).max()
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * scale)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_that_lie_the_other_way_round(dtype, shape):
    x, y = numbers(dtype, *shape), numbers(dtype, *shape[::-1])
    agree(lambda x: x.T.copy(), x)
    agree(lambda x, y: x + y.T, x, y)
    agree(lambda x, y: (x * 2 + y.T * y.T, y.T)[0], x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (2, 0, 1), (1, 2, 0)])
def test_axes_in_another_order(dtype, order):
    agree(lambda z: z.transpose(order).copy(), numbers(dtype, 7, 130, 140))
    agree(lambda z: z.transpose(order) + 1, numbers(dtype, 70, 13, 140))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_running_sums_of_rows(dtype, shape):
    x, y = numbers(dtype, *shape), numbers(dtype, *shape[::-1])
    agree(lambda x: np.cumsum(x, axis=-1), x)
    agree(lambda x: np.cumsum(x, axis=0), x)
    agree(lambda x: np.maximum.accumulate(x, axis=1), x)
    agree(lambda x, y: np.cumsum(x + y.T, axis=1), x, y)
    agree(lambda x: np.cumsum(x.T, axis=0).T * 2, x)
    agree(lambda x: np.cumsum(x, axis=-1) / x.shape[-1], x)


def test_a_transposed_result_does_not_overwrite_what_it_is_made_of():
    x = numbers(np.uint8, 300, 500)
    agree(lambda x: (np.cumsum(x, axis=0).T * 2) + 1, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((700, 3000), 0), ((40, 130, 700), 1), ((40, 130, 700), (0, 1)), ((20000, 130), 0), ((5, 1300, 400), 1)],
)
def test_columns_of_large_arrays(dtype, shape, axis):
    x = numbers(dtype, *shape)
    agree(lambda x: x.sum(axis=axis), x)
    agree(lambda x: x.max(axis=axis), x)
    agree(lambda x: (x > 3).any(axis=axis), x)
    if isinstance(axis, int):
        agree(lambda x: x.argmax(axis=axis), x)
        agree(lambda x: x.argmin(axis=axis), x)


def test_the_first_of_equals_wins_wherever_it_is():
    x = np.zeros((700, 3000), np.float32)
    agree(lambda x: x.argmax(axis=0), x)
    agree(lambda x: x.argmax(axis=1), x)
    x[:] = -np.inf
    agree(lambda x: x.argmax(axis=0), x)
    agree(lambda x: x.argmax(axis=1), x)
    x[300:, ::7] = np.nan
    x[200:, ::5] = np.inf
    agree(lambda x: x.argmax(axis=0), x)
    agree(lambda x: x.argmin(axis=1), x)
    agree(lambda x: np.argmax(x.astype(np.float64).ravel()), x)
    agree(lambda x: (x == np.inf).argmax(axis=1), x)
    agree(lambda x: (x != x).argmin(axis=0), x)


def test_the_same_bits_for_any_number_of_threads():
    x = numbers(np.float32, 700, 3000)
    answers = []
    for threads in (1, 2, 7):
        before = tk.num_threads()
        tk.set_num_threads(threads)
        answers.append(np.asarray(tk.jit(lambda x: x.sum(axis=0))(x)))
        tk.set_num_threads(before)
    assert all((answer == answers[0]).all() for answer in answers)


def test_sums_of_rows_that_are_looked_up():
    table = numbers(np.float32, 5000, 256)
    places = RNG.integers(-5000, 5000, (300, 37))
    agree(lambda table, places: table[places].sum(axis=1), table, places)
    agree(lambda table, places: table[places].max(axis=1), table, places)
    agree(lambda table, places: (table[places] * 2 + 1).sum(axis=1), table, places[:, :3])
    weights = numbers(np.float32, 300, 37)
    agree(lambda t, p, w: (t[p] * w[:, :, None]).sum(axis=1), table, places, weights)
    places[7, 36] = 5000
    with pytest.raises(IndexError):
        tk.jit(lambda table, places: table[places].sum(axis=1))(table, places)


def test_a_grid_that_is_written_again_and_again():
    def heat(u, rate):
        u = u.copy()
        for _ in range(6):
            middle = u[1:-1, 1:-1]
            u[1:-1, 1:-1] = middle + rate * (
                u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * middle
            )
        return u

    u = numbers(np.float32, 120, 130)
    agree(lambda u: heat(u, np.float32(0.2)), u)
    assert len(tk.jit(heat).explain(u, np.float32(0.2)).kernels) == 6

    def written_and_returned(u, x):
        u = u.copy()
        new = np.sqrt(x * x + 1)
        u[5:-5] = new
        return u, new * 2, new.sum()

    x = numbers(np.float64, 990, 100)
    u = numbers(np.float64, 1000, 100)
    for got, expected in zip(tk.jit(written_and_returned)(u, x), written_and_returned(u, x), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("rows", [64, 1024, 5000])
def test_rows_of_every_length(rows):
    x = numbers(np.float32, 40000 // (rows // 64), rows)

    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def norm(x):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-5))

    agree(softmax, x)
    agree(norm, x)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(1000, 32, 8), (777, 33, 3), (100, 500, 17), (5, 9, 3), (300, 7, 130)])
def test_every_row_with_every_row(dtype, sizes):
    rows, others, features = sizes
    x, y = numbers(dtype, rows, features), numbers(dtype, others, features)
    agree(lambda x, y: ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1), x, y)
    agree(lambda x, y: (x[:, None, :] - y[None, :, :]).max(axis=-1), x, y)
    agree(lambda x, y: (x[:, None, :] * y[None, :, :]).sum(axis=-1) + (x[:, None, :] + y).min(axis=-1), x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(200, 17, 40), (3, 64, 64), (1000, 20, 16), (2, 5000, 30), (2, 30, 5000)])
def test_small_matrices_the_other_way_round(dtype, shape):
    agree(lambda z: z.transpose(0, 2, 1).copy(), numbers(dtype, *shape))
    agree(lambda z: z.transpose(0, 2, 1) + 1, numbers(dtype, *shape))


def test_an_axis_of_one_element_of_a_large_array():
    x = numbers(np.float64, 40000, 11)
    agree(lambda x: x[:, 5:6].sum(axis=1), x)
    agree(lambda x: x[None].sum(axis=0), x)
    agree(lambda x: x.T[5:6].max(axis=0), x)
    agree(lambda x: np.cumsum(x[:, 5:6], axis=1), x)
    agree(lambda x: np.median(np.lib.stride_tricks.sliding_window_view(x[:, 0], 11), axis=-1), x)
