"""Functions that join arrays and take them apart."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtypes, _sharing
from .._errors import UserTypeError, UserValueError, fail
from .._ops import apply, as_array, convert, is_number, reshape, slice_axis
from .._registry import implements
from .reductions import AxisError, axis_of
from .shapes import atleast_1d, atleast_2d, atleast_3d, ravel


def common_dtype(values: Sequence[Any]) -> np.dtype[Any]:
    """What NumPy's result_type says; Python's numbers adopt what the others have."""
    kinds = []
    for value in values:
        weak = type(value) if is_number(value) else getattr(value, "_weak", None)
        kinds.append(weak(0) if weak in (int, float) else _dtypes.BOOL if weak is bool else value.dtype)
    return _dtypes.check(np.result_type(*kinds))


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(*[a.dtype if hasattr(a, "_weak") else a for a in arrays_and_dtypes])


@implements(np.concatenate)
def concatenate(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = [as_array(a) for a in arrays]
    if not parts:
        fail(UserValueError, "np.concatenate: there is nothing to join")
    if axis is None:
        parts, axis = [ravel(x) for x in parts], 0
    if any(x.ndim == 0 for x in parts):
        fail(UserValueError, "np.concatenate: arrays of no axes cannot be joined; use np.stack")
    common = common_dtype(parts) if dtype is None else _dtypes.check(dtype)
    place = axis_of(parts[0], axis)
    converted = [convert(x, common) for x in parts]
    made = _sharing.fresh(converted[0]) if len(parts) == 1 else apply("concatenate", *converted, axis=place)
    for x in parts:
        if not np.can_cast(x.dtype, common, casting):
            fail(UserTypeError, f"np.concatenate: cannot cast {x.dtype} to {common} with casting={casting!r}")
    return made


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = [as_array(a) for a in arrays]
    if not parts:
        fail(UserValueError, "np.stack: there is nothing to stack")
    shape = parts[0].shape
    if any(x.shape != shape for x in parts):
        fail(
            UserValueError,
            f"np.stack: all arrays must have the shape {shape}, not {[x.shape for x in parts]}",
        )
    place = axis + len(shape) + 1 if axis < 0 else axis
    if not 0 <= place <= len(shape):
        fail(AxisError, f"np.stack: axis {axis} is out of range for {len(shape) + 1} axes")
    widened = [reshape(x, [*shape[:place], 1, *shape[place:]]) for x in parts]
    return concatenate(widened, place, dtype=dtype, casting=casting)


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return concatenate([atleast_2d(a) for a in tup], 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = [atleast_1d(a) for a in tup]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    return concatenate([atleast_3d(a) for a in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    parts = [as_array(a) for a in tup]
    return concatenate([reshape(x, [x.size, 1]) if x.ndim < 2 else x for x in parts], 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    return concatenate([as_array(arr), as_array(values)], axis)


@implements(np.array_split)
@_sharing.shares
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    x = as_array(ary)
    place = axis_of(x, axis)
    extent = x.shape[place]
    if np.ndim(indices_or_sections) == 0:
        sections = operator.index(indices_or_sections)
        if sections <= 0:
            fail(UserValueError, "np.array_split: the number of sections must be positive")
        each, extra = divmod(extent, sections)
        sizes = [each + (i < extra) for i in range(sections)]
        bounds = [0, *np.cumsum(sizes).tolist()]
    else:
        bounds = [0, *indices_or_sections, extent]
    ranges = [slice(a, b).indices(extent) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    return [slice_axis(x, place, start, max(start, stop)) for start, stop, _ in ranges]


@implements(np.split)
@_sharing.shares
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    x = as_array(ary)
    if np.ndim(indices_or_sections) == 0 and x.shape[axis_of(x, axis)] % operator.index(indices_or_sections):
        fail(
            UserValueError, f"np.split: {x._type_text} does not divide into {indices_or_sections} equal parts"
        )
    return array_split(x, indices_or_sections, axis)


def _needs_axes(name: str, x: Any, count: int) -> None:
    if as_array(x).ndim < count:
        fail(UserValueError, f"{name} only works on arrays of {count} or more dimensions")


@implements(np.hsplit)
@_sharing.shares
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _needs_axes("hsplit", ary, 1)
    return split(ary, indices_or_sections, 0 if as_array(ary).ndim == 1 else 1)


@implements(np.vsplit)
@_sharing.shares
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _needs_axes("vsplit", ary, 2)
    return split(ary, indices_or_sections, 0)


@implements(np.dsplit)
@_sharing.shares
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _needs_axes("dsplit", ary, 3)
    return split(ary, indices_or_sections, 2)


@implements(np.unstack)
@_sharing.shares
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    array = as_array(x)
    place = axis_of(array, axis)
    shape = [n for i, n in enumerate(array.shape) if i != place]
    parts = [reshape(slice_axis(array, place, i, i + 1), shape) for i in range(array.shape[place])]
    return tuple(parts if shape else map(_sharing.fresh, parts))  # elements are scalars
