"""out= of NumPy's functions: its place among the arguments, which arrays NumPy takes for it, and how results get into them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from .. import _dtypes, _sharing
from .._errors import UserTypeError, UserValueError, fail, unsupported
from .._native import ArrayBase
from .._ops import as_array, convert
from .._unknown import IN_NDARRAY, need_more
from . import writing

#: Those whose text does not tell NumPy's parameters in all versions
_WITHOUT_SIGNATURE: dict[Callable[..., Any], tuple[str, ...]] = {
    np.dot: ("a", "b", "out"),
    np.concatenate: ("arrays", "axis", "out"),
}


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@functools.cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what may be given by position, if `out` is among them."""
    text = getattr(function, "__text_signature__", None)
    if text is not None and "out" not in text:  # reading it takes longer than most traces
        return ()
    inner = getattr(function, "__wrapped__", None)
    if type(inner) is FunctionType and not vars(inner):  # its code tells what inspect would, sooner
        code = inner.__code__
        names = code.co_varnames[: code.co_argcount]
        return names if "out" in names else ()
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:
        return _WITHOUT_SIGNATURE.get(function, ())
    names = tuple(one.name for one in found if one.kind in _BY_POSITION)
    return names if "out" in names else ()


def has_out(function: Callable[..., Any]) -> bool:
    return "out" in _parameters(function)


def apart(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """The arguments of a call without out=, and that: implementations do not have it, and so what comes behind it by position
    is given by name."""
    names = _parameters(function)
    if not names or len(args) <= names.index("out"):
        return args, kwargs, kwargs.pop("out", None)
    place = names.index("out")
    if "out" in kwargs or len(args) > len(names):
        fail(UserTypeError, f"{function.__name__}() takes at most {len(names)} arguments by position")
    behind = dict(zip(names[place + 1 :], args[place + 1 :], strict=False))
    return args[:place], {**behind, **kwargs}, args[place]


@functools.cache
def needs_out(implementation: Callable[..., Any]) -> bool:
    """Whether what is computed depends on where it goes to."""
    return "out" in inspect.signature(implementation).parameters


def arrays_of(what: str, out: Any, inputs: Sequence[Any] = ()) -> tuple[Any, ...]:
    """What out= names: Arrays to write to, None for results that get memory of their own."""
    outs = out if isinstance(out, tuple) else (out,)
    for one in outs:
        if one is not None and not isinstance(one, ArrayBase):
            for given in inputs:
                if isinstance(given, ArrayBase) and given._traced:
                    need_more(given)
            unsupported(
                f"{what} into an ndarray",
                f"a value that is computed later cannot be stored in it; {IN_NDARRAY}, or write y = y + x instead of y += x",
            )
    return outs


def written(what: str, results: Any, outs: tuple[Any, ...], casting: str = "same_kind") -> Any:
    """The results, in the memory that out= names."""
    if all([out is None for out in outs]):
        return results
    several = isinstance(results, tuple)
    made = []
    for result, out in zip(results if several else (results,), outs, strict=True):
        if out is None:
            made.append(result)
            continue
        _sharing.write(out, writing.fitting_result(out, result, what, casting), what)
        made.append(out)
    return tuple(made) if several else made[0]


# ---------------------------------------------------------------------------------------------------------------------
# What NumPy's functions make of it

#: Element-wise: results are broadcast into it, and of the same kind
_ELEMENTWISE = {np.clip, np.round, np.around, np.fix, np.isposinf, np.isneginf}
#: Results become what it is, whatever that is
_UNSAFE = {
    *(
        np.sum,
        np.prod,
        np.max,
        np.amax,
        np.min,
        np.amin,
        np.any,
        np.all,
        np.mean,
        np.var,
        np.trace,
        np.choose,
    ),
    *(np.cumsum, np.cumprod, np.cumulative_sum, np.cumulative_prod, np.nancumsum, np.nancumprod),
    *(np.nansum, np.nanprod, np.nanmax, np.nanmin, np.median, np.nanmedian, np.nanquantile, np.nanpercentile),
}
#: NumPy reads it as if it had the dtype of the result, which must not lose anything, and then writes the result to it
_READ_FIRST = {np.take, np.compress, np.argmax, np.argmin, np.nanargmax, np.nanargmin}
#: Exactly the array that NumPy would make itself
_EXACT = {np.dot, np.linalg.multi_dot}
#: Of the same kind, for floats only
_INEXACT = {np.nanmean, np.nanvar}
_JOINING = {np.concatenate, np.stack}
_QUANTILE, _PERCENTILE, _EINSUM = np.quantile, np.percentile, np.einsum
#: Ways to find quantiles that give elements
_TAKEN_QUANTILES = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")


def _is_taken(q: Any, method: str = "linear") -> bool:
    """Whether quantiles are elements, which are taken; those between elements are computed."""
    return method in _TAKEN_QUANTILES or (method == "linear" and as_array(q).dtype.kind in "iu")


def _rule_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    given = args[0] if args else kwargs.get("a")
    if function in (_QUANTILE, _PERCENTILE) and kwargs.get("weights") is not None:
        return "unsafe"
    if function is _QUANTILE and _is_taken(
        args[1] if len(args) > 1 else kwargs["q"], kwargs.get("method", "linear")
    ):
        return "read first"
    if function is _PERCENTILE and kwargs.get("method") in _TAKEN_QUANTILES:
        return "read first"
    if function in _INEXACT:
        return "same_kind" if _dtypes.is_float(as_array(given).dtype) else "unsafe"
    if function in _READ_FIRST:
        return "read first"
    if function in _EXACT:
        return "exact"
    if function is _EINSUM:
        return str(kwargs.get("casting", "safe"))
    return "unsafe" if function in _UNSAFE else str(kwargs.get("casting", "same_kind"))


def write_result(
    function: Callable[..., Any],
    what: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    out: Any,
) -> Any:
    """The result of a function in the array that out= names, if there is one; NumPy's refusals."""
    (place,) = arrays_of(what, out, args)
    if place is None:
        return result
    if function in _JOINING and kwargs.get("dtype") is not None:
        fail(UserTypeError, f"{what} only takes `out` or `dtype` as an argument, but both were provided")
    found = as_array(result)
    if function not in _ELEMENTWISE and found.shape != place.shape:
        fail(UserValueError, f"{what}: out= is {place._type_text}, the result {found._type_text}")
    rule = _rule_of(function, args, kwargs)
    if rule == "exact":
        if place.dtype != found.dtype or not _sharing.is_contiguous(place):
            fail(
                UserValueError,
                f"{what}: out= has to be what the result would be, {found._type_text} and contiguous",
            )
    elif rule == "read first":
        if not np.can_cast(place.dtype, found.dtype, "safe"):
            fail(UserTypeError, f"{what}: out= of {place.dtype} is not safely {found.dtype}")
        rule = "unsafe"
    return written(what, convert(found, found.dtype), (place,), "equiv" if rule == "exact" else rule)
