"""Which parts of an argument a function writes to, so that only they are given back to the caller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _native, _sharing

if TYPE_CHECKING:
    from ._array import Array

_MOST_PARTS = 8
_MOST_PLACES = 256  # of more than that all of the argument is given back
_LARGE = (
    1 << 14
)  # elements: writing all of a smaller array is faster than several parts of it, each in a kernel of its own
_LINE = 8  # elements of a cache line: steps as short lead to all lines


class Part(NamedTuple):
    """Elements of an array: where the first is, and for every axis of the part the one of the array that it goes along, with its
    step; -1 for an axis of one element. All of the array has no starts.

    a[2, 5:1:-2] of a matrix  =>  starts (2, 5), axes ((1, -2),)
    """

    starts: tuple[int, ...] = ()
    axes: tuple[tuple[int, int], ...] = ()


class Parts:
    """The parts of an argument that were written to, and their last values, in the order of the writes."""

    def __init__(self, shape: tuple[int, ...], strides: Sequence[int]) -> None:
        self.shape = shape
        self.strides = strides
        self.values: (
            dict[tuple[Part, tuple[int, ...]], Array] | None
        ) = {}  # by part and shape; None: all of it
        self.places: set[tuple[Part, tuple[int, ...]]] | None = set()  # None: anywhere

    def known_places(self) -> list[tuple[Part, tuple[int, ...]]]:
        """What was written to; nothing where that may be all of the argument."""
        if not self.places:
            return []
        total = math.prod(self.shape)
        if sum(math.prod(shape) for _, shape in self.places) >= total:
            is_written = np.zeros(self.shape, np.bool_)
            for part, shape in self.places:
                _view(is_written, part, shape)[...] = True
            if is_written.all():
                return []
        return list(self.places)

    def note(self, steps: list[_sharing.Change] | None, value: Array) -> None:
        if self.values is None and self.places is None:
            return
        if value.size == 0 and 0 not in self.shape:  # of an argument without elements, indices are checked
            return
        found = None if steps is None else _native.part_after(steps, self.shape)
        if found is None:
            self.values = self.places = None
            return
        part = Part(*found)
        key = (part, value.shape)
        if self.places is not None:
            self.places.add(key)
            if len(self.places) > _MOST_PLACES:
                self.places = None
        if self.values is None:
            return
        self.values.pop(key, None)  # nobody sees what it was before
        self.values[key] = value
        written = sum(one.size for one in self.values.values())
        is_one_run = len(self.values) == 1 and self._is_run(part, value.shape)
        most = math.prod(self.shape) // (1 if is_one_run else 2)
        if len(self.values) > _MOST_PARTS or written > most:
            self.values = None

    def _is_run(self, part: Part, shape: tuple[int, ...]) -> bool:
        """Whether the elements of a part are next to each other in the caller's memory: then they may be written there, and need
        not be copied to it."""
        steps = [
            (abs(step * self.strides[axis]), extent)
            for (axis, step), extent in zip(part.axes, shape, strict=True)
            if extent != 1
        ]
        expected = 1
        for step, extent in sorted(steps):
            if step != expected:
                return False
            expected *= extent
        return True

    def _is_evenly_spread(self, part: Part, shape: tuple[int, ...]) -> bool:
        """Whether the elements of a part are as far from each other in the caller's memory as those of a new array, times a number."""
        between, ratios = 1, set()
        for (axis, step), extent in reversed(list(zip(part.axes, shape, strict=True))):
            if extent != 1:
                ratios.add(step * self.strides[axis] / between)
            between *= extent
        return len(ratios) == 1 and min(ratios) > 0

    def slice_through_most_lines(
        self, part: Part, shape: tuple[int, ...]
    ) -> tuple[list[int], list[int]] | None:
        """The starts and steps of a part that is a slice with gaps but leads to most cache lines of the argument: writing all of
        it, where it is, takes no longer than copying what was made to there. Where the gaps are all the same, it is made there."""
        if self._is_evenly_spread(part, shape):
            return None
        steps = [step if extent != 1 else 1 for (_, step), extent in zip(part.axes, shape, strict=True)]
        if [axis for axis, _ in part.axes if axis >= 0] != [i for i, n in enumerate(shape) if n != 1]:
            return None
        whole = Part(axes=tuple((axis, 1) for axis in range(len(self.shape))))
        if len(shape) != len(self.shape) or min(steps) < 1 or not self._is_run(whole, self.shape):
            return None
        gap = max(step for step, stride in zip(steps, self.strides, strict=True) if abs(stride) == 1)
        reached = math.prod(shape) * gap
        is_most = 1 < gap <= _LINE and 2 * reached > math.prod(self.shape)
        return (list(part.starts), steps) if is_most else None


def _view(whole: np.ndarray[Any, Any], part: Part, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    strides = [0 if axis < 0 else whole.strides[axis] * step for axis, step in part.axes]
    first = whole[tuple(slice(start, None) for start in part.starts)]
    return np.lib.stride_tricks.as_strided(first, shape, strides)


def strides_of(argument: Array, part: Part) -> tuple[int, ...]:
    """How a part of an argument lies in the caller's memory."""
    whole = _sharing.strides_of(argument)
    if not part.starts:
        return whole
    return tuple(1 if axis < 0 else whole[axis] * step for axis, step in part.axes)


Written = tuple[int, Part, list[tuple[Part, tuple[int, ...]]]]


def written(arguments: list[Array], trace: _native.Trace) -> tuple[list[Written], list[Array]]:
    """The parts of arguments that were written to, and the elements they have now. Of an argument that is computed as a whole also
    the places that were written to, as far as they are known and not all."""
    parts: list[Written] = []
    elements: list[Array] = []
    for i, argument in enumerate(arguments):
        if not _sharing.was_written(argument):
            continue
        values = _sharing.parts_of(argument).values
        is_small = argument.size < _LARGE
        if values is None or (len(values) > 1 and is_small) or _better_all_in_place(i, argument, trace):
            values = {(Part(), argument.shape): argument}
        for (part, _), value in values.items():
            places = [] if part.starts else _sharing.parts_of(argument).known_places()
            parts.append((i, part, places))
            elements.append(value)
    return parts, elements


def _better_all_in_place(position: int, argument: Array, trace: _native.Trace) -> bool:
    """Whether what was written, at few places next to each other, is made of what was there alone: then all of the argument can be
    written where it is."""
    parts = _sharing.parts_of(argument)
    if parts.values is None or len(parts.values) != 1:
        return False
    [((part, shape), value)] = parts.values.items()
    found = parts.slice_through_most_lines(part, shape) if part.starts else None
    return found is not None and trace.reads_only_slice(value, position, *found)


def write_part(x: Array, starts: list[int], axes: list[tuple[int, int]], made: Array) -> None:
    """Writes to a part of an Array that a function outside has as its argument."""
    key = [slice(start, start + 1) for start in starts]
    for (axis, step), extent in zip(axes, made.shape, strict=True):
        if axis >= 0:
            end = starts[axis] + step * extent
            key[axis] = slice(starts[axis], end if end >= 0 else None, step)
    along = [j for j, (axis, _) in sorted(enumerate(axes), key=lambda item: item[1][0])]
    part = x[tuple(key)]
    part[...] = made.transpose(along).reshape(part.shape)
