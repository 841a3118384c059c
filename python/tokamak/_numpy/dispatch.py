"""`__array_ufunc__` and `__array_function__`: from NumPy's calls to the implementations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._errors import UserTypeError, fail, unsupported
from .._native import ArrayBase
from .._registry import TABLE, name_of, remedy_for
from . import contractions, reductions, shapes, ufuncs

#: ufunc.reduce and ufunc.accumulate, by ufunc
_REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: reductions.sum_,
    np.multiply: reductions.prod,
    np.maximum: reductions.max_,
    np.minimum: reductions.min_,
    np.logical_or: reductions.any_,
    np.logical_and: reductions.all_,
}
_ACCUMULATIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: reductions.cumsum,
    np.multiply: reductions.cumprod,
    np.maximum: reductions.cummax,
    np.minimum: reductions.cummin,
}


def refuse_out(what: str, out: Any) -> None:
    outs = out if isinstance(out, tuple) else (out,)
    if all(one is None for one in outs):
        return
    if any(isinstance(one, ArrayBase) for one in outs):
        unsupported(f"{what} with out=", "arrays are immutable; use the result instead")
    unsupported(
        f"{what} into an ndarray",
        "a value that is computed later cannot be stored in it; write y = y + x instead of y += x",
    )


def array_ufunc(ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    what = name_of(ufunc) + ("" if method == "__call__" else f".{method}")
    refuse_out(what, options.pop("out", None))
    if ufunc.signature is not None:
        return contractions.call_gufunc(ufunc, method, inputs, options)
    if method == "reduce" and ufunc in _REDUCTIONS:
        options.setdefault("axis", 0)
        return _REDUCTIONS[ufunc](*inputs, **options)
    if method == "accumulate" and ufunc in _ACCUMULATIONS:
        options.setdefault("axis", 0)
        return _ACCUMULATIONS[ufunc](*inputs, **options)
    if method == "outer" and ufunc in TABLE:
        left, right = inputs
        return ufuncs.call(ufunc, shapes.append_axes(left, np.ndim(right)), right, **options)
    if method != "__call__":
        unsupported(what, remedy_for(ufunc))
    for name in ("where", "order", "subok", "casting", "signature", "sig", "extobj"):
        if options.pop(name, None) not in (None, True, "K", "same_kind"):
            unsupported(f"{what} with {name}=", "call it without, and use np.where or astype")
    if set(options) - {"dtype"}:
        fail(UserTypeError, f"{what} takes no argument {sorted(set(options) - {'dtype'})[0]!r}")
    return ufuncs.call(ufunc, *inputs, **options)


def array_function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    implementation = TABLE.get(function)
    if implementation is None:
        unsupported(name_of(function), remedy_for(function))
    refuse_out(name_of(function), kwargs.pop("out", None))
    try:
        return implementation(*args, **kwargs)
    except TypeError as error:
        if (
            error.__traceback__ is not None and error.__traceback__.tb_next is None
        ):  # the call itself did not fit
            _explain_arguments(function, kwargs, error)
        raise


def _explain_arguments(function: Callable[..., Any], kwargs: dict[str, Any], error: TypeError) -> None:
    given = ", ".join(f"{name}=" for name in kwargs) or "these arguments"
    unsupported(f"{name_of(function)} with {given}", str(error))
