"""Mistakes that `mypy --strict` has to find: see test_typing.py."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import tokamak as tk

Floats = npt.NDArray[np.float64]


@tk.jit
def scaled(x: Floats, factor: float = 2.0) -> Floats:
    return x * factor


def mistakes(x: Floats, a: tk.Array) -> None:
    scaled(x, "twice")  # E: incompatible type "str"
    scaled(x, scale=3.0)  # E: Unexpected keyword argument "scale"
    text: str = scaled(x)  # E: Incompatible types in assignment
    tk.sum(a, 0)  # E: Too many positional arguments
    tk.exp(a, x)  # E: Too many arguments
    tk.exp("text")  # E: "str"
    tk.add(a, "text")  # E: No overload variant
    tk.full((2,), "text")  # E: incompatible type "str"
    a.shape[0] = 3  # E: Unsupported target for indexed assignment
    tk.nowhere(a)  # E: has no attribute "nowhere"
    print(text)
