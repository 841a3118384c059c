"""Calls that once gave something else than NumPy: positions of out=, sharing of memory, dtypes of what is written."""

import numpy as np
import pytest
import tokamak as tk
from agreement import agree

from support import assert_same, check_writes


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x, 0, None, None, True),
        lambda x: np.max(x, 0, None, True),
        lambda x: np.mean(x, 0, None, None, True),
        lambda x: np.median(x, 0, None, False, True),
        lambda x: np.quantile(x, 0.5, 0, None, False, "lower", True),
        lambda x: np.take(x, [0, 1], 1, None, "wrap"),
        lambda x: x.sum(0, None, None, True),
        lambda x: x.max(0, None, True),
    ],
)
def test_arguments_behind_out(function, rng):
    agree(function, rng.integers(0, 9, (3, 4)).astype(float))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, out: np.sum(x, 0, None, out),
        lambda x, out: np.max(x, 0, out),
        lambda x, out: np.take(x, [0, 1, 2, 0], 1, out)[0] if out.ndim > 1 else np.sum(x, 0, out=out),
        lambda x, out: x.sum(axis=0, out=out),
        lambda x, out: x.min(0, out),
        lambda x, out: x.cumsum(0, None, out[None])[0] if x.shape[0] == 1 else x.max(0, out),
    ],
)
def test_out_by_position(function, rng):
    check_writes(function, rng.integers(0, 9, (3, 4)).astype(float), np.zeros(4))


def test_take_writes_to_out(rng):
    check_writes(lambda x, out: np.take(x, [1, 0], 0, out), rng.random((3, 4)), np.zeros((2, 4)))
    check_writes(
        lambda x, out: np.take(x, np.array([1, 0]), 0, out=out), rng.random((3, 4)), np.zeros((2, 4))
    )


def test_what_is_not_where_keeps_its_digits(rng):
    """The result is narrower than the array it is written to."""
    x = rng.random(7).astype(np.float32)
    check_writes(lambda x, m, out: np.sqrt(x, out=out, where=m), x, x > 0.5, rng.random(7))
    check_writes(lambda x, m, out: np.clip(x, 0.2, 0.8, out=out, where=m), x, x > 0.5, rng.random(7))


def test_order_of_elements_in_memory(rng):
    """order="K" and "A" read arguments as they lie."""
    x = rng.random((3, 4))
    for layout in (x, np.asfortranarray(x), x[::2, ::3], np.asfortranarray(x)[::2, ::3], x.T[::-1]):
        for order in "CFAK":
            agree(lambda x, order=order: np.ravel(x, order), layout)
            agree(lambda x, order=order: x.flatten(order), layout)
        for order in "CFA":
            agree(lambda x, order=order: np.reshape(x, (-1, 1), order=order), layout)


def test_one_program_for_each_way_to_lie(rng):
    """Strides decide which reshapes are views, and in which order elements are read."""

    def program(x):
        y = x.reshape(-1)
        y[0] = 7
        return np.ravel(x, "K")

    jitted = tk.jit(program)
    for view in (
        lambda a: a[:, ::3],
        lambda a: a[:, ::2][:, :2],
        lambda a: np.asfortranarray(a)[:, :2],
        lambda a: a.T[:4, :2],
    ):
        got, want = (np.arange(24.0).reshape(4, 6) for _ in range(2))
        got, want = view(got), view(want)
        assert_same(jitted(got), program(want))
        assert_same(got, want)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.concatenate([x]),
        lambda x: np.vstack([x]),
        lambda x: np.hstack([x]),
        lambda x: np.dstack([x]),
        lambda x: np.column_stack([x]),
        lambda x: np.meshgrid(x[0], x[:, 0], copy=False, sparse=True)[0],
        lambda x: np.asarray(x, order="F"),
        lambda x: np.asarray(x, order="C"),
        lambda x: np.nan_to_num(x, copy=False),
        lambda x: np.real_if_close(x),
        lambda x: np.reshape(x, (4, 3), order="F"),
    ],
)
def test_what_shares_memory(function, rng):
    def program(x):
        y = function(x)
        y[...] = 3
        return y

    x = np.where(rng.random((3, 4)) < 0.3, np.nan, 2.0)
    for layout in (x, np.asfortranarray(x)):
        check_writes(program, layout)


def test_sums_without_a_beginning():
    agree(lambda x: np.sum(x, initial=None), np.zeros(0))
    agree(lambda x: np.prod(x, initial=None, where=[True]), np.ones(1))
    agree(lambda x: np.cumsum(x, dtype=bool), np.array([0, 2, 0]))
    agree(lambda x: np.divide.reduce(x, axis=(), initial=2, where=False), np.ones(3))


def test_out_that_does_not_fit():
    x = np.ones((3, 4))
    for function in (np.sum, np.max, np.mean, np.std, np.argmax, np.median, np.ptp, np.any):
        agree(lambda x, out, f=function: f(x, axis=0, out=out), x, np.zeros(3, function(x, axis=0).dtype))
        agree(
            lambda x, out, f=function: f(x, axis=0, out=out), x, np.zeros((3, 4), function(x, axis=0).dtype)
        )


def test_keywords_of_products(rng):
    x, y = rng.random((3, 2, 4)), rng.random((4, 5, 2))
    agree(lambda x, y: np.matmul(x, y, axes=[(1, 2), (0, 1), (-1, 0)]), x[:2], y, rounded=True)
    agree(lambda x: np.vecdot(x, x, axis=0, keepdims=True), x, rounded=True)
    agree(lambda x: np.matmul(x, x.T, dtype=np.float32), x[0], rounded=True)
    agree(lambda x: np.matmul(x, x.T, casting="same_kind", order="F"), x[0], rounded=True)


def test_refusals(rng):
    x = rng.random((3, 4))
    agree(lambda x: np.rot90(x, axes=(0, 0)), x)
    agree(lambda x: np.concatenate([x, x], dtype=np.int32), x)
    agree(lambda x: np.hstack([x, x], dtype=np.float32, casting="safe"), x)
    agree(lambda x, out: np.stack([x, x], out=out, dtype=np.float32), x, np.zeros((2, 3, 4)))
    agree(lambda x: np.take_along_axis(x, np.zeros((2, 1), int), 1), x)
    agree(lambda x: np.histogram_bin_edges(x, 3, weights=x[0]), x)
    agree(lambda x, out: np.dot(x, x.T, out=out), x, np.zeros((3, 3), np.float32))
