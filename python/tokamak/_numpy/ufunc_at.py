"""ufunc.at: an operation at places, once for every time that a place is named."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _sharing
from .._errors import UserTypeError, UserValueError, fail, unsupported
from .._ops import apply, as_array, broadcast, convert, full, reshape, select
from .._registry import name_of
from . import ufuncs
from .indexing import basic, expanded, is_index_array
from .known import known, plain
from .masked import everywhere, is_computed_mask
from .scattering import Places
from .ufunc_methods import LONGEST_SEQUENCE, check_method
from .writing import broadcast_into, check_destination

#: Doing these again changes nothing.
_IDEMPOTENT = {np.absolute, np.fabs, np.positive, np.conjugate, np.sign, np.floor, np.ceil, np.trunc, np.rint}
#: Doing these twice changes nothing.
_INVOLUTIONS = {np.negative, np.invert, np.logical_not}


def at(ufunc: np.ufunc, a: Any, indices: Any, *values: Any) -> None:
    what = f"{name_of(ufunc)}.at"
    check_method(ufunc, "at")
    check_destination(what, a, *(indices if isinstance(indices, tuple) else (indices,)), *values)
    if ufunc.nin == 1 and values:
        fail(UserValueError, "second operand provided when ufunc is unary")
    if ufunc.nin == 2 and not values:
        fail(UserValueError, "second operand needed for ufunc")
    operands = [plain(value) for value in values]
    loop = _loop_of(ufunc, a, operands, what)
    if is_computed_mask(indices):
        _at_mask(ufunc, a, indices, operands, loop, what)
        return
    items = expanded(a, indices)
    if not any(is_index_array(item) for item in items):
        part = basic(a, items)
        given = [broadcast_into(one, part.shape, what) for one in operands]
        _sharing.write(part, _applied(ufunc, loop, part, given), what)
        return
    places = Places(a, items)
    given = [broadcast_into(one, places.shape, what) for one in operands]
    if ufunc.nin == 2:
        _at_places(ufunc, places, given[0], loop, what)
    else:
        _at_places_alone(ufunc, places, loop, what)


def _loop_of(ufunc: np.ufunc, a: Any, operands: list[Any], what: str) -> tuple[np.dtype[Any], ...]:
    """The dtypes NumPy computes in; a is converted to its dtype and back without asking whether that is safe."""
    try:
        loop = ufunc.resolve_dtypes((a.dtype, *(one.dtype for one in operands), a.dtype), casting="unsafe")
    except TypeError as error:
        fail(UserTypeError, f"{what}: {error}")
    for one in loop:
        _dtypes.check(one)
    return loop


def _applied(ufunc: np.ufunc, loop: tuple[np.dtype[Any], ...], x: Any, values: list[Any]) -> Any:
    """ufunc(x, *values) in the dtypes of the loop, given in the dtype of x."""
    rule = ufuncs.rule_of(ufunc)
    converted = [convert(one, dtype) for one, dtype in zip((x, *values), loop, strict=False)]
    return convert(convert(rule(*converted), loop[-1]), x.dtype)


def _at_mask(ufunc: np.ufunc, a: Any, mask: Any, operands: list[Any], loop: Any, what: str) -> None:
    """No place is named twice."""
    for one in operands:
        if one.size != 1:
            unsupported(
                f"{what} with a mask and several values", "use np.where with values of the shape of a"
            )
    given = [broadcast(reshape(one, []), a.shape) for one in operands]
    old = _sharing.fresh(a)
    _sharing.write(a, select(everywhere(mask, a), _applied(ufunc, loop, old, given), old), what)


def _at_places(ufunc: np.ufunc, places: Places, values: Any, loop: Any, what: str) -> None:
    combine = ufuncs.combining(ufunc, loop[-1]) if loop[0] == loop[1] else None
    if combine is not None and loop[0] == loop[2]:
        places.write(ufuncs.combined(ufunc, convert(values, loop[1])), what, combine)
        return
    _in_rounds(ufunc, places, values, loop, what)


def _at_places_alone(ufunc: np.ufunc, places: Places, loop: Any, what: str) -> None:
    if ufunc in _IDEMPOTENT:
        places.write(_applied(ufunc, loop, places.read(), []), what)
        return
    if ufunc in _INVOLUTIONS and loop[0] == loop[1]:
        elements = places.elements
        ones = full(places.shape, 1, _dtypes.INT64)
        none = full(elements.shape, 0, _dtypes.INT64)
        times = apply(
            "scatter", none, places.index, ones, axis=places.axis, mode=places.mode, combine="bit_xor"
        )
        is_odd = convert(times, _dtypes.BOOL)
        places.write_elements(select(is_odd, _applied(ufunc, loop, elements, []), elements), what)
        return
    _in_rounds(ufunc, places, None, loop, what)


def _in_rounds(ufunc: np.ufunc, places: Places, values: Any, loop: Any, what: str) -> None:
    """Rounds in which no place is named twice: where it is known which are, as many as a place is named; else one index each."""
    axis, count = places.axis, places.index.size
    index = reshape(places.index, [count])
    head, tail = places.elements.shape[:axis], places.elements.shape[axis + 1 :]
    flat = None if values is None else reshape(values, [*head, count, *tail])
    elements = places.elements
    for chosen in _rounds(known(index), count, what):
        some = as_array(chosen)
        here = apply("gather", index, some, axis=0, mode="clamp")
        old = apply("gather", elements, here, axis=axis, mode=places.mode)
        given = [] if flat is None else [apply("gather", flat, some, axis=axis, mode="clamp")]
        new = _applied(ufunc, loop, old, given)
        elements = apply("scatter", elements, here, new, axis=axis, mode=places.mode, combine="set")
    places.write_elements(elements, what)


def _rounds(index: np.ndarray | None, count: int, what: str) -> list[np.ndarray]:
    if index is None:
        rounds = [np.array([i]) for i in range(min(count, LONGEST_SEQUENCE + 1))]
    else:
        order = np.argsort(index, kind="stable")
        ordered = index[order]
        first = np.searchsorted(ordered, ordered, "left")
        turn = np.empty(count, np.int64)
        turn[order] = np.arange(count) - first
        rounds = [
            np.flatnonzero(turn == i) for i in range(min(int(turn.max(initial=-1)), LONGEST_SEQUENCE) + 1)
        ]
    if len(rounds) > LONGEST_SEQUENCE:
        unsupported(
            f"{what} at {count} places that may be the same",
            f"its operations depend on each other, and each is code of its own: {LONGEST_SEQUENCE} are the most",
        )
    return rounds
