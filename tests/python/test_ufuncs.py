"""Every ufunc against NumPy: dtypes, shapes, strides, special values."""

import ml_dtypes
import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from support import (
    DTYPES,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    assert_same,
    check,
    layouts,
    random_array,
    seeds,
    shapes,
    with_layout,
)

#: bit-equal to NumPy
EXACT_UNARY = [
    np.negative, np.positive, np.absolute, np.fabs, np.sign, np.floor, np.ceil, np.trunc, np.rint, np.sqrt, np.square,
    np.reciprocal, np.isnan, np.isinf, np.isfinite, np.signbit, np.invert, np.logical_not, np.bitwise_count,
    np.conjugate, np.deg2rad, np.rad2deg,
]  # fmt: skip
#: within 2 ULP of the true value; NumPy itself is within some ULP of it, so the two may be further apart
CLOSE_UNARY = {
    np.exp: (-20, 20), np.exp2: (-20, 20), np.expm1: (-10, 10), np.log: (0, 100), np.log2: (0, 100),
    np.log10: (0, 100), np.log1p: (-1, 100), np.sin: (-100, 100), np.cos: (-100, 100), np.tan: (-100, 100),
    np.arcsin: (-1, 1), np.arccos: (-1, 1), np.arctan: (-100, 100), np.sinh: (-10, 10), np.cosh: (-10, 10),
    np.tanh: (-10, 10), np.arcsinh: (-100, 100), np.arccosh: (1, 100), np.arctanh: (-1, 1), np.cbrt: (-100, 100),
}  # fmt: skip
EXACT_BINARY = [
    np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.fmod, np.maximum, np.minimum,
    np.fmax, np.fmin, np.copysign, np.nextafter, np.heaviside, np.bitwise_and, np.bitwise_or, np.bitwise_xor,
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_xor,
]  # fmt: skip
CLOSE_BINARY = [np.power, np.float_power, np.arctan2, np.hypot, np.logaddexp, np.logaddexp2]
CLOSE_ULP = 4  # 2 of ours, and what NumPy's own functions are off

name_of = lambda ufunc: ufunc.__name__  # noqa: E731


def supports(ufunc, *dtypes):
    try:
        loop = ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout))
    except TypeError:
        return False
    return all(dtype.kind in "biuf" and dtype.itemsize <= 8 for dtype in loop)


def wrapped(ufunc):
    """A function of its own, so that tk.jit traces it."""
    if ufunc.nin == 1:
        return lambda x: ufunc(x)
    return lambda x, y: ufunc(x, y)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ufunc", EXACT_UNARY, ids=name_of)
def test_exact_unary(ufunc, dtype, rng):
    if not supports(ufunc, dtype):
        with pytest.raises(TypeError):
            tk.jit(wrapped(ufunc))(np.ones(3, dtype))
        return
    for shape in [(), (0,), (37,), (5, 9)]:
        x = random_array(rng, shape, dtype)
        if ufunc is np.reciprocal and dtype.kind in "iu":
            x = np.where(x == 0, 1, x).astype(
                dtype
            )  # NumPy leaves the reciprocal of an integer zero undefined
        check(wrapped(ufunc), x, what=f"{ufunc.__name__} {dtype} {shape}")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ufunc", CLOSE_UNARY, ids=name_of)
def test_close_unary(ufunc, dtype, rng):
    low, high = CLOSE_UNARY[ufunc]
    for shape in [(), (0,), (37,), (5, 9)]:
        x = random_array(rng, shape, dtype, low, high)
        check(wrapped(ufunc), x, ulp=CLOSE_ULP, what=f"{ufunc.__name__} {dtype} {shape}")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ufunc", EXACT_BINARY, ids=name_of)
def test_exact_binary(ufunc, dtype, rng):
    if not supports(ufunc, dtype, dtype):
        with pytest.raises(TypeError):
            tk.jit(wrapped(ufunc))(np.ones(3, dtype), np.ones(3, dtype))
        return
    for left, right in [((), ()), ((37,), (37,)), ((5, 9), (9,)), ((5, 1), (1, 9)), ((0, 3), (3,))]:
        x, y = random_array(rng, left, dtype), random_array(rng, right, dtype)
        check(wrapped(ufunc), x, y, what=f"{ufunc.__name__} {dtype} {left} {right}")


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("ufunc", CLOSE_BINARY, ids=name_of)
def test_close_binary(ufunc, dtype, rng):
    for shape in [(), (37,), (5, 9)]:
        x, y = random_array(rng, shape, dtype, 0, 10), random_array(rng, shape, dtype, -5, 5)
        check(wrapped(ufunc), x, y, ulp=8 if "logadd" in ufunc.__name__ else CLOSE_ULP, what=ufunc.__name__)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_power_and_shifts(dtype, rng):
    x = random_array(rng, (40,), dtype)
    amount = rng.integers(0, 2 * dtype.itemsize * 8, 40).astype(dtype) % np.iinfo(dtype).max
    check(lambda x, y: np.left_shift(x, y), x, amount)
    check(lambda x, y: np.right_shift(x, y), x, amount)
    check(lambda x, y: np.power(x, y), x, (amount % 7).astype(dtype))


@given(
    ufunc=st.sampled_from([np.add, np.multiply, np.subtract, np.maximum, np.less, np.equal, np.true_divide]),
    left=st.sampled_from(DTYPES),
    right=st.sampled_from(DTYPES),
    seed=seeds,
)
def test_mixed_dtypes(ufunc, left, right, seed):
    if not supports(ufunc, left, right):
        return
    rng = np.random.default_rng(seed)
    check(
        wrapped(ufunc),
        random_array(rng, (19,), left),
        random_array(rng, (19,), right),
        what=f"{ufunc} {left} {right}",
    )


@given(shape=shapes, layout=layouts, other=layouts, dtype=st.sampled_from(DTYPES), seed=seeds)
def test_shapes_and_strides(shape, layout, other, dtype, seed):
    rng = np.random.default_rng(seed)
    x = with_layout(rng, random_array(rng, shape, dtype), layout)
    y = with_layout(rng, random_array(rng, shape, dtype), other)
    check(lambda x, y: np.maximum(x, y) * x, x, y, what=f"{shape} {layout} {other} {dtype}")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_program_serves_a_layout(layout, rng):
    """Strides of the same class are arguments of the program, not part of it."""
    f = tk.jit(lambda x: x * 2)
    for rows in range(2):
        x = with_layout(rng, random_array(rng, (6, 10), np.float32), layout)
        assert_same(f(x), x * 2)
        assert rows >= 0
    assert f.cache_info().programs == 1


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("number", [2, -1, 0.5, True, 0])
def test_python_numbers_are_weak(dtype, number, rng):
    x = random_array(rng, (9,), dtype, 1, 9, special=False)

    def f(x):
        return x + number, number * x

    try:
        f(x)
    except (OverflowError, TypeError) as error:
        with pytest.raises((tk.Error, OverflowError)):
            tk.jit(f)(x)
        assert error
        return
    check(f, x)


def test_numbers_beyond_the_dtype(rng):
    x = random_array(rng, (9,), np.uint8)
    check(lambda x: (x < 300, x == 300, x > -1, x <= 300, x == -5, x != 1000), x)
    with pytest.raises(ValueError, match="300"):
        tk.jit(lambda x: x + 300)(x)


def test_several_results(rng):
    x = random_array(rng, (33,), np.float64)
    y = random_array(rng, (33,), np.float64)
    check(lambda x, y: np.divmod(x, y), x, y)
    check(lambda x: np.modf(x), x)


def test_methods_of_ufuncs(rng):
    x = random_array(rng, (5, 9), np.float64, special=False)
    check(lambda x: np.maximum.reduce(x), x)
    check(lambda x: np.minimum.reduce(x, axis=1), x)
    check(lambda x: np.logical_or.reduce(x > 9.5, axis=None), x)
    check(lambda x: np.add.accumulate(x, axis=1), x)
    check(lambda x: np.maximum.accumulate(x), x)
    check(lambda x: np.multiply.outer(x[0], x[1]), x)
    with pytest.raises(NotImplementedError, match=r"np\.add\.reduceat"):
        tk.jit(lambda x: np.add.reduceat(x, (x[0] * 0).astype(int)))(x)


def test_dtype_argument(rng):
    x = random_array(rng, (9,), np.float32)
    check(lambda x: np.add(x, x, dtype=np.float64), x)


def test_powers_that_are_not_powers(rng):
    x = random_array(rng, (33,), np.float32)
    check(lambda x: (x**2, x**0.5, x**-1, x**1), x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_in_place_operators_keep_the_dtype(dtype, rng):
    def f(x, y):
        x = x + 0
        x += y
        x *= 2
        return x

    check(f, random_array(rng, (9,), dtype), random_array(rng, (9,), np.float16))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ufunc", [np.log, np.log2, np.log10])
def test_logarithms_of_special_values_among_others(ufunc, dtype, rng):
    tiny = np.finfo(dtype).tiny
    specials = [
        0,
        -0.0,
        -1,
        np.inf,
        -np.inf,
        np.nan,
        -tiny,
        tiny,
        tiny / 3,
        np.finfo(dtype).smallest_subnormal,
    ]
    values = rng.uniform(0.1, 10, (len(specials), 37)).astype(dtype)
    for i, special in enumerate(specials):
        values[i, 3 * i] = values[i, -1] = special
    with np.errstate(all="ignore"):
        expected = ufunc(values)
    np.testing.assert_allclose(tk.jit(ufunc)(values), expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_rounding_to_what_is_stored(dtype, rng):
    bits = rng.integers(0, 2**32, 20011, dtype=np.uint32)
    halfway = (bits & np.uint32(0xFFFF0000)) | np.uint32(0x8000)
    low = np.array([0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F7FFFFF, 0x7FFF8000], np.uint32)
    values = np.concatenate([bits, halfway, low]).view(np.float32)
    with np.errstate(all="ignore"):
        expected = values.astype(dtype)
    found = tk.jit(lambda x: x.astype(dtype))(values)
    is_nan = np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), is_nan)
    np.testing.assert_array_equal(found.view(np.uint16)[~is_nan], expected.view(np.uint16)[~is_nan])
