"""Methods of ndarray, and results into memory that is given."""

import numpy as np
import pytest
import tokamak as tk
from numpy import sqrt

from support import assert_same, check_writes

F32 = np.arange(1, 13, dtype=np.float32).reshape(3, 4) / np.float32(3)
I8 = np.arange(12, dtype=np.int8).reshape(3, 4) * np.int8(20)
MASK = F32 > 2

INTO = {
    "sum": lambda x, o, m: np.sum(x, out=o),
    "sum by position": lambda x, o, m: np.sum(x, None, None, o),
    "sum method": lambda x, o, m: x.sum(out=o),
    "sum where": lambda x, o, m: np.sum(x, out=o, where=m),
    "prod": lambda x, o, m: x.prod(out=o),
    "mean": lambda x, o, m: np.mean(x, out=o),
    "mean method": lambda x, o, m: x.mean(None, None, o),
    "mean where": lambda x, o, m: np.mean(x, out=o, where=m),
    "var": lambda x, o, m: np.var(x, out=o, where=m),
    "std": lambda x, o, m: x.std(ddof=1, out=o),
    "max": lambda x, o, m: x.max(None, o),
    "min": lambda x, o, m: np.min(x, initial=0.5, out=o),
    "any": lambda x, o, m: np.any(x, out=o),
    "all": lambda x, o, m: x.all(out=o),
    "ptp": lambda x, o, m: np.ptp(x, out=o),
    "trace": lambda x, o, m: x.trace(out=o),
    "nansum": lambda x, o, m: np.nansum(x, out=o),
    "argmax": lambda x, o, m: x.argmax(out=o),
    "take": lambda x, o, m: x.take(1, out=o),
    "wrong shape": lambda x, o, m: np.sum(x, axis=0, out=o),
}
INTO_MATRIX = {
    "cumsum": lambda x, o, m: np.cumsum(x, 1, out=o),
    "cumprod": lambda x, o, m: x.cumprod(0, None, o),
    "clip": lambda x, o, m: x.clip(1, 2, o),
    "round": lambda x, o, m: x.round(out=o),
    "take": lambda x, o, m: np.take(x, [2, 1, 0], 0, o),
    "computed take": lambda x, o, m: np.take(x, np.arange(3)[::-1] + 0 * x.argmin(), 0, o),
    "dot": lambda x, o, m: x.dot(np.eye(4, dtype=x.dtype), o),
    "concatenate": lambda x, o, m: np.concatenate([x[1:], x[:1]], 0, o),
    "mean": lambda x, o, m: np.mean(x, axis=(), out=o),
}


def check_into(function, x, out):
    wanted_out, got_out = out.copy(), out.copy()
    try:
        wanted = function(x, wanted_out, MASK)
    except (TypeError, ValueError) as error:
        with pytest.raises((type(error).__mro__[-3], tk.Unsupported)):
            tk.jit(lambda x, o, m: function(x, o, m))(x, got_out, MASK)
        return
    try:
        got = tk.jit(lambda x, o, m: function(x, o, m))(x, got_out, MASK)
    except tk.Unsupported:
        assert x.dtype != out.dtype
        return
    assert got is got_out or np.shares_memory(got, got_out) or got.ndim == 0
    assert_same(got_out, wanted_out, ulp=4)
    assert wanted.dtype == got.dtype


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "?"])
@pytest.mark.parametrize("x", [F32, I8, F32.astype(np.float16)], ids=["f32", "i8", "f16"])
@pytest.mark.parametrize("name", INTO)
def test_reductions_into_memory(name, x, dtype):
    check_into(INTO[name], x, np.zeros((), dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "i1"])
@pytest.mark.parametrize("x", [F32, I8], ids=["f32", "i8"])
@pytest.mark.parametrize("name", INTO_MATRIX)
def test_results_into_memory(name, x, dtype):
    check_into(INTO_MATRIX[name], x, np.zeros((3, 4), dtype))


def test_the_arguments_behind_out_are_where_numpy_has_them():
    def function(x):
        return np.sum(x, 0, None, None, True), np.max(x, 1, None, True), x.mean(0, None, None, True)

    for got, wanted in zip(tk.jit(function)(F32), function(F32), strict=True):
        assert_same(got, wanted, ulp=2)


# -- Attributes and methods


def told(x):
    names = ("c_contiguous", "f_contiguous", "writeable", "owndata", "aligned", "forc", "fnc")
    flags = [bool(getattr(x.flags, name)) for name in names]
    return [*flags, x.flags["C"], x.flags["F_CONTIGUOUS"], x.flags["W"], *x.strides, x.base is None]


def test_flags_strides_and_bases():
    def function(a):
        several = [a, a.T, a[1:], a[:, 1:], a.T.copy(), a.copy(), a[::2], a[:, ::-1], a + 1, a.T + 1, a.imag]
        several += [np.broadcast_to(a, (2, *a.shape)), a.reshape(-1), np.diagonal(a), a[0], a.astype("f4")]
        several += [np.einsum("ij->ji", a), np.zeros((2, 3)), np.zeros((2, 3), order="F")]
        return [told(x) for x in several]

    a = F32.copy()
    wanted = function(a)
    for got in (tk.jit(function)(a), tk.jit(function)(a)):
        for one, other in zip(got, wanted, strict=True):
            assert list(one) == list(other)


def test_arrays_that_were_made_read_only():
    def function(a):
        b = a.copy()
        b.flags.writeable = False
        b[0] = 1
        return b

    with pytest.raises(ValueError, match="read-only"):
        tk.jit(function)(F32)


def swapped_rows(a):
    p = np.argmax(np.abs(a[:, 0]))
    a[[0, p]] = a[[p, 0]]
    return a


def from_a_range(a):
    a[0] = range(a.shape[1])
    return a


def under_a_mask_without_axes(a):
    z = a[0, 0, ...]
    z[z > 0] = 1
    z[z <= 0] = 2
    return a


def by_methods(a):
    index = (a > 2).astype(int)
    return (
        a.trace(),
        a.diagonal(),
        a.diagonal(1),
        index.choose([a, -a]),
        a.compress([1, 0, 1], axis=0),
        a.imag,
    )


def at_lists_of_computed_places(a):
    places = [a.argmax() % 3, 0]
    return a[places], a[places, [0, 1]], a[[a.argmin() % 3]]


def sums_of_bools(a):
    return np.cumsum(a > 2, dtype=bool), np.cumprod(a > 0, dtype=bool, axis=0), a.cumsum(1, bool)


def select_wraps(a):
    return np.select([a > 2], [a.astype(np.uint8)], -1)


@pytest.mark.parametrize(
    "function",
    [
        swapped_rows,
        from_a_range,
        under_a_mask_without_axes,
        by_methods,
        at_lists_of_computed_places,
        sums_of_bools,
        select_wraps,
    ],
)
def test_programs(function):
    check_writes(function, F32 - 1)


def test_an_element_takes_no_sequence():
    def function(a):
        a[0, 0] = a[:1, 0]
        return a

    for one in (function, tk.jit(function)):
        with pytest.raises(ValueError, match="setting an array element with a sequence"):
            one(F32.copy())


@pytest.mark.parametrize(
    "function, instead",
    [
        (lambda x: x.nonzero(), "use np.where"),
        (lambda x: x.compress(x[0] > 1), "use np.where"),
        (lambda x: np.require(x), "use np.asarray"),
        (lambda x: np.asarray_chkfinite(x), "np.isfinite"),
        (lambda x: sqrt([x, x]), "np.stack"),
    ],
)
def test_refusals_say_what_to_use(function, instead):
    with pytest.raises(tk.Error, match=instead):
        tk.jit(function)(F32)
