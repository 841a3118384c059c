"""The standard's functions that move elements: manipulation, indexing, sets, and the products of matrices."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import UserValueError, fail
from .common import A, Axes, run


def broadcast_arrays(*arrays: A) -> list[A]:
    """The arrays in the shape that fits them all."""
    return list(run(np.broadcast_arrays, *arrays))


def broadcast_to(x: A, /, shape: tuple[int, ...]) -> A:
    """x repeated along axes of extent 1, and along new ones in front."""
    return run(np.broadcast_to, x, shape)


def concat(arrays: tuple[A, ...] | list[A], /, *, axis: int | None = 0) -> A:
    """The arrays one after the other along an axis, flat ones if there is none."""
    return run(np.concat, arrays, axis=axis)


def expand_dims(x: A, /, axis: int = 0) -> A:
    """x with an axis of extent 1 before the one given."""
    return run(np.expand_dims, x, axis)


def flip(x: A, /, *, axis: Axes = None) -> A:
    """x with the elements along `axis` in the opposite order."""
    return run(np.flip, x, axis)


def matrix_transpose(x: A, /) -> A:
    """x with its last two axes exchanged."""
    return run(np.matrix_transpose, x)


def moveaxis(x: A, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> A:
    """x with some axes in other places, the others in their order."""
    return run(np.moveaxis, x, source, destination)


def permute_dims(x: A, /, axes: tuple[int, ...]) -> A:
    """x with its axes in another order."""
    return run(np.permute_dims, x, axes)


def repeat(x: A, repeats: int | A, /, *, axis: int | None = None) -> A:
    """Each element `repeats` times. How often must be known: it decides the shape."""
    return run(np.repeat, x, repeats, axis=axis)


def reshape(x: A, /, shape: tuple[int, ...], *, copy: bool | None = None) -> A:
    """The elements in their order, with other axes."""
    return run(np.reshape, x, shape, copy=copy)


def roll(x: A, /, shift: int | tuple[int, ...], *, axis: Axes = None) -> A:
    """x with its elements moved along an axis, those that leave at the end entering at the start."""
    return run(np.roll, x, shift, axis=axis)


def squeeze(x: A, /, axis: int | tuple[int, ...]) -> A:
    """x without some axes of extent 1."""
    return run(np.squeeze, x, axis=axis)


def stack(arrays: tuple[A, ...] | list[A], /, *, axis: int = 0) -> A:
    """Arrays of one shape along a new axis."""
    return run(np.stack, arrays, axis=axis)


def tile(x: A, repetitions: tuple[int, ...], /) -> A:
    """x beside itself, as often as asked for each axis."""
    return run(np.tile, x, repetitions)


def unstack(x: A, /, *, axis: int = 0) -> tuple[A, ...]:
    """The parts of x along an axis, without it."""
    return run(np.unstack, x, axis=axis)


# ---------------------------------------------------------------------------------------------------------------------
# Indexing and products


def take(x: A, indices: A, /, *, axis: int | None = None) -> A:
    """The elements of x at indices along an axis, which may be left out where there is only one."""
    if axis is None and np.ndim(x) != 1:
        fail(UserValueError, f"take: an array with {np.ndim(x)} axes needs axis=")
    return run(np.take, x, indices, axis=axis)


def take_along_axis(x: A, indices: A, /, *, axis: int = -1) -> A:
    """For each row along the axis, its elements at the row of indices in the same place."""
    return run(np.take_along_axis, x, indices, axis=axis)


def vecdot(x1: A, x2: A, /, *, axis: int = -1) -> A:
    """The dot products of vectors along an axis."""
    return run(np.vecdot, x1, x2, axis=axis)


# ---------------------------------------------------------------------------------------------------------------------
# Sets: how many elements there are depends on values, so they work outside of jitted functions only.


def unique_all(x: A, /) -> Any:
    """The elements that differ, in order: values, indices of the first, inverse_indices, counts."""
    return run(np.unique_all, x)


def unique_counts(x: A, /) -> Any:
    """The elements that differ, in order, and how often each occurs: values, counts."""
    return run(np.unique_counts, x)


def unique_inverse(x: A, /) -> Any:
    """The elements that differ, in order, and which of them each element is: values, inverse_indices."""
    return run(np.unique_inverse, x)


def unique_values(x: A, /) -> A:
    """The elements that differ, in order."""
    return run(np.unique_values, x)


# ---------------------------------------------------------------------------------------------------------------------
# Sorting


def argsort(x: A, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> A:
    """The indices that sort x along an axis. Equal elements keep their order."""
    if not descending:
        return run(np.argsort, x, axis=axis, stable=stable)

    def backwards(array: Any) -> Any:
        """Sorted in the opposite order, equal elements and their indices would be so, too: hence the two flips."""
        order = np.argsort(np.flip(array, axis), axis=axis, stable=stable)
        return np.flip(array.shape[axis] - 1 - order, axis)

    return run(backwards, x)


def sort(x: A, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> A:
    """x with its elements in order along an axis."""
    ordered = run(np.sort, x, axis=axis, stable=stable)
    return flip(ordered, axis=axis) if descending else ordered
