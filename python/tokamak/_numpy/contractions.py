"""Sums of products: matmul and its kin, einsum, and sliding windows."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import operator
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view as np_sliding_window_view

from .. import _dtypes, _memory_order, _native, _sharing
from .._errors import Error, UserTypeError, UserValueError, fail, make, unsupported, user_line
from .._ops import apply, as_array, broadcast, convert, full, iota, reshape, select, strong
from .._registry import implements, name_of, remedy_for
from . import ufuncs
from .reductions import axis_of

_LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in NumPy's order for lists of integers


class LinAlgError(UserValueError, np.linalg.LinAlgError):
    """An operand that is no matrix."""


def operand(value: Any) -> Any:
    """As an Array. Numbers are arrays here, and do not adopt the dtype of others: NumPy has it so."""
    x = as_array(value)
    return x if x._weak is None else strong(x, x.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# NumPy's ufuncs on matrices and vectors


def matmul(x1: Any, x2: Any) -> Any:
    arrays = operand(x1), operand(x2)
    made = _native.matmul(*arrays)
    stacked = max(arrays[0].ndim, arrays[1].ndim) - 2
    if stacked < 1:
        return made
    # Matrices lie by rows, and the axes along which they are stacked as they are gone through.
    if stacked == 1 or _memory_order.are_by_rows(arrays):
        return _memory_order.by_rows(made)
    strides = [_memory_order.telling_strides(x)[:-2] for x in arrays]
    order = _native.common_order([[0] * (stacked - len(one)) + one for one in strides], stacked)
    return _memory_order.laid_out(made, [*order, *range(stacked, made.ndim)])


def _vectors(name: str, subscripts: str) -> Callable[[Any, Any], Any]:
    """A function of matrices and vectors: an einsum whose summed axes must have equal extents."""
    terms = subscripts.partition("->")[0].replace("...", "").split(",")
    (summed,) = set(terms[0]) & set(terms[1])

    def function(x1: Any, x2: Any) -> Any:
        arrays = operand(x1), operand(x2)
        for x, term in zip(arrays, terms, strict=True):
            if x.ndim < len(term):
                fail(UserValueError, f"np.{name}: {x._type_text} has fewer than {len(term)} axes")
        extents = [x.shape[term.index(summed) - len(term)] for x, term in zip(arrays, terms, strict=True)]
        if extents[0] != extents[1]:
            types = " and ".join(x._type_text for x in arrays)
            fail(
                UserValueError,
                f"np.{name}: {types} do not match: the summed axes are {extents[0]} and {extents[1]}",
            )
        return _native.einsum(subscripts, arrays)

    return function


_GUFUNCS: dict[Any, Callable[[Any, Any], Any]] = {np.matmul: matmul}
for _name, _subscripts in {
    "vecdot": "...i,...i->...",
    "matvec": "...ij,...j->...i",
    "vecmat": "...i,...ij->...j",
}.items():
    if hasattr(np, _name):
        _GUFUNCS[getattr(np, _name)] = _vectors(_name, _subscripts)


def call_gufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """A call of a ufunc that works on more than single elements."""
    what = name_of(ufunc)
    function = _GUFUNCS.get(ufunc)
    if function is None or method != "__call__":
        unsupported(what if method == "__call__" else f"{what}.{method}", remedy_for(ufunc))
    keywords = _GufuncKeywords(what, **_known_keywords(what, options))
    x1, x2 = map(operand, inputs)
    x1, x2 = keywords.moved(ufunc, x1, x2)
    if not (_dtypes.is_bfloat16(x1.dtype) or _dtypes.is_bfloat16(x2.dtype)):  # which NumPy has no loops for
        loop = keywords.loop_of(ufunc, (x1, x2))
        x1, x2 = convert(x1, loop[0]), convert(x2, loop[1])
    return _memory_order.all_laid_out(keywords.moved_back(ufunc, function(x1, x2)), keywords.order)


def _known_keywords(what: str, options: dict[str, Any]) -> dict[str, Any]:
    """Those that say something about values, axes or memory."""
    given = {name: value for name, value in options.items() if name != "subok"}
    if "sig" in given:
        given["signature"] = given.pop("sig")
    unknown = sorted(set(given) - {"axes", "axis", "keepdims", "dtype", "casting", "signature", "order"})
    if unknown:
        fail(UserTypeError, f"{what} takes no argument {unknown[0]!r}")
    return given


@dataclass(frozen=True)
class _GufuncKeywords:
    """What the keywords of a call say about where the axes of vectors and matrices are, and about dtypes."""

    what: str
    axes: Any = None
    axis: int | None = None
    keepdims: bool = False
    dtype: Any = None
    casting: str = "same_kind"
    signature: Any = None
    order: str = "K"

    def loop_of(self, ufunc: np.ufunc, operands: Sequence[Any]) -> Sequence[np.dtype[Any]]:
        signature = ufuncs.signature_of(ufunc, self.dtype, self.signature)
        return ufuncs.loop_of(ufunc, operands, signature, self.casting)

    def moved(self, ufunc: np.ufunc, x1: Any, x2: Any) -> tuple[Any, Any]:
        """The operands with the axes of vectors and matrices last."""
        is_vecdot = ufunc is getattr(np, "vecdot", None)
        if self.axis is not None and self.axes is not None:
            fail(UserTypeError, f"{self.what}: cannot specify both 'axis' and 'axes'")
        if not is_vecdot and self.axis is not None:
            fail(UserTypeError, f"{self.what} takes no argument 'axis'")
        if not is_vecdot and self.keepdims:
            fail(UserTypeError, f"{self.what} does not support keepdims")
        if self.axis is not None:
            return tuple(np.moveaxis(x, axis_of(x, self.axis), -1) for x in (x1, x2))
        if self.axes is None:
            return x1, x2
        if not isinstance(self.axes, list):
            fail(UserTypeError, f"{self.what}: axes should be a list")
        needed = 2 if is_vecdot else 3
        if not needed <= len(self.axes) <= 3:
            fail(
                UserValueError,
                f"{self.what}: axes should be a list with an entry for each of the {needed} arrays",
            )
        return tuple(
            np.moveaxis(x, self._entry(i), range(-len(self._entry(i)), 0)) for i, x in enumerate((x1, x2))
        )

    def _entry(self, position: int) -> tuple[int, ...]:
        given = self.axes[position] if position < len(self.axes) else ()
        return given if isinstance(given, tuple) else (given,)

    def moved_back(self, ufunc: np.ufunc, result: Any) -> Any:
        if self.keepdims:
            place = -1 if self.axis is None and self.axes is None else self.axis
            return np.expand_dims(result, self._entry(0)[0] if place is None else place)
        if self.axes is None or not self._entry(2):
            return result
        entry = self._entry(2)
        return np.moveaxis(result, range(-len(entry), 0), entry)


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return matmul(x1, x2)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return call_gufunc(np.vecdot, "__call__", (x1, x2), {"axis": axis})


# ---------------------------------------------------------------------------------------------------------------------
# NumPy's functions


@implements(np.dot)
def dot(a: Any, b: Any) -> Any:
    return _native.dot(operand(a), operand(b))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    return _native.vdot(operand(a), operand(b))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    return _native.inner(operand(a), operand(b))


@implements(np.outer)
def outer(a: Any, b: Any) -> Any:
    return _native.outer(operand(a), operand(b))


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    a, b = operand(x1), operand(x2)
    if a.ndim != 1 or b.ndim != 1:
        fail(UserValueError, f"np.linalg.outer: {a._type_text} and {b._type_text} must both have one axis")
    return _native.outer(a, b)


def tensordot_axes(axes: Any) -> tuple[list[int], list[int]]:
    """As lists for both operands: a number means the last axes of one and the first ones of the other."""
    try:
        if not np.iterable(axes):
            count = operator.index(axes)
            return list(range(-count, 0)), list(range(count))
        first, second = ([operator.index(i) for i in (one if np.iterable(one) else [one])] for one in axes)
    except (TypeError, ValueError) as error:
        if isinstance(error, Error):
            raise
        kind = UserTypeError if isinstance(error, TypeError) else UserValueError
        fail(kind, f"tensordot: axes are an integer, or a list for each operand, not {axes!r}")
    return first, second


@implements(np.tensordot)
@_sharing.gives_array
@_memory_order.makes("C")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    return _native.tensordot(operand(a), operand(b), *tensordot_axes(axes))


@implements(np.linalg.tensordot)
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any]) -> Any:
    xs = [operand(x) for x in arrays]
    if len(xs) < 2:
        fail(UserValueError, "np.linalg.multi_dot: expecting at least two arrays")
    if len(xs) == 2:
        return _native.dot(*xs)
    for i, x in enumerate(xs):
        if x.ndim != 2 and not (x.ndim == 1 and i in (0, len(xs) - 1)):
            raise make(LinAlgError, f"np.linalg.multi_dot: {x._type_text} is no matrix", user_line())
    for x, y in zip(xs, xs[1:], strict=False):
        if x.shape[-1] != y.shape[0]:
            fail(
                UserValueError,
                f"np.linalg.multi_dot: {x._type_text} and {y._type_text} do not match: {x.shape[-1]} and {y.shape[0]}",
            )
    if len(xs) >= len(_LETTERS):
        product = xs[0]
        for x in xs[1:]:
            product = _native.dot(product, x)
        return product
    terms = [_LETTERS[i : i + 2] for i in range(len(xs))]
    if xs[0].ndim == 1:
        terms[0] = terms[0][1:]
    if xs[-1].ndim == 1:
        terms[-1] = terms[-1][:1]
    ends = ("" if xs[0].ndim == 1 else terms[0][0]) + ("" if xs[-1].ndim == 1 else terms[-1][1])
    return _native.einsum(",".join(terms) + "->" + ends, xs)


# ---------------------------------------------------------------------------------------------------------------------
# einsum


def _letters(subscripts: Any) -> str:
    """Subscripts as the form with lists has them: integers and Ellipsis."""
    letters = []
    for one in subscripts:
        if one is Ellipsis:
            letters.append("...")
            continue
        try:
            number = operator.index(one)
        except TypeError:
            fail(UserTypeError, f"np.einsum: the subscript {one!r} is neither an integer nor Ellipsis")
        if not 0 <= number < len(_LETTERS):
            fail(UserValueError, f"np.einsum: the subscript {number} is not within 0 to {len(_LETTERS) - 1}")
        letters.append(_LETTERS[number])
    return "".join(letters)


def einsum_arguments(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """Either form of the arguments, as a string and the operands."""
    if not arguments:
        fail(UserValueError, "np.einsum: there are no subscripts and no operands")
    if isinstance(arguments[0], str):
        return arguments[0], list(arguments[1:])
    pairs = len(arguments) // 2
    if pairs == 0:
        fail(UserValueError, "np.einsum: an operand needs its list of subscripts")
    text = ",".join(_letters(arguments[2 * i + 1]) for i in range(pairs))
    if len(arguments) % 2:
        text += "->" + _letters(arguments[-1])
    return text, [arguments[2 * i] for i in range(pairs)]


@implements(np.einsum)
@_sharing.shares
def einsum(
    *operands: Any,
    optimize: Any = False,
    dtype: Any = None,
    order: str = "K",
    casting: Any = "safe",
    out: Any = None,
) -> Any:
    """What out= is takes part in the choice of the dtype."""
    subscripts, arrays = einsum_arguments(operands)
    xs = [operand(x) for x in arrays]
    if dtype is not None or out is not None:
        kinds = [x.dtype for x in xs]
        wanted = np.result_type(*kinds, out.dtype) if dtype is None else _dtypes.check(dtype)
        for kind in kinds:
            if not np.can_cast(kind, wanted, casting):
                fail(UserTypeError, f"np.einsum: cannot cast {kind} to {wanted} with casting={casting!r}")
        xs = [convert(x, wanted) for x in xs]
    if len(xs) == 1 and dtype is None and xs[0].ndim and (made := _view_of(subscripts, xs[0])) is not None:
        return made
    result = _native.einsum(subscripts, xs)
    if optimize is not False and len(xs) > 1:
        result = _sharing.with_memory(result)
    if order.upper() == "K" and optimize is False and _native.is_tracing():
        return _memory_order.laid_out(result, _visited_by_einsum(subscripts, xs))
    # Whatever order the products are made in, what is made of rows lies by rows.
    if order == "K" and len(xs) > 1 and all(_memory_order.order_of(x) == [*range(x.ndim)] for x in xs):
        order = "C"
    return _memory_order.asked_for(result, order, result)


def _visited_by_einsum(subscripts: str, xs: Sequence[Any]) -> list[int]:
    """The order of the axes of the result, as NumPy goes through them and those that are summed."""
    taken, arrow, given = subscripts.replace(" ", "").partition("->")
    letters = [term.replace("...", "") for term in taken.split(",")]
    spare = [letter for letter in _LETTERS if letter not in taken]
    more = [x.ndim - len(term) for x, term in zip(xs, letters, strict=True)]
    others = "".join(spare[: max(more)])
    terms = [
        term.replace("...", others[len(others) - n :]) for term, n in zip(taken.split(","), more, strict=True)
    ]
    if not arrow:
        joined = "".join(letters)
        given = "..." + "".join(sorted(letter for letter in set(joined) if joined.count(letter) == 1))
    given = given.replace("...", others)
    labels = given + "".join(sorted(set("".join(terms)) - set(given)))

    def along_labels(x: Any, term: str) -> list[int]:
        own = list(zip(_memory_order.telling_strides(x), term, strict=True))
        return [sum(stride for stride, one in own if one == label) for label in labels]

    strides = [along_labels(x, term) for x, term in zip(xs, terms, strict=True)]
    return [axis for axis in _native.common_order(strides, len(labels)) if axis < len(given)]


def _view_of(subscripts: str, x: Any) -> Any:
    """What einsum gives of one array where it adds nothing up: a view, with axes in another order, or a diagonal. None otherwise."""
    taken, arrow, given = subscripts.replace(" ", "").partition("->")
    if not set(taken + given) <= {*_LETTERS, "."}:
        return None
    spare = [letter for letter in _LETTERS if letter not in taken]
    axes = "".join(spare[: x.ndim - len(taken.replace("...", ""))])
    if not arrow:
        given = "..." + "".join(sorted(letter for letter in set(taken) - {"."} if taken.count(letter) == 1))
    taken, given = taken.replace("...", axes), given.replace("...", axes)
    if len(taken) != x.ndim or set(taken) != set(given) or len(set(given)) != len(given):
        return None

    def forward(parent: Any) -> Any:
        return _native.einsum(f"{taken}->{given}", [parent])

    def put_back(parent: Any, new: Any) -> Any:
        once = sorted(set(taken), key=taken.index)
        ordered = _native.einsum(f"{given}->{''.join(once)}", [new])
        is_first = [taken.index(letter) == i for i, letter in enumerate(taken)]
        shape = [n if first else 1 for n, first in zip(parent.shape, is_first, strict=True)]
        spread = broadcast(reshape(ordered, shape), parent.shape)
        for i, letter in enumerate(taken):
            if not is_first[i]:
                same = apply("eq", *(iota(parent.shape, k, _dtypes.INT64) for k in (i, taken.index(letter))))
                spread = select(same, spread, parent)
        return spread

    def strides() -> list[int]:
        own = _sharing.strides_of(x)
        return [sum(s for s, one in zip(own, taken, strict=True) if one == letter) for letter in given]

    return _sharing.view(x, _sharing.fresh(forward(x)), strides, forward, put_back)


# ---------------------------------------------------------------------------------------------------------------------
# Windows


@implements(np_sliding_window_view)
@_sharing.shares
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    what = "np.lib.stride_tricks.sliding_window_view"
    array = as_array(x)
    sizes = [operator.index(n) for n in (window_shape if np.iterable(window_shape) else (window_shape,))]
    if any(n < 0 for n in sizes):
        fail(UserValueError, f"{what}: the window {tuple(sizes)} has a negative extent")
    given = range(array.ndim) if axis is None else axis if np.iterable(axis) else (axis,)
    axes = [axis_of(array, i) for i in given]
    if len(axes) != len(sizes):
        fail(
            UserValueError,
            f"{what}: a window of {len(sizes)} axes for {len(axes)} axes of {array._type_text}",
        )
    shape = list(array.shape)
    for i, size in zip(axes, sizes, strict=True):
        shape[i] -= size - 1
    if any(n < 0 or (n == 0 and array.shape[i]) for i, n in enumerate(shape)):
        fail(UserValueError, f"{what}: a window of {tuple(sizes)} does not fit into {array._type_text}")
    if 0 in shape + sizes:
        return full(shape + sizes, 0, array.dtype)

    def forward(parent: Any) -> Any:
        return _native.window(parent, axes, sizes, [], [])

    def strides() -> list[int]:
        own = _sharing.strides_of(array)
        return [*own, *(own[i] for i in axes)]

    return _sharing.view(array, forward(array), strides, forward, None)
