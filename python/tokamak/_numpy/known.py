"""What is known while a function is traced, and moving elements to places that are."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any

import numpy as np

from .._ops import apply, as_array, broadcast, is_array, reverse, slice_axis, strong

#: beyond as many runs of neighbours, one gather is less code than their concatenation
_MOST_RUNS = 8


def plain(value: Any) -> Any:
    """As an Array whose dtype counts: for functions in which Python's numbers do not adopt that of others."""
    x = as_array(value)
    return x if x._weak is None else strong(x, x.dtype)


def known(value: Any) -> np.ndarray | None:
    """The elements, unless they are computed later."""
    if not is_array(value):
        value = as_array(value) if isinstance(value, (list, tuple)) else np.asarray(value)
    if is_array(value):
        return None if value._traced else np.asarray(value)
    return value


def part(x: Any, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Any:
    """x[start:stop:step] along one axis."""
    first, last, by = slice(start, stop, step).indices(x.shape[axis])
    count = len(range(first, last, by))
    if count == 0:
        return slice_axis(x, axis, 0, 0)
    if by > 0:
        return slice_axis(x, axis, first, last, by)
    lowest = first + (count - 1) * by
    return reverse(slice_axis(x, axis, lowest, first + 1, -by), [axis])


def _runs(places: np.ndarray) -> list[tuple[int, int, int]]:
    """Places as (first, step, count), where the step is 1, 0 or -1: 0 0 0 1 2 3 2 1 is 0 0 0, 1 2 3, 2 1."""
    runs: list[tuple[int, int, int]] = []
    for place in places.tolist():
        if runs:
            first, step, count = runs[-1]
            distance = place - first - step * (count - 1)
            if count == 1 and distance in (-1, 0, 1):
                runs[-1] = first, distance, 2
                continue
            if count > 1 and distance == step:
                runs[-1] = first, step, count + 1
                continue
        runs.append((place, 1, 1))
    return runs


def at_places(x: Any, places: np.ndarray, axis: int) -> Any:
    """x[places] along one axis, for places that are known and inside: pieces of x where they lie in few runs."""
    from .joining import concatenate

    if len(places) == 0:
        return slice_axis(x, axis, 0, 0)
    runs = _runs(places)
    if len(runs) > _MOST_RUNS:
        return apply("gather", x, as_array(places.astype(np.int64)), axis=axis, mode="clamp")
    pieces = []
    for first, step, count in runs:
        if step == 0:
            one = slice_axis(x, axis, first, first + 1)
            pieces.append(broadcast(one, [count if i == axis else n for i, n in enumerate(x.shape)]))
        elif step == 1:
            pieces.append(slice_axis(x, axis, first, first + count))
        else:
            pieces.append(reverse(slice_axis(x, axis, first - count + 1, first + 1), [axis]))
    return concatenate(pieces, axis)
