"""One table of what is implemented for Arrays: NumPy's ufuncs and functions, and ufuncs of other packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Implementation = TypeVar("Implementation", bound=Callable[..., Any])

#: module -> name -> rule, for ufuncs of packages that are known once somebody has imported them
LATE: dict[str, dict[str, Callable[..., Any]]] = {"scipy.special": {}}


def _home_of(function: Any) -> str | None:
    """Which of these packages a ufunc is of; ufuncs do not tell."""
    for module in LATE:
        loaded = sys.modules.get(module)
        if loaded is not None and getattr(loaded, function.__name__, None) is function:
            return module
    return None


class Table(dict[Callable[..., Any], Callable[..., Any]]):
    """Function or ufunc -> what does its work on Arrays. Ufuncs of other packages get in when they are asked for."""

    def __contains__(self, function: Any) -> bool:
        return dict.__contains__(self, function) or self._add_late(function)

    def get(self, function: Any, default: Any = None) -> Any:
        found = dict.get(self, function)
        if found is None and self._add_late(function):
            found = self[function]
        return default if found is None else found

    def _add_late(self, function: Any) -> bool:
        if super().__contains__(function) or not isinstance(function, np.ufunc):
            return False
        home = _home_of(function)
        if home is None or function.__name__ not in LATE[home]:
            return False
        self[function] = LATE[home][function.__name__]
        return True


TABLE = Table()


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


def implements_late(module: str, *names: str) -> Callable[[Implementation], Implementation]:
    """Registers the rule of ufuncs of another package, without importing it."""

    def register(implementation: Implementation) -> Implementation:
        LATE[module].update(dict.fromkeys(names, implementation))
        return implementation

    return register


def name_of(function: Callable[..., Any]) -> str:
    """As a user would write it: np.linalg.inv, np.add, scipy.special.erf."""
    if isinstance(function, np.ufunc) and (home := _home_of(function)) is not None:
        return f"{home}.{function.__name__}"
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
    np.trim_zeros: _CHOOSE,
    np.polymul: _DEPENDS + "np.convolve keeps leading zeros",
    np.polydiv: _DEPENDS + "compute it outside the jitted function",
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
