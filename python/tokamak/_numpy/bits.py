"""x.view(dtype): the bits of elements as those of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _sharing
from .._errors import unsupported
from .._ops import apply, convert
from .._sharing import fresh


def _as_bits(x: Any, dtype: Any) -> Any:
    if x.dtype == dtype:
        return fresh(x)
    if x.dtype.kind == "b" or dtype.kind == "b":  # of the integers that are bool's bits, 0 and 1
        return convert(x, dtype)
    return apply("bitcast", x, dtype=dtype)


@_sharing.shares
def view(x: Any, dtype: Any = None, kind: Any = None) -> Any:
    """Shares the memory: what is written to the view is written to x."""
    if isinstance(dtype, type) and issubclass(dtype, np.ndarray):
        dtype, kind = None, dtype
    if kind is not None and kind is not np.ndarray:
        unsupported(f"x.view({kind.__name__})", "values have no classes of their own; use NumPy functions")
    wanted = x.dtype if dtype is None else _dtypes.check(dtype)
    if wanted.itemsize != x.dtype.itemsize:
        unsupported(
            f"{x._type_text}.view({wanted}), which changes the size of elements",
            "view a dtype of the same size, and use shifts and reshapes for the rest; astype converts values",
        )
    if {x.dtype.itemsize, x.dtype.kind == "f", wanted.kind == "f"} == {2, True, False}:
        unsupported(f"{x._type_text}.view({wanted})", "view 32 or 64 bits; astype converts values")
    before = x.dtype
    return _sharing.view(
        x,
        _as_bits(x, wanted),
        lambda: _sharing.strides_of(x),
        lambda parent: _as_bits(parent, wanted),
        lambda parent, new: _as_bits(new, before),
    )
