"""One table of what is implemented for Arrays: NumPy's ufuncs and NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Implementation = TypeVar("Implementation", bound=Callable[..., Any])

#: function or ufunc of NumPy -> what does its work on Arrays
TABLE: dict[Callable[..., Any], Callable[..., Any]] = {}


def implements(*functions: Callable[..., Any]) -> Callable[[Implementation], Implementation]:
    """Registers what does the work of `functions` of NumPy.

    A ufunc's rule takes operands converted to the dtypes of NumPy's inner loop and gives the result; a function's
    implementation takes the arguments of the function.
    """

    def register(implementation: Implementation) -> Implementation:
        for function in functions:
            TABLE[function] = implementation
        return implementation

    return register


def name_of(function: Callable[..., Any]) -> str:
    """As a user would write it: np.linalg.inv, np.add."""
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module.replace('numpy', 'np', 1)}.{function.__name__}"


_DEPENDS = "its shape depends on values; "
_CHOOSE = _DEPENDS + "use np.where with three arguments"

#: Functions whose result has a shape that depends on values, and what to use in a jitted function. Outside they work.
EAGER_ONLY: dict[Callable[..., Any], str] = {
    np.nonzero: _CHOOSE,
    np.flatnonzero: _CHOOSE,
    np.argwhere: _CHOOSE,
    np.extract: _CHOOSE,
    np.compress: _CHOOSE,
    np.trim_zeros: _CHOOSE,
    np.unique: _DEPENDS + "compute it outside the jitted function",
    np.unique_all: _DEPENDS + "compute it outside the jitted function",
    np.unique_counts: _DEPENDS + "compute it outside the jitted function",
    np.unique_inverse: _DEPENDS + "compute it outside the jitted function",
    np.unique_values: _DEPENDS + "compute it outside the jitted function",
    np.union1d: _DEPENDS + "compute it outside the jitted function",
    np.intersect1d: _DEPENDS + "np.isin tells which elements are in both",
    np.setdiff1d: _DEPENDS + "np.isin tells which elements are in both",
    np.setxor1d: _DEPENDS + "np.isin tells which elements are in both",
}

DEFAULT_REMEDY = "compute it outside the jitted function, or write it with other functions"


def remedy_for(function: Callable[..., Any]) -> str:
    return EAGER_ONLY.get(function) or DEFAULT_REMEDY
