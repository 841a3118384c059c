"""What an array cannot hold is not written to it: NumPy's errors, and nothing wrapped silently."""

import numpy as np
import pytest
import tokamak as tk

from agreement import agree
from support import assert_same, compare_trees


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
        compare_trees(got, want, 0, "")


def assert_writes_alike(compiled, write, a, value):
    """The same result and the same elements afterwards, or the same error and none of them written."""
    want, got = a.copy(), a.copy()
    try:
        result = write(want, value)
    except (OverflowError, ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            compiled(got, value)
        assert_same(got, a)
    else:
        assert_same_results(compiled(got, value), result)
        assert_same(got, want)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "uint64", "float32", "bool"])
@pytest.mark.parametrize("write", OF_NUMBERS + OF_LISTS)
def test_numbers_given_as_arguments(write, dtype):
    """One program serves all values of a number, and checks them when it runs."""
    f = tk.jit(write)
    limits = [2.0**63, 2.0**64, 255.9, 256.0, -0.9, -1.0, 65535.5, -(2.0**63)]
    for value in [*NUMBERS, *limits, np.inf, -np.inf]:
        assert_writes_alike(f, write, np.array([1, 2, 3, 4], dtype), value)


def flat(a, v):
    a.flat[0] = v


def in_list(a, v):
    a[:2] = [v, v]


def array_of(a, v):
    return np.array([v, v], a.dtype)


def cast(a, v):
    return np.asarray(v, a.dtype), np.full(3, v, a.dtype)


SIGNED_AND_OTHERS = ["int8", "int32", "int64", "uint8", "uint64", "float32", "bool"]
WRITES_OF_SCALARS = [*OF_NUMBERS, *OF_LISTS, flat, in_list, array_of, cast]
MORE_SCALARS = [*SCALARS, np.uint64(2**63 + 5), np.int64(2**40), np.float16(300), np.bool_(True)]


@pytest.mark.parametrize("dtype", SIGNED_AND_OTHERS)
@pytest.mark.parametrize("write", WRITES_OF_SCALARS)
def test_scalars_given_as_arguments(write, dtype):
    """NumPy stores its scalars in signed dtypes as it does Python's numbers, where it does not cast them; elsewhere they wrap."""
    f = tk.jit(write)
    for value in [*MORE_SCALARS, *[np.array(one) for one in MORE_SCALARS]]:
        assert_writes_alike(f, write, np.array([1, 2, 3, 4], dtype), value)


def sum_of(a, x):
    a[0] = x.sum()


def element_of(a, x):
    a[:2] = x[1]


def mean_of(a, x):
    a.fill(x.mean())


def part_of(a, x):
    a[:2] = x[:2]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float32"])
@pytest.mark.parametrize("write", [sum_of, element_of, mean_of, part_of])
def test_scalars_that_are_computed(write, dtype):
    """What NumPy has as a scalar is one: x.sum() and x[1], not x[:2]."""
    f = tk.jit(write)
    for x in ([1, 2, 3], [100, 200, 300], [2**40, 2**41], [1.5, 2.5], [1e30, np.nan], [True, True]):
        want, got = np.zeros(4, dtype), np.zeros(4, dtype)
        try:
            write(want, np.array(x))
        except (OverflowError, ValueError) as error:
            with pytest.raises(type(error)):
                f(got, np.array(x))
            assert not got.any()
        else:
            f(got, np.array(x))
            assert_same(got, want)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("write", [part, element, everything, under_mask, fill])
def test_integers_beyond_64_bits_in_floats(write, dtype):
    a = np.array([1, 2, 3, 4], dtype)
    for value in (2**64, 10**30, -(10**30), 10**400):
        want, got = a.copy(), a.copy()
        try:
            with np.errstate(over="ignore"):
                write(want, value)
        except OverflowError:
            with pytest.raises(OverflowError):
                tk.jit(lambda x, value=value: write(x, value))(got)
        else:
            tk.jit(lambda x, value=value: write(x, value))(got)
        assert_same(got, want)


@pytest.mark.parametrize("write", [putmask, place])
def test_arrays_under_a_mask_are_cast_safely(write):
    a = np.array([1, 2, 3, 4], np.int16)
    for values in (np.array([1, 2], np.int8), np.array([1, 2]), np.array([1.5]), np.array(2), [1, 2]):
        want, got = a.copy(), a.copy()
        try:
            write(want, values)
        except TypeError:
            with pytest.raises(TypeError, match="safe"):
                tk.jit(write)(got, values)
        else:
            tk.jit(write)(got, values)
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


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i1", "i8"])
def test_choices_and_what_is_folded_into(dtype):
    x = np.array([3, 1, 2, 3], dtype)
    for number in (-1, 300, 2):
        agree(lambda x, n=number: np.select([x > 2, x > 0], [x, n], 0), x, what=f"select {number}")
        agree(lambda x, n=number: np.select([x > 2, x > 0], [x, x], n), x, what=f"default {number}")
        agree(lambda x, n=number: np.choose(x % 3, [x, n, 1]), x, what=f"choose {number}")
        for ufunc in (np.bitwise_or, np.bitwise_xor, np.fmin, np.fmax, np.maximum, np.remainder, np.gcd,
                      np.add, np.subtract, np.logical_or):  # fmt: skip
            agree(lambda x, n=number, f=ufunc: f.reduce(x, initial=n), x, what=f"{ufunc} {number}")
    agree(lambda x: np.choose(x % 3, [x, 1, 2.5]), x)
    agree(lambda x: np.select([x > 2, x > 0], [x, np.int64(-1)], 0), x)
    agree(lambda x: np.fmax.reduce(x, axis=(), initial=-1, dtype=dtype), x.astype(float))


def test_integers_are_not_raised_to_negative_ones():
    x, places = np.array([2, -1, 3], "i1"), np.array([0, 1, 0])
    agree(lambda x: np.power.reduceat(x, [0]), x)
    agree(lambda x: np.power.reduceat(x, [0, 1]), x[:2])
    agree(lambda x: np.power.reduceat(x, [1]), x)

    def at(x, values):
        np.power.at(x, places, values)

    for call in (at, tk.jit(at)):
        with pytest.raises(ValueError, match="negative integer powers"):
            call(np.array([2, 3], "i1"), x)


@pytest.mark.parametrize("dtype", [*SIGNED_AND_OTHERS, "uint32"])
@pytest.mark.parametrize("number", [2**64 - 1, 2**63, -(2**63), -1, 300])
def test_numbers_that_are_chosen_wrap(dtype, number):
    """Of np.where alone NumPy converts numbers as arrays."""

    def chosen(x):
        return np.where(x > 0, x, number)

    x = np.arange(-3, 3).astype(dtype)
    got = tk.jit(chosen)(x)
    assert got.dtype == chosen(x).dtype
    np.testing.assert_array_equal(got, chosen(x))


def test_an_argument_that_does_not_fit_says_what_does():
    f = tk.jit(lambda x, s: x + s)
    with pytest.raises(tk.UserError, match=r"argument s is an integer beyond the 64 bits of int64.*pass np.uint64\(s\)"):
        f(np.arange(3, dtype=np.uint64), 2**64 - 1)
    assert f(np.arange(3, dtype=np.uint64), np.uint64(2**64 - 3))[2] == 2**64 - 1
