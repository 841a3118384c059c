"""Rows of which neighbours share something, and rows that begin anywhere and are written past the caches."""

import numpy as np
import pytest
import tokamak as tk

rng = np.random.default_rng(7)


def blur(image):
    rows = image[:-4] + 4 * image[1:-3] + 6 * image[2:-2] + 4 * image[3:-1] + image[4:]
    return rows[:, :-4] + 4 * rows[:, 1:-3] + 6 * rows[:, 2:-2] + 4 * rows[:, 3:-1] + rows[:, 4:]


def blur_twice(image):
    return blur(image)[2:-2, 2:-2] - 2 * blur(image * image)[2:-2, 2:-2]


def uneven(image):
    rows = image[1:] * image[:-1] + np.sqrt(np.abs(image[1:]))
    return rows[:, 7:] / (1 + rows[:, :-7]) + rows[:, 3:-4] * image[1:, 2:-5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.float16])
@pytest.mark.parametrize(
    "shape", [(9, 40), (30, 200), (30, 257), (12, 3001), (9, 20_000), (300, 1000), (260, 333), (199, 101)]
)
@pytest.mark.parametrize("function", [blur, blur_twice, uneven])
def test_neighbours(function, shape, dtype):
    image = (rng.random(shape) * 50).astype(dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tk.jit(function)(image), function(image))


def test_neighbours_are_computed_once():
    image = rng.random((100, 1000), dtype=np.float32)
    assert "keep a row of what 5 neighbours" in tk.jit(blur).explain(image).kernels[0].schedule


def test_lines_that_share_reads_are_added_up_side_by_side():
    def schedule(lines):
        return tk.jit(blur).explain(rng.random((lines, 1000), dtype=np.float32)).kernels[0].schedule

    assert "run all of i_kept at once" in schedule(260)
    assert "run all of i_kept at once" not in schedule(261)  # 257 lines make no blocks


def centred(x):
    return x - x.max(axis=-1, keepdims=True)


def reversed_and_shifted(x):
    return (x[:, 3:] - x[:, :-3])[1:]


# More than half of any last cache that processors have today is too much for a test: so what this is of, on
# some, is only that rows of these lengths are right.
@pytest.mark.parametrize("length", [50257, 50256, 12_345, 1031, 64, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("function", [centred, reversed_and_shifted])
def test_rows_past_the_caches(function, length, dtype):
    x = rng.random((40_000_000 // np.dtype(dtype).itemsize // length, length), dtype=np.float32).astype(dtype)
    np.testing.assert_array_equal(tk.jit(function)(x), function(x))
