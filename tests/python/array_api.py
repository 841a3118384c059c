"""What the tests of the array API standard share: its dtypes, and comparison."""

import numpy as np
import tokamak as tk

from support import assert_same

BOOL = [tk.bool]
INTEGERS = [getattr(tk, f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)]
FLOATS = [tk.float32, tk.float64]
NUMERIC = INTEGERS + FLOATS
ALL = BOOL + NUMERIC


def compare(got, want, what, limit=0.0):
    """Same dtypes, shapes and elements; where sums are rounded, up to a few units of the largest."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), what
        for one, other in zip(got, want, strict=True):
            compare(one, other, what, limit)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), what
    if want.dtype.kind == "f" and limit:
        eps = limit * np.finfo(want.dtype).eps
        np.testing.assert_allclose(got, want, rtol=eps, atol=eps * 100, err_msg=what)
    else:
        assert_same(got, want, what=what)
