"""One table of what is implemented for Arrays: NumPy's ufuncs and NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

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


#: What to do instead of some functions that are not there.
REMEDIES = {
    "nonzero": "its shape depends on values; use np.where with three arguments",
    "flatnonzero": "its shape depends on values; use np.where with three arguments",
    "argwhere": "its shape depends on values; use np.where with three arguments",
    "unique": "its shape depends on values; compute it outside the jitted function",
    "extract": "its shape depends on values; use np.where with three arguments",
    "compress": "its shape depends on values; use np.where with three arguments",
    "put": "use x[...] = y with slices, or np.where",
    "place": "use x[mask] = y, or np.where",
}
DEFAULT_REMEDY = "compute it outside the jitted function, or write it with other functions"


def remedy_for(function: Callable[..., Any]) -> str:
    return REMEDIES.get(function.__name__, DEFAULT_REMEDY)
