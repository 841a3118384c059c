"""`__array_ufunc__` and `__array_function__`: from NumPy's calls to the implementations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import Error, UserTypeError, add_name, fail, unsupported
from .._native import ArrayBase, is_tracing
from .._ops import as_array, broadcast, broadcast_shapes, convert, full, select
from .._registry import EAGER_ONLY, TABLE, name_of, remedy_for
from . import contractions, outs, ufunc_at, ufunc_methods, ufuncs, writing


def array_ufunc(ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    if not options and method == "__call__":  # as most calls are
        if ufunc is np.matmul:
            return contractions.matmul(*inputs)
        if ufunc.signature is None and ufunc in TABLE:
            return ufuncs.call(ufunc, *inputs)
    if is_tracing() and ufunc not in TABLE and ufunc.signature is None and not _any_traced([inputs, options]):
        return getattr(ufunc, method)(*_known(inputs), **_known(options))
    what = name_of(ufunc) + ("" if method == "__call__" else f".{method}")
    if method != "__call__":
        ufunc_methods.check_method(ufunc, method)
    if method == "at":
        ufunc_at.at(ufunc, *inputs)
        return None
    places = outs.arrays_of(what, options.pop("out", None), inputs)
    if method in ufunc_methods.METHODS:
        result = _call_method(ufunc, method, what, inputs, places, options)
        return outs.written(what, _sharing.owned(result, inputs), places, "unsafe")
    casting = options.get("casting", "same_kind")
    where = options.pop("where", True)
    result = _sharing.owned(_call_ufunc(ufunc, method, what, inputs, options), inputs)
    if where is not True:
        result = _only_where(result, convert(as_array(where), _dtypes.BOOL), places, what, casting)
    return outs.written(what, result, places, casting)


def _call_method(
    ufunc: np.ufunc, method: str, what: str, inputs: Any, places: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    try:
        return ufunc_methods.METHODS[method](ufunc, *inputs, out=places[0], **options)
    except TypeError as error:
        if (
            error.__traceback__ is not None and error.__traceback__.tb_next is None
        ):  # the call itself did not fit
            fail(UserTypeError, f"{what}: {error}")
        raise


def _only_where(results: Any, where: Any, places: tuple[Any, ...], what: str, casting: str) -> Any:
    """Elsewhere is what was there before; without out= that is anything, and zeros are as good as that."""
    several = isinstance(results, tuple)
    kept = []
    for i, result in enumerate(results if several else (results,)):
        out = places[i] if i < len(places) else None
        shape = broadcast_shapes("where=", [result.shape, where.shape])
        if out is None:
            new, before = broadcast(result, shape), full(shape, 0, result.dtype)
        else:
            new, before = writing.fitting_result(out, broadcast(result, shape), what, casting), out
        kept.append(select(broadcast(where, new.shape), new, before))
    return tuple(kept) if several else kept[0]


def _call_ufunc(ufunc: np.ufunc, method: str, what: str, inputs: Any, options: dict[str, Any]) -> Any:
    if ufunc.signature is not None:
        return contractions.call_gufunc(ufunc, method, inputs, options)
    options.pop("subok", None)
    if (order := options.pop("order", "K")) not in ("K", None):
        results = _call_ufunc(ufunc, method, what, inputs, options)
        return _memory_order.all_laid_out(results, order)
    if "sig" in options:
        options["signature"] = options.pop("sig")
    unknown = sorted(set(options) - {"dtype", "casting", "signature"})
    if unknown:
        fail(UserTypeError, f"{what} takes no argument {unknown[0]!r}")
    if method == "outer":
        return ufunc_methods.outer(ufunc, *inputs, **options)
    return ufuncs.call(ufunc, *inputs, **options)


def array_function(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], is_method: bool = False
) -> Any:
    """NumPy checks the arguments of functions before it asks; those of methods may not fit."""
    implementation = TABLE.get(function)
    can_run = function in EAGER_ONLY or is_tracing()  # where NumPy runs what is known, as far as functions do
    if implementation is None and can_run and not _any_traced([args, kwargs]):
        return _with_values(function, args, kwargs)
    if implementation is None:
        is_inside = _any_traced([args, kwargs])
        unsupported(
            f"{name_of(function)}{'' if is_inside else ' of a tk.Array'}",
            remedy_for(function) if is_inside else "pass np.asarray(x), which has the same memory",
        )
    args, kwargs, out = outs.apart(function, args, kwargs)
    into = {"out": out} if out is not None and outs.needs_out(implementation) else {}
    try:
        result = implementation(*args, **kwargs, **into)
    except Error as error:
        add_name(error, name_of(function))
        raise
    except TypeError as error:
        is_ours = error.__traceback__ is not None and error.__traceback__.tb_next is None
        if is_ours and not is_method:  # the call itself did not fit
            _explain_arguments(function, kwargs, error)
        raise
    if not _sharing.is_view(implementation):
        result = _sharing.owned(result, args)
    return outs.write_result(function, name_of(function), args, kwargs, result, out)


def _any_traced(value: Any) -> bool:
    if isinstance(value, ArrayBase):
        return value._traced
    if isinstance(value, dict):
        value = value.values()
    return isinstance(value, (list, tuple, type({}.values()))) and any(_any_traced(one) for one in value)


def _known(value: Any) -> Any:
    """Arrays as ndarrays, also inside of lists, tuples and dicts; their elements are known."""
    if isinstance(value, ArrayBase):
        return value._view(False)
    if type(value) in (list, tuple):
        return type(value)(map(_known, value))
    return {key: _known(one) for key, one in value.items()} if type(value) is dict else value


def _with_values(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What NumPy gives for the elements, which are known; for functions whose result has a shape that depends on them."""
    result = function(*_known(args), **_known(kwargs))
    if isinstance(result, tuple):
        wrapped = [as_array(one) for one in result]
        return type(result)(*wrapped) if hasattr(result, "_fields") else tuple(wrapped)
    return as_array(result)


def _explain_arguments(function: Callable[..., Any], kwargs: dict[str, Any], error: TypeError) -> None:
    given = ", ".join(f"{name}=" for name in kwargs) or "these arguments"
    unsupported(f"{name_of(function)} with {given}", str(error))
