"""Creation with like=, functions of complex numbers on real ones, polynomials and ufuncs of parts, against NumPy."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from agreement import agree
from support import DTYPES, FLOATS, INTEGERS, SIGNED, random_array, seeds

SHAPES = [(), (0,), (1,), (9,), (4, 7)]
shapes = st.sampled_from(SHAPES)
dtypes = st.sampled_from(DTYPES)

LIKE = [
    lambda x: np.zeros((2, 3), like=x),
    lambda x: np.ones(4, np.int16, like=x),
    lambda x: np.full((2, 2), 7, like=x),
    lambda x: np.full((2, 2), x[0], like=x),
    lambda x: np.eye(3, like=x),
    lambda x: np.eye(3, 5, -1, np.int8, like=x),
    lambda x: np.identity(4, like=x),
    lambda x: np.tri(3, 5, 1, like=x),
    lambda x: np.tri(4, like=x),
    lambda x: np.arange(3, 9, 2, like=x),
    lambda x: np.asarray(x, like=x),
    lambda x: np.array([x[0], x[1] * 2], like=x),
    lambda x: np.array(x, ndmin=3, like=x),
    lambda x: np.fromfunction(lambda i, j: i * 10 + j, (3, 4), dtype=int, like=x),
]


@pytest.mark.parametrize("function", LIKE, ids=range(len(LIKE)))
def test_like(function, rng):
    agree(function, random_array(rng, (3,), np.float32, special=False))


FUNCTIONS = [
    lambda x: np.real(x),
    lambda x: np.imag(x),
    lambda x: np.angle(x),
    lambda x: np.angle(x, deg=True),
    lambda x: np.isreal(x),
    lambda x: np.iscomplex(x),
    lambda x: np.real_if_close(x),
    lambda x: np.array_equiv(x, x[..., :1] if x.ndim else x),
    lambda x: np.array_equal(x, x, equal_nan=True),
    lambda x: np.nan_to_num(x),
    lambda x: np.isclose(x, x, equal_nan=True),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
@given(shape=shapes, dtype=dtypes, seed=seeds)
def test_functions(function, shape, dtype, seed):
    agree(function, random_array(np.random.default_rng(seed), shape, dtype), rounded=True)


@given(shape=shapes, dtype=st.sampled_from(INTEGERS + FLOATS[1:]), seed=seeds)
def test_i0(shape, dtype, seed):
    x = random_array(np.random.default_rng(seed), shape, dtype, -30, 30, special=False)
    want, got = np.i0(x), tk.jit(lambda x: np.i0(x))(x)
    assert (np.asarray(got).dtype, np.shape(got)) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=2e-5 if want.dtype == np.float32 else 2e-15)


def test_i0_of_special_values():
    x = np.array([0.0, -0.0, np.nan, 8.0, np.nextafter(8.0, 9), 700.0, -3.0])
    np.testing.assert_allclose(tk.jit(lambda x: np.i0(x))(x), np.i0(x), rtol=2e-15)
    assert tk.jit(lambda x: np.i0(x))(0.0) == 1


@given(shape=shapes, dtype=dtypes, other=dtypes, count=st.integers(0, 5), seed=seeds)
def test_polyval(shape, dtype, other, count, seed):
    rng = np.random.default_rng(seed)
    p, x = (random_array(rng, s, d, -3, 3, special=False) for s, d in (((count,), dtype), (shape, other)))
    agree(lambda p, x: np.polyval(p, x), p, x, rounded=True)


@given(
    counts=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    dtype=st.sampled_from(INTEGERS + FLOATS),
    m=st.integers(0, 4),
    seed=seeds,
)
def test_polynomials(counts, dtype, m, seed):
    rng = np.random.default_rng(seed)
    p, q = (random_array(rng, (n,), dtype, -9, 9, special=False) for n in counts)
    agree(lambda p, q: (np.polyadd(p, q), np.polysub(p, q), np.polyadd(p, q[0])), p, q)
    agree(lambda p: np.polyder(p, m), p)
    agree(lambda p: np.poly(p), p, rounded=True)
    agree(lambda p: np.polyint(p, m), p, rounded=True)
    agree(lambda p: np.polyint(p, m, k=3), p, rounded=True)


@given(shape=shapes, dtype=st.sampled_from(FLOATS), seed=seeds)
def test_parts_of_floats(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x = random_array(rng, shape, dtype) * random_array(rng, shape, dtype, special=False)
    x = np.asarray(np.ldexp(x, rng.integers(-1100, 1100, shape)), dtype) if seed % 2 else np.asarray(x, dtype)
    agree(lambda x: np.spacing(x), x)
    for exponent in (np.int32, np.int64, np.int8):
        n = rng.integers(-120, 120, shape).astype(exponent)
        agree(lambda x, n: np.ldexp(x, n), x, n)
    agree(lambda x, n: np.ldexp(x, n), x, rng.integers(-2200, 2200, shape))
    finite = np.where(np.isfinite(x), x, 1).astype(dtype)
    agree(lambda x: np.frexp(x), finite)


def test_parts_of_special_floats():
    for dtype in FLOATS:
        limits = np.finfo(dtype)
        x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0], dtype)
        ends = [limits.max, limits.min, limits.tiny, limits.smallest_subnormal, limits.eps, -limits.tiny]
        x = np.concatenate([x, np.array(ends, dtype)])
        near = np.concatenate([np.nextafter(x, dtype.type(np.inf)), np.nextafter(x, dtype.type(-np.inf))])
        x = np.concatenate([x, near])
        agree(lambda x: np.spacing(x), x)
        agree(lambda x: np.frexp(x)[0], x)
        agree(lambda x: np.frexp(x)[1], x[np.isfinite(x)])
        for n in (0, 1, -1, 1023, 1024, -1074, -1075, 2100, -2100, 10**9, -(10**9)):
            agree(lambda x, n=n: np.ldexp(x, n), x)


@given(shape=shapes, dtype=st.sampled_from(INTEGERS), seed=seeds)
def test_common_divisors(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x, y = (random_array(rng, shape, dtype, 0, 10**6) for _ in range(2))
    agree(np.gcd, x, y)
    agree(np.lcm, x, y)


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_divisors_that_take_longest(dtype):
    fibonacci = [0, 1]
    while fibonacci[-1] + fibonacci[-2] <= np.iinfo(dtype).max:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    x = np.array(fibonacci, dtype)
    agree(lambda x: np.gcd(x[1:], x[:-1]), x)
    agree(lambda x: np.gcd(x[:-1], -x[1:]), x)
    lowest = np.array([np.iinfo(dtype).min, 0, 12, np.iinfo(dtype).max], dtype)
    agree(lambda x: np.gcd(x[:, None], x), lowest)
    agree(lambda x: np.lcm(x[:, None], x), lowest)


def test_questions(rng):
    x = np.ones((3, 3), np.float32)
    agree(lambda x: np.tril_indices_from(x), x)
    agree(lambda x: np.triu_indices_from(x, 1), x)
    agree(lambda x: np.diag_indices_from(x), x)
    agree(lambda x: np.apply_over_axes(np.sum, x, [0, 1]), x, rounded=True)
    found = tk.jit(lambda x: [np.common_type(x), np.can_cast(x, np.float64), np.min_scalar_type(x)])(x)
    assert found == [np.common_type(x), np.can_cast(x.dtype, np.float64), np.min_scalar_type(x)]


@pytest.mark.parametrize("axis", [0, 1, 2, -1, 3])
def test_apply_along_axis(axis, rng):
    x = random_array(rng, (2, 3, 4), np.float64, special=False)
    agree(lambda x: np.apply_along_axis(np.max, axis, x), x)
    agree(lambda x: np.apply_along_axis(lambda row, k: row[::-1] * k, axis, x, 2), x)
    agree(lambda x: np.apply_along_axis(np.diag, axis, x), x)
    agree(lambda x: np.apply_along_axis(np.sum, axis, x[:0]), x)
    with pytest.raises(NotImplementedError, match="axis=-1"):
        tk.jit(lambda x: np.apply_along_axis(np.max, 1, x))(np.ones((5000, 2)))
