"""scipy.special: its ufuncs on Arrays and inside jit. SciPy says which dtypes and special values; mpmath, how accurate."""

import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest
import scipy.special as sc
import tokamak as tk
from tokamak._registry import LATE

from support import FLOATS, INTEGERS, SIGNED, SPECIAL

NAMES = sorted(LATE["scipy.special"])
UNARY = [name for name in NAMES if getattr(sc, name).nin == 1]
BINARY = [name for name in NAMES if getattr(sc, name).nin == 2]

#: Where SciPy's special values are for an answer that is not one: at the poles, on the left, where results underflow
SCIPY_DIFFERS = {
    "rgamma": [-np.inf],
    "loggamma": [-np.inf],
}


def near(got, want, what, limit):
    """Same dtype and shape, NaN and infinities in the same places, numbers within a share of them."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), what
    np.testing.assert_allclose(got, want, rtol=limit, atol=limit, err_msg=what)


def limit_of(dtype):
    return {2: 2e-3, 4: 2e-6, 8: 1e-12}[np.dtype(dtype).itemsize]


def test_all_are_ufuncs_of_scipy():
    assert len(NAMES) >= 30
    assert set(UNARY) | set(BINARY) == set(NAMES)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name, rng):
    ufunc = getattr(sc, name)
    for dtype in (*FLOATS, *INTEGERS, np.dtype(bool)):
        low, high = (1, 20) if dtype.kind in "iu" else (-3, 3)
        x = (rng.random((3, 7)) * (high - low) + low).astype(dtype)
        want = ufunc(x)
        for got in (tk.jit(lambda x: ufunc(x))(x), ufunc(tk.asarray(x))):
            near(got, want, f"{name} {dtype}", limit_of(want.dtype))
        assert type(ufunc(tk.asarray(x))) is tk.Array


@pytest.mark.parametrize("name", BINARY)
def test_binary(name, rng):
    ufunc = getattr(sc, name)
    for dtype in (*FLOATS, *SIGNED):
        x, y = (rng.integers(0, 8, shape).astype(dtype) / dtype.type(1) for shape in ((3, 7), (7,)))
        x, y = x.astype(dtype), y.astype(dtype)
        want = ufunc(x, y)
        for got in (tk.jit(lambda x, y: ufunc(x, y))(x, y), ufunc(tk.asarray(x), y)):
            near(got, want, f"{name} {dtype}", 4 * limit_of(want.dtype))
        near(tk.jit(lambda x: ufunc(x, 2.5))(x), ufunc(x, 2.5), name, 4 * limit_of(ufunc(x, 2.5).dtype))


VALUES = np.array([*SPECIAL, 0.25, 2.0, 3.0, -2.0, -3.0, 40.0, -40.0, 170.0, 172.0])


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values_of_unary(name, dtype):
    ufunc = getattr(sc, name)
    x = VALUES.astype(dtype)
    x = x[~np.isin(x, SCIPY_DIFFERS.get(name, []))]
    near(tk.jit(lambda x: ufunc(x))(x), ufunc(x), name, limit_of(dtype))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values_of_binary(name, dtype):
    ufunc = getattr(sc, name)
    small = np.array([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 2.5, 1e-8, 30.0], dtype)
    x, y = np.meshgrid(small, small)
    near(tk.jit(lambda x, y: ufunc(x, y))(x, y), ufunc(x, y), name, 4 * limit_of(dtype))


# ---------------------------------------------------------------------------------------------------------------------
# Accuracy


def phi(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def log_phi(x):
    return mpmath.log1p(-phi(-x)) if x > 3 else mpmath.log(phi(x))


def inverse(function, slope, start):
    """The x for which function(x) is y, from SciPy's."""

    def solve(y):
        x = mpmath.mpf(float(start(float(y))))
        for _ in range(6):
            x -= (function(x) - y) / slope(x)
        return x

    return solve


def density(x):
    return mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)


def spread(*ranges):
    """Numbers between each pair of limits: evenly, and where both are positive, evenly in their logarithms too."""
    parts = []
    for low, high in ranges:
        parts.append(np.linspace(low, high, 40)[1:-1] + 0.003)
        if low > 0:
            parts.append(np.geomspace(low, high, 40)[:-1])
    return np.concatenate(parts)


#: name: arguments, the function of mpmath, and the most units in the last place of f64
ACCURACY = {
    "cosm1": (spread((-10, 10), (1e-9, 1e-3)), lambda x: -2 * mpmath.sin(x / 2) ** 2, 3),
    "digamma": (spread((1e-8, 2), (1, 12), (1e2, 1e9), (1.4616, 1.4617)), mpmath.digamma, 4),
    "entr": (spread((0, 3), (1e-300, 1)), lambda x: -x * mpmath.log(x), 3),
    "erfc": (spread((-3, 26)), mpmath.erfc, 3),
    "erfcinv": (
        spread((0.01, 1.9), (1e-290, 1e-2)),
        inverse(mpmath.erfc, lambda x: -2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x), sc.erfcinv),
        4,
    ),
    "erfcx": (
        spread((-26, 40), (-3, 3), (1, 1e300)),
        lambda x: (
            mpmath.exp(x * x) * mpmath.erfc(x)
            if x < 100
            else (1 - 1 / (2 * x * x)) / (x * mpmath.sqrt(mpmath.pi))
        ),
        4,
    ),
    "erfinv": (spread((-1, 0.99), (1e-9, 1e-1)), mpmath.erfinv, 4),
    "exp10": (spread((-300, 300)), lambda x: mpmath.mpf(10) ** x, 3),
    "expit": (spread((-700, 40), (-3, 3)), lambda x: 1 / (1 + mpmath.exp(-x)), 3),
    "exprel": (spread((-5, 700), (1e-18, 1e-3)), lambda x: mpmath.expm1(x) / x, 3),
    "gamma": (spread((0.01, 9), (8, 171), (-20, -0.5)), mpmath.gamma, 8),
    "gammaln": (
        spread((0, 9), (1e-300, 1e-3), (8, 1e300), (0.999, 1.001), (1.999, 2.001)),
        mpmath.loggamma,
        4,
    ),
    "log_expit": (spread((-700, 40), (-3, 3)), lambda x: -mpmath.log1p(mpmath.exp(-x)), 3),
    "log_ndtr": (spread((-60, 36), (-2, 2)), log_phi, 5),
    "logit": (spread((0.2, 0.8), (0.499, 0.501), (1e-300, 0.5)), lambda x: mpmath.log(x / (1 - x)), 3),
    "ndtr": (spread((-37, 8), (-2, 2)), phi, 4),
    "ndtri": (spread((0.01, 0.99), (0.499, 0.501), (1e-290, 1e-2)), inverse(phi, density, sc.ndtri), 4),
    "rgamma": (spread((0.01, 9), (8, 171)), lambda x: 1 / mpmath.gamma(x), 9),
}


@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy(name):
    x, function, most = ACCURACY[name]
    got = tk.jit(lambda x: getattr(sc, name)(x))(x)
    with mpmath.workdps(60):
        for one, found in zip(x.tolist(), got.tolist(), strict=True):
            want = function(mpmath.mpf(one))
            error = abs(mpmath.mpf(found) - want) / mpmath.mpf(float(np.spacing(abs(float(want)))))
            assert error <= most, (
                f"{name}({one!r}) is {found!r}, {float(error):.1f} units from {float(want)!r}"
            )
    narrow = x.astype(np.float32)
    got = tk.jit(lambda x: getattr(sc, name)(x))(narrow)
    want = tk.jit(lambda x: getattr(sc, name)(x))(narrow.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_max_ulp(got, want, 2)


def test_gamma_beside_zero():
    x = np.array([-1e-200, 1e-200, -1e-17, -1e-300, -1e-5, -1e-15, -1e-18])
    for function in (sc.gamma, sc.gammaln):
        np.testing.assert_allclose(tk.jit(lambda x: function(x))(x), function(x), rtol=1e-14)  # noqa: B023


def test_betaln(rng):
    special = [
        0.0,
        -0.0,
        1,
        2,
        3.5,
        0.5,
        1e-200,
        1e-8,
        -0.5,
        -1.5,
        -2,
        -3,
        100,
        171,
        172,
        500,
        1e5,
        1e7,
        1e9,
        1e300,
    ]
    a, b = np.meshgrid([*special, np.inf, -np.inf, np.nan, -2.75], [*special, np.inf, -np.inf, np.nan, 2.25])
    f = tk.jit(lambda a, b: sc.betaln(a, b))
    np.testing.assert_allclose(f(a, b), sc.betaln(a, b), rtol=1e-11, atol=1e-13)
    a, b = np.exp(rng.uniform(-5, 12, (2, 500)))
    largest = np.abs(sc.gammaln(a + b)) + 1  # which cancels
    assert (np.abs(f(a, b) - sc.betaln(a, b)) <= 1e-14 * largest).all()
    narrow = f(a.astype(np.float32), b.astype(np.float32))
    assert narrow.dtype == np.float32


def test_huber_beyond_squares_of_f32():
    delta, r = np.meshgrid(
        np.array([0, 1, 1e25, -1], np.float32), np.array([0, 1e30, 3e38, -1e25, 2], np.float32)
    )
    got = tk.jit(lambda d, r: sc.pseudo_huber(d, r))(delta, r)
    np.testing.assert_allclose(got, sc.pseudo_huber(delta, r), rtol=1e-6)


def test_the_far_tails():
    x = np.array([-1e10, -1e3, -40.0, -38.0, 9.0, 40.0, np.inf, -np.inf])
    got = tk.jit(lambda x: sc.log_ndtr(x))(x)
    want = [float(-(v**2) / 2 - np.log(-v) - np.log(2 * np.pi) / 2) for v in x[:2]]
    np.testing.assert_allclose(got[:2], want, rtol=1e-6)
    assert -805 < got[2] < -804
    assert -1.2e-19 < got[4] < -1.1e-19
    assert (got[6], got[7]) == (0.0, -np.inf)


# ---------------------------------------------------------------------------------------------------------------------
# In programs


def test_keywords(rng):
    x = rng.random((3, 4))

    def program(x):
        out = np.zeros_like(x)
        sc.expit(x, out=out)
        return out, sc.xlogy.outer(x[0], x[1])

    for got, want in zip(tk.jit(program)(x), program(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
    # SciPy's own ufuncs write past the end of their memory when they are given where=.
    got = tk.jit(lambda x: sc.xlogy(x, x, where=x > 0.5, out=np.ones_like(x)))(x)
    np.testing.assert_allclose(got, np.where(x > 0.5, sc.xlogy(x, x), 1), rtol=1e-14)


def test_they_fuse():
    x = np.ones(1000)
    explained = tk.jit(lambda x: sc.xlogy(x, sc.expit(x)).sum()).explain(x)
    assert len(explained.kernels) == 1


@pytest.mark.parametrize(
    "function",
    [
        sc.softmax,
        sc.log_softmax,
        sc.logsumexp,
        lambda x: sc.softmax(x, axis=1),
        lambda x: sc.log_softmax(x, axis=0),
        lambda x: sc.logsumexp(x, axis=1, keepdims=True),
        lambda x: sc.logsumexp(x, axis=0, b=x * x, return_sign=True),
    ],
)
def test_functions_written_in_python(function, rng):
    for dtype in (np.float32, np.float64):
        x = (rng.standard_normal((3, 4)) * 50).astype(dtype)
        want, got = function(x), tk.jit(function)(x)
        for one, other in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
            near(one, other, "", limit_of(dtype) * 100)


def test_functions_written_in_python_on_arrays():
    """SciPy asks arrays for their namespace where its users let it."""
    code = (
        "import numpy as np, scipy.special as sc, tokamak as tk\n"
        "x = np.arange(12.0).reshape(3, 4)\n"
        "for f in (sc.softmax, sc.log_softmax, sc.logsumexp):\n"
        "    got = f(tk.asarray(x), axis=1)\n"
        "    assert type(got) is tk.Array\n"
        "    np.testing.assert_allclose(np.asarray(got), f(x, axis=1), rtol=1e-12)\n"
        "    np.testing.assert_allclose(tk.jit(lambda x: f(x, axis=1))(x), f(x, axis=1), rtol=1e-12)\n"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_those_that_are_not_there():
    with pytest.raises(NotImplementedError, match=r"scipy\.special\.j0 is not supported[\s\S]*test_special"):
        tk.jit(lambda x: sc.j0(x))(np.ones(3))
    with pytest.raises(NotImplementedError, match=r"scipy\.special\.j0"):
        sc.j0(tk.ones(3))
