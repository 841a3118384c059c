"""The standard's other functions, on Arrays, inside jit and on ndarrays: values and dtypes by NumPy, which conforms."""

import numpy as np
import pytest
import tokamak as tk
from array_api import ALL, FLOATS, NUMERIC, compare

from support import random_array


def check(program, arrays, what, limit=0.0):
    """A program of a namespace and arrays gives what it gives for NumPy: jitted, on Arrays, and on ndarrays."""
    want = program(np, *arrays)
    compare(tk.jit(lambda *args: program(tk, *args))(*arrays), want, f"{what} jitted", limit)
    on_arrays = program(tk, *map(tk.asarray, arrays))
    compare(on_arrays, want, f"{what} eager", limit)
    for one in on_arrays if isinstance(on_arrays, (tuple, list)) else [on_arrays]:
        assert type(one) is tk.Array, what
    on_ndarrays = program(tk, *arrays)
    compare(on_ndarrays, want, f"{what} of ndarrays", limit)
    for one in on_ndarrays if isinstance(on_ndarrays, (tuple, list)) else [on_ndarrays]:
        assert isinstance(one, (np.ndarray, np.generic)), what


#: name: dtypes, and programs of the namespace and one array of shape (3, 4), whose results are compared up to rounding or exactly
REDUCTIONS = {
    "all": (ALL, [lambda xp, x: xp.all(x), lambda xp, x: xp.all(x, axis=0, keepdims=True)]),
    "any": (ALL, [lambda xp, x: xp.any(x), lambda xp, x: xp.any(x, axis=(0, 1))]),
    "argmax": (NUMERIC, [lambda xp, x: xp.argmax(x), lambda xp, x: xp.argmax(x, axis=1, keepdims=True)]),
    "argmin": (NUMERIC, [lambda xp, x: xp.argmin(x), lambda xp, x: xp.argmin(x, axis=-2)]),
    "count_nonzero": (ALL, [lambda xp, x: xp.count_nonzero(x), lambda xp, x: xp.count_nonzero(x, axis=0)]),
    "cumulative_prod": (
        NUMERIC,
        [
            lambda xp, x: xp.cumulative_prod(x, axis=1),
            lambda xp, x: xp.cumulative_prod(x[0, ...], include_initial=True),
        ],
    ),
    "cumulative_sum": (
        NUMERIC,
        [
            lambda xp, x: xp.cumulative_sum(x, axis=0, include_initial=True),
            lambda xp, x: xp.cumulative_sum(x[:, 1]),
            lambda xp, x: xp.cumulative_sum(x, axis=-1, dtype=xp.float64),
        ],
    ),
    "diff": (
        NUMERIC,
        [
            lambda xp, x: xp.diff(x),
            lambda xp, x: xp.diff(x, axis=0, n=2),
            lambda xp, x: xp.diff(x, prepend=x[:, :1], append=x[:, :2]),
        ],
    ),
    "max": (NUMERIC, [lambda xp, x: xp.max(x), lambda xp, x: xp.max(x, axis=(0,), keepdims=True)]),
    "mean": (FLOATS, [lambda xp, x: xp.mean(x), lambda xp, x: xp.mean(x, axis=1, keepdims=True)]),
    "min": (NUMERIC, [lambda xp, x: xp.min(x), lambda xp, x: xp.min(x, axis=1)]),
    "prod": (NUMERIC, [lambda xp, x: xp.prod(x), lambda xp, x: xp.prod(x, axis=0, dtype=xp.float64)]),
    "std": (FLOATS, [lambda xp, x: xp.std(x), lambda xp, x: xp.std(x, axis=1, correction=1.0)]),
    "sum": (
        NUMERIC,
        [
            lambda xp, x: xp.sum(x),
            lambda xp, x: xp.sum(x, axis=(0, 1), keepdims=True),
            lambda xp, x: xp.sum(x, axis=1, dtype=xp.float32),
        ],
    ),
    "var": (
        FLOATS,
        [lambda xp, x: xp.var(x, correction=0.5), lambda xp, x: xp.var(x, axis=0, keepdims=True)],
    ),
}

MOVES = {
    "astype": (
        ALL,
        [
            lambda xp, x: xp.astype(x, xp.float32),
            lambda xp, x: xp.astype(x, xp.bool),
            lambda xp, x: xp.astype(x, x.dtype, copy=False),
        ],
    ),
    "broadcast_arrays": (ALL, [lambda xp, x: list(xp.broadcast_arrays(x, x[:1, :], x[:, 1:2]))]),
    "broadcast_to": (ALL, [lambda xp, x: xp.broadcast_to(x, (2, 3, 4))]),
    "concat": (
        ALL,
        [
            lambda xp, x: xp.concat([x, x[:1, :]]),
            lambda xp, x: xp.concat((x, x), axis=-1),
            lambda xp, x: xp.concat([x, x[0, :]], axis=None),
        ],
    ),
    "expand_dims": (ALL, [lambda xp, x: xp.expand_dims(x, axis=1), lambda xp, x: xp.expand_dims(x, axis=-1)]),
    "flip": (ALL, [lambda xp, x: xp.flip(x), lambda xp, x: xp.flip(x, axis=(1,))]),
    "full_like": (
        NUMERIC,
        [lambda xp, x: xp.full_like(x, 3), lambda xp, x: xp.full_like(x, 2, dtype=xp.int8)],
    ),
    "matrix_transpose": (ALL, [lambda xp, x: xp.matrix_transpose(x)]),
    "meshgrid": (
        NUMERIC,
        [
            lambda xp, x: list(xp.meshgrid(x[0, :], x[:, 0])),
            lambda xp, x: list(xp.meshgrid(x[0, :], x[:, 0], x[1, :2], indexing="ij")),
        ],
    ),
    "moveaxis": (
        ALL,
        [lambda xp, x: xp.moveaxis(x[None, ...], 0, -1), lambda xp, x: xp.moveaxis(x, (0, 1), (1, 0))],
    ),
    "ones_like": (ALL, [lambda xp, x: xp.ones_like(x), lambda xp, x: xp.ones_like(x, dtype=xp.float32)]),
    "permute_dims": (ALL, [lambda xp, x: xp.permute_dims(x, (1, 0))]),
    "repeat": (ALL, [lambda xp, x: xp.repeat(x, 2), lambda xp, x: xp.repeat(x, 3, axis=1)]),
    "reshape": (
        ALL,
        [
            lambda xp, x: xp.reshape(x, (2, -1)),
            lambda xp, x: xp.reshape(x, (4, 3), copy=True),
            lambda xp, x: xp.reshape(x, (12,), copy=False),
        ],
    ),
    "roll": (ALL, [lambda xp, x: xp.roll(x, 2), lambda xp, x: xp.roll(x, (1, -1), axis=(0, 1))]),
    "squeeze": (
        ALL,
        [lambda xp, x: xp.squeeze(x[:1, :], axis=0), lambda xp, x: xp.squeeze(x[:1, :1], (0, 1))],
    ),
    "stack": (ALL, [lambda xp, x: xp.stack([x, x], axis=-1), lambda xp, x: xp.stack((x,))]),
    "tile": (ALL, [lambda xp, x: xp.tile(x, (2,)), lambda xp, x: xp.tile(x, (2, 1, 3))]),
    "tril": (NUMERIC, [lambda xp, x: xp.tril(x), lambda xp, x: xp.tril(x, k=1)]),
    "triu": (NUMERIC, [lambda xp, x: xp.triu(x), lambda xp, x: xp.triu(x, k=-1)]),
    "unstack": (ALL, [lambda xp, x: xp.unstack(x), lambda xp, x: xp.unstack(x, axis=1)]),
    "where": (
        NUMERIC,
        [
            lambda xp, x: xp.where(x > 1, x, 2),
            lambda xp, x: xp.where(x[:, :1] > 1, x, xp.zeros_like(x[0, :])),
        ],
    ),
    "zeros_like": (ALL, [lambda xp, x: xp.zeros_like(x), lambda xp, x: xp.zeros_like(x, dtype=xp.bool)]),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name, rng):
    dtypes, programs = REDUCTIONS[name]

    def all_of_them(xp, *arrays):
        return [program(xp, x) for x in arrays for program in programs]

    arrays = [random_array(rng, (3, 4), dtype, -4, 4, special=dtype.kind != "f") for dtype in dtypes]
    check(all_of_them, arrays, name, 32.0)


def test_reductions_of_nothing():
    empty = np.ones((0, 4), tk.float32)

    def program(xp, x):
        whole = [xp.all(x), xp.any(x), xp.sum(x), xp.prod(x), xp.count_nonzero(x)]
        return [
            *whole,
            xp.sum(x, axis=0),
            xp.prod(x, axis=1),
            xp.max(x, axis=1),
            xp.cumulative_sum(x, axis=0),
        ]

    check(program, [empty], "empty")
    with pytest.raises(ValueError):
        tk.max(tk.asarray(empty))


@pytest.mark.parametrize("name", MOVES)
def test_manipulation(name, rng):
    dtypes, programs = MOVES[name]

    def all_of_them(xp, *arrays):
        made = []
        for x in arrays:
            for program in programs:
                result = program(xp, x)
                made += result if isinstance(result, (tuple, list)) else [result]
        return made

    limits = 3 if name == "astype" else 10
    arrays = [random_array(rng, (3, 4), dtype, 0, limits, special=name != "astype") for dtype in dtypes]
    check(all_of_them, arrays, name)


def test_indexing_and_searching(rng):
    x = random_array(rng, (3, 4), tk.float32, special=False)
    places = np.array([2, 0, 0, 1])
    along = np.array([[0, 3], [1, 1], [2, 0]])
    check(lambda xp, x, i: xp.take(x, i, axis=1), (x, places), "take")
    check(lambda xp, x, i: xp.take(x, i, axis=-2), (x, places), "take")
    check(lambda xp, x, i: xp.take(x, i), (x[0], places), "take")
    check(lambda xp, x, i: xp.take_along_axis(x, i), (x, along), "take_along_axis")
    check(lambda xp, x, i: xp.take_along_axis(x, i, axis=0), (x, places[None, :] % 3), "take_along_axis")
    with pytest.raises(ValueError, match="needs axis="):
        tk.take(tk.asarray(x), tk.asarray(places))
    ordered, wanted = np.sort(x[0]), random_array(rng, (2, 5), tk.float32, special=False)
    check(lambda xp, x, y: xp.searchsorted(x, y), (ordered, wanted), "searchsorted")
    check(lambda xp, x, y: xp.searchsorted(x, y, side="right"), (ordered, ordered), "searchsorted")
    check(
        lambda xp, x, y, z: xp.searchsorted(x, y, sorter=z), (x[0], wanted, np.argsort(x[0])), "searchsorted"
    )


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_sorting(dtype, rng):
    """Equal elements keep their order in both directions."""
    x = rng.integers(0, 5, (4, 9)).astype(dtype)
    for axis in (0, -1):
        for descending in (False, True):
            order = np.argsort(-x.astype(np.int64) if descending else x, axis=axis, stable=True)
            options = {"axis": axis, "descending": descending}
            in_order = np.take_along_axis(x, order, axis)
            for function, want in ((tk.argsort, order), (tk.sort, in_order)):
                compare(tk.jit(lambda x, f=function, o=options: f(x, **o))(x), want, "jitted")
                compare(function(tk.asarray(x), **options), want, "eager")
            compare(tk.sort(x, stable=False, **options), in_order, "of ndarrays")


def test_products(rng):
    for dtype in (tk.int32, tk.uint8, *FLOATS):
        x, y = random_array(rng, (3, 4), dtype, -4, 4, False), random_array(rng, (4, 5), dtype, -4, 4, False)
        check(lambda xp, x, y: xp.matmul(x, y), (x, y), "matmul", 8.0)
        check(lambda xp, x, y: xp.tensordot(x, y, axes=1), (x, y), "tensordot", 8.0)
        check(lambda xp, x, y: xp.tensordot(x, y, axes=((1, 0), (1, 0))), (x, x), "tensordot", 8.0)
        check(lambda xp, x, y: xp.tensordot(x, y, axes=0), (x, y), "tensordot", 8.0)
        check(lambda xp, x, y: xp.vecdot(x, y), (x, x), "vecdot", 8.0)
        check(lambda xp, x, y: xp.vecdot(x, y, axis=-2), (y, y), "vecdot", 8.0)


def test_shapes_that_depend_on_values():
    x = np.array([[3.0, 0.0], [1.0, 3.0]])
    for name in ("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"):
        function = getattr(tk, name)
        compare(function(tk.asarray(x)), getattr(np, name)(x), name)
        compare(function(x), getattr(np, name)(x), name)
        with pytest.raises(NotImplementedError, match=r"depends on values[\s\S]*test_array_api"):
            tk.jit(lambda x, f=function: f(x))(x)
    assert tk.unique_counts(tk.asarray(x)).counts.shape == (3,)
    compare(tk.repeat(tk.asarray(x), tk.asarray([1, 2, 0, 3])), np.repeat(x, [1, 2, 0, 3]), "repeat")
    compare(tk.asarray(x)[tk.asarray(x) > 0], x[x > 0], "mask")
