"""Writing to parts of arguments: only what was written to is computed, and given back."""

import numpy as np
import pytest
import tokamak as tk

from support import check_writes, written_in_place


def kernels_of(function, *args):
    return tk.jit(function).explain(*args).kernels


def test_only_the_part_that_is_written_is_computed():
    def write(a, v):
        a[5:1005] = v * 2

    kernels = kernels_of(write, np.zeros(100_000), np.ones(1000))
    assert [kernel.bytes_written for kernel in kernels] == [8000]


def test_a_stencil_is_one_pass():
    def smooth(a):
        a[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * 0.25

    kernels = kernels_of(smooth, np.zeros((100, 80)))
    assert [(kernel.bytes_read, kernel.bytes_written) for kernel in kernels] == [(100 * 80 * 8, 100 * 80 * 8)]


def test_later_writes_to_a_part_replace_earlier_ones():
    def write(a):
        for i in range(3):
            a[10:20] = a[10:20] * 2 + i
            a[15:30] += 1

    a = np.arange(100_000.0)
    check_writes(write, a)
    written = sum(kernel.bytes_written for kernel in kernels_of(write, a))
    assert written < a.nbytes / 10


@pytest.mark.parametrize("shape", [(7, 9), (200, 150)])
@pytest.mark.parametrize("order", ["C", "F", "strided", "backwards"])
@pytest.mark.parametrize("kind", [np.asarray, tk.asarray])
def test_parts_of_all_kinds(shape, order, kind):
    def write(a):
        a[1, ::-2] = a[0, ::-2] + 1
        a[:, 3] *= 2
        a[2:5, 4:][...] = 7
        a.T[0, 1] = 9
        a[None, 2:4, 1] -= 3
        a[-1] = a[0]

    numbers = np.arange(4.0 * shape[0] * shape[1]).reshape(2 * shape[0], 2 * shape[1])
    made = {
        "C": numbers[: shape[0], : shape[1]].copy(),
        "F": np.asfortranarray(numbers[: shape[0], : shape[1]]),
        "strided": numbers[::2, ::2],
        "backwards": numbers[::-2, ::2],
    }[order]
    wanted, got = made.copy(), kind(made.copy(order="K") if order == "F" else made)
    write(wanted)
    tk.jit(write)(got)
    np.testing.assert_array_equal(np.asarray(got), wanted)


def test_a_part_may_be_one_element_or_none():
    def write(a, i):
        a[3] = i
        a[5:5] = i

    check_writes(write, np.arange(30_000.0), np.array(7.0))


def test_parts_of_two_arguments():
    def swap(a, b):
        a[100:200], b[100:200] = b[100:200].copy(), a[100:200].copy()

    check_writes(swap, np.arange(50_000), -np.arange(50_000))


def test_all_of_it_after_a_part():
    def write(a):
        a[2:5] = 1
        a += a[::-1]
        a[7] = 0

    check_writes(write, np.arange(40_000.0))


@pytest.mark.parametrize(
    "made", [lambda: np.zeros((4, 5))[:, ::2], lambda: np.asfortranarray(np.zeros((2, 3)))]
)
@pytest.mark.parametrize("flat", [lambda x: x.reshape(-1), lambda x: x.ravel(), lambda x: x.T.reshape(-1)])
def test_reshapes_outside_are_views_where_numpys_are(made, flat):
    wanted, got = made(), tk.asarray(made())
    for x in (wanted, got):
        y = flat(x)
        y[0] = 1
    np.testing.assert_array_equal(np.asarray(got), wanted)


# Slices with gaps are written where they are, when they are computed from themselves.


def every_second(a, b):
    a[::2] += 1


def every_third_from_the_second(a, b):
    a[1::3] *= b[1::3] - 2


def the_middle(a, b):
    a[2:-3:2] = np.sqrt(np.abs(a[2:-3:2])) + b[2:-3:2].max()


def only_given(a, b):
    a[::2] = b[::2]


def from_neighbours(a, b):
    a[1:-1:2] = (a[:-2:2] + a[2::2]) / 2


def from_the_other_half(a, b):
    a[: len(a) // 2 * 2 : 2] = a[1::2] * 2


SLICES_WITH_GAPS = [
    every_second,
    every_third_from_the_second,
    the_middle,
    only_given,
    from_neighbours,
    from_the_other_half,
]


@pytest.mark.parametrize("write", SLICES_WITH_GAPS)
@pytest.mark.parametrize("shape", [(20,), (37,), (40_001,), (50_000,), (21, 6), (300, 201)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_slices_with_gaps(write, shape, dtype, rng):
    a, b = rng.integers(1, 50, (2, *shape)).astype(dtype)
    if dtype is np.int16 and write in (the_middle, from_neighbours):
        pytest.skip("NumPy computes these as floats")
    check_writes(write, a, b)
    check_writes(write, a[::-1], b)


@pytest.mark.parametrize("write", [every_second, every_third_from_the_second, the_middle, only_given])
@pytest.mark.parametrize("size", [40_000, 40_001])
def test_slices_with_gaps_in_place(write, size, rng):
    a, b = rng.random((2, size))
    assert written_in_place(tk.jit(write), a, b) == {"a"}


def test_columns_in_place(rng):
    def write(a):
        a[:, 1::2] -= 3

    a = rng.random((200, 150))
    check_writes(write, a)
    assert written_in_place(tk.jit(write), a) == {"a"}


def test_few_elements_with_wide_gaps_are_computed_alone(rng):
    def write(a):
        a[::50] += 1

    a = rng.random(100_000)
    check_writes(write, a)
    assert sum(kernel.bytes_written for kernel in kernels_of(write, a)) == a.nbytes / 50
