"""Comparison of functions with NumPy: jitted and eager, values and errors."""

import warnings

import numpy as np
import tokamak as tk

from support import compare_trees

ERRORS = (ValueError, TypeError, IndexError, OverflowError)


def tolerance_of(dtype):
    return {2: 1e-2, 4: 2e-5, 8: 1e-12}[dtype.itemsize]


def compare_rounded(got, want, what):
    """Same dtypes, shapes and NaNs; floats up to the rounding of sums."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), what
        for one, other in zip(got, want, strict=True):
            compare_rounded(one, other, what)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), (
        f"{what}: {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    )
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    limit = tolerance_of(want.dtype)
    finite = np.abs(want[np.isfinite(want)].astype(np.float64))
    scale = max(1.0, finite.max()) if finite.size else 1.0
    np.testing.assert_allclose(got, want, rtol=limit, atol=limit * scale, err_msg=what)


def agree(function, *args, rounded=False, ulp=0, what=""):
    """Jitted, and called with Arrays, the function does what it does with ndarrays: the same result, or the same error."""
    text = f"{what} {[np.asarray(a) for a in args]}"
    error = want = None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            want = function(*args)
        except ERRORS as raised:
            error = raised
    for way, call in (
        ("jitted", lambda: tk.jit(function)(*args)),
        ("eager", lambda: function(*[tk.asarray(a) for a in args])),
    ):
        if error is not None:
            try:
                found = call()
            except ERRORS as raised:
                kinds = [kind for kind in ERRORS if isinstance(error, kind)]
                assert any(isinstance(raised, kind) for kind in kinds), (
                    f"{text} {way}: {raised!r}, not {error!r}"
                )
                continue
            raise AssertionError(f"{text} {way}: {found}, NumPy raises {error!r}")
        got = call()
        if rounded:
            compare_rounded(got, want, f"{text} {way}")
        else:
            compare_trees(got, want, ulp, f"{text} {way}")


def agree_jitted(function, *args):
    """The jitted function gives what the function gives, twice."""
    expected = function(*args)
    jitted = tk.jit(function)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(*args), expected)
