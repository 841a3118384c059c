"""What an array cannot hold is not written to it: NumPy's errors, and nothing wrapped silently."""

import numpy as np
import pytest
import tokamak as tk

from support import assert_same


def part(a, v):
    a[1:3] = v


def under_mask(a, v):
    a[a > 1] = v


def element(a, v):
    a[0] = v


def places(a, v):
    a[[0, 2]] = v


def known_mask(a, v):
    a[np.array([True, False, True, False])] = v


def fill(a, v):
    a.fill(v)


def everything(a, v):
    a[...] = v


def copyto(a, v):
    np.copyto(a, v)


def putmask(a, v):
    np.putmask(a, a > 1, v)


def put(a, v):
    np.put(a, [0], v)


def place(a, v):
    np.place(a, a > 1, v)


def along_axis(a, v):
    np.put_along_axis(a, np.array([0, 1]), v, 0)


def diagonal(a, v):
    np.fill_diagonal(a.reshape(2, 2), v)


def insert(a, v):
    return np.insert(a, 0, v)


OF_LISTS = [part, places, everything, copyto, put, along_axis, diagonal, insert]
OF_NUMBERS = [under_mask, element, known_mask, fill, putmask, place]
NUMBERS = [-3, 300, 70_000, 7, True, 2.5, 1e10, 1e30, float("nan")]
CASES = [(write, value) for write in OF_NUMBERS + OF_LISTS for value in NUMBERS]
CASES += [(write, value) for write in OF_LISTS for value in ([300], [-1], [1.5])]


SCALARS = [np.int64(300), np.int16(-3), np.uint8(200), np.float64(2.5), np.float32(np.nan), np.float64(1e30)]
CASES += [(write, value) for write in (part, element, everything, fill) for value in SCALARS]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float32", "bool"])
@pytest.mark.parametrize("write, value", CASES)
def test_numbers(write, value, dtype):
    a = np.array([1, 2, 3, 4], dtype)
    want, got = a.copy(), a.copy()
    try:
        result = write(want, value)
    except (OverflowError, ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            tk.jit(lambda x: write(x, value))(got)
        assert_same(got, a)
        return
    assert_same_results(tk.jit(lambda x: write(x, value))(got), result)
    assert_same(got, want)


def assert_same_results(got, want):
    if want is None:
        assert got is None
    else:
        assert_same(got, want)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "uint64", "float32", "bool"])
@pytest.mark.parametrize("write", OF_NUMBERS + OF_LISTS)
def test_numbers_given_as_arguments(write, dtype):
    """One program serves all values of a number, and checks them when it runs."""
    f = tk.jit(write)
    limits = [2.0**63, 2.0**64, 255.9, 256.0, -0.9, -1.0, 65535.5, -(2.0**63)]
    for value in [*NUMBERS, *limits, np.inf, -np.inf]:
        a = np.array([1, 2, 3, 4], dtype)
        want, got = a.copy(), a.copy()
        try:
            result = write(want, value)
        except (OverflowError, ValueError, TypeError) as error:
            with pytest.raises(type(error)):
                f(got, value)
            assert_same(got, a)
        else:
            assert_same_results(f(got, value), result)
            assert_same(got, want)


@pytest.mark.parametrize(
    "program",
    [
        lambda a, b: np.add(a, b, out=a),
        lambda a, b: a.__iadd__(b),
        lambda a, b: np.multiply(a, b, out=a, where=b > 0),
        lambda a, b: np.maximum(b, b, out=a),
    ],
)
def test_results_with_more_axes_than_their_place(program):
    """NumPy does not drop axes of one element there, as it does in a[...] = b."""
    a, b = np.ones(5), np.ones((1, 5))
    for run in (program, tk.jit(program)):
        with pytest.raises(ValueError):
            run(a.copy(), b)


def test_no_axes():
    x = np.float32(3) * np.ones((), np.float32)
    got = tk.jit(np.flip)(x)
    assert type(got) is type(np.flip(x)) and got == np.flip(x)
    for program in (lambda c: np.insert(c, 0, 7, axis=0), lambda c: np.delete(c, 0, axis=-1)):
        for run in (program, tk.jit(program)):
            with pytest.raises(np.exceptions.AxisError):
                run(np.zeros(()))
